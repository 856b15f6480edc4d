"""Greedy packing of cycles with exactly one negative edge: a lower bound on the disagreements.

Every partition disagrees with an edge of such a cycle. Cycles that take no more of an edge than its
weight therefore cost at least the sum of what they take.
"""

from __future__ import annotations

import numpy as np

from sidelight._kernels import kernel
from sidelight._typing import Array

POSITIVE, NEUTRAL, NEGATIVE = 1, 0, -1

#: Searches for longer cycles from one node; each finds one for several of its negative edges.
MAX_SEARCHES = 4


@kernel
def edge_numbers(indptr: Array, indices: Array) -> tuple[Array, int]:
    """Number of the undirected edge of every entry of a symmetric CSR matrix, and their count."""
    n = len(indptr) - 1
    numbers = np.empty(len(indices), np.int32)
    mirrored = indptr[:-1].copy()  # next entry of a row that lies below the diagonal
    n_edges = 0
    for u in range(n):
        for place in range(indptr[u], indptr[u + 1]):
            v = indices[place]
            if v > u:
                numbers[place] = n_edges
                numbers[mirrored[v]] = n_edges
                mirrored[v] += 1
                n_edges += 1
    return numbers, n_edges


@kernel
def residuals(
    indptr: Array,
    indices: Array,
    scores: Array,
    numbers: Array,
    conflict_indptr: Array,
    conflict_indices: Array,
    source_indptr: Array,
    source_indices: Array,
    component: Array,
    rest: Array,
    kinds: Array,
    bound: Array,
) -> None:
    """Write what is left of every edge, and its kind, before a cycle is packed.

    An edge between nodes that must not join is negative without limit; a positive score of it is
    paid in any case and added to the bound of its component.
    """
    n = len(indptr) - 1
    clash = np.full(n, -1, np.int32)
    for u in range(n):
        for place in range(conflict_indptr[u], conflict_indptr[u + 1]):
            clash[conflict_indices[place]] = u
        for place in range(indptr[u], indptr[u + 1]):
            v = indices[place]
            score, number = scores[place], numbers[place]
            if clash[v] == u or shares_source(source_indptr, source_indices, u, v):
                kinds[place] = NEGATIVE
                rest[number] = np.inf
                if v > u and score > 0:
                    bound[component[u]] += score
                continue
            rest[number] = abs(score)
            kinds[place] = POSITIVE if score > 0 else (NEGATIVE if score < 0 else NEUTRAL)


@kernel
def shares_source(source_indptr: Array, source_indices: Array, u: int, v: int) -> bool:
    """Whether two nodes have a source in common; the sources of a node are sorted."""
    first, second = source_indptr[u], source_indptr[v]
    while first < source_indptr[u + 1] and second < source_indptr[v + 1]:
        if source_indices[first] == source_indices[second]:
            return True
        if source_indices[first] < source_indices[second]:
            first += 1
        else:
            second += 1
    return False


@kernel
def pack_triangles(
    indptr: Array,
    indices: Array,
    numbers: Array,
    kinds: Array,
    component: Array,
    rest: Array,
    bound: Array,
    budget: int,
) -> int:
    """Pack triangles of a listed negative edge and two positive ones; returns the budget left."""
    n = len(indptr) - 1
    marked = np.full(n, -1, np.int32)
    number_of = np.empty(n, np.int32)
    for u in range(n):
        for place in range(indptr[u], indptr[u + 1]):
            if kinds[place] == POSITIVE:
                marked[indices[place]] = u
                number_of[indices[place]] = numbers[place]
        for place in range(indptr[u], indptr[u + 1]):
            w, negative = indices[place], numbers[place]
            if w < u or kinds[place] != NEGATIVE or component[u] != component[w]:
                continue
            for other in range(indptr[w], indptr[w + 1]):
                if rest[negative] <= 0.0 or budget <= 0:
                    break
                budget -= 1
                v = indices[other]
                if kinds[other] != POSITIVE or marked[v] != u:
                    continue
                first, second = number_of[v], numbers[other]
                taken = min(rest[negative], min(rest[first], rest[second]))
                if taken > 0.0:
                    rest[negative] -= taken
                    rest[first] -= taken
                    rest[second] -= taken
                    bound[component[u]] += taken
    return budget


