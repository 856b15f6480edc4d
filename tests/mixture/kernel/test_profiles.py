"""Profiles of kernel densities: every step against brute force."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import approx_fprime, minimize
from scipy.spatial.distance import cdist
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning

from sidelight._kernels.mixture.profiles import solve_profile, solve_profiles
from sidelight.evaluation import rand_index
from sidelight.mixture import NonparametricMixture
from sidelight.mixture.kernel import _profiles
from sidelight.mixture.kernel import _rows as _kernel_rows
from sidelight.mixture.kernel._profiles import (
    ProfileFit,
    StartSweep,
    dirichlet_start,
    fit_profiles,
    seeds_start,
)
from sidelight.mixture.kernel._rows import (
    SquaredDistances,
    dense_kernel,
    given_kernel,
    neighbor_distances,
    neighbor_kernel,
)


def fitted(X: Any, k: int = 2, **params: Any) -> NonparametricMixture:
    return NonparametricMixture(k, random_state=0, **params).fit(X)


@pytest.fixture(scope="module")
def cloud() -> np.ndarray:
    rng = np.random.default_rng(0)
    return np.vstack([rng.normal(0, 1, (30, 2)), rng.normal(4, 1, (30, 2))])


# ------------------------------------------------------------------ the mathematics


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("kernel", ["rbf", "knn"])
@pytest.mark.parametrize("reg", [1e-4, 1.0])
def test_objective_never_falls(normalize: bool, kernel: str, reg: float, cloud: np.ndarray) -> None:
    for init_params, width in itertools.product(("seeds", "dirichlet"), (0.2, 1.0, 10.0)):
        model = NonparametricMixture(
            3,
            kernel=kernel,
            n_neighbors=8,
            normalize=normalize,
            alpha=reg,
            bandwidth=width,
            init_params=init_params,
            n_init=2,
            max_iter=60,
            tol=0.0,
            random_state=1,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            path = model.fit(cloud).history_
        assert np.all(np.diff(path) <= 1e-11 * np.abs(path[1:]))


def test_rows_far_from_all_others_and_tiny_bandwidths() -> None:
    X = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2], [1e6]])
    for width, kernel in itertools.product((1e-3, 0.1), ("rbf", "knn")):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = fitted(X, bandwidth=width, kernel=kernel, n_neighbors=3)
        assert np.isfinite(model.history_).all()
        assert np.isfinite(model.profiles_).all()
        assert np.isfinite(model.predict_proba([[-1e8], [2.5]])).all()
        assert np.isfinite(model.score_samples([[-1e8], [2.5]])).all()


def test_wide_kernels_measure_distance_to_means(cloud: np.ndarray) -> None:
    """Section 4.5: ``Σ_j Q_j ‖x - x_j‖² = ‖x - μ‖² + V``, the limit of wide kernels."""
    model = fitted(cloud, bandwidth=1e3, normalize=False, n_init=2)
    Q = model.profiles_
    means = Q.T @ cloud
    spread = np.einsum("nk,nk->k", Q, cdist(cloud, means, "sqeuclidean"))
    limit = cdist(cloud, means, "sqeuclidean") + spread
    np.testing.assert_allclose(
        -2 * 1e6 * model._components.log_density(cloud), limit, rtol=1e-3, atol=1e-3
    )


# ------------------------------------------------------------------ starts


def test_moons_are_found_where_straight_cells_fail() -> None:
    X, y = make_moons(200, noise=0.06, random_state=1)
    for kernel in ("rbf", "knn"):
        assert rand_index(y, fitted(X, kernel=kernel).labels_) > 0.98


@pytest.mark.parametrize("init_params", ["seeds", "dirichlet"])
def test_far_groups_are_recovered(init_params: str) -> None:
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(0, 0.3, (20, 2)), rng.normal(5, 0.3, (25, 2))])
    model = fitted(X, init_params=init_params)
    assert len(set(model.labels_[:20])) == len(set(model.labels_[20:])) == 1
    assert model.labels_[0] != model.labels_[-1]
    # Copies of a row start with the same weight in cells, not in random profiles.
    twice = fitted(np.repeat(X, 2, axis=0), init_params="seeds")
    np.testing.assert_array_equal(twice.labels_[::2], twice.labels_[1::2])


# --- what it is made of ---


GOLDEN_X = np.array([[0.0], [0.5], [1.0], [4.0], [4.6]])


GOLDEN_Q = np.array([[0.3, 0.1], [0.3, 0.1], [0.2, 0.2], [0.1, 0.3], [0.1, 0.3]])


REG = 1e-4


def plain_kernel(X: np.ndarray, width: float, *, normalize: bool = True) -> np.ndarray:
    """The kernel as the source writes it."""
    kernel = np.exp(-cdist(X, X, "sqeuclidean") / (2 * width**2))
    np.fill_diagonal(kernel, 0.0)
    return kernel / kernel.sum(axis=0) if normalize else kernel


def objective(kernel: np.ndarray, Q: np.ndarray, labels: np.ndarray, reg: float) -> float:
    rows = np.arange(len(Q))
    density = (kernel @ Q)[rows, labels] / (1 - Q[rows, labels])
    return float(np.log(density).sum() - reg * (Q**2).sum())


def random_profiles(n: int, k: int, seed: int) -> np.ndarray:
    return dirichlet_start(n, k, np.random.RandomState(seed))


def a_kernel(X: np.ndarray, width: float = 1.0, **options: Any) -> Any:
    return dense_kernel(SquaredDistances(X), width, normalize=True, **options)


def step(kernel: Any, Q: np.ndarray, reg: float = REG) -> tuple[StartSweep, np.ndarray]:
    """One sweep and the profiles after it, for a single start."""
    sweep = StartSweep(kernel, Q[:, None], reg)
    new = solve_profiles(np.ascontiguousarray(Q[:, None]), sweep.pulled, sweep.labels, 2 * reg)
    return sweep, new[:, 0]


def climb(kernel: Any, Q: np.ndarray, reg: float = REG, **options: Any) -> ProfileFit:
    wanted = {"max_iter": 200, "tol": 1e-7, "description": "test", **options}
    return fit_profiles(kernel, Q[:, None], reg=reg, **wanted)[0]


# ------------------------------------------------------------------ the mathematics


def test_golden_numbers() -> None:
    kernel = a_kernel(GOLDEN_X)
    sweep, Q = step(kernel, GOLDEN_Q)
    assert sweep.labels[:, 0].tolist() == [0, 0, 0, 1, 1]
    assert sweep.objective[0] == pytest.approx(-4.752740, abs=1e-6)
    counts = (GOLDEN_Q * sweep.pulled[:, 0])[:, 0]
    np.testing.assert_allclose(
        counts, [1.048152, 1.197320, 0.747926, 0.005829, 0.000774], atol=1e-6
    )
    np.testing.assert_allclose(
        Q[:, 0], [0.354677, 0.405151, 0.238666, 0.001330, 0.000176], atol=1e-6
    )
    np.testing.assert_allclose(
        Q[:, 1], [0.000024, 0.000133, 0.001637, 0.500270, 0.497937], atol=1e-6
    )
    assert StartSweep(kernel, Q[:, None], REG).objective[0] == pytest.approx(-2.111511, abs=1e-6)
    pull = np.array([1 / 0.7, 1 / 0.7, 1 / 0.8, 0.0, 0.0])
    theta = solve_profile(pull, counts, 2 * REG, np.empty(5))
    assert theta == pytest.approx(-4.383732, abs=1e-5)


def test_golden_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_profiles, "STILL", 10_000)
    end = climb(a_kernel(GOLDEN_X), GOLDEN_Q, tol=1e-9, max_iter=3_000)
    assert -5 * end.objective >= -1.931363
    assert -5 * end.objective == pytest.approx(-1.931362, abs=1e-3)


@pytest.mark.parametrize("seed", range(4))
def test_labels_are_optimal_among_all(seed: int) -> None:
    X = np.random.default_rng(seed).normal(size=(6, 2))
    Q = random_profiles(6, 3, seed)
    plain = plain_kernel(X, 0.7)
    sweep, _ = step(a_kernel(X, 0.7), Q)
    best = max(
        objective(plain, Q, np.array(labels), REG)
        for labels in itertools.product(range(3), repeat=6)
    )
    assert sweep.objective[0] == pytest.approx(best, abs=1e-10)
    assert objective(plain, Q, sweep.labels[:, 0], REG) == pytest.approx(best, abs=1e-10)


def bound(kernel: np.ndarray, at: np.ndarray, labels: np.ndarray, Q: np.ndarray) -> float:
    """The bound of the objective that touches it ``at`` some profiles."""
    total = -REG * float((Q**2).sum())
    for i, s in enumerate(labels):
        share = kernel[i] * at[:, s] / (kernel[i] @ at[:, s])
        used = share > 0
        total += float(np.sum(share[used] * np.log(kernel[i, used] * Q[used, s] / share[used])))
        room = 1 - at[i, s]
        total += -(1 - Q[i, s]) / room - np.log(room) + 1
    return total


def test_bound_touches_from_below_with_the_same_gradient() -> None:
    X = np.random.default_rng(3).normal(size=(7, 2))
    plain, at = plain_kernel(X, 0.8), random_profiles(7, 2, 3)
    labels = step(a_kernel(X, 0.8), at)[0].labels[:, 0]
    assert bound(plain, at, labels, at) == pytest.approx(objective(plain, at, labels, REG))
    for seed in range(50):
        other = random_profiles(7, 2, 100 + seed)
        assert bound(plain, at, labels, other) <= objective(plain, other, labels, REG) + 1e-12

    def gradient(function: Any) -> np.ndarray:
        return approx_fprime(at.ravel(), lambda q: function(q.reshape(at.shape)), 1e-7)

    np.testing.assert_allclose(
        gradient(lambda q: bound(plain, at, labels, q)),
        gradient(lambda q: objective(plain, q, labels, REG)),
        atol=1e-4,
    )


@pytest.mark.parametrize("reg", [1e-4, 1e-2, 1.0, 50.0])
def test_profiles_maximise_the_bound(reg: float) -> None:
    """Against a generic solver, which is given the same convex problem."""
    rng = np.random.default_rng(5)
    counts, pull = rng.gamma(1.0, size=8), rng.uniform(1, 2, 8) * (rng.uniform(size=8) < 0.5)
    q = np.empty(8)
    solve_profile(pull, counts, 2 * reg, q)

    def cost(q: np.ndarray) -> float:
        return float(reg * (q**2).sum() - pull @ q - counts @ np.log(q))

    found = minimize(
        cost,
        np.full(8, 1 / 8),
        jac=lambda q: 2 * reg * q - pull - counts / q,
        bounds=[(1e-9, 1)] * 8,
        constraints={"type": "eq", "fun": lambda q: q.sum() - 1, "jac": lambda q: np.ones(8)},
        options={"maxiter": 500, "ftol": 1e-14},
    )
    assert cost(q) <= found.fun + 1e-10
    np.testing.assert_allclose(q, found.x, atol=1e-4)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 40),
    st.floats(-6, 3),
    st.integers(0, 10_000),
    st.sampled_from([0.0, 0.3, 1.0]),
)
def test_stationarity_and_sums_of_any_profile(
    n: int, log_reg: float, seed: int, gone: float
) -> None:
    rng = np.random.default_rng(seed)
    counts = rng.gamma(0.2, size=n) * (rng.uniform(size=n) >= gone)
    pull = rng.uniform(1, 5, size=n) * (rng.uniform(size=n) < 0.5)
    curvature = 2 * 10**log_reg
    q = np.empty(n)
    theta = solve_profile(pull, counts, curvature, q)
    assert np.all(q >= 0)
    assert q.sum() == pytest.approx(1.0, abs=1e-12)
    b = pull + theta
    residual = curvature * q**2 - b * q - counts
    assert np.all(np.abs(residual) <= 1e-8 * (1 + curvature * q**2 + np.abs(b) * q + counts))


@pytest.mark.parametrize("kind", ["dense", "knn"])
def test_contributions_add_up_to_the_sizes(kind: str, cloud: np.ndarray) -> None:
    kernel = a_kernel(cloud)
    if kind == "knn":
        kernel = neighbor_kernel(neighbor_distances(cloud, 5), 1.0, normalize=True)
    Q = random_profiles(60, 3, 0)
    sweep, new = step(kernel, Q)
    sizes = np.bincount(sweep.labels[:, 0], minlength=3)
    np.testing.assert_allclose((Q * sweep.pulled[:, 0]).sum(axis=0), sizes, rtol=1e-12)
    np.testing.assert_allclose(new.sum(axis=0), 1.0, rtol=1e-12)


def test_scaling_rows_of_the_kernel_changes_nothing_but_a_constant() -> None:
    X = np.random.default_rng(1).normal(size=(12, 2))
    scales = np.random.default_rng(2).uniform(0.1, 5, size=12)
    plain = plain_kernel(X, 0.8)
    ends = [
        climb(given_kernel(kernel, normalize=False), random_profiles(12, 2, 0), max_iter=30)
        for kernel in (plain, scales[:, None] * plain)
    ]
    np.testing.assert_array_equal(ends[0].labels, ends[1].labels)
    np.testing.assert_allclose(ends[0].profiles, ends[1].profiles, atol=1e-12)
    shift = 12 * (ends[0].objective - ends[1].objective)
    assert shift == pytest.approx(np.log(scales).sum(), abs=1e-9)


def test_strong_prior_makes_profiles_even(cloud: np.ndarray) -> None:
    end = climb(a_kernel(cloud), random_profiles(60, 2, 0), reg=1e9, max_iter=20)
    np.testing.assert_allclose(end.profiles, 1 / 60, rtol=1e-5)


def test_component_without_rows_gets_an_even_profile() -> None:
    rng = np.random.default_rng(0)
    labels = np.zeros((5, 1), dtype=np.int32)
    pulled = rng.uniform(1, 2, size=(5, 1, 2))
    pulled[:, :, 1] = 0.0  # no row has label 1
    new = solve_profiles(GOLDEN_Q[:, None], pulled, labels, 2 * REG)
    np.testing.assert_allclose(new[:, 0, 1], 0.2, rtol=1e-10)
    assert np.ptp(new[:, 0, 0]) > 0.01


def test_block_diagonal_kernel_keeps_the_support() -> None:
    matrix = np.kron(np.eye(2), np.ones((4, 4)))
    Q = np.repeat(np.eye(2) / 4, 4, axis=0)
    end = climb(given_kernel(matrix, normalize=True), Q)
    assert end.labels.tolist() == [0] * 4 + [1] * 4
    np.testing.assert_allclose(end.profiles, Q, atol=1e-12)


def test_order_of_rows_and_names_of_components_do_not_matter(cloud: np.ndarray) -> None:
    order = np.random.default_rng(0).permutation(60)
    Q = random_profiles(60, 3, 0)
    plain = climb(a_kernel(cloud), Q, max_iter=25)
    moved = climb(a_kernel(cloud[order]), Q[order], max_iter=25)
    np.testing.assert_array_equal(moved.labels, plain.labels[order])
    np.testing.assert_allclose(moved.profiles, plain.profiles[order], atol=1e-10)
    renamed = climb(a_kernel(cloud), Q[:, [2, 0, 1]], max_iter=25)
    np.testing.assert_allclose(renamed.profiles, plain.profiles[:, [2, 0, 1]], atol=1e-12)


def test_one_component_improves_on_even_weights(cloud: np.ndarray) -> None:
    kernel = a_kernel(cloud)
    model = fitted(cloud, 1, bandwidth=1.0)
    assert set(model.labels_) == {0}
    even = StartSweep(kernel, np.full((60, 1, 1), 1 / 60), REG).objective[0]
    assert -60 * model.objective_ > even
    plain = plain_kernel(cloud, 1.0)
    assert -60 * model.objective_ == pytest.approx(
        objective(plain, model.profiles_, model.labels_, REG)
    )


def test_all_kernels_agree_when_all_neighbours_are_kept(
    cloud: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    Q = random_profiles(60, 3, 4)
    kept = climb(a_kernel(cloud), Q, max_iter=20)
    monkeypatch.setattr(_kernel_rows, "BLOCK_CELLS", 60 * 7)
    monkeypatch.setattr(_kernel_rows, "TILE_CELLS", 60 * 3)
    near = neighbor_distances(cloud, 59)
    for other in (
        a_kernel(cloud, kept_rows=0),
        a_kernel(cloud),
        neighbor_kernel(near, 1.0, normalize=True),
        given_kernel(plain_kernel(cloud, 1.0, normalize=False), normalize=True),
        given_kernel(sparse.csr_array(plain_kernel(cloud, 1.0, normalize=False)), normalize=True),
        dense_kernel(SquaredDistances(sparse.csr_array(cloud)), 1.0, normalize=True, kept_rows=0),
    ):
        end = climb(other, Q, max_iter=20)
        np.testing.assert_array_equal(end.labels, kept.labels)
        np.testing.assert_allclose(end.profiles, kept.profiles, atol=1e-10)
        np.testing.assert_allclose(end.history, kept.history, atol=1e-10)


def test_neighbours_are_mutual_and_copies_count() -> None:
    X = np.array([[0.0], [0.0], [1.0], [9.0]])
    near = neighbor_distances(X, 1).tocoo()
    edges = dict(
        zip(zip(near.row.tolist(), near.col.tolist(), strict=True), near.data, strict=True)
    )
    assert edges.keys() == {(j, i) for i, j in edges}
    assert edges[0, 1] == 0.0
    assert edges[2, 3] == 64.0


def test_starts_climb_side_by_side_as_they_would_alone(cloud: np.ndarray) -> None:
    starts = np.stack([random_profiles(60, 2, seed) for seed in range(5)], axis=1)
    options: Any = {"reg": REG, "max_iter": 300, "tol": 1e-5, "description": "test"}
    together = fit_profiles(a_kernel(cloud), starts, **options)
    assert len({len(end.history) for end in together}) > 1  # they do not all end at once
    for seed, end in enumerate(together):
        alone = fit_profiles(a_kernel(cloud), starts[:, seed : seed + 1], **options)[0]
        np.testing.assert_array_equal(end.labels, alone.labels)
        np.testing.assert_allclose(end.profiles, alone.profiles, atol=1e-9)


# ------------------------------------------------------------------ starts


def test_cells_of_seeds_follow_the_data() -> None:
    X, y = make_moons(120, noise=0.02, random_state=0)
    graph = neighbor_distances(X, 5)
    for seed in range(20):
        rng = np.random.RandomState(seed)
        seeds = np.random.RandomState(seed).choice(120, size=2, replace=False)
        start = seeds_start(graph, 2, rng)
        np.testing.assert_allclose(start.sum(axis=0), 1.0)
        if y[seeds[0]] != y[seeds[1]]:
            np.testing.assert_array_equal(start.argmax(axis=1) == 0, y == y[seeds[0]])


def test_rows_that_no_path_reaches_are_in_all_cells() -> None:
    X = np.array([[0.0], [0.1], [5.0], [5.1], [99.0], [99.1]])
    start = seeds_start(neighbor_distances(X, 1), 2, np.random.RandomState(0))
    assert np.all(start > 0)
    np.testing.assert_allclose(start.sum(axis=0), 1.0)
    assert np.sum(start[:, 0] == start[:, 1]) in (2, 0)
