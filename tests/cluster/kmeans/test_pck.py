"""PCK-means: the objective written out, limits in the weight, Law's anomaly."""

from __future__ import annotations

import itertools
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from scipy import sparse
from sklearn.datasets import load_iris, make_blobs
from tests.strategies import SEEDS

from sidelight import Constraints, engine
from sidelight.cluster import KMeans, PCKMeans
from sidelight.cluster._core import _lloyd
from sidelight.cluster._core._distances import PointCosts
from sidelight.cluster.pairs._penalties import Penalties
from sidelight.exceptions import ConstraintWarning


def random_knowledge(rng: np.random.Generator, n: int, *, named: bool = True) -> Constraints:
    """Pairs of random weight, contradictory as they come, and sometimes labels and groups."""
    pairs = np.array(list(itertools.combinations(range(n), 2)))
    chosen = pairs[rng.permutation(len(pairs))[: rng.integers(1, 2 * n)]]
    cut = rng.integers(0, len(chosen) + 1)
    return Constraints(
        chosen[:cut],
        chosen[cut:],
        must_link_weight=rng.uniform(0.1, 5, size=cut),
        cannot_link_weight=rng.uniform(0.1, 5, size=len(chosen) - cut),
        labels=rng.integers(-1, 3, size=n) if named and rng.random() < 0.5 else None,
        groups=rng.integers(-1, 4, size=n) if named and rng.random() < 0.5 else None,
        n_samples=n,
    )


def objective(
    X: np.ndarray, labels: np.ndarray, centers: np.ndarray, known: Constraints, unit: float
) -> float:
    """J from its definition."""
    return 0.5 * ((X - centers[labels]) ** 2).sum() + unit * known.violations(labels).weight


def fit(X: Any, known: Constraints, **params: Any) -> PCKMeans:
    with np.errstate(all="raise"), pytest.MonkeyPatch.context() as patch:
        patch.setattr(PCKMeans, "_warn_of_contradictions", lambda self, known: None)
        return PCKMeans(**{"n_clusters": 3, "random_state": 0, **params}).fit(X, constraints=known)


@given(SEEDS)
@settings(max_examples=25)
def test_many_starts_reach_the_global_optimum(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(6, 2))
    known = random_knowledge(rng, 6, named=False)
    best = min(
        objective(X, labels, _means(X, labels, 2), known, 0.3)
        for labels in map(np.array, itertools.product(range(2), repeat=6))
    )
    model = fit(X, known, n_clusters=2, penalty=0.3, n_init=60, init="random", tol=0)
    assert model.objective_ >= best - 1e-9
    assert model.objective_ <= best * 1.05 + 1e-9


def _means(X: np.ndarray, labels: np.ndarray, k: int) -> np.ndarray:
    """Centres of the clusters; an empty one (it may pay) has its centre anywhere."""
    return np.array([X[labels == h].mean(axis=0) if h in labels else X[0] for h in range(k)])


@given(SEEDS)
@settings(max_examples=40)
def test_objective_never_rises_and_is_what_it_says(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(14, 2)) * rng.uniform(0.1, 10)
    known = random_knowledge(rng, 14)
    penalty = float(rng.choice([0.01, 0.3, 2.0, 50.0]))
    model = fit(X, known, penalty=penalty, n_init=2, tol=0)
    history = model.history_
    assert np.all(np.diff(history) <= 1e-9 * history[:-1])
    assert model.objective_ == pytest.approx(history[-1])
    expected = objective(X, model.labels_, model.cluster_centers_, known, penalty)
    assert model.objective_ == pytest.approx(expected)
    assert model.n_violations_ == known.violations(model.labels_).n


@given(SEEDS)
@settings(max_examples=40)
def test_no_single_row_and_no_component_can_improve_at_the_end(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(9, 2))
    known = random_knowledge(rng, 9, named=False)
    model = fit(X, known, penalty=0.5, n_init=1, tol=0)
    centers, best = model.cluster_centers_, model.objective_
    component = known.closure(on_contradiction="keep").component
    blocks = [[i] for i in range(9)] + [np.flatnonzero(component == c) for c in set(component)]
    for block, cluster in itertools.product(blocks, range(3)):
        labels = model.labels_.copy()
        labels[block] = cluster
        assert objective(X, labels, centers, known, 0.5) >= best - 1e-9


@pytest.fixture
def blobs() -> tuple[np.ndarray, np.ndarray]:
    X, y = make_blobs(150, n_features=3, centers=3, cluster_std=2.5, random_state=1)
    return X, y


