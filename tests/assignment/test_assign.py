"""Exact assignment against brute force over all labelings."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.constraints.graphs import (
    all_labelings,
    as_edges,
    complete,
    cycle,
    is_proper,
    random_graph,
    random_tree,
)
from tests.strategies import SEEDS, assignments, edge_lists

from sidelight._kernels.assignment import augmenting as kernels
from sidelight.assignment import _cpsat, assign, greedy_assign
from sidelight.assignment import _parts as parts
from sidelight.assignment.inner import check_coloring, make_graph
from sidelight.exceptions import InfeasibleConstraints, SidelightError


def brute_force(cost: np.ndarray, edges: np.ndarray) -> float:
    """Least cost of all labelings that satisfy the edges; infinite if there is none."""
    n, k = cost.shape
    labelings = all_labelings(n, k)
    total = cost[np.arange(n), labelings].sum(axis=1)
    return float(np.min(np.where(is_proper(labelings, edges), total, np.inf)))


def total(cost: np.ndarray, labels: np.ndarray) -> float:
    return float(cost[np.arange(len(cost)), labels].sum())


@settings(max_examples=100)
@given(assignments())
def test_the_cost_is_that_of_brute_force(problem):
    cost, edges = problem
    least = brute_force(cost, edges)
    if np.isinf(least):
        with pytest.raises(InfeasibleConstraints):
            assign(cost, edges)
        return
    found = assign(cost, edges)
    assert found.optimal
    assert is_proper(found.labels, edges)
    assert found.cost == pytest.approx(least)
    assert found.cost == pytest.approx(total(cost, found.labels))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(
    ("edges", "n"),
    [
        (cycle(8), 8),
        (cycle(7), 7),
        (complete(3), 3),
        (np.concatenate([cycle(4), cycle(4) + 4]), 8),
        (as_edges([(0, 3), (0, 4), (0, 5), (1, 3), (1, 4), (1, 5), (2, 3), (2, 4), (2, 5)]), 6),
        (np.concatenate([complete(4), [[3, 4], [4, 5], [5, 6], [4, 6]]]), 7),
    ],
    ids=["even cycle", "odd cycle", "triangle", "two parts", "K33", "K4 and a triangle"],
)
def test_known_graphs(edges, n, seed):
    rng = np.random.default_rng(seed)
    # Costs that agree on the best cluster: everybody is in everybody's way.
    cost = rng.random((n, 4)) * 0.3 + np.arange(4)
    found = assign(cost, edges)
    assert found.optimal
    assert found.cost == pytest.approx(brute_force(cost, edges))


@settings(max_examples=40)
@given(st.integers(2, 8), st.integers(2, 4), SEEDS)
def test_the_dynamic_programme_solves_trees(n, k, seed):
    rng = np.random.default_rng(seed)
    edges = random_tree(n, rng)
    cost = rng.random((n, k)) * 0.3 + np.arange(k)
    found = assign(cost, edges)
    assert found.cost == pytest.approx(brute_force(cost, edges))
    assert set(found.parts) == ({"two clusters"} if k == 2 else {"reduction"})


@settings(max_examples=40)
@given(assignments(max_nodes=6, max_clusters=4), st.integers(0, 3))
def test_the_reduction_alone_is_exact(problem, visits):
    cost, edges = problem
    graph = make_graph(len(cost), edges)
    left, parent, first, second, dead_end = kernels.reduce_problem(
        reduced := cost.copy(), graph.indptr, graph.neighbors, visits
    )
    if dead_end >= 0:
        assert np.isinf(brute_force(cost, edges))
        return
    # Whatever remains is labeled by brute force with the changed costs, the rest read back.
    rest = np.setdiff1d(np.arange(len(cost)), left)
    best, least = None, np.inf
    for labels in all_labelings(len(rest), cost.shape[1]):
        full = np.full(len(cost), -1)
        full[rest] = labels
        price = reduced[rest, labels].sum()
        inside = edges[np.isin(edges, rest).all(axis=1)]
        if price < least and is_proper(full, inside):
            best, least = full, price
    if best is None:
        assert np.isinf(brute_force(cost, edges))
        return
    kernels.read_back(best, left, parent, first, second)
    assert is_proper(best, edges)
    assert total(cost, best) == pytest.approx(brute_force(cost, edges))


@pytest.mark.parametrize("seed", range(5))
def test_cliques_are_assignment_problems(seed):
    rng = np.random.default_rng(seed)
    cost = rng.random((5, 6)) * 0.1 + np.arange(6)
    found = assign(cost, complete(5))
    assert found.parts == {"clique": 1}
    assert found.cost == pytest.approx(brute_force(cost, complete(5)))
    labels = parts.solve_clique(cost)
    assert total(cost, labels) == pytest.approx(found.cost)


def test_a_clique_larger_than_k_is_named():
    with pytest.raises(
        InfeasibleConstraints, match=r"clusters .*: 1, 2, 3 and 4 are pair"
    ) as error:
        assign(np.ones((6, 3)), complete(4) + 1)
    assert error.value.clique == (1, 2, 3, 4)
    assert (error.value.k, error.value.sufficient_k) == (3, 4)


@pytest.mark.parametrize("n", [3, 5])
def test_an_odd_cycle_is_named_with_two_clusters(n):
    with pytest.raises(InfeasibleConstraints) as error:
        assign(np.ones((n, 2)), cycle(n))
    assert all(str(node) in str(error.value) for node in range(n))
    assert ("odd cycle" in str(error.value)) == (n == 5)


def test_clusters_that_are_not_allowed_can_make_it_impossible():
    cost = np.array([[0.0, np.inf, np.inf], [0.0, np.inf, np.inf]])
    with pytest.raises(InfeasibleConstraints, match="allowed"):
        assign(cost, [[0, 1]])
    with pytest.raises(InfeasibleConstraints, match="allowed"):
        assign([[np.inf, np.inf, np.inf]], [])
    with pytest.raises(InfeasibleConstraints, match="allowed"):
        assign(cost[:, :2], [[0, 1]])


def test_small_parts_are_searched():
    rng = np.random.default_rng(3)
    edges = np.concatenate([cycle(7) + 7 * i for i in range(50)])
    cost = rng.random((350, 3)) * 0.2 + np.arange(3)
    found = assign(cost, edges)
    assert found.parts["search"] > 0
    apart = sum(brute_force(cost[7 * i : 7 * i + 7], cycle(7)) for i in range(50))
    assert found.cost == pytest.approx(apart)


def test_search_that_runs_out_is_handed_on(monkeypatch):
    monkeypatch.setattr(parts, "_DECISIONS", 0)
    rng = np.random.default_rng(0)
    for seed in range(10):
        edges = random_graph(7, 12, seed)
        cost = rng.random((7, 4)) * 0.3 + np.arange(4)
        least = brute_force(cost, edges)
        found = assign(cost, edges)
        assert found.optimal
        assert found.parts.get("search", 0) == 0
        assert found.cost == pytest.approx(least, abs=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_solvers_of_hard_parts_agree(seed):
    rng = np.random.default_rng(seed)
    edges = random_graph(9, 16, seed)
    graph = make_graph(9, edges)
    cost = rng.random((9, 3)) + np.arange(3) * 0.2
    least = brute_force(cost, edges)
    if np.isinf(least):
        with pytest.raises(parts.Unsolvable):
            parts.solve_hard_part(cost, graph, None, np.inf)
        return
    labels, optimal = parts.solve_hard_part(cost, graph, np.zeros(9, np.int64), np.inf)
    assert optimal
    assert total(cost, labels) == pytest.approx(least, abs=1e-6)
    relaxed = parts.solve_by_relaxation(cost, graph, deadline=1e300)
    if np.all(relaxed >= 0):
        assert is_proper(relaxed, edges)
        assert total(cost, relaxed) == pytest.approx(least, abs=1e-6)


def test_a_large_part_goes_through_the_programme():
    rng = np.random.default_rng(0)
    edges = random_graph(150, 330, seed=5)
    cost = rng.random((150, 4)) + np.arange(4) * 0.3
    found = assign(cost, edges)
    assert found.optimal
    assert found.parts.get("linear programme", 0) + found.parts.get("cp-sat", 0) > 0
    assert is_proper(found.labels, edges)
    again = assign(cost, edges, start=found.labels)
    assert np.array_equal(again.labels, found.labels)


# ------------------------------------------------------------------------- the start


@settings(max_examples=50)
@given(assignments(), SEEDS)
def test_a_start_is_never_worsened_and_kept_on_a_tie(problem, seed):
    cost, edges = problem
    cost = np.round(cost)
    labelings = all_labelings(*cost.shape)
    fine = labelings[
        is_proper(labelings, edges) & np.isfinite(cost[np.arange(len(cost)), labelings]).all(axis=1)
    ]
    if len(fine) == 0:
        return
    start = fine[seed % len(fine)]
    found = assign(cost, edges, start=start)
    assert found.cost <= total(cost, start)
    if found.cost == total(cost, start):
        assert np.array_equal(found.labels, start)


def test_a_start_that_violates_is_no_start():
    cost = np.array([[0.0, 1.0, 2.0]] * 2)
    for start in ([0, 0], [-1, 5]):
        found = assign(cost, [[0, 1]], start=start)
        assert sorted(found.labels) == [0, 1]
    with pytest.raises(SidelightError, match="each of the 2 nodes"):
        assign(cost, [[0, 1]], start=[0])


def hard_problem() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    points, centers = rng.normal(size=(300, 2)), rng.normal(size=(6, 2))
    cost = np.sum((points[:, None] - centers) ** 2, axis=-1)
    return cost, random_graph(300, 1200, seed=1)


def test_without_time_the_best_known_is_returned_and_not_called_optimal():
    cost, edges = hard_problem()
    colors = check_coloring(300, edges, 6).coloring
    found = assign(cost, edges, start=colors, time_limit=0.0)
    assert not found.optimal
    assert is_proper(found.labels, edges)
    assert found.cost <= total(cost, colors)
    better = assign(cost, edges, start=found.labels, time_limit=1.0)
    assert better.cost <= found.cost


def test_without_time_and_without_any_assignment_that_is_said():
    # Needs five colors, but the greedy orders do not find them: see how many they use.
    edges = random_graph(60, 500, seed=2)
    cost = np.random.default_rng(0).random((60, 5))
    with pytest.raises(SidelightError, match="No assignment to 5 clusters"):
        assign(cost, edges, time_limit=0.0)


@settings(max_examples=40)
@given(assignments(max_nodes=7))
def test_chains_improve_and_keep_everything_satisfied(problem):
    cost, edges = problem
    graph = make_graph(len(cost), edges)
    labels, blocked = greedy_assign(cost, edges, np.arange(len(cost)))
    if blocked >= 0:
        return
    before = total(cost, labels)
    kernels.improve_by_chains(cost, graph.indptr, graph.neighbors, labels, 10_000)
    assert is_proper(labels, edges)
    assert total(cost, labels) <= before
    alone = cost[np.arange(len(cost)), labels]
    for node, cluster in itertools.product(range(len(cost)), range(cost.shape[1])):
        moved = labels.copy()
        moved[node] = cluster
        if is_proper(moved, edges):
            assert cost[node, cluster] >= alone[node] - 1e-9


# ------------------------------------------------------------------------- the greedy way

POINTS, CENTERS = np.array([0.0, 10.0, 5.0]), np.array([0.0, 10.0])
APART = [[0, 2], [1, 2]]


def test_the_known_failure_of_cop_kmeans():
    cost = (POINTS[:, None] - CENTERS) ** 2
    labels, blocked = greedy_assign(cost, APART, [0, 1, 2])
    assert blocked == 2
    assert labels.tolist() == [0, 1, -1]
    labels, blocked = greedy_assign(cost, APART, [0, 2, 1])
    assert blocked == -1
    assert labels.tolist() == [0, 0, 1]
    assert is_proper(assign(cost, APART).labels, np.array(APART))


@settings(max_examples=50)
@given(edge_lists(max_nodes=8), SEEDS)
def test_few_conflicts_per_node_block_no_order(graph, seed):
    n, edges = graph
    k = int(np.bincount(edges.ravel(), minlength=n).max()) + 1
    rng = np.random.default_rng(seed)
    labels, blocked = greedy_assign(rng.random((n, k)), edges, rng.permutation(n))
    assert blocked == -1
    assert is_proper(labels, edges)


def test_the_greedy_way_takes_the_cheapest_cluster_that_is_left():
    cost = np.array([[2.0, 1.0, 3.0], [5.0, 4.0, 6.0], [0.0, 1.0, np.inf], [0.0, 1.0, np.inf]])
    labels, _ = greedy_assign(cost, complete(2), [0, 1, 2, 3])
    assert labels.tolist() == [1, 0, 0, 0]
    assert greedy_assign(cost[2:], [[0, 1]], [0, 1])[0].tolist() == [0, 1]
    assert greedy_assign(cost[[2, 3, 2]], complete(3), [0, 1, 2])[1] == 2


def test_nonsense_is_refused():
    with pytest.raises(SidelightError, match="shape"):
        assign([1.0, 2.0], [])
    with pytest.raises(SidelightError, match="infinite where"):
        assign([[np.nan, 1.0]], [])


def test_nothing_to_assign():
    found = assign(np.empty((0, 3)), [])
    assert (len(found.labels), found.cost, found.optimal) == (0, 0.0, True)
    assert len(assign(np.empty((0, 2)), []).labels) == 0


def test_many_small_trees_are_solved_at_once():
    rng = np.random.default_rng(0)
    tree = random_tree(4, rng)
    edges = np.concatenate([tree + 4 * i for i in range(5_000)])
    cost = rng.random((20_000, 3)) * 0.2 + np.arange(3)
    found = assign(cost, edges)
    assert found.parts == {"reduction": 5_000}
    sample = range(0, 5_000, 500)
    for i in sample:
        part = slice(4 * i, 4 * i + 4)
        assert total(cost[part], found.labels[part]) == pytest.approx(brute_force(cost[part], tree))


def test_what_is_too_large_for_a_solver_is_assigned_without_a_proof(monkeypatch):
    monkeypatch.setattr(parts, "_MAX_TERMS", 0)
    monkeypatch.setattr(_cpsat, "MAX_TERMS", 0)
    cost, edges = hard_problem()
    found = assign(cost, edges)
    assert found.parts["greedy"] == 1
    assert not found.optimal
    assert is_proper(found.labels, edges)
    monkeypatch.undo()
    better = assign(cost, edges, start=found.labels, time_limit=2.0)
    assert better.cost <= found.cost


@settings(max_examples=40)
@given(assignments(max_nodes=7))
def test_guesses_are_proper_or_left_out(problem):
    cost, edges = problem
    if cost.shape[1] < 2 or np.isinf(cost).all(axis=1).any():
        return
    labels = parts._best_guess(cost, make_graph(len(cost), edges), [])
    if np.all(labels >= 0):
        assert is_proper(labels, edges)
        assert np.isfinite(total(cost, labels))
