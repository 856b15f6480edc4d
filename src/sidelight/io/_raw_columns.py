"""Columns of any type, from a file or a data frame: in memory, or read on demand."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from sidelight.exceptions import SidelightError
from sidelight.io.formats._arrow import check_header, with_plain_types

if TYPE_CHECKING:
    import pyarrow as pa


class ColumnTable(Protocol):
    """Named columns of equal length."""

    @property
    def names(self) -> list[str]:
        """Names of the columns."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""

    def column(self, name: str) -> pa.ChunkedArray:
        """One column."""

    def select(self, names: Sequence[str]) -> ColumnTable:
        """Some of the columns, in this order."""

    def blocks(self, n_rows: int) -> Iterator[ArrowColumns]:
        """Consecutive blocks of at most ``n_rows`` rows."""


class NamedColumns:
    """Default answers of a table with named columns, where other formats have more information."""

    own_label = None  # no column is a label by the format itself
    zero_based = None  # columns are not numbered
    has_names = True


class ArrowColumns(NamedColumns):
    """Columns in memory.

    Parameters
    ----------
    table : pyarrow.Table
        The columns.
    """

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return [str(name) for name in self.table.column_names]

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.table.num_rows)

    def column(self, name: str) -> pa.ChunkedArray:
        """One column."""
        return self.table.column(name)

    def select(self, names: Sequence[str]) -> ArrowColumns:
        """Some of the columns, in this order."""
        return ArrowColumns(self.table.select(list(names)))

    def blocks(self, n_rows: int) -> Iterator[ArrowColumns]:
        """Consecutive blocks of at most ``n_rows`` rows, without a copy."""
        for start in range(0, self.n_rows, n_rows):
            yield ArrowColumns(self.table.slice(start, n_rows))


class ParquetColumns(NamedColumns):
    """Columns of a Parquet file, each read on demand.

    Memory: one column, or one block of rows.

    Parameters
    ----------
    path : Path
        The file.
    names : sequence of str, optional
        Columns to speak of; by default all.
    """

    def __init__(self, path: Path, names: Sequence[str] | None = None) -> None:
        import pyarrow.parquet as pq

        self.path = path
        with _readable(path), pq.ParquetFile(path) as file:
            self.names = list(file.schema_arrow.names if names is None else names)
            self.n_rows = int(file.metadata.num_rows)
        if self.n_rows == 0:
            raise SidelightError(f"{path} has no rows.")
        if names is None:
            check_header(self.names, path)

    def column(self, name: str) -> pa.ChunkedArray:
        """Read one column."""
        import pyarrow.parquet as pq

        with _readable(self.path):
            return with_plain_types(pq.read_table(self.path, columns=[name])).column(name)

    def select(self, names: Sequence[str]) -> ParquetColumns:
        """Some of the columns, in this order."""
        return ParquetColumns(self.path, names)

    def blocks(self, n_rows: int) -> Iterator[ArrowColumns]:
        """Read consecutive blocks of at most ``n_rows`` rows."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        with _readable(self.path), pq.ParquetFile(self.path) as file:
            for batch in file.iter_batches(batch_size=n_rows, columns=self.names):
                yield ArrowColumns(with_plain_types(pa.table(batch).select(self.names)))


@contextlib.contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Turn Arrow's error about a damaged file into a sentence."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:  # of the disk, not of the file
            raise
        raise SidelightError(f"{path} is not a readable Parquet file, or damaged.") from error
