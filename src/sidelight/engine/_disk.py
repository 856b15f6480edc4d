"""Rows on disk: blocks sized by a memory budget, read when their turn comes."""

from __future__ import annotations

import copy
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from sidelight._typing import Array
from sidelight.engine._extent import SQUARED, largest_by_column, too_large
from sidelight.engine._ids import find_ids
from sidelight.engine._memory import TILE_ROWS
from sidelight.engine._source import DEFAULT_BUDGET, RowSource, equal_blocks, floating_dtype
from sidelight.exceptions import SidelightError

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

#: Blocks that may be in memory at the same time; a block takes this part of the budget. Fixed, so
#: that blocks do not depend on the number of threads.
BLOCKS_IN_BUDGET = 16

#: A column of a Parquet file is decoded in pages of usually 1 MB; whoever reads a row group holds
#: one page of every column, as it is in the file and unpacked.
PAGE_BYTES = 2 * 2**20

#: Held while a thread raises the largest values of a source.
_LARGEST = threading.Lock()


class _DiskRows(RowSource):
    """Base of files of rows: blocks from the memory budget, and a search for missing values."""

    max_parallel = BLOCKS_IN_BUDGET
    _missing_allowed = False

    def with_missing(self) -> Self:
        """Return the same rows, where NaN stands for a value that was not measured."""
        rows = copy.copy(self)
        rows._missing_allowed = True
        rows._checked = self._checked[:]
        return rows

    def _set_blocks(self, blocks: list[tuple[int, int]]) -> None:
        self._blocks = blocks
        self._checked = bytearray(len(blocks))
        self._largest = np.zeros(self.n_features, dtype=self.dtype)

    def largest(self) -> Array:
        """Return the largest ``|x|`` of every column; the file is read unless it has been."""
        if not all(self._checked):
            self.map_reduce(lambda block: ((), ()))
        return self._largest

    @property
    def blocks(self) -> list[tuple[int, int]]:
        """Ranges of rows that are in memory together."""
        return self._blocks

    def _check(self, number: int, block: Array) -> Array:
        """Check a block for values that cannot be used, when it is read for the first time."""
        if self._checked[number]:
            return block
        bad = np.isinf(block) if self._missing_allowed else ~np.isfinite(block)
        if bad.any():
            found = "infinity" if self._missing_allowed else "NaN or infinity"
            raise SidelightError(
                f"{self._name()} holds {found} in {self._first_place(number, bad)}; "
                "drop such rows, or fill in the missing values first."
            )
        largest = largest_by_column(block)
        limit = SQUARED[self.dtype.itemsize].largest
        if largest.max(initial=0.0) > limit:
            raise SidelightError(
                f"{self._name()} holds a value of {largest.max():.0e} in size in "
                f"{self._first_place(number, np.abs(block) == largest.max())}; "
                f"{too_large(self.dtype)}."
            )
        with _LARGEST:
            np.maximum(self._largest, largest, out=self._largest)
        self._checked[number] = 1
        return block

    def _first_place(self, number: int, where: Array) -> str:
        """Return the words for the first place of a block where this holds."""
        row, column = np.argwhere(where)[0]
        return f"row {self._blocks[number][0] + row}, {self._column_name(column)}"

    def _name(self) -> str:
        raise NotImplementedError

    def _column_name(self, column: int) -> str:
        return f"column {column}"


