"""Pictures of self-organizing maps: distances between nodes, columns, hits, and the grid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self, TypeAlias

import numpy as np

from sidelight._typing import Array
from sidelight.display._canvas import Display, Inks, check_matplotlib, set_titles
from sidelight.display._draw._cells import draw_nodes
from sidelight.display._draw._points import draw_points
from sidelight.display._rows import (
    axis_titles_of,
    final_step,
    in_plane,
    plane_of,
    readable,
    sampled_note,
)
from sidelight.exceptions import InvalidRequest
from sidelight.pictures._points import Lines, Points
from sidelight.pictures._run import sample_rows
from sidelight.pictures._selection import MAX_POINTS
from sidelight.pictures.maps._grids import grid_cells, mean_distances, node_places

MapKind: TypeAlias = Literal["u-matrix", "component", "hits", "grid"]
KINDS = ("u-matrix", "component", "hits", "grid")


@dataclass(eq=False, repr=False, kw_only=True)
class MapDisplay(Display):
    """A self-organizing map as a picture of its nodes.

    Cells are squares or, on hexagonal grids, hexagons, at the places of the nodes on the map, so
    that the coordinates of rows (``embedding_``) can be drawn over them.

    * ``"u-matrix"``: mean distance of the mean of a node to those of its neighbors. Light valleys
      are clusters, dark ridges are borders.
    * ``"component"``: mean of one column at every node, in the units of the column.
    * ``"hits"``: number of rows of every node, as the area of a filled cell.
    * ``"grid"``: nodes and the edges between them over the rows, on two features or two principal
      components.

    Parameters
    ----------
    kind : {"u-matrix", "component", "hits", "grid"}
        What is drawn.
    nodes : ndarray of shape (n_nodes, 2)
        Places of the nodes in the picture.
    values : ndarray of shape (n_nodes,)
        Value of every node.
    edges : ndarray of int, shape (n_edges, 2)
        Pairs of neighboring nodes.
    hexagonal : bool
        Whether cells are hexagons.
    xy : ndarray of shape (n_drawn, 2)
        Places of the drawn rows, for the grid.
    value_title : str
        What the values are, beside the color bar.
    axis_titles : tuple of str
        Titles of the axes.
    title, note : str
        Written above the picture.

    Attributes
    ----------
    cells_ : PolyCollection or None
        The cells.
    points_ : PathCollection or None
        The rows, under a grid.
    lines_ : LineCollection or None
        The edges of a grid.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sidelight.display import MapDisplay
    >>> from sidelight.mixture import SelfOrganizingMixture
    >>> X = load_iris().data
    >>> som = SelfOrganizingMixture((6, 6), topology="hexagonal", random_state=0).fit(X)
    >>> display = MapDisplay.from_estimator(som, kind="component", feature=2)
    >>> display.values.shape
    (36,)
    """

    kind: MapKind
    nodes: Array
    values: Array
    edges: Array
    hexagonal: bool = False
    xy: Array | None = None
    value_title: str = ""
    axis_titles: tuple[str, str] = ("first coordinate of the map", "second coordinate of the map")
    title: str = ""
    note: str = ""

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
        features : sequence of two names or numbers, default=None
            Features that a grid is drawn over; by default both of two, or principal components.
        feature_names : sequence of str, default=None
            Names of the features; by default those of the data frame, or of the fit.
        **options : dict
            Passed on to :meth:`plot`.
        """
        check_matplotlib(cls.__name__)
        model, as_given = final_step(estimator)
        _check_map(model, kind)
        names = _names(feature_names, X, model)
        common = {
            "kind": kind,
            "edges": model.edges_,
            "hexagonal": model.topology == "hexagonal",
            "title": type(model).__name__,
        }
        if kind == "grid":
            if X is not None and not as_given:  # the nodes are among the prepared rows
                X = estimator[:-1].transform(X)
            return cls._of_grid(model, X, names, features, common).plot(ax, **options)
        values, title = _values(estimator, model, X, kind, feature, names)
        nodes = node_places(model)
        assert nodes is not None  # a map of more axes was refused
        return cls(nodes=nodes, values=values, value_title=title, **common).plot(ax, **options)

    @classmethod
    def _of_grid(
        cls,
        model: Any,
        X: Any,
        names: Sequence[str],
        features: Sequence[Any] | None,
        common: dict[str, Any],
    ) -> Self:
        """Nodes and rows in one plane of the data."""
        if X is None:
            raise InvalidRequest("A grid is drawn over rows: give X.")
        source = readable(X)
        rng = np.random.default_rng(0)  # the same rows give the same picture
        rows = sample_rows(source.n_rows, MAX_POINTS, rng)
        projection = plane_of(source, rows, names, rng, features)
        nodes = in_plane(np.asarray(model.means_, np.float64), projection)
        if projection.kind == "strip":
            nodes = np.column_stack([nodes[:, 0], np.zeros(len(nodes))])
        return cls(
            nodes=nodes,
            values=np.zeros(len(nodes)),
            xy=projection.xy,
            axis_titles=axis_titles_of(projection),
            note=sampled_note(len(rows), source.n_rows),
            **common,
        )

    def plot(self, ax: Any = None, *, cmap: Any = None, **kwargs: Any) -> Self:
        """Draw.

        Parameters
        ----------
        cmap : str or Colormap, default=None
            Colors of the values; by default light to dark for distances, viridis for columns.
        **kwargs : dict
            Passed on to the ``PolyCollection`` of the cells, or to ``Axes.scatter`` of the rows.

        Returns
        -------
        MapDisplay
            The display itself.
        """
        inks = self._begin(ax, (5.6, 4.8))
        self.cells_: Any = None
        self.points_: Any = None
        self.lines_: Any = None
        if self.kind == "grid":
            self._draw_grid(inks, kwargs)
        else:
            self._draw_cells(inks, cmap, kwargs)
        set_titles(self.ax_, self.axis_titles, self.title, self.note)
        return self

    def _draw_cells(self, inks: Inks, cmap: Any, kwargs: dict[str, Any]) -> None:
        picture = grid_cells(
            self.nodes,
            self.edges,
            self.values,
            hexagonal=self.hexagonal,
            title=self.kind,
            value_title=self.value_title,
        )
        if self.kind == "hits":
            largest = max(float(self.values.max()), 1.0)
            draw_nodes(self.ax_, picture, facecolors="none", edgecolors=inks.faint, linewidths=0.5)
            style = {"facecolors": inks.soft, "edgecolors": "none"} | kwargs
            self.cells_ = draw_nodes(self.ax_, picture, self.values / largest, **style)
            self.note = f"largest cell: {largest:.0f} rows"
            return
        chosen = cmap or ("Greys" if self.kind == "u-matrix" else "viridis")
        style = {"edgecolors": "face", "linewidths": 0.2} | kwargs
        self.cells_ = draw_nodes(self.ax_, picture, array=self.values, cmap=chosen, **style)
        self.figure_.colorbar(self.cells_, ax=self.ax_, label=picture.value_title)

    def _draw_grid(self, inks: Inks, kwargs: dict[str, Any]) -> None:
        assert self.xy is not None
        nowhere = np.full(len(self.xy), -1)
        below = Points(title="The rows", text="", xy=self.xy, codes=nowhere)
        self.points_ = draw_points(
            self.ax_, below, inks, **({"s": 8.0, "alpha": 0.6} | kwargs)
        ).points
        grid = Points(
            title="The nodes",
            text="",
            xy=self.nodes,
            codes=np.zeros(len(self.nodes), np.int64),
            lines=[Lines("edges", self.edges, "ink")],
        )
        drawn = draw_points(self.ax_, grid, inks, c=inks.ink, s=16.0, zorder=4.0)
        self.lines_ = drawn.lines["edges"]


