"""Lloyd's algorithm on blocks of rows, and what estimators that run it share.

Minimizes

    J(μ, l) = Σ_i w_i ‖x_i - μ_{l_i}‖² + penalty(l)

by turns over the labels and the centers. One pass over the rows does both: a product with the
centers, and tile by tile the nearest centers and the sums
(:mod:`sidelight.cluster._core._distances`).
"""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Generic, Literal, NamedTuple, Self, TypeVar

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from sidelight._fit.alternation import Alternation, alternate
from sidelight._fit.checks import check_weights
from sidelight._fit.few_rows import FewRows
from sidelight._fit.lowest import is_lower
from sidelight._fit.moments import moments
from sidelight._fit.parameters import (
    ArrayLike,
    Count,
    NonNegative,
    Restarts,
    Seed,
    Verbosity,
    estimator,
    n_restarts,
)
from sidelight._fit.tiles import EqualWeights
from sidelight._typing import Array
from sidelight._warn import warn
from sidelight._words import setting, worded
from sidelight.base import CLUSTERER_ATTRIBUTES, Clusterer
from sidelight.base.inner import by_rows
from sidelight.cluster._core._distances import (
    center_distances,
    dense_rows,
    distances_to,
    farthest_rows,
    labeled_distances,
    map_tiles,
    nearest_centers,
    squared_distances,
)
from sidelight.cluster._core._passes import BoundedPass, LabelsOfFew, one_pass, pass_arguments
from sidelight.cluster._core._starts import initial_centers
from sidelight.constraints import Constraints
from sidelight.engine import RowSource
from sidelight.engine.inner import count_codes, one_thread_blas, total_of
from sidelight.tags import SOFT_TAGS

Project = Callable[[Array, Array], Array]
Parameters = TypeVar("Parameters")

#: Bounds pay once few rows change their label, and when there is enough to skip.
MAX_CHANGED_SHARE = 0.01
WORTH_BOUNDS = 2e7


class Relabeled(NamedTuple):
    """Labels of constrained rows at some centers.

    Attributes
    ----------
    labels : ndarray of int
        Labels of the rows.
    penalty : float
        Penalty of these labels.
    corrections : tuple of ndarray
        What the labels add to sums in which every row is with its nearest center: to those of
        offsets ``x - μ`` and of weights by cluster, and of squared offsets.
    """

    labels: Array
    penalty: float = 0.0
    corrections: tuple[Array, ...] = ()


class ConstrainedRows:
    """Rows whose label is not simply the nearest center, during one restart.

    Attributes
    ----------
    rows : ndarray of int
        Their positions, ascending.
    begin_nearest : bool
        Whether a pass over all rows first finds the nearest centers of these rows too, and its sums
        are corrected for those that go elsewhere. That pays where these are few.
    """

    rows: Array
    begin_nearest: ClassVar[bool] = False

    def relabel(self, centers: Array, nearest: Array | None = None) -> Relabeled:
        """Label these rows at these centers.

        Parameters
        ----------
        centers : ndarray of shape (k, n_features)
            The centers.
        nearest : ndarray of int, default=None
            Nearest centers of these rows, for rows that ``begin_nearest``.
        """
        raise NotImplementedError

    def farthest(self, centers: Array, n: int) -> Array:
        """Return at most ``n`` of these rows, as points, for clusters that are empty."""
        return centers[:0]


@dataclass(frozen=True)
class LloydResult:
    """Final state of Lloyd's algorithm, or another alternation of its kind.

    Attributes
    ----------
    centers : ndarray of shape (k, n_features)
        Centers, in the element type of the rows.
    labels : ndarray of int32, shape (n_rows,)
        Labels at these centers.
    inertia, penalty : float
        The two parts of the objective at these centers and labels, in units of ``unit``.
    history : ndarray of float64
        Objective at every evaluation; the last belongs to the result.
    n_iter : int
        Number of iterations: a labeling and, unless it changed nothing, a move of the centers.
    converged : bool
        Whether the labels, or the centers up to ``tol``, stood still.
    interrupted : bool
        Whether Ctrl-C ended it (inside ``sidelight.progress(keep_best=True)``).
    parameters : object
        Centers and what else was fitted; the centers for Lloyd's algorithm.
    unit : float
        Factor between the sum of both parts and the objective of the method.
    """

    centers: Array
    labels: Array
    inertia: float
    penalty: float
    history: Array
    n_iter: int
    converged: bool
    interrupted: bool
    parameters: Any = dataclasses.field(default=None, kw_only=True)
    unit: float = dataclasses.field(default=1.0, kw_only=True)

    @property
    def objective(self) -> float:
        """``unit * (inertia + penalty)``."""
        return self.unit * (self.inertia + self.penalty)


