"""Relations as a value object: canonical form, identities of its views, and what is refused."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from tests.strategies import relations

from sidelight import Relations
from sidelight.constraints.relations import as_relations
from sidelight.exceptions import SidelightError, UnknownIds


def breadth_first(relations: Relations, positive: bool) -> list[int]:
    """Components by visiting, numbered by their smallest object."""
    near: list[set[int]] = [set() for _ in range(relations.n_samples)]
    for (i, j), score in zip(relations.edges.tolist(), relations.scores, strict=True):
        if score > 0 or not positive:
            near[i].add(j)
            near[j].add(i)
    if not positive:
        for column in relations.incidence.toarray().T:
            members = np.flatnonzero(column)
            for i in members:
                near[i] |= set(members.tolist())
    component = [-1] * relations.n_samples
    number = 0
    for start in range(relations.n_samples):
        if component[start] < 0:
            queue = [start]
            while queue:
                node = queue.pop()
                if component[node] < 0:
                    component[node] = number
                    queue.extend(near[node])
            number += 1
    return component


@settings(max_examples=40, deadline=None)
@given(relations())
def test_matrix_and_edges_say_the_same(graph: Relations) -> None:
    dense = np.zeros((graph.n_samples, graph.n_samples))
    for (i, j), score in zip(graph.edges.tolist(), graph.scores, strict=True):
        assert i < j
        dense[i, j] = dense[j, i] = score
    matrix = graph.matrix()
    np.testing.assert_array_equal(matrix.toarray(), dense)
    assert matrix.nnz == 2 * graph.n_edges
    rows = np.repeat(np.arange(graph.n_samples), np.diff(matrix.indptr))
    assert np.all((np.diff(rows) > 0) | (np.diff(matrix.indices) > 0))
    assert matrix is graph.matrix()
    np.testing.assert_array_equal(graph.degree, np.diff(matrix.indptr))
    key = graph.edges[:, 0] * graph.n_samples + graph.edges[:, 1]
    assert np.all(np.diff(key) > 0)


@settings(max_examples=40, deadline=None)
@given(relations(), st.data())
def test_order_and_direction_do_not_matter(graph: Relations, data: Any) -> None:
    order = np.array(data.draw(st.permutations(range(graph.n_edges))), dtype=np.int64)
    again = Relations(graph.edges[order, ::-1], graph.scores[order], n_samples=graph.n_samples)
    np.testing.assert_array_equal(again.edges, graph.edges)
    np.testing.assert_array_equal(again.scores, graph.scores)
    # Said twice with the same score, an edge is one edge.
    twice = Relations(
        np.concatenate([graph.edges, graph.edges[order]]),
        np.concatenate([graph.scores, graph.scores[order]]),
        n_samples=graph.n_samples,
    )
    assert twice == again
    assert bool(twice.notes) == bool(graph.n_edges)


@settings(max_examples=40, deadline=None)
@given(relations(), st.data())
def test_restriction_is_the_submatrix(graph: Relations, data: Any) -> None:
    n = graph.n_samples
    rows = np.array(data.draw(st.lists(st.integers(0, n - 1), unique=True)), dtype=np.int64)
    part = graph.restrict(rows)
    np.testing.assert_array_equal(
        part.matrix().toarray(), graph.matrix().toarray()[np.ix_(rows, rows)]
    )
    if graph.ids is not None:
        assert part.ids is not None
        assert part.ids.tolist() == graph.ids[rows].tolist()
    assert graph[rows, ...] == part
    mask = np.isin(np.arange(n), rows)
    assert graph[mask] == graph.restrict(np.sort(rows))
    everything = data.draw(st.permutations(range(n)))
    there = graph.restrict(everything)
    assert there.restrict(np.argsort(everything)) == graph


@settings(max_examples=40, deadline=None)
@given(relations(named=False), st.lists(st.sets(st.integers(0, 8)), max_size=3), st.booleans())
def test_components_by_breadth_first_search(
    graph: Relations, sets: list[set[int]], positive: bool
) -> None:
    n = graph.n_samples
    hyperedges = [[member for member in members if member < n] for members in sets]
    both = Relations(graph.edges, graph.scores, hyperedges=hyperedges, n_samples=n)
    assert both.components(positive=positive).tolist() == breadth_first(both, positive)


@settings(max_examples=40, deadline=None)
@given(relations())
def test_values(graph: Relations) -> None:
    again = pickle.loads(pickle.dumps(graph))
    assert again == graph
    assert hash(again) == hash(graph)
    assert again.notes == graph.notes
    assert copy.deepcopy(graph) is graph
    assert graph != "graph"
    for value in (graph, again):
        csr = [value.incidence, value.matrix()]
        arrays = [value.edges, value.scores, *(m.data for m in csr), *(m.indices for m in csr)]
        assert not any(array.flags.writeable for array in arrays)
    if graph.n_edges:
        other = Relations(graph.edges, graph.scores + 1, n_samples=graph.n_samples)
        assert other != graph
    with pytest.raises(AttributeError, match="cannot be changed"):
        graph.scores = np.ones(1)
    assert "<table" in graph._repr_html_() or "no edges" in graph._repr_html_()
    assert f"{graph.n_samples}" in graph.summary()


def test_hyperedges_are_part_of_the_value() -> None:
    papers = Relations(hyperedges={"p": [0, 1], "q": [1, 2]}, n_samples=3)
    assert papers == pickle.loads(pickle.dumps(papers))
    assert papers != Relations(hyperedges={"p": [0, 1], "r": [1, 2]}, n_samples=3)
    assert papers != Relations(hyperedges={"p": [0, 1], "q": [0, 2]}, n_samples=3)
    as_matrix = Relations(hyperedges=papers.incidence, n_samples=3)
    assert as_matrix == Relations(hyperedges=[[1, 0], [2, 1, 1]], n_samples=3)
    part = papers.restrict([2, 1])
    assert part.incidence.toarray().tolist() == [[0, 1], [1, 1]]
    alone = papers.restrict([0])
    assert alone.hyperedge_names.tolist() == ["p"]
    assert "p: row 0, row 1" in papers._repr_html_()
    assert papers.components().tolist() == [0, 0, 0]
    assert papers.components(positive=True).tolist() == [0, 1, 2]


def test_hyperedges_of_ids() -> None:
    words = Relations(hyperedges=[["b", "a"], []], ids=["a", "b"])
    assert words.incidence.toarray().tolist() == [[1, 0], [1, 0]]
    tuples = Relations(hyperedges={"p": [(1, 2), "x"]}, ids=["x", (1, 2), 7])
    assert tuples.incidence.toarray().ravel().tolist() == [1, 1, 0]
    assert Relations.from_groups(["p", "q", "p"]) == Relations(
        hyperedges={"p": [0, 2], "q": [1]}, n_samples=3
    )


@settings(max_examples=40, deadline=None)
@given(relations(named=False))
def test_matrices_one_sided_and_full(graph: Relations) -> None:
    stored = graph.restrict(np.arange(graph.n_samples))
    nonzero = Relations(
        stored.edges[stored.scores != 0], stored.scores[stored.scores != 0], n_samples=len(stored)
    )
    full = graph.matrix()
    for matrix in (full, full.toarray(), sparse.triu(full), sparse.tril(full).tocoo()):
        assert Relations.from_matrix(matrix) == nonzero


def test_duplicates() -> None:
    pairs, scores = [(0, 1), (1, 0), (0, 1)], [1.0, 2.0, 6.0]
    merged = {
        how: Relations(pairs, scores, n_samples=2, duplicates=how).scores.tolist()
        for how in ("mean", "sum", "max", "min")
    }
    assert merged == {"mean": [3.0], "sum": [9.0], "max": [6.0], "min": [1.0]}
    with pytest.raises(SidelightError, match=r"'b' - 'a'|'a' - 'b'.*scores 1 and 6") as caught:
        Relations([("a", "b"), ("b", "a"), ("a", "b")], scores, ids=["a", "b"])
    assert 'duplicates="mean"' in str(caught.value)
    with pytest.raises(SidelightError, match="duplicates must be one of"):
        Relations([(0, 1)], n_samples=2, duplicates="first")


def test_many_edges_are_sorted_as_few_are() -> None:
    """Few edges among many objects are sorted by keys, others by counting."""
    rng = np.random.default_rng(0)
    pairs = np.column_stack(np.triu_indices(40, 1))[rng.permutation(780)]
    scores = rng.normal(size=780)
    counted = Relations(pairs, scores, n_samples=40)
    keyed = Relations(pairs, scores, n_samples=100_000)
    np.testing.assert_array_equal(counted.edges, keyed.edges)
    np.testing.assert_array_equal(counted.scores, keyed.scores)
    dense = np.zeros((40, 40))
    dense[tuple(pairs.T)] = scores
    np.testing.assert_array_equal(counted.scores, dense[tuple(counted.edges.T)])


def test_words_without_ids_are_ids() -> None:
    pairs = [("bob", "ann"), ("ann", "cid")]
    graph = Relations(pairs, [1.0, -1.0])
    assert Relations((pair for pair in pairs), [1.0, -1.0]) == graph
    assert graph.ids is not None
    assert graph.ids.tolist() == ["bob", "ann", "cid"]
    assert repr(graph) == "<Relations of 3 objects 'bob' to 'cid': 2 edges, 1 of them negative>"


def test_many_words_are_found_by_hashing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sidelight.constraints.relations._input.MANY", 2)
    ids = np.array(["cid", "ann", "bob"])
    pairs = np.array([["ann", "bob"], ["cid", "ann"], ["bob", "cid"]])
    assert Relations(pairs, ids=ids).edges.tolist() == [[0, 1], [0, 2], [1, 2]]
    with pytest.raises(UnknownIds, match=r"'Ann'.*Did you mean 'ann'"):
        Relations(np.array([["Ann", "bob"], ["cid", "ann"]]), ids=ids)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (lambda: Relations([(0, 0)], [-1.0], n_samples=2), "cannot be apart from itself"),
        (lambda: Relations([(0, 1)], [np.nan], n_samples=2), "row 0 - row 1 is nan"),
        (lambda: Relations([("a", "b")], [np.inf], ids=["a", "b"]), "'a' - 'b' is inf"),
        (lambda: Relations([(0, 1)], ["x"], n_samples=2), "scores must be numbers"),
        (lambda: Relations([(0, 1)], [1.0, 2.0], n_samples=2), r"shape \(1,\), got \(2,\)"),
        (lambda: Relations([(0, 2)], n_samples=2), "row 2, but there are 2 rows"),
        (lambda: Relations([(0, 1)]), "n_samples"),
        (lambda: Relations([("a", "x")], ids=["a", "b"]), "'x', which does not occur"),
        (lambda: Relations([(0, 1, 2)], n_samples=3), "must be pairs"),
        (lambda: Relations([(0, 1), (2,)], n_samples=3), "must be pairs"),
        (lambda: Relations([("a", "b"), ("c",)]), "must be pairs"),
        (lambda: Relations(7, n_samples=3), "must be pairs"),
        (lambda: Relations(hyperedges=[[0, 5]], n_samples=3), "hyperedges names row 5"),
        (lambda: Relations(hyperedges=["ab", "bc"], n_samples=3), "is a list of objects"),
        (lambda: Relations(hyperedges=[0, 1], n_samples=3), "is a list of objects"),
        (lambda: Relations(hyperedges=3, n_samples=3), "must be a list of lists"),
        (lambda: Relations(hyperedges=np.ones((2, 2)), n_samples=3), "row per object"),
        (lambda: Relations.from_matrix(np.ones((2, 3))), "square matrix"),
        (lambda: Relations.from_matrix([[0, 1], [2, 0]]), "row 0 - row 1 has the scores 1 and 2"),
        (lambda: Relations([(0, 1)], n_samples=3).restrict([0, 0]), "relations can only be"),
        (lambda: Relations([(0, 1)], n_samples=3).restrict([3]), "relations are about 3"),
        (lambda: Relations.from_probabilities([(0, 1)], [1.5], n_samples=2), "row 0 - row 1 is 1"),
        (lambda: Relations.from_probabilities([(0, 1)], [np.nan], n_samples=2), "is nan"),
        (lambda: Relations.from_probabilities([(0, 1)], [0.5], prior=1, n_samples=2), "prior must"),
        (lambda: as_relations(Relations([(0, 1)], n_samples=2), 3), "about 2 objects but X has 3"),
    ],
)
def test_bad_input(given: Any, message: str) -> None:
    with pytest.raises(SidelightError, match=message):
        given()


def test_positive_loops_are_dropped_and_told() -> None:
    graph = Relations([(0, 0), (0, 1)], [3.0, 1.0], n_samples=2)
    assert graph.n_edges == 1
    assert "1 edge of an object with itself dropped" in graph.notes[0]


def test_log_odds() -> None:
    p = np.array([0.1, 0.5, 0.9, 0.0, 1.0])
    pairs = [(0, k) for k in range(1, 6)]
    plain = Relations.from_probabilities(pairs, p, n_samples=6)
    np.testing.assert_allclose(plain.scores[:3], np.log(p[:3] / (1 - p[:3])), atol=1e-12)
    np.testing.assert_allclose(1 / (1 + np.exp(-plain.scores[3:])), [1e-6, 1 - 1e-6])
    assert any("2 pairs of probability exactly 0 or 1" in note for note in plain.notes)
    # Bayes: with equal classes behind p, the posterior odds are the odds of p times the prior's.
    rare = Relations.from_probabilities(pairs, p, prior=0.01, n_samples=6)
    np.testing.assert_allclose(rare.scores - plain.scores, np.log(0.01 / 0.99))
    # What is certain never scores below what is nearly so.
    sharp = Relations.from_probabilities([(0, 1), (0, 2)], [1.0, 1 - 1e-9], n_samples=3)
    assert sharp.scores[0] >= sharp.scores[1] - 1e-9


def test_coercion() -> None:
    import pandas as pd

    X = pd.DataFrame({"x": [0.0, 1.0, 2.0]}, index=["c", "a", "b"])
    wanted = [[0.0, 0, 0], [0, 0, 2.0], [0, 2.0, 0]]
    table = {"i": ["a"], "j": ["b"], "score": [2.0]}
    by_id = Relations([("a", "b")], [2.0], ids=["a", "b", "c"])
    for form in (by_id, table, pd.DataFrame(table), np.array(wanted), sparse.csr_array(wanted)):
        assert as_relations(form, 3, X).matrix().toarray().tolist() == wanted
    assert as_relations([("a", "b")], 3, X).edges.tolist() == [[1, 2]]
    assert as_relations([(1, 2)], 3, X.to_numpy()).edges.tolist() == [[1, 2]]
