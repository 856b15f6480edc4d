"""k-means with a least number of rows of each kind per cluster (Constrained Clustering, 16)."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Self

import numpy as np
from scipy import sparse

from sidelight._fit.checks import check_weights
from sidelight._fit.moments import moments
from sidelight._fit.parameters import Count, FiniteNonNegative, estimator
from sidelight._typing import Array
from sidelight._words import setting
from sidelight.cluster import KMeans
from sidelight.constraints import Conditions, Constraints
from sidelight.constraints.inner import align
from sidelight.engine import RowSource, as_rows
from sidelight.engine.inner import rows_where
from sidelight.exceptions import InfeasibleConstraints, SidelightError
from sidelight.privacy.existential._geometry import WeightedRows
from sidelight.privacy.existential._loop import ConditionedRows, Stopping
from sidelight.privacy.existential._micro import (
    ConditionedShares,
    make_micro_clusters,
    materialize,
)
from sidelight.privacy.existential._requirements import Requirements, requirements_of
from sidelight.tags import MethodTags

#: Name of the condition that no cluster is empty.
ROW_EACH = "a row of its own"


@estimator
class ExistentialKMeans(KMeans):
    r"""k-means whose clusters each hold a least number of rows of each of several kinds.

    Minimizes the dispersion over labels ``l`` and representatives ``μ``::

        DISP = Σ_i w_i ‖x_i - μ_{l_i}‖²   subject to   |{i ∈ W_j : l_i = h}| ≥ m_jh

    by turns: with frozen representatives the rows of ``W_j`` (pivots) move to where they are
    cheaper as far as every cluster keeps what it needs, all other rows go to the nearest
    representative, and representatives move to the means. The dispersion never rises. Conditions
    always hold; in return a row may be in a cluster that is not the nearest one
    (``not_nearest_``). No cluster is empty if the conditions can be met with a row in each,
    also where a cluster needs none. Without conditions it is :class:`~sidelight.cluster.KMeans`.
    Read more in the :doc:`user guide </privacy/existential>`.

    Parameters
    ----------
    init : {"auto", "k-means++", "k-means||", "farthest-first", "random"} or array, default="auto"
        Initial centers, which k-means without conditions then moves: greedy D² sampling, D²
        sampling of many rows a pass, rows far from each other, random rows, or an array of shape
        (n_clusters, n_features). Or an array of shape (n_samples,) with the cluster of every row:
        a partition that meets the conditions, as it is. ``"auto"`` is ``"k-means||"`` from
        1,000,000 rows on, and ``"k-means++"`` below.
    pivot_moves : {"transport", "flow", "lookahead", "random"}, default="transport"
        How pivots move while representatives are frozen. ``"transport"``: to the cheapest
        assignment that meets the conditions. ``"flow"``: the most gainful set of moves to nearest
        representatives. ``"lookahead"``: one valid path of moves after the other, that of largest
        gain, and cycles where clusters without surplus block each other. ``"random"``: the same
        with random moves.
    max_path : int >= 1, default=1
        Largest number of moves of a path, for ``pivot_moves="lookahead"``; time grows with
        ``n_clusters ** max_path``.
    micro_radius : float >= 0, finite or None, default=None
        Radius of micro-clusters (root mean squared distance from their mean) that take the place
        of the rows, for tables larger than memory. With 0 every row is one. None: rows by
        themselves.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Representatives, in the element type of the rows.
    not_nearest_ : ndarray of int
        Positions of the rows that are strictly nearer to another representative.
    condition_counts_ : ndarray of int, shape (n_conditions, n_clusters)
        Rows of every condition in every cluster.
    conditions_ : Conditions or None
        The conditions, in the order of the rows; None where there were none.
    n_micro_clusters_ : int or None
        Number of micro-clusters; None without ``micro_radius``.

    See Also
    --------
    SizeConstrainedKMeans : Lower and upper bounds on the sizes alone, with links.

    Notes
    -----
    Basu, Davidson, Wagstaff (eds.), Constrained Clustering, sections 16.2 to 16.4. The best
    schedule of moves that are valid one by one is NP-hard to find; ``"flow"`` and ``"transport"``
    drop the steps in between and are exact for one condition, and for several of which any two are
    disjoint or one contains the other. Conditions that cross each other are solved by a linear
    program, of which a mixed integer program decides the few rows that come out divided.

    ``"transport"`` takes an array of ``n_pivots × n_clusters`` costs where conditions bind, the
    other ways O(n) memory besides the rows (``"flow"``: the unstable pivots × ``n_clusters``).
    ``micro_radius`` reads the rows once to make micro-clusters, once to give them clusters and
    once to find those that are not nearest; between them it works on ``n_micro × n_clusters``
    numbers. ``predict`` takes the nearest representative, whatever the conditions.

    Examples
    --------
    Three customers live at one end of a highway and one at the other; every shop needs two.

    >>> import numpy as np
    >>> from sidelight.constraints import Conditions
    >>> from sidelight.privacy import ExistentialKMeans
    >>> X = np.array([[0.0], [1.0], [2.0], [10.0]])
    >>> wanted = Conditions(n_samples=4).at_least(2)
    >>> model = ExistentialKMeans(2, random_state=0).fit(X, conditions=wanted)
    >>> model.cluster_sizes_, model.not_nearest_
    (array([2, 2]), array([2]))
    """

    _: KW_ONLY
    pivot_moves: Literal["transport", "flow", "lookahead", "random"] = "transport"
    max_path: Count = 1
    micro_radius: FiniteNonNegative | None = None

    def __sidelight_tags__(self) -> MethodTags:
        return self._method_tags(
            summary="k-means whose clusters each hold a least number of rows of a kind",
            knowledge=("conditions",),
            enforcement="hard",
            source="Constrained Clustering 16.2-16.4",
            complexity="O(n k d) and the moves per iteration, O(n k) memory",
        )

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        constraints: Constraints | None = None,
        conditions: Conditions | None = None,
        sample_weight: Any = None,
    ) -> Self:
        """Cluster the rows under conditions.

        Parameters
        ----------
        X : array, CSR matrix or RowSource of shape (n_samples, n_features)
            The rows.
        y : array of shape (n_samples,), default=None
            Ignored.
        constraints : Constraints, default=None
            Pairs, labels and groups, which are only compared with the result.
        conditions : Conditions, default=None
            What every cluster has to hold. Where both the conditions have ids and ``X`` has an
            index, rows are found by it, whatever their order; otherwise by position.
        sample_weight : array of shape (n_samples,), default=None
            Weights of the rows in the dispersion. Conditions count rows.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        InfeasibleConstraints
            If no partition into ``n_clusters`` clusters meets the conditions.
        """
        self._check_y_holds_labels(y)
        source, known = self._validate_fit(X, None, constraints)
        weights = check_weights(sample_weight, source, X)
        wanted = _check_conditions(conditions, source.n_rows, X)
        self.conditions_ = wanted
        self.n_micro_clusters_: int | None = None
        if wanted is None or wanted.is_empty:
            if np.ndim(self.init) == 1 and not isinstance(self.init, str):
                wanted = Conditions(n_samples=source.n_rows)
            else:
                self._fit_weighted(source, known, weights)
                return self._set_conditions(source)
        wanted.check_feasible(self.n_clusters)
        requirements = requirements_of(self._with_a_row_each(wanted), self.n_clusters)
        if self.micro_radius is None:
            best = self._fit_rows(source, requirements, weights)
        else:
            best = self._fit_micro(source, requirements, weights)
        found: Any = best  # has the attributes that the family keeps
        self._set_fitted_attributes(found, known)
        return self._set_conditions(source)

    def _with_a_row_each(self, wanted: Conditions) -> Conditions:
        """The conditions, and a row for clusters that nothing is asked of, where there is one.

        Rows that other clusters need do not leave them for an empty cluster by themselves: that is
        no move to a nearest representative.
        """
        idle = ~wanted.least_in(self.n_clusters).any(axis=0)
        self._takes_all_rows = False
        if wanted.is_empty or not idle.any():
            return wanted
        filled = wanted.at_least(idle.astype(int), name=ROW_EACH)
        try:
            filled.check_feasible(self.n_clusters)
        except InfeasibleConstraints:
            self._takes_all_rows = True
            return wanted
        return filled

    def _why_fewer_clusters(self) -> str:
        if getattr(self, "_takes_all_rows", False):
            return (
                "The conditions need all rows in the other clusters, and leave none for the rest."
            )
        return super()._why_fewer_clusters()

    def _fit_rows(
        self, source: RowSource, requirements: Requirements, weights: Array | None
    ) -> _Result:
        rows = WeightedRows(source, weights)
        stopping = self._stopping(source, weights)
        labels = self._given_labels(source, requirements)

        def run(number: int, rng: np.random.RandomState) -> _Result:
            refined = ConditionedRows(rows, requirements, self.pivot_moves, self.max_path, rng)
            if labels is None:
                start = self._start(source, rng, weights).astype(source.dtype)
                centers = refined.run_free(start, stopping)
            else:
                centers = _means_of(rows, labels, self.n_clusters)
            end = refined.run(centers, stopping, labels)
            return _Result(
                end.last.parameters,
                end.last.labels,
                end.objective,
                end.history,
                end.n_iter,
                end.converged,
                end.interrupted,
            )

        return self._best_restart(self._n_starts, run, source)

    def _fit_micro(
        self, source: RowSource, requirements: Requirements, weights: Array | None
    ) -> _Result:
        if weights is not None or source.is_sparse:
            what = "weights" if weights is not None else "sparse rows"
            raise SidelightError(
                f"Micro-clusters take no {what}: leave out {setting('micro_radius')}"
                f"{' or the weights' if weights is not None else ', or make the rows dense'}."
            )
        assert self.micro_radius is not None
        rows = WeightedRows(source, None)
        micro = make_micro_clusters(source, requirements, float(self.micro_radius))
        self.n_micro_clusters_ = len(micro)
        stopping = self._stopping(source, None)
        labels = self._given_labels(source, requirements)
        middles = as_rows(np.ascontiguousarray(micro.means))
        sizes = None if np.all(micro.sizes == 1) else micro.sizes.astype(np.float64)

        def run(number: int, rng: np.random.RandomState) -> _Result:
            shares = ConditionedShares(micro, self.pivot_moves, self.max_path, rng)
            share = None
            if labels is None:
                start = self._start(middles, rng, sizes).astype(np.float64)
                centers = shares.run_free(start, stopping)
            else:
                share = shares.shares_of(labels)
                centers = _means_of(rows, labels, self.n_clusters).astype(np.float64)
            end = shares.run(centers, stopping, share)
            return _Result(
                end.last.parameters,
                end.last,
                end.objective,
                end.history,
                end.n_iter,
                end.converged,
                end.interrupted,
            )

        best = self._best_restart(self._n_starts, run, middles)
        found, sums = materialize(rows, micro, best.labels)
        centers = sums.means(best.centers.astype(source.dtype))
        moved = (centers - best.centers.astype(source.dtype)).astype(np.float64)
        inertia = max(sums.squares - float(sums.sizes @ np.sum(moved**2, axis=1)), 0.0)
        return _Result(
            centers,
            found,
            inertia,
            np.append(best.history, inertia),
            best.n_iter,
            best.converged,
            best.interrupted,
        )

    def _stopping(self, source: RowSource, weights: Array | None) -> Stopping:
        return Stopping(
            max_iter=self.max_iter,
            largest_move=self.tol * moments(source, weights).mean_variance if self.tol > 0 else 0.0,
            description=type(self).__name__,
            verbose=self.verbose,
        )

    def _given_labels(self, source: RowSource, requirements: Requirements) -> Array | None:
        """A partition to start with, checked; None where ``init`` is about centers."""
        if isinstance(self.init, str) or np.ndim(self.init) != 1:
            return None
        labels = np.asarray(self.init)
        k = self.n_clusters
        if labels.shape != (source.n_rows,) or labels.dtype.kind not in "iu":
            raise SidelightError(
                f"init as a partition must hold a cluster for each of the {source.n_rows} rows, "
                f"got {labels.dtype} of shape {labels.shape}."
            )
        if labels.min() < 0 or labels.max() >= k:
            raise SidelightError(
                f"init as a partition must hold clusters 0 to {k - 1}, got {labels.min()} to "
                f"{labels.max()}."
            )
        labels = labels.astype(np.int32)
        if not requirements.are_met(labels):
            assert self.conditions_ is not None
            unmet = self.conditions_.unmet(labels, k)
            if not unmet:
                empty = np.flatnonzero(np.bincount(labels, minlength=k) == 0)[0]
                raise SidelightError(
                    f"The partition in init leaves cluster {empty} empty, and there are rows for "
                    f"all {k} clusters: give it a row, or ask for fewer clusters."
                )
            raise SidelightError(f"The partition in init meets not all conditions: {unmet[0]}.")
        return labels

    def _set_conditions(self, source: RowSource) -> Self:
        """Set what the conditions count, and the rows that are not with the nearest center."""
        _, gain = WeightedRows(source, None).nearest(self.cluster_centers_, self.labels_)
        self.not_nearest_ = rows_where(lambda gain: gain > 0, gain)
        k = len(self.cluster_centers_)
        wanted = self.conditions_ or Conditions(n_samples=source.n_rows)
        nothing = np.zeros((0, k), dtype=np.int64)  # for which labels need not be brought here
        self.condition_counts_ = wanted.counts(self.labels_, k) if len(wanted) else nothing
        return self


@dataclass(frozen=True)
class _Result:
    """Final state of a restart; ``labels`` are shares while micro-clusters stand for the rows."""

    centers: Array
    labels: Any
    inertia: float
    history: Array
    n_iter: int
    converged: bool
    interrupted: bool

    @property
    def objective(self) -> float:
        """The dispersion."""
        return self.inertia


def _means_of(rows: WeightedRows, labels: Array, n_clusters: int) -> Array:
    """Means of given clusters; the mean of all rows for empty ones."""
    source = rows.source
    first = source.take(np.arange(1))
    point = first.toarray()[0] if sparse.issparse(first) else first[0]
    middle = rows.sums(point[None], np.zeros(source.n_rows, np.int32)).means(point[None])
    centers = np.repeat(middle, n_clusters, axis=0)
    return rows.sums(centers, labels).means(centers)


def _check_conditions(conditions: Any, n_rows: int, X: Any) -> Conditions | None:
    """Conditions in the order of the rows."""
    if conditions is None:
        return None
    if not isinstance(conditions, Conditions):
        raise TypeError(
            "conditions must be a sidelight.constraints.Conditions object, not "
            f"{type(conditions).__name__}; make one with Conditions({{'name': (mask, 5)}}) or "
            "Conditions.from_expressions(table, ['count(*) >= 50'])."
        )
    wanted: Conditions = align(conditions, X)
    if wanted.n_samples != n_rows:
        raise SidelightError(
            f"The conditions are about {wanted.n_samples} rows but X has {n_rows}; make them of "
            "the table of this X."
        )
    return wanted
