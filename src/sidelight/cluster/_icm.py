"""Iterated conditional modes to the end: sweeps in random order until no node wants to move."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Graph = tuple[Array, Array, Array]


def conditional_modes(
    sweep: Callable[..., int],
    cost: Array,
    nearest: Array,
    graph: Graph,
    labels: Array,
    nodes: Array,
    random_state: np.random.RandomState,
) -> None:
    """Move single nodes, in place, until the energy cannot fall by moving one.

    ``sweep`` is a kernel such as :func:`sidelight._kernels.icm.icm_sweep`, ``nodes`` are those that
    may want to move. After the first sweep only neighbours of nodes that moved can want to.
    """
    while len(nodes):
        before = labels.copy()
        if sweep(cost, nearest, *graph, labels, random_state.permutation(nodes)) == 0:
            break
        nodes = neighbours_of(graph, np.flatnonzero(labels != before))
        nodes = nodes[nodes < len(cost)]


def neighbours_of(graph: Graph, nodes: Array) -> Array:
    """Return the neighbours of some nodes, ascending."""
    starts, neighbours, _ = graph
    counts = starts[nodes + 1] - starts[nodes]
    first = np.cumsum(counts) - counts
    entries = np.arange(int(counts.sum())) + np.repeat(starts[nodes] - first, counts)
    return np.unique(neighbours[entries])
