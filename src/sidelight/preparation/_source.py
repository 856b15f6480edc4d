"""Tables of any form as named columns: data frames, Arrow, arrays, files."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sidelight._in_memory import check_computed
from sidelight._words import worded
from sidelight.constraints.inner import own_ids
from sidelight.exceptions import SidelightError
from sidelight.io import Table, read_table
from sidelight.io.inner import ArrowColumns, ColumnTable, row_name, with_plain_types


@dataclass(frozen=True, eq=False)
class Source:
    """Columns of a table and what its rows are called.

    Attributes
    ----------
    columns : ColumnTable
        The columns.
    ids : ndarray or None
        The user's names of the rows; None where they have none.
    named : bool
        Whether the columns have names of their own; those of an array are ``x0``, ``x1``, ...
    place : callable or None
        Words for the row at a position, where the rows are some of a table in several files.
    """

    columns: ColumnTable
    ids: npt.NDArray[Any] | None
    named: bool
    place: Callable[[int], str] | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.columns.n_rows

    def row(self, position: int) -> str:
        """How to speak of a row to the user."""
        return row_name(self.ids, position) if self.place is None else self.place(position)


def as_source(data: Any) -> Source:
    """Table of any form as named columns.

    Parameters
    ----------
    data : Table, path-like, data frame of pandas or polars, Arrow table, array, or Source
        The table; a path is read by :func:`sidelight.io.read_table`.
    """
    if isinstance(data, Source):
        return data
    check_computed(data, "The table")
    if isinstance(data, str | os.PathLike):
        data = read_table(data, as_columns=True)
    if isinstance(data, Table):
        if data.columns is not None:
            return Source(data.columns, data.ids, True)
        return Source(_of_array(data.X, data.feature_names), data.ids, False)
    if isinstance(data, ArrowColumns):
        return Source(data, None, True)
    if hasattr(data, "iloc") and hasattr(data, "columns"):
        return Source(_of_pandas(data), own_ids(data), True)
    if hasattr(data, "__arrow_c_stream__"):  # Arrow, polars, DuckDB ...
        return Source(_of_arrow(data), None, True)
    return Source(_of_array(data), None, False)


def _of_array(X: Any, names: Any = None) -> ArrowColumns:
    import pyarrow as pa

    if hasattr(X, "tocsr"):
        raise SidelightError(
            "Sparse rows are features already and are not prepared; "
            + worded(
                "scale them with sklearn.preprocessing.MaxAbsScaler if need be.",
                "use --raw, or --scale.",
            )
        )
    rows = np.asarray(X)
    if rows.ndim != 2:
        raise SidelightError(
            f"A table has rows and columns, got an array of shape {rows.shape}. "
            "Reshape your data to two dimensions."
        )
    if names is None:
        names = [f"x{place}" for place in range(rows.shape[1])]
    return ArrowColumns(
        pa.table([_array_column(rows[:, place]) for place in range(len(names))], names=list(names))
    )


def _array_column(values: npt.NDArray[Any]) -> Any:
    import pyarrow as pa

    if values.dtype.kind == "O":
        return _object_column(values.tolist())
    if values.dtype.kind == "c":
        raise SidelightError("Complex data not supported.")
    if values.dtype.kind == "f" and values.dtype.itemsize not in (4, 8):
        values = values.astype(np.float64)
    return pa.array(np.ascontiguousarray(values), from_pandas=True)


def _of_pandas(frame: Any) -> ArrowColumns:
    import pyarrow as pa

    names = [str(name) for name in frame.columns]
    _check_names(names)
    columns = []
    for place in range(len(names)):
        series = frame.iloc[:, place]
        try:
            columns.append(pa.Array.from_pandas(series))
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
            columns.append(_object_column(series.tolist()))
    return ArrowColumns(pa.table(columns, names=names))


def _object_column(values: list[Any]) -> Any:
    """Python objects of one type as an Arrow column; of several types, as text."""
    import pyarrow as pa

    present = [None if value is None or value != value else value for value in values]
    try:
        return pa.array(present)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.array([None if value is None else str(value) for value in present], pa.string())


def _of_arrow(data: Any) -> ArrowColumns:
    import pyarrow as pa

    table = data if isinstance(data, pa.Table) else pa.table(data)
    _check_names(list(map(str, table.column_names)))
    return ArrowColumns(with_plain_types(table))


def _check_names(names: list[str]) -> None:
    repeated = sorted({name for name in names if names.count(name) > 1}) if names else []
    if repeated:
        raise SidelightError(
            f"Several columns are called {repeated[0]!r}; give them different names."
        )
