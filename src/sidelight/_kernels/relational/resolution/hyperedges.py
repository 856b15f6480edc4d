"""Similarity of the references that occur together with a pair of references."""

from __future__ import annotations

import numpy as np

from sidelight._kernels import kernel
from sidelight._typing import Array


@kernel
def best_matches(
    pairs: Array, together: Array, starts: Array, near: Array, near_starts: Array, score: Array
) -> Array:
    """Largest similarity of a companion of ``i`` and a companion of ``j``, neither being i or j.

    Pairs are sorted by their first reference. ``together[starts[i] : starts[i + 1]]`` are the
    companions of reference i, the references of its hyper-edges without itself;
    ``near[near_starts[r] : near_starts[r + 1]]`` are the references that r is similar to, by
    ``score``. For each i the best and the second best companion is kept for every reference x, the
    second for the case that the best is j.
    """
    n = starts.shape[0] - 1
    best, second = np.zeros(n), np.zeros(n)
    by = np.full(n, -1, np.int64)
    stamp = np.full(n, -1, np.int64)
    found = np.zeros(pairs.shape[0])
    now = -1
    for p in range(pairs.shape[0]):
        i, j = pairs[p, 0], pairs[p, 1]
        if i != now:
            now = i
            for t in range(starts[i], starts[i + 1]):
                r = together[t]
                for e in range(near_starts[r], near_starts[r + 1]):
                    x, value = near[e], score[e]
                    if stamp[x] != i:
                        stamp[x] = i
                        best[x], second[x], by[x] = value, 0.0, r
                    elif value > best[x]:
                        second[x] = best[x]
                        best[x], by[x] = value, r
                    elif value > second[x]:
                        second[x] = value
        largest = 0.0
        for t in range(starts[j], starts[j + 1]):
            x = together[t]
            if x != i and stamp[x] == i:
                value = best[x] if by[x] != j else second[x]
                if value > largest:
                    largest = value
        found[p] = largest
    return found


@kernel
def _score_of(r: int, x: int, near: Array, near_starts: Array, score: Array) -> float:
    """Similarity of two references, 0 where they are no candidates; by bisection."""
    low, high = near_starts[r], near_starts[r + 1]
    while low < high:
        middle = (low + high) // 2
        if near[middle] < x:
            low = middle + 1
        else:
            high = middle
    if low < near_starts[r + 1] and near[low] == x:
        return score[low]
    return 0.0


@kernel
def assignment_value(gain: Array, n_rows: int, n_columns: int) -> float:
    """Largest sum of gains of different rows and columns, ``n_rows <= n_columns``.

    The Hungarian method with shortest augmenting paths, on costs ``-gain``.
    """
    u, v = np.zeros(n_rows + 1), np.zeros(n_columns + 1)
    row_of = np.zeros(n_columns + 1, np.int64)
    way = np.zeros(n_columns + 1, np.int64)
    for row in range(1, n_rows + 1):
        row_of[0] = row
        column = 0
        slack = np.full(n_columns + 1, np.inf)
        done = np.zeros(n_columns + 1, np.bool_)
        while row_of[column] != 0:
            done[column] = True
            at = row_of[column]
            delta, nearest = np.inf, 0
            for c in range(1, n_columns + 1):
                if done[c]:
                    continue
                reduced = -gain[at - 1, c - 1] - u[at] - v[c]
                if reduced < slack[c]:
                    slack[c], way[c] = reduced, column
                if slack[c] < delta:
                    delta, nearest = slack[c], c
            for c in range(n_columns + 1):
                if done[c]:
                    u[row_of[c]] += delta
                    v[c] -= delta
                else:
                    slack[c] -= delta
            column = nearest
        while column != 0:
            before = way[column]
            row_of[column] = row_of[before]
            column = before
    total = 0.0
    for c in range(1, n_columns + 1):
        if row_of[c] != 0:
            total += gain[row_of[c] - 1, c - 1]
    return total


@kernel
def _members_without(members: Array, start: int, stop: int, i: int, j: int, out: Array) -> int:
    """References of a hyper-edge other than i and j; returns how many there are."""
    count = 0
    for t in range(start, stop):
        if members[t] != i and members[t] != j:
            out[count] = members[t]
            count += 1
    return count


@kernel
def matchings(
    pairs: Array,
    edges: Array,
    edge_starts: Array,
    members: Array,
    member_starts: Array,
    near: Array,
    near_starts: Array,
    score: Array,
    longest: int,
) -> Array:
    """Best matching of the companions of two references, over all pairs of their hyper-edges.

    ``edges[edge_starts[i] : edge_starts[i + 1]]`` are the hyper-edges of reference i and
    ``members[member_starts[h] : member_starts[h + 1]]`` the references of hyper-edge h. The value
    of a matching is the sum of its similarities over the number of companions in the larger
    hyper-edge.
    """
    found = np.zeros(pairs.shape[0])
    mine, theirs = np.empty(longest, np.int64), np.empty(longest, np.int64)
    gain = np.empty((longest, longest))
    for p in range(pairs.shape[0]):
        i, j = pairs[p, 0], pairs[p, 1]
        for s in range(edge_starts[i], edge_starts[i + 1]):
            h = edges[s]
            n_mine = _members_without(members, member_starts[h], member_starts[h + 1], i, j, mine)
            for t in range(edge_starts[j], edge_starts[j + 1]):
                g = edges[t]
                n_theirs = _members_without(
                    members, member_starts[g], member_starts[g + 1], i, j, theirs
                )
                if n_mine == 0 or n_theirs == 0:
                    continue
                for a in range(n_mine):
                    for b in range(n_theirs):
                        value = _score_of(mine[a], theirs[b], near, near_starts, score)
                        if n_mine <= n_theirs:
                            gain[a, b] = value
                        else:
                            gain[b, a] = value
                larger = max(n_mine, n_theirs)
                value = assignment_value(gain, min(n_mine, n_theirs), larger) / larger
                found[p] = max(found[p], value)
    return found
