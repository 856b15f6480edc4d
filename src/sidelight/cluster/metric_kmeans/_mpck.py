"""MPCK-means: k-means that learns its metrics from violated constraints (Bilenko et al. 2004)."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sidelight._fit.checks import check_n_clusters, check_weights
from sidelight._typing import Array
from sidelight.cluster._core._alternate import Alternated, alternate
from sidelight.cluster._core._base import _KMeansBase
from sidelight.cluster._core._lloyd import LloydResult
from sidelight.cluster.metric_kmeans._max_distance import MAX_DISTANCES
from sidelight.cluster.metric_kmeans._metric_rows import (
    label_by_metric,
    labelled_costs,
    metric_distances,
)
from sidelight.cluster.metric_kmeans._metrics import Metrics
from sidelight.cluster.metric_kmeans._mpck_problem import MetricProblem
from sidelight.cluster.pairs._starts import Starts, check_penalty
from sidelight.constraints import Constraints
from sidelight.engine import RowSource
from sidelight.tags import MethodTags

METRICS = ("shared", "per-cluster")
SHAPES = ("auto", "full", "diagonal")

#: A full matrix is learned where there are this many rows per feature, and not too many features.
ROWS_PER_FEATURE = 10
MOST_FEATURES = 1000


class MPCKMeans(_KMeansBase):
    """Metric pairwise constrained k-means: violated pairs teach how to measure distance.

    Minimises over labels ``l``, centres ``μ`` and metrics ``A_h``::

        J = Σ_i ( ‖x_i - μ_{l_i}‖²_A - log det A )                       A = A_{l_i}
          + Σ_ML w_ij [l_i ≠ l_j] ( ½ ‖x_i - x_j‖²_{A_{l_i}} + ½ ‖x_i - x_j‖²_{A_{l_j}} )
          + Σ_CL w_ij [l_i = l_j] ( Dmax(A) - ‖x_i - x_j‖²_A )

    with ``‖v‖²_A = v'Av`` and the largest distance ``Dmax(A) = max_pq ‖x_p - x_q‖²_A``. A violated
    must-link costs more the farther its rows are apart, a violated cannot-link the closer they are:
    features that keep such rows apart (together) lose (gain) weight. Rows without constraints go
    where ``‖x - μ_h‖²_{A_h} - log det A_h`` is least; the labels of constrained rows are improved
    one by one and must-link component by component; centres are means; metrics are
    ``A_h = n_h S_h⁻¹`` with the scatter of the cluster and of its violated pairs. No step raises
    ``J``.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters ``k``.
    metric : {"shared", "per-cluster"}, default="shared"
        One metric for all clusters, or one each. Metrics of clusters need about ``5 d`` rows per
        cluster and are drawn towards their mean.
    shape : {"auto", "full", "diagonal"}, default="auto"
        A matrix, or one weight per feature. ``"auto"`` is a matrix when there are more than 10 rows
        per feature and at most 1,000 features.
    max_distance : {"bound", "sweep", "exact"}, default="bound"
        What stands for ``Dmax``: an upper bound that is linear in the metric, so that the metric
        step is exact (its price is scaled once to that of the farthest pair); a far pair found by
        jumps from row to farthest row, O(n d); or the farthest pair, O(n² d) at worst. The last two
        accept a metric only where ``J`` falls with the pair chosen anew.
    penalty : float, default=1.0
        Factor on the weights of all pairs. It has no unit: distances are measured in the learned
        metric.
    init : {"auto", "neighbourhoods", "k-means", "k-means++", "random"} or array of shape \
