"""Correspondences in tables and files: one link per row, ``view_a, id_a, view_b, id_b``."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sidelight._typing import Array, IntArray
from sidelight.constraints.algebra._canonical import RowIndex
from sidelight.constraints.algebra._plain import plain, text_of
from sidelight.constraints.exchange import _files as files
from sidelight.constraints.exchange import _tables as tables
from sidelight.constraints.exchange._tables import Trouble
from sidelight.exceptions import ConstraintFileError, SidelightError
from sidelight.io.inner import alike_hint, atomic_write, check_readable, is_tsv, open_text

if TYPE_CHECKING:
    import pyarrow

COLUMNS = ("view_a", "id_a", "view_b", "id_b")


def from_columns(
    columns: Mapping[str, Array],
    indices: tuple[RowIndex | None, ...],
    sizes: tuple[int, ...],
    trouble: Trouble,
) -> IntArray:
    """Links by position, shape (m, 4), from the columns of a table."""
    given = {name.strip().lower(): column for name, column in columns.items()}
    if set(COLUMNS) <= set(given):
        views = [_view_numbers(given[name], len(sizes), trouble) for name in COLUMNS[::2]]
        names = [given[name] for name in COLUMNS[1::2]]
    elif len(given) == 2 and len(sizes) == 2:
        names = list(given.values())
        views = [np.full(len(names[0]), view) for view in (0, 1)]
    else:
        has = ", ".join(repr(name) for name in columns) or "none"
        raise trouble(
            None,
            "the columns view_a, id_a, view_b and id_b are needed, or two columns of ids for two "
            f"views; there are {has}.",
        )
    ends: list[Array] = []
    for which, named in zip(views, names, strict=True):
        rows = np.empty(len(which), np.int64)
        for view in np.unique(which).tolist():
            own = np.flatnonzero(which == view)
            rows[own] = _positions(named[own], own, view, indices[view], sizes[view], trouble)
        ends += [which, rows]
    return np.column_stack(ends).astype(np.int64).reshape(-1, 4)


def _view_numbers(column: Array, n_views: int, trouble: Trouble) -> IntArray:
    views, whole = tables.whole_numbers_in(column)
    bad = np.flatnonzero(~whole | (views < 0) | (views >= n_views))
    if len(bad):
        record = int(bad[0])
        raise trouble(
            record,
            f"the view {str(column[record])!r} is not one of the views 0 to {n_views - 1}.",
        )
    return views


def _positions(
    named: Array, records: IntArray, view: int, index: RowIndex | None, size: int, trouble: Trouble
) -> IntArray:
    """Positions of the rows of one view; text and numbers are matched as a file has them."""
    if index is None:
        rows, whole = tables.whole_numbers_in(named)
        unknown = ~whole | (rows < 0) | (rows >= size)
        known: Any = range(size)
        lacks = f"is not a position from 0 to {size - 1} in view {view} (pass ids= to use your own)"
    else:
        rows = tables.find_ids(named, index)
        unknown = rows < 0
        known = index.ids.tolist()
        lacks = f"does not occur in view {view}"
    if unknown.any():
        first = int(np.flatnonzero(unknown)[0])
        bad = tables._item(named[first])
        raise trouble(
            int(records[first]),
            f"the id {bad!r} {lacks}; correct or remove it.{alike_hint(bad, known)}",
            ids=[bad],
        )
    return rows


def read_columns(path: str | os.PathLike[str]) -> tuple[dict[str, Array], Trouble]:
    """Columns of a file and a maker of errors about it."""
    kind = files.file_format(Path(path))
    try:
        file = check_readable(path)
    except SidelightError as error:
        raise ConstraintFileError(str(error), path=Path(path)) from error
    if kind == "json":
        return _read_json(file)
    return (files.read_parquet if kind == "parquet" else files.read_csv)(file)


def _read_json(path: Path) -> tuple[dict[str, Array], Trouble]:
    trouble = files.file_trouble(path, lambda record: (f", entry {record + 1}", None))
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise ConstraintFileError(
            f"{path}, line {error.lineno}: this is not JSON ({error.msg}).",
            path=path,
            line=error.lineno,
        ) from error
    except (RecursionError, UnicodeDecodeError) as error:
        raise trouble(None, "a list of objects in UTF-8 is needed.") from error
    if not isinstance(entries, list):
        raise trouble(None, "a list of objects with view_a, id_a, view_b and id_b is needed.")
    names = list(entries[0]) if entries and isinstance(entries[0], dict) else list(COLUMNS)
    for record, entry in enumerate(entries):
        if not isinstance(entry, dict) or list(entry) != names:
            raise trouble(record, f"this is not an object with {', '.join(names)}.")
    return {name: plain([entry[name] for entry in entries]) for name in names}, trouble


def to_columns(known: Any) -> dict[str, list[Any]]:
    """Links as columns, rows named by their ids."""
    columns: dict[str, list[Any]] = {}
    for side, (which, rows) in zip("ab", (known.links.T[:2], known.links.T[2:]), strict=True):
        names = np.empty(len(rows), dtype=object)
        for view, ids in enumerate(known.ids):
            own = which == view
            names[own] = rows[own] if ids is None else ids[rows[own]]
        columns[f"view_{side}"] = which.tolist()
        columns[f"id_{side}"] = [
            name if isinstance(name, int) else text_of(name) for name in names.tolist()
        ]
    return columns


def to_table(known: Any) -> pyarrow.Table:
    """Links as an Arrow table; ids are whole numbers where all are, and text otherwise."""
    import pyarrow as pa

    columns = to_columns(known)
    for name in COLUMNS[1::2]:
        if set(map(type, columns[name])) != {int}:
            columns[name] = list(map(str, columns[name]))
    kinds = {name: pa.string() if name[0] == "i" else pa.int64() for name in COLUMNS}
    for name in COLUMNS[1::2]:
        if columns[name] and isinstance(columns[name][0], int):
            kinds[name] = pa.int64()
    return pa.table({name: pa.array(columns[name], kinds[name]) for name in COLUMNS})


def write_file(known: Any, path: str | os.PathLike[str]) -> None:
    """Write all links to a file, completely or not at all."""
    writers = {"csv": _write_csv, "json": _write_json, "parquet": _write_parquet}
    write = writers[files.file_format(Path(path))]
    with atomic_write(path) as temporary:
        write(known, temporary)


def _write_csv(known: Any, path: Path) -> None:
    columns = to_columns(known)
    with open_text(path, "w") as file:
        between = "\t" if is_tsv(path) else ","
        # The dialect "unix" quotes everything, lone carriage returns too.
        writer = csv.writer(file, csv.unix_dialect, delimiter=between)
        writer.writerow(COLUMNS)
        writer.writerows(zip(*(columns[name] for name in COLUMNS), strict=True))


def _write_json(known: Any, path: Path) -> None:
    """Write one link per line, so that people and version control can read the file."""
    columns = to_columns(known)
    links = zip(*(columns[name] for name in COLUMNS), strict=True)
    lines = (json.dumps(dict(zip(COLUMNS, one, strict=True)), ensure_ascii=False) for one in links)
    with path.open("w", encoding="utf-8") as file:
        file.write("[\n" + ",\n".join(lines) + "\n]\n")


def _write_parquet(known: Any, path: Path) -> None:
    import pyarrow.parquet as pq

    pq.write_table(to_table(known), path)
