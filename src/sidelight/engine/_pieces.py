"""Rows on disk cut into pieces, each of which can be read on its own, in another process."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from sidelight._typing import Array
from sidelight.engine._disk import DiskRows
from sidelight.engine._joined import JoinedRows
from sidelight.engine._source import RowSource

#: A piece has about as many bytes: enough for a task, few enough to be shared out evenly. Fixed, so
#: that the cut, and with it the order of the sums, does not depend on who works.
PIECE_BYTES = 256 * 2**20


class Piece(RowSource):
    """Consecutive rows of a source, of whole tasks.

    Parameters
    ----------
    source : DiskRows
        The rows, none of which are kept yet; small to send, as those of files are.
    first, last : int
        The first task, and the one behind the last.
    """

    def __init__(self, source: DiskRows, first: int, last: int) -> None:
        tasks = source.tasks()[first:last]
        self._first = tasks[0][0]
        blocks = source.blocks[self._first : tasks[-1][-1] + 1]
        self._start = blocks[0][0]
        self._source = source.kept_apart(blocks[-1][1] - self._start)
        self.n_rows, self.n_features = blocks[-1][1] - self._start, source.n_features
        self.dtype, self.is_sparse = source.dtype, source.is_sparse
        self.max_parallel = source.max_parallel
        self._blocks = [(a - self._start, b - self._start) for a, b in blocks]
        self._tasks = [tuple(number - self._first for number in task) for task in tasks]
        if hasattr(source, "columns"):
            self.columns = source.columns

    @property
    def blocks(self) -> list[tuple[int, int]]:
        """Ranges of rows that are in memory together."""
        return self._blocks

    def tasks(self) -> list[tuple[int, ...]]:
        return self._tasks

    def with_missing(self) -> Piece:
        """Return the same rows, where NaN stands for a value that was not measured."""
        rows = copy.copy(self)
        rows._source = self._source.with_missing()
        return rows

    def read(self, task: tuple[int, ...]) -> Iterator[Any]:
        yield from self._source.read(tuple(number + self._first for number in task))

    def take(self, rows: npt.ArrayLike) -> Any:
        """Return the rows at these positions, in the order given."""
        return self._source.take(np.asarray(rows, dtype=np.int64) + self._start)


def pieces_of(source: RowSource) -> tuple[list[RowSource], list[str]]:
    """Return rows on disk in pieces, and their names. Ids stay with the source.

    Parameters
    ----------
    source : RowSource
        Rows of a file, or of several.
    """
    files: list[Any] = source.files if isinstance(source, JoinedRows) else [source]
    pieces: list[RowSource] = []
    names: list[str] = []
    for named in files:
        file = named.kept_apart(named.n_rows)
        file.ids = None  # these are not to travel with every pass
        ends = _ends(file)
        for first, last in itertools.pairwise(ends):
            pieces.append(file if len(ends) == 2 else Piece(file, first, last))
            part = "" if len(ends) == 2 else f", part {len(names) + 1} of the table"
            names.append(f"{named.name}{part}")
    return pieces, names


def _ends(source: DiskRows) -> Array:
    """Numbers of the tasks at which the pieces of a file end, 0 included."""
    tasks, blocks = source.tasks(), source.blocks
    ends = np.array([blocks[task[-1]][1] for task in tasks])
    n_pieces = -(-source.n_rows * source.n_features * source.dtype.itemsize // PIECE_BYTES)
    goals = np.linspace(0, source.n_rows, max(1, int(n_pieces)) + 1)[1:-1]
    inner = np.searchsorted(ends, goals) + 1
    return np.unique(np.concatenate([[0], inner, [len(tasks)]]))
