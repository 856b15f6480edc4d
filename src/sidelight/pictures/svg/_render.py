"""Any picture as SVG."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sidelight.pictures._bars import Bars
from sidelight.pictures._curves import Curves
from sidelight.pictures.svg._bars import bars_svg
from sidelight.pictures.svg._curves import curves_svg

Picture = Bars | Curves

_RENDERERS: dict[type, Callable[[Any], str]] = {Bars: bars_svg, Curves: curves_svg}


def svg_of(picture: Picture) -> str:
    """Draw a picture with the renderer of its kind."""
    return _RENDERERS[type(picture)](picture)