@dataclass(frozen=True)
class Labeling(Generic[Parameters]):
    """Parameters with the labels that belong to them: the result of an e-step.

    Attributes
    ----------
    parameters : object
        Centers, or an object with ``centers`` among others.
    labels : ndarray of int32, shape (n_rows,)
        Labels at these parameters.
    inertia : float
        Sum of the (weighted, squared) distances of the rows to their centers.
    penalty : float
        The rest of the objective.
    n_changed : int
        Number of labels that differ from the evaluation before.
    statistics : object
        Sums that the update needs.
    unit : float
        Factor between ``inertia + penalty`` and the objective of the method.
    """

    parameters: Parameters
    labels: Array
    inertia: float
    penalty: float
    n_changed: int
    statistics: Any
    unit: float = 1.0

    @property
    def objective(self) -> float:
        """``unit * (inertia + penalty)``."""
        return self.unit * (self.inertia + self.penalty)


def lloyd(
    source: RowSource,
    centers: Array,
    *,
    sample_weight: Array | None = None,
    constrained: ConstrainedRows | None = None,
    project: Project | None = None,
    max_iter: int = 300,
    tol: float = 1e-4,
    unit: float = 1.0,
    description: str = "KMeans",
    verbose: int = 0,
) -> LloydResult:
    """Run Lloyd's algorithm, and again as long as a center for an empty cluster pays.

    An iteration fills empty clusters from the rows without constraints. What is left is filled at
    the end: an empty cluster conflicts with nothing, so that any constrained row may move there.

    Parameters
    ----------
    source : RowSource
        The rows.
    centers : ndarray of shape (k, n_features)
        Initial centers.
    sample_weight : ndarray of shape (n_rows,), default=None
        Weights of the rows; 1 by default.
    constrained : ConstrainedRows, default=None
        Rows that are labeled under constraints; all others go to the nearest center.
    project : callable, default=None
        ``project(means, before)`` brings means to where centers may be, such as the unit sphere;
        ``before`` are the centers that have moved there (float64, like the result).
    max_iter : int, default=300
        Largest number of iterations.
    tol : float, default=1e-4
        Stop when the squared move of the centers is at most ``tol`` times the mean variance of the
        features; with 0 only unchanged labels stop the loop.
    unit : float, default=1.0
        Factor between the sum of squares with the penalty and the objective of the method.
    description : str, default="KMeans"
        Name of the fit in the progress bar.
    verbose : int, default=0
        Whether to show a progress bar.
    """
    step = _LloydStep(source, sample_weight, constrained, project, unit)
    centers = np.ascontiguousarray(centers, dtype=source.dtype)
    largest_move = 0.0
    if tol > 0:
        near = centers.mean(axis=0)
        largest_move = tol * moments(source, sample_weight, near=near).mean_variance

    def run(centers: Array, n_done: int) -> LloydResult:
        return finished(
            alternate(
                centers,
                step.evaluate,
                step.update,
                stop=lambda before, now, history: now.n_changed == 0,
                stands_still=lambda old, new: _squared_move(old, new) <= largest_move,
                max_iter=max_iter - n_done,
                description=description,
                verbose=verbose,
            )
        )

    # Between the passes there are only small matrices, on which more threads lose time.
    with one_thread_blas:
        result = run(centers, 0)
    # Empty clusters get a constrained row as center, as long as that lowers the objective.
    while constrained is not None and not result.interrupted and result.n_iter < max_iter:
        empty = np.flatnonzero(count_codes(result.labels, len(centers)) == 0)
        points = constrained.farthest(result.centers, len(empty))
        if len(points) == 0:
            break
        centers = result.centers.copy()
        centers[empty[: len(points)]] = points
        with one_thread_blas:
            again = run(centers, result.n_iter)
        if not is_lower(again.objective, result.objective):
            break
        result = dataclasses.replace(
            again,
            history=np.concatenate([result.history, again.history]),
            n_iter=result.n_iter + again.n_iter,
        )
    return result


