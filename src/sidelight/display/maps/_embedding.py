"""The map of an embedding: rows in color, their neighborhood graph, neighbors lost and found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from scipy import sparse

from sidelight._typing import Array, IntArray
from sidelight._words import counted
from sidelight.constraints.inner import plain
from sidelight.display._canvas import MAX_NAMES, Display, Inks, check_matplotlib, set_titles
from sidelight.display._draw._points import draw_points, explain, name_points
from sidelight.evaluation import NeighborChanges, lost_and_found_neighbors
from sidelight.exceptions import InvalidRequest, SidelightError
from sidelight.pictures._points import Lines, Points
from sidelight.pictures._rows import final_step, sampled_note
from sidelight.pictures._selection import MAX_POINTS

#: At most so many rows are named.
MAX_IDS = 150

#: Colors of a column of numbers, from its smallest to its largest value.
COLOR_MAP = "viridis"

#: Title of an axis that means nothing.
HEIGHT = "(random height)"


@dataclass(frozen=True)
class Coloring:
    """Colors of rows: by group, or by the value of a column.

    Attributes
    ----------
    values : ndarray of shape (n,)
        Number of the group of each row (-1 for none), or values of the column.
    names : tuple of str or None
        Names of the groups; None for a column of numbers.
    title : str
        Name of the column or of the groups.
    """

    values: Array
    names: tuple[str, ...] | None
    title: str = ""

    def of_rows(self, rows: IntArray) -> Coloring:
        """Colors of some of the rows."""
        return Coloring(self.values[rows], self.names, self.title)

    def style(self, inks: Inks) -> dict[str, Any]:
        """Return arguments of ``Axes.scatter``."""
        if self.names is None:
            return {"c": self.values, "cmap": COLOR_MAP, "plotnonfinite": True}
        return {"c": inks.of_codes(self.values, len(self.names))}


@dataclass(eq=False, repr=False, kw_only=True)
class EmbeddingDisplay(Display):
    """Map of an embedding: rows at their coordinates, colored by a column or by groups.

    Make it by :meth:`from_estimator` or :meth:`from_coordinates`. Two coordinates are drawn; a
    single one becomes a strip with random heights. Of many rows 4,000 are drawn; the title says so,
    and how many rows have no place on the map.

    Parameters
    ----------
    xy : ndarray of shape (n_drawn, 2)
        Places of the drawn rows.
    rows : ndarray of int, shape (n_drawn,)
        Which rows are drawn: their positions in the data, ascending.
    coloring : Coloring or None
        Colors of the drawn rows.
    edges : ndarray of int, shape (m, 2)
        Edges of the neighborhood graph between drawn rows, by their places in ``rows``.
    lost, found : ndarray of int, shape (m, 2)
        Neighbors that the map loses and finds, by their places in ``rows``.
    row_names : dict of int to str
        Names to write, by the places of rows in ``rows``.
    axis_titles : tuple of str
        Titles of the axes.
    title, note : str
        Written above the picture.

    Attributes
    ----------
    points_ : PathCollection
        The rows.
    lines_ : dict of str to LineCollection
        Lines by kind: ``"graph"``, ``"lost"`` and ``"found"``, where there are any.
    colorbar_ : Colorbar or None
        Scale of the column that colors the rows.
    names_ : list of Text
        Names of rows.

    Examples
    --------
    >>> from sidelight.datasets import make_s_surface
    >>> from sidelight.display import EmbeddingDisplay
    >>> from sidelight.manifold import SammonMapping
    >>> surface = make_s_surface(100, random_state=0)
    >>> model = SammonMapping().fit(surface.data)
    >>> display = EmbeddingDisplay.from_estimator(
    ...     model, surface.data, color=surface.coordinates[:, 0], n_neighbors=5
    ... )
    >>> display.ax_.get_xlabel()
    '1st coordinate'
    """

    xy: Array
    rows: IntArray
    coloring: Coloring | None = None
    edges: IntArray = field(default_factory=lambda: np.zeros((0, 2), np.int64))
    lost: IntArray = field(default_factory=lambda: np.zeros((0, 2), np.int64))
    found: IntArray = field(default_factory=lambda: np.zeros((0, 2), np.int64))
    row_names: dict[int, str] = field(default_factory=dict)
    axis_titles: tuple[str, str] = ("1st coordinate", "2nd coordinate")
    title: str = ""
    note: str = ""

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        *,
        color: Any = None,
        graph: Any = None,
        n_neighbors: int | None = None,
        ids: Sequence[Any] | None = None,
        coordinates: Sequence[int] = (0, 1),
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw the map of a fitted embedding.

        Parameters
        ----------
        estimator : fitted embedding
            Anything with ``embedding_``, or a pipeline or search that ends with it.
        X : array or data frame of shape (n_samples, n_features), default=None
            The rows of the fit; needed for ``n_neighbors``, and for ``color`` by a column.
        color : array-like, str or int, default=None
            A value for every row, labels or clusters of the rows, or the name or number of a
            column of ``X``.
        graph : sparse matrix of shape (n_samples, n_samples) or True, default=None
            Neighborhood graph to draw; True takes that of the estimator.
        n_neighbors : int, default=None
            Number of nearest rows for which neighbors that the map loses and finds are drawn; none
            by default.
        ids : sequence of shape (n_samples,), default=None
            Names of the rows; at most 150 are written.
        coordinates : sequence of two ints, default=(0, 1)
            Which coordinates to draw.
        **options : dict
            Passed on to :meth:`plot`.
        """
        check_matplotlib(cls.__name__)
        final, _ = final_step(estimator)
        if not hasattr(final, "embedding_"):
            raise InvalidRequest(
                f"{type(final).__name__} places no rows on a map (it has no embedding_); "
                "EmbeddingDisplay.from_coordinates draws any coordinates."
            )
        if graph is True:
            graph = _own_graph(final)
        return cls.from_coordinates(
            final.embedding_,
            X,
            color=color,
            graph=graph,
            n_neighbors=n_neighbors,
            ids=ids,
            coordinates=coordinates,
            title=type(final).__name__,
            ax=ax,
            **options,
        )

    @classmethod
    def from_coordinates(
        cls,
        Z: Any,
        X: Any = None,
        *,
        color: Any = None,
        graph: Any = None,
        n_neighbors: int | None = None,
        ids: Sequence[Any] | None = None,
        coordinates: Sequence[int] = (0, 1),
        title: str = "",
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw rows at coordinates from anywhere.

        Parameters
        ----------
        Z : array of shape (n_samples, n_components)
            Coordinates; rows of NaN have no place and are not drawn.
        X : array or data frame of shape (n_samples, n_features), default=None
            The rows; needed for ``n_neighbors``, and for ``color`` by a column.
        color : array-like, str or int, default=None
            A value for every row, labels or clusters of the rows, or the name or number of a
            column of ``X``.
        graph : sparse matrix of shape (n_samples, n_samples), default=None
            Neighborhood graph to draw.
        n_neighbors : int, default=None
            Number of nearest rows for which neighbors that the map loses and finds are drawn; none
            by default.
        ids : sequence of shape (n_samples,), default=None
            Names of the rows; at most 150 are written.
        coordinates : sequence of two ints, default=(0, 1)
            Which coordinates to draw.
        title : str, default=""
            Written above the picture.
        **options : dict
            Passed on to :meth:`plot`.
        """
        check_matplotlib(cls.__name__)
        Z = coordinates_of(Z)
        n = len(Z)
        if X is not None and np.shape(X)[0] != n:
            raise SidelightError(f"X has {np.shape(X)[0]:,} rows but the map has {n:,}.")
        mapped = np.flatnonzero(~np.isnan(Z).any(axis=1))
        if not len(mapped):
            raise InvalidRequest("No row has a place on the map: nothing to draw.")
        rows = drawn_rows(mapped)
        changes = _changes(Z, X, n_neighbors, mapped)
        xy, axis_titles = plane_of_coordinates(Z[rows], coordinates)
        missing = n - len(mapped)
        notes = [
            sampled_note(len(rows), len(mapped)),
            f"{counted(missing, 'row')} without a place" if missing else "",
        ]
        coloring = coloring_of(color, X, n)
        return cls(
            xy=xy,
            rows=rows,
            coloring=None if coloring is None else coloring.of_rows(rows),
            edges=_among(_edges_of(graph, n, mapped), rows, n),
            lost=_among(changes[0], rows, n),
            found=_among(changes[1], rows, n),
            row_names=_row_names(ids, rows, n),
            axis_titles=axis_titles,
            title=title,
            note=", ".join(note for note in notes if note),
        ).plot(ax, **options)

    def plot(self, ax: Any = None, *, legend: bool = True, **kwargs: Any) -> Self:
        """Draw.

        Parameters
        ----------
        legend : bool, default=True
            Whether to explain colors and lines.
        **kwargs : dict
            Passed on to ``Axes.scatter``, such as ``s`` or ``alpha``.

        Returns
        -------
        EmbeddingDisplay
            The display itself.
        """
        inks = self._begin(ax)
        style = {} if self.coloring is None else self.coloring.style(inks)
        picture = self._picture()
        drawn = draw_points(self.ax_, picture, inks, **(style | kwargs))
        self.points_, self.lines_ = drawn.points, drawn.lines
        self.names_ = name_points(self.ax_, self.xy, self.row_names, inks.ink, inks)
        if self.axis_titles[1] != HEIGHT:
            # Distances on a map mean something, whatever their direction.
            self.ax_.set_aspect("equal", adjustable="datalim")
        set_titles(self.ax_, picture.axis_titles, self.title, picture.note)
        self.colorbar_ = None
        if legend:
            self._explain(inks)
        return self

    def _picture(self) -> Points:
        lines = (
            Lines("graph", self.edges, "faint", label=counted(len(self.edges), "edge")),
            Lines("lost", self.lost, "wrong", label=_neighbors(len(self.lost), "lost")),
            Lines(
                "found", self.found, "ink", dashed=True, label=_neighbors(len(self.found), "found")
            ),
        )
        return Points(
            title="The map",
            text=self.title,
            xy=self.xy,
            codes=np.zeros(len(self.xy), np.int64),
            lines=[one for one in lines if len(one.pairs)],
            axis_titles=self.axis_titles,
            note=self.note,
            equal=True,
        )

    def _explain(self, inks: Inks) -> None:
        """Scale of a column, names of groups, and what the lines mean."""
        from matplotlib.lines import Line2D

        handles = list(self.lines_.values())
        coloring = self.coloring
        if coloring is not None and coloring.names is None:
            self.colorbar_ = self.figure_.colorbar(self.points_, ax=self.ax_, label=coloring.title)
        elif coloring is not None and coloring.names is not None:
            names = coloring.names if len(coloring.names) <= MAX_NAMES else ()
            colors = inks.groups(max(len(coloring.names), 1))
            handles = [
                *(
                    Line2D([], [], color=color, label=name, linestyle="none", marker="o")
                    for name, color in zip(names, colors, strict=False)
                ),
                *handles,
            ]
        if handles:
            explain(self.ax_, inks, handles=handles)


def _neighbors(number: int, what: str) -> str:
    return counted(number, f"neighbor {what}", f"neighbors {what}")


def _own_graph(estimator: Any) -> Any:
    """Neighborhood graph of a map: an attribute, or a method of maps whose graph changes."""
    if hasattr(estimator, "graph_"):
        return estimator.graph_
    if callable(getattr(estimator, "graph", None)):
        return estimator.graph()
    raise InvalidRequest(f"{type(estimator).__name__} keeps no neighborhood graph; pass one.")


def coordinates_of(Z: Any) -> Array:
    """Coordinates as a matrix of floats; one column where there is one dimension."""
    try:
        values = np.asarray(Z, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidRequest(f"Coordinates are numbers: {error}") from error
    values = values[:, None] if values.ndim == 1 else values
    if values.ndim != 2 or values.shape[1] == 0:
        raise InvalidRequest(f"Coordinates have one row per point, got shape {values.shape}.")
    return values


def drawn_rows(mapped: IntArray) -> IntArray:
    """Rows to draw: all, or a random sample of many that is always the same."""
    if len(mapped) <= MAX_POINTS:
        return mapped
    return np.sort(np.random.default_rng(0).choice(mapped, MAX_POINTS, replace=False))


def plane_of_coordinates(Z: Array, coordinates: Sequence[int]) -> tuple[Array, tuple[str, str]]:
    """Two of the coordinates, or one and random heights, with the titles of their axes."""
    if Z.shape[1] == 1:
        heights = np.random.default_rng(0).uniform(size=len(Z))
        return np.column_stack([Z[:, 0], heights]), ("1st coordinate", HEIGHT)
    chosen = list(coordinates)
    if len(chosen) != 2 or not all(0 <= one < Z.shape[1] for one in chosen):
        raise InvalidRequest(
            f"coordinates names two of {Z.shape[1]} coordinates, counted from 0; got {chosen}."
        )
    first, second = (f"{_ordinal(one + 1)} coordinate" for one in chosen)
    return Z[:, chosen], (first, second)


def _ordinal(number: int) -> str:
    ending = (
        "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    )
    return f"{number}{ending}"


def coloring_of(color: Any, X: Any, n: int) -> Coloring | None:
    """Colors by a column of the rows, by values of any kind, or by groups."""
    if color is None:
        return None
    title = ""
    if isinstance(color, str | int):
        color, title = _column(color, X)
    values = plain(color)
    if values.ndim != 1 or len(values) != n:
        raise SidelightError(
            f"color has shape {values.shape}; give one value for each of {n:,} rows, or the name "
            "of a column of X."
        )
    whole = values.dtype.kind in "iu" and len(np.unique(values)) <= MAX_NAMES
    if values.dtype.kind in "iuf" and (title or not whole):
        return Coloring(values.astype(np.float64), None, title)
    kinds, codes = np.unique(values.astype(str), return_inverse=True)
    if whole:
        kinds, codes = np.unique(values, return_inverse=True)
        if kinds[0] == -1:
            kinds, codes = kinds[1:], codes - 1
    return Coloring(codes.ravel(), tuple(str(kind) for kind in kinds), title)


def _column(name: str | int, X: Any) -> tuple[Any, str]:
    """A column of the rows by its name or number."""
    if X is None:
        raise InvalidRequest(f"color={name!r} names a column: pass the rows as X.")
    names = [str(column) for column in getattr(X, "columns", range(np.shape(X)[1]))]
    place = names.index(str(name)) if str(name) in names else name
    if not isinstance(place, int) or not 0 <= place < len(names):
        shown = ", ".join(names[:10]) + (", ..." if len(names) > 10 else "")
        raise InvalidRequest(f"There is no column {name!r}; X has {shown}.")
    if hasattr(X, "iloc"):
        return X.iloc[:, place].to_numpy(), names[place]
    title = names[place] if hasattr(X, "columns") else f"column {place}"
    values = X[:, [place]]
    return (values.toarray() if sparse.issparse(values) else np.asarray(values)).ravel(), title


def _changes(
    Z: Array, X: Any, n_neighbors: int | None, mapped: IntArray
) -> tuple[IntArray, IntArray]:
    """Pairs of neighbors lost and found."""
    none = np.zeros((0, 2), np.int64)
    if n_neighbors is None:
        return none, none
    if X is None:
        raise InvalidRequest("Neighbors lost and found are those of the rows: pass them as X.")
    rows = np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)
    changes: NeighborChanges = lost_and_found_neighbors(rows[mapped], Z[mapped], n_neighbors)
    return mapped[changes.lost], mapped[changes.found]


def _edges_of(graph: Any, n: int, mapped: IntArray) -> IntArray:
    """Edges of a graph of all rows, or of those on the map."""
    if graph is None:
        return np.zeros((0, 2), np.int64)
    edges = sparse.coo_array(sparse.triu(sparse.coo_array(graph), k=1))
    if edges.shape[0] not in (n, len(mapped)):
        raise SidelightError(f"The graph has {edges.shape[0]:,} rows but the map has {n:,}.")
    pairs = np.column_stack([edges.row, edges.col]).astype(np.int64)
    return pairs if edges.shape[0] == n else mapped[pairs]


def _among(pairs: IntArray, rows: IntArray, n: int) -> IntArray:
    """Pairs of which both rows are drawn, by their places among these."""
    place = np.full(n, -1, np.int64)
    place[rows] = np.arange(len(rows))
    there = place[pairs].reshape(-1, 2)
    return there[(there >= 0).all(axis=1)]


def _row_names(ids: Sequence[Any] | None, rows: IntArray, n: int) -> dict[int, str]:
    if ids is None:
        return {}
    if len(ids) != n:
        raise SidelightError(f"There are {len(ids):,} ids but the map has {n:,} rows.")
    shown = np.unique(np.linspace(0, len(rows) - 1, min(len(rows), MAX_IDS)).astype(np.int64))
    return {int(place): str(ids[rows[place]]) for place in shown}
