"""Decisions about pairs made transitive: clusters of references that join pair by pair."""

from __future__ import annotations

from typing import Any

import numpy as np

from sidelight._fit.parameters import estimator
from sidelight._kernels.relational.resolution.joining import join_in_order
from sidelight._typing import Array, FloatArray, IntArray
from sidelight.relational.resolution._base import _Resolver
from sidelight.relational.resolution._problem import Problem, both_ways


@estimator
class _ClosureResolver(_Resolver):
    """A resolver that decides about every pair by itself, and closes the decisions.

    Subclasses define ``_relational(problem)``: the relational similarity of the candidates, and
    ``_mixed(attribute, relational)``.
    """

    def _resolve(self, problem: Problem) -> None:
        candidates = problem.candidates
        relational = self._relational(problem)
        similarity = self._mixed(problem, candidates.similarity, relational)
        joined = similarity >= self.threshold
        self.pairs_ = _columns(candidates.pairs, candidates.similarity, relational, similarity)
        self.pairs_["joined"] = joined
        labels, order = close(problem, similarity, joined)
        self.merges_ = {
            name: self.pairs_[name][order]
            for name in ("i", "j", "attribute", "relational", "similarity")
        }
        gains = similarity[order] - self.threshold
        self.history_ = np.append(0.0, -np.cumsum(gains))
        self.objective_ = float(self.history_[-1])
        self.n_iter_, self.converged_ = max(len(order), 1), True
        self._set_labels(labels, problem)

    def _relational(self, problem: Problem) -> FloatArray:
        """Relational similarity of the candidates."""
        return np.zeros(len(problem.candidates))

    def _mixed(self, problem: Problem, attribute: FloatArray, relational: FloatArray) -> FloatArray:
        """Similarity that is compared with the threshold."""
        return attribute


def _columns(
    pairs: IntArray, attribute: FloatArray, relational: FloatArray, similarity: FloatArray
) -> dict[str, Any]:
    return {
        "i": pairs[:, 0],
        "j": pairs[:, 1],
        "attribute": attribute,
        "relational": relational,
        "similarity": similarity,
    }


def close(problem: Problem, similarity: FloatArray, joined: Array) -> tuple[Array, IntArray]:
    """Join pairs in the order of falling similarity; skip those that would break a rule.

    Without rules the clusters are the connected components of the joined pairs.

    Returns
    -------
    labels : ndarray of shape (n,)
        Cluster of every reference.
    order : ndarray of int64
        Candidates that joined two clusters, in their order.
    """
    kept = np.flatnonzero(joined)
    order = kept[np.argsort(-similarity[kept], kind="stable")]
    exclusive = problem.exclusive
    conflicts = both_ways(problem.conflicts, problem.n_nodes)
    parent, used = join_in_order(
        problem.node[problem.candidates.pairs[order]],
        exclusive.indptr.astype(np.int64),
        exclusive.indices.astype(np.int64),
        max(exclusive.shape[1], 1),
        conflicts.indptr.astype(np.int64),
        conflicts.indices.astype(np.int64),
    )
    return parent[problem.node], order[used]
