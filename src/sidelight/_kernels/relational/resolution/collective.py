"""Greedy collective clustering: merges of the most similar clusters, which change other pairs.

``sim(i, j) = (1 - alpha) sim_A(i, j) + alpha sim_R(i, j)``, where ``sim_R`` is the Jaccard
coefficient of the sets of neighbor clusters.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sidelight._kernels import kernel
from sidelight._kernels.relational.resolution.collective_graph import (
    find,
    n_shared,
    redirect,
    remove,
)
from sidelight._kernels.relational.resolution.collective_state import (
    APART,
    AVERAGE,
    COMBINED,
    HEAP_SIZE,
    JOINED,
    N_MERGES,
    OPEN,
    SINGLE,
    attribute_of,
    drop_old_entries,
    is_current,
    must_stay_apart,
    pop,
    push,
    relational_of,
    similarity_of,
)

#: Why :func:`merge_best` returned.
DONE, PAUSED, HEAP_FULL = 0, 1, 2


# ---------------------------------------------------------------------------- merges


@kernel
def combine(state: Any, e: int, f: int, linkage: int) -> None:
    """Join the similarities of edge ``e`` to those of the parallel edge ``f``."""
    state.fate[e] = COMBINED
    state.into[e] = f
    if linkage == AVERAGE:
        state.total[f] += state.total[e]
    elif linkage == SINGLE:
        state.total[f] = max(state.total[f], state.total[e])
    else:
        state.total[f] = min(state.total[f], state.total[e])
    state.count[f] += state.count[e]
    better = state.best[e] > state.best[f]
    if better or (state.best[e] == state.best[f] and state.exemplar[e] < state.exemplar[f]):
        state.best[f] = state.best[e]
        state.exemplar[f] = state.exemplar[e]


@kernel
def record(state: Any, e: int, a: int, b: int, alpha: float, linkage: int) -> None:
    """Write a merge down, with both parts of the similarity."""
    step = state.counters[N_MERGES]
    shared = n_shared(state.neighbors, a, b)
    around = state.neighbors.degree[a] + state.neighbors.degree[b] - shared
    attribute = attribute_of(state, e, linkage)
    relational = relational_of(state, a, b)
    state.lost[step], state.kept[step], state.edge[step] = a, b, e
    state.shared[step], state.around[step] = shared, around
    state.attribute[step], state.relational[step] = attribute, relational
    if alpha == 0.0:
        state.similarity[step] = attribute
    else:
        state.similarity[step] = (1.0 - alpha) * attribute + alpha * relational
    state.counters[N_MERGES] += 1


@kernel
def merge(state: Any, e: int, alpha: float, linkage: int) -> tuple[int, int]:
    """Merge the clusters of an edge, the one with fewer edges into the other.

    Returns the node that is left, and the number of neighbors of the other, which are in
    ``touched``: only their sets of neighbors changed, since for all others the node that is left
    keeps its name.
    """
    a, b = state.similar.ends[2 * e], state.similar.ends[2 * e + 1]
    edges_of_a = state.similar.degree[a] + state.neighbors.degree[a]
    edges_of_b = state.similar.degree[b] + state.neighbors.degree[b]
    if edges_of_a > edges_of_b or (edges_of_a == edges_of_b and a < b):
        a, b = b, a
    record(state, e, a, b, alpha, linkage)
    state.parent[a] = b

    remove(state.similar, e)
    state.fate[e] = JOINED
    state.into[e] = state.counters[N_MERGES] - 1
    half = state.similar.head[a]
    while half >= 0:
        following = state.similar.following[half]
        parallel = redirect(state.similar, half, a, b)
        if parallel >= 0:
            combine(state, half >> 1, parallel, linkage)
        half = following

    n_touched = 0
    half = state.neighbors.head[a]
    while half >= 0:
        following = state.neighbors.following[half]
        node = state.neighbors.ends[half]
        if node == b:
            remove(state.neighbors, half >> 1)
        else:
            redirect(state.neighbors, half, a, b)
            state.touched[n_touched] = node
            n_touched += 1
        half = following

    half = state.conflicts.head[a]
    while half >= 0:
        following = state.conflicts.following[half]
        redirect(state.conflicts, half, a, b)
        half = following
    return b, n_touched


@kernel
def update(state: Any, e: int, alpha: float, linkage: int, threshold: float) -> None:
    """Recompute the similarity of a pair; if it changed, push a new entry on the heap."""
    value = similarity_of(state, e, alpha, linkage)
    if value != state.value[e]:
        state.value[e] = value
        state.version[e] += 1
        if value >= threshold:
            push(state, e)


@kernel
def update_around(
    state: Any, b: int, n_touched: int, alpha: float, linkage: int, threshold: float
) -> None:
    """After a merge into ``b``: its own pairs, and those of the neighbors that it took over."""
    half = state.similar.head[b]
    while half >= 0:
        following = state.similar.following[half]
        e = half >> 1
        if must_stay_apart(state, b, state.similar.ends[half]):
            remove(state.similar, e)
            state.fate[e] = APART
        else:
            update(state, e, alpha, linkage, threshold)
        half = following
    if alpha == 0.0:
        return
    for i in range(n_touched):
        half = state.similar.head[state.touched[i]]
        while half >= 0:
            update(state, half >> 1, alpha, linkage, threshold)
            half = state.similar.following[half]


@kernel
def space_needed(state: Any, e: int) -> int:
    """Upper bound of the number of entries that a merge adds to the heap."""
    needed = 0
    for side in range(2):
        node = state.similar.ends[2 * e + side]
        needed += state.similar.degree[node]
        half = state.neighbors.head[node]
        while half >= 0:
            needed += state.similar.degree[state.neighbors.ends[half]]
            half = state.neighbors.following[half]
    return needed


@kernel
def merge_best(state: Any, alpha: float, linkage: int, threshold: float, most: int) -> int:
    """Merge the most similar pair again and again, at most ``most`` times.

    Returns ``DONE`` when no pair reaches the threshold, ``PAUSED`` after ``most`` merges, and
    ``HEAP_FULL`` when the next merge needs a larger heap.
    """
    merged = 0
    while state.counters[HEAP_SIZE] > 0:
        if not is_current(state, 0):
            pop(state)
            continue
        if merged == most:
            return PAUSED
        e = state.heap_edge[0]
        needed = space_needed(state, e)
        if state.counters[HEAP_SIZE] + needed > len(state.heap_value):
            drop_old_entries(state)
            # Half of the space has to be free, or old entries would be dropped too often.
            if 2 * (state.counters[HEAP_SIZE] + needed) > len(state.heap_value):
                return HEAP_FULL
            continue
        pop(state)
        b, n_touched = merge(state, e, alpha, linkage)
        update_around(state, b, n_touched, alpha, linkage, threshold)
        merged += 1
    return DONE


# ---------------------------------------------------------------------------- bootstrap


@kernel
def has_matches(state: Any, u: int, v: int, least: float, wanted: int, linkage: int) -> bool:
    """Whether ``wanted`` neighbors of ``u`` are, or are nearly identical to, neighbors of ``v``."""
    found = 0
    half = state.neighbors.head[u]
    while half >= 0 and found < wanted:
        x = state.neighbors.ends[half]
        other = state.neighbors.head[v]
        while other >= 0:
            y = state.neighbors.ends[other]
            if x == y:
                found += 1
                break
            e = find(state.similar, x, y)
            if e >= 0 and attribute_of(state, e, linkage) >= least:
                found += 1
                break
            other = state.neighbors.following[other]
        half = state.neighbors.following[half]
    return found >= wanted


@kernel
def near_identical(state: Any, least: float, wanted: int, linkage: int) -> Any:
    """Mark the pairs that are nearly identical, and ``wanted`` of their neighbors on both sides."""
    marked = np.zeros(len(state.value), np.bool_)
    for e in range(len(state.value)):
        if state.fate[e] == OPEN and attribute_of(state, e, linkage) >= least:
            u, v = state.similar.ends[2 * e], state.similar.ends[2 * e + 1]
            marked[e] = has_matches(state, u, v, least, wanted, linkage)
            if marked[e] and wanted > 1:  # one match is a match from both sides
                marked[e] = has_matches(state, v, u, least, wanted, linkage)
    return marked


@kernel
def final_edge(state: Any, e: int) -> int:
    """Edge that a combined edge ended in; the way to it is shortened."""
    last = e
    while state.fate[last] == COMBINED:
        last = state.into[last]
    while state.fate[e] == COMBINED:
        following = state.into[e]
        state.into[e] = last
        e = following
    return last


@kernel
def merge_listed(state: Any, edges: Any, alpha: float, linkage: int) -> None:
    """Merge the clusters of listed edges in their order, except those that must stay apart."""
    for i in range(len(edges)):
        e = final_edge(state, edges[i])
        if state.fate[e] != OPEN:
            continue
        u, v = state.similar.ends[2 * e], state.similar.ends[2 * e + 1]
        if must_stay_apart(state, u, v):
            remove(state.similar, e)
            state.fate[e] = APART
        else:
            merge(state, e, alpha, linkage)


# ---------------------------------------------------------------------------- what is left


@kernel
def follow(parent: Any) -> Any:
    """Node that every node ended in."""
    root = np.empty(len(parent), np.int64)
    for node in range(len(parent)):
        last = node
        while parent[last] != last:
            last = parent[last]
        step = node
        while parent[step] != last:
            step, parent[step] = parent[step], last
        root[node] = last
    return root


@kernel
def final_edges(state: Any) -> Any:
    """Edge that every edge ended in."""
    last = np.empty(len(state.value), np.int64)
    for e in range(len(last)):
        last[e] = final_edge(state, e)
    return last


@kernel
def parts_of(state: Any, edges: Any, linkage: int) -> tuple[Any, Any, Any, Any]:
    """Attribute and relational part, shared and all neighbor clusters of the pairs of edges."""
    attribute, relational = np.zeros(len(edges)), np.zeros(len(edges))
    shared, around = np.zeros(len(edges), np.int64), np.zeros(len(edges), np.int64)
    for i in range(len(edges)):
        e = edges[i]
        u, v = state.similar.ends[2 * e], state.similar.ends[2 * e + 1]
        attribute[i] = attribute_of(state, e, linkage)
        shared[i] = n_shared(state.neighbors, u, v)
        around[i] = state.neighbors.degree[u] + state.neighbors.degree[v] - shared[i]
        relational[i] = relational_of(state, u, v)
    return attribute, relational, shared, around


@kernel
def name_merges(lost: Any, kept: Any, name: Any, first_name: int) -> Any:
    """Names of the clusters of every merge, which is given the next number as its own name."""
    names = np.empty((len(lost), 2), np.int64)
    for step in range(len(lost)):
        one, other = name[lost[step]], name[kept[step]]
        names[step, 0], names[step, 1] = min(one, other), max(one, other)
        name[kept[step]] = first_name + step
    return names


@kernel
def pairs_in_edges(starts: Any, members: Any) -> Any:
    """All pairs of members of one hyper-edge, ``i < j``, as often as they occur together."""
    n_pairs = 0
    for edge in range(len(starts) - 1):
        size = starts[edge + 1] - starts[edge]
        n_pairs += size * (size - 1) // 2
    pairs = np.empty((n_pairs, 2), np.int64)
    k = 0
    for edge in range(len(starts) - 1):
        for i in range(starts[edge], starts[edge + 1]):
            for j in range(i + 1, starts[edge + 1]):
                pairs[k, 0] = min(members[i], members[j])
                pairs[k, 1] = max(members[i], members[j])
                k += 1
    return pairs
