"""All shortest paths of a graph whose edges change (Law 2006, section 3.2, appendix A, repaired).

``paths`` holds the lengths of the shortest paths, ``before[i, j]`` the vertex before ``j`` on a
path from ``i``; both are (capacity, capacity), of which the first ``n`` rows and columns count.
Adjacency arrays are those of :mod:`sidelight._kernels.manifold.adjacency`.

Pairs that an edge may concern are found by lengths, not by the stored trees: with ties and edges
without length the trees of different sources do not fit together.
"""

from __future__ import annotations

import numpy as np

from sidelight._kernels import kernel
from sidelight._kernels.manifold.dijkstra import NO_VERTEX, _fill_root, _raise_up
from sidelight._typing import Array

#: Paths are as long as the shortest up to this share: far more than the rounding of sums of edges.
TIE = 1e-10

#: A path has become much shorter below this share of its length.
MUCH = 0.9


@kernel
def _sides(paths: Array, n: int, pairs: Array, lengths: Array) -> Array:
    """For every edge and vertex: 1 if the first end leads to the second best, 2 conversely.

    Both bits are set at edges without length.
    """
    sides = np.zeros((len(pairs), n), np.uint8)
    for e in range(len(pairs)):
        a, b, length = pairs[e, 0], pairs[e, 1], lengths[e]
        if length > paths[a, b] * (1 + TIE):
            continue  # longer than the way around: on no shortest path
        for i in range(n):
            to_a, to_b = paths[a, i], paths[b, i]
            if to_a < np.inf:
                if to_a + length <= to_b * (1 + TIE):
                    sides[e, i] |= 1
                if to_b + length <= to_a * (1 + TIE):
                    sides[e, i] |= 2
    return sides


@kernel
def _members(sides: Array, bit: int) -> tuple[Array, Array]:
    """Vertices with a bit, in order, for every edge: (first entry of each edge, vertices)."""
    start = np.zeros(len(sides) + 1, np.int64)
    for e in range(len(sides)):
        total = 0
        for i in range(sides.shape[1]):
            total += (sides[e, i] & bit) > 0
        start[e + 1] = start[e] + total
    found = np.empty(start[len(sides)], np.uint32)
    for e in range(len(sides)):
        at = start[e]
        for i in range(sides.shape[1]):
            if sides[e, i] & bit:
                found[at] = i
                at += 1
    return start, found


@kernel
def invalid_pairs(paths: Array, n: int, pairs: Array, lengths: Array, gone: int) -> Array:
    """Pairs ``i < j`` with a shortest path over one of the edges, without those of vertex ``gone``.

    A path over edge ``(a, b)`` has ``g_ia + w_ab + g_bj = g_ij``; then ``i`` reaches ``b`` through
    ``a`` and ``j`` reaches ``a`` through ``b``, so that few pairs have to be tried.
    """
    sides = _sides(paths, n, pairs, lengths)
    start_first, first = _members(sides, 1)
    start_second, second = _members(sides, 2)
    found = np.empty((1024, 2), np.int64)
    total = 0
    seen = np.full(n, -1, np.int64)
    for i in range(n):
        if i == gone:
            continue
        row = paths[i]
        for e in range(len(pairs)):
            side = sides[e, i]
            if side == 0:
                continue
            for way in range(2):
                if not side & (1 << way):
                    continue
                near, far = pairs[e, way], pairs[e, 1 - way]
                start, others = (start_second, second) if way == 0 else (start_first, first)
                base = row[near] + lengths[e]
                beyond = paths[far]
                at = start[e] + np.searchsorted(others[start[e] : start[e + 1]], i + 1)
                for position in range(at, start[e + 1]):
                    j = others[position]
                    if seen[j] != i and j != gone and base + beyond[j] <= row[j] * (1 + TIE):
                        seen[j] = i
                        if total == len(found):
                            larger = np.empty((2 * total, 2), np.int64)
                            larger[:total] = found
                            found = larger
                        found[total, 0] = i
                        found[total, 1] = j
                        total += 1
    return found[:total].copy()


