"""Curves with Matplotlib."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from sidelight.display._canvas import Inks, label_lines
from sidelight.pictures import Curve, Curves
from sidelight.pictures.inner import MAX_DOTS

_MARKERS = "osD^vPX*"


@dataclass
class DrawnCurves:
    """Artists of a picture of curves, by the names of the curves.

    Attributes
    ----------
    lines : dict of str to Line2D
        The curves.
    errors : dict of str to LineCollection
        Error bars of those curves that have some.
    chosen : dict of str to Line2D
        Rings around the chosen points.
    mark : Line2D or None
        The vertical line.
    """

    lines: dict[str, Any] = field(default_factory=dict)
    errors: dict[str, Any] = field(default_factory=dict)
    chosen: dict[str, Any] = field(default_factory=dict)
    mark: Any = None


def draw_curves(ax: Any, picture: Curves, inks: Inks) -> DrawnCurves:
    """Draw and name the curves; the first are broader, to be seen below others."""
    drawn = DrawnCurves()
    colors = inks.groups(max(len(picture.curves), 1))
    for number, (curve, color) in enumerate(zip(picture.curves, colors, strict=True)):
        broader = min(0.5 * (len(picture.curves) - 1 - number), 1.5)
        dotted = picture.dots and len(curve.x) <= MAX_DOTS
        line, _, errors = ax.errorbar(
            curve.x,
            curve.y,
            yerr=curve.errors,
            color=color,
            marker=_MARKERS[number % len(_MARKERS)] if dotted else None,
            markersize=4 + broader,
            linewidth=1.6 + broader,
            drawstyle="steps-post" if picture.steps else None,
            elinewidth=1.2,
            capsize=3,
            label=curve.name,
        )
        drawn.lines[curve.name] = line
        if errors:
            (drawn.errors[curve.name],) = errors
        _draw_end(ax, curve, color, inks)
        if curve.chosen is not None:
            drawn.chosen[curve.name] = _ring(ax, curve, inks)
    if picture.area:
        _shade(ax, picture.curves[0], colors[0], "post" if picture.steps else None)
    if picture.mark is not None:
        drawn.mark = ax.axvline(picture.mark, color=inks.soft, linewidth=1.2, linestyle="dashed")
    _set_axes(ax, picture)
    filled = {name: line for name, line in drawn.lines.items() if len(line.get_xdata())}
    if picture.named and len(filled) > 1:
        label_lines(ax, filled, inks)
    return drawn


def _draw_end(ax: Any, curve: Curve, color: str, inks: Inks) -> None:
    """Mark the end of a line where it means something, open if the line was cut off."""
    if curve.stopped is not None:
        fill = inks.page if curve.stopped else color
        ax.plot(curve.x[-1:], curve.y[-1:], "o", color=color, markerfacecolor=fill, markersize=7)


def _ring(ax: Any, curve: Curve, inks: Inks) -> Any:
    at = curve.x == curve.chosen
    style: dict[str, Any] = {"markersize": 13, "markerfacecolor": "none", "markeredgewidth": 1.6}
    (ring,) = ax.plot(curve.x[at], curve.y[at], "o", markeredgecolor=inks.ink, **style)
    return ring


def _shade(ax: Any, curve: Curve, color: str, step: str | None) -> None:
    """Shade the area below a line, which does not change the limits of the axes."""
    low, high = ax.get_ylim()
    style: dict[str, Any] = {"color": color, "alpha": 0.08, "linewidth": 0, "step": step}
    ax.fill_between(curve.x, curve.y, low, **style)
    ax.set_ylim(low, high)


def _set_axes(ax: Any, picture: Curves) -> None:
    if picture.x_limits is not None:
        ax.set_xlim(*picture.x_limits)
    if picture.y_limits is not None:
        ax.set_ylim(*picture.y_limits)
    if picture.whole:
        whole_ticks(ax)


def whole_ticks(ax: Any) -> None:
    """Put the ticks of the horizontal axis at whole numbers."""
    from matplotlib.ticker import MaxNLocator

    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
