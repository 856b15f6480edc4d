"""HMRFKMeans by mathematics: its divergences, its objective, its limits."""

from __future__ import annotations

import decimal
import itertools
from typing import Any

import numpy as np
import pytest
from experiments.recipes.documents import make_two_factor_documents
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import minimize_scalar
from scipy.spatial.distance import cosine, jensenshannon
from sklearn.feature_extraction.text import TfidfTransformer
from tests.cluster.kmeans.test_pck import random_knowledge
from tests.strategies import SEEDS

from sidelight import Constraints, engine
from sidelight._kernels.cluster import divergence as kernels
from sidelight.cluster import HMRFKMeans, KMeans, MPCKMeans, SphericalKMeans
from sidelight.cluster.metric_kmeans._divergence_problem import DivergenceProblem
from sidelight.cluster.metric_kmeans._divergences import Cosine, KullbackLeibler, mean_divergences
from sidelight.cluster.metric_kmeans._feature_weights import ViolationSums, best_weights
from sidelight.cluster.pairs._penalties import alternate_labels
from sidelight.evaluation import adjusted_rand_index
from sidelight.exceptions import SidelightError


def counts(rng: np.random.Generator, n: int, d: int = 4) -> np.ndarray:
    """Non-negative rows, none of them zero, about a third of the entries zero."""
    X = rng.gamma(1.0, 2.0, size=(n, d)) * (rng.random((n, d)) < 0.7)
    X[np.arange(n), rng.integers(d, size=n)] += 0.5
    return X


def i_divergence(x: np.ndarray, z: np.ndarray, a: np.ndarray) -> float:
    return sum(
        w * ((p * np.log(p / q) if p > 0 else 0.0) - p + q) for p, q, w in zip(x, z, a, strict=True)
    )


# ------------------------------------------------------------------ limits


def test_cosine_without_constraints_is_spherical_k_means() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5)) + 2 * rng.normal(size=(4, 5))[rng.integers(4, size=200)]
    start = X[:4].copy()
    plain = SphericalKMeans(4, init=start, tol=0).fit(X)
    model = HMRFKMeans(4, divergence="cosine", init=start, tol=0).fit(X)
    np.testing.assert_array_equal(model.labels_, plain.labels_)
    np.testing.assert_allclose(model.cluster_centers_, plain.cluster_centers_)
    np.testing.assert_array_equal(model.metrics_, 1)
    thin = HMRFKMeans(4, divergence="cosine", init=start, tol=0).fit(sparse.csr_matrix(X))
    np.testing.assert_array_equal(thin.labels_, plain.labels_)


def test_euclidean_is_mpck_means_with_one_metric_and_k_means_without_constraints() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=120)
    X = rng.normal(size=(120, 3)) + 3 * rng.normal(size=(3, 3))[y]
    known = Constraints.sample(y, 40, random_state=0)
    model = HMRFKMeans(3, init=X[:3].copy(), random_state=0).fit(X, constraints=known)
    metric = MPCKMeans(3, init=X[:3].copy(), random_state=0).fit(X, constraints=known)
    np.testing.assert_array_equal(model.labels_, metric.labels_)
    np.testing.assert_array_equal(model.metrics_, metric.metrics_)
    np.testing.assert_allclose(model.transform(X), metric.transform(X))
    np.testing.assert_array_equal(model.predict(X), metric.predict(X))
    free = HMRFKMeans(3, init=X[:3].copy(), tol=0).fit(X)
    np.testing.assert_array_equal(free.labels_, KMeans(3, init=X[:3].copy(), tol=0).fit(X).labels_)


def test_kl_without_constraints_falls_to_a_fixed_point() -> None:
    rng = np.random.default_rng(0)
    X = counts(rng, 100)
    model = HMRFKMeans(3, divergence="kl", init=X[:3].copy(), tol=0).fit(X)
    assert np.all(np.diff(model.history_) <= 1e-12)
    assert model.converged_
    for h in range(3):
        mean = X[model.labels_ == h].mean(axis=0)
        np.testing.assert_allclose(model.cluster_centers_[h], mean, atol=1e-11)
    ones = np.ones(4)
    expected = [[i_divergence(x, z, ones) for z in model.cluster_centers_] for x in X]
    np.testing.assert_allclose(model.transform(X), expected, atol=1e-9)
    np.testing.assert_array_equal(model.labels_, np.argmin(expected, axis=1))
    assert model.score(X) == pytest.approx(-np.min(expected, axis=1).sum())