class MappedRows(_DiskRows):
    """A memory map: blocks are views, the system's cache decides what stays in memory."""

    def __init__(self, X: Array, *, memory_budget: int | None = None) -> None:
        _check_matrix(X.shape, X.dtype, "The memory map")
        self._X = X
        self.n_rows, self.n_features = X.shape
        self.dtype = floating_dtype(X.dtype)
        row_bytes = self.n_features * self.dtype.itemsize
        rows = max(1, check_budget(memory_budget) // (BLOCKS_IN_BUDGET * row_bytes))
        self._set_blocks(equal_blocks(self.n_rows, rows))

    def take(self, rows: npt.ArrayLike) -> Array:
        """Return a copy of the rows at these positions."""
        taken = np.asarray(self._X[np.asarray(rows, dtype=np.intp)], dtype=self.dtype)
        return np.ascontiguousarray(taken)

    def read(self, task: tuple[int, ...]) -> Iterator[Array]:
        for number in task:
            start, stop = self._blocks[number]
            yield self._check(number, self._load(start, stop))

    def _load(self, start: int, stop: int) -> Array:
        return np.ascontiguousarray(np.asarray(self._X[start:stop]), dtype=self.dtype)

    def _name(self) -> str:
        return "The memory map"


class NpyRows(MappedRows):
    """A ``.npy`` file: blocks are read into memory, so that no more than the budget is used."""

    def __init__(self, path: Path, *, memory_budget: int | None = None) -> None:
        self.path = path
        try:
            mapped = np.load(path, mmap_mode="r")
        except ValueError as error:
            raise SidelightError(f"{path} is not a .npy file with numbers: {error}") from error
        _check_matrix(mapped.shape, mapped.dtype, str(path))
        super().__init__(mapped, memory_budget=memory_budget)
        self._offset = mapped.offset

    def _load(self, start: int, stop: int) -> Array:
        if not self._X.flags.c_contiguous:
            return super()._load(start, stop)
        stored = self._X.dtype
        values = np.fromfile(
            self.path,
            dtype=stored,
            count=(stop - start) * self.n_features,
            offset=self._offset + start * self.n_features * stored.itemsize,
        )
        return values.reshape(stop - start, self.n_features).astype(self.dtype, copy=False)

    def _name(self) -> str:
        return str(self.path)


class ParquetRows(_DiskRows):
    """Numeric columns of a Parquet file; a thread streams one row group at a time.

    Blocks are kept once they are decoded where all of them fit into half of the memory budget.
    """

    def __init__(
        self,
        path: Path,
        *,
        columns: Sequence[str] | None = None,
        memory_budget: int | None = None,
        id_column: str | None = None,
    ) -> None:
        import pyarrow as pa

        self.path = path
        try:
            file = self._open()
        except pa.ArrowInvalid as error:
            raise SidelightError(f"{path} is not a Parquet file: {error}") from error
        with file:
            self.id_column, self.ids = find_ids(file, path, id_column, guess=columns is None)
            self.columns = _numeric_columns(file.schema_arrow, columns, path, self.id_column)
            types = [file.schema_arrow.field(name).type for name in self.columns]
            metadata = file.metadata
            group_sizes = [metadata.row_group(g).num_rows for g in range(metadata.num_row_groups)]
        self.n_rows = sum(group_sizes)
        self.n_features = len(self.columns)
        self.dtype = floating_dtype(np.result_type(*(_numpy_type(t) for t in types)))
        # Decoding holds the Arrow columns and the matrix at the same time.
        row_bytes = 2 * self.n_features * self.dtype.itemsize
        budget = check_budget(memory_budget)
        rows = max(1, budget // (BLOCKS_IN_BUDGET * row_bytes))
        self._cut_groups(group_sizes, rows)
        self.max_parallel = max(1, budget // (rows * row_bytes + self.n_features * PAGE_BYTES))
        # Decoding takes longer than most passes: rows that leave half of the budget free stay.
        self._keeps_blocks = self.n_rows * row_bytes <= budget
        self._kept: dict[int, Array] = {}

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_kept": {}}  # they are read again where the source goes

    def _cut_groups(self, group_sizes: list[int], rows_per_block: int) -> None:
        """Blocks never cross row groups; a task is one row group, since reading starts there."""
        self._rows_per_block = rows_per_block
        self._group_starts = np.concatenate([[0], np.cumsum(group_sizes)]).astype(np.int64)
        blocks: list[tuple[int, int]] = []
        self._group_tasks: list[tuple[int, ...]] = []
        self._group_of_task: list[int] = []
        for group, size in enumerate(group_sizes):
            if size == 0:
                continue
            first, start = len(blocks), int(self._group_starts[group])
            blocks += [(start + a, start + b) for a, b in equal_blocks(size, rows_per_block)]
            self._group_tasks.append(tuple(range(first, len(blocks))))
            self._group_of_task.append(group)
        self._task_number = {task[0]: i for i, task in enumerate(self._group_tasks)}
        self._set_blocks(blocks)

    def tasks(self) -> list[tuple[int, ...]]:
        return self._group_tasks

    def _open(self) -> pq.ParquetFile:
        import pyarrow.parquet as pq

        # With a read buffer, column chunks are streamed: a row group may be larger than the budget.
        return pq.ParquetFile(self.path, memory_map=False, buffer_size=2**16, pre_buffer=False)

    def read(self, task: tuple[int, ...]) -> Iterator[Array]:
        if all(number in self._kept for number in task):
            for number in task:
                yield self._check(number, self._kept[number])
            return
        group = self._group_of_task[self._task_number[task[0]]]
        with self._open() as file:
            for number, block in zip(task, self._stream(file, group), strict=True):
                if self._keeps_blocks:
                    self._kept[number] = block
                yield self._check(number, block)

    def _stream(self, file: pq.ParquetFile, group: int) -> Iterator[Array]:
        for batch in file.iter_batches(
            batch_size=self._rows_per_block,
            row_groups=[group],
            columns=self.columns,
            use_threads=False,
        ):
            yield self._matrix(batch)

    def _matrix(self, batch: pa.RecordBatch) -> Array:
        block = np.empty((batch.num_rows, self.n_features), dtype=self.dtype)
        columns = [batch.column(name).to_numpy(zero_copy_only=False) for name in self.columns]
        # In pieces that stay in the cache while column after column is written into their rows.
        for start, stop in equal_blocks(batch.num_rows, TILE_ROWS):
            for position, column in enumerate(columns):
                block[start:stop, position] = column[start:stop]
        return block

    def take(self, rows: npt.ArrayLike) -> Array:
        """Return a copy of the rows at these positions; only their row groups are read."""
        positions = np.asarray(rows, dtype=np.int64)
        if len(positions) and not (positions.min() >= 0 and positions.max() < self.n_rows):
            raise IndexError(f"{self.path} has rows 0 to {self.n_rows - 1}.")
        taken = np.empty((len(positions), self.n_features), dtype=self.dtype)
        if len(self._kept) == len(self._blocks):
            starts = np.array([start for start, _ in self._blocks])
            for number in np.unique(owners := np.searchsorted(starts, positions, "right") - 1):
                inside = owners == number
                taken[inside] = self._kept[number][positions[inside] - starts[number]]
            return taken
        groups = np.searchsorted(self._group_starts, positions, side="right") - 1
        with self._open() as file:
            for group in np.unique(groups):
                wanted = np.flatnonzero(groups == group)
                start = int(self._group_starts[group])
                for block in self._stream(file, int(group)):
                    inside = wanted[
                        (positions[wanted] >= start) & (positions[wanted] < start + len(block))
                    ]
                    taken[inside] = block[positions[inside] - start]
                    start += len(block)
        return taken

    def _name(self) -> str:
        return str(self.path)

    def _column_name(self, column: int) -> str:
        return f"column {self.columns[column]!r}"


def check_budget(memory_budget: int | None) -> int:
    """Return the number of bytes that blocks may take in memory at the same time."""
    budget = DEFAULT_BUDGET if memory_budget is None else int(memory_budget)
    if budget < 1:
        raise SidelightError(f"memory_budget must be a number of bytes above 0, got {budget}.")
    return budget


def _numeric_columns(
    schema: pa.Schema, columns: Sequence[str] | None, path: Path, id_column: str | None
) -> list[str]:
    if columns is None:
        chosen = [f.name for f in schema if f.name != id_column and _is_number(f.type)]
        if not chosen:
            besides = "" if id_column is None else f" besides {id_column!r}, which names the rows"
            raise SidelightError(f"{path} has no numeric column{besides}.")
        return chosen
    if id_column in columns:
        raise SidelightError(
            f"Column {id_column!r} of {path} cannot be a feature and name the rows at once."
        )
    missing = [name for name in columns if name not in schema.names]
    if missing:
        raise SidelightError(f"{path} has no column {missing[0]!r}; it has {schema.names}.")
    for name in columns:
        if not _is_number(schema.field(name).type):
            raise SidelightError(
                f"Column {name!r} of {path} holds {schema.field(name).type}, not numbers; "
                "leave it out or turn it into numbers first."
            )
    return list(columns)


def _is_number(kind: pa.DataType) -> bool:
    import pyarrow.types as types

    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind))


def _numpy_type(kind: pa.DataType) -> np.dtype[Any]:
    return np.dtype(kind.to_pandas_dtype())


def _check_matrix(shape: tuple[int, ...], dtype: np.dtype[Any], name: str) -> None:
    if len(shape) != 2:
        raise SidelightError(f"{name} holds an array of shape {shape}; rows must be a matrix.")
    if dtype.kind not in "biuf":
        raise SidelightError(f"{name} holds {dtype}, not numbers.")
