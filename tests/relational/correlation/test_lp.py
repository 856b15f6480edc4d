"""The linear program: its optimum is that of the full model, its bound is proven."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from scipy import sparse
from tests.relational.correlation.enumerate import (
    forbidden,
    optimum,
    pair_scores,
    partitions,
    random_graph,
)
from tests.relational.correlation.full_lp import full_lp, triple_packing
from tests.strategies import signed_graphs

from sidelight import Constraints, Relations
from sidelight.datasets import make_signed_graph
from sidelight.exceptions import SidelightError
from sidelight.relational.correlation import _lp_parts
from sidelight.relational.correlation._exact import solve_exact
from sidelight.relational.correlation._graph import SignedGraph, signed_graph
from sidelight.relational.correlation._lp import LPSolution, rounded_up, solve_lp
from sidelight.relational.correlation._lp_parts import CoveringProgram
from sidelight.relational.correlation._rounding import plain_distances


def planted(n: int, flip: float = 0.12, seed: int = 0, **params: float) -> SignedGraph:
    sample = make_signed_graph(n, 5, flip=flip, random_state=seed, **params)
    return signed_graph(sample.relations, Constraints(n_samples=n))


def cost_of(graph: SignedGraph, x: np.ndarray) -> float:
    """Objective of the program."""
    scores = pair_scores(graph)
    paid = np.where(scores > 0, scores * x, -scores * (1 - x))
    return graph.constant + float(np.triu(paid, 1).sum())


def largest_violation(x: np.ndarray) -> float:
    """Of all triangle inequalities."""
    return float((x[:, None, :] - x[:, :, None] - x[None, :, :]).max())


def check_solution(graph: SignedGraph, found: LPSolution) -> None:
    x = found.x
    assert found.converged
    np.testing.assert_array_equal(x, x.T)
    assert x.min() >= 0
    assert x.max(initial=0) <= 1
    assert not x.diagonal().any()
    assert largest_violation(x) <= 1e-7
    assert np.all(x[forbidden(graph)] == 1)
    assert cost_of(graph, x) == pytest.approx(found.value, abs=1e-6)


@settings(max_examples=40, deadline=None)
@given(signed_graphs())
def test_optimum_of_the_full_model(graph):
    found = solve_lp(graph)
    check_solution(graph, found)
    assert found.value == pytest.approx(full_lp(graph), abs=1e-6)
    best = optimum(graph)
    assert -1e-9 <= found.value <= best + 1e-9
    assert found.bound <= best + 1e-9
    assert found.bound >= found.value - 1e-6
    if found.integral:
        labels = found.distances.clusters()
        assert not graph.violates(labels)
        assert graph.cost(labels) == pytest.approx(best)


@pytest.mark.parametrize("flip", [0.12, 0.3, 0.5])
@pytest.mark.parametrize("strength", [None, 1.0])
def test_larger_graphs(flip, strength):
    graph = planted(24, flip, seed=1, strength=strength)
    found = solve_lp(graph)
    check_solution(graph, found)
    assert found.value == pytest.approx(full_lp(graph), abs=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_sparse_graphs_need_longer_cycles(seed):
    """Few triangles, so that most rows are longer cycles; the full model has no such rows."""
    graph = random_graph(seed, 22, density=0.16)
    found = solve_lp(graph)
    check_solution(graph, found)
    assert found.value == pytest.approx(full_lp(graph), abs=1e-6)


def test_long_cycle():
    """One negative edge in a cycle of n edges is paid once, in the cheapest place."""
    n = 12
    edges = np.column_stack([np.arange(n), np.roll(np.arange(n), -1)])
    scores = np.full(n, 2.0)
    scores[0], scores[5] = -3.0, 0.5
    graph = signed_graph(Relations(edges, scores, n_samples=n), Constraints(n_samples=n))
    found = solve_lp(graph)
    assert found.value == 0.5
    assert found.integral
    assert found.n_rows == 1


def test_cycles_of_any_length_are_rows_of_dense_graphs_too():
    """Inconsistent triples alone are weaker (7.5 against 7.667 in one graph of 14 nodes)."""
    weaker = 0
    for seed in range(40):
        graph = random_graph(seed, 9, density=1.0, unit=True)
        value = solve_lp(graph).value
        packing = triple_packing(graph)
        assert packing <= value + 1e-7
        assert value == pytest.approx(full_lp(graph), abs=1e-6)
        weaker += packing < value - 1e-6
    assert weaker <= 5


def test_gap_is_zero_where_the_program_is_integral():
    graph = planted(100)
    found = solve_lp(graph)
    assert found.integral
    assert graph.cost(found.distances.clusters()) == found.value == found.bound
    assert found.n_rows < 485_100 / 20  # of all triangle inequalities


@pytest.mark.parametrize("density", [1.0, 0.5])
def test_consistent_scores_cost_nothing(density):
    rng = np.random.default_rng(0)
    target = rng.integers(4, size=30)
    first, second = np.triu_indices(30, 1)
    kept = rng.random(len(first)) < density
    edges = np.column_stack([first, second])[kept]
    signs = np.where(target[edges[:, 0]] == target[edges[:, 1]], 1.0, -1.0)
    scores = signs * rng.uniform(0.1, 2.0, len(edges))
    graph = signed_graph(Relations(edges, scores, n_samples=30), Constraints(n_samples=30))
    found = solve_lp(graph)
    assert found.value == 0
    assert found.integral
    if density == 1.0:
        np.testing.assert_array_equal(found.x == 0, target[:, None] == target)


@pytest.mark.parametrize("seed", range(10))
def test_constraints_never_lower_the_value(seed):
    free = solve_lp(random_graph(seed, 10)).value
    assert solve_lp(random_graph(seed, 10, n_must=2)).value >= free - 1e-7
    assert solve_lp(random_graph(seed, 10, n_cannot=3)).value >= free - 1e-7
    assert solve_lp(random_graph(seed, 10, n_must=2, n_cannot=3)).value >= free - 1e-7


@pytest.mark.parametrize("seed", range(6))
def test_clusters_that_are_cliques(seed):
    """Pairs that are not listed must not join."""
    graph = random_graph(seed, 8, density=0.6)
    graph = dataclasses.replace(graph, cliques=True)
    listed = graph.scores.copy()
    listed.data = np.ones_like(listed.data)
    absent = np.argwhere(np.triu(listed.toarray() == 0, 1))
    apart = Constraints(cannot_link=absent, n_samples=8)
    coo = sparse.triu(graph.scores).tocoo()
    relations = Relations(np.column_stack([coo.row, coo.col]), coo.data, n_samples=8)
    stated = signed_graph(relations, apart)
    found = solve_lp(graph)
    assert found.value == pytest.approx(solve_lp(stated).value, abs=1e-7)
    assert found.value <= optimum(stated) + 1e-9
    assert np.all(found.x[absent[:, 0], absent[:, 1]] == 1)


def test_a_program_that_is_stopped_still_gives_a_bound():
    graph = planted(40, 0.3, seed=3)
    whole = solve_lp(graph)
    bounds = []
    for max_rounds in range(whole.n_rounds):
        found = solve_lp(graph, max_rounds=max_rounds)
        assert not found.converged
        assert not found.integral
        assert largest_violation(found.x) <= 1e-7
        bounds.append(found.value)
    assert bounds[0] == 0
    assert np.all(np.diff([*bounds, whole.value]) >= -1e-7)
    assert solve_lp(graph, time_limit=0.0).value <= whole.value


def test_what_must_not_join_is_apart_when_stopped():
    graph = random_graph(0, 8, density=1.0, n_cannot=3, n_sources=1)
    found = solve_lp(graph, max_rounds=0)
    assert np.all(found.x[forbidden(graph)] == 1)


@pytest.mark.parametrize("max_rows", [1, 7, 50])
def test_rows_of_a_round_do_not_change_the_value(max_rows):
    graph = planted(16, 0.25, seed=2, strength=1.0)
    found = solve_lp(graph, max_rows_per_round=max_rows)
    check_solution(graph, found)
    assert found.value == pytest.approx(solve_lp(graph).value, abs=1e-7)


def test_components_are_solved_on_their_own(monkeypatch):
    """Together in one program or each in its own: the same values, which add up."""
    graphs = [random_graph(seed, 7, density=0.9) for seed in range(5)]
    edges, scores = [], []
    for k, graph in enumerate(graphs):
        coo = sparse.triu(graph.scores).tocoo()
        edges.append(np.column_stack([coo.row, coo.col]) + 7 * k)
        scores.append(coo.data)
    relations = Relations(np.concatenate(edges), np.concatenate(scores), n_samples=36)
    union = signed_graph(relations, Constraints(n_samples=36))
    shared = solve_lp(union)
    expected = sum(solve_lp(graph).value for graph in graphs)
    assert shared.value == pytest.approx(expected, abs=1e-7)
    assert shared.component_bounds.sum() == pytest.approx(expected, abs=1e-7)
    monkeypatch.setattr(_lp_parts, "SHARED_EDGES", 1)
    alone = solve_lp(union)
    np.testing.assert_allclose(alone.component_bounds, shared.component_bounds, atol=1e-7)
    assert alone.x[0, 35] == 1


def test_bounds_of_components_are_those_of_the_component():
    """Every entry is at most the cost of the best partition in its component."""
    graph = random_graph(7, 8, density=0.35, unit=True)
    found = solve_lp(graph)
    best = np.full(len(found.component_bounds), np.inf)
    component = graph.positive_components
    for labels in partitions(graph.n):
        _, inside = np.unique(labels * graph.n + component, return_inverse=True)
        best = np.minimum(best, graph.component_costs(inside))
    assert np.all(found.component_bounds <= best + 1e-9)


def test_whole_scores_round_the_bound_up():
    """A program of 4.5, say, where all partitions cost 5 or more."""
    for seed in range(40):
        graph = random_graph(seed, 7, density=1.0, unit=True)
        found = solve_lp(graph)
        if found.value % 1 > 0.01:
            break
    assert found.value < found.bound == np.ceil(found.value) <= optimum(graph)
    np.testing.assert_array_equal(rounded_up(np.array([2.0, 2.5, 2 + 1e-12, 0.0])), [2, 3, 2, 0])


@pytest.mark.parametrize("seed", range(5))
def test_numbering_of_the_nodes_does_not_matter(seed):
    graph = random_graph(seed, 9, density=0.8)
    order = np.random.default_rng(seed).permutation(9)
    swapped = dataclasses.replace(graph, scores=graph.scores[order][:, order].sorted_indices())
    assert solve_lp(swapped).value == pytest.approx(solve_lp(graph).value, abs=1e-7)


def test_wrong_duals_give_no_bound_that_is_too_large(monkeypatch):
    """The bound is computed from the duals with what they exceed taken off again."""
    graph = random_graph(4, 8, density=1.0, unit=True)
    honest = solve_lp(graph).value
    original = CoveringProgram.solve

    def exaggerated(self, seconds):
        z, duals = original(self, seconds)
        return z, 1.7 * duals + 0.3

    monkeypatch.setattr(CoveringProgram, "solve", exaggerated)
    assert solve_lp(graph).value <= honest + 1e-9


def test_too_many_nodes_are_refused(monkeypatch):
    monkeypatch.setattr(_lp_parts, "MAX_NODES", 10)
    with pytest.raises(SidelightError, match=r"linear program with n=30 .*use method='local'"):
        solve_lp(planted(30))
    with pytest.raises(SidelightError, match=r"Balls of plain distances with n=30 "):
        plain_distances(planted(30))


def test_too_many_pairs_are_refused(monkeypatch):
    """Those that are not listed count if they cost something."""
    monkeypatch.setattr(_lp_parts, "MAX_PAIRS", 100)
    with pytest.raises(SidelightError, match=r"n=30 .* 435 columns, .*use method='local'"):
        solve_lp(planted(30))
    path = np.column_stack([np.arange(29), np.arange(1, 30)])
    relations = Relations(path, np.ones(29), n_samples=30)
    known = Constraints(n_samples=30)
    assert solve_lp(signed_graph(relations, known)).value == 0
    with pytest.raises(SidelightError, match=r"An exact solution with n=30 .* 435 columns"):
        solve_exact(signed_graph(relations, known, absent=0.1))


def test_all_distances_of_many_nodes_are_refused(monkeypatch):
    monkeypatch.setattr("sidelight.relational.correlation._lp.MAX_MATRIX", 5)
    found = solve_lp(random_graph(0, 6))
    with pytest.raises(SidelightError, match="matrix of"):
        _ = found.x


@pytest.mark.parametrize("n", [0, 1, 2])
def test_tiny_graphs(n):
    edges = np.array([[0, 1]] if n == 2 else np.empty((0, 2)), np.int64)
    relations = Relations(edges, np.ones(len(edges)), n_samples=n)
    graph = signed_graph(relations, Constraints(n_samples=n))
    found = solve_lp(graph)
    assert found.value == 0
    assert found.integral
    assert found.x.shape == (n, n)
