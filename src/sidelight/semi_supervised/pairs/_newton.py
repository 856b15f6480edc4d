"""Logistic regression with soft targets and no bias, by Newton's method.

    R(f) = Σ_r [ p_r log(1 + e^{-z_r}) + n_r log(1 + e^{z_r}) ] + λ ‖f‖²

with weights ``p_r, n_r >= 0`` of every term for being positive and negative. A label has one of
them; the convex loss of a pair, ``L(z) + L(-z)``, has both; and in the m-step of EM they are the
expected labels of a point.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from sidelight._typing import FloatArray
from sidelight.semi_supervised.pairs._space import MIN_CURVATURE, Space

#: Largest number of times that a step is halved.
MAX_HALVINGS = 40

#: Share of the decrease that the slope promises which a step has to give.
SUFFICIENT = 1e-4


@dataclass(frozen=True)
class SoftTargets:
    """Weights of every term for being positive and for being negative.

    Attributes
    ----------
    positive, negative : ndarray of float64, shape (n_terms,)
        ``p`` and ``n``.
    """

    positive: FloatArray
    negative: FloatArray

    def loss(self, z: FloatArray) -> float:
        """Sum of the losses at the values ``z``."""
        return float(self.positive @ softplus(-z) + self.negative @ softplus(z))

    def slope(self, z: FloatArray) -> FloatArray:
        """First derivative of every loss."""
        slope: FloatArray = self.negative * expit(z) - self.positive * expit(-z)
        return slope

    def curvature(self, z: FloatArray) -> FloatArray:
        """Second derivative of every loss."""
        bend: FloatArray = (self.positive + self.negative) * expit(z) * expit(-z)
        return bend


@dataclass(frozen=True)
class NewtonResult:
    """Final state of a minimization.

    Attributes
    ----------
    coef : ndarray of float64
        Coefficients of ``f``.
    history : tuple of float
        Objective at the start and after every step.
    converged : bool
        Whether the last step promised less than the tolerance.
    """

    coef: FloatArray
    history: tuple[float, ...]
    converged: bool

    @property
    def objective(self) -> float:
        """Objective at the end."""
        return self.history[-1]

    @property
    def n_iter(self) -> int:
        """Number of steps."""
        return len(self.history) - 1


def minimize(
    space: Space,
    targets: SoftTargets,
    regularization: float,
    *,
    start: FloatArray | None = None,
    max_iter: int,
    tol: float,
) -> NewtonResult:
    """Minimize the objective from ``f = 0``, or from the start.

    Parameters
    ----------
    space : Space
        The functions ``f``.
    targets : SoftTargets
        Weights of the terms.
    regularization : float
        ``λ``.
    start : ndarray, default=None
        Coefficients to begin with.
    max_iter : int
        Largest number of steps.
    tol : float
        Stop after a step of which the slope promised less than this share of the objective.
    """
    coef = space.zeros() if start is None else start
    history = [targets.loss(space.values(coef)) + regularization * space.inner(coef, coef)]
    converged = False
    while len(history) <= max_iter and not converged:
        coef, value, promised = newton_step(space, targets, regularization, coef, targets.loss)
        history.append(value)
        converged = promised <= tol * value
    return NewtonResult(coef, tuple(history), converged)


def newton_step(
    space: Space,
    targets: SoftTargets,
    regularization: float,
    coef: FloatArray,
    loss: Callable[[FloatArray], float],
) -> tuple[FloatArray, float, float]:
    """One Newton step of soft targets, halved until the loss falls.

    Parameters
    ----------
    space, targets, regularization, coef
        The objective, and where the step begins.
    loss : callable
        Loss of the values of the terms that has to fall: that of the targets, or one that these
        bound from above and touch where the step begins.

    Returns
    -------
    coef : ndarray
        Coefficients after the step.
    value : float
        Objective there.
    promised : float
        Decrease that the slope at the beginning promised for the whole step.
    """
    z = space.values(coef)
    slope, total = targets.slope(z), targets.positive + targets.negative
    curvature = np.maximum(targets.curvature(z), MIN_CURVATURE * total)
    step = space.step(coef, slope, curvature, regularization)
    along = space.values(step)
    squares = space.inner(coef, coef), space.inner(coef, step), space.inner(step, step)

    def value_at(length: float) -> float:
        norm = squares[0] + 2 * length * squares[1] + length**2 * squares[2]
        return loss(z + length * along) + regularization * norm

    promised = max(-(float(slope @ along) + 2 * regularization * squares[1]), 0.0)
    before, length = value_at(0.0), 1.0
    rounding = 8 * np.finfo(np.float64).eps * before
    for _ in range(MAX_HALVINGS):
        value = value_at(length)
        if value <= before - SUFFICIENT * length * promised + rounding:
            return coef + length * step, min(value, before), promised
        length /= 2
    return coef, before, 0.0  # nothing is left to gain


def softplus(z: FloatArray) -> FloatArray:
    """``log(1 + e^z)`` without overflow."""
    return np.logaddexp(0.0, z)
