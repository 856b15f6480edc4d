"""COP-KMeans: everything is satisfied or the fit raises, and it fails only when it must."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from scipy import sparse
from sklearn.datasets import make_blobs
from tests.constraints.closure import random_knowledge
from tests.strategies import SEEDS

from sidelight import Constraints, engine
from sidelight.assignment import assign
from sidelight.cluster import COPKMeans, KMeans
from sidelight.cluster.kmeans import _hard_assignment
from sidelight.cluster.kmeans._hard_assignment import hard_constrained_rows
from sidelight.constraints.inner import contract
from sidelight.engine import as_rows
from sidelight.exceptions import InconsistentConstraints, InfeasibleConstraints, SidelightError

VARIANTS = ["default", "exact"]


def brute_force(X: np.ndarray, known: Constraints, k: int) -> float:
    """Smallest sum of squares over all admissible clusterings."""
    labels = np.array(list(itertools.product(range(k), repeat=len(X))))
    together = labels[:, known.must_link[:, 0]] == labels[:, known.must_link[:, 1]]
    joined = labels[:, known.cannot_link[:, 0]] == labels[:, known.cannot_link[:, 1]]
    admissible = labels[together.all(axis=1) & ~joined.any(axis=1)]
    member = (admissible[:, :, None] == np.arange(k)).astype(float)
    sizes = np.maximum(member.sum(axis=1), 1)
    sums = np.einsum("sih,id->shd", member, X)
    explained = ((sums**2).sum(axis=2) / sizes).sum(axis=1)
    return float((X**2).sum() - explained.max())


@given(SEEDS)
@settings(max_examples=40)
@pytest.mark.parametrize("variant", VARIANTS)
def test_satisfied_and_never_rising(variant: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, k = 16, int(rng.integers(2, 5))
    X = rng.normal(size=(n, 2))
    known = random_knowledge(rng, n, k, int(rng.integers(1, 40)))
    model = COPKMeans(k, variant=variant, n_init=2, tol=0, random_state=0)
    model.fit(X, constraints=known)
    assert known.violations(model.labels_).n == model.n_violations_ == 0
    history = model.history_
    assert np.all(np.diff(history) <= 1e-9 * history[:-1])
    expected = ((X - model.cluster_centers_[model.labels_]) ** 2).sum()
    assert model.objective_ == pytest.approx(expected)


@given(SEEDS)
@settings(max_examples=8)
def test_many_starts_reach_the_constrained_optimum(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(7, 2))
    known = random_knowledge(rng, 7, 3, 6)
    best = brute_force(X, known, 3)
    for variant in VARIANTS:
        model = COPKMeans(3, variant=variant, init="random", n_init=40, tol=0, random_state=0).fit(
            X, constraints=known
        )
        assert model.objective_ >= best - 1e-9
        if variant == "exact":
            assert model.objective_ == pytest.approx(best)


@pytest.fixture
def blobs() -> tuple[np.ndarray, np.ndarray]:
    X, y = make_blobs(150, n_features=3, centers=3, cluster_std=2.5, random_state=1)
    return X, y


@pytest.mark.parametrize("variant", [*VARIANTS, "published"])
def test_nothing_known_is_k_means(blobs: Any, variant: str) -> None:
    X, _ = blobs
    start = X[:3].copy()
    plain = KMeans(3, init=start).fit(X)
    model = COPKMeans(3, variant=variant, init=start).fit(X)
    np.testing.assert_array_equal(model.labels_, plain.labels_)
    np.testing.assert_array_equal(model.history_, plain.history_)


@pytest.mark.parametrize("is_sparse", [False, True])
def test_must_links_alone_are_weighted_k_means_on_component_means(
    blobs: Any, is_sparse: bool
) -> None:
    X, _ = blobs
    pairs = np.random.default_rng(0).integers(0, 150, size=(60, 2))
    known = Constraints(must_link=pairs, n_samples=150)
    start = X[:3].copy()
    rows = sparse.csr_array(X) if is_sparse else X
    model = COPKMeans(3, init=start, tol=0).fit(rows, constraints=known)
    small = known.reduce(X)
    contracted = KMeans(3, init=start, tol=0).fit(small.means, sample_weight=small.weights)
    np.testing.assert_array_equal(model.labels_, contracted.labels_[small.component])
    np.testing.assert_allclose(model.cluster_centers_, contracted.cluster_centers_)


def dead_end_case() -> tuple[np.ndarray, Constraints, np.ndarray]:
    X = np.array([[0.0], [10.0], [5.0]])
    known = Constraints(
        [], [("left", "middle"), ("right", "middle")], ids=["left", "right", "middle"]
    )
    return X, known, np.array([[0.0], [10.0]])


def test_a_dead_end_names_the_row_and_what_to_do() -> None:
    X, known, start = dead_end_case()
    messages = []
    for seed in range(12):
        model = COPKMeans(2, variant="published", init=start, random_state=seed)
        try:
            assert model.fit(X, constraints=known).n_violations_ == 0
        except SidelightError as error:
            messages.append(str(error))
    assert 0 < len(messages) < 12
    assert "held a row that 'middle' must be apart from ('left', 'right')" in messages[0]
    assert "variant='default'" in messages[0]
    # One of several starts gets through.
    model = COPKMeans(2, variant="published", init="random", n_init=20, random_state=0)
    assert model.fit(X, constraints=known).n_violations_ == 0


@pytest.mark.parametrize("variant", VARIANTS)
def test_it_does_not_fail_where_the_literature_does(variant: str) -> None:
    X, known, start = dead_end_case()
    for seed in range(12):
        model = COPKMeans(2, variant=variant, init=start, random_state=seed)
        labels = model.fit_predict(X, constraints=known)
        assert labels[0] == labels[1] != labels[2]


@pytest.mark.parametrize("variant", VARIANTS)
def test_three_points_two_clusters(variant: str) -> None:
    X = np.array([[1.0, 2.0], [1.0, 4.0], [1.0, 0.0]])
    for pair in ([(0, 1)], [(0, 2)], [(0, 1), (0, 2)], [(0, 1), (1, 2)]):
        known = Constraints(cannot_link=pair, n_samples=3)
        model = COPKMeans(2, variant=variant, random_state=0).fit(X, constraints=known)
        assert model.n_violations_ == 0


@given(SEEDS)
@settings(max_examples=30)
def test_low_degree_never_fails_in_any_order(seed: int) -> None:
    """With fewer conflicts than clusters at every row no order can end in a dead end."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(20, 2))
    degree, edges = np.zeros(20, int), []
    for i, j in rng.permutation(list(itertools.combinations(range(20), 2))):
        if max(degree[i], degree[j]) < 2:
            degree[[i, j]] += 1
            edges.append((i, j))
    known = Constraints(cannot_link=edges, n_samples=20)
    model = COPKMeans(3, variant="published", n_init=1, random_state=seed % 1000)
    assert model.fit(X, constraints=known).n_violations_ == 0