@kernel
def recompute_pairs(
    paths: Array,
    before: Array,
    n: int,
    neighbors: Array,
    lengths: Array,
    degrees: Array,
    pairs: Array,
    by_degree: bool,
) -> int:
    """Recompute shortest paths of invalid pairs in the changed graph; return how many grew.

    Sources are taken by the fewest invalid pairs that they have left (degeneracy order), kept in
    lists by this number; with ``by_degree`` off in the order of their numbers.
    """
    start, others = _both_ways(n, pairs)
    left = start[1:] - start[:-1]
    head, following, previous = _degree_lists(n, left)
    done = np.zeros(n, np.bool_)
    invalid = np.zeros(n, np.bool_)
    best = np.empty(n, np.float64)
    via = np.empty(n, np.uint32)
    back = np.full(n, -1, np.int64)
    position = np.full(n, -1, np.int64)
    keys = np.empty(n, np.float64)
    vertices = np.empty(n, np.uint32)
    targets = np.empty(n, np.uint32)
    longer = 0
    lowest = 1
    for turn in range(n):
        # Order of the sources (Law 2006, algorithm 3.3): fewest invalid pairs first.
        if by_degree:
            while lowest < len(head) and head[lowest] < 0:
                lowest += 1
            if lowest >= len(head):
                break
            source = head[lowest]
        else:
            source = turn
        size = 0
        for at in range(start[source], start[source + 1]):
            if not done[others[at]]:
                targets[size] = others[at]
                size += 1
        if size == 0:
            continue
        # Algorithm 3.2 from the source to its invalid partners, which are valid afterwards.
        longer += _paths_to(
            paths,
            before,
            source,
            targets[:size],
            neighbors,
            lengths,
            degrees,
            invalid,
            best,
            via,
            back,
            keys,
            vertices,
            position,
        )
        # The pair is done for both ends: partners move to the lists of one pair less.
        done[source] = True
        _unlink(source, left[source], head, following, previous)
        for at in range(size):
            other = targets[at]
            _unlink(other, left[other], head, following, previous)
            left[other] -= 1
            if left[other] > 0:
                _link(other, left[other], head, following, previous)
        lowest = max(1, lowest - 1)
    return longer


@kernel
def _both_ways(n: int, pairs: Array) -> tuple[Array, Array]:
    """Partners of every vertex: (first entry of each vertex, partners)."""
    start = np.zeros(n + 1, np.int64)
    for p in range(len(pairs)):
        start[pairs[p, 0] + 1] += 1
        start[pairs[p, 1] + 1] += 1
    for v in range(n):
        start[v + 1] += start[v]
    free = start[:n].copy()
    others = np.empty(start[n], np.uint32)
    for p in range(len(pairs)):
        for end in range(2):
            v = pairs[p, end]
            others[free[v]] = pairs[p, 1 - end]
            free[v] += 1
    return start, others


@kernel
def _degree_lists(n: int, left: Array) -> tuple[Array, Array, Array]:
    """Doubly linked lists of the vertices by their number of pairs."""
    head = np.full(max(1, left.max() if n else 0) + 1, -1, np.int64)
    following = np.full(n, -1, np.int64)
    previous = np.full(n, -1, np.int64)
    for v in range(n - 1, -1, -1):
        if left[v] > 0:
            _link(v, left[v], head, following, previous)
    return head, following, previous


@kernel
def _link(v: int, degree: int, head: Array, following: Array, previous: Array) -> None:
    following[v] = head[degree]
    previous[v] = -1
    if head[degree] >= 0:
        previous[head[degree]] = v
    head[degree] = v


@kernel
def _unlink(v: int, degree: int, head: Array, following: Array, previous: Array) -> None:
    if previous[v] >= 0:
        following[previous[v]] = following[v]
    else:
        head[degree] = following[v]
    if following[v] >= 0:
        previous[following[v]] = previous[v]


@kernel
def _paths_to(
    paths: Array,
    before: Array,
    source: int,
    targets: Array,
    neighbors: Array,
    lengths: Array,
    degrees: Array,
    invalid: Array,
    best: Array,
    via: Array,
    back: Array,
    keys: Array,
    vertices: Array,
    position: Array,
) -> int:
    """Dijkstra's search among the targets only, which begins at their valid neighbors.

    Columns of the matrices are written when the search is over: in the midst of it every one of
    these stores would have to be waited for. ``back`` holds the vertices before the source on the
    ways from the targets until then, and -1 elsewhere.
    """
    # Law 2006, algorithm 3.2: targets enter the queue at their best way over a valid neighbor.
    for target in targets:
        invalid[target] = True
    size = 0
    row = paths[source]
    for target in targets:
        least = np.inf
        for slot in range(degrees[target]):
            other = neighbors[target, slot]
            if not invalid[other]:
                through = row[other] + lengths[target, slot]
                if through < least:
                    least = through
                    via[target] = other
        best[target] = least
        if least < np.inf:
            _raise_up(least, target, size, keys, vertices, position)
            size += 1
    longer = 0
    # Dijkstra: the nearest target is final; its neighbors among the targets may gain.
    while size > 0:
        vertex = vertices[0]
        position[vertex] = -1
        size -= 1
        if size > 0:
            _fill_root(size, keys, vertices, position)
        invalid[vertex] = False
        reached = best[vertex]
        longer += reached > row[vertex] * (1 + TIE)
        row[vertex] = reached
        last = via[vertex]
        before[source, vertex] = last
        if last == source:
            back[vertex] = vertex
        else:
            back[vertex] = back[last] if back[last] >= 0 else before[last, source]
        for slot in range(degrees[vertex]):
            other = neighbors[vertex, slot]
            if invalid[other]:
                through = reached + lengths[vertex, slot]
                if through < best[other]:
                    at = position[other]
                    if at < 0:
                        at = size
                        size += 1
                    best[other] = through
                    via[other] = vertex
                    _raise_up(through, other, at, keys, vertices, position)
    for target in targets:
        if invalid[target]:  # no way is left
            invalid[target] = False
            longer += row[target] < np.inf
            row[target] = np.inf
            before[source, target] = NO_VERTEX
    for target in targets:
        paths[target, source] = row[target]
        before[target, source] = back[target] if back[target] >= 0 else NO_VERTEX
        back[target] = -1
    return longer


