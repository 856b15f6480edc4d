"""Clusters that are connected in a graph, on its map."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from sidelight._typing import FloatArray
from sidelight.constraints import as_relations
from sidelight.constraints.inner import plain
from sidelight.display._canvas import Inks
from sidelight.display._display import Display
from sidelight.exceptions import InvalidRequest
from sidelight.pictures import Points
from sidelight.pictures.inner import fitted_with, region_points

#: Points of up to so many nodes are drawn large.
_FEW = 300


class ConnectedClustersDisplay(Display, kind=Points):
    """Map of a graph: nodes at their coordinates, edges inside of clusters in their color.

    Edges between clusters are thin and grey, center nodes are outlined, and nodes in no cluster
    are grey. Of more than 6,000 nodes a random sample is drawn, and the title says so. Lines are
    called ``"inside"`` and ``"between"``, and the rings around center nodes are the mark
    ``"center"``.

    Examples
    --------
    >>> from sidelight import Relations
    >>> from sidelight.display import ConnectedClustersDisplay
    >>> places = [[0, 0], [1, 0], [2, 0], [3, 0]]
    >>> path = Relations([(0, 1), (1, 2), (2, 3)], n_samples=4)
    >>> display = ConnectedClustersDisplay.from_labels(places, path, [0, 0, 1, 1])
    >>> {kind: len(lines.get_segments()) for kind, lines in display.drawn_.lines.items()}
    {'between': 1, 'inside': 2}
    """

    @classmethod
    def from_estimator(
        cls, estimator: Any, coordinates: Any, relations: Any, *, ax: Any = None, **options: Any
    ) -> Self:
        """Draw the clusters of a fitted estimator.

        Parameters
        ----------
        estimator : fitted clusterer
            Has ``labels_``; ``center_nodes_`` are outlined where it has them.
        coordinates : array-like of shape (n_samples, 2)
            Place of every row on the map.
        relations : Relations, sparse matrix, networkx graph or array-like of shape (m, 2)
            The graph of the rows.
        """
        model = fitted_with(estimator, "labels_", "gives no clusters (it has no labels_).")
        centers = getattr(model, "center_nodes_", None)
        drawn = _points(coordinates, relations, model.labels_, centers, type(model).__name__)
        return cls(drawn).plot(ax, **options)

    @classmethod
    def from_labels(
        cls, coordinates: Any, relations: Any, labels: Any, *, ax: Any = None, **options: Any
    ) -> Self:
        """Draw the clusters of any labels."""
        return cls(_points(coordinates, relations, labels)).plot(ax, **options)

    def _options(self, inks: Inks) -> Mapping[str, Any]:
        size = max(4.0, 36 * min(1.0, _FEW / max(len(self.picture.codes), 1)))
        return {"s": size, "edgecolors": inks.page, "linewidths": 0.5}


def _points(
    coordinates: Any, relations: Any, labels: Any, centers: Any = None, heading: str = ""
) -> Points:
    places: FloatArray = np.asarray(plain(coordinates), np.float64)
    clusters = np.asarray(labels)
    if places.ndim != 2 or places.shape[1] != 2:
        raise InvalidRequest(
            f"coordinates hold two numbers per row, got an array of shape {places.shape}."
        )
    if not np.isfinite(places).all():
        raise InvalidRequest("coordinates must be finite numbers.")
    if len(places) != len(clusters):
        raise InvalidRequest(
            f"coordinates are given for {len(places)} rows, but {len(clusters)} have a cluster."
        )
    graph = as_relations(relations, len(places))
    return region_points(places, graph.edges, clusters, centers, heading=heading)
