"""Parts of a graph that hold no label, and edges too weak to carry one."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from sklearn.preprocessing import normalize

from sidelight._typing import Array, IntArray
from sidelight.graphs import degrees
from sidelight.graphs.inner import bridges

#: Edges below this share of the degrees of both ends are none: what they carry is lost in the
#: rounding of the other edges.
WEAKEST_EDGE = 1e-10


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
