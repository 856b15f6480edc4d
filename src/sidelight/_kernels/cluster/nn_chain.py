"""Agglomeration: distances between groups of rows, and the nearest-neighbor chain over them.

Distances are kept as SciPy keeps them, one number per unordered pair (condensed), and an infinite
one means that the two must never be joined. A merged cluster is infinitely far from everything that
one of its parts was infinitely far from, so that for single, complete, average and Ward linkage

    D(a ∪ b, c)  >=  min(D(a, c), D(b, c))   (for Ward: if D(a, b) is no larger than the two)

still holds: merging two mutual nearest neighbors is always right, in any order, and following
nearest neighbors finds all merges in O(m²).
"""

from __future__ import annotations

import numpy as np

from sidelight._kernels import kernel
from sidelight._typing import Array

SINGLE, COMPLETE, AVERAGE, WARD = 0, 1, 2, 3


@kernel
def condensed_index(first: int, second: int, n: int) -> int:
    """Place of the pair in a condensed matrix of ``n`` objects."""
    if first > second:
        first, second = second, first
    return n * first - first * (first + 1) // 2 + second - first - 1


@kernel
def gather_block(block: Array, start: int, group: Array, linkage: int, out: Array) -> None:
    """Put distances of rows ``start, start + 1, ...`` to rows ``start, ..., n - 1`` into groups.

    ``out`` is condensed over the groups: the smallest distance so far (it comes in as infinity),
    the largest (it comes in as 0), or the sum (0).
    """
    n_groups = np.max(group) + 1
    for i in range(block.shape[0]):
        for j in range(i + 1, block.shape[1]):
            one, other = group[start + i], group[start + j]
            if one == other:
                continue
            place = condensed_index(one, other, n_groups)
            if linkage == SINGLE:
                out[place] = min(out[place], block[i, j])
            elif linkage == COMPLETE:
                out[place] = max(out[place], block[i, j])
            else:
                out[place] += block[i, j]


@kernel
def sums_to_means(sums: Array, sizes: Array) -> None:
    """Divide sums over pairs of rows by the number of these pairs, in place."""
    place = 0
    for first in range(sizes.shape[0]):
        for second in range(first + 1, sizes.shape[0]):
            sums[place] /= sizes[first] * sizes[second]
            place += 1


@kernel
def distances_to_increases(distances: Array, sizes: Array) -> None:
    """Multiply distances of means with ``sqrt(2 s t / (s + t))``, in place: Ward linkage."""
    place = 0
    for first in range(sizes.shape[0]):
        for second in range(first + 1, sizes.shape[0]):
            one, other = float(sizes[first]), float(sizes[second])
            distances[place] *= np.sqrt(2.0 * one * other / (one + other))
            place += 1


@kernel
def shorten_through(distances: Array, n: int, hubs: Array) -> None:
    """Shortest paths through a hub: ``D_ij <- min(D_ij, D_ih + D_hj)``, in place."""
    to_hub = np.empty(n)
    for hub in hubs:
        for i in range(n):
            to_hub[i] = 0.0 if i == hub else distances[condensed_index(hub, i, n)]
        place = 0
        for i in range(n):
            for j in range(i + 1, n):
                distances[place] = min(distances[place], to_hub[i] + to_hub[j])
                place += 1


@kernel
def joined_distance(
    one: float,
    other: float,
    between: float,
    size: int,
    other_size: int,
    third_size: int,
    linkage: int,
) -> float:
    """Distance of a third cluster to two that become one, which are ``between`` apart."""
    if one == np.inf or other == np.inf:
        return np.inf
    if linkage == SINGLE:
        return min(one, other)
    if linkage == COMPLETE:
        return max(one, other)
    if linkage == AVERAGE:
        return (size * one + other_size * other) / (size + other_size)
    # Lance and Williams; rounding must not make it negative where all are near zero.
    squares = (size + third_size) * one * one + (other_size + third_size) * other * other
    squares -= third_size * between * between
    return float(np.sqrt(max(squares, 0.0) / (size + other_size + third_size)))


