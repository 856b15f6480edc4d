"""k-means without side information: the baseline of the family (Lloyd 1982)."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from sidelight.base import MethodTags, check_n_clusters
from sidelight.cluster._core._base import _KMeansBase, check_weights
from sidelight.cluster._core._lloyd import LloydResult, lloyd
from sidelight.constraints import Constraints


class KMeans(_KMeansBase):
    """k-means clustering by Lloyd's algorithm.

    Minimises ``J = Σ_i w_i ‖x_i - μ_{l_i}‖²`` over labels ``l`` and centres ``μ`` by turns: every
    row to its nearest centre, every centre to the mean of its rows (Law 2006, section 1.3.3.1).
    What is known about the rows is not used, but :attr:`n_violations_` counts what the clustering
    violates: the baseline for the methods that do listen.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters ``k``.
    init : {"k-means++", "farthest-first", "random"} or array of shape (n_clusters, n_features), \
default="k-means++"
        Where to start: greedy D² sampling, rows far from each other, random rows, or these centres.
    n_init : int, default=5
        Number of starts, of which the best is kept; one is enough when ``init`` is an array.
    max_iter : int, default=300
        At most this many iterations per start.
    tol : float, default=1e-4
        Stop when the squared move of the centres is at most ``tol`` times the mean variance of
        the features; labels that stand still stop it in any case.
    random_state : int, RandomState or None, default=None
        Source of chance.
    verbose : int, default=0
        Show progress.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Centres, in the element type of the rows.
    labels_ : ndarray of int32, shape (n_samples,)
        Cluster of every row: its nearest centre.
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

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.cluster import KMeans
    >>> X = np.array([[0.0, 0.0], [0.1, 0.0], [5.0, 5.0], [5.1, 5.0]])
    >>> model = KMeans(n_clusters=2, random_state=0).fit(X)
    >>> bool(model.labels_[0] == model.labels_[1] != model.labels_[2])
    True
    >>> float(round(model.inertia_, 6))
    0.01
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
            name="kmeans",
            family="cluster",
            summary="k-means without side information, the baseline",
            knowledge=(),
            enforcement="none",
            source="Lloyd 1982; k-means++: Arthur, Vassilvitskii 2007",
            complexity="O(n k d) per iteration, O(n + k d) memory",
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
        """Cluster the rows.

        Parameters
        ----------
        X : array, CSR matrix or RowSource of shape (n_samples, n_features)
            The rows.
        y : object
            Ignored.
        constraints : Constraints, default=None
            Not used in fitting; ``n_violations_`` counts what the result violates.
        sample_weight : array of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        self : KMeans
            The fitted clusterer.
        """
        source = self._check_source_rows(X, reset=True)
        known = self._check_constraints(constraints, None, source.n_rows)
        weights = check_weights(sample_weight, source)
        check_n_clusters(self.n_clusters, source.n_rows)
        self._check_loop()

        def run(number: int, random_state: np.random.RandomState) -> LloydResult:
            return lloyd(
                source,
                self._start(source, self.init, random_state, weights),
                sample_weight=weights,
                max_iter=self.max_iter,
                tol=self.tol,
                description="KMeans",
                verbose=self.verbose,
            )

        starts = self.n_init if isinstance(self.init, str) else 1
        return self._keep(self._best_restart(starts, run, source), known)
