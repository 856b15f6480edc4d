"""The map of a graph: which nodes and edges are drawn, and their picture as SVG."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sidelight._typing import Array, FloatArray, IntArray
from sidelight.pictures._points import CENTER, Lines, Points

#: Of more nodes a random sample is drawn.
MAX_NODES = 6_000
#: Of more edges between drawn nodes, those inside of clusters are drawn first.
MAX_EDGES = 18_000


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
    if n > MAX_NODES:
        drawn = np.random.default_rng(0).choice(n, MAX_NODES, replace=False)
        rows = np.unique(np.concatenate([drawn, middle]))
        note = f"{len(rows):,} of {n:,} nodes are drawn: a random sample"
    place = np.full(n, -1, np.int64)
    place[rows] = np.arange(len(rows))
    ends = place[edges]
    ends = ends[(ends >= 0).all(axis=1)]
    kept = codes[rows]
    if len(ends) > MAX_EDGES:
        between = kept[ends[:, 0]] != kept[ends[:, 1]]
        note = f"{note}, " if note else ""
        note += f"{MAX_EDGES:,} of {len(ends):,} edges are drawn, those inside of clusters first"
        ends = ends[np.argsort(between, kind="stable")[:MAX_EDGES]]
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


def region_points(
    drawn: RegionMap, names: Sequence[str] = (), cluster_names: Sequence[str] = ()
) -> Points:
    """Nodes at their places; edges inside of clusters have their color, others are grey.

    Parameters
    ----------
    drawn : RegionMap
        What to draw.
    names : sequence of str, default=()
        Names of the drawn nodes.
    cluster_names : sequence of str, default=()
        Names of the clusters.
    """
    ends = drawn.codes[drawn.edges]
    same = (ends[:, 0] == ends[:, 1]) & (ends[:, 0] >= 0)
    centers = np.zeros(len(drawn.codes), bool)
    centers[drawn.centers] = True
    titles = [
        f"{name}: cluster {cluster_names[code] if code >= 0 else 'none'}{', center' * is_center}"
        for name, code, is_center in zip(
            names, drawn.codes.tolist(), centers.tolist(), strict=bool(names)
        )
    ]
    return Points(
        title="Connected clusters on the map",
        text=f"{len(drawn.codes)} nodes, {len(drawn.edges)} edges, {drawn.n_clusters} clusters.",
        xy=drawn.places,
        codes=drawn.codes,
        n_colors=drawn.n_clusters,
        titles=titles,
        marks={CENTER: centers},
        lines=[
            Lines("between", drawn.edges[~same], "faint", "between"),
            Lines("inside", drawn.edges[same], "group", "inside"),
        ],
        axis_titles=("first coordinate", "second coordinate"),
        note=drawn.note,
        equal=True,
        css="regions",
        size=(800, 560),
    )
