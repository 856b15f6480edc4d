"""Agglomerative clustering under pair constraints (Davidson, Ravi 2005; Klein et al. 2002)."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Literal, Self

import numpy as np
from scipy import sparse
from sklearn.utils import Tags

from sidelight._fit.parameters import Count, FiniteNonNegative, Verbosity, estimator
from sidelight._kernels.cluster.nn_chain import linkage_matrix, shorten_through
from sidelight._typing import Array
from sidelight._words import setting
from sidelight.base import Clusterer
from sidelight.cluster.hierarchical._group_distances import (
    LINKAGES,
    check_distances,
    group_distances,
)
from sidelight.cluster.hierarchical._merging import (
    CarefulMerging,
    MergeSequence,
    contracted,
    harmless_beginning,
    merge_closest,
    set_pairs,
    spanning_tree_merges,
)
from sidelight.constraints import Closure, Constraints
from sidelight.exceptions import InfeasibleConstraints, InvalidParameter, SidelightError
from sidelight.tags import MethodTags


@estimator
class ConstrainedAgglomeration(Clusterer):
    """Merge the closest clusters, step by step, as far as the cannot-links let it go.

    Must-link components are the first clusters. At every step the two clusters with the smallest
    distance ::

        single:  min d(x, y)     complete:  max d(x, y)     average:  mean d(x, y)
        ward:  sqrt(2 |a| |b| / (|a| + |b|)) ‖mean(a) - mean(b)‖

    over ``x`` in the one, ``a``, and ``y`` in the other, ``b``, are merged, unless a cannot-link
    lies between them. Half the square of the Ward distance is what the merge adds to the sum of
    squared distances to the means, the objective of k-means.
    The closest-pair rule alone may end in a *dead end*: more clusters than needed, and every two of
    them apart. Here a merge that would put ``n_clusters`` out of reach is not made (the conflict
    graph must stay colorable with ``n_clusters`` colors), so that the fit gives exactly
    ``n_clusters`` clusters whenever that is possible and raises otherwise.

    With ``enforcement="soft"`` (constrained complete-link) constraints only change the distances:
    must-linked rows are at distance 0 and shorten the paths through them, cannot-linked rows are
    farther apart than any others. Then a cannot-link may be violated when ``n_clusters`` is small,
    and rows near a must-linked pair come closer too.

    All distances are kept: memory is ``4 m²`` bytes for ``m`` components (3.6 GB for 30,000). A fit
    that takes more than 2 GB says so before it starts, and one that would not fit into memory is
    refused. Single linkage of dense rows without cannot-links keeps none: its merges are the edges
    of the minimum spanning tree. Read more in the :doc:`user guide </cluster/hierarchical>`.

    On rows without constraints it was worse with correct constraints than without any on
    glass, sonar, vowel and wine, for some numbers of them (:doc:`the comparison of all methods
    </does_knowledge_help>`).

    Parameters
    ----------
    n_clusters : int >= 1 or None, default=2
        Number of clusters; None merges up to ``distance_threshold``, or without it as far as the
        closest-pair rule goes without violating a cannot-link.
    linkage : {"complete", "single", "average", "ward"}, default="complete"
        Distance of two clusters. With ``enforcement="soft"`` only ``"complete"`` respects a
        cannot-link when clusters are merged: single linkage forgets it with the first merge and
        average linkage waters it down; ``"ward"``, which takes means of rows, is not available.
    distance_threshold : float >= 0, finite or None, default=None
        Distance at or above which clusters are not merged; ``n_clusters`` has to be None then.
        Must-linked rows are merged whatever their distance.
    enforcement : {"hard", "soft"}, default="hard"
        Whether all constraints are satisfied (the fit raises if that is impossible) or only turned
        into distances.
    metric : {"euclidean", "precomputed"}, default="euclidean"
        Distance of two rows; with ``"precomputed"`` ``X`` holds them, for instance
        ``sklearn.metrics.pairwise.cosine_distances(X)`` for documents.

    Attributes
    ----------
    labels_ : ndarray of int32, shape (n_samples,)
        Cluster of every row, numbered by first appearance.
    n_clusters_ : int
        Number of clusters.
    linkage_ : ndarray of shape (n_samples - 1, 4)
        The dendrogram in SciPy's format. Rows that are must-linked are merged first, at height 0;
        clusters that no admissible merge joins are joined at the end, at infinite height.
    n_clusters_dead_end_ : int
        Number of clusters at which the closest-pair rule ends by itself.
    history_ : ndarray of shape (n_merges,)
        Heights of the merges that led to the labels; they rise (except for rounding).
    objective_ : float
        Height of the last merge, 0 without any: with complete linkage the largest diameter of a
        cluster.
    n_iter_ : int
        Number of merges that led to the labels.
    converged_ : bool
        True: nothing is iterated.
    n_violations_ : int
        Number of stated constraints that the labels violate; 0 with ``enforcement="hard"``.

    See Also
    --------
    COPKMeans : Satisfies every constraint too, for millions of rows.

    Notes
    -----
    Davidson and Ravi (2005), Agglomerative hierarchical clustering with constraints; Klein, Kamvar
    and Manning (2002), From instance-level constraints to space-level constraints. Merges are found
    by the nearest-neighbor chain in O(m²). With a cannot-link as an infinite distance the linkages
    stay reducible, so that the chain finds the merges of the greedy rule. Where the rule has to be
    corrected, ``linkage_`` ends at ``n_clusters``.

    Examples
    --------
    Each ``a`` has its ``b`` next to it and is kept apart from all others: the closest-pair rule
    joins neighbors and is stuck with three clusters, although all ``a`` and all ``b`` are two.

    >>> import numpy as np
    >>> from sidelight import Constraints
    >>> from sidelight.cluster import ConstrainedAgglomeration
    >>> X = np.array([[0.0], [10.0], [20.0], [1.0], [11.0], [21.0]])
    >>> apart = [(s, 3 + t) for s in range(3) for t in range(3) if s != t]
    >>> known = Constraints(cannot_link=apart, n_samples=6)
    >>> model = ConstrainedAgglomeration(n_clusters=2).fit(X, constraints=known)
    >>> model.n_clusters_dead_end_, model.labels_
    (3, array([0, 0, 0, 1, 1, 1], dtype=int32))
    """

    n_clusters: Count | None = 2
    _: KW_ONLY
    linkage: Literal["complete", "single", "average", "ward"] = "complete"
    distance_threshold: FiniteNonNegative | None = None
    enforcement: Literal["hard", "soft"] = "hard"
    metric: Literal["euclidean", "precomputed"] = "euclidean"
    verbose: Verbosity = 0

    _elsewhere = "COPKMeans holds all pairs too, and reads rows block by block."

    def __sidelight_tags__(self) -> MethodTags:
        return MethodTags(
            summary="merge the closest clusters as far as constraints allow; a dendrogram",
            knowledge=("must-link", "cannot-link", "labels", "groups"),
            enforcement=self.enforcement,
            source="Davidson, Ravi 2005; Klein, Kamvar, Manning 2002",
            complexity="O(n² d) time in all; O(n²) memory, O(n) for single without cannot-links",
            needs_n_clusters=False,
            sparse=self.metric != "precomputed",
        )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.metric == "precomputed"
        return tags

    def fit(self, X: Any, y: Any = None, *, constraints: Constraints | None = None) -> Self:
        """Merge the rows.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            The rows, or their distances with ``metric="precomputed"``.
        y : array of shape (n_samples,), default=None
            Known classes, -1 where unknown.
        constraints : Constraints, default=None
            Side information about the rows: pairs, labels, groups.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        InconsistentConstraints
            If the constraints contradict themselves (hard constraints only).
        InfeasibleConstraints
            If ``n_clusters`` is too small for the cannot-links or too large for the must-links.
        SidelightError
            If the distances do not fit into memory.
        """
        source, known = self._validate_fit(X, y, constraints)
        self._check_choices()
        rows = source.to_memory()
        if self.metric == "precomputed":
            check_distances(rows, known)
        if self.enforcement == "hard":
            closure = known.closure()
            merges, n_dead_end = self._merge_with_constraints(rows, known)
        else:
            closure = known.closure(on_contradiction="keep")
            merges, n_dead_end = self._merge_by_distances(rows, closure)
        self.n_clusters_dead_end_ = n_dead_end
        n_clusters = self.n_clusters or n_dead_end
        if self.distance_threshold is not None:
            n_clusters += int(np.sum(merges.height >= self.distance_threshold))
        return self._set_fitted_attributes(_of_rows(merges, closure), n_clusters, known)

    def _check_choices(self) -> None:
        """Raise on parameters that exclude each other."""
        if self.n_clusters is not None and self.distance_threshold is not None:
            raise InvalidParameter(
                f"{setting('n_clusters')} and {setting('distance_threshold')} say both where to "
                f"stop: leave one of them out ({setting('n_clusters', None)})."
            )
        if self.linkage != "ward":
            return
        if self.metric == "precomputed":
            raise InvalidParameter(
                f"{setting('linkage', 'ward')} takes means of rows, which distances do not have: "
                f"give the rows, or take {setting('linkage', 'average')}."
            )
        if self.enforcement == "soft":
            raise InvalidParameter(
                f"{setting('linkage', 'ward')} takes means of rows, and with "
                f"{setting('enforcement', 'soft')} constraints only change distances: take "
                f"{setting('linkage', 'complete')}, or {setting('enforcement', 'hard')}."
            )

    def _merge_with_constraints(self, rows: Any, known: Constraints) -> tuple[MergeSequence, int]:
        """Merge components, and where the closest-pair rule would end above ``k``, carefully."""
        closure, k = known.closure(), self.n_clusters
        m, edges = closure.n_components, closure.conflicts
        coloring = None if k is None else _clusters_that_satisfy(known, k)
        code = LINKAGES[self.linkage]
        how: dict[str, Any] = {"metric": self.metric, "verbose": self.verbose}
        if self._needs_no_distances(rows, edges):
            return spanning_tree_merges(rows, closure.component, verbose=self.verbose), 1
        distances = group_distances(rows, closure.component, m, self.linkage, **how)
        set_pairs(distances, m, edges, np.inf)
        merges = merge_closest(distances, closure.sizes, code, verbose=self.verbose)
        n_dead_end = m - len(merges)
        if k is None or n_dead_end <= k:
            return merges, n_dead_end
        if coloring is None:
            raise SidelightError(
                f"Merging the closest clusters ended with {n_dead_end}, and whether {k} can "
                "satisfy the cannot-links could not be decided in time: ask for more clusters."
            )
        del distances
        done, proof = harmless_beginning(merges, m, edges, k, coloring)
        beginning = merges.first(done)
        labels = beginning.labels(done, m)
        group = labels[closure.component]
        distances = group_distances(rows, group, m - done, self.linkage, **how)
        set_pairs(distances, m - done, contracted(edges, labels), np.inf)
        careful = CarefulMerging(distances, np.bincount(group), code, proof).run(k)
        member = np.unique(labels, return_index=True)[1]
        rest = MergeSequence(member[careful.left], member[careful.right], careful.height)
        return beginning.then(rest), n_dead_end

    def _needs_no_distances(self, rows: Any, conflicts: Array) -> bool:
        """Whether all merges follow from the minimum spanning tree of the rows."""
        return (
            self.linkage == "single"
            and self.metric == "euclidean"
            and not sparse.issparse(rows)
            and len(conflicts) == 0
        )

    def _merge_by_distances(self, rows: Any, closure: Closure) -> tuple[MergeSequence, int]:
        """Apply the constraints to the distances, then merge everything.

        Must-linked rows are at distance 0 of each other and so equally far from all others: a
        component is one object, as far from others as its nearest row, and only ways through
        components of several rows can be shorter than the distances were.
        """
        m = closure.n_components
        distances = group_distances(
            rows, closure.component, m, "single", self.metric, verbose=self.verbose
        )
        shorten_through(distances, m, np.flatnonzero(closure.sizes > 1))
        farthest = float(distances.max(initial=0.0))
        set_pairs(distances, m, closure.conflicts, farthest + 1)
        code = LINKAGES[self.linkage]
        merges = merge_closest(distances, closure.sizes, code, verbose=self.verbose)
        return merges, m - int(np.sum(merges.height <= farthest))

    def _set_fitted_attributes(
        self, merges: MergeSequence, n_clusters: int, known: Constraints
    ) -> Self:
        """Set the fitted attributes."""
        n = known.n_samples
        n_merges = n - n_clusters
        self.linkage_ = linkage_matrix(merges.left, merges.right, merges.height, n)
        self.labels_ = merges.labels(n_merges, n).astype(np.int32)
        self.n_clusters_ = n_clusters
        self.history_ = merges.height[:n_merges].copy()
        self.objective_ = float(self.history_[-1]) if n_merges else 0.0
        self.n_iter_ = n_merges
        self.converged_ = True
        self._compare_with(known)
        return self


def _clusters_that_satisfy(known: Constraints, k: int) -> Array | None:
    """Clusters of the components that satisfy everything; None if it could not be decided."""
    n_components = known.closure().n_components
    if k > n_components:
        raise InfeasibleConstraints(
            f"The must-links leave {n_components} groups of rows, so that there cannot be {k} "
            f"clusters: ask for at most {n_components} or drop must-links.",
            k=k,
            sufficient_k=n_components,
        )
    return known.check_feasible(k).coloring


def _of_rows(merges: MergeSequence, closure: Closure) -> MergeSequence:
    """Merge the rows of every component at height 0, then the components as they were merged."""
    first = closure.first_row[closure.component]
    linked = np.flatnonzero(first != np.arange(len(first)))
    inside = MergeSequence(first[linked], linked, np.zeros(len(linked)))
    row = closure.first_row
    return inside.then(MergeSequence(row[merges.left], row[merges.right], merges.height))
