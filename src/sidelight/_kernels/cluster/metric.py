"""Sums over rows by cluster that metrics are made of."""

from __future__ import annotations

from sidelight._kernels import kernel
from sidelight._typing import Array


@kernel
def add_squares(rows: Array, centers: Array, labels: Array, totals: Array) -> None:
    """Add ``(x_d - μ_d)²`` of every row to the totals (k, d) of its cluster."""
    for i in range(rows.shape[0]):
        h = labels[i]
        for j in range(rows.shape[1]):
            offset = rows[i, j] - centers[h, j]
            totals[h, j] += offset * offset


@kernel
def add_sparse_squares(
    data: Array, indices: Array, indptr: Array, labels: Array, totals: Array
) -> None:
    """Add ``x_d²`` of every CSR row to the totals (k, d) of its cluster."""
    for i in range(labels.shape[0]):
        h = labels[i]
        for e in range(indptr[i], indptr[i + 1]):
            totals[h, indices[e]] += data[e] * data[e]


@kernel
def add_rows(rows: Array, weights: Array, labels: Array, totals: Array) -> None:
    """Add weighted rows to the totals (k, d) of their clusters."""
    for i in range(rows.shape[0]):
        h, w = labels[i], weights[i]
        for j in range(rows.shape[1]):
            totals[h, j] += w * rows[i, j]


@kernel
def add_sparse_rows(
    data: Array, indices: Array, indptr: Array, weights: Array, labels: Array, totals: Array
) -> None:
    """Add weighted CSR rows to the totals (k, d) of their clusters."""
    for i in range(labels.shape[0]):
        h, w = labels[i], weights[i]
        for e in range(indptr[i], indptr[i + 1]):
            totals[h, indices[e]] += w * data[e]
