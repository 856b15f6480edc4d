"""Curves as SVG."""

from __future__ import annotations

from html import escape

import numpy as np

from sidelight._words import format_number
from sidelight.pictures.kinds._curves import MAX_DOTS, Curve, Curves
from sidelight.pictures.kinds._scales import frame_of, nice_ticks
from sidelight.pictures.svg._box import LETTER, Box, svg_start

Limits = tuple[float, float]

_LEAST_LEFT, _RIGHT, _TOP, _BOTTOM = 44.0, 16.0, 12.0, 38.0
_APART = 13.0  # pixels between the names of two curves


def curves_svg(drawn: Curves) -> str:
    """Draw lines with ticks, areas, errors, dots, names and a mark."""
    across, up = _limits(drawn)
    ticks = nice_ticks(*up, 3 if drawn.size[1] < 220 else 5)
    box = _box(drawn, ticks)
    parts = [svg_start(box, drawn.css, drawn.title, drawn.text)]
    for tick in ticks:
        y = float(box.y(tick, *up))
        parts.append(
            f'<path class="gridline" d="M{box.left} {y:.1f}H{box.width - box.right}"/>'
            f'<text class="left" x="{box.left - 8}" y="{y + 4:.1f}">{format_number(tick)}</text>'
        )
    for tick in nice_ticks(*across, 6):
        if not drawn.whole or tick == round(tick):
            said = f"{int(tick):,}" if drawn.whole else format_number(tick)
            x = float(box.x(tick, *across))
            parts.append(f'<text x="{x:.1f}" y="{box.base + 16:.1f}">{said}</text>')
    middle = box.left + box.inner_width / 2
    parts.append(
        f'<text x="{middle:.1f}" y="{box.height - 5}">{escape(drawn.axis_titles[0])}</text>'
    )
    if drawn.mark is not None and across[0] <= drawn.mark <= across[1]:
        x = float(box.x(drawn.mark, *across))
        parts.append(f'<path class="mark" d="M{x:.1f} {box.top}V{box.base}"/>')
    parts += [_curve(drawn, curve, box, across, up) for curve in drawn.curves]
    return "".join(parts) + _names(drawn, box, up) + box.axis(box.base)


def _limits(drawn: Curves) -> tuple[Limits, Limits]:
    """Ends of both axes: those that were asked for, or those of the points."""
    x = np.concatenate([curve.x[curve.shown] for curve in drawn.curves]).astype(np.float64)
    y = np.concatenate([curve.y[curve.shown] for curve in drawn.curves])
    across = drawn.x_limits
    if across is None:
        low, high = (float(x.min()), float(x.max())) if len(x) else (0.0, 1.0)
        across = (low, high) if high > low else (low - 0.5, high + 0.5)
    return across, frame_of(y) if drawn.y_limits is None else drawn.y_limits


def _box(drawn: Curves, ticks: list[float]) -> Box:
    """Frame with room for the numbers on the left, and for names on the right."""
    left = max(_LEAST_LEFT, LETTER * max(len(format_number(tick)) for tick in ticks) + 14)
    right = _RIGHT
    if _is_named(drawn):
        right += LETTER * max(len(curve.name) for curve in drawn.curves)
    width, height = drawn.size
    return Box(width, height, round(left, 1), round(right, 1), _TOP, _BOTTOM)


def _is_named(drawn: Curves) -> bool:
    return drawn.named and len(drawn.curves) > 1


def _curve(drawn: Curves, curve: Curve, box: Box, across: Limits, up: Limits) -> str:
    places = curve.shown
    if not len(places):
        return ""
    x, y = box.x(curve.x[places], *across), box.y(curve.y[places], *up)
    path = f"M{x[0]:.1f} {y[0]:.1f}"
    if drawn.steps:
        turns = zip(x[1:], y[1:], strict=True)
        path += "".join(f"H{a:.1f}V{b:.1f}" for a, b in turns)
        # The last value holds up to the edge that the line runs to.
        path += f"H{box.left if x[-1] < x[0] else box.width - box.right:.1f}"
    else:
        path += "".join(f"L{a:.1f} {b:.1f}" for a, b in zip(x[1:], y[1:], strict=True))
    css = f" {curve.css}" if curve.css else ""
    parts = [f"<g><title>{escape(curve.name)}</title>" if len(drawn.curves) > 1 else "<g>"]
    if drawn.area and len(places) > 1:
        parts.append(f'<path class="area{css}" d="{path}V{box.base}H{x[0]:.1f}Z"/>')
    parts.append(f'<path class="line{css}" d="{path}"/>')
    if curve.errors is not None:
        unit = box.inner_height / (up[1] - up[0])
        bars = zip(x, y, curve.errors[places] * unit, strict=True)
        path = "".join(f"M{a:.1f} {b - e:.1f}V{b + e:.1f}" for a, b, e in bars if e)
        parts.append(f'<path class="error{css}" d="{path}"/>')
    if drawn.dots and len(places) <= MAX_DOTS:
        for a, b, place in zip(x, y, places.tolist(), strict=True):
            here = curve.chosen is not None and bool(curve.x[place] == curve.chosen)
            kind, radius = f"dot{css}{' here' * here}", 4 if here else 2.6
            dot = f'class="{kind}" cx="{a:.1f}" cy="{b:.1f}" r="{radius}"'
            said = f"<title>{escape(curve.titles[place])}</title>" if curve.titles else ""
            parts.append(f"<circle {dot}>{said}</circle>" if said else f"<circle {dot}/>")
    return "".join(parts) + "</g>"


def _names(drawn: Curves, box: Box, up: Limits) -> str:
    """Names at the right ends of the lines, far enough apart to be read."""
    if not _is_named(drawn):
        return ""
    filled = [curve for curve in drawn.curves if len(curve.shown)]
    ends = [float(box.y(_right_end(curve), *up)) for curve in filled]
    at, parts = -np.inf, []
    for place in np.argsort(ends, kind="stable").tolist():
        height, curve = ends[place], filled[place]
        at = max(height, at + _APART)
        x = box.width - box.right + 6
        css = f"name {curve.css}".strip()
        parts.append(
            f'<text class="{css}" x="{x:.1f}" y="{at + 4:.1f}">{escape(curve.name)}</text>'
        )
    return "".join(parts)


def _right_end(curve: Curve) -> float:
    """Height of a line at its right end."""
    return float(curve.y[curve.shown[int(np.argmax(curve.x[curve.shown]))]])
