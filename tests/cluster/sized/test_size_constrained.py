"""Size-constrained k-means and k-medians: brute force, limits, weights, links, outliers, errors."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_blobs

from sidelight import Constraints
from sidelight.assignment import SizedAssignment, assign_sized
from sidelight.assignment import _prices as _sized_prices
from sidelight.assignment._prices import COSTS_PER_ROW, SOME_ROWS
from sidelight.assignment._sized import size_bound
from sidelight.assignment.inner import better_prices
from sidelight.cluster import KMeans, SizeConstrainedKMeans, SizeConstrainedKMedians
from sidelight.cluster.sized import _loop as _sized_loop
from sidelight.exceptions import InconsistentConstraints, InfeasibleConstraints, SidelightError

BOTH = pytest.mark.parametrize("cls", [SizeConstrainedKMeans, SizeConstrainedKMedians])


def distances(cls: Any, X: np.ndarray, centers: np.ndarray) -> np.ndarray:
    gaps = X[:, None] - centers
    return np.sum(gaps**2, axis=2) if cls is SizeConstrainedKMeans else np.abs(gaps).sum(axis=2)


def best_labels(
    cost: np.ndarray, lower: Any, upper: Any, sizes: np.ndarray, known: Constraints | None = None
) -> float:
    """The cheapest labelling of all; a further column of costs is for rows left out."""
    n, columns = cost.shape
    k = len(lower)
    best = np.inf
    for choice in itertools.product(range(columns), repeat=n):
        labels = np.array(choice)
        filled = np.bincount(labels, sizes, minlength=columns)[:k]
        given = np.where(labels == k, -1, labels)
        met = known is None or known.violations(given).n == 0
        if met and np.all(filled >= lower) and np.all(filled <= upper):
            best = min(best, cost[np.arange(n), labels].sum())
    return best


@BOTH
@pytest.mark.parametrize("seed", range(6))
def test_every_assignment_is_the_cheapest(cls: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(8, 2))
    centers = rng.normal(size=(3, 2))
    model = cls(3, min_size=[1, 3, 2], max_size=[2, 4, 5], init=centers, max_iter=1, tol=0)
    model.fit(X)
    best = best_labels(distances(cls, X, centers), [1, 3, 2], [2, 4, 5], np.ones(8))
    assert model.history_[0] == pytest.approx(best)
    again = best_labels(distances(cls, X, model.cluster_centers_), [1, 3, 2], [2, 4, 5], np.ones(8))
    assert model.objective_ == pytest.approx(again)


@BOTH
@pytest.mark.parametrize("seed", range(4))
def test_outliers_by_brute_force(cls: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = np.concatenate([rng.normal(size=(6, 2)), [[30.0, 0.0]]])
    centers = rng.normal(size=(2, 2))
    weights = rng.integers(1, 3, size=7).astype(float)
    cost = np.column_stack([distances(cls, X, centers), np.full(7, 3.0)]) * weights[:, None]
    model = cls(2, min_size=2, max_size=6, outlier_cost=3.0, init=centers, max_iter=1, tol=0)
    model.fit(X, sample_weight=weights)
    assert model.history_[0] == pytest.approx(best_labels(cost, [2, 2], [6, 6], weights))
    assert model.labels_[6] == -1
    out = model.labels_ < 0
    assert model.objective_ == pytest.approx(model.inertia_ + 3.0 * weights[out].sum())


@pytest.mark.parametrize("seed", range(6))
def test_links_by_brute_force(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(8, 2))
    centers = rng.normal(size=(3, 2))
    known = Constraints([(0, 1), (2, 3)], [(1, 4), (4, 5), (2, 6)], n_samples=8)
    model = SizeConstrainedKMeans(3, min_size=2, max_size=4, init=centers, max_iter=1, tol=0)
    model.fit(X, constraints=known)
    cost = distances(SizeConstrainedKMeans, X, centers)
    best = best_labels(cost, [2] * 3, [4] * 3, np.ones(8), known)
    assert model.history_[0] == pytest.approx(best)
    assert model.n_violations_ == 0
    assert model.assignment_gap_ == 0


def test_rows_with_links_are_never_left_out() -> None:
    X = np.array([[0.0], [0.1], [50.0], [60.0], [1.0]])
    known = Constraints([(2, 3)], n_samples=5)
    model = SizeConstrainedKMeans(2, outlier_cost=0.5, random_state=0).fit(X, constraints=known)
    assert model.n_violations_ == 0
    assert model.labels_[2] == model.labels_[3] >= 0


@pytest.mark.parametrize("bounds", [{}, {"min_size": 0}, {"max_size": 500}])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_without_bounds_it_is_lloyd(bounds: Any, dtype: Any) -> None:
    X, _ = make_blobs(500, n_features=3, centers=6, cluster_std=3.0, random_state=1)
    X = X.astype(dtype)
    weights = np.random.default_rng(0).integers(1, 4, size=500)
    for sample_weight in (None, weights):
        if "max_size" in bounds and sample_weight is not None:
            continue
        plain = KMeans(6, init=X[:6], tol=0).fit(X, sample_weight=sample_weight)
        model = SizeConstrainedKMeans(6, init=X[:6], tol=0, **bounds)
        model.fit(X, sample_weight=sample_weight)
        np.testing.assert_array_equal(model.labels_, plain.labels_)
        np.testing.assert_allclose(model.history_, plain.history_, rtol=1e-6)
        np.testing.assert_allclose(model.cluster_centers_, plain.cluster_centers_, rtol=1e-4)
        assert model.n_iter_ == plain.n_iter_


def test_bounds_that_do_not_bind_change_nothing() -> None:
    X, _ = make_blobs(300, centers=4, random_state=2)
    plain = KMeans(4, init=X[:4]).fit(X)
    smallest, largest = np.bincount(plain.labels_).min(), np.bincount(plain.labels_).max()
    model = SizeConstrainedKMeans(4, min_size=1, max_size=250, init=X[:4]).fit(X)
    assert 1 <= smallest <= largest <= 250
    np.testing.assert_array_equal(model.labels_, plain.labels_)


@BOTH
@pytest.mark.parametrize("n", [120, 123])
def test_balance(cls: Any, n: int) -> None:
    X = np.random.default_rng(0).exponential(size=(n, 3))
    model = cls(8, min_size=1 / 8, max_size=1 / 8, n_init=2, random_state=0).fit(X)
    assert set(model.cluster_sizes_) <= {n // 8, -(-n // 8)}
    np.testing.assert_array_equal(model.cluster_sizes_, np.bincount(model.labels_, minlength=8))


@BOTH
@pytest.mark.parametrize("seed", range(5))
def test_objective_never_rises_and_is_what_it_says(cls: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.exponential(size=(200, 2))
    model = cls(7, min_size=20, max_size=40, init="random", n_init=1, tol=0, random_state=seed)
    model.fit(X)
    assert np.all(np.diff(model.history_) <= 0)
    assert model.converged_
    assert model.cluster_sizes_.min() >= 20
    assert model.cluster_sizes_.max() <= 40
    cost = distances(cls, X, model.cluster_centers_)
    assert model.objective_ == pytest.approx(cost[np.arange(200), model.labels_].sum())
    if cls is SizeConstrainedKMeans:
        centers = [X[model.labels_ == h].mean(axis=0) for h in range(7)]
    else:
        centers = [
            np.sort(X[model.labels_ == h], axis=0)[(np.sum(model.labels_ == h) - 1) // 2]
            for h in range(7)
        ]
    better = distances(cls, X, np.array(centers))[np.arange(200), model.labels_].sum()
    assert model.objective_ == pytest.approx(better, rel=1e-9)


def test_permuted_rows() -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(150, 2))
    order = rng.permutation(150)
    model = SizeConstrainedKMeans(4, min_size=30, max_size=45, init=X[:4]).fit(X)
    other = SizeConstrainedKMeans(4, min_size=30, max_size=45, init=X[:4]).fit(X[order])
    np.testing.assert_array_equal(other.labels_, model.labels_[order])


@BOTH
def test_whole_weights_are_repeated_rows(cls: Any) -> None:
    """Copies of a row stay together where nothing binds: then both problems are the same."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(20, 2)), rng.normal(size=(20, 2)) + 20])
    weights = rng.integers(1, 4, size=40)
    total = weights.sum()
    bounds = {"min_size": 10, "max_size": int(total)}
    weighted = cls(2, init=X[[0, 20]], **bounds).fit(X, sample_weight=weights)
    repeated = cls(2, init=X[[0, 20]], **bounds).fit(np.repeat(X, weights, axis=0))
    np.testing.assert_array_equal(np.repeat(weighted.labels_, weights), repeated.labels_)
    np.testing.assert_allclose(weighted.cluster_centers_, repeated.cluster_centers_)
    assert weighted.objective_ == pytest.approx(repeated.objective_)
    np.testing.assert_array_equal(weighted.cluster_sizes_, repeated.cluster_sizes_)


