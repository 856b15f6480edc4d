"""Write a table of rows: what ``read_table`` reads again."""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from sidelight.exceptions import SidelightError
from sidelight.io._atomic import atomic_write
from sidelight.io._ids import harmless
from sidelight.io.formats._excel import check_excel_output, write_excel
from sidelight.io.formats._formats import table_format
from sidelight.io.formats._text import is_tsv, open_text


def write_table(
    path: str | os.PathLike[str],
    X: Any,
    feature_names: Sequence[str],
    *,
    ids: npt.ArrayLike | None = None,
    others: Mapping[str, npt.ArrayLike] | None = None,
    spreadsheet_safe: bool = False,
) -> None:
    """Write rows with their ids, as CSV, Excel, Parquet or NPY by the suffix.

    Parameters
    ----------
    path : path-like
        ``.csv``, ``.csv.gz``, ``.tsv``, ``.xlsx`` (needs openpyxl), ``.parquet``, or ``.npy`` (the
        numbers alone); replaced in one step when complete.
    X : array or CSR matrix of shape (n_rows, n_features)
        The numbers; sparse rows are written dense.
    feature_names : sequence of str
        Names of the columns.
    ids : array-like of shape (n_rows,), optional
        Ids of the rows, in front as the column ``id``.
    others : dict of str to array-like, optional
        More columns, such as labels, at the end.
    spreadsheet_safe : bool, default=False
        Whether texts in a CSV or Excel file that a spreadsheet would run as formulas (they begin
        with ``=``, ``+``, ``-`` or ``@`` and are no numbers) get an apostrophe in front.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sidelight.io import write_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "rows.csv"
    ...     write_table(file, [[1.5, 2.0]], ["size", "weight"], ids=["ann"])
    ...     print(file.read_text())
    id,size,weight
    ann,1.5,2.0
    <BLANKLINE>
    """
    check_table_path(path)
    with atomic_write(path) as temporary:
        fill_table(
            temporary, X, feature_names, ids=ids, others=others, spreadsheet_safe=spreadsheet_safe
        )


def fill_table(
    path: Path,
    X: Any,
    feature_names: Sequence[str],
    *,
    ids: npt.ArrayLike | None = None,
    others: Mapping[str, npt.ArrayLike] | None = None,
    spreadsheet_safe: bool = False,
) -> None:
    """Write to the path itself; the caller renames the file into its place."""
    rows = X.toarray() if sparse.issparse(X) else np.asarray(X)
    columns: dict[str, Any] = {} if ids is None else {"id": np.asarray(ids)}
    columns.update(zip(feature_names, rows.T, strict=True))
    columns.update({name: np.asarray(values) for name, values in (others or {}).items()})
    if check_table_path(path) == "npy":
        np.save(path, rows)
    else:
        write_columns(columns, path, spreadsheet_safe=spreadsheet_safe)


def check_table_path(path: str | os.PathLike[str]) -> str:
    """Check that a table can be written to such a file, and return its format."""
    kind = table_format(Path(path))
    if kind == "excel":
        check_excel_output(Path(path))
    elif kind not in ("csv", "parquet", "npy"):
        raise SidelightError(
            f"Tables are written as .csv, .csv.gz, .tsv, .xlsx, .parquet or .npy, not as {path}."
        )
    return kind


def write_columns(
    columns: dict[str, npt.NDArray[Any]], path: Path, *, spreadsheet_safe: bool = False
) -> None:
    """Write columns of any type as Parquet, Excel or CSV, by the suffix."""
    kind = table_format(path)
    if kind == "parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.table(columns), path)
        return
    lists = {name: values.tolist() for name, values in columns.items()}
    if spreadsheet_safe:
        lists = {harmless(name): [*map(harmless, values)] for name, values in lists.items()}
    if kind == "excel":
        write_excel(path, lists)
        return
    between = "\t" if is_tsv(path) else ","
    with open_text(path, "w") as file:
        writer = csv.writer(file, delimiter=between, lineterminator="\n")
        writer.writerow(lists)
        writer.writerows(zip(*lists.values(), strict=True))
