"""Collective resolution: decisions about references that depend on each other (CR)."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Literal

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from sidelight._fit.parameters import Auto, FiniteNonNegative, Share, Whole, estimator
from sidelight._typing import Array, FloatArray
from sidelight.exceptions import SidelightError
from sidelight.relational.resolution._base import _Resolver
from sidelight.relational.resolution._collective_merges import (
    GREEDY,
    CollectiveMerges,
    Evidence,
    Settings,
    merge_collectively,
    merges_of,
    occur_together,
    pairs_of,
)
from sidelight.relational.resolution._explain import (
    EntityExplanation,
    doubtful_pairs,
    explain_entity,
    outcome_of,
)
from sidelight.relational.resolution._problem import Problem, numbered
from sidelight.relational.resolution._query import QueryResult, resolve_query
from sidelight.relational.resolution._similarities import Scorer
from sidelight.tags import own_tags

#: Pairs whose attributes are less similar are no candidates: nothing could join them sensibly, and
#: tables of which all pairs are compared have many.
MIN_ATTRIBUTE = 0.05

#: Threshold by default: attributes as similar as the first with neighbors as similar as the second.
USUAL_ATTRIBUTE, USUAL_RELATIONAL = 0.8, 0.3

#: Attribute similarity from which values are nearly identical, by the kind of comparison.
NEARLY_IDENTICAL = {
    **{"name": 0.95, "words": 0.9, "text": 0.95, "exact": 1.0},
    # A difference of 1.5 widths, which measurements of one thing often have.
    **{"number": 0.3, "date": 0.3},
}


@estimator
class CollectiveResolution(_Resolver):
    r"""Merges references to entities by their attributes and by the entities around them.

    .. math::
        \mathrm{sim}(a, b) = (1 - \alpha)\, \mathrm{sim}_A(a, b)
        + \alpha\, \frac{|N(a) \cap N(b)|}{|N(a) \cup N(b)|}

    for two clusters ``a`` and ``b`` of references, with the similarity of their attributes and the
    sets ``N`` of other clusters that occur with them in hyper-edges. The most similar pair is
    merged first; every merge makes the neighborhoods of other clusters more alike, or less, and
    with them their similarity. Read more in the :doc:`user guide </relational/collective>`.

    Parameters
    ----------
    threshold : float >= 0, finite or "auto", default="auto"
        Least similarity of two clusters that are merged. By default
        ``0.8 (1 - alpha) + 0.3 alpha``, which is 0.55 for equal shares, and 0.8 where no references
        occur together.
    relational_share : float in [0, 1], default=0.5
        Share of the relational part; of no use where no references occur together.
    linkage : {"single", "average", "complete"}, default="single"
        Similarity of the attributes of two clusters: the largest, mean or smallest one over the
        candidate pairs between them. The mean keeps two names apart that both fit a third one.
    bootstrap : float in [0, 1] or "auto" or None, default="auto"
        Attribute similarity from which two references are nearly identical and are merged before
        anything else, if enough references around them are so too; None for no such merges. By
        default 0.95 for names and texts, 0.9 for words, 0.3 for numbers and dates and 1 for exact
        values, averaged over the columns.
    bootstrap_neighbors : int >= 0, default=1
        Number of nearly identical references around two references that the bootstrap asks for; 0
        suits data in which nearly identical references are always the same entity.
    isolated : float in [0, 1], default=0.3
        Relational part of two clusters of which one has no neighbors, so that nothing is known
        about it. By default it lets attributes of similarity 0.8 reach the default threshold; 0 is
        as published, where such references hardly ever join.

    Attributes
    ----------
    pairs_ : dict of str to ndarray
        The candidate pairs ``i``, ``j``; ``attribute`` and ``relational`` part and ``similarity``
        of their clusters, when these were merged or else at the end (0 where they must stay
        apart); and whether they are ``joined``: the same entity.
    merges_ : dict of str to ndarray
        Merges in their order: ``first`` and ``second``, the two clusters (below ``n_samples`` a
        reference, else ``n_samples`` plus the number of an earlier merge); ``i`` and ``j``, the
        most similar pair of references between them; ``attribute``, ``relational``,
        ``similarity``; ``shared`` of all ``neighbors``, clusters around both or one; and ``kind``:
        ``"must-link"``, ``"bootstrap"`` or ``"similar"``. The first two kinds are made at any
        threshold and have similarity 1.
    threshold_ : float
        Threshold that was used.
    relational_share_ : float
        Share of the relational part that was used: 0 where no references occur together.
    bootstrap_ : float or None
        Attribute similarity of nearly identical references that was used.
    objective_ : float
        ``-Σ (sim - threshold)`` over the merges by similarity. It is not the objective of a search
        for the best partition: the method is greedy and has none.
    history_ : ndarray
        The same after every merge.
    n_iter_ : int
        Number of merges, at least 1.
    converged_ : bool
        Whether no pair that reaches the threshold was left.

    See Also
    --------
    AttributeResolution : Attributes alone.
    RelationalResolution : Compares what the references around two references say.
    CorrelationClustering : For pairs that something else has scored.

    Notes
    -----
    Where no references occur together at all, the similarity is that of the attributes alone, and
    the result that of :class:`AttributeResolution`, constraints and sources included
    (``linkage="single"``). Pairs whose attributes have a similarity below 0.05 are no candidates.

    What is known always holds: must-linked references begin in one cluster, and clusters that a
    cannot-link, a source or (``distinct=True``) a hyper-edge keeps apart have similarity 0. Set
    ``distinct=False`` where a list may name one entity twice.

    The relational part helps where neighbors identify: few neighbors for each entity, and
    hyper-edges of several references. Where every entity occurs with many others, or neighbors
    have common names themselves, it adds little, and errors of the bootstrap, which are never
    undone, spread; raise ``bootstrap_neighbors`` then.

    Before any merge no two hyper-edges have a cluster in common, and the relational part is 0
    everywhere: without the bootstrap only attributes can begin. Merges of equal similarity are made
    in the order of the rows.

    Time is ``O(m log m)`` for ``m`` candidate pairs, and for every merge one update for each
    similar cluster of the merged cluster and of its neighbors: near-linear in the references as
    long as blocking keeps few pairs for each. Memory is about 200 bytes for each candidate pair,
    and 60 for each pair of references that occur together.

    References
    ----------
    Bhattacharya and Getoor, "Collective relational clustering", in Basu, Davidson and Wagstaff
    (eds.), *Constrained Clustering* (2009), sections 10.2.5, 10.3 and 10.4. Bhattacharya and
    Getoor, "Collective entity resolution in relational data", *ACM TKDD* 1 (2007).

    Examples
    --------
    >>> from sidelight.relational import CollectiveResolution
    >>> names = ["W. Wang", "A. Ansari", "W. Wang", "L. Li", "W. W. Wang", "A. Ansari"]
    >>> papers = [1, 1, 2, 2, 3, 3]
    >>> model = CollectiveResolution().fit({"name": names}, relations=papers)
    >>> model.labels_
    array([0, 1, 2, 3, 0, 1], dtype=int32)
    >>> print(model.explain(1))
    Entity 1: row 1 (name=A. Ansari), row 5 (name=A. Ansari)
    1. row 1 + row 5, nearly identical, as are references around them: attributes 1.00, 0 of 2
       neighbors shared.
    """

    threshold: FiniteNonNegative | Auto = "auto"  # type: ignore[assignment]
    _: KW_ONLY
    relational_share: Share = 0.5
    linkage: Literal["single", "average", "complete"] = "single"
    bootstrap: Share | Auto | None = "auto"
    bootstrap_neighbors: Whole = 1
    isolated: Share = 0.3

    _own_tags = own_tags(
        summary="references merged by attributes and by the entities that occur with them",
        source="Bhattacharya and Getoor 2009, sections 10.2.5 to 10.4 (CR)",
        complexity="O(m log m) time for m candidate pairs and b updates per merge, O(m) memory",
        monotone=True,
    )

    def _least_similarity(self) -> float:
        if self.relational_share == 1:
            return MIN_ATTRIBUTE
        least = (self._usual_threshold(self.relational_share) - self.relational_share) / (
            1 - self.relational_share
        )
        return max(least, MIN_ATTRIBUTE)

    def _usual_threshold(self, alpha: float) -> float:
        """Threshold as given, or what suits the share of the relational part."""
        if self.threshold != "auto":
            return float(self.threshold)
        return USUAL_ATTRIBUTE * (1 - alpha) + USUAL_RELATIONAL * alpha

    def _settings(self, incidence: sparse.csr_array, scorer: Scorer) -> Settings:
        """Settings for references with these hyper-edges and comparisons."""
        alpha = float(self.relational_share) if occur_together(incidence) else 0.0
        bootstrap = self.bootstrap
        if bootstrap == "auto":
            bootstrap = nearly_identical(scorer)
        return Settings(
            alpha=alpha,
            threshold=self._usual_threshold(alpha),
            linkage=self.linkage,
            bootstrap=None if bootstrap is None else float(bootstrap),
            bootstrap_neighbors=int(self.bootstrap_neighbors),
            isolated=float(self.isolated),
            verbose=int(self.verbose),
        )

    def _resolve(self, problem: Problem) -> None:
        evidence = evidence_of(problem)
        settings = self._settings(problem.incidence, problem.scorer)
        ended = merge_collectively(evidence, settings)
        merges = merges_of(ended)
        self.threshold_, self.relational_share_ = settings.threshold, settings.alpha
        self.bootstrap_ = settings.bootstrap
        self.pairs_, self.merges_ = pairs_of(ended), as_columns(merges)
        gains = merges.similarity[merges.kind == GREEDY] - settings.threshold
        self.history_ = np.append(0.0, -np.cumsum(gains))
        self.objective_ = float(self.history_[-1])
        self.n_iter_, self.converged_ = max(len(merges), 1), ended.converged
        self._outcome = outcome_of(ended, merges, problem.references, problem.scorer.columns)
        self._set_labels(ended.root(), problem)

    def _threshold_of_fit(self) -> float:
        return float(self.threshold_)

    def _without_relations(self, attribute: FloatArray) -> FloatArray:
        """Similarity of references without neighbors, as far as nothing is known about any."""
        alpha = self.relational_share_
        return (1 - alpha) * attribute + alpha * float(self.isolated)

    def labels_at(self, threshold: float) -> Array:
        """Labels that a fit with a higher threshold has, without a fit.

        Parameters
        ----------
        threshold : float
            At least ``threshold_``: what a lower one would merge is not known.

        Returns
        -------
        labels : ndarray of int32, shape (n_samples,)
            Entity of every reference.
        """
        check_is_fitted(self)
        if threshold < self.threshold_:
            raise SidelightError(
                f"The merges are known down to the threshold {self.threshold_:g} of the fit; fit "
                f"with threshold={threshold:g} to go further."
            )
        return numbered(self._outcome.clusters_at(self._outcome.n_merges_at(threshold)))

    def explain(self, entity: int | None = None, *, row: Any = None) -> EntityExplanation:
        """How an entity came about: its merges with both parts of each similarity.

        Parameters
        ----------
        entity : int, optional
            Entity, as in ``labels_``.
        row : int or object, optional
            Instead of the entity one of its references: its id where the references have ids, else
            its position.

        Returns
        -------
        explanation : EntityExplanation
            ``print`` it, or take its ``table``.
        """
        check_is_fitted(self)
        return explain_entity(self._outcome, self.labels_, entity, row)

    def doubtful_pairs(self, n: int = 20) -> dict[str, Array]:
        """Pairs whose similarity is nearest to the threshold, and what would decide about them.

        Pairs that constraints, sources or hyper-edges settle, and merges of the bootstrap, are not
        among them; of two clusters only the most similar pair of references is.

        Parameters
        ----------
        n : int, default=20
            Largest number of pairs.

        Returns
        -------
        pairs : dict of ndarray
            ``i``, ``j`` (positions), ``similarity``, ``attribute``, ``relational``, ``joined`` and
            ``reason``, the most doubtful first.
        """
        check_is_fitted(self)
        return doubtful_pairs(self._outcome, n)

    def query(
        self,
        X: Any,
        *,
        rows: Any = None,
        value: dict[str, Any] | None = None,
        levels: int | None = 2,
        looks_like: float = 0.7,
        y: Any = None,
        constraints: Any = None,
        relations: Any = None,
        sources: Any = None,
    ) -> QueryResult:
        """Resolve some references only, with what is near to them in the data.

        Level 0 holds the references that are asked for and those that look like them. Every further
        level adds the references that occur with these, and those that look like one of them. What
        is extracted is resolved as ``fit`` would, and the references of level 0 are reported.
        Nothing is fitted, and only pairs of extracted references are compared.

        Parameters
        ----------
        X : table or array of shape (n_samples, n_features)
            The references, as in ``fit``.
        rows : array-like, optional
            References that are asked for: ids where the references have ids, else positions.
        value : dict of str to object, optional
            Instead of rows, values of columns: references that have all of them are asked for.
        levels : int or None, default=2
            Number of levels; None to go on as long as there is something to add. With
            ``looks_like=0`` that gives what ``fit`` gives.
        looks_like : float, default=0.7
            Attribute similarity from which a candidate looks like a reference and is added.
        y, constraints, relations, sources : object, optional
            As in ``fit``.

        Returns
        -------
        result : QueryResult
            The references of level 0 and their entities.
        """
        given = (y, constraints, relations, sources)
        return resolve_query(self, X, rows, value, levels, looks_like, given)


def evidence_of(problem: Problem) -> Evidence:
    """Candidates that are similar at all, hyper-edges and rules."""
    candidates = problem.candidates
    kept = candidates.similarity >= MIN_ATTRIBUTE
    return Evidence(
        pairs=candidates.pairs[kept],
        similarity=candidates.similarity[kept],
        incidence=problem.incidence,
        node=problem.node,
        conflicts=problem.conflicts,
        exclusive=problem.exclusive,
    )


def nearly_identical(scorer: Scorer) -> float:
    """Attribute similarity of nearly identical references: the weighted mean over columns."""
    comparisons = list(scorer.comparisons.values())
    levels = [NEARLY_IDENTICAL.get(str(one.kind), 0.9) for one in comparisons]
    return float(np.average(levels, weights=[one.weight for one in comparisons]))


def as_columns(merges: CollectiveMerges) -> dict[str, Array]:
    """``merges_`` of the fitted resolver."""
    return {
        "first": merges.clusters[:, 0],
        "second": merges.clusters[:, 1],
        "i": merges.pairs[:, 0],
        "j": merges.pairs[:, 1],
        "attribute": merges.attribute,
        "relational": merges.relational,
        "similarity": merges.similarity,
        "shared": merges.shared,
        "neighbors": merges.around,
        "kind": merges.kind,
    }
