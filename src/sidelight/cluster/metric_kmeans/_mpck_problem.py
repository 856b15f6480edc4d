"""The two halves of an iteration of MPCK-means, see :class:`sidelight.cluster.MPCKMeans`."""

from __future__ import annotations

import copy
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from sidelight._typing import Array
from sidelight.cluster._core._alternate import Visit, refill_rows
from sidelight.cluster._core._distances import dense_rows
from sidelight.cluster.metric_kmeans._max_distance import (
    Bound,
    FarthestPair,
    MaxDistance,
    bound_of_distances,
)
from sidelight.cluster.metric_kmeans._metric_rows import (
    MetricPass,
    Moments,
    labelled_costs,
    squared_to_point,
)
from sidelight.cluster.metric_kmeans._metric_step import learn_metrics
from sidelight.cluster.metric_kmeans._metrics import Metrics, PairGaps, squared_to_centers
from sidelight.cluster.pairs._priced import ClusterPricedPairs, PricedPairs
from sidelight.constraints import Constraints
from sidelight.engine import RowSource

#: Rows are blurred by this share of their covariance, so that no direction is magnified without
#: limit; and by this share of the mean variance, for directions in which they are all the same.
BLUR = 1e-3
RIDGE = 1e-9


@dataclass(frozen=True)
class MetricState:
    """Parameters of MPCK-means.

    Attributes
    ----------
    centers : ndarray of shape (k, d)
        Centres, in the element type of the rows.
    metrics : Metrics
        Metrics.
    prior : ndarray of shape (d, d) or (d,)
        Covariance that the metrics of clusters are drawn to, ``(mean A_h)⁻¹``.
    """

    centers: Array
    metrics: Metrics
    prior: Array


@dataclass(frozen=True)
class _Sums:
    """What the rows and the labels of a visit say to the next move."""

    nodes: Array  # labels of the constrained rows and of the anchors
    offsets: Array  # mean - centre of every cluster
    sizes: Array
    scatter: Array  # of the rows around the centres, by metric
    pair_scatter: Array  # of violated pairs, what is linear in the metrics
    counted: Array  # factors of the largest distance, by metric


