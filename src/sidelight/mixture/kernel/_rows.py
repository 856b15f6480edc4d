"""Kernels between all rows or between near neighbors only, one sweep over which is an iteration.

Rows and columns are scaled in logarithms, so that bandwidths of any size and rows far from all
others underflow nowhere: row ``i`` is divided by its largest entry, which changes neither labels
nor profiles, and ``log_scale[i]`` remembers by what.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.neighbors import NearestNeighbors

from sidelight._typing import Array
from sidelight.engine import RowSource, as_rows
from sidelight.exceptions import SidelightError

Weigh = Callable[[Array, Array], tuple[Array, tuple[Array, ...]]]

#: Entries of the kernel that a thread holds at a time, and those it works on in its cache.
BLOCK_CELLS = 2**22
TILE_CELLS = 2**17
#: Kernels of up to this many rows are kept (200 MB), others are recomputed in every sweep.
KEPT_ROWS = 5_000
#: Above this a sweep computes more than 10¹⁰ entries, which takes minutes: refused.
MAX_ROWS = 100_000


class ZeroDiagonalKernel(Protocol):
    """A kernel without its diagonal, columns perhaps divided by their sums.

    Attributes
    ----------
    n_rows : int
        Number of rows.
    log_scale : ndarray of shape (n_rows,)
        Logarithm of what each row was divided by.
    log_columns : ndarray of shape (n_rows,)
        Logarithm of what each column was divided by.
    """

    n_rows: int
    log_scale: Array
    log_columns: Array

    def sweep(self, profiles: Array, weigh: Weigh) -> tuple[Array, tuple[Array, ...]]:
        """Return ``Kᵀ W`` and the other results of ``weigh``, for profiles of shape (n, ...).

        ``weigh(K Q, Q) -> (W, more arrays with an entry per row)`` on some rows, ``K Q`` and ``W``
        of shape (b, ...) with flat axes after the first.
        """


class DenseKernel:
    """All entries, in blocks of rows that are kept or made when they are needed."""

    def __init__(self, blocks: BlockRows, log_scale: Array, log_columns: Array) -> None:
        self.n_rows = blocks.n_rows
        self.log_scale = log_scale
        self.log_columns = log_columns
        self._blocks = blocks

    def sweep(self, profiles: Array, weigh: Weigh) -> tuple[Array, tuple[Array, ...]]:
        """Multiply both ways while a block is at hand."""
        flat = profiles.reshape(self.n_rows, -1)

        def work(block: Array, of_rows: Array) -> tuple[tuple[Array], tuple[Array, ...]]:
            weights, answers = weigh(block @ flat, of_rows)
            return (block.T @ weights,), answers

        (pulled,), answers = self._blocks.map_reduce(work, aligned=(profiles,))
        return pulled, answers


class SparseKernel:
    """Entries between near neighbors only."""

    def __init__(self, matrix: sparse.csr_array, log_scale: Array, log_columns: Array) -> None:
        self.n_rows = matrix.shape[0]
        self.log_scale = log_scale
        self.log_columns = log_columns
        self._rows = as_rows(matrix)
        self._columns = as_rows(matrix.T.tocsr())

    def sweep(self, profiles: Array, weigh: Weigh) -> tuple[Array, tuple[Array, ...]]:
        """Multiply by the rows, then by the columns."""
        flat = profiles.reshape(self.n_rows, -1)

        def work(block: Any, of_rows: Array) -> tuple[tuple[()], tuple[Array, ...]]:
            weights, answers = weigh(block @ flat, of_rows)
            return (), (weights, *answers)

        _, (weights, *answers) = self._rows.map_reduce(work, aligned=(profiles,))
        _, (pulled,) = self._columns.map_reduce(lambda block: ((), (block @ weights,)))
        return pulled, tuple(answers)


class BlockRows(RowSource):
    """A matrix of ``n`` rows, by default square, of which ``compute(start, stop)`` makes some."""

    def __init__(
        self, n: int, compute: Callable[[int, int], Array], n_features: int | None = None
    ) -> None:
        self.n_rows, self.n_features = n, n if n_features is None else n_features
        self.dtype = np.dtype(np.float64)
        self._compute = compute
        height = max(1, BLOCK_CELLS // n)
        self._blocks = [(start, min(start + height, n)) for start in range(0, n, height)]

    @property
    def blocks(self) -> list[tuple[int, int]]:
        """Ranges of rows that are made together."""
        return self._blocks

    def take(self, rows: npt.ArrayLike) -> Array:
        """Return the rows at these positions."""
        positions = np.asarray(rows, dtype=np.intp)
        return np.concatenate([self._compute(i, i + 1) for i in positions])

    def read(self, task: tuple[int, ...]) -> Iterator[Array]:
        for number in task:
            yield self._compute(*self._blocks[number])


class SquaredDistances:
    """Squared Euclidean distances of given rows to new ones, or among themselves.

    Dense rows are moved to the mean first: the distances are differences of squares, which lose
    digits far from the origin.
    """

    def __init__(self, rows: Any) -> None:
        self.is_sparse = sparse.issparse(rows)
        self.n_rows = rows.shape[0]
        rows = rows.astype(np.float64)
        self._origin: Any = None if self.is_sparse else rows.mean(axis=0)
        self._rows = rows if self.is_sparse else rows - self._origin
        if not self.is_sparse:
            self._squares = np.einsum("nd,nd->n", self._rows, self._rows)

    def of(self, block: Any) -> Array:
        """Squared distances of new rows (b, d) to the given ones: (b, n)."""
        if self.is_sparse:
            return np.asarray(euclidean_distances(block, self._rows, squared=True))
        moved = np.asarray(block, dtype=np.float64) - self._origin
        return self._among(moved, np.einsum("nd,nd->n", moved, moved))

    def between(self, start: int, stop: int) -> Array:
        """Squared distances of the rows ``start..stop`` to all, infinite to themselves."""
        if self.is_sparse:
            squared = self.of(self._rows[start:stop])
        else:
            squared = self._among(self._rows[start:stop], self._squares[start:stop])
        squared[np.arange(stop - start), np.arange(start, stop)] = np.inf
        return squared

    def _among(self, block: Array, squares: Array) -> Array:
        out = block @ self._rows.T
        out *= -2.0
        out += squares[:, None]
        out += self._squares
        return np.maximum(out, 0.0, out=out)


def check_dense_size(n: int) -> None:
    """Raise if a dense kernel between ``n`` rows would take minutes for an iteration."""
    if n > MAX_ROWS:
        raise SidelightError(
            f"The complete kernel between {n:,} rows has {n * n:.2g} entries; it is computed for "
            f"at most {MAX_ROWS:,} rows. Use kernel='knn', which keeps only those between near "
            "neighbors."
        )


def dense_kernel(
    distances: SquaredDistances, bandwidth: float, *, normalize: bool, kept_rows: int = KEPT_ROWS
) -> DenseKernel:
    """Gaussian kernel between all rows; kept in memory up to ``kept_rows`` rows."""
    n = distances.n_rows
    check_dense_size(n)
    scale = -0.5 / bandwidth**2
    height = max(1, TILE_CELLS // n)

    def tiles(start: int, stop: int) -> Iterator[tuple[slice, Array]]:
        """Logarithms of some rows of the kernel, as many at a time as fit the cache."""
        for first in range(start, stop, height):
            last = min(first + height, stop)
            tile = distances.between(first, last)
            tile *= scale
            yield slice(first - start, last - start), tile

    def reduced(function: Callable[[Array], Array]) -> Array:
        def values(start: int, stop: int) -> Array:
            return np.concatenate([function(tile) for _, tile in tiles(start, stop)])[:, None]

        return _all_rows(BlockRows(n, values, 1))[:, 0]

    # The kernel is symmetric: sums of rows are sums of columns.
    log_columns = np.zeros(n)
    if normalize:
        log_columns = _finite(reduced(_log_sums))
    log_scale = _finite(reduced(lambda tile: (tile - log_columns).max(axis=1)))

    def compute(start: int, stop: int) -> Array:
        out = np.empty((stop - start, n))
        for rows, tile in tiles(start, stop):
            tile -= log_columns
            tile -= log_scale[start:stop][rows, None]
            np.exp(tile, out=out[rows])
        return out

    blocks = BlockRows(n, compute)
    if n <= kept_rows:
        kept = _all_rows(blocks)
        blocks = BlockRows(n, lambda start, stop: kept[start:stop])
    return DenseKernel(blocks, log_scale, log_columns)


def _all_rows(blocks: BlockRows) -> Array:
    return blocks.map_reduce(lambda block: ((), (block,)))[1][0]


def _log_sums(logs: Array) -> Array:
    """``log Σ_j exp(logs_ij)`` of every row, in place."""
    largest = _finite(logs.max(axis=1))
    logs -= largest[:, None]
    np.exp(logs, out=logs)
    with np.errstate(divide="ignore"):
        return largest + np.log(logs.sum(axis=1))


def neighbor_distances(rows: Any, n_neighbors: int) -> sparse.csr_array:
    """Squared distances of every row to its nearest others, and of these to it.

    A distance of 0 is an entry like any other.
    """
    n = rows.shape[0]
    k = min(n_neighbors, n - 1)
    if k < 1:
        return sparse.csr_array((n, n))
    near = NearestNeighbors(n_neighbors=k).fit(rows)
    lengths, others = near.kneighbors()
    one = np.concatenate([np.repeat(np.arange(n), k), others.ravel()])
    other = np.concatenate([others.ravel(), np.repeat(np.arange(n), k)])
    squared = np.tile(lengths.astype(np.float64).ravel() ** 2, 2)
    _, first = np.unique(one.astype(np.int64) * n + other, return_index=True)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(one[first], minlength=n))])
    return _short_indices(sparse.csr_array((squared[first], other[first], indptr), shape=(n, n)))


def neighbor_kernel(
    squared: sparse.csr_array, bandwidth: float, *, normalize: bool
) -> SparseKernel:
    """Gaussian kernel where ``squared`` has distances, 0 elsewhere."""
    return sparse_kernel(squared, squared.data * (-0.5 / bandwidth**2), normalize=normalize)


def sparse_kernel(pattern: sparse.csr_array, logs: Array, *, normalize: bool) -> SparseKernel:
    """Scale a kernel whose entries have the logarithms ``logs``, in the order of the pattern."""
    n = pattern.shape[0]
    row = np.repeat(np.arange(n), np.diff(pattern.indptr))
    log_columns = np.zeros(n)
    if normalize:
        log_columns = _grouped_logsumexp(logs, pattern.indices, n)
    logs = logs - log_columns[pattern.indices]
    log_scale = _grouped_max(logs, row, n)
    values = np.exp(logs - log_scale[row])
    matrix = sparse.csr_array((values, pattern.indices, pattern.indptr), shape=(n, n))
    return SparseKernel(matrix, log_scale, log_columns)


def given_kernel(matrix: Any, *, normalize: bool) -> DenseKernel | SparseKernel:
    """Scale a kernel matrix of the user's, dense or CSR; its diagonal does not matter."""
    if sparse.issparse(matrix):
        entries = sparse.coo_array(matrix, dtype=np.float64)
        off = (entries.row != entries.col) & (entries.data > 0)
        kept = (entries.data[off], (entries.row[off], entries.col[off]))
        pattern = sparse.csr_array(kept, shape=matrix.shape)
        return sparse_kernel(pattern, np.log(pattern.data), normalize=normalize)
    scaled = matrix.astype(np.float64)
    np.fill_diagonal(scaled, 0.0)
    sums = scaled.sum(axis=0)
    columns = np.where(sums > 0, sums, 1.0) if normalize else np.ones(len(scaled))
    scaled /= columns
    largest = scaled.max(axis=1)
    largest = np.where(largest > 0, largest, 1.0)
    scaled /= largest[:, None]
    blocks = BlockRows(len(scaled), lambda start, stop: scaled[start:stop])
    return DenseKernel(blocks, np.log(largest), np.log(columns))