(n_clusters, n_features), default="auto"
        Where to start: the means of must-link components, some iterations of k-means, greedy D²
        sampling, random rows, or these centres. ``"auto"`` starts once from the neighbourhoods and
        otherwise with k-means: metrics that are learned from seeds alone mislead.
    n_init : int, default=10
        Number of starts, of which the best is kept; one is enough when ``init`` is an array.
    max_iter : int, default=100
        At most this many iterations per start.
    tol : float, default=1e-6
        Stop when no label changes and ``J`` falls by less than this share of its size.
    random_state : int, RandomState or None, default=None
        Source of chance.
    verbose : int, default=0
        Show progress.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Centres, in the element type of the rows.
    metrics_ : ndarray of float64
        The metric: shape (d, d) or (d,) when shared, with the number of clusters in front
        otherwise.
    labels_ : ndarray of int32, shape (n_samples,)
        Cluster of every row.
    inertia_ : float
        Sum of the squared distances to the centres of the clusters, in their metrics.
    objective_ : float
        ``J`` at the end, with the two small terms of the notes.
    history_ : ndarray
        ``J`` at every iteration; never rises.
    n_iter_ : int
        Number of iterations of the best start.
    converged_ : bool
        Whether labels and objective stood still before ``max_iter``.
    n_violations_ : int
        Number of stated constraints that the labels violate; ``constraints.violations(labels_)``
        tells which.

    See Also
    --------
    PCKMeans : The same with Euclidean distance and a fixed price per pair.
    HMRFKMeans : Learned distances for directions and counts.

    Notes
    -----
    Bilenko, Basu, Mooney (2004), Integrating constraints and metric learning in semi-supervised
    clustering; Basu, Davidson, Wagstaff (eds.), Constrained Clustering, section 4.4. Three things
    are ours. (1) The linear bound of ``Dmax``: with the farthest pair, choosing it anew after the
    metric step can raise ``J``. (2) Two terms in ``J`` that keep metrics finite, whatever the units
    of the features: every row is blurred by a thousandth of the covariance of the rows, which adds
    its trace in the metric to ``‖x - μ‖²_A``; and metrics of clusters are drawn to their mean
    ``Σ⁻¹`` by the prior ``(d + 1) Σ_h [tr(A_h Σ) - log det(A_h Σ) - d]``. (3) Known classes and
    groups: a row outside the cluster that stands for its class or group costs ``2 d`` times
    ``penalty``, the mean of ``‖x_i - x_j‖²_A`` inside a cluster. The first metric is the identity
    over the mean variance of the features.

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

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        metric: str = "shared",
        shape: str = "auto",
        max_distance: str = "bound",
        penalty: float = 1.0,
        init: Any = "auto",
        n_init: int = 10,
        max_iter: int = 100,
        tol: float = 1e-6,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.metric = metric
        self.shape = shape
        self.max_distance = max_distance
        self.penalty = penalty
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose

    def __sidelight_tags__(self) -> MethodTags:
        return MethodTags(
            summary="k-means that learns its metric from violated pairs",
            knowledge=("must-link", "cannot-link", "labels", "groups"),
            enforcement="soft",
            source="Bilenko, Basu, Mooney 2004; Constrained Clustering 4.4",
            complexity="O(n k d + m (k + d²)) per iteration with m pairs and one metric, "
            "O(n + m k) memory; O(n k d²) with a matrix per cluster",
            monotone=True,
            sparse=True,
            out_of_core=True,
        )

    def fit(self, X: Any, y: Any = None, *, constraints: Constraints | None = None) -> Self:
        """Cluster the rows and learn the metrics.

        Parameters
        ----------
        X : array, CSR matrix or RowSource of shape (n_samples, n_features)
            The rows.
        y : array of shape (n_samples,), default=None
            Known classes, -1 where unknown.
        constraints : Constraints, default=None
            What is known about the rows.

        Returns
        -------
        self : MPCKMeans
            The fitted clusterer.
        """
        source = self._validate_rows(X, reset=True)
        known = self._check_constraints(constraints, y, source.n_rows)
        check_n_clusters(self.n_clusters, source.n_rows)
        self._check_choices()
        self._warn_of_contradictions(known)
        problem = MetricProblem(
            source,
            known,
            float(self.penalty),
            self.n_clusters,
            shared=self.metric == "shared",
            full=full_metric(source) if self.shape == "auto" else self.shape == "full",
            max_distance=self.max_distance,
        )
        starts = Starts(source, known, self.init, self.n_init)

        def run(number: int, random_state: np.random.RandomState) -> Alternated:
            centers = starts.centers(number, self, random_state)
            return alternate(
                problem.with_chance(random_state),
                problem.start(centers),
                max_iter=self.max_iter,
                tol=self.tol,
                description="MPCKMeans",
                verbose=self.verbose,
            )

        return self._set_fitted_attributes(self._best_restart(starts.n_starts, run, source), known)

    def _set_fitted_attributes(self, result: LloydResult, constraints: Constraints) -> Self:
        """Set the fitted attributes."""
        assert isinstance(result, Alternated)
        super()._set_fitted_attributes(result, constraints)
        metrics: Metrics = result.state.metrics
        self.metrics_ = metrics.values[0] if metrics.is_shared else metrics.values
        self._rewards = metrics.rewards
        return self

    def _check_choices(self) -> None:
        check_penalty(self.penalty)
        for name, choices in (
            ("metric", METRICS),
            ("shape", SHAPES),
            ("max_distance", MAX_DISTANCES),
        ):
            if getattr(self, name) not in choices:
                raise ValueError(f"{name} must be one of {choices}, got {getattr(self, name)!r}.")

    def predict(self, X: Any) -> Array:
        """Return the cluster with the least ``‖x - μ_h‖²_{A_h} - log det A_h`` for every row.

        Rows are blurred here as in the fit, which matters only to metrics per cluster.

        Parameters
        ----------
        X : array, CSR matrix or RowSource of shape (n_samples, n_features)
            New rows.

        Returns
        -------
        labels : ndarray of int32, shape (n_samples,)
            Cluster of every row.
        """
        check_is_fitted(self)
        source = self._validate_rows(X, reset=False)
        metrics = Metrics.fitted(self.metrics_, self._rewards)
        return label_by_metric(source, self.cluster_centers_, metrics)

    def transform(self, X: Any) -> Array:
        """Return the distance ``‖x - μ_h‖_{A_h}`` of every row to every centre.

        Parameters
        ----------
        X : array, CSR matrix or RowSource of shape (n_samples, n_features)
            New rows.

        Returns
        -------
        distances : ndarray of shape (n_samples, n_clusters)
            Distances in the learned metrics, in the element type of the rows.
        """
        check_is_fitted(self)
        source = self._validate_rows(X, reset=False)
        metrics = Metrics.fitted(self.metrics_, self._rewards)
        return metric_distances(source, self.cluster_centers_, metrics)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return minus the sum of ``‖x - μ_h‖²_{A_h} - log det A_h`` at the predicted clusters.

        Parameters
        ----------
        X : array, CSR matrix or RowSource of shape (n_samples, n_features)
            New rows.
        y : object
            Ignored.
        sample_weight : array of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        score : float
            The larger the better.
        """
        check_is_fitted(self)
        source = self._validate_rows(X, reset=False)
        weights = check_weights(sample_weight, source)
        centers, metrics = self.cluster_centers_, Metrics.fitted(self.metrics_, self._rewards)
        labels = label_by_metric(source, centers, metrics)
        costs = labelled_costs(source, centers, metrics, labels)
        costs -= metrics.of_clusters(metrics.rewards, len(centers))[labels]
        return -float(np.sum(costs if weights is None else costs * weights))


def full_metric(source: RowSource) -> bool:
    """Whether there are enough rows for a matrix."""
    n, d = source.shape
    return n > ROWS_PER_FEATURE * d and d <= MOST_FEATURES
