"""Rows of several files, one after the other."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from sidelight._typing import Array
from sidelight.engine._disk import BLOCKS_IN_BUDGET, DiskRows
from sidelight.engine._source import RowSource
from sidelight.engine._threads import get_threads


class JoinedRows(RowSource):
    """Rows of several files with the same features, one file after the other.

    The blocks are those of the files, so that several threads read several files at a time, within
    one memory budget.

    Parameters
    ----------
    sources : sequence of RowSource
        The files, of one element type and one number of features.
    """

    def __init__(self, sources: Sequence[DiskRows]) -> None:
        first = sources[0]
        self.n_features, self.dtype = first.n_features, first.dtype
        if hasattr(first, "columns"):
            self.columns = first.columns
        self._sources = list(sources)
        self._starts = np.concatenate([[0], np.cumsum([one.n_rows for one in sources])])
        self.n_rows = int(self._starts[-1])
        self.max_parallel = min(one.max_parallel for one in sources)
        counts = [len(one.blocks) for one in sources]
        self._first_blocks = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        self._blocks = [
            (int(start) + a, int(start) + b)
            for start, one in zip(self._starts[:-1], sources, strict=True)
            for a, b in one.blocks
        ]
        self._tasks = [
            tuple(int(first_block) + number for number in task)
            for first_block, one in zip(self._first_blocks[:-1], sources, strict=True)
            for task in one.tasks()
        ]

    @property
    def files(self) -> list[DiskRows]:
        """The files, one after the other."""
        return self._sources

    @property
    def blocks(self) -> list[tuple[int, int]]:
        """Ranges of rows that are in memory together."""
        return self._blocks

    def tasks(self) -> list[tuple[int, ...]]:
        return super().tasks() if self._is_kept else self._tasks

    def _workers(self) -> int:
        return min(get_threads(), BLOCKS_IN_BUDGET) if self._is_kept else super()._workers()

    @property
    def _is_kept(self) -> bool:
        """Whether blocks can be read each by itself, which takes no more memory than they do."""
        return all(one.is_kept for one in self._sources)

    def with_missing(self) -> JoinedRows:
        """Return the same rows, where NaN stands for a value that was not measured."""
        rows = copy.copy(self)
        rows._sources = [one.with_missing() for one in self._sources]
        return rows

    def to_be_read_once(self) -> None:
        """Keep nothing in a file: who reads once has nothing from it."""
        for one in self._sources:
            one.to_be_read_once()

    def largest(self) -> Array:
        """Return the largest ``|x|`` of every column; files are read unless they have been."""
        if not all(one.is_checked for one in self._sources):
            self.map_reduce(lambda block: ((), ()))  # by several threads, whatever the files
        return np.max([one.largest() for one in self._sources], axis=0)

    def read(self, task: tuple[int, ...]) -> Iterator[Array]:
        owner = int(np.searchsorted(self._first_blocks, task[0], side="right")) - 1
        first = int(self._first_blocks[owner])
        yield from self._sources[owner].read(tuple(number - first for number in task))

    def take(self, rows: npt.ArrayLike) -> Array:
        """Return a copy of the rows at these positions; only their files are read."""
        positions = np.asarray(rows, dtype=np.int64)
        if len(positions) and not (positions.min() >= 0 and positions.max() < self.n_rows):
            raise IndexError(f"There are rows 0 to {self.n_rows - 1}.")
        taken = np.empty((len(positions), self.n_features), dtype=self.dtype)
        owners = np.searchsorted(self._starts, positions, side="right") - 1
        for owner in np.unique(owners):
            wanted = owners == owner
            taken[wanted] = self._sources[owner].take(positions[wanted] - self._starts[owner])
        return taken
