"""One step of Lloyd's algorithm on a tile of rows."""

from __future__ import annotations

import numpy as np

from sidelight._kernels import kernel


@kernel
def nearest(products, half_norms, best, labels):  # type: ignore[no-untyped-def]
    """Label every row with ``argmin_h ‖c_h‖²/2 - x·c_h``, the first of equals.

    ``products`` is ``(k, m)``: with the rows innermost the comparison is a vector instruction.
    ``best`` is scratch space for the ``m`` smallest values.
    """
    k, m = products.shape
    for i in range(m):
        best[i] = half_norms[0] - products[0, i]
        labels[i] = 0
    for h in range(1, k):
        for i in range(m):
            value = half_norms[h] - products[h, i]
            closer = value < best[i]
            best[i] = value if closer else best[i]
            labels[i] = h if closer else labels[i]


@kernel
def add_gaps(rows, weights, centers, labels, gaps, squares, total_gaps, total_sizes, total_squares):  # type: ignore[no-untyped-def]
    """Add the weighted gaps ``x - c`` of the rows to their centres, and the squares of the gaps.

    Sums of gaps stay small where sums of rows would not, so that adding up a tile in the precision
    of the data (``gaps``, ``squares``: scratch) loses nothing; the totals are ``float64``.
    """
    m, d = rows.shape
    k = centers.shape[0]
    for h in range(k):
        for j in range(d):
            gaps[h, j] = 0
    for j in range(d):
        squares[j] = 0
    for i in range(m):
        h = labels[i]
        w = weights[i]
        total_sizes[h] += w
        for j in range(d):
            gap = rows[i, j] - centers[h, j]
            gaps[h, j] += w * gap
            squares[j] += w * gap * gap
    for h in range(k):
        for j in range(d):
            total_gaps[h, j] += gaps[h, j]
    for j in range(d):
        total_squares[0] += squares[j]


@kernel
def nearest_and_gaps(  # type: ignore[no-untyped-def]
    rows,
    weights,
    centers,
    products,
    half_norms,
    held,
    held_labels,
    best,
    labels,
    gaps,
    squares,
    total_gaps,
    total_sizes,
    total_squares,
):
    """Label a tile of rows, ``held`` ones as told, and add up their gaps to their centres."""
    nearest(products, half_norms, best, labels)
    for q in range(held.shape[0]):
        labels[held[q]] = held_labels[q]
    add_gaps(rows, weights, centers, labels, gaps, squares, total_gaps, total_sizes, total_squares)


@kernel
def add_sparse_rows(data, indices, indptr, weights, labels, sums, sizes, squares):  # type: ignore[no-untyped-def]
    """Add weighted CSR rows to the sums of their clusters, and their squared norms."""
    for i in range(labels.shape[0]):
        h = labels[i]
        w = np.float64(weights[i])
        sizes[h] += w
        norm = 0.0
        for e in range(indptr[i], indptr[i + 1]):
            value = np.float64(data[e])
            sums[h, indices[e]] += w * value
            norm += value * value
        squares[0] += w * norm
