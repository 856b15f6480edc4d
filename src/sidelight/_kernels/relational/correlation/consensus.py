"""Consensus of partitions through contingency tables: no matrix of all pairs of objects.

A node stands for objects that stay together. ``counts`` says how many of its objects have which
label of which partition, and ``known`` how many have a label at all. The value of two nodes in one
cluster is ``2 Σ_l c_u(l) c_v(l) - factor Σ_q known_u(q) known_v(q)``.
"""

from __future__ import annotations

import numpy as np

from sidelight._kernels import kernel
from sidelight._typing import Array


@kernel
def tables_of(
    indptr: Array,
    codes: Array,
    counts: Array,
    known: Array,
    labels: Array,
    table: Array,
    in_cluster: Array,
) -> None:
    """Add the nodes to the tables: labels by clusters, and known objects by clusters."""
    for u in range(len(labels)):
        for place in range(indptr[u], indptr[u + 1]):
            table[codes[place], labels[u]] += counts[place]
        for q in range(known.shape[1]):
            in_cluster[q, labels[u]] += known[u, q]


@kernel
def sweep(
    indptr: Array,
    codes: Array,
    counts: Array,
    known: Array,
    factor: float,
    conflict_indptr: Array,
    conflict_indices: Array,
    order: Array,
    labels: Array,
    size: Array,
    table: Array,
    in_cluster: Array,
) -> tuple[float, int]:
    """Move every node to its best cluster once; returns the gain and the number of moves.

    An empty cluster is a choice like any other, of value 0. All values are whole numbers, so that
    a gain above 0 is one.
    """
    k = table.shape[1]
    value = np.empty(k)
    gain, n_moves = 0.0, 0
    for u in order:
        value[:] = 0.0
        own = 0.0
        # Value of every cluster by contingency tables (Book 2009, 13.4.5): twice the partitions
        # that join u with its objects, less those that label both.
        for place in range(indptr[u], indptr[u + 1]):
            count = 2.0 * counts[place]
            row = table[codes[place]]
            own += count * counts[place]
            for b in range(k):
                value[b] += count * row[b]
        for q in range(known.shape[1]):
            count = factor * known[u, q]
            row = in_cluster[q]
            own -= count * known[u, q]
            for b in range(k):
                value[b] -= count * row[b]
        here = labels[u]
        value[here] -= own
        # Clusters that u must not join.
        for place in range(conflict_indptr[u], conflict_indptr[u + 1]):
            value[labels[conflict_indices[place]]] = -np.inf
        target = here
        for b in range(k):
            if value[b] > value[target]:
                target = b
        if target == here:
            continue
        # Move, and update the tables.
        gain += value[target] - value[here]
        n_moves += 1
        labels[u] = target
        size[here] -= 1
        size[target] += 1
        for place in range(indptr[u], indptr[u + 1]):
            table[codes[place], here] -= counts[place]
            table[codes[place], target] += counts[place]
        for q in range(known.shape[1]):
            in_cluster[q, here] -= known[u, q]
            in_cluster[q, target] += known[u, q]
    return gain, n_moves


@kernel
def pivot_rows(
    indptr: Array,
    codes: Array,
    counts: Array,
    known: Array,
    factor: float,
    n_codes: int,
    order: Array,
    max_pivots: int,
    labels: Array,
) -> None:
    """Pivot clusters of the implied scores, a row of them at a time.

    After ``max_pivots`` pivots the nodes that are left join the pivot that they agree with most.
    """
    n = len(labels)
    profile = np.zeros(n_codes)
    best = np.full(n, -np.inf)
    nearest = np.zeros(n, np.int32)
    labels[:] = -1
    n_pivots = 0
    for u in order:
        if labels[u] >= 0:
            continue
        if n_pivots == max_pivots:
            break
        for place in range(indptr[u], indptr[u + 1]):
            profile[codes[place]] = counts[place]
        for v in range(n):
            if labels[v] >= 0:
                continue
            score = 0.0
            for place in range(indptr[v], indptr[v + 1]):
                score += 2.0 * counts[place] * profile[codes[place]]
            for q in range(known.shape[1]):
                score -= factor * known[u, q] * known[v, q]
            if score > best[v]:
                best[v] = score
                nearest[v] = n_pivots
            if score > 0 or v == u:
                labels[v] = n_pivots
        for place in range(indptr[u], indptr[u + 1]):
            profile[codes[place]] = 0.0
        n_pivots += 1
    for v in range(n):
        if labels[v] < 0:
            labels[v] = nearest[v]


@kernel
def separate(conflict_indptr: Array, conflict_indices: Array, k: int, labels: Array) -> None:
    """Move nodes that clash with one before them to the first cluster where they do not."""
    taken = np.full(k, -1, np.int64)
    for u in range(len(labels)):
        for place in range(conflict_indptr[u], conflict_indptr[u + 1]):
            v = conflict_indices[place]
            if v < u:
                taken[labels[v]] = u
        if taken[labels[u]] == u:
            b = 0
            while taken[b] == u:
                b += 1
            labels[u] = b
