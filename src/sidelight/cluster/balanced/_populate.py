"""Minimum sizes at fixed centers: Populate and Refine (Constrained Clustering, section 8.2.1)."""

from __future__ import annotations

import numpy as np

from sidelight._kernels.cluster.balance import accept_deferred, exchange, move_freely
from sidelight._typing import Array


def populate(costs: Array, labels: Array, min_size: int) -> Array:
    """Give every cluster its minimum size: first the rows it lacks, stably, then the nearest.

    Rows that have a label keep it, unless their cluster has more than it must and others could not
    get enough without its farthest rows.

    Parameters
    ----------
    costs : ndarray of shape (n, k)
        Cost of every row at every center.
    labels : ndarray of shape (n,)
        Clusters of rows that are in one already, -1 for the others.
    min_size : int
        Least number of rows of a cluster; ``k`` times it is at most ``n``.

    Returns
    -------
    labels : ndarray of int32, shape (n,)
        Cluster of every row.
    """
    labels = np.array(labels, dtype=np.int32)
    _release(costs, labels, min_size)
    quotas = np.maximum(min_size - _sizes(labels, costs.shape[1]), 0)
    accept_deferred(costs, np.flatnonzero(labels < 0), quotas, labels)
    left = np.flatnonzero(labels < 0)
    labels[left] = np.argmin(costs[left], axis=1)
    return labels


def _release(costs: Array, labels: Array, min_size: int) -> None:
    """Take labels away until there are enough rows to fill all clusters.

    Clusters with more rows than they must have give up the farthest of all of these.
    """
    sizes = _sizes(labels, costs.shape[1])
    lacking = int(np.maximum(min_size - sizes, 0).sum())
    n_short = lacking - int(np.count_nonzero(labels < 0))
    if n_short <= 0:
        return
    rows = np.flatnonzero(labels >= 0)
    own = costs[rows, labels[rows]]
    order = np.lexsort((-own, labels[rows]))
    rows, own = rows[order], own[order]  # by cluster, the farthest first
    first = np.cumsum(sizes) - sizes
    surplus = np.arange(len(rows)) - first[labels[rows]] < (sizes - min_size)[labels[rows]]
    rows, own = rows[surplus], own[surplus]
    labels[rows[np.argsort(-own, kind="stable")[:n_short]]] = -1


def refine(costs: Array, labels: Array, min_size: int) -> int:
    """Bring rows nearer to their centers without making a cluster too small; count the moves.

    First rows move alone, out of clusters that have more than they must; then rows are passed
    around cycles of clusters in which every row comes nearer. Every move lowers the cost, and no
    such move is left. ``labels`` (int32) are written over.
    """
    sizes = _sizes(labels, costs.shape[1])
    moves: int = move_freely(costs, labels, sizes, min_size)
    return moves + int(exchange(costs, labels))


def _sizes(labels: Array, k: int) -> Array:
    return np.bincount(labels[labels >= 0], minlength=k).astype(np.int64)
