"""Solvers of MMC: projected gradient on a spectahedron, and Newton's method for weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from sidelight._typing import Array


@dataclass(frozen=True)
class MetricSolution:
    """Where a solver ended."""

    components: Array
    history: list[float]
    duality_gap: float
    converged: bool


def solve_full(
    scatter: Array, far: Array, max_iter: int, tol: float, step_done: Callable[[float], None]
) -> MetricSolution:
    """Maximize ``Σ ‖z‖_B`` over ``B`` positive semi-definite with ``tr B ≤ 1``, ``z = L⁻¹ v``.

    ``G = Σ zz' / (2 ‖z‖_B)`` is the gradient; as the problem is concave, ``λ_max(G) - ⟨G, B⟩``
    bounds how far the optimum can be.
    """
    root = np.linalg.cholesky(scatter)
    z = linalg.solve_triangular(root, far.T, lower=True).T
    d = len(scatter)
    B = np.eye(d) / d
    value, gradient = _full_value(B, z)
    history, rate = [-value], 1.0 / max(float(np.linalg.norm(gradient)), 1e-300)
    gap = _duality_gap(gradient, B)
    for _ in range(max_iter):
        if gap <= tol * value:
            break
        moved, new_value, rate = _ascend(B, z, value, gradient, rate)
        if moved is None:
            break
        B, value = moved, new_value
        gradient = _full_value(B, z)[1]
        gap = _duality_gap(gradient, B)
        history.append(-value)
        step_done(-value)
    values, vectors = np.linalg.eigh(B)
    kept = values > 1e-12 * values.max()
    # A = L⁻ᵀ B L⁻¹, so its map is B^{1/2} L⁻¹.
    components = linalg.solve_triangular(
        root, (vectors[:, kept] * np.sqrt(values[kept])), lower=True, trans="T"
    ).T
    return MetricSolution(components[::-1], history, float(gap), bool(gap <= tol * value))


def _ascend(
    B: Array, z: Array, value: float, gradient: Array, rate: float
) -> tuple[Array | None, float, float]:
    """One projected step that gains enough; the rate grows after success and halves otherwise."""
    for _ in range(60):
        moved = project_spectahedron(B + rate * gradient)
        new_value = _full_value(moved, z)[0]
        ahead = float(np.sum(gradient * (moved - B)))
        if new_value >= value + 1e-4 * ahead and new_value > value:
            return moved, new_value, rate * 2.0
        rate /= 2.0
    return None, value, rate


def _full_value(B: Array, z: Array) -> tuple[float, Array]:
    lengths = np.sqrt(np.maximum(np.einsum("nd,nd->n", z @ B, z), 1e-300))
    return float(lengths.sum()), (z / (2 * lengths[:, None])).T @ z


def _duality_gap(gradient: Array, B: Array) -> float:
    return float(np.linalg.eigvalsh(gradient)[-1] - np.sum(gradient * B))


def project_spectahedron(matrix: Array) -> Array:
    """Nearest positive semi-definite matrix of trace at most 1."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    clipped = np.maximum(values, 0.0)
    if clipped.sum() > 1.0:
        descending = np.sort(values)[::-1]
        excess = (np.cumsum(descending) - 1.0) / np.arange(1, len(values) + 1)
        shift = excess[np.flatnonzero(descending > excess)[-1]]
        clipped = np.maximum(values - shift, 0.0)
    return np.asarray((vectors * clipped) @ vectors.T)


def solve_diagonal(
    scatter: Array, far: Array, max_iter: int, tol: float, step_done: Callable[[float], None]
) -> MetricSolution:
    """Minimize ``g(a) = s·a - log Σ sqrt(D² a)`` over ``a ≥ 0`` by projected Newton steps."""
    s, squares = np.diagonal(scatter).copy(), far**2
    a = 0.5 / (len(s) * s)
    value = diagonal_value(a, s, squares)
    history, converged = [value], False
    for _ in range(max_iter):
        gradient, hessian = diagonal_slopes(a, s, squares)
        free = ~((a <= 0) & (gradient > 0))
        residual = np.abs(gradient[free] * np.maximum(a[free], 1e-12)).sum()
        if residual <= 1e-3 * tol or not free.any():
            converged = True
            break
        direction = np.zeros_like(a)
        inner = hessian[np.ix_(free, free)]
        damped = inner + 1e-12 * max(float(np.trace(inner)), 1e-300) * np.eye(len(inner))
        direction[free] = -np.linalg.solve(damped, gradient[free])
        moved = _newton_step(a, value, gradient, direction, s, squares)
        if moved is None:
            converged = True
            break
        a, value = moved
        history.append(value)
        step_done(value)
    # Stationary points use half of the budget Σ_ML ‖v‖² = 1; the metric is scaled to use it all.
    a = a / max(float(s @ a), 1e-300)
    kept = a > 1e-12 * a.max()
    components = np.diag(np.sqrt(a))[kept]
    lengths = -float(np.sqrt(squares @ a).sum())
    shift = lengths - history[-1]
    return MetricSolution(components, [h + shift for h in history], 0.0, converged)


def diagonal_value(a: Array, s: Array, squares: Array) -> float:
    """``g``."""
    return float(s @ a - np.log(_lengths(a, squares).sum()))


def diagonal_slopes(a: Array, s: Array, squares: Array) -> tuple[Array, Array]:
    """Gradient and Hessian of ``g``."""
    r = _lengths(a, squares)
    total = r.sum()
    u = 0.5 * (1.0 / r) @ squares
    scaled = squares * (r**-1.5)[:, None]  # a matrix times its own transpose is half the work
    return s - u / total, scaled.T @ scaled / (4 * total) + np.outer(u, u) / total**2


def _lengths(a: Array, squares: Array) -> Array:
    """Lengths of the cannot-links; one without any has an infinite slope, and a small one here."""
    found = squares @ a
    return np.asarray(np.sqrt(np.maximum(found, max(1e-12 * float(found.max()), 1e-300))))


def _newton_step(
    a: Array, value: float, gradient: Array, direction: Array, s: Array, squares: Array
) -> tuple[Array, float] | None:
    """Back-track along the projected direction; None where nothing is gained any more."""
    step = 1.0
    for _ in range(50):
        moved = np.maximum(a + step * direction, 0.0)
        if moved.any():
            new_value = diagonal_value(moved, s, squares)
            if new_value <= value + 1e-4 * float(gradient @ (moved - a)) and new_value < value:
                return moved, new_value
        step /= 2.0
    return None
