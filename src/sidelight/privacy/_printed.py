"""Tables as text: the printed form of every value, and columns of files without conversion."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sidelight.exceptions import SidelightError
from sidelight.io.inner import (
    check_header,
    check_readable,
    csv_records,
    encoding_of,
    layout_of,
    open_text,
    read_raw,
    table_format,
    text_lines,
)

#: A printed value; None where a table with types has none.
Cell = str | None


def printed_columns(table: Any) -> dict[str, list[Cell]]:
    """All columns of a table, every value as text.

    Parameters
    ----------
    table : path-like, data frame of pandas or polars, Arrow table, or dict of columns
        The table.
    """
    if isinstance(table, str | os.PathLike):
        path = check_readable(table)
        if table_format(path) == "csv":
            return _written(path)
        raw = read_raw(path, keep_types=True)
        return {name: _texts(raw.column(name).to_pylist()) for name in raw.names}
    if isinstance(table, Mapping):
        columns = {str(name): list(values) for name, values in table.items()}
    elif hasattr(table, "column_names"):  # Arrow
        columns = {str(name): table.column(name).to_pylist() for name in table.column_names}
    elif hasattr(table, "iloc") and hasattr(table, "columns"):
        names = [str(name) for name in table.columns]
        columns = {name: table.iloc[:, place].tolist() for place, name in enumerate(names)}
        if len(columns) < len(names):
            raise SidelightError("Several columns have the same name; give them different ones.")
    elif hasattr(table, "get_columns"):  # polars
        columns = {str(column.name): column.to_list() for column in table.get_columns()}
    else:
        raise SidelightError(
            "A table is a file, a data frame, an Arrow table or a dict of columns, got "
            f"{type(table).__name__}."
        )
    if len({len(values) for values in columns.values()}) > 1:
        raise SidelightError("The columns of the table have different numbers of rows.")
    return {name: _texts(values) for name, values in columns.items()}


def _written(path: Path) -> dict[str, list[Cell]]:
    """Cells of a text file, sign by sign."""
    encoding = encoding_of(path)
    layout = layout_of(path, encoding)
    names = [name.strip() for name in layout.header]
    check_header(names, path)
    rows: list[list[str]] = []
    with open_text(path, encoding=encoding) as file:
        lines = text_lines(file, path)
        for _ in range(layout.end):
            next(lines)
        for line, values in csv_records(lines, path, layout.delimiter, start=layout.end):
            if not values:  # an empty line
                continue
            if len(values) != len(names):
                raise SidelightError(
                    f"Line {line} of {path} has {len(values)} values, the header {len(names)}."
                )
            rows.append(values)
    if not rows:
        raise SidelightError(f"{path} has a header line but no rows.")
    return {name: list(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)}


def _texts(values: list[Any]) -> list[Cell]:
    return [None if value is None or value != value else str(value) for value in values]
