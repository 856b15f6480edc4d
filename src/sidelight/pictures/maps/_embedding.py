"""The map of an embedding: rows in color, their neighborhood graph, neighbors lost and found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from sidelight._typing import Array, IntArray
from sidelight._words import counted
from sidelight.constraints.inner import plain
from sidelight.evaluation import NeighborChanges, lost_and_found_neighbors
from sidelight.exceptions import InvalidRequest, SidelightError
from sidelight.pictures._rows import position_of, sampled_note
from sidelight.pictures._run import known_classes, sample_rows
from sidelight.pictures._selection import MAX_POINTS
from sidelight.pictures.kinds._points import Lines, Points, Role, Text
from sidelight.pictures.maps._coloring import Coloring, color_fields

#: At most so many rows are named.
MAX_IDS = 150
#: Whole numbers of more different values are not taken for classes.
MAX_CLASSES = 20


def embedding_points(
    Z: Any,
    X: Any = None,
    *,
    color: Any = None,
    graph: Any = None,
    n_neighbors: int | None = None,
    ids: Sequence[Any] | None = None,
    coordinates: Sequence[int] = (0, 1),
    title: str = "",
) -> Points:
    """Rows at their coordinates, with lines between neighbors.

    The parameters are those of ``EmbeddingDisplay.from_coordinates``.
    """
    Z = coordinates_of(Z)
    n = len(Z)
    if X is not None and np.shape(X)[0] != n:
        raise SidelightError(f"X has {np.shape(X)[0]:,} rows but the map has {n:,}.")
    mapped = np.flatnonzero(~np.isnan(Z).any(axis=1))
    if not len(mapped):
        raise InvalidRequest("No row has a place on the map: nothing to draw.")
    rows = mapped[sample_rows(len(mapped), MAX_POINTS, np.random.default_rng(0))]
    lost, found = _changes(Z, X, n_neighbors, mapped)
    xy, axis_titles = plane_of_coordinates(Z[rows], coordinates)
    missing = n - len(mapped)
    notes = [
        sampled_note(len(rows), len(mapped)),
        f"{counted(missing, 'row')} without a place" if missing else "",
    ]
    lines = [
        _lines("graph", _edges_of(graph, n, mapped), rows, n, "faint", "edge", "edges"),
        _lines("lost", lost, rows, n, "wrong", "neighbor lost", "neighbors lost"),
        _lines("found", found, rows, n, "ink", "neighbor found", "neighbors found"),
    ]
    is_strip = Z.shape[1] == 1
    return Points(
        title="The map",
        text=f"{counted(len(rows), 'row')} on a map of {counted(Z.shape[1], 'coordinate')}.",
        heading=title,
        note=", ".join(note for note in notes if note),
        xy=xy,
        rows=rows,
        texts=_texts(ids, rows, xy, n),
        lines=[one for one in lines if len(one)],
        axes="strip" if is_strip else "components",
        axis_titles=axis_titles,
        equal=not is_strip,  # distances on a map mean something, whatever their direction
        **color_fields(coloring_of(color, X, n), rows),
    )


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


def plane_of_coordinates(Z: Array, coordinates: Sequence[int]) -> tuple[Array, tuple[str, str]]:
    """Two of the coordinates, or one and random heights, with the titles of their axes."""
    if Z.shape[1] == 1:
        heights = np.random.default_rng(0).uniform(size=len(Z))
        return np.column_stack([Z[:, 0], heights]), ("1st coordinate", "(random height)")
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
    whole = values.dtype.kind in "iu" and len(np.unique(values)) <= MAX_CLASSES
    if values.dtype.kind in "iuf" and (title or not whole):
        return Coloring(title, values=values.astype(np.float64))
    return Coloring(title, known_classes(values))


def _column(name: str | int, X: Any) -> tuple[Any, str]:
    """A column of the rows by its name or number."""
    if X is None:
        raise InvalidRequest(f"color={name!r} names a column: pass the rows as X.")
    names = [str(column) for column in getattr(X, "columns", range(np.shape(X)[1]))]
    place = position_of(
        str(name) if str(name) in names else name, names, "column", "a name or number"
    )
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


def _lines(
    name: str, pairs: IntArray, rows: IntArray, n: int, role: Role, one: str, many: str
) -> Lines:
    """Lines between pairs of rows of which both are drawn."""
    place = np.full(n, -1, np.int64)
    place[rows] = np.arange(len(rows))
    there = place[pairs].reshape(-1, 2)
    there = there[(there >= 0).all(axis=1)]
    label = counted(len(there), one, many)
    return Lines(name, there, role, dashed=name == "found", label=label)


def _texts(ids: Sequence[Any] | None, rows: IntArray, xy: Array, n: int) -> list[Text]:
    """Names of rows; of many rows, of some that are evenly spread."""
    if ids is None:
        return []
    if len(ids) != n:
        raise SidelightError(f"There are {len(ids):,} ids but the map has {n:,} rows.")
    shown = np.unique(np.linspace(0, len(rows) - 1, min(len(rows), MAX_IDS)).astype(np.int64))
    return [Text(str(ids[rows[place]]), xy[place]) for place in shown]
