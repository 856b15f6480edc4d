"""Lists of the nearest rows of every row, kept exact while rows come and go.

Row ``i`` of ``near`` and ``near_distances`` holds the nearest rows in the order of (distance,
serial number): of rows at the same distance that comes first which came first. ``counts[i]`` of the
entries are in use, fewer than all while there are not enough rows.
"""

from __future__ import annotations

import numpy as np

from sidelight._kernels import kernel
from sidelight._typing import Array


@kernel
def distance(rows: Array, i: int, row: Array) -> float:
    """Euclidean distance, always summed in the same order: the same both ways, to the last bit."""
    width = len(row)
    first = second = third = fourth = 0.0
    for c in range(0, width - 3, 4):
        a, b = rows[i, c] - row[c], rows[i, c + 1] - row[c + 1]
        e, f = rows[i, c + 2] - row[c + 2], rows[i, c + 3] - row[c + 3]
        first += a * a
        second += b * b
        third += e * e
        fourth += f * f
    for c in range(width - width % 4, width):
        a = rows[i, c] - row[c]
        first += a * a
    return np.sqrt((first + second) + (third + fourth))


@kernel
def distances_to(rows: Array, n: int, row: Array) -> Array:
    """Distances of the first ``n`` rows to another row."""
    found = np.empty(n, np.float64)
    for i in range(n):
        found[i] = distance(rows, i, row)
    return found


@kernel
def pair_distances(rows: Array, pairs: Array) -> Array:
    """Distances of pairs of rows."""
    found = np.empty(len(pairs), np.float64)
    for p in range(len(pairs)):
        found[p] = distance(rows, pairs[p, 0], rows[pairs[p, 1]])
    return found


@kernel
def _offer(
    near: Array,
    near_distances: Array,
    counts: Array,
    serials: Array,
    i: int,
    j: int,
    apart: float,
) -> int:
    """Offer row ``j`` to the list of ``i``: -2 if it is too far, else -1 or the row driven out."""
    size = near.shape[1]
    count = counts[i]
    out = -1
    if count == size:
        worst = near[i, size - 1]
        behind = near_distances[i, size - 1]
        if apart > behind or (apart == behind and serials[j] > serials[worst]):
            return -2
        out = worst
        count -= 1
    at = count
    while at > 0 and (
        near_distances[i, at - 1] > apart
        or (near_distances[i, at - 1] == apart and serials[near[i, at - 1]] > serials[j])
    ):
        near[i, at] = near[i, at - 1]
        near_distances[i, at] = near_distances[i, at - 1]
        at -= 1
    near[i, at] = j
    near_distances[i, at] = apart
    counts[i] = count + 1
    return out


@kernel
def fill_lists(
    rows: Array,
    n: int,
    first: int,
    last: int,
    serials: Array,
    near: Array,
    near_distances: Array,
    counts: Array,
) -> None:
    """Make the lists of the rows ``first`` to ``last`` out of all ``n`` rows."""
    for i in range(first, last):
        counts[i] = 0
        for j in range(n):
            if j != i:
                apart = distance(rows, j, rows[i])
                _offer(near, near_distances, counts, serials, i, j, apart)


@kernel
def holds(near: Array, counts: Array, i: int, j: int) -> bool:
    """Whether row ``j`` is in the list of row ``i``."""
    for at in range(counts[i]):  # noqa: SIM110 (Numba has no generators)
        if near[i, at] == j:
            return True
    return False


@kernel
def add_to_lists(
    near: Array,
    near_distances: Array,
    counts: Array,
    serials: Array,
    new: int,
    apart: Array,
) -> tuple[Array, Array, Array]:
    """Enter row ``new``, the last one: (its neighbors, rows that list it, pairs it drove apart).

    A pair (i, j) is driven apart if ``j`` left the list of ``i``; ``i`` may still be in that of
    ``j``.
    """
    joined = np.empty(new, np.int64)
    listing = np.empty(new, np.int64)
    driven = np.empty((new, 2), np.int64)
    n_joined = n_listing = n_driven = 0
    counts[new] = 0
    for i in range(new):
        _offer(near, near_distances, counts, serials, new, i, apart[i])
    for i in range(new):
        out = _offer(near, near_distances, counts, serials, i, new, apart[i])
        if out > -2 or holds(near, counts, new, i):
            joined[n_joined] = i
            n_joined += 1
        if out > -2:
            listing[n_listing] = i
            n_listing += 1
        if out >= 0:
            driven[n_driven, 0] = i
            driven[n_driven, 1] = out
            n_driven += 1
    return joined[:n_joined].copy(), listing[:n_listing].copy(), driven[:n_driven].copy()


@kernel
def remove_from_lists(
    rows: Array,
    n: int,
    near: Array,
    near_distances: Array,
    counts: Array,
    serials: Array,
    gone: int,
) -> Array:
    """Take a row out of all lists and fill them up: pairs (row, row that joins its list or -1)."""
    changed = np.empty((n, 2), np.int64)
    count = 0
    size = near.shape[1]
    for i in range(n):
        if i == gone or not holds(near, counts, i, gone):
            continue
        kept = 0
        for at in range(counts[i]):
            if near[i, at] != gone:
                near[i, kept] = near[i, at]
                near_distances[i, kept] = near_distances[i, at]
                kept += 1
        counts[i] = kept
        best, best_distance = -1, np.inf
        if n - 2 >= size:
            for j in range(n):
                if j in (i, gone) or holds(near, counts, i, j):
                    continue
                apart = distance(rows, j, rows[i])
                if apart < best_distance or (apart == best_distance and serials[j] < serials[best]):
                    best, best_distance = j, apart
            _offer(near, near_distances, counts, serials, i, best, best_distance)
        changed[count, 0] = i
        changed[count, 1] = best
        count += 1
    return changed[:count].copy()


@kernel
def rename_in_lists(
    near: Array, near_distances: Array, counts: Array, n: int, old: int, new: int
) -> None:
    """Give list and places of row ``old``, the last of ``n``, to another number."""
    for i in range(n):
        for at in range(counts[i]):
            if near[i, at] == old:
                near[i, at] = new
    near[new] = near[old]
    near_distances[new] = near_distances[old]
    counts[new] = counts[old]


@kernel
def listed_pairs(near: Array, counts: Array, pairs: Array) -> Array:
    """Which pairs are neighbors: one is in the list of the other."""
    found = np.empty(len(pairs), np.bool_)
    for p in range(len(pairs)):
        i, j = pairs[p, 0], pairs[p, 1]
        found[p] = holds(near, counts, i, j) or holds(near, counts, j, i)
    return found
