"""Blocks of rows at fixed positions, and what is known of them, joined in a fixed binary tree.

Block number b holds the rows from ``b * BLOCK_ROWS`` on. Summaries of blocks 2i and 2i + 1 are
joined to one of twice as many rows, and so on: which rows a summary is made of, and in which order
summaries are joined, depends on the positions of the rows alone. So also an approximate summary is
the same, to the last bit, for every cut of a table into files, batches and workers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

if TYPE_CHECKING:
    import pyarrow as pa

#: Rows of a block: their values stay in the processor's cache.
BLOCK_ROWS = 2**15


class Summary(Protocol):
    """What is known of consecutive rows."""

    def join(self, following: Any) -> Self:
        """Return what is known of these rows and of those that follow them."""


S = TypeVar("S", bound=Summary)


class BlockForest:
    """Summaries of consecutive blocks, joined as far as the tree allows."""

    def __init__(self) -> None:
        self.trees: list[tuple[int, int, Any]] = []

    def add(self, level: int, number: int, summary: Any) -> None:
        """Add the tree that follows: ``number`` counts trees of this level from row 0 on."""
        while self.trees and number % 2 and self.trees[-1][:2] == (level, number - 1):
            summary = self.trees.pop()[2].join(summary)
            level, number = level + 1, number // 2
        self.trees.append((level, number, summary))

    def fold(self, rest: Any = None) -> Any:
        """Return the summary of all rows; ``rest`` is that of the last ones, no whole block."""
        for _, _, summary in reversed(self.trees):  # small ones first
            rest = summary if rest is None else summary.join(rest)
        return rest


def summarize(of: Callable[[slice], S], n_rows: int) -> S:
    """Summarize rows in memory, of which ``of`` summarizes a slice.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.preparation.streams._forest import summarize
    >>> from sidelight.preparation.streams._moments import NumberMoments
    >>> x = np.arange(100_000.0)
    >>> float(summarize(lambda rows: NumberMoments.of(x[rows]), len(x)).mean)
    49999.5
    """
    forest, n_blocks = BlockForest(), n_rows // BLOCK_ROWS
    for block in range(n_blocks):
        forest.add(0, block, of(slice(block * BLOCK_ROWS, (block + 1) * BLOCK_ROWS)))
    rest = n_blocks * BLOCK_ROWS
    summary: S = forest.fold(of(slice(rest, n_rows)) if rest < n_rows or not n_blocks else None)
    return summary


class Segment:
    """Consecutive rows of a table: summaries of whole blocks, and the rows at both ends.

    Parameters
    ----------
    start : int
        Position of its first row in the table.
    summarize : callable
        ``summarize(table, start)`` summarizes the rows of a block.
    """

    def __init__(self, start: int, summarize: Callable[[pa.Table, int], Any]) -> None:
        self.start = self.stop = start
        self._summarize = summarize
        self._head: list[pa.RecordBatch] = []
        self._tail: list[pa.RecordBatch] = []
        self._forest = BlockForest()

    def add(self, batch: pa.RecordBatch) -> None:
        """Add the rows that follow."""
        for piece in _cut(batch, self.stop):
            block = self.stop // BLOCK_ROWS
            self.stop += piece.num_rows
            if block * BLOCK_ROWS < self.start:
                self._head.append(piece)
                continue
            self._tail.append(piece)
            if self.stop % BLOCK_ROWS == 0:
                self._forest.add(0, block, self._summary(self._tail, block * BLOCK_ROWS))
                self._tail = []

    def join(self, following: Segment) -> Segment:
        """Add the rows of another segment, which follow those of this one."""
        for batch in following._head:
            self.add(batch)
        for tree in following._forest.trees:
            self._forest.add(*tree)
            self.stop = (tree[1] + 1) * 2 ** tree[0] * BLOCK_ROWS
        for batch in following._tail:
            self.add(batch)
        return self

    def result(self) -> Any:
        """Return the summary of all rows of a table; None if there are none."""
        rest = None
        if self._tail:
            rest = self._summary(self._tail, self.stop - sum(one.num_rows for one in self._tail))
        return self._forest.fold(rest)

    def _summary(self, batches: list[pa.RecordBatch], start: int) -> Any:
        import pyarrow as pa

        return self._summarize(pa.Table.from_batches(batches).combine_chunks(), start)

    def __getstate__(self) -> dict[str, Any]:
        state = vars(self).copy()
        state["_head"], state["_tail"] = _packed(self._head), _packed(self._tail)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._head, self._tail = _unpacked(state["_head"]), _unpacked(state["_tail"])


def _cut(batch: pa.RecordBatch, start: int) -> Iterator[pa.RecordBatch]:
    """Cut a batch whose first row is at ``start`` where blocks begin."""
    place = 0
    while place < batch.num_rows:
        piece = batch.slice(place, BLOCK_ROWS - (start + place) % BLOCK_ROWS)
        place += piece.num_rows
        yield piece


def _packed(batches: list[pa.RecordBatch]) -> Any:
    """Batches without the rows around them that they are slices of."""
    import pyarrow as pa

    if not batches:
        return None
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batches[0].schema) as writer:
        writer.write_table(pa.Table.from_batches(batches).unify_dictionaries())
    return sink.getvalue().to_pybytes()


def _unpacked(packed: Any) -> list[pa.RecordBatch]:
    import pyarrow as pa

    return [] if packed is None else list(pa.ipc.open_stream(packed))
