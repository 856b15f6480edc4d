"""Clusters that are connected in a graph, on its map."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from sidelight._typing import FloatArray
from sidelight.constraints import as_relations
from sidelight.constraints.inner import plain
from sidelight.display._canvas import Display, Inks, check_matplotlib, set_titles
from sidelight.display._draw._points import draw_points
from sidelight.exceptions import InvalidRequest
from sidelight.pictures._points import CENTER
from sidelight.pictures._rows import final_step
from sidelight.pictures.relational._region_map import RegionMap, region_map, region_points

#: Points of up to so many nodes are drawn large.
_FEW = 300


@dataclass(eq=False, repr=False, kw_only=True)
class ConnectedClustersDisplay(Display):
    """Map of a graph: nodes at their coordinates, edges inside of clusters in their color.

    Edges between clusters are thin and grey, center nodes are outlined, and nodes in no cluster
    are grey. Of more than 6,000 nodes a random sample is drawn, and the title says so.

    Parameters
    ----------
    map : RegionMap
        Nodes with their places, the edges between them, and the clusters.

    Attributes
    ----------
    points_ : PathCollection
        The nodes.
    inside_, between_ : LineCollection
        Edges inside of clusters, and between them.
    centers_ : PathCollection or None
        Rings around the center nodes.

    Examples
    --------
    >>> from sidelight import Relations
    >>> from sidelight.display import ConnectedClustersDisplay
    >>> places = [[0, 0], [1, 0], [2, 0], [3, 0]]
    >>> path = Relations([(0, 1), (1, 2), (2, 3)], n_samples=4)
    >>> display = ConnectedClustersDisplay.from_labels(places, path, [0, 0, 1, 1])
    >>> len(display.inside_.get_segments()), len(display.between_.get_segments())
    (2, 1)
    """

    map: RegionMap
    title: str = ""

    @classmethod
    def from_estimator(
        cls, estimator: Any, coordinates: Any, relations: Any, *, ax: Any = None
    ) -> Self:
        """Draw the clusters of a fitted estimator.

        Parameters
        ----------
        estimator : fitted clusterer
            Has ``labels_``; ``center_nodes_`` are outlined where it has them.
        coordinates : array-like of shape (n_samples, 2)
            Place of every row on the map.
        relations : Relations, sparse matrix, networkx graph or array-like of shape (m, 2)
            The graph that it was fitted with.
        """
        check_matplotlib(cls.__name__)
        model, _ = final_step(estimator)
        if not hasattr(model, "labels_"):
            raise InvalidRequest(f"{type(model).__name__} gives no clusters (it has no labels_).")
        drawn = _map(coordinates, relations, model.labels_, getattr(model, "center_nodes_", None))
        return cls(map=drawn, title=type(model).__name__).plot(ax)

    @classmethod
    def from_labels(cls, coordinates: Any, relations: Any, labels: Any, *, ax: Any = None) -> Self:
        """Draw the clusters of any labels.

        Parameters
        ----------
        coordinates : array-like of shape (n_samples, 2)
            Place of every row on the map.
        relations : Relations, sparse matrix, networkx graph or array-like of shape (m, 2)
            The graph between the rows.
        labels : array-like of shape (n_samples,)
            Cluster of every row; -1 for none.
        """
        check_matplotlib(cls.__name__)
        return cls(map=_map(coordinates, relations, labels, None)).plot(ax)

    def _draw(self, inks: Inks) -> None:
        picture = region_points(self.map)
        few = len(picture.codes) <= _FEW
        size = 36 if few else max(4.0, 36 * _FEW / len(picture.codes))
        edge: dict[str, Any] = {"edgecolors": inks.page, "linewidths": 0.5}
        drawn = draw_points(self.ax_, picture, inks, s=size, **edge)
        self.points_, self.centers_ = drawn.points, drawn.marks.get(CENTER)
        self.inside_, self.between_ = drawn.lines["inside"], drawn.lines["between"]
        self.ax_.set_aspect("equal", adjustable="datalim")
        set_titles(self.ax_, picture.axis_titles, self.title, picture.note)


def _map(coordinates: Any, relations: Any, labels: Any, centers: Any) -> RegionMap:
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
    return region_map(places, graph.edges, clusters, centers)
