"""k-means and k-medians with clusters of bounded size (Bradley, Bennett, Demiriz 2000)."""

from __future__ import annotations

from dataclasses import KW_ONLY, replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sidelight._fit.checks import check_weights
from sidelight._fit.moments import moments
from sidelight._fit.parameters import ArrayLike, FiniteNonNegative, Positive, estimator
from sidelight._typing import Array
from sidelight.cluster._core._lloyd import _KMeansBase
from sidelight.cluster.sized._geometry import Manhattan, SizedGeometry, Squares
from sidelight.cluster.sized._loop import (
    Assigner,
    SizedItems,
    SizedResult,
    TableAssigner,
    sized_lloyd,
)
from sidelight.cluster.sized._streamed import StreamedAssigner
from sidelight.constraints import Closure, Constraints, SizeBounds
from sidelight.engine import RowSource
from sidelight.exceptions import SidelightError
from sidelight.tags import MethodTags

#: Costs, rows times clusters, from which rows in memory are assigned in passes, too.
LARGE_TABLE = 100_000_000

SIZED_PARAMETERS = {
    "min_size": "Smallest size, for all clusters or as an array one for each. A fraction between 0 "
    "and 1 is a share of all rows. Sizes count rows, or add up ``row_sizes`` or ``sample_weight`` "
    "if ``fit`` gets them.",
    "max_size": "Largest size, for all clusters or as an array one for each, as ``min_size``. With "
    "``1 / n_clusters`` as both bounds, clusters differ by one row at most.",
    "tol": "Stop when the squared move of the centers is at most ``tol`` times the mean variance "
    "of the features. An objective that does not fall always stops the loop.",
    "time_limit": "Seconds for one assignment with rows that count differently or must be apart.",
}

SIZED_ATTRIBUTES = {
    "labels_ : ndarray of int32, shape (n_samples,)": "Cluster of every row, -1 for rows left out.",
    "cluster_sizes_ : ndarray of int, shape (n_clusters,)": "Sizes, within the bounds; floats if "
    "rows count differently.",
    "size_bounds_ : ndarray of shape (n_clusters, 2)": "Lower and upper bound of every cluster.",
    "inertia_ : float": "``J`` over the rows in clusters.",
    "objective_ : float": "``J`` with ``outlier_cost`` for the rows left out; it was minimized.",
    "assignment_gap_ : float": "Share of the objective by which the last assignment may be above "
    "the cheapest one: 0 except for large problems with rows that count differently or must be "
    "apart.",
}


