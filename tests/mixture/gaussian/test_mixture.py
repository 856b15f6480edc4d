"""The EM core and GaussianMixture: scikit-learn, identities of the bound, limits, bad data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import log_softmax, logsumexp, softmax
from scipy.stats import multivariate_normal
from sklearn.datasets import load_iris
from sklearn.mixture import GaussianMixture as Peer

from sidelight import Constraints
from sidelight._kernels.mixture.responsibilities import (
    centred_products,
    posterior_rows,
    product_columns,
)
from sidelight.engine import as_rows
from sidelight.exceptions import SidelightError
from sidelight.mixture import GaussianMixture
from sidelight.mixture._core import em
from sidelight.mixture.gaussian import _components as _gaussian
from sidelight.mixture.gaussian._components import (
    COVARIANCE_TYPES,
    GaussianComponents,
    one_gaussian,
)


def clouds(n: int = 300, d: int = 3, k: int = 3, seed: int = 0, gap: float = 3.0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    centers = rng.normal(0, gap, (k, d))
    shapes = rng.normal(size=(k, d, d)) / np.sqrt(d)
    component = rng.integers(k, size=n)
    return centers[component] + np.einsum("nij,nj->ni", shapes[component], rng.normal(size=(n, d)))


def start(X: np.ndarray, k: int, kind: str) -> dict[str, Any]:
    """A rough start for either library."""
    d = X.shape[1]
    scale = 1 / X.var()
    precisions = {
        "full": np.tile(scale * np.eye(d), (k, 1, 1)),
        "tied": scale * np.eye(d),
        "diag": np.full((k, d), scale),
        "spherical": np.full(k, scale),
    }[kind]
    weights = np.arange(1.0, k + 1)
    return {
        "n_components": k,
        "covariance_type": kind,
        "weights_init": weights / weights.sum(),
        "means_init": X[:k].copy(),
        "precisions_init": precisions,
    }


def test_one_component_is_mean_and_covariance() -> None:
    X = clouds()
    model = GaussianMixture(1, reg_covar=0, max_iter=1).fit(X)
    np.testing.assert_allclose(model.means_[0], X.mean(axis=0))
    np.testing.assert_allclose(model.covariances_[0], np.cov(X.T, bias=True))


def test_iris() -> None:
    X = load_iris().data
    for k, log_likelihood, bic in ((1, -379.9146, 829.98), (2, -214.3547, 574.02)):
        model = GaussianMixture(k, reg_covar=0, tol=1e-9, n_init=3, max_iter=500, random_state=0)
        model.fit(X)
        assert -model.objective_ * 150 == pytest.approx(log_likelihood, abs=1e-3)
        assert model.bic(X) == pytest.approx(bic, abs=0.01)
    model = GaussianMixture(3, reg_covar=0, tol=1e-8, max_iter=500, random_state=0).fit(X)
    assert -model.objective_ * 150 == pytest.approx(-180.185, abs=1e-2)
    assert model.bic(X) == pytest.approx(580.84, abs=0.02)


def test_affine_equivariance() -> None:
    X = clouds(200, d=3)
    rng = np.random.default_rng(1)
    A, b = rng.normal(size=(3, 3)), rng.normal(size=3)
    params = {**start(X, 3, "full"), "reg_covar": 0.0, "tol": 0.0, "max_iter": 10}
    plain = GaussianMixture(**params).fit(X)
    inverse = np.linalg.inv(A)
    moved = dict(params)
    moved["means_init"] = params["means_init"] @ A + b
    moved["precisions_init"] = inverse @ params["precisions_init"] @ inverse.T
    mapped = GaussianMixture(**moved).fit(X @ A + b)
    np.testing.assert_allclose(mapped.means_, plain.means_ @ A + b, atol=1e-8)
    np.testing.assert_allclose(mapped.covariances_, A.T @ plain.covariances_ @ A, atol=1e-8)
    log_volume = np.log(abs(np.linalg.det(A)))
    np.testing.assert_allclose(mapped.history_, plain.history_ + log_volume, atol=1e-9)


class TestPartialLabels:
    def test_labelled_rows_are_certain(self) -> None:
        X = clouds(200, gap=1.0)
        truth = np.random.default_rng(0).integers(0, 3, size=200)  # against the geometry
        y = np.where(np.arange(200) < 60, truth, -1)
        model = GaussianMixture(3, random_state=0).fit(X, y)
        np.testing.assert_array_equal(model.labels_[:60], truth[:60])
        np.testing.assert_array_equal(model.classes_, [0, 1, 2])
        assert model.n_violations_ == 0
        assert np.all(np.diff(model.history_) <= 1e-12)

    def test_all_but_one_label_give_class_moments(self) -> None:
        X = clouds(100)
        truth = np.arange(100) % 3
        truth[99] = -1
        weight = np.ones(100)
        weight[99] = 0
        model = GaussianMixture(3, reg_covar=0, random_state=0).fit(X, truth, sample_weight=weight)
        for c in range(3):
            np.testing.assert_allclose(model.means_[c], X[truth == c].mean(axis=0))
            np.testing.assert_allclose(model.covariances_[c], np.cov(X[truth == c].T, bias=True))
        np.testing.assert_allclose(model.weights_, [1 / 3] * 3)

    def test_the_likelihood_counts_the_label(self) -> None:
        X = clouds(60)
        y = np.full(60, -1)
        y[:3] = [0, 1, 1]
        model = GaussianMixture(2, random_state=0).fit(X, y)
        joint = model._components.log_density(model._components.features(X))
        joint += np.log(model.weights_)
        value = logsumexp(joint[3:], axis=1).sum() + joint[0, 0] + joint[1, 1] + joint[2, 1]
        assert -model.objective_ * 60 == pytest.approx(value)

    def test_must_links_pass_labels_on(self) -> None:
        X = clouds(60)
        known = Constraints([[0, 59], [59, 30]], labels=np.r_[1, 0, np.full(58, -1)])
        model = GaussianMixture(2, random_state=0).fit(X, constraints=known)
        assert model.labels_[0] == model.labels_[59] == model.labels_[30] != model.labels_[1]

    def test_more_classes_than_components(self) -> None:
        y = np.r_[0, 1, 2, np.full(57, -1)]
        with pytest.raises(SidelightError, match="3 classes"):
            GaussianMixture(2).fit(clouds(60), y)


def log_likelihood(theta: np.ndarray, X: np.ndarray, k: int) -> float:
    """Of a mixture with full covariances, as a function of free numbers."""
    d = X.shape[1]
    logits, means, factors = np.split(theta, [k, k + k * d])
    joint = np.empty((len(X), k))
    for s in range(k):
        factor = np.zeros((d, d))
        factor[np.tril_indices(d)] = factors.reshape(k, -1)[s]
        joint[:, s] = multivariate_normal(means.reshape(k, d)[s], factor @ factor.T).logpdf(X)
    return float(logsumexp(joint + logits - logsumexp(logits), axis=1).sum())


def gradient(function: Any, theta: np.ndarray) -> np.ndarray:
    steps = 1e-5 * np.eye(len(theta))
    return np.array([(function(theta + h) - function(theta - h)) / 2e-5 for h in steps])


def free_numbers(model: GaussianMixture) -> np.ndarray:
    lower = np.tril_indices(model.means_.shape[1])
    factors = [np.linalg.cholesky(c)[lower] for c in model.covariances_]
    return np.concatenate([np.log(model.weights_), model.means_.ravel(), *factors])


def test_gradient_vanishes_at_convergence() -> None:
    X = clouds(120, d=2, k=2)
    model = GaussianMixture(2, reg_covar=0, tol=0, max_iter=3000, random_state=0).fit(X)
    at_end = gradient(lambda t: log_likelihood(t, X, 2), free_numbers(model))
    assert np.abs(at_end).max() < 2e-3
    early = GaussianMixture(2, reg_covar=0, max_iter=1, init_params="random", random_state=0)
    before = gradient(lambda t: log_likelihood(t, X, 2), free_numbers(early.fit(X)))
    assert np.abs(before).max() > 1.0  # so that the test above can fail


def test_gradients_of_bound_and_likelihood_agree_after_an_e_step() -> None:
    X = clouds(12, d=2, k=2, gap=1.0)
    model = GaussianMixture(2, reg_covar=0.1, max_iter=2, random_state=0).fit(X)
    resp = model.predict_proba(X)

    def bound(theta: np.ndarray) -> float:
        logits, rest = theta[:2], theta[2:]
        joint = np.empty((len(X), 2))
        for s in range(2):
            only = np.where(np.arange(2) == s, 0.0, -np.inf)
            joint[:, s] = [log_likelihood(np.concatenate((only, rest)), x[None], 2) for x in X]
        joint += logits - logsumexp(logits)
        return float(np.sum(resp * joint))

    theta = free_numbers(model)
    of_likelihood = gradient(lambda t: log_likelihood(t, X, 2), theta)
    np.testing.assert_allclose(gradient(bound, theta), of_likelihood, atol=1e-4)


def test_starved_components_keep_their_parameters() -> None:
    X = clouds(50, d=2, k=1)
    far = np.array([[0.0, 0.0], [1e9, 1e9]])
    precisions = np.tile(np.eye(2), (2, 1, 1))
    model = GaussianMixture(2, means_init=far, precisions_init=precisions).fit(X)
    np.testing.assert_array_equal(model.means_[1], far[1])
    assert model.weights_[1] < 1e-100
    assert np.all(np.isfinite(model.covariances_))


def test_warm_start_goes_on() -> None:
    X = clouds(gap=1.0)
    model = GaussianMixture(3, max_iter=3, warm_start=True, random_state=0, tol=0)
    first = model.fit(X).objective_
    second = model.fit(X).history_
    assert second[0] == pytest.approx(first, abs=1e-12)
    assert second[-1] < first


def test_more_starts_are_no_worse() -> None:
    X = clouds(k=6, gap=1.0)
    params: dict[str, Any] = {"init_params": "random", "max_iter": 20}
    ends = [
        GaussianMixture(4, n_init=n, random_state=0, **params).fit(X).objective_ for n in (1, 6)
    ]
    assert ends[1] <= ends[0]


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"covariance_type": "round"}, "covariance_type must be one of 'full'"),
        ({"reg_covar": -1.0}, "reg_covar must be a finite number of at least 0"),
        ({"measurement_noise": -1.0}, "measurement_noise must be a finite number of at least 0"),
        ({"tol": -1.0}, "tol must be a number of at least 0"),
        ({"max_iter": 0}, "max_iter"),
        ({"n_init": 0}, "n_init"),
        ({"init_params": "guess"}, "init_params must be one of"),
        ({"weights_init": [0.5, 0.6]}, "weights_init must hold 2 weights"),
        ({"means_init": [[0.0, 0.0, 0.0]]}, "means_init must hold finite numbers in shape"),
        ({"precisions_init": -np.tile(np.eye(3), (2, 1, 1))}, "precisions_init"),
    ],
)
def test_bad_parameters(params: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        GaussianMixture(2, **params).fit(clouds())


# --- what it is made of ---


KINDS = pytest.mark.parametrize("kind", COVARIANCE_TYPES)


@KINDS
@pytest.mark.parametrize(("d", "k"), [(1, 2), (4, 3), (60, 2)])
def test_equals_scikit_learn_from_the_same_start(kind: str, d: int, k: int) -> None:
    X = clouds(400, d, k, seed=d, gap=0.5 if d < 60 else 3.0)
    params = {**start(X, k, kind), "tol": 0.0, "max_iter": 8}
    ours = GaussianMixture(**params).fit(X)
    theirs = Peer(**params, init_params="random_from_data").fit(X)
    assert ours.n_iter_ == theirs.n_iter_ == 8 or d == 60  # we stop where nothing is gained
    for name in ("weights_", "means_", "covariances_", "precisions_", "precisions_cholesky_"):
        mine, other = getattr(ours, name), getattr(theirs, name)
        assert mine.shape == other.shape
        np.testing.assert_allclose(mine, other, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(ours.score_samples(X), theirs.score_samples(X), atol=1e-8)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-8)
    np.testing.assert_array_equal(ours.labels_, theirs.predict(X))
    assert ours.bic(X) == pytest.approx(theirs.bic(X))
    assert ours.aic(X) == pytest.approx(theirs.aic(X))


@KINDS
def test_both_forms_of_the_bound(kind: str) -> None:
    X = clouds(50)
    model = GaussianMixture(3, covariance_type=kind, max_iter=3, random_state=0).fit(X)
    rng = np.random.default_rng(0)
    q = rng.dirichlet(np.ones(3), size=len(X))
    components = model._components
    joint = components.log_density(components.features(X)) + np.log(model.weights_)
    log_posterior = log_softmax(joint, axis=1)
    np.testing.assert_allclose(np.exp(log_posterior), model.predict_proba(X), atol=1e-12)
    divergence = np.sum(q * (np.log(q) - log_posterior))
    by_divergence = model.score_samples(X).sum() - divergence
    by_entropy = np.sum(q * (joint - np.log(q)))
    assert by_divergence == pytest.approx(by_entropy, abs=1e-9)
    assert by_entropy < model.score_samples(X).sum()
    tight = np.sum(np.exp(log_posterior) * (joint - log_posterior))
    assert tight == pytest.approx(model.score_samples(X).sum(), abs=1e-9)


@KINDS
def test_likelihood_never_falls(kind: str) -> None:
    for seed in range(12):
        X = clouds(80, d=2, k=4, seed=seed, gap=1.0)
        model = GaussianMixture(
            4,
            covariance_type=kind,
            reg_covar=0,
            tol=0,
            max_iter=25,
            init_params="random",
            random_state=seed,
        ).fit(X)
        assert np.all(np.diff(model.history_) <= 1e-12)
        assert -model.objective_ == pytest.approx(model.score(X), abs=1e-9)


@KINDS
def test_permuted_components_stay_permuted(kind: str) -> None:
    X = clouds()
    params = {**start(X, 3, kind), "max_iter": 8, "tol": 0.0}
    plain = GaussianMixture(**params).fit(X)
    turn = np.array([2, 0, 1])
    for name in ("weights_init", "means_init", "precisions_init"):
        if not (name == "precisions_init" and kind == "tied"):
            params[name] = params[name][turn]
    other = GaussianMixture(**params).fit(X)
    np.testing.assert_allclose(other.means_, plain.means_[turn], atol=1e-10)
    np.testing.assert_allclose(other.history_, plain.history_, atol=1e-12)


@KINDS
def test_differences_and_products_agree(kind: str, monkeypatch: Any) -> None:
    X = clouds(500)
    params = {**start(X, 3, kind), "max_iter": 10, "tol": 0.0}
    by_products = GaussianMixture(**params).fit(X)
    assert not by_products._components.is_local
    monkeypatch.setattr(_gaussian, "CANCELLATION", 0.0)
    by_differences = GaussianMixture(**params).fit(X)
    assert by_differences._components.is_local
    np.testing.assert_allclose(by_differences.means_, by_products.means_, atol=1e-9)
    np.testing.assert_allclose(by_differences.covariances_, by_products.covariances_, atol=1e-9)
    np.testing.assert_allclose(by_differences.history_, by_products.history_, atol=1e-10)


@KINDS
def test_tiny_components_far_apart(kind: str) -> None:
    rng = np.random.default_rng(0)
    X = np.repeat([[0.0, 0.0], [1e6, -1e6]], 40, axis=0) + rng.normal(0, 1e-2, (80, 2))
    model = GaussianMixture(2, covariance_type=kind, reg_covar=0, random_state=0).fit(X)
    assert model._components.is_local
    density = np.full(80, np.nan)
    for s in range(2):
        mine = model.labels_ == s
        covariance = model._components.full_covariances()[s]
        density[mine] = multivariate_normal(model.means_[s], covariance).logpdf(X[mine])
    np.testing.assert_allclose(model.score_samples(X), density + np.log(0.5), atol=1e-5)


def test_kernels() -> None:
    rng = np.random.default_rng(0)
    rows, origin = rng.normal(size=(7, 4)), rng.normal(size=4)
    by_rows, by_columns = np.empty((7, 14)), np.empty((14, 7))
    centred_products(rows, origin, by_rows)
    product_columns(rows, origin, by_columns)
    np.testing.assert_array_equal(by_rows, by_columns.T)
    y = rows - origin
    upper = np.triu_indices(4)
    np.testing.assert_allclose(by_rows[:, 4:], (y[:, :, None] * y[:, None, :])[:, *upper])
    joint, weights = 30 * rng.normal(size=(7, 5)), np.array([1.0, 0, 2, 1, 1, 0.5, 0])
    resp = joint.copy()
    total = posterior_rows(resp, weights)
    assert total == pytest.approx(weights @ logsumexp(joint, axis=1))
    np.testing.assert_allclose(resp, softmax(joint, axis=1) * weights[:, None], atol=1e-15)


@KINDS
def test_weights_are_repetitions(kind: str) -> None:
    X = clouds(100)
    times = np.random.default_rng(0).integers(0, 4, size=100)
    params = {**start(X, 3, kind), "max_iter": 10, "tol": 0.0}
    weighted = GaussianMixture(**params).fit(X, sample_weight=times)
    repeated = GaussianMixture(**params).fit(np.repeat(X, times, axis=0))
    np.testing.assert_allclose(weighted.means_, repeated.means_, atol=1e-9)
    np.testing.assert_allclose(weighted.covariances_, repeated.covariances_, atol=1e-9)
    np.testing.assert_allclose(weighted.history_, repeated.history_, atol=1e-10)
    assert weighted.score(X, sample_weight=times) == pytest.approx(-weighted.objective_)


@KINDS
def test_measurement_noise_is_an_exact_ascent(kind: str) -> None:
    X = np.repeat(clouds(12, d=2), 5, axis=0)  # duplicated rows would collapse without it
    model = GaussianMixture(
        6,
        covariance_type=kind,
        measurement_noise=0.1,
        reg_covar=0,
        tol=0,
        max_iter=60,
        random_state=0,
    ).fit(X)
    assert np.all(np.diff(model.history_) <= 1e-12)
    joint = np.empty((len(X), 6))
    for s, covariance in enumerate(model._components.full_covariances()):
        joint[:, s] = multivariate_normal(model.means_[s], covariance).logpdf(X)
        joint[:, s] -= 0.5 * 0.1**2 * np.trace(np.linalg.inv(covariance))
    value = logsumexp(joint + np.log(model.weights_), axis=1).mean()
    assert -model.objective_ == pytest.approx(value, abs=1e-9)
    assert np.linalg.eigvalsh(model._components.full_covariances()).min() >= 0.1**2 - 1e-12


@KINDS
def test_float32(kind: str) -> None:
    X = clouds(300)
    params = start(X, 3, kind)
    double = GaussianMixture(**params, max_iter=10).fit(X)
    single = GaussianMixture(**params, max_iter=10).fit(X.astype(np.float32))
    for name in ("weights_", "means_", "covariances_", "precisions_"):
        assert getattr(single, name).dtype == np.float32
        np.testing.assert_allclose(getattr(single, name), getattr(double, name), rtol=1e-3)
    assert single.predict_proba(X.astype(np.float32)).dtype == np.float32
    assert single.sample(5)[0].dtype == np.float32


@pytest.mark.parametrize("kind", [*COVARIANCE_TYPES, "factor", "ppca", "subspace"])
@pytest.mark.parametrize("reg_covar", [0.0, 1e-6])
def test_degenerate_data(kind: str, reg_covar: float) -> None:
    rng = np.random.default_rng(0)
    cases = {
        "all rows the same": np.ones((20, 3)),
        "two distinct rows, four components": np.repeat([[0.0, 0, 0], [1, 1, 1]], 10, axis=0),
        "constant feature": np.c_[rng.normal(size=(40, 2)), np.ones(40)],
        "collinear": np.outer(rng.normal(size=40), [1.0, 2.0, 3.0]),
        "as many components as rows": rng.normal(size=(4, 3)),
        "one far row": np.r_[rng.normal(size=(40, 3)), [[1e8, 0, 0]]],
    }
    for name, X in cases.items():
        model = GaussianMixture(4, covariance_type=kind, reg_covar=reg_covar, random_state=0).fit(X)
        for array in (model.means_, model.covariances_, model.weights_, model.history_):
            assert np.all(np.isfinite(array)), name
        assert np.all(np.isfinite(model.predict_proba(X))), name
        assert np.all(np.diff(model.history_) <= 0), name


def test_statistics_are_additive_and_densities_normal() -> None:
    X = clouds(40)
    whole = one_gaussian(X.mean(axis=0), np.cov(X.T), 2, "full", reg_covar=0.0)
    components = whole.m_step(whole.statistics(whole.features(X), np.eye(2)[np.arange(40) % 2]))
    for s in range(2):
        density = multivariate_normal(components.means[s], components.covariances[s])
        expected = density.logpdf(X)
        np.testing.assert_allclose(components.log_density(components.features(X))[:, s], expected)
    resp = np.random.default_rng(0).dirichlet([1, 1], size=40)
    at_once = components.statistics(components.features(X), resp)
    parts = [
        components.statistics(components.features(X[a]), resp[a])
        for a in (slice(0, 7), slice(7, 40))
    ]
    for total, *pieces in zip(at_once, *parts, strict=True):
        np.testing.assert_allclose(total, sum(pieces), atol=1e-10)


def test_k_means_is_the_limit_of_small_variances() -> None:
    X = clouds(100, d=2)
    means = X[:3].copy()
    for _ in range(4):
        components = GaussianComponents(
            means, np.full(3, 1e-12), "spherical", X.mean(axis=0), largest_square=1e3
        )
        moved = em(as_rows(X), components, np.log(np.full(3, 1 / 3)), max_iter=1, tol=0)
        nearest = np.argmin(((X[:, None] - means) ** 2).sum(axis=2), axis=1)
        means = np.array([X[nearest == s].mean(axis=0) for s in range(3)])
        np.testing.assert_allclose(moved.components.means, means, atol=1e-9)


def test_samples_have_the_moments() -> None:
    X = clouds(500)
    for kind in COVARIANCE_TYPES:
        model = GaussianMixture(2, covariance_type=kind, random_state=0).fit(X)
        rows, labels = model.sample(20_000)
        assert np.all(np.diff(labels) >= 0)
        np.testing.assert_allclose(np.bincount(labels) / 20_000, model.weights_, atol=0.02)
        for s in range(2):
            covariance = model._components.full_covariances()[s]
            error = np.cov(rows[labels == s].T) - covariance
            assert np.abs(error).max() < 0.08 * np.abs(covariance).max()
