"""Clusters whose members are neighbors of at least a share of the others."""

from __future__ import annotations

import numpy as np

from sidelight._kernels import kernel
from sidelight._typing import Array


@kernel
def expel_weak_members(
    indptr: Array,
    indices: Array,
    seeds: Array,
    strength: float,
    members: Array,
    starts: Array,
    labels: Array,
) -> int:
    """Take the weakest member out of a cluster until all are strong and connected to its seed.

    A member is strong if it is a neighbor of at least ``strength`` times the others. A seed goes
    last: where it alone is weak, a member that is no neighbor of it leaves. Returns how many
    members were expelled; their label is -1.

    Parameters
    ----------
    indptr, indices : ndarray
        Neighbors of the nodes, in CSR arrays.
    seeds : ndarray of shape (k,)
        A member of every cluster, which stays.
    strength : float
        Share of the other members.
    members, starts : ndarray
        Members of the clusters, in CSR arrays.
    labels : ndarray
        Clusters, changed in place.
    """
    n = labels.shape[0]
    inside = np.zeros(n, np.int64)
    stamps, queue = np.full(n, -1, np.int64), np.empty(n, np.int64)
    stamp = n_expelled = 0
    for j in range(seeds.shape[0]):
        size = starts[j + 1] - starts[j]
        for place in range(starts[j], starts[j + 1]):
            inside[members[place]] = _neighbors_inside(indptr, indices, labels, members[place], j)
        while size > 1:
            weakest, seed_is_weak = -1, False
            for place in range(starts[j], starts[j + 1]):
                q = members[place]
                if labels[q] != j or inside[q] >= strength * (size - 1):
                    continue
                if q == seeds[j]:
                    seed_is_weak = True
                elif weakest < 0 or inside[q] < inside[weakest]:
                    weakest = q
            if weakest < 0:
                stamp += 1
                _mark_component(indptr, indices, labels, seeds[j], stamps, stamp, queue)
                if seed_is_weak:
                    # What is no neighbor of the seed has another mark.
                    for entry in range(indptr[seeds[j]], indptr[seeds[j] + 1]):
                        stamps[indices[entry]] = -2
                for place in range(starts[j], starts[j + 1]):
                    q = members[place]
                    if labels[q] != j or q == seeds[j]:
                        continue
                    wanted = -2 if seed_is_weak else stamp
                    if stamps[q] != wanted and (weakest < 0 or inside[q] < inside[weakest]):
                        weakest = q
            if weakest < 0:
                break
            labels[weakest] = -1
            size -= 1
            n_expelled += 1
            for entry in range(indptr[weakest], indptr[weakest + 1]):
                if labels[indices[entry]] == j:
                    inside[indices[entry]] -= 1
    return n_expelled


@kernel
def _neighbors_inside(indptr: Array, indices: Array, labels: Array, q: int, j: int) -> int:
    found = 0
    for entry in range(indptr[q], indptr[q + 1]):
        if labels[indices[entry]] == j:
            found += 1
    return found


@kernel
def _mark_component(
    indptr: Array,
    indices: Array,
    labels: Array,
    start: int,
    stamps: Array,
    stamp: int,
    queue: Array,
) -> None:
    """Mark the members of a cluster that are connected to one of them inside of it."""
    stamps[start] = stamp
    queue[0] = start
    begin, end = 0, 1
    while begin < end:
        q = queue[begin]
        begin += 1
        for entry in range(indptr[q], indptr[q + 1]):
            v = indices[entry]
            if labels[v] == labels[start] and stamps[v] != stamp:
                stamps[v] = stamp
                queue[end] = v
                end += 1
