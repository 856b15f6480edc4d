"""Lanes as SVG."""

from __future__ import annotations

from html import escape

import numpy as np

from sidelight.pictures._run import shorten_words
from sidelight.pictures.kinds._lanes import Lanes, Span
from sidelight.pictures.svg._box import LETTER, Box, svg_start

_LANE = 22.0
_NAME = 14


def lanes_svg(drawn: Lanes) -> str:
    """Draw the spans of every lane, with a mark where one says so."""
    left = round(LETTER * max(map(len, drawn.names), default=0) + 14, 1)
    box = Box(drawn.size[0], _LANE * len(drawn.names) + 36, left, 10, 8, 28)
    parts = [svg_start(box, drawn.css, drawn.title, drawn.text)]
    for lane, name in enumerate(drawn.names):
        y = box.top + (lane + 0.5) * _LANE
        parts.append(
            f'<text class="left" x="{box.left - 8}" y="{y + 4:.1f}">{escape(name)}</text>'
            f'<path class="gridline" d="M{box.left} {y:.1f}H{box.width - box.right}"/>'
        )
    parts += [_span(drawn, span, box) for span in drawn.spans]
    return "".join(parts) + _ticks(drawn, box) + box.axis(box.base)


def _span(drawn: Lanes, span: Span, box: Box) -> str:
    x0, x1 = (float(x) for x in box.x(np.array([span.start, span.end]), 0.0, drawn.length))
    y = box.top + span.lane * _LANE + 4
    css = f"k{span.color}" if span.color >= 0 else "kx"
    found = (
        f'<rect class="{css}" x="{x0:.1f}" y="{y:.1f}" width="{max(x1 - x0 - 0.6, 0.8):.1f}" '
        f'height="{_LANE - 8:.1f}"><title>{escape(span.title)}</title></rect>'
    )
    if span.mark:
        found += (
            f'<path class="jump" d="M{x0 - 4:.1f} {y - 4:.1f}h8l-4 6z">'
            f"<title>{escape(span.mark)}</title></path>"
        )
    return found


def _ticks(drawn: Lanes, box: Box) -> str:
    """Names below the axis, as many as there is room for."""
    n = len(drawn.places)
    longest = max(map(len, drawn.places), default=1)
    room = max(int(box.inner_width / (min(longest, _NAME) * LETTER + 14)), 2)
    parts = []
    for at in np.unique(np.linspace(0, n - 1, min(n, room)).round().astype(int)).tolist():
        x = float(box.x(at + 0.5, 0.0, float(n)))
        said = escape(shorten_words(drawn.places[at], _NAME))
        parts.append(f'<text x="{x:.1f}" y="{box.height - 8}">{said}</text>')
    return "".join(parts)
