"""Successive shortest paths between clusters: rows to clusters under bounds on the sizes.

Rows are compressed away: the nodes are the k clusters and a pool that takes what the bounds leave
free. Moving (a part of) row i from cluster a to cluster b costs ``c_ib - c_ia``; the arc a -> b
costs the minimum of that over what is in a, found in a heap per arc that is cleaned when its top
is looked at. (Constrained Clustering, section 9.3, as a flow on k + 1 nodes.)
"""

from __future__ import annotations

import numpy as np

from sidelight._kernels import kernel
from sidelight._typing import Array

#: How :func:`move_to_bounds` ended.
DONE, NO_PATH, PRICES_TOO_FAR = 0, 1, 2


@kernel
def _cheapest(costs: Array, prices: Array) -> tuple[int, float]:
    """Return ``argmin_h c_h + p_h``, the first of equals, and what the second best costs more."""
    best, second, label = np.inf, np.inf, 0
    for h in range(costs.shape[0]):
        value = costs[h] + prices[h]
        second = min(second, max(best, value))  # no branches: several times as fast
        label = h if value < best else label
        best = min(best, value)
    return label, second - best


@kernel
def cheapest_and_margin(cost: Array, prices: Array, labels: Array, margins: Array) -> None:
    """Label every row with its cheapest cluster; its margin is what the second best costs more."""
    for i in range(cost.shape[0]):
        labels[i], margins[i] = _cheapest(cost[i], prices)


@kernel
def second_cheapest(cost: Array, prices: Array, rows: Array, labels: Array, second: Array) -> None:
    """Write the cheapest cluster of some of the rows apart from that of their label."""
    for r in range(rows.shape[0]):
        i = rows[r]
        best, label = np.inf, labels[i]
        for h in range(cost.shape[1]):
            value = cost[i, h] + prices[h]
            if h != labels[i] and value < best:
                best, label = value, h
        second[r] = label


@kernel
def cost_of(cost: Array, labels: Array) -> float:
    """Return the sum of the costs of the rows in their clusters."""
    total = 0.0
    for i in range(cost.shape[0]):
        total += cost[i, labels[i]]
    return total


@kernel
def label_and_count(
    cost: Array, prices: Array, reach: Array, rows: Array, labels: Array, counts: Array
) -> None:
    """Label some of the rows, and count the clusters within reach of each.

    While no price changes by more than its reach, a row can only go from cluster a to b if b is at
    most ``reach[a] + reach[b]`` worse.
    """
    for r in range(rows.shape[0]):
        costs = cost[rows[r]]
        label, _ = _cheapest(costs, prices)
        labels[rows[r]] = label
        most = costs[label] + prices[label] + reach[label]
        found = 0
        for h in range(costs.shape[0]):
            value = costs[h] + prices[h]
            found += value <= most + reach[h] and value < np.inf
        counts[r] = found


@kernel
def list_candidates(
    cost: Array,
    prices: Array,
    reach: Array,
    rows: Array,
    sizes: Array,
    labels: Array,
    indptr: Array,
    cluster: Array,
    margin: Array,
    amount: Array,
) -> None:
    """List these clusters, how much worse they are, and how much of the row is in them."""
    for r in range(rows.shape[0]):
        i = rows[r]
        label = labels[i]
        best = cost[i, label] + prices[label]
        most = best + reach[label]
        e = indptr[r]
        for h in range(cost.shape[1]):
            value = cost[i, h] + prices[h]
            if value <= most + reach[h] and value < np.inf:
                cluster[e], margin[e] = h, value - best
                amount[e] = sizes[i] if h == label else 0.0
                e += 1


@kernel
def _sift_down(
    key: Array, source: Array, target: Array, first: int, place: int, length: int
) -> None:
    """Move the entry at ``place`` of a heap down to where it belongs."""
    moved, from_entry, to_entry = key[first + place], source[first + place], target[first + place]
    while True:
        child = 2 * place + 1
        if child >= length:
            break
        if child + 1 < length and key[first + child + 1] < key[first + child]:
            child += 1
        if key[first + child] >= moved:
            break
        key[first + place] = key[first + child]
        source[first + place] = source[first + child]
        target[first + place] = target[first + child]
        place = child
    key[first + place], source[first + place], target[first + place] = moved, from_entry, to_entry


@kernel
def _push(
    key: Array,
    source: Array,
    target: Array,
    first: int,
    length: int,
    value: float,
    from_entry: int,
    to_entry: int,
) -> None:
    """Add an entry to a heap of ``length`` entries."""
    place = length
    while place > 0:
        parent = (place - 1) // 2
        if key[first + parent] <= value:
            break
        key[first + place] = key[first + parent]
        source[first + place] = source[first + parent]
        target[first + place] = target[first + parent]
        place = parent
    key[first + place], source[first + place], target[first + place] = value, from_entry, to_entry


