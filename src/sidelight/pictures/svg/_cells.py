"""Cells as SVG: strokes along the rows of a table, and outlines around the nodes of a grid."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

from sidelight._typing import Array
from sidelight._words import format_number
from sidelight.pictures._run import shorten_words
from sidelight.pictures.kinds._cells import STEPS, Cells, Nodes, Strip
from sidelight.pictures.svg._box import Box, svg_start

#: Shades of a cell.
N_SHADES = 5
#: Width of a grid of nodes.
GRID_WIDTH = 280.0
_LETTER, _NAME = 6.2, 16
_WIDEST, _TALLEST, _LEAST_HEIGHT = 40.0, 15.0, 160.0
_STRIP, _EDGE = 7.0, 4.0


def cells_svg(drawn: Cells) -> str:
    """Draw a table of cells, with names, groups and frames."""
    n_rows, n_columns = (max(n, 1) for n in drawn.codes.shape)
    box = _box(drawn, n_rows, n_columns)
    scale = (box.inner_width / n_columns, box.inner_height / n_rows)
    parts = [
        svg_start(box, drawn.css, drawn.title, drawn.text),
        *_names(drawn, box, scale),
        *(_strip(one, box, scale, across=False) for one in drawn.strips[0]),
        *(_strip(one, box, scale, across=True) for one in drawn.strips[1]),
        f'<g transform="translate({box.left} {box.top}) scale({scale[0]:.5f} {scale[1]:.5f})">',
        f'<rect class="field" width="{n_columns}" height="{n_rows}"/>',
        *_layers(drawn),
        *(f'<path class="border" d="M0 {at}H{n_columns}"/>' for at in drawn.borders[0]),
        *(f'<path class="border" d="M{at} 0V{n_rows}"/>' for at in drawn.borders[1]),
    ]
    for frame in drawn.frames:
        css = " ".join(filter(None, ["frame", frame.css]))
        area = f'x="{frame.left}" y="{frame.top}" width="{frame.width}" height="{frame.height}"'
        said = f"<title>{escape(frame.title)}</title>" if frame.title else ""
        parts.append(f'<rect class="{css}" {area}>{said}</rect>')
    for row, column, said in drawn.hits:
        parts.append(
            f'<rect class="hit" x="{column}" y="{row}" width="1" height="1">'
            f"<title>{escape(said)}</title></rect>"
        )
    return "".join(parts) + "</g></svg>"


def _box(drawn: Cells, n_rows: int, n_columns: int) -> Box:
    """Frame of the cells, with room for names and groups above and on the left."""
    top, left = (_STRIP + 5 if any(drawn.strips) else _EDGE for _ in range(2))
    if drawn.names[1]:
        top += min(max(map(len, drawn.names[1])), _NAME) * _LETTER * 0.85 + 12
    if drawn.names[0]:
        left += min(max(map(len, drawn.names[0])), _NAME) * _LETTER + 6
    width, height = (float(length) for length in drawn.size)
    right = max(_EDGE, _overhang(drawn.names[1], (width - left - _EDGE) / n_columns))
    inner = width - left - right
    if drawn.square:
        height = inner * n_rows / n_columns
    else:
        inner = min(inner, _WIDEST * n_columns)
        height = float(np.clip(_TALLEST * n_rows, _LEAST_HEIGHT, height))
    side = (width - left - right - inner) / 2  # a narrow table stands in the middle
    left, top = round(left + side, 1), round(top, 1)
    return Box(width, round(top + height + _EDGE, 1), left, round(right + side, 1), top, _EDGE)


def _overhang(names: Sequence[str], column: float) -> float:
    """Return how far the slanting names above the last columns reach beyond the table."""
    lengths = np.minimum([len(name) for name in names], _NAME) * _LETTER * np.cos(np.radians(55))
    room = column * (len(names) - 0.5 - np.arange(len(names)))
    return float(np.max(lengths + 8 - room, initial=0.0))


def _names(drawn: Cells, box: Box, scale: tuple[float, float]) -> list[str]:
    room = _STRIP + 6 if any(drawn.strips) else 6
    parts = []
    for place, name in enumerate(drawn.names[0]):
        y = box.top + (place + 0.5) * scale[1] + 3.6
        said = escape(shorten_words(name, _NAME))
        parts.append(f'<text class="row" x="{box.left - room:.1f}" y="{y:.1f}">{said}</text>')
    for place, name in enumerate(drawn.names[1]):
        x, y = box.left + (place + 0.5) * scale[0] + 3, box.top - room
        said = escape(shorten_words(name, _NAME))
        parts.append(
            f'<text class="column" transform="translate({x:.1f} {y:.1f}) rotate(-55)">{said}</text>'
        )
    return parts


def _strip(one: Strip, box: Box, scale: tuple[float, float], *, across: bool) -> str:
    """The color of a group beside its rows, or above its columns."""
    along, ends = (box.left, scale[0]) if across else (box.top, scale[1])
    start, length = along + one.start * ends, (one.end - one.start) * ends
    if across:
        area = f'x="{start:.1f}" y="{box.top - _STRIP - 2:.1f}" width="{length:.1f}" '
        area += f'height="{_STRIP}"'
    else:
        area = f'x="{box.left - _STRIP - 2:.1f}" y="{start:.1f}" width="{_STRIP}" '
        area += f'height="{length:.1f}"'
    return f'<rect class="strip {one.css}" {area}><title>{escape(one.title)}</title></rect>'


def _layers(drawn: Cells) -> list[str]:
    """Strokes over the cells, by color and shade."""
    if drawn.shares is None:
        return [
            f'<path class="{layer.css}" d="{strokes(drawn.codes == code)}"/>'
            for code, layer in enumerate(drawn.layers, start=1)
        ]
    shades = np.ceil(drawn.shares * N_SHADES).astype(np.int64)
    parts = []
    for code, layer in enumerate(drawn.layers, start=1):
        for shade in range(1, N_SHADES + 1):
            chosen = (drawn.codes == code) & (shades == shade)
            if chosen.any():
                opacity = 0.25 + 0.75 * shade / N_SHADES
                parts.append(
                    f'<path class="{layer.css}" opacity="{opacity:.2f}" d="{strokes(chosen)}"/>'
                )
    return parts


def strokes(cells: Array) -> str:
    """Neighboring cells of a row as one stroke."""
    change = np.diff(np.pad(cells.astype(np.int8), ((0, 0), (1, 1))), axis=1)
    rows, starts = np.nonzero(change == 1)
    _, ends = np.nonzero(change == -1)
    return "".join(
        f"M{start} {row + 0.5}h{end - start}"
        for row, start, end in zip(rows.tolist(), starts.tolist(), ends.tolist(), strict=True)
    )


def nodes_svg(drawn: Nodes) -> str:
    """Draw the cells of a grid, colored by the steps of their values."""
    low = drawn.places.min(axis=0) + drawn.outline.min(axis=0)
    wide, high = drawn.places.max(axis=0) + drawn.outline.max(axis=0) - low
    scale = GRID_WIDTH / max(wide, high)
    box = Box(
        GRID_WIDTH, round(max(high * scale, 12.0), 1), (GRID_WIDTH - wide * scale) / 2, 0, 0, 0
    )
    ends = float(drawn.values.min()), float(drawn.values.max())
    shares = (drawn.values - ends[0]) / max(ends[1] - ends[0], 1e-300)
    steps = np.clip(shares * STEPS, 0, STEPS - 1).astype(int)
    cell = "M" + "L".join(f"{x:.2f} {-y:.2f}" for x, y in scale * drawn.outline) + "Z"
    parts = [svg_start(box, drawn.css, drawn.title, drawn.text)]
    for (x, y), value, step in zip(drawn.places, drawn.values, steps, strict=True):
        at_x, at_y = box.left + (x - low[0]) * scale, box.height - (y - low[1]) * scale
        parts.append(
            f'<path class="s{step}" transform="translate({at_x:.1f} {at_y:.1f})" d="{cell}">'
            f"<title>{format_number(float(value))}</title></path>"
        )
    return "".join(parts) + "</svg>"