def test_contradictions_and_too_few_clusters_are_found_first(blobs: Any) -> None:
    X, _ = blobs
    with pytest.raises(InconsistentConstraints) as contradiction:
        COPKMeans(3).fit(X, constraints=Constraints([(0, 1), (1, 2)], [(0, 2)], n_samples=150))
    assert contradiction.value.chain == (0, 1, 2)
    clique = Constraints(cannot_link=list(itertools.combinations(range(4), 2)), n_samples=150)
    with pytest.raises(InfeasibleConstraints) as infeasible:
        COPKMeans(3).fit(X, constraints=clique)
    assert sorted(infeasible.value.clique) == [0, 1, 2, 3]


def test_labels_and_groups_are_hard_too(blobs: Any) -> None:
    X, y = blobs
    labels = np.where(np.arange(150) % 10 == 0, y, -1)
    groups = np.where(np.arange(150) % 7 == 1, y, -1)
    known = Constraints(labels=labels, groups=groups)
    model = COPKMeans(4, random_state=0).fit(X, constraints=known)
    assert model.n_violations_ == 0
    by_y = COPKMeans(4, random_state=0).fit(X, labels, constraints=Constraints(groups=groups))
    np.testing.assert_array_equal(model.labels_, by_y.labels_)


def test_empty_clusters_are_filled_with_a_component() -> None:
    X = np.array([[0.0], [0.1], [5.0], [5.1], [9.0], [9.2]])
    known = Constraints([(0, 1), (2, 3), (4, 5)], [(0, 2)], n_samples=6)
    model = COPKMeans(3, init=[[0.0], [7.0], [1e6]]).fit(X, constraints=known)
    assert len(set(model.labels_)) == 3
    assert model.n_violations_ == 0
    assert np.all(np.diff(model.history_) <= 0)