def strongest_links(matrix: Any, n_neighbors: int) -> sparse.csr_array:
    """Path lengths ``log(largest / K_ij)`` along the largest entries of every row of a kernel."""
    if sparse.issparse(matrix):
        entries = sparse.coo_array(matrix, dtype=np.float64)
        row, other, values = entries.row, entries.col, entries.data
    else:
        n = len(matrix)
        other = np.argsort(-matrix, axis=1, kind="stable")[:, : n_neighbors + 1].ravel()
        row = np.repeat(np.arange(n), len(other) // n)
        values = matrix[row, other].astype(np.float64)
    linked = (row != other) & (values > 0)
    row, other, values = row[linked], other[linked], values[linked]
    lengths = np.log(values.max(initial=1.0)) - np.log(values)
    return _short_indices(sparse.csr_array((lengths, (row, other)), shape=matrix.shape))


def _short_indices(graph: sparse.csr_array) -> sparse.csr_array:
    """Use 32 bits where these do: older versions of SciPy find no paths otherwise."""
    if graph.nnz <= np.iinfo(np.int32).max:
        graph.indices, graph.indptr = graph.indices.astype(np.int32), graph.indptr.astype(np.int32)
    return graph


def _grouped_max(values: Array, group: Array, n: int) -> Array:
    largest = np.full(n, -np.inf)
    np.maximum.at(largest, group, values)
    return _finite(largest)


def _grouped_logsumexp(values: Array, group: Array, n: int) -> Array:
    largest = _grouped_max(values, group, n)
    sums = np.bincount(group, weights=np.exp(values - largest[group]), minlength=n)
    return largest + np.log(np.where(sums > 0, sums, 1.0))


def _finite(logs: Array) -> Array:
    """Rows without any entry are divided by 1."""
    return np.where(np.isfinite(logs), logs, 0.0)
