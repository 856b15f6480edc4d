"""Reachability within balls: the relaxation of connected k-center and its conversion."""

from __future__ import annotations

import numpy as np

from sidelight._kernels import kernel
from sidelight._kernels.relational.connected.growth import squared_distance
from sidelight._kernels.relational.connected.heap import grown, sift_down, sift_up
from sidelight._typing import Array


@kernel
def minimax_squares(indptr: Array, indices: Array, rows: Array, squares: Array) -> None:
    """Smallest ``r²`` for which each node ``v`` is reachable from ``u`` with respect to ``r``.

    ``D1(u, v)² = min over paths max_i ‖u - s_i‖²``, row ``u`` by Dijkstra's algorithm with the
    maximum in place of the sum; infinity where there is no path. Not symmetric.
    """
    n = rows.shape[0]
    keys, tags = np.empty(n + 16), np.empty(n + 16, np.int64)
    for u in range(n):
        squares[u, :] = np.inf
        keys[0], tags[0] = 0.0, u
        size = 1
        while size:
            key, node = keys[0], tags[0]
            size -= 1
            sift_down(keys, tags, size)
            if squares[u, node] <= key:
                continue
            squares[u, node] = key
            for entry in range(indptr[node], indptr[node + 1]):
                v = indices[entry]
                if squares[u, v] < np.inf:
                    continue
                if size == keys.shape[0]:
                    keys, tags = grown(keys), grown(tags)
                sift_up(keys, tags, size, max(key, squared_distance(rows, v, rows, u)), v)
                size += 1


@kernel
def reachable(
    indptr: Array,
    indices: Array,
    rows: Array,
    center: int,
    square: float,
    stamps: Array,
    stamp: int,
    queue: Array,
) -> int:
    """List what a path from a center reaches that stays within a distance of it.

    ``queue`` is set to these nodes in the order of a breadth-first search and ``stamps`` to
    ``stamp`` at each of them. Returns their number.
    """
    queue[0] = center
    stamps[center] = stamp
    begin, end = 0, 1
    while begin < end:
        node = queue[begin]
        begin += 1
        for entry in range(indptr[node], indptr[node + 1]):
            v = indices[entry]
            if stamps[v] != stamp and squared_distance(rows, v, rows, center) <= square:
                stamps[v] = stamp
                queue[end] = v
                end += 1
    return end


@kernel
def cover_greedily(
    indptr: Array, indices: Array, rows: Array, square: float, centers: Array
) -> int:
    """Take uncovered nodes as centers until everything is reachable from one.

    Nodes are taken by number. Returns the number of centers, or one more than ``centers`` has
    places as soon as they do not suffice.
    """
    n = rows.shape[0]
    covered = np.zeros(n, np.bool_)
    stamps, queue = np.full(n, -1, np.int64), np.empty(n, np.int64)
    found = 0
    for node in range(n):
        if covered[node]:
            continue
        if found == centers.shape[0]:
            return found + 1
        centers[found] = node
        end = reachable(indptr, indices, rows, node, square, stamps, found, queue)
        for place in range(end):
            covered[queue[place]] = True
        found += 1
    return found


@kernel
def cover_all_pairs_greedily(rows: Array, square: float, centers: Array) -> int:
    """Cover as :func:`cover_greedily` does, where every node is next to every other."""
    n = rows.shape[0]
    covered = np.zeros(n, np.bool_)
    found = 0
    for node in range(n):
        if covered[node]:
            continue
        if found == centers.shape[0]:
            return found + 1
        centers[found] = node
        for v in range(node, n):
            if not covered[v] and squared_distance(rows, v, rows, node) <= square:
                covered[v] = True
        found += 1
    return found


@kernel
def part_overlaps(
    indptr: Array, indices: Array, rows: Array, centers: Array, square: float, labels: Array
) -> None:
    """Algorithm 2: disjoint connected clusters from overlapping ones.

    ``V'_i`` is what center ``i`` reaches. In turn, cluster ``i`` takes what its center reaches
    outside of all earlier ``V'_j``; then earlier members in ``V'_i`` pass their labels on to what
    is left of it. A center inside of an earlier ``V'_j`` gets no cluster. ``labels`` is set to the
    numbers of the centers, -1 for nodes that none reaches.
    """
    n = rows.shape[0]
    labels[:] = -1
    stamps = np.full(n, -1, np.int64)
    ball, queue = np.empty(n, np.int64), np.empty(n, np.int64)
    for i in range(centers.shape[0]):
        end = reachable(indptr, indices, rows, centers[i], square, stamps, i, ball)
        # After turn j all of V'_j is assigned: unassigned means outside of all earlier ones.
        last = 0
        for place in range(end):
            if labels[ball[place]] >= 0:
                queue[last] = ball[place]
                last += 1
        n_earlier = last
        if labels[centers[i]] < 0:
            labels[centers[i]] = i
            queue[last] = centers[i]
            begin, last = last, last + 1
            while begin < last:
                node = queue[begin]
                begin += 1
                for entry in range(indptr[node], indptr[node + 1]):
                    v = indices[entry]
                    if stamps[v] == i and labels[v] < 0:
                        labels[v] = i
                        queue[last] = v
                        last += 1
        begin, last = 0, n_earlier
        while begin < last:
            node = queue[begin]
            begin += 1
            for entry in range(indptr[node], indptr[node + 1]):
                v = indices[entry]
                if stamps[v] == i and labels[v] < 0:
                    labels[v] = labels[node]
                    queue[last] = v
                    last += 1


@kernel
def split_off_leaves(
    indptr: Array, indices: Array, seeds: Array, n_wanted: int, labels: Array, nodes: Array
) -> int:
    """Make leaves of breadth-first trees clusters of their own, the last visited first.

    ``seeds`` are nodes of the first ``len(seeds)`` clusters, which stay; ``nodes`` is set to the
    nodes that become clusters. Returns their number, below ``n_wanted`` only where all nodes are
    seeds.
    """
    n = labels.shape[0]
    visited, queue = np.zeros(n, np.bool_), np.empty(n, np.int64)
    end = 0
    for j in range(seeds.shape[0]):
        visited[seeds[j]] = True
        queue[end] = seeds[j]
        end += 1
    begin = 0
    while begin < end:
        node = queue[begin]
        begin += 1
        for entry in range(indptr[node], indptr[node + 1]):
            v = indices[entry]
            if not visited[v] and labels[v] == labels[node]:
                visited[v] = True
                queue[end] = v
                end += 1
    found = 0
    while found < n_wanted and end > seeds.shape[0]:
        end -= 1
        nodes[found] = queue[end]
        labels[queue[end]] = seeds.shape[0] + found
        found += 1
    return found


@kernel
def all_squares(rows: Array, squares: Array) -> None:
    """Squared distances of all pairs of rows."""
    for u in range(rows.shape[0]):
        squares[u, u] = 0.0
        for v in range(u):
            squares[u, v] = squares[v, u] = squared_distance(rows, u, rows, v)
