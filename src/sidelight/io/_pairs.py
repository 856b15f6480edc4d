"""Files with one pair of ids per line."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sidelight.exceptions import ConstraintFileError, UnknownIds
from sidelight.io._ids import alike_hint, position_of
from sidelight.io._table import check_readable
from sidelight.io.formats._formats import read_parquet, table_format
from sidelight.io.formats._text import csv_records, encoding_of, layout_of, open_text, text_lines

HEADERS = {("i", "j"), ("a", "b"), ("id1", "id2"), ("id_1", "id_2"), ("from", "to"), ("id", "id")}
HEADERS |= {("left", "right"), ("first", "second"), ("source", "target"), ("x", "y")}


def read_pairs(path: str | os.PathLike[str], ids: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Read pairs of rows, two ids per line, as positions in ``ids``.

    A first line that says ``i,j`` (or ``a,b``, ``id1,id2``, ``from,to``, ``left,right``,
    ``first,second``, ``source,target``) is a header.

    Parameters
    ----------
    path : path-like
        ``.csv``, ``.csv.gz``, ``.tsv`` or ``.parquet`` with two columns.
    ids : array-like of shape (n_rows,)
        Ids of the rows.

    Returns
    -------
    ndarray of shape (n_pairs, 2)
        Positions of the rows.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sidelight.io import read_pairs
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "same.csv").write_text("ann,bob\\nbob,eve\\n")
    ...     read_pairs(Path(folder) / "same.csv", ["ann", "bob", "eve"])
    array([[0, 1],
           [1, 2]])
    """
    file = check_readable(path)
    names = np.asarray(ids).tolist()
    position = {str(name): row for row, name in enumerate(names)}
    rows: list[tuple[Any, Any]] = []
    for line, pair in _pairs(file):
        found = [position_of(name, position) for name in pair]
        if line == 1 and found == [None, None] and _is_header(pair):
            continue
        for name, row in zip(pair, found, strict=True):
            if row is None:
                header = "; if this line is a header, call the columns i and j" if line == 1 else ""
                raise UnknownIds(
                    f"Line {line} of {file} names {name!r}, but no row of the data has this "
                    f"id{header}.{alike_hint(name, names)}",
                    ids=(name,),
                )
        rows.append((found[0], found[1]))
    return np.asarray(rows, dtype=np.int64).reshape(-1, 2)


def rows_named_in_pairs(path: str | os.PathLike[str]) -> set[str]:
    """Names of rows in a file of pairs, as text."""
    pairs = _pairs(check_readable(path))
    return {name for line, pair in pairs if line > 1 or not _is_header(pair) for name in pair}


def _is_header(pair: tuple[str, str]) -> bool:
    return (pair[0].lower(), pair[1].lower()) in HEADERS


def _pairs(path: Path) -> Iterator[tuple[int, tuple[str, str]]]:
    """Number of the line and the two ids in it."""
    kind = table_format(path)
    if kind == "parquet":
        yield from _parquet_pairs(path)
        return
    if kind != "csv":
        raise ConstraintFileError(
            f"Pairs are read from .csv, .csv.gz, .tsv or .parquet, not from {path}.", path=path
        )
    layout = layout_of(path, encoding_of(path))
    delimiter = layout.delimiter
    with open_text(path, encoding=layout.encoding) as file:
        lines = itertools.islice(text_lines(file, path), layout.start, None)
        for line, fields in csv_records(lines, path, delimiter, start=layout.start):
            values = [field.strip() for field in fields]
            if not any(values):
                continue
            if len(values) != 2 or not all(values):
                raise ConstraintFileError(
                    f"Line {line} of {path} should hold two ids, but holds "
                    f"{delimiter.join(fields)!r}.",
                    path=path,
                    line=line,
                )
            yield line, (values[0], values[1])


def _parquet_pairs(path: Path) -> Iterator[tuple[int, tuple[str, str]]]:
    table: Any = read_parquet(path).table
    if table.num_columns != 2:
        raise ConstraintFileError(
            f"{path} should have two columns of ids, but has {table.num_columns}.", path=path
        )
    first, second = (table.column(c).to_pylist() for c in (0, 1))
    for line, (i, j) in enumerate(zip(first, second, strict=True), start=2):
        yield line, (str(i), str(j))
