"""A and A*: decisions, components, and what is known always holds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree
from scipy.spatial.distance import squareform

from sidelight import Constraints, Relations
from sidelight.exceptions import ConstraintWarning, InconsistentConstraints, SidelightError
from sidelight.relational import AttributeResolution, ColumnComparison

COMPARE = {"x0": ColumnComparison("number", scale=1.0)}


def points(n: int, seed: int, spread: float = 6.0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(0, spread, (n, 1))


def similarities(X: np.ndarray) -> np.ndarray:
    return np.exp(-((X - X.T) ** 2) / 2)


def alike(one: Any, other: Any) -> bool:
    one, other = np.asarray(one), np.asarray(other)
    return bool(np.array_equal(one[:, None] == one, other[:, None] == other))


@given(st.integers(2, 25), st.integers(0, 10_000), st.sampled_from([0.0, 0.3, 0.8, 0.99, 1.0]))
@settings(max_examples=40, deadline=None)
def test_labels_are_the_components_of_the_joined_pairs(n: int, seed: int, t: float) -> None:
    X = points(n, seed)
    model = AttributeResolution(t, compare=COMPARE).fit(X)
    S = similarities(X)
    i, j = model.pairs_["i"], model.pairs_["j"]
    np.testing.assert_allclose(model.pairs_["similarity"], S[i, j])
    np.testing.assert_array_equal(model.pairs_["joined"], model.pairs_["similarity"] >= t)
    joined = model.pairs_["joined"]
    graph = sparse.coo_array((np.ones(joined.sum()), (i[joined], j[joined])), shape=(n, n))
    assert alike(model.labels_, connected_components(graph, directed=False)[1])
    _, first = np.unique(model.labels_, return_index=True)
    assert np.all(np.diff(first) > 0)  # numbered by first appearance


@given(st.integers(3, 20), st.integers(0, 10_000), st.floats(0.05, 0.95))
@settings(max_examples=40, deadline=None)
def test_closure_is_single_linkage(n: int, seed: int, t: float) -> None:
    X = points(n, seed)
    distances = squareform(1 - similarities(X), checks=False)
    single = fcluster(linkage(distances, "single"), 1 - t, "distance")
    assert alike(AttributeResolution(t, compare=COMPARE).fit(X).labels_, single)


def test_objective_is_that_of_the_best_forest() -> None:
    X = points(30, 7)
    t = 0.6
    model = AttributeResolution(t, compare=COMPARE).fit(X)
    S = similarities(X)
    # A minimum spanning forest of t - s over the pairs with s > t; shifted, since 0 is no edge.
    cost = np.where((t < S) & ~np.eye(30, dtype=bool), 2.0 + t - S, 0.0)
    forest = minimum_spanning_tree(np.triu(cost)).tocoo().data - 2.0
    assert model.objective_ == pytest.approx(forest.sum())
    assert model.n_iter_ == len(forest) == len(model.merges_["i"])
    assert np.all(np.diff(model.history_) <= 0)
    np.testing.assert_allclose(np.diff(model.history_), t - model.merges_["similarity"])
    assert np.all(np.diff(model.merges_["similarity"]) <= 0)


def test_thresholds_above_one_leave_singletons() -> None:
    X = np.ones((6, 1))
    above = AttributeResolution(1.01, compare=COMPARE).fit(X)
    assert above.labels_.tolist() == list(range(6))
    assert above.objective_ == 0.0
    assert above.n_iter_ == 1
    assert len(set(AttributeResolution(1.0, compare=COMPARE).fit(X).labels_)) == 1


def greedy(S: np.ndarray, t: float, apart: Any, node: np.ndarray) -> np.ndarray:
    """Join pairs in the order of falling similarity, by sets."""
    clusters = {int(c): set(np.flatnonzero(node == c)) for c in np.unique(node)}
    of = {i: int(c) for i, c in enumerate(node)}
    n = len(S)
    order = sorted(
        ((-S[i, j], i, j) for i in range(n) for j in range(i + 1, n) if S[i, j] >= t),
    )
    for _, i, j in order:
        a, b = of[i], of[j]
        if a == b or any(apart(x, y) for x in clusters[a] for y in clusters[b]):
            continue
        clusters[a] |= clusters.pop(b)
        for x in clusters[a]:
            of[x] = a
    return np.array([of[i] for i in range(n)])


@given(st.integers(4, 16), st.integers(0, 10_000), st.sampled_from([0.1, 0.5, 0.9]))
@settings(max_examples=40, deadline=None)
def test_what_is_known_holds_and_all_else_joins_greedily(n: int, seed: int, t: float) -> None:
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 4, (n, 1))
    truth = rng.integers(0, 4, n)
    known = Constraints.sample(truth, 6, random_state=seed)
    sources = np.where(rng.random(n) < 0.5, rng.integers(0, n, n), -1)
    sources[known.mentioned] = -1  # so that nothing contradicts
    papers = np.where(sources >= 0, -1, np.arange(n))  # a paper each, but for two pairs
    free = np.flatnonzero(sources >= 0)[:4]
    papers[free] = n + np.arange(len(free)) // 2
    model = AttributeResolution(t, compare=COMPARE)
    model.fit(X, constraints=known, relations=papers, sources=sources)
    apart_pairs = {tuple(sorted(pair)) for pair in known.closure().cannot_link_pairs().tolist()}

    def apart(x: int, y: int) -> bool:
        shared = sources[x] == sources[y] >= 0 or papers[x] == papers[y] >= 0
        return bool(shared) or (min(x, y), max(x, y)) in apart_pairs

    labels = model.labels_
    assert model.n_violations_ == known.violations(labels).n == 0
    assert not any(apart(x, y) for x in range(n) for y in range(x) if labels[x] == labels[y])
    assert alike(labels, greedy(similarities(X), t, apart, known.components()))


def test_chains_are_cut_at_their_least_similar_pair() -> None:
    X = np.array([[0.0], [0.5], [1.1], [1.5]])
    free = AttributeResolution(0.5, compare=COMPARE).fit(X)
    assert free.labels_.tolist() == [0, 0, 0, 0]
    apart = Constraints(cannot_link=[(0, 3)], n_samples=4)
    assert free.fit(X, constraints=apart).labels_.tolist() == [0, 0, 1, 1]
    assert free.fit(X, sources=["a", "b", "c", "a"]).labels_.tolist() == [0, 0, 1, 1]
    assert free.fit(X, relations=[1, 2, 3, 1]).labels_.tolist() == [0, 0, 1, 1]
    loose = AttributeResolution(0.5, compare=COMPARE, distinct=False)
    assert loose.fit(X, relations=[1, 2, 3, 1]).labels_.tolist() == [0, 0, 0, 0]


def test_many_codes_make_the_table_grow() -> None:
    # Every reference has 20 sources of its own as hyper-edges, and shares one with its double.
    n = 40
    edges = {f"own{i}-{k}": [i] for i in range(n) for k in range(20)}
    edges |= {f"pair{i}": [i, i + n // 2] for i in range(n // 2)}
    model = AttributeResolution(0.0, compare=COMPARE).fit(np.ones((n, 1)), relations=edges)
    labels = model.labels_
    assert np.all(labels[: n // 2] != labels[n // 2 :])
    assert len(np.unique(labels)) == 2


def test_must_links_join_what_is_never_compared() -> None:
    table = {"name": ["Wei Wang", "Ann Li", "Ann Li", "Bo Berg"]}
    known = Constraints(must_link=[(0, 1)], n_samples=4)
    model = AttributeResolution(blocking=("name",)).fit(table, constraints=known)
    assert model.labels_.tolist() == [0, 0, 0, 1]


def test_labels_and_groups_count() -> None:
    X = np.array([[0.0], [0.1], [3.0], [3.1]])
    model = AttributeResolution(0.8, compare=COMPARE)
    assert model.fit(X, [0, 1, 0, -1]).labels_.tolist() == [0, 1, 0, 0]
    known = Constraints.from_groups([5, -1, 5, -1])
    assert model.fit(X, constraints=known).labels_.tolist() == [0, 0, 0, 0]


def test_relations_in_all_their_forms() -> None:
    X = np.array([[0.0], [0.1], [0.2], [5.0]])
    model = AttributeResolution(0.8, compare=COMPARE)
    incidence = np.array([[1], [0], [1], [0]])
    forms: list[Any] = [
        ["p", None, "p", None],
        [[0, 2]],
        {"p": [0, 2]},
        incidence,
        sparse.csr_array(incidence),
        Relations.from_groups([1, -1, 1, -1]),
        Relations([(0, 2)], n_samples=4),
    ]
    for form in forms:
        labels = model.fit(X, relations=form).labels_
        assert labels[0] != labels[2]
    assert len(set(model.fit(X).labels_)) == 2


def test_contradictions_are_shown() -> None:
    X = points(5, 0)
    chain = Constraints(must_link=[(0, 1), (1, 2)], n_samples=5)
    with pytest.raises(InconsistentConstraints) as caught:
        AttributeResolution().fit(X, constraints=chain, sources=["a", "b", "a", "c", "c"])
    assert caught.value.chain == (0, 1, 2)
    more = Constraints([(0, 1)], [(0, 1)], n_samples=5)
    with pytest.raises(InconsistentConstraints):
        AttributeResolution().fit(X, constraints=more)


def test_must_links_inside_a_hyperedge_hold_and_are_told() -> None:
    X = np.array([[0.0], [9.0], [9.1]])
    known = Constraints(must_link=[(0, 1)], n_samples=3)
    with pytest.warns(ConstraintWarning, match="row 0 and row 1 are in one hyper-edge"):
        labels = (
            AttributeResolution(compare=COMPARE)
            .fit(X, constraints=known, relations=["p", "p", "q"])
            .labels_
        )
    assert labels.tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("given_as", "words"),
    [
        ({"relations": [1, 2]}, "one value per reference"),
        ({"relations": "paper"}, "one value per reference"),
        ({"relations": np.ones((3, 2))}, "incidence matrix of the hyper-edges has 3 rows"),
        ({"relations": Relations([(0, 1)], [-1.0], n_samples=5)}, "cannot be negative"),
        ({"relations": [[0, 7]]}, "7"),
        ({"sources": [1, 2]}, "sources must hold one entry per row"),
        ({"sources": "file"}, "sources must hold one value per row"),
    ],
)
def test_bad_relations_and_sources(given_as: dict[str, Any], words: str) -> None:
    with pytest.raises(SidelightError, match=words):
        AttributeResolution().fit(points(5, 0), **given_as)


def test_scores_of_edges_are_not_used_and_that_is_told() -> None:
    with pytest.warns(ConstraintWarning, match="Scores of edges"):
        AttributeResolution().fit(points(4, 0), relations=Relations([(0, 1)], [2.0], n_samples=4))


def test_rows_of_missing_values_stay_alone() -> None:
    table = {"name": ["Ann Li", None, "Ann Li", ""], "year": [None, None, 2001, None]}
    assert AttributeResolution().fit(table).labels_.tolist() == [0, 1, 0, 2]
    X = np.array([[1.0, np.nan], [np.nan, 2.0], [1.0, 2.0], [np.nan, np.nan]])
    compare = {"x0": "exact", "x1": "exact"}
    model = AttributeResolution(0.9, compare=compare).fit(X)
    assert model.labels_.tolist() == [0, 0, 0, 1]
    assert model.similarity(0, 1)[0] == 0.0
