"""Cluster editing, deletion and completion against enumeration."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.csgraph import connected_components
from tests.relational.correlation.enumerate import partitions

from sidelight import Constraints, Relations
from sidelight.exceptions import SidelightError
from sidelight.relational import ClusterEditing, CorrelationClustering


def random_adjacency(seed: int, n: int = 7, density: float = 0.5) -> np.ndarray:
    upper = np.triu(np.random.default_rng(seed).random((n, n)) < density, 1)
    return (upper | upper.T).astype(float)


def best_edits(A: np.ndarray, edits: str, known: Constraints) -> float:
    """Least cost over all partitions that need only the edits that are allowed."""
    first, second = np.triu_indices(len(A), 1)
    edge = A[first, second] > 0
    best = np.inf
    for labels in partitions(len(A)):
        same = labels[first] == labels[second]
        removed, added = A[first, second][edge & ~same].sum(), (same & ~edge).sum()
        if (edits == "remove" and added) or (edits == "add" and removed):
            continue
        if known.violations(labels).n == 0:
            best = min(best, removed + added)
    return float(best)


@given(st.integers(0, 10**6), st.sampled_from(["both", "remove", "add"]), st.booleans())
@settings(max_examples=30, deadline=None)
def test_against_enumeration(seed: int, edits: str, weighted: bool) -> None:
    A = random_adjacency(seed, density=0.3 + 0.1 * (seed % 5))
    if weighted:
        upper = np.triu(A * np.random.default_rng(seed).integers(1, 4, A.shape), 1)
        A = upper + upper.T
    edges = np.argwhere(np.triu(A))
    apart = np.argwhere(np.triu(A == 0, 1))
    known = Constraints(edges[:1], apart[:1] if edits != "add" else None, n_samples=7)
    best = best_edits(A, edits, known)
    model = ClusterEditing(edits, random_state=0).fit(A, constraints=known)
    assert model.objective_ == pytest.approx(best)
    assert model.gap_ == 0.0
    assert model.n_violations_ == 0


@pytest.mark.parametrize("edits", ["both", "remove", "add"])
def test_edits_make_disjoint_cliques(edits: str) -> None:
    graph = nx.gnp_random_graph(40, 0.12, seed=3)
    model = ClusterEditing(edits, random_state=0).fit(graph)
    listed = model.edited_pairs_
    kinds = {"both": {"add", "remove"}, "remove": {"remove"}, "add": {"add"}}[edits]
    assert set(listed["kind"]) <= kinds
    assert len(listed["kind"]) == model.objective_
    edited = graph.copy()
    for i, j, kind in zip(listed["i"], listed["j"], listed["kind"], strict=True):
        assert edited.has_edge(i, j) == (kind == "remove")
        (edited.remove_edge if kind == "remove" else edited.add_edge)(i, j)
    for component in nx.connected_components(edited):
        size = len(component)
        assert edited.subgraph(component).number_of_edges() == size * (size - 1) // 2
        assert len(set(model.labels_[list(component)])) == 1


def test_completion_is_connected_components() -> None:
    A = random_adjacency(1, 60, 0.02)
    model = ClusterEditing("add").fit(A)
    n, labels = connected_components(A)
    assert len(model.cluster_sizes_) == n
    np.testing.assert_array_equal(
        model.labels_[:, None] == model.labels_, labels[:, None] == labels
    )


def test_editing_is_correlation_clustering_of_edges_against_the_rest() -> None:
    A = random_adjacency(2, 9)
    S = np.where(A > 0, 1.0, -1.0)
    np.fill_diagonal(S, 0.0)
    signed = CorrelationClustering(random_state=0).fit(S)
    assert ClusterEditing(random_state=0).fit(A).objective_ == signed.objective_


def test_costs_of_additions_are_taken_from_negative_scores() -> None:
    wedge = Relations([(0, 1), (1, 2), (0, 2)], [2.0, 2.0, -0.25], n_samples=3)
    model = ClusterEditing(random_state=0).fit(wedge)
    assert model.objective_ == 0.25
    assert model.edited_pairs_["kind"].tolist() == ["add"]
    assert ClusterEditing("remove", random_state=0).fit(wedge).objective_ == 2.0


def test_deletion_keeps_cliques_in_a_large_graph() -> None:
    rng = np.random.default_rng(0)
    pairs = np.unique(np.sort(rng.integers(3000, size=(12000, 2)), axis=1), axis=0)
    pairs = pairs[pairs[:, 0] < pairs[:, 1]]
    graph = Relations(pairs, n_samples=3000)
    model = ClusterEditing("remove", random_state=0).fit(graph)
    sizes = model.cluster_sizes_
    same = model.labels_[pairs[:, 0]] == model.labels_[pairs[:, 1]]
    assert same.sum() == (sizes * (sizes - 1) // 2).sum()
    assert model.objective_ == (~same).sum()
    assert 0 < model.lower_bound_ <= model.objective_


def test_what_has_to_join_needs_edges_where_none_are_added() -> None:
    graph = Relations([("a", "b"), ("b", "c")], ids=["a", "b", "c"])
    known = Constraints([("a", "c")], ids=["a", "b", "c"])
    with pytest.raises(SidelightError, match="'a' and 'c' have to join but no edge joins them"):
        ClusterEditing("remove").fit(graph, constraints=known)
    assert ClusterEditing(random_state=0).fit(graph, constraints=known).objective_ == 1.0


def test_must_links_of_cliques_join_only_common_neighbors() -> None:
    graph = Relations([(0, 1), (1, 2), (0, 2), (2, 3), (3, 4), (2, 4)], n_samples=5)
    known = Constraints([(0, 1)], n_samples=5)
    model = ClusterEditing("remove", random_state=0).fit(graph, constraints=known)
    assert model.objective_ == 2.0
    known = Constraints([(2, 3)], n_samples=5)
    model = ClusterEditing("remove", random_state=0).fit(graph, constraints=known)
    assert list(model.labels_) == [0, 0, 1, 1, 1]


def test_what_edges_connect_cannot_be_apart_where_none_are_removed() -> None:
    graph = Relations([("a", "b"), ("b", "c")], ids=["a", "b", "c"])
    known = Constraints(cannot_link=[("a", "c")], ids=["a", "b", "c"])
    with pytest.raises(SidelightError, match="'a' and 'c' have to be apart but edges connect"):
        ClusterEditing("add").fit(graph, constraints=known)
    with pytest.raises(SidelightError, match="'a' and 'c' have to be apart but edges connect"):
        ClusterEditing("add").fit(graph, sources=["f", "g", "f"])


def test_too_many_edits_to_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sidelight.relational.correlation._editing.MAX_LISTED", 2)
    model = ClusterEditing("add").fit(np.ones((4, 4)))
    with pytest.raises(SidelightError, match="6 pairs"):
        _ = model.edited_pairs_
