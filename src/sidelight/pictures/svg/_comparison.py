"""Scores of candidates as SVG: bars in a table, and curves over the number of clusters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

import numpy as np

from sidelight.evaluation import Candidate
from sidelight.pictures._scales import nice_ticks
from sidelight.pictures.svg._charts import Box, svg_start

#: The bar of a score inside its row of the table.
BAR = Box(width=220, height=22, left=2, right=2, top=0, bottom=0)
BY_NUMBER = Box(width=560, height=250, left=40, right=16, top=14, bottom=34)
#: How far lines of several methods stand apart at one number of clusters, in numbers.
APART = 0.07


def score_bar(one: Candidate) -> str:
    """Draw a score from 0 to 1 with its standard error, chance, and the score without knowledge."""
    if np.isnan(one.score):
        return ""
    box, middle = BAR, BAR.height / 2
    at = _places([0.0, one.score, one.score - one.error, one.score + one.error])
    parts = [
        f'<svg class="score" viewBox="0 0 {box.width} {box.height}" aria-hidden="true">',
        f'<path class="chance" d="M{_places([0.5])[0]:.1f} 1V{box.height - 1}"/>',
        f'<rect x="{at[0]:.1f}" y="6" width="{max(at[1] - at[0], 1):.1f}" height="10" rx="2"/>',
        f'<path class="error" d="M{at[2]:.1f} {middle}H{at[3]:.1f}'
        f'M{at[2]:.1f} {middle - 3.5}v7M{at[3]:.1f} {middle - 3.5}v7"/>',
    ]
    if not np.isnan(one.plain_score):
        x = _places([one.plain_score])[0]
        parts.append(f'<path class="plain" d="M{x:.1f} 2l4 4.5l-4 4.5l-4 -4.5z"/>')
    return "".join(parts) + "</svg>"


def score_scale() -> str:
    """Draw the axis of the bars."""
    texts = "".join(
        f'<text x="{x:.1f}" y="12" style="text-anchor:{anchor}">{value}</text>'
        for x, value, anchor in zip(
            _places([0.0, 0.5, 1.0]), ("0", "0.5", "1"), ("start", "middle", "end"), strict=True
        )
    )
    return f'<svg class="score" viewBox="0 0 {BAR.width} 15" aria-hidden="true">{texts}</svg>'


def _places(values: Sequence[float]) -> list[float]:
    """Where scores lie in a bar; what lies beyond is drawn on its edge."""
    return [float(x) for x in BAR.x(np.clip(np.asarray(values), 0.0, 1.0), 0.0, 1.0)]


def by_number_svg(
    points: Mapping[str, Sequence[tuple[int, float, float]]], title: str, description: str
) -> str:
    """Draw values against the number of clusters: a line for every method.

    Parameters
    ----------
    points : dict of str to list of tuple
        Number of clusters, value and standard error of every candidate, by method, rising.
    title, description : str
        What the picture shows, and its values for a reader who cannot see it.
    """
    box = BY_NUMBER
    every = [point for own in points.values() for point in own]
    numbers = sorted({k for k, _, _ in every})
    low = min(0.5, *(value - error for _, value, error in every))
    limits = (max(0.0, low) - 0.02, 1.04)
    left, right = numbers[0] - 0.4, numbers[-1] + 0.4
    parts = [svg_start(box, "curves", title, description)]
    for tick in nice_ticks(*limits, 5):
        y = float(box.y(tick, *limits))
        parts.append(
            f'<path class="gridline" d="M{box.left} {y:.1f}H{box.width - box.right}"/>'
            f'<text class="left" x="{box.left - 8}" y="{y + 4:.1f}">{tick:g}</text>'
        )
    for number in numbers:
        x = float(box.x(number, left, right))
        parts.append(f'<text x="{x:.1f}" y="{box.base + 16:.1f}">{number}</text>')
    for place, (name, own) in enumerate(points.items()):
        shift = APART * (place - (len(points) - 1) / 2)
        xy = [
            (float(box.x(k + shift, left, right)), float(box.y(v, *limits)), e) for k, v, e in own
        ]
        unit = box.inner_height / (limits[1] - limits[0])
        parts.append(_line(place, name, xy, unit))
    return "".join(parts) + box.axis(box.base)


def _line(place: int, name: str, xy: list[tuple[float, float, float]], unit: float) -> str:
    if not xy:
        return ""
    path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y, _ in xy)
    bars = "".join(
        f"M{x:.1f} {y - error * unit:.1f}V{y + error * unit:.1f}" for x, y, error in xy if error
    )
    dots = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.2"/>' for x, y, _ in xy)
    return (
        f'<g class="k{place}"><title>{escape(name)}</title><path class="line" d="{path}"/>'
        f'<path class="error" d="{bars}"/>{dots}</g>'
    )
