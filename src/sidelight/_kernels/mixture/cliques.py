"""Sums over labelings in which all nodes of a clique differ, by sets of labels already used.

Nodes of a clique take their labels in turn; what the later ones may take depends on the set of
labels used so far only, so that ``2^k`` sums (in logarithms) replace ``k^m`` labelings.
"""

from __future__ import annotations

import math

import numpy as np

from sidelight._kernels import kernel
from sidelight._kernels.mixture.field import log_add, pick
from sidelight._typing import Array


@kernel
def count_bits(n_labels: int) -> Array:
    """Number of labels in every set."""
    counts = np.zeros(1 << n_labels, np.int64)
    for used in range(1, len(counts)):
        counts[used] = counts[used >> 1] + (used & 1)
    return counts


@kernel
def _sums_after(logphi: Array, counts: Array, maximum: bool, after: Array) -> None:
    """Log-weight of the nodes still to come, given the set of labels used by those before."""
    m, k = logphi.shape
    for used in range(len(counts) - 1, -1, -1):
        turn = counts[used]
        if turn >= m:
            after[used] = 0.0 if turn == m else -np.inf
            continue
        total = -np.inf
        for label in range(k):
            if not used >> label & 1:
                value = logphi[turn, label] + after[used | 1 << label]
                total = max(total, value) if maximum else log_add(total, value)
        after[used] = total


@kernel
def _sums_before(logphi: Array, counts: Array, before: Array) -> None:
    """Log-weight of the ways in which the first nodes use exactly a set of labels."""
    m, k = logphi.shape
    before[0] = 0.0
    for used in range(1, len(counts)):
        turn = counts[used] - 1
        total = -np.inf
        if turn < m:
            for label in range(k):
                if used >> label & 1:
                    total = log_add(total, logphi[turn, label] + before[used ^ 1 << label])
        before[used] = total


@kernel
def clique_marginals(logphi: Array, starts: Array, q: Array, log_z: Array) -> None:
    """Marginals of the nodes of every clique, and log Z at the first node of each.

    Clique c has the rows ``starts[c]`` to ``starts[c + 1]`` of ``logphi``.
    """
    k = logphi.shape[1]
    counts = count_bits(k)
    before, after = np.empty(len(counts)), np.empty(len(counts))
    q[:] = 0.0
    log_z[:] = 0.0
    for c in range(len(starts) - 1):
        own = logphi[starts[c] : starts[c + 1]]
        _sums_before(own, counts, before)
        _sums_after(own, counts, False, after)
        total = after[0]
        log_z[starts[c]] = total
        if total == -np.inf:
            continue
        for used in range(len(counts)):
            turn = counts[used]
            if turn >= len(own) or before[used] == -np.inf:
                continue
            for label in range(k):
                if not used >> label & 1:
                    value = before[used] + own[turn, label] + after[used | 1 << label]
                    q[starts[c] + turn, label] += math.exp(value - total)


@kernel
def clique_labels(logphi: Array, starts: Array, maximum: bool, uniform: Array) -> Array:
    """Labels of the nodes in turn: drawn, or with ``maximum`` and ``uniform`` < 0 the best ones."""
    k = logphi.shape[1]
    counts = count_bits(k)
    after = np.empty(len(counts))
    labels = np.empty(len(logphi), np.int64)
    scores = np.empty(k)
    for c in range(len(starts) - 1):
        _sums_after(logphi[starts[c] : starts[c + 1]], counts, maximum, after)
        used = 0
        for v in range(starts[c], starts[c + 1]):
            for label in range(k):
                taken = used >> label & 1
                scores[label] = -np.inf if taken else logphi[v, label] + after[used | 1 << label]
            labels[v] = pick(scores, uniform[v])
            used |= 1 << labels[v]
    return labels
