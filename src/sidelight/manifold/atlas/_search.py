"""The search for charts: where it begins, restarts of the two phases, and the choice among them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sidelight._fit.alternation import Alternation
from sidelight._typing import Array
from sidelight._words import counted, setting
from sidelight.cluster import KMeans
from sidelight.engine import as_rows
from sidelight.exceptions import EmbeddingWarning, SidelightError
from sidelight.manifold import (
    Charting,
    CorrespondenceCharting,
    CorrespondenceLLE,
    LocallyLinearCoordination,
    LocallyLinearEmbedding,
)
from sidelight.manifold.atlas._bound import BoundEvaluation, ChartState, Coordination, Estimates
from sidelight.manifold.atlas._charts import chart_posterior_of_places, expected_rows
from sidelight.manifold.atlas._steps import ChartRules

#: Steps of k-means that make rough clusters.
ROUGH_STEPS = 20

#: Rows per coordinate and chart by default, and the largest default number of charts.
ROWS_PER_PARAMETER = 8
MAX_CHARTS = 50


def default_n_charts(n_rows: int, d: int) -> int:
    """Number of charts that leaves each enough rows to fit its ``d + 2`` parameters per column."""
    return int(np.clip(round(n_rows / (ROWS_PER_PARAMETER * (d + 2))), 1, MAX_CHARTS))


def principal_places(rows: Array, d: int) -> Array:
    """Principal coordinates, white; random ones beyond the rank of the rows would be noise: 0."""
    centered = rows - rows.mean(axis=0)
    left, lengths, _ = np.linalg.svd(centered, full_matrices=False)
    places = np.zeros((len(rows), d))
    useful = int(np.sum(lengths[:d] > 1e-10 * max(lengths[0], 1e-300)))
    places[:, :useful] = left[:, :useful] * np.sqrt(len(rows))
    return places


def rough_clusters(
    rows: Array, places: Array, k: int, weights: Array, rng: np.random.RandomState
) -> Array:
    """k-means on rows and coordinates together, each half of the variance.

    Rows of which a view is missing are clustered by their coordinates alone: ``rows`` has no
    columns then.
    """
    parts = [_standardized(part) for part in (places, rows) if part.shape[1]]
    model = KMeans(k, n_init=1, max_iter=ROUGH_STEPS, random_state=rng)
    labels: Array = model.fit(np.hstack(parts), sample_weight=weights).labels_
    return labels


def _standardized(columns: Array) -> Array:
    """Columns of variance 1 over all of them together; constant ones are left out by 0."""
    deviations = columns.std(axis=0)
    scale = np.where(deviations > 0, deviations, 1.0) * np.sqrt(columns.shape[1])
    return np.asarray((columns - columns.mean(axis=0)) / scale)


def checked_anchors(anchors: Any, n_rows: int, d: int) -> tuple[Array, Array]:
    """Which rows have known coordinates, and the coordinates of all rows (0 where unknown)."""
    if anchors is None:
        return np.zeros(n_rows, dtype=bool), np.zeros((n_rows, d))
    places = np.asarray(anchors, dtype=np.float64)
    if places.shape != (n_rows, d):
        raise SidelightError(
            f"anchors must have the shape ({n_rows}, {d}), a row of coordinates for every row and "
            f"NaN where they are unknown, got {places.shape}."
        )
    known = np.asarray(~np.isnan(places).any(axis=1))
    partly = np.flatnonzero(~known & ~np.isnan(places).all(axis=1))
    if len(partly):
        raise SidelightError(
            f"The anchor of row {partly[0]} has NaN in some coordinates only; give all of them or "
            "none."
        )
    if not np.isfinite(places[known]).all():
        bad = np.flatnonzero(np.isinf(places).any(axis=1))[0]
        raise SidelightError(f"The anchor of row {bad} is infinite; coordinates are finite.")
    return known, np.where(known[:, None], places, 0.0)


def checked_init(init: Any, n_rows: int, d: int) -> Array:
    """Coordinates to start from that the user gave."""
    places = np.asarray(init, dtype=np.float64)
    if places.shape != (n_rows, d):
        raise SidelightError(
            f"{setting('init')} must hold {counted(d, 'coordinate')} of each of the "
            f"{counted(n_rows, 'row')}, shape ({n_rows}, {d}), got {places.shape}."
        )
    if not np.isfinite(places).all():
        bad = np.flatnonzero(~np.isfinite(places).all(axis=1))[0]
        raise SidelightError(f"{setting('init')} has a coordinate of row {bad} that is not finite.")
    return places


def aligned_to_anchors(places: Array, known: Array, anchors: Array) -> Array:
    """Coordinates mapped so that those of known rows come near to their anchors.

    An affine map where there are enough anchors in general position to fix one; a rotation with a
    scale and a shift where there are two; a shift for one.
    """
    d = places.shape[1]
    source, target = places[known], anchors[known]
    center, goal = source.mean(axis=0), target.mean(axis=0)
    offsets, wanted = source - center, target - goal
    if len(source) >= 2 * (d + 1) and np.linalg.cond(offsets) < 1e3:
        linear = np.linalg.lstsq(offsets, wanted, rcond=None)[0]
        if np.linalg.cond(linear) < 1e3:
            return (places - center) @ linear + goal
    spread = float(np.sum(offsets**2))
    if len(source) < 2 or spread == 0 or not wanted.any():
        return places - center + goal
    left, lengths, right = np.linalg.svd(offsets.T @ wanted)
    return (places - center) @ (lengths.sum() / spread * left @ right) + goal


#: Iterations of a single chart that makes linear coordinates of incomplete rows.
LINEAR_STEPS = 200


class FirstPlaces(NamedTuple):
    """Coordinates to start from, and the warnings of the method that found them."""

    places: Array
    messages: tuple[Warning, ...] = ()


def with_messages(find: Callable[[], Array]) -> FirstPlaces:
    """Coordinates with the warnings: they concern the user if this start is the best."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", EmbeddingWarning)
        places = find()
    messages = []
    for one in caught:
        if isinstance(one.message, EmbeddingWarning):
            messages.append(one.message)
        else:
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
    return FirstPlaces(places, tuple(messages))