def finished(end: Alternation[Labeling[Any]]) -> LloydResult:
    """Return the end of an alternation as the k-means family keeps it."""
    parameters = end.last.parameters
    return LloydResult(
        centers=getattr(parameters, "centers", parameters),
        labels=end.last.labels,
        inertia=end.last.inertia,
        penalty=end.last.penalty,
        history=end.history,
        n_iter=end.n_iter,
        converged=end.converged,
        interrupted=end.interrupted,
        parameters=parameters,
        unit=end.last.unit,
    )


def _squared_move(old: Array, new: Array) -> float:
    return float(np.sum((new - old).astype(np.float64) ** 2))


@dataclass(frozen=True)
class _Moved:
    """Labels of the constrained rows: that of the nearest center, and that of their own."""

    nearest: Array
    labels: Array

    def more_changed(self, before: _Moved) -> int:
        """Return how many more labels than nearest centers of these rows have changed."""
        own = np.count_nonzero(self.labels != before.labels)
        return int(own - np.count_nonzero(self.nearest != before.nearest))


@dataclass(frozen=True)
class _PassSums:
    """Sums of offsets ``x - μ`` and of weights by cluster; labels and bounds of the pass."""

    offsets: Array
    sizes: Array
    nearest: Array
    bounds: Array | None
    moved: _Moved | None


