"""MPCK-means: k-means that learns its metrics from violated constraints (Bilenko et al. 2004)."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Protocol, Self

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from sidelight._fit.parameters import estimator, n_restarts
from sidelight._fit.views import ScaledRows
from sidelight._typing import Array, FloatArray
from sidelight.cluster._core._distances import dense
from sidelight.cluster._core._lloyd import LloydResult
from sidelight.cluster._core._starts import Starts, check_centers
from sidelight.cluster.metric_kmeans._metric_problem import MetricParameters, MetricProblem
from sidelight.cluster.metric_kmeans._metrics import MetricDistances, Metrics, metric_pass
from sidelight.cluster.pairs._penalties import SHORT, _MovingPricesBase
from sidelight.constraints import Constraints
from sidelight.constraints.inner import contract
from sidelight.engine import RowSource, as_rows
from sidelight.tags import MethodTags

#: Seeds are chosen among at most this many rows; iterations of k-means on all of them follow.
SEED_ROWS = 20_000

#: A full matrix is learned where there are this many rows per feature, and not too many features.
ROWS_PER_FEATURE = 10
MAX_FEATURES = 1000


class CenterDistances(Protocol):
    """How far new rows are from fitted centers."""

    def labels(self, source: RowSource) -> Array:
        """Return the nearest center of every row (int32)."""

    def all(self, source: RowSource) -> Array:
        """Return the distances of all rows and centers in the type of the rows."""

    def costs(self, source: RowSource) -> Array:
        """Return the cost of every row at its nearest center (float64)."""


class _LearnedDistanceBase(_MovingPricesBase):
    """k-means whose distance is learned; ``_distances`` is the fitted one."""

    def _distances(self) -> CenterDistances:
        raise NotImplementedError

    def _fit_metric(
        self, problem: MetricProblem, source: RowSource, constraints: Constraints
    ) -> Self:
        """Fit all restarts, keep the best; learned metrics need starts independent of units."""
        if not problem.learns:
            return self._fit_problem(problem, source, constraints)
        starts = MetricStarts(problem, self.n_clusters, self.init, n_restarts(self), constraints)
        return self._fit_problem(problem, source, constraints, beginnings=starts)

    def predict(self, X: Any) -> Array:
        check_is_fitted(self)
        return self._distances().labels(self._validate_rows(X, reset=False))

    def transform(self, X: Any) -> Array:
        check_is_fitted(self)
        return self._distances().all(self._validate_rows(X, reset=False))

    def _predicted_costs(self, source: RowSource) -> Array:
        return self._distances().costs(source)


@estimator
class MPCKMeans(_LearnedDistanceBase):
    """Metric pairwise constrained k-means: learns the distance from violated pairs.

    Minimizes over labels ``l``, centers ``μ`` and metrics ``A_h``::

        J = Σ_i ( ‖x_i - μ_{l_i}‖²_A - log det A )                       A = A_{l_i}
          + Σ_ML w_ij [l_i ≠ l_j] ( ½ ‖x_i - x_j‖²_{A_{l_i}} + ½ ‖x_i - x_j‖²_{A_{l_j}} )
          + Σ_CL w_ij [l_i = l_j] ( Dmax(A) - ‖x_i - x_j‖²_A )

    with ``‖v‖²_A = v'Av`` and the largest distance ``Dmax(A) = max_pq ‖x_p - x_q‖²_A``. A violated
    must-link costs more the farther its rows are apart, a violated cannot-link the closer they are:
    features that keep such rows apart (together) lose (gain) weight. Rows without constraints go
    where ``‖x - μ_h‖²_{A_h} - log det A_h`` is least; the labels of constrained rows are improved
    one by one and must-link component by component; centers are means; metrics are
    ``A_h = n_h S_h⁻¹`` with the scatter of the cluster and of its violated pairs. No step raises
    ``J``. Read more in the :doc:`user guide </cluster/metric_kmeans>`.

    Parameters
    ----------
    metric_type : {"shared", "per-cluster"}, default="shared"
        One metric for all clusters, or one each. Metrics of clusters need about ``5 d`` rows per
        cluster and are drawn towards their mean.
    shape : {"auto", "full", "diagonal"}, default="auto"
        A matrix, or one weight per feature. ``"auto"`` is a matrix when there are more than 10 rows
        per feature and at most 1,000 features.
    max_distance : {"bound", "sweep", "exact"}, default="bound"
        What stands for ``Dmax``: an upper bound that is linear in the metric, so that the metric
        step is exact (its price is scaled once to that of the farthest pair); a far pair found by
        jumps from row to farthest row, O(n d); or the farthest pair, O(n² d) at worst. The last two
        accept a metric only where ``J`` falls with the updated pair.

    Attributes
    ----------
    metrics_ : ndarray
        The metric: shape (d, d) or (d,) when shared, with the number of clusters in front
        otherwise.
    inertia_ : float
        Sum of the squared distances of the rows to the centers of their clusters, in their metrics.
    objective_ : float
        ``J`` at the end, with the two small terms of the notes.

    See Also
    --------
    PCKMeans : The same with Euclidean distance and a fixed price per pair.
    HMRFKMeans : Learned distances for directions and counts.

    Notes
    -----
    Bilenko, Basu, Mooney (2004), Integrating constraints and metric learning in semi-supervised
    clustering; Basu, Davidson, Wagstaff (eds.), Constrained Clustering, section 4.4. Three things
    are ours. (1) The linear bound of ``Dmax``: with the farthest pair, its update after the
    metric step can raise ``J``. (2) Two terms in ``J`` that keep metrics finite, whatever the units
    of the features: every row is blurred by a thousandth of the covariance of the rows, which adds
    its trace in the metric to ``‖x - μ‖²_A`` (and in a feature that only few rows have, of variance
    ``v`` and range ``R``, by ``(R² - 60 v)/20`` where that is positive: a cluster for these rows
    alone would gain too much); and metrics of clusters are drawn to their mean ``Σ⁻¹`` by the prior
    ``(d + 1) Σ_h [tr(A_h Σ) - log det(A_h Σ) - d]``. (3) Known classes and groups: a row outside
    the cluster that stands for its class or group costs ``2 d`` times ``penalty``, the mean of
    ``‖x_i - x_j‖²_A`` inside a cluster.

    The units of the features do not matter: with columns multiplied by ``s`` the labels are the
    same and ``J`` is larger by ``2 n Σ log s``. For this, starts take turns to look at the rows in
    units of their own: the scatter inside must-link components, ranges and variances of the
    features; of all of them the lowest ``J`` is kept. Where the units of the rows do carry meaning,
    as with pixels, :class:`PCKMeans` uses them.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight import Constraints
    >>> from sidelight.cluster import MPCKMeans
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 60)
    >>> X = np.column_stack([y + 0.2 * rng.normal(size=120), 3 * rng.normal(size=120)])
    >>> known = Constraints.sample(y, 30, random_state=0)
    >>> model = MPCKMeans(n_clusters=2, shape="diagonal", random_state=0).fit(X, constraints=known)
    >>> bool(model.metrics_[0] > 50 * model.metrics_[1]), model.n_violations_
    (True, 0)
    """

    _: KW_ONLY
    metric_type: Literal["shared", "per-cluster"] = "shared"
    shape: Literal["auto", "full", "diagonal"] = "auto"
    max_distance: Literal["bound", "sweep", "exact"] = "bound"

    def __sidelight_tags__(self) -> MethodTags:
        return self._method_tags(
            summary="k-means that learns its metric from violated pairs",
            source="Bilenko, Basu, Mooney 2004; Constrained Clustering 4.4",
            complexity="O(n k d + m (k + d²)) per iteration with m pairs and one metric, "
            "O(n + m k) memory; O(n k d²) with a matrix per cluster",
        )

    def fit(self, X: Any, y: Any = None, *, constraints: Constraints | None = None) -> Self:
        source, known = self._validate_fit(X, y, constraints)
        self.penalty_ = self._factor
        problem = MetricProblem(
            source,
            known,
            self.penalty_,
            self.n_clusters,
            shared=self.metric_type == "shared",
            full=full_metric(source) if self.shape == "auto" else self.shape == "full",
            max_distance=self.max_distance,
        )
        return self._fit_metric(problem, source, known)

    def _set_fitted_attributes(self, result: LloydResult, constraints: Constraints) -> Self:
        super()._set_fitted_attributes(result, constraints)
        metrics = result.parameters.metrics
        self.metrics_ = metrics.values[0] if metrics.is_shared else metrics.values
        self._rewards = metrics.rewards
        return self

    def _distances(self) -> MetricDistances:
        """The metrics; rows are blurred as in the fit, which matters to metrics per cluster."""
        return MetricDistances.fitted(self.cluster_centers_, self.metrics_, self._rewards)


def full_metric(source: RowSource) -> bool:
    """Whether there are enough rows for a matrix."""
    n, d = source.shape
    return n > ROWS_PER_FEATURE * d and d <= MAX_FEATURES


# ------------------------------------------------------------------ where restarts begin


@dataclass(frozen=True)
class _View:
    """Where starts look at the rows from: units in which seeds are chosen, and a first metric."""

    spread: Array
    rows: ScaledRows
    starts: Starts


class MetricStarts:
    """Centers and metrics of the restarts, which do not depend on the units of the features.

    The objective hardly does: metrics follow whatever the rows are multiplied by. k-means does, and
    what begins at k-means in other units ends in another optimum. So starts look at the rows in
    units of their own, from several points of view in turn. Each has a spread, whose inverse is the
    first metric:

    - the scatter inside must-link components, drawn to the variances of the rows,
      ``(W + V) / (m + 1)`` with m degrees of freedom: what differs there tells no clusters apart;
    - for matrices, the same drawn to the covariance of the rows,
      ``(W + (d + 1) Σ) / (m + d + 1)``: linear maps change nothing;
    - the squared ranges of the features, and
    - their variances.

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
