"""Neighbors of the vertices of a growing graph, in slots that are filled from the front.

``neighbors`` and ``lengths`` are (capacity, width): the first ``degrees[v]`` slots of row ``v``
hold the neighbors of ``v`` and the lengths of the edges to them. Every edge is stored at both ends.
"""

from __future__ import annotations

import numpy as np

from sidelight._kernels import kernel
from sidelight._typing import Array


@kernel
def slot_of(neighbors: Array, degrees: Array, first: int, second: int) -> int:
    """Slot of ``second`` among the neighbors of ``first``, -1 where there is no edge."""
    for slot in range(degrees[first]):
        if neighbors[first, slot] == second:
            return slot
    return -1


@kernel
def lengths_of(neighbors: Array, lengths: Array, degrees: Array, pairs: Array) -> Array:
    """Lengths of the edges between pairs of vertices, infinite where there is none."""
    found = np.full(len(pairs), np.inf)
    for e in range(len(pairs)):
        slot = slot_of(neighbors, degrees, pairs[e, 0], pairs[e, 1])
        if slot >= 0:
            found[e] = lengths[pairs[e, 0], slot]
    return found


@kernel
def _put(
    neighbors: Array, lengths: Array, degrees: Array, first: int, second: int, length: float
) -> None:
    """Set one end of an edge; an infinite length takes it away."""
    slot = slot_of(neighbors, degrees, first, second)
    if length < np.inf:
        if slot < 0:
            slot = degrees[first]
            degrees[first] += 1
            neighbors[first, slot] = second
        lengths[first, slot] = length
    elif slot >= 0:
        last = degrees[first] - 1
        neighbors[first, slot] = neighbors[first, last]
        lengths[first, slot] = lengths[first, last]
        degrees[first] = last


@kernel
def set_edges(
    neighbors: Array, lengths: Array, degrees: Array, pairs: Array, wanted: Array
) -> None:
    """Set the lengths of edges, in place; infinite ones are taken away. There must be room."""
    for e in range(len(pairs)):
        _put(neighbors, lengths, degrees, pairs[e, 0], pairs[e, 1], wanted[e])
        _put(neighbors, lengths, degrees, pairs[e, 1], pairs[e, 0], wanted[e])


@kernel
def rename_vertex(neighbors: Array, lengths: Array, degrees: Array, old: int, new: int) -> None:
    """Give the edges of a vertex to another number, which has none."""
    for slot in range(degrees[old]):
        other = neighbors[old, slot]
        neighbors[new, slot] = other
        lengths[new, slot] = lengths[old, slot]
        neighbors[other, slot_of(neighbors, degrees, other, old)] = new
    degrees[new] = degrees[old]
    degrees[old] = 0


@kernel
def as_rows(neighbors: Array, lengths: Array, degrees: Array, n: int) -> tuple[Array, Array, Array]:
    """The graph in the three arrays of a CSR matrix."""
    indptr = np.zeros(n + 1, np.int64)
    for v in range(n):
        indptr[v + 1] = indptr[v] + degrees[v]
    indices = np.empty(indptr[n], np.int64)
    data = np.empty(indptr[n], np.float64)
    for v in range(n):
        for slot in range(degrees[v]):
            indices[indptr[v] + slot] = neighbors[v, slot]
            data[indptr[v] + slot] = lengths[v, slot]
    return indptr, indices, data
