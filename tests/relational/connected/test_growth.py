"""Growth along edges: against a plain heap, rounds, and graphs whose answer is known."""

from __future__ import annotations

import heapq

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.relational.connected.graphs import is_connected, nodes_of, random_connected

from sidelight._kernels.relational.connected.growth import better_side


def plain_heap(X: np.ndarray, edges: np.ndarray, seeds: list[int]) -> tuple[list[int], list[float]]:
    """The definition: pop the smallest frontier pair, assign if free, push its neighbors."""
    neighbors: list[list[int]] = [[] for _ in X]
    for i, j in edges.tolist():
        neighbors[i].append(j)
        neighbors[j].append(i)
    labels, absorbed = [-1] * len(X), [np.inf] * len(X)
    heap: list[tuple[float, int, int]] = []

    def take(q: int, j: int, threshold: float) -> None:
        labels[q], absorbed[q] = j, threshold
        for p in neighbors[q]:
            heapq.heappush(heap, (float(((X[p] - X[seeds[j]]) ** 2).sum()), p, j))

    for j, seed in enumerate(seeds):
        labels[seed] = j
    for j, seed in enumerate(seeds):
        take(seed, j, 0.0)
    threshold = 0.0
    while heap:
        key, q, j = heapq.heappop(heap)
        if labels[q] < 0:
            threshold = max(threshold, key)
            take(q, j, threshold)
    return labels, absorbed


@given(st.integers(0, 10_000), st.integers(2, 60), st.integers(0, 80), st.integers(1, 5))
@settings(max_examples=40, deadline=None)
def test_growth_is_that_of_a_plain_heap(seed: int, n: int, n_more: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    edges = random_connected(rng, n, n_more if n > 2 else 0)
    nodes = nodes_of(X, edges)
    seeds = rng.permutation(n)[: min(k, n)]
    if nodes.graph is None:
        return
    labels, absorbed = nodes.grow(nodes.at(seeds), seeds)
    expected, thresholds = plain_heap(X, edges, seeds.tolist())
    assert labels.tolist() == expected
    np.testing.assert_allclose(absorbed, thresholds)


def test_a_far_outlier_and_large_heaps_keep_the_order() -> None:
    """Buckets are shares of a usual distance: here nearly all pairs fall into the first or last."""
    rng = np.random.default_rng(0)
    for scale in (1e-3, 1e3):
        X = rng.normal(size=(300, 1))
        X[:30] *= 1e4 * scale
        edges = random_connected(rng, 300, 900)
        nodes, seeds = nodes_of(X, edges), np.array([5, 100, 200])
        assert (
            nodes.grow(nodes.at(seeds), seeds)[0].tolist() == plain_heap(X, edges, [5, 100, 200])[0]
        )


def test_complete_graph_gives_every_node_to_its_nearest_center() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 3))
    pairs = np.column_stack(np.triu_indices(40, 1))
    nearly = nodes_of(X, pairs[1:])  # one edge is missing: the graph is written down
    assert nearly.graph is not None
    assert nodes_of(X, pairs).graph is None
    seeds = np.array([3, 17, 30])
    labels, absorbed = nearly.grow(nearly.at(seeds), seeds)
    distances = np.linalg.norm(X[:, None] - X[seeds][None], axis=2)
    np.testing.assert_array_equal(labels, distances.argmin(axis=1))
    assert np.all(np.sqrt(absorbed) >= distances.min(axis=1) - 1e-12)
    np.testing.assert_array_equal(nodes_of(X, None).grow(nearly.at(seeds), seeds)[0], labels)


@given(st.integers(0, 10_000), st.booleans())
@settings(max_examples=25, deadline=None)
def test_rounds_assign_everything_to_connected_clusters(seed: int, look_ahead: bool) -> None:
    rng = np.random.default_rng(seed)
    X, edges = rng.normal(size=(30, 2)), random_connected(rng, 30, 15)
    X[0] = 1e9  # rounds up to it would not end
    nodes = nodes_of(X, edges)
    seeds = rng.permutation(30)[:4]
    increment = nodes.average_distance(np.random.RandomState(0)) / 1e6
    labels, absorbed = nodes.grow(
        nodes.at(seeds), seeds, look_ahead=look_ahead, increment=increment
    )
    assert np.isfinite(absorbed).all()
    for j in range(4):
        assert labels[seeds[j]] == j
        assert is_connected(edges, np.flatnonzero(labels == j))


