"""From a table to the features that an estimator sees: prepared, scaled, or as they are."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from sidelight._words import worded
from sidelight.constraints.inner import own_ids
from sidelight.exceptions import InvalidRequest, SidelightError
from sidelight.io import Table
from sidelight.io.inner import read_raw, table_of_columns
from sidelight.preparation import TablePreparer
from sidelight.preparation.inner import as_source, check_scale
from sidelight.tags import MethodTags

if TYPE_CHECKING:
    from sidelight.jobs._table._asked import Rows

#: Stands for the file of rows that were given as an array.
IN_MEMORY = Path("rows in memory")
#: Features beyond so many bytes are kept in a temporary file, where the method reads by blocks.
MAX_BYTES = 1 << 30
BLOCK_ROWS = 1 << 16


def is_frame(data: Any) -> bool:
    """Whether data in memory has columns with names: of pandas, polars, Arrow."""
    return not isinstance(data, Table) and (
        hasattr(data, "__arrow_c_stream__") or (hasattr(data, "iloc") and hasattr(data, "columns"))
    )


def raw_columns(data: Any, text_columns: Sequence[str]) -> Any:
    """Return the columns of a file or data frame as they are; of a file, some as texts."""
    if isinstance(data, str | os.PathLike):
        return read_raw(Path(data), text_columns=text_columns, keep_types=True)
    return as_source(data).columns


def frame_table(
    request: Rows,
    *,
    label_column: str | None,
    truth_column: str | None,
    colored: tuple[str, ...] = (),
) -> Table:
    """A data frame with roles of its columns assigned as for a file.

    ``colored`` is the column that colors points, and is no feature.
    """
    return table_of_columns(
        as_source(request.data).columns,
        IN_MEMORY,
        ids=own_ids(request.data),
        id_column=request.id_column,
        label_column=label_column,
        truth_column=truth_column,
        columns_used=request.columns,
        drop=(*request.drop, *colored),
    )


def make_features(data: Table, request: Rows, tags: MethodTags) -> tuple[Any, Any]:
    """Fit what makes the features of a table; return it with the features.

    Parameters
    ----------
    data : Table
        The table.
    request : Rows
        How its columns are to be prepared.
    tags : MethodTags
        Whether the method models missing values, and reads its rows by blocks.
    """
    if not request.prepare:
        refuse_options(request)
        return None, data.X
    if sparse.issparse(data.X):
        return _sparse_features(data.X, request)
    preparer = TablePreparer(
        kinds=dict(request.kinds) or None,
        weights=dict(request.weights) or None,
        scale="standard" if request.scale is None else request.scale,  # type: ignore[arg-type]
        missing="keep" if tags.missing else "fill",
    )
    if tags.out_of_core and _large(data):
        return preparer, _features_on_disk(preparer, data)
    return preparer, preparer.fit_transform(data)


def refuse_options(request: Rows) -> None:
    """Refuse options of the preparation where columns are taken as they are."""
    given = {"kinds": request.kinds, "weights": request.weights, "scale": request.scale}
    useless = [name for name, value in given.items() if value]
    if useless:
        options = {"kinds": "--as", "weights": "--weight", "scale": "--scale"}
        raise InvalidRequest(
            worded(
                f"{useless[0]}= has no use with raw=True, which takes the columns as they are.",
                f"{options[useless[0]]} has no use with --raw, which takes the columns as they "
                "are.",
            )
        )


def _sparse_features(X: Any, request: Rows) -> tuple[Any, Any]:
    """Sparse rows as they are, or divided by a scale; their zeros stay zeros."""
    if request.kinds or request.weights:
        raise InvalidRequest(
            "the columns of sparse rows have no names to speak of: "
            + worded("kinds and weights", "--as and --weight")
            + " have no use."
        )
    scaler = scaler_for("none" if request.scale is None else request.scale, centered=False)
    return scaler, X if scaler is None else scaler.fit_transform(X)


def scaler_for(scale: str, *, centered: bool = True) -> Any:
    """Return what brings columns to a scale; None where they are taken as they are.

    Columns of sparse rows are not ``centered``, so that their zeros stay zeros.
    """
    from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

    check_scale(scale)
    scalers = {
        "standard": StandardScaler(with_mean=centered),
        "robust": RobustScaler(with_centering=centered, unit_variance=True),
        "range": MinMaxScaler() if centered else MaxAbsScaler(),
        "none": None,
    }
    return scalers[scale]


def _large(data: Table) -> bool:
    """Whether the features may not fit well into memory: a category has a column per level."""
    n_columns = len(data.feature_names)
    return data.n_rows * n_columns * 8 * (1 if data.columns is None else 3) > MAX_BYTES


def _some_rows(data: Table, rows: slice) -> Table:
    """Some rows of a table of numbers, by the names that they have in it."""
    return replace(data, X=np.asarray(data.X[rows]), ids=data.row_ids[rows])


def _features_on_disk(preparer: TablePreparer, data: Table) -> Any:
    """Features in a temporary file that goes with the array; memory: a block, or a column."""
    blocks: Iterator[Any]
    if data.columns is None:
        step = max(1, data.n_rows * len(data.feature_names) * 8 // MAX_BYTES)
        preparer.fit(_some_rows(data, slice(None, None, step)))  # these tell scale and kind
        starts = range(0, data.n_rows, BLOCK_ROWS)
        blocks = (_some_rows(data, slice(start, start + BLOCK_ROWS)) for start in starts)
    else:
        preparer.fit(data)
        blocks = data.columns.blocks(BLOCK_ROWS)
    shape = (data.n_rows, preparer.n_features_out_)
    try:
        file = tempfile.TemporaryFile()  # noqa: SIM115  (open as long as the array is)
        X: Any = np.memmap(file, dtype=np.float64, mode="w+", shape=shape)
    except OSError as error:
        gigabytes = shape[0] * shape[1] * 8 / 1e9
        raise SidelightError(
            f"The features take {gigabytes:.1f} GB, for which {tempfile.gettempdir()} has no room; "
            "set TMPDIR to a folder that has."
        ) from error
    start = 0
    for block in blocks:
        rows = preparer.transform(block)
        X[start : start + len(rows)] = rows
        start += len(rows)
    return X
