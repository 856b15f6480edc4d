"""Loops over a conflict graph in compressed rows: orders, colorings, cliques, odd cycles.

``indptr`` (n + 1,) and ``neighbors`` (2 e,) list the neighbors of every node in increasing order.
"""

from __future__ import annotations

import numpy as np

from sidelight._kernels import kernel
from sidelight._typing import Array


@kernel
def compress_edges(n_nodes: int, edges: Array) -> tuple[Array, Array]:
    """Neighbor lists of an undirected graph whose edges (a < b) are sorted."""
    indptr = np.zeros(n_nodes + 1, np.int64)
    for e in range(len(edges)):
        indptr[edges[e, 0] + 1] += 1
        indptr[edges[e, 1] + 1] += 1
    for v in range(n_nodes):
        indptr[v + 1] += indptr[v]
    place = indptr[:-1].copy()
    neighbors = np.empty(2 * len(edges), np.int64)
    # Smaller neighbors first, then larger ones: sorted edges make every list increasing.
    for e in range(len(edges)):
        neighbors[place[edges[e, 1]]] = edges[e, 0]
        place[edges[e, 1]] += 1
    for e in range(len(edges)):
        neighbors[place[edges[e, 0]]] = edges[e, 1]
        place[edges[e, 0]] += 1
    return indptr, neighbors


@kernel
def degeneracy_order(indptr: Array, neighbors: Array) -> tuple[Array, Array]:
    """Remove a node of least degree again and again: the order, and every node's core number.

    Bucket queue of Batagelj and Zaversnik, O(n + e).
    """
    n = len(indptr) - 1
    degree = np.empty(n, np.int64)
    for v in range(n):
        degree[v] = indptr[v + 1] - indptr[v]
    highest = degree.max() if n else 0
    start = np.zeros(highest + 2, np.int64)
    for v in range(n):
        start[degree[v] + 1] += 1
    for d in range(highest + 1):
        start[d + 1] += start[d]
    order = np.empty(n, np.int64)
    place = np.empty(n, np.int64)
    fill = start.copy()
    for v in range(n):
        place[v] = fill[degree[v]]
        order[place[v]] = v
        fill[degree[v]] += 1
    for at in range(n):
        v = order[at]
        for e in range(indptr[v], indptr[v + 1]):
            u = neighbors[e]
            if degree[u] > degree[v]:
                # Swap u with the first node of its bucket, then move the bucket's border past it.
                first = start[degree[u]]
                w = order[first]
                order[place[u]], order[first] = w, u
                place[w], place[u] = place[u], first
                start[degree[u]] += 1
                degree[u] -= 1
    return order, degree


@kernel
def extend_coloring(indptr: Array, neighbors: Array, order: Array, colors: Array) -> Array:
    """Color the nodes of ``order`` after those that have a color already (-1: none)."""
    colors = colors.copy()
    taken_by = np.full(len(colors) + 1, -1, np.int64)
    for v in order:
        for e in range(indptr[v], indptr[v + 1]):
            c = colors[neighbors[e]]
            if c >= 0:
                taken_by[c] = v
        c = 0
        while taken_by[c] == v:
            c += 1
        colors[v] = c
    return colors


@kernel
def dsatur(indptr: Array, neighbors: Array, n_colors: int) -> tuple[Array, bool]:
    """Color the node that sees most colors first (Brelaz); give up beyond ``n_colors``."""
    n = len(indptr) - 1
    colors = np.full(n, -1, np.int64)
    sees = np.zeros((n, n_colors), np.bool_)
    saturation = np.zeros(n, np.int64)
    highest = 0
    for v in range(n):
        highest = max(highest, indptr[v + 1] - indptr[v])
    # One number ranks by saturation, then degree, then node; a node is pushed again whenever its
    # saturation rises, and its old entries are skipped.
    heap = np.empty(n + len(neighbors), np.int64)
    size = 0
    for v in range(n):
        size = _push(heap, size, (indptr[v + 1] - indptr[v]) * n + (n - 1 - v))
    while size:
        key = heap[0]
        size = _pop(heap, size)
        v = n - 1 - key % n
        if colors[v] >= 0 or key // (n * (highest + 1)) != saturation[v]:
            continue
        c = 0
        while c < n_colors and sees[v, c]:
            c += 1
        if c == n_colors:
            return colors, False
        colors[v] = c
        for e in range(indptr[v], indptr[v + 1]):
            u = neighbors[e]
            if colors[u] < 0 and not sees[u, c]:
                sees[u, c] = True
                saturation[u] += 1
                rank = saturation[u] * (highest + 1) + indptr[u + 1] - indptr[u]
                size = _push(heap, size, rank * n + (n - 1 - u))
    return colors, True


