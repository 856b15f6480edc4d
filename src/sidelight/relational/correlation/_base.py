"""Shared parts of the clusterers of scored pairs: input, fitted attributes, summary."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.utils import Tags

from sidelight._fit.lowest import relative_gap
from sidelight._typing import IntArray
from sidelight._warn import warn
from sidelight.base import CLUSTERER_ATTRIBUTES, Clusterer
from sidelight.constraints import Constraints, Relations
from sidelight.constraints.inner import align_to_ids, as_codes, by_row, own_ids
from sidelight.exceptions import UnusedKnowledge
from sidelight.relational.correlation._graph import SignedGraph
from sidelight.relational.correlation._solve import Solution

BOUND_ATTRIBUTES = {
    "objective_ : float": "Sum of the scores with which the partition disagrees; it was minimized.",
    "agreement_ : float": "Sum of the scores with which it agrees.",
    "lower_bound_ : float": "Proven: no partition costs less.",
    "gap_ : float": "Share of ``objective_`` by which it may be above the optimum at most, "
    "``(objective_ - lower_bound_) / objective_``; 0 where both are 0.",
}


class ScoredPairsClusterer(Clusterer):
    """A clusterer whose input is a graph of scored pairs."""

    _common_attributes: ClassVar[Any] = CLUSTERER_ATTRIBUTES | BOUND_ATTRIBUTES
    _family_tags: ClassVar[dict[str, Any]] = {
        "knowledge": ("must-link", "cannot-link", "labels", "groups", "sources"),
        "enforcement": "hard",
        "kind": "graph-clusterer",
        "sparse": True,
    }

    agreement_: float
    lower_bound_: float
    gap_: float

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = True
        return tags

    def _validate_graph(
        self, X: Any, y: Any, constraints: Constraints | None, sources: Any
    ) -> tuple[Relations, Constraints, IntArray | None]:
        """Scored pairs, knowledge in the order of their objects, and codes of the sources."""
        self._check_parameters(reset=True)
        relations = self._as_scored_pairs(X)
        if relations.n_hyperedges:
            warn(
                f"{type(self).__name__} does not use hyper-edges, only scored pairs: its result is "
                "the same without them. CollectiveResolution uses them.",
                UnusedKnowledge,
            )
        n = relations.n_samples
        if relations.ids is not None:
            if isinstance(constraints, Constraints) and constraints.ids is not None:
                constraints = align_to_ids(constraints, relations.ids, "X")
            y = None if y is None else by_row(y, relations.row_index, n, "y")
        rows = None if isinstance(X, Relations) or _is_networkx(X) else X
        known = self._validate_knowledge(constraints, y, n, rows)
        if known.ids is None and relations.ids is not None:
            known = _named(known, relations)
        if sources is None:
            return relations, known, None
        placed = as_codes(by_row(sources, relations.row_index, n, "sources"), n, "sources")
        return relations, known, None if placed is None else placed.codes

    def _as_scored_pairs(self, X: Any) -> Relations:
        if isinstance(X, Relations) or _is_networkx(X):
            relations = X if isinstance(X, Relations) else Relations.from_networkx(X)
            self.n_features_in_ = relations.n_samples
            if hasattr(self, "feature_names_in_"):
                del self.feature_names_in_  # of another fit
            return relations
        rows = self._check_rows(X, reset=True)
        return Relations.from_matrix(rows, ids=own_ids(X))

    def _set_fitted(
        self, graph: SignedGraph, solved: Solution, known: Constraints, relations: Relations
    ) -> None:
        """Set the attributes of the partition and of its bound."""
        self.labels_ = graph.of_objects(solved.labels)
        self.objective_ = solved.cost
        self.agreement_ = graph.total - solved.cost
        self.lower_bound_ = solved.bound
        self.gap_ = relative_gap(solved.cost - solved.bound, solved.cost)
        self.history_ = solved.history
        self.n_iter_ = solved.n_iter
        self.converged_ = solved.converged
        self._relations = relations
        self._compare_with(known)

    def summary(self) -> str:
        """Return five plain lines about the fit: method, data, end of the search, result, advice.

        The end of the search includes how far from optimal the partition can be.
        """
        lines = super().summary().split("\n")
        return "\n".join([*lines[:2], f"{lines[2][:-1]}, {proven(self.gap_)}.", *lines[3:]])


def _named(known: Constraints, relations: Relations) -> Constraints:
    """Constraints about positions, whose messages name the objects by the ids of the relations."""
    labels, groups = (
        None if codes is None else [names[code].item() if code >= 0 else None for code in codes]
        for codes, names in ((known.labels, known.label_names), (known.groups, known.group_names))
    )
    assert relations.ids is not None
    return Constraints(
        relations.ids[known.must_link],
        relations.ids[known.cannot_link],
        labels=labels,
        groups=groups,
        ids=relations.ids,
    )


def proven(gap: float) -> str:
    """Text of what a relative gap proves about optimality."""
    if gap <= 1e-9:
        return "proven optimal"
    return f"within {100 * gap:.2g} % of optimal"


def _is_networkx(X: Any) -> bool:
    return hasattr(X, "adj") and hasattr(X, "edges")


def listed_disagreements(relations: Relations, labels: Any) -> Any:
    """Which edges disagree with a partition: positive ones apart, negative ones joined."""
    same = labels[relations.edges[:, 0]] == labels[relations.edges[:, 1]]
    return np.where(same, relations.scores < 0, relations.scores > 0)


def unlisted_pairs(relations: Relations, labels: Any) -> IntArray:
    """Pairs of objects of one cluster that no edge joins, sorted; memory O(joined pairs)."""
    n = relations.n_samples
    order = np.argsort(labels, kind="stable")
    sizes = np.bincount(labels)
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    # Every object with those behind it in its cluster.
    place = np.arange(n) - np.repeat(starts, sizes)
    behind = np.repeat(sizes, sizes) - place - 1
    first = np.repeat(np.arange(n), behind)
    offsets = np.arange(len(first)) - np.repeat(np.cumsum(behind) - behind, behind)
    joined = np.column_stack([order[first], order[first + 1 + offsets]])
    key = joined[:, 0] * n + joined[:, 1]
    listed = relations.edges[:, 0] * n + relations.edges[:, 1]
    return joined[np.sort(np.flatnonzero(~np.isin(key, listed)))]
