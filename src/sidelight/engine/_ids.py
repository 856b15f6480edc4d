"""Ids of rows on disk: the column of a Parquet file that names them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sidelight._typing import Array
from sidelight._warn import warn
from sidelight.exceptions import ConstraintWarning, SidelightError
from sidelight.io.inner import PANDAS_INDEX, close_names, sounds_like_ids

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq


def find_ids(
    file: pq.ParquetFile, path: Path, id_column: str | None, *, guess: bool
) -> tuple[str | None, Array | None]:
    """Return the column that names the rows, and the names; None where rows go by position.

    Parameters
    ----------
    file : ParquetFile
        The open file.
    path : Path
        Its name, for messages.
    id_column : str or None
        The column that the user named.
    guess : bool
        Whether to look for one by its name otherwise.
    """
    schema = file.schema_arrow
    if id_column is not None:
        if id_column not in schema.names:
            raise SidelightError(
                f"{path} has no column {id_column!r}; {close_names(id_column, schema.names)}."
            )
        ids = _values(file, id_column)
        if not _name_each_row(ids):
            raise SidelightError(
                f"Column {id_column!r} of {path} does not name the rows: values are missing or "
                "there twice, or are neither whole numbers nor text."
            )
        return id_column, ids
    for name in _candidates(schema) if guess else []:
        ids = _values(file, name)
        if _name_each_row(ids):
            return name, ids
        warn(
            f"Column {name!r} of {path} is called like a column of ids, but values are missing or "
            "there twice: rows go by position, and it is a feature if it holds numbers. Name the "
            "features with columns=, or the ids with id_column=.",
            ConstraintWarning,
        )
    return None, None


def _candidates(schema: pa.Schema) -> list[str]:
    """Columns whose name and type suggest ids, the likeliest first."""
    named = [field.name for field in schema if _can_name(field.type)]
    first = [name for name in named if name.lower() == "id" or name == PANDAS_INDEX]
    return first + [name for name in named if name not in first and sounds_like_ids(name)]


def _can_name(kind: pa.DataType) -> bool:
    import pyarrow.types as types

    return bool(types.is_integer(kind) or types.is_string(kind) or types.is_large_string(kind))


def _values(file: pq.ParquetFile, name: str) -> Array:
    column = file.read(columns=[name], use_threads=False).column(0)
    if column.null_count or not _can_name(column.type):
        return np.empty(0, dtype=object)
    return np.asarray(column.to_numpy())


def _name_each_row(ids: Any) -> bool:
    return bool(len(ids)) and len(np.unique(ids)) == len(ids)
