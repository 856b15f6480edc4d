"""HMRF-KMeans: constrained k-means with learned divergences (Basu, Bilenko, Mooney 2004)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sidelight._fit.checks import check_n_clusters, check_weights
from sidelight._typing import Array
from sidelight.cluster._core._alternate import Alternated, alternate
from sidelight.cluster._core._base import _KMeansBase
from sidelight.cluster._core._lloyd import LloydResult
from sidelight.cluster.metric_kmeans._divergences import (
    Cosine,
    Divergence,
    KullbackLeibler,
    divergences,
    nearest_by_divergence,
)
from sidelight.cluster.metric_kmeans._hmrf_problem import DivergenceProblem
from sidelight.cluster.metric_kmeans._metric_rows import (
    label_by_metric,
    labelled_costs,
    metric_distances,
)
from sidelight.cluster.metric_kmeans._metrics import Metrics
from sidelight.cluster.metric_kmeans._mpck import full_metric
from sidelight.cluster.metric_kmeans._mpck_problem import MetricProblem
from sidelight.cluster.pairs._starts import START_ITERATIONS, Starts, check_penalty
from sidelight.constraints import Constraints
from sidelight.engine import RowSource
from sidelight.tags import MethodTags

Run = Callable[[Array, np.random.RandomState], Alternated]

DIVERGENCES = ("euclidean", "cosine", "kl")


class HMRFKMeans(_KMeansBase):
    """k-means on a hidden Markov random field: pairs teach distances, directions or counts.

    Minimises over labels ``l``, centres ``μ`` and weights ``a`` of the features::

        J = Σ_i D(x_i, μ_{l_i})  +  Σ_ML w_ij [l_i ≠ l_j] φ(x_i, x_j)
          + Σ_CL w_ij [l_i = l_j] ( φ_max - φ(x_i, x_j) )  +  prior(a)

    - ``"euclidean"``: :class:`MPCKMeans` with one metric for all clusters.
    - ``"cosine"``, for directions such as texts: ``D = φ = 1 - cos_A`` with ``A = diag(a)``.
    - ``"kl"``, for counts and frequencies: the I-divergence
      ``D = Σ_m a_m (x_m log(x_m/μ_m) - x_m + μ_m)`` and, between rows,
      ``φ = Σ_m a_m (x_m log(2x_m/(x_m+z_m)) + z_m log(2z_m/(x_m+z_m)))``.

    Rows without constraints go to the centre of the least divergence; the labels of constrained
    rows are improved one by one and must-link component by component. Centres are exact: means, or
    for the cosine the direction of ``Σ x / ‖x‖_A``. Weights are learned only where something is
    known; otherwise they stay 1, and this is k-means, spherical k-means or information-theoretic
    k-means. No step raises ``J``.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters ``k``.
    divergence : {"euclidean", "cosine", "kl"}, default="euclidean"
        How far a row is from a centre. Rows of zeros have no direction and are refused with
        ``"cosine"``, as negative values are with ``"kl"``.
    penalty : float, default=1.0
        Factor on the weights of all pairs.
    prior : float, default=1.0
        Strength of the prior that keeps the weights of the features near each other (``"cosine"``
        and ``"kl"``; see the notes).
    init : {"auto", "neighbourhoods", "k-means", "k-means++", "random"} or array of shape \