@kernel
def _push(heap: Array, size: int, key: int) -> int:
    """Add a key to a binary heap with the largest key on top; return the new size."""
    at = size
    while at > 0 and heap[(at - 1) // 2] < key:
        heap[at] = heap[(at - 1) // 2]
        at = (at - 1) // 2
    heap[at] = key
    return size + 1


@kernel
def _pop(heap: Array, size: int) -> int:
    """Take the top of the heap away; return the new size."""
    size -= 1
    key = heap[size]
    at = 0
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and heap[child + 1] > heap[child]:
            child += 1
        if heap[child] <= key:
            break
        heap[at] = heap[child]
        at = child
    heap[at] = key
    return size


@kernel
def large_clique(indptr: Array, neighbors: Array, order: Array, core: Array, budget: int) -> Array:
    """Grow a clique greedily from many nodes, those of the densest core first; keep the largest.

    ``budget`` bounds the neighbors that are looked at. The nodes come in no particular order.
    """
    n = len(order)
    rank = np.empty(n, np.int64)
    for at in range(n):
        rank[order[at]] = at
    best, best_size = np.empty(n, np.int64), 0
    clique = np.empty(n, np.int64)
    candidates = np.empty(n, np.int64)
    seen_by = np.full(n, -1, np.int64)
    stamp = 0
    work = 0
    for at in range(n - 1, -1, -1):
        v = order[at]
        # Core numbers never rise towards the start of the order.
        if core[v] + 1 <= best_size or (work > budget and best_size > 0):
            break
        n_candidates = 0
        for e in range(indptr[v], indptr[v + 1]):
            if rank[neighbors[e]] > at:
                candidates[n_candidates] = neighbors[e]
                n_candidates += 1
        clique[0] = v
        size = 1
        work += indptr[v + 1] - indptr[v] + 1
        while n_candidates and size + n_candidates > best_size:
            pick = candidates[0]
            for i in range(n_candidates):
                if core[candidates[i]] > core[pick]:
                    pick = candidates[i]
            clique[size] = pick
            size += 1
            stamp += 1
            for e in range(indptr[pick], indptr[pick + 1]):
                seen_by[neighbors[e]] = stamp
            work += indptr[pick + 1] - indptr[pick] + n_candidates
            kept = 0
            for i in range(n_candidates):
                if seen_by[candidates[i]] == stamp:
                    candidates[kept] = candidates[i]
                    kept += 1
            n_candidates = kept
        if size > best_size:
            best_size = size
            for i in range(size):
                best[i] = clique[i]
    return best[:best_size]


@kernel
def cover_by_cliques(indptr: Array, neighbors: Array) -> tuple[Array, Array]:
    """Cliques that contain every edge, made greedily: (starts of the lists, their nodes)."""
    n = len(indptr) - 1
    covered = np.zeros(len(neighbors), np.bool_)
    is_candidate = np.full(n, -1, np.int64)
    starts = [0]
    # Numba infers the type of a list from its first entry.
    nodes = [0 for _ in range(0)]
    stamp = 0
    for a in range(n):
        for first in range(indptr[a], indptr[a + 1]):
            if covered[first] or neighbors[first] < a:
                continue
            clique = [a]
            candidates = neighbors[indptr[a] : indptr[a + 1]].copy()
            pick = neighbors[first]
            while pick >= 0:
                clique.append(pick)
                stamp += 1
                for e in range(indptr[pick], indptr[pick + 1]):
                    is_candidate[neighbors[e]] = stamp
                candidates = candidates[is_candidate[candidates] == stamp]
                pick = -1
                most = -1
                for u in candidates:
                    # Prefer the node with most edges to the clique that nobody covers yet.
                    open_edges = 0
                    for v in clique:
                        e = _find(neighbors, indptr[u], indptr[u + 1], v)
                        if not covered[e]:
                            open_edges += 1
                    if open_edges > most:
                        pick, most = u, open_edges
            for u in clique:
                for v in clique:
                    if u != v:
                        covered[_find(neighbors, indptr[u], indptr[u + 1], v)] = True
            nodes.extend(clique)
            starts.append(len(nodes))
    return np.array(starts), np.array(nodes)


@kernel
def _find(values: Array, low: int, high: int, wanted: int) -> int:
    """Binary search for ``wanted``, which is there, in ``values[low:high]``."""
    while high - low > 1:
        middle = (low + high) // 2
        if values[middle] <= wanted:
            low = middle
        else:
            high = middle
    return low


@kernel
def two_color(indptr: Array, neighbors: Array) -> tuple[Array, Array, Array]:
    """Breadth-first coloring with two colors: (colors, part of every node, odd cycle).

    The odd cycle is empty when the coloring is proper; otherwise the search stops there.
    """
    n = len(indptr) - 1
    colors = np.full(n, -1, np.int64)
    part = np.full(n, -1, np.int64)
    parent = np.full(n, -1, np.int64)
    queue = np.empty(n, np.int64)
    parts = 0
    for root in range(n):
        if colors[root] >= 0:
            continue
        colors[root] = 0
        part[root] = parts
        queue[0] = root
        head, tail = 0, 1
        while head < tail:
            v = queue[head]
            head += 1
            for e in range(indptr[v], indptr[v + 1]):
                u = neighbors[e]
                if colors[u] < 0:
                    colors[u] = 1 - colors[v]
                    part[u] = parts
                    parent[u] = v
                    queue[tail] = u
                    tail += 1
                elif colors[u] == colors[v]:
                    return colors, part, _close_cycle(parent, v, u)
        parts += 1
    return colors, part, np.empty(0, np.int64)


@kernel
def _close_cycle(parent: Array, v: int, u: int) -> Array:
    """The cycle that the edge (v, u) closes in a breadth-first tree; both are equally deep."""
    half = 0
    a, b = v, u
    while a != b:
        a, b = parent[a], parent[b]
        half += 1
    cycle = np.empty(2 * half + 1, np.int64)
    a, b = v, u
    for i in range(half):
        cycle[i] = a
        cycle[2 * half - i] = b
        a, b = parent[a], parent[b]
    cycle[half] = a
    return cycle
