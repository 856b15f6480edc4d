"""Shortest-path trees of some sources over a changing graph (Law 2006, algorithms 3.5 to 3.7).

``reach`` holds the lengths of the ways from each source, ``before`` the vertex before each vertex;
both are (capacity, n_sources), of which the first ``n`` rows count: an edge concerns the same
vertices in most trees, and these then lie together. Trees of different sources do not share
anything, so that blocks of them run on threads.
"""

from __future__ import annotations

import numpy as np

from sidelight._kernels import kernel
from sidelight._kernels.manifold.dijkstra import NO_VERTEX, _fill_root, _raise_up
from sidelight._typing import Array


@kernel
def update_trees(
    reach: Array,
    before: Array,
    first: int,
    last: int,
    n: int,
    neighbors: Array,
    lengths: Array,
    degrees: Array,
    raised: Array,
    lowered: Array,
    lowered_lengths: Array,
) -> tuple[int, int]:
    """Repair the trees ``first`` to ``last``; how many lengths were invalid, how many grew shorter.

    The adjacency is the changed one. Everything behind an edge that grew longer or vanished is
    reached again from the rest of the tree; then edges that grew shorter or are new pass on what
    they gain. Only strict gains hang a vertex elsewhere, so that edges without length close no
    circle.
    """
    position = np.full(n, -1, np.int64)
    keys = np.empty(n, np.float64)
    vertices = np.empty(n, np.uint32)
    behind = np.empty(n, np.uint32)
    is_behind = np.zeros(n, np.bool_)
    invalid = 0
    shorter = 0
    for tree in range(first, last):
        row, parents = reach[:, tree], before[:, tree]
        # Raised edges (Law 2006, algorithms 3.5 to 3.7): the subtrees behind them are invalid.
        count = _find_behind(parents, raised, neighbors, degrees, behind, is_behind)
        invalid += count
        size = 0
        for at in range(count):
            row[behind[at]] = np.inf
            parents[behind[at]] = NO_VERTEX
        # Their vertices enter the queue at the best way over the rest of the tree.
        for at in range(count):
            v = behind[at]
            for slot in range(degrees[v]):
                other = neighbors[v, slot]
                if not is_behind[other] and row[other] + lengths[v, slot] < row[v]:
                    row[v] = row[other] + lengths[v, slot]
                    parents[v] = other
            if row[v] < np.inf:
                _raise_up(row[v], v, size, keys, vertices, position)
                size += 1
        for at in range(count):
            is_behind[behind[at]] = False
        _spread(row, parents, size, neighbors, lengths, degrees, keys, vertices, position)
        size = 0
        # Lowered edges: both ends may gain by the way over the other.
        for e in range(len(lowered)):
            for end in range(2):
                a, b = lowered[e, end], lowered[e, 1 - end]
                through = row[a] + lowered_lengths[e]
                if through < row[b]:
                    row[b] = through
                    parents[b] = a
                    at = position[b]
                    if at < 0:
                        at = size
                        size += 1
                    _raise_up(through, b, at, keys, vertices, position)
        shorter += _spread(
            row, parents, size, neighbors, lengths, degrees, keys, vertices, position
        )
    return invalid, shorter


@kernel
def _find_behind(
    parents: Array,
    raised: Array,
    neighbors: Array,
    degrees: Array,
    behind: Array,
    is_behind: Array,
) -> int:
    """List the vertices that are reached over one of the edges; how many there are."""
    count = 0
    for e in range(len(raised)):
        for end in range(2):
            top, v = raised[e, end], raised[e, 1 - end]
            if parents[v] == top and not is_behind[v]:
                is_behind[v] = True
                behind[count] = v
                count += 1
    at = 0
    while at < count:
        v = behind[at]
        at += 1
        for slot in range(degrees[v]):
            other = neighbors[v, slot]
            if parents[other] == v and not is_behind[other]:
                is_behind[other] = True
                behind[count] = other
                count += 1
    return count


@kernel
def _spread(
    row: Array,
    parents: Array,
    size: int,
    neighbors: Array,
    lengths: Array,
    degrees: Array,
    keys: Array,
    vertices: Array,
    position: Array,
) -> int:
    """Dijkstra's search from the vertices of the heap on; how many vertices it settles."""
    settled = 0
    while size > 0:
        v = vertices[0]
        position[v] = -1
        size -= 1
        if size > 0:
            _fill_root(size, keys, vertices, position)
        settled += 1
        for slot in range(degrees[v]):
            other = neighbors[v, slot]
            through = row[v] + lengths[v, slot]
            if through < row[other]:
                row[other] = through
                parents[other] = v
                at = position[other]
                if at < 0:
                    at = size
                    size += 1
                _raise_up(through, other, at, keys, vertices, position)
    return settled


@kernel
def bypass_in_trees(before: Array, gone: int, ends: Array) -> Array:
    """Hang the children of a vertex under its parent in every tree; the pairs that this joins."""
    n_trees = before.shape[1]
    found = np.empty((n_trees * len(ends), 2), np.int64)
    count = 0
    for end in ends:
        for tree in range(n_trees):
            if before[end, tree] == gone:
                parent = before[gone, tree]
                before[end, tree] = parent
                found[count, 0] = parent
                found[count, 1] = end
                count += 1
    return found[:count].copy()


@kernel
def move_in_trees(reach: Array, before: Array, old: int, new: int, ends: Array) -> None:
    """Give the places of vertex ``old`` to another number; ``ends`` are its neighbors."""
    reach[new] = reach[old]
    before[new] = before[old]
    for end in ends:
        for tree in range(reach.shape[1]):
            if before[end, tree] == old:
                before[end, tree] = new
