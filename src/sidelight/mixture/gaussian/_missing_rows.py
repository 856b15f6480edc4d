"""Rows with missing values: moments of the columns, patterns, and filled rows for a start."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sidelight._fit.views import RowView
from sidelight._typing import Array
from sidelight.engine import RowSource
from sidelight.exceptions import SidelightError
from sidelight.mixture._core import data_moments


def has_missing(source: RowSource) -> bool:
    """Whether any value is NaN."""
    return bool(
        source.map_reduce(lambda block: ((int(np.isnan(block).any()),), ()))[0][0]
        if not source.is_sparse
        else False
    )


@dataclass(frozen=True)
class ColumnMoments:
    """Mean and variance of the values that each column has."""

    means: Array
    variances: Array


def known_values(
    source: RowSource, sample_weight: Array | None, names: Sequence[str] | None
) -> ColumnMoments:
    """Mean and variance of every column; a column without values is an error.

    Parameters
    ----------
    source : RowSource
        The rows, NaN where a value is missing.
    sample_weight : ndarray of shape (n_rows,), default=None
        Weights of the rows.
    names : sequence of str, default=None
        Names of the columns.
    """
    weights = np.ones(source.n_rows) if sample_weight is None else np.asarray(sample_weight, float)

    def sums_about(center: Any) -> tuple[Array, ...]:
        def add(block: Any, w: Array) -> tuple[tuple[Array, ...], tuple[()]]:
            known = ~np.isnan(block)
            offsets = np.where(known, np.asarray(block, np.float64) - center, 0.0)
            return (w @ known, w @ offsets, w @ offsets**2), ()

        return source.map_reduce(add, aligned=(weights,))[0]

    totals, sums, _ = sums_about(0.0)
    empty = np.flatnonzero(totals == 0)
    if len(empty):
        column = int(empty[0])
        name = f"column {column}" if names is None else f"column {column} ({names[column]!r})"
        more = f" (and {len(empty) - 1} more columns)" if len(empty) > 1 else ""
        raise SidelightError(
            f"No row has a value in {name}{more}, so nothing can be learned about it; drop it."
        )
    means = sums / totals
    return ColumnMoments(means, sums_about(means)[2] / totals)


class FilledRows(RowView):
    """Rows with the mean of the column in the place of missing values."""

    def __init__(self, source: RowSource, means: Array) -> None:
        super().__init__(source, _Filling(means.astype(source.dtype)))


class _Filling:
    """Fill the missing values of a block."""

    def __init__(self, means: Array) -> None:
        self._means = means

    def __call__(self, block: Any) -> Array:
        return np.where(np.isnan(block), self._means, block)


def filled_rows(source: RowSource) -> tuple[RowSource, bool]:
    """Rows with the mean of the column where a value is missing, and whether any is."""
    (sums, known), _ = source.map_reduce(_sums_of_known)
    if known.sum() == source.n_rows * source.n_features:
        return source, False
    return FilledRows(source, sums / np.maximum(known, 1)), True


def _sums_of_known(block: Array) -> tuple[tuple[Array, Array], tuple[()]]:
    """Sums and numbers of the values of every column that are known."""
    known = ~np.isnan(block)
    sums = np.where(known, block, 0.0).sum(axis=0, dtype=np.float64)
    return (sums, known.sum(axis=0)), ()


def incomplete_moments(
    filled: FilledRows, columns: ColumnMoments, sample_weight: Array | None
) -> tuple[Array, Array, float]:
    """Mean and a covariance to start from, and the largest squared distance to the mean.

    Means in the place of missing values make variances too small: those of the values that are
    there take their place, which keeps the matrix positive.
    """
    mean, covariance, largest = data_moments(filled, sample_weight)
    diagonal = np.arange(len(mean))
    covariance[diagonal, diagonal] = np.maximum(columns.variances, covariance[diagonal, diagonal])
    return mean, covariance, largest


@dataclass(frozen=True)
class Patterns:
    """Rows by which features they lack.

    Attributes
    ----------
    missing : ndarray of bool, shape (p, D)
        The patterns.
    order : ndarray of shape (n,)
        Rows of the first pattern, then of the second and so on.
    starts : ndarray of shape (p + 1,)
        Where the rows of each pattern start in ``order``.
    """

    missing: Array
    order: Array
    starts: Array

    @property
    def of_row(self) -> Array:
        """Pattern of every row."""
        patterns = np.empty(len(self.order), dtype=np.int64)
        patterns[self.order] = np.repeat(np.arange(len(self.missing)), np.diff(self.starts))
        return patterns

    def sums(self, values: Array) -> Array:
        """Add up the values of the rows of every pattern; ``values`` of shape (n, k)."""
        return np.add.reduceat(values[self.order], self.starts[:-1], axis=0)


def patterns_of(missing: Array) -> Patterns:
    """Group rows by pattern; ``missing`` is bool of shape (n, D), n > 0."""
    packed = np.packbits(missing, axis=1)
    keys = packed.view(np.dtype((np.void, packed.shape[1])))[:, 0]
    _, first, of_row, counts = np.unique(
        keys, return_index=True, return_inverse=True, return_counts=True
    )
    order = np.argsort(of_row.ravel(), kind="stable")
    return Patterns(missing[first], order, np.concatenate(([0], np.cumsum(counts))))
