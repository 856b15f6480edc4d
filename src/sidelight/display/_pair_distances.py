"""Distances of known pairs, before and after a distance was learned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy import sparse

from sidelight._typing import Array
from sidelight.constraints import Constraints
from sidelight.display._canvas import Inks, set_titles
from sidelight.display._display import Display
from sidelight.display._draw._bars import draw_mirrored
from sidelight.exceptions import InvalidRequest, SidelightError
from sidelight.pictures._bars import Bars
from sidelight.pictures._histograms import pair_distances
from sidelight.pictures._pairs import Mapped, known_distances, pair_lengths
from sidelight.pictures._projection import dense
from sidelight.pictures._rows import as_fitted, final_step, given_of
from sidelight.pictures._shapes import cluster_metrics, squared_lengths


class PairDistancesDisplay(Display, kind=Bars):
    """Distances of pairs that belong together (upwards) and apart (downwards), before and after.

    Distances are in units of the mean distance of random rows, so that before and after can be
    compared: what counts is whether pairs that belong together are closer than others. Labels and
    groups count by the pairs they amount to; of very many pairs 4,000 of each kind are measured.
    All histograms have the same area, whatever the number of pairs; lines mark the medians. The
    title has the share of all couples of pairs in which that which belongs together is the closer
    one; half of them would say nothing.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sidelight import Constraints
    >>> from sidelight.display import PairDistancesDisplay
    >>> from sidelight.metric import DCA
    >>> X, y = load_iris(return_X_y=True)
    >>> known = Constraints.sample(y, 60, random_state=0)
    >>> display = PairDistancesDisplay.from_estimator(DCA().fit(X, constraints=known), X, known)
    >>> together, apart = display.picture[1].series
    >>> together.middle < apart.middle
    True
    """

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, constraints: Constraints, *, ax: Any = None
    ) -> Self:
        """Measure known pairs as they are given and as the estimator sees them.

        Parameters
        ----------
        estimator : fitted transformer, or clusterer with a learned metric
            A learned distance or projection, a selector, a pipeline of such, or a clusterer with
            ``metrics_``. Where clusters have metrics of their own, the squared distance of a pair
            is the mean of those in the metrics of both its rows.
        X : array, CSR matrix, data frame or RowSource of shape (n_samples, n_features)
            The rows of the constraints.
        constraints : Constraints
            What is known; new statements tell more than those of the fit.
        """
        model, as_given = final_step(estimator)
        given = given_of(model, X, constraints, None)
        measured = _Measured(given, _after(estimator, model, as_given, X))
        if not any(len(pairs) for pairs in measured.pairs):
            raise SidelightError("The constraints state no pair, label or group: nothing to draw.")
        known = known_distances(measured)
        before, after = pair_distances(known)
        return cls((before.headed(type(estimator).__name__), after)).plot(ax)

    def _draw(self, inks: Inks, options: Mapping[str, Any]) -> None:
        self.drawn_ = draw_mirrored(self.ax_, self.picture, inks, ("before", "after"))
        first = self.picture[0]
        set_titles(self.ax_, first.axis_titles, first.heading, first.note)


@dataclass(frozen=True)
class _Measured(Mapped):
    """Rows as they are given, and a function that measures pairs as the estimator does."""

    after: Any

    def _after(self, rows: Array, places: Array) -> Array:
        found: Array = self.after(self.given.rows.take(rows), rows, places)
        return found


def _after(estimator: Any, model: Any, as_given: bool, X: Any) -> Any:
    """Function of rows, their positions and pairs of them that measures as the estimator does."""
    metrics = cluster_metrics(model)
    if metrics is not None and as_given:
        labels = np.asarray(model.labels_)

        def by_metrics(taken: Any, rows: Array, pairs: Array) -> Array:
            offsets = dense(taken)[pairs[:, 0]] - dense(taken)[pairs[:, 1]]
            squares = np.zeros(len(pairs))
            for side in (0, 1):
                cluster = labels[rows[pairs[:, side]]] % len(metrics)
                for number, metric in enumerate(metrics):
                    of_it = cluster == number
                    squares[of_it] += squared_lengths(offsets[of_it], metric) / 2
            return np.sqrt(squares)

        return by_metrics
    if hasattr(model, "labels_") or not hasattr(estimator, "transform"):
        raise InvalidRequest(
            f"{type(estimator).__name__} learned no distance of its own; take a transformer of "
            "sidelight.metric, sidelight.manifold or sidelight.feature_selection, or MPCKMeans."
        )
    return lambda taken, rows, pairs: pair_lengths(_transformed(estimator, X, taken), pairs)


def _transformed(estimator: Any, X: Any, taken: Any) -> Any:
    found = estimator.transform(as_fitted(estimator, X, taken))
    return found if sparse.issparse(found) else np.asarray(found)
