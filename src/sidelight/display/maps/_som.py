"""Pictures of self-organizing maps: distances between nodes, columns, hits, and the grid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from sidelight.display._display import Display
from sidelight.pictures import Nodes, Points
from sidelight.pictures.inner import MapKind, check_map, final_step, grid_over_rows, map_cells


class MapDisplay(Display, kind=(Nodes, Points)):
    """A self-organizing map as a picture of its nodes.

    Cells are squares or, on hexagonal grids, hexagons, at the places of the nodes on the map, so
    that the coordinates of rows (``embedding_``) can be drawn over them.

    * ``"u-matrix"``: mean distance of the mean of a node to those of its neighbors. Light valleys
      are clusters, dark ridges are borders.
    * ``"component"``: mean of one column at every node, in the units of the column.
    * ``"hits"``: number of rows of every node, as the area of a filled cell.
    * ``"grid"``: nodes and the edges between them over the rows, on two features or two principal
      components.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sidelight.display import MapDisplay
    >>> from sidelight.mixture import SelfOrganizingMixture
    >>> X = load_iris().data
    >>> som = SelfOrganizingMixture((6, 6), topology="hexagonal", random_state=0).fit(X)
    >>> display = MapDisplay.from_estimator(som, kind="component", feature=2)
    >>> display.picture.values.shape
    (36,)
    """

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        *,
        kind: MapKind = "u-matrix",
        feature: Any = None,
        features: Sequence[Any] | None = None,
        feature_names: Sequence[str] | None = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw a fitted map.

        Parameters
        ----------
        estimator : fitted map
            A self-organizing map with a grid of one or two axes, or a pipeline that ends in one.
        X : array or data frame of shape (n_samples, n_features), default=None
            Rows, for the grid and for hits of other rows than those of the fit.
        kind : {"u-matrix", "component", "hits", "grid"}, default="u-matrix"
            What to draw.
        feature : name or number, default=None
            Column of a component plane.
        """
        model, as_given = final_step(estimator)
        check_map(model, kind)
        if kind == "grid":
            if X is not None and not as_given:  # the nodes are among the prepared rows
                X = estimator[:-1].transform(X)
            return cls(grid_over_rows(model, X, feature_names, features)).plot(ax, **options)
        winners = None
        if kind == "hits":
            winners = model.winners_ if X is None else estimator.predict(X)
        return cls(map_cells(model, kind, winners, feature, feature_names, X)).plot(ax, **options)

    @property
    def _size(self) -> tuple[float, float]:
        return 5.6, 4.8
