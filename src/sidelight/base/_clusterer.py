"""Estimators that give every row a cluster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClusterMixin

from sidelight._typing import Array
from sidelight.base._estimator import ConstrainedEstimator
from sidelight.constraints import Constraints
from sidelight.constraints.inner import name_clusters
from sidelight.engine.inner import count_codes, is_elsewhere, largest_value

#: What every fitted clusterer has; docstrings of clusterers that say more about one keep their own.
CLUSTERER_ATTRIBUTES = {
    "labels_ : ndarray of int32, shape (n_samples,)": "Cluster of every row.",
    "cluster_sizes_ : ndarray of int, shape (n_clusters,)": "Number of rows of every cluster.",
    "objective_ : float": "Objective at the end; it was minimized.",
    "history_ : ndarray": "Objective at every iteration of the best restart.",
    "n_iter_ : int": "Number of iterations of the best restart.",
    "converged_ : bool": "Whether the best restart converged before ``max_iter``.",
    "n_violations_ : int": "Number of stated constraints that the labels violate.",
    "cluster_names_ : ndarray of object, shape (n_clusters,)": "Known class that each cluster "
    "stands for: that of more than half of its labeled rows, if it also holds more than half of "
    "the labeled rows of the class; None otherwise.",
}


class Clusterer(ClusterMixin, ConstrainedEstimator):
    """An estimator that gives every row a cluster, in ``labels_``."""

    _common_attributes: ClassVar[Mapping[str, str]] = CLUSTERER_ATTRIBUTES
    labels_: Array
    n_violations_: int
    cluster_names_: Array

    @property
    def cluster_sizes_(self) -> Array:
        """Number of rows of every cluster; rows that were left out (-1) count nowhere."""
        return count_codes(self.labels_, self._n_clusters_found())

    def _compare_with(self, known: Constraints) -> None:
        """Set what the clusters violate of what is known, and the classes that they stand for."""
        labels = self.labels_
        if is_elsewhere(labels):  # of these, only the rows that something is known of come here
            rows = np.zeros(1, dtype=np.int64) if known.is_empty else known.mentioned
            labels = labels[rows]
            known = Constraints(n_samples=1) if known.is_empty else known[rows]
        self.n_violations_ = known.violations(labels).n
        n_clusters = max(self._n_clusters_found(), int(labels.max(initial=-1)) + 1)
        self.cluster_names_ = name_clusters(known, labels, n_clusters)

    def _n_clusters_found(self) -> int:
        """Number of clusters of the fitted model, empty ones included."""
        for name in ("cluster_centers_", "weights_"):
            if hasattr(self, name):
                return len(getattr(self, name))
        return int(largest_value(self.labels_)[0]) + 1

    def fit_predict(self, X: Any, y: Any = None, **fit_params: Any) -> Array:
        """Fit to the rows and return their clusters.

        Parameters
        ----------
        X : array, CSR matrix or RowSource of shape (n_samples, n_features)
            The rows.
        y : array of shape (n_samples,), default=None
            As in ``fit``: known classes, where the method uses them.
        **fit_params : dict
            Other arguments of ``fit``, such as ``constraints``.

        Returns
        -------
        labels : ndarray of int32, shape (n_samples,)
            ``labels_``.
        """
        # scikit-learn's own mixin would drop y, which holds the labels here.
        return self.fit(X, y, **fit_params).labels_
