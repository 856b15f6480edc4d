"""Shared fit of spectral methods with constraints, in which only the embedding differs."""

from __future__ import annotations

import inspect
from dataclasses import KW_ONLY
from typing import Any, Literal, Self

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from sidelight._fit.parameters import Auto, Count, FinitePositive, estimator
from sidelight._progress import shown
from sidelight._typing import Array
from sidelight.base import CLUSTERER_ATTRIBUTES
from sidelight.cluster.spectral._base import (
    EIGEN_TOL,
    SpectralCoordinates,
    _SpectralBase,
    n_distinct,
)
from sidelight.cluster.spectral._nystroem import Extension
from sidelight.constraints import Constraints
from sidelight.graphs import degrees, smooth_eigenvectors
from sidelight.tags import SOFT_TAGS

#: Attributes of every spectral method with constraints.
EMBEDDING_ATTRIBUTES = {
    **CLUSTERER_ATTRIBUTES,
    "embedding_ : ndarray of shape (n_samples, n_clusters)": "Eigenvectors.",
    "eigenvalues_ : ndarray of shape (n_clusters,)": "Eigenvalues of the eigenvectors.",
    "cuts_ : Cuts": "Cut values of the labels in the graph without constraints.",
    "objective_ : float": "Normalized cut of the labels in the graph without constraints.",
}

#: Example of the methods that do not have one of their own.
EXAMPLE = """

Examples
--------
>>> import numpy as np
>>> from sklearn.datasets import make_moons
>>> from sidelight import Constraints
>>> from sidelight.cluster import {name}
>>> X, y = make_moons(300, noise=0.12, random_state=0)
>>> known = Constraints.sample(y, 60, random_state=0)
>>> model = {name}(2, random_state=0).fit(X, constraints=known)
>>> bool(max(np.mean(model.labels_ == y), np.mean(model.labels_ != y)) > 0.9)
True
"""


@estimator
class _ConstrainedSpectral(_SpectralBase):
    """Spectral clustering with constraints in the embedding.

    Subclasses define ``_embed(W, known, k, rng)``.
    """

    _common_attributes = EMBEDDING_ATTRIBUTES
    _family_tags = SOFT_TAGS | {
        "complexity": "O(n log n d) for the graph, O((n m + e) k) per Lanczos step for e pairs",
        "sparse": True,
    }

    n_clusters: Count = 8
    _: KW_ONLY
    graph: Literal["neighbors", "full", "precomputed", "distances"] = "neighbors"
    sigma: FinitePositive | Auto = "auto"

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        text = cls.__doc__ or ""
        if not cls.__name__.startswith("_") and "Examples\n" not in text:
            cls.__doc__ = inspect.cleandoc(text) + EXAMPLE.format(name=cls.__name__)

    def fit(self, X: Any, y: Any = None, *, constraints: Constraints | None = None) -> Self:
        rows, known = self._validate_fit_in_memory(X, y, constraints)
        rng = check_random_state(self.random_state)
        k = int(self.n_clusters)
        with shown(self.verbose):
            width = None if self.sigma == "auto" else float(self.sigma)
            W, self._similarity = self._build_graph(rows, known, width)
            self._warn_of_parts(W, k, known)
            distinct = k if self._gives_pairs else n_distinct(rows, k)
            if len(known.mentioned):
                found = self._embed(W, known, distinct, rng)
            else:
                found = plain_embedding(W, distinct, rng)
            self.eigenvalues_ = found.eigenvalues
            self.embedding_ = found.vectors.astype(rows.dtype, copy=False)
            if found.graph is not None:
                labels = self._label_by_cut(found, found.vectors.shape[1], rng)
            else:
                assert found.extension is not None
                self._extension, self._unit = found.extension, found.unit
                labels, self._centers = self._label_constrained(found, distinct, known, rng)
                labels = self._attach(labels, self._similarity)
            return self._set_fitted_attributes(W, labels, known, k)

    def _embed(
        self, W: sparse.csr_array, known: Constraints, k: int, rng: np.random.RandomState
    ) -> SpectralCoordinates:
        """Eigenvectors with the constraints in them."""
        raise NotImplementedError

    def _label_constrained(
        self, found: SpectralCoordinates, k: int, known: Constraints, rng: np.random.RandomState
    ) -> tuple[Array, Array]:
        """Labels of embedded rows and the centers."""
        return self._label(found, found.vectors.shape[1], rng)


def plain_embedding(W: sparse.csr_array, k: int, rng: np.random.RandomState) -> SpectralCoordinates:
    """Spectral embedding without constraints: smoothest vectors of the normalized Laplacian."""
    values, vectors = smooth_eigenvectors(W, k, random_state=rng, tol=EIGEN_TOL)
    extension = Extension.normalized(vectors, 1.0 - values, degrees(W))
    return SpectralCoordinates(values, vectors, extension, graph=W)
