"""Solver of MMC: a path of Newton steps through the inside of the cone, for matrices and weights.

With the scatter ``S = LL'`` of the must-links, ``B = L'AL`` and ``z = L⁻¹v`` the problem is to
maximize ``f(B) = Σ ‖z‖_B`` over the cone with ``tr B ≤ 1``. As ``f(tB) = √t f(B)``, the best point
of ``f(B) - tr B`` has the same directions, and needs no bound: of it

    ``φ_μ(B) = (tr B - f(B)) / μ - log det B``

is minimized for a falling ``μ``. The square roots have a slope without bound where a cannot-link
becomes short, which steps along the gradient cannot follow; Newton's steps do, since the barrier
bends more than the roots do. With the gradient ``G = Σ zz' / (2 ‖z‖_B)`` of ``f`` no feasible
metric is above ``√(2 λ_max(G) f)``, whatever the scale of ``B``.
Weights of the features are the same on diagonals: ``b_j = s_j a_j`` and ``z_j = v_j / √s_j``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from scipy import linalg

from sidelight._typing import Array

#: Factor by which ``μ`` falls once a point is near the path, and the decrement that counts as near.
FALL = 0.1
NEAR = 0.3

#: Relative gap that is left to rounding, and the smallest share of the trace for ``μ``.
ROUNDING = 1e-12
SMALLEST_BARRIER = 1e-15

#: Largest number of steps of conjugate gradients for one direction.
MAX_INNER = 300


class Cone(ABC):
    """Points ``B`` of a cone by a root, seen from where ``B`` is the identity.

    ``E`` stands for a step ``B + C E C'``, ``B = CC'``: a symmetric matrix, or a vector where only
    diagonals are allowed.
    """

    @abstractmethod
    def identity(self, d: int) -> Array:
        """``B`` itself as a step, which is also the first root."""

    @abstractmethod
    def seen(self, z: Array, root: Array) -> Array:
        """``u = C'z`` of every pair, one row each."""

    @abstractmethod
    def lengths(self, u: Array, step: Array) -> Array:
        """``u'Eu`` of every pair."""

    @abstractmethod
    def sum_of(self, u: Array, weight: Array) -> Array:
        """``Σ w uu'``."""

    @abstractmethod
    def trace(self, root: Array) -> Array:
        """Gradient of ``tr B``: ``C'C``."""

    @abstractmethod
    def moved(self, root: Array, step: Array) -> Array:
        """The root after a step; LinAlgError beyond the cone."""

    @abstractmethod
    def log_det(self, root: Array) -> float:
        """``log det B``."""

    @abstractmethod
    def direction(self, gradient: Array, u: Array, curvature: Array) -> Array:
        """Solve ``E + Σ h (u'Eu) uu' = -gradient``."""

    @abstractmethod
    def largest(self, gradient: Array) -> float:
        """Largest ``⟨G, B⟩`` over the cone with trace 1."""

    @abstractmethod
    def root_of(self, weight: Array, axes: Array) -> Array:
        """The root of these weights along these axes."""

    @abstractmethod
    def split(self, root: Array, gradient: Array) -> tuple[Array, Array, Array]:
        """Weights of ``B`` and slopes of ``f`` along its axes, and the axes as columns."""


class Matrices(Cone):
    """Positive semi-definite matrices."""

    def identity(self, d: int) -> Array:
        return np.eye(d)

    def seen(self, z: Array, root: Array) -> Array:
        return np.asarray(z @ root)

    def lengths(self, u: Array, step: Array) -> Array:
        return np.einsum("nd,nd->n", u @ step, u)

    def sum_of(self, u: Array, weight: Array) -> Array:
        return np.asarray((u * weight[:, None]).T @ u)

    def trace(self, root: Array) -> Array:
        return np.asarray(root.T @ root)

    def moved(self, root: Array, step: Array) -> Array:
        return np.asarray(root @ np.linalg.cholesky(np.eye(len(step)) + step))

    def log_det(self, root: Array) -> float:
        return 2 * float(np.linalg.slogdet(root)[1])

    def direction(self, gradient: Array, u: Array, curvature: Array) -> Array:
        found = np.zeros_like(gradient)
        rest = -gradient
        ahead = rest
        square = float(np.sum(rest * rest))
        enough = square * min(0.1, square**0.25) ** 2
        for _ in range(MAX_INNER):
            if square <= enough:
                break
            image = ahead + self.sum_of(u, curvature * self.lengths(u, ahead))
            step = square / float(np.sum(ahead * image))
            found = found + step * ahead
            rest = rest - step * image
            new = float(np.sum(rest * rest))
            ahead, square = rest + new / square * ahead, new
        return (found + found.T) / 2

    def largest(self, gradient: Array) -> float:
        return float(np.linalg.eigvalsh(gradient)[-1])

    def root_of(self, weight: Array, axes: Array) -> Array:
        return np.asarray(axes * np.sqrt(weight))

    def split(self, root: Array, gradient: Array) -> tuple[Array, Array, Array]:
        axes, scale, _ = np.linalg.svd(root)
        return scale**2, np.einsum("dk,dk->k", axes, gradient @ axes), axes


