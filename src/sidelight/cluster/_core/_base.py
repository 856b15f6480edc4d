"""What the k-means family shares: checking the input, restarts, what is kept, new rows."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from sidelight._fit.checks import check_weights
from sidelight._typing import Array
from sidelight.base import Clusterer
from sidelight.cluster._core._distances import center_distances, labelled_distances, nearest_centers
from sidelight.cluster._core._lloyd import LloydResult
from sidelight.cluster._core._seeding import farthest_first, kmeans_plusplus, random_rows
from sidelight.constraints import Constraints
from sidelight.engine import RowSource


class _KMeansBase(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Clusterer):
    """Clusters with a center each.

    Subclasses have the parameters ``n_clusters``, ``max_iter``, ``tol``, ``random_state`` and
    ``verbose``; in ``fit`` they find a :class:`LloydResult` and pass it to
    :meth:`_set_fitted_attributes`.
    """

    n_clusters: int
    max_iter: int
    tol: float

    def _start(
        self,
        source: RowSource,
        init: Any,
        random_state: np.random.RandomState,
        sample_weight: Array | None,
    ) -> Array:
        """Return initial centres as ``init`` asks for: by a way of that name, or these centres."""
        if isinstance(init, str):
            ways = {
                "k-means++": kmeans_plusplus,
                "farthest-first": farthest_first,
                "random": random_rows,
            }
            if init not in ways:
                raise ValueError(
                    f"init must be {', '.join(map(repr, ways))} or an array of centres, got "
                    f"{init!r}."
                )
            return ways[init](source, self.n_clusters, random_state, sample_weight=sample_weight)
        return check_centers(init, self.n_clusters, source)

    def _set_fitted_attributes(self, result: LloydResult, constraints: Constraints) -> Self:
        """Set the fitted attributes."""
        self.cluster_centers_ = result.centers
        self.labels_ = result.labels
        self.inertia_ = result.inertia
        self.objective_ = result.objective
        self.history_ = result.history
        self.n_iter_ = result.n_iter
        self.converged_ = result.converged
        self.n_violations_ = constraints.violations(result.labels).n
        self._n_features_out = len(result.centers)
        n_found = len(np.unique(result.labels))
        if n_found < len(result.centers):
            warnings.warn(
                f"Number of distinct clusters ({n_found}) found smaller than n_clusters "
                f"({len(result.centers)}). Possibly due to duplicate points in X.",
                ConvergenceWarning,
                stacklevel=3,
            )
        return self

    def predict(self, X: Any) -> Array:
        """Return the nearest centre of every row.

        Parameters
        ----------
        X : array, CSR matrix or RowSource of shape (n_samples, n_features)
            New rows.

        Returns
        -------
        labels : ndarray of int32, shape (n_samples,)
            Cluster of every row.
        """
        check_is_fitted(self)
        return nearest_centers(self._validate_rows(X, reset=False), self.cluster_centers_)

    def transform(self, X: Any) -> Array:
        """Return the distance of every row to every centre.

        Parameters
        ----------
        X : array, CSR matrix or RowSource of shape (n_samples, n_features)
            New rows.

        Returns
        -------
        distances : ndarray of shape (n_samples, n_clusters)
            Distances, in the element type of the rows.
        """
        check_is_fitted(self)
        return center_distances(self._validate_rows(X, reset=False), self.cluster_centers_)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return minus the sum of squared distances of the rows to their nearest centres.

        Parameters
        ----------
        X : array, CSR matrix or RowSource of shape (n_samples, n_features)
            New rows.
        y : object
            Ignored.
        sample_weight : array of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        score : float
            The larger (the closer to 0) the better.
        """
        check_is_fitted(self)
        source = self._validate_rows(X, reset=False)
        weights = check_weights(sample_weight, source)
        labels = nearest_centers(source, self.cluster_centers_)
        squared = labelled_distances(source, self.cluster_centers_, labels).astype(np.float64)
        return -float(np.sum(squared if weights is None else squared * weights))


def check_centers(init: Any, n_clusters: int, source: RowSource) -> Array:
    """Check centres that the user gave as a start."""
    centers = np.array(init, dtype=source.dtype, order="C")
    if centers.shape != (n_clusters, source.n_features):
        raise ValueError(
            f"init must hold one centre per cluster, shape ({n_clusters}, {source.n_features}), "
            f"got shape {centers.shape}."
        )
    if not np.all(np.isfinite(centers)):
        raise ValueError("init holds NaN or infinity; give finite centres.")
    return centers
