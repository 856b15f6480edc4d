"""Products with the squares of a matrix that is not squared: one pass over its memory."""

from __future__ import annotations

from sidelight._kernels import sum_kernel
from sidelight._typing import Array


@sum_kernel
def squared_product(matrix: Array, scale: float, vector: Array, out: Array) -> None:
    """``Σ_j (scale m_ij)² v_j`` for every row of a float64 matrix."""
    for i in range(matrix.shape[0]):
        total = 0.0
        row = matrix[i]
        for j in range(row.shape[0]):
            entry = scale * row[j]
            total += entry * entry * vector[j]
        out[i] = total
