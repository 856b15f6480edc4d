"""Views of rows: sources that transform the blocks of another source while they are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from sidelight._fit.tiles import tiles
from sidelight._typing import Array
from sidelight.engine import Minimum, RowSource
from sidelight.engine.inner import BlockFunction
from sidelight.exceptions import SidelightError

NameRows = Callable[[Any], Sequence[str]]

#: Stands for no row.
NOWHERE = np.iinfo(np.int64).max

#: Squares of float64 lengths below this lose digits at the end of the range.
SMALL_LENGTH = 1e-140


class RowView(RowSource):
    """The rows of another source, transformed block by block while they are read, without a copy.

    Shape, element type and blocks are those of the source; where its rows live elsewhere, they are
    transformed there.

    Parameters
    ----------
    source : RowSource
        The rows as they are.
    change : callable
        ``change(block, *values)`` gives the view of a block. It is sent to where the rows are.
    per_row : sequence
        Values of the rows that ``change`` takes, sliced like the blocks.
    """

    def __init__(
        self, source: RowSource, change: Callable[..., Any], per_row: Sequence[Any] = ()
    ) -> None:
        self.n_rows, self.n_features = source.shape
        self.dtype, self.is_sparse = source.dtype, source.is_sparse
        self.max_parallel, self.is_partitioned = source.max_parallel, source.is_partitioned
        self._source, self._change, self._per_row = source, change, tuple(per_row)

    @property
    def blocks(self) -> list[tuple[int, int]]:
        """Ranges of rows that are worked on together."""
        return self._source.blocks

    def take(self, rows: npt.ArrayLike) -> Any:
        """Return the view of the rows at these positions."""
        positions = np.asarray(rows, dtype=np.intp)
        values = (thing[positions] for thing in self._per_row)
        return self._change(self._source.take(positions), *values)

    def tasks(self) -> list[tuple[int, ...]]:
        return self._source.tasks()

    def read(self, task: tuple[int, ...]) -> Iterator[Any]:
        for number, block in zip(task, self._source.read(task), strict=True):
            start, stop = self.blocks[number]
            yield self._change(block, *(thing[start:stop] for thing in self._per_row))

    def map_reduce(
        self, function: BlockFunction, *, aligned: Sequence[Any] = ()
    ) -> tuple[tuple[Array, ...], tuple[Array, ...]]:
        n_values = len(self._per_row)
        kind = _OnView if getattr(function, "again_from", None) is None else _RestorableOnView
        return self._source.map_reduce(
            kind(self._change, n_values, function), aligned=(*self._per_row, *aligned)
        )


class _OnView:
    """A block function of the view as one of the source."""

    def __init__(self, change: Callable[..., Any], n_values: int, function: Any) -> None:
        self._change, self._n_values, self._function = change, n_values, function

    def __call__(self, block: Any, *slices: Any) -> Any:
        return self._function(*self._seen(block, slices))

    def _seen(self, block: Any, slices: tuple[Any, ...]) -> tuple[Any, ...]:
        n = self._n_values
        return self._change(block, *slices[:n]), *slices[n:]


class _RestorableOnView(_OnView):
    """The same of a function whose row values can be made again."""

    @property
    def again_from(self) -> tuple[int, ...]:
        """Arguments that the row values need: those of the view, and those of the function."""
        n = self._n_values
        return (*range(n), *(n + place for place in self._function.again_from))

    def rows_again(self, block: Any, *slices: Any) -> Any:
        """Return the row values of a block."""
        return self._function.rows_again(*self._seen(block, slices))


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
        positions = range(source.n_rows)
        (n_zero, first), (lengths,) = source.map_reduce(_measure_rows, aligned=(positions,))
        super().__init__(source, divide_rows, (lengths,))
        if n_zero > 0:
            name = f"row {first[0]}" if name_rows is None else name_rows(first)[0]
            of = " of the sparse matrix" if self.is_sparse else ""
            more = f" (and so are {n_zero - 1} more)" if n_zero > 1 else ""
            raise SidelightError(
                f"{name[0].upper()}{name[1:]}{of} is all zeros{more}, and zeros have no direction: "
                "drop such rows, or use a method of squared distances."
            )


def _measure_rows(block: Any, positions: range) -> tuple[tuple[int, Minimum], tuple[Array]]:
    """Lengths of the rows; number of rows of zeros, and the position of the first."""
    lengths = row_lengths(block)
    zero = np.flatnonzero(lengths == 0)
    first = positions.start + zero[0] if len(zero) else NOWHERE
    return (len(zero), Minimum([first])), (lengths,)


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
        self._scales = scales.astype(np.float64)
        self._shift = np.zeros(source.n_features) if source.is_sparse else shift.astype(np.float64)
        super().__init__(source, _Units(self._scales, self._shift, source.dtype))

    def into(self, points: Array) -> Array:
        """Bring points of the source to the units of the view."""
        return (points.astype(np.float64) - self._shift) * self._scales

    def back(self, points: Array) -> Array:
        """Bring points of the view to the units of the source."""
        return points.astype(np.float64) / self._scales + self._shift


class _Units:
    """Shift and scale rows."""

    def __init__(self, scales: Array, shift: Array, dtype: np.dtype[Any]) -> None:
        self._scales, self._shift, self._dtype = scales, shift, dtype

    def __call__(self, block: Any) -> Any:
        if not sparse.issparse(block):
            scaled: Array = block - self._shift.astype(self._dtype)
            scaled *= self._scales.astype(self._dtype)
            return scaled
        data = (block.data * self._scales[block.indices]).astype(self._dtype, copy=False)
        return sparse.csr_array((data, block.indices, block.indptr), shape=block.shape)


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
