"""Bars as SVG: columns, columns up and down, or bars below each other."""

from __future__ import annotations

import math
from html import escape

import numpy as np

from sidelight.pictures._run import shorten_words
from sidelight.pictures.kinds._bars import Bars
from sidelight.pictures.svg._box import LETTER, Box, svg_start

#: Most letters of a name beside a bar, and below a column.
_NAME, _SHORT_NAME = 30, 12
_LEAST_LEFT, _RIGHT = 60.0, 64.0


def bars_svg(drawn: Bars) -> str:
    """Draw bars with names, numbers and marks."""
    return _below(drawn) if drawn.below else _columns(drawn)


# --- bars below each other --------------------------------------------------------------------


def _below(drawn: Bars) -> str:
    """Draw bars from left to right; of bins along a scale only those that hold something."""
    total = sum(series.values for series in drawn.series)
    shown = np.flatnonzero(total) if drawn.edges is not None else np.arange(len(drawn))
    names = [shorten_words(drawn.names[place], _NAME) for place in shown.tolist()]
    row, bar = (19.0, 13.0) if len(drawn.series) == 1 else (26.0, 8.0)
    left = max(_LEAST_LEFT, LETTER * max((len(name) for name in names), default=0) + 12)
    box = Box(drawn.size[0], row * len(shown) + 6, round(left, 1), _RIGHT, 3, 3)
    parts = [svg_start(box, drawn.css, drawn.title, drawn.text)]
    for at, (place, name) in enumerate(zip(shown.tolist(), names, strict=True)):
        y = box.top + at * row
        lengths = [
            max(float(series.values[place]) / drawn.largest * box.inner_width, 1.0)
            for series in drawn.series
        ]
        parts.append(
            f"<g{_state(drawn, place)}>{_title(drawn, place)}"
            f'<text class="left" x="{box.left - 8}" y="{y + row / 2 + 3.5:.1f}">{escape(name)}'
            "</text>"
        )
        for number, (series, length) in enumerate(zip(drawn.series, lengths, strict=True)):
            css = f'class="{series.css}" ' if series.css else ""
            top = y + 3 + number * (bar + 1)
            parts.append(
                f'<rect {css}x="{box.left}" y="{top:.1f}" width="{length:.1f}" height="{bar}"/>'
            )
        if drawn.texts:
            parts.append(
                f'<text class="right" x="{box.left + max(lengths) + 6:.1f}" '
                f'y="{y + row / 2 + 3.5:.1f}">{escape(drawn.texts[place])}</text>'
            )
        parts.append("</g>")
    return "".join(parts) + "</svg>"


def _state(drawn: Bars, place: int) -> str:
    """Class of a bar that does not count, or is not as it was asked to be."""
    if drawn.kept and not drawn.kept[place]:
        return ' class="unkept"'
    return ' class="wrong"' if drawn.wrong and drawn.wrong[place] else ""


def _title(drawn: Bars, place: int) -> str:
    return f"<title>{escape(drawn.titles[place])}</title>" if drawn.titles else ""


# --- columns ----------------------------------------------------------------------------------


def _columns(drawn: Bars) -> str:
    box = Box(*drawn.size, 6, 6, 8 if drawn.mirrored else 20, 24)
    base = (box.top + box.base) / 2 if drawn.mirrored else box.base
    unit = (base - box.top) / drawn.largest
    step = box.inner_width / max(len(drawn), 1)
    width = step - 1.5 if drawn.edges is not None else min(step * 0.72, 54.0)
    written = drawn.texts and step >= 7.0 * max(map(len, drawn.texts))
    parts = [svg_start(box, drawn.css, drawn.title, drawn.text)]
    for place in range(len(drawn)):
        middle = box.left + (place + 0.5) * step
        parts.append(f"<g{_state(drawn, place)}>{_title(drawn, place)}")
        for number, series in enumerate(drawn.series):
            height = float(series.values[place]) * unit
            if height > 0 or not drawn.mirrored:
                outline = _column(middle - width / 2, width, base, max(height, 1.5), number > 0)
                parts.append(f'<path class="{_color(drawn, place, series.css)}" d="{outline}"/>')
        if written:
            top = base - float(drawn.series[0].values[place]) * unit
            parts.append(
                f'<text class="value" x="{middle:.1f}" y="{min(top, base - 1.5) - 5:.1f}">'
                f"{drawn.texts[place]}</text>"
            )
        for bound in drawn.marks[place] if drawn.marks else ():
            reach = width / 2 + 6
            parts.append(
                f'<path class="bound" d="M{middle - reach:.1f} {base - bound * unit:.1f}'
                f'h{2 * reach:.1f}"/>'
            )
        parts.append("</g>")
    return "".join(parts) + _labels(drawn, box, step) + box.axis(base)


def _color(drawn: Bars, place: int, css: str) -> str:
    if drawn.colors is None:
        return css or "bar"
    code = int(drawn.colors[place])
    return f"k{code}" if code >= 0 else "kx"


def _labels(drawn: Bars, box: Box, step: float) -> str:
    """Ticks of the scale, or names of the columns, as many as there is room for."""
    y = box.base + 15
    if drawn.edges is not None:
        low, high = float(drawn.edges[0]), float(drawn.edges[-1])
        anchors = {low: "start", high: "end"}
        return "".join(
            f'<text x="{float(box.x(tick, low, high)):.1f}" y="{y:.1f}" '
            f'style="text-anchor:{anchors.get(tick, "middle")}">{text}</text>'
            for tick, text in drawn.ticks
        )
    names = [name[:_SHORT_NAME] for name in drawn.names]
    every = math.ceil(7.0 * max(map(len, names), default=1) / step)
    return "".join(
        f'<text x="{box.left + (place + 0.5) * step:.1f}" y="{y:.1f}">{escape(name)}</text>'
        for place, name in enumerate(names)
        if place % every == 0
    )


def _column(left: float, width: float, base: float, height: float, down: bool) -> str:
    """Outline a column that stands on ``base``, or hangs from it, with round corners at its end."""
    by = min(4.0, width / 2, height)
    sign = 1.0 if down else -1.0
    end = base + sign * (height - by)
    return (
        f"M{left:.1f} {base:.1f}V{end:.1f}q0 {sign * by:.1f} {by:.1f} {sign * by:.1f}"
        f"h{width - 2 * by:.1f}q{by:.1f} 0 {by:.1f} {-sign * by:.1f}V{base:.1f}Z"
    )
