"""Balanced k-means: cluster a sample, populate, refine (Banerjee, Ghosh 2006)."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Annotated, Any, Literal, Self

import numpy as np

from sidelight._fit.parameters import (
    Count,
    FiniteNonNegative,
    Interval,
    Share,
    estimator,
    n_restarts,
)
from sidelight._typing import Array
from sidelight._words import setting
from sidelight.assignment import SizedAssignment, assign_sized
from sidelight.cluster._core._lloyd import ConstrainedRows, LloydResult, Relabeled, lloyd
from sidelight.cluster.balanced import _sample_size
from sidelight.cluster.balanced._base import _BalancedBase
from sidelight.cluster.balanced._populate import populate, refine
from sidelight.cluster.directional._directions import Geometry, row_costs
from sidelight.constraints import Constraints, SizeBounds
from sidelight.engine import RowSource, as_rows
from sidelight.exceptions import InvalidParameter
from sidelight.tags import MethodTags

#: Rows of every cluster that the sample should hold, as in table 8.1.
SAMPLED_PER_CLUSTER = 50


@estimator
class BalancedKMeans(_BalancedBase):
    """k-means with a minimum cluster size that always holds, for many rows.

    Minimizes::

        J = Σ_i d(x_i, μ_{l_i})   subject to   #{i : l_i = h} ≥ m for all h

    with ``d`` the squared distance or 1 minus the cosine (Constrained Clustering, section 8.2). A
    sample of the rows is clustered without regard to sizes; then all rows take part, and every
    iteration finds their cheapest assignment under the bound. With ``assignment="stable"``, as
    published, the other rows *populate* the clusters of the sample instead: each cluster gets the
    rows it lacks by deferred acceptance, a stable assignment (no row and cluster would rather have
    each other than what they have), and then every row goes to its nearest center. Then the
    clustering is *refined*: rows move alone out of clusters above the minimum size, or around
    cycles of clusters in which every row comes nearer; centers follow.
    Read more in the :doc:`user guide </cluster/sizes>`.

    Parameters
    ----------
    balance : float in [0, 1], default=0.9
        Minimum size of a cluster as a share of ``n / k`` rows: 0 for no bound, 1 for clusters of
        equal size (one row more or less).
    min_size : float >= 0, finite or None, default=None
        Minimum size ``m`` itself, instead of ``balance``: a number of rows, or a share of all rows.
        One number for all clusters; :class:`SizeConstrainedKMeans` takes one for each.
    sample_size : int >= 1 or None, default=None
        Number of rows that are clustered first, at least ``n_clusters``. By default the smallest
        number that holds 50 rows of every cluster of the minimum size with probability
        ``confidence``; all rows if there are not more.
    confidence : float in (0, 1), default=0.99
        Probability that the sample holds 50 rows of every cluster.
    assignment : {"flow", "stable"}, default="flow"
        The cheapest assignment of all under the bound, by
        :func:`sidelight.assignment.assign_sized`, or populate and refine as published: about three
        times as fast, but ``J`` ends 3 to 300 % higher when the sizes without a bound are uneven.
    init : {"auto", "k-means++", "k-means||", "farthest-first", "random"} or array, default="auto"
        Initial centers for the sample: greedy D² sampling, D² sampling of many rows a pass, rows
        far from each other, random rows, or an array of shape (n_clusters, n_features). ``"auto"``
        is ``"k-means||"`` from 1,000,000 sampled rows on, and ``"k-means++"`` below.
    n_init : int >= 1 or "auto", default=5
        Number of restarts with different samples and seeds; the best is kept. An array as ``init``
        is run once if all rows are sampled.
        ``"auto"`` takes 10 where starts are random, and 1 otherwise.
    max_iter : int >= 1, default=300
        Largest number of iterations on the sample, and of refinement on all rows.

    Attributes
    ----------
    size_bounds_ : ndarray of shape (n_clusters, 2)
        Smallest and largest size that every cluster may have.
    min_size_ : int
        Minimum size ``m`` of all clusters.
    n_sampled_ : int
        Number of rows in the sample.
    history_ : ndarray
        ``J`` at every iteration on all rows; never rises.
    n_iter_ : int
        Number of iterations on all rows.

    See Also
    --------
    SizeConstrainedKMeans : Lower and upper bounds, weights, and pairs too.
    SoftBalancedKMeans : Memberships whose sums over the rows are equal.

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

    _: KW_ONLY
    balance: Share = 0.9
    min_size: FiniteNonNegative | None = None
    sample_size: Count | None = None
    confidence: Annotated[float, Interval(0, 1, open_low=True, open_high=True)] = 0.99
    metric: Geometry = "euclidean"
    assignment: Literal["flow", "stable"] = "flow"

    def __sidelight_tags__(self) -> MethodTags:
        return self._method_tags(
            summary="k-means with a minimum size of clusters that always holds",
            enforcement="hard",
            source="Banerjee, Ghosh 2006; Constrained Clustering 8.2",
            complexity="O(n k (d + log n)) per iteration, O(n k) memory",
        )

    def fit(self, X: Any, y: Any = None, *, constraints: Constraints | None = None) -> Self:
        self._check_y_holds_labels(y)
        source, known = self._validate_fit(X, None, constraints)
        min_size = self._minimum(source.n_rows)
        n_sampled = self._sampled(source.n_rows, min_size)

        def run(number: int, random_state: np.random.RandomState) -> LloydResult:
            rows, sample = np.arange(source.n_rows), source
            if n_sampled < source.n_rows:
                rows = np.sort(random_state.choice(source.n_rows, n_sampled, replace=False))
                sample = as_rows(source.take(rows))  # directions are taken as unit rows
            start = self._start(sample, random_state, None)
            first = self._lloyd(sample, start, "BalancedKMeans, sample")
            labels = np.full(source.n_rows, -1, dtype=np.int32)
            labels[rows] = first.labels
            constrained = MinimumSizeRows(source, self.metric, self.assignment, min_size, labels)
            return self._lloyd(source, first.centers, "BalancedKMeans", constrained)

        again = isinstance(self.init, str) or n_sampled < source.n_rows
        best = self._best_restart(n_restarts(self) if again else 1, run, source)
        self.min_size_, self.n_sampled_ = min_size, n_sampled
        self.size_bounds_ = np.tile((float(min_size), float(source.n_rows)), (self.n_clusters, 1))
        return self._set_fitted_attributes(self._in_units(best), known)

    def _sized_labels(self, source: RowSource) -> Array:
        """Give every cluster its minimum share of the rows, as in the fit."""
        min_size = int(self.min_size_ / len(self.labels_) * source.n_rows + 1e-9)
        nowhere = np.full(source.n_rows, -1, dtype=np.int32)
        rows = MinimumSizeRows(source, self.metric, self.assignment, min_size, nowhere)
        return rows.relabel(self.cluster_centers_).labels

    def _minimum(self, n_rows: int) -> int:
        """Return the minimum size of a cluster."""
        if self.min_size is not None:
            return int(SizeBounds(self.min_size).resolve(self.n_clusters, n_rows)[0][0])
        # 0.9 * 30 / 3 is a little less than 9: rounding that must not cost a row.
        return int(self.balance * n_rows / self.n_clusters + 1e-9)

    def _sampled(self, n_rows: int, min_size: int) -> int:
        """Return the number of rows to sample."""
        if self.sample_size is not None:
            if self.sample_size < self.n_clusters:
                raise InvalidParameter(
                    f"{setting('sample_size')} must be at least {setting('n_clusters')} "
                    f"({self.n_clusters}), got {self.sample_size}."
                )
            return min(int(self.sample_size), n_rows)
        if min_size == 0:
            return n_rows  # nothing is known about the smallest cluster
        spread = n_rows / min_size
        enough = _sample_size.sample_size(
            self.n_clusters, SAMPLED_PER_CLUSTER, spread, confidence=self.confidence
        )
        return min(enough, n_rows)

    def _lloyd(
        self,
        source: RowSource,
        centers: Array,
        description: str,
        constrained: MinimumSizeRows | None = None,
    ) -> LloydResult:
        return lloyd(
            source,
            centers,
            constrained=constrained,
            project=self._project,
            max_iter=self.max_iter,
            tol=self.tol,
            description=description,
            verbose=self.verbose,
        )


