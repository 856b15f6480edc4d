"""Loops of the assignment of nodes to clusters when the ends of an edge must differ.

``cost`` is (n, k); infinite where a cluster is not allowed. ``indptr`` and ``neighbors`` list the
neighbors of every node (see :mod:`sidelight._kernels.assignment.coloring`).
"""

from __future__ import annotations

import numpy as np

from sidelight._kernels import kernel
from sidelight._typing import Array


@kernel
def assign_in_order(
    cost: Array, indptr: Array, neighbors: Array, order: Array
) -> tuple[Array, int]:
    """Give every node in turn the cheapest cluster that no neighbor has; (labels, stuck node)."""
    labels = np.full(len(cost), -1, np.int64)
    stuck = assign_the_rest(cost, indptr, neighbors, order, labels)
    return labels, stuck


@kernel
def assign_the_rest(
    cost: Array,
    indptr: Array,
    neighbors: Array,
    order: Array,
    labels: Array,
) -> int:
    """Label the nodes of ``order`` like that, in place, after those that have a label already.

    Returns the node for which every cluster is taken, or -1.
    """
    k = cost.shape[1]
    taken_by = np.full(k, -1, np.int64)
    for v in order:
        for e in range(indptr[v], indptr[v + 1]):
            h = labels[neighbors[e]]
            if h >= 0:
                taken_by[h] = v
        best = -1
        for h in range(k):
            if (
                taken_by[h] != v
                and cost[v, h] < np.inf
                and (best < 0 or cost[v, h] < cost[v, best])
            ):
                best = h
        if best < 0:
            return v
        labels[v] = best
    return -1


@kernel
def _two_cheapest(cost: Array, v: int) -> tuple[int, int]:
    """The cheapest and the second cheapest cluster of a node, -1 where none is allowed."""
    first, second = -1, -1
    for h in range(cost.shape[1]):
        if cost[v, h] < np.inf:
            if first < 0 or cost[v, h] < cost[v, first]:
                first, second = h, first
            elif second < 0 or cost[v, h] < cost[v, second]:
                second = h
    return first, second


@kernel
def _meets(cost: Array, v: int, u: int) -> bool:
    """Whether some cluster is allowed for both nodes."""
    h, k = 0, cost.shape[1]
    while h < k and (cost[v, h] == np.inf or cost[u, h] == np.inf):
        h += 1
    return h < k


@kernel
def _keep_undominated(cost: Array, indptr: Array, neighbors: Array, gone: Array, v: int) -> bool:
    """Forbid clusters that ``v`` needs in no optimal solution; return whether there were any.

    If fewer than t neighbors can take one of the t cheapest clusters of ``v``, one of these is
    free whatever the neighbors do, and no dearer cluster can be better.
    """
    k = cost.shape[1]
    kept = np.zeros(k, np.bool_)
    n_kept = 0
    blockers = 0
    counted = np.zeros(indptr[v + 1] - indptr[v], np.bool_)
    while n_kept < k:
        best = -1
        for h in range(k):
            if not kept[h] and cost[v, h] < np.inf and (best < 0 or cost[v, h] < cost[v, best]):
                best = h
        if best < 0:
            return False
        kept[best] = True
        n_kept += 1
        for e in range(len(counted)):
            u = neighbors[indptr[v] + e]
            if not counted[e] and not gone[u] and cost[u, best] < np.inf:
                counted[e] = True
                blockers += 1
        if blockers < n_kept:
            break
    changed = False
    for h in range(k):
        if not kept[h] and cost[v, h] < np.inf:
            cost[v, h] = np.inf
            changed = True
    return changed


