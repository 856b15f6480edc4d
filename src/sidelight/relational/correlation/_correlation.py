"""Correlation clustering: the partition that disagrees least with scores of pairs."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Annotated, Any, Self

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from sidelight._fit.parameters import (
    Auto,
    Count,
    FiniteNonNegative,
    Interval,
    Seed,
    Verbosity,
    estimator,
)
from sidelight._typing import Array
from sidelight._words import counted
from sidelight.constraints import Constraints
from sidelight.exceptions import SidelightError
from sidelight.relational.correlation._absent import estimate_absent
from sidelight.relational.correlation._base import (
    ScoredPairsClusterer,
    listed_disagreements,
    unlisted_pairs,
)
from sidelight.relational.correlation._graph import signed_graph
from sidelight.relational.correlation._solve import CorrelationSettings, Method, solve
from sidelight.tags import own_tags

AboveTwo = Annotated[float, Interval(2, open_low=True, open_high=True)]

#: Pairs that a list of disagreements may have.
MAX_LISTED = 5_000_000


@estimator
class CorrelationClustering(ScoredPairsClusterer):
    """Partition that disagrees least with scores of pairs, positive for together.

    .. math::
        \\mathrm{cost}(Y) = \\sum_{\\text{same cluster}} \\max(-S_{uv}, 0)
        + \\sum_{\\text{apart}} \\max(S_{uv}, 0)

    There are no features and no number of clusters: both follow from the scores, such as the
    log-odds of a pair classifier. Must-links, cannot-links, labels, groups and sources always
    hold. Every result has a proven bound on how much better it could be.
    Read more in the :doc:`user guide </relational/correlation>`.

    Parameters
    ----------
    method : {"auto", "local", "pivot", "lp", "lp-pivot", "four-approximation", "balls", \
"exact"}, default="auto"
        How the partition is found. ``"local"`` moves nodes, clusters and parts of clusters, from
        single nodes and from pivot clusterings by turns. ``"auto"`` does the same and then solves
        components of positive scores whose cost is above their bound: up to 14 nodes by branch and
        bound, up to 120 nodes by the linear program, as long as that takes seconds. ``"pivot"`` is
        the pivot algorithm alone, the fastest. ``"lp"``, ``"lp-pivot"`` and
        ``"four-approximation"`` solve the linear program, round it in ``n_init`` random orders by
        region growing, random pivots or balls of radius one half, and run the local search from
        there. ``"balls"`` runs it from balls of the scores themselves. ``"exact"`` solves the
        integer program. In each component of positive scores the best of all restarts is kept.
    absent : float >= 0, finite or "auto", default=0.0
        Cost of joining two objects that no edge joins. With 0 such pairs do not count; above it,
        clusters have to be dense. "auto" suits candidate pairs of a pair classifier, with log-odds
        as scores: it is ``-log(1 - p)``, where ``p`` is the share of scored pairs among objects
        that both have a positive score with a third.
    n_init : int >= 1 or "auto", default="auto"
        Number of restarts with different seeds. By default 10, and 2 on graphs of more than a
        million edges.
    region_constant : float > 2, finite, default=3.0
        Constant ``c`` of region growing: balls have a radius of at most ``1/c``. Used by ``"lp"``.
    max_iter : int >= 1, default=50
        Largest number of rounds of a local search.

    Attributes
    ----------
    absent_ : float
        Cost of joining two objects that no edge joins.
    method_ : str
        Method that gave the result: that of the parameter, or for ``"auto"`` the strongest that
        was needed, ``"local"``, ``"exact"`` (branch and bound) or ``"lp"``.
    bound_method_ : {"packing", "lp", "exact"}
        Where the bound comes from: inconsistent cycles packed into the scores, the linear program,
        or the optimum itself.
    converged_ : bool
        Whether the last round of the best restart lowered the cost by less than 0.1 %.

    Notes
    -----
    Minimizing disagreements is NP-hard. On complete scores of +-1 a pivot clustering costs at most
    3 times the optimum in expectation, and LP-pivot 2.5 times; on general scores only O(log n) is
    known, by region growing. The gap says what holds for the data at hand. A gap of 40 % need not
    mean a bad partition: on large sparse graphs it is mostly the bound that is weak.

    The local search takes O(edges) time per round and memory of about 100 bytes per edge; the bound
    looks at 2 · 10⁹ entries of the graph at most, some ten seconds. The linear program takes
    a matrix of all pairs of a component.

    Zeros of a matrix are no edges. Probabilities are not scores: make log-odds of them, as
    ``Relations.from_table`` does. Where most pairs have no score and ``absent`` is 0, a single
    wrong positive score may join two clusters that nothing else keeps apart: score the pairs
    around it too, or set ``absent``; ``"auto"`` where unscored pairs were left out because they
    look unlike each other.

    References
    ----------
    Basu, Davidson and Wagstaff (eds.), *Constrained Clustering* (2009), chapter 13.
    Bansal, Blum and Chawla, *Correlation clustering* (2004).
    Ailon, Charikar and Newman, *Aggregating inconsistent information* (2008).
    Lange, Karrenbauer and Andres, *Partial optimality and fast lower bounds for weighted
    correlation clustering* (2018).

    Examples
    --------
    >>> from sidelight import Relations
    >>> from sidelight.relational import CorrelationClustering
    >>> pairs = [("ann", "anne"), ("anne", "ana"), ("ann", "ana"), ("ana", "bob")]
    >>> scored = Relations(pairs, [2.0, 1.5, -0.5, -3.0], ids=["ann", "anne", "ana", "bob"])
    >>> model = CorrelationClustering(random_state=0).fit(scored)
    >>> model.labels_
    array([0, 0, 0, 1], dtype=int32)
    >>> model.objective_, model.gap_
    (0.5, 0.0)
    """

    method: Method = "auto"
    _: KW_ONLY
    absent: FiniteNonNegative | Auto = 0.0
    n_init: Count | Auto = "auto"
    region_constant: AboveTwo = 3.0
    max_iter: Count = 50
    random_state: Seed = None
    verbose: Verbosity = 0

    _own_tags = own_tags(
        summary="partition that disagrees least with scores of pairs, with a proven gap",
        source="Bansal, Blum and Chawla 2004; Basu et al. 2009, chapter 13",
        complexity="O(edges) per round, O(edges) memory; the linear program O(n²) memory",
    )

    def fit(
        self, X: Any, y: Any = None, *, constraints: Constraints | None = None, sources: Any = None
    ) -> Self:
        """Find the partition.

        Parameters
        ----------
        X : Relations, square matrix (dense or sparse) or networkx graph
            Scored pairs. A matrix has to be symmetric; its zeros are no edges.
        y : array of shape (n_samples,), default=None
            Known classes, -1 where unknown.
        constraints : Constraints, default=None
            What must and must not join. It always holds.
        sources : array-like of shape (n_samples,) or mapping, default=None
            Source of every object, such as the file of a record: two objects of one source never
            join. -1, None, NaN or an empty word where there is none.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        InconsistentConstraints
            With the chain of must-links that joins what must be apart.
        """
        relations, known, codes = self._validate_graph(X, y, constraints, sources)
        absent = estimate_absent(relations) if self.absent == "auto" else float(self.absent)
        graph = signed_graph(relations, known, sources=codes, absent=absent)
        solved = solve(
            graph,
            CorrelationSettings(
                method=self.method,
                n_init=self.n_init,
                c=self.region_constant,
                max_iter=self.max_iter,
                random_state=self.random_state,
                verbose=self.verbose,
                description=type(self).__name__,
            ),
        )
        self._set_fitted(graph, solved, known, relations)
        self.absent_ = absent
        self.method_ = solved.method
        self.bound_method_ = solved.bound_method
        return self

    def predict(self, X: Any) -> Array:
        """Return the cluster that each new object agrees with most, or -1.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_new, n_samples)
            Scores of the new objects with those of the fit; zeros are no edges.

        Returns
        -------
        labels : ndarray of int32, shape (n_new,)
            Cluster with the largest sum of scores, ``absent`` included; -1 where no sum is above
            0, so that the object is best a cluster of its own.
        """
        check_is_fitted(self)
        scores = sparse.csr_array(self._check_rows(X, reset=False)).astype(np.float64)
        scores.data += self.absent_  # the sizes of clusters take it off again, for all objects
        k = len(self.cluster_sizes_)
        one_hot = sparse.csr_array(
            (np.ones(len(self.labels_)), (np.arange(len(self.labels_)), self.labels_)),
            shape=(len(self.labels_), k),
        )
        worth = (scores @ one_hot).tocsr()
        worth.sort_indices()
        worth.data -= self.absent_ * self.cluster_sizes_[worth.indices]
        labels = np.full(worth.shape[0], -1, np.int32)
        rows = np.repeat(np.arange(worth.shape[0]), np.diff(worth.indptr))
        best = np.zeros(worth.shape[0])
        np.maximum.at(best, rows, worth.data)
        chosen = np.flatnonzero((worth.data == best[rows]) & (worth.data > 0))[::-1]
        labels[rows[chosen]] = worth.indices[chosen]  # of equal sums the first cluster
        return labels

    def disagreements(self) -> dict[str, Array]:
        """Return the pairs that the partition disagrees with.

        Returns
        -------
        pairs : dict of ndarray
            ``i`` and ``j``, by id where there are ids; ``score``; and ``kind``, which is
            ``"apart"`` for positive scores across clusters and ``"joined"`` for negative ones
            within, those of ``-absent`` included. The absolute scores add up to ``objective_``.

        Examples
        --------
        >>> from sidelight.relational import CorrelationClustering
        >>> S = [[0, 2, 1], [2, 0, -0.5], [1, -0.5, 0]]
        >>> CorrelationClustering(random_state=0).fit(S).disagreements()["kind"]
        array(['joined'], dtype='<U6')
        """
        check_is_fitted(self)
        relations, labels = self._relations, self.labels_
        chosen = listed_disagreements(relations, labels)
        pairs, scores = relations.edges[chosen], relations.scores[chosen]
        if self.absent_:
            sizes = self.cluster_sizes_.astype(float)
            n_joined = float((sizes * (sizes - 1) / 2).sum())
            if n_joined > MAX_LISTED:
                raise SidelightError(
                    f"The clusters join {n_joined:,.0f} pairs, and a list of disagreements has "
                    f"{counted(MAX_LISTED, 'pair')} at most; objective_ counts them."
                )
            joined = unlisted_pairs(relations, labels)
            pairs = np.concatenate([pairs, joined])
            scores = np.append(scores, np.full(len(joined), -self.absent_))
        names = pairs if relations.ids is None else relations.ids[pairs]
        kind = np.where(scores > 0, "apart", "joined")
        return {"i": names[:, 0], "j": names[:, 1], "score": scores, "kind": kind}
