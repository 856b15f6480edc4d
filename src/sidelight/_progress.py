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
    """Settings of ``with sidelight.progress(...)``."""

    def __init__(self, show: bool, keep_best: bool) -> None:
        self.show = show
        self.keep_best = keep_best


_settings: ContextVar[_Settings | None] = ContextVar("sidelight_progress", default=None)


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
    with progress(show=show, keep_best=settings is not None and settings.keep_best):
        yield


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
                TimeElapsedColumn(),
                console=Console(stderr=True),
            )
            self._bar.start()
            self._task = self._bar.add_task(self._description, total=self._total, objective="")
        self._started = time.perf_counter()
        return self

    def step(self, objective: float | None = None, *, n_steps: int = 1) -> None:
        """One iteration is done, or several."""
        self.n_steps += n_steps
        if self._bar is not None:
            text = "" if objective is None else f"objective {objective:.6g}"
            self._bar.update(self._task, completed=self.n_steps, objective=text)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> Literal[False] | bool:
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
