"""Schedule and results of the fits of a comparison, the most promising ones first.

Every candidate, a method with a number of clusters, is fitted to everything (``all``), to every
fold of the knowledge (``fold``), to nothing that is known (``plain``) and to every subsample of the
rows (``rows``). All methods run with the middle number of clusters first, then with the numbers
around it, methods that did well before others: when time runs out, what is done is what counts.
"""

from __future__ import annotations

import pickle
import statistics
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from sidelight._typing import IntArray
from sidelight.evaluation._candidates import fit_with, labels_of
from sidelight.evaluation.comparison._contestants import BASELINE, Contestant, middle_out, named
from sidelight.evaluation.comparison._held_out import Estimate, HeldOut
from sidelight.evaluation.comparison._stability import stability, take_rows
from sidelight.exceptions import ConstraintWarning

if TYPE_CHECKING:
    from sidelight.constraints import Constraints

Part = Literal["all", "fold", "plain", "rows", "baseline"]


class Task(NamedTuple):
    """One fit: of the entry with this number; the baseline has the number of clusters there."""

    entry: int
    part: Part
    which: int


@dataclass(frozen=True)
class Fit:
    """Result of a fit."""

    labels: Any
    seconds: float
    model: bytes | None = None
    notes: tuple[str, ...] = ()


@dataclass
class Entry:
    """A candidate and its fits so far."""

    contestant: Contestant
    k: int | None
    waiting: list[tuple[Part, int]]
    all: Fit | None = None
    folds: dict[int, Any] = field(default_factory=dict)
    plain: Any = None
    plain_name: str | None = None
    rows: dict[int, Any] = field(default_factory=dict)
    failed: str | None = None
    n_running: int = 0
    needs_baseline: bool = False
    times: list[float] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        """Median time of the fits to all rows: the first one also loads compiled code."""
        return statistics.median(self.times) if self.times else 0.0

    @property
    def finished(self) -> bool:
        """Whether all fits are done and none failed that counts."""
        open_ = self.waiting or self.n_running or self.needs_baseline
        return self.failed is None and self.all is not None and not open_


@dataclass(frozen=True)
class FitAll:
    """Does the fits: what workers share.

    Attributes
    ----------
    X, known : array-like, Constraints
        Rows and what is known about them.
    trains : list of Constraints
        What every fold may use.
    subsamples : list of ndarray
        Rows of every subsample.
    entries : list of (Contestant, k)
        The candidates.
    seed : int
        Seed of every fit that has none of its own.
    """

    X: Any
    known: Constraints
    trains: Sequence[Constraints]
    subsamples: Sequence[IntArray]
    entries: Sequence[tuple[Contestant, int | None]]
    seed: int

    def __call__(self, task: Task) -> Fit:
        X, known = self.X, self.known
        baseline = task.part == "baseline"
        contestant, k = (
            (named(BASELINE, known), task.entry) if baseline else self.entries[task.entry]
        )
        if task.part in ("plain", "baseline"):
            known = known - known
        elif task.part == "fold":
            known = self.trains[task.which]
        elif task.part == "rows":
            rows = self.subsamples[task.which]
            X, known = take_rows(X, rows), known.restrict(rows)
        return fit(contestant.make(k, self.seed), X, known, keep=task.part == "all")


