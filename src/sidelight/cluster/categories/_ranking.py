"""Ranked categories of documents, with the reason for every place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from sidelight._kernels.cluster.categories.domination import rank_categories
from sidelight._typing import Array
from sidelight._words import listed
from sidelight.engine import as_rows

#: Words that are named as the reason for a place.
N_EXPLAINING_WORDS = 3
#: Names of the codes of reasons.
REASONS = ("last", "cosine", "own words", "others", "filed")


@dataclass(frozen=True, eq=False)
class CategoryRanking:
    """Ranked categories of documents (Book 2009, section 7.2.4).

    Attributes
    ----------
    categories : ndarray of int32, shape (n_samples, n_candidates)
        Categories, the best first; -1 where a document has fewer candidates.
    cosines : ndarray of shape (n_samples, n_candidates)
        Their cosines with the document.
    dominated : ndarray of int32, shape (n_samples, n_candidates)
        Number of other candidates that each dominates.
    reasons : ndarray of str, shape (n_samples, n_candidates)
        Why a category stands before the next one: ``"cosine"``, its cosine is larger by at least
        the threshold, or larger and all else equal; ``"own words"``, the cosines are about equal,
        and the words that the next one does not have fit better; ``"others"``, it dominates more of
        the other candidates; ``"filed"``, the document is one of the fit, which has it in this
        category; ``"last"``, nothing follows; empty where there is no category.
    words : ndarray of int32, shape (n_samples, n_candidates, 3)
        Words that speak most for the category, out of those that the next one does not have where
        these decide; -1 for none.
    nearest : ndarray of int32, shape (n_samples,)
        Category of largest cosine, -1 for none.
    """

    categories: npt.NDArray[np.int32]
    cosines: Array
    dominated: npt.NDArray[np.int32]
    reasons: npt.NDArray[Any]
    words: npt.NDArray[np.int32]
    nearest: npt.NDArray[np.int32]

    @property
    def reranked(self) -> npt.NDArray[np.bool_]:
        """Whether the first category of a document is not that of largest cosine."""
        return self.categories[:, 0] != self.nearest

    def why(self, row: int, place: int, names: Sequence[str], words: Sequence[str]) -> str:
        """Return the reason for a place as a sentence.

        Parameters
        ----------
        row, place : int
            Document, and place in its ranking.
        names : sequence of str
            Names of the categories.
        words : sequence of str
            Names of the columns of the documents.

        Returns
        -------
        sentence : str
            Empty where the document has no category at this place.
        """
        if self.categories[row, place] < 0:
            return ""
        telling = [str(words[word]) for word in self.words[row, place].tolist() if word >= 0]
        cosine = f"cosine {self.cosines[row, place]:.3f}"
        by = f"{cosine}, by {listed(telling)}"
        reason = self.reasons[row, place]
        if reason == "last":
            return f"{by}."
        after = names[self.categories[row, place + 1]]
        other = f"{self.cosines[row, place + 1]:.3f}"
        if reason == "filed":
            return f"{by}; it is a document of the fit, and filed there."
        if reason == "cosine":
            return f"{by}; before {after} ({other})."
        if reason == "own words":
            return f"{cosine}; before {after} ({other}) by words of its own: {listed(telling)}."
        return f"{by}; before {after} ({other}), since it dominates more of the candidates."


def rank_documents(
    documents: sparse.csr_array,
    seeds: sparse.csr_array,
    filed: npt.NDArray[np.int32],
    *,
    n_categories: int,
    tau: float,
    least: float,
) -> CategoryRanking:
    """Rank the nearest categories of every document by the domination matrix.

    Parameters
    ----------
    documents : csr_array of shape (n_samples, n_words)
        Counts.
    seeds : csr_array of shape (n_seeds, n_words)
        Seeds of unit length, words ascending.
    filed : ndarray of int32, shape (n_samples,)
        Category that a document of the fit has, -1 if it is an outlier there; other negative
        numbers for new documents.
    n_categories : int
        Number of candidates.
    tau : float
        Domination threshold.
    least : float
        Least cosine of a candidate.
    """
    n_found = min(n_categories, seeds.shape[0])
    columns = seeds.tocsc()

    def rank(block: sparse.csr_array) -> tuple[tuple[()], tuple[Array, ...]]:
        nowhere = np.full(block.shape[0], -1, dtype=np.int32)
        return (), _ranked(block, nowhere, seeds, columns, n_found, tau, least)

    _, found = as_rows(documents).map_reduce(rank)
    # Few documents of a fit stand elsewhere than where their words alone would put them.
    elsewhere = np.flatnonzero((filed >= 0) & (filed != found[0][:, 0]))
    if len(elsewhere):
        again = documents[elsewhere], filed[elsewhere]
        corrected = _ranked(*again, seeds, columns, n_found, tau, least)
        for whole, part in zip(found, corrected, strict=True):
            whole[elsewhere] = part
    categories, cosines, dominated, codes, words, nearest = found
    left_out = filed == -1
    categories[left_out], words[left_out] = -1, -1
    cosines[left_out], dominated[left_out] = 0.0, 0
    reasons = np.where(categories >= 0, np.array(REASONS)[codes], "")
    return CategoryRanking(
        categories,
        cosines.astype(documents.dtype, copy=False),
        dominated,
        reasons,
        words,
        nearest,
    )


def _ranked(
    block: sparse.csr_array,
    filed: npt.NDArray[np.int32],
    seeds: sparse.csr_array,
    columns: Any,
    n_found: int,
    tau: float,
    least: float,
) -> tuple[Array, ...]:
    """Category, cosine, number dominated, reason and words of every place, nearest category."""
    shape = (block.shape[0], n_found)
    categories, dominated = np.empty(shape, np.int32), np.empty(shape, np.int32)
    cosines, reasons = np.empty(shape), np.empty(shape, np.int8)
    words = np.empty((*shape, N_EXPLAINING_WORDS), np.int32)
    nearest = np.empty(shape[0], np.int32)
    rank_categories(
        block.indptr,
        block.indices,
        block.data,
        columns.indptr,
        columns.indices,
        columns.data,
        seeds.indptr,
        seeds.indices,
        seeds.data,
        seeds.shape[1],
        tau,
        least,
        filed,
        categories,
        cosines,
        dominated,
        reasons,
        words,
        nearest,
    )
    return categories, cosines, dominated, reasons, words, nearest
