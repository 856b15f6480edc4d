"""The passes of TClus: assign, project, merge, kill."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from sidelight._typing import FloatArray, IntArray
from sidelight.cluster.categories._documents import (
    cosines_with,
    joined_components,
    nearest,
    project,
    sums_by_label,
    unit,
)


@dataclass(frozen=True)
class Seeds:
    """Seeds of categories, and the classes that they come from.

    Attributes
    ----------
    sums : csr_array of shape (n_categories, n_words), float64
        Sums of damped documents, cut to their heaviest words.
    category : ndarray of shape (n_classes,)
        Category that the seed of every class became part of; -1 where it was deleted.
    """

    sums: sparse.csr_array
    category: IntArray

    @property
    def n(self) -> int:
        """Number of categories."""
        return int(self.sums.shape[0])

    def keep(self, kept: IntArray) -> Seeds:
        """Only the categories at these positions."""
        place = np.full(self.n + 1, -1, dtype=np.int64)
        place[kept] = np.arange(len(kept))
        return Seeds(self.sums[kept], place[self.category])

    def merge(self, component: IntArray, n_components: int) -> Seeds:
        """One category for every component, the sum of its members."""
        n = len(component)
        members = sparse.csr_array((np.ones(n), (component, np.arange(n))), (n_components, n))
        sums = sparse.csr_array(members @ self.sums)
        sums.sort_indices()
        return Seeds(sums, np.append(component, -1)[self.category])


@dataclass(frozen=True)
class CategoryPass:
    """Result of one pass.

    Attributes
    ----------
    seeds : Seeds
        Seeds at its end.
    labels : ndarray of shape (n_samples,)
        Category of every document among the seeds at its begin; -1 for none.
    n_words : int
        Number of words that the seeds were cut to.
    objective : float
        ``Σ (1 - cos)`` over the documents that have a category.
    n_outliers : int
        Number of documents without one.
    n_merged, n_killed : int
        Number of categories that disappeared in others, and that were deleted.
    """

    seeds: Seeds
    labels: IntArray
    n_words: int
    objective: float
    n_outliers: int
    n_merged: int
    n_killed: int


class Passes:
    """Constants of a fit: the documents, and the thresholds.

    Documents stay in the category of the class that ``held`` names, as long as there is one; the
    others, -1, go to the nearest seed.
    """

    def __init__(
        self,
        documents: sparse.csr_array,
        damped: sparse.csr_array,
        *,
        held: IntArray,
        merge_threshold: float,
        min_documents: int,
        outlier_threshold: float,
    ) -> None:
        self._documents = documents
        self._damped = damped
        self._held = held
        self._merge_threshold = merge_threshold
        self._min_documents = min_documents
        self._outlier_threshold = outlier_threshold
        #: Documents that have not been removed as outliers.
        self._active = np.ones(documents.shape[0], dtype=np.bool_)

    def start(self, codes: IntArray, n_classes: int) -> Seeds:
        """Damped centroid of every class; classes without words have none."""
        seeds = Seeds(sums_by_label(self._damped, codes, n_classes), np.arange(n_classes))
        return seeds.keep(np.flatnonzero(np.diff(seeds.sums.indptr)))

    def assign(
        self, directions: sparse.csr_array, category: IntArray
    ) -> tuple[IntArray, FloatArray]:
        """Category of every document, -1 for outliers, and its cosine with that or the nearest.

        A document that is left out once is left out for good.
        """
        labels, cosines = nearest(self._documents, directions)
        own = np.append(category, -1)[self._held]
        stay = np.flatnonzero((own >= 0) & (labels >= 0))
        labels[stay] = own[stay]
        cosines[stay] = cosines_with(self._documents[stay], directions, own[stay])
        self._active &= (cosines >= self._outlier_threshold) | (labels < 0)
        return np.where(self._active, labels, -1), cosines

    def run(self, seeds: Seeds, n_words: int) -> CategoryPass:
        """One pass: assign, project, merge and kill."""
        labels, cosines = self.assign(unit(seeds.sums), seeds.category)
        counts = np.bincount(labels[labels >= 0], minlength=seeds.n)
        sums = project(sums_by_label(self._damped, labels, seeds.n), n_words)
        assigned = Seeds(sums, seeds.category)
        compared = _with_empty(sums, seeds.sums, counts == 0, n_words)
        n_components, component = joined_components(compared, self._merge_threshold)
        merged = assigned
        if n_components < seeds.n:
            merged = assigned.merge(component, n_components)
            merged = Seeds(project(merged.sums, n_words), merged.category)
            counts = np.bincount(component, weights=counts, minlength=n_components)
        kept = np.flatnonzero(counts >= max(self._min_documents, 1))
        return CategoryPass(
            seeds=merged.keep(kept),
            labels=labels,
            n_words=n_words,
            objective=spread(labels, cosines),
            n_outliers=int(np.count_nonzero(labels < 0)),
            n_merged=seeds.n - n_components,
            n_killed=n_components - len(kept),
        )


def _with_empty(
    sums: sparse.csr_array, before: sparse.csr_array, empty: npt.NDArray[np.bool_], n_words: int
) -> sparse.csr_array:
    """Seeds to compare: one that lost all documents, perhaps to an equal one, is as it was."""
    if not empty.any():
        return sums
    kept = sparse.diags_array(empty.astype(np.float64)) @ project(before, n_words)
    return sparse.csr_array(sums + kept)


def spread(labels: IntArray, cosines: FloatArray) -> float:
    """``Σ (1 - cos)`` over the documents that have a category."""
    return float(np.sum(1.0 - cosines[labels >= 0]))
