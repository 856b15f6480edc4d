"""Weights that rebuild rows from their neighbors (Law 2006, section 2.7; Verbeek 2004, 2.2.3)."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from sidelight import graphs
from sidelight._typing import Array, IntArray
from sidelight._warn import warn
from sidelight._words import counted, setting, worded
from sidelight.exceptions import EmbeddingWarning, SidelightError
from sidelight.graphs.inner import RowSearch

#: Numbers in the differences and Gram matrices that are held at a time.
BLOCK_NUMBERS = 2**22

#: Share of the trace of a Gram matrix that is added to its diagonal.
REGULARIZATION = 1e-3


def reconstruction_weights(
    rows: Array, n_neighbors: int, reg: float = REGULARIZATION, *, new: Array | None = None
) -> sparse.csr_array:
    """Weights of the nearest rows whose weighted mean comes closest to each row.

    Minimizes ``‖x_i - Σ_j w_ij x_j‖² + reg tr(C_i) Σ_j w_ij²`` with ``Σ_j w_ij = 1`` over the
    ``n_neighbors`` nearest rows ``j`` of row ``i``; ``C_i`` is the Gram matrix of the differences.

    Parameters
    ----------
    rows : ndarray of shape (n_samples, n_features)
        The rows.
    n_neighbors : int
        Number of neighbors, below ``n_samples``.
    reg : float, default=1e-3
        Regularization, as a share of the trace of the Gram matrix.
    new : ndarray of shape (n_new, n_features), default=None
        Rows to rebuild from the others; by default the rows themselves, each without itself.

    Returns
    -------
    W : csr_array of shape (n_samples, n_samples) or (n_new, n_samples)
        Weights; every row sums to 1.
    """
    rows, new = centered_rows(rows, new)
    neighbors = nearest_rows(rows, n_neighbors, new)
    return weights_of_neighbors(rows, neighbors, reg, new=new)


def centered_rows(rows: Array, new: Array | None = None) -> tuple[Array, Array | None]:
    """Rows in float64 about their mean, in units of a power of two near their extent.

    Neighbors and weights do not change with either, but rows far from the origin, and very large
    or small ones, lose no digits.
    """
    exact = rows.astype(np.float64)
    center = exact.mean(axis=0)
    exact -= center
    _, exponent = np.frexp(np.abs(exact).max(initial=0.0))
    exact = np.ldexp(exact, -exponent)
    if new is not None:
        new = np.ldexp(new.astype(np.float64) - center, -exponent)
    return exact, new


def nearest_rows(rows: Array, n_neighbors: int, new: Array | None = None) -> IntArray:
    """Positions of the nearest rows, the nearest first; a row is no neighbor of itself."""
    n = len(rows)
    most = n - 1 if new is None else n
    if n_neighbors > most:
        raise SidelightError(
            f"{setting('n_neighbors', n_neighbors)} needs at least {n_neighbors + 1} rows, but "
            f"there are {worded(f'n_samples = {n}', str(n))}; use {max(most, 0)} or fewer "
            "neighbors."
        )
    if new is None:
        return graphs.nearest_rows(rows, n_neighbors)[1].astype(np.int64, copy=False)
    return RowSearch(rows).nearest(new, n_neighbors)[1].astype(np.int64, copy=False)


def connected_weights(
    rows: Array,
    n_neighbors: int,
    reg: float = REGULARIZATION,
    disconnected: Literal["bridge", "raise"] = "bridge",
) -> sparse.csr_array:
    """Weights of the nearest rows, after the parts of the neighborhood graph were joined.

    The ends of the shortest links between parts become neighbors of each other, beside the
    ``n_neighbors`` that they have, with a warning; or the parts are an error.
    """
    rows, _ = centered_rows(rows)
    neighbors = nearest_rows(rows, n_neighbors)
    n = len(rows)
    ends = np.repeat(np.arange(n), n_neighbors)
    graph = sparse.csr_array((np.ones(neighbors.size), (ends, neighbors.ravel())), shape=(n, n))
    if connected_components(graph, directed=False, return_labels=False) == 1:
        return weights_of_neighbors(rows, neighbors, reg)
    joined, _ = graphs.join_parts(sparse.csr_array(graph.maximum(graph.T)), rows, disconnected)
    plain = sparse.csr_array(graph.maximum(graph.T))
    new = sparse.coo_array(joined.astype(bool).astype(np.int8) - plain.astype(np.int8))
    bridges = np.column_stack([new.row, new.col])[new.data > 0]
    lists = sparse.coo_array(
        (
            np.ones(neighbors.size + len(bridges)),
            (
                np.concatenate([ends, bridges[:, 0]]),
                np.concatenate([neighbors.ravel(), bridges[:, 1]]),
            ),
        ),
        shape=(n, n),
    )
    return weights_of_lists(rows, sparse.csr_array(lists), reg)


def weights_of_lists(
    rows: Array, lists: sparse.csr_array, reg: float = REGULARIZATION, *, new: Array | None = None
) -> sparse.csr_array:
    """Weights of neighbors that are the stored entries of a matrix, any number of them per row.

    ``new`` are the rows that are rebuilt, the rows themselves by default.
    """
    targets = rows if new is None else new
    counts = np.diff(lists.indptr)
    data = np.empty(lists.nnz)
    for count in np.unique(counts[counts > 0]).tolist():
        own = np.flatnonzero(counts == count)
        places = lists.indptr[own][:, None] + np.arange(count)
        found = weights_of_neighbors(rows, lists.indices[places], reg, new=targets[own])
        data[places] = found.data.reshape(places.shape)
    return sparse.csr_array((data, lists.indices, lists.indptr), shape=lists.shape)


def weights_of_neighbors(
    rows: Array, neighbors: IntArray, reg: float = REGULARIZATION, *, new: Array | None = None
) -> sparse.csr_array:
    """Weights of given neighbors; see :func:`reconstruction_weights`.

    Parameters
    ----------
    rows : ndarray of shape (n_samples, n_features), float64
        The rows.
    neighbors : ndarray of shape (n, n_neighbors), int64
        Positions of the neighbors of each row that is rebuilt.
    reg : float, default=1e-3
        Regularization, as a share of the trace of the Gram matrix.
    new : ndarray of shape (n, n_features), default=None
        Rows to rebuild; the rows themselves by default.
    """
    targets = rows if new is None else new
    n, k = neighbors.shape
    weights = np.empty((n, k))
    step = max(BLOCK_NUMBERS // (k * (k + rows.shape[1])), 1)
    for first in range(0, n, step):
        block = slice(first, first + step)
        offsets = rows[neighbors[block]] - targets[block, None, :]
        weights[block] = weights_of_gram(offsets @ np.swapaxes(offsets, 1, 2), reg)
    indptr = np.arange(0, n * k + 1, k)
    return sparse.csr_array((weights.ravel(), neighbors.ravel(), indptr), shape=(n, len(rows)))


def weights_of_gram(gram: Array, reg: float = REGULARIZATION) -> Array:
    """Weights that sum to 1 from Gram matrices of differences, of shape (n, k, k), in place."""
    k = gram.shape[1]
    trace = np.trace(gram, axis1=1, axis2=2)
    added = reg * np.where(trace > 0, trace, 1.0)
    gram[:, np.arange(k), np.arange(k)] += added[:, None]
    weights = np.linalg.solve(gram, np.ones((len(gram), k, 1)))[..., 0]
    total: Any = weights.sum(axis=1, keepdims=True)
    return np.asarray(weights / total)


def usable_neighbors(n_neighbors: int, n_samples: int, n_components: int) -> int:
    """Number of neighbors, at most that of the other rows (with a warning); raises if too few."""
    usable = min(n_neighbors, n_samples - 1)
    if usable <= n_components:
        raise SidelightError(
            f"{counted(usable, 'neighbor')} of a row cannot determine "
            f"{counted(n_components, 'dimension')}"
            f"{worded(f' (n_samples = {n_samples})', '')}; more than "
            f"{n_components} are needed."
        )
    if usable < n_neighbors:
        warn(
            f"{setting('n_neighbors', n_neighbors)} is more than the {usable} other rows; all of "
            "them are neighbors.",
            EmbeddingWarning,
        )
    return usable
