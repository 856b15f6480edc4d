"""Progress of long fits: silent by default, a bar when asked, a clean stop on Ctrl-C."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from contextvars import ContextVar
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from sidelight._warn import warn

if TYPE_CHECKING:
    from concurrent.futures import Future

#: Longest time for which a waiting thread does not look whether Ctrl-C was pressed.
SECONDS_DEAF = 0.1

Result = TypeVar("Result")


def wait_for(future: Future[Result]) -> Result:
    """Wait for a thread, awake now and then: a wait without an end may be deaf to Ctrl-C."""
    from concurrent.futures import wait

    while not wait([future], timeout=SECONDS_DEAF).done:
        pass
    return future.result()


class _Settings:
    """Settings of ``with sidelight.progress(...)``, and how much was read inside."""

    def __init__(self, show: bool, keep_best: bool, reading: Reading | None = None) -> None:
        self.show = show
        self.keep_best = keep_best
        self.reading = (reading or Reading()) if show else None


class Reading:
    """Passes over rows that are not in memory, and how fast they go, from the first one on.

    Attributes
    ----------
    n_passes : int
        Passes that have begun.
    n_rows : int
        Rows that were read in all of them.
    """

    def __init__(self) -> None:
        self.n_passes, self.n_rows = 0, 0
        self._started = 0.0
        self._bar: FitProgress | None = None

    def begin_pass(self) -> None:
        """A pass over all rows begins."""
        if not self.n_passes:
            self._started = time.perf_counter()
        self.n_passes += 1

    def add(self, n_rows: int) -> None:
        """Some rows of the pass were read."""
        self.n_rows += n_rows
        if self._bar is not None:
            self._bar.show_reading(self.text)

    @contextlib.contextmanager
    def shown_by(self, bar: FitProgress) -> Iterator[None]:
        """Show what is read in a bar."""
        before, self._bar = self._bar, bar
        bar.show_reading(self.text)
        try:
            yield
        finally:
            self._bar = before

    @property
    def text(self) -> str:
        """Passes so far and rows per second; empty before the first pass."""
        seconds = time.perf_counter() - self._started
        if not self.n_passes or seconds <= 0:
            return ""
        passes = f"{self.n_passes:,} pass{'es'[: 2 * (self.n_passes != 1)]}"
        return f"{passes}, {two_digits(self.n_rows / seconds)} rows/s"


def two_digits(rate: float) -> str:
    """Write a rate with two digits and its unit.

    Examples
    --------
    >>> two_digits(1234567), two_digits(940.2), two_digits(56.7e3)
    ('1.2 M', '940', '57 k')
    """
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if rate >= size:
            number = rate / size
            return f"{number:.1f} {unit}" if number < 10 else f"{number:.0f} {unit}"
    return f"{rate:.0f}"


_settings: ContextVar[_Settings | None] = ContextVar("sidelight_progress", default=None)


def reading() -> Reading | None:
    """Return what counts the rows that are read, where somebody watches; else None."""
    settings = _settings.get()
    return None if settings is None else settings.reading


@contextlib.contextmanager
def progress(*, show: bool = True, keep_best: bool = False) -> Iterator[None]:
    """Show a progress bar for every fit inside the block.

    Parameters
    ----------
    show : bool, default=True
        Draw the bar (on standard error).
    keep_best : bool, default=False
        On Ctrl-C, end the running fit with the best solution so far instead of raising
        ``KeyboardInterrupt``; the estimator then has ``converged_ == False``.

    Examples
    --------
    >>> import sidelight
    >>> from sidelight.cluster import KMeans
    >>> with sidelight.progress(show=False, keep_best=True):
    ...     labels = KMeans(n_clusters=2, random_state=0).fit_predict([[0.0], [0.1], [5.0], [5.1]])
    >>> bool(labels[0] == labels[1] != labels[2])
    True
    """
    token = _settings.set(_Settings(show, keep_best))
    try:
        yield
    finally:
        _settings.reset(token)


@contextlib.contextmanager
def shown(verbose: int | bool) -> Iterator[None]:
    """Show progress inside the block if ``verbose`` is set, else as decided by :func:`progress`."""
    settings = _settings.get()
    show = bool(verbose) or (settings is not None and settings.show)
    keep_best, counted = False, None
    if settings is not None:
        keep_best, counted = settings.keep_best, settings.reading
    token = _settings.set(_Settings(show, keep_best, counted))
    try:
        yield
    finally:
        _settings.reset(token)


class FitProgress:
    """One running fit; see :func:`fit_progress`."""

    def __init__(
        self, description: str, total: int | None, verbose: int | bool, partial: bool = True
    ) -> None:
        settings = _settings.get()
        self._show = bool(verbose) or (settings is not None and settings.show)
        self._keep_best = partial and settings is not None and settings.keep_best
        self._description = description
        self._total = total
        self._bar: Any = None
        self._task: Any = None
        self._context = contextlib.ExitStack()
        self._started = 0.0
        self.interrupted = False
        self.n_steps = 0

    def __enter__(self) -> FitProgress:
        if self._show:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

            self._bar = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                TextColumn("{task.completed}/{task.total}"),
                TextColumn("{task.fields[objective]}"),
                TextColumn("{task.fields[reading]}"),
                TimeElapsedColumn(),
                console=Console(stderr=True),
            )
            self._bar.start()
            self._task = self._bar.add_task(
                self._description, total=self._total, objective="", reading=""
            )
            if reading() is None:
                self._context.enter_context(shown(True))
            counted = reading()
            assert counted is not None
            self._context.enter_context(counted.shown_by(self))
        self._started = time.perf_counter()
        return self

    def step(self, objective: float | None = None, *, n_steps: int = 1) -> None:
        """One iteration is done, or several."""
        self.n_steps += n_steps
        if self._bar is not None:
            text = "" if objective is None else f"objective {objective:.6g}"
            self._bar.update(self._task, completed=self.n_steps, objective=text)

    def show_reading(self, text: str) -> None:
        """Show how many passes were made over rows, and how fast."""
        self._bar.update(self._task, reading=text)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> Literal[False] | bool:
        self._context.close()
        if self._bar is not None:
            if kind is None:
                self._bar.update(self._task, total=self.n_steps)
            self._bar.stop()
        if kind is KeyboardInterrupt and self._keep_best and self.n_steps > 0:
            from sklearn.exceptions import ConvergenceWarning

            self.interrupted = True
            warn(
                f"{self._description} was interrupted after {self.n_steps} iterations; "
                "the best solution so far is kept.",
                ConvergenceWarning,
            )
            return True
        return False


def fit_progress(
    description: str, total: int | None = None, *, verbose: int | bool = 0
) -> FitProgress:
    """Follow the iterations of a fit.

    Use it around the loop and call ``step`` at the end of every iteration. Inside
    ``with sidelight.progress(keep_best=True)`` a Ctrl-C leaves the block quietly once at least one
    step is done; ``interrupted`` tells, and the code behind the block uses the best state so far.
    """
    return FitProgress(description, total, verbose)


def stage_progress(
    description: str, total: int | None = None, *, verbose: int | bool = 0
) -> FitProgress:
    """Follow a stage of a fit of which nothing can be kept when it is interrupted."""
    return FitProgress(description, total, verbose, partial=False)
