"""Pairwise support vector machine (Yan, Zhang, Yang, Hauptmann 2006) and its machines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy import sparse

from sidelight._fit.lowest import relative_gap
from sidelight._fit.parameters import estimator
from sidelight._progress import stage_progress
from sidelight._typing import FloatArray
from sidelight._warn import warn
from sidelight._words import listed
from sidelight.exceptions import ConstraintWarning
from sidelight.semi_supervised.pairs._base import _PairwiseClassifier
from sidelight.semi_supervised.pairs._dual import DualSearch, coordinate_ascent, make_box
from sidelight.semi_supervised.pairs._geometry import Geometry
from sidelight.semi_supervised.pairs._interior import (
    DenseQuadratic,
    FactoredQuadratic,
    interior_point,
)
from sidelight.semi_supervised.pairs._space import MAX_DENSE, not_semidefinite
from sidelight.tags import own_tags


@dataclass(frozen=True)
class PairwiseSupport:
    """The duals of all machines.

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
        Share of the objective that the duality gap has to be below.
    """

    geometry: Geometry
    penalty: float
    regularization: float
    against_rest: bool
    max_iter: int
    tol: float

    def solver(self, random_state: np.random.RandomState) -> Callable[[int], DualSearch]:
        """Function from the code of a class to its dual variables."""
        search = self._search(random_state)

        def solve(code: int) -> DualSearch:
            box = make_box(self.geometry.terms, code, self.against_rest, self.penalty)
            return search(box=box, max_iter=self.max_iter, tol=self.tol)

        return solve

    def _search(self, random_state: np.random.RandomState) -> Callable[..., DualSearch]:
        geometry, twice = self.geometry, 2 * self.regularization
        terms = geometry.terms
        features = geometry.features
        if geometry.gram is not None and terms.n_terms <= terms.n_points:
            between = terms.design @ np.ascontiguousarray((terms.design @ geometry.gram).T)
            return partial(interior_point, DenseQuadratic((between + between.T) / (2 * twice)))
        if geometry.gram is not None:
            features = factor(geometry.gram)
        if features.shape[1] <= MAX_DENSE:
            return partial(interior_point, FactoredQuadratic(features, terms.design, twice))
        return partial(
            coordinate_ascent,
            sparse.csr_array(features),
            terms.design,
            regularization=self.regularization,
            random_state=random_state,
        )

    def coefficients(self, dual: FloatArray) -> FloatArray:
        """Coefficients of the points, or of explicit features."""
        points = self.geometry.terms.design.T @ dual / (2 * self.regularization)
        if self.geometry.gram is not None:
            return np.asarray(points)
        return np.asarray(self.geometry.features.T @ points)


def factor(gram: FloatArray) -> FloatArray:
    """Features of the points whose products are the kernel."""
    values, vectors = np.linalg.eigh(gram)
    if values[0] < -1e-9 * values[-1]:
        raise not_semidefinite()
    kept = values > 1e-15 * len(gram) * max(float(values[-1]), 0.0)
    return np.asarray(vectors[:, kept] * np.sqrt(values[kept]))


@estimator
class PairwiseSVC(_PairwiseClassifier):
    r"""Support vector machine on labels and on pairs.

    Minimizes over functions ``f`` of the space of the kernel, without bias,

    .. math::
        \sum_i \max(0, 1 - y_i f_i) + \mu \sum_{ij} w_{ij} |f_i - c_{ij} f_j| + \lambda \|f\|^2

    with ``c = 1`` for must-links and ``c = -1`` for cannot-links of weight ``w``. Labels are terms
    of the loss as pairs are: they are not passed on. Rows of a group are tied to its centroid, of
    which ``f`` is their mean. Read more in the :doc:`user guide </semi_supervised/pairs>`.

    Parameters
    ----------
    penalty : float > 0, finite or "auto", default="auto"
        Factor ``μ`` on the weights of all pairs, against labels, which weigh 1. "auto" is 1, or
        less where the pairs together would count more than half as much as the labels: where they
        count more than these, ``f = 0`` may be best.
    max_iter : int >= 1, default=1000
        Largest number of steps, or of sweeps over the dual variables.
    tol : float >= 0, default=1e-08
        Stop when the duality gap is below this share of the objective.

    Attributes
    ----------
    objective_ : float
        Objective at the end, added up over the machines; it was minimized.
    gap_ : float
        Share of ``objective_`` by which it may be above the optimum at most.
    history_ : ndarray
        Least objective so far, at every look at the gap.
    n_iter_ : int
        Number of steps, or of sweeps.
    converged_ : bool
        Whether the gap of every machine fell below ``tol`` before ``max_iter``.

    Notes
    -----
    The dual has a variable for every label and pair, each with limits of its own and nothing that
    ties them together. The interior point method finds its optimum in some ten steps of O(m³) for
    m labels and pairs, and O(n'²) memory for the n' rows that they name; linear kernels and
    landmarks (``n_components`` = D) take O(n' D² + D³) per step and O(n' D) memory. Where both
    named rows and features are more than 3,000, coordinate ascent in random order takes its place,
    O(m) per sweep in the number of non-zero features; it needs thousands of sweeps for many pairs.

    With more than two classes there is a machine for every class against the rest. Rows that
    belong apart may then both be of the rest, so that a cannot-link costs
    ``max(0, 1 + f_i + f_j)``.

    There is no bias: center the rows before a linear kernel is used.

    References
    ----------
    Yan, Zhang, Yang and Hauptmann, in Basu, Davidson and Wagstaff (eds.), *Constrained Clustering*
    (2009), chapter 17.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight import Constraints
    >>> from sidelight.semi_supervised import PairwiseSVC
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]])
    >>> y = ["cat", None, None, None, None, "dog"]
    >>> known = Constraints(must_link=[(0, 3)], n_samples=6)
    >>> PairwiseSVC(random_state=0).fit(X, y).predict(X[[2, 3]])
    array(['cat', 'dog'], dtype='<U3')
    >>> PairwiseSVC(random_state=0).fit(X, y, constraints=known).predict(X[[2, 3]])
    array(['cat', 'cat'], dtype='<U3')
    """

    _own_tags = own_tags(
        summary="support vector machine on labels and pairs",
        knowledge=("labels", "must-link", "cannot-link", "groups"),
        source="Yan, Zhang, Yang, Hauptmann 2006 (Constrained Clustering, ch. 17)",
        complexity="O(m³) per step for m labels and pairs, O(m²) memory; "
        "O(m D²) for D features or landmarks",
        sparse=True,
        monotone=True,
    )

    def _share_of_pairs(self) -> float:
        return 0.5

    def _fit_machines(
        self, geometry: Geometry, scaled: float, random_state: np.random.RandomState
    ) -> FloatArray:
        problem = PairwiseSupport(
            geometry,
            self.penalty_,
            scaled,
            against_rest=len(self.classes_) > 2,
            max_iter=self.max_iter,
            tol=float(self.tol),
        )
        solve = problem.solver(random_state)
        machines = self._machines()
        searches = []
        with stage_progress(type(self).__name__, len(machines), verbose=self.verbose) as progress:
            for code in machines:
                searches.append(solve(code))
                progress.step(searches[-1].history[-1])
        self._set_search([search.history for search in searches])
        self.n_iter_ = max(search.n_iter for search in searches)
        gap = float(sum(search.gap for search in searches))
        self.gap_ = relative_gap(gap, self.objective_)
        self.converged_ = all(search.is_optimal(float(self.tol)) for search in searches)
        self._warn_unless_converged(
            self.converged_,
            f"The duality gap is {gap:.3g} at an objective of "
            f"{self.objective_:.6g}; allow more steps, or a larger tol.",
        )
        if self.converged_ and geometry.terms.n_terms > len(geometry.terms.labeled):
            self._warn_of_silence([search.loses_nothing_at_zero() for search in searches])
        return np.stack([problem.coefficients(search.best) for search in searches])

    def _warn_of_silence(self, is_silent: list[bool]) -> None:
        """Warn where pairs outweigh the labels such that ``f = 0`` is optimal."""
        if any(is_silent):
            machines = zip(self._machines(), is_silent, strict=True)
            classes = [repr(self.classes_.tolist()[code]) for code, silent in machines if silent]
            warn(
                f"Pairs outweigh the labels: the best function to tell {listed(classes)} from "
                "other classes is 0, and what it predicts means nothing. Lower the penalty, now "
                f"{self.penalty_:.3g}, or label more rows.",
                ConstraintWarning,
            )
