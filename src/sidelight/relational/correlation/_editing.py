"""Cluster editing: the fewest edges to add and to remove until all clusters are cliques."""

from __future__ import annotations

from dataclasses import KW_ONLY, replace
from typing import Any, Literal, Self

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from sklearn.utils.validation import check_is_fitted

from sidelight._fit.parameters import Auto, Count, Seed, Verbosity, estimator
from sidelight._typing import Array, IntArray
from sidelight._words import counted
from sidelight.constraints import Constraints, Relations
from sidelight.exceptions import SidelightError
from sidelight.relational.correlation._base import ScoredPairsClusterer, unlisted_pairs
from sidelight.relational.correlation._correlation import MAX_LISTED
from sidelight.relational.correlation._graph import SignedGraph, signed_graph
from sidelight.relational.correlation._solve import CorrelationSettings, Solution, solve
from sidelight.tags import own_tags


@estimator
class ClusterEditing(ScoredPairsClusterer):
    """Fewest edits of a graph after which every cluster is a clique and no edge crosses clusters.

    .. math::
        \\mathrm{cost}(Y) = \\sum_{\\text{same cluster, no edge}} a_{uv}
        + \\sum_{\\text{apart, edge}} w_{uv}

    with the weight ``w`` of an edge as the cost of its removal, and 1 as the cost ``a`` of an edge
    that is added, or ``-score`` where a pair has a negative score. It is correlation clustering of
    edges against non-edges; what is known always holds, and every result has a proven bound.
    Read more in the :doc:`user guide </relational/correlation>`.

    Parameters
    ----------
    edits : {"both", "remove", "add"}, default="both"
        ``"both"`` adds and removes edges (cluster editing), ``"remove"`` only removes them, so that
        all clusters are cliques of the given graph (cluster deletion), ``"add"`` only adds them,
        so that clusters are connected components (cluster completion, solved exactly).
    n_init : int >= 1 or "auto", default="auto"
        Number of restarts with different seeds. By default 10, and 2 on graphs of more than a
        million edges.
    max_iter : int >= 1, default=50
        Largest number of rounds of a local search.

    Attributes
    ----------
    edited_pairs_ : dict of str to ndarray
        Edits as arrays ``i``, ``j`` (by id where there are ids) and ``kind``, add or remove.
    converged_ : bool
        Whether the last round of the best restart lowered the cost by less than 0.1 %.

    Notes
    -----
    NP-hard but for ``"add"``. The search is that of
    :class:`~sidelight.relational.CorrelationClustering` with ``method="auto"``: local search, then
    branch and bound or the linear program in components whose cost is above their bound. Time
    O(edges) per round, memory O(edges); non-edges are never written out. On sparse graphs with
    large components ``"both"`` breaks communities into small cliques: every missing pair costs as
    much as an edge. Weights, or ``CorrelationClustering(absent=...)`` below 1, make it milder.

    References
    ----------
    Basu, Davidson and Wagstaff (eds.), *Constrained Clustering* (2009), chapter 13.
    Shamir, Sharan and Tsur, *Cluster graph modification problems* (2004).

    Examples
    --------
    >>> from sidelight import Relations
    >>> from sidelight.relational import ClusterEditing
    >>> graph = Relations([(0, 1), (1, 2), (0, 2), (2, 3), (3, 4)], n_samples=5)
    >>> model = ClusterEditing(random_state=0).fit(graph)
    >>> model.labels_, model.objective_
    (array([0, 0, 0, 1, 1], dtype=int32), 1.0)
    >>> model.edited_pairs_["kind"], model.edited_pairs_["i"], model.edited_pairs_["j"]
    (array(['remove'], dtype='<U6'), array([2]), array([3]))
    """

    edits: Literal["both", "remove", "add"] = "both"
    _: KW_ONLY
    n_init: Count | Auto = "auto"
    max_iter: Count = 50
    random_state: Seed = None
    verbose: Verbosity = 0

    _own_tags = own_tags(
        summary="fewest edges to add or remove until all clusters are cliques",
        source="Shamir, Sharan and Tsur 2004; Basu et al. 2009, chapter 13",
        complexity="O(edges) per round, O(edges) memory",
    )

    def fit(
        self, X: Any, y: Any = None, *, constraints: Constraints | None = None, sources: Any = None
    ) -> Self:
        """Find the partition.

        Parameters
        ----------
        X : Relations, square matrix (dense or sparse) or networkx graph
            The graph. A positive score is an edge and the cost of its removal; a negative one is
            the cost of adding an edge there, 1 for pairs without a score.
        y : array of shape (n_samples,), default=None
            Known classes, -1 where unknown.
        constraints : Constraints, default=None
            What must and must not join. It always holds.
        sources : array-like of shape (n_samples,) or mapping, default=None
            Source of every object: two objects of one source never join. -1, None, NaN or an
            empty word where there is none.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        relations, known, codes = self._validate_graph(X, y, constraints, sources)
        if self.edits == "remove":
            relations = _edges_only(relations)
            _check_links_scored(relations, known)
            graph = _clique_graph(relations, known, codes)
        else:
            graph = signed_graph(relations, known, sources=codes, absent=1.0)
        if self.edits == "add":
            solved = _complete(graph, relations)
        else:
            solved = solve(
                graph,
                CorrelationSettings(
                    method="auto",
                    n_init=self.n_init,
                    c=3.0,
                    max_iter=self.max_iter,
                    random_state=self.random_state,
                    verbose=self.verbose,
                    description=type(self).__name__,
                ),
            )
        self._set_fitted(graph, solved, known, relations)
        return self

    @property
    def edited_pairs_(self) -> dict[str, Array]:
        """Edits as arrays ``i``, ``j`` (by id where there are ids) and ``kind``, add or remove."""
        check_is_fitted(self)
        sizes = self.cluster_sizes_.astype(float)
        n_joined = float((sizes * (sizes - 1) / 2).sum())
        if n_joined > MAX_LISTED:
            raise SidelightError(
                f"The clusters join {n_joined:,.0f} pairs, and edits are listed for "
                f"{counted(MAX_LISTED, 'pair')} at most; objective_ counts them."
            )
        relations, labels = self._relations, self.labels_
        same = labels[relations.edges[:, 0]] == labels[relations.edges[:, 1]]
        removed = relations.edges[~same & (relations.scores > 0)]
        listed = relations.edges[same & (relations.scores <= 0)]
        added = np.concatenate([listed, unlisted_pairs(relations, labels)])
        pairs = np.concatenate([removed, added])
        names = pairs if relations.ids is None else relations.ids[pairs]
        kind = np.repeat(["remove", "add"], [len(removed), len(added)])
        return {"i": names[:, 0], "j": names[:, 1], "kind": kind}


def _edges_only(relations: Relations) -> Relations:
    """Leave out pairs that are no edges: they may not join in any case."""
    kept = relations.scores > 0
    edges = relations.edges[kept]
    return Relations(
        edges if relations.ids is None else relations.ids[edges],
        relations.scores[kept],
        n_samples=relations.n_samples,
        ids=relations.ids,
    )


def _check_links_scored(relations: Relations, known: Constraints) -> None:
    """Raise where what must join is no clique, since no edge can be added."""
    node = known.components()
    sizes = np.bincount(node)
    ends = node[relations.edges]
    listed = np.bincount(ends[ends[:, 0] == ends[:, 1], 0], minlength=len(sizes))
    short = np.flatnonzero(listed < sizes * (sizes - 1) // 2)
    if len(short):
        members = np.flatnonzero(node == short[0])
        apart = ~relations.matrix()[members][:, members].toarray().astype(bool)
        np.fill_diagonal(apart, False)
        pair = members[np.argwhere(apart)[0]]
        raise SidelightError(
            f"{' and '.join(relations.name_rows(pair))} have to join but no edge joins them, and "
            'edits="remove" adds none; use edits="both", or add the edge.'
        )


def _clique_graph(
    relations: Relations, known: Constraints, sources: IntArray | None
) -> SignedGraph:
    """Graph in which nodes join only where every pair of their objects is an edge."""
    graph = signed_graph(relations, known, sources=sources)
    if np.all(graph.mass == 1):
        return replace(graph, cliques=True)
    ones = Relations(relations.edges, np.ones(relations.n_edges), n_samples=relations.n_samples)
    listed = signed_graph(ones, known).scores.tocoo()
    short = listed.data < graph.mass[listed.row] * graph.mass[listed.col]
    apart = sparse.coo_array(
        (np.ones(int(short.sum()), np.int8), (listed.row[short], listed.col[short])),
        graph.conflicts.shape,
    )
    conflicts = (graph.conflicts + apart.tocsr()).astype(bool).astype(np.int8)
    return replace(graph, conflicts=conflicts, cliques=True)


def _complete(graph: SignedGraph, relations: Relations) -> Solution:
    """Connected components, which must not join what has to be apart."""
    ends = graph.node[relations.edges[relations.scores > 0]]
    ones = np.ones(len(ends), np.int8)
    joined = sparse.coo_array((ones, (ends[:, 0], ends[:, 1])), (graph.n, graph.n))
    labels = connected_components(joined, directed=False)[1].astype(np.int32)
    pair = _joined_conflict(graph, labels)
    if pair is not None:
        objects = [int(np.flatnonzero(graph.node == node)[0]) for node in pair]
        raise SidelightError(
            f"{' and '.join(relations.name_rows(objects))} have to be apart but edges connect "
            'them, and edits="add" removes none; use edits="both".'
        )
    cost = graph.cost(labels)
    return Solution(
        labels=labels,
        cost=cost,
        bound=cost,
        bound_method="exact",
        method="exact",
        history=np.array([cost]),
        n_iter=1,
        converged=True,
    )


def _joined_conflict(graph: SignedGraph, labels: Array) -> tuple[int, int] | None:
    """Two nodes of one cluster that must not join, if there are any."""
    pairs = graph.conflicts.tocoo()
    clash = np.flatnonzero(labels[pairs.row] == labels[pairs.col])
    if len(clash):
        return int(pairs.row[clash[0]]), int(pairs.col[clash[0]])
    held = graph.sources.tocoo()
    order = np.lexsort((held.row, held.col, labels[held.row]))
    first, second = order[:-1], order[1:]
    clash = np.flatnonzero(
        (labels[held.row[first]] == labels[held.row[second]])
        & (held.col[first] == held.col[second])
    )
    if len(clash):
        return int(held.row[first[clash[0]]]), int(held.row[second[clash[0]]])
    return None