def test_nothing_known_is_k_means(blobs: Any) -> None:
    X, _ = blobs
    start = X[:3].copy()
    plain = KMeans(3, init=start).fit(X)
    model = PCKMeans(3, init=start).fit(X)
    np.testing.assert_array_equal(model.labels_, plain.labels_)
    np.testing.assert_array_equal(model.cluster_centers_, plain.cluster_centers_)
    np.testing.assert_allclose(model.history_, plain.history_ / 2)
    assert model.inertia_ == plain.objective_


def test_zero_weight_is_k_means(blobs: Any) -> None:
    X, y = blobs
    start = X[:3].copy()
    known = Constraints.sample(y, 100, random_state=0)
    model = PCKMeans(3, init=start, penalty=0).fit(X, constraints=known)
    np.testing.assert_array_equal(model.labels_, KMeans(3, init=start).fit(X).labels_)


def test_large_weights_on_true_constraints_leave_none_violated(blobs: Any) -> None:
    X, y = blobs
    known = Constraints.sample(y, 100, random_state=0)
    model = PCKMeans(3, penalty=1e6, random_state=0).fit(X, constraints=known)
    assert model.n_violations_ == 0


def test_result_does_not_depend_on_the_units(blobs: Any) -> None:
    X, y = blobs
    known = Constraints.sample(y, 60, random_state=0).flip(0.2, random_state=0)
    first = fit(X, known)
    second = fit(1024 * X, known)
    np.testing.assert_array_equal(first.labels_, second.labels_)
    assert second.penalty_ == pytest.approx(1024**2 * first.penalty_)
    assert first.penalty_ == pytest.approx(X.var(axis=0).sum())


def four_clouds(seed: int) -> tuple[np.ndarray, Constraints]:
    """Law's data: four unit Gaussians; must-links join upper and lower left, and right."""
    rng = np.random.default_rng(seed)
    corners = np.array([(2.0, 8.0), (2.0, -8.0), (-2.0, -8.0), (-2.0, 8.0)])
    X = np.repeat(corners, 100, axis=0) + rng.normal(size=(400, 2))
    middle = [
        100 * c + int(np.argmin(np.sum((X[100 * c : 100 * c + 100] - corners[c]) ** 2, 1)))
        for c in range(4)
    ]
    return X, Constraints(must_link=[(middle[3], middle[2]), (middle[0], middle[1])], n_samples=400)


@pytest.mark.parametrize("seed", range(3))
def test_anomaly_of_penalised_labels(seed: int) -> None:
    """However large the penalty, constrained points flip alone (Law's thesis, section 5.2.1)."""
    X, known = four_clouds(seed)
    top = (X[:, 1] > 0).astype(int)

    def flipped(model: PCKMeans) -> int:
        differ = np.count_nonzero(model.labels_ != top)
        return min(differ, 400 - differ)

    # The thesis weighs Σ‖x-μ‖² + λ #violations; ours is half of it.
    weak = PCKMeans(2, penalty=10 / 2, random_state=0).fit(X, constraints=known)
    assert flipped(weak) == 0
    assert weak.n_violations_ == 2
    assert 2200 < 2 * weak.objective_ < 2600
    strong = PCKMeans(2, penalty=1e3 / 2, random_state=0).fit(X, constraints=known)
    assert flipped(strong) == 2
    assert strong.n_violations_ == 0
    assert 2600 < 2 * strong.objective_ < 3100
    stronger = PCKMeans(2, penalty=1e6 / 2, random_state=0).fit(X, constraints=known)
    assert stronger.objective_ == pytest.approx(strong.objective_)


def test_contradictions_are_told_and_weighed() -> None:
    X = np.array([[0.0], [0.1], [5.0], [5.1]])
    known = Constraints([(0, 1)], [(0, 1)], must_link_weight=2.0, n_samples=4)
    with pytest.warns(ConstraintWarning, match="row 0 and row 1"):
        model = PCKMeans(2, random_state=0).fit(X, constraints=known)
    assert model.labels_[0] == model.labels_[1]
    assert model.n_violations_ == 1


def test_groups_hold_together(blobs: Any) -> None:
    X, y = blobs
    groups = np.full(len(X), -1)
    groups[:30] = y[:30]
    groups[30:60] = 3 + y[30:60]
    model = PCKMeans(3, penalty=1e6, random_state=0).fit(X, constraints=Constraints(groups=groups))
    for group in range(6):
        assert len(set(model.labels_[groups == group])) == 1
    assert model.n_violations_ == 0


def test_more_classes_than_clusters_are_reported(blobs: Any) -> None:
    X, _ = blobs
    labels = np.full(len(X), -1)
    labels[:20] = np.arange(20) % 5
    known = Constraints(labels=labels)
    model = PCKMeans(3, penalty=1e6, random_state=0).fit(X, constraints=known)
    assert model.n_violations_ == 8