@pytest.mark.parametrize("seed", range(4))
def test_summed_weights_by_brute_force(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, centers = rng.normal(size=(8, 2)), rng.normal(size=(2, 2))
    people = rng.integers(1, 9, size=8).astype(float)
    lower, upper = np.floor(people.sum() * 0.4), np.ceil(people.sum() * 0.6)
    model = SizeConstrainedKMeans(2, min_size=lower, max_size=upper, init=centers, max_iter=1)
    model.fit(X, row_sizes=people)
    cost = distances(SizeConstrainedKMeans, X, centers)
    assert model.history_[0] == pytest.approx(best_labels(cost, [lower] * 2, [upper] * 2, people))
    np.testing.assert_allclose(
        model.cluster_sizes_, np.bincount(model.labels_, people, minlength=2)
    )


def test_many_rows_with_real_weights() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 2))
    weights = rng.random(1500) + 0.5
    share = weights.sum() / 5
    model = SizeConstrainedKMeans(5, min_size=0.99 * share, max_size=1.01 * share, n_init=1)
    model.set_params(max_iter=3, random_state=0).fit(X, sample_weight=weights)
    assert np.all(np.abs(model.cluster_sizes_ / share - 1) <= 0.01 + 1e-6)
    assert 0 <= model.assignment_gap_ <= 1e-3
    assert np.all(np.diff(model.history_) <= 1e-9 * model.history_[0])