@kernel
def reduce_problem(
    cost: Array, indptr: Array, neighbors: Array, visits: int
) -> tuple[Array, Array, Array, Array, int]:
    """Take every node out that can be decided exactly, given its neighbors; changes ``cost``.

    Three exact rules, until none applies: clusters that a node never needs are forbidden; a node
    with one cluster left forbids it to its neighbors; a node with at most one neighbor that can
    get in its way leaves, and tells this neighbor what each of its clusters would cost. Forests
    are solved by this alone (the dynamic programme over a tree).

    Returns the nodes in the order they left, the neighbor that each reported to (or -1), its best
    and second best cluster, and a node without any cluster (or -1).
    """
    n, k = cost.shape
    gone = np.zeros(n, np.bool_)
    left = np.empty(n, np.int64)
    parent = np.full(n, -1, np.int64)
    first = np.full(n, -1, np.int64)
    second = np.full(n, -1, np.int64)
    n_left = 0
    looks = np.zeros(n, np.int64)
    waiting = np.ones(n, np.bool_)
    # A ring buffer: every node is in it at most once.
    queue = np.arange(n)
    head, length = 0, n
    while length:
        v = queue[head]
        head = (head + 1) % n
        length -= 1
        waiting[v] = False
        if gone[v]:
            continue
        changed = False
        if looks[v] < visits:
            # Bounded, so that a graph with many edges cannot be looked at over and over.
            looks[v] += 1
            changed = _keep_undominated(cost, indptr, neighbors, gone, v)
        best, runner_up = _two_cheapest(cost, v)
        if best < 0:
            return left[:n_left], parent, first, second, v
        degree, last = 0, -1
        for e in range(indptr[v], indptr[v + 1]):
            u = neighbors[e]
            if gone[u]:
                continue
            if runner_up < 0:
                cost[u, best] = np.inf
            elif _meets(cost, v, u):
                degree += 1
                last = u
                if degree > 1:
                    break
        if degree <= 1:
            gone[v] = True
            changed = True
            left[n_left] = v
            n_left += 1
            first[v], second[v] = best, runner_up
            if degree == 1:
                parent[v] = last
                for h in range(k):
                    cost[last, h] += cost[v, runner_up] if h == best else cost[v, best]
        if changed:
            for e in range(indptr[v], indptr[v + 1]):
                u = neighbors[e]
                if not gone[u] and not waiting[u]:
                    waiting[u] = True
                    queue[(head + length) % n] = u
                    length += 1
    return left[:n_left], parent, first, second, -1


@kernel
def read_back(labels: Array, left: Array, parent: Array, first: Array, second: Array) -> None:
    """Label the removed nodes, last one first, when the label of their neighbor is final."""
    for at in range(len(left) - 1, -1, -1):
        v = left[at]
        if parent[v] >= 0 and labels[parent[v]] == first[v]:
            labels[v] = second[v]
        else:
            labels[v] = first[v]


@kernel
def orient_parts(cost: Array, colors: Array, part: Array, n_parts: int) -> Array:
    """Two clusters: give every two-colored part the cheaper of its two labelings."""
    as_is = np.zeros(n_parts)
    swapped = np.zeros(n_parts)
    for v in range(len(part)):
        as_is[part[v]] += cost[v, colors[v]]
        swapped[part[v]] += cost[v, 1 - colors[v]]
    labels = np.empty(len(part), np.int64)
    for v in range(len(part)):
        labels[v] = colors[v] if as_is[part[v]] <= swapped[part[v]] else 1 - colors[v]
    return labels


@kernel
def branch_and_bound(
    cost: Array,
    indptr: Array,
    neighbors: Array,
    part_starts: Array,
    part_nodes: Array,
    budget: int,
) -> tuple[Array, Array]:
    """Search the labelings of small parts depth first; (labels, state of every part).

    The bound is the sum of every open node's cheapest cluster that no decided neighbor has; the
    node that would lose most without its cheapest one is decided next. State 1: optimal, 0: no
    labeling exists, -1: more than ``budget`` decisions would be needed.
    """
    n, k = cost.shape
    labels = np.full(n, -1, np.int64)
    states = np.empty(len(part_starts) - 1, np.int64)
    blocked = np.zeros((n, k), np.int64)
    decided = np.zeros(n, np.bool_)
    for p in range(len(states)):
        nodes = part_nodes[part_starts[p] : part_starts[p + 1]]
        states[p] = _search_part(cost, indptr, neighbors, nodes, budget, labels, blocked, decided)
    return labels, states


