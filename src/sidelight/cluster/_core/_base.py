"""What the k-means family shares: checking the input, restarts, what is kept, new rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from sidelight._fit.restarts import Run, run_starts
from sidelight._typing import Array
from sidelight.base import ConstrainedEstimator
from sidelight.base import check_weights as check_weights
from sidelight.cluster._core._distances import center_distances, labelled_distances, nearest_centers
from sidelight.cluster._core._lloyd import LloydResult
from sidelight.cluster._core._seeding import farthest_first, kmeans_plusplus, random_rows
from sidelight.constraints import Constraints
from sidelight.engine import RowSource, as_rows

#: Relative difference of objectives that may be due to the order of a sum.
ROUNDING = 1e-7


class _KMeansBase(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, ConstrainedEstimator
):
    """Clusters with a centre each.

    Subclasses have the parameters ``n_clusters``, ``max_iter``, ``tol``, ``random_state`` and
    ``verbose``; in ``fit`` they find a :class:`LloydResult` and :meth:`_keep` it.
    """

    fit: Callable[..., Any]
    n_clusters: int
    max_iter: int
    tol: float
    random_state: Any
    verbose: int

    def _check_source_rows(self, X: Any, *, reset: bool) -> RowSource:
        """Check the rows and make them a source of blocks."""
        return as_rows(self._check_rows(X, reset=reset))

    def _check_loop(self) -> None:
        """Check the parameters of the loop."""
        if not isinstance(self.max_iter, Integral) or self.max_iter < 1:
            raise ValueError(f"max_iter must be a whole number above 0, got {self.max_iter!r}.")
        if not self.tol >= 0:
            raise ValueError(f"tol must not be negative, got {self.tol!r}.")

    def _best_restart(self, n_init: int, run: Run[Any], source: RowSource) -> Any:
        """Run from several starts, each with its own stream of chance, and keep the best.

        ``run(number, random_state)`` is one start and shares nothing that changes with the others:
        on few rows they run at once. Of starts that are equally good up to rounding the first is
        kept. After an interruption no further start is tried.
        """
        if not isinstance(n_init, Integral) or n_init < 1:
            raise ValueError(f"n_init must be a whole number above 0, got {n_init!r}.")
        seeds = check_random_state(self.random_state).randint(np.iinfo(np.int32).max, size=n_init)
        best, *others = run_starts(
            run, seeds, source, description=type(self).__name__, verbose=self.verbose
        )
        for result in others:
            if result.objective < best.objective - ROUNDING * abs(best.objective):
                best = result
        return best

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

    def _keep(self, result: LloydResult, constraints: Constraints) -> Self:
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

    def fit_predict(self, X: Any, y: Any = None, **fit_params: Any) -> Array:
        """Cluster the rows and return their clusters.

        Parameters
        ----------
        X : array, CSR matrix or RowSource of shape (n_samples, n_features)
            The rows.
        y : array of shape (n_samples,), default=None
            As in ``fit``: known classes, where the method uses them.
        **fit_params : dict
            What else ``fit`` takes, such as ``constraints``.

        Returns
        -------
        labels : ndarray of int32, shape (n_samples,)
            ``labels_``.
        """
        # scikit-learn's own mixin would drop y, which holds the labels here.
        labels: Array = self.fit(X, y, **fit_params).labels_
        return labels

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
        return nearest_centers(self._check_source_rows(X, reset=False), self.cluster_centers_)

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
        return center_distances(self._check_source_rows(X, reset=False), self.cluster_centers_)

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
        source = self._check_source_rows(X, reset=False)
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