class MinimumSizeRows(ConstrainedRows):
    """All rows of a run, constrained to clusters of a minimum size.

    Labels of one call are the start of the next.

    Parameters
    ----------
    source : RowSource
        The rows.
    geometry : {"euclidean", "cosine"}
        Cost of a row at a center.
    assignment : {"flow", "stable"}
        The cheapest assignment, or populate and refine.
    min_size : int
        Minimum size of a cluster.
    labels : ndarray of int32, shape (n,)
        Clusters of rows that are in one already, -1 for the others.
    """

    def __init__(
        self, source: RowSource, geometry: str, assignment: str, min_size: int, labels: Array
    ) -> None:
        self.rows = np.arange(source.n_rows)
        self._source = source
        self._geometry = geometry
        self._min_size = min_size
        self._exact = assignment == "flow"
        self._labels = labels
        self._populated = False
        self._flow: SizedAssignment | None = None

    def relabel(self, centers: Array, nearest: Array | None = None) -> Relabeled:
        """Return labels that meet the minimum, no dearer than those before, and no penalty."""
        costs = row_costs(self._source, centers, self._geometry)
        if self._exact:
            n, k = costs.shape
            bounds = np.full(k, self._min_size), np.full(k, n)
            self._flow = assign_sized(costs, *bounds, start=self._flow)
            return Relabeled(self._flow.labels)
        if not self._populated:
            self._labels = populate(costs, self._labels, self._min_size)
            self._populated = True
        refine(costs, self._labels, self._min_size)
        return Relabeled(self._labels.copy())
