"""The map of a graph: which nodes and edges are drawn, and how."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sidelight._typing import Array, FloatArray, IntArray
from sidelight.pictures._run import clusters_of
from sidelight.pictures.kinds._points import Lines, Mark, Points

#: Of more nodes a random sample is drawn.
MAX_NODES = 6_000
#: Of more edges between drawn nodes, those inside of clusters are drawn first.
MAX_EDGES = 18_000


def region_points(
    places: FloatArray,
    edges: IntArray,
    labels: Array,
    centers: Any = None,
    *,
    heading: str = "",
    names_of: Callable[[IntArray], Sequence[str]] = lambda rows: (),
    cluster_names: Sequence[str] = (),
) -> Points:
    """Nodes at their places; edges inside of clusters have their color, others are grey.

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
    heading : str, default=""
        What found the clusters.
    names_of : callable, optional
        Gives the names of drawn nodes by their positions.
    cluster_names : sequence of str, default=()
        Names of the clusters.
    """
    codes = clusters_of(labels).codes
    middle = np.asarray([] if centers is None else centers, np.int64)
    middle = middle[middle >= 0]
    rows, note = _drawn_nodes(len(codes), middle)
    place = np.full(len(codes), -1, np.int64)
    place[rows] = np.arange(len(rows))
    kept = codes[rows]
    ends = place[edges]
    ends, edge_note = _drawn_edges(ends[(ends >= 0).all(axis=1)], kept)
    same = (kept[ends[:, 0]] == kept[ends[:, 1]]) & (kept[ends[:, 0]] >= 0)
    is_center = np.zeros(len(rows), bool)
    is_center[place[middle]] = True
    n_clusters = int(codes.max(initial=-1)) + 1
    names = names_of(rows)
    titles = [
        f"{name}: cluster {cluster_names[code] if code >= 0 else 'none'}{', center' * center}"
        for name, code, center in zip(names, kept.tolist(), is_center.tolist(), strict=bool(names))
    ]
    return Points(
        title="Connected clusters on the map",
        text=f"{len(rows)} nodes, {len(ends)} edges, {n_clusters} clusters.",
        heading=heading,
        note=", ".join(one for one in (note, edge_note) if one),
        xy=np.asarray(places, np.float64)[rows],
        codes=kept,
        n_colors=n_clusters,
        rows=rows,
        titles=titles,
        marks={Mark.CENTER: is_center},
        lines=[
            Lines("between", ends[~same], "faint", "between", label=None),
            Lines("inside", ends[same], "group", "inside", label=None),
        ],
        axis_titles=("first coordinate", "second coordinate"),
        equal=True,
        css="regions",
        size=(800, 560),
    )


def _drawn_nodes(n: int, centers: IntArray) -> tuple[IntArray, str]:
    if n <= MAX_NODES:
        return np.arange(n), ""
    drawn = np.random.default_rng(0).choice(n, MAX_NODES, replace=False)
    rows = np.unique(np.concatenate([drawn, centers]))
    return rows, f"{len(rows):,} of {n:,} nodes are drawn: a random sample"


def _drawn_edges(ends: IntArray, codes: IntArray) -> tuple[IntArray, str]:
    if len(ends) <= MAX_EDGES:
        return ends, ""
    between = codes[ends[:, 0]] != codes[ends[:, 1]]
    note = f"{MAX_EDGES:,} of {len(ends):,} edges are drawn, those inside of clusters first"
    return ends[np.argsort(between, kind="stable")[:MAX_EDGES]], note
