"""Shortest paths from many sources over a graph in CSR form (Dijkstra with a 4-ary heap)."""

from __future__ import annotations

import numpy as np

from sidelight._kernels import kernel
from sidelight._typing import Array

#: Predecessor of a source, and of a vertex that is not reached: as in ``scipy.sparse.csgraph``.
NO_VERTEX = -9999


@kernel
def _raise_up(
    key: float, vertex: int, at: int, keys: Array, vertices: Array, position: Array
) -> None:
    """Put a vertex where it belongs, at or above a place of the heap that is free."""
    while at > 0:
        parent = (at - 1) >> 2
        if keys[parent] <= key:
            break
        keys[at] = keys[parent]
        vertices[at] = vertices[parent]
        position[vertices[at]] = at
        at = parent
    keys[at] = key
    vertices[at] = vertex
    position[vertex] = at


@kernel
def _fill_root(size: int, keys: Array, vertices: Array, position: Array) -> None:
    """Move the last of the heap, at ``size``, from the root down to where it belongs."""
    key, vertex = keys[size], vertices[size]
    at = 0
    while True:
        first = 4 * at + 1
        if first >= size:
            break
        least = first
        least_key = keys[first]
        for child in range(first + 1, min(first + 4, size)):
            if keys[child] < least_key:
                least, least_key = child, keys[child]
        if least_key >= key:
            break
        keys[at] = least_key
        vertices[at] = vertices[least]
        position[vertices[at]] = at
        at = least
    keys[at] = key
    vertices[at] = vertex
    position[vertex] = at


@kernel
def shortest_paths(
    indptr: Array,
    indices: Array,
    lengths: Array,
    sources: Array,
    distances: Array,
    predecessors: Array,
) -> None:
    """Fill in the distances from the sources, a row each, and the vertex before each vertex.

    ``indptr``, ``indices`` and ``sources`` are int64, ``lengths`` and ``distances`` float64,
    ``predecessors`` int32: of the shape of ``distances``, or of shape (0, 0) where they are not
    wanted. Of equally long ways that was found first stays: predecessors form a tree also where
    edges have no length.
    """
    n = indptr.shape[0] - 1
    keys = np.empty(n, np.float64)
    vertices = np.empty(n, np.int64)
    position = np.empty(n, np.int64)
    trees = predecessors.shape[0] > 0
    for row in range(sources.shape[0]):
        distance = distances[row]
        distance[:] = np.inf
        position[:] = -1
        if trees:
            predecessors[row, :] = NO_VERTEX
        source = sources[row]
        distance[source] = 0.0
        keys[0] = 0.0
        vertices[0] = source
        position[source] = 0
        size = 1
        while size > 0:
            vertex = vertices[0]
            reached = keys[0]
            size -= 1
            if size > 0:
                _fill_root(size, keys, vertices, position)
            for edge in range(indptr[vertex], indptr[vertex + 1]):
                target = indices[edge]
                through = reached + lengths[edge]
                if through < distance[target]:
                    if position[target] < 0:
                        at = size
                        size += 1
                    else:
                        at = position[target]
                    distance[target] = through
                    if trees:
                        predecessors[row, target] = vertex
                    _raise_up(through, target, at, keys, vertices, position)
