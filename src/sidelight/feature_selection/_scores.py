"""Scores of single features, as functions of arrays (Hamad, part 3).

Every score is a sum over rows, pairs or edges, taken for all features at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from sidelight._fit.moments import feature_ranges, moments, point_among, relative_to
from sidelight._fit.named_rows import NamedRows, taken
from sidelight._fit.scatter import group_means
from sidelight._typing import Array
from sidelight.engine import RowSource, as_rows
from sidelight.graphs import degrees

#: Pairs whose differences are taken at a time.
PAIR_BLOCK = 4096
#: Deviations below this share of the largest value are rounding, as in the moments of rows.
ROUNDING = 4e-15


def variances(rows: Any) -> Array:
    """``(1/n) Σ_i (x_ir - μ_r)²``; large values are better. That of a constant feature is 0."""
    return moments(as_rows(rows)).variances


def fisher_scores(rows: Any, classes: Array) -> Array:
    """``Σ_w n_w (μ_wr - μ_r)² / Σ_w n_w σ²_wr`` over labeled rows; large values are better."""
    labeled, codes = known_rows(rows, classes)
    within, between = class_scatters(labeled, codes)
    return ratio(between, within)


def class_scatters(
    rows: Any, codes: Array, class_weight: Array | None = None
) -> tuple[Array, Array]:
    """``Σ_c w_c Σ_{i∈c} (x_ir - μ_cr)²`` and ``Σ_c n_c (μ_cr - μ_r)²`` of every feature.

    Both are sums of squares, so that nothing cancels, and what rounding leaves of either is 0.

    Parameters
    ----------
    rows : array or CSR matrix of shape (n_samples, n_features)
        The rows.
    codes : ndarray of shape (n_samples,)
        Class of every row, 0 to c - 1.
    class_weight : ndarray of shape (c,), default=None
        Weights ``w``; 1 by default.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.feature_selection._scores import class_scatters
    >>> class_scatters(np.array([[0.1, 1.0], [0.1, 3.0], [0.1, 6.0]]), np.array([0, 0, 1]))
    (array([0., 2.]), array([ 0.        , 10.66666667]))
    """
    sizes = np.bincount(codes)
    weight = np.ones(len(sizes)) if class_weight is None else class_weight
    source = as_rows(rows)
    near = relative_to(source.to_memory(), point_among(source))
    scatter = _sparse_class_scatters if sparse.issparse(near) else _dense_class_scatters
    within, between = scatter(near, codes, sizes, weight)
    least = (ROUNDING * largest_values(rows)) ** 2
    total = np.asarray(weight @ sizes)
    return _above(within, total * least), _above(between, len(codes) * least)


def _dense_class_scatters(
    rows: Array, codes: Array, sizes: Array, weight: Array
) -> tuple[Array, Array]:
    means = group_means(rows, codes)
    between = _weighted_sums(sizes, (means - rows.mean(axis=0)) ** 2)
    return _weighted_sums(weight[codes], (rows - means[codes]) ** 2), between


def _sparse_class_scatters(
    rows: sparse.csr_array, codes: Array, sizes: Array, weight: Array
) -> tuple[Array, Array]:
    """The same by the entries that are stored; all others are 0, and are only counted."""
    n, d = rows.shape
    column = rows.indices.astype(np.int64)
    place, cell = np.unique(
        np.repeat(codes, np.diff(rows.indptr)) * np.int64(d) + column, return_inverse=True
    )
    of_class, of_feature = np.divmod(place, d)
    stored = np.bincount(cell)
    means = np.bincount(cell, weights=rows.data) / sizes[of_class]
    offsets = np.bincount(cell, weights=(rows.data - means[cell]) ** 2)
    inside = offsets + (sizes[of_class] - stored) * means**2
    within = np.bincount(of_feature, weights=weight[of_class] * inside, minlength=d)
    overall = np.bincount(column, weights=rows.data, minlength=d) / n
    apart = sizes[of_class] * (means - overall[of_feature]) ** 2
    elsewhere = n - np.bincount(of_feature, weights=sizes[of_class], minlength=d)
    between = np.bincount(of_feature, weights=apart, minlength=d) + elsewhere * overall**2
    return within, between


def largest_values(rows: Any) -> Array:
    """Largest absolute value of every feature."""
    low, high = feature_ranges(as_rows(rows))
    return np.maximum(-low.astype(np.float64), high.astype(np.float64))


def _above(sums: Array, least: Array) -> Array:
    return np.where(sums > least, sums, 0.0)


def _weighted_sums(weights: Array, values: Array) -> Array:
    """``w'V``, with the same additions for every column: what is equal stays equal."""
    return np.asarray((weights[:, None] * values).sum(axis=0))


