"""Histograms as SVG: of distances between pairs, and of how sure a model is of its rows."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sidelight._words import format_number
from sidelight.pictures._scales import nice_ticks
from sidelight.pictures.svg._charts import Box, svg_start

Array = npt.NDArray[np.float64]

CERTAINTY = Box(width=640, height=180, left=6, right=6, top=20, bottom=22)
DISTANCES = Box(width=560, height=190, left=8, right=8, top=8, bottom=24)
STEPS = 10
BINS = 40


def histogram(largest: Array, k: int, title: str) -> str:
    """Draw how many rows have which largest responsibility, from 1/k to 1."""
    edges = np.linspace(1.0 / k, 1.0, STEPS + 1)
    counts = np.histogram(np.clip(largest, edges[0], 1.0), bins=edges)[0]
    box = CERTAINTY
    base = box.base
    step = box.inner_width / STEPS
    description = ", ".join(
        f"{low:.0%} to {high:.0%}: {count}"
        for low, high, count in zip(edges[:-1], edges[1:], counts, strict=True)
    )
    parts = [svg_start(box, "sureness", title, description)]
    for number, count in enumerate(counts):
        top = float(box.y(float(count), 0.0, float(max(counts.max(), 1))))
        left = box.left + number * step + 1
        parts.append(
            f"<g><title>{edges[number]:.0%} to {edges[number + 1]:.0%}: {count:,} rows</title>"
            f'<rect x="{left:.1f}" y="{min(top, base - 1):.1f}" width="{step - 2:.1f}" '
            f'height="{max(base - top, 1):.1f}"/></g>'
        )
    for edge in (0, STEPS // 2, STEPS):
        at = box.left + edge * step
        anchor = {0: "start", STEPS: "end"}.get(edge, "middle")
        parts.append(
            f'<text x="{at:.1f}" y="{base + 15:.1f}" style="text-anchor:{anchor}">'
            f"{edges[edge]:.0%}</text>"
        )
    return "".join(parts) + box.axis(base)


def distance_histograms(together: Array, apart: Array, most: float, name: str, title: str) -> str:
    """Draw the distances of pairs that belong together upwards, of the others downwards.

    Each kind fills the same area, however many pairs it has. Distances above ``most`` are counted
    in the last bin.
    """
    box = DISTANCES
    edges = np.linspace(0.0, most, BINS + 1)
    shares = [_shares(values, edges) for values in (together, apart)]
    highest = max(float(max(share.max() for share in shares)), 1e-12)
    middle = (box.top + box.height - box.bottom) / 2
    half, step = middle - box.top, box.inner_width / BINS
    description = (
        f"Medians {format_number(_median(together))} together, {format_number(_median(apart))} "
        "apart, in typical distances."
    )
    parts = [svg_start(box, name, title, description)]
    for share, kind, up in ((shares[0], "together", True), (shares[1], "apart", False)):
        heights = share / highest * half
        for number in np.flatnonzero(heights):
            height = float(heights[number])
            parts.append(
                f'<rect class="{kind}" x="{box.left + number * step + 0.5:.1f}" '
                f'y="{middle - height if up else middle:.1f}" width="{step - 1:.1f}" '
                f'height="{height:.1f}"/>'
            )
    for tick in nice_ticks(0.0, most, 6):
        at = float(box.x(tick, 0.0, most))
        anchor = "start" if tick == 0 else "middle"
        parts.append(
            f'<text x="{at:.1f}" y="{box.height - 6}" style="text-anchor:{anchor}">'
            f"{format_number(tick)}</text>"
        )
    return "".join(parts) + box.axis(middle)


def _shares(values: Array, edges: Array) -> Array:
    counts = np.histogram(np.minimum(values, edges[-1]), bins=edges)[0]
    return np.asarray(counts / max(len(values), 1), dtype=np.float64)


def _median(values: Array) -> float:
    return float(np.median(values)) if len(values) else 0.0