@kernel
def _build(
    indptr: Array, cluster: Array, margin: Array, amount: Array, k: int
) -> tuple[Array, Array, Array, Array, Array, Array]:
    """Make the heaps of all arcs, each with some room for rows that come later."""
    length = np.zeros(k * k, np.int64)
    for r in range(indptr.shape[0] - 1):
        for e in range(indptr[r], indptr[r + 1]):
            if amount[e] > 0:
                for f in range(indptr[r], indptr[r + 1]):
                    if f != e:
                        length[cluster[e] * k + cluster[f]] += 1
    first = np.zeros(k * k + 1, np.int64)
    for arc in range(k * k):
        first[arc + 1] = first[arc] + length[arc] + length[arc] // 2 + 8
        length[arc] = 0
    key = np.empty(first[-1])
    source = np.empty(first[-1], np.int32)
    target = np.empty(first[-1], np.int32)
    for r in range(indptr.shape[0] - 1):
        for e in range(indptr[r], indptr[r + 1]):
            if amount[e] > 0:
                for f in range(indptr[r], indptr[r + 1]):
                    if f != e:
                        arc = cluster[e] * k + cluster[f]
                        place = first[arc] + length[arc]
                        key[place], source[place], target[place] = margin[f] - margin[e], e, f
                        length[arc] += 1
    top = np.full((k, k), np.inf)
    for arc in range(k * k):
        for place in range(length[arc] // 2 - 1, -1, -1):
            _sift_down(key, source, target, first[arc], place, length[arc])
        if length[arc]:
            top[arc // k, arc % k] = key[first[arc]]
    return first, length, key, source, target, top


@kernel
def _clean(
    first: Array, length: Array, key: Array, source: Array, target: Array, amount: Array, arc: int
) -> float:
    """Drop entries of rows that have left the cluster; return the cost of the arc."""
    begin = first[arc]
    while length[arc] and amount[source[begin]] <= 0:
        length[arc] -= 1
        last = begin + length[arc]
        key[begin], source[begin], target[begin] = key[last], source[last], target[last]
        _sift_down(key, source, target, begin, 0, length[arc])
    return key[begin] if length[arc] else np.inf


@kernel
def _shortest_path(
    top: Array,
    prices: Array,
    shift: Array,
    excess: Array,
    lent: Array,
    room: Array,
    tolerance: float,
    distance: Array,
    parent: Array,
    settled: Array,
) -> int:
    """Find the nearest node that lacks something from all nodes that have too much (Dijkstra).

    Reduced costs are never negative but for rounding. Returns the node, or -1 if there is none.
    """
    k = top.shape[0]
    pool = k
    for v in range(k + 1):
        distance[v] = 0.0 if excess[v] > tolerance else np.inf
        parent[v], settled[v] = -1, False
    while True:
        u, nearest = -1, np.inf
        for v in range(k + 1):
            if not settled[v] and distance[v] < nearest:
                u, nearest = v, distance[v]
        if u < 0 or excess[u] < -tolerance:
            return u
        settled[u] = True
        base = nearest - shift[u]
        if u == pool:
            for v in range(k):
                through = max(base + prices[v] + shift[v], nearest)
                if lent[v] > 0 and through < distance[v] and not settled[v]:
                    distance[v], parent[v] = through, u
        else:
            for v in range(k):
                through = max(base + top[u, v] + shift[v], nearest)
                if through < distance[v] and not settled[v]:
                    distance[v], parent[v] = through, u
            through = max(base - prices[u] + shift[pool], nearest)
            if room[u] > 0 and through < distance[pool] and not settled[pool]:
                distance[pool], parent[pool] = through, u


@kernel
def _lend(
    sizes: Array, lower: Array, upper: Array, prices: Array, lent: Array, room: Array, excess: Array
) -> None:
    """Set what the pool lends to clusters above their lower bounds, and excesses, at these prices.

    A price above 0 stands for a full cluster, one below 0 for a cluster at its lower bound; what
    the sizes have more or less than that is their excess.
    """
    k = sizes.shape[0]
    excess[k] = lower.sum() - sizes.sum()
    for h in range(k):
        width = upper[h] - lower[h]
        if prices[h] > 0:
            lent[h] = width
        elif prices[h] < 0:
            lent[h] = 0.0
        else:
            lent[h] = min(max(sizes[h] - lower[h], 0.0), width)
        room[h] = width - lent[h]
        excess[h] = sizes[h] - lower[h] - lent[h]
        excess[k] += lent[h]


@kernel
def excess_at(sizes: Array, lower: Array, upper: Array, prices: Array) -> float:
    """Return how much has to move before these sizes agree with the bounds and the prices."""
    k = sizes.shape[0]
    excess = np.empty(k + 1)
    _lend(sizes, lower, upper, prices, np.empty(k), np.empty(k), excess)
    return np.maximum(excess, 0.0).sum()


@kernel
def _largest(excess: Array) -> float:
    """Return how much any node has too much or too little, without a copy of the array."""
    largest = 0.0
    for value in excess:
        largest = max(largest, abs(value))
    return largest


@kernel
def _is_far(shift: Array, reach: Array) -> bool:
    """Whether prices have changed against each other by more than their reaches."""
    least, most = -np.inf, np.inf
    for h in range(reach.shape[0]):
        least = max(least, shift[h] - reach[h])
        most = min(most, shift[h] + reach[h])
    return least > most


@kernel
def _less(amount: float, flow: float, tolerance: float) -> float:
    """Return what is left of an amount; rounding is no reason to go the same way again."""
    left = amount - flow
    return left if left > tolerance else 0.0


@kernel
def move_to_bounds(
    indptr: Array,
    cluster: Array,
    margin: Array,
    amount: Array,
    fixed: Array,
    lower: Array,
    upper: Array,
    prices: Array,
    reach: Array,
    tolerance: float,
) -> int:
    """Move rows along shortest paths until the sizes meet their bounds, at the least cost.

    Parameters
    ----------
    indptr, cluster, margin : ndarray
        Clusters that each row may be in, as CSR lists, and by how much each is worse than the best
        of the row at the prices given.
    amount : ndarray
        How much of the row is in each of them; changed in place.
    fixed : ndarray of shape (k,)
        Sizes of what does not move.
    lower, upper : ndarray of shape (k,)
        Bounds on the sizes.
    prices : ndarray of shape (k,)
        Price of every cluster; changed in place. At the end each row is where cost plus price is
        least, a cluster with a price above 0 is at its upper bound and one with a price below 0 at
        its lower bound, which proves that nothing is cheaper.
    reach : ndarray of shape (k,)
        Change of each price, up to what they change in common, for which the lists are long enough.
    tolerance : float
        Sizes that differ by less are equal.

    Returns
    -------
    status : int
        ``DONE``, ``NO_PATH`` or ``PRICES_TOO_FAR``.
    """
    k = fixed.shape[0]
    pool = k
    # Step 1 (Constrained Clustering, section 9.3, as successive shortest paths): start from the
    # cheapest clusters; excesses are sizes beyond their bounds, and the pool takes their sum.
    sizes = fixed.copy()
    row_of = np.empty(indptr[-1], np.int32)
    for r in range(indptr.shape[0] - 1):
        for e in range(indptr[r], indptr[r + 1]):
            row_of[e] = r
            sizes[cluster[e]] += amount[e]
    lent, room, excess = np.empty(k), np.empty(k), np.empty(k + 1)
    _lend(sizes, lower, upper, prices, lent, room, excess)
    # Step 2: an arc between two clusters costs what its cheapest row does, the top of a heap.
    first, length, key, source, target, top = _build(indptr, cluster, margin, amount, k)
    shift = np.zeros(k + 1)
    distance, parent = np.empty(k + 1), np.empty(k + 1, np.int64)
    settled = np.empty(k + 1, np.bool_)
    status = DONE
    while _largest(excess) > tolerance:
        # Step 3: shortest path from an excess to a lack, at reduced costs that are not negative.
        end = _shortest_path(
            top, prices, shift, excess, lent, room, tolerance, distance, parent, settled
        )
        if end < 0:
            status = NO_PATH
            break
        # Potentials: distances up to the end of the path keep the reduced costs at 0 or above.
        for v in range(k + 1):
            shift[v] -= min(distance[v], distance[end])
        if _is_far(shift, reach):
            status = PRICES_TOO_FAR
            break
        # How much can go along the path.
        flow, v = -excess[end], end
        while parent[v] >= 0:
            u = parent[v]
            if u == pool:
                flow = min(flow, lent[v])
            elif v == pool:
                flow = min(flow, room[u])
            else:
                flow = min(flow, amount[source[first[u * k + v]]])
            v = u
        flow = min(flow, excess[v])
        excess[v] -= flow
        excess[end] += flow
        # Augment: move that much along every arc, and update the heaps for the rows that moved.
        overfull, v = False, end
        while parent[v] >= 0:
            u = parent[v]
            if u == pool:
                lent[v] = _less(lent[v], flow, tolerance)
                room[v] += flow
            elif v == pool:
                lent[u] += flow
                room[u] = _less(room[u], flow, tolerance)
            else:
                place = first[u * k + v]
                e, f = source[place], target[place]
                came = amount[f] <= 0
                amount[e] = _less(amount[e], flow, tolerance)
                amount[f] += flow
                r = row_of[e]
                for g in range(indptr[r], indptr[r + 1]):
                    other = cluster[g]
                    if came and g != f:
                        arc = v * k + other
                        if first[arc] + length[arc] == first[arc + 1]:
                            overfull = True
                        else:
                            value = margin[g] - margin[f]
                            _push(key, source, target, first[arc], length[arc], value, f, g)
                            length[arc] += 1
                            top[v, other] = key[first[arc]]
                    if amount[e] <= 0 and g != e:
                        arc = u * k + other
                        top[u, other] = _clean(first, length, key, source, target, amount, arc)
            v = u
        if overfull:
            first, length, key, source, target, top = _build(indptr, cluster, margin, amount, k)
    # Prices relative to that of the pool are the dual solution.
    for h in range(k):
        prices[h] += shift[h] - shift[pool]
    return status
