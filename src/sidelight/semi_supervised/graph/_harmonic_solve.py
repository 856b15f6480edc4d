"""Harmonic functions (the Dirichlet problem with labels as boundary values) and label spreading."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from sidelight._typing import Array, IntArray
from sidelight.engine.inner import one_thread_blas
from sidelight.graphs import degrees

#: Up to this many unlabeled rows a dense factorization is faster than iterations, and exact.
DENSE_ROWS = 600

#: Residual, and steps, of solutions from which shares are estimated only.
ROUGH, ROUGH_STEPS = 1e-4, 500


@dataclass(frozen=True)
class HarmonicState:
    """Distributions after an iteration.

    Attributes
    ----------
    distributions : ndarray of shape (n_unlabeled, n_classes)
        ``f`` of the unlabeled rows.
    energy : float
        ``Σ_c f_c'(D - W) f_c`` over all rows.
    residual : float
        Largest norm of the residual of a class, as a share of that of its right-hand side.
    """

    distributions: Array
    energy: float
    residual: float


class Dirichlet:
    """``(D_uu - W_uu) f = W_ul Y_l``, scaled to a unit diagonal: ``x = D^{1/2} f``.

    The scaling is Jacobi's preconditioner, written into the matrix.

    Parameters
    ----------
    W : csr_array of shape (n, n)
        Symmetric similarities; a path joins every row to a labeled one.
    labels : ndarray of shape (n,)
        Codes of the classes, -1 for unlabeled rows.
    n_classes : int
        Number of classes.
    """

    def __init__(self, W: sparse.csr_array, labels: IntArray, n_classes: int) -> None:
        self.unlabeled = np.flatnonzero(labels < 0)
        labeled = np.flatnonzero(labels >= 0)
        self.targets = np.eye(n_classes)[labels[labeled]]
        degree = degrees(W)
        root = sparse.diags_array(1.0 / np.sqrt(degree[self.unlabeled]))
        from_unlabeled = sparse.csr_array(W[self.unlabeled])
        self.root_degree = np.sqrt(degree[self.unlabeled])
        self.coupling = sparse.csr_array(root @ from_unlabeled[:, self.unlabeled] @ root)
        self.right = np.asarray(root @ (from_unlabeled[:, labeled] @ self.targets))
        self.boundary_energy = float(degree[labeled].sum()) - float(
            np.sum(self.targets * (sparse.csr_array(W[labeled])[:, labeled] @ self.targets))
        )
        self.shares = self.targets.mean(axis=0)
        self.size = len(self.unlabeled)

    def energy(self, x: Array) -> float:
        """``Σ_c f_c'(D - W) f_c`` of scaled values."""
        inner = float(np.sum(x * (x - self.coupling @ x - 2 * self.right)))
        return max(inner + self.boundary_energy, 0.0)

    def solve_densely(self) -> HarmonicState | None:
        """Solve by a Cholesky factorization; None where rounding makes the matrix singular."""
        x = solve_dense(self.coupling, self.right)
        return None if x is None else self._state(x, self.energy(x), 0.0)

    def iterate(self) -> Iterator[HarmonicState]:
        """Conjugate gradients on all classes at once, from the shares of the labels.

        The energy falls with every iteration.
        """
        start = self.root_degree[:, None] * self.shares
        for x, energy, residual in descend(self.coupling, self.right, start, self.energy(start)):
            yield self._state(x, energy, residual)

    def _state(self, x: Array, energy: float, residual: float) -> HarmonicState:
        return HarmonicState(x / self.root_degree[:, None], energy, residual)


