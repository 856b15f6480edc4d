"""Moves of pivots along the edges of a pivot-movement graph, at frozen representatives.

An edge ``e`` leads from cluster ``source[e]`` to ``target[e]`` and is labeled with pivots of one
signature (the set of conditions that they count for), best gain first: portions ``indptr[e]`` to
``indptr[e + 1]``, of which those from ``first[e]`` on are left, ``left[p]`` pivots of each.
``counts[j, h]`` pivots of condition ``j`` are in cluster ``h``, which needs ``need[j, h]``; ``has``
says which conditions a signature counts for. All of them change in place.
"""

from __future__ import annotations

import heapq

import numpy as np

from sidelight._kernels import kernel
from sidelight._typing import Array

#: More pivots than there can be.
MANY = np.iinfo(np.int64).max


@kernel
def surplus_of(counts: Array, need: Array, has: Array, signature: int, cluster: int) -> int:
    """Return how many pivots of a signature a cluster can spare."""
    least = MANY
    for j in range(len(counts)):
        if has[signature, j]:
            least = min(least, counts[j, cluster] - need[j, cluster])
    return least


@kernel
def take(edge: int, amount: int, first: Array, left: Array) -> None:
    """Take pivots off an edge, best gain first."""
    while amount > 0:
        portion = first[edge]
        taken = min(amount, left[portion])
        left[portion] -= taken
        amount -= taken
        if left[portion] == 0:
            first[edge] += 1


@kernel
def count_move(
    source: int, target: int, signature: int, amount: int, counts: Array, has: Array
) -> None:
    """Move ``amount`` pivots of a signature from the counts of ``source`` to ``target``."""
    for j in range(len(counts)):
        if has[signature, j]:
            counts[j, source] -= amount
            counts[j, target] += amount


@kernel
def move_best(
    source: Array,
    target: Array,
    signature: Array,
    indptr: Array,
    gain: Array,
    leaving: Array,
    leaving_indptr: Array,
    counts: Array,
    need: Array,
    has: Array,
    first: Array,
    left: Array,
    max_moves: int,
) -> int:
    """Move the pivot of largest gain out of a surplus cluster until none is left: look-ahead 1.

    Edges wait in a heap by the gain of their best pivot; those of clusters without surplus wait
    beside it until a pivot arrives. ``leaving`` lists the edges that leave each cluster. Returns
    the number of moves.
    """
    heap = [(0.0, 0)]
    heap.pop()
    waits = np.zeros(len(source), dtype=np.bool_)
    for e in range(len(source)):
        if first[e] < indptr[e + 1]:
            heapq.heappush(heap, (-gain[first[e]], e))
    n_moves = 0
    while len(heap) > 0 and n_moves < max_moves:
        e = heapq.heappop(heap)[1]
        surplus = surplus_of(counts, need, has, signature[e], source[e])
        if surplus <= 0:
            waits[e] = True
            continue
        amount = min(surplus, left[first[e]])
        take(e, amount, first, left)
        count_move(source[e], target[e], signature[e], amount, counts, has)
        n_moves += 1
        if first[e] < indptr[e + 1]:
            heapq.heappush(heap, (-gain[first[e]], e))
        h = target[e]
        for f in leaving[leaving_indptr[h] : leaving_indptr[h + 1]]:
            if waits[f]:
                waits[f] = False
                heapq.heappush(heap, (-gain[first[f]], f))
    return n_moves


@kernel
def move_at_random(
    source: Array,
    target: Array,
    signature: Array,
    indptr: Array,
    counts: Array,
    need: Array,
    has: Array,
    first: Array,
    left: Array,
    draws: Array,
    max_moves: int,
) -> int:
    """Move the best pivot of a random edge that leaves a surplus cluster until none does.

    ``draws`` are uniform random numbers, used in turns. Returns the number of moves.
    """
    possible = np.empty(len(source), dtype=np.int64)
    n_moves = 0
    while n_moves < max_moves:
        n_possible = 0
        for e in range(len(source)):
            is_open = first[e] < indptr[e + 1]
            if is_open and surplus_of(counts, need, has, signature[e], source[e]) > 0:
                possible[n_possible] = e
                n_possible += 1
        if n_possible == 0:
            break
        e = possible[int(draws[n_moves % len(draws)] * n_possible)]
        amount = min(
            surplus_of(counts, need, has, signature[e], source[e]),
            left[first[e]],
        )
        take(e, amount, first, left)
        count_move(source[e], target[e], signature[e], amount, counts, has)
        n_moves += 1
    return n_moves


