"""Products with a matrix of squared distances, which is never formed."""

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
def squares_times(
    paths: Array, n: int, first: int, last: int, vectors: Array, product: Array
) -> None:
    """Fill in ``product[c, i] = Σ_j paths[i, j]² vectors[c, j]`` for rows ``first`` to ``last``.

    ``vectors`` are (number, n); paths that do not exist count as 0.
    """
    squares = np.empty(n, np.float64)
    for i in range(first, last):
        row = paths[i]
        for j in range(n):
            squares[j] = row[j] * row[j] if row[j] < np.inf else 0.0
        for c in range(len(vectors)):
            product[c, i] = _dot(squares, vectors[c])


@kernel
def times_squares(
    paths: Array, n: int, first: int, last: int, vectors: Array, product: Array
) -> None:
    """Fill in ``product[c, j] = Σ_i vectors[c, i] paths[i, j]²``, ``i < n``, for some columns."""
    squares = np.empty(last - first, np.float64)
    product[:, first:last] = 0.0
    for i in range(n):
        for j in range(first, last):
            length = paths[i, j]
            squares[j - first] = length * length if length < np.inf else 0.0
        for c in range(len(vectors)):
            weight = vectors[c, i]
            row = product[c]
            for j in range(first, last):
                row[j] += weight * squares[j - first]
