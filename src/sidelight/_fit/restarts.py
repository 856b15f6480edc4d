"""Restarts of a fit: one after the other, or in threads where that is faster; the best is kept.

The results are the same in either case, to the last bit: every restart has its own seed.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import ContextVar, copy_context
from typing import Any, Protocol, TypeVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from sidelight import _progress
from sidelight._fit.lowest import is_lower, not_a_number
from sidelight._progress import FitProgress, wait_for
from sidelight._warn import keep_line, warn
from sidelight.engine import RowSource, get_threads, threads
from sidelight.engine.inner import one_thread_blas

#: Relative difference of objectives that may be due to the order of a sum: of restarts that are
#: equally good up to this, the first is kept.
ROUNDING = 1e-7

#: Rows in more blocks than this keep the threads busy within one restart, and fill the memory.
FEW_BLOCKS = 4

#: On tables of fewer numbers the interpreter is busier than the kernels, and threads wait for it.
FEW_NUMBERS = 150_000


class Finished(Protocol):
    """Final state of a restart."""

    @property
    def objective(self) -> float:
        """The value that was minimized."""

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended the restart."""


Result = TypeVar("Result", bound=Finished)
Run = Callable[[int, np.random.RandomState], Result]

#: Set in the threads of starts that run at once: an event that ends all of them.
_end: ContextVar[threading.Event | None] = ContextVar("sidelight_end_of_starts", default=None)


def best_restart(
    run: Run[Result],
    n_init: int,
    random_state: Any,
    n_numbers: int | None,
    *,
    description: str,
    verbose: int,
) -> Result:
    """Run ``n_init`` restarts with different seeds and return the best of them.

    Of restarts that are equally good up to rounding the first is kept; one whose objective is not a
    number never is. After an interruption that
    keeps the best so far, no further restart is run.

    Parameters
    ----------
    run : callable
        ``run(number, random_state)`` is one restart; its result has ``objective`` (minimized) and
        ``interrupted``. It shares nothing that changes with other restarts, since several may run
        at the same time.
    n_init : int
        Number of restarts.
    random_state : int, RandomState or None
        Seed or generator from which the seeds of the restarts are drawn.
    n_numbers : int or None
        How many numbers a restart reads in one pass: with many, restarts run in threads. None if
        the passes of a restart are shared out among the threads already (:func:`numbers_in`).
    description : str
        Name of the fit in the progress bar and in the warning of an interruption.
    verbose : int
        Whether to show progress: every iteration, or every restart when they run in threads.
    """
    seeds = check_random_state(random_state).randint(np.iinfo(np.int32).max, size=n_init)
    return best_of(run_restarts(run, seeds, n_numbers, description=description, verbose=verbose))


def numbers_in(source: RowSource) -> int | None:
    """How many numbers a pass over rows reads; None where all threads share the pass.

    They do so on rows in many blocks, and rows on disk are read by one restart at a time, which
    keeps them within their memory budget.
    """
    if source.max_parallel is not None or len(source.blocks) > FEW_BLOCKS:
        return None
    return source.n_rows * source.n_features


def best_of(results: Sequence[Result]) -> Result:
    """Return the best of several restarts; of those that are equal up to rounding, the first.

    A restart whose objective is not a number is never the best; it is an error if all are such.
    """
    best, *others = results
    for result in others:
        if is_lower(result.objective, best.objective, margin=ROUNDING):
            best = result
    if math.isnan(best.objective):
        raise not_a_number("restarts")
    return best


def run_restarts(
    run: Run[Result],
    seeds: Sequence[int],
    n_numbers: int | None,
    *,
    description: str,
    verbose: int,
) -> list[Result]:
    """Run a restart for every seed; fewer after an interruption that keeps the best so far.

    The parameters are those of :func:`best_restart`, with a seed for every restart.
    """
    if n_numbers is None:
        return _one_by_one(run, seeds)
    # Once for all passes of all starts: on small tables the switch is felt.
    with one_thread_blas:
        workers = min(get_threads(), len(seeds))
        if workers == 1 or n_numbers < FEW_NUMBERS:
            return _one_by_one(run, seeds)
        return _at_once(run, seeds, workers, _AllStarts(description, len(seeds), verbose))


def _one_by_one(run: Run[Result], seeds: Sequence[int]) -> list[Result]:
    results: list[Result] = []
    for number, seed in enumerate(seeds):
        results.append(run(number, np.random.RandomState(seed)))
        if results[-1].interrupted:
            break
    return results


def _at_once(
    run: Run[Result], seeds: Sequence[int], workers: int, progress: _AllStarts
) -> list[Result]:
    end = threading.Event()

    @keep_line
    def work(number: int, seed: int) -> Result:
        _end.set(end)
        with threads(1):
            return run(number, np.random.RandomState(seed))

    futures: list[Future[Result]] = []
    with ThreadPoolExecutor(workers, "sidelight", initializer=one_thread_blas.cover) as pool:
        try:
            with progress:
                for number, seed in enumerate(seeds):
                    futures.append(pool.submit(copy_context().run, work, number, seed))
                for future in futures:
                    result = wait_for(future)
                    progress.step(result.objective)
                    if result.interrupted:
                        raise KeyboardInterrupt
        finally:
            end.set()
            for future in futures:
                future.cancel()
    results = [
        future.result() for future in futures if not future.cancelled() and not future.exception()
    ]
    if progress.interrupted:
        if not results:
            raise KeyboardInterrupt
        progress.warn()
    return results


class _AllStarts(FitProgress):
    """Progress of starts that run at once: a step for every start that is done."""

    def __init__(self, description: str, total: int, verbose: int) -> None:
        super().__init__(f"{description}, {total} starts", total, verbose)

    def __exit__(self, kind: type[BaseException] | None, *context: Any) -> bool:
        # What is worth keeping is known only when the threads have come to their ends.
        keep_best, self._keep_best = self._keep_best, False
        super().__exit__(kind, *context)
        self.interrupted = kind is KeyboardInterrupt and keep_best
        return self.interrupted

    def warn(self) -> None:
        """Warn that some restarts were stopped before they converged."""
        warn(
            f"{self._description}: interrupted after {self.n_steps} of them; the best solution so "
            "far is kept.",
            ConvergenceWarning,
        )


class _OneStart(FitProgress):
    """Progress of one of several starts at once: it is not shown, and ends when all have to."""

    def __init__(self, description: str, total: int | None, end: threading.Event) -> None:
        super().__init__(description, total, verbose=0)
        self._show = False
        self._end = end

    def step(self, objective: float | None = None, *, n_steps: int = 1) -> None:
        """One iteration is done; Ctrl-C, of which the main thread has learnt, reaches this one."""
        super().step(objective, n_steps=n_steps)
        if self._end.is_set():
            raise KeyboardInterrupt

    def __exit__(self, kind: type[BaseException] | None, *context: Any) -> bool:
        # As for any fit, but the warning comes once for all starts.
        self.interrupted = kind is KeyboardInterrupt and self._keep_best and self.n_steps > 0
        return self.interrupted


def fit_progress(
    description: str, total: int | None = None, *, verbose: int | bool = 0
) -> FitProgress:
    """Follow the iterations of a fit that may be one of several starts at once."""
    end = _end.get()
    if end is None:
        return _progress.fit_progress(description, total, verbose=verbose)
    return _OneStart(description, total, end)