class MetricProblem:
    """Rows, what is known about them, and metrics that are learned (or stay as they are).

    Parameters
    ----------
    source : RowSource
        The rows.
    constraints : Constraints
        What is known.
    penalty : float
        Factor on the weights of the pairs.
    n_clusters : int
        Number of clusters.
    shared, full, learn : bool
        One metric for all clusters; matrices rather than weights; whether they are learned.
    max_distance : {"bound", "sweep", "exact"}
        What stands for the largest distance.
    """

    def __init__(
        self,
        source: RowSource,
        constraints: Constraints,
        penalty: float,
        n_clusters: int,
        *,
        shared: bool,
        full: bool,
        max_distance: str,
        learn: bool = True,
    ) -> None:
        self.source = source
        self.full = full
        self.n_metrics = 1 if shared else n_clusters
        self.moments = Moments(source, full=full)
        d, variance = source.n_features, self.moments.mean_variance
        self._learn = learn and variance > 0  # rows that are all the same teach nothing
        self.scale = variance if variance > 0 else 1.0
        # A row pays for being apart from its class or group what a must-link inside a cluster
        # costs on average: ‖x_i - x_j‖²_A is twice the d that the metric step takes ‖x - μ‖²_A to.
        kind = PricedPairs if shared else ClusterPricedPairs
        self.pairs = kind(constraints, penalty, unit=2 * d * penalty)
        points = source.take(self.pairs.rows).astype(np.float64)
        if not sparse.issparse(points):
            points -= self.moments.mean
        self._points = points
        self._must_gaps = PairGaps(points, self.pairs.must_link, full=full)
        self._cannot_gaps = PairGaps(points, self.pairs.cannot_link, full=full)
        covariance = self.moments.scatter / source.n_rows
        ridge = RIDGE * self.scale * (np.eye(d) if full else np.ones(d))
        self.blur = BLUR * covariance + ridge
        self._first_prior = covariance + ridge
        self.tau = 0.0 if shared else d + 1.0
        self.largest = self._max_distance(max_distance)
        self._pass = MetricPass(source, self.pairs.rows)

    def _max_distance(self, name: str) -> MaxDistance:
        if len(self.pairs.cannot_link) == 0:
            return Bound(np.zeros(()), 1.0)
        if name == "bound":
            ridge = RIDGE * self.scale
            return bound_of_distances(self.source, self.moments, full=self.full, ridge=ridge)
        ends = self._points, self.pairs.cannot_link
        return FarthestPair(self.source, self.moments.mean, *ends, exact=name == "exact")

    def start(self, centers: Array) -> MetricState:
        """Begin with a multiple of the identity under which the mean variance is 1."""
        d = self.source.n_features
        blur = self.blur if self._learn else 0.0
        metrics = Metrics.multiple_of_identity(
            1 / self.scale, d, self.n_metrics, full=self.full, blur=blur
        )
        centers = np.ascontiguousarray(centers, self.source.dtype)
        return MetricState(centers, metrics, self._first_prior)

    def with_chance(self, random_state: np.random.RandomState) -> MetricRun:
        """Return the problem of one start: a source of chance, its own prices of pairs."""
        one = copy.copy(self)
        one.pairs, one.largest = copy.copy(self.pairs), copy.copy(self.largest)
        return MetricRun(one, random_state)

    # ------------------------------------------------------------------ labels

    def unary(self, centers: Array, metrics: Metrics) -> Array:
        """Return ``‖x_i - μ_h‖²_{A_h} - reward_h`` of the constrained rows.

        With one metric less ``‖x_i‖²_A - reward``, which is the same in every cluster.
        """
        centers = centers.astype(np.float64)
        if not sparse.issparse(self._points):
            centers -= self.moments.mean
        if not metrics.is_shared:
            return squared_to_centers(self._points, centers, metrics) - metrics.rewards
        images = metrics.apply(centers, 0)
        norms = np.einsum("ij,ij->i", images, centers)
        return norms - 2 * np.asarray(self._points @ images.T)

    def set_prices(self, metrics: Metrics) -> None:
        """Price the pairs in these metrics."""
        pairs, largest = self.pairs, self.largest
        apart = pairs.must_link_weight[:, None] * self._must_gaps.squared(metrics)
        room = largest.at(metrics)[0] - self._cannot_gaps.squared(metrics)
        together = largest.scale * pairs.cannot_link_weight[:, None] * np.maximum(room, 0)
        if isinstance(pairs, ClusterPricedPairs):
            pairs.set_tables(apart / 2, apart / 2, together)
        else:
            pairs.set_prices(apart[:, 0], together[:, 0])

    def visit(
        self, state: MetricState, before: Visit[MetricState] | None, rng: np.random.RandomState
    ) -> Visit[MetricState]:
        """Label the rows and add up what the next parameters need."""
        centers, metrics = state.centers, state.metrics
        self.set_prices(metrics)
        last = None if before is None else before.details.nodes
        nodes = self.pairs.relabel(self.unary(centers, metrics), last, rng)
        held = nodes[: len(self.pairs.rows)]
        totals, labels = self._pass(
            centers, metrics, held, None if before is None else before.labels
        )
        sums = self._sums(state, nodes, totals)
        inertia = float(metrics.inner(sums.scatter).sum())
        return Visit(
            state=state,
            labels=labels,
            inertia=inertia,
            objective=self._objective(state, sums),
            n_changed=int(totals[2]),
            details=sums,
        )

    def _sums(self, state: MetricState, nodes: Array, totals: tuple[Array, ...]) -> _Sums:
        gaps, sizes, _, *scatters = totals
        offsets = gaps / np.maximum(sizes, 1)[:, None]
        if state.metrics.is_shared:
            # Σ (x - μ)(x - μ)' = total scatter - Σ_h n_h (x̄ - m)(x̄ - m)' + Σ_h n_h (x̄ - μ)(x̄ - μ)'
            between = state.centers + offsets - self.moments.mean
            scatter = self.moments.scatter - self._outer(between, sizes)
            scatter = (scatter + self._outer(offsets, sizes))[None]
        else:
            scatter = scatters[0]
        pair_scatter, counted = self._pair_sums(nodes, len(state.metrics.values))
        return _Sums(nodes, offsets, sizes, scatter, pair_scatter, counted)

    def _outer(self, rows: Array, weights: Array) -> Array:
        """Return ``Σ_h w_h v_h v_h'`` or its diagonal."""
        return rows.T @ (weights[:, None] * rows) if self.full else weights @ (rows * rows)

    def _pair_sums(self, nodes: Array, n_metrics: int) -> tuple[Array, Array]:
        """Scatter of the violated pairs by metric, and what multiplies the largest distance.

        A violated must-link counts half for the metric of either end.
        """
        pairs = self.pairs
        apart, together = (np.flatnonzero(kind) for kind in pairs.violated(nodes))
        must = np.zeros((len(pairs.must_link), n_metrics))
        cannot = np.zeros((len(pairs.cannot_link), n_metrics))
        for end in (0, 1):
            metric = nodes[pairs.must_link[apart, end]] if n_metrics > 1 else 0
            must[apart, metric] += 0.5 * pairs.must_link_weight[apart]
        metric = nodes[pairs.cannot_link[together, 0]] if n_metrics > 1 else 0
        cannot[together, metric] = self.largest.scale * pairs.cannot_link_weight[together]
        scatter = self._must_gaps.scatter(must) - self._cannot_gaps.scatter(cannot)
        return scatter, cannot.sum(axis=0)

    # ------------------------------------------------------------------ objective and parameters

    def _linear(self, scatter: Array, sums: _Sums, prior: Array) -> Array:
        """What is linear in the metrics: scatter of rows, of pairs, of blur and of the prior."""
        sizes = self._sizes(sums)
        blur = sizes.reshape(-1, *(1,) * (scatter.ndim - 1)) * self.blur
        return scatter + sums.pair_scatter + blur + self.tau * prior

    def _sizes(self, sums: _Sums) -> Array:
        """Numbers of rows by metric."""
        return np.array([sums.sizes.sum()]) if self.n_metrics == 1 else sums.sizes

    def _objective(self, state: MetricState, sums: _Sums) -> float:
        metrics, sizes = state.metrics, self._sizes(sums)
        values = metrics.inner(sums.scatter + sums.pair_scatter) - sizes * metrics.rewards
        if sums.counted.any():
            values = values + sums.counted * self.largest.at(metrics)[0]
        total = float(values.sum()) + self.pairs.anchor_total(sums.nodes)
        if self.tau == 0:
            return total
        # (d + 1) Σ_h [tr(A_h Σ) - log det(A_h Σ) - d]
        log_det = np.linalg.slogdet(state.prior)[1] if self.full else np.log(state.prior).sum()
        away = metrics.inner(state.prior) - metrics.log_det - log_det - self.source.n_features
        return total + self.tau * float(away.sum())

    def move(self, visit: Visit[MetricState]) -> MetricState:
        """Put centres at the means, then take the metric step."""
        state, sums = visit.state, visit.details
        centers = (state.centers + sums.offsets).astype(self.source.dtype)
        empty = np.flatnonzero(sums.sizes == 0)
        if len(empty):
            rows = self._refill(visit, len(empty))
            centers[empty[: len(rows)]] = rows
        if not self._learn:
            return MetricState(centers, state.metrics, state.prior)
        moved = self._outer(sums.offsets, sums.sizes)[None]
        if self.n_metrics > 1:
            moved = self._by_cluster(sums.offsets, sums.sizes)
        scatter = self._linear(sums.scatter - moved, sums, state.prior)
        mass = self._sizes(sums) + self.tau
        metrics = learn_metrics(state.metrics, scatter, mass, sums.counted, self.largest)
        return MetricState(centers, metrics, self._prior(metrics) if self.tau else state.prior)

    def _by_cluster(self, offsets: Array, sizes: Array) -> Array:
        """Return ``n_h v_h v_h'`` of every cluster, or its diagonal."""
        if self.full:
            return sizes[:, None, None] * offsets[:, :, None] * offsets[:, None, :]
        return sizes[:, None] * offsets**2

    def _prior(self, metrics: Metrics) -> Array:
        """Return the minimiser of ``Σ_h tr(A_h Σ) - log det Σ``: the inverse of the mean metric."""
        mean = metrics.values.mean(axis=0)
        if not self.full:
            return 1 / mean
        inverse = np.linalg.inv(mean)
        return (inverse + inverse.T) / 2

    def _refill(self, visit: Visit[MetricState], n: int) -> Array:
        state = visit.state
        costs = labelled_costs(self.source, state.centers, state.metrics, visit.labels)
        linked = self.pairs.rows[np.unique(self.pairs.must_link)]

        def measure(row: int) -> Array:
            point = dense_rows(self.source, [row])[0].astype(np.float64)
            return squared_to_point(self.source, point, state.metrics, 0)

        return dense_rows(self.source, refill_rows(costs, linked, n, measure))


class MetricRun:
    """A problem with its own stream of chance: what one start works on."""

    def __init__(self, problem: MetricProblem, random_state: np.random.RandomState) -> None:
        self._problem = problem
        self._random_state = random_state

    def visit(self, state: MetricState, before: Visit[MetricState] | None) -> Visit[MetricState]:
        """Label the rows at these parameters."""
        return self._problem.visit(state, before, self._random_state)

    def move(self, visit: Visit[MetricState]) -> MetricState:
        """Improve the parameters."""
        return self._problem.move(visit)
