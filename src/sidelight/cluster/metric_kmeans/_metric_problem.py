"""The two halves of an iteration of MPCK-means, see :class:`sidelight.cluster.MPCKMeans`.

The metric step minimizes ``tr(A S) - N log det A + c Dmax(A)``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.linalg import cho_solve, cholesky, eigh

from sidelight._fit.moments import feature_ranges, moments
from sidelight._typing import Array
from sidelight.cluster._core._distances import dense_rows, farthest_rows
from sidelight.cluster._core._lloyd import Labeling
from sidelight.cluster.metric_kmeans._metrics import (
    Bound,
    FarthestPair,
    MaxDistance,
    Metrics,
    PairOffsets,
    bound_of_distances,
    labeled_costs,
    metric_pass,
    squared_to_centers,
    squared_to_point,
)
from sidelight.cluster.pairs._penalties import Penalties
from sidelight.constraints import Constraints
from sidelight.engine import RowSource

#: Rows are blurred by this share of their covariance, so that no direction is magnified without
#: limit; and by this share of the variances, for directions in which they are all the same.
BLUR = 1e-3
RIDGE = 1e-9

#: A feature that only few rows have, whose squared range is more than this many times its variance,
#: is blurred by this share of what is beyond: a cluster for these rows alone would gain too much.
RARE = 60.0
RARE_BLUR = 0.05

#: Bisections of the way to a metric that would raise the objective.
HALVINGS = 12


@dataclass(frozen=True)
class MetricParameters:
    """Parameters of MPCK-means.

    Attributes
    ----------
    centers : ndarray of shape (k, d)
        Centers, in the element type of the rows.
    metrics : Metrics
        Metrics.
    prior : ndarray of shape (d, d) or (d,)
        Covariance that the metrics of clusters are drawn to, ``(mean A_h)⁻¹``.
    """

    centers: Array
    metrics: Metrics
    prior: Array


@dataclass(frozen=True)
class _MetricStatistics:
    """Sums over rows and violated pairs that the update needs."""

    nodes: Array  # labels of the constrained rows and of the anchors
    offsets: Array  # mean - center of every cluster
    sizes: Array
    scatter: Array  # of the rows around the centers, by metric
    pair_scatter: Array  # of violated pairs, what is linear in the metrics
    counted: Array  # factors of the largest distance, by metric


class MetricProblem:
    """Rows, constraints, and metrics that are learned or fixed; immutable.

    Parameters
    ----------
    source : RowSource
        The rows.
    constraints : Constraints
        Side information about the rows.
    penalty : float
        Factor on the weights of the pairs.
    n_clusters : int
        Number of clusters.
    shared, full, learn : bool
        One metric for all clusters; matrices rather than weights; whether they are learned.
    max_distance : {"bound", "sweep", "exact"}
        What stands for the largest distance.

    Attributes
    ----------
    learns : bool
        Whether metrics are learned: not from rows that are all the same.
    points : ndarray or CSR
        The constrained rows in float64; dense ones relative to the mean of all rows.
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
        self.moments = moments(source, full=full)
        d, variance = source.n_features, self.moments.mean_variance
        self.learns = learn and variance > 0
        self.scale = variance if variance > 0 else 1.0
        # A row pays for being apart from its class or group what a must-link inside a cluster
        # costs on average: ‖x_i - x_j‖²_A is twice the d that the metric step takes ‖x - μ‖²_A to.
        self.pairs = Penalties(constraints, penalty, unit=2 * d * penalty)
        points = source.take(self.pairs.rows).astype(np.float64)
        if not sparse.issparse(points):
            points -= self.moments.mean
        self.points = points
        self._must_offsets = PairOffsets(points, self.pairs.must_link, full=full)
        self._cannot_offsets = PairOffsets(points, self.pairs.cannot_link, full=full)
        covariance, variances = self.moments.covariance, self.moments.variances
        self.ranges = np.subtract(*(end.astype(np.float64) for end in feature_ranges(source)[::-1]))
        # In the units of every feature; a constant one has none.
        self.ridge = self.form(RIDGE * np.where(variances > 0, variances, self.scale))
        rare = RARE_BLUR * np.maximum(self.ranges**2 - RARE * variances, 0)
        self.blur = BLUR * covariance + self.ridge + self.form(rare)
        self._first_prior = covariance + self.ridge
        self.tau = 0.0 if shared else d + 1.0
        self.largest = self._max_distance(max_distance)

    def form(self, by_feature: Array) -> Array:
        """Return a diagonal matrix, or its diagonal, as the metrics are."""
        return np.diag(by_feature) if self.full else by_feature

    def _max_distance(self, name: str) -> MaxDistance:
        if len(self.pairs.cannot_link) == 0:
            return Bound(np.zeros(()), 1.0)
        if name == "bound":
            return bound_of_distances(self.source, self.moments, self.ridge, self.ranges)
        ends = self.points, self.pairs.cannot_link
        return FarthestPair(self.source, self.moments.mean, *ends, exact=name == "exact")

    def start(self, centers: Array, spread: Array | None = None) -> MetricParameters:
        """Begin with the metric that is the inverse of ``spread``, a covariance or variances.

        By default with a multiple of the identity under which the mean variance is 1.
        """
        d = self.source.n_features
        blur = self.blur if self.learns else 0.0
        centers = np.ascontiguousarray(centers, self.source.dtype)
        if spread is None:
            metrics = Metrics.multiple_of_identity(
                1 / self.scale, d, self.n_metrics, full=self.full, blur=blur
            )
            return MetricParameters(centers, metrics, self._first_prior)
        metrics = Metrics.inverse_of(spread, self.n_metrics, blur=blur)
        return MetricParameters(centers, metrics, spread)

    # ------------------------------------------------------------------ labels

    def unary(self, centers: Array, metrics: Metrics) -> Array:
        """Return ``‖x_i - μ_h‖²_{A_h} - reward_h`` of the constrained rows.

        With one metric less ``‖x_i‖²_A - reward``, which is the same in every cluster.
        """
        centers = centers.astype(np.float64)
        if not sparse.issparse(self.points):
            centers -= self.moments.mean
        if not metrics.is_shared:
            return squared_to_centers(self.points, centers, metrics) - metrics.rewards
        images = metrics.apply(centers, 0)
        norms = np.einsum("ij,ij->i", images, centers)
        return norms - 2 * np.asarray(self.points @ images.T)

    def priced(self, metrics: Metrics) -> Penalties:
        """Return the statements with the prices of pairs in these metrics."""
        pairs, largest = self.pairs, self.largest
        apart = pairs.must_link_weight[:, None] * self._must_offsets.squared(metrics)
        room = largest.at(metrics)[0] - self._cannot_offsets.squared(metrics)
        together = largest.scale * pairs.cannot_link_weight[:, None] * np.maximum(room, 0)
        if metrics.is_shared:
            return pairs.with_prices(apart[:, 0], together[:, 0])
        return pairs.with_tables(apart / 2, apart / 2, together)

    def evaluate(
        self,
        random_state: np.random.RandomState,
        parameters: MetricParameters,
        before: Labeling[MetricParameters] | None,
    ) -> Labeling[MetricParameters]:
        """Label the rows and add up what the next parameters need."""
        centers, metrics = parameters.centers, parameters.metrics
        nodes = self.priced(metrics).relabel(
            self.unary(centers, metrics),
            None if before is None else before.statistics.nodes,
            random_state,
        )
        totals, labels = metric_pass(
            self.source,
            centers,
            metrics,
            self.pairs.rows,
            nodes[: len(self.pairs.rows)],
            None if before is None else before.labels,
        )
        sums = self._statistics(parameters, nodes, totals)
        inertia = float(metrics.inner(sums.scatter).sum())
        return Labeling(
            parameters=parameters,
            labels=labels,
            inertia=inertia,
            penalty=self._objective(parameters, sums) - inertia,
            n_changed=int(totals[2]),
            statistics=sums,
        )

    def _statistics(
        self, parameters: MetricParameters, nodes: Array, totals: tuple[Array, ...]
    ) -> _MetricStatistics:
        offsets, sizes, _, *scatters = totals
        offsets = offsets / np.maximum(sizes, 1)[:, None]
        if parameters.metrics.is_shared:
            # Σ (x - μ)(x - μ)' = total scatter - Σ_h n_h (x̄ - m)(x̄ - m)' + Σ_h n_h (x̄ - μ)(x̄ - μ)'
            between = parameters.centers + offsets - self.moments.mean
            scatter = self.moments.scatter - self._outer(between, sizes)
            scatter = (scatter + self._outer(offsets, sizes))[None]
        else:
            scatter = scatters[0]
        pair_scatter, counted = self._pair_sums(nodes, len(parameters.metrics.values))
        return _MetricStatistics(nodes, offsets, sizes, scatter, pair_scatter, counted)

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
        scatter = self._must_offsets.scatter(must) - self._cannot_offsets.scatter(cannot)
        return scatter, cannot.sum(axis=0)

    # ------------------------------------------------------------------ objective and parameters

    def _linear(self, scatter: Array, sums: _MetricStatistics, prior: Array) -> Array:
        """Sum of the matrices that are linear in the metrics: scatters, blur and prior."""
        sizes = self._sizes(sums)
        blur = sizes.reshape(-1, *(1,) * (scatter.ndim - 1)) * self.blur
        return scatter + sums.pair_scatter + blur + self.tau * prior

    def _sizes(self, sums: _MetricStatistics) -> Array:
        """Numbers of rows by metric."""
        return np.array([sums.sizes.sum()]) if self.n_metrics == 1 else sums.sizes

    def _objective(self, parameters: MetricParameters, sums: _MetricStatistics) -> float:
        metrics, sizes = parameters.metrics, self._sizes(sums)
        values = metrics.inner(sums.scatter + sums.pair_scatter) - sizes * metrics.rewards
        if sums.counted.any():
            values = values + sums.counted * self.largest.at(metrics)[0]
        total = float(values.sum()) + self.pairs.anchor_total(sums.nodes)
        if self.tau == 0:
            return total
        # (d + 1) Σ_h [tr(A_h Σ) - log det(A_h Σ) - d]
        log_det = _log_det(parameters.prior, full=self.full)
        away = metrics.inner(parameters.prior) - metrics.log_det - log_det - self.source.n_features
        return total + self.tau * float(away.sum())

    def update(self, now: Labeling[MetricParameters]) -> MetricParameters:
        """Update the centers, then the metrics."""
        old, sums = now.parameters, now.statistics
        centers = (old.centers + sums.offsets).astype(self.source.dtype)
        empty = np.flatnonzero(sums.sizes == 0)
        if len(empty):
            rows = self._farthest(now, len(empty))
            centers[empty[: len(rows)]] = rows
        if not self.learns:
            return MetricParameters(centers, old.metrics, old.prior)
        moved = self._outer(sums.offsets, sums.sizes)[None]
        if self.n_metrics > 1:
            moved = self._by_cluster(sums.offsets, sums.sizes)
        scatter = self._linear(sums.scatter - moved, sums, old.prior)
        mass = self._sizes(sums) + self.tau
        metrics = learn_metrics(old.metrics, scatter, mass, sums.counted, self.largest)
        return MetricParameters(centers, metrics, self._prior(metrics) if self.tau else old.prior)

    def _by_cluster(self, offsets: Array, sizes: Array) -> Array:
        """Return ``n_h v_h v_h'`` of every cluster, or its diagonal."""
        if self.full:
            return sizes[:, None, None] * offsets[:, :, None] * offsets[:, None, :]
        return sizes[:, None] * offsets**2

    def _prior(self, metrics: Metrics) -> Array:
        """Return the minimizer of ``Σ_h tr(A_h Σ) - log det Σ``: the inverse of the mean metric."""
        mean = metrics.values.mean(axis=0)
        if not self.full:
            return 1 / mean
        inverse = np.linalg.inv(mean)
        return (inverse + inverse.T) / 2

    def _farthest(self, now: Labeling[MetricParameters], n: int) -> Array:
        """Rows for empty clusters."""
        source, metrics = self.source, now.parameters.metrics

        def measure(row: int) -> Array:
            point = dense_rows(source, [row])[0].astype(np.float64)
            return squared_to_point(source, point, metrics, 0)

        costs = labeled_costs(source, now.parameters.centers, metrics, now.labels)
        chosen = farthest_rows(costs, n, measure, last=self.pairs.linked_rows)
        return dense_rows(source, chosen)


