"""Held-out check of classes: which documents look misfiled, and how sure that is.

Every document is put into a class by naive Bayes that has seen all documents but this one:

    s_c = log(n_c + 1) + Σ_w φ(tf_w) log((N_cw + α) / (Σ_v N_cv + α V)),

with ``N`` the damped counts of the class without the document. Where that is another class than the
given one, the document may be misfiled, or be one of those that every class has at its border. The
two differ by how clear they are. The margin of a document that is filed under ``g`` and looks like
``m`` is the share of the documents of ``m`` with a smaller lead ``(s_m - s_g) / √Σφ(tf)``. A
document of ``m`` that was misfiled at random has any margin with the same probability; documents of
the border crowd at 0. So the density of the margins at 1 is the share of the misfiled (Storey's
estimate), and its ratio to the density at a margin, which falls, is the probability that a document
of this margin is misfiled (the local false discovery rate of Efron, turned around).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.isotonic import IsotonicRegression

from sidelight._typing import FloatArray, IntArray
from sidelight.cluster.categories._documents import sums_by_label

#: Count that every word has in every class beforehand.
SMOOTHING = 0.1
#: Probability from which a document counts as misfiled.
SUPPORTED = 0.5
#: Two classes are one to naive Bayes if it puts more than this mean share of their documents into
#: the other, or this share of the documents of one of them: those are not some that are misfiled.
INDISTINCT, SWALLOWED = 1 / 3, 1 / 2
#: Margins above which the share of the misfiled is looked at.
TAILS = np.linspace(0.3, 0.9, 7)
#: Numbers of a block of scores.
BLOCK = 1 << 22


@dataclass(frozen=True)
class HeldOutCheck:
    """Where naive Bayes puts documents that it has not seen.

    Attributes
    ----------
    given : ndarray of shape (n_samples,)
        Class of every document; -1 where it has none.
    classes : ndarray of shape (n_samples,)
        Class by naive Bayes of the other documents; -1 for documents without a word.
    margins : ndarray of shape (n_samples,)
        Margin of every document that it puts into another class than the given one, NaN elsewhere.
    support : ndarray of shape (n_samples,)
        Probability that a document with this margin is misfiled, NaN elsewhere.
    wrong_share : float
        Share of the misfiled documents among those with a class and a word.
    indistinct : ndarray of shape (n_pairs, 2)
        Classes that naive Bayes cannot tell apart: no document is misfiled between them.
    """

    given: IntArray
    classes: IntArray
    margins: FloatArray
    support: FloatArray
    wrong_share: float
    indistinct: IntArray

    @property
    def tidied(self) -> IntArray:
        """Given class of every document, that of naive Bayes where it counts as misfiled."""
        supported = np.nan_to_num(self.support, nan=0.0) >= SUPPORTED
        return np.where(supported, self.classes, self.given)


def check_held_out(damped: sparse.csr_array, codes: IntArray, n_classes: int) -> HeldOutCheck:
    """Put every document into a class without having seen it, and judge the given classes by it."""
    bayes = _NaiveBayes(damped, codes, n_classes)
    n = len(codes)
    classes = np.full(n, -1, dtype=np.int64)
    leads = np.full(n, np.nan)
    for rows, given, scores in bayes.blocks(np.arange(n)):
        best = scores.argmax(axis=1)
        classes[rows] = best
        if given >= 0:
            leads[rows] = scores[np.arange(len(rows)), best] - scores[:, given]
    judged = (codes >= 0) & (classes >= 0)
    other = judged & (classes != codes)
    indistinct = _indistinct(codes[judged], classes[judged], n_classes)
    suspects = np.flatnonzero(other)
    if len(indistinct):
        pair = codes[suspects] * n_classes + classes[suspects]
        both = np.vstack([indistinct, indistinct[:, ::-1]])
        suspects = suspects[~np.isin(pair, both[:, 0] * n_classes + both[:, 1])]
    margins, support = np.full(n, np.nan), np.full(n, np.nan)
    margins[suspects] = _margins(bayes, codes, classes, leads, suspects)
    share, support[suspects] = _support(margins[suspects])
    wrong_share = share * len(suspects) / max(int(np.count_nonzero(judged)), 1)
    return HeldOutCheck(codes, classes, margins, support, wrong_share, indistinct)


class _NaiveBayes:
    """Multinomial naive Bayes of damped counts that leaves a document out of its own class."""

    def __init__(self, damped: sparse.csr_array, codes: IntArray, n_classes: int) -> None:
        self._documents = damped
        self._codes = codes
        self._sums = sums_by_label(damped, codes, n_classes)
        self._totals = np.asarray(self._sums.sum(axis=1), dtype=np.float64).reshape(-1)
        self._sizes = np.bincount(codes[codes >= 0], minlength=n_classes)
        # Only words of a class have a weight other than that of a count of 0: log(1 + N / α).
        weights = self._sums.copy()
        weights.data = np.log1p(weights.data / SMOOTHING)
        self._weights = sparse.csr_array(weights.T)
        self._lengths = np.asarray(damped.sum(axis=1), dtype=np.float64).reshape(-1)

    def blocks(self, rows: IntArray) -> Iterator[tuple[IntArray, int, FloatArray]]:
        """Rows with words in blocks of a class: rows, class, scores per root of their lengths."""
        rows = rows[self._lengths[rows] > 0]
        size = max(BLOCK // len(self._sizes), 1)
        for given in np.unique(self._codes[rows]).tolist():
            members = rows[self._codes[rows] == given]
            for start in range(0, len(members), size):
                block = members[start : start + size]
                yield block, given, self._scores(block, given)

    def _scores(self, rows: IntArray, given: int) -> FloatArray:
        documents, lengths = self._documents[rows], self._lengths[rows]
        scores = (documents @ self._weights).toarray().astype(np.float64, copy=False)
        scores -= np.outer(lengths, np.log(self._totals / SMOOTHING + self._documents.shape[1]))
        scores += np.log1p(self._sizes)
        if given >= 0:
            scores[:, given] = self._left_out(documents, lengths, given)
        scores /= np.sqrt(lengths)[:, None]
        return scores

    def _left_out(self, documents: sparse.csr_array, lengths: FloatArray, given: int) -> FloatArray:
        """Scores of documents of a class for this class without each of them."""
        sums = self._sums[[given]].toarray()[0]
        rows = np.repeat(np.arange(len(lengths)), np.diff(documents.indptr))
        rest = np.maximum(sums[documents.indices] - documents.data, 0.0)
        gains = np.bincount(
            rows, documents.data * np.log1p(rest / SMOOTHING), minlength=len(lengths)
        )
        totals = np.maximum(self._totals[given] - lengths, 0.0)
        spread = np.log(totals / SMOOTHING + self._documents.shape[1])
        scores: FloatArray = gains - lengths * spread + np.log(self._sizes[given])
        return scores


def _indistinct(given: IntArray, found: IntArray, n_classes: int) -> IntArray:
    """Pairs of classes whose documents naive Bayes puts into the other too often."""
    ones = np.ones(len(given))
    shape = (n_classes, n_classes)
    moves = sparse.csr_array(sparse.coo_array((ones, (given, found)), shape))
    sizes = np.maximum(np.bincount(given, minlength=n_classes), 1)
    shares = sparse.csr_array(sparse.diags_array(1 / sizes) @ moves)
    mingled = (shares + shares.T) / 2 > INDISTINCT
    swallowed = shares.maximum(shares.T) > SWALLOWED
    return np.column_stack(sparse.triu(mingled + swallowed, 1).nonzero()).astype(np.int64)


def _margins(
    bayes: _NaiveBayes, codes: IntArray, classes: IntArray, leads: FloatArray, suspects: IntArray
) -> FloatArray:
    """Share of the documents of the class that a suspect looks like whose lead is smaller."""
    margins = np.zeros(len(suspects))
    confirmed = np.flatnonzero((codes == classes) & (codes >= 0))
    for looks_like in np.unique(classes[suspects]).tolist():
        group = np.flatnonzero(classes[suspects] == looks_like)
        rivals, rival = np.unique(codes[suspects[group]], return_inverse=True)
        blocks = bayes.blocks(confirmed[codes[confirmed] == looks_like])
        known = [scores[:, [looks_like]] - scores[:, rivals] for _, _, scores in blocks]
        ordered = np.sort(np.vstack([*known, np.empty((0, len(rivals)))]), axis=0)
        for place in range(len(rivals)):
            members = group[rival.reshape(-1) == place]
            smaller = np.searchsorted(ordered[:, place], leads[suspects[members]], side="right")
            margins[members] = (smaller + 0.5) / (len(ordered) + 1)
    return margins


def _support(margins: FloatArray) -> tuple[float, npt.NDArray[np.float64]]:
    """Share of the misfiled among the suspects, and the probability of each to be one."""
    if not len(margins):
        return 0.0, np.empty(0)
    above = np.mean(margins[:, None] > TAILS, axis=0)
    share = min(1.0, float((above / (1 - TAILS)).min()))
    # The falling density of largest likelihood (Grenander): steps between the margins that occur.
    values, place, counts = np.unique(margins, return_inverse=True, return_counts=True)
    widths = np.diff(values, prepend=0.0)
    steps = counts / len(margins) / widths
    fall = IsotonicRegression(increasing=False)
    density = fall.fit_transform(values, steps, sample_weight=widths)
    return share, np.minimum(1.0, share / density[place.reshape(-1)])
