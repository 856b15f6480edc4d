"""Any picture with Matplotlib."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from sidelight.display._canvas import Inks
from sidelight.display._draw._bars import DrawnBars, draw_bars
from sidelight.display._draw._cells import DrawnCells, DrawnNodes, draw_cells, draw_nodes
from sidelight.display._draw._curves import DrawnCurves, draw_curves
from sidelight.display._draw._lanes import DrawnLanes, draw_lanes
from sidelight.display._draw._points import DrawnPoints, draw_points
from sidelight.pictures import Bars, Cells, Curves, Lanes, Nodes, Picture, Points


class Renderer(NamedTuple):
    """A function that draws a kind of picture in axes with inks, and what it returns."""

    draw: Callable[..., Any]
    drawn: type


RENDERERS: dict[type[Picture], Renderer] = {
    Bars: Renderer(draw_bars, DrawnBars),
    Cells: Renderer(draw_cells, DrawnCells),
    Curves: Renderer(draw_curves, DrawnCurves),
    Lanes: Renderer(draw_lanes, DrawnLanes),
    Nodes: Renderer(draw_nodes, DrawnNodes),
    Points: Renderer(draw_points, DrawnPoints),
}


def draw(ax: Any, picture: Picture, inks: Inks, **options: Any) -> Any:
    """Draw a picture with the renderer of its kind; return its artists."""
    return RENDERERS[type(picture)].draw(ax, picture, inks, **options)
