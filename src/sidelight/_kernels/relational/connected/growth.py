"""Growth of connected clusters from seed nodes along the edges of a graph (chapter 12)."""

from __future__ import annotations

from typing import Any

import numpy as np

from sidelight._kernels import kernel
from sidelight._kernels.relational.connected.heap import grown, sift_down, sift_up
from sidelight._typing import Array


@kernel
def wide(index: Any) -> Any:
    """Return an index in 64 bits: functions are compiled once more for every other width."""
    return np.int64(index)


@kernel
def squared_distance(rows: Array, q: int, centers: Array, j: int) -> float:
    """Squared distance of row ``q`` to center ``j``."""
    total = 0.0
    for feature in range(rows.shape[1]):
        offset = np.float64(rows[q, feature]) - np.float64(centers[j, feature])
        total += offset * offset
    return total


@kernel
def assign_nearest(rows: Array, centers: Array, labels: Array, squares: Array) -> None:
    """Every row to its nearest center, of equally near ones to the first."""
    for q in range(rows.shape[0]):
        best, label = np.inf, 0
        for j in range(centers.shape[0]):
            square = squared_distance(rows, q, centers, j)
            if square < best:
                best, label = square, j
        labels[q], squares[q] = label, best


@kernel
def grow_by_heap(
    indptr: Array,
    indices: Array,
    rows: Array,
    centers: Array,
    seeds: Array,
    look_ahead: bool,
    strength: float,
    labels: Array,
    absorbed: Array,
) -> None:
    """Absorb the frontier node that is nearest to a center, until nothing can be absorbed.

    The limit of the printed rounds for increments towards 0. A queue gives the frontier pairs
    ``(‖q - c_j‖², q, j)`` in their order: a heap whose later entries wait in buckets, since large
    heaps do not fit into the cache. What a new member reaches below the present threshold is
    absorbed at once: all of it belongs to the same cluster, so that its order does not matter.

    Parameters
    ----------
    indptr, indices : ndarray
        Neighbors of the nodes, in CSR arrays.
    rows : ndarray of shape (n, d)
        Attributes of the nodes.
    centers : ndarray of float64, shape (k, d)
        Centers of the clusters.
    seeds : ndarray of shape (k,)
        Node at which each cluster begins, all different.
    look_ahead : bool
        Whether bridge nodes look at neighbors that depend on them.
    strength : float
        Share of the members of a cluster that a new member is a neighbor of; 0 for one of them.
    labels : ndarray of int32, shape (n,)
        Clusters, set here; -1 for nodes that no cluster admits.
    absorbed : ndarray of float64, shape (n,)
        Squared threshold at which each node was absorbed, set here; infinity for the others.
    """
    n, k = rows.shape[0], centers.shape[0]
    labels[:] = -1
    absorbed[:] = np.inf
    sizes = np.ones(k, np.int64)
    # Clusters that have put a node into the queue, whose key would be the same again: as bits, or
    # of many clusters only the last.
    offered = np.zeros(n, np.uint64)
    few = k <= 64
    depended_on = with_leaves(indptr, indices) if look_ahead else np.zeros(n, np.bool_)
    waiting = np.empty(n, np.int64)
    at_once = strength == 0.0
    # Pairs of the present bucket are in a small heap, later ones in a linked list per bucket.
    n_buckets = min(max(n // 16, 16), 65_536)
    scale = n_buckets / _usual_square(rows, centers)
    heads = np.full(n_buckets, -1, np.int64)
    slots = np.empty((n + k + 16, 2), np.int64)  # tag, next slot
    slot_keys = np.empty(n + k + 16)
    keys, tags = np.empty(1024), np.empty(1024, np.int64)
    n_slots, unused, present, size = 0, -1, 0, 0
    for j in range(k):
        labels[seeds[j]] = j
        absorbed[seeds[j]] = 0.0
    threshold = 0.0
    next_seed = 0
    n_waiting = 0
    while True:
        # Next member to expand: one absorbed at once, a seed, or the nearest of the queue.
        if n_waiting:
            n_waiting -= 1
            member = waiting[n_waiting]
        elif next_seed < k:
            member = seeds[next_seed]
            next_seed += 1
        else:
            while size == 0 and present + 1 < n_buckets:
                present += 1
                slot = heads[present]
                while slot >= 0:
                    if size == keys.shape[0]:
                        keys, tags = grown(keys), grown(tags)
                    sift_up(keys, tags, size, slot_keys[slot], slots[slot, 0])
                    size += 1
                    following = slots[slot, 1]
                    slots[slot, 1] = unused
                    unused = slot
                    slot = following
            if size == 0:
                break
            key, tag = keys[0], tags[0]
            size -= 1
            sift_down(keys, tags, size)
            q, j = tag // k, tag % k
            if labels[q] >= 0:
                continue
            if strength > 0.0 and not _admits(indptr, indices, labels, q, j, strength * sizes[j]):
                continue
            # Step II of NetScan (Book 2009, 12.5): the threshold rises to the nearest node.
            threshold = max(threshold, key)
            # Look-ahead of potential bridge nodes: neighbors of degree 1 depend on the choice.
            if depended_on[q]:
                j = better_side(indptr, indices, rows, centers, labels, q, j, threshold)
            labels[q] = j
            absorbed[q] = threshold
            sizes[j] += 1
            member = q
        j = wide(labels[member])
        # Frontier: unassigned neighbors of the new member, for its cluster.
        mark = np.uint64(1) << np.uint64(j) if few else np.uint64(j + 1)
        for entry in range(indptr[member], indptr[member + 1]):
            q = wide(indices[entry])
            if labels[q] >= 0:
                continue
            if at_once and ((offered[q] & mark) if few else offered[q] == mark):
                continue
            key = squared_distance(rows, q, centers, j)
            if at_once and key < threshold:
                side = j
                if depended_on[q]:
                    side = better_side(indptr, indices, rows, centers, labels, q, j, threshold)
                labels[q] = side
                absorbed[q] = threshold
                sizes[side] += 1
                waiting[n_waiting] = q
                n_waiting += 1
                continue
            offered[q] = (offered[q] | mark) if few else mark
            tag = q * k + j
            # Into the heap, or into the list of a later bucket.
            bucket = np.int64(min(key * scale, n_buckets - 1.0))
            if bucket <= present:
                if size == keys.shape[0]:
                    keys, tags = grown(keys), grown(tags)
                sift_up(keys, tags, size, key, tag)
                size += 1
                continue
            if unused >= 0:
                slot = unused
                unused = slots[slot, 1]
            else:
                slot = n_slots
                n_slots += 1
                if slot == slots.shape[0]:
                    longer = np.empty((2 * slot, 2), np.int64)
                    for a in range(slot):
                        longer[a, 0], longer[a, 1] = slots[a, 0], slots[a, 1]
                    slots, slot_keys = longer, grown(slot_keys)
            slots[slot, 0], slots[slot, 1], slot_keys[slot] = tag, heads[bucket], key
            heads[bucket] = slot


@kernel
def with_leaves(indptr: Array, indices: Array) -> Array:
    """Nodes that have a neighbor of degree 1."""
    found = np.zeros(indptr.shape[0] - 1, np.bool_)
    for node in range(found.shape[0]):
        if indptr[node + 1] - indptr[node] == 1:
            found[indices[indptr[node]]] = True
    return found


@kernel
def _usual_square(rows: Array, centers: Array) -> float:
    """Squared distance that few frontier pairs exceed: buckets of a queue are shares of it."""
    n, k = rows.shape[0], centers.shape[0]
    total, found = 0.0, 0
    for q in range(0, n, max(n // 256, 1)):
        for j in range(0, k, max(k // 16, 1)):
            total += squared_distance(rows, q, centers, j)
            found += 1
    return 3.0 * total / found if total > 0.0 else 1.0


@kernel
def _admits(indptr: Array, indices: Array, labels: Array, q: int, j: int, least: float) -> bool:
    """Whether a node has at least ``least`` neighbors in a cluster."""
    found = 0
    for entry in range(indptr[q], indptr[q + 1]):
        if labels[indices[entry]] == j:
            found += 1
    return found >= least


@kernel
def better_side(
    indptr: Array,
    indices: Array,
    rows: Array,
    centers: Array,
    labels: Array,
    q: int,
    j: int,
    threshold: float,
) -> int:
    """Cluster of a node that cluster ``j`` is about to absorb, by look-ahead.

    A potential bridge has neighbors in several clusters and lies within the threshold of their
    centers. Unassigned neighbors of degree 1 have to follow it: where one of them is closer to the
    center of another such cluster, the bridge goes where the largest distance is smallest.
    """
    dependent = False
    for entry in range(indptr[q], indptr[q + 1]):
        p = wide(indices[entry])
        if labels[p] < 0 and indptr[p + 1] - indptr[p] == 1:
            dependent = True
            break
    if not dependent:
        return j
    side, least = j, _largest_with(indptr, indices, rows, centers, labels, q, j)
    torn = False
    for entry in range(indptr[q], indptr[q + 1]):
        other = wide(labels[indices[entry]])
        if other < 0 or other == j or squared_distance(rows, q, centers, other) > threshold:
            continue
        for place in range(indptr[q], indptr[q + 1]):
            p = wide(indices[place])
            if labels[p] < 0 and indptr[p + 1] - indptr[p] == 1:
                mine = squared_distance(rows, p, centers, j)
                if squared_distance(rows, p, centers, other) < mine:
                    torn = True
        largest = _largest_with(indptr, indices, rows, centers, labels, q, other)
        if largest < least or (largest == least and side != j and other < side):
            side, least = other, largest
    return side if torn else j


@kernel
def _largest_with(
    indptr: Array, indices: Array, rows: Array, centers: Array, labels: Array, q: int, j: int
) -> float:
    """Largest squared distance to a center of a node and of what has to follow it."""
    largest = squared_distance(rows, q, centers, j)
    for entry in range(indptr[q], indptr[q + 1]):
        p = wide(indices[entry])
        if labels[p] < 0 and indptr[p + 1] - indptr[p] == 1:
            largest = max(largest, squared_distance(rows, p, centers, j))
    return largest


@kernel
def grow_by_rounds(
    indptr: Array,
    indices: Array,
    rows: Array,
    centers: Array,
    seeds: Array,
    look_ahead: bool,
    start: float,
    increment: float,
    labels: Array,
    absorbed: Array,
) -> None:
    """Step II as printed: rounds of rising thresholds, the centers one after the other.

    Rounds in which no node is near enough change nothing: the threshold goes on to the first that
    does, so that a row far away costs one round. The parameters are those of
    :func:`grow_by_heap`, with the first threshold and its increment, which are not squared;
    ``absorbed`` is set to squared thresholds.
    """
    n, k = rows.shape[0], centers.shape[0]
    labels[:] = -1
    absorbed[:] = np.inf
    # Members by cluster in linked lists: the queues of a round begin with all of them.
    first, following = np.full(k, -1, np.int64), np.full(n, -1, np.int64)
    for j in range(k):
        labels[seeds[j]] = j
        absorbed[seeds[j]] = 0.0
        first[j] = seeds[j]
    depended_on = with_leaves(indptr, indices) if look_ahead else np.zeros(n, np.bool_)
    queue = np.empty(n, np.int64)
    radius = start
    n_assigned = k
    while n_assigned < n:
        before, nearest = n_assigned, np.inf
        for j in range(k):
            begin = end = 0
            member = first[j]
            while member >= 0:
                queue[end] = member
                end += 1
                member = following[member]
            while begin < end:
                member = queue[begin]
                begin += 1
                for entry in range(indptr[member], indptr[member + 1]):
                    q = wide(indices[entry])
                    if labels[q] >= 0:
                        continue
                    square = squared_distance(rows, q, centers, j)
                    if square > radius * radius:
                        nearest = min(nearest, square)
                        continue
                    side = j
                    if depended_on[q]:
                        limit = radius * radius
                        side = better_side(indptr, indices, rows, centers, labels, q, j, limit)
                    labels[q] = side
                    absorbed[q] = radius * radius
                    following[q] = first[side]
                    first[side] = q
                    n_assigned += 1
                    if side == j:
                        queue[end] = q
                        end += 1
        if n_assigned == before:
            if nearest == np.inf:  # what is left is in no component of a seed
                return
            skipped = np.ceil((np.sqrt(nearest) - radius) / increment) if increment > 0 else 0.0
            radius = max(radius + max(skipped - 1.0, 0.0) * increment, radius)
            if radius + increment <= radius or (radius + increment) ** 2 < nearest:
                radius = np.sqrt(nearest) * (1 + 1e-15)  # rounding, or an increment of 0
                if radius * radius < nearest:
                    radius = np.nextafter(radius, np.inf)
                continue
        radius += increment


@kernel
def add_members(rows: Array, labels: Array, sums: Array, sizes: Array) -> None:
    """Sums and numbers of the rows of every cluster; -1 counts nowhere."""
    sums[:] = 0.0
    sizes[:] = 0
    for q in range(rows.shape[0]):
        j = labels[q]
        if j < 0:
            continue
        sizes[j] += 1
        for feature in range(rows.shape[1]):
            sums[j, feature] += rows[q, feature]


@kernel
def closest_members(rows: Array, labels: Array, centers: Array, nodes: Array) -> None:
    """Member of every cluster that is closest to its center, the first of several."""
    best = np.full(centers.shape[0], np.inf)
    for q in range(rows.shape[0]):
        j = labels[q]
        if j < 0:
            continue
        square = squared_distance(rows, q, centers, j)
        if square < best[j]:
            best[j] = square
            nodes[j] = q


@kernel
def member_squares(rows: Array, labels: Array, centers: Array, squares: Array) -> None:
    """Squared distance of every row to the center of its cluster; 0 for rows in none."""
    for q in range(rows.shape[0]):
        squares[q] = squared_distance(rows, q, centers, labels[q]) if labels[q] >= 0 else 0.0
