"""Rows in partitions, as every algorithm sees them."""

from __future__ import annotations

import copy
import uuid
import weakref
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from sidelight._typing import Array, IntArray
from sidelight._warn import warn
from sidelight.engine._extent import SQUARED, too_large
from sidelight.engine._source import Arrays, BlockFunction, BlockResults, RowSource
from sidelight.engine._threads import one_thread_blas
from sidelight.engine.partitioned._beside import carry_out, fill_part, take_rows
from sidelight.engine.partitioned._engine import Engine
from sidelight.engine.partitioned._facts import Facts, check_alike, look_at
from sidelight.engine.partitioned._orders import (
    Done,
    Filled,
    Left,
    Missing,
    Order,
    Pass,
    Piece,
    Sent,
    Stored,
    content_key,
)
from sidelight.engine.partitioned._values import RowValues
from sidelight.exceptions import SidelightError, WorkerLost

#: Arrays of the client that were not used in so many passes are forgotten beside the partitions.
MAX_IDLE_PASSES = 16

#: Passes in a row whose values depend on those of the pass before: then they are fetched, so that
#: what has to be repeated after a loss does not grow.
MAX_LINEAGE = 12


@dataclass(frozen=True, eq=False)
class Record:
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
        before = (a.record.lineage for a in self.aligned if isinstance(a, RowValues) and a.record)
        return 1 + max(before, default=0)


class Work(NamedTuple):
    """A block function with what it is aligned with; without a function, values to fetch."""

    key: str
    function: bytes
    aligned: tuple[Any, ...]


#: Tables that are gone, whose values the workers may forget.
_closed: deque[str] = deque(maxlen=64)


@dataclass(eq=False)
class _Life:
    """What all views of a table share, for as long as one of them is in use.

    Attributes
    ----------
    table : str
        Name under which workers keep row values.
    forgotten : list of str
        Passes whose values nobody refers to any more.
    used : dict of str to int
        Arrays of the client that were sent, with the number of the pass that used them last.
    n_passes : int
        Passes so far.
    """

    table: str = field(default_factory=lambda: uuid.uuid4().hex)
    forgotten: list[str] = field(default_factory=list)
    used: dict[str, int] = field(default_factory=dict)
    n_passes: int = 0


