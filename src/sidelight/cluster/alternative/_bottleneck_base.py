"""Shared parts of the plain and the conditional information bottleneck: search, result, rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
from scipy import sparse
from sklearn.utils import Tags

from sidelight._fit.parameters import Restarts, n_restarts
from sidelight._typing import Array, FloatArray
from sidelight.base import CLUSTERER_ATTRIBUTES, Clusterer
from sidelight.cluster.alternative._annealing import (
    AnnealedRestart,
    Model,
    anneal,
    critical_temperature,
    one_hot,
)
from sidelight.cluster.alternative._bottleneck_cells import CellModel
from sidelight.cluster.alternative._bottleneck_features import (
    NEVER,
    CountEntropy,
    Family,
    Features,
    Gaussian,
    Items,
    check_counts,
    row_sums,
    shares_of_rows,
)
from sidelight.cluster.alternative._sequential import random_labels, reinsert
from sidelight.constraints import Constraints
from sidelight.engine import as_rows

Method: TypeAlias = Literal["annealing", "sequential"]


class BottleneckBase(Clusterer):
    """A clusterer that keeps information about the features."""

    n_clusters: int
    features: Features
    method: Method
    n_init: Restarts
    cooling: float
    tol: float
    max_iter: int

    _common_parameters: ClassVar[Mapping[str, str]] = {
        "method": '"annealing" cools soft memberships until they are hard, "sequential" moves one '
        "row after the other from a random partition. Annealing is less sensitive to its start.",
        "cooling": "Factor by which annealing lowers the temperature; the first one is the "
        "critical temperature of the data. Smaller factors are slower and more careful.",
        "tol": "Annealing goes on to the next temperature when no membership changes by more.",
        "item_weight": 'Mass of a row: the same for all, or with "length" the sum of its counts; '
        '``features`` has to be "multinomial" then.',
    }
    _common_attributes: ClassVar[Mapping[str, str]] = {
        **CLUSTERER_ATTRIBUTES,
        "cluster_centers_ : ndarray of shape (n_clusters, n_features)": "Mean of the rows of "
        "every cluster; of counts for the multinomial the shares ``p(f|c)``. That of all rows "
        "where a cluster is empty.",
        "information_ : float": "``I(C;F)`` of the labels.",
    }

    @property
    def _takes_directions(self) -> bool:
        return self.features == "multinomial"

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = self.features != "gaussian"
        return tags

    def _search_labels(self, model: Model, items: Items) -> AnnealedRestart:
        """Run the restarts on a model, and return the best in the order of its rows."""
        settings: dict[str, Any] = {
            "max_iter": self.max_iter,
            "description": type(self).__name__,
            "verbose": self.verbose,
        }
        # Of a generator of its own: the temperature does not depend on the seed.
        start = critical_temperature(model, np.random.RandomState(0))

        def run(number: int, rng: np.random.RandomState) -> AnnealedRestart:
            if self.method == "sequential":
                assert isinstance(model, CellModel)
                labels = random_labels(items.n, self.n_clusters, rng)
                return reinsert(model, self.n_clusters, labels, rng, **settings)
            annealed = anneal(
                *(model, self.n_clusters, start, rng),
                cooling=float(self.cooling),
                tol=float(self.tol),
                **settings,
            )
            return moved(annealed, rng) if model.moves_rows == "restarts" else annealed

        def moved(end: AnnealedRestart, rng: np.random.RandomState) -> AnnealedRestart:
            """Where all rows were reassigned at once, single moves may still be left."""
            if end.interrupted or not isinstance(model, CellModel):
                return end
            return end.followed_by(reinsert(model, self.n_clusters, end.labels, rng, **settings))

        best = self._best_restart(n_restarts(self), run, as_rows(items.rows))
        return moved(best, np.random.RandomState(0)) if model.moves_rows == "best" else best

    def _set_fitted_attributes(
        self, model: Any, items: Items, best: AnnealedRestart, dtype: Any, known: Constraints
    ) -> tuple[Any, float]:
        """Set the attributes of the labels; return cluster statistics and ``I(C;F|Z)``."""
        sums = model.sums(one_hot(best.labels, self.n_clusters))
        overall = model.overall_means(sums).T + items.center
        self.labels_ = np.empty(items.n, dtype=np.int32)
        self.labels_[model.order] = best.labels
        self.cluster_centers_ = overall.astype(dtype)
        conditional, self.information_ = model.informations(sums)
        self.objective_ = best.objective
        self.history_ = np.array(best.history)
        self.n_iter_ = best.n_iter
        self.converged_ = best.converged
        self._center = items.center
        self._one_row = 1.0 / items.n
        self._masses = sums.cluster_masses
        self._mean = self._masses @ overall
        self._fitted_costs = model.costs_of_new_rows(sums)
        self._compare_with(known)
        return sums, conditional

    def _new_rows(self, X: Any) -> Any:
        """Check new rows and bring them to the form of the model."""
        rows: Any = self._check_rows(X, reset=False)
        if self.features == "gaussian":
            return rows if sparse.issparse(rows) else rows - self._center
        check_counts(rows, self.features, None)
        if self.features == "multinomial":
            return shares_of_rows(rows, row_sums(rows), None)
        return rows

    def _smoothed_family(self) -> Family:
        """Model of the features for means that are positive wherever new rows can have counts."""
        return Gaussian() if self.features == "gaussian" else CountEntropy(np.full((1, 1), NEVER))

    def _smoothed_means(self) -> FloatArray:
        """Means of the clusters, one more row of the overall mean in each for counts."""
        means = self.cluster_centers_ - self._center
        if self.features == "gaussian":
            return means.T
        one, masses = self._one_row, self._masses[:, None]
        return ((masses * means + one * self._mean) / (masses + one)).T

    def _overall_costs(self, rows: Any) -> FloatArray:
        """Cost of new rows in every cluster by the means over all known splits."""
        family, means = self._smoothed_family(), self._smoothed_means()
        return costs_of_rows(family, rows, means)

    def _placed(self, rows: Any, costs: FloatArray, smoothed: FloatArray, where: Array) -> Array:
        """Clusters of least cost by the model of the fit, as it has placed its own rows.

        A row of counts with a feature that this cluster never had is new: that one feature would
        exclude it, and it goes by the smoothed costs.
        """
        labels = self._nearest(costs)
        if self.features == "gaussian":
            return labels
        new = self._fitted_costs.has_unseen(rows, where, labels)
        return np.where(new, self._nearest(smoothed), labels).astype(np.int32)

    def _nearest(self, costs: FloatArray) -> Array:
        """Cluster of the least cost; an empty one takes no row."""
        empty = self._masses <= 0
        return np.argmin(np.where(empty, np.inf, costs), axis=1).astype(np.int32)


def costs_of_rows(family: Family, rows: Any, means: FloatArray) -> FloatArray:
    """Cost of every row at every mean, ``means`` of shape (n_features, n_clusters)."""
    costs: FloatArray = family.offset(means) - np.asarray(rows @ family.natural(means))
    return costs
