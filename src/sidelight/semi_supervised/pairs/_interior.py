"""Quadratic programs over a box by the interior point method of Mehrotra.

    min_t  ½ t'Qt - e't,   l <= t <= h

With multipliers ``u`` and ``v`` of the lower and upper limits, a step solves

    (Q + U/(t-l) + V/(h-t)) δ = r,

and some ten steps suffice, however ill-conditioned ``Q`` is, where coordinate ascent takes
thousands of sweeps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy import sparse
from scipy.linalg import cho_solve

from sidelight._typing import FloatArray
from sidelight.semi_supervised.pairs._dual import Box, DualSearch
from sidelight.semi_supervised.pairs._space import factor_regular

#: Share of the way to the limits that a step goes.
STEP_SHARE = 0.995

#: Steps within which the gap has to fall, unless rounding has taken over.
PATIENCE = 5


class Quadratic(Protocol):
    """The matrix ``Q``."""

    def __call__(self, t: FloatArray) -> FloatArray:
        """``Q t``."""

    def solver(self, diagonal: FloatArray) -> Callable[[FloatArray], FloatArray]:
        """Function that solves ``(Q + diag) x = r``."""


class DenseQuadratic:
    """``Q`` as a matrix."""

    def __init__(self, matrix: FloatArray) -> None:
        self._matrix = matrix

    def __call__(self, t: FloatArray) -> FloatArray:
        return np.asarray(self._matrix @ t)

    def solver(self, diagonal: FloatArray) -> Callable[[FloatArray], FloatArray]:
        # Scaled to a diagonal of ones at most: limits that are reached make it as large as can be.
        root = 1 / np.sqrt(np.diag(self._matrix) + diagonal)
        shifted = root[:, None] * self._matrix * root
        shifted[np.diag_indices_from(shifted)] = 1.0
        factors = factor_regular(shifted, 0.0)
        return lambda right: root * cho_solve(factors, root * right, check_finite=False)


class FactoredQuadratic:
    """``Q = B Φ Φ'B' / 2λ`` with few features, by Woodbury's identity."""

    def __init__(self, features: Any, design: sparse.csr_array, twice: float) -> None:
        self._features, self._design, self._twice = features, design, twice

    def __call__(self, t: FloatArray) -> FloatArray:
        weights = self._features.T @ (self._design.T @ t) / self._twice
        return np.asarray(self._design @ (self._features @ weights))

    def solver(self, diagonal: FloatArray) -> Callable[[FloatArray], FloatArray]:
        inverse = 1 / diagonal
        bend = self._design.T @ sparse.diags_array(inverse) @ self._design
        inner = self._features.T @ (bend @ self._features)
        dense = np.asarray(inner.toarray() if sparse.issparse(inner) else inner)
        factors = factor_regular(dense, self._twice)

        def once(right: FloatArray) -> FloatArray:
            gathered = self._features.T @ (self._design.T @ (inverse * right))
            weights = cho_solve(factors, gathered, check_finite=False)
            return np.asarray(inverse * (right - self._design @ (self._features @ weights)))

        def refined(right: FloatArray) -> FloatArray:
            first = once(right)
            return first + once(right - self(first) - diagonal * first)

        return refined


def interior_point(quadratic: Quadratic, box: Box, *, max_iter: int, tol: float) -> DualSearch:
    """Solve the program until the duality gap is small.

    Parameters
    ----------
    quadratic : Quadratic
        The matrix ``Q``.
    box : Box
        Limits of the variables, with ``l < h``, and ``e``.
    max_iter : int
        Largest number of steps.
    tol : float
        Stop when the gap is below this share of the primal objective.
    """
    t = (box.low + box.high) / 2
    point = Point(t, np.ones(len(t)), np.ones(len(t)))
    search = DualSearch(box, np.zeros(len(t)))
    search.look(np.zeros(len(t)), np.zeros(len(t)))
    gaps: list[float] = []
    with np.errstate(all="ignore"):  # numbers beyond the range end the search
        while not search.is_within(tol):
            z = quadratic(point.t)
            search.is_stuck = not np.all(np.isfinite(z))
            if search.is_stuck:
                break
            search.look(point.t, z)
            gaps.append(search.gap)
            search.is_stuck = len(gaps) > PATIENCE and gaps[-1] >= gaps[-1 - PATIENCE]
            if search.is_within(tol) or search.is_stuck or search.n_iter >= max_iter:
                break
            point = _step(quadratic, box, point, z - box.wanted)
            search.n_iter += 1
    return search


class Point(NamedTuple):
    """Variables, and the multipliers of their lower and upper limits."""

    t: FloatArray
    u: FloatArray
    v: FloatArray

    def moved(self, length: float, step: Point) -> Point:
        """The point after a part of a step."""
        return Point(*(one + length * change for one, change in zip(self, step, strict=True)))


def _step(quadratic: Quadratic, box: Box, now: Point, slope: FloatArray) -> Point:
    """Predict how far the limits allow to go, and correct the step by what that shows."""
    least = np.finfo(np.float64).tiny + 1e-16 * (box.high - box.low)
    above, below = np.maximum(now.t - box.low, least), np.maximum(box.high - now.t, least)
    solve = quadratic.solver(now.u / above + now.v / below)
    residual = slope - now.u + now.v

    def direction(lower: FloatArray, upper: FloatArray) -> Point:
        """Step that makes the residual 0, and ``u (t-l)`` and ``v (h-t)`` smaller by as much."""
        t = solve(upper / below - lower / above - residual)
        return Point(t, -(lower + now.u * t) / above, -(upper - now.v * t) / below)

    def room(step: Point) -> float:
        """Largest part of a step, at most all of it, that keeps everything positive."""
        sizes = np.concatenate([above, below, now.u, now.v])
        changes = np.concatenate([step.t, -step.t, step.u, step.v])
        falls = changes < 0
        return min(1.0, float((sizes[falls] / -changes[falls]).min(initial=np.inf)))

    def complementarity(point: Point) -> float:
        return float(point.u @ (point.t - box.low) + point.v @ (box.high - point.t))

    predicted = direction(now.u * above, now.v * below)
    reached = complementarity(now.moved(room(predicted), predicted))
    share = (reached / complementarity(now)) ** 3
    center = share * complementarity(now) / (2 * len(now.t))
    corrected = direction(
        now.u * above + predicted.t * predicted.u - center,
        now.v * below - predicted.t * predicted.v - center,
    )
    return now.moved(STEP_SHARE * room(corrected), corrected)
