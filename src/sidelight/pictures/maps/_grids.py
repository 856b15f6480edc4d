"""Grids of nodes: vectors of the nodes, and how far neighbors are apart."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist

from sidelight._typing import Array
from sidelight._words import format_number

#: Nodes within so many steps of the grid are neighbors.
REACH = 1.2
#: Attributes with a vector for each node, in the space of the features.
VECTORS = ("means_", "cluster_centers_", "codebook_", "prototypes_")


def neighbor_distances(places: Array, vectors: Array) -> Array:
    """Mean distance of each node's vector to those of its neighbors on the grid."""
    step = grid_step(places)
    pairs = cKDTree(places).query_pairs(REACH * step, output_type="ndarray")
    far = np.linalg.norm(vectors[pairs[:, 0]] - vectors[pairs[:, 1]], axis=1)
    total = np.bincount(pairs.ravel(), np.repeat(far, 2), minlength=len(places))
    number = np.bincount(pairs.ravel(), minlength=len(places))
    return np.asarray(total / np.maximum(number, 1))


def node_vectors(estimator: Any, nodes: Any, n_features: int) -> Array | None:
    if nodes is None:
        return None
    for name in VECTORS:
        vectors = getattr(estimator, name, None)
        if vectors is not None and np.shape(vectors) == (len(nodes), n_features):
            return np.asarray(vectors, dtype=np.float64)
    return None


def grid_step(places: Array) -> float:
    """Distance of nodes that are next to each other."""
    if len(places) < 2:
        return 1.0
    distances = cdist(places[:1], places[1:])
    return float(distances[distances > 0].min(initial=np.inf)) if distances.any() else 1.0


def value_range(values: Array) -> str:
    return f"From {format_number(float(values.min()))} to {format_number(float(values.max()))}."
