"""Views of rows: sources that transform the blocks of another source while they are read."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from sidelight._fit.tiles import tiles
from sidelight._typing import Array
from sidelight.engine import RowSource
from sidelight.exceptions import SidelightError

NameRows = Callable[[Any], Sequence[str]]

#: Squares of float64 lengths below this lose digits at the end of the range.
SMALL_LENGTH = 1e-140


class RowView(RowSource):
    """The rows of another source, transformed block by block while they are read, without a copy.

    A view implements :meth:`change`. Shape, element type and blocks are those of the source.

    Parameters
    ----------
    source : RowSource
        The rows as they are.
    """

    def __init__(self, source: RowSource) -> None:
        self.n_rows, self.n_features = source.shape
        self.dtype, self.is_sparse = source.dtype, source.is_sparse
        self.max_parallel = source.max_parallel
        self._source = source

    @abstractmethod
    def change(self, block: Any, rows: slice | Array) -> Any:
        """Return the view of a block; ``rows`` are the positions of its rows in the table."""

    @property
    def blocks(self) -> list[tuple[int, int]]:
        """Ranges of rows that are worked on together."""
        return self._source.blocks

    def take(self, rows: npt.ArrayLike) -> Any:
        """Return the view of the rows at these positions."""
        positions = np.asarray(rows, dtype=np.intp)
        return self.change(self._source.take(positions), positions)

    def tasks(self) -> list[tuple[int, ...]]:
        return self._source.tasks()

    def read(self, task: tuple[int, ...]) -> Iterator[Any]:
        for number, block in zip(task, self._source.read(task), strict=True):
            yield self.change(block, slice(*self.blocks[number]))


class UnitRows(RowView):
    """Rows divided by their lengths; only the lengths are kept, and CSR blocks stay CSR.

    Parameters
    ----------
    source : RowSource
        The rows as they are; a row of zeros is an error.
    name_rows : callable, default=None
        ``name_rows(positions)`` gives the names of rows for the error message.
    """

    def __init__(self, source: RowSource, name_rows: NameRows | None = None) -> None:
        super().__init__(source)
        self._lengths = source.map_reduce(lambda block: ((), (row_lengths(block),)))[1][0]
        zero = np.flatnonzero(self._lengths == 0)
        if len(zero):
            name = f"row {zero[0]}" if name_rows is None else name_rows(zero[:1])[0]
            of = " of the sparse matrix" if self.is_sparse else ""
            more = f" (and so are {len(zero) - 1} more)" if len(zero) > 1 else ""
            raise SidelightError(
                f"{name[0].upper()}{name[1:]}{of} is all zeros{more}, and zeros have no direction: "
                "drop such rows, or use a method of squared distances."
            )

    def change(self, block: Any, rows: slice | Array) -> Any:
        """Divide the rows by their lengths."""
        return divide_rows(block, self._lengths[rows])


class ScaledRows(RowView):
    """Rows in other units: ``(x - shift) scales``, feature by feature; CSR rows are not shifted.

    Parameters
    ----------
    source : RowSource
        The rows as they are.
    scales : ndarray of shape (n_features,)
        What every feature is multiplied by.
    shift : ndarray of shape (n_features,)
        A point near the rows, so that scaled values far from 0 lose no digits.
    """

    def __init__(self, source: RowSource, scales: Array, shift: Array) -> None:
        super().__init__(source)
        self._scales = scales.astype(np.float64)
        self._shift = np.zeros(self.n_features) if self.is_sparse else shift.astype(np.float64)

    def change(self, block: Any, rows: slice | Array) -> Any:
        """Shift and scale the rows."""
        if not sparse.issparse(block):
            shift, scales = self._shift.astype(self.dtype), self._scales.astype(self.dtype)
            scaled: Array = block - shift
            scaled *= scales
            return scaled
        data = (block.data * self._scales[block.indices]).astype(self.dtype, copy=False)
        return sparse.csr_array((data, block.indices, block.indptr), shape=block.shape)

    def into(self, points: Array) -> Array:
        """Bring points of the source to the units of the view."""
        return (points.astype(np.float64) - self._shift) * self._scales

    def back(self, points: Array) -> Array:
        """Bring points of the view to the units of the source."""
        return points.astype(np.float64) / self._scales + self._shift


def row_lengths(block: Any) -> Array:
    """Return the lengths of the rows, in their own precision; 0 for zero rows only."""
    lengths = np.empty(block.shape[0])
    for tile in tiles(len(lengths)):
        lengths[tile] = _lengths(block[tile])
    extreme = np.flatnonzero((lengths < SMALL_LENGTH) | ~np.isfinite(lengths))
    if len(extreme):  # squares that left the range of floats: measured in units of the largest
        rows = block[extreme]
        peak = abs(rows).max(axis=1)
        peak = np.asarray(peak.toarray() if sparse.issparse(peak) else peak).ravel()
        unit = np.where(peak > 0, peak, 1).astype(np.float64)
        lengths[extreme] = unit * _lengths(divide_rows(rows.astype(np.float64), unit))
    return lengths.astype(block.dtype)


def _lengths(rows: Any) -> Array:
    if sparse.issparse(rows):
        rows = rows.astype(np.float64)
        return np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
    return np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))


def divide_rows(rows: Any, divisors: Array) -> Any:
    """Divide every row by a number of its own."""
    if not sparse.issparse(rows):
        return rows / divisors[:, None]
    data = rows.data / np.repeat(divisors, np.diff(rows.indptr))
    return sparse.csr_array((data, rows.indices, rows.indptr), shape=rows.shape)
