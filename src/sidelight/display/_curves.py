"""Curves with error bars and the choice that was made: scores over k, or over statements."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from sidelight._typing import Array
from sidelight.display._canvas import Inks, label_lines


class Curve(NamedTuple):
    """Values ``y`` at ``x``, with half the length of the error bars where there are some."""

    x: Array
    y: Array
    error: Array | None = None


def draw_curves(ax: Any, curves: Mapping[str, Curve], inks: Inks) -> dict[str, Any]:
    """Draw and name curves; the first are broader, to be seen below others."""
    colors = inks.groups(max(len(curves), 1))
    markers = "osD^vPX*"
    drawn: dict[str, Any] = {}
    lines: dict[str, Any] = {}
    for number, ((name, curve), color) in enumerate(zip(curves.items(), colors, strict=True)):
        broader = min(0.5 * (len(curves) - 1 - number), 1.5)
        drawn[name] = ax.errorbar(
            curve.x,
            curve.y,
            yerr=curve.error,
            color=color,
            marker=markers[number % len(markers)],
            markersize=5 + broader,
            linewidth=1.6 + broader,
            elinewidth=1.2,
            capsize=3,
            label=name,
        )
        lines[name] = drawn[name].lines[0]
    if len(curves) > 1:
        label_lines(ax, lines, inks)
    return drawn


def integer_ticks(ax: Any, values: Array) -> None:
    """Ticks at whole numbers where all places are whole numbers."""
    if len(values) and np.all(values == np.round(values)):
        from matplotlib.ticker import MaxNLocator

        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