@estimator
class _SizeConstrained(_KMeansBase):
    """Base of the size-constrained methods, which differ in their geometry."""

    _common_parameters: ClassVar = {**_KMeansBase._common_parameters, **SIZED_PARAMETERS}
    _common_attributes: ClassVar = {**_KMeansBase._common_attributes, **SIZED_ATTRIBUTES}
    _geometry: ClassVar[type[Squares] | type[Manhattan]]
    _has_inertia = True

    _: KW_ONLY
    min_size: FiniteNonNegative | ArrayLike | None = None
    max_size: FiniteNonNegative | ArrayLike | None = None
    outlier_cost: FiniteNonNegative | None = None
    time_limit: Positive = 10.0

    def __sidelight_tags__(self) -> MethodTags:
        return self._method_tags(
            summary="k-means with bounds on the sizes of clusters, assigned exactly",
            knowledge=("sizes", "must-link", "cannot-link", "labels", "groups"),
            enforcement="hard",
            source="Bradley, Bennett, Demiriz 2000; Constrained Clustering 9.2-9.6",
            complexity="O(n k d) and the assignment per iteration; memory O(n k), O(n) if large",
        )

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        constraints: Constraints | None = None,
        sample_weight: Any = None,
        row_sizes: Any = None,
    ) -> Self:
        """Cluster the rows within the bounds.

        Parameters
        ----------
        X : array, CSR matrix or RowSource of shape (n_samples, n_features)
            The rows; CSR matrices and rows on disk where the method takes them.
        y : array of shape (n_samples,), default=None
            Known classes, -1 where unknown.
        constraints : Constraints, default=None
            Side information about the rows: pairs, labels, groups.
        sample_weight : array of shape (n_samples,), default=None
            Weights of the rows, in the objective and in the sizes.
        row_sizes : array of shape (n_samples,), default=None
            Size of each row in its cluster, such as the people of a district; its weight by
            default.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        SidelightError
            If the bounds cannot be met; the message names the nearest ones that can.
        InconsistentConstraints, InfeasibleConstraints
            If the constraints contradict themselves, or cannot be met with so few clusters.
        """
        source, known = self._validate_fit(X, y, constraints)
        weights = check_weights(sample_weight, source, X)
        closure = known.closure()
        known.check_feasible(self.n_clusters)
        sizes = _row_sizes(row_sizes, weights, source)
        bounds = self._bounds(self.min_size, self.max_size, sizes, source.n_rows)
        _check_links(known, closure, sizes, bounds[1])
        geometry = self._geometry(source, weights)
        assigner = self._assigner(geometry, *bounds, sizes, closure)
        largest_move = self.tol * moments(source, weights).mean_variance if self.tol > 0 else 0.0

        def run(number: int, random_state: np.random.RandomState) -> SizedResult:
            return sized_lloyd(
                geometry,
                self._start(source, random_state, weights),
                assigner,
                outlier_cost=self.outlier_cost,
                max_iter=self.max_iter,
                largest_move=largest_move,
                description=type(self).__name__,
                verbose=self.verbose,
            )

        best = self._best_restart(self._n_starts, run, source)
        self._sizes = best.counts
        if sizes is not None:
            inside = best.labels >= 0
            self._sizes = np.bincount(best.labels[inside], sizes[inside], self.n_clusters)
        self.size_bounds_ = np.column_stack(bounds)
        gap = best.assignment.cost - best.assignment.bound
        self.assignment_gap_ = 0.0 if best.assignment.optimal else gap / best.objective
        return self._set_fitted_attributes(best, known)

    @property
    def cluster_sizes_(self) -> Array:
        """Size of every cluster: number of rows, or sum of their sizes or weights."""
        return self._sizes

    def predict_sized(
        self, X: Any, *, min_size: Any = None, max_size: Any = None, sample_weight: Any = None
    ) -> Array:
        """Return the cheapest clusters of new rows with bounds on how many come to each.

        ``predict`` takes the nearest centers, whatever the sizes.

        Parameters
        ----------
        X : array, CSR matrix or RowSource of shape (n_samples, n_features)
            New rows.
        min_size, max_size : int, float or array of shape (n_clusters,), default=None
            Bounds for these rows; the parameters of the clusterer where both are None.
        sample_weight : array of shape (n_samples,), default=None
            Weights of the rows, in the objective and in the sizes.

        Returns
        -------
        labels : ndarray of int32, shape (n_samples,)
            Cluster of every row.
        """
        check_is_fitted(self)
        source = self._validate_rows(X, reset=False)
        weights = check_weights(sample_weight, source, X)
        if min_size is None and max_size is None:
            min_size, max_size = self.min_size, self.max_size
        sizes = _row_sizes(None, weights, source)
        bounds = self._bounds(min_size, max_size, sizes, source.n_rows)
        centers = self.cluster_centers_.astype(source.dtype, copy=False)
        assigner = self._assigner(self._geometry(source, weights), *bounds, sizes, None)
        return assigner.assign(centers).labels

    def _bounds(
        self, min_size: Any, max_size: Any, sizes: Array | None, n_rows: int
    ) -> tuple[Array, Array]:
        total = n_rows if sizes is None else float(sizes.sum())
        return SizeBounds(min_size, max_size).resolve(
            self.n_clusters,
            total,
            weighted=sizes is not None,
            others_take=self.outlier_cost is not None,
        )

    def _assigner(
        self,
        geometry: SizedGeometry,
        lower: Array,
        upper: Array,
        sizes: Array | None,
        closure: Closure | None,
    ) -> Assigner:
        """Return what assigns the rows: in passes where a table of costs would be large."""
        source = geometry.source
        total = source.n_rows if sizes is None else sizes.sum()
        if np.all(lower <= 0) and np.all(upper >= total):
            sizes, upper = None, np.full(len(upper), float(source.n_rows))
        linked = closure is not None and len(closure.constrained_components()) > 0
        plain = sizes is None and not linked
        elsewhere = source.max_parallel is not None
        large = source.n_rows * len(lower) >= LARGE_TABLE
        if isinstance(geometry, Squares) and (elsewhere or (plain and large)):
            return StreamedAssigner(
                source,
                geometry.weights,
                sizes,
                lower,
                upper,
                closure,
                outlier_cost=self.outlier_cost,
                time_limit=self.time_limit,
            )
        items = SizedItems(
            lower,
            upper,
            sizes,
            closure,
            leaves_out=self.outlier_cost is not None,
            time_limit=self.time_limit,
        )
        return TableAssigner(geometry, items, self.outlier_cost)


