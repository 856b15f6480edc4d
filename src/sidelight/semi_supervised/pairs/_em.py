"""Pairwise logistic regression with the non-convex loss, by expectation-maximization.

The labels of a pair are drawn independently with ``P(y = +1) = σ(f)``, and the loss of the pair is
minus the log of the probability that they are as the pair says (``a = f_i``, ``b = f_j``):

    same class             -log[σ(a)σ(b) + σ(-a)σ(-b)] = L(a) + L(b) - L(a + b)
    different classes      the same with b = -f_j
    not both in the class  -log[1 - σ(a)σ(b)]          = L(a) + L(b) - log(1 + e^a + e^b)

where ``L(z) = log(1 + e^z)``. The last one is for one of several classes against the rest: rows of
different classes may both be of the rest. Given ``f``, the labels that comply have the weights

    same class             (+,+) e^{a+b}, (-,-) 1
    not both in the class  (+,-) e^a, (-,+) e^b, (-,-) 1

which makes the e-step; the m-step is logistic regression on the points with these expected labels.
One Newton step of it, halved until the objective falls, takes EM as far per factorization as
several to the end of every m-step.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy.special import expit

from sidelight._typing import FloatArray, IntArray
from sidelight.semi_supervised.pairs._newton import NewtonResult, SoftTargets, newton_step, softplus
from sidelight.semi_supervised.pairs._space import Space
from sidelight.semi_supervised.pairs._terms import Terms

#: Probabilities of the first and of the second row of every pair.
Chances: TypeAlias = tuple[FloatArray, FloatArray]


@dataclass(frozen=True)
class PairLoss:
    """Loss of labels and pairs at the values of the points, for one machine.

    Attributes
    ----------
    terms : Terms
        The terms of the loss.
    code : int
        Class of the machine, whose rows are positive.
    against_rest : bool
        Whether it is one of several classes against the rest.
    penalty : float
        Factor ``μ`` of the weights of the pairs.
    """

    terms: Terms
    code: int
    against_rest: bool
    penalty: float

    def __call__(self, F: FloatArray) -> float:
        """Sum of the losses at the values ``F`` of the points."""
        terms = self.terms
        labels = softplus(-terms.signs(self.code) * F[terms.labeled]).sum()
        a, b = F[terms.same].T
        same = terms.same_weight @ same_loss(a, b)
        a, b = F[terms.apart].T
        apart = not_both_loss(a, b) if self.against_rest else same_loss(a, -b)
        return float(labels + self.penalty * (same + terms.apart_weight @ apart))

    def expected_labels(self, F: FloatArray) -> SoftTargets:
        """E-step: expected number of positive and negative labels of every point."""
        signs = self.terms.signs(self.code)
        positive, negative = np.zeros(len(F)), np.zeros(len(F))
        positive[self.terms.labeled] = signs > 0
        negative[self.terms.labeled] = signs < 0
        for pairs, weights, chances in self._chances(F):
            for end, chance in zip(pairs.T, chances, strict=True):
                share = self.penalty * weights * chance
                positive += np.bincount(end, share, minlength=len(F))
                negative += np.bincount(end, self.penalty * weights - share, minlength=len(F))
        return SoftTargets(positive, negative)

    def _chances(self, F: FloatArray) -> Iterator[tuple[IntArray, FloatArray, Chances]]:
        """Pairs, their weights, and the probability of either row to be positive."""
        a, b = F[self.terms.same].T
        both = expit(a + b)
        yield self.terms.same, self.terms.same_weight, (both, both)
        a, b = F[self.terms.apart].T
        chances = only_one(a, b) if self.against_rest else (expit(a - b), expit(b - a))
        yield self.terms.apart, self.terms.apart_weight, chances

    def slope(self, F: FloatArray) -> FloatArray:
        """Gradient of the loss: that of the expected labels, which touch it from above."""
        return self.expected_labels(F).slope(F)


def same_loss(a: FloatArray, b: FloatArray) -> FloatArray:
    """``-log[σ(a)σ(b) + σ(-a)σ(-b)]``: rows of one class."""
    return np.maximum(softplus(a) + softplus(b) - softplus(a + b), 0.0)


def not_both_loss(a: FloatArray, b: FloatArray) -> FloatArray:
    """``-log[1 - σ(a)σ(b)]``: rows that are not both of the class."""
    return np.maximum(softplus(a) + softplus(b) - np.logaddexp(softplus(a), b), 0.0)


def only_one(a: FloatArray, b: FloatArray) -> Chances:
    """Probabilities that only the first, and only the second row is of the class."""
    total = np.logaddexp(softplus(a), b)
    return np.exp(a - total), np.exp(b - total)


def expectation_maximization(
    space: Space,
    loss: PairLoss,
    regularization: float,
    start: FloatArray,
    *,
    max_iter: int,
    tol: float,
) -> NewtonResult:
    """Run EM from the start.

    Parameters
    ----------
    space : Space
        The functions ``f``; its terms are the points.
    loss : PairLoss
        Loss of labels and pairs.
    regularization : float
        ``λ``.
    start : ndarray
        Coefficients to begin with.
    max_iter : int
        Largest number of iterations.
    tol : float
        Stop after a step of which the slope promised less than this share of the objective.
    """
    coef = start
    history = [loss(space.values(coef)) + regularization * space.inner(coef, coef)]
    converged = False
    while len(history) <= max_iter and not converged:
        targets = loss.expected_labels(space.values(coef))
        coef, value, promised = newton_step(space, targets, regularization, coef, loss)
        history.append(value)
        converged = promised <= tol * value
    return NewtonResult(coef, tuple(history), converged)
