"""One step of Lloyd's algorithm on a tile of rows."""

from __future__ import annotations

import numpy as np

from sidelight._kernels import kernel, sum_kernel
from sidelight._typing import Array

#: ``nearest`` compares this many centers at a time; their number has to be a multiple of it.
CENTERS_AT_ONCE = 4


@kernel
def nearest(products: Array, half_norms: Array, best: Array, labels: Array) -> None:
    """Label every row with ``argmin_h ‖c_h‖²/2 - x·c_h``, the first of equals.

    ``products`` is ``(k, m)`` with rows innermost, and four centers are compared per round: both
    let the compiler work on whole vectors of rows and store each of them once. Centres that fill
    up the last round have infinite ``half_norms``. ``best`` is scratch space of ``m`` numbers.
    """
    k, m = products.shape
    for i in range(m):
        best[i] = np.inf
        labels[i] = 0
    for h in range(0, k, CENTERS_AT_ONCE):
        x0, x1, x2, x3 = products[h], products[h + 1], products[h + 2], products[h + 3]
        n0, n1, n2, n3 = half_norms[h], half_norms[h + 1], half_norms[h + 2], half_norms[h + 3]
        h0, h1, h2, h3 = np.int32(h), np.int32(h + 1), np.int32(h + 2), np.int32(h + 3)
        for i in range(m):
            smallest, label = best[i], labels[i]
            value = n0 - x0[i]
            closer = value < smallest
            smallest, label = (value, h0) if closer else (smallest, label)
            value = n1 - x1[i]
            closer = value < smallest
            smallest, label = (value, h1) if closer else (smallest, label)
            value = n2 - x2[i]
            closer = value < smallest
            smallest, label = (value, h2) if closer else (smallest, label)
            value = n3 - x3[i]
            closer = value < smallest
            smallest, label = (value, h3) if closer else (smallest, label)
            best[i], labels[i] = smallest, label


@kernel
def add_offsets(
    rows: Array,
    weights: Array,
    centers: Array,
    labels: Array,
    offsets: Array,
    squares: Array,
    total_offsets: Array,
    total_sizes: Array,
    total_squares: Array,
) -> None:
    """Add the weighted offsets ``x - c`` of the rows from their centers, and their squares.

    Sums of offsets stay small where sums of rows would not, so that adding up a tile in the
    precision of the data (``offsets``, ``squares``: scratch) loses nothing; the totals are
    ``float64``.
    """
    m, d = rows.shape
    k = centers.shape[0]
    for h in range(k):
        for j in range(d):
            offsets[h, j] = 0
    for j in range(d):
        squares[j] = 0
    for i in range(m):
        h = labels[i]
        w = weights[i]
        total_sizes[h] += w
        for j in range(d):
            offset = rows[i, j] - centers[h, j]
            offsets[h, j] += w * offset
            squares[j] += w * offset * offset
    for h in range(k):
        for j in range(d):
            total_offsets[h, j] += offsets[h, j]
    for j in range(d):
        total_squares[0] += squares[j]


@kernel
def add_sparse_rows(
    data: Array,
    indices: Array,
    indptr: Array,
    weights: Array,
    labels: Array,
    sums: Array,
    sizes: Array,
    squares: Array,
) -> None:
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


@sum_kernel
def squared_distance(x: Array, y: Array) -> float:
    """Return ``‖x - y‖²``."""
    total = x[0] - x[0]  # zero in the precision of the rows
    for j in range(x.shape[0]):
        offset = x[j] - y[j]
        total += offset * offset
    return total


@kernel
def join_candidates(
    rows: Array, weights: Array, candidates: Array, closest: Array, potentials: Array
) -> None:
    """Potential for every candidate added alone to the centers that are ``closest`` (squares).

    Adds ``Σ_i w_i min(closest_i, ‖x_i - p‖²)`` of each to ``potentials``.
    """
    for i in range(rows.shape[0]):
        before = closest[i]
        for c in range(candidates.shape[0]):
            least = min(before, squared_distance(rows[i], candidates[c]))
            potentials[c] += weights[i] * least


@kernel
def join_center(
    rows: Array, weights: Array, center: Array, bins: Array, closest: Array, masses: Array
) -> None:
    """Lower the squared distances ``closest`` to those to a further center.

    Adds ``w_i closest_i`` of every row to the mass of its bin.
    """
    for i in range(rows.shape[0]):
        closest[i] = min(closest[i], squared_distance(rows[i], center))
        masses[bins[i]] += weights[i] * closest[i]
