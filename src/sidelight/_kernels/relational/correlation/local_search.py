"""Moves of single nodes between clusters of a signed graph, and the contraction of clusters.

The value of two nodes in one cluster is ``W_uv - absent m_u m_v``, with ``W`` zero for pairs that
are not listed. Contraction only adds the ``W`` and the masses.
"""

from __future__ import annotations

import numpy as np

from sidelight._kernels import kernel
from sidelight._typing import Array

#: Gains below this share of the absolute weights of a node are rounding.
ROUNDING = 1e-10

EMPTY, DELETED = -1, -2


@kernel
def move_nodes(
    indptr: Array,
    indices: Array,
    weights: Array,
    mass: Array,
    absent: float,
    pairs: Array,
    conflict_indptr: Array,
    conflict_indices: Array,
    source_indptr: Array,
    source_indices: Array,
    n_sources: int,
    within: Array,
    labels: Array,
    order: Array,
    max_passes: int,
) -> tuple[float, int]:
    """Move nodes to the best cluster, or to a new one, until none gains by it.

    Nodes wait in a queue; a move puts those neighbors into it that may now gain. An empty queue
    is filled with all nodes again, and a pass without a move is the end.

    Parameters
    ----------
    indptr, indices, weights : ndarray
        The symmetric ``W`` in CSR form.
    mass : ndarray of shape (n,)
        Number of objects of every node.
    absent : float
        Cost of joining two objects that no edge joins.
    pairs : ndarray
        Where only listed objects may join, the number of listed pairs of objects behind every
        entry of ``weights``; empty otherwise.
    conflict_indptr, conflict_indices, source_indptr, source_indices : ndarray
        Nodes that a node must not join, and sources of which a cluster holds one node at most.
    n_sources : int
        Number of sources.
    within : ndarray of shape (n,) or (0,)
        Nodes join only nodes with the same entry; empty where all may.
    labels : ndarray of shape (n,), int32
        Clusters below n that respect conflicts and sources; changed in place.
    order : ndarray of shape (n,), int32
        Order of the first pass.
    max_passes : int
        Largest number of times that the queue is filled.

    Returns
    -------
    gain : float
        Decrease of the cost.
    n_moves : int
        Number of moves.
    """
    n, cliques = len(labels), len(pairs) > 0
    size = np.zeros(n, np.int32)
    total = np.zeros(n)
    for u in range(n):
        size[labels[u]] += 1
        total[labels[u]] += mass[u]
    # Numbers of empty clusters, for nodes that open a new one.
    free = np.empty(n, np.int32)
    n_free = 0
    for cluster in range(n - 1, -1, -1):
        if size[cluster] == 0:
            free[n_free] = cluster
            n_free += 1
    value = np.zeros(n)
    listed = np.zeros(n if cliques else 0)
    touched = np.empty(n, np.int32)
    blocked = np.full(n if len(conflict_indices) else 0, -1, np.int32)
    table = _source_table(source_indptr, source_indices, n_sources, labels)
    n_used = len(source_indices)
    queue = order.copy()
    waits = np.ones(n, np.bool_)
    head, n_waiting = 0, n
    n_passes, moved_in_pass = 1, False
    gain, n_moves = 0.0, 0
    while True:
        # End of a pass: fill the queue again unless nothing moved.
        if n_waiting == 0:
            if not moved_in_pass or n_passes >= max_passes:
                break
            n_passes += 1
            moved_in_pass = False
            head, n_waiting = 0, n
            for place in range(n):
                queue[place] = order[place]
            waits[:] = True
        u = queue[head]
        head = head + 1 if head + 1 < n else 0
        n_waiting -= 1
        waits[u] = False
        here = labels[u]
        for place in range(conflict_indptr[u], conflict_indptr[u + 1]):
            blocked[labels[conflict_indices[place]]] = u
        # Sums of the scores of u with the clusters of its neighbors.
        n_touched, scale = 0, 0.0
        for place in range(indptr[u], indptr[u + 1]):
            v = indices[place]
            if len(within) and within[v] != within[u]:
                continue
            cluster = labels[v]
            weight = weights[place]
            if weight == 0.0 and not cliques:
                continue
            if value[cluster] == 0.0 and (not cliques or listed[cluster] == 0.0):
                touched[n_touched] = cluster  # twice where a sum is zero, which does no harm
                n_touched += 1
            value[cluster] += weight
            scale += abs(weight)
            if cliques:
                listed[cluster] += pairs[place]
        # Gain of a move from a to b: ``Σ_{v∈b} S_uv - Σ_{v∈a} S_uv``; a new cluster has value 0.
        stay = value[here] - absent * mass[u] * (total[here] - mass[u])
        best, target = stay, np.int64(here)
        if stay < 0.0 and size[here] > 1:
            best, target = 0.0, np.int64(-1)
        for place in range(n_touched):
            cluster = touched[place]
            if cluster == here:
                continue
            worth = value[cluster] - absent * mass[u] * total[cluster]
            if worth <= best:
                continue
            # Clusters that hold a node, an unlisted pair or a source that u must not join.
            if len(conflict_indices) and blocked[cluster] == u:
                continue
            if cliques and listed[cluster] != mass[u] * total[cluster]:
                continue
            if n_sources and _meets_source(
                table, source_indptr, source_indices, n_sources, u, cluster
            ):
                continue
            best, target = worth, np.int64(cluster)
        for place in range(n_touched):
            value[touched[place]] = 0.0
            if cliques:
                listed[touched[place]] = 0.0
        if target == here or best - stay <= ROUNDING * scale:
            continue
        # Carry out the move.
        if target == -1:
            n_free -= 1
            target = np.int64(free[n_free])
        gain += best - stay
        n_moves += 1
        moved_in_pass = True
        labels[u] = target
        size[here] -= 1
        size[target] += 1
        total[here] = total[here] - mass[u] if size[here] else 0.0
        total[target] += mass[u]
        if size[here] == 0:
            free[n_free] = here
            n_free += 1
        # Sources of the clusters are in a hash table, which is rebuilt when deletions fill it.
        if n_sources:
            for place in range(source_indptr[u], source_indptr[u + 1]):
                _remove(table, here * np.int64(n_sources) + source_indices[place])
                n_used += _insert(table, target * np.int64(n_sources) + source_indices[place])
            if 4 * n_used > 3 * len(table):
                table = _source_table(source_indptr, source_indices, n_sources, labels)
                n_used = len(source_indices)
        for place in range(indptr[u], indptr[u + 1]):
            v = indices[place]
            # What joined u likes may follow it; what u was pushed upon may leave.
            if not waits[v] and (weights[place] > 0) == (labels[v] != target):
                tail = head + n_waiting
                queue[tail if tail < n else tail - n] = v
                n_waiting += 1
                waits[v] = True
    return gain, n_moves


