"""Low-density separation (Chapelle, Zien 2005): distances around gaps, TSVM by its gradient."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg, optimize
from scipy.sparse.linalg import eigsh

from sidelight._typing import Array
from sidelight.graphs import geodesics
from sidelight.semi_supervised.margin._squared_hinge import at_origin, fit_squared_hinge

#: Largest exponent of an edge: sums of such lengths stay finite.
LARGEST_EXPONENT = 600.0

#: Up to this many rows all eigenvectors are computed, beyond the leading ones alone.
ALL_EIGENVECTORS = 1500
LEADING_EIGENVECTORS = 100

#: The cost of unlabeled rows doubles this many times until it has its final value.
DOUBLINGS = 10

#: Steepness of the loss ``exp(-3 f²)`` of unlabeled rows.
STEEPNESS = 3.0


def density_distances(graph: Any, rho: float) -> Array:
    """Distances that are short along dense parts: ``(1/ρ) log(1 + path of lengths e^{ρd} - 1)``.

    Parameters
    ----------
    graph : csr_array of shape (n, n)
        Edges of a connected neighbor graph, with their lengths.
    rho : float
        ``ρ``: 0 gives the length of the shortest path, a large one the longest edge of the path
        whose longest edge is shortest.

    Returns
    -------
    distances : ndarray of shape (n, n)
        Symmetric.
    """
    lengths = graph.copy()
    if rho > 0:
        lengths.data = np.expm1(np.minimum(rho * lengths.data, LARGEST_EXPONENT))
    paths = geodesics(lengths)
    if rho > 0:
        np.log1p(paths, out=paths)
        paths /= rho
    return (paths + paths.T) / 2


def gaussian_of(distances: Array, sigma: float) -> Array:
    """``exp(-D²/2σ²)``."""
    return np.exp(-((distances / sigma) ** 2) / 2)


def spectral_features(kernel: Array, least: float) -> Array:
    """Rows whose products are the centered kernel, along eigenvalues above a share of the largest.

    The kernel of path distances need not be positive semi-definite: what is negative is left out.
    """
    n = len(kernel)
    mean = kernel.mean(axis=0)
    centered = kernel - mean - mean[:, None] + mean.mean()
    if n <= ALL_EIGENVECTORS:
        values, vectors = linalg.eigh(centered)
    else:
        start = np.random.RandomState(0).uniform(-1, 1, n)
        values, vectors = eigsh(centered, LEADING_EIGENVECTORS, which="LA", v0=start)
    order = np.argsort(-values, kind="stable")
    values, vectors = values[order], vectors[:, order]
    kept = values > max(least * values[0], 1e-12 * n, 0.0)
    return np.ascontiguousarray(vectors[:, kept] * np.sqrt(values[kept]))


@dataclass(frozen=True)
class GradientTSVM:
    """``½‖w‖² + C Σ_L max(0, 1 - y_i f_i)² + C* Σ_U exp(-3 f_j²)`` with ``f = w'z + b``.

    The rows are moved so that the unlabeled ones have mean 0, and ``b`` is the mean of the classes,
    -1 and 1: it is then the mean of ``f`` on unlabeled rows, whatever ``w`` is.

    Attributes
    ----------
    rows : ndarray of shape (n, p)
        ``z``, moved.
    signs : ndarray of shape (n,)
        -1 and 1 for labeled rows, 0 for unlabeled ones.
    bias : float
        ``b``.
    """

    rows: Array
    signs: Array
    bias: float

    @classmethod
    def balanced(cls, rows: Array, signs: Array, bias: float) -> GradientTSVM:
        """Move the rows as the balance constraint asks for: ``f`` has the mean ``bias``."""
        free = signs == 0
        center = rows[free].mean(axis=0) if free.any() else rows.mean(axis=0)
        return cls(rows - center, signs, bias)

    def values(self, normal: Array) -> Array:
        """``f`` of all rows."""
        return self.rows @ normal + self.bias

    def objective(self, normal: Array, cost: float, cost_unlabeled: float) -> tuple[float, Array]:
        """Objective and its gradient by ``w``."""
        f = self.values(normal)
        free = self.signs == 0
        slacks = np.where(free, 0.0, np.maximum(1.0 - self.signs * f, 0.0))
        bumps = np.where(free, np.exp(-STEEPNESS * f**2), 0.0)
        value = 0.5 * normal @ normal + cost * slacks @ slacks + cost_unlabeled * bumps.sum()
        pull = -2.0 * cost * self.signs * slacks - 2.0 * STEEPNESS * cost_unlabeled * f * bumps
        return float(value), normal + pull @ self.rows


@dataclass(frozen=True)
class LowDensityFit:
    """Result of gradient descent: ``f`` of all rows, the objective after every stage."""

    values: Array
    history: list[float]
    n_iter: int
    converged: bool


def labeled_svm(rows: Array, signs: Array, cost: float) -> Array:
    """Decision values of the SVM of the labeled rows alone, with a free bias."""
    costs = np.where(signs != 0, cost, 0.0)
    signs = np.where(signs != 0, signs, 1.0)
    return fit_squared_hinge(rows, signs, costs, at_origin(rows), "direct", 1e-4).values


def descend_in_stages(
    problem: GradientTSVM, cost: float, cost_unlabeled: float, *, max_iter: int, tol: float
) -> LowDensityFit:
    """Minimize by L-BFGS while the cost of unlabeled rows doubles to its final value."""
    normal = np.zeros(problem.rows.shape[1])
    history, n_iter, converged = [], 0, True
    stages = [0.0] if not np.any(problem.signs == 0) else 2.0 ** np.arange(-DOUBLINGS, 1)
    if not len(normal):  # all rows are alike; older SciPy minimizes over no numbers
        value = problem.objective(normal, cost, cost_unlabeled)[0]
        return LowDensityFit(problem.values(normal), [float(value)], 0, True)
    for stage in stages:
        found = optimize.minimize(
            problem.objective,
            normal,
            args=(cost, stage * cost_unlabeled),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": max_iter, "maxfun": 2 * max_iter, "ftol": 1e-15, "gtol": tol},
        )
        normal = found.x
        history.append(float(found.fun))
        n_iter += int(found.nit)
        # L-BFGS also ends where rounding leaves no descent, which is as good as a small gradient.
        converged = int(found.nit) < max_iter
    return LowDensityFit(problem.values(normal), history, n_iter, bool(converged))
