"""The loop over pairs that changes a metric one pair at a time: POLA."""

from __future__ import annotations

import numpy as np

from sidelight._kernels import kernel, sum_kernel
from sidelight._typing import Array


@sum_kernel
def times_vector(matrix: Array, vector: Array, out: Array) -> float:
    """``out = A v`` for a symmetric matrix; return ``v'Av``."""
    d = len(vector)
    total = 0.0
    for i in range(d):
        entry = 0.0
        for j in range(d):
            entry += matrix[i, j] * vector[j]
        out[i] = entry
        total += entry * vector[i]
    return total


@kernel
def add_outer(matrix: Array, scale: float, vector: Array) -> None:
    """``A += scale · vv'``."""
    d = len(vector)
    for i in range(d):
        factor = scale * vector[i]
        for j in range(d):
            matrix[i, j] += factor * vector[j]


@kernel
def pola_epoch(
    A: Array,
    threshold: Array,
    differences: Array,
    sign: Array,
    shares: Array,
    order: Array,
    total: Array,
    total_threshold: Array,
) -> int:
    """Update ``A`` by every pair once; return the number of pairs with a loss.

    A pair moves ``A`` and ``threshold`` (of shape (1,)), both in place, by its share of the way to
    the nearest point without a loss. Every state of both is added to its total.
    """
    scratch = np.empty(A.shape[0])
    n_updates = 0
    for n in order:
        v = differences[n]
        distance = times_vector(A, v, scratch)
        loss = 1.0 - sign[n] * (threshold[0] - distance)
        if loss > 0.0:
            n_updates += 1
            length = 0.0
            for j in range(len(v)):
                length += v[j] * v[j]
            alpha = shares[n] * loss / (length * length + 1.0)
            add_outer(A, -sign[n] * alpha, v)
            threshold[0] = max(threshold[0] + sign[n] * alpha, 1.0)
            if sign[n] > 0.0:
                remove_negative(A)
        total += A
        total_threshold += threshold
    return n_updates


@kernel
def remove_negative(A: Array) -> None:
    """Project on positive semi-definite matrices: at most one eigenvalue is negative."""
    values, vectors = np.linalg.eigh(A)
    if values[0] < 0.0:
        add_outer(A, -values[0], np.ascontiguousarray(vectors[:, 0]))
