"""Clusters along an order of rows or columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from sidelight._words import counted
from sidelight.constraints import Ordering
from sidelight.display._canvas import Display, check_matplotlib
from sidelight.exceptions import InvalidRequest
from sidelight.pictures.coclustering._blocks import Timeline, timeline

#: Most names below the axis.
MAX_TICKS = 12


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
    title : str
        Written above the picture.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
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
        ax : matplotlib Axes, default=None
            Axes to draw in; a new figure by default.

        Returns
        -------
        TimelineDisplay
            The drawn display.
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

    def plot(self, ax: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw in; a new figure by default.

        Returns
        -------
        TimelineDisplay
            The display itself.
        """
        line = self.line
        inks = self._begin(ax, (6.4, 0.9 + 0.4 * len(line.shown)))
        colors = inks.groups(int(line.clusters.max(initial=0)) + 1)
        lanes = {int(cluster): lane for lane, cluster in enumerate(line.shown.tolist())}
        self.bars_ = []
        for cluster, lane in lanes.items():
            runs = line.clusters == cluster
            spans = np.column_stack([line.starts, line.ends - line.starts])[runs]
            color = inks.faint if cluster < 0 else colors[cluster]
            self.bars_.append(
                self.ax_.broken_barh(spans.tolist(), (lane - 0.32, 0.64), facecolor=color)
            )
        heights = [lanes[int(cluster)] - 0.42 for cluster in line.clusters[line.jumps]]
        (self.jumps_,) = self.ax_.plot(
            line.starts[line.jumps], heights, linestyle="", marker="v", color=inks.bad, zorder=3
        )
        names = ["none" if cluster < 0 else f"cluster {cluster}" for cluster in lanes]
        self.ax_.set_yticks(range(len(lanes)), names)
        self.ax_.set(xlim=(0, len(line.order)), ylim=(len(lanes) - 0.5, -0.7))
        self.ax_.set(xlabel="order", ylabel="cluster")
        self._name_places()
        lines = [self.title, counted(line.n_jumps, "jump")]
        self.ax_.set_title("\n".join(one for one in lines if one), fontsize="medium")
        return self

    def _name_places(self) -> None:
        if self.names is None:
            return
        n = len(self.line.order)
        shown = np.unique(np.linspace(0, n - 1, min(n, MAX_TICKS)).round().astype(int))
        names = [str(self.names[self.line.order[place]]) for place in shown.tolist()]
        self.ax_.set_xticks(shown + 0.5, names, fontsize="small")
