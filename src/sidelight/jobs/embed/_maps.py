"""What only maps are asked for: anchors, columns to ignore, a column that colors the points."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sidelight import catalog
from sidelight._fit.parameters import declared
from sidelight._typing import Array
from sidelight._words import counted, worded
from sidelight.catalog import Method
from sidelight.exceptions import InvalidRequest, SidelightError, UnknownIds
from sidelight.io import Table, read_table
from sidelight.io.inner import (
    alike_hint,
    class_values,
    close_names,
    column_names,
    position_of,
    quoted,
)
from sidelight.jobs._table._features import is_frame
from sidelight.preparation import TablePreparer
from sidelight.preparation.inner import as_source

if TYPE_CHECKING:
    from sidelight.jobs._table._run import Prepared
    from sidelight.jobs.embed._request import EmbedRequest

#: Rows up to which all geodesic distances are computed by default: n² numbers and n searches.
MAX_ROWS = 4_000


def default_map(n_rows: int) -> tuple[Method, str]:
    """The method for a map where none is named, and a sentence that says so."""
    if n_rows <= MAX_ROWS:
        return catalog.get("isomap"), "The map is made by isomap; -m names another method."
    return (
        catalog.get("landmark-isomap"),
        f"The map is made by landmark-isomap, since there are more than {MAX_ROWS:,} rows; -m "
        "names another method.",
    )


def map_method(name: str, can: Callable[[Method], bool], problem: str) -> Method:
    """Find a map that can do what is asked for; others are refused, with those that can."""
    method = catalog.get(name, kind="embedding")
    if method.tags.kind == "embedding" and can(method):
        return method
    able = ", ".join(one.name for one in catalog.methods(kind="embedding") if can(one))
    raise InvalidRequest(f"{method.name} {problem}: {able}.")


def check_map_options(request: EmbedRequest, method: Method) -> None:
    """Refuse what the method has no use for, before the rows are read."""
    if request.anchors is not None and "anchors" not in method.tags.knowledge:
        _refuse(method, "anchors", [m.name for m in catalog.methods(knowledge="anchors")])
    if request.ignore and "ignore" not in declared(method.cls):
        able = [m.name for m in catalog.methods(kind="embedding") if "ignore" in declared(m.cls)]
        _refuse(method, "columns to ignore", able)
    if request.ignore and "ignore" in request.settings:
        raise InvalidRequest(
            f"use either {worded('ignore=', '--ignore')} (columns of the table) or "
            f"{worded('settings', '--set ignore')} (features), not both."
        )
    if request.color is not None and method.tags.kind != "embedding":
        raise InvalidRequest(
            f"{worded('color=', '--color')} is for maps, and {method.name} makes none."
        )


def _refuse(method: Method, what: str, able: Sequence[str]) -> None:
    instead = f"; these do: {', '.join(able)}" if able else ""
    raise InvalidRequest(f"{method.cls.__name__} takes no {what}{instead}.")


def with_map_options(prepared: Prepared, request: EmbedRequest) -> Prepared:
    """Add anchors, columns to ignore and the color of the points to what a fit needs."""
    data, estimator = prepared.data, prepared.estimator
    anchors = read_anchors(request.anchors, data, getattr(estimator, "n_components", 0))
    notes: tuple[str, ...] = ()
    if request.ignore:
        ignored, notes = ignored_features(request.ignore, data, prepared.preparer)
        estimator.set_params(ignore=ignored or None)
    return dataclasses.replace(
        prepared,
        anchors=anchors,
        color=read_color(request, data),
        notes=(*prepared.notes, *notes),
    )


# --- anchors ----------------------------------------------------------------------------------


def read_anchors(anchors: Any, data: Table, n_components: int) -> Array | None:
    """Known coordinates of some rows: NaN where nothing is known.

    Parameters
    ----------
    anchors : path-like, array-like or None
        File with an id and the coordinates of a row in each line, or an array with a row for each
        row of the data.
    data : Table
        The rows that the ids name.
    n_components : int
        Number of coordinates of the map.
    """
    if anchors is None:
        return None
    if isinstance(anchors, str | os.PathLike):
        rows, places = _anchors_in(Path(anchors), data)
    else:
        places = np.asarray(anchors, dtype=np.float64)
        if places.ndim != 2 or len(places) != data.n_rows:
            raise InvalidRequest(
                f"anchors must have one row for each of the {data.n_rows:,} rows of the data (NaN "
                f"where nothing is known), got shape {places.shape}."
            )
        rows = np.arange(data.n_rows)
    if places.shape[1] != n_components:
        raise InvalidRequest(
            f"the anchors have {counted(places.shape[1], 'coordinate')}, the map has "
            f"{n_components:,}; {worded('k=', '-d ')}{places.shape[1]} makes a map that fits."
        )
    known = np.full((data.n_rows, n_components), np.nan)
    known[rows] = places
    return known


def _anchors_in(path: Path, data: Table) -> tuple[npt.NDArray[np.int64], Array]:
    """Positions of the rows that a file names, and their coordinates."""
    names = column_names(path) if path.is_file() else []  # what is no file is told below
    id_column = next(
        (name for name in names if name == data.id_column or name.lower() == "id"), None
    )
    if id_column is None:
        id_column = next(iter(names), None)
    table = read_table(path, id_column=id_column)
    ids = table.row_ids.tolist()
    position = {str(name): row for row, name in enumerate(data.row_ids.tolist())}
    found = [position_of(str(name), position) for name in ids]
    for name, row in zip(ids, found, strict=True):
        if row is None:
            raise UnknownIds(
                f"{path} has coordinates of {name!r}, but no row of the data has this id."
                f"{alike_hint(name, data.row_ids.tolist())}",
                ids=(name,),
            )
    rows = np.array(found, dtype=np.int64)
    if len(np.unique(rows)) < len(rows):  # the same id with and without its apostrophe
        raise SidelightError(f"{path} has coordinates of a row twice.")
    return rows, np.asarray(table.X, dtype=np.float64)


# --- columns ----------------------------------------------------------------------------------


def ignored_features(
    ignore: Sequence[str], data: Table, preparer: Any
) -> tuple[list[int], tuple[str, ...]]:
    """Positions of the features that columns became, and sentences about columns without any."""
    column_of: Sequence[str] = data.feature_names
    if isinstance(preparer, TablePreparer):
        column_of = [part.plan.name for part in preparer._parts for _ in part.names]
    places: list[int] = []
    notes = []
    for name in ignore:
        if name not in data.feature_names:
            raise InvalidRequest(
                f"there is no column {name!r} among the features to ignore; "
                f"{close_names(name, data.feature_names)}."
            )
        found = [place for place, column in enumerate(column_of) if column == name]
        if not found:
            notes.append(f"The column {name!r} is not used, so that nothing is left to ignore.")
        places += found
    if len(places) == len(column_of):
        raise InvalidRequest(
            f"no feature is left without {quoted(list(ignore))}; name fewer columns to ignore."
        )
    return sorted(set(places)), tuple(notes)


def colored_only(request: EmbedRequest) -> tuple[str, ...]:
    """The column that colors the points, unless it is named as a feature as well."""
    if not isinstance(request.color, str):
        return ()
    beside = {request.id_column, request.labels if isinstance(request.labels, str) else None}
    beside |= {request.truth if isinstance(request.truth, str) else None, *request.drop}
    if request.color in beside or request.color in (request.columns or ()):
        return ()
    return (request.color,)


def read_color(request: EmbedRequest, data: Table) -> tuple[str, npt.NDArray[Any]] | None:
    """Name and values of what colors the points: numbers (NaN) or texts ("" where unknown)."""
    color = request.color
    if color is None:
        return None
    if not isinstance(color, str):
        values = np.asarray(color)
        if values.shape != (data.n_rows,):
            raise InvalidRequest(
                f"color must hold one value per row, {data.n_rows}, got {values.shape}."
            )
        return "color", numbers_or_texts(values)
    if request.path is not None:
        found = read_table(
            request.path, id_column=request.id_column, truth_column=color, columns=[]
        )
        return color, numbers_or_texts(found.truth)
    if is_frame(request.data):
        columns = as_source(request.data).columns
        if color in columns.names:
            return color, numbers_or_texts(class_values(columns.column(color)))
    if color in data.feature_names and data.X is not None:
        return color, np.asarray(data.X[:, data.feature_names.index(color)])
    raise InvalidRequest(f"there is no column {color!r} to color the points by.")


def numbers_or_texts(values: Any) -> npt.NDArray[Any]:
    """Values as numbers where all that are known are numbers, else as texts.

    Examples
    --------
    >>> from sidelight.jobs.embed._maps import numbers_or_texts
    >>> numbers_or_texts(["1", "", "2.5"]), numbers_or_texts(["a", "2"])
    (array([1. , nan, 2.5]), array(['a', '2'], dtype='<U1'))
    """
    given = np.asarray(values)
    if given.dtype.kind in "iufb":
        return given.astype(np.float64)
    texts = ["" if value is None or value != value else str(value) for value in given.tolist()]
    try:
        return np.array([float(text) if text else np.nan for text in texts])
    except ValueError:
        return np.array(texts)
