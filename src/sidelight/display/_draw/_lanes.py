"""Lanes with Matplotlib."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sidelight.display._canvas import Inks
from sidelight.pictures import Lanes

#: Most names below the axis.
MAX_TICKS = 12


@dataclass
class DrawnLanes:
    """Artists of a picture of lanes.

    Attributes
    ----------
    bars : list of PolyCollection
        Bars of every lane.
    marks : Line2D
        Marks above the bars.
    """

    bars: list[Any]
    marks: Any


def draw_lanes(ax: Any, picture: Lanes, inks: Inks) -> DrawnLanes:
    """Draw the bars of every lane, and the marks."""
    colors = inks.groups(max([span.color for span in picture.spans], default=0) + 1)
    bars = []
    for lane in range(len(picture.names)):
        own = [span for span in picture.spans if span.lane == lane]
        color = colors[own[0].color] if own[0].color >= 0 else inks.faint
        reach = [(span.start, span.end - span.start) for span in own]
        bars.append(ax.broken_barh(reach, (lane - 0.32, 0.64), facecolor=color))
    marked = [(span.start, span.lane - 0.42) for span in picture.spans if span.mark]
    x, y = np.array(marked, np.float64).reshape(-1, 2).T
    (marks,) = ax.plot(x, y, linestyle="", marker="v", color=inks.bad, zorder=3)
    ax.set_yticks(range(len(picture.names)), picture.names)
    ax.set(xlim=(0, picture.length), ylim=(len(picture.names) - 0.5, -0.7))
    n = len(picture.places)
    if n:
        shown = np.unique(np.linspace(0, n - 1, min(n, MAX_TICKS)).round().astype(int))
        ax.set_xticks(shown + 0.5, [picture.places[at] for at in shown.tolist()], fontsize="small")
    return DrawnLanes(bars, marks)
