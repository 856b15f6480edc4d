"""Distances of known pairs as they are given, and as a fitted estimator sees them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from sidelight._typing import Array
from sidelight.constraints import Constraints
from sidelight.exceptions import InvalidRequest, SidelightError
from sidelight.pictures._pairs import Mapped, PairDistances, known_distances
from sidelight.pictures._projection import dense
from sidelight.pictures._rows import as_fitted, final_step, given_of
from sidelight.pictures.kinds._shapes import cluster_metrics, squared_lengths


def measured_pairs(estimator: Any, X: Any, constraints: Constraints) -> PairDistances:
    """Distances of known pairs before and after an estimator.

    The parameters are those of ``PairDistancesDisplay.from_estimator``.
    """
    model, as_given = final_step(estimator)
    given = given_of(model, X, constraints, None)
    metrics = cluster_metrics(model)
    measured: Mapped
    if metrics is not None and as_given:
        measured = _ByMetrics(given, metrics)
    elif hasattr(model, "labels_") or not hasattr(estimator, "transform"):
        raise InvalidRequest(
            f"{type(estimator).__name__} learned no distance of its own; take a transformer of "
            "sidelight.metric, sidelight.manifold or sidelight.feature_selection, or MPCKMeans."
        )
    else:
        measured = _Transformed(given, estimator, X)
    if not any(len(pairs) for pairs in measured.pairs):
        raise SidelightError("The constraints state no pair, label or group: nothing to draw.")
    return known_distances(measured)


@dataclass(frozen=True)
class _Transformed(Mapped):
    """Rows as a whole pipeline maps them, with the columns that it was fitted to."""

    whole: Any
    X: Any

    def image(self, rows: Array) -> Any:
        taken = as_fitted(self.whole, self.X, self.given.rows.take(rows))
        found = self.whole.transform(taken)
        return found if sparse.issparse(found) else np.asarray(found)


@dataclass(frozen=True)
class _ByMetrics(Mapped):
    """Pairs in the metrics of the clusters of both their rows: the mean of the squares."""

    metrics: list[Array]

    def _after(self, rows: Array, places: Array) -> Array:
        taken, labels = dense(self.given.rows.take(rows)), np.asarray(self.given.estimator.labels_)
        offsets = taken[places[:, 0]] - taken[places[:, 1]]
        squares = np.zeros(len(places))
        for side in (0, 1):
            cluster = labels[rows[places[:, side]]] % len(self.metrics)
            for number, metric in enumerate(self.metrics):
                of_it = cluster == number
                squares[of_it] += squared_lengths(offsets[of_it], metric) / 2
        return np.sqrt(squares)
