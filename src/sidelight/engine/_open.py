"""Files, datasets and queries as rows: their parts, the features and the ids in all of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sidelight._typing import Array
from sidelight.engine._budget import check_budget
from sidelight.engine._disk import DiskRows, NpyRows, map_npy
from sidelight.engine._files import FileRows
from sidelight.engine._ids import NAMELESS, check_has_ids, check_ids, find_ids, id_candidates
from sidelight.engine._joined import JoinedRows
from sidelight.engine._source import RowSource, floating_dtype
from sidelight.engine._store import BlockStore
from sidelight.exceptions import SidelightError
from sidelight.io.inner import Part, files_of, names_files, part_format, parts_of, quoted, spooled

if TYPE_CHECKING:
    import pyarrow as pa


def open_on_disk(
    X: Any,
    columns: Sequence[str] | None = None,
    memory_budget: int | str | None = None,
    *,
    id_column: str | None = None,
    ids: Any = None,
) -> RowSource:
    """Open what :func:`sidelight.engine.open_rows` opens."""
    budget = check_budget(memory_budget)
    if ids is not None and id_column is not None:
        raise SidelightError("Give ids or id_column, not both: the rows have one name each.")
    files = files_of(X) if names_files(X) else []
    arrays = [path for path in files if part_format(path) == "npy"]
    if arrays:
        others = [path for path in files if path not in arrays]
        if others:
            raise SidelightError(
                f"{others[0]} has names of columns, {arrays[0]} has none: make all files of one "
                "kind."
            )
        if columns is not None or id_column is not None:
            raise SidelightError(
                f"{arrays[0]} is a .npy file: it has no named columns to choose from."
            )
        return _joined(_open_arrays(arrays, budget), ids)
    sources, found = open_tables(parts_of(X), columns, id_column, budget, ids is None)
    return _joined(sources, found if ids is None else ids)


def _joined(sources: Sequence[DiskRows], ids: Any) -> RowSource:
    """One source of the files, with ids."""
    rows = sources[0] if len(sources) == 1 else JoinedRows(sources)
    if ids is None:
        return rows
    rows.ids = check_ids(ids, rows.n_rows)
    start = 0
    for one in sources:  # views, for messages
        one.ids, start = rows.ids[start : start + one.n_rows], start + one.n_rows
    return rows


def _open_arrays(paths: Sequence[Path], budget: int) -> list[DiskRows]:
    mapped = {path: map_npy(path) for path in paths}
    filled = {path: one for path, one in mapped.items() if len(one)} or mapped
    first = next(iter(filled))
    for path, one in filled.items():
        if one.shape[1] != mapped[first].shape[1]:
            raise SidelightError(
                f"{path} has {one.shape[1]} columns, {first} has {mapped[first].shape[1]}: rows "
                "need the same columns in all files."
            )
    dtype = np.result_type(*(floating_dtype(one.dtype) for one in filled.values()))
    return [NpyRows(path, memory_budget=budget, dtype=dtype) for path in filled]


def open_tables(
    parts: Sequence[Part],
    columns: Sequence[str] | None,
    id_column: str | None,
    budget: int,
    finds_ids: bool,
) -> tuple[list[DiskRows], Array | None]:
    """Open files with named columns; also the ids that one of their columns holds."""
    filled = [part for part in parts if part.n_rows != 0] or list(parts[:1])
    if len(parts) > 1 and filled[0].n_rows == 0:
        raise SidelightError(f"{parts[0].name} and the other files have no rows.")
    if id_column is not None:
        for part in filled:
            check_has_ids(part, id_column)
        if columns is not None and id_column in columns:
            raise SidelightError(
                f"Column {id_column!r} of {filled[0].name} cannot be a feature and name the rows "
                "at once."
            )
    candidates = id_candidates(filled) if columns is None and id_column is None else []
    candidates = candidates if finds_ids else []
    filled = _readable(filled, columns, [id_column] if id_column is not None else candidates)
    named, ids = find_ids(filled, id_column, candidates)
    left_out = {named, *(name for name in candidates if name in NAMELESS)}
    features = _features(filled, columns, left_out)
    types = [part.schema.field(name).type for part in filled for name in features]
    dtype = floating_dtype(np.result_type(*map(_numpy_type, types)))
    starts = np.cumsum([0, *(part.n_rows or 0 for part in filled)]).tolist()
    store = BlockStore(starts[-1] * len(features) * dtype.itemsize, budget)
    return [
        FileRows(part, features, dtype, memory_budget=budget, store=store, start=start)
        for part, start in zip(filled, starts, strict=False)
    ], ids


def _readable(
    parts: Sequence[Part], columns: Sequence[str] | None, ids: Sequence[str]
) -> list[Part]:
    """Parts that can be read from anywhere: text and streams are copied, what is needed of them."""
    readable = []
    for part in parts:
        needed = [
            field.name
            for field in part.schema
            if field.name in ids
            or (field.name in columns if columns is not None else _is_number(field.type))
        ]
        readable.append(spooled(part, needed) if part.chunks is None else part)
    return readable


def _features(
    parts: Sequence[Part], columns: Sequence[str] | None, left_out: set[str | None]
) -> list[str]:
    """Names of the features, which are in all parts."""
    if columns is not None:
        for part in parts:
            _check_numbers(part, columns)
        return list(columns)
    first, *others = parts
    chosen = _numeric(first, left_out)
    if not chosen:
        named = sorted(name for name in left_out if name)
        besides = f" besides {named[0]!r}, which names the rows" if named else ""
        raise SidelightError(f"{first.name} has no numeric column{besides}.")
    for other in others:
        if (theirs := _numeric(other, left_out)) != chosen:
            raise SidelightError(
                f"{_difference(first, chosen, other, theirs)}: all files need the same columns of "
                "numbers in the same order. Name the features with columns=."
            )
    return chosen


def _numeric(part: Part, left_out: set[str | None]) -> list[str]:
    return [f.name for f in part.schema if f.name not in left_out and _is_number(f.type)]


def _difference(first: Part, chosen: list[str], other: Part, theirs: list[str]) -> str:
    """In what the numeric columns of two files differ."""
    for one, mine, two, others in (
        (first, chosen, other, theirs),
        (other, theirs, first, chosen),
    ):
        missing = [name for name in mine if name not in others]
        if missing and missing[0] in two.schema.names:
            kind = two.schema.field(missing[0]).type
            return f"Column {missing[0]!r} holds numbers in {one.name} and {kind} in {two.name}"
        if missing:
            plural = "columns" if len(missing) > 1 else "column"
            return f"{one.name} has the {plural} {quoted(missing)}, which {two.name} has not"
    place = next(i for i, (a, b) in enumerate(zip(chosen, theirs, strict=True)) if a != b)
    return (
        f"{first.name} and {other.name} have their columns in different orders ({chosen[place]!r} "
        f"and {theirs[place]!r} at the same place)"
    )


def _check_numbers(part: Part, columns: Sequence[str]) -> None:
    """Raise unless a part has these columns, and they hold numbers."""
    missing = [name for name in columns if name not in part.schema.names]
    if missing:
        raise SidelightError(
            f"{part.name} has no column {missing[0]!r}; it has {part.schema.names}."
        )
    for name in columns:
        kind = part.schema.field(name).type
        if not _is_number(kind):
            raise SidelightError(
                f"Column {name!r} of {part.name} holds {kind}, not numbers; leave it out or turn "
                "it into numbers first."
            )


def _is_number(kind: pa.DataType) -> bool:
    import pyarrow.types as types

    return bool(
        types.is_integer(kind)
        or types.is_floating(kind)
        or types.is_boolean(kind)
        or types.is_decimal(kind)
        or types.is_null(kind)
    )


def _numpy_type(kind: pa.DataType) -> np.dtype[Any]:
    import pyarrow.types as types

    if types.is_decimal(kind) or types.is_null(kind):
        return np.dtype(float)
    return np.dtype(kind.to_pandas_dtype())
