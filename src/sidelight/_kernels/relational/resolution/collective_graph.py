"""A graph whose nodes are merged: doubly linked lists of edges, and a hash table that finds them.

Edge ``e`` is a pair of half-edges ``2e`` and ``2e + 1``; half-edge ``h`` leads to the node
``ends[h]`` and is listed at the node ``ends[h ^ 1]``. Merging node ``a`` into node ``b`` visits the
edges of ``a`` only, so that merging the node with fewer edges takes ``O(m log n)`` in all.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sidelight._kernels import kernel
from sidelight._typing import IntArray


class MergeGraph(NamedTuple):
    """Edges between nodes, at most one for each pair.

    Attributes
    ----------
    head : ndarray of shape (n_nodes,), int32
        First half-edge of every node, -1 for none.
    following, previous : ndarray of shape (2 m,), int32
        Next and previous half-edge of the same node, -1 at the ends of its list.
    ends : ndarray of shape (2 m,), int32
        Node that a half-edge leads to.
    degree : ndarray of shape (n_nodes,), int32
        Number of edges of every node.
    slots : ndarray, int32
        Hash table with linear probing: edge, or -1; its length is a power of 2.
    """

    head: Any
    following: Any
    previous: Any
    ends: Any
    degree: Any
    slots: Any


def merge_graph(pairs: IntArray, n_nodes: int) -> MergeGraph:
    """Build the graph of different pairs of nodes; edge ``e`` is row ``e`` of the pairs."""
    m = len(pairs)
    capacity = 1 << max(3, int(2 * m - 1).bit_length() if m else 0)
    graph = MergeGraph(
        head=np.full(n_nodes, -1, np.int32),
        following=np.full(2 * m, -1, np.int32),
        previous=np.full(2 * m, -1, np.int32),
        # Half-edge 2e is listed at the first node of the pair and leads to the second.
        ends=np.ascontiguousarray(pairs[:, ::-1]).ravel().astype(np.int32),
        degree=np.zeros(n_nodes, np.int32),
        slots=np.full(capacity, -1, np.int32),
    )
    link_all(graph)
    return graph


@kernel
def link_all(graph: Any) -> None:
    """Put every edge into the lists of its nodes and into the hash table."""
    # From the last to the first, so that lists begin with the first edge.
    for e in range(len(graph.ends) // 2 - 1, -1, -1):
        attach(graph, 2 * e, graph.ends[2 * e + 1])
        attach(graph, 2 * e + 1, graph.ends[2 * e])
        insert(graph, e)


@kernel
def attach(graph: Any, half: int, node: int) -> None:
    """Put a half-edge at the front of the list of a node."""
    first = graph.head[node]
    graph.following[half] = first
    graph.previous[half] = -1
    if first >= 0:
        graph.previous[first] = half
    graph.head[node] = half
    graph.degree[node] += 1


@kernel
def detach(graph: Any, half: int, node: int) -> None:
    """Take a half-edge out of the list of a node; ``following[half]`` is not changed."""
    before, after = graph.previous[half], graph.following[half]
    if before >= 0:
        graph.following[before] = after
    else:
        graph.head[node] = after
    if after >= 0:
        graph.previous[after] = before
    graph.degree[node] -= 1


@kernel
def home(graph: Any, u: int, v: int) -> Any:
    """Slot at which the search for the edge of two nodes begins."""
    low, high = (u, v) if u < v else (v, u)
    key = (np.uint64(low) << np.uint64(32)) | np.uint64(high)
    key = (key ^ (key >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    key = (key ^ (key >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    key = key ^ (key >> np.uint64(31))
    return np.int64(key & np.uint64(len(graph.slots) - 1))


@kernel
def find_slot(graph: Any, u: int, v: int) -> int:
    """Slot of the edge of two nodes, or the empty slot at which the search for it ends."""
    slot = home(graph, u, v)
    last = len(graph.slots) - 1
    while graph.slots[slot] >= 0:
        e = graph.slots[slot]
        s, t = graph.ends[2 * e], graph.ends[2 * e + 1]
        if (s == u and t == v) or (s == v and t == u):
            break
        slot = (slot + 1) & last
    return slot


@kernel
def find(graph: Any, u: int, v: int) -> int:
    """Edge of two nodes, or -1."""
    return graph.slots[find_slot(graph, u, v)]


@kernel
def insert(graph: Any, e: int) -> None:
    """Put an edge into the hash table."""
    graph.slots[find_slot(graph, graph.ends[2 * e], graph.ends[2 * e + 1])] = e


@kernel
def erase(graph: Any, e: int) -> None:
    """Take an edge out of the hash table and close the gap, so that no marks of it are left."""
    last = len(graph.slots) - 1
    gap = find_slot(graph, graph.ends[2 * e], graph.ends[2 * e + 1])
    slot = (gap + 1) & last
    while graph.slots[slot] >= 0:
        other = graph.slots[slot]
        start = home(graph, graph.ends[2 * other], graph.ends[2 * other + 1])
        # It may move back unless its search would begin behind the gap.
        if ((slot - start) & last) >= ((slot - gap) & last):
            graph.slots[gap] = other
            gap = slot
        slot = (slot + 1) & last
    graph.slots[gap] = -1


@kernel
def remove(graph: Any, e: int) -> None:
    """Remove an edge; ``following`` of its half-edges stays, so that a loop may go on."""
    erase(graph, e)
    detach(graph, 2 * e, graph.ends[2 * e + 1])
    detach(graph, 2 * e + 1, graph.ends[2 * e])


@kernel
def redirect(graph: Any, half: int, a: int, b: int) -> int:
    """Let an edge of ``a`` begin at ``b`` instead.

    Where ``b`` has an edge to the same node already, the edge of ``a`` is removed and that of
    ``b`` returned; otherwise -1.
    """
    e = half >> 1
    parallel = find(graph, b, graph.ends[half])
    if parallel >= 0:
        remove(graph, e)
        return parallel
    erase(graph, e)
    detach(graph, half, a)
    graph.ends[half ^ 1] = b
    attach(graph, half, b)
    insert(graph, e)
    return -1


@kernel
def n_shared(graph: Any, u: int, v: int) -> int:
    """Number of nodes that are next to both of two nodes."""
    if graph.degree[u] > graph.degree[v]:
        u, v = v, u
    found = 0
    half = graph.head[u]
    while half >= 0:
        node = graph.ends[half]
        if node != v and find(graph, v, node) >= 0:
            found += 1
        half = graph.following[half]
    return found