def spectral_places(
    how: str, rows: Array, d: int, n_neighbors: int, rng: np.random.RandomState
) -> Array:
    """Coordinates of complete rows; the method is named as in the estimators."""
    if how == "pca":
        return principal_places(rows, d)
    model: Any = LocallyLinearCoordination(d, n_neighbors=n_neighbors, random_state=rng)
    if how == "charting":
        model = Charting(d, random_state=rng)
    elif how == "lle":
        model = LocallyLinearEmbedding(d, n_neighbors=n_neighbors)
    return np.asarray(model.fit_transform(rows), dtype=np.float64)


def view_places(
    how: str,
    rows: Array,
    seen: Array,
    views: tuple[slice, ...],
    d: int,
    n_neighbors: int,
    rng: np.random.RandomState,
) -> Array:
    """Coordinates of rows that lack views; the method is named as in the estimators."""
    table = rows.copy()
    for there, view in zip(seen.T, views, strict=True):
        table[~there, view] = np.nan
    columns = [np.arange(view.start, view.stop) for view in views]
    model: Any = CorrespondenceLLE(d, views=columns, n_neighbors=n_neighbors)
    if how == "charting":
        model = CorrespondenceCharting(d, views=columns, random_state=rng)
    return np.asarray(model.fit(table).embedding_, dtype=np.float64)


def one_chart_places(rows: Array, seen: Array, d: int, rules: ChartRules) -> Array:
    """Coordinates of rows that lack views, by one chart: factor analysis of incomplete rows."""
    n = len(rows)
    start = Estimates(principal_places(rows, d), np.tile(1e-2 * np.eye(d), (n, 1, 1)))
    steps = Coordination(as_rows(rows), seen, np.ones(n), np.zeros(n, dtype=bool), rules)
    state = steps.of_clusters(np.zeros(n, dtype=np.intp), 1, start)
    end = steps.ascend(
        state, free=True, max_iter=LINEAR_STEPS, tol=1e-6, description="start", verbose=0
    )
    return end.last.estimates.means


#: Of restarts whose reconstruction error is at most this multiple of the lowest, the one with the
#: highest bound is kept: the bound alone sometimes prefers a map that is torn.
ERROR_SLACK = 1.1


@dataclass(frozen=True)
class CoordinatedFit:
    """Final state of a restart.

    Attributes
    ----------
    last : BoundEvaluation
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

    last: BoundEvaluation
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
class CoordinatedRestart:
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

    def __call__(self, number: int, rng: np.random.RandomState) -> CoordinatedFit:
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
        return CoordinatedFit(last, which, history, n_iter, converged, interrupted, dropped, error)

    def _ascend(self, state: ChartState, *, free: bool) -> Alternation[BoundEvaluation]:
        return self.steps.ascend(
            state,
            free=free,
            max_iter=self.max_iter,
            tol=self.tol,
            description=self.description,
            verbose=self.verbose,
        )

    def _without_starved(self, now: BoundEvaluation) -> tuple[ChartState, int]:
        """Drop charts with fewer rows than the regression on their coordinates needs."""
        charts, estimates = now.parameters
        enough = now.counts >= charts.n_coordinates + 2
        enough[np.argmax(now.counts)] = True
        if enough.all():
            return now.parameters, 0
        return ChartState(charts.kept(enough), estimates), int(np.sum(~enough))


def best_search(searches: Sequence[CoordinatedFit]) -> CoordinatedFit:
    """The highest bound among the restarts that reconstruct the rows about as well as the best."""
    lowest = min(search.error for search in searches)
    near = [search for search in searches if search.error <= ERROR_SLACK * lowest]
    return min(near, key=lambda search: search.objective)


def reconstruction_error(steps: Coordination, state: ChartState) -> float:
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