def test_must_links_and_cannot_links_with_balance() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 2)), rng.integers(3, size=90)
    y = np.arange(90) % 3
    known = Constraints.sample(y, 40, random_state=0)
    model = SizeConstrainedKMeans(3, min_size=30, max_size=30, n_init=1, max_iter=5, random_state=0)
    model.fit(X, constraints=known)
    np.testing.assert_array_equal(model.cluster_sizes_, 30)
    assert model.n_violations_ == 0
    assert np.all(np.diff(model.history_) <= 1e-9 * model.history_[0])


@BOTH
def test_sparse_rows(cls: Any) -> None:
    rng = np.random.default_rng(1)
    X = rng.random((200, 30)) * (rng.random((200, 30)) < 0.2) - 0.2 * (rng.random((200, 30)) < 0.1)
    weights = rng.integers(1, 3, size=200)
    for extra in ({}, {"outlier_cost": 0.8}):
        for sample_weight in (None, weights):
            model = cls(4, min_size=30, max_size=120, init=X[:4].copy(), max_iter=6, **extra)
            dense = clone_fit(model, X, sample_weight)
            thin = clone_fit(model, sparse.csr_matrix(X), sample_weight)
            # Rows at equal 1-norm distance of two centres are many, and rounding decides on them.
            assert thin.history_[0] == pytest.approx(dense.history_[0])
            if cls is SizeConstrainedKMeans:
                np.testing.assert_array_equal(thin.labels_, dense.labels_)
                np.testing.assert_allclose(thin.cluster_centers_, dense.cluster_centers_)
            medians = type(thin)(**thin.get_params()).set_params(init=thin.cluster_centers_)
            again = clone_fit(medians.set_params(max_iter=1), X, sample_weight)
            assert again.history_[0] == pytest.approx(thin.objective_)


def clone_fit(model: Any, X: Any, sample_weight: Any) -> Any:
    return type(model)(**model.get_params()).fit(X, sample_weight=sample_weight)