# ------------------------------------------------------------------ as a user sees it


@pytest.mark.parametrize("divergence", ["cosine", "kl"])
def test_documents_sorted_as_the_pairs_say(divergence: str) -> None:
    """The same texts by subject or by mode, sparse as dense."""
    documents = make_two_factor_documents(random_state=0)
    X = documents.data.astype(float)
    if divergence == "cosine":
        X = TfidfTransformer(sublinear_tf=True).fit_transform(X)
    for target in (np.asarray(documents.target), np.asarray(documents.extras["mode"])):
        known = Constraints.sample(target, 200, random_state=0)
        choices = {"divergence": divergence, "n_init": 3, "random_state": 0}
        model = HMRFKMeans(2, **choices).fit(X, constraints=known)
        assert adjusted_rand_index(target, model.labels_) > 0.5
        start = model.cluster_centers_
        thin = HMRFKMeans(2, init=start, **choices).fit(X, constraints=known)
        dense = HMRFKMeans(2, init=start, **choices).fit(X.toarray(), constraints=known)
        np.testing.assert_array_equal(thin.labels_, dense.labels_)
        np.testing.assert_allclose(thin.metrics_, dense.metrics_)
        np.testing.assert_array_equal(thin.predict(X), dense.predict(X.toarray()))


@pytest.mark.parametrize("divergence", ["cosine", "kl"])
def test_precision_threads_and_disk(divergence: str, tmp_path: Any) -> None:
    rng = np.random.default_rng(0)
    X = counts(rng, 9000).astype(np.float32)
    y = np.argmax(X, axis=1)
    known = Constraints.sample(y, 300, random_state=0)
    np.save(tmp_path / "rows.npy", X)
    disk = engine.open_rows(tmp_path / "rows.npy", memory_budget=50_000)
    results = []
    for n_threads, rows in ((1, X), (2, X), (2, disk)):
        with engine.threads(n_threads):
            model = HMRFKMeans(4, divergence=divergence, init=X[:4].copy(), max_iter=8)
            model.random_state = 0
            results.append(model.fit(rows, constraints=known))
    assert results[0].cluster_centers_.dtype == np.float32
    assert results[0].transform(X).dtype == np.float32
    np.testing.assert_array_equal(results[0].labels_, results[1].labels_)
    np.testing.assert_array_equal(results[0].history_, results[1].history_)
    assert np.mean(results[0].labels_ == results[2].labels_) > 0.999


@pytest.mark.parametrize("divergence", ["cosine", "kl"])
def test_empty_clusters_are_filled(divergence: str) -> None:
    rng = np.random.default_rng(0)
    X = counts(rng, 60)
    start = np.vstack([X[:1], X[:1], X[:1]])
    known = Constraints.sample(np.argmax(X, axis=1), 60, random_state=0)
    model = HMRFKMeans(3, divergence=divergence, init=start).fit(X, constraints=known)
    assert len(set(model.labels_)) == 3
    assert np.all(np.diff(model.history_) <= 1e-9 * np.abs(model.history_[:-1]))


