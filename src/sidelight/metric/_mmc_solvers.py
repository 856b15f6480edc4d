"""Solvers of MMC: projected gradient on a spectahedron, and Newton's method for weights."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from sidelight._typing import Array


@dataclass(frozen=True)
class MetricStep:
    """Current state of a solver: objective, bound on the distance to the optimum, and map."""

    objective: float
    duality_gap: float
    components: Callable[[], Array]

    def is_within(self, share: float) -> bool:
        """Whether the objective is within this share of the optimum."""
        return self.duality_gap <= share * abs(self.objective)


def search_full(scatter: Array, far: Array, tol: float) -> Iterator[MetricStep]:
    """Maximize ``Σ ‖z‖_B`` over ``B`` positive semi-definite with ``tr B ≤ 1``, ``z = L⁻¹ v``.

    ``G = Σ zz' / (2 ‖z‖_B)`` is the gradient; as the problem is concave, ``λ_max(G) - ⟨G, B⟩``
    bounds how far the optimum can be. Yields the start and every step, until the bound is at most
    ``tol`` times the objective or nothing is gained any more.
    """
    root = np.linalg.cholesky(scatter)
    z = linalg.solve_triangular(root, far.T, lower=True).T
    d = len(scatter)
    B: Array | None = np.eye(d) / d
    value, gradient = _full_value(np.eye(d) / d, z)
    rate = 1.0 / max(float(np.linalg.norm(gradient)), 1e-300)
    most = np.inf  # a bound stays one
    while B is not None:
        gradient = _full_value(B, z)[1]
        most = min(most, value + _duality_gap(gradient, B))
        step = MetricStep(-value, max(most - value, 0.0), functools.partial(_full_map, root, B))
        yield step
        if step.is_within(tol):
            return
        B, value, rate = _ascend(B, z, value, gradient, rate)


def _full_map(root: Array, B: Array) -> Array:
    """``A = L⁻ᵀ B L⁻¹``, so its map is ``B^{1/2} L⁻¹``."""
    values, vectors = np.linalg.eigh(B)
    kept = values > 1e-12 * values.max()
    directions = vectors[:, kept] * np.sqrt(values[kept])
    return np.asarray(linalg.solve_triangular(root, directions, lower=True, trans="T").T[::-1])


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


def search_diagonal(scatter: Array, far: Array, tol: float) -> Iterator[MetricStep]:
    """Minimize ``g(a) = s·a - log Σ sqrt(D² a)`` over ``a ≥ 0`` by projected Newton steps.

    Stationary points use half of the budget ``s·a ≤ 1``, and so does every step; the metric is
    scaled to use it all. With the gradient ``u`` of the lengths ``R``, ``max u/s (s·a) - u·a``
    bounds how far the optimum can be. Yields as :func:`search_full` does.
    """
    s, squares = np.diagonal(scatter).copy(), far**2
    a: Array | None = 0.5 / (len(s) * s)
    while a is not None:
        a = a / (2.0 * float(s @ a))
        lengths = _lengths(a, squares)
        pull = 0.5 * (1.0 / lengths) @ squares
        scale = np.sqrt(2.0)  # lengths at twice the weights
        gap = scale * max(float((pull / s).max() / 2 - pull @ a), 0.0)
        step = MetricStep(
            -scale * float(lengths.sum()), gap, functools.partial(_weights_map, 2 * a)
        )
        yield step
        if step.is_within(tol):
            return
        a = _newton_step(a, s, squares)


def _weights_map(a: Array) -> Array:
    return np.diag(np.sqrt(a))[a > 1e-12 * a.max()]


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


def _newton_step(a: Array, s: Array, squares: Array) -> Array | None:
    """Back-track along the projected direction; None where nothing is gained any more."""
    value = diagonal_value(a, s, squares)
    gradient, hessian = diagonal_slopes(a, s, squares)
    free = ~((a <= 0) & (gradient > 0))
    direction = np.zeros_like(a)
    inner = hessian[np.ix_(free, free)]
    damped = inner + 1e-12 * max(float(np.trace(inner)), 1e-300) * np.eye(len(inner))
    direction[free] = -np.linalg.solve(damped, gradient[free])
    step = 1.0
    for _ in range(50):
        moved = np.maximum(a + step * direction, 0.0)
        if moved.any():
            new_value = diagonal_value(moved, s, squares)
            if new_value <= value + 1e-4 * float(gradient @ (moved - a)) and new_value < value:
                return moved
        step /= 2.0
    return None
