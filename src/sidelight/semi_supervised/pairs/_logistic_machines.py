"""The machines of pairwise logistic regression: one class against another, or against the rest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from sidelight.semi_supervised.pairs._em import PairLoss, expectation_maximization
from sidelight.semi_supervised.pairs._geometry import Geometry
from sidelight.semi_supervised.pairs._newton import NewtonResult, SoftTargets, minimize
from sidelight.semi_supervised.pairs._terms import Terms

#: A machine for the rows of a class; coefficients belong to points, or to explicit features.
Solver = Callable[[int], NewtonResult]


@dataclass(frozen=True)
class PairwiseLogistic:
    """The objectives of all machines.

    Attributes
    ----------
    geometry : Geometry
        The points, and the terms of the loss at them.
    penalty, regularization : float
        ``μ``, and ``λ`` in the unit of the geometry.
    against_rest : bool
        Whether machines are for one of several classes against the rest.
    max_iter : int
        Largest number of steps.
    tol : float
        Share of the objective that a step has to promise.
    """

    geometry: Geometry
    penalty: float
    regularization: float
    against_rest: bool
    max_iter: int
    tol: float

    def convex_solver(self, *, pairs: bool = True) -> Solver:
        """Newton's method for the convex loss; without pairs, plain logistic regression."""
        terms = self.geometry.terms
        n_terms = terms.n_terms if pairs else len(terms.labeled)
        space, to_points = self.geometry.convex_space(n_terms)

        def solve(code: int) -> NewtonResult:
            found = minimize(
                space,
                convex_targets(terms, code, self.against_rest, self.penalty, n_terms),
                self.regularization,
                max_iter=self.max_iter,
                tol=self.tol,
            )
            return found if to_points is None else replace(found, coef=to_points.T @ found.coef)

        return solve

    def nonconvex_solver(self) -> Solver:
        """EM for the non-convex loss, from convex solutions; the better end is kept.

        The convex loss of one class against the rest calls most rows of cannot-links the rest: EM
        from there ends at less loss, and at more errors. It is not a start for several classes.
        """
        starts = [self.convex_solver(pairs=False)]
        if not self.against_rest:
            starts.append(self.convex_solver())
        space = self.geometry.point_space()

        def solve(code: int) -> NewtonResult:
            loss = PairLoss(self.geometry.terms, code, self.against_rest, self.penalty)
            ends = (
                expectation_maximization(
                    space,
                    loss,
                    self.regularization,
                    start(code).coef,
                    max_iter=self.max_iter,
                    tol=self.tol,
                )
                for start in starts
            )
            return min(ends, key=lambda end: end.objective)

        return solve


def convex_targets(
    terms: Terms, code: int, against_rest: bool, penalty: float, n_terms: int
) -> SoftTargets:
    """Weights of the first terms in the convex loss of a machine.

    A label counts for its sign. Pairs count for both, ``L(z) + L(-z)``; but rows that belong apart
    may both be of the rest, so that there only ``f_i + f_j > 0`` costs.
    """
    signs = terms.signs(code)
    same = penalty * terms.same_weight
    apart = penalty * terms.apart_weight
    positive = [signs > 0, same, np.zeros(len(apart)) if against_rest else apart]
    negative = [signs < 0, same, apart]
    return SoftTargets(
        np.concatenate(positive).astype(np.float64)[:n_terms],
        np.concatenate(negative).astype(np.float64)[:n_terms],
    )