def fit(estimator: Any, X: Any, known: Constraints, *, keep: bool) -> Fit:
    """Fit, and return the labels, with the model and what it warned of if these are wanted."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always" if keep else "ignore")
        started = time.perf_counter()
        fitted = fit_with(estimator, X, known)
        labels = np.asarray(labels_of(fitted, X))
        seconds = time.perf_counter() - started
    if not keep:
        return Fit(_compact(labels), seconds)
    messages = dict.fromkeys(
        str(one.message) for one in caught if issubclass(one.category, ConstraintWarning)
    )
    return Fit(labels, seconds, _pickled(fitted), tuple(messages))


def _compact(labels: Any) -> Any:
    return labels.astype(np.int32) if labels.dtype.kind in "iu" else labels


def _pickled(model: Any) -> bytes | None:
    """The model as bytes; None if it cannot be pickled."""
    try:
        return pickle.dumps(model)
    except Exception:
        return None


class Race:
    """Hands out the fits and keeps their results.

    Parameters
    ----------
    contestants : list of Contestant
        The methods, best bets first.
    numbers : list of int
        Numbers of clusters.
    held_out : HeldOut
        Pairs that candidates are scored by.
    n_folds : int
        Number of folds of the knowledge; 0 if nothing can be held out.
    subsamples : list of ndarray
        Rows of every subsample.
    """

    def __init__(
        self,
        contestants: Sequence[Contestant],
        numbers: list[int],
        held_out: HeldOut,
        n_folds: int,
        subsamples: Sequence[IntArray],
    ) -> None:
        self.held_out = held_out
        self.subsamples = subsamples
        self.n_folds = n_folds
        self._round = {k: place for place, k in enumerate(middle_out(numbers))}
        self.entries = [
            Entry(contestant, k, self._parts(contestant))
            for contestant in contestants
            for k in (numbers if contestant.size is not None else [None])
        ]
        #: Fits of the baseline by number of clusters (None for one that failed), those that were
        #: asked for, and those that nobody has begun.
        self._baselines: dict[int, Fit | None] = {}
        self._asked: set[int] = set()
        self._unbegun: list[int] = []

    def _parts(self, contestant: Contestant) -> list[tuple[Part, int]]:
        parts: list[tuple[Part, int]] = [("all", 0)]
        if contestant.learns and self.n_folds:
            parts += [("fold", fold) for fold in range(self.n_folds)]
            parts.append(("plain", 0))
        return parts + [("rows", sample) for sample in range(len(self.subsamples))]

    @property
    def n_fits(self) -> int:
        """Number of fits that are still waiting."""
        return sum(len(entry.waiting) for entry in self.entries)

    # --- handing out -----------------------------------------------------------------------

    def next_task(self) -> Task | None:
        """Return the most promising fit that is still open; None if there is none."""
        if self._unbegun:
            return Task(self._unbegun.pop(0), "baseline", 0)
        waiting = [number for number, entry in enumerate(self.entries) if entry.waiting]
        if not waiting:
            return None
        merits = self._merits()
        number = min(waiting, key=lambda one: (*self._turn(one, merits), one))
        entry = self.entries[number]
        part, index = entry.waiting.pop(0)
        entry.n_running += 1
        return Task(number, part, index)

    def _turn(self, number: int, merits: dict[str, float]) -> tuple[int, float]:
        entry = self.entries[number]
        turn = 0 if entry.k is None else self._round[entry.k]
        return turn, -merits.get(entry.contestant.name, 0.0) if turn else 0.0

    def _merits(self) -> dict[str, float]:
        """Scores of the methods that have finished with the middle number of clusters."""
        first = [e for e in self.entries if e.k is None or self._round[e.k] == 0]
        scored = [entry for entry in first if entry.finished and len(self.held_out)]
        return {e.contestant.name: self.score(e).value for e in scored}

    # --- taking results --------------------------------------------------------------------

    def record(self, task: Task, outcome: tuple[Fit | None, str | None]) -> None:
        """Keep what a fit gave, or why it gave nothing."""
        fitted, trouble = outcome
        if task.part == "baseline":
            self._record_baseline(task.entry, fitted)
            return
        entry = self.entries[task.entry]
        entry.n_running -= 1
        if fitted is not None and task.part in ("all", "fold"):
            entry.times.append(fitted.seconds)
        if task.part == "all":
            entry.all = fitted
        if trouble is not None and task.part in ("all", "fold"):
            entry.failed, entry.waiting = entry.failed or trouble, []
        elif task.part == "fold" and fitted is not None:
            entry.folds[task.which] = fitted.labels
        elif task.part == "rows" and fitted is not None:
            entry.rows[task.which] = fitted.labels
        elif task.part == "plain":
            self._record_plain(entry, fitted)

    def _record_plain(self, entry: Entry, fitted: Fit | None) -> None:
        """Keep the fit without knowledge; a method that cannot do without it gets the baseline."""
        if fitted is not None:
            entry.plain, entry.plain_name = fitted.labels, entry.contestant.name
        elif entry.k is not None:
            entry.needs_baseline = True
            if entry.k in self._baselines:
                self._record_baseline(entry.k, self._baselines[entry.k])
            elif entry.k not in self._asked:
                self._asked.add(entry.k)
                self._unbegun.append(entry.k)

    def _record_baseline(self, k: int, fitted: Fit | None) -> None:
        self._baselines[k] = fitted
        for entry in self.entries:
            if entry.needs_baseline and entry.k == k:
                entry.needs_baseline = False
                if fitted is not None:
                    entry.plain, entry.plain_name = fitted.labels, BASELINE

    # --- figures ---------------------------------------------------------------------------

    def hits(self, entry: Entry) -> Any:
        """Which held-out pairs a candidate keeps: those of every fold by the fit without it."""
        assert entry.all is not None
        folds = [entry.folds[fold] for fold in sorted(entry.folds)]
        return self.held_out.hits(folds or [entry.all.labels])

    def score(self, entry: Entry) -> Estimate:
        """Share of the held-out statements that a finished candidate keeps."""
        return self.held_out.score(self.hits(entry))

    def seconds_of_leader(self) -> float:
        """Time of a fit of the candidate that is ahead; the longest while none is finished."""
        finished = [entry for entry in self.entries if entry.finished]
        if not finished:
            return max((entry.seconds for entry in self.entries), default=0.0)
        if not self.n_folds:
            return max(entry.seconds for entry in finished)
        return max(finished, key=lambda entry: self.score(entry).value).seconds

    def stability(self, entry: Entry) -> float:
        """Agreement of the fits on subsamples."""
        return stability(self.subsamples, [entry.rows.get(n) for n in range(len(self.subsamples))])
