"""The map of a graph as SVG."""

from __future__ import annotations

from html import escape

import numpy as np

from sidelight._typing import FloatArray, IntArray
from sidelight.pictures._scales import frame_of
from sidelight.pictures.relational._region_map import RegionMap
from sidelight.pictures.svg._box import Box, svg_start

#: Up to so many nodes carry their name, shown when the pointer rests on them.
MOST_TITLES = 2_000
MAP = Box(width=800, height=560, left=14, right=14, top=14, bottom=14)


def map_svg(drawn: RegionMap, names: list[str], cluster_names: list[str]) -> str:
    """Draw the map; colors are the classes ``k0``, ``k1`` ... of the style sheet.

    Parameters
    ----------
    drawn : RegionMap
        What to draw.
    names : list of str
        Names of the drawn nodes.
    cluster_names : list of str
        Names of the clusters.
    """
    x, y = _placed(drawn.places)
    description = f"{len(x)} nodes, {len(drawn.edges)} edges, {drawn.n_clusters} clusters."
    parts = [svg_start(MAP, "regions", "Connected clusters on the map", description)]
    ends = drawn.codes[drawn.edges]
    same = (ends[:, 0] == ends[:, 1]) & (ends[:, 0] >= 0)
    parts.append(f'<path class="between" d="{_path(x, y, drawn.edges[~same])}"/>')
    for cluster in np.unique(ends[same, 0]).tolist():
        inside = drawn.edges[same & (ends[:, 0] == cluster)]
        parts.append(f'<path class="inside k{cluster}" d="{_path(x, y, inside)}"/>')
    radius = 5.0 if len(x) <= 300 else 3.4 if len(x) <= 1500 else 2.2
    is_center = np.zeros(len(x), bool)
    is_center[drawn.centers] = True
    titled = len(x) <= MOST_TITLES
    for node, (a, b, code) in enumerate(zip(x, y, drawn.codes.tolist(), strict=True)):
        kind = f"k{code}" if code >= 0 else "kx"
        kind += " center" if is_center[node] else ""
        size = 1.6 * radius if is_center[node] else radius
        head = f'<circle class="{kind}" cx="{a:.1f}" cy="{b:.1f}" r="{size:.1f}"'
        if titled:
            cluster = cluster_names[code] if code >= 0 else "none"
            said = f"{names[node]}: cluster {cluster}" + (", center" if is_center[node] else "")
            parts.append(f"{head}><title>{escape(said)}</title></circle>")
        else:
            parts.append(f"{head}/>")
    return "".join(parts) + "</svg>"


def _placed(places: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Places in the picture; a unit is as long to the right as upwards."""
    (left, right), (low, high) = frame_of(places[:, 0]), frame_of(places[:, 1])
    unit = max((right - left) / MAP.inner_width, (high - low) / MAP.inner_height)
    across, up = unit * MAP.inner_width / 2, unit * MAP.inner_height / 2
    x_middle, y_middle = (left + right) / 2, (low + high) / 2
    x = MAP.x(np.clip(places[:, 0], left, right), x_middle - across, x_middle + across)
    y = MAP.y(np.clip(places[:, 1], low, high), y_middle - up, y_middle + up)
    return x, y


def _path(x: FloatArray, y: FloatArray, edges: IntArray) -> str:
    starts = zip(x[edges[:, 0]], y[edges[:, 0]], strict=True)
    ends = zip(x[edges[:, 1]], y[edges[:, 1]], strict=True)
    return "".join(
        f"M{a:.1f} {b:.1f}L{c:.1f} {d:.1f}" for (a, b), (c, d) in zip(starts, ends, strict=True)
    )
