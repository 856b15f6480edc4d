"""Ward's agglomeration of adjacent clusters: the start of connected k-means."""

from __future__ import annotations

import numpy as np

from sidelight._kernels import kernel
from sidelight._kernels.constraints.unionfind import find
from sidelight._kernels.relational.connected.heap import grown, sift_down, sift_up
from sidelight._typing import Array


@kernel
def contract(
    indptr: Array,
    indices: Array,
    rows: Array,
    directions: bool,
    n_wanted: int,
    max_work: int,
    labels: Array,
) -> int:
    """Merge the adjacent clusters that raise the objective least, until ``n_wanted`` are left.

    A cluster has a linked list of its neighbors; a merger joins two lists and drops what they hold
    twice, in time proportional to their lengths. Mergers that are still possible wait in a heap.

    Parameters
    ----------
    indptr, indices : ndarray
        Neighbors of the nodes, in CSR arrays.
    rows : ndarray of shape (n, d)
        Attributes of the nodes.
    directions : bool
        Whether rows have unit length and only directions of centers count.
    n_wanted : int
        Number of clusters, at least that of the components.
    max_work : int
        Largest number of list entries to go through: a hub that takes its neighbors one by one
        would otherwise need the square of their number.
    labels : ndarray of int64, shape (n,)
        Set to a member of the cluster of each node.

    Returns
    -------
    n_left : int
        Number of clusters, more than ``n_wanted`` where the work was too much.
    """
    n, d = rows.shape
    # Every node is a cluster with its sum, and its list of neighbors.
    sums = np.empty((n, d))
    for node in range(n):
        for feature in range(d):
            sums[node, feature] = rows[node, feature]
    sizes, version = np.ones(n, np.int64), np.zeros(n, np.int64)
    parent = np.arange(n)
    first, last = np.full(n, -1, np.int64), np.full(n, -1, np.int64)
    following = np.full(indices.shape[0], -1, np.int64)
    for node in range(n):
        for entry in range(indptr[node], indptr[node + 1]):
            if first[node] < 0:
                first[node] = entry
            else:
                following[last[node]] = entry
            last[node] = entry
    # An entry of the heap: cost, and a slot with the two clusters and their versions.
    capacity = max(indices.shape[0], 16)
    keys, tags = np.empty(capacity), np.empty(capacity, np.int64)
    slots = np.empty((capacity, 4), np.int64)
    n_slots = size = 0
    for node in range(n):
        for entry in range(indptr[node], indptr[node + 1]):
            v = indices[entry]
            if node < v:
                slots[n_slots, 0], slots[n_slots, 1] = node, v
                slots[n_slots, 2], slots[n_slots, 3] = 0, 0
                cost = _merger_cost(sums, sizes, node, v, directions)
                sift_up(keys, tags, size, cost, n_slots)
                size += 1
                n_slots += 1
    seen = np.full(n, -1, np.int64)
    n_left, work = n, 0
    while n_left > n_wanted and size and work <= max_work:
        tag = tags[0]
        size -= 1
        sift_down(keys, tags, size)
        # The cheapest merger; outdated if one of the two has changed since it was offered.
        a, b = slots[tag, 0], slots[tag, 1]
        if version[a] != slots[tag, 2] or version[b] != slots[tag, 3]:
            continue
        parent[b] = a
        version[a] += 1
        version[b] = -1  # no longer a cluster
        sizes[a] += sizes[b]
        for feature in range(d):
            sums[a, feature] += sums[b, feature]
        following[last[a]] = first[b]
        last[a] = last[b]
        n_left -= 1
        # Clean the joint list: drop entries of the cluster itself and repeated ones, and offer the
        # mergers with all others at their new costs.
        before = -1
        entry = first[a]
        while entry >= 0:
            work += 1
            v = find(parent, indices[entry])
            after = following[entry]
            if v == a or seen[v] == n_left:
                if before < 0:
                    first[a] = after
                else:
                    following[before] = after
            else:
                seen[v] = n_left
                before = entry
                if size == keys.shape[0]:
                    keys, tags = grown(keys), grown(tags)
                if n_slots == slots.shape[0]:
                    longer = np.empty((2 * n_slots, 4), np.int64)
                    longer[:n_slots] = slots
                    slots = longer
                low, high = min(a, v), max(a, v)
                slots[n_slots, 0], slots[n_slots, 1] = low, high
                slots[n_slots, 2], slots[n_slots, 3] = version[low], version[high]
                sift_up(keys, tags, size, _merger_cost(sums, sizes, a, v, directions), n_slots)
                size += 1
                n_slots += 1
            entry = after
        last[a] = before
    for node in range(n):
        labels[node] = find(parent, node)
    return n_left


@kernel
def _merger_cost(sums: Array, sizes: Array, a: int, b: int, directions: bool) -> float:
    """Rise of the objective when two clusters become one."""
    apart = one = other = both = 0.0
    for feature in range(sums.shape[1]):
        s, t = sums[a, feature], sums[b, feature]
        offset = s / sizes[a] - t / sizes[b]
        apart += offset * offset
        one += s * s
        other += t * t
        both += (s + t) * (s + t)
    if directions:
        return np.sqrt(one) + np.sqrt(other) - np.sqrt(both)
    return apart * sizes[a] * sizes[b] / (sizes[a] + sizes[b])