class Spreading:
    """``(I - αS) F = (1 - α) Y`` with ``S = D^{-1/2} W D^{-1/2}``: label spreading.

    Parameters
    ----------
    W : csr_array of shape (n, n)
        Symmetric similarities.
    labels : ndarray of shape (n,)
        Codes of the classes, -1 for unlabeled rows.
    n_classes : int
        Number of classes.
    alpha : float
        ``α``, between 0 and 1.
    """

    def __init__(self, W: sparse.csr_array, labels: IntArray, n_classes: int, alpha: float) -> None:
        labeled = np.flatnonzero(labels >= 0)
        targets = np.zeros((len(labels), n_classes))
        targets[labeled, labels[labeled]] = 1.0
        degree = degrees(W)
        root = sparse.diags_array(1.0 / np.sqrt(np.where(degree > 0, degree, 1.0)))
        self.alpha = alpha
        self.coupling = sparse.csr_array(alpha * (root @ W @ root))
        self.right = (1 - alpha) * targets
        self.shares = targets[labeled].mean(axis=0)
        self.size = len(labels)

    def energy(self, F: Array) -> float:
        """``Σ_c F_c'(I - S)F_c + (1/α - 1) ‖F - Y‖²``."""
        return self._whole(float(np.sum(F * (F - self.coupling @ F - 2 * self.right))))

    def _whole(self, inner: float) -> float:
        constant = float(np.sum(self.right**2)) / (1 - self.alpha)
        return max(inner + constant, 0.0) / self.alpha

    def solve_densely(self) -> HarmonicState | None:
        """Solve by a Cholesky factorization; None where rounding makes the matrix singular."""
        F = solve_dense(self.coupling, self.right)
        return None if F is None else HarmonicState(F, self.energy(F), 0.0)

    def iterate(self) -> Iterator[HarmonicState]:
        """Conjugate gradients on all classes at once, from 0; the energy falls."""
        start = np.zeros_like(self.right)
        for F, inner, residual in descend(self.coupling, self.right, start, 0.0, signed=True):
            yield HarmonicState(F, self._whole(inner), residual)


def solve_dense(coupling: sparse.csr_array, right: Array) -> Array | None:
    """Solve ``(I - coupling) x = right`` by Cholesky; None where the matrix is singular."""
    if not coupling.shape[0]:  # older SciPy factors no empty matrix
        return np.zeros_like(right)
    matrix = np.eye(coupling.shape[0]) - coupling.toarray()
    try:
        with one_thread_blas:
            x = cho_solve(cho_factor(matrix, lower=True), right)
    except LinAlgError:
        return None
    return np.asarray(x) if np.all(np.isfinite(x)) else None


def descend(
    coupling: sparse.csr_array, right: Array, x: Array, energy: float, *, signed: bool = False
) -> Iterator[tuple[Array, float, float]]:
    """Conjugate gradients for ``(I - coupling) x = right``, all columns at once.

    Yields ``x``, its energy and the largest norm of the residual of a column, as a share of that of
    its right-hand side. The energy falls by what ``x'(I - coupling)x - 2 x'right`` does; not below
    0 but where it is ``signed``.
    """
    residual = right - x + coupling @ x
    norm = np.sqrt(np.maximum(np.sum(right**2, axis=0), 1e-300))
    squares = np.sum(residual**2, axis=0)
    direction = residual.copy()
    while True:
        image = direction - coupling @ direction
        step = _ratio(squares, np.sum(direction * image, axis=0))
        x = x + step * direction
        residual -= step * image
        energy -= float(np.sum(step * squares))
        energy = energy if signed else max(energy, 0.0)
        before, squares = squares, np.sum(residual**2, axis=0)
        yield x, energy, float(np.max(np.sqrt(squares) / norm))
        direction = residual + _ratio(squares, before) * direction


def solve_roughly(problem: Dirichlet | Spreading) -> Array:
    """Distributions, to an accuracy that shares of classes need."""
    last = problem.solve_densely() if problem.size <= DENSE_ROWS else None
    if last is None:
        for last in itertools.islice(problem.iterate(), ROUGH_STEPS):
            if last.residual <= ROUGH:
                break
    assert last is not None
    return as_distributions(last.distributions, problem.shares)


def as_distributions(values: Array, shares: Array) -> Array:
    """Values without what rounding left below 0, each row with sum 1."""
    positive = np.clip(values, 0.0, None)
    total = positive.sum(axis=1, keepdims=True)
    spread: Any = np.divide(positive, total, out=np.tile(shares, (len(values), 1)), where=total > 0)
    return np.asarray(spread)


def _ratio(numerator: Array, denominator: Array) -> Array:
    """Quotients; 0 where a class has been solved exactly."""
    zero = np.zeros_like(numerator)
    return np.divide(numerator, denominator, out=zero, where=denominator > 0)
