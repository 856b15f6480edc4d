"""Files of cluster labels: one row per data row, columns ``id``, ``cluster`` and ``class``.

The last is there where clusters stand for known classes. Files of predicted classes have the
columns ``id`` and ``class``, a column per class that says how probable it is, and ``given``.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sidelight.exceptions import SidelightError
from sidelight.io._atomic import atomic_write
from sidelight.io._columns import id_values, label_values, quoted
from sidelight.io._table import check_readable
from sidelight.io._write_table import write_columns
from sidelight.io.formats._excel import check_excel_output
from sidelight.io.formats._formats import read_raw, table_format

ID = "id"
CLUSTER = "cluster"
CLASS = "class"
GIVEN = "given"
ENTITY = "entity"
#: Columns of a file of entities that references got after the others.
ASSIGNED = (ID, ENTITY, "similarity", "also")
#: In front of the number of a split, in a file with several.
ALTERNATIVE = "alternative_"
#: Columns of a file of clusters of columns.
COLUMN_LABELS = ("column", CLUSTER, "weight")
#: Column with all clusters of a row or column, where they overlap.
CLUSTERS = "clusters"
#: Columns of a file of doubtful pairs.
DOUBTFUL = ("i", "j", "similarity", "attribute", "relational", "reason")
#: Columns of a file of categories, and the first ones of a file of ranked categories.
CATEGORIZED = ("id", "class", "category", "moved", "cosine", "margin", "support")
RANKED = ("id", "category", "cosine", "why")
#: In front of the name of a class: its probability, or its decision value.
PROBABILITY, SCORE = "p_", "score_"


def write_labels(
    path: str | os.PathLike[str],
    ids: npt.ArrayLike | None,
    labels: npt.ArrayLike,
    classes: npt.ArrayLike | None = None,
    *,
    spreadsheet_safe: bool = False,
) -> None:
    """Write the cluster of every row, as CSV, Excel or Parquet by the suffix.

    Parameters
    ----------
    path : path-like
        ``.csv``, ``.csv.gz``, ``.tsv``, ``.xlsx`` (needs openpyxl) or ``.parquet``; replaced in one
        step when complete.
    ids : array-like of shape (n_rows,) or None
        Ids of the rows; row numbers if None.
    labels : array-like of shape (n_rows,)
        Cluster of each row.
    classes : array-like of shape (n_rows,), optional
        Name of the class that the cluster of each row stands for, in a column ``class``; empty
        where it stands for none.
    spreadsheet_safe : bool, default=False
        Whether texts in a CSV or Excel file that a spreadsheet would run as formulas (they begin
        with ``=``, ``+``, ``-`` or ``@`` and are no numbers) get an apostrophe in front.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sidelight.io import write_labels
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "labels.csv"
    ...     write_labels(file, ["ann", "bob"], [1, 0])
    ...     print(file.read_text())
    id,cluster
    ann,1
    bob,0
    <BLANKLINE>
    """
    check_labels_path(path)
    with atomic_write(path) as temporary:
        fill_labels(temporary, ids, labels, classes, spreadsheet_safe=spreadsheet_safe)


def read_labels(path: str | os.PathLike[str]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Read what :func:`write_labels` wrote: ids and clusters, or the entities of a resolver.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sidelight.io import read_labels, write_labels
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_labels(Path(folder) / "labels.csv", ["ann", "bob"], [1, 0])
    ...     ids, labels = read_labels(Path(folder) / "labels.csv")
    >>> ids.tolist(), labels.tolist()
    (['ann', 'bob'], [1, 0])
    """
    file = check_labels_path(path)
    check_readable(file)
    raw = read_raw(file, text_columns=(CLUSTER, ENTITY))
    label = ENTITY if ENTITY in raw.names and CLUSTER not in raw.names else CLUSTER
    missing = [name for name in (ID, label) if name not in raw.names]
    if missing:
        raise SidelightError(
            f"{file} has no column {quoted(missing)}; a file of labels has the columns "
            f"'{ID}' and '{CLUSTER}' (or '{ENTITY}'), its columns are {quoted(raw.names)}."
        )
    return id_values(raw.column(ID), ID, file), label_values(raw.column(label))


def check_labels_path(path: str | os.PathLike[str]) -> Path:
    """Check that labels can be kept in such a file."""
    file = Path(path)
    kind = table_format(file)
    if kind == "excel":
        check_excel_output(file)
    elif kind not in ("csv", "parquet"):
        raise SidelightError(
            f"Labels are kept in .csv, .csv.gz, .tsv, .xlsx or .parquet, not in {file}."
        )
    return file


def fill_labels(
    path: Path,
    ids: npt.ArrayLike | None,
    labels: npt.ArrayLike,
    classes: npt.ArrayLike | None = None,
    *,
    spreadsheet_safe: bool = False,
) -> None:
    """Write to the path itself; the caller renames the file into its place."""
    clusters = np.asarray(labels)
    names = np.arange(len(clusters)) if ids is None else np.asarray(ids)
    columns = {ID: names, CLUSTER: clusters}
    if classes is not None:
        columns[CLASS] = np.asarray(classes)
    write_columns(columns, path, spreadsheet_safe=spreadsheet_safe)


def fill_overlapping(
    path: Path,
    columns: dict[str, npt.NDArray[Any]],
    memberships: npt.NDArray[np.bool_] | None,
    *,
    spreadsheet_safe: bool = False,
) -> None:
    """Write columns to the path, with all clusters of every row where clusters overlap.

    ``memberships`` are of shape (n, n_clusters); the clusters of a row are parted by blanks.
    """
    if memberships is not None:
        several = [" ".join(map(str, np.flatnonzero(one))) for one in memberships]
        columns = {**columns, CLUSTERS: np.array(several, dtype=str)}
    write_columns(columns, path, spreadsheet_safe=spreadsheet_safe)


def fill_classes(
    path: Path,
    ids: npt.ArrayLike | None,
    classes: npt.NDArray[Any],
    values: npt.NDArray[Any],
    columns: Sequence[str],
    given: npt.NDArray[np.bool_] | None = None,
    *,
    spreadsheet_safe: bool = False,
) -> None:
    """Write the class of every row to the path itself; the caller renames it into its place.

    Parameters
    ----------
    path : Path
        The file, CSV, Excel or Parquet by its suffix.
    ids : array-like of shape (n_rows,) or None
        Ids of the rows; row numbers if None.
    classes : ndarray of shape (n_rows,)
        Class of each row; the field of an unknown one (None, or an empty text) is empty.
    values : ndarray of shape (n_rows, n_classes)
        Probability or decision value of each class.
    columns : sequence of str
        Names of their columns.
    given : ndarray of bool of shape (n_rows,), optional
        Whether the class of a row was known, in a column ``given``: yes or no.
    spreadsheet_safe : bool, default=False
        As for :func:`write_labels`.
    """
    names = np.arange(len(classes)) if ids is None else np.asarray(ids)
    table: dict[str, Any] = {ID: names, CLASS: classes}
    table.update(zip(columns, np.asarray(values).T, strict=True))
    if given is not None:
        table[GIVEN] = np.where(given, "yes", "no")
    write_columns(table, path, spreadsheet_safe=spreadsheet_safe)


def has_classes(names: Sequence[str]) -> bool:
    """Whether these are the columns of a file of predicted classes."""
    values = [name for name in names[2:] if name != GIVEN]
    prefixes = {name.startswith(PROBABILITY) for name in values}
    known = all(name.startswith((PROBABILITY, SCORE)) for name in values)
    return list(names[:2]) == [ID, CLASS] and known and len(prefixes) == 1