@kernel
def gain_behind(
    edge: int, n_before: int, indptr: Array, gain: Array, first: Array, left: Array
) -> float:
    """Return the gain of the best pivot of an edge but for some; -1 where there is none."""
    for portion in range(first[edge], indptr[edge + 1]):
        n_before -= left[portion]
        if n_before < 0:
            return float(gain[portion])
    return -1.0


@kernel
def best_path(
    length: int,
    source: Array,
    target: Array,
    signature: Array,
    indptr: Array,
    gain: Array,
    leaving: Array,
    leaving_indptr: Array,
    counts: Array,
    need: Array,
    has: Array,
    first: Array,
    left: Array,
    best: Array,
) -> int:
    """Find the path of most gain that starts in a surplus cluster, of ``length`` moves at most.

    Every arrival makes the next cluster surplus by one, so that a path stays valid; edges may
    repeat, with their next best pivot. The moves are tried out on ``counts`` and taken back. Writes
    the edges into ``best`` and returns how many there are.
    """
    n_edges = len(source)
    used = np.zeros(n_edges, dtype=np.int64)
    path = np.empty(length, dtype=np.int64)
    gains = np.zeros(length + 1)
    cursor = np.zeros(length + 1, dtype=np.int64)
    n_best, best_gain, depth = 0, 0.0, 0
    while depth >= 0:
        # Look-ahead (Book 2009, 16.3): the next edge out of a surplus cluster that gains.
        stop = n_edges if depth == 0 else leaving_indptr[target[path[depth - 1]] + 1]
        step = -1
        if depth < length:
            while cursor[depth] < stop:
                e = cursor[depth] if depth == 0 else leaving[cursor[depth]]
                cursor[depth] += 1
                if surplus_of(counts, need, has, signature[e], source[e]) <= 0:
                    continue
                won = gain_behind(e, used[e], indptr, gain, first, left)
                if won > 0:
                    step = e
                    break
        # No edge is left at this depth: take the last move back.
        if step < 0:
            depth -= 1
            if depth >= 0:
                e = path[depth]
                used[e] -= 1
                count_move(target[e], source[e], signature[e], 1, counts, has)
            continue
        path[depth] = step
        used[step] += 1
        count_move(source[step], target[step], signature[step], 1, counts, has)
        gains[depth + 1] = gains[depth] + won
        depth += 1
        cursor[depth] = leaving_indptr[target[step]]
        if gains[depth] > best_gain:
            best_gain, n_best = gains[depth], depth
            best[:depth] = path[:depth]
    return n_best


@kernel
def amount_on_path(
    path: Array,
    source: Array,
    target: Array,
    signature: Array,
    counts: Array,
    need: Array,
    has: Array,
    first: Array,
    left: Array,
) -> int:
    """Return how many pivots can go along a path at once; 1 where it meets itself."""
    for s in range(len(path)):
        for t in range(s):
            if source[path[s]] == source[path[t]] or target[path[s]] == source[path[t]]:
                return 1
    amount = MANY
    for t in range(len(path)):
        e = path[t]
        amount = min(amount, left[first[e]])
        for j in range(len(counts)):
            arrives = t > 0 and has[signature[path[t - 1]], j]
            if has[signature[e], j] and not arrives:
                amount = min(amount, counts[j, source[e]] - need[j, source[e]])
    return amount