class _LloydStep:
    """The two halves of an iteration: label the rows and add up, then move the centers."""

    def __init__(
        self,
        source: RowSource,
        sample_weight: Array | None,
        constrained: ConstrainedRows | None,
        project: Project | None,
        unit: float,
    ) -> None:
        self.source = source
        self.unit = unit
        self.constrained = constrained
        self.project = project
        none = np.empty(0, np.int64)
        self.constrained_rows = (
            none if constrained is None else np.asarray(constrained.rows, np.int64)
        )
        self.begin_nearest = constrained is not None and constrained.begin_nearest
        self.fixed_rows = none if self.begin_nearest else self.constrained_rows
        self.sample_weight = sample_weight
        self.weights = (
            EqualWeights(source)
            if sample_weight is None
            else np.ascontiguousarray(sample_weight, dtype=source.dtype)
        )

    def evaluate(self, centers: Array, before: Labeling[Array] | None) -> Labeling[Array]:
        """Label the rows at these centers and add up what the next centers need."""
        constrained, relabeled = self.constrained, Relabeled(np.empty(0, np.int32))
        if constrained is not None and not self.begin_nearest:
            relabeled = constrained.relabel(centers)
        fixed = np.ascontiguousarray(relabeled.labels, dtype=np.int32)
        totals, (nearest, *bounds) = self._pass(centers, before, fixed)
        offsets, sizes, squares, changed, *held = totals
        labels, n_changed, moved = nearest, int(changed), None
        if constrained is not None and self.begin_nearest:
            (nearest_held,) = held
            relabeled = constrained.relabel(centers, nearest_held)
            labels = nearest.copy()
            labels[self.constrained_rows] = relabeled.labels
            for total, correction in zip(totals, relabeled.corrections, strict=False):
                total += correction
            moved = _Moved(nearest_held, relabeled.labels)
            if before is not None:
                n_changed += moved.more_changed(before.statistics.moved)
        return Labeling(
            parameters=centers,
            labels=labels,
            inertia=float(squares[0]),
            penalty=float(relabeled.penalty),
            n_changed=n_changed,
            statistics=_PassSums(offsets, sizes, nearest, bounds[0] if bounds else None, moved),
            unit=self.unit,
        )

    def _pass(
        self, centers: Array, before: Labeling[Array] | None, fixed: Array
    ) -> tuple[tuple[Array, ...], tuple[Array, ...]]:
        source, constrained = self.source, self.fixed_rows
        known = None if before is None else before.statistics.nearest
        aligned = pass_arguments(source, constrained, fixed, self.weights, known)
        work: Any = one_pass(source, centers)
        if before is not None and self._bounds_pay(centers, before):
            moves = np.linalg.norm((centers - before.parameters).astype(np.float64), axis=1)
            bounds = before.statistics.bounds
            if bounds is None:
                bounds = np.broadcast_to(np.asarray(-np.inf, dtype=source.dtype), source.n_rows)
            work, aligned = BoundedPass(centers, moves), (*aligned, bounds)
        if self.begin_nearest:
            work, aligned = LabelsOfFew(work), (FewRows(self.constrained_rows), *aligned)
        return source.map_reduce(work, aligned=aligned)

    def _bounds_pay(self, centers: Array, before: Labeling[Array]) -> bool:
        n_rows = self.source.n_rows
        return (
            not self.source.is_sparse
            and n_rows * centers.size > WORTH_BOUNDS
            and before.n_changed < MAX_CHANGED_SHARE * n_rows
        )

    def update(self, now: Labeling[Array]) -> Array:
        """Move every center to the mean of its rows; give empty clusters a row of their own."""
        sums: _PassSums = now.statistics
        filled = sums.sizes > 0
        moved = now.parameters.astype(np.float64)
        moved[filled] += sums.offsets[filled] / sums.sizes[filled, None]
        if self.project is not None:
            moved = self.project(moved, now.parameters.astype(np.float64))
        centers = moved.astype(self.source.dtype)
        empty = np.flatnonzero(~filled)
        if len(empty):
            rows = self._farthest_rows(now, len(empty))
            centers[empty[: len(rows)]] = rows
        return centers

    def _farthest_rows(self, now: Labeling[Array], n: int) -> Array:
        """Rows for empty clusters, fewer where none is left."""
        centers = now.parameters

        def measure(rows: Any, labels: Array, weights: Array) -> Array:
            return squared_distances(rows, centers[labels]) * (weights > 0)

        distances = map_tiles(
            self.source, measure, now.labels, self.weights, dtype=self.source.dtype
        )
        distances[self.constrained_rows] = 0  # constraints may hold these where they are
        return farthest_points(self.source, distances, n)


def farthest_points(
    source: RowSource, squared: Array, n: int, *, last: Array | tuple[()] = ()
) -> Array:
    """Return at most ``n`` rows for empty clusters, by squared distances, as dense points."""
    chosen = farthest_rows(
        squared, n, lambda row: distances_to(source, dense_rows(source, [row])[0]), last=last
    )
    return dense_rows(source, chosen)


