"""Where a classifier without bias lives: coefficients of kernels, or of explicit features.

Both provide the values ``z`` of all terms, inner products ``<f, g>`` and the Newton step of

    Σ_r ℓ_r(z_r) + λ ‖f‖².
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve, lu_factor, lu_solve

from sidelight._typing import Array, FloatArray
from sidelight.exceptions import SidelightError

#: Up to this many features the Hessian is a dense matrix; beyond, conjugate gradients.
MAX_DENSE = 3000

#: Least curvature of a term, as a share of its weight. It bounds the steps of terms that are far
#: from 0 and changes no optimum.
MIN_CURVATURE = 1e-10


class Space(Protocol):
    """Operations on functions ``f`` that the minimization needs."""

    def zeros(self) -> FloatArray:
        """Coefficients of ``f = 0``."""

    def values(self, coef: FloatArray) -> FloatArray:
        """Values ``z`` of the terms."""

    def inner(self, coef: FloatArray, other: FloatArray) -> float:
        """Inner product of two functions."""

    def step(
        self, coef: FloatArray, slope: FloatArray, curvature: FloatArray, regularization: float
    ) -> FloatArray:
        """Newton step, given ``ℓ'`` and ``ℓ''`` of the terms."""


class KernelSpace:
    """Functions ``f = Σ_t α_t K(·, p_t)``.

    The gradient in the space is ``Σ_t (B'ℓ' + 2λ α)_t K(·, p_t)``, and the Newton step solves

        (B' W B K + 2λ I) δ = -(B'ℓ' + 2λ α),   W = diag ℓ'',

    without an inverse of ``K``: equal points are harmless. Where every point is a term, ``B = I``
    and the system is symmetric, ``(W½ K W½ + 2λ I) W^-½ δ = ...``, and positive definite.

    Parameters
    ----------
    gram : ndarray of shape (n_points, n_points)
        Kernel between the points.
    design : CSR array of shape (n_terms, n_points) or None
        The matrix ``B``; None for the identity.
    """

    def __init__(self, gram: FloatArray, design: sparse.csr_array | None = None) -> None:
        self._gram, self._design = gram, design

    def zeros(self) -> FloatArray:
        return np.zeros(len(self._gram))

    def values(self, coef: FloatArray) -> FloatArray:
        points: FloatArray = self._gram @ coef
        return points if self._design is None else self._design @ points

    def inner(self, coef: FloatArray, other: FloatArray) -> float:
        return float(coef @ (self._gram @ other))

    def step(
        self, coef: FloatArray, slope: FloatArray, curvature: FloatArray, regularization: float
    ) -> FloatArray:
        if self._design is None:
            root = np.sqrt(curvature)
            residual = -(slope + 2 * regularization * coef) / root
            system = root[:, None] * self._gram
            system *= root
            return root * solve_regular(system, residual, 2 * regularization)
        residual = -(self._design.T @ slope + 2 * regularization * coef)
        bend = self._design.T @ sparse.diags_array(curvature) @ self._design
        system = bend @ self._gram
        system[np.diag_indices_from(system)] += 2 * regularization
        factors = lu_factor(system, overwrite_a=True, check_finite=False)
        return np.asarray(lu_solve(factors, residual))


class FeatureSpace:
    """Functions ``f = w'φ`` of explicit features: logistic regression on the rows of ``B Φ``.

    Parameters
    ----------
    features : ndarray or CSR matrix of shape (n_points, n_features)
        Features ``Φ`` of the points.
    design : CSR array of shape (n_terms, n_points) or None
        The matrix ``B``; None for the identity.
    """

    def __init__(self, features: Any, design: sparse.csr_array | None = None) -> None:
        self._features, self._design = features, design

    def zeros(self) -> FloatArray:
        return np.zeros(self._features.shape[1])

    def values(self, coef: FloatArray) -> FloatArray:
        points: FloatArray = self._features @ coef
        return points if self._design is None else self._design @ points

    def inner(self, coef: FloatArray, other: FloatArray) -> float:
        return float(coef @ other)

    def step(
        self, coef: FloatArray, slope: FloatArray, curvature: FloatArray, regularization: float
    ) -> FloatArray:
        residual = -(self._gathered(slope) + 2 * regularization * coef)
        bend = sparse.diags_array(curvature)
        if self._design is not None:
            bend = self._design.T @ bend @ self._design
        if len(coef) > MAX_DENSE:
            return self._conjugate_gradients(bend.tocsr(), residual, regularization)
        hessian = self._features.T @ (bend @ self._features)
        dense = hessian.toarray() if sparse.issparse(hessian) else hessian
        return solve_regular(np.asarray(dense), residual, 2 * regularization)

    def _gathered(self, slope: FloatArray) -> FloatArray:
        points = slope if self._design is None else self._design.T @ slope
        gathered: FloatArray = self._features.T @ points
        return gathered

    def _conjugate_gradients(
        self, bend: sparse.csr_array, residual: FloatArray, regularization: float
    ) -> FloatArray:
        """Solve ``(Φ'B'WBΦ + 2λ I) δ = residual``, preconditioned by the diagonal."""
        features, bent = self._features, bend @ self._features
        squares = features.multiply(bent) if sparse.issparse(features) else features * bent
        scale = np.asarray(squares.sum(axis=0)).ravel() + 2 * regularization
        return conjugate_gradients(
            lambda v: features.T @ (bend @ (features @ v)) + 2 * regularization * v,
            residual,
            scale,
        )


def solve_regular(matrix: FloatArray, right: FloatArray, ridge: float) -> FloatArray:
    """Solve ``(M + ridge I) x = right`` for a positive semidefinite ``M``."""
    return np.asarray(cho_solve(factor_regular(matrix, ridge), right, check_finite=False))


def factor_regular(matrix: FloatArray, ridge: float) -> tuple[FloatArray, bool]:
    """Cholesky factors of ``M + ridge I`` for a positive semidefinite ``M``, for ``cho_solve``.

    Where the ridge is lost beside ``M``, as much is added as the factorization needs.
    """
    diagonal = np.diag_indices_from(matrix)
    largest = float(matrix[diagonal].max(initial=0.0))
    for extra in (0.0, 1e-15, 1e-13, 1e-11, 1e-9):
        shifted = matrix.copy()
        shifted[diagonal] += ridge + extra * largest
        try:
            # Transposed, a symmetric matrix is the same, in the order that LAPACK overwrites.
            factors, lower = cho_factor(shifted.T, lower=True, overwrite_a=True, check_finite=False)
        except np.linalg.LinAlgError:
            continue
        return factors, lower
    raise not_semidefinite()


def not_semidefinite() -> SidelightError:
    """Error about a kernel that is not positive semidefinite, with a remedy."""
    return SidelightError(
        "The kernel is not positive semidefinite between the rows that something is known about: "
        "no function has these inner products. Use another kernel, or clip the negative "
        "eigenvalues of the matrix."
    )


def conjugate_gradients(
    apply: Any, right: FloatArray, scale: Array, *, tol: float = 1e-8, max_iter: int = 2000
) -> FloatArray:
    """Solve a positive definite system given as a function, preconditioned by ``scale``."""
    solution = np.zeros_like(right)
    residual = right.copy()
    search = residual / scale
    product = float(residual @ search)
    target = tol**2 * product
    for _ in range(max_iter):
        if product <= target:
            break
        applied = apply(search)
        length = product / float(search @ applied)
        solution += length * search
        residual -= length * applied
        before, preconditioned = product, residual / scale
        product = float(residual @ preconditioned)
        search = preconditioned + (product / before) * search
    return solution