def best_metric(scatter: Array, mass: float, floor: Array) -> tuple[Array, float]:
    """Return ``N S⁻¹`` and its log-determinant, the minimizer of ``tr(A S) - N log det A``.

    A frozen farthest pair can make the scatter indefinite: where it is less than ``floor`` it is
    lifted.
    """
    d = len(scatter)
    if scatter.ndim == 1:
        lifted = np.maximum(scatter, floor)
        return mass / lifted, float(d * np.log(mass) - np.sum(np.log(lifted)))
    try:
        factor = cholesky(scatter, lower=True)
    except np.linalg.LinAlgError:
        lengths, axes = eigh(scatter, floor)  # axes' floor axes = I
        frame = floor @ axes
        factor = cholesky((frame * np.maximum(lengths, 1.0)) @ frame.T, lower=True)
    inverse = mass * cho_solve((factor, True), np.eye(d))
    log_det = d * np.log(mass) - 2 * np.sum(np.log(np.diag(factor)))
    return (inverse + inverse.T) / 2, float(log_det)


def learn_metrics(
    metrics: Metrics,
    scatter: Array,
    mass: Array,
    counted: Array,
    largest: MaxDistance,
) -> Metrics:
    """Take the metric step for every metric.

    Parameters
    ----------
    metrics : Metrics
        The metrics so far.
    scatter : ndarray of the shape of the metrics
        What is linear in the metrics.
    mass : ndarray of shape (g,)
        Factors of ``-log det``.
    counted : ndarray of shape (g,)
        Factors of the largest distance.
    largest : MaxDistance
        What stands for the largest distance.
    """
    _, forms = largest.at(metrics)
    sums = scatter + counted.reshape(-1, *(1,) * (scatter.ndim - 1)) * forms
    found = [best_metric(s, float(n), n * metrics.blur) for s, n in zip(sums, mass, strict=True)]
    values, log_dets = zip(*found, strict=True)
    candidate = Metrics(np.array(values), np.array(log_dets), metrics.blur)
    if largest.linear or not counted.any():
        return candidate
    return _safeguarded(metrics, candidate, scatter, mass, counted, largest)


