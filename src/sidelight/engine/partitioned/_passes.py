"""Passes over all partitions: orders out, answers back, added up in the order of the partitions."""

from __future__ import annotations

import uuid
import weakref
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from sidelight._typing import Array, IntArray
from sidelight._warn import warn
from sidelight.engine._threads import one_thread_blas
from sidelight.engine.partitioned._beside import carry_out
from sidelight.engine.partitioned._engine import Engine
from sidelight.engine.partitioned._orders import (
    Done,
    Filled,
    Left,
    Missing,
    PartitionOrder,
    Pass,
    Piece,
    Sent,
    Stored,
    content_key,
)
from sidelight.exceptions import WorkerLost

#: Arrays of the client that were not used in so many passes are forgotten beside the partitions.
MAX_IDLE_PASSES = 16


class OfRows:
    """Values of rows that a pass has left beside the partitions, as an order refers to them.

    Attributes
    ----------
    record : PassRecord
        The pass.
    index : int
        Which of its row values.
    changed : tuple of ndarray
        Positions of rows that hold other values, ascending, and these values.
    """

    record: PassRecord
    index: int

    @property
    def changed(self) -> tuple[IntArray, Array]:
        """Positions of rows that hold other values than the pass has left, and these values."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class PassRecord:
    """A pass that has left row values: what it takes to make them again.

    Attributes
    ----------
    key : str
        Name under which the values are kept.
    function : bytes
        The pickled block function.
    aligned : tuple
        What it was aligned with, as far as that is needed to repeat the values.
    again : bool
        Whether the values are repeated by ``rows_again``.
    """

    key: str
    function: bytes
    aligned: tuple[Any, ...]
    again: bool

    @property
    def lineage(self) -> int:
        """Number of passes that have to be repeated, one behind the other."""
        before = (a.record.lineage for a in self.aligned if isinstance(a, OfRows))
        return 1 + max(before, default=0)


class Work(NamedTuple):
    """A block function with what it is aligned with; without a function, values to fetch."""

    key: str
    function: bytes
    aligned: tuple[Any, ...]


#: Tables that are gone, whose values the workers may forget.
_closed: deque[str] = deque(maxlen=64)


@dataclass(eq=False)
class TablePasses:
    """The passes over a table in partitions, shared by all views of it.

    Attributes
    ----------
    engine : Engine
        Where the partitions live.
    names : list of str
        Names of the partitions, for messages.
    table : str
        Name under which workers keep row values.
    starts : ndarray of shape (n_partitions + 1,)
        Where the rows of each partition begin in the table.
    dtype : str
        Element type of the rows.
    forgotten : list of str
        Passes whose values nobody refers to any more.
    used : dict of str to int
        Arrays of the client that were sent, with the number of the pass that used them last.
    n_passes : int
        Passes so far.
    """

    engine: Engine
    names: list[str]
    table: str = field(default_factory=lambda: uuid.uuid4().hex)
    starts: IntArray = field(default_factory=lambda: np.zeros(1, dtype=np.int64))
    dtype: str = ""
    forgotten: list[str] = field(default_factory=list)
    used: dict[str, int] = field(default_factory=dict)
    n_passes: int = 0

    def __post_init__(self) -> None:
        weakref.finalize(self, _closed.append, self.table).atexit = False

    def range_of(self, number: int) -> tuple[int, int]:
        """Return where the rows of a partition begin and end in the table."""
        return int(self.starts[number]), int(self.starts[number + 1])

    def owners(self, positions: IntArray) -> tuple[dict[int, IntArray], IntArray]:
        """Return which of the positions are in which partition, and where there."""
        # Empty partitions start where the next one does: the last of them holds the row.
        own = np.searchsorted(self.starts, positions, side="right") - 1
        owners = {int(n): np.flatnonzero(own == n) for n in np.unique(own)}
        return owners, positions - self.starts[own]

    def ask(self, work: Any, orders: Mapping[int, Any]) -> dict[int, Any]:
        """Return what work gives for partitions."""
        with one_thread_blas.outside():
            return dict(self.engine.map_in_order(work, orders))

    # ------------------------------------------------------------------ orders and answers

    def run(self, work: Work, numbers: Sequence[int]) -> Iterator[tuple[int, Done]]:
        """Run a pass over partitions, and yield their answers in their order."""
        self.n_passes += 1
        return self._answers(work, dict.fromkeys(numbers), self._to_forget())

    def fetch(
        self, values: OfRows, wanted: Mapping[int, IntArray | None]
    ) -> Iterator[tuple[int, Done]]:
        """Bring values of rows here: positions within each partition, or None for all."""
        return self._answers(Work("", b"", (values,)), wanted, ())

    def _answers(
        self, work: Work, wanted: Mapping[int, IntArray | None], forget: tuple[str, ...]
    ) -> Iterator[tuple[int, Done]]:
        """Yield answers in order; where values were lost, order once more with everything.

        Answers are added up as they come. They wait only for those that are ordered twice.
        """
        numbers = sorted(wanted)
        short = {n: self.order(work, n, short=True, rows=wanted[n], forget=forget) for n in numbers}
        waiting: dict[int, Done] = {}
        lost: list[int] = []
        with one_thread_blas.outside():
            for number, answer in self.engine.map_in_order(carry_out, short):
                if isinstance(answer, Missing):
                    lost.append(number)
                elif lost:
                    waiting[number] = answer
                else:
                    yield number, answer
            if lost:
                whole = {n: self.order(work, n, rows=wanted[n]) for n in lost}
                waiting.update(self.engine.map_in_order(carry_out, whole))
        self._tell_losses()
        for number in sorted(waiting):
            yield number, waiting[number]

    def _tell_losses(self) -> None:
        for worker, n_partitions in self.engine.losses():
            warn(
                f"Worker {worker} was lost; {n_partitions} of {len(self.names)} partitions were "
                "done again elsewhere. The result is the same.",
                WorkerLost,
            )

    def _to_forget(self) -> tuple[str, ...]:
        """Return the keys that workers may forget."""
        idle = [key for key, n in self.used.items() if self.n_passes - n > MAX_IDLE_PASSES]
        for key in idle:
            del self.used[key]
        forget = (*self.forgotten, *idle)
        self.forgotten.clear()
        return forget

    def order(
        self,
        work: Work,
        number: int,
        *,
        short: bool = False,
        rows: IntArray | None = None,
        forget: tuple[str, ...] = (),
    ) -> PartitionOrder:
        """Return what is done with a partition; ``short`` names what the worker should have."""
        pieces = tuple(self._piece(thing, number, short) for thing in work.aligned)
        return PartitionOrder(
            self.table,
            number,
            self.dtype,
            Pass(work.key, work.function, pieces),
            forget,
            tuple(_closed),
            rows,
        )

    def _piece(self, thing: Any, number: int, short: bool) -> Piece:
        start, stop = self.range_of(number)
        if isinstance(thing, range):
            return Sent(thing[start:stop])
        if isinstance(thing, OfRows):
            return self._left(thing, number, short)
        if hasattr(thing, "part"):
            return Sent(thing.part(start, stop))
        values = np.asarray(thing)
        if values.ndim and values.strides[0] == 0:
            return Filled(values[0])
        piece = values[start:stop]
        key = f"{number}-{content_key(piece)}"
        named = short and key in self.used
        self.used[key] = self.n_passes
        return Stored(key, None if named else piece)

    def _left(self, values: OfRows, number: int, short: bool) -> Left:
        record, (start, stop) = values.record, self.range_of(number)
        changed, new = values.changed
        here = slice(*np.searchsorted(changed, (start, stop)))
        places = (changed[here] - start, new[here]) if here.start < here.stop else None
        if short:
            return Left(record.key, values.index, places)
        pieces = tuple(self._piece(thing, number, False) for thing in record.aligned)
        origin = Pass(record.key, record.function, pieces, record.again)
        return Left(record.key, values.index, places, origin)
