"""Distances of known pairs, before and after a distance was learned."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from sidelight.constraints import Constraints
from sidelight.display._canvas import Inks, set_titles
from sidelight.display._display import Display
from sidelight.display._draw._bars import draw_mirrored
from sidelight.pictures import Bars
from sidelight.pictures.inner import measured_pairs, pair_distances


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
        before, after = pair_distances(measured_pairs(estimator, X, constraints))
        return cls((before.headed(type(estimator).__name__), after)).plot(ax)

    def _draw(self, inks: Inks, options: Mapping[str, Any]) -> None:
        self.drawn_ = draw_mirrored(self.ax_, self.picture, inks, ("before", "after"))
        first = self.picture[0]
        set_titles(self.ax_, first.axis_titles, first.heading, first.note)