@estimator
class SizeConstrainedKMeans(_SizeConstrained):
    """k-means with clusters of bounded size, every assignment the cheapest one there is.

    Minimizes over labels ``l`` and centers ``μ``::

        J = Σ_i w_i ‖x_i - μ_{l_i}‖²   subject to   min_size_h ≤ Σ_{i: l_i = h} s_i ≤ max_size_h

    by turns. At given centers the rows go where their squared distance plus a price of the cluster
    is least, at prices that are proved to be the right ones; the prices of the last assignment
    start the next one, so that a bounded iteration takes little longer than a free one.
    Read more in the :doc:`user guide </cluster/sizes>`.

    On rows without constraints it was worse with correct constraints than without any on
    glass and vowel, for some numbers of them (:doc:`the comparison of all methods
    </does_knowledge_help>`).

    Parameters
    ----------
    outlier_cost : float >= 0, finite or None, default=None
        Cost of leaving a row out (label -1) instead of its squared distance; rows that
        constraints mention are never left out. None: no row is left out.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Centers, in the element type of the rows.

    See Also
    --------
    SizeConstrainedKMedians : The same with the 1-norm.
    COPKMeans : Must-links and cannot-links without sizes, at any number.

    Notes
    -----
    Basu, Davidson, Wagstaff (eds.), Constrained Clustering, sections 9.2, 9.3 and 9.6; Bradley,
    Bennett, Demiriz (2000). Few rows in memory are assigned by an array of costs, ``n_samples ×
    n_clusters`` numbers in the precision of the rows. Rows on disk or in partitions are assigned in
    two or three passes per iteration, with a label for each and no such array, and so are rows in
    memory from 100,000,000 costs on where they count alike and no constraints are given: rows go
    where cost plus price is least, and only those that a small change of the prices could move are
    listed with their costs. The result is the same.

    Rows that count alike are assigned exactly, however many. Weights, ``row_sizes`` and must-links
    make items that count differently and must not be split, which is a knapsack; cannot-links make
    it a coloring. Small problems of this kind are solved by mixed integer programming (HiGHS), of
    large ones the items that the optimum for divisible items leaves in doubt;
    ``assignment_gap_`` bounds the excess cost. Several ten thousand rows with cannot-links are
    too many and raise an error.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.cluster import SizeConstrainedKMeans
    >>> X = np.array([[0.0], [0.1], [0.2], [0.3], [5.0], [9.0]])
    >>> model = SizeConstrainedKMeans(n_clusters=2, min_size=3, random_state=0).fit(X)
    >>> model.cluster_sizes_
    array([3, 3])
    >>> bool(model.labels_[3] == model.labels_[4] == model.labels_[5])
    True
    """

    _geometry = Squares


