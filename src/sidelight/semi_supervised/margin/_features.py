"""Rows as linear machines see them: moved, scaled, or as a factor of their kernel matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import lapack

from sidelight._typing import Array, IntArray
from sidelight.exceptions import SidelightError
from sidelight.graphs.inner import MAX_ROWS
from sidelight.semi_supervised._core._kernel import Kernel, check_precomputed

#: Pivots below this share of the largest are rounding.
MIN_PIVOT = 1e-13

#: A kernel may miss being positive semi-definite by this share of its largest entry.
INDEFINITE = 1e-6

#: Rows whose kernel is compared with its factor.
CHECKED_ROWS = 200


@dataclass(frozen=True)
class LinearRows:
    """Rows ``(x - m) / s``, and the way back for planes of them.

    Attributes
    ----------
    rows : ndarray or CSR matrix of float64, shape (n, d)
        The moved and scaled rows; sparse ones are not moved.
    center : ndarray of shape (d,)
        ``m``.
    scale : float
        ``s``, a power of two near the spread of the rows.
    spread : float
        ``V``: mean squared distance of the rows to their mean.
    """

    rows: Any
    center: Array
    scale: float
    spread: float

    def plane(self, normal: Array, bias: float) -> tuple[Array, float]:
        """``w`` and ``b`` for rows as they were given."""
        weights = normal / self.scale
        return weights, bias - float(weights @ self.center)


def linear_rows(X: Any, *, move: bool = True) -> LinearRows:
    """Move and scale rows, so that a free bias and the unit of the rows do no harm.

    Rows that are sparse, or are not to ``move``, are scaled only.
    """
    if sparse.issparse(X):
        rows = sparse.csr_matrix(X, dtype=np.float64, copy=True)
        rows.sum_duplicates()
        center = np.zeros(X.shape[1])
        mean = np.asarray(rows.mean(axis=0)).reshape(-1)
        spread = float(rows.data @ rows.data) / rows.shape[0] - float(mean @ mean)
        scale = power_of_two(spread)
        rows.data /= scale
        return LinearRows(rows, center, scale, max(spread, 0.0))
    rows = np.array(X, dtype=np.float64)
    center = rows.mean(axis=0)
    rows -= center
    spread = float(np.einsum("ij,ij->", rows, rows)) / len(rows)
    scale = power_of_two(spread)
    if not move:
        rows, center = np.array(X, dtype=np.float64), np.zeros(X.shape[1])
    rows /= scale
    return LinearRows(rows, center, scale, spread)


def power_of_two(spread: float) -> float:
    """The power of two nearest to ``√V``; 1 where nothing varies."""
    return float(2.0 ** np.round(0.5 * np.log2(spread))) if spread > 0 else 1.0


def kernel_spread(matrix: Array) -> float:
    """Mean squared distance of rows to their mean in the space of a kernel."""
    return max(float(np.trace(matrix) / len(matrix) - matrix.mean()), 0.0)


def kernel_matrix(kernel: Kernel, rows: Any, name: str, instead: str) -> Array:
    """Kernel between all rows of a fit; more rows than memory is meant for are refused."""
    n = rows.shape[0]
    if n > MAX_ROWS:
        raise SidelightError(
            f"{name} with this kernel needs a matrix of {n:,} by {n:,} numbers, "
            f"{8e-9 * n * n:,.0f} GB; more than {MAX_ROWS:,} rows are refused. {instead}"
        )
    if kernel.is_precomputed:
        dense = rows.toarray() if sparse.issparse(rows) else rows
        return check_precomputed(np.asarray(dense, dtype=np.float64))
    matrix = kernel(rows, rows)
    return (matrix + matrix.T) / 2


def kernel_factor(matrix: Array) -> Array:
    """``G`` with ``K = G G'``, by a Cholesky factor with pivots: as many columns as K has rank.

    A matrix that is not positive semi-definite is refused.
    """
    largest = float(np.abs(matrix).max(initial=0.0))
    n = len(matrix)
    if largest == 0.0:
        return np.zeros((n, 1))
    factor, pivots, rank, _ = lapack.dpstrf(
        np.asfortranarray(matrix), tol=MIN_PIVOT * largest, lower=1
    )
    G = np.empty((n, rank))
    G[pivots - 1] = np.tril(factor)[:, :rank]
    some = np.linspace(0, n - 1, min(n, CHECKED_ROWS)).astype(np.intp)
    missed = np.abs(G[some] @ G.T - matrix[some]).max(initial=0.0)
    if missed > INDEFINITE * largest:
        raise SidelightError(
            "The kernel is not positive semi-definite: it differs from the nearest such matrix by "
            f"{missed:.2g} beside entries up to {largest:.2g}. Take a kernel that is, such as "
            "'rbf', or add a multiple of the identity to a precomputed one."
        )
    return G


def used_rows(duals: Array) -> IntArray:
    """Rows with a dual variable that is not 0 in some machine."""
    return np.flatnonzero(np.any(duals != 0, axis=0))
