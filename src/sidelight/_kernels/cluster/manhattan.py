"""The 1-norm: distances to centers, and lower medians."""

from __future__ import annotations

import numpy as np

from sidelight._kernels import kernel, sum_kernel
from sidelight._typing import Array


@sum_kernel
def manhattan(rows: Array, centers: Array, out: Array) -> None:
    """Write ``‖x_i - c_h‖₁`` of dense rows to ``out``, shape (m, k)."""
    m, d = rows.shape
    for i in range(m):
        for h in range(centers.shape[0]):
            total = rows[i, 0] - rows[i, 0]  # zero in the precision of the rows
            for j in range(d):
                total += abs(rows[i, j] - centers[h, j])
            out[i, h] = total


@kernel
def sparse_manhattan(
    data: Array, indices: Array, indptr: Array, centers: Array, norms: Array, out: Array
) -> None:
    """Write ``‖x_i - c_h‖₁ = ‖c_h‖₁ + Σ_{j: x_ij ≠ 0} |x_ij - c_hj| - |c_hj|`` of CSR rows."""
    for i in range(out.shape[0]):
        for h in range(centers.shape[0]):
            total = norms[h]
            for e in range(indptr[i], indptr[i + 1]):
                at = centers[h, indices[e]]
                total += abs(data[e] - at) - abs(at)
            out[i, h] = max(total, 0.0)


@kernel
def lower_median(values: Array, weights: Array, zero_weight: float) -> float:
    """Return the smallest value with at least half of the weight at or below it.

    ``zero_weight`` is the weight of zeros that are not listed.
    """
    order = np.argsort(values)
    half = (weights.sum() + zero_weight) / 2
    below, zeros_counted = 0.0, zero_weight <= 0
    for place in order:
        if not zeros_counted and values[place] > 0:
            below += zero_weight
            zeros_counted = True
            if below >= half:
                return 0.0
        below += weights[place]
        if below >= half and below > 0:
            return float(values[place])
    if not zeros_counted:
        return 0.0
    return float(values[order[-1]])


@kernel
def column_medians(
    data: Array, indices: Array, indptr: Array, weights: Array, total: float, out: Array
) -> None:
    """Write the weighted lower median of every column of a CSC matrix."""
    for j in range(out.shape[0]):
        begin, end = indptr[j], indptr[j + 1]
        listed = weights[indices[begin:end]]
        out[j] = lower_median(data[begin:end], listed, max(total - listed.sum(), 0.0))


@kernel
def dense_column_medians(rows: Array, weights: Array, out: Array) -> None:
    """Write the weighted lower median of every column of a dense matrix."""
    for j in range(out.shape[0]):
        out[j] = lower_median(rows[:, j].copy(), weights, 0.0)
