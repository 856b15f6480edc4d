"""Loops over pairs that are to be apart: one coordinate of the dual at a time.

A pair ``p = (i, j)`` with ``d = x_i - x_j`` has the margin ``d'Ad``, ``A = Σ α_q d_q d_q'``. In few
dimensions ``A`` is at hand. In many it never is: with ``g = X d``, one column of the Gram matrix
less another, the margin is the form ``g' L g = Σ α_q (g_k - g_l)²`` of the Laplacian ``L`` of the
graph whose edges ``q = (k, l)`` weigh ``α_q``, and a step changes nothing but one weight.
"""

from __future__ import annotations

import numpy as np

from sidelight._kernels import kernel, sum_kernel
from sidelight._kernels.metric.pair_metric import add_outer, times_vector
from sidelight._typing import Array

#: Pairs whose margins are measured at once: their products with all rows stay in the cache.
BLOCK = 32

#: Rows whose products are turned at once.
TURNED = 64


@kernel
def difference(
    indptr: Array, indices: Array, data: Array, i: int, j: int, places: Array, values: Array
) -> int:
    """Write the entries of ``x_i - x_j`` of sparse rows in order; return how many there are."""
    a, b = indptr[i], indptr[j]
    last_a, last_b = indptr[i + 1], indptr[j + 1]
    n = 0
    while a < last_a or b < last_b:
        if b >= last_b or (a < last_a and indices[a] < indices[b]):
            place, value = indices[a], data[a]
            a += 1
        elif a >= last_a or indices[b] < indices[a]:
            place, value = indices[b], -data[b]
            b += 1
        else:
            place, value = indices[a], data[a] - data[b]
            a += 1
            b += 1
        if value != 0.0:
            places[n] = place
            values[n] = value
            n += 1
    return n


@sum_kernel
def squared_length(values: Array, n: int) -> float:
    """Sum of the first squares."""
    total = 0.0
    for a in range(n):
        total += values[a] * values[a]
    return total


@kernel
def step(alpha: float, upper: float, margin: float, length: float) -> float:
    """The best value of one coordinate, ``length = ‖d‖²``: exact, within its bounds."""
    return min(max(alpha + (1.0 - margin) / (length * length), 0.0), upper)


@sum_kernel
def block_form(A: Array, places: Array, values: Array, n: int) -> float:
    """``d'Ad`` for a difference with few entries; ``A`` is symmetric."""
    total = 0.0
    for a in range(n):
        row = A[places[a]]
        inner = 0.0
        for b in range(a):
            inner += row[places[b]] * values[b]
        total += values[a] * (2.0 * inner + row[places[a]] * values[a])
    return total


@kernel
def metric_epoch(
    A: Array,
    indptr: Array,
    indices: Array,
    data: Array,
    first: Array,
    second: Array,
    order: Array,
    upper: Array,
    alpha: Array,
    margins: Array,
    rounds: int,
) -> float:
    """Visit pairs in this order with ``A`` at hand; return the largest violation met.

    ``margins`` receives what each pair had when it was visited. Unless ``rounds`` is 0
    each coordinate moves to its best value, and ``A`` with it.
    """
    d = len(A)
    places, values, scratch = np.empty(d, np.int64), np.empty(d), np.empty(d)
    worst = 0.0
    for p in order:
        n = difference(indptr, indices, data, first[p], second[p], places, values)
        length = squared_length(values, n)
        whole = n == d
        margin = times_vector(A, values, scratch) if whole else block_form(A, places, values, n)
        margins[p] = margin
        if rounds == 0:
            continue
        change = step(alpha[p], upper[p], margin, length) - alpha[p]
        if change == 0.0:
            continue
        worst = max(worst, abs(change) * length * length)
        alpha[p] += change
        if whole:
            add_outer(A, change, values)
        else:
            for a in range(n):
                factor = change * values[a]
                for b in range(n):
                    A[places[a], places[b]] += factor * values[b]
    return worst


@sum_kernel
def laplacian_forms(
    products: Array, ends: Array, others: Array, weight: Array, n: int, out: Array
) -> None:
    """``g' L g`` of every column ``g`` at once, over the first ``n`` edges."""
    out[:] = 0.0
    for q in range(n):
        left, right, w = products[ends[q]], products[others[q]], weight[q]
        for b in range(len(out)):
            gap = left[b] - right[b]
            out[b] += w * gap * gap


@kernel
def ascend_block(
    inner: Array, margins: Array, upper: Array, alpha: Array, lengths: Array, rounds: int
) -> float:
    """Coordinate ascent in one block, ``inner = (d_p'd_q)²``; return the largest violation met.

    ``margins`` and ``alpha`` follow the steps.
    """
    worst = 0.0
    for turn in range(rounds):
        largest = 0.0
        for a in range(len(alpha)):
            change = step(alpha[a], upper[a], margins[a], lengths[a]) - alpha[a]
            if change != 0.0:
                largest = max(largest, abs(change) * lengths[a] * lengths[a])
                alpha[a] += change
                margins += change * inner[a]
        if turn == 0:
            worst = largest
        if largest <= 0.1 * worst:
            break
    return worst