def objectives(
    metrics: Metrics, scatter: Array, mass: Array, counted: Array, largest: MaxDistance
) -> Array:
    """Return ``tr(A S) - N log det A + c Dmax(A)`` of every metric."""
    return metrics.inner(scatter) - mass * metrics.log_det + counted * largest.at(metrics)[0]


def _safeguarded(
    old: Metrics,
    new: Metrics,
    scatter: Array,
    mass: Array,
    counted: Array,
    largest: MaxDistance,
) -> Metrics:
    """Go back halfway from the new metrics to the old ones until the objective has fallen.

    The farthest pair is updated for every try. Metrics for which nothing helps stay as they
    are; the objective is a sum over them.
    """
    before = objectives(old, scatter, mass, counted, largest)
    share = np.ones(len(mass))
    tried = new
    for _ in range(HALVINGS):
        risen = ~(objectives(tried, scatter, mass, counted, largest) <= before)
        if not risen.any():
            return tried
        share[risen] /= 2
        tried = _between(old, new, share)
    share[~(objectives(tried, scatter, mass, counted, largest) <= before)] = 0.0
    return _between(old, new, share)


def _between(old: Metrics, new: Metrics, share: Array) -> Metrics:
    """Return ``(1 - t) A_old + t A_new`` for every metric."""
    t = share.reshape(-1, *(1,) * (old.values.ndim - 1))
    values = (1 - t) * old.values + t * new.values
    log_det = _log_det(values, full=old.is_full)
    return Metrics(values, np.where(share == 0, old.log_det, log_det), old.blur)


def _log_det(values: Array, *, full: bool) -> Array:
    """Logarithm of the determinant of matrices, or of diagonals."""
    return np.linalg.slogdet(values)[1] if full else np.log(values).sum(axis=-1)
