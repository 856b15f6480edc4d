"""At which distance rows joined their clusters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from sidelight._typing import FloatArray, IntArray
from sidelight.display._canvas import Display, Inks, check_matplotlib, set_titles
from sidelight.display._draw._curves import draw_curves
from sidelight.exceptions import InvalidRequest
from sidelight.pictures._rows import final_step
from sidelight.pictures.relational._absorption import absorption


@dataclass(eq=False, repr=False, kw_only=True)
class AbsorptionDisplay(Display):
    """Distance thresholds at which rows joined, sorted: a sudden rise tells outliers.

    A cluster that grows over a graph takes its rows in order of their distance to the center, as
    far as the graph lets it. Rows behind a sharp bend of the curve joined only because nothing
    nearer was left.

    Parameters
    ----------
    thresholds : ndarray of shape (n,)
        Distance at which every row joined.
    codes : ndarray of shape (n,)
        Cluster of every row; -1 for none.
    by_cluster : bool
        Whether every cluster has a curve of its own.

    Attributes
    ----------
    lines_ : dict of str to Line2D
        The curves.

    Examples
    --------
    >>> from sidelight.display import AbsorptionDisplay
    >>> display = AbsorptionDisplay.from_thresholds([0.5, 0.1, 3.0, 0.2])
    >>> display.lines_["all"].get_ydata().tolist()
    [0.1, 0.2, 0.5, 3.0]
    """

    thresholds: FloatArray
    codes: IntArray
    by_cluster: bool = False
    title: str = ""

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
        check_matplotlib(cls.__name__)
        model, _ = final_step(estimator)
        if not hasattr(model, "absorbed_at_"):
            raise InvalidRequest(
                f"{type(model).__name__} does not grow its clusters over a graph (it has no "
                "absorbed_at_); NetScan does."
            )
        return cls(
            thresholds=np.asarray(model.absorbed_at_, np.float64),
            codes=np.asarray(model.labels_, np.int64),
            by_cluster=by_cluster,
            title=type(model).__name__,
        ).plot(ax)

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
        check_matplotlib(cls.__name__)
        values = np.asarray(thresholds, np.float64)
        codes = np.zeros(len(values), np.int64) if labels is None else np.asarray(labels, np.int64)
        if values.ndim != 1 or codes.shape != values.shape:
            raise InvalidRequest(
                f"thresholds and labels hold one number per row, got shapes {values.shape} and "
                f"{codes.shape}."
            )
        return cls(thresholds=values, codes=codes, by_cluster=labels is not None).plot(ax)

    def _draw(self, inks: Inks) -> None:
        picture = absorption(self.thresholds, self.codes if self.by_cluster else None)
        self.lines_ = draw_curves(self.ax_, picture, inks).plain_lines
        set_titles(self.ax_, picture.axis_titles, self.title, picture.note)
