"""Bi-sets of a 0/1 table: a set of rows and a set of columns each, as bits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from sidelight._kernels.cluster.coclustering.concepts import sizes, unpack, write_indices
from sidelight._typing import Array, IntArray
from sidelight._words import counted


@dataclass(frozen=True, eq=False, repr=False)
class Concepts:
    """Bi-sets of a table: pairs of a set of rows and a set of columns that have a one in common.

    Made by :func:`mine_concepts`. Sets are kept as bits, eight elements to a byte; arrays and
    sparse matrices are made when they are asked for.

    Attributes
    ----------
    row_words, column_words : ndarray of uint64, shape (n_concepts, n_words)
        Sets of rows and of columns: element ``i`` is bit ``i % 64`` of word ``i // 64``.
    n_rows, n_columns : int
        Size of the table.

    Examples
    --------
    >>> from sidelight.cluster import mine_concepts
    >>> concepts = mine_concepts([[1, 1, 0], [1, 1, 1]])
    >>> concepts
    <Concepts: 2 bi-sets of 2 rows and 3 columns>
    >>> [(rows.tolist(), columns.tolist()) for rows, columns in concepts]
    [([0, 1], [0, 1]), ([1], [0, 1, 2])]
    """

    row_words: Array
    column_words: Array
    n_rows: int
    n_columns: int

    def __len__(self) -> int:
        return len(self.row_words)

    def __repr__(self) -> str:
        table = f"{counted(self.n_rows, 'row')} and {counted(self.n_columns, 'column')}"
        return f"<Concepts: {counted(len(self), 'bi-set')} of {table}>"

    def __getitem__(self, place: int) -> tuple[IntArray, IntArray]:
        """Rows and columns of one bi-set."""
        return (
            np.flatnonzero(unpack(self.row_words[place][None], self.n_rows)[0]),
            np.flatnonzero(unpack(self.column_words[place][None], self.n_columns)[0]),
        )

    def __iter__(self) -> Iterator[tuple[IntArray, IntArray]]:
        return (self[place] for place in range(len(self)))

    @property
    def row_sizes(self) -> IntArray:
        """Number of rows of every bi-set."""
        return np.asarray(sizes(self.row_words))

    @property
    def column_sizes(self) -> IntArray:
        """Number of columns of every bi-set."""
        return np.asarray(sizes(self.column_words))

    def rows(self) -> sparse.csr_array:
        """0/1 matrix of the rows of every bi-set, shape (n_concepts, n_rows)."""
        return _matrix(self.row_words, self.n_rows)

    def columns(self) -> sparse.csr_array:
        """0/1 matrix of the columns of every bi-set, shape (n_concepts, n_columns)."""
        return _matrix(self.column_words, self.n_columns)


def _matrix(words: Any, n_elements: int) -> sparse.csr_array:
    indptr = np.zeros(len(words) + 1, np.int64)
    np.cumsum(sizes(words), out=indptr[1:])
    indices = write_indices(words, indptr)
    ones = np.ones(len(indices), np.uint8)
    return sparse.csr_array((ones, indices, indptr), shape=(len(words), n_elements))
