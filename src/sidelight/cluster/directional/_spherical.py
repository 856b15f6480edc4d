"""Spherical k-means: clusters of directions (Dhillon, Modha 2001)."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from sidelight._fit.checks import check_n_clusters, check_weights
from sidelight.cluster._core._lloyd import LloydResult, lloyd
from sidelight.cluster.directional._directions import _DirectionsBase
from sidelight.constraints import Constraints
from sidelight.tags import MethodTags


class SphericalKMeans(_DirectionsBase):
    """k-means on directions: rows are compared by their cosine with unit centres.

    Minimises::

        J = Σ_i w_i (1 - x_i·μ_{l_i} / ‖x_i‖),   ‖μ_h‖ = 1

    by turns: every row to the centre of largest cosine, every centre to the normalised sum of its
    unit rows (Constrained Clustering, section 8.3.2: hard EM of von Mises-Fisher distributions that
    share one concentration). That maximises the mean cosine, the chapter's SOF. Rows of any length
    are taken; they are divided by it as they are read, so that CSR stays CSR.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters ``k``.
    init : {"k-means++", "random", "perturb"} or array of shape (n_clusters, n_features), \
default="k-means++"
        Where to start: greedy D² sampling of directions, random rows, the chapter's small random
        steps from the mean direction, or these centres.
    n_init : int, default=5
        Number of starts, of which the best is kept; one is enough when ``init`` is an array.
    max_iter : int, default=300
        At most this many iterations per start.
    tol : float, default=1e-4
        Stop when the squared move of the centres is at most ``tol`` times the mean variance of
        the features of the unit rows; labels that stand still stop it in any case.
    random_state : int, RandomState or None, default=None
        Source of chance.
    verbose : int, default=0
        Show progress.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Unit centres, in the element type of the rows.
    labels_ : ndarray of int32, shape (n_samples,)
        Cluster of every row: the centre of largest cosine.
    mean_cosine_ : float
        Weighted mean of the cosines of the rows with their centres (SOF); to be large.
    inertia_ : float
        ``J`` at the end.
    objective_ : float
        The same: what was minimised.
    history_ : ndarray
        ``J`` at every iteration; never rises.
    n_iter_ : int
        Number of iterations of the best start.
    converged_ : bool
        Whether labels or centres stood still before ``max_iter``.
    n_violations_ : int
        Number of stated constraints that the labels violate.

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

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        init: Any = "k-means++",
        n_init: int = 5,
        max_iter: int = 300,
        tol: float = 1e-4,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose

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
        """Cluster the rows by their directions.

        Parameters
        ----------
        X : array, CSR matrix or RowSource of shape (n_samples, n_features)
            The rows; none may be all zeros.
        y : object
            Ignored.
        constraints : Constraints, default=None
            Not used in fitting; ``n_violations_`` counts what the result violates.
        sample_weight : array of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        self : SphericalKMeans
            The fitted clusterer.
        """
        source, known = self._check_fit(X, constraints)
        weights = check_weights(sample_weight, source)
        check_n_clusters(self.n_clusters, source.n_rows)
        self._warn_of_unused(known, "HMRFKMeans uses them for directions.")

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
