"""Nearest rows, with exact distances and ties in the order of the rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.neighbors import NearestNeighbors

from sidelight._fit.moments import point_among, relative_to
from sidelight._progress import stage_progress
from sidelight._typing import Array
from sidelight.engine import as_rows, get_threads
from sidelight.exceptions import SidelightError

#: Rows whose neighbors are searched for at a time, between which Ctrl-C is heard.
QUERY_ROWS = 10_000

#: Numbers of a block of differences between rows.
BLOCK_NUMBERS = 2_000_000

#: Up to this many numbers in all rows, one thread searches.
FEW_NUMBERS = 30_000

#: Distances of a matrix may differ by this share of the largest between its two halves.
ASYMMETRY = 1e-8

#: Searches reach farther than asked for, by this share of the extent of the rows: their own
#: distances are rounded, and what is too far is left out later.
MARGIN = 1e-7


class RowSearch:
    """Search for nearest rows among some of the rows.

    Distances are recomputed from the differences: the product form that searches in many
    dimensions use loses those between rows that are nearly the same.

    Parameters
    ----------
    rows : array or CSR matrix of shape (n, d)
        The rows.
    among : ndarray of int, default=None
        Positions of the rows to search; all by default.
    """

    def __init__(self, rows: Any, among: Array | None = None) -> None:
        self.rows = rows
        self.n_searched = rows.shape[0] if among is None else len(among)
        self._held = rows if among is None else rows[among]
        source = as_rows(rows)
        self._point, self._dtype = point_among(source), source.dtype
        moved = self._moved(self._held)
        values = moved.data if sparse.issparse(moved) else moved
        extent = float(np.max(np.abs(values), initial=0.0)) * np.sqrt(moved.shape[1])
        self._slack = MARGIN * extent
        # A tree of few rows is searched before threads have begun.
        threads = get_threads() if moved.shape[0] * moved.shape[1] > FEW_NUMBERS else 1
        self._tree = NearestNeighbors(metric="euclidean", n_jobs=threads).fit(moved)

    def nearest(self, looking: Any, wanted: int) -> tuple[Array, Array]:
        """Distances of the nearest rows and their places among those searched, nearest first.

        ``looking`` are positions of rows, or new rows.
        """
        n = looking.shape[0]
        found = []
        with stage_progress("Nearest neighbors", -(-n // QUERY_ROWS)) as progress:
            for first in range(0, n, QUERY_ROWS):
                block = self._rows_of(looking[first : first + QUERY_ROWS])
                moved = self._moved(block)
                targets = np.sort(self._tree.kneighbors(moved, wanted, return_distance=False))
                found.append(self._sorted(block, targets))
                progress.step()
        distances, places = (np.concatenate(part) for part in zip(*found, strict=True))
        return distances, places

    def within(self, looking: Any, radius: float) -> tuple[Array, Array, Array]:
        """Place in ``looking``, place among those searched and distance of all rows within."""
        found = []
        n, size = looking.shape[0], max(1, BLOCK_NUMBERS // max(self.n_searched, 1))
        for first in range(0, n, size):
            block = self._rows_of(looking[first : first + size])
            lists = self._tree.radius_neighbors(
                self._moved(block), radius + self._slack, return_distance=False
            )
            ends = np.repeat(np.arange(block.shape[0]), [len(one) for one in lists])
            places = np.concatenate(lists).astype(np.int64)
            distances = pair_distances(block, ends, places, self._held)
            found.append((ends + first, places, distances))
        ends, places, distances = (np.concatenate(part) for part in zip(*found, strict=True))
        return ends, places, distances

    def _rows_of(self, looking: Any) -> Any:
        return self.rows[looking] if looking.ndim == 1 else looking

    def _moved(self, rows: Any) -> Any:
        """Rows where squared lengths do not hide their distances."""
        return relative_to(rows, self._point).astype(self._dtype, copy=False)

    def _sorted(self, block: Any, targets: Array) -> tuple[Array, Array]:
        ends = np.repeat(np.arange(block.shape[0]), targets.shape[1])
        exact = pair_distances(block, ends, targets.ravel(), self._held).reshape(targets.shape)
        order = np.argsort(exact, axis=1, kind="stable")
        return np.take_along_axis(exact, order, 1), np.take_along_axis(targets, order, 1)


def pair_distances(rows: Any, first: Array, second: Array, others: Any = None) -> Array:
    """Euclidean distances, two by two, between rows and rows, or others, from differences."""
    others = rows if others is None else others
    lengths = np.empty(len(first))
    size = max(1, BLOCK_NUMBERS // max(rows.shape[1], 1))
    for start in range(0, len(first), size):
        part = slice(start, start + size)
        if sparse.issparse(rows):
            difference = sparse.csr_array(rows[first[part]] - others[second[part]])
            squares = np.asarray(difference.multiply(difference).sum(axis=1)).ravel()
        else:
            apart = rows[first[part]].astype(np.float64, copy=False) - others[second[part]]
            squares = np.einsum("ij,ij->i", apart, apart)
        lengths[part] = np.sqrt(squares)
    return lengths


def nearest_rows(X: Any, n_neighbors: int) -> tuple[Array, Array]:
    """Distances and positions of the nearest other rows of every row.

    Parameters
    ----------
    X : array or CSR matrix of shape (n_samples, n_features)
        The rows.
    n_neighbors : int
        Number of neighbors, fewer than there are rows.

    Returns
    -------
    distances : ndarray of shape (n_samples, n_neighbors)
        Ascending in every row.
    neighbors : ndarray of int, shape (n_samples, n_neighbors)
        Positions; of rows at the same distance those that come first.

    Examples
    --------
    >>> from sidelight.graphs import nearest_rows
    >>> nearest_rows([[0.0], [1.0], [3.0]], 1)[1].ravel()
    array([1, 0, 1])
    """
    rows = X if sparse.issparse(X) else np.asarray(X)
    n = rows.shape[0]
    if n_neighbors == 0:
        return np.zeros((n, 0)), np.zeros((n, 0), dtype=np.int64)
    search = RowSearch(rows)
    # The row itself and the neighbor after the last, which tells whether there is a tie.
    wanted = min(n_neighbors + 2, n)
    distances, targets = search.nearest(np.arange(n), wanted)
    distances, targets = _without_itself(distances, targets.astype(np.int64))
    if wanted == n_neighbors + 2:
        last = distances[:, n_neighbors - 1]
        tied = np.flatnonzero(last == distances[:, n_neighbors])
        distances, targets = distances[:, :n_neighbors], targets[:, :n_neighbors]
        _break_ties(search, tied, last[tied], distances, targets)
    return np.ascontiguousarray(distances), np.ascontiguousarray(targets)


def _without_itself(distances: Array, targets: Array) -> tuple[Array, Array]:
    """Leave out every row itself, and the last where others like it have crowded it out."""
    n, wanted = targets.shape[0], targets.shape[1] - 1
    kept = targets != np.arange(n)[:, None]
    kept[kept.all(axis=1), -1] = False
    return distances[kept].reshape(n, wanted), targets[kept].reshape(n, wanted)


def _break_ties(
    search: RowSearch, tied: Array, last: Array, distances: Array, targets: Array
) -> None:
    """Among rows as far as the last neighbor, take those that come first."""
    same = tied[last == 0]
    if len(same) and not sparse.issparse(search.rows):
        targets[same] = _first_alike(search.rows, same, targets.shape[1])
        tied, last = tied[last > 0], last[last > 0]
    order = np.argsort(last, kind="stable")  # neighbors of a search have radii that are alike
    tied = tied[order]
    size = max(1, BLOCK_NUMBERS // search.n_searched)
    for first in range(0, len(tied), size):
        block = np.sort(tied[first : first + size])
        radii = distances[block, -1]
        ends, places, found = search.within(block, radii.max())
        near = (block[ends] != places) & (found <= radii[ends])
        ends, places, found = ends[near], places[near], found[near]
        _, places, found = first_of_each(ends, places, found, targets.shape[1])
        targets[block] = places.reshape(len(block), -1)
        distances[block] = found.reshape(len(block), -1)


def _first_alike(rows: Array, same: Array, wanted: int) -> Array:
    """Of every row the first others that equal it; there are at least ``wanted``."""
    group = np.unique(rows[same] + 0.0, axis=0, return_inverse=True)[1].ravel()
    order = np.argsort(group, kind="stable")
    start = np.searchsorted(group[order], group)
    first = same[order[start[:, None] + np.arange(wanted + 1)]]
    kept = first != same[:, None]
    kept[kept.all(axis=1), -1] = False
    return np.asarray(first[kept].reshape(len(same), wanted))


def first_of_each(
    ends: Array, others: Array, distances: Array, wanted: int
) -> tuple[Array, Array, Array]:
    """Of every row the nearest ones, at most ``wanted``; ties in the order of the rows."""
    order = np.lexsort((others, distances, ends))
    ends, others, distances = ends[order], others[order], distances[order]
    rank = np.arange(len(ends)) - np.searchsorted(ends, ends)
    kept = rank < wanted
    return ends[kept], others[kept], distances[kept]


def symmetric_edges(first: Array, second: Array, lengths: Array, n: int) -> sparse.csr_array:
    """Edges in both directions, each once; stored twice, the shorter stays.

    Sums and maxima of SciPy would lose edges of length 0.
    """
    ends = np.concatenate([first, second]).astype(np.int64)
    others = np.concatenate([second, first]).astype(np.int64)
    values = np.concatenate([lengths, lengths]).astype(np.float64)
    order = np.lexsort((values, others, ends))
    ends, others, values = ends[order], others[order], values[order]
    new = np.ones(len(ends), dtype=bool)
    new[1:] = (ends[1:] != ends[:-1]) | (others[1:] != others[:-1])
    indptr = np.concatenate([[0], np.cumsum(np.bincount(ends[new], minlength=n))])
    return sparse.csr_array((values[new], others[new], indptr), shape=(n, n))


def rows_within(rows: Any, radius: float) -> tuple[Array, Array, Array]:
    """Both rows and distance of all pairs at a distance below a radius."""
    ends, others, distances = RowSearch(rows).within(np.arange(rows.shape[0]), radius)
    near = (distances < radius) & (ends != others)
    return ends[near], others[near], distances[near]


def nearest_of_matrix(distances: Any, n_neighbors: int) -> tuple[Array, Array, Array]:
    """Row, neighbor and distance of the nearest neighbors in a matrix of distances."""
    n = distances.shape[0]
    found = []
    wanted = min(n_neighbors, n - 1)
    size = max(1, BLOCK_NUMBERS // n)
    for first in range(0, n if wanted else 0, size):
        block = np.array(distances[first : first + size], dtype=np.float64)
        at = np.arange(len(block))
        block[at, first + at] = np.inf
        last = np.partition(block, wanted - 1, axis=1)[:, wanted - 1]
        ends, others = np.nonzero(block <= last[:, None])
        nearest = first_of_each(ends, others, block[ends, others], wanted)
        found.append((nearest[0] + first, *nearest[1:]))
    if not found:
        return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0)
    ends, others, lengths = (np.concatenate(part) for part in zip(*found, strict=True))
    return ends, others, lengths


def check_distances(X: Any) -> Any:
    """Check a matrix of distances, dense or sparse: square, symmetric, none below 0.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_samples)
        The distances; a sparse matrix stores those that are known.

    Returns
    -------
    distances : ndarray or csr_array of float64
        The matrix itself where it holds float64 already.
    """
    thin = sparse.issparse(X)
    distances: Any = (sparse.csr_array if thin else np.asarray)(X, dtype=np.float64)
    if distances.ndim != 2 or distances.shape[0] != distances.shape[1]:
        shape = " x ".join(str(size) for size in distances.shape)
        raise SidelightError(
            "Precomputed distances are a square matrix, a row and a column for every row of the "
            f"data; got {shape}."
        )
    n = distances.shape[0]
    largest, size = 0.0, max(1, BLOCK_NUMBERS // max(n, 1))
    for first in range(0, n, size):
        block = distances[first : first + size]
        values = sparse.coo_array(block).data if thin else block
        if not np.all((values >= 0) & (values < np.inf)):  # NaN is neither
            dense = block.toarray() if thin else block
            i, j = np.argwhere(~((dense >= 0) & (dense < np.inf)))[0]
            raise SidelightError(
                f"The distance between rows {first + i} and {j} is {dense[i, j]:.6g}; distances "
                "are finite and not below 0."
            )
        largest = max(largest, float(np.max(values, initial=0.0)))
    for first in range(0, n, size):
        block = distances[first : first + size]
        skew = abs(block - distances[:, first : first + size].T)
        if skew.max() > ASYMMETRY * largest:
            dense = skew.toarray() if thin else skew
            i, j = np.unravel_index(int(np.argmax(dense)), dense.shape)
            raise SidelightError(
                f"The distance from row {first + i} to row {j} is {block[i, j]:.6g}, but back it "
                f"is {distances[j, first + i]:.6g}; distances are the same both ways."
            )
    itself = distances.diagonal()
    if np.max(itself, initial=0.0) > ASYMMETRY * largest:
        at = int(np.argmax(itself))
        raise SidelightError(
            f"The distance of row {at} to itself is {itself[at]:.6g}, not 0; similarities are no "
            "distances."
        )
    return distances
