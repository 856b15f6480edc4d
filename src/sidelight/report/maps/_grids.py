"""Self-organizing maps as pictures of their grids: U-matrix and component planes."""

from __future__ import annotations

import numpy as np

from sidelight.pictures._run import Given, shorten_words
from sidelight.pictures.maps._grids import neighbor_distances, node_vectors, value_range
from sidelight.pictures.svg._grids import grid_svg
from sidelight.report.figures import figure
from sidelight.report.sections import Section

MAX_PLANES = 12


def grid_figures(given: Given) -> Section:
    """U-matrix and component planes, where the map has a grid of nodes."""
    estimator = given.estimator
    nodes = getattr(estimator, "node_positions_", None)
    vectors = node_vectors(estimator, nodes, given.source.n_features)
    if nodes is None or vectors is None or np.shape(nodes)[1] > 2:
        return {"umatrix": None, "component_planes": [], "n_hidden_planes": 0}
    places = np.asarray(nodes, dtype=np.float64)
    if places.shape[1] == 1:
        places = np.column_stack([places[:, 0], np.zeros(len(places))])
    hexagonal = getattr(estimator, "topology", "rectangular") == "hexagonal"
    borders = neighbor_distances(places, vectors)
    umatrix = figure(
        "Borders on the grid",
        grid_svg(places, borders, hexagonal, "nodes umatrix", "U-matrix"),
        "Mean distance of each node to its neighbors on the grid (U-matrix): light ridges part "
        "regions of the data. " + value_range(borders),
    )
    spread = vectors.std(axis=0)
    order = np.sort(np.argsort(-spread, kind="stable")[:MAX_PLANES])
    planes = [
        figure(
            shorten_words(given.feature_names[feature], 30),
            grid_svg(
                places,
                vectors[:, feature],
                hexagonal,
                f"nodes plane{feature}",
                f"Component plane of {given.feature_names[feature]}",
            ),
            value_range(vectors[:, feature]),
        )
        for feature in order
    ]
    hidden = vectors.shape[1] - len(planes)
    return {"umatrix": umatrix, "component_planes": planes, "n_hidden_planes": hidden}
