"""HMRF-KMeans: constrained k-means with learned divergences (Basu, Bilenko, Mooney 2004)."""

from __future__ import annotations

from dataclasses import KW_ONLY
from functools import partial
from typing import Any, Literal, Self

import numpy as np

from sidelight._fit.parameters import FinitePositive, estimator
from sidelight._typing import Array
from sidelight.cluster._core._lloyd import LloydResult
from sidelight.cluster.metric_kmeans._divergence_problem import DivergenceProblem
from sidelight.cluster.metric_kmeans._divergences import (
    Cosine,
    Divergence,
    DivergenceDistances,
    KullbackLeibler,
)
from sidelight.cluster.metric_kmeans._metric_problem import MetricProblem
from sidelight.cluster.metric_kmeans._metrics import MetricDistances
from sidelight.cluster.metric_kmeans._mpck import CenterDistances, _LearnedDistanceBase, full_metric
from sidelight.cluster.pairs._penalties import SHORT, alternate_labels
from sidelight.constraints import Constraints
from sidelight.engine import RowSource
from sidelight.tags import MethodTags


@estimator
class HMRFKMeans(_LearnedDistanceBase):
    """k-means on a hidden Markov random field: learns divergences of rows from pairs.

    Minimizes over labels ``l``, centers ``μ`` and weights ``a`` of the features::

        J = Σ_i D(x_i, μ_{l_i})  +  Σ_ML w_ij [l_i ≠ l_j] φ(x_i, x_j)
          + Σ_CL w_ij [l_i = l_j] ( φ_max - φ(x_i, x_j) )  +  prior(a)

    - ``"euclidean"``: :class:`MPCKMeans` with one metric for all clusters, whatever the units of
      the features; without side information k-means, to which units matter.
    - ``"cosine"``, for directions such as texts: ``D = φ = 1 - cos_A`` with ``A = diag(a)``.
    - ``"kl"``, for counts and frequencies: the I-divergence
      ``D = Σ_m a_m (x_m log(x_m/μ_m) - x_m + μ_m)`` and, between rows,
      ``φ = Σ_m a_m (x_m log(2x_m/(x_m+z_m)) + z_m log(2z_m/(x_m+z_m)))``.

    Rows without constraints go to the center of the least divergence; the labels of constrained
    rows are improved one by one and must-link component by component. Centers are exact: means, or
    for the cosine the direction of ``Σ x / ‖x‖_A``. Weights are learned only where something is
    known; otherwise they stay 1, and this is k-means, spherical k-means or information-theoretic
    k-means. No step raises ``J``. Read more in the :doc:`user guide </cluster/metric_kmeans>`.

    On rows without constraints it was worse with correct constraints than without any on
    glass, for some numbers of them (:doc:`the comparison of all methods </does_knowledge_help>`).

    Parameters
    ----------
    divergence : {"euclidean", "cosine", "kl"}, default="euclidean"
        How far a row is from a center. Rows of zeros have no direction and are refused with
        ``"cosine"``, as negative values are with ``"kl"``.
    prior_strength : float > 0, finite, default=1.0
        Strength of the prior that keeps the weights of the features near each other (``"cosine"``
        and ``"kl"``; see the notes).

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Centers, in the element type of the rows; of unit length for the cosine.
    metrics_ : ndarray of shape (d,) or (d, d)
        Weights of the features; a matrix for ``"euclidean"`` with more than 10 rows per feature.
    inertia_ : float
        Sum of the divergences of the rows from the centers of their clusters.

    See Also
    --------
    MPCKMeans : The Euclidean case with all its choices.
    SphericalKMeans : The cosine without side information.

    Notes
    -----
    Rows of a must-link component whose directions cancel (their sum is 0) cost 1 each on average
    whatever the center; a center of such rows alone keeps the direction that it had. All sums are
    in float64, and no divergence of dense rows is a difference of large numbers, so that rows that
    are almost the same are separated.

    Basu, Bilenko, Mooney (2004), A probabilistic framework for semi-supervised clustering. The
    normalizer of the random field is dropped, as in the paper; what is minimized is this ``J``. The
    prior of the weights is ``κ Σ_m (a_m²/2 - log a_m)`` for ``"kl"`` (Rayleigh; its weight step has
    a closed form), where κ is ``prior_strength`` times the mean over the features of the divergence
    of all rows from their common center, and ``-κ Σ_m log(a_m/ā)`` for ``"cosine"``, where a common
    factor of the weights means nothing (steps along the gradient) and κ is a tenth of
    ``prior_strength`` times that divergence. ``φ_max`` is 1 for directions without negative values
    and 2 otherwise; for ``"kl"`` it is the sum over features of the largest φ between two values of
    the feature, scaled once to the divergence of the two longest rows if they had nothing in
    common: linear in the weights, so that the weight step is exact. Known classes and groups cost
    this largest divergence times ``penalty`` for every row outside the cluster that stands for its
    class or group.

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

    _: KW_ONLY
    divergence: Literal["euclidean", "cosine", "kl"] = "euclidean"
    prior_strength: FinitePositive = 1.0

    def __sidelight_tags__(self) -> MethodTags:
        return self._method_tags(
            summary="k-means that learns distances, directions or counts from pairs",
            source="Basu, Bilenko, Mooney 2004",
            complexity="O(n k d + m (k + d)) per iteration with m pairs (entries that are not zero "
            "for CSR rows), O(n + m k) memory",
        )

    def fit(self, X: Any, y: Any = None, *, constraints: Constraints | None = None) -> Self:
        source, known = self._validate_fit(X, y, constraints)
        self.penalty_ = self._factor
        self._dtype = source.dtype  # of the centers, which are in float64 until the end
        divergence = self._divergence()
        if divergence is None:
            return self._fit_metric(self._euclidean_problem(source, known), source, known)
        source = divergence.prepare(source, known.name_rows)
        nothing = Constraints(n_samples=source.n_rows)
        polish = partial(self._polish, self._problem(source, nothing, divergence))
        problem = self._problem(source, known, divergence)
        return self._fit_problem(problem, source, known, polish=polish)

    def _divergence(self) -> Divergence | None:
        """Return the divergence; squared distances in a metric are not one of them."""
        if self.divergence == "euclidean":
            return None
        return Cosine() if self.divergence == "cosine" else KullbackLeibler()

    def _euclidean_problem(self, source: RowSource, known: Constraints) -> MetricProblem:
        return MetricProblem(
            source,
            known,
            self.penalty_,
            self.n_clusters,
            shared=True,
            full=full_metric(source),
            max_distance="bound",
            learn=not known.is_empty,
        )

    def _problem(
        self, source: RowSource, known: Constraints, divergence: Divergence
    ) -> DivergenceProblem:
        learn = not known.is_empty
        return DivergenceProblem(
            source, divergence, known, self.penalty_, float(self.prior_strength), learn=learn
        )

    def _polish(self, free: DivergenceProblem, seeds: Array) -> Array:
        """Return the centers after some iterations without constraints."""
        return alternate_labels(
            free,
            free.start(seeds),
            np.random.RandomState(0),  # not asked: no row is labeled in random order
            max_iter=SHORT,
            tol=self.tol,
            description="HMRFKMeans",
            verbose=self.verbose,
        ).centers

    def _set_fitted_attributes(self, result: LloydResult, constraints: Constraints) -> Self:
        super()._set_fitted_attributes(result, constraints)
        self.cluster_centers_ = self.cluster_centers_.astype(self._dtype, copy=False)
        found = result.parameters
        self.metrics_ = found.metrics.values[0] if self.divergence == "euclidean" else found.weights
        return self

    def _validate_rows(self, X: Any, *, reset: bool) -> RowSource:
        """Check rows; new ones are prepared here, those of a fit with their names there."""
        source, divergence = super()._validate_rows(X, reset=reset), self._divergence()
        return source if reset or divergence is None else divergence.prepare(source, None)

    def _distances(self) -> CenterDistances:
        divergence = self._divergence()
        if divergence is None:
            return MetricDistances.fitted(self.cluster_centers_, self.metrics_, np.zeros(1))
        return DivergenceDistances(divergence, self.cluster_centers_, self.metrics_)
