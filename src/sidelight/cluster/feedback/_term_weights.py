"""Weights of terms learned from pairs of documents (Constrained Clustering, 2.3.1).

The distance of two documents with smoothed frequencies ``a`` and ``b`` and lengths ``s`` and ``t``
is linear in the weights (the sign of the text's formula is corrected)::

    D'(x, y) = Σ_j γ_j g_j        g_j = s a_j log(a_j / m_j) + t b_j log(b_j / m_j)

so its gradient is ``g``, whatever the weights are. Documents to be separated pull ``γ`` along ``g``
and documents to be joined against it. A pair is as loud as another, and speaks of every term as
``u = g |g|₁ / |g|₂²``: about ±1 for the terms that tell its documents apart, however many they
are. Of a term that few pairs speak of little is learned::

    log γ_j  changes by  step · Σ u_j / (5 + Σ |u_j|)

so that no number of pairs changes a weight by more than a factor ``exp(step)``.
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
#: Evidence for nothing in particular that every term begins with, in pairs.
PRIOR_PAIRS = 5.0
#: Documents that are compared with a cluster at a time.
ROWS_AT_ONCE = 256


@dataclass(frozen=True)
class Pull:
    """Change of the weights of the terms that feedback asks for.

    Attributes
    ----------
    direction : ndarray of shape (n_terms,)
        Sum of ``± u``: positive where a term should count more.
    magnitude : ndarray of shape (n_terms,)
        Sum of ``|u|``: the amount of feedback about the term.
    """

    direction: Array
    magnitude: Array


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
        self.totals = np.asarray(self.counts.sum(axis=0)).ravel()

    @property
    def n_terms(self) -> int:
        """Size of the vocabulary."""
        return int(self.counts.shape[1])

    def pull_of_pairs(self, pairs: Array, pull: Array) -> tuple[Pull, Array]:
        """Return the change that pairs ask for, and which pairs consist of two equal documents.

        ``pull`` is the weight of each pair, positive to separate and negative to join.
        """
        direction, magnitude = np.zeros((2, self.n_terms))
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
            magnitude,
        )
        return Pull(direction, magnitude), norms == 0

    def pull_of_cluster(self, rows: Array, frequencies: Array, length: float, sign: int) -> Pull:
        """Return the change for separating (+1) or joining (-1) documents and a cluster.

        The cluster counts as one long document of these frequencies; all rows together weigh 1.
        """
        direction, magnitude = np.zeros((2, self.n_terms))
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
            squares = np.sum(gain**2, axis=1, keepdims=True)
            gain *= np.abs(gain).sum(axis=1, keepdims=True) / np.where(squares > 0, squares, 1)
            direction += gain.sum(axis=0)
            magnitude += np.abs(gain).sum(axis=0)
        return Pull(sign * direction / len(rows), magnitude / len(rows))

    def gradient(self, one: int, other: int) -> Array:
        """``g`` of two documents, for every term."""
        s, t = self.lengths[one], self.lengths[other]
        a = (1 + self.counts[[one]].toarray()[0]) / (s + self.n_terms)
        b = (1 + self.counts[[other]].toarray()[0]) / (t + self.n_terms)
        return np.array(
            [term_divergence(p, q, s, t, self._by_length) for p, q in zip(a, b, strict=True)]
        )


def evidence(pulls: list[Pull]) -> Array:
    """Combined evidence of all statements about each term, within -1 and 1, shrunk if little.

    ``Σ u / (5 + Σ |u|)`` for every term.
    """
    direction = np.sum([pull.direction for pull in pulls], axis=0)
    magnitude = np.sum([pull.magnitude for pull in pulls], axis=0)
    shrunken: Array = direction / (PRIOR_PAIRS + magnitude)
    return shrunken


def warp(term_weights: Array, direction: Array, step: float) -> Array:
    """Multiply the weights by ``exp(step * direction)``, within bounds."""
    # In logarithms, where no step is too large; the bounds of the weights are bounds there too.
    return np.exp(np.clip(np.log(term_weights) + step * direction, np.log(LOWEST), np.log(HIGHEST)))


def normalize(term_weights: Array, frequencies: Array) -> Array:
    """Scale the weights to mean 1 over all words, so that documents keep their mean length."""
    return term_weights * (frequencies.sum() / (term_weights @ frequencies))
