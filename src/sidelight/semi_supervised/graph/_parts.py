"""Parts of a graph that hold no label, and edges too weak to carry one."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from sklearn.metrics import pairwise_distances
from sklearn.preprocessing import normalize

from sidelight._typing import Array, IntArray
from sidelight.graphs import Similarity, degrees
from sidelight.graphs.inner import bridges

#: Edges below this share of the degrees of both ends are none: what they carry is lost in the
#: rounding of the other edges.
WEAKEST_EDGE = 1e-10

#: Links to parts that are too far for numbers weigh this share of what they join, once more in
#: every round: their sizes to each other count, and they carry nothing between other parts.
LINK_WEIGHT, LEAST_LINK_WEIGHT = 1e-4, 1e-9

#: Distances that are held at a time.
DISTANCES_AT_A_TIME = 4_000_000


def comparable_weights(W: sparse.csr_array) -> sparse.csr_array:
    """Weights with the largest at 1, without loops and without edges too weak to count."""
    graph = sparse.csr_array(W, dtype=np.float64, copy=True)
    graph.setdiag(0.0)
    graph.eliminate_zeros()
    if not graph.nnz:
        return graph
    graph.data /= graph.data.max()
    degree = degrees(graph)
    ends = np.repeat(np.arange(graph.shape[0]), np.diff(graph.indptr))
    lower = np.minimum(degree[ends], degree[graph.indices])
    graph.data[graph.data < WEAKEST_EDGE * lower] = 0.0
    graph.eliminate_zeros()
    return graph


def rows_without_label(W: sparse.csr_array, labels: IntArray) -> tuple[Array, int]:
    """Which rows no path joins to a labeled row, and how many parts of the graph they form."""
    n_parts, part = connected_components(W, directed=False)
    has_label = np.zeros(n_parts, dtype=bool)
    has_label[part[labels >= 0]] = True
    return ~has_label[part], int(np.sum(~has_label))


def hang_parts(W: sparse.csr_array, rows: Any, lost: Array, *, cosine: bool) -> sparse.csr_array:
    """Join every part without a label to the others by its shortest link.

    The links form a tree that hangs on the parts with labels: they join no two of those, and
    whatever the weight of a link, a part takes the class of the row at its other end.

    Parameters
    ----------
    W : csr_array of shape (n, n)
        Similarities.
    rows : array or CSR matrix of shape (n, d)
        The rows between which links are measured.
    lost : ndarray of bool, shape (n,)
        Rows in parts without a label.
    cosine : bool
        Whether links are measured between directions of rows.
    """
    part = connected_components(W, directed=False)[1]
    merged = np.unique(np.where(lost, part + 1, 0), return_inverse=True)[1].reshape(-1)
    first, second, _ = bridges(normalize(rows) if cosine else rows, merged, "euclidean")
    weight = float(np.median(W.data)) if W.nnz else 1.0
    ends = np.concatenate([first, second]), np.concatenate([second, first])
    links = sparse.csr_array((np.full(len(ends[0]), weight), ends), shape=W.shape)
    return sparse.csr_array(W + links)


def join_far_parts(W: sparse.csr_array, similarity: Similarity, labels: IntArray) -> Any:
    """Join parts without a label whose weights to all others underflow, by what these would be.

    Only the sizes of the weights that leave a part matter, relative to each other: those are known
    from their logarithms. Parts that find each other first go on together in the next round.

    Parameters
    ----------
    W : csr_array of shape (n, n)
        Similarities between all rows.
    similarity : Similarity
        How rows were compared: by weights "gaussian" or "local".
    labels : ndarray of shape (n,)
        Codes of the classes, -1 for unlabeled rows.
    """
    share = LINK_WEIGHT
    lost, _ = rows_without_label(W, labels)
    while lost.any():
        part = connected_components(W, directed=False)[1]
        links = _links_out(similarity, part, np.flatnonzero(lost), degrees(W), share)
        W = sparse.csr_array(W + links)
        lost, _ = rows_without_label(W, labels)
        share = max(share * LINK_WEIGHT, LEAST_LINK_WEIGHT)
    return W


def _links_out(
    similarity: Similarity, part: IntArray, leaving: IntArray, degree: Array, share: float
) -> sparse.csr_array:
    """Largest weights out of parts, those of each in units of its largest."""
    n = len(part)
    size = max(DISTANCES_AT_A_TIME // n, 1)
    blocks = [leaving[first : first + size] for first in range(0, len(leaving), size)]
    best = np.full(part.max() + 1, -np.inf)
    for block in blocks:
        np.maximum.at(best, part[block], _exponents_out(similarity, part, block).max(axis=1))
    found = []
    for block in blocks:
        above = _exponents_out(similarity, part, block) - best[part[block]][:, None]
        at, to = np.nonzero(above > np.log(WEAKEST_EDGE))
        found.append((block[at], to, np.exp(above[at, to])))
    first, second, weights = (np.concatenate(column) for column in zip(*found, strict=True))
    positive = np.where(degree > 0, degree, 1.0)
    least = np.full(len(best), np.inf)
    np.minimum.at(least, part[first], np.minimum(positive[first], positive[second]))
    weights = share * least[part[first]] * weights
    links = sparse.csr_array((weights, (first, second)), shape=(n, n))
    return sparse.csr_array(links.maximum(links.T))


def _exponents_out(similarity: Similarity, part: IntArray, block: IntArray) -> Array:
    """Logarithms of the weights of some rows with all rows outside their part."""
    everything = np.arange(len(part))
    distances = pairwise_distances(similarity.rows[block], similarity.rows)
    own = similarity.scales[block] if similarity.weights == "local" else np.ones(len(block))
    exponents = similarity.exponents(distances, own, everything)
    return np.where(part[block][:, None] != part, exponents, -np.inf)