def test_classes_and_groups_are_listened_to() -> None:
    rng = np.random.default_rng(0)
    X = counts(rng, 100)
    y = np.argmax(X, axis=1) // 2
    labels = np.where(np.arange(100) % 4 == 0, y, -1)
    for divergence in ("cosine", "kl"):
        model = HMRFKMeans(2, divergence=divergence, penalty=100.0, random_state=0)
        assert model.fit(X, labels).n_violations_ == 0
        assert model.fit(X, constraints=Constraints(groups=labels)).n_violations_ == 0


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_impossible_rows_are_named(kind: Any) -> None:
    rng = np.random.default_rng(0)
    X = counts(rng, 20)
    ids = [f"page {i}" for i in range(20)]
    known = Constraints(must_link=[("page 0", "page 1")], ids=ids)
    X[7] = 0
    with pytest.raises(SidelightError, match=r"[Pp]age 7.*all zeros"):
        HMRFKMeans(2, divergence="cosine").fit(kind(X), constraints=known)
    HMRFKMeans(2, divergence="kl", random_state=0).fit(kind(X), constraints=known)
    X[11, 2] = -3
    with pytest.raises(SidelightError, match=r"[Pp]age 11.*negative value -3.*euclidean"):
        HMRFKMeans(2, divergence="kl").fit(kind(X), constraints=known)
    with pytest.raises(SidelightError, match="Row 11"):
        HMRFKMeans(2, divergence="kl").fit(kind(X))


@pytest.mark.parametrize(
    "params",
    [{"divergence": "manhattan"}, {"penalty": -1.0}, {"prior_strength": 0.0}, {"init": "middle"}],
)
def test_wrong_parameters_are_named(params: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(params))):
        HMRFKMeans(2, **params).fit(counts(np.random.default_rng(0), 20))


# ------------------------------------------------------------------ rounding


def long_divergences(name: str, X: np.ndarray, centers: np.ndarray) -> np.ndarray:
    """Divergences of all rows and centers under equal weights in extended precision."""
    rows, points = X.astype(np.longdouble)[:, None], centers.astype(np.longdouble)[None]
    if name == "kl":
        u = (rows - points) / points
        terms = np.where(abs(u) < 1e-3, u**2 / 2 - u**3 / 6 + u**4 / 12 - u**5 / 20, 0)
        terms = np.where(abs(u) < 1e-3, terms, (1 + u) * np.log1p(u) - u)
        return (points * terms).sum(axis=2)
    unit = [a / np.sqrt((a * a).sum(axis=2, keepdims=True)) for a in (rows, points)]
    return ((unit[0] - unit[1]) ** 2).sum(axis=2) / 2


def near_rows(case: str) -> tuple[str, np.ndarray, np.ndarray]:
    """Three clusters of rows that are almost the same."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 40)
    shifts = rng.normal(size=(3, 6))[y] + 0.1 * rng.normal(size=(120, 6))
    if case == "parallel float32":
        return "cosine", (1.0 + 1e-3 * shifts).astype(np.float32), y
    if case == "parallel float64":
        return "cosine", 1.0 + 1e-7 * shifts, y
    if case == "counts float32":
        return "kl", (1e7 + 500 * shifts).round().astype(np.float32), y
    return "kl", 1e8 + (shifts - shifts.min()) / np.ptp(shifts), y


@pytest.mark.parametrize("n_pairs", [0, 30])
@pytest.mark.parametrize(
    "case", ["parallel float32", "parallel float64", "counts float32", "far float64"]
)
def test_rows_that_are_almost_the_same_are_told_apart(case: str, n_pairs: int) -> None:
    name, X, y = near_rows(case)
    known = Constraints.sample(y, n_pairs, random_state=0) if n_pairs else None
    model = HMRFKMeans(3, divergence=name, random_state=0).fit(X, constraints=known)
    assert adjusted_rand_index(y, model.labels_) == 1.0
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert model.cluster_centers_.dtype == X.dtype == model.transform(X).dtype
    assert model.inertia_ > 0
    assert np.all(np.diff(model.history_) <= 1e-10 * np.abs(model.history_[:-1]))
    if n_pairs == 0:
        means = np.array([X[model.labels_ == h].astype(np.float64).mean(axis=0) for h in range(3)])
        best = long_divergences(name, X, means)[np.arange(120), model.labels_].sum()
        assert model.inertia_ == pytest.approx(float(best), rel=1e-3)
        exact = long_divergences(name, X, model.cluster_centers_).astype(np.float64)
        assert model.transform(X) == pytest.approx(exact, rel=1e-3, abs=1e-6 * exact.max())


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("init", ["auto", "neighborhoods"])
def test_must_links_between_directions_that_cancel(kind: Any, init: str) -> None:
    """Their sum has no direction: they cost 1 each on average wherever the center is."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3)) + np.repeat([[6.0, 0, 0], [0, 6.0, 0]], 20, axis=0)
    X[1], X[3] = -X[0], -2 * X[2]
    known = Constraints(must_link=[(0, 1), (2, 3)], n_samples=40)
    model = HMRFKMeans(2, divergence="cosine", init=init, penalty=50.0, random_state=0)
    labels = model.fit_predict(kind(X), constraints=known)
    assert np.isfinite(model.objective_)
    assert np.isfinite(model.metrics_).all()
    np.testing.assert_allclose(np.linalg.norm(model.cluster_centers_, axis=1), 1)
    assert np.all(np.diff(model.history_) <= 1e-9 * np.abs(model.history_[:-1]))
    assert labels[0] == labels[1]
    assert labels[2] == labels[3]
    assert model.transform(kind(X))[:2].sum(axis=0) == pytest.approx([2.0, 2.0])


