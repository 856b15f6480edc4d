"""Loops of the model of the metric from cannot-links, and exact products with its matrix.

``Q_pq = (d_p'd_q)²`` for differences ``d`` of rows; ``indptr``, ``places`` and ``values`` hold the
differences as sparse rows.
"""

from __future__ import annotations

import numpy as np

from sidelight._kernels import kernel, sum_kernel
from sidelight._kernels.metric.cannot_link import difference
from sidelight._typing import Array

#: Rows and columns of a matrix that is turned or mirrored at a time.
TILE = 64

#: Pairs whose products with all rows are formed at a time: one line of the cache per row.
LANES = 8


@kernel
def all_differences(
    indptr: Array, indices: Array, data: Array, first: Array, second: Array
) -> tuple[Array, Array, Array]:
    """``x_i - x_j`` of every pair of sparse rows, as sparse rows."""
    n_pairs = len(first)
    ends = np.zeros(n_pairs + 1, np.int64)
    for p in range(n_pairs):
        i, j = first[p], second[p]
        ends[p + 1] = ends[p] + indptr[i + 1] - indptr[i] + indptr[j + 1] - indptr[j]
    places, values = np.empty(ends[-1], np.int32), np.empty(ends[-1])
    filled = 0
    for p in range(n_pairs):
        room = places[filled : ends[-1]]
        n = difference(indptr, indices, data, first[p], second[p], room, values[filled:])
        filled += n
        ends[p + 1] = filled
    return ends, places[:filled].copy(), values[:filled].copy()


@kernel
def shared_features(
    indptr: Array,
    places: Array,
    values: Array,
    first: Array,
    second: Array,
    norms: Array,
    d: int,
) -> tuple[Array, Array, Array, Array, Array]:
    """``(d_pk)²`` of every word ``k``; ``(x_i'd_p)² / ‖x_i‖²`` of both rows ``i``, at ``d + i``.

    ``norms`` are ``‖x_i‖²``. Also returns the diagonals of ``FF'`` and of ``Q``.
    """
    n_pairs = len(first)
    ends = indptr + 2 * np.arange(n_pairs + 1)
    found, sizes = np.empty(ends[-1], np.uint32), np.empty(ends[-1])
    own, whole = np.empty(n_pairs), np.empty(n_pairs)
    for p in range(n_pairs):
        at, total, squares = ends[p], 0.0, 0.0
        for e in range(indptr[p], indptr[p + 1]):
            square = values[e] * values[e]
            found[at], sizes[at] = places[e], square
            at += 1
            total += square
            squares += square * square
        mine, other = norms[first[p]], norms[second[p]]
        # x_i'd = (‖d‖² + ‖x_i‖² - ‖x_j‖²) / 2, and the same with rows exchanged, but for a sign.
        for row, norm, less in ((first[p], mine, other), (second[p], other, mine)):
            along = (total + norm - less) / 2
            found[at], sizes[at] = d + row, along * along / norm if norm > 0.0 else 0.0
            squares += sizes[at] * sizes[at]
            at += 1
        own[p], whole[p] = squares, total * total
    return ends, found, sizes, own, whole


@kernel
def model_sweep(
    indptr: Array,
    places: Array,
    values: Array,
    rest: Array,
    curvature: Array,
    slope: Array,
    lowest: Array,
    highest: Array,
    order: Array,
    change: Array,
    sums: Array,
) -> float:
    """One round of coordinate ascent on ``slope'c - ½ c'(FF' + diag(rest))c`` within bounds.

    ``F`` has sparse rows, ``curvature`` is the diagonal of its matrix, ``sums = F'c``. Returns the
    largest violation met.
    """
    worst = 0.0
    for p in order:
        inner = 0.0
        for e in range(indptr[p], indptr[p + 1]):
            inner += values[e] * sums[places[e]]
        gain = slope[p] - inner - rest[p] * change[p]
        best = min(max(change[p] + gain / curvature[p], lowest[p]), highest[p])
        step = best - change[p]
        if step != 0.0:
            worst = max(worst, abs(step) * curvature[p])
            change[p] = best
            for e in range(indptr[p], indptr[p + 1]):
                sums[places[e]] += step * values[e]
    return worst


@sum_kernel
def feature_products(
    indptr: Array,
    places: Array,
    values: Array,
    column_ptr: Array,
    where: Array,
    owner: Array,
    weight: Array,
) -> Array:
    """``Q w`` with one row of ``A = Σ w_p d_p d_p'`` at a time, from its diagonal to the right.

    ``where`` lists the entries of the differences by feature, ``owner`` their pairs.
    """
    d = len(column_ptr) - 1
    row, out = np.zeros(d), np.zeros(len(weight))
    for k in range(d):
        begin, end = column_ptr[k], column_ptr[k + 1]
        for c in range(begin, end):
            e, p = where[c], owner[c]
            factor = weight[p] * values[e]
            for a in range(e, indptr[p + 1]):
                row[places[a]] += factor * values[a]
        for c in range(begin, end):
            e, p = where[c], owner[c]
            total = 0.0
            for a in range(e + 1, indptr[p + 1]):
                total += row[places[a]] * values[a]
            out[p] += values[e] * (2.0 * total + row[k] * values[e])
        if 4 * (end - begin) >= d - k:
            row[k:] = 0.0
        else:
            for c in range(begin, end):
                e, p = where[c], owner[c]
                for a in range(e, indptr[p + 1]):
                    row[places[a]] = 0.0
    return out


@sum_kernel
def gram_products(
    gram: Array, first: Array, second: Array, ends: Array, others: Array, weight: Array
) -> Array:
    """``Q w`` by the Gram matrix of the rows: ``d_p'd_q`` are differences of its entries.

    ``ends`` and ``others`` are the rows of the pairs ``q`` that have a weight.
    """
    n, n_pairs = len(gram), len(first)
    out, sums = np.empty(n_pairs), np.empty(LANES)
    products = np.zeros((n, LANES))  # X d of some pairs, side by side
    for start in range(0, n_pairs, LANES):
        size = min(LANES, n_pairs - start)
        for top in range(0, n, TILE):
            bottom = min(top + TILE, n)
            for b in range(size):
                mine, other = gram[first[start + b]], gram[second[start + b]]
                for k in range(top, bottom):
                    products[k, b] = mine[k] - other[k]
        sums[:] = 0.0
        for q in range(len(weight)):
            left, right, w = products[ends[q]], products[others[q]], weight[q]
            for b in range(LANES):
                gap = left[b] - right[b]
                sums[b] += w * gap * gap
        out[start : start + size] = sums[:size]
    return out


@kernel
def sparse_gram(
    indptr: Array, indices: Array, data: Array, column_ptr: Array, rows: Array, column_data: Array
) -> Array:
    """``XX'`` of sparse rows, given by row and by column, dense."""
    n = len(indptr) - 1
    gram = np.zeros((n, n))
    begin = column_ptr[:-1].copy()  # where rows from this one on are in each column
    for i in range(n):
        own = gram[i]
        for e in range(indptr[i], indptr[i + 1]):
            k, value = indices[e], data[e]
            for c in range(begin[k], column_ptr[k + 1]):
                own[rows[c]] += value * column_data[c]
            begin[k] += 1
    for top in range(0, n, TILE):
        for left in range(0, top + 1, TILE):
            for i in range(top, min(top + TILE, n)):
                for j in range(left, min(left + TILE, i)):
                    gram[i, j] = gram[j, i]
    return gram