class Diagonals(Cone):
    """Diagonal matrices with entries above 0, as vectors."""

    def identity(self, d: int) -> Array:
        return np.ones(d)

    def seen(self, z: Array, root: Array) -> Array:
        return np.asarray(z * root)

    def lengths(self, u: Array, step: Array) -> Array:
        return np.asarray(u**2 @ step)

    def sum_of(self, u: Array, weight: Array) -> Array:
        return np.asarray(weight @ u**2)

    def trace(self, root: Array) -> Array:
        return np.asarray(root**2)

    def moved(self, root: Array, step: Array) -> Array:
        if np.any(step <= -1):
            raise np.linalg.LinAlgError("a weight below 0")
        return np.asarray(root * np.sqrt(1 + step))

    def log_det(self, root: Array) -> float:
        return 2 * float(np.log(root).sum())

    def direction(self, gradient: Array, u: Array, curvature: Array) -> Array:
        # A matrix times its own transpose is half the work.
        bent = u**2 * np.sqrt(curvature)[:, None]
        hessian = np.eye(len(gradient)) + bent.T @ bent
        return np.asarray(linalg.solve(hessian, -gradient, assume_a="pos"))

    def largest(self, gradient: Array) -> float:
        return float(gradient.max())

    def root_of(self, weight: Array, axes: Array) -> Array:
        return np.sqrt(weight)

    def split(self, root: Array, gradient: Array) -> tuple[Array, Array, Array]:
        return root**2, gradient, np.eye(len(root))


@dataclass(frozen=True)
class _Point:
    """A point of the cone, its objective, and its slopes at the root."""

    root: Array
    u: Array
    p: Array
    value: float
    trace: float

    @property
    def scaled(self) -> float:
        """``f`` of the multiple of ``B`` with trace 1."""
        return self.value / np.sqrt(self.trace)


@dataclass(frozen=True)
class MetricStep:
    """Best metric so far: objective, how much more is possible at most, and the point itself."""

    objective: float
    duality_gap: float
    best: _Point = field(repr=False)

    def is_within(self, share: float) -> bool:
        """Whether the objective is within this share of the optimum, up to rounding."""
        return self.duality_gap <= max(share, ROUNDING) * abs(self.objective)


@dataclass(frozen=True)
class LengthProblem:
    """``max Σ ‖z‖_B`` over a cone with ``tr B ≤ 1``; every ``z`` differs from 0."""

    z: Array
    cone: Cone

    def search(self, tol: float) -> Iterator[MetricStep]:
        """Yield the start and every step.

        Ends when the bound is at most ``tol`` times the objective, or nothing is gained any more.
        """
        here = self._start()
        best, bound = here, self._bound(here)
        barrier = here.trace / self.z.shape[1]
        while True:
            step = MetricStep(-best.scaled, max(bound - best.scaled, 0.0), best)
            yield step
            if step.is_within(tol):
                return
            moved, decrement = self._newton_step(here, barrier)
            if moved is None and barrier <= SMALLEST_BARRIER * here.trace:
                return
            here = here if moved is None else moved
            if decrement < NEAR:
                barrier = max(FALL * barrier, SMALLEST_BARRIER * here.trace)
            for point in (here, self._without_barrier(here)):
                best = max(best, point, key=lambda point: point.scaled)
                bound = min(bound, self._bound(point))

    def map_of(self, found: MetricStep) -> Array:
        """``W`` with ``W'W = B`` of trace 1; directions of no weight are left out."""
        weight, _, axes = self.cone.split(found.best.root, self._gradient(found.best))
        kept = weight > ROUNDING * weight.max()
        W = (axes[:, kept] * np.sqrt(weight[kept])).T
        return np.asarray(W / np.linalg.norm(W))

    def _without_barrier(self, point: _Point) -> _Point:
        """The point without the directions that only the barrier keeps: often as good as the end.

        Along each axis weight times slack is the barrier, so that one of both is small.
        """
        weight, slope, axes = self.cone.split(point.root, self._gradient(point))
        slack = (slope.max() - slope) / slope.max()
        return self._point(self.cone.root_of(weight * (weight / weight.sum() > slack), axes))

    def _start(self) -> _Point:
        """The identity, of the best length."""
        point = self._point(self.cone.identity(self.z.shape[1]))
        return self._point(point.root * (point.value / (2 * point.trace)))

    def _point(self, root: Array) -> _Point:
        u = self.cone.seen(self.z, root)
        p = np.maximum(np.einsum("nd,nd->n", u, u), 1e-300)
        return _Point(root, u, p, float(np.sqrt(p).sum()), float(np.sum(root**2)))

    def _gradient(self, point: _Point) -> Array:
        """``G``."""
        return self.cone.sum_of(self.z, 0.5 / np.sqrt(point.p))

    def _bound(self, point: _Point) -> float:
        return float(np.sqrt(2 * self.cone.largest(self._gradient(point)) * point.value))

    def _newton_step(self, here: _Point, barrier: float) -> tuple[_Point | None, float]:
        """Newton's step with a line search, and its decrement; None where nothing is gained."""
        cone = self.cone
        own = cone.trace(here.root) - cone.sum_of(here.u, 0.5 / np.sqrt(here.p))
        gradient = own / barrier - cone.identity(self.z.shape[1])
        direction = cone.direction(gradient, here.u, 0.25 * here.p**-1.5 / barrier)
        ahead = float(np.sum(gradient * direction))
        decrement = float(np.sqrt(max(-ahead, 0.0)))
        value = self._barrier_value(here, barrier)
        rounding = 1e-14 * here.trace / barrier
        step = 1.0
        for _ in range(60):
            try:
                there = self._point(cone.moved(here.root, step * direction))
            except np.linalg.LinAlgError:
                step /= 2.0
                continue
            change = self._barrier_value(there, barrier) - value
            if change <= 1e-4 * step * ahead + rounding:
                return there, decrement
            step /= 2.0
        return None, decrement

    def _barrier_value(self, point: _Point, barrier: float) -> float:
        """``φ_μ``."""
        return (point.trace - point.value) / barrier - self.cone.log_det(point.root)
