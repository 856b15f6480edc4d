"""The search for charts: restarts of the two phases, and the choice among them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sidelight._fit.alternation import Alternation
from sidelight._typing import Array
from sidelight.manifold.atlas._bound import Coordination, Estimates, Evaluation, State
from sidelight.manifold.atlas._posterior import chart_posterior_of_places, expected_rows
from sidelight.manifold.atlas._start import rough_clusters

#: Of restarts whose reconstruction error is at most this multiple of the lowest, the one with the
#: highest bound is kept: the bound alone sometimes prefers a map that is torn.
ERROR_SLACK = 1.1


@dataclass(frozen=True)
class Search:
    """Where a restart ended.

    Attributes
    ----------
    last : Evaluation
        The e-step at the end.
    start : int
        Number of the coordinates that it started from.
    history : ndarray
        Objective at every iteration since the last chart was dropped.
    n_iter : int
        Number of iterations of both phases.
    converged, interrupted : bool
        How the second phase ended.
    n_dropped : int
        Charts that were left with too few rows.
    error : float
        Mean squared difference between the rows and their reconstructions from the map.
    """

    last: Evaluation
    start: int
    history: Array
    n_iter: int
    converged: bool
    interrupted: bool
    n_dropped: int
    error: float

    @property
    def objective(self) -> float:
        """``-Φ`` per unit of weight."""
        return float(self.last.objective)


@dataclass(frozen=True)
class Restart:
    """One restart: rough clusters, then the two phases.

    Attributes
    ----------
    steps : Coordination
        The steps on the rows.
    starts : tuple of Estimates
        Coordinates to start from; restarts take turns.
    n_charts : int
        Number of charts to begin with.
    max_iter, tol, description, verbose
        As in the estimators; ``max_iter`` is that of each phase.
    """

    steps: Coordination
    starts: tuple[Estimates, ...]
    n_charts: int
    max_iter: int
    tol: float
    description: str
    verbose: int

    def __call__(self, number: int, rng: np.random.RandomState) -> Search:
        """Run it; the contract of :func:`sidelight._fit.restarts.best_restart`."""
        steps = self.steps
        whole = bool(steps.seen.all())
        rows = steps.source.to_memory()[:, : None if whole else 0]
        which = number % len(self.starts)
        estimates = self.starts[which]
        labels = rough_clusters(rows, estimates.means, self.n_charts, steps.weights, rng)
        first = self._ascend(steps.of_clusters(labels, self.n_charts, estimates), free=False)
        state, dropped = self._without_starved(first.last)
        last, history, n_iter, converged = first.last, first.history, first.n_iter, False
        interrupted = first.interrupted
        if not interrupted:
            second = self._ascend(state, free=True)
            history = second.history if dropped else np.append(history[:-1], second.history)
            last, converged, interrupted = second.last, second.converged, second.interrupted
            n_iter += second.n_iter
        error = reconstruction_error(steps, last.parameters)
        return Search(last, which, history, n_iter, converged, interrupted, dropped, error)

    def _ascend(self, state: State, *, free: bool) -> Alternation[Evaluation]:
        return self.steps.ascend(
            state,
            free=free,
            max_iter=self.max_iter,
            tol=self.tol,
            description=self.description,
            verbose=self.verbose,
        )

    def _without_starved(self, now: Evaluation) -> tuple[State, int]:
        """Drop charts with fewer rows than the regression on their coordinates needs."""
        charts, estimates = now.parameters
        enough = now.counts >= charts.n_coordinates + 2
        enough[np.argmax(now.counts)] = True
        if enough.all():
            return now.parameters, 0
        return State(charts.kept(enough), estimates), int(np.sum(~enough))


def best_search(searches: Sequence[Search]) -> Search:
    """The highest bound among the restarts that reconstruct the rows about as well as the best."""
    lowest = min(search.error for search in searches)
    near = [search for search in searches if search.error <= ERROR_SLACK * lowest]
    return min(near, key=lambda search: search.objective)


def reconstruction_error(steps: Coordination, state: State) -> float:
    """Mean squared ``x - E[x | g_n]`` over the values there are."""
    charts, estimates = state

    def work(
        rows: Array, seen: Array, weights: Array, g: Array
    ) -> tuple[tuple[float, float], tuple[()]]:
        resp = chart_posterior_of_places(charts, g)
        places = np.repeat(g[:, None, :], charts.n_charts, axis=1)
        total = mass = 0.0
        for number, view in enumerate(charts.views):
            counted = weights * seen[:, number]
            squares = (rows[:, view] - expected_rows(charts, view, resp, places)) ** 2
            total += float(counted @ squares.sum(axis=1))
            mass += float(counted.sum()) * squares.shape[1]
        return (total, mass), ()

    (total, mass), _ = steps.source.map_reduce(
        work, aligned=(steps.seen, steps.weights, estimates.means)
    )
    return float(total / mass)
