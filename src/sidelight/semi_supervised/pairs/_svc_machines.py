"""The machines of a pairwise SVM: one class against another, or against the rest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy import sparse

from sidelight._typing import FloatArray
from sidelight.semi_supervised.pairs._dual import DualSearch, coordinate_ascent, make_box
from sidelight.semi_supervised.pairs._geometry import Geometry
from sidelight.semi_supervised.pairs._interior import (
    DenseQuadratic,
    FactoredQuadratic,
    interior_point,
)
from sidelight.semi_supervised.pairs._space import MAX_DENSE, not_semidefinite


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
