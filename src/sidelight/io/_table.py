"""Read a table of rows: the numbers, the ids, and the column that holds labels."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sidelight.exceptions import SidelightError
from sidelight.io._atomic import check_name
from sidelight.io._columns import (
    check_finite,
    class_values,
    close_names,
    id_values,
    label_values,
    notes_on_gaps,
    quoted,
)
from sidelight.io._id_column import (
    PANDAS_INDEX,
    Named,
    find_id_column,
    notes_on_features,
    notes_on_repeated_ids,
)
from sidelight.io._raw_columns import ArrowColumns, ColumnTable, ParquetColumns
from sidelight.io.formats._formats import read_raw, table_format


@dataclass(frozen=True, eq=False)
class Table:
    """Rows read from a file.

    Attributes
    ----------
    X : ndarray or csr_matrix of shape (n_rows, n_features), or None
        The numbers, float64 or float32; None where columns were read as they are.
    ids : ndarray of shape (n_rows,) or None
        Ids of the rows (int64 or str); ``None`` where the file has none, see :attr:`row_ids`.
    feature_names : tuple of str
        Names of the feature columns.
    labels : ndarray of shape (n_rows,) or None
        The label column: int64 with -1, or str with "", where a label is unknown.
    truth : ndarray of shape (n_rows,) or None
        The column with the true classes, in the same form, except that -1 is a class where the
        file says -1 (then all classes are text).
    id_column, label_column, truth_column : str or None
        Where these came from.
    path : Path
        The file.
    notes : tuple of str
        What was decided while reading, as sentences for the user.
    zero_based : bool or None
        For a libsvm file, whether its first feature has the number 0.
    columns : ColumnTable or None
        The features as the file has them, of any type (``as_columns=True``).
    """

    X: Any
    ids: npt.NDArray[Any] | None
    feature_names: tuple[str, ...]
    path: Path
    labels: npt.NDArray[Any] | None = None
    truth: npt.NDArray[Any] | None = None
    id_column: str | None = None
    label_column: str | None = None
    truth_column: str | None = None
    notes: tuple[str, ...] = ()
    zero_based: bool | None = None
    columns: ColumnTable | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0]) if self.columns is None else self.columns.n_rows

    @property
    def row_ids(self) -> npt.NDArray[Any]:
        """The ids, or the row numbers 0, 1, 2 ... where the file has no ids."""
        return np.arange(self.n_rows) if self.ids is None else self.ids

    @property
    def truth_codes(self) -> npt.NDArray[np.int64]:
        """True classes as 0, 1, 2 ..., -1 where unknown: so that a class may be called anything."""
        codes = np.full(self.n_rows, -1, dtype=np.int64)
        if self.truth is not None:
            known = self.truth != ("" if self.truth.dtype.kind == "U" else -1)
            codes[known] = np.unique(self.truth[known], return_inverse=True)[1].reshape(-1)
        return codes


def read_table(
    path: str | os.PathLike[str],
    *,
    id_column: str | None = None,
    label_column: str | None = None,
    truth_column: str | None = None,
    columns: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    zero_based: bool | None = None,
    allow_missing: bool = False,
    as_columns: bool = False,
    named: Named | None = None,
) -> Table:
    """Read a table from a file, in the format of its suffix.

    ``.csv``, ``.csv.gz``, ``.tsv`` (with a header line; UTF-8, UTF-16 or Windows-1252; comma,
    semicolon, tab or vertical bar between the values), ``.xlsx``, ``.xlsm`` (needs openpyxl),
    ``.parquet``, ``.feather``, ``.arrow``, ``.ipc``, ``.npy`` (columns are called ``x0``, ``x1``
    ...) and ``.libsvm``, ``.svm``, ``.svmlight`` (sparse; columns ``x0`` ..., the value in front of
    each line is the column ``label``).

    The ids of the rows are in ``id_column``. Without it they are taken from a column called ``id``
    (in any case), from a first column without a name, from a first column of text in which no
    value occurs twice, or from a column whose name says so (``customer_id``, ``OrderNo``, ``key``,
    ``index``) and in which no value occurs twice; ``notes`` of the result tells. Otherwise rows are
    known by their number, counted from 0.

    Parameters
    ----------
    path : path-like
        The file.
    id_column : str, optional
        Column that names the rows.
    label_column : str, optional
        Column with labels that are known for some of the rows; empty where unknown.
    truth_column : str, optional
        Column with the true classes, for evaluation.
    columns : sequence of str, optional
        Columns to use as features, in this order; by default all that have no other role. An
        empty sequence reads ids and labels only.
    drop : sequence of str, optional
        Columns to leave out.
    zero_based : bool, optional
        For a libsvm file, whether its first feature has the number 0; found out by default.
    allow_missing : bool, default=False
        Whether to read missing values as NaN, for methods that model them, instead of raising.
    as_columns : bool, default=False
        Whether to keep features of any type as they are, in ``columns`` of the result, for a
        :class:`sidelight.preparation.TablePreparer`, instead of asking for numbers. Files without
        names of columns (``.npy``, ``.libsvm``) are read as numbers all the same; those of ``.npy``
        may be missing.
    named : callable, optional
        Returns what constraints name rows by. If these are numbers that another column of whole
        numbers holds, each of its numbers once, this column names the rows; where they could be
        numbers of rows as well, an error asks for ``id_column``.

    Returns
    -------
    Table
        The rows.

    Raises
    ------
    SidelightError
        If the file cannot be read, or has a column that is not numbers, a missing number, or an id
        that occurs twice; the message says where.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sidelight.io import read_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "customers.csv"
    ...     _ = file.write_text("id,age,orders,segment\\nann,30,2,A\\nbob,41,5,\\n")
    ...     table = read_table(file, label_column="segment")
    >>> table.X
    array([[30.,  2.],
           [41.,  5.]])
    >>> table.ids.tolist(), table.labels.tolist()
    (['ann', 'bob'], ['A', ''])
    """
    # Ids and labels are kept as written: 007 is not 7.
    file = check_readable(path)
    special = [name for name in (id_column, label_column, truth_column) if name is not None]
    kind = table_format(file)
    raw: Any
    if as_columns and kind == "parquet":
        raw = ParquetColumns(file)
    else:
        raw = read_raw(file, text_columns=special, keep_types=as_columns, zero_based=zero_based)
    return _assign_roles(
        raw,
        file,
        id_column,
        label_column,
        truth_column,
        columns=None if columns is None else list(dict.fromkeys(columns)),
        drop=drop,
        allow_missing=allow_missing or (as_columns and kind == "npy"),  # prepared like columns
        as_columns=as_columns and raw.has_names,
        named=named,
    )


def table_of_columns(
    columns: ColumnTable,
    path: Path,
    *,
    ids: npt.NDArray[Any] | None = None,
    id_column: str | None = None,
    label_column: str | None = None,
    truth_column: str | None = None,
    columns_used: Sequence[str] | None = None,
    drop: Sequence[str] = (),
) -> Table:
    """Split named columns in memory into ids, labels and features, as :func:`read_table` does.

    ``ids`` are names that the rows have besides all columns; ``path`` stands for the file.
    """
    table = _assign_roles(
        columns,
        path,
        id_column,
        label_column,
        truth_column,
        columns=None if columns_used is None else list(dict.fromkeys(columns_used)),
        drop=drop,
        allow_missing=True,
        as_columns=True,
        named=None,
        find_ids=ids is None,
    )
    return table if ids is None else replace(table, ids=ids)


def check_readable(path: str | os.PathLike[str]) -> Path:
    """Check that there is a file with something in it."""
    file = check_name(path)
    if file.is_dir():
        raise SidelightError(f"{file} is a folder; name a file in it.")
    if not file.exists():
        raise SidelightError(f"There is no file {file}.")
    if not os.access(file, os.R_OK):
        raise SidelightError(f"Cannot read {file}: permission denied.")
    if not file.is_file():  # read more than once, and to an end that a device does not have
        raise SidelightError(
            f"{file} is a pipe or a device; save what it gives, and name the file."
        )
    if file.stat().st_size == 0:
        raise SidelightError(f"{file} is empty.")
    return file


def _assign_roles(
    raw: Any,
    path: Path,
    id_column: str | None,
    label_column: str | None,
    truth_column: str | None,
    *,
    columns: list[str] | None,
    drop: Sequence[str],
    allow_missing: bool,
    as_columns: bool,
    named: Named | None,
    find_ids: bool = True,
) -> Table:
    """Split columns into ids, labels and features."""
    wanted = [id_column, label_column, truth_column, *(columns or ()), *drop]
    _check_names(raw.names, [name for name in wanted if name is not None], path)
    notes: list[str] = list(getattr(raw, "notes", ()))
    if id_column is None and find_ids:
        taken = {label_column, truth_column, *(columns or ()), *drop}
        id_column, why = find_id_column(raw, taken, path, named)
        if id_column is not None:
            notes.append(f"The {why} names the rows.")
    roles = {id_column, label_column, truth_column, *drop}
    if columns is None:
        features = [name for name in raw.names if name not in roles and name != raw.own_label]
        if PANDAS_INDEX in features:  # it is no column of the data frame
            features.remove(PANDAS_INDEX)
            notes.append("The index of the data frame is not used.")
    else:
        features = columns
        both = [name for name in features if name in roles]
        if both:
            raise SidelightError(
                f"{quoted(both)} of {path} cannot be a feature and something else at once."
            )
    if not features and columns != []:
        raise SidelightError(f"{path} has no columns left to use as features.")
    ids = None if id_column is None else id_values(raw.column(id_column), id_column, path)
    X = None
    if as_columns and id_column is None and columns is None:
        notes += notes_on_repeated_ids(raw, features)
    if not as_columns:
        X = raw.matrix(features, ids, path) if features else np.empty((raw.n_rows, 0))
        check_finite(X, features, ids, path, allow_missing=allow_missing)
        if columns is None:
            notes += notes_on_features(raw, features, X)
    for role in (label_column, truth_column):
        notes += [] if role is None else notes_on_gaps(raw.column(role), role)
    return Table(
        X=X,
        columns=_columns(raw, features) if as_columns else None,
        ids=ids,
        feature_names=tuple(features),
        path=path,
        labels=None if label_column is None else label_values(raw.column(label_column)),
        truth=None if truth_column is None else class_values(raw.column(truth_column)),
        id_column=id_column,
        label_column=label_column,
        truth_column=truth_column,
        notes=tuple(notes),
        zero_based=raw.zero_based,
    )


def _columns(raw: Any, features: list[str]) -> ColumnTable:
    """The feature columns, unchanged."""
    columns = ArrowColumns(raw.table) if hasattr(raw, "table") else raw
    return columns.select(features)


def _check_names(names: Sequence[str], wanted: Sequence[str], path: Path) -> None:
    known = set(names)
    for name in wanted:
        if name not in known:
            raise SidelightError(f"{path} has no column {name!r}; {close_names(name, names)}.")
