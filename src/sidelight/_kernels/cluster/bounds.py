"""Which rows cannot have changed their nearest center, and new bounds for the rest.

Hamerly, Making k-means even faster, 2010.
"""

from __future__ import annotations

import numpy as np

from sidelight._kernels import kernel
from sidelight._kernels.cluster.lloyd import CENTERS_AT_ONCE, squared_distance
from sidelight._typing import Array


@kernel
def find_doubtful(
    rows: Array,
    centers: Array,
    labels: Array,
    lower: Array,
    drop: Array,
    slack: float,
    doubtful: Array,
) -> int:
    """List the rows that may be nearer to another center now; return how many they are.

    ``lower`` bounds the distance to every center but a row's own from below; since then those may
    have come closer by ``drop[label]``. A row whose own center is nearer than that stays.
    """
    n_doubtful = 0
    for i in range(rows.shape[0]):
        own = np.sqrt(squared_distance(rows[i], centers[labels[i]]))
        lower[i] -= drop[labels[i]]
        if not own * (1 + slack) < lower[i]:
            doubtful[n_doubtful] = i
            n_doubtful += 1
    return n_doubtful


@kernel
def nearest_two(
    products: Array, half_norms: Array, best: Array, second: Array, labels: Array
) -> None:
    """Do what ``nearest`` does, and find the second smallest value too."""
    k, m = products.shape
    for i in range(m):
        best[i] = np.inf
        second[i] = np.inf
        labels[i] = 0
    for h in range(0, k, CENTERS_AT_ONCE):
        x0, x1, x2, x3 = products[h], products[h + 1], products[h + 2], products[h + 3]
        n0, n1, n2, n3 = half_norms[h], half_norms[h + 1], half_norms[h + 2], half_norms[h + 3]
        h0, h1, h2, h3 = np.int32(h), np.int32(h + 1), np.int32(h + 2), np.int32(h + 3)
        for i in range(m):
            smallest, runner_up, label = best[i], second[i], labels[i]
            value = n0 - x0[i]
            closer = value < smallest
            loser = smallest if closer else value
            runner_up = loser if loser < runner_up else runner_up
            smallest, label = (value, h0) if closer else (smallest, label)
            value = n1 - x1[i]
            closer = value < smallest
            loser = smallest if closer else value
            runner_up = loser if loser < runner_up else runner_up
            smallest, label = (value, h1) if closer else (smallest, label)
            value = n2 - x2[i]
            closer = value < smallest
            loser = smallest if closer else value
            runner_up = loser if loser < runner_up else runner_up
            smallest, label = (value, h2) if closer else (smallest, label)
            value = n3 - x3[i]
            closer = value < smallest
            loser = smallest if closer else value
            runner_up = loser if loser < runner_up else runner_up
            smallest, label = (value, h3) if closer else (smallest, label)
            best[i], second[i], labels[i] = smallest, runner_up, label


@kernel
def relabel(
    rows: Array,
    which: Array,
    centers: Array,
    products: Array,
    half_norms: Array,
    reach: float,
    slack: float,
    best: Array,
    second: Array,
    new: Array,
    labels: Array,
    lower: Array,
) -> None:
    """Label the ``which`` rows of a tile, and bound the distances to all other centers below.

    ``‖x - c'‖² = ‖x - c‖² + 2 (value' - value)`` for the second nearest center; what the products
    may have lost to rounding is at most ``slack (‖x - c‖ + reach)²``, and taken off the bound.
    """
    nearest_two(products, half_norms, best, second, new)
    for q in range(which.shape[0]):
        i = which[q]
        own = squared_distance(rows[q], centers[new[q]])
        uncertain = slack * (np.sqrt(own) + reach) ** 2
        labels[i] = new[q]
        lower[i] = np.sqrt(max(own + 2 * (second[q] - best[q]) - uncertain, 0))
