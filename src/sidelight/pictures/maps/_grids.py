"""Grids of nodes: their vectors, neighbors and cells, and how far neighbors are apart."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist

from sidelight._typing import FloatArray, IntArray
from sidelight._words import format_number
from sidelight.pictures.kinds._cells import Nodes

#: Attributes with a vector for each node, in the space of the features.
VECTORS = ("means_", "cluster_centers_", "codebook_", "prototypes_")
_REACH = 1.2  # nodes within this many steps of the grid are neighbors


def node_places(estimator: Any) -> FloatArray | None:
    """Places of the nodes of a map; None where it has no grid of one or two axes.

    A line of nodes runs to the right.
    """
    nodes = getattr(estimator, "node_positions_", None)
    if nodes is None or np.shape(nodes)[1] > 2:
        return None
    places = np.asarray(nodes, dtype=np.float64)
    return places if places.shape[1] == 2 else np.column_stack([places, np.zeros(len(places))])


def node_vectors(estimator: Any, n_features: int) -> FloatArray | None:
    """Vectors of the nodes in the space of the features; None where a map has none."""
    n_nodes = len(estimator.node_positions_)
    for name in VECTORS:
        vectors = getattr(estimator, name, None)
        if vectors is not None and np.shape(vectors) == (n_nodes, n_features):
            return np.asarray(vectors, dtype=np.float64)
    return None


def node_edges(estimator: Any, places: FloatArray) -> IntArray:
    """Pairs of neighboring nodes: those of the map, else nodes next to each other."""
    edges = getattr(estimator, "edges_", None)
    return near_pairs(places) if edges is None else np.asarray(edges, np.int64)


def near_pairs(places: FloatArray) -> IntArray:
    """Pairs of nodes that lie next to each other."""
    if len(places) < 2:
        return np.zeros((0, 2), np.int64)
    distances = cdist(places[:1], places[1:])
    step = float(distances[distances > 0].min(initial=np.inf)) if distances.any() else 1.0
    return cKDTree(places).query_pairs(_REACH * step, output_type="ndarray")


def mean_distances(vectors: FloatArray, edges: IntArray) -> FloatArray:
    """Mean distance of the vector of every node to those of its neighbors: the U-matrix."""
    lengths = np.linalg.norm(vectors[edges[:, 0]] - vectors[edges[:, 1]], axis=1)
    both = edges.T.ravel()
    sums = np.bincount(both, np.tile(lengths, 2), minlength=len(vectors))
    return np.asarray(sums / np.maximum(np.bincount(both, minlength=len(vectors)), 1))


def cell_outline(places: FloatArray, edges: IntArray, *, hexagonal: bool) -> FloatArray:
    """Corners of a cell about its node: neighboring cells share a side."""
    offsets = places[edges[:, 1]] - places[edges[:, 0]]
    lengths = np.linalg.norm(offsets, axis=1)
    nearest = int(lengths.argmin()) if len(lengths) else 0
    spacing = float(lengths[nearest]) if len(lengths) else 1.0
    if not hexagonal:
        return 0.5 * spacing * np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])
    # A side lies across every line to a neighbor, a corner half a side further around.
    first = np.arctan2(*offsets[nearest][::-1]) if len(lengths) else 0.0
    angles = first + np.pi / 6 + np.pi / 3 * np.arange(6)
    return np.column_stack([np.cos(angles), np.sin(angles)]) * spacing / np.sqrt(3)


def grid_cells(
    places: FloatArray,
    edges: IntArray,
    values: FloatArray,
    *,
    hexagonal: bool,
    title: str,
    value_title: str = "",
    css: str = "nodes",
) -> Nodes:
    """Cells of the nodes of a grid, colored by a number of each.

    Parameters
    ----------
    places : ndarray of shape (n_nodes, 2)
        Places of the nodes.
    edges : ndarray of int, shape (n_edges, 2)
        Pairs of neighboring nodes.
    values : ndarray of shape (n_nodes,)
        Number of every node.
    hexagonal : bool
        Whether cells are hexagons.
    title, value_title : str
        What the numbers are, in full and beside their scale.
    css : str, default="nodes"
        Classes of the style sheet of a page.
    """
    return Nodes(
        title=title,
        text=value_range(values),
        places=places,
        values=values,
        outline=cell_outline(places, edges, hexagonal=hexagonal),
        value_title=value_title,
        css=css,
    )


def value_range(values: FloatArray) -> str:
    """Least and largest of some values, in words."""
    return f"From {format_number(float(values.min()))} to {format_number(float(values.max()))}."
