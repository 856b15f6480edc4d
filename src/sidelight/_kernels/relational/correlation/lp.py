"""Cycles with exactly one negative edge that a fractional cut misses, and distances it gives."""

from __future__ import annotations

import heapq

import numpy as np

from sidelight._kernels import kernel
from sidelight._typing import Array


@kernel
def component_scores(
    indptr: Array,
    indices: Array,
    scores: Array,
    mass: Array,
    absent: float,
    cliques: bool,
    conflict_indptr: Array,
    conflict_indices: Array,
    source_indptr: Array,
    source_indices: Array,
    nodes: Array,
    place: Array,
    out: Array,
) -> float:
    """Scores of all pairs of some nodes as a matrix, ``-inf`` for pairs that must not join.

    Parameters
    ----------
    indptr, indices, scores : ndarray
        Symmetric scores in CSR form.
    mass : ndarray of shape (n,)
        Number of objects of every node.
    absent : float
        What it costs to join two objects that no edge joins.
    cliques : bool
        Whether pairs that are not listed must not join.
    conflict_indptr, conflict_indices, source_indptr, source_indices : ndarray
        Nodes that a node must not join, and sources of which a cluster holds one node at most.
    nodes : ndarray of shape (k,)
        The nodes of the matrix.
    place : ndarray of shape (n,)
        Row of every node in the matrix, -1 for nodes that are not in it.
    out : ndarray of shape (k, k)
        Written.

    Returns
    -------
    paid : float
        Sum of the positive scores of pairs that must not join.
    """
    k = len(nodes)
    paid = 0.0
    for i in range(k):
        u = nodes[i]
        for j in range(k):
            out[i, j] = -np.inf if cliques else -absent * mass[u] * mass[nodes[j]]
        out[i, i] = 0.0
        for entry in range(indptr[u], indptr[u + 1]):
            j = place[indices[entry]]
            if j >= 0:
                out[i, j] = scores[entry]
    for i in range(k):
        u = nodes[i]
        for entry in range(conflict_indptr[u], conflict_indptr[u + 1]):
            j = place[conflict_indices[entry]]
            if j > i:
                paid += max(out[i, j], 0.0)
                out[i, j] = out[j, i] = -np.inf
        if source_indptr[u] == source_indptr[u + 1]:
            continue
        for j in range(i + 1, k):
            if _share(source_indptr, source_indices, u, nodes[j]):
                paid += max(out[i, j], 0.0)
                out[i, j] = out[j, i] = -np.inf
    return paid


@kernel
def _share(indptr: Array, indices: Array, u: int, v: int) -> bool:
    """Whether two nodes have a source in common; their sources are sorted."""
    a, b = indptr[u], indptr[v]
    while a < indptr[u + 1] and b < indptr[v + 1]:
        if indices[a] == indices[b]:
            return True
        if indices[a] < indices[b]:
            a += 1
        else:
            b += 1
    return False


@kernel
def violated_triangles(
    indptr: Array,
    indices: Array,
    edges: Array,
    z: Array,
    negative_indptr: Array,
    negative_ends: Array,
    n_positive: int,
    tol: float,
    seed: int,
    sides: Array,
    violation: Array,
) -> None:
    """Find the shortest path of two positive edges around every negative edge.

    Among paths of equal length the first from a pseudo-random place on is taken, so that the
    triangles of one round do not all go through the same edges.

    Parameters
    ----------
    indptr, indices, edges : ndarray
        Positive edges in CSR form, both directions, with the number of every edge.
    z : ndarray of shape (n_edges,)
        What is paid of every edge; positive edges come first.
    negative_indptr, negative_ends : ndarray
        Ends ``v > u`` of the negative edges of every node ``u``; they are numbered in this order.
    n_positive : int
        Number of positive edges.
    tol : float
        Smaller violations are none.
    seed : int
        Of the places where searches begin.
    sides : ndarray of shape (n_negative, 2)
        Written: the two positive edges of the path.
    violation : ndarray of shape (n_negative,)
        Written: ``1 - z - (length of the path)`` if it is above ``tol``, else 0; -1 if no path of
        two positive edges exists.
    """
    n = len(indptr) - 1
    first = np.full(n, -1, np.int64)
    state = np.uint64(seed)
    for u in range(n):
        if negative_indptr[u] == negative_indptr[u + 1]:
            continue
        for entry in range(indptr[u], indptr[u + 1]):
            first[indices[entry]] = edges[entry]
        for k in range(negative_indptr[u], negative_indptr[u + 1]):
            v = negative_ends[k]
            violation[k] = -1.0
            begin, size = indptr[v], indptr[v + 1] - indptr[v]
            if size == 0:
                continue
            state = state * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
            entry = begin + np.int64((state >> np.uint64(33)) % np.uint64(size))
            best = np.inf
            for _ in range(size):
                edge = first[indices[entry]]
                if edge >= 0:
                    length = z[edge] + z[edges[entry]]
                    if length < best:
                        best = length
                        sides[k, 0] = edge
                        sides[k, 1] = edges[entry]
                entry += 1
                if entry == begin + size:
                    entry = begin
            if best < np.inf:
                missing = 1.0 - z[n_positive + k] - best
                violation[k] = missing if missing > tol else 0.0
        for entry in range(indptr[u], indptr[u + 1]):
            first[indices[entry]] = -1