@pytest.mark.parametrize("weighted", [False, True])
def test_lower_medians(weighted: bool) -> None:
    rng = np.random.default_rng(4)
    X = rng.integers(-2, 3, size=(31, 4)).astype(float)
    weights = rng.integers(1, 4, size=31)
    model = SizeConstrainedKMedians(1, init=X[:1]).fit(
        X, sample_weight=weights if weighted else None
    )
    rows = np.sort(np.repeat(X, weights, axis=0) if weighted else X, axis=0)
    np.testing.assert_array_equal(model.cluster_centers_[0], rows[(len(rows) - 1) // 2])


def test_new_rows_go_to_the_nearest_centre_unless_bounded() -> None:
    X, _ = make_blobs(200, centers=4, random_state=0)
    model = SizeConstrainedKMeans(4, min_size=40, max_size=60, random_state=0).fit(X)
    new = X[:3]  # far fewer than the bounds ask for
    cost = distances(SizeConstrainedKMeans, new, model.cluster_centers_)
    np.testing.assert_array_equal(model.predict(new), cost.argmin(axis=1))
    with pytest.raises(SidelightError, match="more than the 3 rows"):
        model.predict_sized(new)
    bounded = model.predict_sized(X[:8], min_size=2, max_size=2)
    np.testing.assert_array_equal(np.bincount(bounded, minlength=4), 2)
    cost = distances(SizeConstrainedKMeans, X[:8], model.cluster_centers_)
    assert cost[np.arange(8), bounded].sum() == pytest.approx(
        best_labels(cost, [2] * 4, [2] * 4, np.ones(8))
    )
    assert np.bincount(model.predict_sized(X.astype(np.float32))).min() >= 40


def test_medians_predict_in_their_own_norm() -> None:
    X = np.random.default_rng(0).normal(size=(60, 3))
    model = SizeConstrainedKMedians(3, min_size=15, random_state=0).fit(X)
    cost = distances(SizeConstrainedKMedians, X, model.cluster_centers_)
    np.testing.assert_array_equal(model.predict(X), cost.argmin(axis=1))
    np.testing.assert_allclose(model.transform(X), cost)
    assert model.score(X) == pytest.approx(-cost.min(axis=1).sum())


def test_empty_clusters_get_a_row() -> None:
    X = np.concatenate([np.zeros((10, 1)), np.ones((10, 1)), np.full((3, 1), 9.0)])
    start = np.array([[0.0], [100.0], [200.0]])
    for cls in (SizeConstrainedKMeans, SizeConstrainedKMedians):
        model = cls(3, init=start, max_size=20).fit(X)
        assert model.objective_ == 0
        assert len(np.unique(model.labels_)) == 3


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"min_size": 40}, "add up to 120, more than the 100 rows: ask for at most 33 per"),
        ({"max_size": 33}, "add up to 99, less than the 100 rows: allow at least 34 per"),
        ({"min_size": 20, "max_size": 10}, "at least 20 and at most 10"),
        ({"min_size": [1, 2]}, "3 clusters"),
    ],
)
@BOTH
def test_impossible_bounds(cls: Any, params: Any, message: str) -> None:
    with pytest.raises(SidelightError, match=message):
        cls(3, **params).fit(np.random.default_rng(0).normal(size=(100, 2)))


def test_linked_rows_that_are_too_many() -> None:
    X = np.random.default_rng(0).normal(size=(30, 2))
    ids = [f"p{i}" for i in range(30)]
    links = [(f"p{i}", f"p{i + 1}") for i in range(4, 16)]
    known = Constraints(links, ids=ids)
    with pytest.raises(SidelightError, match=r"'p4' and the 12 rows linked.*max_size=13"):
        SizeConstrainedKMeans(3, max_size=10).fit(X, constraints=known)
    sizes = np.where(np.arange(30) == 3, 70.0, 1.0)
    with pytest.raises(SidelightError, match=r"row 3 counts 70.*max_size=70"):
        SizeConstrainedKMeans(3, max_size=50).fit(X, row_sizes=sizes)


def test_impossible_links() -> None:
    X = np.random.default_rng(0).normal(size=(4, 2))
    star = Constraints(cannot_link=[(0, 1), (0, 2), (0, 3)], n_samples=4)
    with pytest.raises(InfeasibleConstraints, match="sizes together with the cannot-links"):
        SizeConstrainedKMeans(2, min_size=2).fit(X, constraints=star)
    clique = Constraints(cannot_link=[(0, 1), (0, 2), (1, 2)], n_samples=4)
    with pytest.raises(InfeasibleConstraints, match="3 clusters would suffice"):
        SizeConstrainedKMeans(2).fit(X, constraints=clique)
    contradiction = Constraints([(0, 1)], [(0, 1)], n_samples=4)
    with pytest.raises(InconsistentConstraints):
        SizeConstrainedKMeans(2).fit(X, constraints=contradiction)


