"""One part of a table that is larger than memory."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sidelight.exceptions import SidelightError
from sidelight.io._columns import first_line
from sidelight.io.formats._arrow import plain_schema

if TYPE_CHECKING:
    import pyarrow as pa

#: Rows of a batch, where nobody asks for another number.
BATCH_ROWS = 2**16


#: A column of a Parquet file is decoded in pages of usually 1 MB.
PAGE_BYTES = 2 * 2**20


class Part(ABC):
    """A file with named columns, which is read in batches as often as it is asked for.

    Attributes
    ----------
    name : str
        What the part is called in messages: its file, or the query that it came from.
    schema : pyarrow.Schema
        Names and types of its columns.
    chunks : tuple of int, or None
        Numbers of rows of the stretches that can be read by themselves, in their order; None for a
        file that can only be read from its beginning.
    is_text : bool
        Whether the part was written as text, where the number 7 and the word 7 look the same.
    """

    name: str
    schema: pa.Schema
    chunks: tuple[int, ...] | None = None
    is_text: bool = False

    @property
    def n_rows(self) -> int | None:
        """Number of rows; None where only reading all of them tells."""
        return None if self.chunks is None else sum(self.chunks)

    def batches(
        self,
        columns: Sequence[str] | None = None,
        *,
        rows: int = BATCH_ROWS,
        chunks: Sequence[int] | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows in their order, a few at a time.

        Parameters
        ----------
        columns : sequence of str, default=None
            The columns to read, in this order; by default all.
        rows : int, default=65536
            Largest number of rows of a batch. Batches end where a stretch of ``chunks`` ends.
        chunks : sequence of int, default=None
            Numbers of the stretches to read, of a part that has such; by default all.
        """
        import pyarrow as pa

        names = self.schema.names if columns is None else list(columns)
        schema = pa.schema([self.schema.field(name) for name in names])
        try:
            for batch in self._read(names, rows, chunks):
                plain = batch.select(names)
                if plain.schema.types != schema.types:
                    plain = plain.cast(schema)
                for start in range(0, plain.num_rows, rows):
                    yield plain.slice(start, rows)
        except (pa.ArrowException, OSError) as error:
            raise self._explained(error) from error

    def held_bytes(self, n_columns: int, row_bytes: int) -> int:
        """Return about how many bytes reading holds beside the batch that it yields.

        Parameters
        ----------
        n_columns : int
            Number of columns that are read.
        row_bytes : int
            Bytes of a row of these.
        """
        return row_bytes * max(self.chunks or (0,))

    @abstractmethod
    def _read(
        self, names: list[str], rows: int, chunks: Sequence[int] | None
    ) -> Iterator[pa.RecordBatch]:
        """Yield batches with these columns; larger ones than asked for are cut by the caller."""

    def _explained(self, error: Exception) -> Exception:
        """Return the error of a file that cannot be read, which names it."""
        if isinstance(error, OSError) and error.errno is not None:  # of the disk, not of the file
            return error
        return SidelightError(
            f"{self.name} is damaged, or not the file that its name says: {first_line(error)}."
        )


class ParquetPart(Part):
    """A Parquet file; its stretches are the row groups, which are streamed page by page.

    Parameters
    ----------
    path : Path
        The file.
    name : str, default=None
        What it is called in messages; by default the path.
    owner : object, default=None
        What the file is there for: a temporary file is removed together with it.
    """

    def __init__(self, path: Path, *, name: str | None = None, owner: Any = None) -> None:
        import pyarrow as pa

        self.path, self.name, self._owner = path, name or str(path), owner
        try:
            file = self._open()
        except (pa.ArrowException, OSError) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise
            raise SidelightError(f"{self.name} is not a Parquet file: {first_line(error)}.") from (
                error
            )
        with file:
            self.schema = plain_schema(file.schema_arrow)
            metadata = file.metadata
            self.chunks = tuple(
                metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)
            )

    def held_bytes(self, n_columns: int, row_bytes: int) -> int:
        """Return what pages take: one of every column, as it is in the file and unpacked."""
        return n_columns * PAGE_BYTES

    def _open(self) -> Any:
        import pyarrow.parquet as pq

        # With a read buffer, column chunks are streamed: a row group may be larger than memory.
        return pq.ParquetFile(self.path, memory_map=False, buffer_size=2**16, pre_buffer=False)

    def _read(
        self, names: list[str], rows: int, chunks: Sequence[int] | None
    ) -> Iterator[pa.RecordBatch]:
        with self._open() as file:
            for group in range(file.num_row_groups) if chunks is None else chunks:
                yield from file.iter_batches(
                    batch_size=rows, row_groups=[group], columns=names, use_threads=False
                )


class ArrowPart(Part):
    """A file in Arrow's own format (Feather); its stretches are the record batches.

    One record batch is decoded as a whole where the file is compressed.
    """

    def __init__(self, path: Path, *, name: str | None = None, owner: Any = None) -> None:
        import pyarrow as pa

        self.path, self.name, self._owner = path, name or str(path), owner
        self._is_stream = False
        try:
            with pa.memory_map(str(path)) as content:
                self._look_at(content)
        except (pa.ArrowException, OSError) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise
            raise SidelightError(f"{self.name} is not a Feather file: {first_line(error)}.") from (
                error
            )

    def _look_at(self, content: Any) -> None:
        import pyarrow as pa

        try:
            with pa.ipc.open_file(content) as reader:
                schema = reader.schema
        except pa.ArrowInvalid:  # the other of Arrow's two ways to write a file has no index
            content.seek(0)
            with pa.ipc.open_stream(content) as reader:
                self.schema, self._is_stream = plain_schema(reader.schema), True
            return
        self._fields, self.schema = schema.names, plain_schema(schema)
        narrow = [_width(field.type) for field in schema]
        # What is not asked for is not decoded: the narrowest column counts the rows.
        only = pa.ipc.IpcReadOptions(included_fields=[narrow.index(min(narrow))] if narrow else [])
        content.seek(0)
        with pa.ipc.open_file(content, options=only) as reader:
            self.chunks = tuple(
                reader.get_batch(number).num_rows for number in range(reader.num_record_batches)
            )

    def _read(
        self, names: list[str], rows: int, chunks: Sequence[int] | None
    ) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        with pa.memory_map(str(self.path)) as content:
            if self._is_stream:
                with pa.ipc.open_stream(content) as reader:
                    yield from reader
                return
            places = [self._fields.index(name) for name in names]
            options = pa.ipc.IpcReadOptions(included_fields=places, use_threads=False)
            with pa.ipc.open_file(content, options=options) as reader:
                for number in range(reader.num_record_batches) if chunks is None else chunks:
                    yield reader.get_batch(number)


def _width(kind: pa.DataType) -> int:
    try:
        return int(kind.bit_width)
    except ValueError:  # texts, lists
        return 2**16


class TemporaryFolder:
    """A folder that is removed when nothing needs it any more.

    A copy of it in another process uses the same folder and leaves it there.
    """

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="sidelight-"))
        self._removal = weakref.finalize(self, _remove, self.path, os.getpid())

    def __getstate__(self) -> dict[str, Path]:
        return {"path": self.path}


def _remove(folder: Path, process: int) -> None:
    if os.getpid() == process:  # not in a fork of the process that made it
        shutil.rmtree(folder, ignore_errors=True)
