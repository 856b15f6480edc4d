"""Constrained agglomeration: the greedy rule, its dead ends, and constraints as distances."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from scipy import sparse
from scipy.cluster.hierarchy import fcluster, is_valid_linkage, linkage
from scipy.spatial.distance import pdist, squareform
from sklearn.cluster import AgglomerativeClustering
from sklearn.datasets import load_iris
from sklearn.metrics import adjusted_rand_score
from tests.constraints.closure import random_knowledge
from tests.strategies import SEEDS

import sidelight
from sidelight import Constraints
from sidelight._kernels.cluster.nn_chain import shorten_through
from sidelight._progress import FitProgress
from sidelight.cluster import ConstrainedAgglomeration
from sidelight.cluster.hierarchical import _group_distances, _merging
from sidelight.cluster.hierarchical._group_distances import group_distances
from sidelight.exceptions import (
    ConstraintWarning,
    InconsistentConstraints,
    InfeasibleConstraints,
    InvalidParameter,
    SidelightError,
)

LINKAGES = ["single", "complete", "average", "ward"]


def between(D: np.ndarray, a: Any, b: Any, method: str) -> float:
    """Linkage of two clusters of rows with these distances."""
    block = D[np.ix_(list(a), list(b))]
    if method != "ward":
        return float({"single": np.min, "complete": np.max, "average": np.mean}[method](block))
    inside = [np.mean(D[np.ix_(list(one), list(one))] ** 2) / 2 for one in (a, b)]
    squared = np.mean(block**2) - sum(inside)  # of the distance of the means
    return float(np.sqrt(2 * len(a) * len(b) / (len(a) + len(b)) * max(squared, 0.0)))


by_linkage = pytest.mark.parametrize("method", LINKAGES)


def colorable(clusters: list[frozenset[int]], apart: set[tuple[int, int]], k: int) -> bool:
    """Try every labelling of the clusters."""
    edges = [
        (a, b)
        for a, b in itertools.combinations(range(len(clusters)), 2)
        if any((min(i, j), max(i, j)) in apart for i in clusters[a] for j in clusters[b])
    ]
    return any(
        all(labels[a] != labels[b] for a, b in edges)
        for labels in itertools.product(range(k), repeat=len(clusters))
    )


def greedy(X: np.ndarray, known: Constraints, method: str, careful_k: int | None = None) -> Any:
    """The published rule, literally; with ``careful_k`` only merges that leave k colours."""
    D = squareform(pdist(X))
    apart = {(int(i), int(j)) for i, j in known.cannot_link}
    component = known.components()
    clusters = [frozenset(np.flatnonzero(component == c).tolist()) for c in np.unique(component)]
    heights = []
    while careful_k is None or len(clusters) > careful_k:
        ranked = sorted(
            (between(D, a, b, method), sorted(a), sorted(b))
            for a, b in itertools.combinations(clusters, 2)
            if not any((min(i, j), max(i, j)) in apart for i in a for j in b)
        )
        for height, a, b in ranked:
            rest = [c for c in clusters if c not in (frozenset(a), frozenset(b))]
            after = [*rest, frozenset(a) | frozenset(b)]
            if careful_k is None or colorable(after, apart, careful_k):
                clusters = after
                heights.append(height)
                break
        else:
            break
    return heights, set(clusters)


def as_sets(labels: np.ndarray) -> set[frozenset[int]]:
    return {frozenset(np.flatnonzero(labels == c).tolist()) for c in np.unique(labels)}


@by_linkage
def test_without_constraints_it_is_scipy(method: str) -> None:
    X = np.random.default_rng(0).normal(size=(80, 3))
    model = ConstrainedAgglomeration(5, linkage=method).fit(X)
    expected = linkage(X, method)
    np.testing.assert_allclose(model.linkage_[:, 2:], expected[:, 2:], rtol=1e-12)
    assert as_sets(model.labels_) == as_sets(fcluster(expected, 5, "maxclust"))
    assert model.n_clusters_dead_end_ == 1
    np.testing.assert_array_equal(model.history_, model.linkage_[:75, 2])
    if method != "ward":
        soft = ConstrainedAgglomeration(5, linkage=method, enforcement="soft").fit(X)
        np.testing.assert_allclose(soft.linkage_, model.linkage_)


@by_linkage
@pytest.mark.parametrize("threshold", [0.0, 0.4, 1.1, 2.5, 100.0])
def test_a_threshold_is_that_of_scikit_learn(method: str, threshold: float) -> None:
    X = np.random.default_rng(2).normal(size=(60, 3))
    model = ConstrainedAgglomeration(None, linkage=method, distance_threshold=threshold).fit(X)
    theirs = AgglomerativeClustering(None, linkage=method, distance_threshold=threshold).fit(X)
    assert model.n_clusters_ == theirs.n_clusters_
    assert as_sets(model.labels_) == as_sets(theirs.labels_)
    # At the very height of a merge it is not made.
    tree = ConstrainedAgglomeration(None, linkage=method).fit(X)
    exact = float(tree.linkage_[30, 2])
    here = ConstrainedAgglomeration(None, linkage=method, distance_threshold=exact).fit(X)
    assert here.n_iter_ == 30


@by_linkage
def test_a_threshold_keeps_to_what_is_known(method: str) -> None:
    X, y = load_iris(return_X_y=True)
    known = Constraints.sample(y, 60, random_state=0)
    tree = ConstrainedAgglomeration(None, linkage=method).fit(X, constraints=known)
    for threshold in (0.0, 0.5, 2.0, 1e6):
        model = ConstrainedAgglomeration(None, linkage=method, distance_threshold=threshold)
        model.fit(X, constraints=known)
        assert model.n_violations_ == 0
        linked = len(y) - known.closure().n_components
        assert model.n_iter_ == linked + np.sum(tree.history_[linked:] < threshold)
    assert model.n_clusters_ == tree.n_clusters_dead_end_


def test_ward_heights_are_what_a_merge_adds_to_the_sum_of_squares() -> None:
    X = np.random.default_rng(3).normal(size=(40, 2))
    known = Constraints(groups=np.arange(40) % 15, n_samples=40)
    model = ConstrainedAgglomeration(None, linkage="ward").fit(X, constraints=known)

    def inertia(labels: np.ndarray) -> float:
        return sum(
            float(np.sum((X[labels == c] - X[labels == c].mean(0)) ** 2)) for c in set(labels)
        )

    cuts = [
        ConstrainedAgglomeration(k, linkage="ward").fit(X, constraints=known).labels_
        for k in range(15, 0, -1)
    ]
    added = np.diff([inertia(labels) for labels in cuts])
    np.testing.assert_allclose(added, model.linkage_[25:, 2] ** 2 / 2)


def test_choices_that_exclude_each_other() -> None:
    X = np.eye(3)
    for model, told in (
        (ConstrainedAgglomeration(2, distance_threshold=1.0), "leave one of them out"),
        (ConstrainedAgglomeration(2, linkage="ward", metric="precomputed"), "means of rows"),
        (ConstrainedAgglomeration(2, linkage="ward", enforcement="soft"), "means of rows"),
    ):
        with pytest.raises(InvalidParameter, match=told):
            model.fit(X)


@by_linkage
def test_must_links_only_is_linkage_of_the_components(method: str) -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(30, 2))
    known = Constraints(rng.integers(0, 30, size=(14, 2)), n_samples=30)
    component = known.components()
    D = squareform(pdist(X))
    m = component.max() + 1
    start = np.zeros((m, m))
    for a, b in itertools.combinations(range(m), 2):
        members = (np.flatnonzero(component == one) for one in (a, b))
        start[a, b] = start[b, a] = between(D, *members, method)
    model = ConstrainedAgglomeration(3, linkage=method).fit(X, constraints=known)
    assert np.all(model.linkage_[: 30 - m, 2] == 0)
    if method in ("single", "complete"):  # SciPy would count every component as one row
        np.testing.assert_allclose(
            model.linkage_[30 - m :, 2], linkage(squareform(start), method)[:, 2]
        )
    heights, _ = greedy(X, known, method)
    np.testing.assert_allclose(model.linkage_[30 - m :, 2], heights)
    assert model.n_violations_ == 0


@given(SEEDS)
@settings(max_examples=40, deadline=None)
@by_linkage
def test_the_chain_finds_the_merges_of_the_greedy_rule(method: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 16))
    X = rng.normal(size=(n, 2))
    known = random_knowledge(rng, n, 4, int(rng.integers(0, 20)))
    heights, clusters = greedy(X, known, method)
    model = ConstrainedAgglomeration(None, linkage=method).fit(X, constraints=known)
    assert as_sets(model.labels_) == clusters
    assert model.n_clusters_ == model.n_clusters_dead_end_ == len(clusters)
    n_linked = n - known.closure().n_components
    np.testing.assert_allclose(model.history_[n_linked:], heights)
    assert np.all(np.isinf(model.linkage_[len(model.history_) :, 2]))
    assert n == 1 or is_valid_linkage(model.linkage_)


@by_linkage
def test_every_cut_satisfies_everything(method: str) -> None:
    X, y = load_iris(return_X_y=True)
    known = Constraints.sample(y, 120, random_state=2)
    tree = ConstrainedAgglomeration(None, linkage=method).fit(X, constraints=known)
    for k in range(tree.n_clusters_dead_end_, known.closure().n_components + 1):
        model = ConstrainedAgglomeration(k, linkage=method).fit(X, constraints=known)
        assert len(np.unique(model.labels_)) == k
        assert known.violations(model.labels_).n == model.n_violations_ == 0
        np.testing.assert_array_equal(model.linkage_, tree.linkage_)


def crown() -> tuple[np.ndarray, Constraints]:
    X = np.array([[0.0], [10.0], [20.0], [1.0], [11.0], [21.0]])
    apart = [(s, 3 + t) for s in range(3) for t in range(3) if s != t]
    return X, Constraints(cannot_link=apart, n_samples=6)


@by_linkage
def test_crown_is_solved_past_its_dead_end(method: str) -> None:
    X, known = crown()
    model = ConstrainedAgglomeration(2, linkage=method).fit(X, constraints=known)
    assert model.n_clusters_dead_end_ == 3
    assert as_sets(model.labels_) == {frozenset({0, 1, 2}), frozenset({3, 4, 5})}
    stuck = ConstrainedAgglomeration(None, linkage=method).fit(X, constraints=known)
    assert as_sets(stuck.labels_) == {frozenset({0, 3}), frozenset({1, 4}), frozenset({2, 5})}
    assert np.isinf(stuck.linkage_[3:, 2]).all()


@given(SEEDS)
@settings(max_examples=40, deadline=None)
@by_linkage
def test_careful_merging_equals_brute_force(method: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, k = 8, int(rng.integers(2, 4))
    X = rng.normal(size=(n, 2))
    known = random_knowledge(rng, n, k, int(rng.integers(3, 20)))
    if known.closure().n_components < k:
        return
    heights, clusters = greedy(X, known, method, careful_k=k)
    model = ConstrainedAgglomeration(k, linkage=method).fit(X, constraints=known)
    assert as_sets(model.labels_) == clusters
    assert len(clusters) == k
    np.testing.assert_allclose(model.history_[n - known.closure().n_components :], heights)


@by_linkage
def test_exactly_k_and_nothing_violated_where_the_rule_gets_stuck(method: str) -> None:
    X, y = load_iris(return_X_y=True)
    stuck = 0
    for seed in range(5):
        known = Constraints.sample(y, 200, random_state=seed)
        model = ConstrainedAgglomeration(3, linkage=method).fit(X, constraints=known)
        assert len(np.unique(model.labels_)) == 3
        assert model.n_violations_ == 0
        finite = model.linkage_[np.isfinite(model.linkage_[:, 2]), 2]
        assert np.all(np.diff(finite) >= -1e-12)
        stuck += model.n_clusters_dead_end_ > 3
    assert stuck  # otherwise nothing was tested


# ------------------------------------------------------------------ constraints as distances


def edited_distances(X: np.ndarray, known: Constraints) -> np.ndarray:
    """Klein et al., literally and on rows: 0, all shortest paths, then the cannot-links."""
    D = squareform(pdist(X))
    D[known.must_link[:, 0], known.must_link[:, 1]] = 0
    D[known.must_link[:, 1], known.must_link[:, 0]] = 0
    for between in range(len(D)):  # Floyd and Warshall; SciPy's takes zeros for missing edges
        D = np.minimum(D, D[:, between, None] + D[between])
    return D


@given(SEEDS)
@settings(max_examples=25, deadline=None)
def test_constrained_complete_link_equals_the_text(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(16, 2))
    known = random_knowledge(rng, 16, 3, 10)
    D = edited_distances(X, known)
    farthest = D.max()
    i, j = known.cannot_link.T
    D[i, j] = D[j, i] = farthest + 1
    expected = linkage(squareform(D, checks=False), "complete")
    model = ConstrainedAgglomeration(4, enforcement="soft").fit(X, constraints=known)
    np.testing.assert_allclose(model.linkage_[:, 2], expected[:, 2], atol=1e-12)
    assert is_valid_linkage(model.linkage_)
    n_linked = 16 - known.closure().n_components
    assert np.all(model.linkage_[:n_linked, 2] == 0)
    free = ConstrainedAgglomeration(None, enforcement="soft").fit(X, constraints=known)
    assert free.n_violations_ == 0
    if model.n_violations_:  # only above everything else
        assert model.objective_ >= farthest + 1


def test_soft_constraints_are_told_when_violated() -> None:
    X, known = crown()
    model = ConstrainedAgglomeration(2, enforcement="soft").fit(X, constraints=known)
    assert model.n_violations_ == known.violations(model.labels_).n > 0
    contradictory = Constraints([(0, 1)], [(0, 1)], n_samples=6)
    with pytest.warns(ConstraintWarning, match="contradict"):
        model.fit(X, constraints=contradictory)
    assert model.n_violations_ == 1
    with pytest.raises(InconsistentConstraints):
        ConstrainedAgglomeration(2).fit(X, constraints=contradictory)


# ------------------------------------------------------------------ input


def test_bad_distances_name_the_rows() -> None:
    D = squareform(pdist(np.arange(5.0)[:, None]))
    known = Constraints(ids=list("abcde"))
    for row, column, value, words in [
        (1, 3, 7.0, r"'b' to 'd', 7, differs"),
        (2, 2, 1.0, r"'c' to itself"),
    ]:
        wrong = D.copy()
        wrong[row, column] = value
        with pytest.raises(SidelightError, match=words):
            ConstrainedAgglomeration(metric="precomputed").fit(wrong, constraints=known)
    wrong = D.copy()
    wrong[0, 4] = wrong[4, 0] = -1.0
    with pytest.raises(SidelightError, match=r"'a' to 'e', -1, is negative"):
        ConstrainedAgglomeration(metric="precomputed").fit(wrong, constraints=known)
    with pytest.raises(SidelightError, match="square"):
        ConstrainedAgglomeration(metric="precomputed").fit(D[:, :3])


def test_impossible_numbers_of_clusters() -> None:
    X = np.arange(6.0)[:, None]
    together = Constraints([(0, 1), (1, 2), (3, 4)], n_samples=6)
    with pytest.raises(InfeasibleConstraints, match="leave 3 groups") as caught:
        ConstrainedAgglomeration(4).fit(X, constraints=together)
    assert caught.value.sufficient_k == 3
    soft = ConstrainedAgglomeration(4, enforcement="soft").fit(X, constraints=together)
    assert len(np.unique(soft.labels_)) == 4
    triangle = Constraints(cannot_link=[(0, 1), (1, 2), (0, 2)], n_samples=6)
    with pytest.raises(InfeasibleConstraints, match="3 clusters would suffice"):
        ConstrainedAgglomeration(2).fit(X, constraints=triangle)


def test_bad_choices_and_edges_of_size() -> None:
    X = np.arange(4.0)[:, None]
    for wrong in ({"linkage": "median"}, {"enforcement": "weak"}, {"metric": "cosine"}):
        with pytest.raises(ValueError, match="must be"):
            ConstrainedAgglomeration(**wrong).fit(X)
    one = ConstrainedAgglomeration(1).fit(X[:1])
    assert one.linkage_.shape == (0, 4)
    assert one.objective_ == 0.0
    assert list(one.labels_) == [0]
    all_alone = ConstrainedAgglomeration(4).fit(X)
    assert list(all_alone.labels_) == [0, 1, 2, 3]
    assert all_alone.n_iter_ == 0


# --- what it is made of ---


# ------------------------------------------------------------------ constraints as distances


@given(SEEDS)
@settings(max_examples=25, deadline=None)
def test_shortcuts_equal_all_shortest_paths(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(20, 2))
    known = Constraints(rng.integers(0, 20, size=(6, 2)), n_samples=20)
    component, m = known.components(), known.closure().n_components
    ours = group_distances(X, component, m, "single", "euclidean", verbose=0)
    before = ours.copy()
    shorten_through(ours, m, np.flatnonzero(known.closure().sizes > 1))
    rows = squareform(ours)[component][:, component]
    np.testing.assert_allclose(rows, edited_distances(X, known), atol=1e-12)
    assert np.all(ours <= before)
    detour = (rows[:, :, None] + rows[None]).min(axis=1)
    assert np.all(rows <= detour + 1e-12)  # the triangle inequality


# ------------------------------------------------------------------ input


def test_precomputed_sparse_labels_and_small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(40, 4))
    y = np.where(np.arange(40) % 4 == 0, rng.integers(0, 3, 40), -1)
    plain = ConstrainedAgglomeration(3).fit(X, y)
    assert plain.n_violations_ == Constraints.from_labels(y).violations(plain.labels_).n == 0
    given = ConstrainedAgglomeration(3, metric="precomputed").fit(squareform(pdist(X)), y)
    np.testing.assert_array_equal(given.linkage_, plain.linkage_)
    thin = ConstrainedAgglomeration(3).fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(thin.linkage_, plain.linkage_)
    monkeypatch.setattr(_group_distances, "BLOCK_CELLS", 100)
    blocks = ConstrainedAgglomeration(3, metric="precomputed").fit(squareform(pdist(X)), y)
    np.testing.assert_array_equal(blocks.linkage_, plain.linkage_)
    np.testing.assert_array_equal(ConstrainedAgglomeration(3).fit_predict(X, y), plain.labels_)


def test_memory_is_refused_before_it_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_group_distances, "available_memory", lambda: 1000.0)
    X = np.zeros((40, 1))
    with pytest.raises(SidelightError, match=r"40 starting clusters.* at most 14 rows"):
        ConstrainedAgglomeration().fit(X)
    # Must-links count: 10 components fit.
    together = Constraints([(i, i % 10) for i in range(40)], n_samples=40)
    ConstrainedAgglomeration().fit(X, constraints=together)


def test_much_memory_is_told_before_it_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_group_distances, "LARGE_MEMORY", 1000)
    X = np.arange(40.0)[:, None]
    with pytest.warns(UserWarning, match="between its 40 starting clusters"):
        ConstrainedAgglomeration().fit(X)


@pytest.mark.parametrize("seed", range(3))
def test_single_linkage_without_cannot_links_keeps_no_distances(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 3)).astype(np.float32 if seed else np.float64)
    known = Constraints(rng.integers(60, size=(12, 2)), n_samples=60)
    distances = squareform(pdist(X.astype(np.float64)))
    distances[np.equal.outer(known.components(), known.components())] = 0.0
    expected = fcluster(linkage(squareform(distances, checks=False), "single"), 7, "maxclust")
    monkeypatch.setattr(_group_distances, "available_memory", lambda: 0.0)
    model = ConstrainedAgglomeration(7, linkage="single").fit(X, constraints=known)
    assert adjusted_rand_score(expected, model.labels_) == 1
    heights = linkage(squareform(distances, checks=False), "single")[:, 2]
    np.testing.assert_allclose(np.sort(model.linkage_[:, 2]), np.sort(heights), atol=1e-6)
    assert model.n_clusters_dead_end_ == 1


@pytest.mark.parametrize("linkage_name", ["complete", "single"])
def test_ctrl_c_is_heard_between_slices_and_progress_is_shown(
    linkage_name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    X = np.random.default_rng(0).normal(size=(50, 2))
    monkeypatch.setattr(_merging, "CELLS_AT_ONCE", 100)
    sliced = ConstrainedAgglomeration(3, linkage=linkage_name, verbose=1).fit(X)
    assert "ConstrainedAgglomeration" in capsys.readouterr().err
    monkeypatch.undo()
    whole = ConstrainedAgglomeration(3, linkage=linkage_name).fit(X)
    np.testing.assert_array_equal(sliced.linkage_, whole.linkage_)

    def interrupted(*args: object, **kwargs: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(FitProgress, "step", interrupted)
    # A part of the merges is no result, also not where the best so far would be kept.
    with sidelight.progress(show=False, keep_best=True), pytest.raises(KeyboardInterrupt):
        ConstrainedAgglomeration(3, linkage=linkage_name).fit(X)
