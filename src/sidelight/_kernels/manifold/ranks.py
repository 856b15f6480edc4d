"""Ranks of some neighbors among all others."""

from __future__ import annotations

from sidelight._kernels import kernel
from sidelight._typing import Array


@kernel
def neighbor_ranks(distances: Array, near: Array, start: int, ranks: Array) -> None:
    """Write ranks by distance, 1 for the nearest other and all that are as near.

    Parameters
    ----------
    distances : ndarray of float64, shape (m, n)
        Distances from the points ``start`` to ``start + m - 1`` to all.
    near : ndarray of int64, shape (m, k)
        Others whose ranks are asked for.
    start : int
        Position of the first point among all.
    ranks : ndarray of int64, shape (m, k)
        Where the ranks are written.
    """
    m, n = distances.shape
    for i in range(m):
        row = distances[i]
        for slot in range(near.shape[1]):
            limit = row[near[i, slot]]
            nearer = 1
            for j in range(n):
                nearer += row[j] < limit
            if row[start + i] < limit:  # a point is not among its own others
                nearer -= 1
            ranks[i, slot] = nearer
