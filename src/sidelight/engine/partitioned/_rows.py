"""Rows in partitions, as every algorithm sees them."""

from __future__ import annotations

import copy
import uuid
import weakref
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from scipy import sparse

from sidelight._progress import reading
from sidelight._typing import Array, IntArray
from sidelight.engine._extent import SQUARED, too_large
from sidelight.engine._ids import join_ids
from sidelight.engine._source import Arrays, BlockFunction, BlockResults, RowSource
from sidelight.engine._threads import one_thread_blas
from sidelight.engine.partitioned._beside import fill_part, take_rows
from sidelight.engine.partitioned._engine import Engine
from sidelight.engine.partitioned._facts import Facts, check_alike, look_at
from sidelight.engine.partitioned._ids import read_ids
from sidelight.engine.partitioned._journal import Journal
from sidelight.engine.partitioned._orders import content_key
from sidelight.engine.partitioned._passes import PassRecord, TablePasses, Work
from sidelight.engine.partitioned._values import RowValues
from sidelight.exceptions import SidelightError

#: Passes in a row whose values depend on those of the pass before: then they are fetched, so that
#: what has to be repeated after a loss does not grow.
MAX_LINEAGE = 12


class PartitionedRows(RowSource):
    """Rows in partitions that live elsewhere, on whatever engine.

    A pass sends the block function to every partition and brings back the totals of each, which are
    added in the order of the partitions: which worker did which partition, and how often, changes
    nothing. Row results stay beside the partitions as :class:`RowValues`.

    Parameters
    ----------
    engine : Engine
        Where the partitions live.
    ids : ndarray of shape (n_rows,), default=None
        Names of the rows; by default the partitions are asked, when somebody wants to know.

    Examples
    --------
    See :class:`Engine`; a Dask collection that is given to ``fit`` becomes such rows by itself.
    """

    is_partitioned = True
    _ids: Array | None

    def __init__(self, engine: Engine, *, ids: Array | None = None) -> None:
        if ids is not None:
            self._ids = ids
        self.engine = engine
        self.max_parallel = max(1, engine.workers)
        self._passes = TablePasses(engine, list(engine.partitions()))
        self._missing_allowed = False
        self._journal: Journal | None = None
        engine.persist()
        found = self._passes.ask(look_at, dict.fromkeys(range(len(self._passes.names))))
        self._set_facts([found[number] for number in range(len(found))])

    def _set_facts(self, facts: list[Facts]) -> None:
        passes = self._passes
        first = check_alike(passes.names, facts)
        self.n_features, self.is_sparse = first.n_features, first.is_sparse
        filled = [one for one in facts if one.n_rows]
        self.dtype = np.result_type(*(one.dtype for one in filled))
        if first.columns is not None:
            self.columns = list(first.columns)
        self._facts = facts
        self.engine.sizes = {number: one.n_rows for number, one in enumerate(facts)}
        passes.starts = np.concatenate([[0], np.cumsum([one.n_rows for one in facts])])
        passes.dtype = str(self.dtype)
        self.n_rows = int(passes.starts[-1])
        self._filled = [number for number, one in enumerate(facts) if one.n_rows]
        self._largest = np.max([cast(Array, one.largest) for one in filled], axis=0)

    # ------------------------------------------------------------------ what the rows are

    @property
    def blocks(self) -> list[tuple[int, int]]:
        """Ranges of rows of the partitions that have some."""
        return [self._passes.range_of(number) for number in self._filled]

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
        return isinstance(other, PartitionedRows) and other._passes is self._passes

    @property
    def n_passes(self) -> int:
        """Number of passes over the rows so far."""
        return self._passes.n_passes

    def _check_values(self) -> None:
        for number in self._filled:
            facts = self._facts[number]
            bad = facts.first_infinite if self._missing_allowed else None
            if not self._missing_allowed:
                bad = min(filter(None, (facts.first_nan, facts.first_infinite)), default=None)
            if bad is not None:
                what = "infinity" if self._missing_allowed else "NaN or infinity"
                raise SidelightError(
                    f"{self._passes.names[number]} holds {what} in {self._place(number, bad)}; "
                    "drop such rows, or fill in the missing values first."
                )
        if self._largest.max(initial=0.0) > SQUARED[self.dtype.itemsize].largest:
            column = int(np.argmax(self._largest))
            raise SidelightError(
                f"{self._column_name(column).capitalize()} holds a value of "
                f"{self._largest[column]:.0e} in size; {too_large(self.dtype)}."
            )

    def _place(self, number: int, bad: tuple[int, int]) -> str:
        row, column = bad
        return f"row {self._passes.range_of(number)[0] + row}, {self._column_name(column)}"

    def _column_name(self, column: int) -> str:
        names = getattr(self, "columns", None)
        return f"column {column if names is None else repr(names[column])}"

    def read(self, task: tuple[int, ...]) -> Iterator[Any]:
        """Yield partitions as blocks: for whoever reads the rows one after the other, here."""
        for place in task:
            yield self.take(np.arange(*self.blocks[place]))

    @property
    def ids(self) -> Array | None:  # type: ignore[override]
        """Names of the rows, or None; they are brought here when they are first asked for."""
        if not hasattr(self, "_ids"):
            self._ids = None
            if self._facts[self._filled[0]].has_ids:
                found = self._passes.ask(read_ids, dict.fromkeys(self._filled))
                self._ids = join_ids([self._passes.names[n] for n in found], list(found.values()))
        return self._ids

    # ------------------------------------------------------------------ passes

    def map_reduce(
        self, function: BlockFunction, *, aligned: Sequence[Any] = ()
    ) -> tuple[Arrays, Arrays]:
        from cloudpickle import dumps

        self._check_values()
        again_from = getattr(function, "again_from", None)
        aligned = tuple(self._settled(thing) for thing in aligned)
        needed = aligned if again_from is None else tuple(aligned[i] for i in again_from)
        record = PassRecord(uuid.uuid4().hex, dumps(function), needed, again_from is not None)
        work = Work(record.key, record.function, aligned)
        totals, kinds = self._recorded(_pass_name(function, aligned), lambda: self._run(work))
        forgotten = self._passes.forgotten
        weakref.finalize(record, forgotten.append, record.key).atexit = False
        rows = tuple(
            RowValues(self, record, index, (self.n_rows, *shape), dtype)
            for index, (shape, dtype) in enumerate(kinds)
        )
        return totals, cast(Arrays, rows)

    def _run(self, work: Work) -> tuple[Arrays, Any]:
        """Run a pass: its totals, and shape and type of its row values."""
        results, kinds = BlockResults(self.n_rows), None
        counted = reading()
        if counted is not None:
            counted.begin_pass()
        for number, done in self._passes.run(work, self._filled):
            start, stop = self._passes.range_of(number)
            results.add(start, stop, done.totals, ())
            if counted is not None:
                counted.add(stop - start)
            if kinds is not None and done.kinds != kinds:
                raise SidelightError(
                    f"{self._passes.names[number]} gave row values of another type than the "
                    "partitions before."
                )
            kinds = done.kinds
        return results.finish()[0], kinds

    def take(self, rows: npt.ArrayLike) -> Any:
        """Return the rows at these positions; only their partitions are asked."""
        positions = np.asarray(rows, dtype=np.int64)
        if len(positions) and not (positions.min() >= 0 and positions.max() < self.n_rows):
            raise IndexError(f"There are rows 0 to {self.n_rows - 1}.")
        return self._recorded(f"rows {content_key(positions)}", lambda: self._take(positions))

    def _take(self, positions: IntArray) -> Any:
        owners, local = self._passes.owners(positions)
        found = self._passes.ask(take_rows, {n: local[where] for n, where in owners.items()})
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

    # ------------------------------------------------------------------ checkpoints

    def journaled(self, journal: Journal, fit: str) -> PartitionedRows:
        """Return the same rows, whose passes are written down; raise where these are others.

        Parameters
        ----------
        journal : Journal
            Where to; steps that are in it already are taken from it.
        fit : str
            What the passes are for.
        """
        rows = copy.copy(self)
        sums = rows.map_reduce(_add_columns)[0][0]
        now = [list(self.shape), str(self.dtype), list(getattr(self, "columns", ())), sums]
        before = journal.step(f"fit {fit}", lambda: now)
        same = before[:3] == now[:3] and np.allclose(before[3], sums, rtol=1e-12, atol=0)
        if not same:
            raise SidelightError(
                f"The checkpoint {journal.path} is of other rows: {before[0][0]:,} of "
                f"{before[0][1]} features there, {self.n_rows:,} of {self.n_features} now, or "
                "other values. Take the same rows, or begin anew without it."
            )
        rows._journal = journal
        return rows

    def _recorded(self, what: str, compute: Callable[[], Any]) -> Any:
        return compute() if self._journal is None else self._journal.step(what, compute)

    # ------------------------------------------------------------------ values of rows

    def pull_values(self, values: RowValues) -> Array:
        """Bring all values of the rows here."""
        found: Array = self._recorded("all values", lambda: self._pull_values(values))
        return found

    def _pull_values(self, values: RowValues) -> Array:
        whole = np.empty(values.shape, dtype=values.dtype)
        for number, done in self._passes.fetch(values, dict.fromkeys(self._filled)):
            start, stop = self._passes.range_of(number)
            whole[start:stop] = done.values
        return whole

    def parts_of_values(self, values: RowValues) -> Iterator[tuple[int, int, Array]]:
        """Bring values of the rows here, one partition after the other; none are written down."""
        for number in self._filled:
            for _, done in self._passes.fetch(values, {number: None}):
                yield (*self._passes.range_of(number), cast(Array, done.values))

    def take_values(self, values: RowValues, rows: IntArray) -> Array:
        """Bring the values of a few rows here."""
        found: Array = self._recorded(
            f"values {content_key(rows)}", lambda: self._take_values(values, rows)
        )
        return found

    def _take_values(self, values: RowValues, rows: IntArray) -> Array:
        taken = np.empty((len(rows), *values.shape[1:]), dtype=values.dtype)
        owners, local = self._passes.owners(rows)
        wanted = {n: local[where] for n, where in owners.items()}
        for number, done in self._passes.fetch(values, wanted):
            taken[owners[number]] = done.values
        return taken

    def write_values(self, values: RowValues, folder: Path) -> list[Path]:
        """Write a ``.npy`` file of row values beside each partition."""
        passes = self._passes
        folder.mkdir(parents=True, exist_ok=True)
        digits = len(str(len(passes.names)))
        files = [folder / f"part-{n:0{digits}}.npy" for n in range(len(passes.names))]
        asked = Work("", b"", (values,))
        with one_thread_blas.outside():
            self.engine.write(fill_part, {n: passes.order(asked, n) for n in self._filled}, files)
        return [files[n] for n in self._filled]

    def _settled(self, thing: Any) -> Any:
        """Return what a pass is aligned with, with a lineage that ends."""
        if not isinstance(thing, RowValues):
            return thing
        if thing.is_here or not self.shares_rows_with(thing.source):
            return np.asarray(thing)
        if thing.record.lineage > MAX_LINEAGE:
            return np.asarray(thing)
        return thing.frozen()


def _pass_name(function: Any, aligned: Sequence[Any]) -> str:
    """Name a pass by its function and a sample of what it is aligned with, for a journal."""
    name = getattr(function, "__qualname__", type(function).__qualname__)
    samples = [
        content_key(thing[:: max(1, len(thing) // 1000)])
        for thing in aligned
        if isinstance(thing, np.ndarray)
    ]
    return " ".join([f"pass {name}", *samples])


def _add_columns(block: Any) -> tuple[tuple[Array], tuple[()]]:
    """Sums of the columns, by which rows are known again."""
    if hasattr(block, "indptr"):
        return (np.asarray(block.sum(axis=0, dtype=np.float64)),), ()
    return (np.asarray(np.nansum(block, axis=0, dtype=np.float64)),), ()
