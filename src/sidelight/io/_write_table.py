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
from sidelight.io.formats._formats import table_format
from sidelight.io.formats._text import is_tsv, open_text


def write_table(
    path: str | os.PathLike[str],
    X: Any,
    feature_names: Sequence[str],
    *,
    ids: npt.ArrayLike | None = None,
    others: Mapping[str, npt.ArrayLike] | None = None,
    safe_ids: bool = False,
) -> None:
    """Write rows with their ids, as CSV, Parquet or NPY by the suffix.

    Parameters
    ----------
    path : path-like
        ``.csv``, ``.csv.gz``, ``.tsv``, ``.parquet``, or ``.npy`` (the numbers alone); replaced in
        one step when complete.
    X : array or CSR matrix of shape (n_rows, n_features)
        The numbers; sparse rows are written dense.
    feature_names : sequence of str
        Names of the columns.
    ids : array-like of shape (n_rows,), optional
        Ids of the rows, in front as the column ``id``.
    others : dict of str to array-like, optional
        More columns, such as labels, at the end.
    safe_ids : bool, default=False
        Whether texts in a CSV file that a spreadsheet would run as formulas (they begin with
        ``=``, ``+``, ``-`` or ``@`` and are no numbers) get an apostrophe in front.

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
        fill_table(temporary, X, feature_names, ids=ids, others=others, safe_ids=safe_ids)


def fill_table(
    path: Path,
    X: Any,
    feature_names: Sequence[str],
    *,
    ids: npt.ArrayLike | None = None,
    others: Mapping[str, npt.ArrayLike] | None = None,
    safe_ids: bool = False,
) -> None:
    """Write to the path itself; the caller renames the file into its place."""
    rows = X.toarray() if sparse.issparse(X) else np.asarray(X)
    columns: dict[str, Any] = {} if ids is None else {"id": np.asarray(ids)}
    columns.update(zip(feature_names, rows.T, strict=True))
    columns.update({name: np.asarray(values) for name, values in (others or {}).items()})
    if check_table_path(path) == "npy":
        np.save(path, rows)
    else:
        write_columns(columns, path, safe_ids=safe_ids)


def check_table_path(path: str | os.PathLike[str]) -> str:
    """Check that a table can be written to such a file, and return its format."""
    kind = table_format(Path(path))
    if kind not in ("csv", "parquet", "npy"):
        raise SidelightError(
            f"Tables are written as .csv, .csv.gz, .tsv, .parquet or .npy, not as {path}."
        )
    return kind


def write_columns(
    columns: dict[str, npt.NDArray[Any]], path: Path, *, safe_ids: bool = False
) -> None:
    """Write columns of any type as Parquet or CSV, by the suffix."""
    if table_format(path) == "parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.table(columns), path)
        return
    between = "\t" if is_tsv(path) else ","
    with open_text(path, "w") as file:
        writer = csv.writer(file, delimiter=between, lineterminator="\n")
        lists = [values.tolist() for values in columns.values()]
        if safe_ids:
            columns = {harmless(name): values for name, values in columns.items()}
            lists = [[*map(harmless, v)] if v and isinstance(v[0], str) else v for v in lists]
        writer.writerow(columns)
        writer.writerows(zip(*lists, strict=True))
