"""Blocks of rows cut into tiles that fit the processor's cache, and weights of rows that are 1."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sidelight._typing import Array
from sidelight.engine import RowSource

#: Rows that are worked on together. Not a power of two, see :mod:`sidelight.engine._memory`.
TILE_ROWS = 6000


def tiles(n_rows: int, size: int = TILE_ROWS) -> Iterator[slice]:
    """Cut a block into tiles."""
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))


class EqualWeights:
    """Weights of 1 for all rows, without the memory: any slice is a piece of the same array."""

    def __init__(self, source: RowSource) -> None:
        longest = max(stop - start for start, stop in source.blocks)
        self._ones = np.ones(longest, dtype=source.dtype)

    def __getitem__(self, rows: slice) -> Array:
        return self._ones[: rows.stop - rows.start]