@kernel
def add_paths(paths: Array, before: Array, n: int, ends: Array, lengths: Array) -> None:
    """Fill in row and column ``n``: shortest paths of a new vertex over its edges."""
    row = paths[n]
    row[:n] = np.inf
    first = np.full(n, NO_VERTEX, np.int64)
    for e in range(len(ends)):
        other = paths[ends[e]]
        for i in range(n):
            through = other[i] + lengths[e]
            if through < row[i]:
                row[i] = through
                first[i] = ends[e]
    row[n] = 0.0
    before[n, n] = NO_VERTEX
    for i in range(n):
        paths[i, n] = row[i]
        before[i, n] = first[i]
        if first[i] == NO_VERTEX:
            before[n, i] = NO_VERTEX
        else:
            before[n, i] = n if first[i] == i else before[first[i], i]


@kernel
def preorder(tree: Array, root: int) -> tuple[Array, Array]:
    """Vertices of a tree of predecessors, ancestors first: (vertices, position after the subtree).

    Vertices that the tree does not reach although they have a predecessor (edges without length can
    close circles) follow one by one, each for itself.
    """
    n = len(tree)
    start = np.zeros(n + 1, np.int64)
    for v in range(n):
        if tree[v] >= 0 and v != root:
            start[tree[v] + 1] += 1
    for v in range(n):
        start[v + 1] += start[v]
    free = start[:n].copy()
    children = np.empty(start[n], np.int64)
    for v in range(n):
        if tree[v] >= 0 and v != root:
            children[free[tree[v]]] = v
            free[tree[v]] += 1
    order = np.empty(n, np.uint32)
    end = np.empty(n, np.int64)
    place = np.full(n, -1, np.int64)
    stack = np.empty(n + 1, np.int64)
    stack[0] = root
    size, count = 1, 0
    while size > 0:
        size -= 1
        v = stack[size]
        place[v] = count
        order[count] = v
        end[count] = count + 1
        count += 1
        for at in range(start[v], start[v + 1]):
            stack[size] = children[at]
            size += 1
    for at in range(count - 1, 0, -1):  # subtrees end where that of their last child ends
        parent = place[tree[order[at]]]
        end[parent] = max(end[parent], end[at])
    for v in range(n):
        if place[v] < 0 and tree[v] >= 0:
            order[count] = v
            end[count] = count + 1
            count += 1
    return order[:count].copy(), end[:count].copy()


@kernel
def shorten_rows(
    paths: Array,
    before: Array,
    first: int,
    last: int,
    reach: Array,
    beyond: Array,
    last_before: Array,
    order: Array,
    end: Array,
    begin: int,
) -> tuple[int, int]:
    """Shorten the paths from the vertices ``first`` to ``last`` that lead over the root of a tree.

    ``reach[i]`` is the length of the way from ``i`` to the root, ``beyond[t]`` that from the root
    to ``t``, ``last_before[t]`` the vertex before ``t`` on it. A vertex that gains nothing has no
    descendant in the tree that does. ``begin`` is 1 where the ways to the root itself are known.
    Returns the number of entries that were shortened, and of those that became much shorter.
    """
    shorter = 0
    much = 0
    for i in range(first, last):
        base = reach[i]
        if base == np.inf:
            continue
        row = paths[i]
        at = begin
        while at < len(order):
            target = order[at]
            through = base + beyond[target]
            if through < row[target]:
                much += through < MUCH * row[target]
                shorter += 1
                row[target] = through
                before[i, target] = last_before[target]
                at += 1
            else:
                at = end[at]
    return shorter, much


@kernel
def bypass_vertex(
    paths: Array,
    before: Array,
    n: int,
    gone: int,
    old_neighbors: Array,
    neighbors: Array,
    lengths: Array,
    degrees: Array,
) -> None:
    """Let paths over a vertex skip it: its neighbors are joined by edges that are as long."""
    for vertex in old_neighbors:
        for i in range(n):
            if i in (gone, vertex) or before[i, vertex] != gone:
                continue
            skipped = before[i, gone]
            if skipped != vertex:
                before[i, vertex] = skipped
                continue
            for slot in range(degrees[vertex]):  # a circle of edges without length
                other = neighbors[vertex, slot]
                if other != gone:
                    through = paths[i, other] + lengths[vertex, slot]
                    if through <= paths[i, vertex] * (1 + TIE):
                        before[i, vertex] = other
                        break


@kernel
def move_paths(paths: Array, before: Array, n: int, old: int, new: int, ends: Array) -> None:
    """Give the paths of vertex ``old``, the last of ``n``, with neighbors ``ends``, to another."""
    for i in range(n):
        paths[new, i] = paths[old, i]
        before[new, i] = before[old, i]
    for i in range(n):
        paths[i, new] = paths[i, old]
        before[i, new] = before[i, old]
    paths[new, new] = 0.0
    before[new, new] = NO_VERTEX
    for vertex in ends:
        for i in range(n):
            if before[i, vertex] == old:
                before[i, vertex] = new
