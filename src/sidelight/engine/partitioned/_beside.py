"""What runs beside a partition, and what a worker keeps there between the passes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from sidelight._typing import Array, IntArray
from sidelight.engine._source import BlockResults, RowSource, as_rows
from sidelight.engine.partitioned._orders import (
    Done,
    Filled,
    Left,
    Missing,
    PartitionOrder,
    Pass,
    Piece,
    Restorable,
    Sent,
    Stored,
)

#: Tables whose row values a worker keeps; those of the table that was not used for longest go.
MAX_TABLES = 8

#: Key of the open file of a partition.
OPEN = "open"


class _Kept:
    """Row values of this process, by table, partition and key; and partitions that are open."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tables: OrderedDict[str, dict[int, dict[str, Any]]] = OrderedDict()

    def of(self, table: str, number: int) -> dict[str, Any]:
        """Return the values of a partition."""
        with self._lock:
            partitions = self._tables.setdefault(table, {})
            self._tables.move_to_end(table)
            while len(self._tables) > MAX_TABLES:
                self._tables.popitem(last=False)
            return partitions.setdefault(number, {})

    def forget(self, table: str) -> None:
        """Forget a table."""
        with self._lock:
            self._tables.pop(table, None)

    def clear(self) -> None:
        """Forget everything, as a worker that was lost has."""
        with self._lock:
            self._tables.clear()


kept = _Kept()


class _IsMissing(Exception):
    """Values are gone, and the order does not say how to make them again."""


def carry_out(partition: Any, order: PartitionOrder) -> Done | Missing:
    """Do what an order says with a partition.

    Parameters
    ----------
    partition : object
        The rows: anything that :func:`~sidelight.engine.as_rows` takes.
    order : PartitionOrder
        What to do.
    """
    try:
        beside = _Beside(partition, order)
        if not order.work.function:
            return Done([], (), beside.values())
        return beside.run()
    except _IsMissing:
        return Missing(order.number)


def fill_part(partition: Any, order: PartitionOrder, path: str) -> None:
    """Write row values of a partition into a ``.npy`` file."""
    np.save(path, _Beside(partition, order).values())


def take_rows(partition: Any, positions: IntArray) -> Any:
    """Return rows of a partition."""
    return as_rows(partition).with_missing().take(positions)


class _Beside:
    """A partition with its row values."""

    def __init__(self, partition: Any, order: PartitionOrder) -> None:
        self._order = order
        for table in order.closed:
            kept.forget(table)
        self._kept = kept.of(order.table, order.number)
        for key in order.forget:
            self._kept.pop(key, None)
        self._rows = self._open(partition)

    def _open(self, partition: Any) -> RowSource:
        """Return the rows; those of a file stay open, with what is known of them."""
        found: RowSource | None = self._kept.get(OPEN)
        if found is not None:
            return found
        rows = as_rows(partition).with_missing()
        if rows.dtype != self._order.dtype:
            rows = as_rows(rows.to_memory().astype(self._order.dtype))
        if rows.max_parallel is not None:
            self._kept[OPEN] = rows
        return rows

    def run(self) -> Done:
        """Run the pass; its row values stay here."""
        work = self._order.work
        results = self._run(work)
        if results.rows:
            self._kept[work.key] = results.rows
        return Done(results.totals, tuple((v.shape[1:], v.dtype) for v in results.rows))

    def values(self) -> Array:
        """Return the values that the order asks for."""
        (piece,) = self._order.work.aligned
        values, rows = self._array(piece), self._order.rows
        return values if rows is None else values[rows]

    def _run(self, work: Pass) -> BlockResults:
        from cloudpickle import loads

        function = loads(work.function)
        aligned = [self._of(piece) for piece in work.aligned]
        rows = self._rows if getattr(function, "needs_rows", True) else _Unread(self._rows)
        return rows.block_results(_Again(function) if work.again else function, aligned=aligned)

    def _of(self, piece: Piece) -> Any:
        return piece.piece if isinstance(piece, Sent) else self._array(piece)

    def _array(self, piece: Piece) -> Array:
        if isinstance(piece, Filled):
            return np.full((len(self._rows), *piece.value.shape), piece.value)
        if isinstance(piece, Stored):
            return self._stored(piece)
        assert isinstance(piece, Left)
        values = self._left(piece)[piece.index]
        if piece.changed is None:
            return values
        values = values.copy()
        places, new = piece.changed
        values[places] = new
        return values

    def _stored(self, piece: Stored) -> Array:
        if piece.values is not None:
            self._kept[piece.key] = (piece.values,)
        found: tuple[Array] | None = self._kept.get(piece.key)
        if found is None:
            raise _IsMissing
        return found[0]

    def _left(self, piece: Left) -> tuple[Array, ...]:
        found: tuple[Array, ...] | None = self._kept.get(piece.key)
        if found is None:
            if piece.origin is None:
                raise _IsMissing
            found = self._kept[piece.key] = self._run(piece.origin).rows
        return found


class _Unread(RowSource):
    """Blocks without their rows, for functions of row values alone."""

    def __init__(self, rows: RowSource) -> None:
        self.n_rows, self.n_features = rows.shape
        self.dtype = rows.dtype
        self._blocks = rows.blocks

    @property
    def blocks(self) -> list[tuple[int, int]]:
        """Those of the rows."""
        return self._blocks

    def take(self, rows: Any) -> Any:
        """Raise: nothing is read."""
        raise NotImplementedError

    def read(self, task: tuple[int, ...]) -> Iterator[None]:
        """Yield nothing for each block."""
        yield from (None for _ in task)


class _Again:
    """The row values of a pass as a block function."""

    def __init__(self, function: Restorable) -> None:
        self._function = function

    def __call__(self, block: Any, *slices: Any) -> tuple[tuple[()], Sequence[Array]]:
        return (), self._function.rows_again(block, *slices)
