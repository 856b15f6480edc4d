"""Typical and doubtful rows of the clusters, by distances to the means of the clusters.

Typical rows of a cluster are those closest to its mean: the closest one minimizes the sum of
squared distances to all rows of the cluster. The margin of a row is ``(b - a) / (b + a)`` with its
distance ``a`` to the mean of its own cluster and ``b`` to the closest other mean: 1 at the own
mean, 0 halfway, below 0 where another mean is closer. Where the model tells probabilities, the
margin is that of the own cluster minus the largest other one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from sidelight._typing import Array, FloatArray, IntArray
from sidelight.engine import RowSource, as_rows
from sidelight.explanation._columns import LEVELS, ORDERED, ordered_values
from sidelight.preparation import TypedColumn

N_TYPICAL = 3
N_DOUBTFUL = 3
#: Rows with a larger margin belong to their cluster without doubt.
LARGEST_MARGIN = 0.5
MAX_DISTANCES = 5 * 10**7
_MAX_LEVELS = 30


@dataclass(frozen=True)
class Doubt:
    """A row that could as well belong to another cluster.

    Attributes
    ----------
    row : object
        Id of the row.
    other : str
        The other cluster.
    margin : float
        By how much the row is closer to its own cluster, from -1 to 1: 0 is halfway.
    """

    row: Any
    other: str
    margin: float


class MeanDistances:
    """Distances of rows to the means of clusters.

    Parameters
    ----------
    X : array, CSR matrix or RowSource
        The rows; missing values count as the mean of their column.
    codes : ndarray of shape (n_rows,)
        Cluster of every row, from 0 to k - 1; -1 for rows in none.
    k : int
        Number of clusters.
    """

    def __init__(self, X: Any, codes: IntArray, k: int) -> None:
        self.source: RowSource = as_rows(X).with_missing()
        self.codes = codes
        sizes = np.bincount(codes[codes >= 0], minlength=k)
        self._overall = self._means_of_columns()
        sums = self._sums(k)
        self.means = sums / np.maximum(sizes, 1)[:, None]

    def typical(self, most: int = N_TYPICAL) -> list[IntArray]:
        """Rows closest to the mean of their cluster, for every cluster."""

        means, overall = self.means, self._overall

        def measure(block: Any, codes: IntArray) -> tuple[tuple[()], tuple[FloatArray]]:
            return (), (_to_means(_filled(block, overall), means[codes]),)

        _, (own,) = self.source.map_reduce(measure, aligned=(self.codes,))
        return smallest_by_cluster(own, self.codes, len(self.means), most)

    def margins(self, rows: IntArray) -> tuple[FloatArray, IntArray]:
        """Margin of some rows that are in clusters, and the closest other cluster of each."""
        margins, others = np.empty(len(rows)), np.empty(len(rows), dtype=np.int64)
        step = max(1, 2**22 // max(len(self.means), self.means.shape[1], 1))
        for start in range(0, len(rows), step):
            part = slice(start, start + step)
            block = _filled(self.source.take(rows[part]), self._overall)
            codes = self.codes[rows[part]]
            squares = (self.means**2).sum(axis=1) - 2.0 * np.asarray(block @ self.means.T)
            squares[np.arange(len(codes)), codes] = np.inf
            nearest = np.argmin(squares, axis=1)
            others[part] = nearest
            own, other = (_to_means(block, self.means[place]) for place in (codes, nearest))
            margins[part] = (other - own) / np.maximum(other + own, 1e-300)
        return margins, others

    def _means_of_columns(self) -> FloatArray | None:
        """Means that fill missing values; None where there are none."""
        if self.source.is_sparse:
            return None

        def add(block: Array) -> tuple[tuple[FloatArray, IntArray], tuple[()]]:
            known = ~np.isnan(block)
            return (np.where(known, block, 0.0).sum(axis=0), known.sum(axis=0)), ()

        (sums, counts), _ = self.source.map_reduce(add)
        return None if np.all(counts == self.source.n_rows) else sums / np.maximum(counts, 1)

    def _sums(self, k: int) -> FloatArray:
        """Sum of the rows of every cluster."""
        overall = self._overall

        def add(block: Any, codes: IntArray) -> tuple[tuple[FloatArray], tuple[()]]:
            inside = np.flatnonzero(codes >= 0)
            member = sparse.csr_array(
                (np.ones(len(inside)), (codes[inside], inside)), shape=(k, len(codes))
            )
            sums = member @ _filled(block, overall)
            return (sums.toarray() if sparse.issparse(sums) else np.asarray(sums),), ()

        (sums,), _ = self.source.map_reduce(add, aligned=(self.codes,))
        return np.asarray(sums, dtype=np.float64)


def _filled(block: Any, overall: FloatArray | None) -> Any:
    """Rows in float64, with the means of the columns for missing values."""
    if overall is None:
        return block.astype(np.float64, copy=False)
    return np.where(np.isnan(block), overall, block)


def _to_means(block: Any, means: FloatArray) -> FloatArray:
    """Distance of every row to a mean each: any for rows in no cluster, which nobody reads."""
    if not sparse.issparse(block):
        return np.sqrt(((block - means) ** 2).sum(axis=1))
    squares = np.asarray(block.multiply(block).sum(axis=1)).ravel()
    products = np.asarray(block.multiply(means).sum(axis=1)).ravel()
    return np.sqrt(np.maximum(squares - 2.0 * products + (means**2).sum(axis=1), 0.0))


def smallest_by_cluster(values: FloatArray, codes: IntArray, k: int, most: int) -> list[IntArray]:
    """Positions of the rows with the smallest values of every cluster, the smallest first."""
    inside = np.flatnonzero(codes >= 0)
    order = inside[np.lexsort([values[inside], codes[inside]])]
    ends = np.searchsorted(codes[order], np.arange(k), side="right")
    starts = np.append(0, ends[:-1])[:k]
    return [order[s : min(s + most, e)] for s, e in zip(starts, ends, strict=True)]


def margins_by_probability(probabilities: Array, codes: IntArray) -> tuple[FloatArray, IntArray]:
    """Margin of rows that are in clusters, and the most probable other cluster of each.

    Parameters
    ----------
    probabilities : ndarray of shape (n_rows, k)
        Probability of every cluster.
    codes : ndarray of shape (n_rows,)
        Cluster of every row.
    """
    rows = np.arange(len(codes))
    others = np.array(probabilities, dtype=np.float64)
    own = others[rows, codes]
    others[rows, codes] = -np.inf
    nearest = np.argmax(others, axis=1)
    return own - others[rows, nearest], nearest


def plain_features(columns: Sequence[TypedColumn]) -> FloatArray:
    """Features of typed columns where the model's own are not at hand.

    Values are standardized by rank, so that outliers are no further than others; every level has a
    column of its own, such that two different levels are as far apart as two random values.
    """
    parts: list[Array] = []
    for column in columns:
        if column.kind in ORDERED:
            values, _ = ordered_values(column)
            parts.append(_standardized_ranks(values)[:, None])
        elif column.kind in LEVELS:
            levels = np.arange(min(len(column.levels), _MAX_LEVELS))
            parts.append((column.values[:, None] == levels).astype(np.float64))
    n_rows = len(columns[0].values) if columns else 0
    return np.hstack(parts) if parts else np.zeros((n_rows, 1))


def _standardized_ranks(values: FloatArray) -> FloatArray:
    known = ~np.isnan(values)
    ranks = np.zeros(len(values))
    if known.any():
        _, position, counts = np.unique(values[known], return_inverse=True, return_counts=True)
        middle = (np.cumsum(counts) - counts / 2.0) / counts.sum()
        ranks[known] = (middle[position] - 0.5) * np.sqrt(12.0)
    return ranks


def probabilities_of(estimator: Any, X: Any, labels: Any) -> FloatArray | None:
    """Return the probability of every cluster that has rows, in the order of the labels.

    Parameters
    ----------
    estimator : object
        A fitted estimator.
    X : array or CSR matrix
        The rows.
    labels : array-like
        Their clusters.

    Returns
    -------
    ndarray or None
        None where the estimator tells no probabilities, or not of these clusters.
    """
    if not hasattr(estimator, "predict_proba"):
        return None
    found = np.asarray(estimator.predict_proba(X))
    clusters = np.unique(np.asarray(labels))
    clusters = clusters[clusters != -1]
    if clusters.dtype.kind not in "iu" or clusters.max(initial=0) >= found.shape[1]:
        return None
    return found[:, clusters]
