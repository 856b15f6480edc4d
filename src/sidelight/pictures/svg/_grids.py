"""Grids of nodes as SVG: squares or hexagons, colored by a value."""

from __future__ import annotations

import math

import numpy as np

from sidelight._typing import Array
from sidelight._words import format_number
from sidelight.pictures.maps._grids import grid_step, value_range
from sidelight.pictures.svg._box import Box, svg_start

#: Colors of a number.
STEPS = 16
WIDTH = 280.0


def grid_svg(places: Array, values: Array, hexagonal: bool, name: str, title: str) -> str:
    """Draw the nodes as cells colored by a value."""
    step = grid_step(places)
    low, high = places.min(axis=0) - step / 2, places.max(axis=0) + step / 2
    scale = WIDTH / (high[0] - low[0])
    height = max((high[1] - low[1]) * scale, 12.0)
    if height > WIDTH:
        scale, height = scale * WIDTH / height, WIDTH
    box = Box(width=WIDTH, height=height, left=0, right=0, top=0, bottom=0)
    ends = float(values.min()), float(values.max())
    shares = (values - ends[0]) / max(ends[1] - ends[0], 1e-300)
    steps = np.clip(shares * STEPS, 0, STEPS - 1).astype(int)
    cell = _cell(hexagonal, step * scale)
    parts = [svg_start(box, name, title, value_range(values))]
    for (x, y), value, number in zip(places, values, steps, strict=True):
        at_x, at_y = (x - low[0]) * scale, height - (y - low[1]) * scale
        parts.append(
            f'<path class="s{number}" transform="translate({at_x:.1f} {at_y:.1f})" d="{cell}">'
            f"<title>{format_number(float(value))}</title></path>"
        )
    return "".join(parts) + "</svg>"


def _cell(hexagonal: bool, step: float) -> str:
    """Outline of a cell around its node: a hexagon with a corner at the top, or a square."""
    if not hexagonal:
        half = step / 2
        return f"M{-half:.2f} {-half:.2f}h{step:.2f}v{step:.2f}h{-step:.2f}Z"
    radius = step / math.sqrt(3.0)
    angles = np.deg2rad(90 + 60 * np.arange(6))
    corners = zip(radius * np.cos(angles), radius * np.sin(angles), strict=True)
    return "M" + "L".join(f"{x:.2f} {y:.2f}" for x, y in corners) + "Z"