def test_a_cluster_of_opposite_directions_keeps_its_center() -> None:
    X = np.array([[1.0, 0.0], [-1.0, 0.0]])
    model = HMRFKMeans(1, divergence="cosine", random_state=0)
    model.fit(X, constraints=Constraints(must_link=[(0, 1)], n_samples=2))
    assert model.objective_ == pytest.approx(2.0)
    assert np.linalg.norm(model.cluster_centers_) == pytest.approx(1.0)


# --- what it is made of ---


def make_problem(
    name: str, X: Any, known: Constraints, penalty: float = 1.0, *, learn: bool = True
) -> DivergenceProblem:
    divergence = Cosine() if name == "cosine" else KullbackLeibler()
    source = divergence.prepare(engine.as_rows(X), None)
    return DivergenceProblem(source, divergence, known, penalty, 1.0, learn=learn)


def run(problem: DivergenceProblem, centers: np.ndarray) -> Any:
    loop: Any = {"max_iter": 25, "tol": 0.0, "description": "test", "verbose": 0}
    return alternate_labels(problem, problem.start(centers), np.random.RandomState(0), **loop)


def first(problem: DivergenceProblem, centers: np.ndarray) -> Any:
    return problem.evaluate(np.random.RandomState(0), problem.start(centers), None)


def phi_kl(x: np.ndarray, z: np.ndarray, a: np.ndarray) -> float:
    middle = (x + z) / 2
    return i_divergence(x, middle, a) + i_divergence(z, middle, a)


def naive_objective(
    name: str,
    X: np.ndarray,
    known: Constraints,
    penalty: float,
    problem: DivergenceProblem,
    result: Any,
) -> float:
    """J from its definition, row by row and pair by pair."""
    labels, centers, a = result.labels, result.parameters.centers, result.parameters.weights
    step = problem.step
    if name == "cosine":
        near = phi = lambda x, z, a: cosine(x, z, w=a)
        largest, scale = (2.0 if X.min() < 0 else 1.0), 1.0
        prior = -step.kappa * np.log(a / a.mean()).sum()
    else:
        near, phi = i_divergence, phi_kl
        largest = phi_kl(X.min(axis=0), X.max(axis=0), a)
        bound = phi_kl(X.min(axis=0), X.max(axis=0), np.ones(len(a)))
        scale = min(np.sort(X.sum(axis=1))[-2:].sum() * np.log(2), bound) / bound
        prior = step.kappa * np.sum(a**2 / 2 - np.log(a))
    total = prior + sum(near(x, centers[h], a) for x, h in zip(X, labels, strict=True))
    for (i, j), w in zip(known.must_link, known.must_link_weight, strict=True):
        if labels[i] != labels[j]:
            total += penalty * w * phi(X[i], X[j], a)
    for (i, j), w in zip(known.cannot_link, known.cannot_link_weight, strict=True):
        if labels[i] == labels[j]:
            total += penalty * w * scale * (largest - phi(X[i], X[j], a))
    stated = known.violations(labels)
    return total + penalty * step.largest * (len(stated.labels) + len(stated.groups))