@kernel
def move_on_paths(
    length: int,
    source: Array,
    target: Array,
    signature: Array,
    indptr: Array,
    gain: Array,
    leaving: Array,
    leaving_indptr: Array,
    counts: Array,
    need: Array,
    has: Array,
    first: Array,
    left: Array,
    max_moves: int,
) -> int:
    """Move pivots along the best path until none is left: look-ahead ``length``.

    Returns the number of moves; ``max_moves`` may end them in the middle of a path.
    """
    path = np.empty(length, dtype=np.int64)
    n_moves = 0
    while n_moves < max_moves:
        n = best_path(
            length,
            source,
            target,
            signature,
            indptr,
            gain,
            leaving,
            leaving_indptr,
            counts,
            need,
            has,
            first,
            left,
            path,
        )
        if n == 0:
            break
        amount = amount_on_path(path[:n], source, target, signature, counts, need, has, first, left)
        for e in path[:n]:
            if n_moves < max_moves:
                take(e, amount, first, left)
                count_move(source[e], target[e], signature[e], amount, counts, has)
                n_moves += 1
    return n_moves


@kernel
def resolve_cycles(
    n_clusters: int,
    target: Array,
    node_indptr: Array,
    indptr: Array,
    first: Array,
    left: Array,
    max_cycles: int,
) -> int:
    """Move pivots along directed cycles until there are none: deadlock resolution.

    Node ``s * n_clusters + h`` is cluster ``h`` as pivots of signature ``s`` see it; its edges are
    ``node_indptr[node]`` to ``node_indptr[node + 1]``. As many pivots as the scarcest edge of a
    cycle has go across every edge, so that no count changes. Edges are only used up, so that a node
    from which the depth-first search found no cycle is not searched again. Returns the number of
    cycles.
    """
    n_nodes = len(node_indptr) - 1
    remaining = np.zeros(len(target), dtype=np.int64)
    for e in range(len(target)):
        for portion in range(first[e], indptr[e + 1]):
            remaining[e] += left[portion]
    NEW, OPEN, DONE = 0, 1, 2
    state = np.zeros(n_nodes, dtype=np.int8)
    place = np.zeros(n_nodes, dtype=np.int64)
    cursor = node_indptr[:-1].copy()
    stack = np.empty(n_nodes, dtype=np.int64)
    n_cycles = 0
    for root in range(n_nodes):
        if state[root] != NEW:
            continue
        state[root], place[root], stack[0], depth = OPEN, 0, root, 1
        # Deadlock resolution (Book 2009, 16.3): depth-first search for a directed cycle.
        while depth > 0:
            u = stack[depth - 1]
            e = cursor[u]
            if e == node_indptr[u + 1]:
                state[u] = DONE
                depth -= 1
                continue
            v = u - u % n_clusters + target[e]
            if remaining[e] == 0 or state[v] == DONE:
                cursor[u] += 1
                continue
            if state[v] == NEW:
                state[v], place[v], stack[depth] = OPEN, depth, v
                depth += 1
                continue
            # An open node closes a cycle: the fewest pivots on its edges cross all of them at once.
            if n_cycles == max_cycles:
                return n_cycles
            n_cycles += 1
            amount = MANY
            for node in stack[place[v] : depth]:
                amount = min(amount, remaining[cursor[node]])
            used_up = -1
            for t in range(place[v], depth):
                f = cursor[stack[t]]
                take(f, amount, first, left)
                remaining[f] -= amount
                if remaining[f] == 0 and used_up < 0:
                    used_up = t
            # Go on before the first edge that is used up; what follows is searched again.
            for node in stack[used_up + 1 : depth]:
                state[node] = NEW
            depth = used_up + 1
    return n_cycles


@kernel
def fill_shares(row: Array, cluster: Array, item: Array, free: Array, labels: Array) -> None:
    """Label rows in the order of the entries, as long as their item has a place in the cluster.

    Entry ``e`` offers row ``row[e]`` of item ``item[e]`` the cluster ``cluster[e]``; ``free`` are
    the places of every item in every cluster. Rows without a label have -1.
    """
    for e in range(len(row)):
        if labels[row[e]] < 0 and free[item[e], cluster[e]] > 0:
            free[item[e], cluster[e]] -= 1
            labels[row[e]] = cluster[e]
