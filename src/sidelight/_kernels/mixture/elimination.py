"""In which order to eliminate the nodes of a graph, so that few of them meet in one table.

When a node leaves, its neighbors at that time (its separator) are joined with each other. Nodes
with at most two neighbors leave first, which never makes a table larger than it has to be; what
is left, where every node has at least three, is ordered by least fill.
"""

from __future__ import annotations

import numpy as np

from sidelight._kernels import kernel
from sidelight._typing import Array


@kernel
def reduce_sparse_nodes(indptr: Array, neighbors: Array) -> tuple[Array, Array, Array, Array]:
    """Eliminate nodes with at most two neighbors, again and again.

    Returns the nodes in the order in which they left, their separators of shape (n, 2) (-1 where
    there is none), and the neighbor lists (indptr, neighbors) of what is left, fill included.
    """
    n = len(indptr) - 1
    # Linked lists: `head` of every node, then `after`. A node that leaves adds at most one edge.
    head = np.full(n, -1, np.int64)
    after = np.empty(len(neighbors) + 2 * n, np.int64)
    other = np.empty(len(neighbors) + 2 * n, np.int64)
    used = len(neighbors)
    degree = np.empty(n, np.int64)
    for v in range(n):
        degree[v] = indptr[v + 1] - indptr[v]
        for e in range(indptr[v], indptr[v + 1]):
            other[e] = neighbors[e]
            after[e] = head[v]
            head[v] = e
    gone = np.zeros(n, np.bool_)
    # Leaves before nodes of two neighbors, so that trees get no fill. A node that leaves puts at
    # most two others on the stacks.
    leaves, twos = np.empty(3 * n, np.int64), np.empty(3 * n, np.int64)
    n_leaves, n_twos = 0, 0
    for v in range(n - 1, -1, -1):
        if degree[v] <= 1:
            leaves[n_leaves] = v
            n_leaves += 1
        elif degree[v] == 2:
            twos[n_twos] = v
            n_twos += 1
    order = np.empty(n, np.int64)
    separators = np.full((n, 2), -1, np.int64)
    n_left = 0
    while n_leaves or n_twos:
        if n_leaves:
            n_leaves -= 1
            v = leaves[n_leaves]
        else:
            n_twos -= 1
            v = twos[n_twos]
        if gone[v]:
            continue
        gone[v] = True
        order[n_left] = v
        n_left += 1
        found = 0
        e = head[v]
        while e >= 0:
            if not gone[other[e]]:
                separators[v, found] = other[e]
                found += 1
            e = after[e]
        a, b = separators[v]
        if found == 1:
            degree[a] -= 1
        elif found == 2:
            if _joined(head, after, other, gone, a if degree[a] < degree[b] else b, a + b):
                degree[a] -= 1
                degree[b] -= 1
            else:
                for one, two in ((a, b), (b, a)):
                    other[used] = two
                    after[used] = head[one]
                    head[one] = used
                    used += 1
        for u in (a, b):
            if u >= 0 and degree[u] == 1:
                leaves[n_leaves] = u
                n_leaves += 1
            elif u >= 0 and degree[u] == 2:
                twos[n_twos] = u
                n_twos += 1
    core_indptr, core_neighbors = _alive(head, after, other, gone, degree)
    return order[:n_left], separators, core_indptr, core_neighbors


@kernel
def _joined(head: Array, after: Array, other: Array, gone: Array, v: int, both: int) -> bool:
    """Whether v, one of two nodes with sum ``both``, is joined with the other; forgets the gone."""
    wanted = both - v
    last = -1
    e = head[v]
    while e >= 0:
        u = other[e]
        if u == wanted:
            return True
        if gone[u]:
            if last < 0:
                head[v] = after[e]
            else:
                after[last] = after[e]
        else:
            last = e
        e = after[e]
    return False


@kernel
def _alive(
    head: Array, after: Array, other: Array, gone: Array, degree: Array
) -> tuple[Array, Array]:
    """Neighbour lists of the nodes that are left."""
    n = len(head)
    indptr = np.zeros(n + 1, np.int64)
    for v in range(n):
        indptr[v + 1] = indptr[v] + (0 if gone[v] else degree[v])
    neighbors = np.empty(indptr[n], np.int64)
    for v in range(n):
        if gone[v]:
            continue
        at = indptr[v]
        e = head[v]
        while e >= 0:
            if not gone[other[e]]:
                neighbors[at] = other[e]
                at += 1
            e = after[e]
    return indptr, neighbors


