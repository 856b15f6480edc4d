"""Blocks of rows cut into tiles that fit the processor's cache, and weights of rows that are 1."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from sidelight._fit.few_rows import FewRows
from sidelight._typing import Array
from sidelight.engine import RowSource

#: Rows that are worked on together. Not a power of two, see :mod:`sidelight.engine._memory`.
TILE_ROWS = 6000


def tiles(n_rows: int, size: int = TILE_ROWS) -> Iterator[slice]:
    """Cut a block into tiles."""
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))


class EqualWeights:
    """Weights of 1 for all rows, without the memory: any slice is a piece of the same array.

    It is pickled as its element type alone, so that it costs nothing to send to where rows are.

    Parameters
    ----------
    source : RowSource or ndarray
        Rows, or values of rows, whose element type the weights have.
    """

    def __init__(self, source: RowSource | Array) -> None:
        self._dtype = source.dtype
        self._ones = np.ones(0, dtype=self._dtype)

    def __getitem__(self, rows: slice) -> Array:
        ones, n = self._ones, rows.stop - rows.start
        if len(ones) < n:
            ones = self._ones = np.ones(n, dtype=self._dtype)
        return ones[:n]

    def part(self, start: int, stop: int) -> EqualWeights:
        """Return the weights of consecutive rows, which are the same."""
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {"_dtype": self._dtype, "_ones": np.ones(0, dtype=self._dtype)}


class OnesExcept(EqualWeights):
    """Weights of 1, in float64, for all rows but a few, which have none; without the memory.

    Parameters
    ----------
    rows : array of int, default=()
        Positions of the rows of weight 0, ascending.
    """

    def __init__(self, rows: npt.ArrayLike = ()) -> None:
        self._without = FewRows(rows)
        self._dtype = np.dtype(np.float64)
        self._ones = np.ones(0)

    def __getitem__(self, rows: slice) -> Array:
        ones = super().__getitem__(rows)
        without, _ = self._without[rows]
        if len(without):
            ones = ones.copy()
            ones[without] = 0.0
        return ones

    def part(self, start: int, stop: int) -> OnesExcept:
        """Return the weights of consecutive rows, counted from the first of them."""
        without, _ = self._without[start:stop]
        return OnesExcept(without)

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {"_without": self._without}