@kernel
def _source_table(
    source_indptr: Array, source_indices: Array, n_sources: int, labels: Array
) -> Array:
    """Hash set of the pairs (cluster, source) that occur, by open addressing."""
    capacity = 8
    while capacity < 4 * len(source_indices):
        capacity *= 2
    table = np.full(capacity, EMPTY, np.int64)
    if n_sources:
        for u in range(len(labels)):
            for place in range(source_indptr[u], source_indptr[u + 1]):
                _insert(table, labels[u] * np.int64(n_sources) + source_indices[place])
    return table


@kernel
def _place(table: Array, key: int) -> int:
    """First place of a key in the table."""
    mixed = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    # Signed: Numba would make a fraction of an unsigned place plus one.
    return np.int64((mixed >> np.uint64(20)) & np.uint64(len(table) - 1))  # type: ignore[return-value]


@kernel
def _insert(table: Array, key: int) -> int:
    """Add a key that is not there; 1 where that took an empty place."""
    place = _place(table, key)
    while table[place] >= 0:
        place = place + 1 if place + 1 < len(table) else 0
    was_empty = table[place] == EMPTY
    table[place] = key
    return 1 if was_empty else 0


@kernel
def _remove(table: Array, key: int) -> None:
    place = _place(table, key)
    while table[place] != key:
        place = place + 1 if place + 1 < len(table) else 0
    table[place] = DELETED


@kernel
def _contains(table: Array, key: int) -> bool:
    place = _place(table, key)
    while table[place] != EMPTY:
        if table[place] == key:
            return True
        place = place + 1 if place + 1 < len(table) else 0
    return False


@kernel
def _meets_source(
    table: Array, source_indptr: Array, source_indices: Array, n_sources: int, u: int, cluster: int
) -> bool:
    """Whether a cluster holds a node with a source of ``u``."""
    for place in range(source_indptr[u], source_indptr[u + 1]):
        if _contains(table, cluster * np.int64(n_sources) + source_indices[place]):
            return True
    return False


@kernel
def contract(
    indptr: Array,
    indices: Array,
    weights: Array,
    labels: Array,
    members: Array,
    starts: Array,
    n_cross: int,
) -> tuple[Array, Array, Array]:
    """Sums of the weights between clusters, in CSR form.

    Parameters
    ----------
    indptr, indices, weights : ndarray
        Symmetric weights in CSR form.
    labels : ndarray of shape (n,)
        Clusters 0 to k - 1.
    members, starts : ndarray
        Nodes sorted by cluster, and where every cluster begins, shape (k + 1,).
    n_cross : int
        Number of entries between different clusters.
    """
    k = len(starts) - 1
    new_indptr = np.zeros(k + 1, np.int64)
    columns = np.empty(n_cross, indices.dtype)
    sums = np.empty(n_cross)
    where = np.full(k, -1, np.int64)
    n_entries = 0
    for cluster in range(k):
        begin = n_entries
        for member in range(starts[cluster], starts[cluster + 1]):
            u = members[member]
            for place in range(indptr[u], indptr[u + 1]):
                other = labels[indices[place]]
                if other == cluster:
                    continue
                if where[other] < begin:
                    where[other] = n_entries
                    columns[n_entries] = other
                    sums[n_entries] = weights[place]
                    n_entries += 1
                else:
                    sums[where[other]] += weights[place]
        new_indptr[cluster + 1] = n_entries
    return new_indptr, columns[:n_entries].copy(), sums[:n_entries].copy()


@kernel
def count_cross(indptr: Array, indices: Array, labels: Array) -> int:
    """Number of entries between different clusters."""
    n_cross = 0
    for u in range(len(labels)):
        for place in range(indptr[u], indptr[u + 1]):
            if labels[indices[place]] != labels[u]:
                n_cross += 1
    return n_cross


@kernel
def disagreements(
    indptr: Array, indices: Array, scores: Array, mass: Array, labels: Array
) -> tuple[float, float]:
    """Cost of the listed pairs, and the number of objects' pairs that listed ones join."""
    cost, joined = 0.0, 0.0
    for u in range(len(labels)):
        for place in range(indptr[u], indptr[u + 1]):
            v = indices[place]
            if v <= u:
                continue
            if labels[u] == labels[v]:
                joined += mass[u] * mass[v]
                cost += max(-scores[place], 0.0)
            else:
                cost += max(scores[place], 0.0)
    return cost, joined
