"""Balanced k-means: cluster a sample, populate, refine (Banerjee, Ghosh 2006)."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sidelight._fit.checks import check_n_clusters
from sidelight._typing import Array
from sidelight.assignment._sized import SizedAssignment, assign_sized
from sidelight.cluster._core._lloyd import LloydResult, lloyd
from sidelight.cluster.balanced import _sample_size
from sidelight.cluster.balanced._populate import populate, refine
from sidelight.cluster.directional._directions import _DirectionsBase
from sidelight.constraints import Constraints
from sidelight.constraints._sizes import SizeBounds
from sidelight.engine import RowSource, as_rows
from sidelight.exceptions import SidelightError
from sidelight.tags import MethodTags

ASSIGNMENTS = ("stable", "flow")

#: Rows of every cluster that the sample should hold, as in table 8.1.
SAMPLED_PER_CLUSTER = 50


class BalancedKMeans(_DirectionsBase):
    """k-means with a minimum cluster size that always holds, for many rows.

    Minimises::

        J = Σ_i d(x_i, μ_{l_i})   subject to   #{i : l_i = h} ≥ m for all h

    with ``d`` the squared distance or 1 minus the cosine (Constrained Clustering, section 8.2). A
    sample of the rows is clustered without regard to sizes. The others *populate* its clusters:
    each cluster gets what it lacks by deferred acceptance, a stable assignment (no row and cluster
    would rather have each other than what they have), and then every row goes to its nearest
    centre. Then the clustering is *refined*: rows move alone out of clusters that have more than
    they must, or around cycles of clusters in which every row comes nearer; centres follow.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters ``k``.
    balance : float, default=0.9
        Every cluster gets at least this share of ``n / k`` rows: 0 for no bound, 1 for clusters
        of equal size (one row more or less).
    min_size : int or float, default=None
        The minimum ``m`` itself, instead of ``balance``: a number of rows, or a share of all rows.
    sample_size : int, default=None
        Number of rows that are clustered first. Unless told, so many that :func:`sample_size`
        promises 50 from every cluster of the minimum size; all rows if there are not more.
    confidence : float, default=0.99
        Probability with which it does.
    geometry : {"euclidean", "cosine"}, default="euclidean"
        Squared distances and means, or directions as in :class:`SphericalKMeans`.
    assignment : {"stable", "flow"}, default="stable"
        Populate and refine as above, or the cheapest assignment of all under the bound by
        :func:`sidelight.assignment.assign_sized`: no dearer at the same centres.
    init : {"k-means++", "random", "perturb"} or array of shape (n_clusters, n_features), \
default="k-means++"
        Where the clustering of the sample starts; ``"perturb"`` for directions only.
    n_init : int, default=5
        Number of starts, of which the best is kept; each draws its own sample. One is enough when
        ``init`` is an array and all rows are sampled.
    max_iter : int, default=300
        At most this many iterations on the sample, and as many of refinement.
    tol : float, default=1e-4
        Stop when the squared move of the centres is at most ``tol`` times the mean variance of the
        features; labels that stand still stop it in any case.
    random_state : int, RandomState or None, default=None
        Source of chance.
    verbose : int, default=0
        Show progress.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Centres, in the element type of the rows.
    labels_ : ndarray of int32, shape (n_samples,)
        Cluster of every row.
    cluster_sizes_ : ndarray of int64, shape (n_clusters,)
        Number of rows of every cluster.
    size_bounds_ : ndarray of shape (n_clusters, 2)
        The smallest and the largest size that every cluster may have.
    min_size_ : int
        The minimum ``m`` that they meet.
    n_sampled_ : int
        Number of rows in the sample.
    inertia_ : float
        ``J`` at the end.
    objective_ : float
        The same: what was minimised.
    history_ : ndarray
        ``J`` at every iteration on all rows; never rises.
    n_iter_ : int
        Number of iterations on all rows.
    converged_ : bool
        Whether labels or centres stood still before ``max_iter``.
    n_violations_ : int
        Number of stated constraints that the labels violate.

    See Also
    --------
    SizeConstrainedKMeans : Lower and upper bounds, weights, and pairs too.
    SoftBalancedKMeans : Memberships whose sums over the rows are equal.
    sample_size : How many rows to sample.

    Notes
    -----
    Banerjee, Ghosh (2006), Scalable clustering algorithms with balancing constraints. When the
    sample leaves fewer rows than its small clusters lack, the farthest rows of its large clusters
    are set free to fill them: the chapter does not mention the case.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.cluster import BalancedKMeans
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0], [4.0], [9.0]])
    >>> model = BalancedKMeans(n_clusters=2, balance=1.0, random_state=0).fit(X)
    >>> model.cluster_sizes_
    array([3, 3])
    >>> BalancedKMeans(n_clusters=4, min_size=2).fit(X)
    Traceback (most recent call last):
    sidelight.exceptions.SidelightError: The minimum sizes add up to 8, more than the 6 rows: ask \
