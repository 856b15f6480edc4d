"""Consensus clustering: the partition that is nearest to several given ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils import Tags
from sklearn.utils.validation import validate_data

from sidelight._fit.lowest import relative_gap
from sidelight._fit.parameters import Count, Restarts, Seed, Verbosity, estimator, n_restarts
from sidelight._fit.restarts import best_restart
from sidelight._in_memory import check_in_memory
from sidelight._kernels.relational.correlation.consensus import pivot_rows
from sidelight._typing import Array, FloatArray, IntArray
from sidelight._words import counted
from sidelight.base import CLUSTERER_ATTRIBUTES, Clusterer
from sidelight.base.inner import not_in_memory
from sidelight.constraints import Constraints
from sidelight.constraints.inner import plain, read_classes
from sidelight.engine import RowSource
from sidelight.exceptions import SidelightError
from sidelight.relational.correlation._base import BOUND_ATTRIBUTES, proven
from sidelight.relational.correlation._consensus_search import (
    Profiles,
    explicit_graph,
    mirkin_distance,
    profiles_of,
    search_tables,
    start_from,
)
from sidelight.relational.correlation._local_search import LocalOptimum
from sidelight.relational.correlation._solve import CorrelationSettings, Solution, solve
from sidelight.tags import own_tags

#: Different rows of labels up to which all scores are written out.
FEW_ROWS = 1500
#: Pairs of different rows that some partition joins, up to which their scores are written out.
FEW_PAIRS = 5_000_000
#: Entries of the contingency tables: 400 MB.
LARGEST_TABLE = 50_000_000


@estimator
class ConsensusClustering(Clusterer):
    """Partition with the least sum of Mirkin distances to several given partitions.

    .. math::
        \\mathrm{cost}(Y) = \\sum_{i=1}^m d(Y, Y_i), \\qquad
        d(Y, Y') = |\\{u < v : \\text{joined in one of the two, apart in the other}\\}|

    It is correlation clustering with the number of partitions that join a pair less the number of
    those that do not as its score. The matrix of all pairs is never made. What is known always
    holds. Read more in the :doc:`user guide </relational/consensus>`.

    Parameters
    ----------
    n_init : int >= 1 or "auto", default=5
        Number of restarts: from the best of the given partitions, then from pivot clusterings and
        the next best partitions by turns. The best is kept.
        ``"auto"`` takes 10.
    max_iter : int >= 1, default=100
        Largest number of rounds of a restart; a round moves objects and merges clusters.

    Attributes
    ----------
    distances_ : ndarray of shape (n_partitions,)
        Mirkin distance of the result to every given partition; ``objective_`` is their sum.
    input_costs_ : ndarray of shape (n_partitions,)
        Cost that every given partition would have; the best of them is at most twice the optimum.

    Notes
    -----
    Objects with equal labels everywhere become one node with a mass. Up to 1,500 nodes, or 5
    million pairs of them that some partition joins, are solved as
    :class:`~sidelight.relational.CorrelationClustering` with its bounds. Beyond, nodes move by
    contingency tables of labels and clusters: O(n m k) time per pass for ``m`` partitions and ``k``
    clusters, O(n m) memory and a table of all labels by ``2 k`` clusters. The bound is then
    ``Σ_{i<j} d(Y_i, Y_j) / (m - 1)``, by the triangle inequality; with missing labels it does not
    hold, and the bound is 0.

    A missing label is no evidence on the pairs of its object in that partition. Few partitions
    that all make the same mistake make a consensus that makes it too.

    References
    ----------
    Basu, Davidson and Wagstaff (eds.), *Constrained Clustering* (2009), section 13.4.5.
    Gionis, Mannila and Tsaparas, *Clustering aggregation* (2007).

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.relational import ConsensusClustering
    >>> partitions = np.array([[0, 0, 5], [0, 0, 5], [0, 1, 5], [1, 1, 6], [1, 1, 6]])
    >>> model = ConsensusClustering(random_state=0).fit(partitions)
    >>> model.labels_
    array([0, 0, 0, 1, 1], dtype=int32)
    >>> model.distances_
    array([0., 4., 0.])
    """

    n_init: Restarts = 5
    _: KW_ONLY
    max_iter: Count = 100
    random_state: Seed = None
    verbose: Verbosity = 0

    _common_attributes: ClassVar[Mapping[str, str]] = CLUSTERER_ATTRIBUTES | BOUND_ATTRIBUTES
    _own_tags = own_tags(
        summary="partition that is nearest to several given ones",
        source="Gionis, Mannila and Tsaparas 2007; Basu et al. 2009, section 13.4.5",
        complexity="O(n m k) per pass over m partitions, O(n m) memory",
        knowledge=("must-link", "cannot-link", "labels", "groups"),
        enforcement="hard",
        kind="consensus",
        missing=True,
        raw_columns=True,
    )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.categorical = True
        return tags

    def fit(self, X: Any, y: Any = None, *, constraints: Constraints | None = None) -> Self:
        """Find the consensus.

        Parameters
        ----------
        X : array or table of shape (n_samples, n_partitions)
            Label of every object in every partition: numbers or words. -1, NaN, None and empty
            words are missing labels.
        y : array of shape (n_samples,), default=None
            Known classes, -1 where unknown.
        constraints : Constraints, default=None
            What must and must not join. It always holds.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self._check_parameters(reset=True)
        codes = self._read_partitions(X)
        known = self._validate_knowledge(constraints, y, len(codes), X)
        n_labels = codes.max(axis=0) + 1
        profiles = profiles_of(codes, n_labels, known)
        distances = _distances_between(codes)
        self.input_costs_ = distances.sum(axis=1)
        if _is_small(profiles):
            solved = self._solve_graph(profiles)
        else:
            solved = self._solve_tables(profiles, codes, n_labels)
        bound = solved.bound
        if profiles.is_complete and len(n_labels) > 1:
            bound = max(bound, float(np.ceil(distances.sum() / 2 / (len(n_labels) - 1) - 1e-9)))
        self._set_fitted(solved, min(bound, solved.cost), profiles, codes)
        self._compare_with(known)
        return self

    def _read_partitions(self, X: Any) -> IntArray:
        """Labels as codes, -1 where they are missing."""
        check_in_memory(X)
        if isinstance(X, RowSource):
            raise not_in_memory(self)
        given = validate_data(
            self, X, dtype=None, ensure_all_finite=False, ensure_min_features=1, order="C"
        )
        if given.dtype.kind in "fc":
            given = self._check_rows(X, reset=True)
        columns = [
            read_classes(plain(given[:, i]), f"partition {i}") for i in range(given.shape[1])
        ]
        codes = np.column_stack([column.codes for column in columns])
        empty = np.flatnonzero((codes < 0).all(axis=0))
        if len(empty):
            raise SidelightError(f"Partition {empty[0]} has no label at all; leave the column out.")
        return codes

    def _settings(self) -> CorrelationSettings:
        return CorrelationSettings(
            method="auto",
            n_init=n_restarts(self),
            c=3.0,
            max_iter=self.max_iter,
            random_state=self.random_state,
            verbose=self.verbose,
            description=type(self).__name__,
        )

    def _solve_graph(self, profiles: Profiles) -> Solution:
        return solve(explicit_graph(profiles), self._settings())

    def _solve_tables(self, profiles: Profiles, codes: IntArray, n_labels: IntArray) -> Solution:
        """Search by contingency tables from the best partitions and from pivots."""
        by_cost = np.argsort(self.input_costs_, kind="stable")
        k = _table_width(profiles, n_labels)

        def run(number: int, rng: np.random.RandomState) -> LocalOptimum:
            if number % 2 == 0:
                start = start_from(profiles, codes[:, by_cost[number // 2 % len(by_cost)]], k)
            else:
                start = np.empty(profiles.n, np.int32)
                order = rng.permutation(profiles.n)
                n_codes = profiles.counts.shape[1]
                pivot_rows(*profiles.arrays, profiles.factor, n_codes, order, k // 2, start)
            return search_tables(
                profiles,
                start,
                k,
                rng,
                max_iter=self.max_iter,
                description=type(self).__name__,
                verbose=self.verbose,
            )

        best = best_restart(
            run,
            n_restarts(self),
            self.random_state,
            profiles.mass.size,
            description=type(self).__name__,
            verbose=self.verbose,
        )
        return Solution(
            labels=best.labels,
            cost=best.objective,
            bound=0.0,
            bound_method="packing",
            method="local",
            history=best.history,
            n_iter=best.n_iter,
            converged=best.converged,
        )

    def _set_fitted(
        self, solved: Solution, bound: float, profiles: Profiles, codes: IntArray
    ) -> None:
        spread = np.asarray(solved.labels)[profiles.node]
        _, first, inverse = np.unique(spread, return_index=True, return_inverse=True)
        rank = np.empty(len(first), np.int32)
        rank[np.argsort(first)] = np.arange(len(first), dtype=np.int32)
        self.labels_ = rank[inverse]
        self.distances_ = np.array(
            [mirkin_distance(self.labels_[known], column[known]) for column, known in _known(codes)]
        )
        self.objective_ = solved.cost
        self.agreement_ = profiles.total - solved.cost
        self.lower_bound_ = bound
        self.gap_ = relative_gap(solved.cost - bound, solved.cost)
        self.history_ = solved.history
        self.n_iter_ = solved.n_iter
        self.converged_ = solved.converged

    def summary(self) -> str:
        """Return five plain lines about the fit: method, data, end of the search, result, advice.

        The end of the search includes how far from optimal the partition can be.
        """
        lines = super().summary().split("\n")
        return "\n".join([*lines[:2], f"{lines[2][:-1]}, {proven(self.gap_)}.", *lines[3:]])


def _known(codes: IntArray) -> list[tuple[Array, Array]]:
    """Columns, each with the objects that it has a label for."""
    return [(column, column >= 0) for column in codes.T]


def _distances_between(codes: IntArray) -> FloatArray:
    """Mirkin distances of all partitions from each other."""
    m = codes.shape[1]
    distances = np.zeros((m, m))
    columns = [np.ascontiguousarray(column) for column in codes.T]
    for i in range(m):
        for j in range(i):
            distances[i, j] = distances[j, i] = mirkin_distance(columns[i], columns[j])
    return distances


def _is_small(profiles: Profiles) -> bool:
    """Whether the scores of all pairs that matter can be written out."""
    if profiles.n <= FEW_ROWS:
        return True
    nodes = np.bincount(profiles.counts.indices, minlength=profiles.counts.shape[1]).astype(float)
    return profiles.is_complete and float((nodes * (nodes - 1) / 2).sum()) <= FEW_PAIRS


def _table_width(profiles: Profiles, n_labels: IntArray) -> int:
    """Number of clusters that the tables have room for."""
    degree = int(np.diff(profiles.conflicts.indptr).max(initial=0))
    k = max(2 * int(n_labels.max()), degree + 1, 2)
    entries = k * int(n_labels.sum())
    if entries > LARGEST_TABLE:
        raise SidelightError(
            f"{counted(profiles.n, 'different row')} of labels with {int(n_labels.sum()):,} labels "
            f"in all and up to {int(n_labels.max()):,} in one partition would need tables of "
            f"{8e-9 * entries:.1f} GB; leave out the partitions with the most labels, or merge "
            "their smallest clusters."
        )
    return k
