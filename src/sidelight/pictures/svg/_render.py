"""Any picture as SVG."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sidelight.pictures.kinds._bars import Bars
from sidelight.pictures.kinds._cells import Cells, Nodes
from sidelight.pictures.kinds._curves import Curves
from sidelight.pictures.kinds._lanes import Lanes
from sidelight.pictures.kinds._picture import Picture
from sidelight.pictures.kinds._points import Points
from sidelight.pictures.svg._bars import bars_svg
from sidelight.pictures.svg._cells import cells_svg, nodes_svg
from sidelight.pictures.svg._curves import curves_svg
from sidelight.pictures.svg._lanes import lanes_svg
from sidelight.pictures.svg._points import points_svg

_RENDERERS: dict[type, Callable[[Any], str]] = {
    Bars: bars_svg,
    Cells: cells_svg,
    Curves: curves_svg,
    Lanes: lanes_svg,
    Nodes: nodes_svg,
    Points: points_svg,
}


def svg_of(picture: Picture) -> str:
    """Draw a picture with the renderer of its kind."""
    return _RENDERERS[type(picture)](picture)