@kernel
def _search_part(
    cost: Array,
    indptr: Array,
    neighbors: Array,
    nodes: Array,
    budget: int,
    labels: Array,
    blocked: Array,
    decided: Array,
) -> int:
    """Branch and bound over one part; ``blocked`` and ``decided`` are scratch and left clean."""
    size = len(nodes)
    k = cost.shape[1]
    chosen = np.empty(size, np.int64)
    label_at = np.full(size, -1, np.int64)
    tried = np.zeros((size, k), np.bool_)
    spent = np.zeros(size + 1)
    best_cost = np.inf
    decisions = 0
    rest, node = _bound(cost, nodes, blocked, decided)
    depth = 0
    chosen[0] = node
    if node < 0:
        return 0
    decided[node] = True
    # Depth-first search: the node at every depth takes its labels by increasing cost.
    while depth >= 0:
        v = chosen[depth]
        if label_at[depth] >= 0:
            _shift(blocked, indptr, neighbors, v, label_at[depth], -1)
            label_at[depth] = -1
        best = -1
        for h in range(k):
            free = blocked[v, h] == 0 and not tried[depth, h] and cost[v, h] < np.inf
            if free and (best < 0 or cost[v, h] < cost[v, best]):
                best = h
        exhausted = decisions > budget
        # Backtrack: no label is left, or the budget is spent.
        if best < 0 or exhausted:
            for h in range(k):
                tried[depth, h] = False
            decided[v] = False
            depth -= 1
            continue
        tried[depth, best] = True
        decisions += 1
        label_at[depth] = best
        _shift(blocked, indptr, neighbors, v, best, 1)
        spent[depth + 1] = spent[depth] + cost[v, best]
        rest, node = _bound(cost, nodes, blocked, decided)
        # Bound: cheapest free labels of all open nodes.
        if spent[depth + 1] + rest >= best_cost:
            continue
        if depth + 1 == size:
            best_cost = spent[size]
            for d in range(size):
                labels[chosen[d]] = label_at[d]
            continue
        depth += 1
        chosen[depth] = node
        decided[node] = True
    if decisions > budget:
        return -1
    return 1 if best_cost < np.inf else 0


@kernel
def _shift(blocked: Array, indptr: Array, neighbors: Array, v: int, h: int, by: int) -> None:
    for e in range(indptr[v], indptr[v + 1]):
        blocked[neighbors[e], h] += by


@kernel
def _bound(cost: Array, nodes: Array, blocked: Array, decided: Array) -> tuple[float, int]:
    """Least cost of the open nodes, each for itself, and the node with most to lose."""
    total = 0.0
    node = -1
    most = -1.0
    for v in nodes:
        if decided[v]:
            continue
        first, second = np.inf, np.inf
        for h in range(cost.shape[1]):
            if blocked[v, h] == 0:
                if cost[v, h] < first:
                    first, second = cost[v, h], first
                elif cost[v, h] < second:
                    second = cost[v, h]
        if first == np.inf:
            return np.inf, -1
        total += first
        if second - first > most:
            node, most = v, second - first
    return total, node


@kernel
def improve_by_chains(
    cost: Array, indptr: Array, neighbors: Array, labels: Array, budget: int
) -> None:
    """Exchange two clusters along a chain of neighbors (Kempe) as long as that lowers the cost.

    The chain of node v and cluster h holds all nodes that v reaches through nodes of its own
    cluster and of h; exchanging both keeps every edge satisfied. A chain of one is a plain move.
    ``budget`` bounds the neighbors looked at; ``labels`` is changed in place.
    """
    n, k = cost.shape
    seen = np.full(n, -1, np.int64)
    chain = np.empty(n, np.int64)
    stamp = 0
    work = 0
    improved = True
    while improved and work < budget:
        improved = False
        for v in range(n):
            for h in range(k):
                own = labels[v]
                if h == own or cost[v, h] == np.inf:
                    continue
                stamp += 1
                chain[0] = v
                seen[v] = stamp
                length = 1
                at = 0
                change = 0.0
                while at < length and change < np.inf:
                    u = chain[at]
                    at += 1
                    other = h if labels[u] == own else own
                    change += cost[u, other] - cost[u, labels[u]]
                    work += indptr[u + 1] - indptr[u] + 1
                    for e in range(indptr[u], indptr[u + 1]):
                        w = neighbors[e]
                        if labels[w] == other and seen[w] != stamp:
                            seen[w] = stamp
                            chain[length] = w
                            length += 1
                if change < -1e-12 * abs(cost[v, own]):
                    for i in range(length):
                        u = chain[i]
                        labels[u] = h if labels[u] == own else own
                    improved = True
            if work >= budget:
                break
