"""Bars with Matplotlib."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sidelight._typing import Array
from sidelight.display._canvas import Inks, casing
from sidelight.display._draw._curves import whole_ticks
from sidelight.pictures._bars import Bars
from sidelight.pictures._run import shorten

#: Up to this many bars are named, and have their values written on them.
MAX_NAMED = 20
_MARK_REACH = 0.46


@dataclass
class DrawnBars:
    """Artists of a picture of bars.

    Attributes
    ----------
    bars : BarContainer
        The bars.
    marks : LineCollection or None
        Marks across the bars.
    mark : Line2D or None
        Line along the scale of the bars.
    """

    bars: Any
    marks: Any = None
    mark: Any = None


def draw_bars(ax: Any, picture: Bars, inks: Inks) -> DrawnBars:
    """Draw columns, with their marks and names."""
    values = picture.series[0].values
    places: Array = np.arange(len(values))
    widths = np.full(len(values), 0.72)
    if picture.edges is not None:
        places, widths = picture.edges[:-1], 0.9 * np.diff(picture.edges)
    align = "center" if picture.edges is None else "edge"
    drawn = DrawnBars(ax.bar(places, values, widths, align=align, color=_colors(picture, inks)))
    for bar, wrong in zip(drawn.bars, picture.wrong, strict=False):
        if wrong and picture.colors is not None:
            bar.set(edgecolor=inks.bad, linewidth=2.5)
    if picture.marks:
        drawn.marks = _draw_marks(ax, picture, inks)
    if picture.mark is not None:
        drawn.mark = ax.axvline(picture.mark, color=inks.ink, linestyle="--")
    if picture.edges is not None:
        low = min(picture.edges[0], picture.edges[0] if picture.mark is None else picture.mark)
        ax.set_xlim(low - 1.0, picture.edges[-1] + 1.0)
        whole_ticks(ax)
    elif len(values) <= MAX_NAMED:
        for text in ax.bar_label(drawn.bars, picture.texts, fontsize="small", padding=2):
            text.set(path_effects=casing(inks, 3.5), zorder=5)
        ax.set_xticks(places, [shorten(name, 16) for name in picture.names])
        ax.margins(y=0.1)
    return drawn


def _colors(picture: Bars, inks: Inks) -> list[str]:
    """Color of every bar: its own, or red where it is wrong and all others have one color."""
    if picture.colors is not None:
        return inks.of_codes(picture.colors, int(picture.colors.max(initial=0)) + 1)
    wrong = picture.wrong or [False] * len(picture)
    return [inks.bad if is_wrong else inks.groups(1)[0] for is_wrong in wrong]


def _draw_marks(ax: Any, picture: Bars, inks: Inks) -> Any:
    from matplotlib.collections import LineCollection

    lines = [
        [(place - _MARK_REACH, value), (place + _MARK_REACH, value)]
        for place, values in enumerate(picture.marks)
        for value in values
    ]
    marks = LineCollection(lines, colors=inks.ink, linewidths=1.8, zorder=4)
    ax.add_collection(marks)
    ax.autoscale_view()
    return marks


def draw_mirrored(ax: Any, picture: Bars, inks: Inks, base: float, unit: float) -> dict[str, Any]:
    """Draw histograms up and down from a line at ``base``; a value of 1 is ``unit`` high."""
    ax.axhline(base, color=inks.soft, linewidth=0.8)
    return {
        series.name: ax.stairs(
            base + sign * unit * series.values,
            picture.edges,
            baseline=base,
            fill=True,
            color=color,
            alpha=0.75,
        )
        for series, sign, color in zip(picture.series, (1.0, -1.0), inks.groups(2), strict=True)
        if series.values.any()
    }
