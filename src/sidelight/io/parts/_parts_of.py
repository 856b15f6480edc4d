"""Tables that are larger than memory, as parts that are read block by block."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sidelight.exceptions import SidelightError
from sidelight.io.parts._files import files_of, names_files, part_format
from sidelight.io.parts._part import ArrowPart, ParquetPart, Part
from sidelight.io.parts._queries import DATASET, dataset_files, kind_of_query, run_query
from sidelight.io.parts._text import CsvPart


def is_on_disk(X: Any) -> bool:
    """Whether rows are to be read from disk: files by name, a dataset, a query.

    Examples
    --------
    >>> from sidelight.io.inner import is_on_disk
    >>> is_on_disk("big/*.parquet"), is_on_disk([[1.0, 2.0]])
    (True, False)
    """
    return names_files(X) or kind_of_query(X) is not None


def parts_of(X: Any, *, keep_types: bool = False) -> list[Part]:
    """Return the parts of a table, in the order of their rows; a query is run.

    Parameters
    ----------
    X : path, sequence of paths, pyarrow.dataset.Dataset, polars.LazyFrame, DuckDB relation
        A file (Parquet, Feather, CSV), a folder of files, a pattern such as ``"big/*.parquet"``, a
        list of these, a dataset, or a query. A query, which may give its rows in another order
        when it runs again, runs once and streams into a temporary file, which is there as long as
        the part.
    keep_types : bool, default=False
        Whether text files keep dates, and codes such as 007, instead of reading texts that spell
        numbers as numbers.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sidelight.io.inner import parts_of
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for number in (1, 2):
    ...         _ = Path(folder, f"{number}.csv").write_text(f"a,b\\n{number},x\\n")
    ...     parts = parts_of(folder)
    ...     [batch.to_pylist() for part in parts for batch in part.batches(["a"])]
    [[{'a': 1.0}], [{'a': 2.0}]]
    """
    kind = kind_of_query(X)
    files = dataset_files(X) if kind == DATASET else None
    if kind is not None and files is None:
        return [run_query(X, kind)]
    return [open_part(path, keep_types=keep_types) for path in files or files_of(X)]


def open_part(path: Path, *, keep_types: bool = False) -> Part:
    """Open one file; see :func:`parts_of`."""
    kind = part_format(path)
    if kind == "parquet":
        return ParquetPart(path)
    if kind == "feather":
        return ArrowPart(path)
    if kind == "npy":
        raise SidelightError(
            f"{path} has no names of columns: sidelight.engine.open_rows(path) reads its rows."
        )
    return CsvPart(path, keep_types=keep_types)