@kernel
def violated_cycles(
    indptr: Array,
    indices: Array,
    edges: Array,
    z: Array,
    negative_indptr: Array,
    negative_ends: Array,
    n_positive: int,
    tol: float,
    wanted: Array,
    max_rows: int,
) -> tuple[Array, Array, Array]:
    """Find a shortest positive path around every wanted negative edge whose cycle is violated.

    Parameters
    ----------
    wanted : ndarray of shape (n_negative,), bool
        Negative edges that are asked for; the others are as in :func:`violated_triangles`.
    max_rows : int
        Stop after as many cycles.

    Returns
    -------
    negatives : ndarray of shape (n_cycles,)
        Negative edge of every cycle, counted from 0.
    starts : ndarray of shape (n_cycles + 1,)
        Where the paths begin in ``path_edges``.
    path_edges : ndarray
        Positive edges of the paths.
    """
    n = len(indptr) - 1
    distance = np.empty(n)
    hops = np.empty(n, np.int64)
    via = np.empty(n, np.int64)
    back = np.empty(n, np.int64)
    negatives = [np.int64(0) for _ in range(0)]
    starts = [np.int64(0)]
    path_edges = [np.int64(0) for _ in range(0)]
    for u in range(n):
        begin, end = negative_indptr[u], negative_indptr[u + 1]
        if not np.any(wanted[begin:end]):
            continue
        shortest_paths(indptr, indices, edges, z, u, distance, hops, back, via)
        for k in range(begin, end):
            v = negative_ends[k]
            if not wanted[k] or distance[v] + z[n_positive + k] >= 1.0 - tol:
                continue
            negatives.append(np.int64(k))
            while v != u:
                path_edges.append(via[v])
                v = back[v]
            starts.append(np.int64(len(path_edges)))
            if len(negatives) == max_rows:
                return np.array(negatives), np.array(starts), np.array(path_edges)
    return np.array(negatives), np.array(starts), np.array(path_edges)


@kernel
def shortest_paths(
    indptr: Array,
    indices: Array,
    edges: Array,
    z: Array,
    source: int,
    distance: Array,
    hops: Array,
    back: Array,
    via: Array,
) -> None:
    """Dijkstra's algorithm for distances below 1; the fewest edges among paths of equal length.

    Writes the distance of every node, infinite from 1 on, the number of edges of its path, and the
    node and the edge that the path comes from.
    """
    distance[:] = np.inf
    distance[source] = 0.0
    hops[source] = 0
    heap = [(0.0, 0, np.int64(source))]
    while len(heap) > 0:
        reached, steps, u = heapq.heappop(heap)
        if reached > distance[u] or (reached == distance[u] and steps > hops[u]):
            continue
        for entry in range(indptr[u], indptr[u + 1]):
            v = indices[entry]
            length = reached + z[edges[entry]]
            if length >= 1.0:
                continue
            if length < distance[v] or (length == distance[v] and steps + 1 < hops[v]):
                distance[v] = length
                hops[v] = steps + 1
                back[v] = u
                via[v] = edges[entry]
                heapq.heappush(heap, (length, steps + 1, np.int64(v)))


@kernel
def path_distances(
    indptr: Array, indices: Array, edges: Array, z: Array, start: int, out: Array
) -> None:
    """Lengths of shortest positive paths between the nodes from ``start`` on, at most 1.

    ``out`` has a row and a column for each of the nodes.
    """
    n, k = len(indptr) - 1, len(out)
    distance = np.empty(n)
    hops = np.empty(n, np.int64)
    via = np.empty(n, np.int64)
    back = np.empty(n, np.int64)
    for i in range(k):
        shortest_paths(indptr, indices, edges, z, start + i, distance, hops, back, via)
        for j in range(k):
            out[i, j] = min(distance[start + j], 1.0)
    # Sums of the same lengths in the other order may differ in their last digit.
    for i in range(k):
        for j in range(i):
            out[i, j] = out[j, i] = min(out[i, j], out[j, i])
