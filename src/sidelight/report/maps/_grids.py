"""Self-organizing maps as pictures of their grids: U-matrix and component planes."""

from __future__ import annotations

import numpy as np
from markupsafe import Markup

from sidelight.pictures.inner import (
    Given,
    grid_cells,
    mean_distances,
    node_edges,
    node_places,
    node_vectors,
    shorten_words,
    value_range,
)
from sidelight.report.cards import Panel, card, html, note, panels
from sidelight.report.maps._colors import ramp

MAX_PLANES = 12


def grid_card(given: Given) -> Markup | None:
    """Return U-matrix and component planes, where the map has a grid of nodes."""
    estimator = given.estimator
    places = node_places(estimator)
    vectors = None if places is None else node_vectors(estimator, given.source.n_features)
    if places is None or vectors is None:
        return None
    edges = node_edges(estimator, places)
    hexagonal = getattr(estimator, "topology", "rectangular") == "hexagonal"
    borders = mean_distances(vectors, edges)
    umatrix = Panel(
        "Borders on the grid",
        grid_cells(
            places, edges, borders, hexagonal=hexagonal, title="U-matrix", css="nodes umatrix"
        ),
        "Mean distance of each node to its neighbors on the grid (U-matrix): light ridges part "
        "regions of the data. " + value_range(borders),
    )
    spread = vectors.std(axis=0)
    order = np.sort(np.argsort(-spread, kind="stable")[:MAX_PLANES])
    planes = [
        Panel(
            shorten_words(given.feature_names[feature], 30),
            grid_cells(
                places,
                edges,
                vectors[:, feature],
                hexagonal=hexagonal,
                title=f"Component plane of {given.feature_names[feature]}",
                css=f"nodes plane{feature}",
            ),
            value_range(vectors[:, feature]),
        )
        for feature in order
    ]
    hidden = vectors.shape[1] - len(planes)
    text = html(
        "Each picture shows all nodes of the grid, colored from {}{}.",
        ramp("low", "high"),
        f"; {hidden} more features vary less over the grid" if hidden else "",
    )
    shown = panels(umatrix, *planes, css="maps ramp-of-nodes")
    return card("The grid of the map", shown, note(text))