(n_clusters, n_features), default="auto"
        Where to start: the means of must-link components, some iterations of k-means with this
        divergence, greedy D² sampling, random rows, or these centres. ``"auto"`` starts once from
        the neighbourhoods and otherwise with k-means.
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
        Centres, in the element type of the rows; of unit length for the cosine.
    metrics_ : ndarray of shape (d,) or (d, d)
        Weights of the features; a matrix for ``"euclidean"`` with more than 10 rows per feature.
    labels_ : ndarray of int32, shape (n_samples,)
        Cluster of every row.
    inertia_ : float
        Sum of the divergences of the rows from the centres of their clusters.
    objective_ : float
        ``J`` at the end.
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
    MPCKMeans : The Euclidean case with all its choices.
    SphericalKMeans : The cosine without side information.

    Notes
    -----
    Basu, Bilenko, Mooney (2004), A probabilistic framework for semi-supervised clustering. The
    normaliser of the random field is dropped, as in the paper; what is minimised is this ``J``.
    The prior of the weights is ``κ Σ_m (a_m²/2 - log a_m)`` for ``"kl"`` (Rayleigh; its weight step
    has a closed form), where κ is ``prior`` times the mean over the features of the divergence of
    all rows from their common centre, and ``-κ Σ_m log(a_m/ā)`` for ``"cosine"``, where a common
    factor of the weights means nothing (steps along the gradient) and κ is a tenth of ``prior``
    times that divergence. ``φ_max`` is 1 for directions without negative values and 2
    otherwise; for ``"kl"`` it is the sum over features of the largest φ between two values of the
    feature, scaled once to the divergence of the two longest rows if they had nothing in common:
    linear in the weights, so that the weight step is exact. Known classes and groups cost this
    largest divergence times ``penalty`` for every row outside the cluster that stands for its class
    or group.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight import Constraints
    >>> from sidelight.cluster import HMRFKMeans
    >>> words = np.array([[4, 1, 0, 2], [3, 0, 1, 0], [0, 5, 2, 1], [1, 4, 0, 0], [2, 2, 0, 3]])
    >>> known = Constraints(must_link=[(2, 4)], n_samples=5)
    >>> model = HMRFKMeans(n_clusters=2, divergence="kl", random_state=0)
    >>> labels = model.fit_predict(words, constraints=known)
    >>> bool(labels[0] == labels[1] != labels[2] == labels[3] == labels[4])
    True
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        divergence: str = "euclidean",
        penalty: float = 1.0,
        prior: float = 1.0,
        init: Any = "auto",
        n_init: int = 10,
        max_iter: int = 100,
        tol: float = 1e-6,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.divergence = divergence
        self.penalty = penalty
        self.prior = prior
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose

    def __sidelight_tags__(self) -> MethodTags:
        return MethodTags(
            summary="k-means of distances, directions or counts that pairs teach",
            knowledge=("must-link", "cannot-link", "labels", "groups"),
            enforcement="soft",
            source="Basu, Bilenko, Mooney 2004",
            complexity="O(n k d + m (k + d)) per iteration with m pairs (entries that are not zero "
            "for CSR rows), O(n + m k) memory",
            monotone=True,
            sparse=True,
            out_of_core=True,
        )

    def fit(self, X: Any, y: Any = None, *, constraints: Constraints | None = None) -> Self:
        """Cluster the rows and learn the weights of the features.

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
        self : HMRFKMeans
            The fitted clusterer.
        """
        source = self._validate_rows(X, reset=True)
        known = self._check_constraints(constraints, y, source.n_rows)
        check_n_clusters(self.n_clusters, source.n_rows)
        self._check_choices()
        self._warn_of_contradictions(known)
        divergence = self._divergence()
        if divergence is None:
            run, polish = self._euclidean(source, known), None
        else:
            source = divergence.prepare(source, known.name_rows)
            run, polish = self._with_divergence(source, known, divergence)
        starts = Starts(source, known, self.init, self.n_init, polish)

        def start(number: int, chance: np.random.RandomState) -> Alternated:
            return run(starts.centers(number, self, chance), chance)

        return self._set_fitted_attributes(
            self._best_restart(starts.n_starts, start, source), known
        )

    def _check_choices(self) -> None:
        check_penalty(self.penalty)
        if isinstance(self.prior, (str, bool)) or not 0 < self.prior < np.inf:
            raise ValueError(f"prior must be a finite number above 0, got {self.prior!r}.")
        if self.divergence not in DIVERGENCES:
            raise ValueError(f"divergence must be one of {DIVERGENCES}, got {self.divergence!r}.")

    def _divergence(self) -> Divergence | None:
        """Return the divergence; squared distances in a metric are not one of them."""
        if self.divergence == "euclidean":
            return None
        return Cosine() if self.divergence == "cosine" else KullbackLeibler()

    def _alternate(self, problem: Any, state: Any, max_iter: int | None = None) -> Alternated:
        return alternate(
            problem,
            state,
            max_iter=self.max_iter if max_iter is None else max_iter,
            tol=self.tol,
            description="HMRFKMeans",
            verbose=self.verbose,
        )

    def _euclidean(self, source: RowSource, known: Constraints) -> Run:
        problem = MetricProblem(
            source,
            known,
            float(self.penalty),
            self.n_clusters,
            shared=True,
            full=full_metric(source),
            max_distance="bound",
            learn=not known.is_empty,
        )
        return lambda centers, chance: self._alternate(
            problem.with_chance(chance), problem.start(centers)
        )

    def _with_divergence(
        self, source: RowSource, known: Constraints, divergence: Divergence
    ) -> tuple[Run, Callable[[Array], Array]]:
        prices = float(self.penalty), float(self.prior)
        problem = DivergenceProblem(source, divergence, known, *prices, learn=not known.is_empty)
        nothing = Constraints(n_samples=source.n_rows)
        free = DivergenceProblem(source, divergence, nothing, *prices, learn=False)

        def run(centers: Array, chance: np.random.RandomState) -> Alternated:
            return self._alternate(problem.with_chance(chance), problem.start(centers))

        def polish(seeds: Array) -> Array:
            chance = np.random.RandomState(0)  # not asked: no row is visited in random order
            start = free.start(seeds)
            return self._alternate(free.with_chance(chance), start, START_ITERATIONS).centers

        return run, polish

    def _set_fitted_attributes(self, result: LloydResult, constraints: Constraints) -> Self:
        """Set the fitted attributes."""
        assert isinstance(result, Alternated)
        super()._set_fitted_attributes(result, constraints)
        if self.divergence == "euclidean":
            self.metrics_ = result.state.metrics.values[0]
        else:
            self.metrics_ = result.state.weights
        return self

    def predict(self, X: Any) -> Array:
        """Return the centre of the least divergence of every row.

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
        source, divergence = self._new_rows(X)
        if divergence is None:
            return label_by_metric(source, self.cluster_centers_, self._metric())
        return nearest_by_divergence(source, divergence, self.cluster_centers_, self.metrics_)[0]

    def transform(self, X: Any) -> Array:
        """Return the divergence of every row from every centre (for Euclidean, the distance).

        Parameters
        ----------
        X : array, CSR matrix or RowSource of shape (n_samples, n_features)
            New rows.

        Returns
        -------
        divergences : ndarray of shape (n_samples, n_clusters)
            Divergences under the learned weights, in the element type of the rows.
        """
        check_is_fitted(self)
        source, divergence = self._new_rows(X)
        if divergence is None:
            return metric_distances(source, self.cluster_centers_, self._metric())
        return divergences(source, divergence, self.cluster_centers_, self.metrics_)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return minus the sum of the divergences of the rows from their nearest centres.

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
            The larger (the closer to 0) the better.
        """
        check_is_fitted(self)
        source, divergence = self._new_rows(X)
        weights = check_weights(sample_weight, source)
        if divergence is None:
            labels = label_by_metric(source, self.cluster_centers_, self._metric())
            costs = labelled_costs(source, self.cluster_centers_, self._metric(), labels)
        else:
            costs = nearest_by_divergence(source, divergence, self.cluster_centers_, self.metrics_)[
                1
            ]
        return -float(np.sum(costs if weights is None else costs * weights))

    def _metric(self) -> Metrics:
        """Return the Euclidean metric; all clusters have the same reward."""
        return Metrics.fitted(self.metrics_, np.zeros(1))

    def _new_rows(self, X: Any) -> tuple[RowSource, Divergence | None]:
        source, divergence = self._validate_rows(X, reset=False), self._divergence()
        return source if divergence is None else divergence.prepare(source, None), divergence
