r"""Soft TF-IDF: cosine of TF-IDF weights in which words count that are nearly the same.

.. math::
    \mathrm{soft}(S, T) = \sum_{w \in S:\ c(w, v^*) > \theta} V(w, S)\, V(v^*, T)\, c(w, v^*),
    \qquad v^* = \arg\max_{v \in T} c(w, v)

with the weights ``V = log(tf + 1) log(N / df)`` of length 1 and Jaro-Winkler's similarity ``c`` of
two words. The similarity of two names is the mean of ``soft(S, T)`` and ``soft(T, S)``, at most 1.

An initial and a word that begins with it have ``c = 0.95``, so that "W. Wang" is similar to
"Wei Wang"; Jaro-Winkler's own 0.80 would be below every useful ``theta``.
"""

from __future__ import annotations

import numpy as np

from sidelight._kernels.relational.resolution.soft_tfidf import cosines, list_close_words, soft_sums
from sidelight._typing import Array, FloatArray, IntArray
from sidelight.relational.resolution._references import ReferenceColumn
from sidelight.relational.resolution._tokens import read_words

#: Words are close from this similarity on, which is the value of the paper.
THETA = 0.9

#: Similarity of an initial and a word that begins with it.
INITIAL = 0.95

#: Word pairs that are looked at in one go, so that they fit into memory.
WORD_PAIRS_AT_A_TIME = 4_000_000


class WordCosine:
    """Cosine of TF-IDF weights of two texts.

    Parameters
    ----------
    column : ReferenceColumn
        Texts and how many references have each.
    """

    def __init__(self, column: ReferenceColumn) -> None:
        self.words = read_words(column.texts())
        self.weights = self.words.weights(column.counts)
        self.has_words = np.diff(self.weights.indptr) > 0

    def similarity(self, a: IntArray, b: IntArray) -> FloatArray:
        """Similarity of texts with these codes; NaN where one has no words."""
        weights = self.weights
        found = cosines(a, b, weights.indptr, weights.indices, weights.data)
        found = np.clip(found, 0.0, 1.0)
        found[~(self.has_words[a] & self.has_words[b])] = np.nan
        return found


class SoftTfidf(WordCosine):
    """Soft TF-IDF of two names, aware of initials.

    Parameters
    ----------
    column : ReferenceColumn
        Names and how many references have each.
    theta : float, default=0.9
        Words are close above this Jaro-Winkler similarity.
    """

    def __init__(self, column: ReferenceColumn, theta: float = THETA) -> None:
        super().__init__(column)
        self.theta = theta
        texts = self.words.words.astype(str)
        self.lengths = np.char.str_len(texts).astype(np.int64)
        self.first = np.array([ord(text[0]) if text else 0 for text in texts.tolist()], np.int64)

    def similarity(self, a: IntArray, b: IntArray) -> FloatArray:
        """Similarity of names with these codes; NaN where one has no words."""
        sizes = np.diff(self.weights.indptr).astype(np.int64)
        found = np.empty(len(a))
        ends = np.cumsum(sizes[a] * sizes[b])
        start = 0
        while start < len(a):
            before = ends[start - 1] if start else 0
            stop = int(np.searchsorted(ends, before + WORD_PAIRS_AT_A_TIME, side="right"))
            block = slice(start, max(stop, start + 1))
            found[block] = self._block(a[block], b[block])
            start = block.stop
        found[~(self.has_words[a] & self.has_words[b])] = np.nan
        return found

    def _block(self, a: IntArray, b: IntArray) -> FloatArray:
        weights = self.weights
        n_words = len(self.words.words)
        # Only words of similar length can be close: c <= j + 0.4 (1 - j), and Jaro's
        # j <= (2 + shorter / longer) / 3.
        shorter = 3 * (self.theta - 0.4) / 0.6 - 2
        keys = list_close_words(
            a, b, weights.indptr, weights.indices, self.lengths, shorter, n_words
        )
        pairs, place = np.unique(keys, return_inverse=True)
        first, second = np.divmod(pairs, n_words)
        close = jaro_winkler(self.words.words[first], self.words.words[second], cutoff=self.theta)
        sums = soft_sums(
            a,
            b,
            weights.indptr,
            weights.indices,
            weights.data,
            self.lengths,
            self.first,
            shorter,
            place,
            close,
            self.theta,
            INITIAL,
        )
        return np.clip(sums, 0.0, 1.0)


def jaro_winkler(first: Array, second: Array, *, cutoff: float = 0.0) -> FloatArray:
    """Jaro-Winkler similarity of texts, place by place; 0 below the cutoff."""
    from rapidfuzz.distance import JaroWinkler
    from rapidfuzz.process import cpdist

    return np.asarray(
        cpdist(
            first,
            second,
            scorer=JaroWinkler.similarity,
            score_cutoff=cutoff,
            dtype=np.float64,
            workers=-1,
        )
    )
