"""Spherical k-means: clusters of directions (Dhillon, Modha 2001)."""

from __future__ import annotations

from dataclasses import replace
from typing import Self

import numpy as np

from sidelight._fit.parameters import estimator
from sidelight._typing import Array
from sidelight.cluster._core._lloyd import LloydResult
from sidelight.cluster.directional._directions import _DirectionsBase
from sidelight.cluster.kmeans import KMeans
from sidelight.constraints import Constraints
from sidelight.engine import RowSource
from sidelight.tags import MethodTags


@estimator
class SphericalKMeans(_DirectionsBase, KMeans):
    """k-means on directions: rows are compared by their cosine with unit centers.

    Minimizes::

        J = Σ_i w_i (1 - x_i·μ_{l_i} / ‖x_i‖),   ‖μ_h‖ = 1

    by turns: every row to the center of largest cosine, every center to the normalized sum of its
    unit rows (Constrained Clustering, section 8.3.2: hard EM of von Mises-Fisher distributions that
    share one concentration). That maximizes the mean cosine, the chapter's SOF. Rows of any length
    except zero are taken; they are divided by it as they are read, so that CSR stays CSR.
    Read more in the :doc:`user guide </cluster/directional>`.

    Parameters
    ----------
    init : {"auto", "k-means++", "k-means||", "farthest-first", "random"} or array, default="auto"
        Initial centers: greedy D² sampling of directions, D² sampling of many directions a pass,
        directions far from each other, random rows, or an array of shape (n_clusters, n_features).
        ``"auto"`` is ``"k-means||"`` from 1,000,000 rows on, and ``"k-means++"`` below.
    tol : float >= 0, default=0.0001
        Stop when the squared move of the centers is at most ``tol`` times the mean variance of the
        features of the unit rows. Unchanged labels always stop the loop.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Unit centers, in the element type of the rows.
    mean_cosine_ : float
        Weighted mean of the cosines of the rows with their centers (SOF); the larger the better.

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

    def __sidelight_tags__(self) -> MethodTags:
        return replace(
            super().__sidelight_tags__(),
            summary="k-means on directions (cosine), without side information",
            source="Dhillon, Modha 2001; Constrained Clustering 8.3.2",
            complexity="O(nnz k) per iteration, O(n + k d) memory",
            raw_columns=True,
        )

    def _fit_weighted(self, source: RowSource, known: Constraints, weights: Array | None) -> Self:
        super()._fit_weighted(source, known, weights)
        mass = source.n_rows if weights is None else np.sum(weights, dtype=np.float64)
        self.mean_cosine_ = 1 - self.objective_ / float(mass)
        return self

    def _set_fitted_attributes(self, result: LloydResult, constraints: Constraints) -> Self:
        return super()._set_fitted_attributes(self._in_units(result), constraints)
