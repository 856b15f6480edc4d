"""Rows of files with named columns: decoded block by block, kept where they fit the budget."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sidelight._typing import Array
from sidelight.engine._budget import check_budget
from sidelight.engine._disk import BLOCKS_IN_BUDGET, DiskRows
from sidelight.engine._memory import TILE_ROWS
from sidelight.engine._source import equal_blocks
from sidelight.io.inner import Part

if TYPE_CHECKING:
    import pyarrow as pa


class FileRows(DiskRows):
    """Numeric columns of a Parquet or Feather file, or of a copy of a text file or a query.

    A thread streams one stretch of the file (a row group) at a time. Blocks are kept once they are
    decoded where those of the whole table fit into half of the memory budget.

    Parameters
    ----------
    part : Part
        The file, which can be read from anywhere.
    columns : sequence of str
        The columns that are features.
    dtype : dtype
        float32 or float64.
    memory_budget : int or str, default=None
        As in :func:`sidelight.engine.open_rows`.
    table_rows : int, default=None
        Rows of the table that the file is a part of, with which it shares the budget.
    """

    def __init__(
        self,
        part: Part,
        columns: Sequence[str],
        dtype: Any,
        *,
        memory_budget: int | str | None = None,
        table_rows: int | None = None,
    ) -> None:
        self._part = part
        self.columns = list(columns)
        sizes = list(part.chunks or ())
        self.n_rows, self.n_features = sum(sizes), len(columns)
        self.dtype = np.dtype(dtype)
        # Decoding holds the Arrow columns and the matrix at the same time.
        row_bytes = 2 * self.n_features * self.dtype.itemsize
        budget = check_budget(memory_budget)
        rows = max(1, budget // (BLOCKS_IN_BUDGET * row_bytes))
        self._cut_chunks(sizes, rows)
        held = part.held_bytes(self.n_features, row_bytes // 2)
        self.max_parallel = max(1, budget // (rows * row_bytes + held))
        # Decoding takes longer than most passes: rows that leave half of the budget free stay.
        self._keeps_blocks = (table_rows or self.n_rows) * row_bytes <= budget
        self._kept: dict[int, Array] = {}

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_kept": {}}  # they are read again where the source goes

    def _cut_chunks(self, sizes: list[int], rows_per_block: int) -> None:
        """Blocks never cross stretches; a task is one stretch, since reading starts there."""
        self._rows_per_block = rows_per_block
        self._starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        blocks: list[tuple[int, int]] = []
        self._tasks: list[tuple[int, ...]] = []
        self._chunk_of_task: dict[int, int] = {}
        for chunk, size in enumerate(sizes):
            if size == 0:
                continue
            first, start = len(blocks), int(self._starts[chunk])
            blocks += [(start + a, start + b) for a, b in equal_blocks(size, rows_per_block)]
            self._tasks.append(tuple(range(first, len(blocks))))
            self._chunk_of_task[first] = chunk
        self._set_blocks(blocks)

    def tasks(self) -> list[tuple[int, ...]]:
        return self._tasks

    def read(self, task: tuple[int, ...]) -> Iterator[Array]:
        if all(number in self._kept for number in task):
            for number in task:
                yield self._check(number, self._kept[number])
            return
        chunk = self._chunk_of_task[task[0]]
        for number, block in zip(task, self._stream(chunk), strict=True):
            if self._keeps_blocks:
                self._kept[number] = block
            yield self._check(number, block)

    def _stream(self, chunk: int) -> Iterator[Array]:
        for batch in self._part.batches(self.columns, rows=self._rows_per_block, chunks=[chunk]):
            yield self._matrix(batch)

    def _matrix(self, batch: pa.RecordBatch) -> Array:
        block = np.empty((batch.num_rows, self.n_features), dtype=self.dtype)
        columns = [_numbers(column) for column in batch.columns]
        # In pieces that stay in the cache while column after column is written into their rows.
        for start, stop in equal_blocks(batch.num_rows, TILE_ROWS):
            for position, column in enumerate(columns):
                block[start:stop, position] = column[start:stop]
        return block

    def take(self, rows: npt.ArrayLike) -> Array:
        """Return a copy of the rows at these positions; only their stretches are read."""
        positions = np.asarray(rows, dtype=np.int64)
        if len(positions) and not (positions.min() >= 0 and positions.max() < self.n_rows):
            raise IndexError(f"{self._name()} has rows 0 to {self.n_rows - 1}.")
        taken = np.empty((len(positions), self.n_features), dtype=self.dtype)
        if len(self._kept) == len(self._blocks):
            starts = np.array([start for start, _ in self._blocks])
            for number in np.unique(owners := np.searchsorted(starts, positions, "right") - 1):
                inside = owners == number
                taken[inside] = self._kept[number][positions[inside] - starts[number]]
            return taken
        chunks = np.searchsorted(self._starts, positions, side="right") - 1
        for chunk in np.unique(chunks):
            wanted = np.flatnonzero(chunks == chunk)
            start = int(self._starts[chunk])
            for block in self._stream(int(chunk)):
                inside = wanted[
                    (positions[wanted] >= start) & (positions[wanted] < start + len(block))
                ]
                taken[inside] = block[positions[inside] - start]
                start += len(block)
        return taken

    def _name(self) -> str:
        return self._part.name

    def _column_name(self, column: int) -> str:
        return f"column {self.columns[column]!r}"


def _numbers(column: pa.Array) -> Array:
    import pyarrow as pa

    if pa.types.is_decimal(column.type) or pa.types.is_null(column.type):
        column = column.cast(pa.float64())
    values: Array = column.to_numpy(zero_copy_only=False)
    return values
