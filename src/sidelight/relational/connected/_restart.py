"""One restart of a connected method: grow, find new centers, and keep the best."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from sidelight._fit.lowest import is_lower
from sidelight._fit.restarts import fit_progress
from sidelight._typing import FloatArray
from sidelight.relational.connected._nodes import Clusters

#: Iterations without progress after which a search ends that has a tolerance.
STALLED = 2


@dataclass(frozen=True)
class Restart:
    """Final state of a restart.

    Attributes
    ----------
    best : Clusters
        The clusters of the lowest objective; it need not be the last, since growth may raise it.
    history : ndarray of float64
        Objective after every iteration.
    n_iter : int
        Number of iterations.
    converged : bool
        Whether the search came back to where it had been, or made no more progress.
    interrupted : bool
        Whether Ctrl-C ended it.
    """

    best: Clusters
    history: FloatArray
    n_iter: int
    converged: bool
    interrupted: bool

    @property
    def objective(self) -> float:
        """Objective of the best clusters."""
        return self.best.objective

    def then(self, better: Clusters) -> Restart:
        """The restart with one more step, if that is no worse."""
        if better.objective > self.objective:
            return self
        return replace(self, best=better, history=np.append(self.history, better.objective))


def iterate(
    start: Clusters,
    step: Callable[[Clusters], Clusters],
    state: Callable[[Clusters], bytes],
    *,
    max_iter: int,
    tol: float | None = None,
    description: str,
    verbose: int,
) -> Restart:
    """Repeat a step until a state comes back, and keep the best clusters of the first of them.

    Parameters
    ----------
    start : Clusters
        The first clusters, which count as the first iteration.
    step : callable
        New clusters from the present ones; it always does the same with the same.
    state : callable
        What of the clusters decides what the next ones are.
    max_iter : int
        Largest number of iterations.
    tol : float, default=None
        Share of the best objective by which an iteration has to lower it; after
        :data:`STALLED` iterations in a row that do not, the search has converged.
    description, verbose : str, int
        Name in the progress bar, and whether to show it.
    """
    history: list[float] = []
    best = now = start
    seen: set[bytes] = set()
    converged, n_stalled = False, 0
    with fit_progress(description, max_iter, verbose=verbose) as progress:
        for now in _steps(start, step, max_iter):
            history.append(now.objective)
            progress.step(now.objective)
            progressed = (
                tol is None or now is start or is_lower(now.objective, best.objective, margin=tol)
            )
            n_stalled = 0 if progressed else n_stalled + 1
            if now.objective < best.objective:
                best = now
            key = state(now)
            if key in seen or n_stalled == STALLED:
                converged = True
                break
            seen.add(key)
    return Restart(
        best,
        np.array(history),
        len(history),
        converged and not progress.interrupted,
        progress.interrupted,
    )


def _steps(
    start: Clusters, step: Callable[[Clusters], Clusters], max_iter: int
) -> Iterator[Clusters]:
    now = start
    yield now
    for _ in range(max_iter - 1):
        now = step(now)
        yield now
