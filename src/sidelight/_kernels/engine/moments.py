"""Sums and sums of squares of every column."""

from __future__ import annotations

from sidelight._kernels import kernel
from sidelight._typing import Array


@kernel
def add_moments(rows: Array, weights: Array, point: Array, first: Array, second: Array) -> None:
    """Add ``w_i (x_ij - p_j)`` of all rows to ``first``, with the square to ``second``."""
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            offset = rows[i, j] - point[j]
            first[j] += weights[i] * offset
            second[j] += weights[i] * offset * offset
