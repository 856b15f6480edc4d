"""Moves of boundary nodes between adjacent clusters that keep every cluster connected."""

from __future__ import annotations

import numpy as np

from sidelight._kernels import kernel
from sidelight._kernels.constraints.unionfind import find
from sidelight._typing import Array

#: A move has to lower the objective by this share of what the node costs now.
MARGIN = 1e-9


@kernel
def improve_boundary(
    indptr: Array,
    indices: Array,
    rows: Array,
    directions: bool,
    patience: int,
    labels: Array,
    sums: Array,
    sizes: Array,
) -> int:
    """Move nodes to the adjacent cluster that lowers the objective most, once each.

    With the sum ``s`` of the ``m`` rows of a cluster, its part of the objective is ``Σ‖x‖² -
    ‖s‖²/m``, and ``m - ‖s‖`` for directions. A node leaves only where the rest of its cluster
    stays connected: searches from all its neighbors in the cluster have to meet without it, after
    at most ``patience`` nodes.

    Parameters
    ----------
    indptr, indices : ndarray
        Neighbors of the nodes, in CSR arrays.
    rows : ndarray of shape (n, d)
        Attributes of the nodes.
    directions : bool
        Whether rows have unit length and only directions of centers count.
    patience : int
        Largest number of nodes visited for one move.
    labels, sums, sizes : ndarray
        Clusters with the sums and numbers of their rows, changed in place.

    Returns
    -------
    n_moves : int
        Number of moves.
    """
    n, k = rows.shape[0], sums.shape[0]
    stamps, owners, queue = np.full(n, -1, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    seen = np.full(k, -1, np.int64)
    n_searches = n_moves = 0
    for node in range(n):
        home = labels[node]
        if home < 0 or sizes[home] == 1:
            continue
        leaves = -1.0
        best, target = 0.0, -1
        for entry in range(indptr[node], indptr[node + 1]):
            other = labels[indices[entry]]
            if other < 0 or other == home or seen[other] == node:
                continue
            seen[other] = node
            if leaves < 0.0:
                leaves = _cost_inside(rows, node, sums, sizes, home, directions)
                best = leaves * (1.0 - MARGIN)
            cost = _cost_of_joining(rows, node, sums, sizes, other, directions)
            if cost < best:
                best, target = cost, other
        if target < 0:
            continue
        n_searches += 1
        if not stays_connected(
            indptr, indices, labels, node, patience, stamps, owners, n_searches, queue
        ):
            continue
        labels[node] = target
        sizes[home] -= 1
        sizes[target] += 1
        for feature in range(rows.shape[1]):
            sums[home, feature] -= rows[node, feature]
            sums[target, feature] += rows[node, feature]
        n_moves += 1
    return n_moves


@kernel
def _cost_inside(
    rows: Array, node: int, sums: Array, sizes: Array, j: int, directions: bool
) -> float:
    """Fall of the objective when a node leaves its cluster of at least two."""
    m = sizes[j]
    total = with_it = without = 0.0
    for feature in range(rows.shape[1]):
        x, s = np.float64(rows[node, feature]), sums[j, feature]
        offset = x - s / m
        total += offset * offset
        with_it += s * s
        without += (s - x) * (s - x)
    if directions:
        return 1.0 - np.sqrt(with_it) + np.sqrt(without)
    return total * m / (m - 1)


@kernel
def _cost_of_joining(
    rows: Array, node: int, sums: Array, sizes: Array, j: int, directions: bool
) -> float:
    """Rise of the objective when a node joins a cluster."""
    m = sizes[j]
    total = with_it = without = 0.0
    for feature in range(rows.shape[1]):
        x, s = np.float64(rows[node, feature]), sums[j, feature]
        offset = x - s / m
        total += offset * offset
        with_it += (s + x) * (s + x)
        without += s * s
    if directions:
        return 1.0 + np.sqrt(without) - np.sqrt(with_it)
    return total * m / (m + 1)


@kernel
def stays_connected(
    indptr: Array,
    indices: Array,
    labels: Array,
    node: int,
    patience: int,
    stamps: Array,
    owners: Array,
    stamp: int,
    queue: Array,
) -> bool:
    """Whether the other members of its cluster are connected without a node, if soon found out.

    Breadth-first searches from all its neighbors in the cluster at once: the rest is connected as
    soon as they have all met, and in pieces as soon as one of them comes to its end before. Either
    takes far fewer steps than a search from one of them. ``stamps`` is marked with ``stamp``, which
    has to be a new one; ``owners`` and ``queue`` are for working.
    """
    home = labels[node]
    end = 0
    stamps[node] = stamp
    owners[node] = -1
    for entry in range(indptr[node], indptr[node + 1]):
        v = indices[entry]
        if labels[v] == home:
            stamps[v] = stamp
            owners[v] = end
            queue[end] = v
            end += 1
    n_searches = end
    if n_searches <= 1:
        return n_searches == 1
    # Searches that have met share a root; open ends are nodes whose neighbors were not seen yet.
    root, open_ends = np.arange(n_searches), np.ones(n_searches, np.int64)
    begin = 0
    while begin < end and begin < patience:
        member = queue[begin]
        begin += 1
        own = find(root, owners[member])
        for entry in range(indptr[member], indptr[member + 1]):
            v = indices[entry]
            if labels[v] != home:
                continue
            if stamps[v] != stamp:
                stamps[v] = stamp
                owners[v] = own
                queue[end] = v
                end += 1
                open_ends[own] += 1
            elif owners[v] >= 0:
                other = find(root, owners[v])
                if other != own:
                    root[other] = own
                    open_ends[own] += open_ends[other]
                    n_searches -= 1
                    if n_searches == 1:
                        return True
        open_ends[own] -= 1
        if open_ends[own] == 0:
            return False
    return False
