"""Queries: they run once, into a temporary file, since nothing fixes the order of their rows.

A query that ran anew in every pass could give its rows in another order, and would cost each pass
what it costs once. The rows go from the query to the disk without being in memory together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from sidelight.exceptions import SidelightError
from sidelight.io._columns import first_line
from sidelight.io.parts._files import files_of, part_format
from sidelight.io.parts._part import BATCH_ROWS, ArrowPart, ParquetPart, Part, TemporaryFolder

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.dataset as ds

#: Rows of a stretch of what a query gave, and bytes of one that was text.
GROUP_ROWS = 2 * BATCH_ROWS
GROUP_BYTES = 2**24

LAZY_FRAME, RELATION, DATASET = "polars LazyFrame", "DuckDB relation", "pyarrow dataset"


def kind_of_query(values: Any) -> str | None:
    """Return what kind of query values are; None for everything else.

    The libraries are recognized by the names of their types: none is imported before it is needed.
    """
    for cls in type(values).__mro__:
        library = cls.__module__.partition(".")[0]
        if cls.__name__ == "LazyFrame" and library == "polars":
            return LAZY_FRAME
        if cls.__name__ == "DuckDBPyRelation" and library in ("duckdb", "_duckdb"):
            return RELATION
        if cls.__name__ == "Dataset" and library == "pyarrow":
            return DATASET
    return None


def run_query(query: Any, kind: str) -> Part:
    """Run a query into a temporary file."""
    folder = TemporaryFolder()
    name = f"The {kind}"
    if kind == DATASET:
        return _write(name, query.schema, _scanned(query), folder)
    path = folder.path / "rows.parquet"
    try:
        if kind == LAZY_FRAME:
            query.sink_parquet(
                path, compression="uncompressed", statistics=False, row_group_size=GROUP_ROWS
            )
        else:
            query.write_parquet(str(path), compression="uncompressed", row_group_size=GROUP_ROWS)
    except Exception as error:
        if type(error).__module__.partition(".")[0] not in ("polars", "duckdb", "_duckdb"):
            raise
        raise SidelightError(f"{name} cannot be run: {first_line(error)}.") from error
    return ParquetPart(path, name=name, owner=folder)


def spooled(part: Part, columns: list[str] | None = None) -> Part:
    """Return a part that can be read from anywhere: a copy in a temporary file if it is none."""
    if part.chunks is not None:
        return part
    names = part.schema.names if columns is None else columns
    schema = _schema(part, names)
    copy = _write(part.name, schema, part.batches(names), TemporaryFolder())
    copy.is_text = part.is_text
    return copy


def _schema(part: Part, names: list[str]) -> pa.Schema:
    import pyarrow as pa

    return pa.schema([part.schema.field(name) for name in names])


def _write(
    name: str, schema: pa.Schema, batches: Iterable[pa.RecordBatch], folder: TemporaryFolder
) -> Part:
    import pyarrow as pa

    path = folder.path / "rows.arrow"
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, schema) as writer:
        for batch in _joined(batches):
            writer.write_batch(batch)
    return ArrowPart(path, name=name, owner=folder)


def _joined(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield batches of a size that is worth reading alone."""
    import pyarrow as pa

    waiting: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        waiting.append(batch)
        rows, size = rows + batch.num_rows, size + batch.nbytes
        if rows >= BATCH_ROWS or size >= GROUP_BYTES:
            yield from pa.Table.from_batches(waiting).combine_chunks().to_batches()
            waiting, rows, size = [], 0, 0
    if rows:
        yield from pa.Table.from_batches(waiting).combine_chunks().to_batches()


def _scanned(dataset: ds.Dataset) -> Iterator[pa.RecordBatch]:
    # Few batches wait at a time: by default a scan reads far ahead.
    yield from dataset.to_batches(
        batch_size=BATCH_ROWS // 4, batch_readahead=2, fragment_readahead=1
    )


def dataset_files(dataset: ds.Dataset) -> list[Any] | None:
    """Return the files of a dataset that is nothing but files on this machine; else None.

    A dataset with a filter, of files elsewhere, with keys in the names of folders, or with other
    columns than its files is a query.
    """
    import pyarrow.dataset as ds
    import pyarrow.fs as fs

    if not isinstance(dataset, ds.FileSystemDataset):
        return None
    try:
        fragments = list(dataset.get_fragments())
    except ValueError:  # of a dataset with a filter
        return None
    for one in fragments:
        if (
            not isinstance(one.filesystem, fs.LocalFileSystem)
            or one.format.default_extname not in ("parquet", "feather", "ipc", "arrow")
            or ds.get_partition_keys(one.partition_expression)
            or not one.physical_schema.equals(dataset.schema)
        ):
            return None
    paths = [one.path for one in fragments]
    if not paths or any(map(_is_cut, fragments)):
        return None
    try:
        files = files_of(paths)
    except SidelightError:  # the name says nothing of the format
        return None
    return files if all(part_format(one) in ("parquet", "feather") for one in files) else None


def _is_cut(fragment: Any) -> bool:
    """Whether a fragment is a choice of the row groups of a Parquet file."""
    if not hasattr(fragment, "row_groups"):
        return False
    return len(fragment.row_groups) != fragment.metadata.num_row_groups
