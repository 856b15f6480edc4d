"""Rows of files with named columns: decoded block by block, and kept once they are."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from sidelight._typing import Array
from sidelight.engine._budget import check_budget
from sidelight.engine._disk import BLOCKS_IN_BUDGET, DiskRows
from sidelight.engine._memory import TILE_ROWS
from sidelight.engine._source import equal_blocks
from sidelight.engine._store import BlockStore
from sidelight.engine._threads import get_threads
from sidelight.io.inner import Part

if TYPE_CHECKING:
    import pyarrow as pa


class FileRows(DiskRows):
    """Numeric columns of a Parquet or Feather file, or of a copy of a text file or a query.

    A thread streams one stretch of the file (a row group) at a time. Blocks that were decoded go
    into a store, from which they are read the next time, each by itself.

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
    store : BlockStore, default=None
        What keeps the blocks of the table that the file is a part of; by default one of its own.
    start : int, default=0
        Position of its first row in that table.
    """

    def __init__(
        self,
        part: Part,
        columns: Sequence[str],
        dtype: Any,
        *,
        memory_budget: int | str | None = None,
        store: BlockStore | None = None,
        start: int = 0,
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
        self._store = store or BlockStore(self.n_rows * row_bytes // 2, budget)
        self._first_row = start

    def _cut_chunks(self, sizes: list[int], rows_per_block: int) -> None:
        """Blocks never cross stretches; a task is one stretch, since reading starts there."""
        self._rows_per_block = rows_per_block
        self._starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        blocks: list[tuple[int, int]] = []
        self._tasks: list[tuple[int, ...]] = []
        self._chunk_of_block: list[int] = []
        for chunk, size in enumerate(sizes):
            if size == 0:
                continue
            first, start = len(blocks), int(self._starts[chunk])
            blocks += [(start + a, start + b) for a, b in equal_blocks(size, rows_per_block)]
            self._tasks.append(tuple(range(first, len(blocks))))
            self._chunk_of_block += [chunk] * (len(blocks) - first)
        self._set_blocks(blocks)

    def kept_apart(self, n_rows: int) -> Self:
        """Return the same rows with a store of their own, of which some are read elsewhere.

        Parameters
        ----------
        n_rows : int
            How many are.
        """
        rows = copy.copy(self)
        rows._store = self._store.narrowed(n_rows * self.n_features * self.dtype.itemsize)
        return rows

    @property
    def is_kept(self) -> bool:
        """Whether all blocks are in the store."""
        return all(self._place(number) in self._store for number in range(len(self._blocks)))

    def _place(self, number: int) -> int:
        """What the store calls a block: the position of its first row in the table."""
        return self._first_row + self._blocks[number][0]

    def tasks(self) -> list[tuple[int, ...]]:
        return super().tasks() if self.is_kept else self._tasks

    def _workers(self) -> int:
        return min(get_threads(), BLOCKS_IN_BUDGET) if self.is_kept else super()._workers()

    def to_be_read_once(self) -> None:
        """Keep nothing in a file: who reads once has nothing from it."""
        self._store.keep_no_more()

    def read(self, task: tuple[int, ...]) -> Iterator[Array]:
        for number, block in zip(task, self._read(task), strict=True):
            yield self._check(number, block)

    def _read(self, numbers: Sequence[int]) -> Iterator[Array]:
        """Yield some blocks of a stretch, from the first that is not kept on by decoding."""
        for done, number in enumerate(numbers):
            block = self._store.get(self._place(number))
            if block is None:
                yield from self._decode(numbers[done:])
                return
            yield block

    def _decode(self, numbers: Sequence[int]) -> Iterator[Array]:
        """Yield some blocks of a stretch, which is read from its beginning."""
        chunk = self._chunk_of_block[numbers[0]]
        first = self._chunk_of_block.index(chunk)
        for number, block in enumerate(self._stream(chunk), first):
            self._store.put(self._place(number), block)
            if number in numbers:
                yield block
            if number == numbers[-1]:
                return

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
        """Return a copy of the rows at these positions; only their blocks or stretches are read."""
        positions = np.asarray(rows, dtype=np.int64)
        if len(positions) and not (positions.min() >= 0 and positions.max() < self.n_rows):
            raise IndexError(f"{self._name()} has rows 0 to {self.n_rows - 1}.")
        taken = np.empty((len(positions), self.n_features), dtype=self.dtype)
        starts = np.array([start for start, _ in self._blocks])
        owners = np.searchsorted(starts, positions, side="right") - 1
        for numbers in self._by_chunk(np.unique(owners).tolist()):
            for number, block in zip(numbers, self._read(numbers), strict=True):
                inside = owners == number
                taken[inside] = block[positions[inside] - starts[number]]
        return taken

    def _by_chunk(self, numbers: list[int]) -> Iterator[list[int]]:
        """Yield the numbers of blocks, those of a stretch together."""
        for _, some in itertools.groupby(numbers, self._chunk_of_block.__getitem__):
            yield list(some)

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
