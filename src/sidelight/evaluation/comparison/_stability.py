"""Does a method find the same clusters again when some of the rows are left out?

The fits of several random subsamples are compared by the adjusted Rand index on the rows that two
of them share (Ben-Hur, Elisseeff and Guyon, *Pacific Symposium on Biocomputing*, 2002); the
stability is the mean over all pairs of subsamples.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from sidelight._typing import FloatArray, IntArray
from sidelight.engine import RowSource
from sidelight.evaluation._pairs import adjusted_rand_index

#: Number of subsamples, and the share of the rows that each holds.
SUBSAMPLES, SHARE = 4, 0.8
#: Of more rows, subsamples are drawn from this many.
MAX_ROWS = 2_000
#: Agreement between candidates is measured on at most this many rows.
MAX_AGREEMENT_ROWS = 5_000


def draw_rows(n_rows: int, most: int, first: IntArray, rng: np.random.RandomState) -> IntArray:
    """All rows, or ``most`` random ones; half of them from ``first``, if there are enough."""
    if n_rows <= most:
        return np.arange(n_rows)
    chosen = rng.permutation(first)[: most // 2]
    others = rng.permutation(np.setdiff1d(np.arange(n_rows), chosen))
    return np.sort(np.concatenate([chosen, others[: most - len(chosen)]]))


def subsamples(n_rows: int, mentioned: IntArray, rng: np.random.RandomState) -> list[IntArray]:
    """Draw overlapping subsamples; those of large tables favor rows with constraints."""
    rows = draw_rows(n_rows, MAX_ROWS, mentioned, rng)
    size = max(round(SHARE * len(rows)), 1)
    return [np.sort(rng.permutation(rows)[:size]) for _ in range(SUBSAMPLES)]


def stability(rows: Sequence[IntArray], labels: Sequence[Any]) -> float:
    """Mean agreement of fits on their common rows; NaN where fewer than two are known."""
    known = [(r, codes(found)) for r, found in zip(rows, labels, strict=True) if found is not None]
    agreed = []
    for (first, one), (second, other) in itertools.combinations(known, 2):
        _, at_one, at_other = np.intersect1d(first, second, return_indices=True)
        if len(at_one):
            agreed.append(adjusted_rand_index(one[at_one], other[at_other]))
    return float(np.mean(agreed)) if agreed else np.nan


def agreement(labels: Sequence[Any], rng: np.random.RandomState) -> FloatArray:
    """Adjusted Rand index of every two partitions, over all rows or a random sample."""
    n = len(labels)
    matrix = np.eye(n)
    if n == 0:
        return matrix
    rows = draw_rows(len(labels[0]), MAX_AGREEMENT_ROWS, np.empty(0, np.int64), rng)
    coded = [codes(found)[rows] for found in labels]
    for i, j in itertools.combinations(range(n), 2):
        matrix[i, j] = matrix[j, i] = adjusted_rand_index(coded[i], coded[j])
    return matrix


def codes(labels: Any) -> IntArray:
    """Number the clusters from 0; rows in none (-1) make up one of their own."""
    return np.unique(np.asarray(labels), return_inverse=True)[1].reshape(-1).astype(np.int64)


def take_rows(X: Any, rows: IntArray) -> Any:
    """Take rows of an array, a sparse matrix, a data frame or a source of rows."""
    if isinstance(X, RowSource):
        return X.take(rows)
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    if hasattr(X, "take") and hasattr(X, "column_names"):  # Arrow
        return X.take(rows)
    return X[rows]
