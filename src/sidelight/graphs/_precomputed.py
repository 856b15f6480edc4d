"""Sparse matrices of distances that were computed elsewhere: neighbor graphs, directed or not.

An entry that is not stored is no edge; a stored 0 is a distance of 0, between rows that are the
same. What a row stores about itself does not count. So a matrix of scikit-learn's
``KNeighborsTransformer`` or ``RadiusNeighborsTransformer`` can be read as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from sidelight._typing import Array, IntArray
from sidelight._words import counted, setting
from sidelight.exceptions import SidelightError
from sidelight.graphs._nearest import first_of_each, symmetric_edges

#: Share of the largest distance by which the two of a pair may differ: searches that take products
#: of rows round distances of near rows by more than numbers are stored with.
ASYMMETRY = 1e-6

NameRows = Callable[[Sequence[int]], list[str]]


def read_distance_graph(
    X: Any, n_neighbors: int | None = None, *, name_rows: NameRows | None = None
) -> sparse.csr_array:
    """Read a sparse square matrix of distances as a graph: symmetric, without loops.

    Two rows are joined if one of them stores the distance of the other.

    Parameters
    ----------
    X : sparse matrix of shape (n, n)
        Distances that are known. Stored both ways, they are the same both ways.
    n_neighbors : int, default=None
        Number of stored neighbors of every row that count, the nearest; all by default.
    name_rows : callable, default=None
        Names of rows for messages, such as ``Constraints.name_rows``.

    Returns
    -------
    graph : csr_array of shape (n, n)
        Distances of joined rows; zeros are stored.
    """
    n = X.shape[0]
    ends, others, lengths = _checked(X, name_rows, square=True)
    if n_neighbors is not None:
        _check_enough(ends, n, n_neighbors, name_rows)
        ends, others, lengths = first_of_each(ends, others, lengths, n_neighbors)
    return symmetric_edges(ends, others, lengths, n)


def read_neighbors(
    X: Any, n_neighbors: int, *, square: bool = True, name_rows: NameRows | None = None
) -> tuple[Array, IntArray]:
    """Read the nearest neighbors that every row of a sparse matrix of distances stores.

    Parameters
    ----------
    X : sparse matrix of shape (n, n), or (n_new, n)
        Distances that are known.
    n_neighbors : int
        Number of neighbors of every row, itself not counted. It is an error to store fewer.
    square : bool, default=True
        Whether the columns are the rows themselves, instead of others to which rows are new.
    name_rows : callable, default=None
        Names of rows for messages.

    Returns
    -------
    distances : ndarray of shape (n, n_neighbors)
        Ascending in every row.
    neighbors : ndarray of int, shape (n, n_neighbors)
        Columns; of those at the same distance the first.
    """
    n = X.shape[0]
    ends, others, lengths = _checked(X, name_rows, square=square)
    _check_enough(ends, n, n_neighbors, name_rows)
    _, others, lengths = first_of_each(ends, others, lengths, n_neighbors)
    shape = (n, n_neighbors)
    return lengths.reshape(shape), others.reshape(shape)


def join_both_ways(W: Any) -> Any:
    """Give edges that a sparse matrix of similarities stores one way only the way back.

    What is stored both ways stays as it is.
    """
    if not sparse.issparse(W) or W.shape[0] != W.shape[1]:
        return W
    graph = sparse.csr_array(W, dtype=np.float64)
    back = sparse.csr_array(graph.T)
    both = back.multiply(graph.astype(bool))
    return sparse.csr_array(graph + (back - both))


def _checked(X: Any, name_rows: NameRows | None, *, square: bool) -> tuple[Array, Array, Array]:
    """Row, column and distance of all stored entries, without those of rows to themselves."""
    if square and X.shape[0] != X.shape[1]:
        raise SidelightError(
            "Precomputed distances are a square matrix, a row and a column for every row of the "
            f"data; got {X.shape[0]} x {X.shape[1]}."
        )
    stored = sparse.coo_array(X, copy=True)
    stored.sum_duplicates()
    ends, others = (np.asarray(places, dtype=np.int64) for places in stored.coords)
    lengths = np.asarray(stored.data, dtype=np.float64)
    bad = np.flatnonzero(~((lengths >= 0) & (lengths < np.inf)))  # NaN is neither
    if len(bad):
        i, j = int(ends[bad[0]]), int(others[bad[0]])
        raise SidelightError(
            f"The distance between {_pair(i, j, name_rows, square)} is {lengths[bad[0]]:.6g}; "
            "distances are finite and not below 0."
        )
    if not square:
        return ends, others, lengths
    largest = float(lengths.max(initial=0.0))
    itself = ends == others
    wrong = np.flatnonzero(itself & (lengths > ASYMMETRY * largest))
    if len(wrong):
        at = int(ends[wrong[0]])
        raise SidelightError(
            f"The distance of {_named(at, name_rows)} to itself is {lengths[wrong[0]]:.6g}, not "
            "0; similarities are no distances."
        )
    ends, others, lengths = ends[~itself], others[~itself], lengths[~itself]
    _check_same_both_ways(ends, others, lengths, ASYMMETRY * largest, name_rows)
    return ends, others, lengths


def _check_same_both_ways(
    ends: Array, others: Array, lengths: Array, allowed: float, name_rows: NameRows | None
) -> None:
    """Raise where a pair is stored twice with different distances."""
    low, high = np.minimum(ends, others), np.maximum(ends, others)
    order = np.lexsort((high, low))
    first, second = order[:-1], order[1:]
    same = (low[first] == low[second]) & (high[first] == high[second])
    apart = np.where(same, np.abs(lengths[first] - lengths[second]), 0.0)
    if np.max(apart, initial=0.0) <= allowed:
        return
    worst = int(np.argmax(apart))
    one, two = int(first[worst]), int(second[worst])
    i, j = int(ends[one]), int(others[one])
    raise SidelightError(
        f"The distance of {_pair(i, j, name_rows, True)} is stored as {lengths[one]:.6g} and as "
        f"{lengths[two]:.6g}; distances are the same both ways."
    )


def _check_enough(ends: Array, n: int, n_neighbors: int, name_rows: NameRows | None) -> None:
    """Raise where a row stores fewer neighbors than are asked for."""
    counts = np.bincount(ends, minlength=n)
    fewest = int(counts.min(initial=n_neighbors))
    if fewest >= n_neighbors:
        return
    at = int(np.argmin(counts))
    raise SidelightError(
        f"{setting('n_neighbors', n_neighbors)} asks for more neighbors than are stored: "
        f"{_named(at, name_rows)} stores the distances of {counted(fewest, 'other row')} only. "
        f"Store more of them, or ask for at most {setting('n_neighbors', max(fewest, 1))}."
    )


def _named(row: int, name_rows: NameRows | None) -> str:
    return f"row {row}" if name_rows is None else name_rows([row])[0]


def _pair(i: int, j: int, name_rows: NameRows | None, square: bool) -> str:
    if not square:
        return f"new row {i} and row {j}"
    return f"{_named(i, name_rows)} and {_named(j, name_rows)}"