def test_sparse_rows_equal_dense_rows(blobs: Any) -> None:
    X, y = blobs
    known = Constraints.sample(y, 60, random_state=0)
    dense = PCKMeans(3, random_state=0).fit(X, constraints=known)
    thin = PCKMeans(3, random_state=0).fit(sparse.csr_array(X), constraints=known)
    np.testing.assert_array_equal(dense.labels_, thin.labels_)


@pytest.mark.parametrize("neighborhoods", ["farthest-first", "largest", "clique"])
@pytest.mark.parametrize("variant", ["default", "published"])
def test_all_starts(blobs: Any, neighborhoods: str, variant: str) -> None:
    X, y = blobs
    known = Constraints.sample(y, 4, random_state=0)
    model = PCKMeans(
        3, init="neighborhoods", neighborhoods=neighborhoods, variant=variant, random_state=0
    ).fit(X, constraints=known)
    assert model.n_violations_ == 0


def test_neighborhoods_seen_twice_are_told() -> None:
    X = np.array([[0.0], [1.0], [0.1], [1.1], [9.0], [9.1]])
    known = Constraints(must_link=[(0, 1), (2, 3)], n_samples=6)
    with pytest.warns(ConstraintWarning, match="row 0 and row 2"):
        PCKMeans(2, init="neighborhoods", random_state=0).fit(X, constraints=known)
    apart = known | Constraints(cannot_link=[(1, 2)], n_samples=6)
    PCKMeans(2, init="neighborhoods", random_state=0).fit(X, constraints=apart)


def test_empty_clusters_are_filled_where_every_row_is_constrained() -> None:
    X = np.array([[0.0], [0.1], [5.0], [5.1], [9.0], [9.2]])
    known = Constraints(must_link=[(0, 1), (2, 3), (4, 5)], n_samples=6)
    start = [[0.0], [7.0], [1e6]]
    model = PCKMeans(3, init=start).fit(X, constraints=known)
    assert len(set(model.labels_)) == 3
    assert np.all(np.diff(model.history_) <= 0)


def test_any_number_of_threads_gives_the_same() -> None:
    X, y = make_blobs(9000, n_features=4, centers=3, cluster_std=4.0, random_state=0)
    known = Constraints.sample(y, 500, random_state=0)
    results = []
    for n in (1, 2):
        with engine.threads(n):
            results.append(
                PCKMeans(3, n_init=2, random_state=0).fit(X.astype("f4"), constraints=known)
            )
    np.testing.assert_array_equal(results[0].labels_, results[1].labels_)
    np.testing.assert_array_equal(results[0].history_, results[1].history_)
    assert results[0].cluster_centers_.dtype == np.float32


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"penalty": -1.0}, "penalty"),
        ({"penalty": "none"}, "penalty"),
        ({"penalty": np.nan}, "penalty"),
        ({"neighborhoods": "near"}, "neighborhoods"),
        ({"variant": "zero"}, "variant"),
        ({"init": "middle"}, "init"),
        ({"n_init": 0}, "n_init"),
    ],
)
def test_wrong_parameters_are_named(params: dict[str, Any], message: str, blobs: Any) -> None:
    with pytest.raises(ValueError, match=message):
        PCKMeans(3, **params).fit(blobs[0])


def test_progress_shows_the_objective_of_the_summary(capsys: pytest.CaptureFixture[str]) -> None:
    X, y = load_iris(return_X_y=True)
    known = Constraints.sample(y, 40, random_state=0)
    model = PCKMeans(3, n_init=1, verbose=1, random_state=0).fit(X, constraints=known)
    shown = re.findall(r"objective ([\d.e+]+)", capsys.readouterr().err)
    assert float(shown[-1]) == pytest.approx(model.objective_, rel=1e-5)
    assert model.history_[-1] == pytest.approx(model.objective_)


# --- what it is made of ---


@given(SEEDS)
@settings(max_examples=20)
def test_labels_are_matched_exactly(seed: int) -> None:
    """With labels alone the best labels and anchors at fixed centres are found at once."""
    rng = np.random.default_rng(seed)
    n, k, unit = 4, 3, float(rng.uniform(0.05, 3))
    known = Constraints(labels=rng.integers(0, 2, size=n))
    cost = rng.uniform(size=(n, k)) ** 2
    penalties = Penalties(known, unit)
    labels = penalties.start(cost.argmin(axis=1), k)
    penalties.improve(cost, cost.argmin(axis=1), labels, np.random.RandomState(0))
    found = cost[np.arange(n), labels[:n]].sum() + penalties.value(labels)
    best = min(
        cost[np.arange(n), candidate].sum() + unit * known.violations(candidate).n
        for candidate in map(np.array, itertools.product(range(k), repeat=n))
    )
    assert found == pytest.approx(best)


