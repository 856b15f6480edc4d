"""Minimum sizes: stable assignment of rows to clusters, and moves that keep the sizes.

Constrained Clustering, section 8.2.1: the steps Populate and Refine.
"""

from __future__ import annotations

import numpy as np

from sidelight._kernels import kernel
from sidelight._typing import Array


@kernel
def _worse(costs: Array, h: int, i: int, j: int) -> bool:
    """Whether cluster ``h`` likes row ``i`` less than row ``j``; of equals the later row."""
    return costs[i, h] > costs[j, h] or (costs[i, h] == costs[j, h] and i > j)


@kernel
def _sink(costs: Array, h: int, heap: Array, length: int) -> None:
    """Move the first row of a heap down to where it belongs; the worst row is on top."""
    row, place = heap[0], 0
    while True:
        child = 2 * place + 1
        if child >= length:
            break
        if child + 1 < length and _worse(costs, h, heap[child + 1], heap[child]):
            child += 1
        if not _worse(costs, h, heap[child], row):
            break
        heap[place] = heap[child]
        place = child
    heap[place] = row


@kernel
def _rise(costs: Array, h: int, heap: Array, place: int) -> None:
    """Move a row of a heap up to where it belongs."""
    row = heap[place]
    while place > 0:
        parent = (place - 1) // 2
        if not _worse(costs, h, row, heap[parent]):
            break
        heap[place] = heap[parent]
        place = parent
    heap[place] = row


@kernel
def accept_deferred(costs: Array, rows: Array, quotas: Array, labels: Array) -> None:
    """Deferred acceptance (Gale, Shapley): ``rows`` propose to clusters until none can improve.

    Every row proposes to the nearest cluster that would have it: one with a place left of its
    quota, or one that holds a row farther away, which has to look on. What a cluster would not
    have now it would not have later, so that the result is that of proposing down the whole list:
    the stable assignment that is best for all rows at once, whatever their order. Rows that nobody
    would have are left with label -1.
    """
    k = costs.shape[1]
    first = np.zeros(k + 1, np.int64)
    for h in range(k):
        first[h + 1] = first[h] + quotas[h]
    heaps = np.empty(first[k], np.int64)
    filled = np.zeros(k, np.int64)
    for row in rows:
        free = row
        while free >= 0:
            best, least = -1, np.inf
            for h in range(k):
                if costs[free, h] < least and quotas[h] > 0:
                    room = filled[h] < quotas[h]
                    if room or _worse(costs, h, heaps[first[h]], free):
                        best, least = h, costs[free, h]
            if best < 0:
                labels[free] = -1
                break
            heap = heaps[first[best] : first[best + 1]]
            labels[free] = best
            if filled[best] < quotas[best]:
                heap[filled[best]] = free
                _rise(costs, best, heap, filled[best])
                filled[best] += 1
                free = -1
            else:
                rejected = heap[0]
                heap[0] = free
                _sink(costs, best, heap, filled[best])
                free = rejected


@kernel
def move_freely(costs: Array, labels: Array, sizes: Array, min_size: int) -> int:
    """Move rows to their nearest center while their cluster has more than it must; count moves.

    Rows with most to gain leave first. A row that arrives lets another one go.
    """
    n, k = costs.shape
    wish, gain = np.empty(n, np.int32), np.zeros(n)
    waiting = np.zeros(k + 1, np.int64)
    for i in range(n):
        nearest = labels[i]
        for h in range(k):
            if costs[i, h] < costs[i, nearest]:
                nearest = h
        wish[i] = nearest
        if nearest != labels[i]:
            gain[i] = costs[i, labels[i]] - costs[i, nearest]
            waiting[labels[i] + 1] += 1
    wishing = np.flatnonzero(gain > 0)
    first = np.cumsum(waiting)
    queue, end = np.empty(len(wishing), np.int64), first[:k].copy()
    for place in np.argsort(-gain[wishing], kind="mergesort"):
        i = wishing[place]
        queue[end[labels[i]]] = i
        end[labels[i]] += 1
    n_moves, begin = 0, first[:k].copy()
    open_clusters = np.arange(k)
    n_open = len(open_clusters)
    is_open = np.ones(k, np.bool_)
    while n_open > 0:
        n_open -= 1
        h = open_clusters[n_open]
        is_open[h] = False
        while sizes[h] > min_size and begin[h] < end[h]:
            i = queue[begin[h]]
            begin[h] += 1
            to = wish[i]
            labels[i] = to
            sizes[h] -= 1
            sizes[to] += 1
            n_moves += 1
            if not is_open[to]:
                open_clusters[n_open] = to
                is_open[to] = True
                n_open += 1
    return n_moves


