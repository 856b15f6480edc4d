"""A mixture of multinomials over weighted counts (Constrained Clustering, 2.2).

The counts of term ``j`` are weighted by ``γ_j``; EM maximizes ::

    Σ_x log Σ_i π_i Π_j θ_ij^(γ_j N_xj)  +  Σ_ij log θ_ij

where the last term (a Dirichlet prior of parameter 2) is the same as adding one to every count.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from scipy.special import softmax

from sidelight._fit.em.components import Statistics
from sidelight._fit.em.discrete import MultinomialComponents
from sidelight._fit.em.loop import EMResult, Parameters, log_joint_blocks
from sidelight._typing import Array
from sidelight.cluster.feedback._term_weights import Documents
from sidelight.engine import RowSource


@dataclass(frozen=True)
class WeightedTerms(MultinomialComponents):
    """Multinomial components in which counts of terms are multiplied by term weights.

    Attributes
    ----------
    term_weights : ndarray of shape (n_terms,)
        Weights ``γ`` of the terms.
    published : bool
        Whether the m-step counts every term once, as the source does; then the objective may rise.
    """

    term_weights: Array
    published: bool

    @property
    def frequencies(self) -> Array:
        """Frequencies ``θ`` of the terms in every cluster."""
        return np.exp(self.log_probabilities)

    def _natural(self) -> tuple[Array, Array]:
        return (self.log_probabilities * self.term_weights).T, np.zeros(self.n_components)

    def m_step(self, statistics: Statistics) -> Self:
        """Weighted frequencies of the terms in each component, one added to every count."""
        totals, counts = statistics
        return super().m_step((totals, counts if self.published else counts * self.term_weights))


def random_log_frequencies(
    source: RowSource, n_clusters: int, random_state: np.random.RandomState
) -> Array:
    """Log-frequencies of randomly weighted documents: Dirichlet(1, ..., 1) weights, one added."""
    shares = random_state.standard_exponential((source.n_rows, n_clusters))
    shares *= source.n_rows / n_clusters / shares.sum(axis=0)

    def add(block: Any, weights: Array) -> tuple[tuple[Array], tuple[()]]:
        return (np.asarray(block.T @ weights),), ()

    (counts,), _ = source.map_reduce(add, aligned=(shares,))
    return np.log(1 + counts.T) - np.log(len(counts) + counts.sum(axis=0))[:, None]


@dataclass(frozen=True)
class Clustering:
    """A fitted mixture with the clusters of the documents.

    Attributes
    ----------
    components : WeightedTerms
        Frequencies and weights of the terms.
    log_weights : ndarray of shape (k,)
        Logarithms of the mixing weights.
    labels : ndarray of int32, shape (n_documents,)
        Likeliest cluster of every document.
    cluster_lengths : ndarray of shape (k,)
        Expected number of words in every cluster.
    end : EMResult
        History and convergence; the objective is per document.
    """

    components: WeightedTerms
    log_weights: Array
    labels: Array
    cluster_lengths: Array
    end: EMResult

    @classmethod
    def of(cls, end: EMResult, source: RowSource, lengths: Array) -> Self:
        """Clustering of documents of these lengths by the responsibilities that EM found."""
        parameters = end.components, end.log_weights
        resp = log_joint_blocks(source, *parameters, lambda joint: softmax(joint, axis=1))
        return cls(*parameters, resp.argmax(axis=1).astype(np.int32), lengths @ resp, end)

    def numbered_as(self, before: Array) -> Self:
        """Number the clusters such that as many documents as possible keep their number."""
        k = len(self.log_weights)
        overlap = np.bincount(k * self.labels + before, minlength=k * k).reshape(k, k)
        _, number = linear_sum_assignment(-overlap)
        order = np.argsort(number)
        return replace(
            self,
            components=replace(
                self.components, log_probabilities=self.components.log_probabilities[order]
            ),
            log_weights=self.log_weights[order],
            labels=number[self.labels].astype(np.int32),
            cluster_lengths=self.cluster_lengths[order],
        )


def refilled(
    found: Clustering, documents: Documents, random_state: np.random.RandomState
) -> Parameters:
    """Start in which every empty cluster has a random half of the documents of the largest one."""
    k = len(found.log_weights)
    labels = found.labels.copy()
    for empty in np.flatnonzero(np.bincount(labels, minlength=k) == 0).tolist():
        largest = np.flatnonzero(labels == np.bincount(labels, minlength=k).argmax())
        labels[random_state.permutation(largest)[: len(largest) // 2]] = empty
    members = sparse.csr_array((np.ones(len(labels)), (labels, np.arange(len(labels)))))
    counts = 1.0 + (members @ documents.counts).toarray()
    logs = np.log(counts / counts.sum(axis=1, keepdims=True))
    return Parameters(replace(found.components, log_probabilities=logs), np.full(k, -np.log(k)))
