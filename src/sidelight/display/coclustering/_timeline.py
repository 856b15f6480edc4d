"""Clusters along an order of rows or columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from sidelight.constraints import Ordering
from sidelight.display._canvas import Display, Inks, check_matplotlib, set_titles
from sidelight.display._draw._lanes import draw_lanes
from sidelight.exceptions import InvalidRequest
from sidelight.pictures.coclustering._blocks import Timeline, timeline
from sidelight.pictures.coclustering._pictures import cluster_lanes


@dataclass(eq=False, repr=False, kw_only=True)
class TimelineDisplay(Display):
    """Runs of clusters along an order, a lane for every cluster, with a mark at every jump.

    A cluster that is an interval of the order has one bar. Where a cluster was left and comes
    again, a red triangle stands above: the number of triangles is the number of jumps. Elements of
    no cluster have a lane of their own at the bottom.

    Parameters
    ----------
    line : Timeline
        The runs.
    names : sequence or None
        Names of the elements.

    Attributes
    ----------
    bars_ : list of BrokenBarHCollection
        Bars of every cluster, in the order of the lanes.
    jumps_ : Line2D
        Marks of the jumps.

    Examples
    --------
    >>> from sidelight.constraints import Ordering
    >>> from sidelight.display import TimelineDisplay
    >>> display = TimelineDisplay.from_labels([0, 0, 1, 0, 1], Ordering(range(5)))
    >>> display.line.n_jumps, len(display.jumps_.get_xdata())
    (2, 2)
    """

    line: Timeline
    names: Any = None
    title: str = ""

    @classmethod
    def from_labels(cls, labels: Any, order: Any, *, title: str = "", ax: Any = None) -> Self:
        """Draw the clusters of rows, or of columns, along their order.

        Parameters
        ----------
        labels : array-like of shape (n,)
            Cluster of every element, -1 for none.
        order : Ordering or array-like of shape (n,)
            Order of the elements, or values by which they are sorted.
        title : str, default=""
            Written above the picture.
        """
        check_matplotlib(cls.__name__)
        ordering = order if isinstance(order, Ordering) else Ordering(order)
        clusters = np.asarray(labels)
        if clusters.shape != (len(ordering),):
            raise InvalidRequest(
                f"labels hold one cluster for each of the {len(ordering)} elements of the order, "
                f"got shape {clusters.shape}."
            )
        return cls(line=timeline(clusters, ordering), names=ordering.ids, title=title).plot(ax)

    @property
    def _size(self) -> tuple[float, float]:
        return 6.4, 0.9 + 0.4 * len(self.line.shown)

    def _draw(self, inks: Inks) -> None:
        picture = cluster_lanes(self.line, self.names)
        drawn = draw_lanes(self.ax_, picture, inks)
        self.bars_, self.jumps_ = drawn.bars, drawn.marks
        set_titles(self.ax_, picture.axis_titles, self.title, picture.note)
