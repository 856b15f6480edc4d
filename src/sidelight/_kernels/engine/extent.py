"""The largest value of every column."""

from __future__ import annotations

from sidelight._kernels import kernel
from sidelight._typing import Array


@kernel
def raise_to_largest(rows: Array, largest: Array) -> None:
    """Raise ``largest[j]`` to the largest ``|x_ij|``; a value that is missing (NaN) counts not."""
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            size = abs(rows[i, j])
            if size > largest[j]:
                largest[j] = size


@kernel
def raise_to_largest_entry(data: Array, indices: Array, largest: Array) -> None:
    """Do the same for the entries of a CSR matrix."""
    for e in range(data.shape[0]):
        size = abs(data[e])
        if size > largest[indices[e]]:
            largest[indices[e]] = size
