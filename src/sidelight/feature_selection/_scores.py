"""Scores of single features, as functions of arrays (Hamad, part 3).

Every score is a sum over rows, pairs or edges, taken for all features at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from sidelight._typing import Array
from sidelight.graphs import degrees

#: Pairs whose differences are taken at a time.
PAIR_BLOCK = 4096
#: Deviations below this share of the largest value, and variances below this share of the mean
#: square of sparse rows, which are not centered, are rounding.
ROUNDING = 1e-14
SPARSE_ROUNDING = 1e-14


def variances(rows: Any) -> Array:
    """``(1/n) Σ_i (x_ir - μ_r)²``; large values are better."""
    if sparse.issparse(rows):
        mean = np.asarray(rows.mean(axis=0, dtype=np.float64)).reshape(-1)
        squares = rows.astype(np.float64)
        squares = np.asarray(squares.multiply(squares).sum(axis=0)).reshape(-1)
        return np.maximum(squares / rows.shape[0] - mean**2, 0.0)
    return np.asarray(np.var(np.asarray(rows, dtype=np.float64), axis=0))


def fisher_scores(rows: Any, classes: Array) -> Array:
    """``Σ_w n_w (μ_wr - μ_r)² / Σ_w n_w σ²_wr`` over labeled rows; large values are better."""
    X, sums, sizes = _class_sums(rows, classes)
    means = sums / sizes[:, None]
    overall = sizes @ means / sizes.sum()
    between = sizes @ (means - overall) ** 2
    within = np.maximum(variances(X) * X.shape[0] - between, 0.0)
    return ratio(between, within)


def squared_differences(rows: Any, pairs: Array) -> Any:
    """``(x_ir - x_jr)²``, a row for every pair; sparse where the rows are."""
    differences = (rows[pairs[:, 0]] - rows[pairs[:, 1]]).astype(np.float64)
    return (
        differences.multiply(differences).tocsr()
        if sparse.issparse(differences)
        else differences * differences
    )


def pair_sums(rows: Any, pairs: Array, weights: Array) -> Array:
    """``Σ_(i,j) w_ij (x_ir - x_jr)²``: the quadratic form of the pairs' Laplacian."""
    total = np.zeros(rows.shape[1])
    for start in range(0, len(pairs), PAIR_BLOCK):
        block = slice(start, start + PAIR_BLOCK)
        total += np.asarray(weights[block] @ squared_differences(rows, pairs[block])).reshape(-1)
    return total


def graph_sums(rows: Any, W: sparse.csr_array) -> Array:
    """``f'Lf = ½ Σ_ij W_ij (f_i - f_j)²`` of every feature."""
    degree = degrees(W)
    if sparse.issparse(rows):
        X = rows.astype(np.float64)
        own = np.asarray(degree @ X.multiply(X)).reshape(-1)
        across = np.asarray((W @ X).multiply(X).sum(axis=0)).reshape(-1)
    else:
        X = _centered(rows, degree)  # L does not see a shift, rounding does
        own, across = degree @ X**2, np.einsum("nd,nd->d", W @ X, X)
    return np.maximum(own - across, 0.0)


def laplacian_scores(rows: Any, W: sparse.csr_array) -> Array:
    """``f̃'Lf̃ / f̃'Df̃`` with ``f̃ = f - Σ d_i f_i / Σ d_i``; small values are better."""
    degree = degrees(W)
    total = degree.sum()
    if sparse.issparse(rows):
        X = rows.astype(np.float64)
        squares = np.asarray(degree @ X.multiply(X)).reshape(-1)
        mean = np.asarray(degree @ X).reshape(-1) / total
        spread = squares - total * mean**2
        rounding = SPARSE_ROUNDING * squares
    else:
        X = _centered(rows, degree)
        mean = degree @ X / total
        spread = degree @ X**2 - total * mean**2
        rounding = total * (ROUNDING * np.abs(rows).max(axis=0).astype(np.float64)) ** 2
    # Where only rows differ that nothing joins, what is left is rounding.
    spread = np.where(spread > rounding, spread, 0.0)
    differences = np.where(spread > 0, graph_sums(X, W), 0.0)
    return ratio(differences, spread)


def _centered(rows: Array, degree: Array) -> Array:
    """Rows around the mean of those that edges join; others do not shift them."""
    X = np.asarray(rows, dtype=np.float64)
    return X - degree @ X / max(float(degree.sum()), 1e-300)


def gini_scores(counts: Any, classes: Array) -> Array:
    """``1 - sqrt(Σ_i p_i²)`` of every word; small values are better, NaN for words without any.

    ``p_i`` is the share of class ``i`` in the word's presence ``f_i / n_i`` relative to the size
    ``n_i`` of the class.
    """
    _, f, _ = _class_sums(counts, classes)
    n = f.sum(axis=1)
    present = f[n > 0] / n[n > 0, None]
    with np.errstate(invalid="ignore", divide="ignore"):
        p = present / present.sum(axis=0)
    return 1.0 - np.sqrt(np.sum(p**2, axis=0))


def ratio(part: Array, whole: Array) -> Array:
    """``part / whole``; infinite where only the denominator is 0, NaN where both are."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return part / whole


def _class_sums(rows: Any, classes: Array) -> tuple[Any, Array, Array]:
    """Labeled rows, the sums of those of every class, and the sizes of the classes."""
    known = np.flatnonzero(classes >= 0)
    codes = np.unique(classes[known], return_inverse=True)[1]
    sizes = np.bincount(codes)
    entries = (np.ones(len(codes)), (codes, np.arange(len(codes))))
    sums = sparse.csr_array(entries, shape=(len(sizes), len(codes))) @ rows[known]
    dense = sums.toarray() if sparse.issparse(sums) else sums
    return rows[known], np.asarray(dense, dtype=np.float64), sizes