def test_rounds_with_small_increments_are_the_heap() -> None:
    rng = np.random.default_rng(3)
    X, edges = rng.normal(size=(60, 2)), random_connected(rng, 60, 60)
    nodes, seeds = nodes_of(X, edges), np.array([1, 20, 40])
    by_heap = nodes.grow(nodes.at(seeds), seeds)[0]
    start = 0.5 * min(np.linalg.norm(X[a] - X[b]) for a, b in ((1, 20), (1, 40), (20, 40)))
    labels = nodes.grow(nodes.at(seeds), seeds, increment=1e-7)[0]
    # Below the first threshold a round gives all of it to one center, which is also the nearest.
    assert start > 0
    np.testing.assert_array_equal(labels, by_heap)


def test_printed_rounds_let_the_first_center_take_what_is_nearer_to_the_second() -> None:
    X = np.array([[0.0], [4.0], [6.0], [10.0]])
    nodes = nodes_of(X, [(0, 1), (1, 2), (2, 3)])
    seeds = np.array([0, 3])
    assert nodes.grow(nodes.at(seeds), seeds, increment=5.0)[0].tolist() == [0, 0, 1, 1]
    X[:, 0] = 0, 6, 7, 10  # half of the distance is 5: only the second threshold, 10, takes more
    nodes = nodes_of(X, [(0, 1), (1, 2), (0, 2), (1, 3)])
    assert nodes.grow(nodes.at(seeds), seeds, increment=5.0)[0].tolist() == [0, 1, 1, 1]
    nodes = nodes_of([[0.0], [11.0], [16.0]], [(0, 1), (1, 2)])
    seeds = np.array([0, 2])
    assert nodes.grow(nodes.at(seeds), seeds)[0].tolist() == [0, 1, 1]


def test_look_ahead_lowers_the_radius_in_rounds() -> None:
    X = np.array([[0.0], [4.5], [10.0], [10.0]])
    nodes, seeds = nodes_of(X, [(0, 1), (1, 2), (1, 3)]), np.array([0, 2])
    ahead = nodes.grow(nodes.at(seeds), seeds, look_ahead=True, increment=5.0)[0]
    assert nodes.grow(nodes.at(seeds), seeds, increment=5.0)[0].tolist() == [0, 0, 1, 0]
    # At the first threshold, 5, only center 0 is near enough: no bridge yet.
    assert ahead.tolist() == [0, 0, 1, 0]
    nodes = nodes_of(X, [(0, 1), (1, 2), (1, 3), (0, 2)])
    X[1] = 5.0
    nodes = nodes_of(X, [(0, 1), (1, 2), (1, 3)])
    assert nodes.grow(nodes.at(seeds), seeds, look_ahead=True, increment=5.0)[0].tolist() == [
        0, 1, 1, 1,
    ]  # fmt: skip


def test_strength_admits_neighbors_of_a_share_of_the_cluster_only() -> None:
    # A triangle with a tail: the tail is a neighbor of one of three members.
    nodes = nodes_of([[0.0], [1.0], [2.0], [2.5]], [(0, 1), (0, 2), (1, 2), (2, 3)])
    seed = np.array([0])
    assert nodes.grow(nodes.at(seed), seed, strength=0.5)[0].tolist() == [0, 0, 0, -1]
    assert nodes.grow(nodes.at(seed), seed, strength=0.3)[0].tolist() == [0, 0, 0, 0]


# --- what it is made of ---


@pytest.mark.parametrize(("leaf", "side"), [(9.0, 1), (1.0, 0)])
def test_look_ahead_sends_a_bridge_where_its_leaf_is_served(leaf: float, side: int) -> None:
    """Bridge 1 is nearer to center 0; a leaf that hangs on it may be nearer to center 2."""
    X = np.array([[0.0], [4.0], [10.0], [leaf]])
    nodes = nodes_of(X, [(0, 1), (1, 2), (1, 3)])
    seeds = np.array([0, 2])
    assert nodes.graph is not None
    labels = np.array([0, -1, 1, -1], np.int32)
    arguments = (nodes.graph.indptr, nodes.graph.indices, X, X[seeds], labels, 1, 0)
    assert better_side(*arguments, 36.0) == side
    assert better_side(*arguments, 35.9) == 0  # not within reach of the other center
