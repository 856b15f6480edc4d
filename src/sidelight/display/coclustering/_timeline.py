"""Clusters along an order of rows or columns."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from sidelight.constraints import Ordering
from sidelight.display._display import Display
from sidelight.exceptions import InvalidRequest
from sidelight.pictures import Lanes
from sidelight.pictures.inner import cluster_lanes, timeline


class TimelineDisplay(Display, kind=Lanes):
    """Runs of clusters along an order, a lane for every cluster, with a mark at every jump.

    A cluster that is an interval of the order has one bar. Where a cluster was left and comes
    again, a red triangle stands above: the number of triangles is the number of jumps. Elements of
    no cluster have a lane of their own at the bottom.

    Examples
    --------
    >>> from sidelight.constraints import Ordering
    >>> from sidelight.display import TimelineDisplay
    >>> display = TimelineDisplay.from_labels([0, 0, 1, 0, 1], Ordering(range(5)))
    >>> len(display.drawn_.marks.get_xdata())
    2
    """

    @classmethod
    def from_labels(cls, labels: Any, order: Any, *, title: str = "", ax: Any = None) -> Self:
        """Draw the clusters of rows, or of columns, along their order.

        Parameters
        ----------
        labels : array-like of shape (n,)
            Cluster of every element, -1 for none.
        order : Ordering or array-like of shape (n,)
            Order of the elements, or values by which they are sorted.
        """
        ordering = order if isinstance(order, Ordering) else Ordering(order)
        clusters = np.asarray(labels)
        if clusters.shape != (len(ordering),):
            raise InvalidRequest(
                f"labels hold one cluster for each of the {len(ordering)} elements of the order, "
                f"got shape {clusters.shape}."
            )
        picture = cluster_lanes(timeline(clusters, ordering), ordering.ids)
        return cls(picture.headed(title)).plot(ax)

    @property
    def _size(self) -> tuple[float, float]:
        return 6.4, 0.9 + 0.4 * len(self.picture.names)
