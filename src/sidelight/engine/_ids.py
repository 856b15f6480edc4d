"""Ids of rows on disk: the column that names them, in all parts of a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sidelight._typing import Array
from sidelight._warn import warn
from sidelight.exceptions import ConstraintWarning, SidelightError
from sidelight.io.inner import PANDAS_INDEX, Part, close_names, quoted, sounds_like_ids

if TYPE_CHECKING:
    import pyarrow as pa

#: Names of an index that has none, as pandas and Dask write it: it is never a feature.
NAMELESS = (PANDAS_INDEX, "__null_dask_index__", "")

#: Whole numbers beyond this are not all there among floating-point numbers.
EXACT = 2**53


def id_candidates(parts: Sequence[Part]) -> list[str]:
    """Return the columns whose names and types suggest ids, in all parts, the likeliest first."""
    schemas = [part.schema for part in parts]
    named = [
        name
        for name in (schemas[0].names if schemas else ())
        if all(name in one.names and _can_name(one.field(name).type) for one in schemas)
    ]
    first = [name for name in named if name.lower() == "id" or name in NAMELESS]
    return first + [name for name in named if name not in first and sounds_like_ids(name)]


def check_has_ids(part: Part, id_column: str) -> None:
    """Raise if a part has no column of that name."""
    if id_column not in part.schema.names:
        raise SidelightError(
            f"{part.name} has no column {id_column!r}; {close_names(id_column, part.schema.names)}."
        )


def find_ids(
    parts: Sequence[Part], id_column: str | None, candidates: Sequence[str]
) -> tuple[str | None, Array | None]:
    """Return the column that names the rows, and the names; None where rows go by position.

    Parameters
    ----------
    parts : sequence of Part
        The parts that have rows.
    id_column : str or None
        The column that the user named.
    candidates : sequence of str
        Columns to look at otherwise.
    """
    names = [part.name for part in parts]
    if id_column is not None:
        ids = [read_ids(part, id_column) for part in parts]
        for name, some in zip(names, ids, strict=True):
            if not _name_each_row(some):
                raise SidelightError(
                    f"Column {id_column!r} of {name} does not name the rows: values are missing or "
                    "there twice, or are neither whole numbers nor text."
                )
        return id_column, join_ids(names, ids)
    for candidate in candidates:
        ids = [read_ids(part, candidate) for part in parts]
        wrong = [name for name, some in zip(names, ids, strict=True) if not _name_each_row(some)]
        if candidate in NAMELESS:
            if not wrong and _all_differ(ids):
                return candidate, join_ids(names, ids)
        elif not wrong:
            return candidate, join_ids(names, ids)
        else:
            warn(
                f"Column {candidate!r} of {wrong[0]} is called like a column of ids, but values "
                "are missing or there twice: rows go by position, and it is a feature if it holds "
                "numbers. Name the features with columns=, or the ids with id_column=.",
                ConstraintWarning,
            )
    return None, None


def join_ids(names: Sequence[str], ids: Sequence[Array]) -> Array:
    """Return the ids of all parts; raise where one occurs twice.

    Parameters
    ----------
    names : sequence of str
        Names of the parts.
    ids : sequence of ndarray
        Ids of their rows.
    """
    joined = _joined(ids)
    order = np.argsort(joined, kind="stable")
    ascending = joined[order]
    twice = np.flatnonzero(ascending[1:] == ascending[:-1])
    if len(twice):
        ends = np.cumsum([len(one) for one in ids])
        first, second = (
            names[int(np.searchsorted(ends, order[twice[0] + k], "right"))] for k in (0, 1)
        )
        where = f"in {first} and in {second}" if first != second else f"twice in {first}"
        raise SidelightError(
            f"The id {quoted(joined[order[twice[:1]]].tolist())} occurs {where}: an id names one "
            "row. Make the ids different, name another column (id_column=...), or name the "
            "features (columns=...) if rows are to go by position."
        )
    return joined


def check_ids(ids: Any, n_rows: int) -> Array:
    """Return ids that the user gave for the rows."""
    given = np.asarray(ids)
    if given.shape != (n_rows,):
        raise SidelightError(f"ids must name {n_rows} rows, got an array of shape {given.shape}.")
    return join_ids(["ids"], [given])


def _joined(ids: Sequence[Array]) -> Array:
    """One array of ids: whole numbers as text where others are text."""
    kinds = {one.dtype.kind for one in ids}
    if len(kinds & {"i", "u"}) and len(kinds - {"i", "u"}):
        return np.concatenate(
            [one.astype(str).astype(object) if one.dtype.kind in "iu" else one for one in ids]
        )
    return np.concatenate(ids)


def _all_differ(ids: Sequence[Array]) -> bool:
    joined = _joined(ids)
    return len(np.unique(joined)) == len(joined)


def _can_name(kind: pa.DataType) -> bool:
    import pyarrow.types as types

    return bool(
        types.is_integer(kind)
        or types.is_floating(kind)
        or types.is_string(kind)
        or types.is_large_string(kind)
    )


def read_ids(part: Part, name: str) -> Array:
    """Return the values of a column, as ids; nothing if some are missing or cannot be ids."""
    nothing = np.empty(0, dtype=object)
    if not _can_name(part.schema.field(name).type):
        return nothing
    pieces = []
    for batch in part.batches([name]):
        column = batch.column(0)
        if column.null_count:
            return nothing
        pieces.append(np.asarray(column.to_numpy(zero_copy_only=False)))
    ids = np.concatenate(pieces) if pieces else nothing
    if part.is_text and len(ids):
        return nothing if np.any(ids == "") else _numbers_if_whole(ids)
    if ids.dtype.kind != "f":
        return ids
    whole = np.isfinite(ids) & (np.abs(ids) < EXACT) & (ids == np.round(ids))
    return ids.astype(np.int64) if whole.all() else nothing


def _numbers_if_whole(ids: Array) -> Array:
    """Texts as the whole numbers that they spell, if all do in the plain way: 007 stays text."""
    import pyarrow as pa

    texts = pa.array(ids)
    try:
        numbers = texts.cast(pa.int64())
    except pa.ArrowInvalid:
        return ids
    return numbers.to_numpy() if numbers.cast(texts.type).equals(texts) else ids


def _name_each_row(ids: Array) -> bool:
    return bool(len(ids)) and len(np.unique(ids)) == len(ids)
