"""Self-organizing maps as pictures of their grids: U-matrix and component planes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist

from sidelight._typing import Array
from sidelight.report._charts import Box, figure, svg_start
from sidelight.report._run import Given, shorten_words
from sidelight.report._sections import Section
from sidelight.report._tables import format_number
from sidelight.report.maps._colors import STEPS

MOST_PLANES = 12
WIDTH = 280.0
#: Nodes within so many steps of the grid are neighbors.
REACH = 1.2
#: Attributes with a vector for each node, in the space of the features.
VECTORS = ("means_", "cluster_centers_", "codebook_", "prototypes_")


def grid_figures(given: Given) -> Section:
    """U-matrix and component planes, where the map has a grid of nodes."""
    estimator = given.estimator
    nodes = getattr(estimator, "node_positions_", None)
    vectors = _vectors(estimator, nodes, given.source.n_features)
    if nodes is None or vectors is None or np.shape(nodes)[1] > 2:
        return {"umatrix": None, "component_planes": [], "n_hidden_planes": 0}
    places = np.asarray(nodes, dtype=np.float64)
    if places.shape[1] == 1:
        places = np.column_stack([places[:, 0], np.zeros(len(places))])
    hexagonal = getattr(estimator, "topology", "rectangular") == "hexagonal"
    borders = neighbor_distances(places, vectors)
    umatrix = figure(
        "Borders on the grid",
        _grid(places, borders, hexagonal, "nodes umatrix", "U-matrix"),
        "Mean distance of each node to its neighbors on the grid (U-matrix): light ridges part "
        "regions of the data. " + _range(borders),
    )
    spread = vectors.std(axis=0)
    order = np.sort(np.argsort(-spread, kind="stable")[:MOST_PLANES])
    planes = [
        figure(
            shorten_words(given.feature_names[feature], 30),
            _grid(
                places,
                vectors[:, feature],
                hexagonal,
                f"nodes plane{feature}",
                f"Component plane of {given.feature_names[feature]}",
            ),
            _range(vectors[:, feature]),
        )
        for feature in order
    ]
    hidden = vectors.shape[1] - len(planes)
    return {"umatrix": umatrix, "component_planes": planes, "n_hidden_planes": hidden}


def neighbor_distances(places: Array, vectors: Array) -> Array:
    """Mean distance of each node's vector to those of its neighbors on the grid."""
    step = _step(places)
    pairs = cKDTree(places).query_pairs(REACH * step, output_type="ndarray")
    far = np.linalg.norm(vectors[pairs[:, 0]] - vectors[pairs[:, 1]], axis=1)
    total = np.bincount(pairs.ravel(), np.repeat(far, 2), minlength=len(places))
    number = np.bincount(pairs.ravel(), minlength=len(places))
    return np.asarray(total / np.maximum(number, 1))


def _vectors(estimator: Any, nodes: Any, n_features: int) -> Array | None:
    if nodes is None:
        return None
    for name in VECTORS:
        vectors = getattr(estimator, name, None)
        if vectors is not None and np.shape(vectors) == (len(nodes), n_features):
            return np.asarray(vectors, dtype=np.float64)
    return None


def _step(places: Array) -> float:
    """Distance of nodes that are next to each other."""
    if len(places) < 2:
        return 1.0
    distances = cdist(places[:1], places[1:])
    return float(distances[distances > 0].min(initial=np.inf)) if distances.any() else 1.0


def _range(values: Array) -> str:
    return f"From {format_number(float(values.min()))} to {format_number(float(values.max()))}."


def _grid(places: Array, values: Array, hexagonal: bool, name: str, title: str) -> str:
    """Draw the nodes as cells colored by a value."""
    step = _step(places)
    low, high = places.min(axis=0) - step / 2, places.max(axis=0) + step / 2
    scale = WIDTH / (high[0] - low[0])
    height = max((high[1] - low[1]) * scale, 12.0)
    if height > WIDTH:
        scale, height = scale * WIDTH / height, WIDTH
    box = Box(width=WIDTH, height=height, left=0, right=0, top=0, bottom=0)
    ends = float(values.min()), float(values.max())
    shares = (values - ends[0]) / max(ends[1] - ends[0], 1e-300)
    steps = np.clip(shares * STEPS, 0, STEPS - 1).astype(int)
    cell = _cell(hexagonal, step * scale)
    parts = [svg_start(box, name, title, _range(values))]
    for (x, y), value, number in zip(places, values, steps, strict=True):
        at_x, at_y = (x - low[0]) * scale, height - (y - low[1]) * scale
        parts.append(
            f'<path class="s{number}" transform="translate({at_x:.1f} {at_y:.1f})" d="{cell}">'
            f"<title>{format_number(float(value))}</title></path>"
        )
    return "".join(parts) + "</svg>"


def _cell(hexagonal: bool, step: float) -> str:
    """Outline of a cell around its node: a hexagon with a corner at the top, or a square."""
    if not hexagonal:
        half = step / 2
        return f"M{-half:.2f} {-half:.2f}h{step:.2f}v{step:.2f}h{-step:.2f}Z"
    radius = step / math.sqrt(3.0)
    angles = np.deg2rad(90 + 60 * np.arange(6))
    corners = zip(radius * np.cos(angles), radius * np.sin(angles), strict=True)
    return "M" + "L".join(f"{x:.2f} {y:.2f}" for x, y in corners) + "Z"