@kernel
def _merge(a: int, b: int, gain: Array, left: Array, right: Array) -> int:
    """Merge two skew heaps (largest gain on top) and return the top."""
    if a < 0:
        return b
    if b < 0:
        return a
    if gain[a] < gain[b]:
        a, b = b, a
    top, last = a, a
    a = right[a]
    right[last] = left[last]
    while a >= 0:
        if gain[a] < gain[b]:
            a, b = b, a
        left[last] = a
        last = a
        a = right[a]
        right[last] = left[last]
    left[last] = b
    return top


@kernel
def _push_arcs(
    i: int,
    costs: Array,
    labels: Array,
    top: Array,
    row: Array,
    gain: Array,
    left: Array,
    right: Array,
    n_nodes: int,
) -> int:
    """Add a row to the heaps from its cluster to all nearer ones; return the number of nodes."""
    own = labels[i]
    for h in range(costs.shape[1]):
        if costs[i, h] < costs[i, own]:
            row[n_nodes] = i
            gain[n_nodes] = costs[i, own] - costs[i, h]
            left[n_nodes] = right[n_nodes] = -1
            top[own, h] = _merge(top[own, h], n_nodes, gain, left, right)
            n_nodes += 1
    return n_nodes


@kernel
def _push_all_arcs(
    costs: Array, labels: Array, top: Array, row: Array, gain: Array, left: Array, right: Array
) -> int:
    top[:] = -1
    n_nodes = 0
    for i in range(costs.shape[0]):
        n_nodes = _push_arcs(i, costs, labels, top, row, gain, left, right, n_nodes)
    return n_nodes


@kernel
def _best_arc(
    a: int, b: int, labels: Array, top: Array, row: Array, gain: Array, left: Array, right: Array
) -> int:
    """Return the node of the row of ``a`` with most to gain in ``b``, -1 if there is none.

    A row that has left never comes back, since its cost only falls: nodes from before are dropped.
    """
    node = top[a, b]
    while node >= 0 and labels[row[node]] != a:
        node = _merge(left[node], right[node], gain, left, right)
    top[a, b] = node
    return node


@kernel
def _find_cycle(
    labels: Array,
    top: Array,
    row: Array,
    gain: Array,
    left: Array,
    right: Array,
    done: Array,
    path: Array,
    place: Array,
) -> tuple[int, int]:
    """Find clusters that can pass a row each around; return where they are in ``path``.

    Depth-first, the largest gain first. Clusters that are ``done`` lead into no cycle.
    """
    k = len(done)
    done[:] = False
    place[:] = -1
    for root in range(k):
        if done[root]:
            continue
        path[0], place[root], length = root, 0, 1
        while length > 0:
            a = path[length - 1]
            best, most = -1, 0.0
            for b in range(k):
                if not done[b]:
                    node = _best_arc(a, b, labels, top, row, gain, left, right)
                    if node >= 0 and gain[node] > most:
                        best, most = b, gain[node]
            if best < 0:
                done[a] = True
                place[a] = -1
                length -= 1
            elif place[best] >= 0:
                return place[best], length
            else:
                path[length], place[best] = best, length
                length += 1
    return 0, 0


@kernel
def exchange(costs: Array, labels: Array) -> int:
    """Pass rows around cycles of clusters in which every row comes nearer; count the moves.

    Sizes stay as they are. Ends when no such cycle is left.
    """
    n, k = costs.shape
    n_wishes = 0
    for i in range(n):
        for h in range(k):
            if costs[i, h] < costs[i, labels[i]]:
                n_wishes += 1
    # Rows that moved are listed again. Their wishes only become fewer, so that lists that are made
    # anew leave room for as many, and for a whole cycle.
    capacity = 2 * n_wishes + k * k + 1
    row, gain = np.empty(capacity, np.int64), np.empty(capacity)
    left, right = np.empty(capacity, np.int64), np.empty(capacity, np.int64)
    top = np.empty((k, k), np.int64)
    n_nodes = _push_all_arcs(costs, labels, top, row, gain, left, right)
    done, path, place = np.empty(k, np.bool_), np.empty(k, np.int64), np.empty(k, np.int64)
    leaving = np.empty(k, np.int64)
    n_moves = 0
    while True:
        begin, end = _find_cycle(labels, top, row, gain, left, right, done, path, place)
        if begin == end:
            return n_moves
        while True:
            complete = True
            for p in range(begin, end):
                b = path[p + 1] if p + 1 < end else path[begin]
                node = _best_arc(path[p], b, labels, top, row, gain, left, right)
                if node < 0:
                    complete = False
                    break
                leaving[p] = row[node]
            if not complete:
                break
            for p in range(begin, end):
                labels[leaving[p]] = path[p + 1] if p + 1 < end else path[begin]
            n_moves += end - begin
            if n_nodes + (end - begin) * k > capacity:
                n_nodes = _push_all_arcs(costs, labels, top, row, gain, left, right)
                continue
            for p in range(begin, end):
                n_nodes = _push_arcs(
                    leaving[p], costs, labels, top, row, gain, left, right, n_nodes
                )
