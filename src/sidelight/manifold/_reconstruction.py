"""Weights that rebuild rows from their neighbors (Law 2006, section 2.7; Verbeek 2004, 2.2.3)."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.neighbors import NearestNeighbors

from sidelight._progress import stage_progress
from sidelight._typing import Array, IntArray
from sidelight._words import counted, setting
from sidelight.engine import get_threads
from sidelight.exceptions import SidelightError

#: Rows whose neighbors are searched for at a time, between which Ctrl-C is heard.
QUERY_ROWS = 10_000

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
            f"there are {n} (n_samples = {n}); use {max(most, 0)} or fewer neighbors."
        )
    search = NearestNeighbors(n_neighbors=n_neighbors, n_jobs=get_threads()).fit(rows)
    looking = rows if new is None else new
    found = []
    with stage_progress("Nearest neighbors", -(-len(looking) // QUERY_ROWS)) as progress:
        for first in range(0, len(looking), QUERY_ROWS):
            block = looking[first : first + QUERY_ROWS]
            if new is None:
                neighbors = search.kneighbors(block, n_neighbors + 1, return_distance=False)
                found.append(_without_itself(neighbors, first))
            else:
                found.append(search.kneighbors(block, return_distance=False))
            progress.step()
    return np.concatenate(found).astype(np.int64, copy=False)


def _without_itself(neighbors: IntArray, first: int) -> IntArray:
    """Leave out every row itself, and the nearest where equal rows have crowded it out."""
    n = len(neighbors)
    kept = neighbors != np.arange(first, first + n)[:, None]
    kept[kept.all(axis=1), 0] = False
    return neighbors[kept].reshape(n, -1)


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


def check_enough_neighbors(n_neighbors: int, n_components: int) -> None:
    """Raise where neighbors could not tell as many dimensions as are asked for."""
    if n_neighbors <= n_components:
        raise SidelightError(
            f"{setting('n_neighbors', n_neighbors)} cannot hold "
            f"{counted(n_components, 'dimension')}; use more than {n_components} neighbors."
        )
