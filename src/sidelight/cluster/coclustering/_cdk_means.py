"""CDK-Means: clusters of bi-sets give clusters of rows and columns (Pensa, Robardet, Boulicaut)."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Literal, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from sidelight._fit.parameters import Count, Restarts, Seed, Share, Verbosity, estimator, n_restarts
from sidelight._fit.restarts import best_of, run_restarts
from sidelight._typing import Array, IntArray
from sidelight._warn import warn
from sidelight._words import counted, setting
from sidelight.base import Clusterer
from sidelight.cluster.coclustering._binary import Binarize, as_binary, thresholds_of
from sidelight.cluster.coclustering._grouping import BiSets, GroupingRestart, first_largest
from sidelight.cluster.coclustering._mining import Found, find_bi_sets
from sidelight.cluster.coclustering._numbering import clusters_along, renumbered
from sidelight.cluster.coclustering._statements import TableStatements, Variant, gather
from sidelight.cluster.coclustering._uncovered import (
    check_all_covered,
    explain_uncovered,
    likeness,
    place_left_out,
    split_by_side,
    warning_of,
)
from sidelight.constraints import Constraints, CrossLinks, Ordering
from sidelight.exceptions import ConstraintWarning, SidelightError
from sidelight.tags import MethodTags


@estimator
class CDKMeans(Clusterer):
    r"""Constraint-driven co-clustering of a 0/1 table (CDK-Means).

    Finds ``n_clusters`` clusters of the rows and as many of the columns; cluster ``l`` of the rows
    goes with cluster ``l`` of the columns. First all bi-sets ``(t, g)`` of the table are found that
    satisfy the local form of the constraints: largest rectangles of ones, a set of rows and a set
    of columns each (:func:`mine_concepts`). Then the bi-sets are grouped around centroids, which
    are the means :math:`\tau_l` and :math:`\gamma_l` of their indicators, as in k-means with

    .. math::
        J = \sum_b w_b \min_l d(b, l), \qquad
        d(b, l) = \frac12 \Big[ 1 - \frac{|t_b \cap \tau_l|}{|t_b \cup \tau_l|}
                + 1 - \frac{|g_b \cap \gamma_l|}{|g_b \cup \gamma_l|} \Big] ,

    where :math:`|t \cup \tau| = \sum_i (t_i + \tau_i) / 2` and :math:`|t \cap \tau|` is the same
    sum over the elements with :math:`t_i \tau_i \ne 0`; between two sets it is the Dice distance.
    The weights :math:`w_b = \sum_{(i,j) \in b} 1 / c_{ij}`, with the number :math:`c_{ij}` of
    bi-sets that cover a cell, let every covered cell of the table count once.
    A row goes to the first cluster with the largest :math:`\tau_{li}`, a column to that with the
    largest :math:`\gamma_{lj}`; elements that no bi-set covers are in no cluster (-1). The sum can
    rise, since means do not minimize it, so the best iterate is kept. Read more in the
    :doc:`user guide </cluster/coclustering>`.

    Parameters
    ----------
    n_clusters : int >= 1, default=3
        Number of co-clusters.
    variant : {"default", "published"}, default="default"
        Weights of the bi-sets, and treatment of must-links and cannot-links.

        - ``"default"``: every covered cell counts once, whatever the number of bi-sets around it;
          must-linked rows (columns) are one row (column), with the ones that at least
          half of them have, and its concepts are the bi-sets. A row and a column that are
          must-linked have a one in common, whatever the table holds there. Elements that must be
          apart are left out of a bi-set where it goes to the cluster of the other.
        - ``"published"``: every bi-set counts once, so that blocks of many columns, which have most
          bi-sets, are split and small ones lost. Concepts that hold only one of two must-linked
          elements, or both of two that must be apart, are dropped, so that a few pairs can leave
          rows without any bi-set.
    min_rows : int >= 1, default=1
        Fewest rows of a bi-set.
    min_columns : int >= 1, default=1
        Fewest columns of a bi-set.
    max_concepts : int >= 1, default=1000000
        Most bi-sets; a table with more is refused, with advice on minimum sizes.
    overlap : float in [0, 1] or None, default=None
        Share of its largest weight that a row or column needs in another cluster to belong to it
        too, in ``row_memberships_`` and ``column_memberships_``; None for one cluster each.
    on_blocked : {"skip", "fail"}, default="skip"
        Treatment of bi-sets that no cluster may take because of cannot-links: left out and counted
        in ``n_skipped_``, or an error where it happens in every restart. None is blocked with
        ``variant="default"``.
    binarize : "mean" or float in [0, 1] or None, default=None
        Rule that makes a table 0/1: "mean" for ones above the mean of the column, a share for ones
        above this share of the largest value of the column. None takes zeros and ones only.
    n_init : int >= 1 or "auto", default=10
        Number of restarts from random bi-sets; the one with the smallest sum is kept.
        ``"auto"`` takes 10.
    max_iter : int >= 1, default=50
        Most iterations of a restart.

    Attributes
    ----------
    labels_ : ndarray of int32, shape (n_samples,)
        Cluster of every row; -1 where no bi-set covers it. Clusters are numbered by the mean
        position of their rows, in ``row_order`` where it is given.
    column_labels_ : ndarray of int32, shape (n_features,)
        Cluster of every column; -1 where no bi-set covers it.
    row_weights_ : ndarray of shape (n_clusters, n_samples)
        Share of the bi-sets of a cluster, by weight, that hold a row, ``tau``.
    column_weights_ : ndarray of shape (n_clusters, n_features)
        Share of the bi-sets of a cluster, by weight, that hold a column, ``gamma``.
    row_memberships_ : ndarray of bool, shape (n_samples, n_clusters)
        Clusters of every row; several with ``overlap``.
    column_memberships_ : ndarray of bool, shape (n_features, n_clusters)
        Clusters of every column; several with ``overlap``.
    concepts_ : Concepts
        The bi-sets.
    concept_labels_ : ndarray of int32, shape (n_concepts,)
        Cluster of every bi-set; -1 for those that no cluster could take.
    n_concepts_ : int
        Number of bi-sets.
    n_skipped_ : int
        Number of bi-sets that no cluster could take.
    uncovered_rows_ : dict of int to str
        Rows in no cluster, by position, with the statement or setting that is responsible.
    uncovered_columns_ : dict of int to str
        Columns in no cluster, by position, with the statement or setting that is responsible.
    restarts_ : dict of str to ndarray
        Of every restart that could be kept: ``objective``, and the adjusted Rand index of its
        clusters with those that were, ``row_agreement`` and ``column_agreement``.
    thresholds_ : ndarray of shape (n_features,) or None
        Values above which a column counts as one, with ``binarize``.
    n_column_violations_ : int
        Number of stated constraints on columns that the clusters violate.

    See Also
    --------
    InformationCoclustering : For tables of counts, without constraints.
    mine_concepts : The bi-sets alone.

    Notes
    -----
    Basu, Davidson, Wagstaff (eds.), Constrained Clustering, chapter 6. Must-links hold, since
    must-linked elements are in the same bi-sets and so have the same weights; two elements that
    must be apart never have a weight in the same cluster. With ``variant="default"`` an element
    that the constraints left without a bi-set goes to the admissible cluster most like its ones.
    Bounds on gaps hold for every bi-set, but only tend to hold for clusters.

    Pairs of rows change little on rows without constraints; as published they made them
    worse on tables of purchases (:doc:`published figures </published>`).

    Examples
    --------
    >>> from sidelight.cluster import CDKMeans
    >>> table = [[1, 0, 1, 1, 0], [0, 1, 0, 0, 1], [1, 0, 1, 1, 0], [0, 0, 1, 1, 0],
    ...          [1, 1, 0, 0, 1], [0, 1, 0, 0, 1], [0, 0, 0, 0, 1]]
    >>> model = CDKMeans(2, random_state=0).fit(table)
    >>> model.labels_, model.column_labels_
    (array([0, 1, 0, 0, 1, 1, 1], dtype=int32), array([0, 1, 0, 0, 1], dtype=int32))
    """

    n_clusters: Count = 3
    _: KW_ONLY
    variant: Variant = "default"
    min_rows: Count = 1
    min_columns: Count = 1
    max_concepts: Count = 1_000_000
    overlap: Share | None = None
    on_blocked: Literal["skip", "fail"] = "skip"
    binarize: Binarize = None
    n_init: Restarts = 10
    max_iter: Count = 50
    random_state: Seed = None
    verbose: Verbosity = 0

    def __sidelight_tags__(self) -> MethodTags:
        return MethodTags(
            summary="clusters of rows and columns of a 0/1 table, from its rectangles of ones",
            knowledge=("must-link", "cannot-link", "labels", "groups", "order"),
            enforcement="hard",
            source="Pensa, Robardet, Boulicaut; Constrained Clustering 6.3",
            complexity="O(b (r + c) k) per iteration for b bi-sets of r rows and c columns; "
            "b can be exponential",
            kind="coclusterer",
            sparse=True,
            raw_columns=True,
        )

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        constraints: Constraints | None = None,
        column_constraints: Constraints | None = None,
        cross_constraints: CrossLinks | None = None,
        row_order: Ordering | None = None,
        column_order: Ordering | None = None,
    ) -> Self:
        """Cluster the rows and columns of a 0/1 table.

        Parameters
        ----------
        X : array, CSR matrix or data frame of shape (n_samples, n_features)
            Zeros and ones, or any numbers with ``binarize``.
        y : array of shape (n_samples,), default=None
            Known classes of the rows, -1 where unknown.
        constraints : Constraints, default=None
            What is known about the rows: pairs, labels, groups.
        column_constraints : Constraints, default=None
            What is known about the columns; ids are names of columns.
        cross_constraints : CrossLinks, default=None
            Rows and columns that belong to the same co-cluster, or to different ones.
        row_order, column_order : Ordering, default=None
            Orders of the rows and columns, with bounds on the gaps within a bi-set.

        Returns
        -------
        self : CDKMeans
            The fitted estimator.
        """
        rows, about_rows = self._validate_fit_in_memory(X, y, constraints)
        known = gather(
            X,
            about_rows,
            rows.shape[1],
            getattr(self, "feature_names_in_", None),
            columns=column_constraints,
            cross=cross_constraints,
            row_order=row_order,
            column_order=column_order,
        )
        known.everything.closure()
        known.check_feasible(self.n_clusters)
        self.thresholds_ = thresholds_of(rows, self.binarize)
        table = as_binary(rows, X, self.thresholds_)
        found = find_bi_sets(
            table,
            known,
            variant=self.variant,
            min_rows=self.min_rows,
            min_columns=self.min_columns,
            max_concepts=self.max_concepts,
            description=f"{type(self).__name__}, bi-sets",
            verbose=self.verbose,
        )
        grouping = BiSets(found.concepts, known, self.n_clusters, self.variant)
        restarts = self._restarts(grouping)
        covers = found.covers()
        left_out = covers | found.emptied
        means = self._read_off(best_of(restarts), restarts, grouping, table, left_out, known)
        self.row_weights_, self.column_weights_ = (part.T.astype(rows.dtype) for part in means)
        self.row_memberships_ = self._memberships(self.row_weights_, self.labels_)
        self.column_memberships_ = self._memberships(self.column_weights_, self.column_labels_)
        self._warn_of_uncovered(found, covers, table, known)
        self._compare_with(about_rows)
        self.n_column_violations_ = known.columns.violations(self.column_labels_).n
        return self

    def predict(self, X: Any) -> Array:
        """Return the co-cluster whose columns are most like the ones of every row.

        Parameters
        ----------
        X : array, CSR matrix or data frame of shape (n_samples, n_features)
            New rows, of zeros and ones as those of ``fit``.

        Returns
        -------
        labels : ndarray of int32, shape (n_samples,)
            Cluster with the largest Dice-type similarity ``|g ∩ γ| / |g ∪ γ|`` of the columns of
            the row to those of the cluster; -1 for rows that share no column with any.
        """
        check_is_fitted(self)
        rows = self._check_rows(X, reset=False)
        ones = as_binary(rows, X, self.thresholds_)
        weights = self.column_weights_.astype(np.float64).T
        return first_largest(likeness(ones, weights)).astype(np.int32)

    def _n_clusters_found(self) -> int:
        return len(self.row_weights_)

    def _restarts(self, grouping: BiSets) -> list[GroupingRestart]:
        """Run the restarts, and return those that may be kept.

        They leave the fewest elements with cannot-links without a cluster and, if blocked bi-sets
        are to fail, have none.
        """
        n_found = len(grouping.concepts)
        if n_found < self.n_clusters:
            warn(
                f"The table has {counted(n_found, 'bi-set')} for "
                f"{counted(self.n_clusters, 'cluster')}: some clusters are empty. Ask for fewer "
                f"({setting('n_clusters')}), or for smaller bi-sets.",
                ConvergenceWarning,
            )
        seeds = check_random_state(self.random_state).randint(
            np.iinfo(np.int32).max, size=n_restarts(self)
        )
        restarts = run_restarts(
            lambda number, rng: grouping.run(
                rng, max_iter=self.max_iter, description="CDKMeans", verbose=self.verbose
            ),
            seeds,
            2 * n_found,  # the rows of this k-means are the bi-sets
            description="CDKMeans",
            verbose=self.verbose,
        )
        fewest = min(restart.n_lost for restart in restarts)
        kept = [restart for restart in restarts if restart.n_lost == fewest]
        if self.on_blocked == "fail":
            kept = [restart for restart in kept if not restart.n_skipped]
        if not kept:
            raise _blocked(restarts)
        return kept

    def _read_off(
        self,
        best: GroupingRestart,
        restarts: list[GroupingRestart],
        grouping: BiSets,
        table: Array,
        left_out: Array,
        known: TableStatements,
    ) -> tuple[Array, Array]:
        """Set the clusters of both sides, and return the weights that they come from."""
        means = grouping.means(best.best)
        rows, columns = first_largest(means.rows), first_largest(means.columns)
        agreement = [self._agreement(one, grouping, rows, columns) for one in restarts]
        self.restarts_ = {
            "objective": np.array([one.objective for one in restarts]),
            "row_agreement": np.array([one[0] for one in agreement]),
            "column_agreement": np.array([one[1] for one in agreement]),
        }
        if self.variant == "default":
            both = place_left_out(np.concatenate([rows, columns]), left_out, table, means, known)
            rows, columns = both[: len(rows)], both[len(rows) :]
        place = known.row_order.rank if known.row_order is not None else np.arange(len(rows))
        order = clusters_along(rows, place, self.n_clusters)
        self.labels_ = renumbered(rows, order)
        self.column_labels_ = renumbered(columns, order)
        self.concept_labels_ = renumbered(best.best.labels, order)
        self.concepts_ = grouping.concepts
        self.n_concepts_ = len(grouping.concepts)
        self.n_skipped_ = best.n_skipped
        self.objective_ = best.objective
        self.history_ = best.history
        self.n_iter_ = best.n_iter
        self.converged_ = best.converged
        return means.rows[:, order], means.columns[:, order]

    @staticmethod
    def _agreement(
        restart: GroupingRestart, grouping: BiSets, rows: IntArray, columns: IntArray
    ) -> tuple[float, float]:
        means = grouping.means(restart.best)
        return (
            float(adjusted_rand_score(rows, first_largest(means.rows))),
            float(adjusted_rand_score(columns, first_largest(means.columns))),
        )

    def _memberships(self, weights: Array, labels: Array) -> Array:
        if self.overlap is None:
            return labels[:, None] == np.arange(len(weights))
        return np.asarray((weights > 0) & (weights >= self.overlap * weights.max(axis=0))).T

    def _warn_of_uncovered(
        self, found: Found, covers: Array, table: Array, known: TableStatements
    ) -> None:
        """Set and warn about rows and columns in no cluster; raise if due to a cannot-link."""
        covered = np.concatenate([self.labels_, self.column_labels_]) >= 0
        reasons = explain_uncovered(covered, covers, found.removed, table, known)
        check_all_covered(reasons, known)
        self.uncovered_rows_, self.uncovered_columns_ = split_by_side(reasons, len(table))
        text = warning_of(reasons, known)
        if text:
            warn(text, ConstraintWarning)


def _blocked(restarts: list[GroupingRestart]) -> SidelightError:
    """Error: in every restart some bi-set had no admissible cluster."""
    fewest = min(restart.n_skipped for restart in restarts)
    return SidelightError(
        f"In every restart there were bi-sets that no cluster may take, at least {fewest} of "
        f"{len(restarts[0].best.labels)}: all clusters hold an element that must be apart from one "
        f"of theirs. Use {setting('on_blocked', 'skip')} to leave them out, "
        f"{setting('variant', 'default')}, more clusters, or more restarts ({setting('n_init')})."
    )
