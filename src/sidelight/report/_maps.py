"""Drawings for a learned map: the rows before and after, and how far apart known pairs are."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sidelight.report._charts import Box, frame_of, nice_ticks, svg_start
from sidelight.report._projection import Projection
from sidelight.report._tables import format_number

Array = npt.NDArray[np.float64]

MAP = Box(width=560, height=380, left=12, right=12, top=12, bottom=12)
DISTANCES = Box(width=560, height=190, left=8, right=8, top=8, bottom=24)
BINS = 40


def small_map(
    projection: Projection,
    links: npt.NDArray[np.int64],
    cannot: npt.NDArray[np.bool_],
    groups: npt.NDArray[np.int64],
    name: str,
    title: str,
) -> str:
    """Draw rows as points, coloured by group, and pairs as lines, dashed where they are apart."""
    x_low, x_high = frame_of(projection.xy[:, 0])
    y_low, y_high = frame_of(projection.xy[:, 1])
    x = MAP.x(np.clip(projection.xy[:, 0], x_low, x_high), x_low, x_high)
    y = MAP.y(np.clip(projection.xy[:, 1], y_low, y_high), y_low, y_high)
    radius = 3.4 if len(x) <= 500 else 2.4
    parts = [svg_start(MAP, name, title, f"{len(x)} rows and {len(links)} pairs.")]
    for (a, b), apart in zip(links, cannot, strict=True):
        parts.append(
            f'<line class="s {"cl" if apart else "ml"}" x1="{x[a]:.1f}" y1="{y[a]:.1f}" '
            f'x2="{x[b]:.1f}" y2="{y[b]:.1f}"/>'
        )
    parts.append(f'<g style="--r:{radius}px">')
    parts += [
        f'<circle class="k{group if group >= 0 else "x"}" cx="{a:.1f}" cy="{b:.1f}"/>'
        for a, b, group in zip(x, y, groups, strict=True)
    ]
    return "".join(parts) + "</g></svg>"


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
    told = (
        f"Medians {format_number(_median(together))} together, {format_number(_median(apart))} "
        "apart, in typical distances."
    )
    parts = [svg_start(box, name, title, told)]
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
    parts.append(f'<path class="axis" d="M{box.left} {middle}H{box.width - box.right}"/></svg>')
    return "".join(parts)


def _shares(values: Array, edges: Array) -> Array:
    counts = np.histogram(np.minimum(values, edges[-1]), bins=edges)[0]
    return np.asarray(counts / max(len(values), 1), dtype=np.float64)


def _median(values: Array) -> float:
    return float(np.median(values)) if len(values) else 0.0