@kernel
def order_by_fill(
    indptr: Array,
    neighbors: Array,
    starts: Array,
    members: Array,
    widest: int,
) -> tuple[Array, Array, Array, Array]:
    """Eliminate the nodes of every part by least fill, as long as no separator exceeds ``widest``.

    The nodes of part p are ``members[starts[p]:starts[p + 1]]``. Returns the order (listed like
    the members), where every node's separator begins and all separators, and whether a part
    succeeded; the order of one that did not is meaningless.
    """
    order = members.copy()
    n_members = len(members)
    begin = np.zeros(n_members + 1, np.int64)
    separators = np.empty(n_members * max(widest, 1), np.int64)
    fine = np.zeros(len(starts) - 1, np.bool_)
    place = np.empty(len(indptr) - 1, np.int64)
    used = 0
    for p in range(len(starts) - 1):
        nodes = members[starts[p] : starts[p + 1]]
        size = len(nodes)
        used_before = used
        for i in range(size):
            place[nodes[i]] = i
        joined = np.zeros((size, size), np.bool_)
        degree = np.zeros(size, np.int64)
        for i in range(size):
            for e in range(indptr[nodes[i]], indptr[nodes[i] + 1]):
                joined[i, place[neighbors[e]]] = True
                degree[i] += 1
        fill = np.full(size, -1, np.int64)  # -1: to be counted again
        left = np.zeros(size, np.bool_)
        fine[p] = True
        for step in range(size):
            v = _least_fill(joined, left, degree, fill, widest)
            if v < 0:
                fine[p] = False
                break
            around = np.flatnonzero(joined[v])
            left[v] = True
            at = starts[p] + step
            order[at] = nodes[v]
            begin[at] = used
            for i in range(len(around)):
                separators[used] = nodes[around[i]]
                used += 1
            _eliminate(joined, degree, fill, v, around)
        if not fine[p]:
            used = used_before
            begin[starts[p] : starts[p + 1]] = used
        begin[starts[p + 1]] = used
    return order, begin, separators[:used], fine


@kernel
def _least_fill(joined: Array, left: Array, degree: Array, fill: Array, widest: int) -> int:
    """The node whose neighbors lack fewest edges among them, or -1 if all have too many."""
    best = -1
    for v in range(len(left)):
        if left[v] or degree[v] > widest:
            continue
        if fill[v] < 0:
            around = np.flatnonzero(joined[v])
            missing = 0
            for i in range(len(around)):
                for j in range(i):
                    if not joined[around[i], around[j]]:
                        missing += 1
            fill[v] = missing
        if best < 0 or fill[v] < fill[best] or (fill[v] == fill[best] and degree[v] < degree[best]):
            best = v
    return best


@kernel
def _eliminate(joined: Array, degree: Array, fill: Array, v: int, around: Array) -> None:
    """Join the neighbors of v with each other and take v out."""
    for u in around:
        joined[u, v] = False
        joined[v, u] = False
        degree[u] -= 1
    degree[v] = 0
    for i in range(len(around)):
        for j in range(i):
            a, b = around[i], around[j]
            if not joined[a, b]:
                joined[a, b] = True
                joined[b, a] = True
                degree[a] += 1
                degree[b] += 1
    # The fill of a node depends on the edges among its neighbors.
    for u in around:
        fill[u] = -1
        for w in np.flatnonzero(joined[u]):
            fill[w] = -1


@kernel
def lay_out(begin: Array, separators: Array, where: Array) -> tuple[Array, Array]:
    """Sort the nodes of every separator by ``where`` they stand in the order; find their places.

    The first of a separator is the parent; ``place`` counts 0 for the parent itself and 1, 2, ...
    for the places in the parent's own separator.
    """
    sorted_ = np.empty_like(separators)
    for v in range(len(begin) - 1):
        sorted_[begin[v] : begin[v + 1]] = np.sort(where[separators[begin[v] : begin[v + 1]]])
    place = np.zeros_like(separators)
    for v in range(len(begin) - 1):
        for e in range(begin[v] + 1, begin[v + 1]):
            parent = sorted_[begin[v]]
            for f in range(begin[parent], begin[parent + 1]):
                if sorted_[f] == sorted_[e]:
                    place[e] = f - begin[parent] + 1
    return sorted_, place
