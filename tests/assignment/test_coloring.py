"""Feasibility against the chromatic number by brute force."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.constraints.graphs import (
    as_edges,
    chromatic_number,
    complete,
    cycle,
    is_proper,
    random_graph,
    random_tree,
)
from tests.strategies import edge_lists

from sidelight._kernels.assignment import coloring as kernels
from sidelight.assignment import _cpsat
from sidelight.assignment._coloring import color_bounds, solve_coloring
from sidelight.assignment.inner import check_coloring, infeasible, make_graph
from sidelight.exceptions import InfeasibleConstraints, SidelightError


def mycielski(n: int, edges: np.ndarray) -> tuple[int, np.ndarray]:
    """A graph without larger cliques that needs one color more."""
    pairs = [tuple(edge) for edge in edges.tolist()]
    for a, b in edges.tolist():
        pairs += [(a, n + b), (b, n + a)]
    pairs += [(n + i, 2 * n) for i in range(n)]
    return 2 * n + 1, as_edges(tuple(sorted(pair)) for pair in pairs)


def check_witnesses(found, n, edges):
    known = {tuple(edge) for edge in edges.tolist()}
    if found.clique is not None:
        assert found.answer == "no"
        assert len(set(found.clique)) > found.k
        assert all(tuple(sorted(pair)) in known for pair in itertools.combinations(found.clique, 2))
    if found.odd_cycle is not None:
        assert (found.answer, found.k) == ("no", 2)
        assert len(set(found.odd_cycle)) == len(found.odd_cycle) % 2 * len(found.odd_cycle)
        around = [*found.odd_cycle, found.odd_cycle[0]]
        assert all(tuple(sorted(pair)) in known for pair in itertools.pairwise(around))
    if found.answer == "yes":
        assert found.coloring.shape == (n,)
        assert found.coloring.min(initial=0) >= 0
        assert found.coloring.max(initial=0) < found.k
        assert is_proper(found.coloring, edges)
    else:
        assert found.coloring is None


@settings(max_examples=150)
@given(edge_lists(), st.integers(1, 6))
def test_the_answer_is_that_of_brute_force(graph, k):
    n, edges = graph
    needed = chromatic_number(n, edges)
    found = check_coloring(n, edges, k)
    assert found.answer == ("yes" if needed <= k else "no")
    assert bool(found) == (needed <= k)
    assert found.lower <= needed <= found.upper
    check_witnesses(found, n, edges)


@settings(max_examples=100)
@given(edge_lists())
def test_bounds_have_their_proofs(graph):
    n, edges = graph
    bounds = color_bounds(make_graph(n, edges))
    assert bounds.lower == len(bounds.clique)
    assert is_proper(bounds.coloring, edges)
    assert len(np.unique(bounds.coloring)) == bounds.upper
    # The best possible certificate: a clique is found greedily, but never a false one.
    pairs = set(itertools.combinations(bounds.clique.tolist(), 2))
    assert pairs <= {tuple(edge) for edge in edges.tolist()}


@settings(max_examples=40)
@given(edge_lists(max_nodes=9), st.data())
def test_core_numbers_and_the_degeneracy_order(graph, data):
    n, edges = graph
    made = make_graph(n, edges)
    order, core = kernels.degeneracy_order(made.indptr, made.neighbors)
    assert sorted(order.tolist()) == list(range(n))
    adjacency = np.zeros((n, n), bool)
    adjacency[edges[:, 0], edges[:, 1]] = adjacency[edges[:, 1], edges[:, 0]] = True
    later = [adjacency[order[i], order[i:]].sum() for i in range(n)]
    assert max(later) == core.max()
    k = data.draw(st.integers(0, n))
    alive = np.ones(n, bool)
    for _ in range(n):
        alive &= (adjacency & alive).sum(axis=1) >= k
    assert set(np.flatnonzero(core >= k)) == set(np.flatnonzero(alive))


@settings(max_examples=40)
@given(edge_lists(max_nodes=8))
def test_cover_holds_every_edge_in_true_cliques(graph):
    n, edges = graph
    made = make_graph(n, edges)
    starts, nodes = kernels.cover_by_cliques(made.indptr, made.neighbors)
    covered = set()
    for begin, end in itertools.pairwise(starts.tolist()):
        covered |= set(itertools.combinations(sorted(nodes[begin:end].tolist()), 2))
    assert covered == {tuple(edge) for edge in edges.tolist()}


def test_one_clique_is_covered_once():
    made = make_graph(6, complete(6))
    starts, _ = kernels.cover_by_cliques(made.indptr, made.neighbors)
    assert starts.tolist() == [0, 6]


@pytest.mark.parametrize("n", [3, 5, 7, 101])
def test_odd_cycles_need_three(n):
    found = check_coloring(n, cycle(n), 2)
    assert found.answer == "no"
    assert sorted(found.odd_cycle) == list(range(n))
    assert (found.clique is not None) == (n == 3)
    check_witnesses(found, n, cycle(n))
    assert check_coloring(n, cycle(n), 3)


def test_even_cycles_and_trees_need_two():
    tree = random_tree(200, np.random.default_rng(0))
    for n, edges in ((8, cycle(8)), (200, tree)):
        found = check_coloring(n, edges, 2)
        assert found.answer == "yes"
        check_witnesses(found, n, edges)
        refused = check_coloring(n, edges, 1)
        assert (refused.answer, len(refused.clique)) == ("no", 2)


def test_a_gap_between_clique_and_colours_is_decided_exactly():
    # Mycielski's graphs have no triangle but need more and more colors.
    n, edges = 5, cycle(5)
    for needed in (4, 5):
        n, edges = mycielski(n, edges)
        refused = check_coloring(n, edges, needed - 1)
        assert (refused.answer, refused.lower, refused.clique) == ("no", needed, None)
        found = check_coloring(n, edges, needed)
        assert found.answer == "yes"
        check_witnesses(found, n, edges)


def test_a_hanging_tree_does_not_matter_and_is_colored_after_the_core():
    n, edges = mycielski(*mycielski(5, cycle(5)))
    tail = as_edges((n + i - 1, n + i) for i in range(1, 30))
    edges = np.concatenate([edges, [[0, n]], tail])
    # Color 5 is what the core needs; the solver is asked because the clique proves 2 only.
    graph = make_graph(n + 30, edges)
    answer, colors = solve_coloring(graph, 5, deadline=np.inf)
    assert answer == "yes"
    assert is_proper(colors, graph.edges)
    found = check_coloring(n + 30, edges, 5)
    check_witnesses(found, n + 30, graph.edges)
    assert check_coloring(n + 30, edges, 4).answer == "no"


def test_many_parts_are_decided_one_by_one():
    n, edges = mycielski(5, cycle(5))
    many = np.concatenate([edges + n * i for i in range(20)])
    assert check_coloring(20 * n, many, 3).answer == "no"
    found = check_coloring(20 * n, many, 4)
    check_witnesses(found, 20 * n, many)


def test_without_time_the_answer_is_unknown_but_the_bounds_are_there():
    edges = random_graph(120, 1000, seed=1)
    found = check_coloring(120, edges, 5, time_limit=0.0)
    assert found.answer == "unknown"
    assert not found
    assert found.lower <= 5 < found.upper
    assert "is not known" in str(found)
    check_witnesses(found, 120, edges)


@settings(max_examples=40)
@given(edge_lists(max_nodes=8))
def test_dsatur_is_proper_and_gives_up_exactly_when_colours_run_out(graph):
    n, edges = graph
    made = make_graph(n, edges)
    colors, found = kernels.dsatur(made.indptr, made.neighbors, n)
    assert found
    assert is_proper(colors, edges)
    used = int(colors.max()) + 1
    assert kernels.dsatur(made.indptr, made.neighbors, used)[1]
    assert not kernels.dsatur(made.indptr, made.neighbors, used - 1)[1]


@settings(max_examples=40)
@given(edge_lists(max_nodes=7))
def test_dsatur_is_exact_on_bipartite_graphs(graph):
    n, edges = graph
    halves = edges[(edges % 2).sum(axis=1) == 1]
    made = make_graph(n, halves)
    colors, _ = kernels.dsatur(made.indptr, made.neighbors, n)
    assert colors.max() <= 1


@given(edge_lists(), st.randoms(use_true_random=False))
def test_order_and_repetition_of_edges_do_not_matter(graph, random):
    n, edges = graph
    turned = [tuple(random.sample(edge, 2)) for edge in edges.tolist() * 2]
    random.shuffle(turned)
    made = make_graph(n, turned)
    assert np.array_equal(made.edges, edges)
    lists = np.split(made.neighbors, made.indptr[1:-1])
    assert [part.tolist() for part in lists] == [
        sorted([b for a, b in edges.tolist() if a == v] + [a for a, b in edges.tolist() if b == v])
        for v in range(n)
    ]


def test_nonsense_is_refused():
    with pytest.raises(SidelightError, match="at least 1"):
        check_coloring(2, [[0, 1]], 0)
    with pytest.raises(SidelightError, match="apart from itself"):
        check_coloring(2, [[1, 1]], 2)
    with pytest.raises(SidelightError, match="nodes 0 to 1"):
        check_coloring(2, [[0, 2]], 2)


def test_no_nodes_and_no_edges():
    assert check_coloring(0, [], 1).answer == "yes"
    found = check_coloring(3, [], 1)
    assert (found.answer, found.lower, found.upper) == ("yes", 1, 1)


def test_words():
    found = check_coloring(4, complete(4), 3)
    assert str(found) == (
        "3 clusters cannot satisfy the cannot-links; 4 clusters needed: "
        "0, 1, 2 and 3 are pairwise apart"
    )
    error = infeasible(found, lambda node: "abcd"[node])
    assert isinstance(error, InfeasibleConstraints)
    assert "a, b, c and d are pairwise apart; 4 clusters would suffice" in str(error)
    assert (error.k, error.clique, error.sufficient_k) == (3, (0, 1, 2, 3), 4)
    assert "odd cycle" in str(check_coloring(5, cycle(5), 2))
    assert "10 more" in str(check_coloring(20, complete(20), 3))


def test_a_large_graph_takes_the_fast_path():
    rng = np.random.default_rng(0)
    edges = rng.integers(0, 50_000, size=(100_000, 2))
    edges = edges[edges[:, 0] != edges[:, 1]]
    found = check_coloring(50_000, edges, 5)
    assert found.answer == "yes"
    assert is_proper(found.coloring, make_graph(50_000, edges).edges)


def test_a_graph_that_is_too_large_for_the_solver_stays_unknown(monkeypatch):
    monkeypatch.setattr(_cpsat, "MAX_TERMS", 0)
    n, edges = mycielski(*mycielski(5, cycle(5)))
    found = check_coloring(n, edges, 4)
    assert (found.answer, found.lower, found.upper) == ("unknown", 2, 5)
