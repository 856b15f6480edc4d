"""Harmonic functions on a graph: the Dirichlet problem with the labels as boundary values."""

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

    def energy(self, x: Array) -> float:
        """``Σ_c f_c'(D - W) f_c`` of scaled values."""
        inner = float(np.sum(x * (x - self.coupling @ x - 2 * self.right)))
        return max(inner + self.boundary_energy, 0.0)

    def solve_densely(self) -> HarmonicState | None:
        """Solve by a Cholesky factorization; None where rounding makes the matrix singular."""
        matrix = np.eye(len(self.unlabeled)) - self.coupling.toarray()
        try:
            with one_thread_blas:
                x = cho_solve(cho_factor(matrix, lower=True), self.right)
        except LinAlgError:
            return None
        return None if not np.all(np.isfinite(x)) else self._state(x, self.energy(x), 0.0)

    def iterate(self) -> Iterator[HarmonicState]:
        """Conjugate gradients on all classes at once, from the shares of the labels.

        The energy falls with every iteration.
        """
        x = self.root_degree[:, None] * self.shares
        energy = self.energy(x)
        residual = self.right - x + self.coupling @ x
        norm = np.sqrt(np.maximum(np.sum(self.right**2, axis=0), 1e-300))
        squares = np.sum(residual**2, axis=0)
        direction = residual.copy()
        while True:
            image = direction - self.coupling @ direction
            curvature = np.sum(direction * image, axis=0)
            step = _ratio(squares, curvature)
            x = x + step * direction
            residual -= step * image
            energy = max(energy - float(np.sum(step * squares)), 0.0)
            before, squares = squares, np.sum(residual**2, axis=0)
            yield self._state(x, energy, float(np.max(np.sqrt(squares) / norm)))
            direction = residual + _ratio(squares, before) * direction

    def _state(self, x: Array, energy: float, residual: float) -> HarmonicState:
        return HarmonicState(x / self.root_degree[:, None], energy, residual)


def solve_roughly(problem: Dirichlet) -> Array:
    """Distributions of the unlabeled rows, to an accuracy that shares of classes need."""
    last = problem.solve_densely() if len(problem.unlabeled) <= DENSE_ROWS else None
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
