"""State of greedy collective clustering: similarities of clusters, and the heap of them.

Entries of the heap carry the version that their pair had; a pair whose similarity changed has a
new version, and old entries are skipped.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from sidelight._kernels import kernel
from sidelight._kernels.relational.resolution.collective_graph import find, n_shared, remove

#: How the attribute similarities of the pairs between two clusters become one.
SINGLE, AVERAGE, COMPLETE = 0, 1, 2

#: What became of an edge between two similar clusters.
OPEN, COMBINED, JOINED, APART = 0, 1, 2, 3

#: Entries of ``counters``.
N_MERGES, HEAP_SIZE = 0, 1


class State(NamedTuple):
    """Clusters, the pairs of clusters that may be merged, and the merges so far.

    Attributes
    ----------
    similar : MergeGraph
        Pairs of clusters that may be merged.
    neighbors : MergeGraph
        Clusters that occur together in a hyper-edge.
    conflicts : MergeGraph
        Clusters that must not be merged; and, as nodes behind the clusters, what only one
        reference of an entity has, such as its source or hyper-edge.
    total, best, count : ndarray of shape (m,)
        Of the attribute similarities between two clusters: their sum (or extreme), the largest
        one, and their number.
    exemplar : ndarray of shape (m,), int64
        Candidate pair with the largest attribute similarity.
    value : ndarray of shape (m,)
        Similarity of two clusters.
    version : ndarray of shape (m,), int32
        Number of times that the similarity changed.
    fate : ndarray of shape (m,), int8
        ``OPEN``, ``COMBINED``, ``JOINED`` or ``APART``.
    into : ndarray of shape (m,), int64
        Edge that a combined edge became part of, or the merge by which a joined one ended.
    heap_value, heap_edge, heap_version : ndarray
        The heap.
    parent : ndarray of shape (n_nodes,), int64
        Node that a node was merged into, itself for the nodes that are left.
    touched : ndarray of shape (n_nodes,), int32
        Space for the neighbors of the last merged node.
    lost, kept, edge, shared, around : ndarray of shape (n_nodes,)
        For every merge: the two nodes, their edge, the number of neighbor clusters that they
        shared, and the number that one or the other had.
    attribute, relational, similarity : ndarray of shape (n_nodes,)
        For every merge: both parts of the similarity, and the similarity.
    isolated : ndarray of shape (1,)
        Relational part of two clusters of which one has no neighbors.
    counters : ndarray of shape (2,), int64
        Number of merges, and of entries of the heap.
    """

    similar: Any
    neighbors: Any
    conflicts: Any
    total: Any
    best: Any
    count: Any
    exemplar: Any
    value: Any
    version: Any
    fate: Any
    into: Any
    heap_value: Any
    heap_edge: Any
    heap_version: Any
    parent: Any
    touched: Any
    lost: Any
    kept: Any
    edge: Any
    shared: Any
    around: Any
    attribute: Any
    relational: Any
    similarity: Any
    isolated: Any
    counters: Any


# ---------------------------------------------------------------------------- the similarity


@kernel
def attribute_of(state: Any, e: int, linkage: int) -> float:
    """Attribute similarity of two clusters."""
    if linkage == AVERAGE:
        return state.total[e] / state.count[e]
    return state.total[e]


@kernel
def relational_of(state: Any, u: int, v: int) -> float:
    """Jaccard coefficient of the neighbor clusters; ``isolated`` where a cluster has none."""
    if state.neighbors.degree[u] == 0 or state.neighbors.degree[v] == 0:
        return state.isolated[0]
    shared = n_shared(state.neighbors, u, v)
    return shared / (state.neighbors.degree[u] + state.neighbors.degree[v] - shared)


@kernel
def similarity_of(state: Any, e: int, alpha: float, linkage: int) -> float:
    """Similarity of the two clusters of an edge."""
    attribute = attribute_of(state, e, linkage)
    if alpha == 0.0:
        return attribute
    u, v = state.similar.ends[2 * e], state.similar.ends[2 * e + 1]
    return (1.0 - alpha) * attribute + alpha * relational_of(state, u, v)


@kernel
def must_stay_apart(state: Any, u: int, v: int) -> bool:
    """Whether two clusters are kept apart by a cannot-link, or share what only one may have."""
    if len(state.conflicts.ends) == 0:
        return False
    if find(state.conflicts, u, v) >= 0:
        return True
    if state.conflicts.degree[u] > state.conflicts.degree[v]:
        u, v = v, u
    half = state.conflicts.head[u]
    while half >= 0:
        code = state.conflicts.ends[half]
        if code >= len(state.parent) and find(state.conflicts, v, code) >= 0:
            return True
        half = state.conflicts.following[half]
    return False


@kernel
def drop_conflicts(state: Any) -> None:
    """Take pairs that must stay apart out of the similar pairs."""
    for e in range(len(state.value)):
        if state.fate[e] == OPEN:
            u, v = state.similar.ends[2 * e], state.similar.ends[2 * e + 1]
            if must_stay_apart(state, u, v):
                remove(state.similar, e)
                state.fate[e] = APART


# ---------------------------------------------------------------------------- the heap


@kernel
def is_before(state: Any, i: int, j: int) -> bool:
    """Whether an entry of the heap comes before another; ties go to the first pair."""
    if state.heap_value[i] != state.heap_value[j]:
        return state.heap_value[i] > state.heap_value[j]
    return state.heap_edge[i] < state.heap_edge[j]


@kernel
def swap(state: Any, i: int, j: int) -> None:
    """Exchange two entries of the heap."""
    value, edge, version = state.heap_value[i], state.heap_edge[i], state.heap_version[i]
    state.heap_value[i] = state.heap_value[j]
    state.heap_edge[i] = state.heap_edge[j]
    state.heap_version[i] = state.heap_version[j]
    state.heap_value[j], state.heap_edge[j], state.heap_version[j] = value, edge, version


@kernel
def sift_down(state: Any, i: int) -> None:
    """Move an entry down to its place."""
    size = state.counters[HEAP_SIZE]
    while True:
        child = 2 * i + 1
        if child >= size:
            return
        if child + 1 < size and is_before(state, child + 1, child):
            child += 1
        if not is_before(state, child, i):
            return
        swap(state, i, child)
        i = child


@kernel
def push(state: Any, e: int) -> None:
    """Put the similarity of a pair into the heap."""
    i = state.counters[HEAP_SIZE]
    state.counters[HEAP_SIZE] += 1
    state.heap_value[i] = state.value[e]
    state.heap_edge[i] = e
    state.heap_version[i] = state.version[e]
    while i > 0 and is_before(state, i, (i - 1) // 2):
        swap(state, i, (i - 1) // 2)
        i = (i - 1) // 2


@kernel
def pop(state: Any) -> None:
    """Drop the first entry of the heap."""
    state.counters[HEAP_SIZE] -= 1
    swap(state, 0, state.counters[HEAP_SIZE])
    sift_down(state, 0)


@kernel
def is_current(state: Any, i: int) -> bool:
    """Whether an entry of the heap holds the similarity that its pair has now."""
    e = state.heap_edge[i]
    return state.fate[e] == OPEN and state.heap_version[i] == state.version[e]


@kernel
def drop_old_entries(state: Any) -> None:
    """Remove outdated entries and rebuild the heap."""
    size = 0
    for i in range(state.counters[HEAP_SIZE]):
        if is_current(state, i):
            state.heap_value[size] = state.heap_value[i]
            state.heap_edge[size] = state.heap_edge[i]
            state.heap_version[size] = state.heap_version[i]
            size += 1
    state.counters[HEAP_SIZE] = size
    for i in range(size // 2 - 1, -1, -1):
        sift_down(state, i)


@kernel
def fill_heap(state: Any, alpha: float, linkage: int, threshold: float) -> None:
    """Compute all similarities, and put those that reach the threshold into the heap."""
    size = 0
    for e in range(len(state.value)):
        if state.fate[e] == OPEN:
            state.value[e] = similarity_of(state, e, alpha, linkage)
            if state.value[e] >= threshold:
                state.heap_value[size] = state.value[e]
                state.heap_edge[size] = e
                state.heap_version[size] = state.version[e]
                size += 1
    state.counters[HEAP_SIZE] = size
    for i in range(size // 2 - 1, -1, -1):
        sift_down(state, i)
