"""Spherical k-means: clusters of directions (Dhillon, Modha 2001)."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Literal, Self

import numpy as np

from sidelight._fit.checks import check_weights
from sidelight._fit.parameters import ArrayLike, Count, NonNegative, Seed, Verbosity, estimator
from sidelight.cluster._core._lloyd import LloydResult, lloyd
from sidelight.cluster.directional._directions import _DirectionsBase
from sidelight.constraints import Constraints
from sidelight.tags import MethodTags


@estimator
class SphericalKMeans(_DirectionsBase):
    """k-means on directions: rows are compared by their cosine with unit centers.

    Minimizes::

        J = Σ_i w_i (1 - x_i·μ_{l_i} / ‖x_i‖),   ‖μ_h‖ = 1

    by turns: every row to the center of largest cosine, every center to the normalized sum of its
    unit rows (Constrained Clustering, section 8.3.2: hard EM of von Mises-Fisher distributions that
    share one concentration). That maximizes the mean cosine, the chapter's SOF. Rows of any length
    except zero are taken; they are divided by it as they are read, so that CSR stays CSR. Read more
    in the :doc:`user guide </cluster/directional>`.

    Parameters
    ----------
    init : {"k-means++", "farthest-first", "random"} or array, default="k-means++"
        Initial centers: greedy D² sampling of directions, directions far from each other, random
        rows, or an array of shape (n_clusters, n_features).
    tol : float >= 0, default=0.0001
        Stop when the squared move of the centers is at most ``tol`` times the mean variance of the
        features of the unit rows. Unchanged labels always stop the loop.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Unit centers, in the element type of the rows.
    mean_cosine_ : float
        Weighted mean of the cosines of the rows with their centers (SOF); the larger the better.
    inertia_ : float
        ``J`` at the end; equals ``objective_``.

    See Also
    --------
    BalancedKMeans : Clusters of directions with a minimum size.
    FrequencySensitiveKMeans : Clusters of directions that compete for rows.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.cluster import SphericalKMeans
    >>> X = np.array([[1.0, 0.1], [20.0, 0.0], [0.1, 3.0], [0.0, 0.5]])
    >>> model = SphericalKMeans(n_clusters=2, random_state=0).fit(X)
    >>> bool(model.labels_[0] == model.labels_[1] != model.labels_[2])
    True
    >>> float(round(model.mean_cosine_, 4))
    0.9993
    """

    n_clusters: Count = 8
    _: KW_ONLY
    init: Literal["k-means++", "farthest-first", "random"] | ArrayLike = "k-means++"
    n_init: Count = 5
    max_iter: Count = 300
    tol: NonNegative = 1e-4
    random_state: Seed = None
    verbose: Verbosity = 0

    def __sidelight_tags__(self) -> MethodTags:
        return MethodTags(
            summary="k-means on directions (cosine), without side information",
            knowledge=(),
            enforcement="none",
            source="Dhillon, Modha 2001; Constrained Clustering 8.3.2",
            complexity="O(nnz k) per iteration, O(n + k d) memory",
            monotone=True,
            sparse=True,
            out_of_core=True,
        )

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        constraints: Constraints | None = None,
        sample_weight: Any = None,
    ) -> Self:
        source, known = self._validate_fit(X, None, constraints)
        weights = check_weights(sample_weight, source)

        def run(number: int, random_state: np.random.RandomState) -> LloydResult:
            return lloyd(
                source,
                self._start(source, self.init, random_state, weights),
                sample_weight=weights,
                project=self._project,
                max_iter=self.max_iter,
                tol=self.tol,
                description="SphericalKMeans",
                verbose=self.verbose,
            )

        starts = self.n_init if isinstance(self.init, str) else 1
        self._set_fitted_attributes(self._in_units(self._best_restart(starts, run, source)), known)
        mass = source.n_rows if weights is None else float(np.sum(weights, dtype=np.float64))
        self.mean_cosine_ = 1 - self.inertia_ / mass
        return self