@kernel
def pack_open_wedges(
    indptr: Array,
    indices: Array,
    numbers: Array,
    kinds: Array,
    mass: Array,
    absent: float,
    conflict_indptr: Array,
    conflict_indices: Array,
    source_indptr: Array,
    source_indices: Array,
    component: Array,
    rest: Array,
    bound: Array,
    budget: int,
) -> int:
    """Pack pairs of positive edges whose ends are not listed, and cost ``absent`` or must not join.

    The pair (u, w) with u < w is met from u alone, so that what is left of it need not be kept.
    """
    n = len(indptr) - 1
    listed = np.full(n, -1, np.int32)
    met = np.full(n, -1, np.int32)
    clash = np.full(n, -1, np.int32)
    left = np.empty(n)
    for u in range(n):
        # Mark the neighbors of u and the nodes that it must not join.
        listed[u] = u
        for place in range(indptr[u], indptr[u + 1]):
            listed[indices[place]] = u
        for place in range(conflict_indptr[u], conflict_indptr[u + 1]):
            clash[conflict_indices[place]] = u
        for place in range(indptr[u], indptr[u + 1]):
            first, v = numbers[place], indices[place]
            if kinds[place] != POSITIVE:
                continue
            for other in range(indptr[v], indptr[v + 1]):
                if rest[first] <= 0.0 or budget <= 0:
                    break
                budget -= 1
                w, second = indices[other], numbers[other]
                if w < u or listed[w] == u or kinds[other] != POSITIVE or rest[second] <= 0.0:
                    continue
                # Weight of the pair (u, w) that is not listed, when it is met for the first time.
                if met[w] != u:
                    met[w] = u
                    left[w] = absent * mass[u] * mass[w]
                    if clash[w] == u or shares_source(source_indptr, source_indices, u, w):
                        left[w] = np.inf
                # The wedge takes the least that is left of its three edges.
                taken = min(left[w], min(rest[first], rest[second]))
                if taken > 0.0:
                    left[w] -= taken
                    rest[first] -= taken
                    rest[second] -= taken
                    bound[component[u]] += taken
    return budget


@kernel
def pack_cycles(
    indptr: Array,
    indices: Array,
    numbers: Array,
    kinds: Array,
    component: Array,
    rest: Array,
    bound: Array,
    max_steps: int,
    max_nodes: int,
    budget: int,
) -> int:
    """Pack longer cycles: shortest paths of positive edges between the ends of a negative one.

    Breadth-first searches from one end see ``max_nodes`` nodes and go ``max_steps`` edges far.
    """
    n = len(indptr) - 1
    seen = np.full(n, -1, np.int64)
    parent = np.empty(n, np.int32)
    by_edge = np.empty(n, np.int32)
    depth = np.empty(n, np.int32)
    queue = np.empty(max_nodes, np.int32)
    stamp = np.int64(-1)
    for u in range(n):
        again, n_searches = True, 0
        while again and budget > 0 and n_searches < MAX_SEARCHES:
            again = False
            n_searches += 1
            # Search only from ends of negative edges of the component that have weight left.
            waits = False
            for place in range(indptr[u], indptr[u + 1]):
                if kinds[place] == NEGATIVE and rest[numbers[place]] > 0.0:
                    waits = waits or component[u] == component[indices[place]]
            if not waits:
                break
            # Breadth-first search along positive edges with weight left: shortest paths from u.
            stamp += 1
            queue[0] = u
            seen[u] = stamp
            depth[u] = 0
            head, tail = 0, 1
            while head < tail:
                v = queue[head]
                head += 1
                if depth[v] == max_steps:
                    break
                for place in range(indptr[v], indptr[v + 1]):
                    budget -= 1
                    w = indices[place]
                    if kinds[place] != POSITIVE or seen[w] == stamp or tail == max_nodes:
                        continue
                    if rest[numbers[place]] <= 0.0:
                        continue
                    seen[w] = stamp
                    parent[w] = v
                    by_edge[w] = numbers[place]
                    depth[w] = depth[v] + 1
                    queue[tail] = w
                    tail += 1
            for place in range(indptr[u], indptr[u + 1]):
                w, negative = indices[place], numbers[place]
                if kinds[place] != NEGATIVE or seen[w] != stamp or rest[negative] <= 0.0:
                    continue
                # A cycle takes the least weight that is left on its edges, which raises the bound.
                taken = rest[negative]
                v = w
                while v != u:
                    taken = min(taken, rest[by_edge[v]])
                    v = parent[v]
                if taken <= 0.0:  # an earlier cycle took an edge of this path
                    again = True
                    continue
                rest[negative] -= taken
                v = w
                while v != u:
                    rest[by_edge[v]] -= taken
                    v = parent[v]
                bound[component[u]] += taken
                again = again or rest[negative] > 0.0
    return budget
