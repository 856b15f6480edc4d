"""Pairs of references inside of blocks and windows."""

from __future__ import annotations

import numpy as np

from sidelight._kernels import kernel
from sidelight._typing import Array


@kernel
def window_pairs(rows: Array, starts: Array, stop: Array, n: int, n_pairs: int) -> Array:
    """Pairs, as ``smaller * n + larger``, of rows of one block, and of blocks of one window.

    ``rows[starts[b] : starts[b + 1]]`` are the rows of block ``b``; it is paired with itself and
    with the blocks after it up to ``stop[b]``, exclusive.
    """
    keys = np.empty(n_pairs, np.int64)
    place = 0
    for b in range(starts.shape[0] - 1):
        last = starts[max(stop[b], b + 1)]
        for x in range(starts[b], starts[b + 1]):
            for y in range(x + 1, last):
                first, second = rows[x], rows[y]
                if first < second:
                    keys[place] = first * n + second
                else:
                    keys[place] = second * n + first
                place += 1
    return keys
