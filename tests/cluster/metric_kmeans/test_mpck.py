"""MPCKMeans by mathematics: its objective, its steps, its limits and its invariances."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from scipy import sparse
from sklearn.datasets import load_iris, load_wine, make_blobs
from tests.cluster.kmeans.test_pck import random_knowledge
from tests.strategies import SEEDS

from sidelight import Constraints, engine
from sidelight._fit.moments import moments
from sidelight.cluster import KMeans, MPCKMeans, PCKMeans
from sidelight.cluster.metric_kmeans._metric_problem import MetricProblem, best_metric, objectives
from sidelight.cluster.metric_kmeans._metrics import Metrics, farthest_pair, squared_to_centers
from sidelight.cluster.metric_kmeans._mpck import scatter_within
from sidelight.cluster.pairs._penalties import Penalties, alternate_labels
from sidelight.evaluation import adjusted_rand_index

VARIANTS = list(itertools.product(("shared", "per-cluster"), ("full", "diagonal")))


# ------------------------------------------------------------------ limits


@pytest.fixture
def blobs() -> tuple[np.ndarray, np.ndarray]:
    X, y = make_blobs(150, n_features=3, centers=3, cluster_std=2.5, random_state=1)
    return X, y


def test_huge_weight_on_true_pairs_leaves_none_violated(blobs: Any) -> None:
    X, y = blobs
    known = Constraints.sample(y, 100, random_state=0)
    model = MPCKMeans(3, penalty=1e4, random_state=0).fit(X, constraints=known)
    assert model.n_violations_ == 0


# ------------------------------------------------------------------ invariances


@pytest.mark.parametrize(("metric", "shape"), VARIANTS)
@pytest.mark.parametrize("max_distance", ["bound", "sweep"])
def test_units_do_not_matter(blobs: Any, metric: str, shape: str, max_distance: str) -> None:
    X, y = blobs
    known = Constraints.sample(y, 60, random_state=0).flip(0.2, random_state=0)
    choices = {"metric_type": metric, "shape": shape, "max_distance": max_distance, "n_init": 2}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MPCKMeans, "_warn_of_contradictions", lambda self, known: None)
        first = MPCKMeans(3, random_state=0, **choices).fit(X, constraints=known)
        second = MPCKMeans(3, random_state=0, **choices).fit(1024 * X, constraints=known)
    np.testing.assert_array_equal(first.labels_, second.labels_)
    np.testing.assert_allclose(1024**2 * second.metrics_, first.metrics_)


@pytest.mark.parametrize(("metric", "shape"), VARIANTS)
@pytest.mark.parametrize("max_distance", ["bound", "sweep"])
def test_units_of_single_features_do_not_matter(metric: str, shape: str, max_distance: str) -> None:
    """``A_h`` takes up any scales s: the same labels, and ``J + 2 n Σ log s``."""
    X, y = make_blobs(150, n_features=4, centers=3, cluster_std=2.5, random_state=1)
    X[:3, 3] += 200.0  # a feature that only few rows have
    known = Constraints.sample(y, 60, random_state=0)
    scales = np.array([3e-4, 1.0, 700.0, 2e5])
    choices = {"metric_type": metric, "shape": shape, "max_distance": max_distance}
    choices |= {"n_init": 5, "random_state": 0}
    first = MPCKMeans(3, **choices).fit(X, constraints=known)
    second = MPCKMeans(3, **choices).fit(X * scales, constraints=known)
    np.testing.assert_array_equal(first.labels_, second.labels_)
    shift = 2 * len(X) * np.log(scales).sum()
    assert second.objective_ == pytest.approx(first.objective_ + shift, rel=1e-7)
    by_feature = np.outer(scales, scales) if shape == "full" else scales**2
    np.testing.assert_allclose(second.metrics_ * by_feature, first.metrics_, rtol=1e-3, atol=1e-6)
    given = X[[0, 50, 100]]
    first = MPCKMeans(3, init=given, **choices).fit(X, constraints=known)
    second = MPCKMeans(3, init=given * scales, **choices).fit(X * scales, constraints=known)
    np.testing.assert_array_equal(first.labels_, second.labels_)


@pytest.mark.parametrize("amount", [100, 300])
def test_raw_rows_are_clustered_as_well_as_standardized_ones(amount: int) -> None:
    """On wine one feature has most of the variance: k-means in raw units is a trap."""
    X, y = load_wine(return_X_y=True)
    known = Constraints.sample(y, amount, random_state=amount)
    free = np.setdiff1d(np.arange(len(y)), known.mentioned)
    raw = MPCKMeans(3, random_state=0).fit(X, constraints=known)
    standard = MPCKMeans(3, random_state=0).fit(X / X.std(axis=0), constraints=known)
    shift = 2 * len(X) * np.log(X.std(axis=0)).sum()
    assert raw.objective_ == pytest.approx(standard.objective_ + shift, rel=1e-6)
    assert adjusted_rand_index(raw.labels_, standard.labels_) == 1.0
    assert adjusted_rand_index(y[free], raw.labels_[free]) > 0.9


@pytest.mark.parametrize("shape", ["full", "diagonal"])
def test_features_of_few_rows_get_no_cluster_of_their_own(shape: str) -> None:
    """A cluster for the two rows that have a feature would let its weight grow without limit."""
    X, y = make_blobs(300, n_features=4, centers=3, cluster_std=2.0, random_state=3)
    rare = np.zeros((300, 4))
    rare[np.arange(8), np.arange(8) // 2] = 1.0
    known = Constraints.sample(y[8:], 40, random_state=0)
    pairs = {kind: getattr(known, kind) + 8 for kind in ("must_link", "cannot_link")}
    model = MPCKMeans(3, shape=shape, random_state=0)
    model.fit(np.column_stack([X, rare]), constraints=Constraints(n_samples=300, **pairs))
    assert adjusted_rand_index(y, model.labels_) > 0.9


@pytest.mark.parametrize("metric", ["shared", "per-cluster"])
def test_rotations_do_not_matter_to_matrices_but_to_weights(metric: str) -> None:
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 100)
    X = np.column_stack([y + 0.2 * rng.normal(size=200), 4 * rng.normal(size=200)])
    turn = np.array([[1.0, -1.0], [1.0, 1.0]]) / np.sqrt(2)
    known = Constraints.sample(y, 40, random_state=0)
    start = X[[0, 150]]
    fits = {}
    for shape in ("full", "diagonal"):
        choices = {"metric_type": metric, "shape": shape, "random_state": 0}
        plain = MPCKMeans(2, init=start, **choices).fit(X, constraints=known)
        turned = MPCKMeans(2, init=start @ turn, **choices).fit(X @ turn, constraints=known)
        fits[shape] = plain, turned
    plain, turned = fits["full"]
    np.testing.assert_array_equal(plain.labels_, turned.labels_)
    np.testing.assert_allclose(
        turn @ turned.metrics_ @ turn.T, plain.metrics_, rtol=1e-5, atol=1e-6
    )
    assert adjusted_rand_index(y, plain.labels_) > 0.8
    plain, turned = fits["diagonal"]
    assert adjusted_rand_index(y, plain.labels_) > 0.8
    assert adjusted_rand_index(y, turned.labels_) < 0.6


# ------------------------------------------------------------------ as a user sees it


@pytest.mark.parametrize(("metric", "shape"), VARIANTS)
def test_metric_is_learned_from_pairs(metric: str, shape: str) -> None:
    X, y = load_iris(return_X_y=True)
    known = Constraints.sample(y, 75, random_state=1)
    model = MPCKMeans(3, metric_type=metric, shape=shape, random_state=0).fit(X, constraints=known)
    assert adjusted_rand_index(y, model.labels_) > 0.8
    assert model.metrics_.shape == (3,) * (metric != "shared") + (4,) * (1 + (shape == "full"))
    free = np.ones(150, bool)
    free[known.must_link] = free[known.cannot_link] = False
    np.testing.assert_array_equal(model.predict(X)[free], model.labels_[free])


@pytest.mark.parametrize(("metric", "shape"), VARIANTS)
def test_predict_transform_and_score(blobs: Any, metric: str, shape: str) -> None:
    X, y = blobs
    known = Constraints.sample(y, 40, random_state=0)
    model = MPCKMeans(3, metric_type=metric, shape=shape, random_state=0).fit(X, constraints=known)
    A = model.metrics_ if shape == "full" else model.metrics_[..., None] * np.eye(3)
    A = np.broadcast_to(A, (3, 3, 3))
    away = X[:, None] - model.cluster_centers_
    squared = np.einsum("ihd,hde,ihe->ih", away, A, away)
    np.testing.assert_allclose(model.transform(X), np.sqrt(squared))
    blur = 1e-3 * np.cov(X.T, bias=True)
    blur = blur if shape == "full" else np.diag(np.diag(blur))
    costs = squared - np.linalg.slogdet(A)[1] + np.einsum("hde,de->h", A, blur)
    np.testing.assert_array_equal(model.predict(X), costs.argmin(axis=1))
    assert model.score(X) == pytest.approx(-costs.min(axis=1).sum(), rel=1e-6)
    assert model.inertia_ == pytest.approx(squared[np.arange(150), model.labels_].sum())


@pytest.mark.parametrize(("metric", "shape"), VARIANTS)
def test_sparse_rows_equal_dense_rows(blobs: Any, metric: str, shape: str) -> None:
    X, y = blobs
    X = np.where(np.abs(X) < 2, 0, X)
    known = Constraints.sample(y, 60, random_state=0)
    choices = {"metric_type": metric, "shape": shape, "init": X[:3].copy(), "random_state": 0}
    dense = MPCKMeans(3, **choices).fit(X, constraints=known)
    thin = MPCKMeans(3, **choices).fit(sparse.csr_array(X), constraints=known)
    np.testing.assert_array_equal(dense.labels_, thin.labels_)
    np.testing.assert_allclose(dense.metrics_, thin.metrics_, rtol=1e-6)
    np.testing.assert_array_equal(dense.predict(X), thin.predict(sparse.csr_matrix(X)))


@pytest.mark.parametrize(("metric", "shape"), VARIANTS)
def test_constant_features_are_harmless(blobs: Any, metric: str, shape: str) -> None:
    X, y = blobs
    known = Constraints.sample(y, 60, random_state=0)
    wide = np.column_stack([X, np.full(150, 3.0)])
    choices = {"metric_type": metric, "shape": shape, "random_state": 0}
    plain = MPCKMeans(3, init=X[:3].copy(), **choices).fit(X, constraints=known)
    more = MPCKMeans(3, init=wide[:3].copy(), **choices).fit(wide, constraints=known)
    assert np.isfinite(more.metrics_).all()
    assert adjusted_rand_index(plain.labels_, more.labels_) > 0.85


def test_empty_clusters_are_filled(blobs: Any) -> None:
    X, y = blobs
    start = np.vstack([X[:2], [[1e6] * 3]])
    for metric in ("shared", "per-cluster"):
        known = Constraints.sample(y, 100, random_state=0)
        model = MPCKMeans(3, metric_type=metric, init=start).fit(X, constraints=known)
        assert len(set(model.labels_)) == 3
        assert np.all(np.diff(model.history_) <= 1e-9 * np.abs(model.history_[:-1]))


def test_classes_and_groups_are_listened_to() -> None:
    X, y = load_iris(return_X_y=True)
    labels = np.where(np.arange(150) % 5 == 0, y, -1)
    model = MPCKMeans(3, random_state=0).fit(X, labels)
    assert model.n_violations_ <= 2
    assert adjusted_rand_index(y, model.labels_) > 0.85
    grouped = MPCKMeans(3, penalty=1e4, random_state=0)
    grouped.fit(X, constraints=Constraints(groups=labels))
    assert grouped.n_violations_ == 0


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"penalty": -1.0}, "penalty"),
        ({"penalty": "none"}, "penalty"),
        ({"penalty": np.inf}, "penalty"),
        ({"metric_type": "both"}, "metric_type"),
        ({"shape": "round"}, "shape"),
        ({"max_distance": "far"}, "max_distance"),
        ({"init": "middle"}, "init"),
        ({"n_init": 0}, "n_init"),
        ({"max_iter": 0}, "max_iter"),
        ({"tol": -1.0}, "tol"),
    ],
)
def test_wrong_parameters_are_named(params: dict[str, Any], message: str, blobs: Any) -> None:
    with pytest.raises(ValueError, match=message):
        MPCKMeans(3, **params).fit(blobs[0])


# --- what it is made of ---


def random_problem(
    seed: int, n: int = 14, k: int = 3, *, named: bool = True, **choices: Any
) -> tuple[MetricProblem, np.ndarray, Constraints]:
    """A small problem of a random variant, on rows of random scales and correlations."""
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(n, 2)) * rng.uniform(0.1, 10, size=2)) @ rng.normal(size=(2, 2))
    known = random_knowledge(rng, n, named=named)
    metric, shape = VARIANTS[rng.integers(4)]
    settings = {
        "shared": metric == "shared",
        "full": shape == "full",
        "max_distance": "bound",
        **choices,
    }
    penalty = float(rng.choice([0.1, 1.0, 5.0]))
    return MetricProblem(engine.as_rows(X), known, penalty, k, **settings), X, known


def run(problem: MetricProblem, centers: np.ndarray, **loop: Any) -> Any:
    settings = {"max_iter": 60, "tol": 0.0, "description": "test", "verbose": 0, **loop}
    return alternate_labels(problem, problem.start(centers), np.random.RandomState(0), **settings)


def largest_distance(problem: MetricProblem, X: np.ndarray, matrix: np.ndarray) -> float:
    """Dmax from its definition, or the bound from its."""
    gaps = (X[:, None] - X[None]).reshape(-1, X.shape[1])
    if not problem.largest.linear:
        return float(np.einsum("ij,jk,ik->i", gaps, matrix, gaps).max())
    if not problem.full:
        return float(np.diag(matrix) @ np.ptp(X, axis=0) ** 2)
    cov = np.cov(X.T, bias=True) + problem.ridge
    away = X - X.mean(axis=0)
    radius = np.einsum("ij,jk,ik->i", away, np.linalg.inv(cov), away).max()
    return float(4 * radius * np.trace(matrix @ cov))


def naive_objective(
    problem: MetricProblem, X: np.ndarray, known: Constraints, penalty: float, result: Any
) -> float:
    """J term by term, pair by pair, with the two regularising terms of the docstring."""
    labels, centers, state = result.labels, result.centers, result.parameters
    k, d = centers.shape
    values = state.metrics.values if problem.full else [np.diag(a) for a in state.metrics.values]
    A = [values[0 if problem.n_metrics == 1 else h] for h in range(k)]
    blur = problem.blur if problem.full else np.diag(problem.blur)
    total = 0.0
    for x, h in zip(X, labels, strict=True):
        total += np.trace(A[h] @ blur)
        total += (x - centers[h]) @ A[h] @ (x - centers[h]) - np.linalg.slogdet(A[h])[1]
    for (i, j), w in zip(known.must_link, known.must_link_weight, strict=True):
        if labels[i] != labels[j]:
            v = X[i] - X[j]
            total += penalty * w * 0.5 * (v @ A[labels[i]] @ v + v @ A[labels[j]] @ v)
    for (i, j), w in zip(known.cannot_link, known.cannot_link_weight, strict=True):
        if labels[i] == labels[j]:
            v, h = X[i] - X[j], labels[i]
            room = largest_distance(problem, X, A[h]) - v @ A[h] @ v
            total += penalty * w * problem.largest.scale * room
    stated = known.violations(labels)
    total += 2 * d * penalty * (len(stated.labels) + len(stated.groups))
    for matrix in values:
        if problem.n_metrics > 1:
            drawn = matrix @ (state.prior if problem.full else np.diag(state.prior))
            total += (d + 1) * (np.trace(drawn) - np.linalg.slogdet(drawn)[1] - d)
    return total


# ------------------------------------------------------------------ the objective


@given(SEEDS)
@settings(max_examples=40)
def test_objective_never_rises_and_is_what_it_says(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem, X, known = random_problem(seed, max_distance=str(rng.choice(["bound", "exact"])))
    result = run(problem, X[rng.choice(len(X), 3, replace=False)], max_iter=25)
    size = np.abs(result.history) + len(X) * 2
    assert np.all(np.diff(result.history) <= 1e-9 * size[:-1])
    penalty = float(problem.pairs.unit / 4)
    expected = naive_objective(problem, X, known, penalty, result)
    assert result.objective == pytest.approx(expected, rel=1e-7, abs=1e-6)


@given(SEEDS)
@settings(max_examples=25)
def test_no_single_row_and_no_component_can_improve_at_the_end(seed: int) -> None:
    """Brute force over all flips of one row and of one must-link component."""
    problem, X, known = random_problem(seed, n=8, named=False)
    result = run(problem, X[:3])
    penalty = float(problem.pairs.unit / 4)
    best = naive_objective(problem, X, known, penalty, result)
    component = known.closure(on_contradiction="keep").component
    blocks = [[i] for i in range(8)] + [np.flatnonzero(component == c) for c in set(component)]
    for block, cluster in itertools.product(blocks, range(3)):
        moved = result.labels.copy()
        moved[block] = cluster
        other = _Relabeled(moved, result.centers, result.parameters)
        value = naive_objective(problem, X, known, penalty, other)
        assert value >= best - 1e-7 * (abs(best) + 1)


class _Relabeled:
    def __init__(self, labels: np.ndarray, centers: np.ndarray, state: Any) -> None:
        self.labels, self.centers, self.parameters = labels, centers, state


@given(SEEDS)
@settings(max_examples=25)
def test_metric_step_has_no_gradient(seed: int) -> None:
    """Finite differences of the objective in the metrics are zero after a linear metric step."""
    problem, X, _ = random_problem(seed)
    visit = problem.evaluate(np.random.RandomState(0), problem.start(X[:3]), None)
    state, sums = problem.update(visit), visit.statistics
    if problem.n_metrics == 1:
        shift = problem._outer(sums.offsets, sums.sizes)[None]
    else:
        shift = problem._by_cluster(sums.offsets, sums.sizes)
    scatter = problem._linear(sums.scatter - shift, sums, visit.parameters.prior)
    mass = problem._sizes(sums) + problem.tau

    def f(values: np.ndarray) -> float:
        log_det = np.linalg.slogdet(values)[1] if problem.full else np.log(values).sum(axis=1)
        return objectives(
            Metrics(values, log_det), scatter, mass, sums.counted, problem.largest
        ).sum()

    values = state.metrics.values
    root = np.linalg.cholesky(values) if problem.full else np.sqrt(values)
    rng = np.random.default_rng(seed)
    for _ in range(4):
        way = rng.uniform(-1, 1, size=values.shape)
        if problem.full:
            way = root @ (way + way.swapaxes(1, 2)) @ root.swapaxes(1, 2) / 4
        else:
            way = root * way * root
        rise = (f(values + 1e-4 * way) - f(values - 1e-4 * way)) / 2e-4
        assert abs(rise) <= 1e-5 * mass.sum()
        assert f(values + 0.3 * way) > f(values)


def test_best_metric_is_the_inverse_scatter() -> None:
    rng = np.random.default_rng(0)
    scatter = np.cov(rng.normal(size=(4, 50)))
    matrix, log_det = best_metric(scatter, 7.0, 1e-9 * np.eye(4))
    np.testing.assert_allclose(matrix @ scatter, 7 * np.eye(4), atol=1e-12)
    assert log_det == pytest.approx(np.linalg.slogdet(matrix)[1])
    lifted, log_det = best_metric(scatter - 2 * np.eye(4), 7.0, 0.1 * np.eye(4))
    assert np.linalg.eigvalsh(lifted).min() > 0
    assert np.linalg.eigvalsh(lifted).max() == pytest.approx(70)
    assert log_det == pytest.approx(np.linalg.slogdet(lifted)[1])


# ------------------------------------------------------------------ limits


@pytest.mark.parametrize("full", [True, False])
def test_fixed_metric_and_no_weight_is_k_means(blobs: Any, full: bool) -> None:
    X, y = blobs
    known = Constraints.sample(y, 60, random_state=0)
    problem = MetricProblem(
        engine.as_rows(X), known, 0.0, 3, shared=True, full=full, max_distance="bound", learn=False
    )
    result = run(problem, X[:3])
    plain = KMeans(3, init=X[:3].copy(), tol=0).fit(X)
    np.testing.assert_array_equal(result.labels, plain.labels_)
    np.testing.assert_allclose(result.centers, plain.cluster_centers_)
    assert result.inertia * problem.scale == pytest.approx(plain.objective_)


def test_fixed_metric_and_constant_prices_are_pck_means() -> None:
    """The best of many starts has the same objective and labels."""
    X, y = make_blobs(40, n_features=2, centers=3, cluster_std=2.5, random_state=1)
    known = Constraints.sample((y + (np.arange(40) % 5 == 0)) % 3, 30, random_state=0)
    price = 4.0

    class ConstantPrices(MetricProblem):
        def priced(self, metrics: Metrics) -> Penalties:
            kinds = known.must_link, known.cannot_link
            return self.pairs.with_prices(*(np.full(len(pairs), price) for pairs in kinds))

    problem = ConstantPrices(
        engine.as_rows(X), known, 1.0, 3, shared=True, full=False, max_distance="bound", learn=False
    )
    problem.scale = 2.0  # half the squared distance, as PCK-means has it
    rng = np.random.default_rng(0)

    def value(labels: np.ndarray) -> float:
        spread = sum(((X[labels == h] - X[labels == h].mean(axis=0)) ** 2).sum() for h in range(3))
        return 0.5 * spread + price * known.violations(labels).n

    runs = [run(problem, X[rng.choice(40, 3, replace=False)]).labels for _ in range(40)]
    best = min(runs, key=value)
    model = PCKMeans(3, penalty=price, init="random", n_init=40, tol=0, random_state=0)
    model.fit(X, constraints=known)
    assert model.n_violations_ > 0
    assert value(best) == pytest.approx(model.objective_)
    assert adjusted_rand_index(best, model.labels_) == 1.0


def test_without_pairs_the_metric_is_the_inverse_within_scatter(blobs: Any) -> None:
    """Then sum ‖x - μ‖²_A (of blurred rows) is n d after every metric step."""
    X, _ = blobs
    problem = MetricProblem(
        engine.as_rows(X),
        Constraints(n_samples=150),
        1.0,
        3,
        shared=True,
        full=True,
        max_distance="bound",
    )
    chance = np.random.RandomState(0)
    visit = problem.evaluate(chance, problem.start(X[:3]), None)
    for _ in range(4):
        state = problem.update(visit)
        away = X - state.centers[visit.labels]
        within = away.T @ away
        A = state.metrics.values[0]
        total = np.einsum("ij,jk,ik->", away, A, away) + 150 * np.trace(A @ problem.blur)
        assert total == pytest.approx(150 * 3)
        np.testing.assert_allclose(A @ (within + 150 * problem.blur), 150 * np.eye(3), atol=1e-8)
        visit = problem.evaluate(chance, state, visit)
    n_d = 150 * 3
    assert visit.objective <= n_d - 150 * np.linalg.slogdet(A)[1] + 1e-9


# ------------------------------------------------------------------ invariances


@given(SEEDS)
@settings(max_examples=30)
def test_scatter_within_components(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(12, 3)) * (rng.random((12, 3)) < 0.7)
    component = rng.integers(0, 20, size=12)
    expected = np.zeros((3, 3))
    for c in set(component):
        away = points[component == c] - points[component == c].mean(axis=0)
        expected += away.T @ away
    for rows in (points, sparse.csr_array(points)):
        full, freedom = scatter_within(rows, component, full=True)
        diagonal, same = scatter_within(rows, component, full=False)
        np.testing.assert_allclose(full, expected, atol=1e-12)
        np.testing.assert_allclose(diagonal, np.diag(expected), atol=1e-12)
        assert freedom == same == 12 - len(set(component))


# ------------------------------------------------------------------ the largest distance


@given(SEEDS)
@settings(max_examples=25)
def test_farthest_pair_and_bound(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 3)) * rng.uniform(0.1, 5, size=3)
    factor = rng.normal(size=(3, 3))
    matrix = factor @ factor.T + 0.1 * np.eye(3)
    metrics = Metrics(matrix[None], np.linalg.slogdet(matrix[None])[1])
    gaps = (X[:, None] - X[None]).reshape(-1, 3)
    largest = np.einsum("ij,jk,ik->i", gaps, matrix, gaps).max()
    source = engine.as_rows(X)

    def reached(exact: bool) -> float:
        one, other = farthest_pair(source, X.mean(axis=0), metrics, 0, exact=exact)
        return (X[one] - X[other]) @ matrix @ (X[one] - X[other])

    assert reached(True) == pytest.approx(largest)
    assert 0.25 * largest <= reached(False) <= largest * (1 + 1e-12)
    known = Constraints(cannot_link=[(0, 1)], n_samples=40)
    for full in (True, False):
        problem = MetricProblem(source, known, 1.0, 2, shared=True, full=full, max_distance="bound")
        form = problem.largest.at(metrics if full else Metrics(np.ones((1, 3)), np.zeros(1)))[1][0]
        rooms = (form if full else np.diag(form)) - gaps[:, :, None] * gaps[:, None, :]
        if full:
            assert np.linalg.eigvalsh(rooms).min() >= -1e-9 * np.trace(form)
        else:
            assert np.diagonal(rooms, axis1=1, axis2=2).min() >= -1e-12


# ------------------------------------------------------------------ as a user sees it


def test_moments_do_not_depend_on_the_origin() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 3))
    near = moments(engine.as_rows(X), full=True)
    far = moments(engine.as_rows(X + 1e6), full=True)
    np.testing.assert_allclose(far.scatter, near.scatter, atol=1e-6)
    assert far.mean_variance == pytest.approx(X.var(axis=0).mean())
    centers = X[:2]
    metrics = Metrics(np.ones((1, 3)), np.zeros(1))
    away = ((X[:, None] - centers) ** 2).sum(axis=2)
    np.testing.assert_allclose(squared_to_centers(X, centers, metrics), away, atol=1e-12)
