"""Weights of terms learned from pairs of documents (Constrained Clustering, 2.3.1).

The distance of two documents with smoothed frequencies ``a`` and ``b`` and lengths ``s`` and ``t``
is linear in the weights (the sign of the text's formula is corrected)::

    D'(x, y) = Σ_j γ_j g_j        g_j = s a_j log(a_j / m_j) + t b_j log(b_j / m_j)

so its gradient is ``g``, whatever the weights are. Documents to be separated pull ``γ`` along ``g``
and documents to be joined against it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from sidelight._kernels.cluster.divergence import add_pair_directions, term_divergence
from sidelight._typing import Array

#: The weights that a step may reach, before they are scaled to mean 1.
LOWEST, HIGHEST = 1e-2, 20.0
#: Documents that are compared with a cluster at a time.
ROWS_AT_ONCE = 256


@dataclass(frozen=True)
class Pull:
    """Change of the weights of the terms that feedback asks for.

    Attributes
    ----------
    direction : ndarray of shape (n_terms,)
        Sum of ``± g / |g|₁``: positive where a term should count more.
    weight : float
        Sum of the weights of the statements.
    """

    direction: Array
    weight: float


class Documents:
    """Counts of the terms, and the terms whose weights can be learned.

    Parameters
    ----------
    counts : array or CSR matrix of shape (n_documents, n_terms)
        The counts.
    min_df : int
        Number of documents that a term must occur in for its weight to be learned.
    published : bool
        Whether ``m`` is the midpoint of two documents, as in the source, instead of their mean
        weighted by length, with which every ``g_j`` is at least 0.
    """

    def __init__(self, counts: Any, min_df: int, *, published: bool) -> None:
        self.counts = sparse.csr_array(counts, dtype=np.float64, copy=True)
        self.counts.sum_duplicates()  # also sorts the terms of every document
        self.counts.eliminate_zeros()
        self.lengths = np.asarray(self.counts.sum(axis=1)).ravel()
        frequency = np.bincount(self.counts.indices, minlength=self.counts.shape[1])
        self.learned = frequency >= min_df
        self._by_length = not published

    @property
    def n_terms(self) -> int:
        """Size of the vocabulary."""
        return int(self.counts.shape[1])

    def pull_of_pairs(self, pairs: Array, pull: Array) -> tuple[Pull, Array]:
        """Return the change that pairs ask for, and which pairs consist of two equal documents.

        ``pull`` is the weight of each pair, positive to separate and negative to join.
        """
        direction = np.zeros(self.n_terms)
        norms = add_pair_directions(
            np.array(pairs, dtype=np.int64).reshape(-1, 2),
            np.asarray(pull, dtype=np.float64),
            self.counts.indptr.astype(np.int64),
            self.counts.indices.astype(np.int64),
            self.counts.data,
            self.lengths,
            self.learned,
            self._by_length,
            direction,
        )
        return Pull(direction, float(np.abs(pull).sum())), norms == 0

    def pull_of_cluster(self, rows: Array, frequencies: Array, length: float, sign: int) -> Pull:
        """Return the change for separating (+1) or joining (-1) documents and a cluster.

        The cluster counts as one long document of these frequencies; all rows together weigh 1.
        """
        direction = np.zeros(self.n_terms)
        for start in range(0, len(rows), ROWS_AT_ONCE):
            some = rows[start : start + ROWS_AT_ONCE]
            s = self.lengths[some, None]
            own = (1 + self.counts[some].toarray()) / (s + self.n_terms)
            middle = 0.5 * (own + frequencies)
            if self._by_length:
                middle = (s * own + length * frequencies) / (s + length)
            gain = s * own * np.log(own / middle)
            gain += length * frequencies * np.log(frequencies / middle)
            gain[:, ~self.learned] = 0
            norm = np.abs(gain).sum(axis=1, keepdims=True)
            direction += np.sum(gain / np.where(norm > 0, norm, 1), axis=0)
        return Pull(sign * direction / len(rows), 1.0)

    def gradient(self, one: int, other: int) -> Array:
        """``g`` of two documents, for every term."""
        s, t = self.lengths[one], self.lengths[other]
        a = (1 + self.counts[[one]].toarray()[0]) / (s + self.n_terms)
        b = (1 + self.counts[[other]].toarray()[0]) / (t + self.n_terms)
        return np.array(
            [term_divergence(p, q, s, t, self._by_length) for p, q in zip(a, b, strict=True)]
        )


def average(pulls: list[Pull], n_terms: int) -> Array:
    """Mean of all changes, in units of the mean share of a term in ``g``."""
    total = sum(pull.weight for pull in pulls)
    if total == 0:
        return np.zeros(n_terms)
    return n_terms * np.sum([pull.direction for pull in pulls], axis=0) / total


def warp(term_weights: Array, direction: Array, step: float) -> Array:
    """Multiply the weights by ``exp(step * direction)``, within bounds."""
    # In logarithms, where no step is too large; the bounds of the weights are bounds there too.
    return np.exp(np.clip(np.log(term_weights) + step * direction, np.log(LOWEST), np.log(HIGHEST)))


def normalize(term_weights: Array) -> Array:
    """Scale the weights to mean 1."""
    return term_weights / term_weights.mean()
