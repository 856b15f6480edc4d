"""Solver of ITML: Newton's method on the metric itself, with a bound on what is left."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from sidelight._typing import Array

#: Largest number of steps of conjugate gradients for one direction.
MAX_INNER = 200

#: Factor by which the prices grow, and the gap at which they do, as a share of the objective.
GROWTH = 3.0
ROUGHLY = 0.1


#: Differences in coordinates in which the prior is the identity, signs, bounds and prices of slack.
Problem: TypeAlias = tuple[Array, Array, Array, Array]


@dataclass(frozen=True)
class MetricPoint:
    """A metric ``B = CC'`` in coordinates in which the prior is the identity, with its slopes.

    Everything is seen from where ``B`` is the identity: ``u = C'z`` are the differences,
    ``p = u'u`` their squared distances, ``gradient`` that of the objective.
    """

    root: Array
    u: Array
    p: Array
    pull: Array
    value: float
    gradient: Array

    @functools.cached_property
    def gap(self) -> float:
        """``Σ e - log(1 + e)`` over the eigenvalues of the gradient; infinite below -1."""
        slopes = np.linalg.eigvalsh(self.gradient)
        if slopes[0] <= -1:
            return np.inf
        return float(np.sum(slopes - np.log1p(slopes)))

    def is_within(self, share: float) -> bool:
        """Whether the objective is within this share of the optimum, up to rounding."""
        return self.gap <= max(share * self.value, 1e-12)


def search_log_det(problem: Problem, tol: float) -> Iterator[MetricPoint]:
    """Minimize ``LogDet(A, A₀) + Σ γ_n (r_n - log r_n - 1)`` over the pairs beyond their bound.

    ``r_n = v'Av / ξ₀`` is above 1 for such a must-link, below 1 for a cannot-link; the best slack
    is ``ξ = v'Av`` there and ``ξ₀`` elsewhere. The multipliers ``λ = γ |1/ξ₀ - 1/v'Av|`` make
    ``M = A₀⁻¹ + Σ ± λ vv'``, which is ``A⁻¹`` at the optimum; as the problem is convex,
    ``LogDet(AM, I)`` is its duality gap. Newton directions come from conjugate gradients in
    coordinates in which ``A`` is the identity. The prices grow from a share of them to all of them:
    under all at once, bounds that few pairs keep bend the metric so much that it has to turn back
    in small steps.

    Yields the point after every step, until the gap is at most ``tol`` times the objective, or
    nothing is gained any more.

    Parameters
    ----------
    problem : Problem
        What is given.
    tol : float
        Share of the objective.
    """
    z, sign, bounds, prices = problem
    root = np.eye(z.shape[1])
    share = min(1.0, 1.0 / max(float(prices.sum()), 1e-300))
    while True:
        stage = (z, sign, bounds, share * prices)
        here = point_at(root, stage)
        while not here.is_within(tol if share == 1.0 else ROUGHLY):
            moved = _newton_step(here, stage)
            if moved is None:
                break
            here = moved
            yield here
        if share == 1.0:
            return
        root, share = here.root, min(1.0, GROWTH * share)


def point_at(root: Array, problem: Problem) -> MetricPoint:
    """Objective and slopes of the metric ``B = CC'``."""
    z, sign, bounds, prices = problem
    u = z @ root
    p = np.einsum("nd,nd->n", u, u)
    share = np.maximum(p / bounds, 1e-300)
    beyond = sign * (share - 1.0) > 0
    costs = np.where(beyond, prices * (share - np.log(share) - 1.0), 0.0)
    pull = np.where(beyond, prices * (1.0 / bounds - 1.0 / np.maximum(p, 1e-300)), 0.0)
    scale = root.T @ root
    own = np.trace(scale) - 2 * np.log(np.abs(np.diagonal(root))).sum() - len(root)
    gradient = scale - np.eye(len(root)) + (u * pull[:, None]).T @ u
    return MetricPoint(root, u, p, pull, float(own + costs.sum()), gradient)


def _newton_step(here: MetricPoint, problem: Problem) -> MetricPoint | None:
    """Line search along Newton's direction; None where nothing is gained any more."""
    active = here.pull != 0
    curvature = problem[-1][active] / here.p[active] ** 2
    direction = _direction(here.gradient, here.u[active], curvature)
    ahead = float(np.sum(here.gradient * direction))
    step = 1.0
    for _ in range(60):
        moved = np.eye(len(direction)) + step * direction
        try:
            there = point_at(here.root @ np.linalg.cholesky(moved), problem)
        except np.linalg.LinAlgError:  # beyond the positive definite matrices
            step /= 2.0
            continue
        if there.value <= here.value + 1e-4 * step * ahead and there.value < here.value:
            return there
        step /= 2.0
    return None


def _direction(gradient: Array, u: Array, curvature: Array) -> Array:
    """Solve ``D + Σ h (u'Du) uu' = -gradient`` by conjugate gradients."""
    found = np.zeros_like(gradient)
    rest = -gradient
    ahead = rest
    square = float(np.sum(rest * rest))
    enough = square * min(0.1, square**0.25) ** 2
    for _ in range(MAX_INNER):
        if square <= enough:
            break
        bent = np.einsum("nd,nd->n", u @ ahead, u) * curvature
        image = ahead + (u * bent[:, None]).T @ u
        step = square / float(np.sum(ahead * image))
        found = found + step * ahead
        rest = rest - step * image
        new = float(np.sum(rest * rest))
        ahead, square = rest + new / square * ahead, new
    return (found + found.T) / 2