for at most 1 per cluster with 4 clusters, or for at most 3 clusters.
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        balance: float = 0.9,
        min_size: Any = None,
        sample_size: int | None = None,
        confidence: float = 0.99,
        geometry: str = "euclidean",
        assignment: str = "stable",
        init: Any = "k-means++",
        n_init: int = 5,
        max_iter: int = 300,
        tol: float = 1e-4,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.balance = balance
        self.min_size = min_size
        self.sample_size = sample_size
        self.confidence = confidence
        self.geometry = geometry
        self.assignment = assignment
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose

    def __sidelight_tags__(self) -> MethodTags:
        return MethodTags(
            summary="k-means with a minimum size of clusters that always holds",
            knowledge=("sizes",),
            enforcement="hard",
            source="Banerjee, Ghosh 2006; Constrained Clustering 8.2",
            complexity="O(n k (d + log n)) per iteration, O(n k) memory",
            monotone=True,
            sparse=True,
            out_of_core=True,
        )

    def fit(self, X: Any, y: Any = None, *, constraints: Constraints | None = None) -> Self:
        """Cluster the rows.

        Parameters
        ----------
        X : array, CSR matrix or RowSource of shape (n_samples, n_features)
            The rows; for directions none may be all zeros.
        y : object
            Ignored.
        constraints : Constraints, default=None
            Not used in fitting; ``n_violations_`` counts what the result violates.

        Returns
        -------
        self : BalancedKMeans
            The fitted clusterer.
        """
        self._check_geometry()
        source, known = self._check_fit(X, constraints)
        check_n_clusters(self.n_clusters, source.n_rows)
        if self.assignment not in ASSIGNMENTS:
            raise ValueError(f"assignment must be one of {ASSIGNMENTS}, got {self.assignment!r}.")
        self.min_size_ = self._minimum(source.n_rows)
        self.n_sampled_ = self._sampled(source.n_rows)
        self._warn_of_unused(known, "SizeConstrainedKMeans uses sizes and pairs together.")

        def run(number: int, random_state: np.random.RandomState) -> LloydResult:
            return self._sample_populate_refine(source, random_state)

        again = isinstance(self.init, str) or self.n_sampled_ < source.n_rows
        best = self._best_restart(self.n_init if again else 1, run, source)
        self._set_fitted_attributes(self._in_units(best), known)
        self.cluster_sizes_ = np.bincount(self.labels_, minlength=self.n_clusters)
        bounds = (float(self.min_size_), float(source.n_rows))
        self.size_bounds_ = np.tile(bounds, (self.n_clusters, 1))
        return self

    def predict(self, X: Any, *, balanced: bool = False) -> Array:
        """Return the clusters of new rows.

        Parameters
        ----------
        X : array, CSR matrix or RowSource of shape (n_samples, n_features)
            New rows.
        balanced : bool, default=False
            Whether every cluster has to get its share of the new rows, the same as in fitting; if
            not, rows go to the nearest centre.

        Returns
        -------
        labels : ndarray of int32, shape (n_samples,)
            Cluster of every row.
        """
        if not balanced:
            return super().predict(X)
        check_is_fitted(self)
        source = self._validate_rows(X, reset=False)
        min_size = int(self.min_size_ / len(self.labels_) * source.n_rows + 1e-9)
        held = _SizedRows(self, source, min_size, np.full(source.n_rows, -1, dtype=np.int32))
        return held.assign(self.cluster_centers_)[0]

    def _minimum(self, n_rows: int) -> int:
        """Return the least number of rows of a cluster."""
        if self.min_size is not None:
            if np.ndim(self.min_size) != 0:
                raise SidelightError(
                    "min_size is one number for all clusters; SizeConstrainedKMeans takes one for "
                    "each."
                )
            return int(SizeBounds(self.min_size).resolve(self.n_clusters, n_rows)[0][0])
        if not isinstance(self.balance, Real) or not 0 <= float(self.balance) <= 1:
            raise ValueError(f"balance must lie between 0 and 1, got {self.balance!r}.")
        # 0.9 * 30 / 3 is a little less than 9: rounding that must not cost a row.
        return int(self.balance * n_rows / self.n_clusters + 1e-9)

    def _sampled(self, n_rows: int) -> int:
        """Return the number of rows to sample."""
        if self.sample_size is None:
            if self.min_size_ == 0:
                return n_rows  # nothing is known about the smallest cluster
            enough = _sample_size.sample_size(
                self.n_clusters,
                SAMPLED_PER_CLUSTER,
                n_rows / self.min_size_,
                confidence=self.confidence,
            )
            return min(enough, n_rows)
        if not isinstance(self.sample_size, Integral) or self.sample_size < self.n_clusters:
            raise ValueError(
                f"sample_size must be a whole number of at least n_clusters ({self.n_clusters}), "
                f"got {self.sample_size!r}."
            )
        return min(int(self.sample_size), n_rows)

    def _sample_populate_refine(
        self, source: RowSource, random_state: np.random.RandomState
    ) -> LloydResult:
        rows, sample = None, source
        if self.n_sampled_ < source.n_rows:
            rows = np.sort(random_state.choice(source.n_rows, self.n_sampled_, replace=False))
            sample = as_rows(source.take(rows))  # directions are taken as unit rows
        first = self._loop(
            sample, self._start(sample, self.init, random_state, None), "BalancedKMeans, sample"
        )
        labels = first.labels
        if rows is not None:
            labels = np.full(source.n_rows, -1, dtype=np.int32)
            labels[rows] = first.labels
        held = _SizedRows(self, source, self.min_size_, labels)
        return self._loop(source, first.centers, "BalancedKMeans", held)

    def _loop(
        self,
        source: RowSource,
        centers: Array,
        description: str,
        held: _SizedRows | None = None,
    ) -> LloydResult:
        return lloyd(
            source,
            centers,
            held=held,
            project=self._project,
            max_iter=self.max_iter,
            tol=self.tol,
            description=description,
            verbose=self.verbose,
        )


class _SizedRows:
    """All rows, held to clusters of a minimum size."""

    def __init__(
        self, model: BalancedKMeans, source: RowSource, min_size: int, labels: Array
    ) -> None:
        self.rows = np.arange(source.n_rows)
        self._model = model
        self._source = source
        self._min_size = min_size
        self._labels = labels
        self._populated = False
        self._flow: SizedAssignment | None = None

    def assign(self, centers: Array) -> tuple[Array, float]:
        """Return labels that meet the minimum, no dearer than those before; nothing is violated."""
        costs = self._model._costs(self._source, centers)
        if self._model.assignment == "flow":
            n, k = costs.shape
            bounds = np.full(k, self._min_size), np.full(k, n)
            self._flow = assign_sized(costs, *bounds, start=self._flow)
            return self._flow.labels, 0.0
        if not self._populated:
            self._labels = populate(costs, self._labels, self._min_size)
            self._populated = True
        refine(costs, self._labels, self._min_size)
        return self._labels.copy(), 0.0
