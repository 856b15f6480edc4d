"""Moves of pivots at frozen representatives: always valid, never better than the flow."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.privacy.existential.generators import (
    MANY,
    WAYS,
    balanced,
    blobs,
    frozen_graph,
    hamiltonian_gadget,
    is_acyclic,
    squared,
    two_kinds,
)

from sidelight.assignment import assign_at_least
from sidelight.constraints import Conditions


def labels_after(graph, unstable, labels, nearest):
    out = labels.copy()
    gone = unstable[graph.moved > 0]
    out[gone] = nearest[gone]
    return out


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("seed", range(4))
def test_conditions_hold_after_every_single_move_and_cycle(way, seed):
    X, k = blobs(60, 4, seed), 4
    conditions, labels = two_kinds(len(X), k, seed)
    least = conditions.least_in(k)
    centers = np.array([X[labels == h].mean(axis=0) for h in range(k)])
    nearest = squared(X, centers).argmin(axis=1)
    pivot = conditions.members[:, least.any(axis=1)].any(axis=1)
    for n_moves in range(61):
        graph, unstable, requirements = frozen_graph(X, labels, conditions, k)
        done = WAYS[way](graph, n_moves)
        after = labels_after(graph, unstable, labels, nearest)
        assert np.all(conditions.counts(after, k) >= least)
        np.testing.assert_array_equal(requirements.counts(after), graph.counts)
        if done < n_moves:
            break
    kept = graph.counts.copy()
    for n_cycles in range(61):
        graph, unstable, requirements = frozen_graph(X, labels, conditions, k)
        WAYS[way](graph, MANY)
        done = graph.resolve_cycles(n_cycles)
        after = labels_after(graph, unstable, labels, nearest)
        np.testing.assert_array_equal(requirements.counts(after), kept)
        if done < n_cycles:
            break
    moved = np.flatnonzero(after != labels)
    assert np.all(pivot[moved])


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("seed", range(4))
def test_at_exit_surplus_clusters_have_no_edge_and_the_graph_no_cycle(way, seed):
    X, k = blobs(150, 5, seed), 5
    conditions, labels = two_kinds(len(X), k, seed)
    graph, _, _ = frozen_graph(X, labels, conditions, k)
    assert WAYS[way](graph, MANY) > 0
    assert all(graph.surplus(e) <= 0 for e in graph.open_edges())
    graph.resolve_cycles()
    assert all(graph.surplus(e) <= 0 for e in graph.open_edges())
    assert is_acyclic(graph, k)


@pytest.mark.parametrize("way", WAYS)
def test_tight_counts_never_change_and_only_cycles_act(way):
    X, k = blobs(100, 5, 3), 5
    labels = balanced(100, k)
    conditions = Conditions(n_samples=100).at_least(20)
    graph, _, _ = frozen_graph(X, labels, conditions, k)
    assert WAYS[way](graph, MANY) == 0
    assert graph.resolve_cycles() > 0
    assert np.all(graph.counts == 20)


@pytest.mark.parametrize("tightness", [0.5, 0.8, 1.0])
@pytest.mark.parametrize("seed", range(3))
def test_gains_are_ordered(tightness, seed):
    """Heuristics gain at most what the flow does, and that at most what transport does."""
    X, k = blobs(100, 5, seed), 5
    labels = balanced(100, k, seed)
    conditions = Conditions(n_samples=100).at_least(int(tightness * 20))
    centers = np.array([X[labels == h].mean(axis=0) for h in range(k)])
    cost = squared(X, centers)
    flow, _, _ = frozen_graph(X, labels, conditions, k)
    assert flow.move_by_flow()
    transport = assign_at_least(cost, conditions.members, conditions.least_in(k))
    assert transport.optimal
    best = cost[np.arange(100), labels].sum() - transport.cost
    assert flow.total_gain() <= best + 1e-9
    for way in WAYS.values():
        graph, _, _ = frozen_graph(X, labels, conditions, k)
        way(graph, MANY)
        graph.resolve_cycles()
        assert graph.total_gain() <= flow.total_gain() + 1e-9


@pytest.mark.parametrize("seed", range(6))
def test_hamiltonian_gadget(seed):
    """Moves are valid however adversarial the graph; all nodes are met only on such a path."""
    n = 5
    rng = np.random.RandomState(seed)
    edges = [(u, v) for u, v in itertools.permutations(range(n), 2) if rng.rand() < 0.35]
    paths = [
        path
        for path in itertools.permutations(range(n))
        if path[0] == 0 and all(pair in edges for pair in itertools.pairwise(path))
    ]
    for way in WAYS.values():
        for most in range(2 * n):
            graph = hamiltonian_gadget(edges, n, 0)
            way(graph, most)
            assert np.all(graph.counts >= graph.requirements.need)
        graph = hamiltonian_gadget(edges, n, 0)
        assert (way(graph, MANY) >= 2 * (n - 1)) <= bool(paths)
    everything = hamiltonian_gadget(edges, n, 0)  # a look-ahead over the whole path finds it
    assert (everything.move_on_paths(2 * (n - 1)) >= 2 * (n - 1)) == bool(paths)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(list(WAYS)))
def test_overlapping_conditions_hold_for_any_data(seed, way):
    rng = np.random.RandomState(seed)
    n, k = int(rng.randint(12, 60)), int(rng.randint(2, 6))
    X = rng.normal(size=(n, 2))
    conditions, labels = two_kinds(n, k, seed)
    if conditions.is_empty:
        return
    graph, _, requirements = frozen_graph(X, labels, conditions, k)
    WAYS[way](graph, MANY)
    graph.resolve_cycles()
    assert np.all(graph.counts >= requirements.need)
    assert is_acyclic(graph, k)
    flow, _, _ = frozen_graph(X, labels, conditions, k)
    flow.move_by_flow()
    assert graph.total_gain() <= flow.total_gain() + 1e-9


# --- what it is made of ---


def test_lookahead_takes_the_path_of_largest_gain():
    """One surplus pivot: alone it gains 3 at best, on a path 2 + 4."""
    from sidelight.privacy.existential._graph import PivotGraph
    from sidelight.privacy.existential._requirements import Requirements

    def graph():
        need = np.array([[1, 1, 1]])
        has = np.array([[False], [True]])
        requirements = Requirements(np.zeros(0, np.int32), has, need)
        source, target = np.array([0, 0, 1]), np.array([2, 1, 2])
        ones = np.ones(3, dtype=np.int64)
        gain = np.array([3.0, 2.0, 4.0])
        return PivotGraph(source, target, ones, gain, ones, np.array([[2, 1, 1]]), requirements)

    short, long = graph(), graph()
    assert short.move_best() == 1
    assert short.total_gain() == 3
    assert long.move_on_paths(2) == 2
    assert long.total_gain() == 6
