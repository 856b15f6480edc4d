"""Rows in memory: blocks are views, nothing is copied."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from sidelight._typing import Array
from sidelight.engine._source import RowSource, equal_blocks, floating_dtype
from sidelight.exceptions import SidelightError

#: A block should outweigh its hand-over to a thread a hundredfold, yet leave enough of them to
#: keep all threads busy to the end.
BLOCK_BYTES = 4 * 2**20
MAX_BLOCK_TILES = 32

#: Algorithms work on about this many rows at a time inside a block. Not a power of two: matrices
#: with such a row length compete for the same few lines of the processor's cache.
TILE_ROWS = 2000


def memory_blocks(n_rows: int, row_bytes: float) -> list[tuple[int, int]]:
    """Cut rows in memory into blocks of whole tiles, as many as 2 or 4 threads share evenly."""
    fitting = int(BLOCK_BYTES / (TILE_ROWS * max(row_bytes, 1)))
    n_tiles = -(-n_rows // TILE_ROWS)
    n_blocks = -(-n_tiles // min(max(fitting, 1), MAX_BLOCK_TILES))
    if n_blocks > 1:
        n_blocks = -(-n_blocks // 4) * 4
    return equal_blocks(n_rows, max(-(-n_tiles // max(n_blocks, 1)), 1) * TILE_ROWS)


def rows_of(X: sparse.csr_array, rows: slice) -> sparse.csr_array:
    """Return consecutive CSR rows without copying their entries, as slicing would."""
    indptr = X.indptr[rows.start : rows.stop + 1]
    entries = slice(indptr[0], indptr[-1])
    shape = (len(indptr) - 1, X.shape[1])
    return sparse.csr_array((X.data[entries], X.indices[entries], indptr - indptr[0]), shape=shape)


class ArrayRows(RowSource):
    """A dense array in memory."""

    is_in_memory = True

    def __init__(self, X: Array) -> None:
        if X.ndim != 2:
            raise SidelightError(f"Rows must be a matrix, got an array of shape {X.shape}.")
        self.dtype = floating_dtype(X.dtype)
        self._X = np.ascontiguousarray(X, dtype=self.dtype)
        self.n_rows, self.n_features = X.shape
        self._blocks = memory_blocks(self.n_rows, self.n_features * self.dtype.itemsize)

    @property
    def blocks(self) -> list[tuple[int, int]]:
        """Ranges of rows that are worked on together."""
        return self._blocks

    def take(self, rows: npt.ArrayLike) -> Array:
        """Return a copy of the rows at these positions."""
        return self._X[np.asarray(rows, dtype=np.intp)]

    def to_memory(self) -> Array:
        """Return the array itself."""
        return self._X

    def read(self, task: tuple[int, ...]) -> Iterator[Array]:
        for number in task:
            start, stop = self._blocks[number]
            yield self._X[start:stop]


class SparseRows(RowSource):
    """A CSR matrix in memory."""

    is_sparse = True
    is_in_memory = True

    def __init__(self, X: Any) -> None:
        self.dtype = floating_dtype(X.dtype)
        # Index arithmetic on a csr_array and a csr_matrix differs; one kind is enough inside.
        self._X = sparse.csr_array(X, dtype=self.dtype)
        if not self._X.has_canonical_format:  # squares of rows need every entry once
            self._X = self._X.copy()
            self._X.sum_duplicates()
        self.n_rows, self.n_features = X.shape
        entry_bytes = self.dtype.itemsize + self._X.indices.dtype.itemsize
        row_bytes = self._X.nnz * entry_bytes / max(self.n_rows, 1)
        self._blocks = memory_blocks(self.n_rows, row_bytes)

    @property
    def blocks(self) -> list[tuple[int, int]]:
        """Ranges of rows that are worked on together."""
        return self._blocks

    def take(self, rows: npt.ArrayLike) -> sparse.csr_array:
        """Return the rows at these positions."""
        return self._X[np.asarray(rows, dtype=np.intp)]

    def to_memory(self) -> sparse.csr_array:
        """Return the matrix itself."""
        return self._X

    def read(self, task: tuple[int, ...]) -> Iterator[sparse.csr_array]:
        for number in task:
            yield rows_of(self._X, slice(*self._blocks[number]))