@estimator
class SizeConstrainedKMedians(_SizeConstrained):
    """k-medians with clusters of bounded size, every assignment the cheapest one there is.

    Minimizes over labels ``l`` and centers ``μ``::

        J = Σ_i w_i ‖x_i - μ_{l_i}‖₁   subject to   min_size_h ≤ Σ_{i: l_i = h} s_i ≤ max_size_h

    by turns: rows as in :class:`SizeConstrainedKMeans`, centers to the medians of every feature,
    the lower one of two. Read more in the :doc:`user guide </cluster/sizes>`.

    Parameters
    ----------
    outlier_cost : float >= 0, finite or None, default=None
        Cost of leaving a row out (label -1) instead of its distance; rows that constraints
        mention are never left out. None: no row is left out.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Medians, in the element type of the rows.

    Notes
    -----
    Basu, Davidson, Wagstaff (eds.), Constrained Clustering, sections 9.2 and 9.4. CSR rows stay
    sparse; the medians take the rows of one cluster at a time.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.cluster import SizeConstrainedKMedians
    >>> X = np.array([[0.0], [1.0], [2.0], [50.0], [51.0]])
    >>> model = SizeConstrainedKMedians(n_clusters=2, max_size=3, random_state=0).fit(X)
    >>> sorted(float(center) for center in model.cluster_centers_[:, 0])
    [1.0, 50.0]
    """

    _geometry = Manhattan

    _elsewhere = (
        "SizeConstrainedKMeans has means in place of medians, and reads rows block by block."
    )

    def __sidelight_tags__(self) -> MethodTags:
        return replace(
            super().__sidelight_tags__(),
            summary="k-medians (1-norm) with bounds on the sizes of clusters, assigned exactly",
            source="Bradley, Bennett, Demiriz 2000; Constrained Clustering 9.2, 9.4",
            complexity="O(n k d) and the assignment per iteration, O(n k) memory",
            out_of_core=False,
        )

    def predict(self, X: Any) -> Array:
        return np.argmin(self.transform(X), axis=1).astype(np.int32)

    def transform(self, X: Any) -> Array:
        check_is_fitted(self)
        source = self._validate_rows(X, reset=False)
        return Manhattan(source, None).distances(self.cluster_centers_.astype(source.dtype))

    def _predicted_costs(self, source: RowSource) -> Array:
        centers = self.cluster_centers_.astype(source.dtype)
        return Manhattan(source, None).distances(centers).min(axis=1).astype(np.float64)


def _row_sizes(row_sizes: Any, weights: Array | None, source: RowSource) -> Array | None:
    """Sizes of the rows: as given, or their weights; None for 1 each."""
    if row_sizes is None:
        return None if weights is None else weights.astype(np.float64)
    sizes = np.asarray(row_sizes, dtype=np.float64)
    if sizes.shape != (source.n_rows,) or not np.all(np.isfinite(sizes)) or np.any(sizes < 0):
        raise SidelightError(
            f"row_sizes must hold {source.n_rows} numbers that are finite and not negative."
        )
    return sizes


def _check_links(known: Constraints, closure: Closure, sizes: Array | None, upper: Array) -> None:
    """Raise if linked rows are more than any cluster may hold."""
    together = np.bincount(closure.component, sizes, minlength=closure.n_components)
    largest = int(np.argmax(together))
    if together[largest] <= upper.max() * (1 + 1e-9):
        return
    rows = np.flatnonzero(closure.component == largest)
    name = known.name_rows(rows[:1])[0]
    who = f"{name} and the {len(rows) - 1} rows linked to it" if len(rows) > 1 else name
    count = "counts" if len(rows) == 1 else "count"
    remedy = "split it" if len(rows) == 1 else "drop some of these must-links"
    raise SidelightError(
        f"{who} {count} {together[largest]:g}, but no cluster may hold more than {upper.max():g}: "
        f"allow max_size={together[largest]:g}, or {remedy}."
    )