def _check_map(model: Any, kind: str) -> None:
    """Raise for what is no map of one or two axes."""
    if not hasattr(model, "node_positions_"):
        raise InvalidRequest(
            f"{type(model).__name__} is no fitted self-organizing map: it has no nodes to draw."
        )
    if kind not in KINDS:
        raise InvalidRequest(f"kind is one of {', '.join(map(repr, KINDS))}, not {kind!r}.")
    n_axes = model.node_positions_.shape[1]
    if n_axes > 2 and kind != "grid":
        raise InvalidRequest(f"The grid has {n_axes} axes; cells are drawn for one or two.")


def _values(
    estimator: Any, model: Any, X: Any, kind: str, feature: Any, names: Sequence[str]
) -> tuple[Array, str]:
    """Value of every node, and what it is."""
    means = np.asarray(model.means_, np.float64)
    if kind == "u-matrix":
        return mean_distances(means, model.edges_), "distance to the neighbors"
    if kind == "hits":
        winners = model.winners_ if X is None else estimator.predict(X)
        return np.bincount(winners, minlength=len(means)).astype(np.float64), "rows"
    if feature is None:
        raise InvalidRequest("A component plane shows one column: give feature, a name or number.")
    column = _column(feature, names)
    return means[:, column], names[column]


def _column(feature: Any, names: Sequence[str]) -> int:
    if feature in list(names):
        return list(names).index(feature)
    if isinstance(feature, int | np.integer) and 0 <= feature < len(names):
        return int(feature)
    shown = ", ".join(names[:10]) + (", ..." if len(names) > 10 else "")
    raise InvalidRequest(f"There is no column {feature!r}; give a name or number out of: {shown}.")


def _names(feature_names: Sequence[str] | None, X: Any, model: Any) -> list[str]:
    n = model.means_.shape[1]
    for names in (feature_names, getattr(X, "columns", None)):
        if names is not None and len(names) == n:
            return [str(name) for name in names]
    known = getattr(model, "feature_names_in_", None)
    return [f"feature {j}" for j in range(n)] if known is None else [str(one) for one in known]
