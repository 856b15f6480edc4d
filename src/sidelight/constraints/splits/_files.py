"""Known splits in tables and files: a column of ids, and one column per split."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sidelight._typing import Array
from sidelight._words import counted
from sidelight.constraints.algebra._canonical import RowIndex, as_ids
from sidelight.constraints.algebra._plain import frozen, plain, text_of
from sidelight.constraints.exchange import _files as files
from sidelight.constraints.exchange._tables import Trouble, find_ids
from sidelight.constraints.splits._columns import CodedSplit, RawSplit, given_columns, read_columns
from sidelight.exceptions import ConstraintFileError, SidelightError
from sidelight.io.inner import alike_hint, atomic_write, check_readable, is_tsv, open_text

if TYPE_CHECKING:
    import pyarrow

ID = "id"

#: What makes known splits: the number of rows, the ids, the splits.
Read = tuple[int, RowIndex | None, list[CodedSplit]]


def read_file(
    path: str | os.PathLike[str], id_column: str | None, index: RowIndex | None, numbers: Any
) -> Read:
    """Known splits from a file."""
    file = Path(path)
    kind = files.file_format(file)
    try:
        file = check_readable(path)
    except SidelightError as error:
        raise ConstraintFileError(str(error), path=file) from error
    columns, trouble = _read_columns(file, kind)
    if not columns:
        raise trouble(None, "there are no columns.")
    if id_column is None and len(columns) > 1:
        names = list(columns)
        id_column = next((name for name in names if name.strip().lower() == ID), names[0])
    try:
        if id_column is None:
            splits = _splits(columns, numbers, spelled=kind == "csv")
            n = len(splits[0].values)
            if index is not None and n != len(index.ids):
                raise trouble(
                    None,
                    f"one column without ids has to have a value for each of the "
                    f"{counted(len(index.ids), 'row')}, and has {n:,}.",
                )
            return n, index, splits
        return columns_by_id(columns, id_column, index, numbers, trouble, spelled=kind == "csv")
    except (ConstraintFileError, OSError):
        raise
    except SidelightError as error:
        if str(file) in str(error):
            raise
        raise trouble(None, str(error)) from error


def _read_columns(path: Path, kind: str) -> tuple[dict[str, Array], Trouble]:
    if kind != "json":
        return (files.read_parquet if kind == "parquet" else files.read_csv)(path)
    entries, trouble = files.read_entries(path)
    names = dict.fromkeys(name for entry in entries for name in entry)
    return {name: plain([entry.get(name) for entry in entries]) for name in names}, trouble


def columns_by_id(
    columns: Mapping[str, Array],
    id_column: str,
    index: RowIndex | None,
    numbers: Any,
    trouble: Trouble,
    *,
    spelled: bool = False,
) -> Read:
    """Splits of the rows that a column of ids names, in the order of the ids of the data."""
    if id_column not in columns:
        has = ", ".join(repr(name) for name in columns)
        raise trouble(None, f"there is no column {id_column!r} of ids; the columns are {has}.")
    named = columns[id_column]
    others = {name: values for name, values in columns.items() if name != id_column}
    if not others:
        raise trouble(None, f"there is no split besides the ids in {id_column!r}.")
    if index is None:
        own = RowIndex(frozen(np.array(_own_ids(named, spelled=spelled))))
        _check_not_repeated(own.positions(own.ids), named, trouble)
        return len(named), own, _splits(others, numbers, spelled=spelled)
    places = find_ids(named, index)
    unknown = np.flatnonzero(places < 0)
    if len(unknown):
        bad = named[unknown[:1]].tolist()[0]
        raise trouble(
            int(unknown[0]),
            f"the id {bad!r} does not occur in the data ({counted(len(unknown), 'such row')}); "
            f"correct or remove it.{alike_hint(bad, index.ids.tolist())}",
            ids=named[unknown].tolist(),
        )
    _check_not_repeated(places, named, trouble)
    placed = {name: _placed(values, places, len(index.ids)) for name, values in others.items()}
    return len(index.ids), index, _splits(placed, numbers, spelled=spelled)


def _own_ids(named: Array, *, spelled: bool) -> Array:
    """Ids of a file; words that all spell whole numbers in the plain way are numbers."""
    from sidelight.constraints.relations._id_columns import spelled_numbers

    numbers = spelled_numbers(named) if spelled else None
    return as_ids(named) if numbers is None else numbers


def _check_not_repeated(places: Array, named: Array, trouble: Trouble) -> None:
    first = np.unique(places, return_index=True)[1]
    if len(first) == len(places):
        return
    repeated = int(np.setdiff1d(np.arange(len(places)), first)[0])
    bad = named[[repeated]].tolist()[0]
    raise trouble(repeated, f"the id {bad!r} occurs twice; keep one of the two rows.")


def _placed(values: Array, places: Array, n_samples: int) -> Array:
    """Values at the places of their rows, None for rows that the table leaves out."""
    if len(places) == n_samples:
        ordered = np.empty_like(values)
        ordered[places] = values
        return ordered
    full = np.full(n_samples, None, dtype=object)
    full[places] = values
    return plain(full)


def _splits(columns: Mapping[str, Array], numbers: Any, *, spelled: bool) -> list[CodedSplit]:
    given: list[RawSplit] = given_columns(columns, numbers)[0]
    return read_columns(given, spelled=spelled)


def to_columns(known: Any) -> dict[str, list[Any]]:
    """Ids and splits by name; None where a value is missing."""
    clash = next((name for name in known.names if name.strip().lower() == ID), None)
    if clash is not None:
        raise SidelightError(
            f"A known split is called {clash!r}, as the column of ids in a file is; rename it."
        )
    ids = np.arange(known.n_samples) if known.ids is None else known.ids
    names = ids.tolist()
    if set(map(type, names)) - {int}:
        names = [text_of(name) for name in names]
    columns: dict[str, list[Any]] = {ID: names}
    for column in known.columns():
        if column.classes is None:
            columns[column.name] = column.values.tolist()
            continue
        words: list[Any] = column.classes.tolist()
        words = [*words[:-1], None] if column.missing else words
        columns[column.name] = [words[code] for code in column.values.tolist()]
    return columns


def to_table(known: Any) -> pyarrow.Table:
    """Ids and splits as an Arrow table."""
    import pyarrow as pa

    return pa.table({name: pa.array(values) for name, values in to_columns(known).items()})


def write_file(known: Any, path: str | os.PathLike[str]) -> None:
    """Write ids and splits to a file, completely or not at all."""
    writers = {"csv": _write_csv, "json": _write_json, "parquet": _write_parquet}
    write = writers[files.file_format(Path(path))]
    with atomic_write(path) as temporary:
        write(known, temporary)


def _write_csv(known: Any, path: Path) -> None:
    columns = to_columns(known)
    between = "\t" if is_tsv(path) else ","
    # A lone carriage return ends a line for readers, but the writer does not quote it by itself.
    words = (str(word) for values in columns.values() for word in values)
    style = csv.unix_dialect if any("\r" in word for word in words) else csv.excel
    with open_text(path, "w") as file:
        writer = csv.writer(file, style, delimiter=between, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))


def _write_json(known: Any, path: Path) -> None:
    """Write one row per line, so that people and version control can read the file."""
    columns = to_columns(known)
    rows = zip(*columns.values(), strict=True)
    lines = (json.dumps(dict(zip(columns, row, strict=True)), ensure_ascii=False) for row in rows)
    with path.open("w", encoding="utf-8") as file:
        file.write("[\n" + ",\n".join(lines) + "\n]\n")


def _write_parquet(known: Any, path: Path) -> None:
    import pyarrow.parquet as pq

    pq.write_table(to_table(known), path)