# ------------------------------------------------------------------ the objective


@pytest.mark.parametrize("name", ["cosine", "kl"])
@given(seed=SEEDS)
@settings(max_examples=25)
def test_objective_never_rises_and_is_what_it_says(name: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = counts(rng, 14)
    if name == "cosine" and rng.random() < 0.5:
        X = rng.normal(size=(14, 4))
    known = random_knowledge(rng, 14)
    penalty = float(rng.choice([0.1, 1.0, 5.0]))
    problem = make_problem(name, X, known, penalty)
    result = run(problem, X[rng.choice(14, 3, replace=False)])
    assert np.all(np.diff(result.history) <= 1e-9 * np.abs(result.history[:-1]))
    expected = naive_objective(name, X, known, penalty, problem, result)
    assert result.objective == pytest.approx(expected)


@pytest.mark.parametrize("name", ["cosine", "kl"])
@given(seed=SEEDS)
@settings(max_examples=15)
def test_no_single_row_and_no_component_can_improve_at_the_end(name: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = counts(rng, 8)
    known = random_knowledge(rng, 8, named=False)
    problem = make_problem(name, X, known)
    result = run(problem, X[:3])
    component = known.closure(on_contradiction="keep").component
    blocks = [[i] for i in range(8)] + [np.flatnonzero(component == c) for c in set(component)]
    for block, cluster in itertools.product(blocks, range(3)):
        moved = _Relabeled(result.labels.copy(), result.parameters)
        moved.labels[block] = cluster
        value = naive_objective(name, X, known, 1.0, problem, moved)
        assert value >= result.objective - 1e-9 * abs(result.objective)


class _Relabeled:
    def __init__(self, labels: np.ndarray, state: Any) -> None:
        self.labels, self.parameters = labels, state


# ------------------------------------------------------------------ the divergences


@given(SEEDS)
@settings(max_examples=20)
def test_divergences_are_their_definitions(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, Z, a = counts(rng, 5), counts(rng, 3) + 0.01, rng.uniform(0.1, 3, size=4)
    for rows in (X, sparse.csr_array(X)):
        expected = [[i_divergence(x, z, a) for z in Z] for x in X]
        np.testing.assert_allclose(KullbackLeibler().costs_at(Z, a)(rows), expected, atol=1e-12)
        expected = [[cosine(x, z, w=a) for z in Z] for x in X]
        np.testing.assert_allclose(Cosine().costs_at(Z, a)(rows), expected, atol=1e-12)
    scales = rng.uniform(0.1, 9, size=(5, 1))
    np.testing.assert_allclose(Cosine().costs_at(Z, 7 * a)(scales * X), expected, atol=1e-12)


@given(SEEDS)
@settings(max_examples=20)
def test_divergence_between_rows(seed: int) -> None:
    """Symmetric, zero iff equal, twice the Jensen-Shannon divergence; sparse as dense."""
    rng = np.random.default_rng(seed)
    x, z = counts(rng, 6), counts(rng, 6)
    phi = mean_divergences(x, z)
    np.testing.assert_allclose(mean_divergences(z, x), phi)
    np.testing.assert_allclose(mean_divergences(x, x), 0, atol=1e-15)
    assert np.all(phi[np.abs(x - z) > 1e-3] > 0)
    thin = mean_divergences(sparse.csr_array(x), sparse.csr_array(z))
    np.testing.assert_allclose(thin.toarray(), phi, atol=1e-14)
    p, q = x / x.sum(axis=1, keepdims=True), z / z.sum(axis=1, keepdims=True)
    expected = 2 * jensenshannon(p, q, axis=1) ** 2
    np.testing.assert_allclose(mean_divergences(p, q).sum(axis=1), expected, atol=1e-12)
    low, high = x.min(axis=0), x.max(axis=0)
    largest = mean_divergences(low[None], high[None])[0]
    for i, j in itertools.combinations(range(6), 2):
        assert np.all(mean_divergences(x[i : i + 1], x[j : j + 1])[0] <= largest + 1e-12)


@given(SEEDS)
@settings(max_examples=20)
def test_centres_minimise_the_divergences(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, a = counts(rng, 7) + 0.05, rng.uniform(0.1, 3, size=4)
    for divergence in (Cosine(), KullbackLeibler()):
        sums = (X * divergence.shares(X, a)[:, None]).sum(axis=0)[None]
        best = divergence.center(sums, np.array([7.0]), a, X[:1])
        value = divergence.costs_at(best, a)(X).sum()
        for _ in range(10):
            other = best * np.exp(0.1 * rng.normal(size=4))
            assert divergence.costs_at(other, a)(X).sum() >= value - 1e-12


# ------------------------------------------------------------------ the weights


@given(st.floats(-50, 50))
@settings(max_examples=60)
def test_closed_form_weights(slope: float) -> None:
    best = float(best_weights(np.array([slope]))[0])
    found = minimize_scalar(
        lambda a: slope * a + a**2 / 2 - np.log(a),
        bounds=(1e-6, 100),
        method="bounded",
        options={"xatol": 1e-12},
    )
    assert best == pytest.approx(found.x, rel=1e-5, abs=1e-6)
    assert slope + best - 1 / best == pytest.approx(0, abs=1e-9 * (1 + abs(slope)))


def sums_of(problem: DivergenceProblem, visit: Any) -> ViolationSums:
    old, sums = visit.parameters, visit.statistics
    centers = problem._divergence.center(sums.sums, sums.sizes, old.weights, old.centers)
    return problem.violation_sums(visit, centers)


@given(SEEDS)
@settings(max_examples=20)
def test_slope_of_the_cosine_objective(seed: int) -> None:
    """Finite differences in log a."""
    rng = np.random.default_rng(seed)
    X = counts(rng, 12)
    known = random_knowledge(rng, 12, named=False)
    problem = make_problem("cosine", X, known)
    visit = first(problem, X[:3])
    sums = sums_of(problem, visit)
    weights = rng.uniform(0.3, 2, size=4)
    step: Any = problem.step
    value, slope = step.value_and_slope(weights, sums)
    for m in range(4):
        up, down = weights.copy(), weights.copy()
        up[m] *= np.exp(1e-5)
        down[m] *= np.exp(-1e-5)
        rise = step.value_and_slope(up, sums)[0] - step.value_and_slope(down, sums)[0]
        assert slope[m] == pytest.approx(rise / 2e-5, rel=1e-5, abs=1e-6)
    better = step.learn(weights, sums)
    assert step.value_and_slope(better, sums)[0] <= value
    assert better.mean() == pytest.approx(1)


@given(SEEDS)
@settings(max_examples=20)
def test_weight_step_of_counts_is_exact(seed: int) -> None:
    """No other weights are better for the same labels and centres."""
    rng = np.random.default_rng(seed)
    X = counts(rng, 12)
    known = random_knowledge(rng, 12, named=False)
    problem = make_problem("kl", X, known)
    visit = first(problem, X[:3])
    state = problem.update(visit)

    def value(weights: np.ndarray) -> float:
        moved = _Relabeled(visit.labels, type(state)(state.centers, weights))
        return naive_objective("kl", X, known, 1.0, problem, moved)

    best = value(state.weights)
    for _ in range(8):
        assert value(state.weights * np.exp(0.1 * rng.normal(size=4))) >= best - 1e-9 * abs(best)


# ------------------------------------------------------------------ rounding


@given(st.floats(1e-12, 1e9), st.floats(-16, 6), st.booleans())
@settings(max_examples=100)
def test_divergence_of_two_numbers_has_all_digits(z: float, exponent: float, above: bool) -> None:
    """Against 60 digits: ``x log(x/z) - x + z`` is never a difference of rounded numbers."""
    x = z * (1 + 10**exponent) if above else z / (1 + 10**exponent)
    with decimal.localcontext() as context:
        context.prec = 60
        a, b = decimal.Decimal(x), decimal.Decimal(z)
        exact = float(a * (a / b).ln() - a + b)
    assert kernels.i_divergence(x, z) == pytest.approx(exact, rel=1e-13)
    assert kernels.i_divergence(0.0, z) == z