@estimator
class _CentersBase(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Clusterer):
    """Clusters with a center each.

    In ``fit`` subclasses find a :class:`LloydResult` and pass it to
    :meth:`_set_fitted_attributes`.
    """

    _common_parameters: ClassVar[Mapping[str, str]] = {
        "n_clusters": "Number of clusters ``k``.",
        "init": "Initial centers: greedy D² sampling, D² sampling of many rows a pass, rows far "
        "from each other, random rows, or an array of shape (n_clusters, n_features). "
        '``"auto"`` is ``"k-means||"`` from 1,000,000 rows on, and ``"k-means++"`` below.',
        "tol": "Stop when the squared move of the centers is at most ``tol`` times the mean "
        "variance of the features. Unchanged labels always stop the loop.",
    }
    _common_attributes: ClassVar[Mapping[str, str]] = {
        "cluster_centers_ : ndarray of shape (n_clusters, n_features)": "Centers, in the element "
        "type of the rows.",
        **CLUSTERER_ATTRIBUTES,
    }
    #: Whether the objective has parts beside the distances of the rows to their centers.
    _has_inertia: ClassVar[bool] = False
    _family_tags = SOFT_TAGS | {"monotone": True, "sparse": True, "out_of_core": True}

    n_clusters: Count = 8
    _: KW_ONLY
    max_iter: Count = 300
    tol: NonNegative = 1e-4
    random_state: Seed = None
    verbose: Verbosity = 0

    def _set_fitted_attributes(self, result: LloydResult, constraints: Constraints) -> Self:
        """Set the fitted attributes."""
        self.cluster_centers_ = result.centers
        self.labels_ = result.labels
        if self._has_inertia:
            self.inertia_ = result.inertia
        self.objective_ = result.objective
        self.history_ = result.history
        self.n_iter_ = result.n_iter
        self.converged_ = result.converged
        self._compare_with(constraints)
        self._n_features_out = len(result.centers)
        n_found = int(np.count_nonzero(self.cluster_sizes_))
        if n_found < len(result.centers):
            warn(
                f"Number of distinct clusters ({n_found}) found smaller than "
                f"{setting('n_clusters')} "
                f"({len(result.centers)}). {self._why_fewer_clusters()}",
                ConvergenceWarning,
            )
        return self

    def _why_fewer_clusters(self) -> str:
        """Sentence on why clusters are empty."""
        return f"Possibly due to duplicate points in {worded('X', 'the data')}."

    def predict(self, X: Any) -> Array:
        """Return the nearest center of every row.

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
        return nearest_centers(self._validate_rows(X, reset=False), self.cluster_centers_)

    def transform(self, X: Any) -> Array:
        """Return the distance of every row to every center.

        Parameters
        ----------
        X : array, CSR matrix or RowSource of shape (n_samples, n_features)
            New rows.

        Returns
        -------
        distances : ndarray of shape (n_samples, n_clusters)
            Distances, in the element type of the rows.
        """
        check_is_fitted(self)
        return center_distances(self._validate_rows(X, reset=False), self.cluster_centers_)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return minus the (weighted) sum of the costs of the rows in their predicted clusters.

        Costs are squared distances to the center, or what the method has in their place.

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
        costs = by_rows(self, "_costs", X)
        if sample_weight is None:
            return -total_of(costs)
        source = X if isinstance(X, RowSource) else self._validate_rows(X, reset=False)
        return -total_of(costs, check_weights(sample_weight, source, X))

    def _costs(self, X: Any) -> Array:
        return self._predicted_costs(self._validate_rows(X, reset=False))

    def _predicted_costs(self, source: RowSource) -> Array:
        """Costs of the rows in their predicted clusters, in float64."""
        centers = self.cluster_centers_
        labels = nearest_centers(source, centers)
        return labeled_distances(source, centers, labels, dtype=np.float64)


@estimator
class _KMeansBase(_CentersBase):
    """Clusters with a center each, from initial centers that differ between restarts."""

    _: KW_ONLY
    init: Literal["auto", "k-means++", "k-means||", "farthest-first", "random"] | ArrayLike = "auto"
    n_init: Restarts = 5

    @property
    def _n_starts(self) -> int:
        """Number of restarts: one from given centers."""
        return n_restarts(self) if isinstance(self.init, str) else 1

    @property
    def _project(self) -> Project | None:
        """Map of means to where centers may be, such as the unit sphere; None for anywhere."""
        return None

    def _start(self, source: RowSource, rng: np.random.RandomState, weights: Array | None) -> Array:
        """Return initial centers, see :func:`initial_centers`."""
        return initial_centers(
            source, self.n_clusters, self.init, rng, sample_weight=weights, project=self._project
        )


class _WeightedRowsMixin(Clusterer):
    """Clusterers whose rows have weights; ``y`` is for those that use labels."""

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        constraints: Constraints | None = None,
        sample_weight: Any = None,
    ) -> Self:
        self._check_y_holds_labels(y)
        uses_labels = "labels" in self.__sidelight_tags__().knowledge
        source, known = self._validate_fit(X, y if uses_labels else None, constraints)
        return self._fit_weighted(source, known, check_weights(sample_weight, source, X))

    @abstractmethod
    def _fit_weighted(self, source: RowSource, known: Constraints, weights: Array | None) -> Self:
        """Fit to checked rows, knowledge and weights; None for equal weights."""