def test_a_must_link_component_moves_as_a_whole() -> None:
    """No row of the component can leave alone, all of them together can."""
    X = np.array([[0.0], [0.2], [10.0], [10.2], [9.0], [9.1], [9.2]])
    known = Constraints(must_link=[(4, 5), (5, 6), (4, 6)], n_samples=7)
    cost = 0.5 * (X - np.array([[0.0, 10.0]])) ** 2
    penalties = Penalties(known, 1000.0)
    labels = np.array([0, 0, 0])
    assert list(penalties.rows) == [4, 5, 6]
    penalties.improve(cost[4:], cost[4:].argmin(axis=1), labels, np.random.RandomState(0))
    np.testing.assert_array_equal(labels, [1, 1, 1])


@given(SEEDS)
@settings(max_examples=40)
def test_rows_that_no_violated_statement_reaches_cannot_improve(seed: int) -> None:
    """At the nearest centers; so that only the others ever have to be looked at."""
    rng = np.random.default_rng(seed)
    n, k = 7, 2
    known = random_knowledge(rng, n) if rng.random() < 0.2 else few_pairs(rng, n)
    penalties = Penalties(known, 0.3)
    cost = rng.uniform(size=(len(penalties.rows), k))
    labels = penalties.start(cost.argmin(axis=1), k)
    contested = penalties.contested(labels)
    own = contested[: len(penalties.rows)]
    for pairs, violated in zip(
        (penalties.must_link, penalties.cannot_link), penalties.violated(labels), strict=True
    ):
        assert np.all(own[pairs[violated]])
        assert np.all(own[pairs[:, 0]] == own[pairs[:, 1]])
    content = np.flatnonzero(~own)
    for candidate in itertools.product(range(k), repeat=len(content)):
        other = labels.copy()
        other[content] = candidate
        assert penalties.objective(cost, other) >= penalties.objective(cost, labels) - 1e-12


def few_pairs(rng: np.random.Generator, n: int) -> Constraints:
    """Three pairs, of which the graph has several parts."""
    pairs = np.array(list(itertools.combinations(range(n), 2)))
    chosen = pairs[rng.permutation(len(pairs))[:3]]
    return Constraints(chosen[:2], chosen[2:], n_samples=n)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("with_bounds", [False, True])
def test_sums_and_labels_are_right_whether_or_not_calm_rows_are_skipped(
    kind: Any, with_bounds: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_lloyd, "WORTH_BOUNDS", 0 if with_bounds else np.inf)
    monkeypatch.setattr(_lloyd, "MAX_CHANGED_SHARE", 2)
    X, y = make_blobs(2000, n_features=3, centers=6, cluster_std=2.0, random_state=2)
    known = Constraints.sample(y, 300, random_state=0).flip(0.2, random_state=0)
    start, k = X[:6].copy(), 6
    labels = None
    for n_iter in range(1, 8):
        model = fit(kind(X), known, n_clusters=k, init=start, max_iter=n_iter, tol=0)
        assert model.objective_ == pytest.approx(
            objective(X, model.labels_, model.cluster_centers_, known, model.penalty_)
        )
        nearest = ((X[:, None] - model.cluster_centers_) ** 2).sum(axis=2).argmin(axis=1)
        free = np.setdiff1d(np.arange(len(X)), known.mentioned)
        np.testing.assert_array_equal(model.labels_[free], nearest[free])
        assert np.any(model.labels_ != nearest)
        if labels is not None:  # the centers are the means of the labels before
            np.testing.assert_allclose(model.cluster_centers_, _means(X, labels, k), atol=1e-9)
        labels = model.labels_
    assert np.all(np.diff(model.history_) <= 1e-9 * model.history_[:-1])


def test_rows_that_no_violated_pair_reaches_need_no_costs(
    blobs: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, _ = blobs
    plain = KMeans(3, init=X[:3]).fit(X)
    labels = plain.labels_
    together, apart = np.flatnonzero(labels == 0)[:20], np.flatnonzero(labels == 1)[:20]
    satisfied = Constraints(
        together.reshape(-1, 2), np.column_stack([together, apart]), n_samples=len(X)
    )
    wrong = np.flatnonzero(labels == 2)[:2]
    n_measured = []
    measure = PointCosts.at

    def count(self: PointCosts, centers: Any, places: Any = None) -> Any:
        cost, nearest = measure(self, centers, places)
        n_measured.append(len(cost))
        return cost, nearest

    monkeypatch.setattr(PointCosts, "at", count)
    start = plain.cluster_centers_
    model = PCKMeans(3, init=start).fit(X, constraints=satisfied)
    assert sum(n_measured) == 0
    np.testing.assert_array_equal(model.labels_, labels)
    known = satisfied | Constraints(cannot_link=[wrong], n_samples=len(X))
    PCKMeans(3, init=start, max_iter=1).fit(X, constraints=known)
    assert set(n_measured) == {2}
