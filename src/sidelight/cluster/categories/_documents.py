"""Documents and seeds as sparse rows: damped counts, nearest seeds, heaviest words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeAlias

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from sidelight._kernels.cluster.categories.seeds import keep_heaviest, nearest_seeds
from sidelight._typing import Array, FloatArray, IntArray
from sidelight.engine import as_rows

#: How repetitions of a word inside one document are damped.
Damping: TypeAlias = Literal["sqrt", "log1p", "binary", "identity"]

DAMPED: dict[str, Callable[[Array], Array]] = {
    "sqrt": np.sqrt,
    "log1p": np.log1p,
    "binary": np.ones_like,
    "identity": lambda counts: counts,
}

#: Seeds whose cosines with all others are found at a time.
SEEDS_AT_ONCE = 512
#: Documents whose cosines with the seeds of their own are found at a time.
DOCUMENTS_AT_ONCE = 16384


def as_documents(rows: Any) -> sparse.csr_array:
    """Rows as CSR with every word of a document once, ascending, and no zeros."""
    documents = sparse.csr_array(rows)
    if documents.has_canonical_format and np.all(documents.data != 0):
        return documents
    documents = documents.copy()
    documents.sum_duplicates()
    documents.eliminate_zeros()
    return documents


def weigh(documents: sparse.csr_array, word_weights: FloatArray | None) -> sparse.csr_array:
    """Counts times the weights of their words; the documents themselves without weights."""
    if word_weights is None:
        return documents
    values = documents.data * word_weights[documents.indices].astype(documents.dtype)
    return sparse.csr_array((values, documents.indices, documents.indptr), documents.shape)


def damp(documents: sparse.csr_array, damping: str) -> sparse.csr_array:
    """``φ(tf)`` of every count, in the type of the counts."""
    if damping == "identity":
        return documents
    values = DAMPED[damping](documents.data).astype(documents.dtype)
    return sparse.csr_array((values, documents.indices, documents.indptr), documents.shape)


def inverse_frequencies(documents: sparse.csr_array) -> FloatArray:
    """Reciprocal of the number of documents that have a word; 0 for words of no document."""
    frequency = np.bincount(documents.indices, minlength=documents.shape[1])
    return np.where(frequency > 0, 1.0 / np.maximum(frequency, 1), 0.0)


def sums_by_label(damped: sparse.csr_array, labels: IntArray, n_labels: int) -> sparse.csr_array:
    """Sum of the damped documents of every label, a row each; -1 belongs to none."""
    placed = np.flatnonzero(labels >= 0)
    ones = np.ones(len(placed))  # float64, and so are the sums
    members = sparse.csr_array((ones, (labels[placed], placed)), (n_labels, len(labels)))
    sums = sparse.csr_array(members @ damped)
    sums.sort_indices()
    return sums


def unit(seeds: sparse.csr_array) -> sparse.csr_array:
    """Seeds divided by their lengths; one without words stays 0."""
    return sparse.csr_array(sparse.diags_array(1 / _lengths(seeds)) @ seeds)


def _lengths(seeds: sparse.csr_array) -> FloatArray:
    squares = np.asarray(seeds.multiply(seeds).sum(axis=1), dtype=np.float64).reshape(-1)
    return np.where(squares > 0, np.sqrt(squares), 1.0)


def project(seeds: sparse.csr_array, n_words: int) -> sparse.csr_array:
    """Keep the ``n_words`` heaviest words of every seed, of equally heavy ones the first."""
    kept = np.empty(seeds.nnz, dtype=np.bool_)
    keep_heaviest(seeds.indptr, seeds.data, n_words, kept)
    ends = np.append(0, np.cumsum(kept))[seeds.indptr]
    return sparse.csr_array((seeds.data[kept], seeds.indices[kept], ends), seeds.shape)


def joined_components(seeds: sparse.csr_array, threshold: float) -> tuple[int, IntArray]:
    """Connected components of the seeds whose cosine is above a threshold; a label for each."""
    n = seeds.shape[0]
    directions = unit(seeds)
    firsts, seconds = [], []
    for start in range(0, n, SEEDS_AT_ONCE):
        cosines = (directions[start : start + SEEDS_AT_ONCE] @ directions.T).tocoo()
        # Equal seeds have a cosine of 1, whatever rounding makes of it.
        near = np.minimum(cosines.data, 1.0) > threshold
        firsts.append(cosines.row[near] + start)
        seconds.append(cosines.col[near])
    first, second = np.concatenate(firsts), np.concatenate(seconds)
    graph = sparse.coo_array((np.ones(len(first), dtype=np.int8), (first, second)), (n, n))
    n_components, component = connected_components(graph, directed=False)
    return int(n_components), component.astype(np.int64)


def cosines_with(
    documents: sparse.csr_array, seeds: sparse.csr_array, labels: IntArray
) -> FloatArray:
    """Cosine of every document with the seed that its label names; ``seeds`` have unit length."""
    cosines = np.empty(len(labels))
    for start in range(0, len(labels), DOCUMENTS_AT_ONCE):
        block = slice(start, start + DOCUMENTS_AT_ONCE)
        shared = documents[block].multiply(seeds[labels[block]])
        lengths = _lengths(documents[block])
        cosines[block] = np.asarray(shared.sum(axis=1), dtype=np.float64).reshape(-1) / lengths
    return np.minimum(cosines, 1.0)


def nearest(documents: sparse.csr_array, seeds: sparse.csr_array) -> tuple[IntArray, FloatArray]:
    """Seed of largest cosine of every document, and this cosine; -1 and 0 without shared words.

    ``seeds`` have unit length. A document needs memory for a number per seed while it is looked at,
    and threads share the documents.
    """
    columns = seeds.tocsc()

    def label(block: sparse.csr_array) -> tuple[tuple[()], tuple[Array, Array]]:
        labels = np.empty(block.shape[0], dtype=np.int64)
        cosines = np.empty(block.shape[0])
        nearest_seeds(
            block.indptr,
            block.indices,
            block.data,
            columns.indptr,
            columns.indices,
            columns.data,
            np.empty(seeds.shape[0]),
            labels,
            cosines,
        )
        return (), (labels, cosines)

    _, (labels, cosines) = as_rows(documents).map_reduce(label)
    return labels, cosines