@kernel
def sweep_block(
    products: Array,
    block: Array,
    first: Array,
    second: Array,
    upper: Array,
    alpha: Array,
    margins: Array,
    edges: tuple[Array, Array, Array, Array],
    n_edges: int,
    rounds: int,
) -> tuple[int, float]:
    """Margins of a block of pairs, whose products ``X d`` are given, and their steps.

    Returns the number of edges with a weight, and the largest violation met.
    """
    ends, others, weight, slot = edges
    size = len(block)
    found = np.empty(size)
    laplacian_forms(products, ends, others, weight, n_edges, found)
    margins[block] = found
    if rounds == 0:
        return n_edges, 0.0
    inner, lengths, own = np.empty((size, size)), np.empty(size), alpha[block]
    for a in range(size):
        left, right = products[first[block[a]]], products[second[block[a]]]
        for b in range(size):
            inner[a, b] = (left[b] - right[b]) ** 2
        lengths[a] = left[a] - right[a]
    worst = ascend_block(inner, found, upper[block], own, lengths, rounds)
    for a in range(size):
        p = block[a]
        alpha[p] = own[a]
        if own[a] > 0.0 and slot[p] < 0:
            slot[p], ends[n_edges], others[n_edges] = n_edges, first[p], second[p]
            n_edges += 1
        if slot[p] >= 0:
            weight[slot[p]] = own[a]
    return n_edges, worst


@kernel
def weighted_edges(
    first: Array, second: Array, alpha: Array
) -> tuple[tuple[Array, Array, Array, Array], int]:
    """Ends and weights of the pairs with a weight, and where each pair is among them."""
    n_pairs = len(alpha)
    ends, others = np.empty(n_pairs, np.int64), np.empty(n_pairs, np.int64)
    weight, slot = np.empty(n_pairs), np.full(n_pairs, -1)
    n = 0
    for p in range(n_pairs):
        if alpha[p] != 0.0:
            slot[p], ends[n], others[n], weight[n] = n, first[p], second[p], alpha[p]
            n += 1
    return (ends, others, weight, slot), n


@kernel
def gram_differences(gram: Array, first: Array, second: Array) -> Array:
    """Differences of columns of a Gram matrix, side by side; tiles of them stay in the cache."""
    n = len(gram)
    products = np.empty((n, len(first)))
    for start in range(0, n, TURNED):
        stop = min(start + TURNED, n)
        for b in range(len(first)):
            left, right = gram[first[b]], gram[second[b]]
            for k in range(start, stop):
                products[k, b] = left[k] - right[k]
    return products


@kernel
def gram_epoch(
    gram: Array,
    first: Array,
    second: Array,
    order: Array,
    upper: Array,
    alpha: Array,
    margins: Array,
    rounds: int,
) -> float:
    """Visit pairs in this order with the Gram (or kernel) matrix of the rows at hand.

    Returns the largest violation met; see :func:`metric_epoch`.
    """
    edges, n_edges = weighted_edges(first, second, alpha)
    worst = 0.0
    for start in range(0, len(order), BLOCK):
        block = order[start : start + BLOCK]
        products = gram_differences(gram, first[block], second[block])
        n_edges, violation = sweep_block(
            products, block, first, second, upper, alpha, margins, edges, n_edges, rounds
        )
        worst = max(worst, violation)
    return worst


@kernel
def sparse_epoch(
    indptr: Array,
    indices: Array,
    data: Array,
    column_ptr: Array,
    column_rows: Array,
    column_data: Array,
    first: Array,
    second: Array,
    order: Array,
    upper: Array,
    alpha: Array,
    margins: Array,
    rounds: int,
) -> float:
    """Visit pairs in this order with nothing at hand but the sparse rows, by row and by column.

    Returns the largest violation met; see :func:`metric_epoch`.
    """
    d = len(column_ptr) - 1
    places, values = np.empty(d, np.int64), np.empty(d)
    edges, n_edges = weighted_edges(first, second, alpha)
    worst = 0.0
    for start in range(0, len(order), BLOCK):
        block = order[start : start + BLOCK]
        products = np.zeros((len(indptr) - 1, len(block)))
        for b in range(len(block)):
            i, j = first[block[b]], second[block[b]]
            for a in range(difference(indptr, indices, data, i, j, places, values)):
                for e in range(column_ptr[places[a]], column_ptr[places[a] + 1]):
                    products[column_rows[e], b] += values[a] * column_data[e]
        n_edges, violation = sweep_block(
            products, block, first, second, upper, alpha, margins, edges, n_edges, rounds
        )
        worst = max(worst, violation)
    return worst


@kernel
def squared_lengths(
    indptr: Array, indices: Array, data: Array, d: int, first: Array, second: Array
) -> Array:
    """``‖x_i - x_j‖²`` of every pair of sparse rows; 0 exactly where the rows are the same."""
    places, values, out = np.empty(d, np.int64), np.empty(d), np.empty(len(first))
    for p in range(len(first)):
        n = difference(indptr, indices, data, first[p], second[p], places, values)
        out[p] = squared_length(values, n)
    return out
