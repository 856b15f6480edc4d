"""Products with the matrix of squared distances, which is never formed."""

from __future__ import annotations

import numpy as np

from sidelight._kernels import kernel, sum_kernel
from sidelight._typing import Array


@sum_kernel
def _dot(first: Array, second: Array) -> float:
    total = 0.0
    for j in range(len(first)):
        total += first[j] * second[j]
    return total


@kernel
def squared_product(
    paths: Array, n: int, first: int, last: int, vectors: Array, product: Array
) -> None:
    """Fill in columns ``first`` to ``last`` of ``vectors G2``, ``G2`` the squares of symmetric paths.

    ``vectors`` and ``product`` are (number, n); paths that do not exist count as 0.
    """
    squares = np.empty(n, np.float64)
    for i in range(first, last):
        row = paths[i]
        for j in range(n):
            squares[j] = row[j] * row[j] if row[j] < np.inf else 0.0
        for c in range(len(vectors)):
            product[c, i] = _dot(squares, vectors[c])
