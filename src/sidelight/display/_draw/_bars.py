"""Bars with Matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sidelight._typing import Array
from sidelight.display._canvas import Inks, add_legend, casing
from sidelight.display._draw._curves import whole_ticks
from sidelight.pictures import Bars
from sidelight.pictures.inner import shorten

#: Up to this many bars are named, and have their values written on them.
MAX_NAMED = 20
_MARK_REACH = 0.46


@dataclass
class DrawnBars:
    """Artists of a picture of bars.

    Attributes
    ----------
    bars : dict of str to BarContainer, ErrorbarContainer or StepPatch
        The bars by what they count: columns, points with error bars, or histograms.
    marks : LineCollection or None
        Marks across the bars.
    mark : Line2D or None
        Line along the scale of the bars.
    middles : dict of str to Line2D
        Lines at the medians of histograms.
    chosen : Line2D or None
        Ring around the chosen point.
    """

    bars: dict[str, Any] = field(default_factory=dict)
    marks: Any = None
    mark: Any = None
    middles: dict[str, Any] = field(default_factory=dict)
    chosen: Any = None


def draw_bars(ax: Any, picture: Bars, inks: Inks) -> DrawnBars:
    """Draw columns with their marks and names; bars below each other are points with errors."""
    return (
        _points(ax, picture, inks)
        if picture.below and picture.edges is None
        else _columns(ax, picture, inks)
    )


# --- columns ----------------------------------------------------------------------------------


def _columns(ax: Any, picture: Bars, inks: Inks) -> DrawnBars:
    (series,) = picture.series
    places: Array = np.arange(len(series.values))
    widths = np.full(len(places), 0.72)
    if picture.edges is not None:
        places, widths = picture.edges[:-1], 0.9 * np.diff(picture.edges)
    align = "center" if picture.edges is None else "edge"
    bars = ax.bar(places, series.values, widths, align=align, color=_colors(picture, inks))
    drawn = DrawnBars({series.name: bars})
    for bar, wrong in zip(bars, picture.wrong, strict=False):
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
    elif len(places) <= MAX_NAMED:
        for text in ax.bar_label(bars, picture.texts, fontsize="small", padding=2):
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


# --- points below each other ------------------------------------------------------------------


def _points(ax: Any, picture: Bars, inks: Inks) -> DrawnBars:
    """Draw points with error bars, the first bar on top, and columns of texts beside them."""
    drawn, apart = DrawnBars(), 0.18
    height = np.arange(len(picture))[::-1].astype(np.float64)
    looks: tuple[dict[str, Any], ...] = (
        {"fmt": "o", "color": inks.groups(1)[0], "markersize": 6.5},
        {"fmt": "D", "color": inks.soft, "markerfacecolor": inks.page, "markersize": 5},
    )
    ends: dict[str, Any] = {"elinewidth": 1.6, "capsize": 3}
    for number, series in reversed(list(enumerate(picture.series))):
        drawn.bars[series.name] = ax.errorbar(
            series.values,
            height + (apart, -apart)[number],
            xerr=series.errors,
            label=series.label or series.name,
            **ends,
            **looks[number],
        )
    if picture.chosen is not None:
        at = (picture.series[0].values[[picture.chosen]], height[[picture.chosen]] + apart)
        ring: dict[str, Any] = {"markersize": 14, "markeredgewidth": 1.6, "label": "chosen"}
        (drawn.chosen,) = ax.plot(
            *at, "o", markerfacecolor="none", markeredgecolor=inks.ink, **ring
        )
    ax.set_yticks(height, picture.names)
    ax.set_ylim(-0.7, len(picture) - 0.3)
    ax.grid(axis="x", color=inks.faint, alpha=0.3, linewidth=0.8)
    ax.set_axisbelow(True)
    for number, column in enumerate(picture.columns):
        _write_column(ax, column, 34.0 + 54.0 * number, height, inks)
    handles, texts = ax.get_legend_handles_labels()
    place: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0)}
    ax.legend(handles[::-1], texts[::-1], fontsize="small", frameon=False, **place)
    return drawn


def _write_column(
    ax: Any, column: tuple[str, Sequence[str]], place: float, height: Array, inks: Inks
) -> None:
    """Write texts at a distance right of the frame, below their title."""
    title, texts = column
    for y, text in zip([len(height) - 0.35, *height], [title, *texts], strict=True):
        ax.annotate(
            text,
            (1.0, y),
            xycoords=ax.get_yaxis_transform(),
            xytext=(place, 0),
            textcoords="offset points",
            ha="center",
            va="center",
            fontsize="small",
            color=inks.soft,
            annotation_clip=False,
        )


# --- histograms up and down -------------------------------------------------------------------


def draw_mirrored(
    ax: Any, pictures: Sequence[Bars], inks: Inks, names: Sequence[str]
) -> tuple[DrawnBars, ...]:
    """Draw histograms up and down from lines of their own, the first on top, with their names."""
    unit = 0.46 / max(picture.largest for picture in pictures)
    bases = np.arange(len(pictures))[::-1].astype(np.float64)
    drawn = tuple(
        _mirrored(ax, picture, inks, base, unit)
        for picture, base in zip(pictures, bases.tolist(), strict=True)
    )
    edges = pictures[0].edges
    assert edges is not None
    ax.set(xlim=(edges[0], edges[-1]), ylim=(-0.55, bases[0] + 0.55))
    ax.set_yticks(bases, names)
    add_legend(ax, inks, list(drawn[0].bars.values()))
    return drawn


def _mirrored(ax: Any, picture: Bars, inks: Inks, base: float, unit: float) -> DrawnBars:
    """Draw one of them; a value of 1 is ``unit`` high."""
    ax.axhline(base, color=inks.soft, linewidth=0.8)
    drawn = DrawnBars()
    for series, sign, color in zip(picture.series, (1.0, -1.0), inks.groups(2), strict=True):
        if not series.values.any():
            continue
        drawn.bars[series.name] = ax.stairs(
            base + sign * unit * series.values,
            picture.edges,
            baseline=base,
            fill=True,
            color=color,
            alpha=0.75,
            label=series.label or series.name,
        )
        if series.middle is not None:
            (drawn.middles[series.name],) = ax.plot(
                [series.middle] * 2, [base, base + 0.5 * sign], color=inks.ink, linewidth=1.6
            )
    return drawn
