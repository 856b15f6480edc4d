"""At which distance rows joined their clusters."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from sidelight.display._display import Display
from sidelight.exceptions import InvalidRequest
from sidelight.pictures import Curves
from sidelight.pictures.inner import absorption, fitted_with


class AbsorptionDisplay(Display, kind=Curves):
    """Distance thresholds at which rows joined, sorted: a sudden rise tells outliers.

    A cluster that grows over a graph takes its rows in order of their distance to the center, as
    far as the graph lets it. Rows behind a sharp bend of the curve joined only because nothing
    nearer was left.

    Examples
    --------
    >>> from sidelight.display import AbsorptionDisplay
    >>> display = AbsorptionDisplay.from_thresholds([0.5, 0.1, 3.0, 0.2])
    >>> display.drawn_.lines["all"].get_ydata().tolist()
    [0.1, 0.2, 0.5, 3.0]
    """

    @classmethod
    def from_estimator(cls, estimator: Any, *, by_cluster: bool = False, ax: Any = None) -> Self:
        """Draw the thresholds of a fitted clusterer that grows over a graph.

        Parameters
        ----------
        estimator : NetScan, ConnectedKMeans or ConnectedKCenter
            Fitted; it has ``absorbed_at_``.
        by_cluster : bool, default=False
            Whether every cluster gets a curve of its own.
        """
        model = fitted_with(
            estimator,
            "absorbed_at_",
            "does not grow its clusters over a graph (it has no absorbed_at_); NetScan does.",
        )
        labels = np.asarray(model.labels_, np.int64) if by_cluster else None
        picture = absorption(np.asarray(model.absorbed_at_, np.float64), labels)
        return cls(picture.headed(type(model).__name__)).plot(ax)

    @classmethod
    def from_thresholds(cls, thresholds: Any, labels: Any = None, *, ax: Any = None) -> Self:
        """Draw thresholds that were computed elsewhere.

        Parameters
        ----------
        thresholds : array-like of shape (n_samples,)
            Distance at which every row joined; NaN or infinity for rows that did not.
        labels : array-like of shape (n_samples,), default=None
            Clusters of the rows, which then have a curve each.
        """
        values = np.asarray(thresholds, np.float64)
        codes = np.zeros(len(values), np.int64) if labels is None else np.asarray(labels, np.int64)
        if values.ndim != 1 or codes.shape != values.shape:
            raise InvalidRequest(
                f"thresholds and labels hold one number per row, got shapes {values.shape} and "
                f"{codes.shape}."
            )
        return cls(absorption(values, None if labels is None else codes)).plot(ax)
