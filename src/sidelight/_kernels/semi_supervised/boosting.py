"""Products of similarities with two vectors at once: one pass over their memory."""

from __future__ import annotations

from sidelight._kernels import sum_kernel
from sidelight._typing import Array


@sum_kernel
def two_products(matrix: Array, first: int, last: int, vectors: Array, out: Array) -> None:
    """``Σ_j m_ij u_j`` and ``Σ_j m_ij v_j`` for the rows from ``first`` to ``last``, in float64.

    ``vectors`` and ``out`` hold both vectors as rows; the matrix is float32 or float64.
    """
    one, other = vectors[0], vectors[1]
    for i in range(first, last):
        row = matrix[i]
        total_one = 0.0
        total_other = 0.0
        for j in range(row.shape[0]):
            total_one += row[j] * one[j]
            total_other += row[j] * other[j]
        out[0, i] = total_one
        out[1, i] = total_other
