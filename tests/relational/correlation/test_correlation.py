"""Correlation clustering: identities of the objective, and all methods against enumeration."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from tests.relational.correlation.enumerate import (
    all_costs,
    optimum,
    pair_scores,
    partitions,
    random_graph,
)
from tests.strategies import signed_graphs

from sidelight import Constraints, Relations
from sidelight.datasets import make_signed_graph
from sidelight.exceptions import InconsistentConstraints, SidelightError, UnusedKnowledge
from sidelight.relational import CorrelationClustering
from sidelight.relational.correlation import _absent
from sidelight.relational.correlation._absent import estimate_absent
from sidelight.relational.correlation._components import branch, combine, packing_bounds
from sidelight.relational.correlation._graph import SignedGraph, signed_graph
from sidelight.relational.correlation._local_search import Level, local_search, pivot_clusters

METHODS = ("auto", "local", "pivot", "lp", "lp-pivot", "four-approximation", "balls", "exact")


def random_scores(seed: int, n: int = 8) -> np.ndarray:
    upper = np.triu(np.random.default_rng(seed).normal(size=(n, n)), 1)
    return upper + upper.T


# The estimator


@pytest.mark.parametrize("method", METHODS)
def test_consistent_scores_are_recovered(method: str) -> None:
    graph, target = make_signed_graph(40, 4, flip=0.0, random_state=0)
    model = CorrelationClustering(method, random_state=0).fit(graph)
    assert model.objective_ == model.gap_ == 0.0
    np.testing.assert_array_equal(
        model.labels_[:, None] == model.labels_, target[:, None] == target
    )
    assert "proven optimal" in model.summary()


@pytest.mark.parametrize("absent", [0.0, 0.3])
def test_disagreements_add_up_to_the_cost(absent: float) -> None:
    graph, _ = make_signed_graph(60, 4, degree=10, random_state=1)
    model = CorrelationClustering("local", absent=absent, random_state=0).fit(graph)
    listed = model.disagreements()
    assert np.abs(listed["score"]).sum() == pytest.approx(model.objective_)
    same = model.labels_[listed["i"]] == model.labels_[listed["j"]]
    np.testing.assert_array_equal(same, listed["kind"] == "joined")
    np.testing.assert_array_equal(same, listed["score"] < 0)
    pairs = set(zip(listed["i"].tolist(), listed["j"].tolist(), strict=True))
    assert len(pairs) == len(same)


def test_cost_does_not_depend_on_the_order_of_objects() -> None:
    S = random_scores(7, 9)
    order = np.random.default_rng(0).permutation(9)
    first = CorrelationClustering(random_state=0).fit(S)
    second = CorrelationClustering(random_state=0).fit(S[np.ix_(order, order)])
    assert second.objective_ == pytest.approx(first.objective_)
    assert first.gap_ == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_more_constraints_never_lower_the_optimum(seed: int) -> None:
    S = random_scores(seed)
    rng = np.random.default_rng(seed)
    known = Constraints.sample(rng.integers(3, size=8), 6, random_state=seed)
    free = CorrelationClustering(random_state=0).fit(S)
    bound = CorrelationClustering(random_state=0).fit(S, constraints=known)
    assert bound.lower_bound_ >= free.lower_bound_ - 1e-9


@given(st.integers(0, 10**6))
@settings(max_examples=25, deadline=None)
def test_everything_known_holds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = 40
    S = random_scores(seed, n)
    known = Constraints.sample(rng.integers(5, size=n), 30, random_state=seed % 1000)
    sources = rng.integers(-1, 15, size=n)
    node = known.components()
    _, once = np.unique(node * 100 + sources, return_index=True)
    sources[np.setdiff1d(np.arange(n), once)] = -1
    for method in ("local", "pivot"):
        model = CorrelationClustering(method, n_init=2, absent=0.1, random_state=0)
        model.fit(S, constraints=known, sources=sources)
        assert known.violations(model.labels_).n == 0
        for source in range(15):
            held = model.labels_[sources == source]
            assert len(set(held)) == len(held)


def test_local_search_is_no_worse_than_pivots() -> None:
    graph, _ = make_signed_graph(2000, 50, degree=20, random_state=0)
    pivots = CorrelationClustering("pivot", n_init=100, random_state=0).fit(graph)
    local = CorrelationClustering("local", n_init=1, random_state=0).fit(graph)
    assert local.objective_ < pivots.objective_
    assert local.lower_bound_ == pivots.lower_bound_


def test_gap_closes_on_a_planted_graph() -> None:
    graph, _ = make_signed_graph(60, 4, random_state=0)
    model = CorrelationClustering(random_state=0).fit(graph)
    assert model.gap_ == 0.0
    assert model.bound_method_ == "lp"
    assert "proven optimal" in model.summary().split("\n")[2]


def test_gap_is_told() -> None:
    graph, _ = make_signed_graph(500, 20, degree=10, random_state=0)
    model = CorrelationClustering("local", random_state=0).fit(graph)
    assert 0 < model.gap_ < 1
    assert f"within {100 * model.gap_:.2g} % of optimal" in model.summary()


# Prediction


@pytest.mark.parametrize("absent", [0.0, 0.2])
def test_predict_joins_the_cluster_that_lowers_the_cost_most(absent: float) -> None:
    S = random_scores(1, 12)
    model = CorrelationClustering(absent=absent, random_state=0).fit(S)
    new = np.where(np.random.default_rng(0).random((20, 12)) < 0.5, random_scores(2, 20)[:, :12], 0)
    gains = np.where(new != 0, new, -absent) @ np.eye(model.labels_.max() + 1)[model.labels_]
    expected = np.where(gains.max(axis=1) > 0, gains.argmax(axis=1), -1)
    np.testing.assert_array_equal(model.predict(new), expected)
    np.testing.assert_array_equal(model.predict(sparse.csr_array(new)), expected)


# Sources and ids


def test_sources_by_id() -> None:
    import pandas as pd

    scored = Relations([("a", "b"), ("b", "c")], [2.0, 1.0], ids=["a", "b", "c"])
    sources = pd.Series(["x", "x", "y"], index=["c", "b", "a"])
    model = CorrelationClustering(random_state=0).fit(scored, sources=sources)
    assert list(model.labels_) == [0, 0, 1]
    assert model.objective_ == 1.0
    assert model.disagreements()["i"].tolist() == ["b"]


def test_objects_of_one_source_that_must_links_join() -> None:
    scored = Relations([("a", "b")], ids=["a", "b", "c"])
    for known in (
        Constraints([("a", "b"), ("b", "c")], ids=["a", "b", "c"]),
        Constraints([(0, 1), (1, 2)], n_samples=3),
    ):
        with pytest.raises(
            InconsistentConstraints, match=r"'a' and 'c' are of one source"
        ) as caught:
            CorrelationClustering().fit(scored, constraints=known, sources=["f", "g", "f"])
        assert caught.value.chain == (0, 1, 2)
        assert "'a' - 'b' - 'c'" in str(caught.value)


def test_contradictory_chain_is_named() -> None:
    scored = Relations([("a", "b")], ids=["a", "b", "c"])
    known = Constraints([("a", "b"), ("b", "c")], [("a", "c")], ids=["a", "b", "c"])
    with pytest.raises(InconsistentConstraints, match="'b'"):
        CorrelationClustering().fit(scored, constraints=known)


# Bad input


def test_bad_input() -> None:
    S = random_scores(0, 5)
    with pytest.raises(SidelightError, match="one entry per row"):
        CorrelationClustering().fit(S, sources=["a", "b"])
    with pytest.raises(SidelightError, match="method must be one of"):
        CorrelationClustering("magic").fit(S)
    with pytest.raises(SidelightError, match="absent must be"):
        CorrelationClustering(absent=-1.0).fit(S)
    with pytest.raises(SidelightError, match="about 4 rows"):
        CorrelationClustering().fit(S, constraints=Constraints(n_samples=4))


def test_too_many_pairs_to_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sidelight.relational.correlation._correlation.MAX_LISTED", 2)
    model = CorrelationClustering(absent=0.1, random_state=0).fit(np.ones((5, 5)))
    with pytest.raises(SidelightError, match="10 pairs"):
        model.disagreements()


def brute_force_absent(graph: Relations) -> float:
    """Cost of a pair without a score, from all paths of two positive edges."""
    positive = {tuple(pair) for pair in graph.edges[graph.scores > 0].tolist()}
    listed = {tuple(pair) for pair in graph.edges.tolist()}
    near = {
        u: [v for v in range(graph.n_samples) if tuple(sorted((u, v))) in positive]
        for u in range(graph.n_samples)
    }
    ends = [pair for u in near for pair in itertools.combinations(near[u], 2)]
    closed = sum(pair in listed for pair in ends)
    return float(np.log((len(ends) + 1) / (len(ends) - closed + 1)))


@pytest.mark.parametrize("seed", range(6))
def test_cost_of_unscored_pairs_is_that_of_all_paths(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scores = np.triu(rng.normal(size=(12, 12)) * (rng.random((12, 12)) < 0.4), 1)
    graph = Relations.from_matrix(scores)
    model = CorrelationClustering(absent="auto", random_state=0).fit(graph)
    assert model.absent_ == pytest.approx(brute_force_absent(graph))
    given = CorrelationClustering(absent=model.absent_, random_state=0).fit(graph)
    np.testing.assert_array_equal(model.labels_, given.labels_)
    assert model.objective_ == given.objective_


def test_hyperedges_are_told_to_be_of_no_use() -> None:
    related = Relations([(0, 1)], hyperedges=[[1, 2]], n_samples=3)
    with pytest.warns(UnusedKnowledge, match="hyper-edges"):
        model = CorrelationClustering(random_state=0).fit(related)
    assert model.labels_.tolist() == [0, 0, 1]


# --- what it is made of ---


# The objective


@pytest.mark.parametrize("seed", range(5))
def test_identities_of_the_objective(seed: int) -> None:
    S = random_scores(seed, 12)
    graph = signed_graph(Relations.from_matrix(S), Constraints(n_samples=12))
    labels = np.random.default_rng(seed).integers(4, size=12)
    plus, minus = np.maximum(S, 0).sum() / 2, np.maximum(-S, 0).sum() / 2
    one_hot = np.eye(4)[labels]
    within = np.trace(one_hot.T @ S @ one_hot) / 2
    cost, agreement = graph.cost(labels), graph.agreement(labels)
    assert agreement + cost == pytest.approx(plus + minus)
    assert cost == pytest.approx(plus - within)
    assert agreement - cost == pytest.approx(plus + minus - 2 * cost)


@given(signed_graphs())
@settings(max_examples=40, deadline=None)
def test_cost_and_violations_of_all_partitions(graph: SignedGraph) -> None:
    costs = all_costs(graph)
    step = max(len(costs) // 50, 1)
    for labels, cost in zip(partitions(graph.n)[::step], costs[::step], strict=True):
        assert graph.violates(labels) == np.isinf(cost)
        if np.isfinite(cost):
            assert graph.cost(labels) == pytest.approx(cost)


def test_contracted_must_links_cost_what_their_objects_cost() -> None:
    S = random_scores(3)
    known = Constraints([(0, 1), (1, 5), (2, 7)], n_samples=8)
    contracted = signed_graph(Relations.from_matrix(S), known)
    plain = signed_graph(Relations.from_matrix(S), Constraints(n_samples=8))
    for labels in partitions(contracted.n):
        assert contracted.cost(labels) == pytest.approx(plain.cost(labels[contracted.node]))


@given(signed_graphs())
@settings(max_examples=40, deadline=None)
def test_costs_of_components_add_up(graph: SignedGraph) -> None:
    labels = graph.positive_components
    total = graph.component_costs(labels).sum() + graph.constant
    assert total == pytest.approx(graph.cost(labels))


# Pivot


@pytest.mark.parametrize("seed", range(10))
def test_pivot_joins_the_first_pivot_among_the_positive_neighbors(seed: int) -> None:
    graph = random_graph(seed, 30, density=0.3)
    order = np.random.default_rng(seed).permutation(30)
    priority = np.argsort(order)
    labels = pivot_clusters(graph, order)
    is_pivot = labels == np.arange(30)
    positive = pair_scores(graph) > 0
    for u in range(30):
        earlier = [v for v in np.flatnonzero(positive[u] & is_pivot) if priority[v] < priority[u]]
        assert labels[u] == min(earlier, key=lambda v: priority[v], default=u)


def expected_pivot_cost(positive: np.ndarray) -> tuple[float, float]:
    """Expected cost, and the sum of p_t over inconsistent triples, by recursion over subsets."""
    n = len(positive)
    inconsistent = [
        t
        for t in itertools.combinations(range(n), 3)
        if sum(positive[a, b] for a, b in itertools.combinations(t, 2)) == 2
    ]
    chance = {frozenset(range(n)): 1.0}
    cost, triples = 0.0, 0.0
    for size in range(n, 0, -1):
        for left in [frozenset(c) for c in itertools.combinations(range(n), size)]:
            p = chance.pop(left, 0.0)
            if p == 0.0:
                continue
            triples += p * sum(3 / size for t in inconsistent if left.issuperset(t))
            for u in left:
                cluster = frozenset(v for v in left if v == u or positive[u, v])
                rest = left - cluster
                paid = sum(not positive[a, b] for a, b in itertools.combinations(cluster, 2))
                paid += sum(positive[a, b] for a in cluster for b in rest)
                cost += p / size * paid
                chance[rest] = chance.get(rest, 0.0) + p / size
    return cost, triples


@pytest.mark.parametrize("seed", range(3))
def test_expected_cost_of_pivot(seed: int) -> None:
    n = 6
    graph = random_graph(seed, n, density=1.0, unit=True)
    expected, triples = expected_pivot_cost(pair_scores(graph) > 0)
    costs = [
        graph.cost(pivot_clusters(graph, np.array(order)))
        for order in itertools.permutations(range(n))
    ]
    assert np.mean(costs) == pytest.approx(expected)
    assert expected == pytest.approx(triples)
    assert expected <= 3 * optimum(graph) + 1e-9
    assert triples / 3 <= optimum(graph) + 1e-9


# Local search, branch and bound, packing


@given(signed_graphs(), st.integers(0, 100))
@settings(max_examples=40, deadline=None)
def test_local_search_against_enumeration(graph: SignedGraph, seed: int) -> None:
    rng = np.random.RandomState(seed)
    start = pivot_clusters(graph, rng.permutation(graph.n))
    assert not graph.violates(start)
    found = local_search(graph, start, rng, max_iter=50)
    assert not graph.violates(found.labels)
    assert optimum(graph) - 1e-9 <= found.objective <= graph.cost(start) + 1e-9
    assert found.objective == pytest.approx(graph.cost(found.labels))
    assert np.all(np.diff(found.history) <= 1e-9)


def test_local_search_ends_where_no_move_of_a_node_gains() -> None:
    graph = random_graph(5, 40, density=0.5, absent=0.1)
    labels = np.arange(40, dtype=np.int32)
    Level.of(graph).move(labels, np.random.RandomState(0))
    cost = graph.cost(labels)
    for u in range(40):
        for target in {*labels.tolist(), 40}:
            moved = labels.copy()
            moved[u] = target
            assert graph.cost(moved) >= cost - 1e-9


@pytest.mark.parametrize("seed", range(5))
def test_gain_of_moves_is_the_decrease_of_the_cost(seed: int) -> None:
    graph = random_graph(seed, 50, density=0.4, absent=0.2, n_cannot=10, n_sources=20)
    level, rng = Level.of(graph), np.random.RandomState(seed)
    labels = np.arange(graph.n, dtype=np.int32)
    before = graph.cost(labels)
    gain, n_moves = level.move(labels, rng)
    assert n_moves > 0
    assert before - graph.cost(labels) == pytest.approx(gain)
    assert not graph.violates(labels)


def test_merging_clusters_escapes_where_no_node_moves() -> None:
    # Two cliques of strong edges, joined by weak ones: no single node may change sides.
    S = np.full((8, 8), 0.5)
    S[:4, :4] = S[4:, 4:] = 5.0
    np.fill_diagonal(S, 0.0)
    graph = signed_graph(Relations.from_matrix(S), Constraints(n_samples=8))
    halves = np.repeat([0, 1], 4).astype(np.int32)
    assert Level.of(graph).move(halves.copy(), np.random.RandomState(0))[1] == 0
    assert local_search(graph, halves, np.random.RandomState(0), max_iter=5).objective == 0.0


def test_splitting_clusters_escapes_where_no_node_moves() -> None:
    S = np.full((8, 8), -0.5)
    S[:4, :4] = S[4:, 4:] = 5.0
    np.fill_diagonal(S, 0.0)
    graph = signed_graph(Relations.from_matrix(S), Constraints(n_samples=8))
    one = np.zeros(8, np.int32)
    assert Level.of(graph).move(one.copy(), np.random.RandomState(0))[1] == 0
    assert local_search(graph, one, np.random.RandomState(0), max_iter=5).objective == 0.0


@given(signed_graphs())
@settings(max_examples=40, deadline=None)
def test_packing_is_a_bound_and_branching_is_exact(graph: SignedGraph) -> None:
    best, bounds = optimum(graph), packing_bounds(graph)
    assert bounds.sum() + graph.constant <= best + 1e-9
    labels, costs = combine(graph, [np.arange(graph.n)])
    labels, costs, bounds = branch(graph, labels, costs, bounds)
    assert not graph.violates(labels)
    assert graph.cost(labels) == pytest.approx(best)
    assert bounds.sum() + graph.constant == pytest.approx(best)


def test_packing_finds_long_cycles() -> None:
    for length in (3, 4, 5, 7):
        ring = [(i, (i + 1) % length) for i in range(length)]
        scores = [-0.5] + [1.0] * (length - 1)
        graph = signed_graph(
            Relations(ring, scores, n_samples=length), Constraints(n_samples=length)
        )
        assert packing_bounds(graph).sum() == pytest.approx(0.5)


def test_packing_counts_absent_pairs_and_constraints() -> None:
    wedge = Relations([(0, 1), (1, 2)], [2.0, 3.0], n_samples=3)
    free = Constraints(n_samples=3)
    assert packing_bounds(signed_graph(wedge, free)).sum() == 0.0
    assert packing_bounds(signed_graph(wedge, free, absent=0.7)).sum() == pytest.approx(0.7)
    apart = Constraints(cannot_link=[(0, 2)], n_samples=3)
    assert packing_bounds(signed_graph(wedge, apart)).sum() == pytest.approx(2.0)
    sources = np.array([4, -1, 4])
    assert packing_bounds(signed_graph(wedge, free, sources=sources)).sum() == pytest.approx(2.0)


def test_combine_takes_the_best_of_every_component() -> None:
    pairs = Relations([(0, 1), (2, 3)], n_samples=4)
    graph = signed_graph(pairs, Constraints(n_samples=4))
    labels, costs = combine(graph, [np.array([0, 0, 1, 2]), np.array([0, 1, 2, 2])])
    assert graph.cost(labels) == costs.sum() == 0.0


# The estimator


@pytest.mark.parametrize("method", METHODS)
def test_every_method_against_enumeration(method: str) -> None:
    for seed in range(8):
        S = random_scores(seed)
        known = Constraints([(0, 1)], [(1, 2), (3, 4)] if seed % 2 else [], n_samples=8)
        sources = ["a", "", "b", "a", "b", "c", "c", None] if seed % 4 > 1 else None
        codes = None if sources is None else np.array([0, -1, 1, 0, 1, 2, 2, -1])
        graph = signed_graph(Relations.from_matrix(S), known, sources=codes)
        best = optimum(graph)
        model = CorrelationClustering(method, random_state=0)
        model.fit(S, constraints=known, sources=sources)
        assert model.lower_bound_ <= best + 1e-7 <= model.objective_ + 2e-7
        assert model.objective_ + model.agreement_ == pytest.approx(np.abs(S).sum() / 2)
        assert model.n_violations_ == 0
        if sources is not None:
            for code in range(3):
                held = model.labels_[codes == code]
                assert len(set(held)) == len(held)
        if method in ("auto", "exact"):
            assert model.objective_ == pytest.approx(best)
            assert model.gap_ == pytest.approx(0.0, abs=1e-7)


# Bad input


def test_cost_of_unscored_pairs_from_drawn_paths(monkeypatch: pytest.MonkeyPatch) -> None:
    graph, _ = make_signed_graph(400, 20, degree=20, random_state=0)
    exact = estimate_absent(graph)
    monkeypatch.setattr(_absent, "MAX_PATHS", 15_000)
    assert estimate_absent(graph) == pytest.approx(exact, rel=0.1)
    assert estimate_absent(graph) != exact
    assert estimate_absent(Relations(n_samples=3)) == 0.0
    assert estimate_absent(Relations([(0, 1), (1, 2)], n_samples=3)) == 0.0