@pytest.mark.parametrize(
    ("params", "message"),
    [({"outlier_cost": -1.0}, "outlier_cost"), ({"time_limit": 0}, "time_limit")],
)
def test_bad_parameters(params: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SizeConstrainedKMeans(2, **params).fit([[0.0], [1.0]])
    with pytest.raises(SidelightError, match="row_sizes"):
        SizeConstrainedKMeans(2).fit([[0.0], [1.0]], row_sizes=[1.0, -1.0])


# ------------------------------------------------------------------ prices for the next assignment


def test_prices_without_a_way_between_the_clusters_stay_finite() -> None:
    X = np.repeat([[0.0], [1e3], [2e3]], [500, 300, 200], axis=0)
    cost = (X - np.array([0.0, 1e3, 2e3])) ** 2
    prices, _ = better_prices(cost, np.full(3, 333.0), np.full(3, 334.0), np.array([1.0, 0, -1]))
    assert np.all(np.isfinite(prices))
    model = SizeConstrainedKMeans(3, min_size=333, max_size=334, random_state=0).fit(X)
    assert sorted(model.cluster_sizes_) == [333, 333, 334]


# --- what it is made of ---


def test_prices_prove_the_last_assignment() -> None:
    """Weak duality with the prices of the fit, on a case where both kinds of bounds bind."""
    X = np.random.default_rng(0).exponential(size=(400, 2))
    seen: list[SizedAssignment] = []
    from sidelight.cluster.sized import _loop as _sized_loop

    real = _sized_loop.assign_sized
    try:
        _sized_loop.assign_sized = lambda *a, **b: seen.append(real(*a, **b)) or seen[-1]
        model = SizeConstrainedKMeans(5, min_size=70, max_size=90, n_init=1, random_state=0).fit(X)
    finally:
        _sized_loop.assign_sized = real
    cost = distances(SizeConstrainedKMeans, X, model.cluster_centers_)
    proof = size_bound(cost, np.ones(400), np.full(5, 70.0), np.full(5, 90.0), seen[-1].prices)
    assert model.objective_ == pytest.approx(proof, rel=1e-9)


# ------------------------------------------------------------------ prices for the next assignment


def off_by(cost: np.ndarray, lower: np.ndarray, upper: np.ndarray, prices: np.ndarray) -> float:
    """Rows that have to move before sizes, bounds and prices agree."""
    sizes = np.bincount((cost + prices).argmin(axis=1), minlength=len(prices))
    goal = np.where(prices > 0, upper, lower)
    goal = np.where(prices == 0, np.clip(sizes, lower, upper), goal)
    return float(np.abs(sizes - goal).sum() / 2)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("balanced", [True, False])
def test_newton_steps_bring_prices_close(balanced: bool, dtype: Any) -> None:
    rng = np.random.default_rng(0)
    X, centers = rng.normal(size=(6000, 3)), 2 * rng.normal(size=(6, 3))
    lower, upper = np.full(6, 1000.0), np.full(6, 1000.0)
    if not balanced:
        lower, upper = np.full(6, 400.0), np.full(6, 1300.0)

    def costs(at: np.ndarray) -> np.ndarray:
        return ((X[:, None] - at) ** 2).sum(axis=2).astype(dtype)

    before = assign_sized(costs(centers), lower, upper)
    cost = costs(centers + 0.1 * rng.normal(size=centers.shape))
    wrong = [off_by(cost, lower, upper, before.prices)]
    prices, worth_it = before.prices, True
    while worth_it:
        prices, worth_it = better_prices(cost, lower, upper, prices)
        wrong.append(off_by(cost, lower, upper, prices))
    assert wrong[0] > 200
    assert wrong[1] < wrong[0] / 2
    assert wrong[-1] == wrong[-2] <= SOME_ROWS + cost.size / COSTS_PER_ROW


@pytest.mark.parametrize("seed", range(5))
def test_better_prices_change_nothing_but_the_time(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(900, 2)) * (1, 3)
    settings: dict[str, Any] = {"min_size": 100, "max_size": 130, "n_init": 2, "random_state": seed}
    monkeypatch.setattr(_sized_prices, "SOME_ROWS", 0)  # or nothing would be worth it here
    asked = []

    def watched(*args: Any) -> Any:
        asked.append(better_prices(*args)[1])
        return better_prices(*args)

    monkeypatch.setattr(_sized_loop, "better_prices", watched)
    faster = SizeConstrainedKMeans(8, **settings).fit(X)
    assert any(asked)
    monkeypatch.setattr(_sized_loop, "better_prices", lambda cost, low, high, p: (p, True))
    plain = SizeConstrainedKMeans(8, **settings).fit(X)
    np.testing.assert_array_equal(faster.labels_, plain.labels_)
    np.testing.assert_allclose(faster.history_, plain.history_, rtol=1e-12)
