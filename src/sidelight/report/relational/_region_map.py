"""The map of a graph: which nodes and edges are drawn, and their picture as SVG."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from sidelight._typing import Array, FloatArray, IntArray
from sidelight.report._charts import Box, frame_of, svg_start

#: Of more nodes a random sample is drawn.
MOST_NODES = 6_000
#: Of more edges between drawn nodes, those inside of clusters are drawn first.
MOST_EDGES = 18_000
#: Up to so many nodes carry their name, shown when the pointer rests on them.
MOST_TITLES = 2_000
MAP = Box(width=800, height=560, left=14, right=14, top=14, bottom=14)


@dataclass(frozen=True, eq=False)
class RegionMap:
    """Nodes and edges that a map shows.

    Attributes
    ----------
    rows : ndarray of shape (n_drawn,)
        Positions of the drawn nodes, rising.
    places : ndarray of shape (n_drawn, 2)
        Their coordinates.
    codes : ndarray of shape (n_drawn,)
        Their clusters, numbered from 0; -1 for none.
    edges : ndarray of shape (m, 2)
        Drawn edges, as places among the drawn nodes.
    centers : ndarray of shape (n_centers,)
        Drawn nodes that are the center of a cluster.
    n_clusters : int
        Number of clusters.
    note : str
        What is not drawn; empty where everything is.
    """

    rows: IntArray
    places: FloatArray
    codes: IntArray
    edges: IntArray
    centers: IntArray
    n_clusters: int
    note: str


def region_map(
    places: FloatArray, edges: IntArray, labels: Array, centers: Any = None
) -> RegionMap:
    """Choose what is drawn.

    Parameters
    ----------
    places : ndarray of shape (n, 2)
        Coordinates of the nodes.
    edges : ndarray of shape (m, 2)
        Edges, as positions.
    labels : ndarray of shape (n,)
        Cluster of every node; -1 for none.
    centers : array-like of int, optional
        Positions of the center nodes, which are always drawn; -1 for none.
    """
    codes = _codes(labels)
    n = len(codes)
    middle = np.asarray([] if centers is None else centers, np.int64)
    middle = middle[middle >= 0]
    rows, note = np.arange(n), ""
    if n > MOST_NODES:
        drawn = np.random.default_rng(0).choice(n, MOST_NODES, replace=False)
        rows = np.unique(np.concatenate([drawn, middle]))
        note = f"{len(rows):,} of {n:,} nodes are drawn: a random sample"
    place = np.full(n, -1, np.int64)
    place[rows] = np.arange(len(rows))
    ends = place[edges]
    ends = ends[(ends >= 0).all(axis=1)]
    kept = codes[rows]
    if len(ends) > MOST_EDGES:
        between = kept[ends[:, 0]] != kept[ends[:, 1]]
        note = f"{note}, " if note else ""
        note += f"{MOST_EDGES:,} of {len(ends):,} edges are drawn, those inside of clusters first"
        ends = ends[np.argsort(between, kind="stable")[:MOST_EDGES]]
    return RegionMap(
        rows=rows,
        places=np.asarray(places, np.float64)[rows],
        codes=kept,
        edges=ends,
        centers=place[middle],
        n_clusters=int(codes.max(initial=-1)) + 1,
        note=note,
    )


def _codes(labels: Array) -> IntArray:
    """Clusters by number; -1 stays."""
    values, codes = np.unique(labels, return_inverse=True)
    outside = int(len(values) > 0 and values[0] == -1)
    return codes.reshape(-1).astype(np.int64) - outside


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
