"""Centers near a row: of the clusters of its neighbors, and of adjacent clusters."""

from __future__ import annotations

import numpy as np

from sidelight._kernels import kernel
from sidelight._kernels.relational.connected.growth import squared_distance
from sidelight._typing import Array


@kernel
def nearest_of_neighbors(
    indptr: Array, indices: Array, rows: Array, centers: Array, labels: Array, found: Array
) -> None:
    """Nearest center of a cluster of a neighbor; of all where no neighbor is in a cluster.

    ``indptr`` and ``indices`` list the neighbors of the rows, ``labels`` their clusters.
    """
    for q in range(rows.shape[0]):
        best, label = np.inf, -1
        for entry in range(indptr[q], indptr[q + 1]):
            j = labels[indices[entry]]
            if j < 0:
                continue
            square = squared_distance(rows, q, centers, j)
            if square < best or (square == best and j < label):
                best, label = square, j
        if label < 0:
            for j in range(centers.shape[0]):
                square = squared_distance(rows, q, centers, j)
                if square < best:
                    best, label = square, j
        found[q] = label


@kernel
def second_squares(
    starts: Array, adjacent: Array, rows: Array, centers: Array, labels: Array, squares: Array
) -> None:
    """Squared distance of every row to the nearest center of a cluster adjacent to its own.

    ``starts`` and ``adjacent`` list the adjacent clusters of every cluster; infinity for rows
    whose cluster has none.
    """
    for q in range(rows.shape[0]):
        squares[q] = np.inf
        if labels[q] < 0:
            continue
        for entry in range(starts[labels[q]], starts[labels[q] + 1]):
            square = squared_distance(rows, q, centers, adjacent[entry])
            squares[q] = min(squares[q], square)