class PartitionedRows(RowSource):
    """Rows in partitions that live elsewhere, on whatever engine.

    A pass sends the block function to every partition and brings back the totals of each, which are
    added in the order of the partitions: which worker did which partition, and how often, changes
    nothing. Row results stay beside the partitions as :class:`RowValues`.

    Parameters
    ----------
    engine : Engine
        Where the partitions live.
    """

    is_partitioned = True

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.max_parallel = max(1, engine.workers)
        self._names = list(engine.partitions())
        self._life = _Life()
        weakref.finalize(self._life, _closed.append, self._life.table).atexit = False
        self._missing_allowed = False
        with one_thread_blas.outside():
            found = dict(engine.map_in_order(look_at, dict.fromkeys(range(len(self._names)))))
        self._set_facts([found[number] for number in range(len(self._names))])
        engine.persist()

    def _set_facts(self, facts: list[Facts]) -> None:
        first = check_alike(self._names, facts)
        self.n_features, self.is_sparse = first.n_features, first.is_sparse
        filled = [one for one in facts if one.n_rows]
        self.dtype = np.result_type(*(one.dtype for one in filled))
        if first.columns is not None:
            self.columns = list(first.columns)
        self._facts = facts
        self._starts = np.concatenate([[0], np.cumsum([one.n_rows for one in facts])])
        self.n_rows = int(self._starts[-1])
        self._filled = [number for number, one in enumerate(facts) if one.n_rows]
        self._largest = np.max([one.largest for one in filled], axis=0)

    # ------------------------------------------------------------------ what the rows are

    @property
    def blocks(self) -> list[tuple[int, int]]:
        """Ranges of rows of the partitions that have some."""
        return [self._range(number) for number in self._filled]

    def largest(self) -> Array:
        """Return the largest ``|x|`` of every column; raise for values that cannot be used."""
        self._check_values()
        largest: Array = self._largest
        return largest

    def with_missing(self) -> PartitionedRows:
        """Return the same rows, where NaN stands for a missing value."""
        rows = copy.copy(self)
        rows._missing_allowed = True
        return rows

    def shares_rows_with(self, other: RowSource) -> bool:
        """Whether another source has the same rows, so that values of one fit the other."""
        return isinstance(other, PartitionedRows) and other._life is self._life

    @property
    def n_passes(self) -> int:
        """Number of passes over the rows so far."""
        return self._life.n_passes

    def _check_values(self) -> None:
        for number in self._filled:
            facts = self._facts[number]
            bad = facts.first_infinite if self._missing_allowed else None
            if not self._missing_allowed:
                bad = min(filter(None, (facts.first_nan, facts.first_infinite)), default=None)
            if bad is not None:
                what = "infinity" if self._missing_allowed else "NaN or infinity"
                raise SidelightError(
                    f"{self._names[number]} holds {what} in {self._place(number, bad)}; drop such "
                    "rows, or fill in the missing values first."
                )
        if self._largest.max(initial=0.0) > SQUARED[self.dtype.itemsize].largest:
            column = int(np.argmax(self._largest))
            raise SidelightError(
                f"{self._column_name(column).capitalize()} holds a value of "
                f"{self._largest[column]:.0e} in size; {too_large(self.dtype)}."
            )

    def _place(self, number: int, bad: tuple[int, int]) -> str:
        row, column = bad
        return f"row {int(self._starts[number]) + row}, {self._column_name(column)}"

    def _column_name(self, column: int) -> str:
        names = getattr(self, "columns", None)
        return f"column {column if names is None else repr(names[column])}"

    def read(self, task: tuple[int, ...]) -> Iterator[Any]:
        """Yield partitions as blocks: for whoever reads the rows one after the other, here."""
        for place in task:
            yield self.take(np.arange(*self.blocks[place]))

    def _range(self, number: int) -> tuple[int, int]:
        return int(self._starts[number]), int(self._starts[number + 1])

    # ------------------------------------------------------------------ passes

    def map_reduce(
        self, function: BlockFunction, *, aligned: Sequence[Any] = ()
    ) -> tuple[Arrays, Arrays]:
        from cloudpickle import dumps

        self._check_values()
        again_from = getattr(function, "again_from", None)
        aligned = tuple(self._settled(thing) for thing in aligned)
        needed = aligned if again_from is None else tuple(aligned[i] for i in again_from)
        record = Record(uuid.uuid4().hex, dumps(function), needed, again_from is not None)
        answers = self._carry_out(Work(record.key, record.function, aligned))
        results, kinds = BlockResults(self.n_rows), answers[0][1].kinds
        for number, done in answers:
            results.add(*self._range(number), done.totals, ())
            if done.kinds != kinds:
                raise SidelightError(
                    f"{self._names[number]} gave row values of another type than the partitions "
                    "before."
                )
        forgotten = self._life.forgotten
        weakref.finalize(record, forgotten.append, record.key).atexit = False
        rows = tuple(
            RowValues(self, record, index, (self.n_rows, *shape), dtype)
            for index, (shape, dtype) in enumerate(kinds)
        )
        return results.finish()[0], rows

    def take(self, rows: npt.ArrayLike) -> Any:
        """Return the rows at these positions; only their partitions are asked."""
        positions = np.asarray(rows, dtype=np.int64)
        if len(positions) and not (positions.min() >= 0 and positions.max() < self.n_rows):
            raise IndexError(f"There are rows 0 to {self.n_rows - 1}.")
        owners, local = self._owners(positions)
        orders = {n: local[where] for n, where in owners.items()}
        with one_thread_blas.outside():
            found = dict(self.engine.map_in_order(take_rows, orders))
        if not self.is_sparse:
            taken = np.empty((len(positions), self.n_features), dtype=self.dtype)
            for number, where in owners.items():
                taken[where] = found[number]
            return taken
        if not owners:
            return sparse.csr_array((0, self.n_features), dtype=self.dtype)
        stacked = sparse.vstack([found[number] for number in owners], format="csr")
        order = np.argsort(np.concatenate(list(owners.values())))
        return sparse.csr_array(stacked[order], dtype=self.dtype)

    def _owners(self, positions: IntArray) -> tuple[dict[int, IntArray], IntArray]:
        """Return which of the positions are in which partition, and where there."""
        # Empty partitions start where the next one does: the last of them holds the row.
        own = np.searchsorted(self._starts, positions, side="right") - 1
        owners = {int(n): np.flatnonzero(own == n) for n in np.unique(own)}
        return owners, positions - self._starts[own]

    # ------------------------------------------------------------------ values of rows

    def pull_values(self, values: RowValues) -> Array:
        """Bring all values of the rows here."""
        whole = np.empty(values.shape, dtype=values.dtype)
        for number, done in self._pull(values, dict.fromkeys(self._filled)):
            start, stop = self._range(number)
            whole[start:stop] = done.values
        return whole

    def take_values(self, values: RowValues, rows: IntArray) -> Array:
        """Bring the values of a few rows here."""
        taken = np.empty((len(rows), *values.shape[1:]), dtype=values.dtype)
        owners, local = self._owners(rows)
        answers = self._pull(values, {n: local[where] for n, where in owners.items()})
        for number, done in answers:
            taken[owners[number]] = done.values
        return taken

    def _pull(
        self, values: RowValues, wanted: Mapping[int, IntArray | None]
    ) -> list[tuple[int, Done]]:
        return self._carry_out(Work("", b"", (values,)), wanted)

    def write_values(self, values: RowValues, folder: Path) -> list[Path]:
        """Write a ``.npy`` file of row values beside each partition."""
        folder.mkdir(parents=True, exist_ok=True)
        digits = len(str(len(self._names)))
        files = [folder / f"part-{n:0{digits}}.npy" for n in range(len(self._names))]
        asked = Work("", b"", (values,))
        with one_thread_blas.outside():
            self.engine.write(fill_part, {n: self._order(asked, n) for n in self._filled}, files)
        return [files[n] for n in self._filled]

    # ------------------------------------------------------------------ orders and answers

    def _carry_out(
        self, work: Work, wanted: Mapping[int, IntArray | None] | None = None
    ) -> list[tuple[int, Done]]:
        """Carry out a pass, or fetch values; once more, with everything, where values were lost."""
        numbers = self._filled if wanted is None else sorted(wanted)
        forget = self._to_forget() if wanted is None else ()
        rows = dict.fromkeys(numbers) if wanted is None else wanted
        with one_thread_blas.outside():
            short = {
                n: self._order(work, n, short=True, rows=rows[n], forget=forget) for n in numbers
            }
            answers = dict(self.engine.map_in_order(carry_out, short))
            lost = [n for n in numbers if isinstance(answers[n], Missing)]
            if lost:
                whole = {n: self._order(work, n, rows=rows[n]) for n in lost}
                answers.update(self.engine.map_in_order(carry_out, whole))
        self._tell_losses()
        return [(number, answers[number]) for number in numbers]

    def _tell_losses(self) -> None:
        for worker, n_partitions in self.engine.losses():
            warn(
                f"Worker {worker} was lost; {n_partitions} of {len(self._names)} partitions were "
                "done again elsewhere. The result is the same.",
                WorkerLost,
            )

    def _to_forget(self) -> tuple[str, ...]:
        """Begin a pass over all partitions; return the keys that workers may forget."""
        life = self._life
        life.n_passes += 1
        idle = [key for key, n in life.used.items() if life.n_passes - n > MAX_IDLE_PASSES]
        for key in idle:
            del life.used[key]
        forget = (*life.forgotten, *idle)
        life.forgotten.clear()
        return forget

    def _settled(self, thing: Any) -> Any:
        """Return what a pass is aligned with, with a lineage that ends."""
        if not isinstance(thing, RowValues):
            return thing
        if thing.is_here or not self.shares_rows_with(thing.source):
            return np.asarray(thing)
        if thing.record.lineage > MAX_LINEAGE:
            return np.asarray(thing)
        return thing.frozen()

    def _order(
        self,
        work: Work,
        number: int,
        *,
        short: bool = False,
        rows: IntArray | None = None,
        forget: tuple[str, ...] = (),
    ) -> Order:
        """Return what is done with a partition; ``short`` names what the worker should have."""
        pieces = tuple(self._piece(thing, number, short) for thing in work.aligned)
        return Order(
            self._life.table,
            number,
            str(self.dtype),
            Pass(work.key, work.function, pieces),
            forget,
            tuple(_closed),
            rows,
        )

    def _piece(self, thing: Any, number: int, short: bool) -> Piece:
        start, stop = self._range(number)
        if isinstance(thing, range):
            return Sent(thing[start:stop])
        if isinstance(thing, RowValues):
            return self._left(thing, number, short)
        if hasattr(thing, "part"):
            return Sent(thing.part(start, stop))
        values = np.asarray(thing)
        if values.ndim and values.strides[0] == 0:
            return Filled(values[0])
        piece = values[start:stop]
        key, used = content_key(piece), self._life.used
        named = short and key in used
        used[key] = self._life.n_passes
        return Stored(key, None if named else piece)

    def _left(self, values: RowValues, number: int, short: bool) -> Left:
        record, (start, stop) = values.record, self._range(number)
        changed, new = values.changed
        here = slice(*np.searchsorted(changed, (start, stop)))
        places = (changed[here] - start, new[here]) if here.start < here.stop else None
        if short:
            return Left(record.key, values.index, places)
        pieces = tuple(self._piece(thing, number, False) for thing in record.aligned)
        origin = Pass(record.key, record.function, pieces, record.again)
        return Left(record.key, values.index, places, origin)
