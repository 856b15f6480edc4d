"""Partitions of Dask arrays and data frames."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sidelight.engine._memory import ArrayRows
from sidelight.engine._pieces import pieces_of
from sidelight.engine._source import RowSource, floating_dtype
from sidelight.engine.dask._engine import Collection, DaskEngine, FilePartitions
from sidelight.engine.partitioned._rows import PartitionedRows
from sidelight.exceptions import SidelightError
from sidelight.io.inner import sounds_like_ids

if TYPE_CHECKING:
    from distributed import Client


def rows_of_collection(X: Any, client: Client | None = None) -> RowSource:
    """Return the rows of a Dask array or data frame, in its partitions.

    Parameters
    ----------
    X : dask.array.Array or dask.dataframe.DataFrame
        The rows. Chunks of an array are joined along the columns. The numeric columns of a data
        frame are features, but for one that names the rows.
    client : distributed.Client, default=None
        The cluster; the active client by default.
    """
    if hasattr(X, "npartitions") and hasattr(X, "dtypes"):
        return PartitionedRows(DaskEngine(_partitions_of_frame(X), client))
    if hasattr(X, "numblocks") and getattr(X, "ndim", 0) == 2:
        return PartitionedRows(DaskEngine(_partitions_of_array(X), client))
    kind = type(X)
    shape = f" of {X.ndim} dimensions" if hasattr(X, "ndim") else ""
    raise SidelightError(
        f"Rows are a dask.array of two dimensions or a dask.dataframe, not a "
        f"{kind.__module__}.{kind.__qualname__}{shape}."
    )


def rows_of_files(source: RowSource, client: Client | None = None) -> RowSource:
    """Return rows on disk as partitions that the workers read; as they are without a client.

    Parameters
    ----------
    source : RowSource
        Rows of files that all workers reach by the same path.
    client : distributed.Client, default=None
        The cluster; the active client by default, if there is one.
    """
    from distributed import default_client

    if client is None:
        try:
            client = default_client()
        except ValueError:
            return source
    pieces, names = pieces_of(source)
    return PartitionedRows(DaskEngine(FilePartitions(pieces, names), client), ids=source.ids)


def _partitions_of_array(X: Any) -> Collection:
    if X.dtype.kind not in "biuf":
        raise SidelightError(f"The Dask array holds {X.dtype}, not numbers.")
    if X.numblocks[1] > 1:
        X = X.rechunk({1: -1})
    parts = X.to_delayed()[:, 0].tolist()
    return Collection(parts, _names(len(parts), "array"), float(X.nbytes))


def _partitions_of_frame(X: Any) -> Collection:
    from dask import delayed

    ids = _column_of_ids(X)
    columns = [name for name in X.columns if name != ids]
    dtypes = dict(zip(X.columns, X.dtypes, strict=True))
    for name in columns:
        if not _is_number(dtypes[name]):
            raise SidelightError(
                f"Column {name!r} of the Dask data frame holds {dtypes[name]}, not numbers: leave "
                "it out (X[[...]]), or turn it into numbers first (X.categorize, "
                "dask.dataframe.get_dummies)."
            )
    if not columns:
        raise SidelightError("The Dask data frame has no column of numbers.")
    dtype = floating_dtype(np.result_type(*(_numpy_type(dtypes[name]) for name in columns)))
    # Each partition of a file counts its rows from 0 again; divisions are those of a whole table.
    named = ids is not None or _index_is_named(X) or X.known_divisions
    apply = delayed(frame_rows, pure=True)
    parts = [apply(part, columns, dtype, ids, named) for part in X.to_delayed()]
    return Collection(parts, _names(len(parts), "data frame"), np.nan)


def frame_rows(
    frame: Any, columns: Sequence[Any], dtype: Any, id_column: Any, named: bool
) -> RowSource:
    """Return the rows of a partition, beside it.

    Parameters
    ----------
    frame : pandas.DataFrame
        The partition.
    columns : sequence
        Columns that are features.
    dtype : numpy.dtype
        Element type of the rows.
    id_column : object
        Column that names the rows; None for the index.
    named : bool
        Whether the rows have names.
    """
    rows = ArrayRows(frame[list(columns)].to_numpy(dtype=dtype, na_value=np.nan))
    rows.columns = [str(name) for name in columns]  # type: ignore[attr-defined]
    if named:
        ids = frame.index if id_column is None else frame[id_column]
        rows.ids = np.asarray(ids.to_numpy())
    return rows


def _column_of_ids(X: Any) -> Any:
    """Return the column whose name and type say that it names the rows, or None."""
    if _index_is_named(X):
        return None
    kinds = dict(zip(X.columns, X.dtypes, strict=True))
    likely = [
        name
        for name in X.columns
        if isinstance(name, str)
        and (name.lower() == "id" or sounds_like_ids(name))
        and (getattr(kinds[name], "kind", "O") in "iuO" or str(kinds[name]).startswith("string"))
    ]
    first = [name for name in likely if name.lower() == "id"]
    return next(iter(first + likely), None)


def _index_is_named(X: Any) -> bool:
    """Whether the index has a name, or holds texts: then it names the rows."""
    return X.index.name is not None or getattr(X.index.dtype, "kind", "O") not in "iu"


def _is_number(dtype: Any) -> bool:
    return _numpy_type(dtype).kind in "biuf"


def _numpy_type(dtype: Any) -> np.dtype[Any]:
    """Return the NumPy type of a column, also of the nullable types of pandas and Arrow."""
    inner = getattr(dtype, "numpy_dtype", dtype)
    try:
        return np.dtype(inner)
    except TypeError:
        return np.dtype(object)


def _names(n: int, what: str) -> list[str]:
    return [f"Partition {number} of the Dask {what}" for number in range(n)]