@kernel
def follow_chain(
    distances: Array,
    size: Array,
    linkage: int,
    left: Array,
    right: Array,
    height: Array,
    finished: Array,
    chain: Array,
    place: Array,
    n_steps: int,
) -> bool:
    """Continue the nearest-neighbor chain for some steps; return whether all is merged.

    Overwrites the distances. ``left``, ``right`` and ``height`` get one member of either side of
    every merge and its height, in the order found: sort by height (stable) for the order of the
    greedy rule. ``size`` is 0 for a cluster that is part of another one, ``finished`` marks those
    that are infinitely far from all others, and ``place`` holds the length of the chain, the first
    cluster that may be open, and the number of merges.
    """
    n = size.shape[0]
    for _ in range(n_steps):
        length = place[0]
        if length == 0:
            while place[1] < n and (size[place[1]] == 0 or finished[place[1]]):
                place[1] += 1
            if place[1] == n:
                return True
            chain[0] = place[1]
            length = 1
        here = chain[length - 1]
        # The one before comes first, so that the chain cannot walk in circles among ties.
        nearest, shortest = -1, np.inf
        if length > 1:
            nearest = chain[length - 2]
            shortest = distances[condensed_index(here, nearest, n)]
        for there in range(n):
            if there != here and size[there] > 0:
                distance = distances[condensed_index(here, there, n)]
                if distance < shortest:
                    nearest, shortest = there, distance
        if nearest < 0:
            finished[here] = True
            length = 0
        elif length > 1 and nearest == chain[length - 2]:
            length -= 2
            keep, drop = min(here, nearest), max(here, nearest)
            done = place[2]
            left[done], right[done], height[done] = keep, drop, shortest
            place[2] += 1
            _join(distances, size, keep, drop, linkage)
        else:
            chain[length] = nearest
            length += 1
        place[0] = length
    return False


@kernel
def _join(distances: Array, size: Array, keep: int, drop: int, linkage: int) -> None:
    """Make one cluster of two."""
    n = size.shape[0]
    between = distances[condensed_index(keep, drop, n)]
    for there in range(n):
        if there != keep and there != drop and size[there] > 0:
            place = condensed_index(keep, there, n)
            distances[place] = joined_distance(
                distances[place],
                distances[condensed_index(drop, there, n)],
                between,
                size[keep],
                size[drop],
                size[there],
                linkage,
            )
    size[keep] += size[drop]
    size[drop] = 0


@kernel
def grow_tree(
    rows: Array,
    group: Array,
    nearest: Array,
    shortest: Array,
    tree: Array,
    left: Array,
    right: Array,
    height: Array,
    start: int,
    stop: int,
) -> None:
    """Add edges ``start`` to ``stop`` of the minimum spanning tree of the rows (Prim).

    Rows of one group are at distance 0. ``tree`` marks the rows in the tree, ``nearest`` and
    ``shortest`` which row of the tree is closest to every other row, and its squared distance;
    ``right`` is the row that an edge adds. No distance is kept: memory is linear.
    """
    n, d = rows.shape
    for edge in range(start, stop):
        new = right[edge - 1] if edge else 0
        tree[new] = True
        best = -1
        for other in range(n):
            if tree[other]:
                continue
            squared = 0.0
            if group[other] != group[new]:
                for feature in range(d):
                    gap = float(rows[other, feature]) - float(rows[new, feature])
                    squared += gap * gap
            if squared < shortest[other]:
                shortest[other] = squared
                nearest[other] = new
            if best < 0 or shortest[other] < shortest[best]:
                best = other
        left[edge], right[edge], height[edge] = nearest[best], best, np.sqrt(shortest[best])


@kernel
def _root(parent: Array, node: int) -> int:
    while parent[node] != node:
        parent[node] = parent[parent[node]]
        node = parent[node]
    return node


@kernel
def linkage_matrix(left: Array, right: Array, height: Array, n: int) -> Array:
    """SciPy's linkage format of merges that name one member of either side.

    Clusters that are never joined are joined at the end, at an infinite height.
    """
    table = np.empty((n - 1, 4))
    parent = np.arange(2 * n - 1)
    size = np.ones(2 * n - 1)
    n_merges = left.shape[0]
    row = 0
    loose = 0
    while row < n - 1:
        if row < n_merges:
            one, other = _root(parent, left[row]), _root(parent, right[row])
            at = height[row]
        else:
            one = _root(parent, 0)
            while _root(parent, loose) == one:
                loose += 1
            other = _root(parent, loose)
            at = np.inf
        new = n + row
        parent[one] = new
        parent[other] = new
        size[new] = size[one] + size[other]
        table[row, 0], table[row, 1] = min(one, other), max(one, other)
        table[row, 2], table[row, 3] = at, size[new]
        row += 1
    return table


@kernel
def labels_after(left: Array, right: Array, n_merges: int, n: int) -> Array:
    """Cluster of every object after the first merges, numbered by first appearance."""
    parent = np.arange(n)
    for row in range(n_merges):
        one, other = _root(parent, left[row]), _root(parent, right[row])
        parent[max(one, other)] = min(one, other)
    labels = np.full(n, -1, np.int64)
    n_labels = 0
    for node in range(n):
        root = _root(parent, node)
        if labels[root] < 0:
            labels[root] = n_labels
            n_labels += 1
        labels[node] = labels[root]
    return labels
