"""Curves as plain data: lines over one pair of axes, whoever draws them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sidelight._typing import Array, FloatArray, IntArray
from sidelight._words import format_number
from sidelight.pictures.kinds._picture import Picture

#: Up to this many points of a curve are drawn as dots.
MAX_DOTS = 60
#: A curve of more points is drawn through this many of them, evenly spread.
MAX_POINTS = 400


@dataclass(frozen=True, eq=False)
class Curve:
    """One line.

    Attributes
    ----------
    name : str
        Name of the line.
    x, y : ndarray of shape (n,)
        Its points; those that are not finite are left out.
    errors : ndarray of shape (n,), default=None
        Half the length of an error bar at every point.
    titles : sequence of str, default=()
        What every point says when the pointer rests on it; nothing where there are none.
    css : str, default=""
        Class of the style sheet of a page.
    chosen : float, default=None
        Place along the horizontal axis of the point that was chosen.
    stopped : bool, default=None
        Whether the line was cut off before its end, which is then drawn open; None where ends mean
        nothing.
    """

    name: str
    x: Array
    y: FloatArray
    errors: FloatArray | None = None
    titles: Sequence[str] = ()
    css: str = ""
    chosen: float | None = None
    stopped: bool | None = None

    @property
    def shown(self) -> IntArray:
        """Places of the finite points, of very many an even choice with both ends."""
        known = np.flatnonzero(np.isfinite(self.y))
        thin = np.linspace(0, len(known) - 1, min(len(known), MAX_POINTS)).round()
        return known[np.unique(thin.astype(np.int64))] if len(known) else known


@dataclass(frozen=True, eq=False, kw_only=True)
class Curves(Picture):
    """Lines over one pair of axes.

    Attributes
    ----------
    curves : sequence of Curve
        The lines.
    x_limits, y_limits : tuple of float, default=None
        Ends of the axes; by default those of the points.
    whole : bool
        Whether places along the horizontal axis are whole numbers.
    steps : bool
        Whether a value holds up to the next point.
    dots : bool
        Whether points are marked, where they are few.
    area : bool
        Whether the area below the line is shaded.
    named : bool
        Whether lines are named where they end.
    mark : float, default=None
        Place of a vertical line.
    """

    curves: Sequence[Curve]
    css: str = "curve"
    x_limits: tuple[float, float] | None = None
    y_limits: tuple[float, float] | None = None
    whole: bool = False
    steps: bool = False
    dots: bool = True
    area: bool = False
    named: bool = True
    mark: float | None = None


def curves_over(curves: Sequence[Curve], axis_titles: tuple[str, str], **fields: Any) -> Curves:
    """Lines over one pair of axes; their titles and all points in words follow from these.

    Parameters
    ----------
    curves : sequence of Curve
        The lines.
    axis_titles : tuple of str
        Titles of both axes.
    **fields : dict
        Fields of the picture that are not as usual.
    """
    usual: dict[str, Any] = {
        "title": f"{axis_titles[1]} by {axis_titles[0]}",
        "text": "; ".join(_in_words(curve) for curve in curves),
        "heading": curves[0].name if len(curves) == 1 else "",  # several are named at their ends
    }
    return Curves(curves=curves, axis_titles=axis_titles, **(usual | fields))


def _in_words(curve: Curve) -> str:
    points = zip(curve.x[curve.shown].tolist(), curve.y[curve.shown].tolist(), strict=True)
    return f"{curve.name}: " + ", ".join(
        f"{format_number(x)}: {format_number(y)}" for x, y in points
    )