def test_any_number_of_threads_gives_the_same() -> None:
    X, y = make_blobs(9000, n_features=4, centers=3, cluster_std=4.0, random_state=0)
    known = Constraints.sample(y, 500, random_state=0)
    results = []
    for n in (1, 2):
        with engine.threads(n):
            model = COPKMeans(3, n_init=2, random_state=0)
            results.append(model.fit(X.astype("f4"), constraints=known))
    np.testing.assert_array_equal(results[0].labels_, results[1].labels_)
    assert results[0].cluster_centers_.dtype == np.float32


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"variant": "greedy"}, "variant"),
        ({"time_limit": 0}, "time_limit"),
        ({"init": "middle"}, "init"),
        ({"n_init": 0}, "n_init"),
    ],
)
def test_wrong_parameters_are_named(params: dict[str, Any], message: str, blobs: Any) -> None:
    with pytest.raises(ValueError, match=message):
        COPKMeans(3, **params).fit(blobs[0])


# --- what it is made of ---


def test_known_dead_end_of_the_literature() -> None:
    """Left and right are placed first: nothing is left for the middle (book, section 1.2.1)."""
    X, known, start = dead_end_case()
    outcomes = {}
    for seed in range(20):
        rng = np.random.RandomState(seed)
        order = tuple(np.random.RandomState(seed).permutation(3))
        small = contract(as_rows(X), known.closure(), only_constrained=True)
        constrained = hard_constrained_rows(as_rows(X), small, "published", rng, 1.0)
        try:
            constrained.relabel(start)
            outcomes[order] = "placed"
        except SidelightError as error:
            outcomes[order] = f"blocked at {error.row}"
    assert outcomes[0, 1, 2] == outcomes[1, 0, 2] == "blocked at 2"
    assert outcomes[0, 2, 1] == outcomes[1, 2, 0] == "placed"


def test_what_every_order_misses_is_solved(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three hidden colours, dense conflicts that ignore the geometry: greedy has no chance."""
    rng = np.random.default_rng(0)
    color = rng.integers(0, 3, size=48)
    pairs = np.array(list(itertools.combinations(range(48), 2)))
    apart = pairs[(color[pairs[:, 0]] != color[pairs[:, 1]]) & (rng.random(len(pairs)) < 0.25)]
    known = Constraints(cannot_link=apart, n_samples=48)
    solved = []

    def counting(*args: Any, **kwargs: Any) -> Any:
        solved.append(assign(*args, **kwargs))
        return solved[-1]

    monkeypatch.setattr(_hard_assignment, "assign", counting)
    X = rng.normal(size=(48, 2))
    model = COPKMeans(3, n_init=4, random_state=0).fit(X, constraints=known)
    assert model.n_violations_ == 0
    assert 1 <= len(solved) <= 4
    with pytest.raises(SidelightError, match="dead end, in all 4 restarts"):
        COPKMeans(3, variant="published", n_init=4, random_state=0).fit(X, constraints=known)
