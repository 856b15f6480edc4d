"""Starts of MPCK-means that do not depend on the units of the features.

The objective hardly does: metrics follow whatever the rows are multiplied by. k-means does, and
what begins at k-means in other units ends in another optimum. So starts look at the rows in units
of their own. Each has a spread, whose inverse is the first metric:

- the scatter inside must-link components, drawn to the variances of the rows,
  ``(W + V) / (m + 1)`` with m degrees of freedom: what differs there does not tell clusters apart;
- for matrices, the same drawn to the covariance of the rows, ``(W + (d + 1) Σ) / (m + d + 1)``:
  linear maps change nothing;
- the squared ranges of the features, and
- their variances.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from sidelight._fit.views import ScaledRows
from sidelight._typing import Array, FloatArray
from sidelight.cluster._core._distances import dense
from sidelight.cluster._core._starts import Starts, check_centers
from sidelight.cluster.metric_kmeans._metric_problem import MetricParameters, MetricProblem
from sidelight.cluster.metric_kmeans._metrics import Metrics, metric_pass
from sidelight.cluster.pairs._penalties import SHORT
from sidelight.constraints import Constraints
from sidelight.constraints.algebra._contraction import contract
from sidelight.engine import RowSource, as_rows

#: Seeds are chosen among at most this many rows; iterations of k-means on all of them follow.
SEED_ROWS = 20_000


@dataclass(frozen=True)
class _View:
    """Where starts look at the rows from: units in which seeds are chosen, and a first metric."""

    spread: Array
    rows: ScaledRows
    starts: Starts


class MetricStarts:
    """Centers and metrics of the restarts, from all points of view in turn.

    Parameters
    ----------
    problem : MetricProblem
        The problem.
    n_clusters, init, n_init : object
        Parameters of the estimator.
    constraints : Constraints
        Side information about the rows.
    """

    def __init__(
        self,
        problem: MetricProblem,
        n_clusters: int,
        init: Any,
        n_init: int,
        constraints: Constraints,
    ) -> None:
        self._problem, self._n_clusters, self._init = problem, n_clusters, init
        spreads = start_spreads(problem, constraints)
        self.n_starts = n_init if isinstance(init, str) else 1
        if not isinstance(init, str):
            # Of matrices the one that linear maps do not change.
            self._spread = spreads[-3] if problem.full else spreads[0]
            return
        n = problem.source.n_rows
        self._sample = np.arange(n)
        if n > SEED_ROWS:
            chosen = np.random.RandomState(0).choice(n, SEED_ROWS, replace=False)
            self._sample = np.sort(chosen)
        self._views = [
            self._view(spread, init, n_init, constraints) for spread in spreads[: self.n_starts]
        ]

    def _view(self, spread: Array, init: str, n_init: int, constraints: Constraints) -> _View:
        source, k = self._problem.source, self._n_clusters
        variances = np.diag(spread) if self._problem.full else spread
        rows = ScaledRows(source, 1 / np.sqrt(variances), self._problem.moments.mean)
        metrics = Metrics.inverse_of(spread, 1)

        def polish(seeds: Array) -> Array:
            return rows.into(short_kmeans(source, rows.back(seeds), metrics))

        contraction = None
        if init in ("auto", "neighborhoods") and not constraints.is_empty:
            closure = constraints.closure(on_contradiction="keep")
            contraction = contract(rows, closure, only_constrained=True)
        starts = Starts(
            as_rows(rows.take(self._sample)),
            k,
            init,
            n_init,
            constraints,
            contraction=contraction,
            polish=polish,
        )
        return _View(spread, rows, starts)

    def parameters(self, number: int, random_state: np.random.RandomState) -> MetricParameters:
        """Return where a restart begins."""
        if not isinstance(self._init, str):
            centers = check_centers(self._init, self._n_clusters, self._problem.source)
            return self._problem.start(centers, self._spread)
        view = self._views[number % len(self._views)]
        centers = view.rows.back(view.starts.centers(number, random_state))
        return self._problem.start(centers, view.spread)


def start_spreads(problem: MetricProblem, constraints: Constraints) -> list[Array]:
    """Return the spreads that starts begin with, all in the units of the features."""
    found, form, d = problem.moments, problem.form, problem.source.n_features
    variances = np.where(found.variances > 0, found.variances, problem.scale)
    ranges = np.where(found.variances > 0, problem.ranges**2, problem.scale)
    ranges *= np.mean(variances / ranges)
    linked = constraints.closure(on_contradiction="keep").component[problem.pairs.rows]
    within, freedom = scatter_within(problem.points, linked, full=problem.full)
    spreads = [form(ranges), form(variances)]
    if problem.full:
        drawn = within + (d + 1) * found.covariance
        spreads.insert(0, drawn / (freedom + d + 1) + problem.ridge)
    if freedom > 0:
        spreads.insert(0, (within + form(variances)) / (freedom + 1) + problem.ridge)
    return spreads


def scatter_within(points: Any, component: Array, *, full: bool) -> tuple[FloatArray, int]:
    """Return the scatter of points around the means of their components, and its freedom."""
    _, component, sizes = np.unique(component, return_inverse=True, return_counts=True)
    n, m = len(component), len(sizes)
    members = sparse.csr_array((np.ones(n), (component, np.arange(n))), shape=(m, n))
    means = members @ points
    if full:
        means = dense(means) / sizes[:, None]
        away = dense(points) - means[component]
        return away.T @ away, n - m
    if not sparse.issparse(points):
        away = points - (means / sizes[:, None])[component]
        return np.einsum("ij,ij->j", away, away), n - m
    squares = np.asarray(points.multiply(points).sum(axis=0)).ravel()
    between = np.asarray((means.multiply(means)).T @ (1 / sizes)).ravel()
    return np.maximum(squares - between, 0), n - m


def short_kmeans(source: RowSource, centers: Array, metrics: Metrics) -> Array:
    """Return the centers after some iterations of k-means in a metric, without constraints."""
    centers = np.ascontiguousarray(centers, source.dtype)
    nothing, labels = np.empty(0, dtype=np.int64), None
    for _ in range(SHORT):
        totals, labels = metric_pass(source, centers, metrics, nothing, nothing, labels)
        offsets, sizes, n_changed = totals
        if n_changed == 0:
            break
        moved = centers + offsets / np.maximum(sizes, 1)[:, None]
        centers = np.ascontiguousarray(moved, source.dtype)
    return centers
