"""Resolution by attributes of the references and of those around them: NR, and its closure NR*."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Literal

import numpy as np
from scipy import sparse

from sidelight._fit.parameters import Share, estimator
from sidelight._kernels.relational.resolution.hyperedges import best_matches, matchings
from sidelight._typing import FloatArray
from sidelight.exceptions import SidelightError
from sidelight.relational.resolution._closure import _ClosureResolver
from sidelight.relational.resolution._problem import Problem
from sidelight.tags import own_tags

#: Companions of all references that are listed at most: 8 bytes each.
MAX_COMPANIONS = 200_000_000


@estimator
class RelationalResolution(_ClosureResolver):
    r"""Joins references that are similar, and occur together with similar references.

    .. math::
        \mathrm{sim}_{NR}(i, j) = (1 - \alpha)\, \mathrm{sim}_A(i, j)
        + \alpha \max_{h \ni i,\ h' \ni j} \mathrm{sim}_H(h, h'), \qquad
        \mathrm{sim}_H(h, h') = \max_{r \in h,\ r' \in h'} \mathrm{sim}_A(r, r')

    where ``r`` and ``r'`` are neither ``i`` nor ``j``. A pair with
    :math:`\mathrm{sim}_{NR} \ge` ``threshold`` is joined: these decisions are the baseline NR of
    the source ("naive relational"), in ``pairs_["joined"]``. ``labels_`` is their transitive
    closure NR*. Read more in the :doc:`user guide </relational/resolution>`.

    Parameters
    ----------
    threshold : float >= 0, finite, default=0.85
        Least similarity of a pair that is joined.
    relational_share : float in [0, 1], default=0.5
        Share of the relational similarity.
    hyper : {"best", "matching"}, default="best"
        Similarity of two hyper-edges: their best pair, or their best one-to-one matching, a sum of
        similarities over the number of references of the larger one.

    Attributes
    ----------
    objective_ : float
        ``-Σ (sim - threshold)`` over the pairs that joined two clusters, ``merges_``.
    history_ : ndarray
        The same after every merge.
    n_iter_ : int
        Number of merges.
    converged_ : bool
        Always True.

    See Also
    --------
    AttributeResolution : Attributes of the two references alone.
    CollectiveResolution : Counts entities around the two, not names that look alike.

    Notes
    -----
    Pairs ``r, r'`` that blocking leaves out count as 0, as everywhere; a reference that is around
    both counts as 1. A pair of which one has no other references around it has no relational
    similarity: ``sim_NR = (1 - alpha) sim_A``. Where no relations are given at all,
    ``sim_NR = sim_A``, and the result is that of :class:`AttributeResolution`.

    Common names look alike everywhere, so that ``"best"`` is misled where many hyper-edges share
    them; ``"matching"`` asks for more, and :class:`CollectiveResolution` for the same entity.

    What is known always holds; see :class:`AttributeResolution`. Beside its time, ``"best"`` takes
    ``O(Σ_i Σ_r d_r + Σ_(i,j) c_j)`` for the ``c`` references around each and their ``d``
    candidates, ``"matching"`` ``O(s³)`` for every pair of hyper-edges of size ``s``. References
    around others are listed: 8 bytes for each, which long hyper-edges make many.

    References
    ----------
    Bhattacharya and Getoor, "Collective relational clustering", in Basu, Davidson and Wagstaff
    (eds.), *Constrained Clustering* (2009), section 10.2.

    Examples
    --------
    >>> from sidelight.relational import RelationalResolution
    >>> names = ["W. Wang", "A. Ansari", "W. Wang", "L. Li", "W. Wang", "A. Ansari"]
    >>> papers = [1, 1, 2, 2, 3, 3]
    >>> model = RelationalResolution(0.8).fit({"name": names}, relations=papers)
    >>> model.labels_
    array([0, 1, 2, 3, 0, 1], dtype=int32)
    """

    _: KW_ONLY
    relational_share: Share = 0.5
    hyper: Literal["best", "matching"] = "best"

    _own_tags = own_tags(
        summary="references that are similar, and occur together with similar ones",
        source="Bhattacharya and Getoor 2009, section 10.2.2 (NR, NR*)",
        complexity="O(m log m + m c) time for m candidate pairs with c references around each",
        monotone=True,
    )

    def _least_similarity(self) -> float:
        if self.relational_share == 1:
            return 0.0
        return max((self.threshold - self.relational_share) / (1 - self.relational_share), 0.0)

    def _relational(self, problem: Problem) -> FloatArray:
        if not problem.incidence.shape[1]:
            return np.zeros(len(problem.candidates))
        near = similar_references(problem)
        if self.hyper == "best":
            return best_companions(problem, near)
        return best_matchings(problem, near)

    def _mixed(self, problem: Problem, attribute: FloatArray, relational: FloatArray) -> FloatArray:
        if not problem.incidence.shape[1]:
            return attribute
        return (1 - self.relational_share) * attribute + self.relational_share * relational


def similar_references(problem: Problem) -> sparse.csr_array:
    """Attribute similarities of the candidates in both directions, and 1 on the diagonal."""
    n, pairs = problem.references.n, problem.candidates.pairs
    everyone = np.arange(n)
    rows = np.concatenate([pairs[:, 0], pairs[:, 1], everyone])
    columns = np.concatenate([pairs[:, 1], pairs[:, 0], everyone])
    scores = problem.candidates.similarity
    values = np.concatenate([scores, scores, np.ones(n)])
    near = sparse.coo_array((values, (rows, columns)), shape=(n, n)).tocsr()
    near.sort_indices()
    return near


def best_companions(problem: Problem, near: sparse.csr_array) -> FloatArray:
    """Best pair of a reference around ``i`` and one around ``j``, for every candidate."""
    together = companions(problem.incidence)
    return best_matches(
        problem.candidates.pairs,
        together.indices.astype(np.int64),
        together.indptr.astype(np.int64),
        near.indices.astype(np.int64),
        near.indptr.astype(np.int64),
        near.data,
    )


def best_matchings(problem: Problem, near: sparse.csr_array) -> FloatArray:
    """Best matching of two hyper-edges of ``i`` and ``j``, for every candidate."""
    edges, members = problem.incidence, sparse.csr_array(problem.incidence.T)
    return matchings(
        problem.candidates.pairs,
        edges.indices.astype(np.int64),
        edges.indptr.astype(np.int64),
        members.indices.astype(np.int64),
        members.indptr.astype(np.int64),
        near.indices.astype(np.int64),
        near.indptr.astype(np.int64),
        near.data,
        int(np.diff(members.indptr).max(initial=1)),
    )


def companions(incidence: sparse.csr_array) -> sparse.csr_array:
    """References that are in a hyper-edge with each reference, without itself."""
    sizes = np.bincount(incidence.indices, minlength=incidence.shape[1]).astype(np.float64)
    if float((sizes**2).sum()) > MAX_COMPANIONS:
        raise SidelightError(
            f"The hyper-edges, the largest of {int(sizes.max()):,} references, have "
            f"{float((sizes**2).sum()):.3g} pairs of references that occur together, more than the "
            f"{MAX_COMPANIONS:,} that are listed at most; leave out the largest ones."
        )
    counts = incidence.astype(np.int32)
    together = sparse.csr_array(counts @ counts.T)
    together.setdiag(0)
    together.eliminate_zeros()
    together.sort_indices()
    return together
