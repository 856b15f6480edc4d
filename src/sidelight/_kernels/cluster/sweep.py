"""Cut values along an order of the vertices of a graph, one after the other."""

from __future__ import annotations

import numpy as np

from sidelight._kernels import kernel
from sidelight._typing import Array


@kernel
def sweep_cuts(data: Array, indices: Array, indptr: Array, order: Array) -> Array:
    """Weight of the edges between the first vertices of an order and the rest, for every cut."""
    n = len(order)
    is_in = np.zeros(n, np.bool_)
    cuts = np.empty(max(n - 1, 0))
    cut = 0.0
    for place in range(n - 1):
        vertex = order[place]
        for entry in range(indptr[vertex], indptr[vertex + 1]):
            if indices[entry] == vertex:
                continue
            if is_in[indices[entry]]:
                cut -= data[entry]
            else:
                cut += data[entry]
        is_in[vertex] = True
        cuts[place] = cut
    return cuts
