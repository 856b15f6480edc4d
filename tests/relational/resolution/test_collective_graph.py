"""The graph whose nodes are merged, against sets."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from tests.strategies import merged_graphs

from sidelight._kernels.relational.resolution.collective_graph import (
    MergeGraph,
    find,
    merge_graph,
    n_shared,
    redirect,
    remove,
)


def edges_of(graph: MergeGraph, node: int) -> list[int]:
    found, half = [], int(graph.head[node])
    while half >= 0:
        found.append(half >> 1)
        half = int(graph.following[half])
    return found


def nodes_around(graph: MergeGraph, node: int) -> set[int]:
    found, half = set(), int(graph.head[node])
    while half >= 0:
        found.add(int(graph.ends[half]))
        half = int(graph.following[half])
    return found


@given(merged_graphs())
def test_merged_nodes_have_the_neighbors_of_both(drawn: tuple) -> None:
    n, edges, merges = drawn
    graph = merge_graph(np.array(edges, np.int64).reshape(-1, 2), n)
    sets = {i: {b if a == i else a for a, b in edges if i in (a, b)} for i in range(n)}
    gone: set[int] = set()
    for a, b in merges:
        if a in gone or b in gone:
            continue
        half = int(graph.head[a])
        while half >= 0:
            following = int(graph.following[half])
            if graph.ends[half] == b:
                remove(graph, half >> 1)
            else:
                redirect(graph, half, a, b)
            half = following
        gone.add(a)
        sets[b] = (sets[a] | sets[b]) - {a, b}
        for other in sets.pop(a) - {b}:
            sets[other] = (sets[other] - {a}) | {b}
        for node in set(range(n)) - gone:
            assert nodes_around(graph, node) == sets[node]
            assert graph.degree[node] == len(sets[node])
            for other in set(range(n)) - gone - {node}:
                e = find(graph, node, other)
                assert (e >= 0) == (other in sets[node])
                assert e < 0 or e in edges_of(graph, node)
                assert n_shared(graph, node, other) == len(sets[node] & sets[other])
    held = graph.slots[graph.slots >= 0]
    assert len(held) == len(np.unique(held)) == sum(map(len, sets.values())) // 2


def test_a_redirected_edge_names_the_parallel_one() -> None:
    graph = merge_graph(np.array([[0, 2], [1, 2], [0, 3]]), 4)
    half_to_2 = next(h for h in (0, 1) if graph.ends[h] == 2)
    assert redirect(graph, half_to_2, 0, 1) == 1
    assert find(graph, 0, 2) == -1
    assert find(graph, 1, 2) == 1
