"""How large and how small numbers may be.

Nearly all methods add up squares of values, and some of them squares of squares. Where these leave
the range of floating-point numbers, distances are infinite or 0, silently. One range for all
methods keeps well away from both ends, and anyone can bring a column into it by another unit.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sidelight._typing import Array


class Extent(NamedTuple):
    """The smallest and the largest size that the largest number of a table may have."""

    smallest: float
    largest: float


#: Values whose squares are added up, by element type. Squares of float64 are squared again in some
#: methods; those of float32 are squared again as float64 only.
SQUARED = {8: Extent(1e-70, 1e70), 4: Extent(1e-15, 1e15)}

#: Values of which only the ratios within a row count.
DIRECTIONS = {8: Extent(1e-290, 1e300), 4: Extent(1e-30, 1e35)}

#: Weights of rows, which multiply squares; components of less weight are taken for empty.
WEIGHTS = {8: Extent(1e-12, 1e70), 4: Extent(1e-12, 1e8)}

#: Weights of pairs, of which mostly the ratios count.
PAIR_WEIGHTS = Extent(1e-70, 1e70)


def too_large(dtype: np.dtype[Any], extent: Extent | None = None) -> str:
    """Return what is wrong with values that are too large, and what to do."""
    limit = (extent or SQUARED[dtype.itemsize]).largest
    also = ", or pass float64" if dtype.itemsize == 4 else ""
    return (
        f"squares of values beyond {limit:.0e} cannot be added up in {dtype}: divide the column "
        f"by a power of ten{also}, or drop the row if the value is a mistake"
    )


def too_small(dtype: np.dtype[Any], extent: Extent | None = None) -> str:
    """Return what is wrong with values that are too small, and what to do."""
    limit = (extent or SQUARED[dtype.itemsize]).smallest
    also = ", or pass float64" if dtype.itemsize == 4 else ""
    return (
        f"squares of values below {limit:.0e} are lost in {dtype}: multiply by a power of ten{also}"
    )


def largest_by_column(block: Any) -> Array:
    """Return the largest ``|x|`` of every column of a dense or CSR block, in its element type."""
    from sidelight._kernels.engine.extent import raise_to_largest, raise_to_largest_entry

    largest = np.zeros(block.shape[1], dtype=block.dtype)
    if hasattr(block, "indptr"):
        raise_to_largest_entry(block.data, block.indices, largest)
    else:
        raise_to_largest(block, largest)
    return largest
