"""Heights over a plane as contours, over a line as a curve, with Matplotlib."""

from __future__ import annotations

from typing import Any

import numpy as np

from sidelight.display._canvas import Inks
from sidelight.pictures import Heights


def draw_heights(ax: Any, heights: Heights, inks: Inks) -> tuple[Any, Any]:
    """Draw heights; return the contours or None, and the curve or None."""
    if heights.y is None:
        return None, _draw_curve(ax, heights, inks)
    return _draw_contours(ax, heights, inks), None


def _draw_contours(ax: Any, heights: Heights, inks: Inks) -> Any:
    from matplotlib.colors import to_rgba

    levels, first = np.unique(heights.levels, return_index=True)
    top = max(float(heights.values.max()), float(levels[-1])) + 1e-9
    shades = [to_rgba(inks.ink, 0.05 * (number + 1)) for number in range(len(levels))]
    grid = (heights.x, heights.y, heights.values)
    ax.contourf(*grid, levels=[*levels, top], colors=shades, zorder=0.5)
    look: dict[str, Any] = {"linewidths": 1.0, "linestyles": "solid", "zorder": 3}
    contours = ax.contour(*grid, levels=levels, colors=inks.soft, **look)
    names = {level: heights.names[k] for level, k in zip(levels, first, strict=True)}
    ax.clabel(contours, fmt=names, fontsize="x-small", inline_spacing=2)
    return contours


def _draw_curve(ax: Any, heights: Heights, inks: Inks) -> Any:
    (line,) = ax.plot(heights.x, heights.values, color=inks.ink, linewidth=1.8)
    ax.fill_between(heights.x, heights.values, color=inks.faint, alpha=0.2, linewidth=0)
    ax.axhline(0.0, color=inks.faint, linewidth=0.8)
    ax.set_yticks([tick for tick in ax.get_yticks() if tick >= 0])
    return line