def squared_differences(rows: Any, pairs: Array) -> Any:
    """``(x_ir - x_jr)²``, a row for every pair; sparse where the rows are."""
    first, second = (rows[pairs[:, end]].astype(np.float64) for end in (0, 1))
    differences = first - second
    return (
        differences.multiply(differences).tocsr()
        if sparse.issparse(differences)
        else differences * differences
    )


def pair_sums(rows: Any, pairs: Array, weights: Array) -> Array:
    """``Σ_(i,j) w_ij (x_ir - x_jr)²``: the quadratic form of the pairs' Laplacian."""
    total = np.zeros(rows.shape[1])
    ends = NamedRows.of(rows, pairs) if isinstance(rows, RowSource) else rows
    for start in range(0, len(pairs), PAIR_BLOCK):
        block = slice(start, start + PAIR_BLOCK)
        squares, weight = squared_differences(ends, pairs[block]), weights[block]
        total += squares.T @ weight if sparse.issparse(squares) else _weighted_sums(weight, squares)
    return _above(total, weights.sum() * (ROUNDING * largest_values(rows)) ** 2)


def graph_sums(rows: Any, W: sparse.csr_array) -> Array:
    """``f'Lf = ½ Σ_ij W_ij (f_i - f_j)²`` of every feature, edge by edge: nothing cancels."""
    edges = sparse.triu(W, 1).tocoo()
    return pair_sums(rows, np.column_stack([edges.row, edges.col]), edges.data)


def laplacian_scores(rows: Any, W: sparse.csr_array) -> Array:
    """``f̃'Lf̃ / f̃'Df̃`` with ``f̃ = f - Σ d_i f_i / Σ d_i``; small values are better."""
    degree = degrees(W)
    joined = np.flatnonzero(degree > 0)  # rows that nothing joins do not shift the others
    spread = moments(as_rows(rows[joined]), degree[joined]).scatter
    return ratio(np.where(spread > 0, graph_sums(rows, W), 0.0), spread)


def gini_scores(counts: Any, classes: Array) -> Array:
    """``1 - sqrt(Σ_i p_i²)`` of every word; small values are better, NaN for words without any.

    ``p_i`` is the share of class ``i`` in the word's presence ``f_i / n_i`` relative to the size
    ``n_i`` of the class.
    """
    labeled, codes = known_rows(counts, classes)
    members = sparse.csr_array((np.ones(len(codes)), (codes, np.arange(len(codes)))))
    f = members @ labeled  # additive over documents, and sparse where they are
    n = np.asarray(f.sum(axis=1), dtype=np.float64).reshape(-1)
    scale = np.divide(1.0, n, where=n > 0, out=np.zeros(len(n)))
    present = sparse.diags_array(scale) @ f
    total = np.asarray(present.sum(axis=0)).reshape(-1)
    squares = present.multiply(present) if sparse.issparse(present) else present * present
    length = np.sqrt(np.asarray(squares.sum(axis=0)).reshape(-1))
    return 1.0 - ratio(length, total)


def ratio(part: Array, whole: Array) -> Array:
    """``part / whole``; infinite where only the denominator is 0, NaN where both are."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return part / whole


def known_rows(rows: Any, classes: Array) -> tuple[Any, Array]:
    """Labeled rows and their classes, numbered from 0."""
    known = np.flatnonzero(classes >= 0)
    return taken(rows, known), np.unique(classes[known], return_inverse=True)[1].reshape(-1)
