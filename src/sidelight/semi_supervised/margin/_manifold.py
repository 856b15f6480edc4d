"""Solvers of the Laplacian SVM, reduced to the labeled rows.

With ``f = x'w`` (or ``f = Σ α_i k(x_i, ·)``) the penalty ``γ_A ‖f‖² + (γ_I/n²) f'Lf`` is
``½ w'Aw`` with ``A = 2γ_A I + 2(γ_I/n²) X'LX``: the machine is an SVM on the labeled rows alone,
with the kernel ``x'A⁻¹z``. A :class:`LabeledProblem` holds rows with that kernel, and the way back.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg, sparse

from sidelight._typing import Array, IntArray
from sidelight._words import setting
from sidelight.exceptions import SidelightError
from sidelight.semi_supervised.margin._features import kernel_factor

#: Up to this many columns ``A`` is factored, beyond conjugate gradients solve for labeled rows.
DIRECT_COLUMNS = 1000

#: Labeled rows whose systems conjugate gradients solve.
MAX_LABELED = 5000

#: Columns that are multiplied by the Laplacian at a time.
BLOCK_COLUMNS = 64

#: Residual at which conjugate gradients stop, as a share of the right-hand side.
CG_ACCURACY = 1e-11
CG_STEPS = 2000


@dataclass(frozen=True)
class LabeledProblem:
    """An ordinary SVM that is equal to the Laplacian SVM.

    Attributes
    ----------
    rows : ndarray of shape (n_labeled, r)
        ``z``: their products are the kernel ``x'A⁻¹x``.
    expand : callable
        From ``β_i y_i``, shape (n_labeled, n_machines), to the weights of all columns (or of all
        rows, for the expansion in kernels).
    """

    rows: Array
    expand: Callable[[Array], Array]


def dense_problem(
    K: Array, L: Any, labeled: IntArray, ambient: float, intrinsic: float
) -> LabeledProblem:
    """The published system: ``α = (2γ_A I + 2(γ_I/n²) L K)⁻¹ J'Yβ``.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Kernel between all rows.
    L : sparse matrix of shape (n, n)
        Laplacian.
    labeled : ndarray of int
        The labeled rows.
    ambient, intrinsic : float
        ``γ_A`` and ``γ_I / n²``.
    """
    n = len(K)
    system = (2.0 * intrinsic) * (L @ K)
    system[np.diag_indices(n)] += 2.0 * ambient
    right = np.zeros((n, len(labeled)))
    right[labeled, np.arange(len(labeled))] = 1.0
    solved = linalg.solve(system, right, overwrite_a=True, check_finite=False)
    gram = K[labeled] @ solved
    return LabeledProblem(kernel_factor((gram + gram.T) / 2), lambda signed: solved @ signed)


def primal_problem(
    X: Any, L: Any, labeled: IntArray, ambient: float, intrinsic: float
) -> LabeledProblem:
    """The same in the space of the columns of X, without a matrix between rows."""
    d = X.shape[1]
    if d <= DIRECT_COLUMNS:
        A = (2.0 * intrinsic) * laplacian_product(X, L)
        A[np.diag_indices(d)] += 2.0 * ambient
        upper = linalg.cholesky(A, check_finite=False)
        part = _dense(X[labeled])
        rows = linalg.solve_triangular(upper, part.T, trans="T", check_finite=False).T

        def back(signed: Array) -> Array:
            return np.asarray(linalg.solve_triangular(upper, rows.T @ signed, check_finite=False))

        return LabeledProblem(np.ascontiguousarray(rows), back)
    if len(labeled) > MAX_LABELED:
        raise SidelightError(
            f"LapSVM with {d:,} columns solves a system for every labeled row, and of these there "
            f"are {len(labeled):,}; at most {MAX_LABELED:,} are taken. Reduce the columns to "
            f"{DIRECT_COLUMNS:,} (sklearn.decomposition.TruncatedSVD), label fewer rows, or leave "
            f"the unlabeled rows out ({setting('gamma_I', 0)}) with an ordinary SVM."
        )
    solved = solve_by_cg(X, L, _dense(X[labeled]).T, ambient, intrinsic)
    gram = np.asarray(X[labeled] @ solved)
    return LabeledProblem(kernel_factor((gram + gram.T) / 2), lambda signed: solved @ signed)


def laplacian_product(X: Any, L: Any) -> Array:
    """``X'LX``, some columns at a time; memory ``O(n + d²)`` besides X."""
    d = X.shape[1]
    columns = sparse.csc_matrix(X) if sparse.issparse(X) else X
    product = np.empty((d, d))
    for first in range(0, d, BLOCK_COLUMNS):
        part = slice(first, first + BLOCK_COLUMNS)
        product[:, part] = X.T @ (L @ _dense(columns[:, part]))
    return (product + product.T) / 2


def solve_by_cg(X: Any, L: Any, right: Array, ambient: float, intrinsic: float) -> Array:
    """``A⁻¹ R`` by conjugate gradients, several columns of ``R`` at a time."""
    solved = np.empty_like(right)
    for first in range(0, right.shape[1], BLOCK_COLUMNS):
        part = slice(first, first + BLOCK_COLUMNS)
        solved[:, part] = _cg(X, L, np.ascontiguousarray(right[:, part]), ambient, intrinsic)
    return solved


def _cg(X: Any, L: Any, right: Array, ambient: float, intrinsic: float) -> Array:
    solved = np.zeros_like(right)
    residual, direction = right.copy(), right.copy()
    size = np.einsum("ij,ij->j", residual, residual)
    goal = CG_ACCURACY**2 * size
    for _ in range(CG_STEPS):
        image = 2.0 * ambient * direction + 2.0 * intrinsic * (X.T @ (L @ (X @ direction)))
        curvature = np.einsum("ij,ij->j", direction, image)
        part = np.divide(size, curvature, out=np.zeros_like(size), where=curvature > 0)
        solved += part * direction
        residual -= part * image
        new = np.einsum("ij,ij->j", residual, residual)
        if np.all(new <= goal):
            break
        ratio = np.divide(new, size, out=np.zeros_like(size), where=size > 0)
        direction = residual + ratio * direction
        size = new
    return solved


def _dense(rows: Any) -> Array:
    return np.asarray(rows.toarray() if sparse.issparse(rows) else rows, dtype=np.float64)
