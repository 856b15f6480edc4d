"""Best partition of few nodes by dynamic programming over all their subsets."""

from __future__ import annotations

import numpy as np

from sidelight._kernels import kernel
from sidelight._typing import Array


@kernel
def best_partition(scores: Array, labels: Array) -> float:
    """Largest sum of the scores inside of clusters, over all partitions.

    ``best(M) = max over C with the first node of M of sum(C) + best(M without C)``. Time
    ``O(3^k)``, memory ``20 * 2^k`` bytes: 0.2 seconds for 18 nodes, 2 seconds for 20.

    Parameters
    ----------
    scores : ndarray of shape (k, k)
        Symmetric scores, ``-inf`` for pairs that must not join.
    labels : ndarray of shape (k,)
        Written: first node of the cluster of every node.
    """
    k = len(scores)
    n_subsets = 1 << k
    inside = np.zeros(n_subsets)
    best = np.zeros(n_subsets)
    chosen = np.zeros(n_subsets, np.int32)
    for subset in range(1, n_subsets):
        low = _first_node(subset)
        rest = subset & (subset - 1)
        total = inside[rest]
        for j in range(low + 1, k):
            if rest >> j & 1:
                total += scores[low, j]
        inside[subset] = total
    for subset in range(1, n_subsets):
        rest = subset & (subset - 1)
        first = subset ^ rest
        # All clusters of the first node: it and any part of the rest, alone to begin with.
        best[subset] = best[rest]
        chosen[subset] = first
        part = rest
        while part > 0:
            value = inside[first | part] + best[rest ^ part]
            if value > best[subset]:
                best[subset] = value
                chosen[subset] = first | part
            part = (part - 1) & rest
    left = n_subsets - 1
    while left > 0:
        cluster = int(chosen[left])
        low = _first_node(cluster)
        for j in range(low, k):
            if cluster >> j & 1:
                labels[j] = low
        left ^= cluster
    return best[n_subsets - 1]


@kernel
def _first_node(subset: int) -> int:
    """Smallest node of a subset."""
    low = 0
    while not subset >> low & 1:
        low += 1
    return low
