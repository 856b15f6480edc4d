"""Objective of SemiBoost: confidences in both classes, pseudo-labels and the step along a learner.

With ``H`` the values of the ensemble on the unlabeled rows, ``a_i`` and ``b_i`` the similarities of
row ``i`` to all labeled rows of the positive and of the negative class, and ``S`` those between
unlabeled rows (symmetric, none below 0),

    F(H) = Σ_i a_i e^{-2H_i} + b_i e^{2H_i} + C Σ_ij S_ij cosh(H_i - H_j) = Σ_i p_i + q_i
    p_i  = a_i e^{-2H_i} + C/2 Σ_j S_ij e^{H_j - H_i}           confidence in the positive class
    q_i  = b_i e^{2H_i}  + C/2 Σ_j S_ij e^{H_i - H_j}           confidence in the negative class

(Mallapragada 2010, section 3.3). ``F`` is convex, and ``∂F/∂H_i = 2 (q_i - p_i)``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sidelight._typing import Array

#: Share of ``p + q`` below which a difference of the two is rounding: the row has no pseudo-label.
TIE = 1e-9

#: Longest step along one learner; only similarities without a diagonal can ask for more.
LONGEST_STEP = 5.0

#: Products ``S u`` and ``S v`` with two vectors that are the rows of an array.
Products = Callable[[Array], Array]


@dataclass(frozen=True)
class Confidences:
    """Confidences of all rows in both classes, divided by a number that keeps them in range.

    Attributes
    ----------
    p, q : ndarray of shape (n_rows,)
        Confidences in the positive and in the negative class, the largest of all is 1.
    log_scale : float
        Logarithm of the number by which they are divided.
    """

    p: Array
    q: Array
    log_scale: float

    @property
    def objective(self) -> float:
        """Value of ``F``: the sum of all confidences."""
        total = float(np.sum(self.p) + np.sum(self.q))
        return math.exp(min(self.log_scale + math.log(total), 700.0)) if total > 0 else 0.0

    @property
    def lead(self) -> Array:
        """``p - q``: its sign is the pseudo-label, its size the weight of a row; 0 for ties."""
        lead = self.p - self.q
        lead[np.abs(lead) <= TIE * (self.p + self.q)] = 0.0
        return lead


def confidences(H: Array, a: Array, b: Array, products: Products, C: float) -> Confidences:
    """Compute ``p`` and ``q``, by logarithms: ``e^{2H}`` may be beyond all range.

    Parameters
    ----------
    H : ndarray of shape (n_rows,)
        Values of the ensemble.
    a, b : ndarray of shape (n_rows,)
        Similarities to the labeled rows of the positive and of the negative class.
    products : callable
        Products of ``S`` with two vectors, which are given and returned as the rows of an array.
    C : float
        Weight of the similarities between unlabeled rows.
    """
    if not len(H):
        return Confidences(np.zeros(0), np.zeros(0), 0.0)
    high, low = H.max(), H.min()
    up, down = products(np.stack([np.exp(H - high), np.exp(low - H)]))
    with np.errstate(divide="ignore"):
        log_p = np.logaddexp(np.log(a) - 2 * H, np.log(C / 2 * up) + (high - H))
        log_q = np.logaddexp(np.log(b) + 2 * H, np.log(C / 2 * down) + (H - low))
    scale = max(float(log_p.max()), float(log_q.max()))
    if math.isinf(scale):  # nothing is similar to anything
        return Confidences(np.zeros(len(H)), np.zeros(len(H)), 0.0)
    return Confidences(np.exp(log_p - scale), np.exp(log_q - scale), scale)


def disagreement(found: Confidences, h: Array) -> float:
    """Share ``ε = B / (A + B)`` of the confidences that speak against the signs ``h``."""
    right = float(np.where(h > 0, found.p, found.q).sum())
    wrong = float(np.where(h > 0, found.q, found.p).sum())
    return wrong / (right + wrong) if right + wrong > 0 else 0.5


def best_step(error: float) -> float:
    """``α = 1/4 ln((1 - ε)/ε)``, the minimum of ``Σ_i p_i e^{-2αh_i} + q_i e^{2αh_i}``.

    That sum bounds ``F(H + αh)`` from above, so that a round multiplies ``F`` by at most
    ``1 / cosh 2α``.
    """
    if error <= 0:
        return LONGEST_STEP
    if error >= 1:
        return -LONGEST_STEP
    return float(np.clip(math.log((1 - error) / error) / 4, -LONGEST_STEP, LONGEST_STEP))
