"""Pairs of nodes that share no node."""

from __future__ import annotations

import numpy as np

from sidelight._kernels import kernel
from sidelight._typing import Array


@kernel
def greedy_matching(edges: Array, n_nodes: int) -> Array:
    """Mask of edges of which no two meet and to which no other can be added, in their order."""
    taken = np.zeros(n_nodes, np.bool_)
    chosen = np.zeros(len(edges), np.bool_)
    for e in range(len(edges)):
        a, b = edges[e, 0], edges[e, 1]
        if not taken[a] and not taken[b]:
            taken[a] = taken[b] = chosen[e] = True
    return chosen
