"""Splits to avoid, wherever they are: columns of the data, files, or objects in memory."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sidelight._typing import Array
from sidelight._words import counted, listed, worded
from sidelight.constraints import KnownSplits, as_known_splits
from sidelight.constraints.inner import align_to_ids
from sidelight.exceptions import InvalidRequest
from sidelight.io import Table
from sidelight.io.inner import close_names, column_names, column_texts, number_column, read_raw
from sidelight.jobs._table._asked import Rows
from sidelight.jobs._table._features import is_frame
from sidelight.preparation.inner import as_source

#: Whole numbers of more different values than this are an amount, such as an age, not classes.
MAX_CLASSES = 20


def as_list(avoid: Any) -> list[Any]:
    """The splits one by one: names of columns, files, or splits in memory."""
    if avoid is None:
        return []
    if isinstance(avoid, str | os.PathLike | KnownSplits):
        return [avoid]
    if isinstance(avoid, list | tuple) and all(
        isinstance(one, str | os.PathLike | KnownSplits) for one in avoid
    ):
        return list(avoid)
    return [avoid]


def columns_and_files(avoid: Sequence[Any], rows: Rows) -> tuple[list[str], list[Path]]:
    """Which of the names are columns of the data, and which are files.

    A column comes before a file of the same name.
    """
    names = _column_names(rows)
    columns: list[str] = []
    files: list[Path] = []
    for one in avoid:
        if isinstance(one, str) and one in names:
            columns.append(one)
        elif isinstance(one, os.PathLike) or (isinstance(one, str) and _is_file(one)):
            files.append(Path(one))
        elif isinstance(one, str):
            hint = close_names(one, names) if names else "the data has no names of columns"
            raise InvalidRequest(
                f"{worded('avoid', '--avoid')} {one!r} is neither a column of the data nor a file; "
                f"{hint}."
            )
    repeated = [name for name in columns if columns.count(name) > 1]
    if repeated:
        raise InvalidRequest(f"{worded('avoid', '--avoid')} names {repeated[0]!r} twice.")
    return columns, files


def _is_file(name: str) -> bool:
    """Whether a name is meant as a file: it is there, or it ends like one."""
    endings = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".json", ".parquet")
    return Path(name).is_file() or name.lower().endswith(endings)


def _column_names(rows: Rows) -> list[str]:
    if rows.path is not None:
        return list(column_names(rows.path)) if rows.path.is_file() else []
    if is_frame(rows.data):
        return list(as_source(rows.data).columns.names)
    return []


def read_avoided(
    avoid: Sequence[Any],
    columns: Sequence[str],
    files: Sequence[Path],
    rows: Rows,
    data: Table,
) -> tuple[KnownSplits, tuple[str, ...]]:
    """All splits to avoid, in the order of the rows, and notes on how they were read."""
    ids = data.ids
    known = KnownSplits(n_samples=data.n_rows, ids=ids)
    notes: tuple[str, ...] = ()
    if columns:
        of_data, notes = _of_columns(columns, rows, data)
        known |= of_data
    for file in files:
        known |= KnownSplits.read(file, ids=data.row_ids).under(ids)
    for one in avoid:
        if not isinstance(one, str | os.PathLike):
            given = as_known_splits(one, data.n_rows, rows.data)
            if given.ids is not None and ids is not None:
                given = align_to_ids(given, ids, "data")
            known |= given.under(ids)
    known = as_known_splits(known, data.n_rows)
    return known, (*known.notes, *notes)


def _of_columns(
    columns: Sequence[str], rows: Rows, data: Table
) -> tuple[KnownSplits, tuple[str, ...]]:
    """Splits that are columns of the data, and notes on their gaps."""
    raw: Any = as_source(rows.data).columns if rows.path is None else read_raw(rows.path)
    found = {name: raw.column(name) for name in columns}
    values: dict[str, Array] = {}
    numeric: list[str] = []
    notes: list[str] = []
    for name, column in found.items():
        numbers = number_column(column)
        if numbers is None or not _is_amount(numbers):
            values[name] = _texts(column)
            continue
        numeric.append(name)
        gaps = ~np.isfinite(numbers)
        values[name] = np.where(gaps, np.median(numbers[~gaps]), numbers)
        if gaps.any():
            filled = counted(int(gaps.sum()), "gap")
            notes.append(f"The avoided column {name!r} has {filled}, filled with its median.")
    return KnownSplits(values, ids=data.ids, numbers=numeric), tuple(notes)


def _texts(column: Any) -> Array:
    return np.array(column_texts(column), dtype=object)


def _is_amount(values: Array | None) -> bool:
    """Whether a column holds amounts: fractions, or very many whole numbers."""
    if values is None:
        return False
    finite = values[np.isfinite(values)]
    if np.any(finite != np.round(finite)):
        return True
    return len(np.unique(finite)) > MAX_CLASSES


def notes_on_columns(columns: Sequence[str]) -> tuple[str, ...]:
    """Return a sentence on which columns of the data are no features."""
    if not columns:
        return ()
    names = listed([repr(name) for name in columns])
    are = "columns are" if len(columns) > 1 else "column is"
    return (f"The {are} avoided, and no feature: {names}.",)
