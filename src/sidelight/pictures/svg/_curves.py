"""Curves of the pages: rates over the threshold, and distances at which rows joined."""

from __future__ import annotations

import numpy as np

from sidelight._typing import FloatArray
from sidelight._words import format_number
from sidelight.pictures._scales import nice_ticks
from sidelight.pictures.relational._curve import ResolutionCurve
from sidelight.pictures.svg._charts import Box, svg_start

RATES = Box(width=1180, height=260, left=44, right=74, top=12, bottom=36)
ABSORBED = Box(width=420, height=170, left=56, right=16, top=12, bottom=26)
#: Points of a curve; more are thinned out.
MAX_POINTS = 400
_APART = 13.0  # pixels between the names of two curves


def rates_svg(curve: ResolutionCurve, threshold: float | None) -> str:
    """Draw precision, recall and F1 over the threshold."""
    box = RATES
    t = curve.thresholds
    marks = t if threshold is None else np.append(t, threshold)
    low, high = float(marks.min()), float(marks.max())
    margin = 0.02 * (high - low) or 0.05
    low, high = low - margin, high + margin
    best = curve.best
    description = f"Best F1 {curve.f1[best]:.3f} at the threshold {format_number(t[best], 3)}."
    parts = [svg_start(box, "rates", "Precision and recall over the threshold", description)]
    for tick in (0.0, 0.25, 0.5, 0.75, 1.0):
        height = float(box.y(tick, 0.0, 1.0))
        parts.append(
            f'<path class="gridline" d="M{box.left} {height:.1f}H{box.width - box.right}"/>'
            f'<text class="left" x="{box.left - 8}" y="{height + 4:.1f}">{tick:.2f}</text>'
        )
    for tick in nice_ticks(low, high, 6):
        at = float(box.x(tick, low, high))
        parts.append(f'<text x="{at:.1f}" y="{box.height - 16}">{format_number(tick)}</text>')
    parts.append(
        f'<text x="{box.left + box.inner_width / 2}" y="{box.height - 2}">threshold</text>'
    )
    if threshold is not None and low <= threshold <= high:
        at = float(box.x(threshold, low, high))
        parts.append(f'<path class="here" d="M{at:.1f} {box.top}V{box.base}"/>')
    kept = _thinned(len(t))
    values = {"precision": curve.precision, "recall": curve.recall, "f1": curve.f1}
    for name, heights in values.items():
        path = _steps(box.x(np.append(t[kept], low), low, high), box.y(heights[kept], 0.0, 1.0))
        parts.append(f'<path class="{name}" d="{path}"/>')
    # Names stand where the curves end to the right: at the highest threshold.
    ends = sorted((float(box.y(heights[0], 0.0, 1.0)), name) for name, heights in values.items())
    at = -np.inf
    for height, name in ends:
        at = max(height, at + _APART)
        said = {"f1": "F1"}.get(name, name)
        x = box.width - box.right + 6
        parts.append(f'<text class="{name}" x="{x}" y="{at + 4:.1f}">{said}</text>')
    return "".join(parts) + box.axis(box.base)


def absorbed_svg(thresholds: FloatArray) -> str:
    """Draw the sorted distances at which rows joined; they are finite, and at least one."""
    box = ABSORBED
    values = np.sort(thresholds)
    high = max(float(values[-1]), 1e-12)
    places = np.arange(len(values), dtype=np.float64)
    last = max(len(values) - 1, 1)
    description = f"From {format_number(values[0])} to {format_number(values[-1])}."
    parts = [svg_start(box, "curve absorbed", "Distances at which rows joined", description)]
    for tick in nice_ticks(0.0, high, 3):
        height = float(box.y(tick, 0.0, high))
        parts.append(
            f'<path class="gridline" d="M{box.left} {height:.1f}H{box.width - box.right}"/>'
            f'<text class="left" x="{box.left - 8}" y="{height + 4:.1f}">'
            f"{format_number(tick)}</text>"
        )
    kept = _thinned(len(values))
    x, y = box.x(places[kept], 0.0, float(last)), box.y(values[kept], 0.0, high)
    path = _path(x, y)
    parts.append(f'<path class="area" d="{path}V{box.base}H{x[0]:.1f}Z"/>')
    parts.append(f'<path class="line" d="{path}"/>')
    parts.append(
        f'<text x="{box.left + box.inner_width / 2}" y="{box.height - 6}">'
        f"{len(values):,} rows, in the order of joining</text>"
    )
    return "".join(parts) + box.axis(box.base)


def _thinned(n: int) -> FloatArray:
    """Places to draw, the ends among them."""
    return np.unique(np.linspace(0, n - 1, min(n, MAX_POINTS)).round().astype(np.int64))


def _steps(x: FloatArray, y: FloatArray) -> str:
    """Values that hold from their own place to the next, which lies further left."""
    return f"M{x[0]:.1f} {y[0]:.1f}" + "".join(
        f"V{height:.1f}H{end:.1f}" for height, end in zip(y, x[1:], strict=True)
    )


def _path(x: FloatArray, y: FloatArray) -> str:
    return "M" + "L".join(f"{a:.1f} {b:.1f}" for a, b in zip(x, y, strict=True))
