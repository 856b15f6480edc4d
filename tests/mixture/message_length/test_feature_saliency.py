from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.special import logsumexp, softmax
from scipy.stats import norm
from sklearn.datasets import load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from sidelight._kernels.mixture.saliency import decay, probability
from sidelight.engine import as_rows
from sidelight.mixture import FeatureSaliencyMixture, MMLMixture
from sidelight.mixture._core import em
from sidelight.mixture.gaussian._components import GaussianComponents
from sidelight.mixture.message_length._componentwise import ComponentwiseEM
from sidelight.mixture.message_length._saliency import SaliencyComponents
from sidelight.mixture.message_length._separation import Separation, class_weights_of


def four_gaussians(seed: int, n_noise: int = 8) -> tuple[np.ndarray, np.ndarray]:
    """The data of section 4.4.1."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(4), 200)
    means = np.array([(0, 3), (1, 9), (6, 4), (7, 10)])
    X = np.hstack([means[y], np.zeros((800, n_noise))]) + rng.normal(size=(800, 2 + n_noise))
    return X, y


# ------------------------------------------------------------------ limits


def test_without_saliencies_it_is_figueiredo_and_jain_with_diagonal_covariances() -> None:
    X = StandardScaler().fit_transform(four_gaussians(1, n_noise=1)[0])
    options = {"n_components": 9, "random_state": 3, "max_iter": 100, "tol": 1e-6}
    saliency = FeatureSaliencyMixture(feature_saliency=False, **options).fit(X)
    plain = MMLMixture(covariance_type="diag", **options).fit(X)
    assert saliency.n_iter_ == plain.n_iter_
    for name, values in plain.search_.items():
        np.testing.assert_allclose(saliency.search_[name], values, rtol=1e-9)
    np.testing.assert_allclose(saliency.means_, plain.means_, atol=1e-6)
    np.testing.assert_array_equal(saliency.saliencies_, 1.0)


# ------------------------------------------------------------------ the estimator


def test_four_gaussians_among_noise() -> None:
    for seed, k in ((0, 30), (1, 45)):  # the number to start from does not matter
        X, y = four_gaussians(seed)
        model = FeatureSaliencyMixture(k, random_state=seed).fit(X)
        assert model.n_components_ == 4
        assert adjusted_rand_score(y, model.labels_) > 0.95
        assert model.saliencies_[:2].min() > 0.9
        assert model.saliencies_[2:].max() < 0.2
        np.testing.assert_array_equal(model.get_support(), np.arange(10) < 2)
        assert model.get_support(threshold=0.0).all()
        lengths = model.search_["message_length"]
        assert len(X) * model.objective_ == pytest.approx(lengths.min())
        assert np.all(np.diff(model.search_["n_components"]) < 0)


def test_components_survive_until_saliencies_have_fallen() -> None:
    # A component that pays for all features needs as many rows: there would be one or two.
    rng = np.random.default_rng(0)
    y = np.arange(200) % 4
    X = rng.normal(size=(200, 50))
    X[:, :5] += 3 * rng.normal(size=(4, 5))[y]
    found = FeatureSaliencyMixture(random_state=0, tol=1e-4).fit(X)
    assert adjusted_rand_score(y, found.labels_) > 0.9
    assert found.saliencies_[:5].mean() > 0.5 > 0.2 > found.saliencies_[5:].mean()
    one = FeatureSaliencyMixture(1, random_state=0, tol=1e-4).fit(X)
    assert 200 * (one.objective_ - found.objective_) > 300


def test_noise_features_do_not_change_the_labels() -> None:
    X, _ = four_gaussians(0)
    few = FeatureSaliencyMixture(random_state=0).fit(X[:, :3]).labels_
    many = FeatureSaliencyMixture(random_state=0).fit(X).labels_
    assert adjusted_rand_score(few, many) > 0.98


def test_noise_alone_is_one_component() -> None:
    X = np.random.default_rng(0).normal(size=(400, 6))
    model = FeatureSaliencyMixture(12, random_state=0).fit(X)
    assert model.n_components_ == 1


def test_order_and_scale_of_features_do_not_matter() -> None:
    X, _ = four_gaussians(3, n_noise=3)
    order, scale = np.array([3, 0, 4, 1, 2]), np.array([1e-3, 1.0, 50.0, 7.0, 1e4])
    model = FeatureSaliencyMixture(8, random_state=0).fit(X)
    turned = FeatureSaliencyMixture(8, random_state=0).fit((X * scale + 3)[:, order])
    np.testing.assert_array_equal(turned.labels_, model.labels_)
    np.testing.assert_allclose(turned.saliencies_, model.saliencies_[order], atol=1e-6)
    shift = np.log(scale).sum()
    assert turned.objective_ == pytest.approx(model.objective_ + shift, rel=1e-7)
    np.testing.assert_allclose(
        turned.score_samples((X * scale + 3)[:, order]),
        model.score_samples(X) - np.log(scale).sum(),
        rtol=1e-5,
    )


def test_a_minimum_of_components() -> None:
    X = StandardScaler().fit_transform(load_wine().data)
    for seed in range(3):
        model = FeatureSaliencyMixture(10, min_components=3, random_state=seed).fit(X[::2])
        assert model.n_components_ >= 3


def test_constant_features_and_bad_parameters() -> None:
    X, _ = four_gaussians(0, n_noise=1)
    X = X[::4]
    X[:, 2] = 1e5 + 0.1
    with pytest.warns(ConvergenceWarning, match=r"saliency 0: \[2\]"):
        model = FeatureSaliencyMixture(8, random_state=0).fit(X)
    assert model.saliencies_[2] == 0
    assert np.isfinite(model.score_samples(X)).all()
    with pytest.raises(ValueError, match="feature_saliency=False has none"):
        FeatureSaliencyMixture(feature_saliency=False, post_process=True).fit(X)
    for bad in ({"count_features": "none"}, {"post_process": "yes"}, {"reg_covar": -1.0}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            FeatureSaliencyMixture(**bad).fit(X)


# ------------------------------------------------------------------ post-processing


def test_post_processing_keeps_the_components_and_raises_the_contrast() -> None:
    X, y = four_gaussians(0, n_noise=4)
    plain = FeatureSaliencyMixture(random_state=0, tol=1e-5).fit(X)
    sharp = FeatureSaliencyMixture(post_process=True, random_state=0, tol=1e-5).fit(X)
    assert sharp.n_components_ == plain.n_components_ == 4
    assert sharp.objective_ == plain.objective_
    assert adjusted_rand_score(y, sharp.labels_) > 0.95
    assert sharp.saliencies_[:2].min() >= plain.saliencies_[:2].min() - 1e-6


def test_partial_labels_of_classes_that_have_several_components() -> None:
    X, y = four_gaussians(0, n_noise=2)
    side = y // 2
    labels = np.where(np.arange(800) % 20 == 0, side, -1)
    model = FeatureSaliencyMixture(random_state=0, tol=1e-5).fit(X, labels)
    assert model.n_components_ == 4
    np.testing.assert_array_equal(model.classes_, [0, 1])
    np.testing.assert_allclose(model.class_weights_.sum(axis=0), 1.0)
    of_class = model.predict_proba(X) @ model.class_weights_.T
    assert np.mean(of_class.argmax(axis=1) == side) > 0.99
    untouched = FeatureSaliencyMixture(random_state=0, tol=1e-5, post_process=False).fit(X, labels)
    assert not hasattr(untouched, "class_weights_")
    assert untouched.objective_ == model.objective_
    plain = FeatureSaliencyMixture(8, feature_saliency=False, random_state=0, tol=1e-4)
    np.testing.assert_array_equal(plain.fit(X, labels).saliencies_, 1.0)


def test_labels_of_components_are_the_limit_without_labels() -> None:
    X, _ = four_gaussians(0, n_noise=2)
    own = FeatureSaliencyMixture(random_state=0, tol=1e-5, post_process=True).fit(X)
    labels = np.where(np.arange(800) % 10 > 0, own.labels_, -1)
    told = FeatureSaliencyMixture(random_state=0, tol=1e-5).fit(X, labels)
    np.testing.assert_allclose(told.class_weights_, np.eye(4), atol=0.02)
    np.testing.assert_allclose(told.saliencies_, own.saliencies_, atol=0.05)
    assert np.mean(told.labels_ == own.labels_) > 0.99


# --- what it is made of ---


def make(saliencies: Any, k: int = 3, seed: int = 0, **options: Any) -> SaliencyComponents:
    rng = np.random.default_rng(seed)
    d = len(saliencies)
    return SaliencyComponents(
        means=2 * rng.normal(size=(k, d)),
        variances=rng.uniform(0.3, 2, size=(k, d)),
        common_means=rng.normal(size=d),
        common_variances=rng.uniform(1, 4, size=d),
        saliencies=np.array(saliencies, dtype=float),
        whole_means=np.zeros(d),
        whole_variances=np.full(d, 5.0),
        floor=np.full(d, 1e-6),
        **options,
    )


def some_rows(d: int, n: int = 40, seed: int = 1) -> np.ndarray:
    return 2 * np.random.default_rng(seed).normal(size=(n, d))


def plain_parts(c: SaliencyComponents, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """``a`` and ``b`` of the E-step as printed, of shape (n, k, d)."""
    own = norm.pdf(X[:, None], c.means, np.sqrt(c.variances))
    common = norm.pdf(X, c.common_means, np.sqrt(c.common_variances))
    return c.saliencies * own, np.broadcast_to(((1 - c.saliencies) * common)[:, None], own.shape)


# ------------------------------------------------------------------ densities


def test_fast_exponentials() -> None:
    t = np.concatenate([np.linspace(-40, 40, 4001), [0.0, 690.0, -690.0]])
    np.testing.assert_allclose([decay(x) for x in t], np.exp(-np.abs(t)), rtol=2e-14)
    np.testing.assert_allclose([probability(x) for x in t], 1 / (1 + np.exp(-t)), atol=1e-15)
    assert decay(1e300) < 1e-300
    assert probability(1e300) == 1.0
    assert probability(-1e300) == 0.0


def test_density_is_the_sum_over_all_masks() -> None:
    c = make([0.3, 0.9, 0.0, 1.0])
    X = some_rows(4)
    own = norm.pdf(X[:, None], c.means, np.sqrt(c.variances))
    common = norm.pdf(X, c.common_means, np.sqrt(c.common_variances))[:, None]
    total = np.zeros((40, 3))
    for mask in product([True, False], repeat=4):
        prior = np.prod(np.where(mask, c.saliencies, 1 - c.saliencies))
        total += prior * np.where(mask, own, common).prod(axis=2)
    np.testing.assert_allclose(c.log_density(X), np.log(total), rtol=1e-10)
    for j in range(3):
        np.testing.assert_allclose(c.log_density_of(X, j), np.log(total[:, j]), rtol=1e-10)


def test_many_features_and_rows_far_away() -> None:
    c = make(np.full(1300, 0.5))
    X = some_rows(1300, n=5)
    X[0] = 1e6
    t = np.logaddexp(
        np.log(0.5) + norm.logpdf(X[:, None], c.means, np.sqrt(c.variances)),
        np.log(0.5) + norm.logpdf(X, c.common_means, np.sqrt(c.common_variances))[:, None],
    )
    np.testing.assert_allclose(c.log_density(X), t.sum(axis=2), rtol=1e-10)


def test_all_relevant_is_a_diagonal_mixture_and_none_a_product() -> None:
    X = some_rows(3)
    c = make([1.0, 1.0, 1.0])
    diagonal = GaussianComponents(c.means, c.variances, "diag", origin=np.zeros(3))
    np.testing.assert_allclose(c.log_density(X), diagonal.log_density(diagonal.features(X)))
    nothing = make([0.0, 0.0, 0.0]).log_density(X)
    np.testing.assert_allclose(nothing, nothing[:, :1].repeat(3, axis=1))
    c = make([0.0, 0.0, 0.0])
    expected = norm.logpdf(X, c.common_means, np.sqrt(c.common_variances)).sum(axis=1)
    np.testing.assert_allclose(nothing[:, 0], expected)


def test_sampled_rows_follow_the_density() -> None:
    c = make([0.4, 1.0, 0.0])
    rows = c.sample(1, 40_000, np.random.RandomState(0))
    rho = c.saliencies
    expected = rho * c.means[1] + (1 - rho) * c.common_means
    second = rho * (c.variances[1] + c.means[1] ** 2)
    second += (1 - rho) * (c.common_variances + c.common_means**2)
    np.testing.assert_allclose(rows.mean(axis=0), expected, atol=0.05)
    np.testing.assert_allclose((rows**2).mean(axis=0), second, rtol=0.05)


# ------------------------------------------------------------------ E- and M-step


def test_statistics_are_those_printed() -> None:
    c = make([0.3, 0.9, 0.0, 1.0, 0.6])
    X = some_rows(5, n=60)
    weights = np.array([0.5, 0.3, 0.2])
    a, b = plain_parts(c, X)
    w = softmax(np.log(a + b).sum(axis=2) + np.log(weights), axis=1)
    u = a / (a + b) * w[:, :, None]
    v = w[:, :, None] - u
    for j in range(3):
        revised = c.revised(j, c.statistics_of(X, j, w[:, j]))
        on = c.saliencies > 0
        mean = (u[:, j] * X).sum(axis=0)[on] / u[:, j].sum(axis=0)[on]
        np.testing.assert_allclose(revised.means[j, on], mean)
        square = (u[:, j, on] * (X[:, on] - mean) ** 2).sum(axis=0) / u[:, j, on].sum(axis=0)
        np.testing.assert_allclose(revised.variances[j, on], square)
        np.testing.assert_array_equal(np.delete(revised.means, j, 0), np.delete(c.means, j, 0))
    relevant, rest, *_ = c.common_statistics(X, w)
    mixed = c.mixed
    np.testing.assert_allclose(relevant, u.sum(axis=(0, 1))[mixed])
    np.testing.assert_allclose(relevant + rest, len(X))
    revised = c.with_common(c.common_statistics(X, w))
    of_rest = v.sum(axis=1)[:, mixed]
    mean = (of_rest * X[:, mixed]).sum(axis=0) / of_rest.sum(axis=0)
    np.testing.assert_allclose(revised.common_means[mixed], mean)
    square = (of_rest * (X[:, mixed] - mean) ** 2).sum(axis=0) / of_rest.sum(axis=0)
    np.testing.assert_allclose(revised.common_variances[mixed], square)
    own, other = np.maximum(relevant - 3, 0), np.maximum(rest - 1, 0)
    np.testing.assert_allclose(revised.saliencies[mixed], own / (own + other))
    np.testing.assert_array_equal(revised.saliencies[[2, 3]], [0.0, 1.0])


def test_saliencies_go_to_the_bounds_and_densities_with_them() -> None:
    c = make([0.5, 0.5, 0.5])
    n = np.array([2.0, 90.0, 50.0])  # fewer than k rows relevant, fewer than 1 row irrelevant
    revised = c.with_common((n, np.array([98.0, 0.5, 50.0]), np.zeros(3), np.ones(3)))
    assert revised.saliencies[0] == 0
    assert revised.saliencies[1] == 1
    assert revised.saliencies[2] == pytest.approx(47 / 96)
    np.testing.assert_array_equal(revised.means[:, 0], 0.0)
    np.testing.assert_array_equal(revised.common_variances[:2], 5.0)
    starved = c.with_common((np.full(3, 1.0), np.full(3, 0.5), np.zeros(3), np.ones(3)))
    np.testing.assert_array_equal(starved.saliencies, 0.5)


def test_message_length_by_hand() -> None:
    n, weights = 50.0, np.array([0.5, 0.3, 0.2])
    c = make([0.3, 0.9])
    expected = 100 + (3 + 2) / 2 * np.log(n)
    expected += np.log(n * weights[:, None] * c.saliencies).sum()
    expected += np.log(n * (1 - c.saliencies)).sum()
    assert c.message_length(-100.0, weights, n) == pytest.approx(expected)
    c = make([0.3, 1.0, 0.0, 0.0])  # three densities for the first, one for the last two
    expected = 100 + (3 + 1) / 2 * np.log(n)
    expected += 2 * np.log(n * weights).sum() + 3 * np.log(0.3)
    expected += 3 * np.log(n) + np.log(0.7)
    assert c.message_length(-100.0, weights, n) == pytest.approx(expected)


def test_likelihood_rises_with_saliencies_held() -> None:
    X, _ = four_gaussians(0, n_noise=2)
    rng = np.random.default_rng(0)
    c = replace(make([0.7, 0.2, 1.0, 0.0], k=5), learn=False, counted="none")
    c = replace(c, means=X[rng.choice(800, 5)])
    fit = ComponentwiseEM(as_rows(X), c, np.full(5, 0.2), None)
    for _ in range(30):
        before = fit.log_likelihood
        fit.sweep(5)
        assert fit.log_likelihood >= before - 1e-9 * abs(before)
    assert fit.components.n_components == 5


@pytest.mark.parametrize("seed", range(3))
def test_the_message_never_gets_longer_within_a_structure(seed: int) -> None:
    X = StandardScaler().fit_transform(load_wine().data)
    d = X.shape[1]
    rows = np.random.default_rng(seed).choice(len(X), 8, replace=False)
    start = replace(
        make(np.full(d, 0.5), k=8, counted="salient"),
        means=X[rows],
        variances=np.full((8, d), 0.1),
        common_means=np.zeros(d),
        common_variances=np.ones(d),
        whole_variances=np.ones(d),
    )
    fit = ComponentwiseEM(as_rows(X), start, np.full(8, 1 / 8), None)
    for _ in range(60):
        before, length = fit.components.structure, fit.length
        fit.sweep(1)
        if fit.components.structure == before:
            assert fit.length <= length + 1e-9 * abs(length)
    assert fit.components.structure != start.structure


# ------------------------------------------------------------------ limits


def test_saliencies_of_0_and_1_are_the_model_on_the_chosen_features() -> None:
    X, _ = four_gaussians(0, n_noise=3)
    chosen = np.array([1.0, 1.0, 0.0, 0.0, 0.0])
    rows = [0, 200, 400, 600]
    c = replace(
        make(chosen, k=4, learn=False, counted="none"),
        means=X[rows],
        variances=np.ones((4, 5)),
        common_means=X.mean(axis=0),
        common_variances=X.var(axis=0),
    )
    fit = ComponentwiseEM(as_rows(X), c, np.full(4, 0.25), None)
    for _ in range(100):
        fit.sweep(4)
    subset = GaussianComponents(X[rows, :2], np.ones((4, 2)), "diag", origin=np.zeros(2))
    plain = em(as_rows(X[:, :2]), subset, np.full(4, np.log(0.25)), max_iter=500, tol=1e-14)
    np.testing.assert_allclose(fit.weights, np.exp(plain.log_weights), atol=1e-6)
    np.testing.assert_allclose(fit.components.means[:, :2], plain.components.means, atol=1e-5)
    rest = norm.logpdf(X[:, 2:], X[:, 2:].mean(axis=0), X[:, 2:].std(axis=0)).sum()
    assert fit.log_likelihood == pytest.approx(-800 * plain.objective + rest, rel=1e-9)
    ours = softmax(fit.components.log_density(X) + np.log(fit.weights), axis=1)
    theirs = plain.components.log_density(plain.components.features(X[:, :2]))
    np.testing.assert_allclose(ours, softmax(theirs + plain.log_weights, axis=1), atol=1e-5)


# ------------------------------------------------------------------ the estimator


def test_support_counts_features() -> None:
    rho = np.repeat([0.5, 0.0], [3, 27])
    support = {name: make(rho, counted=name).support for name in ("auto", "all", "salient", "none")}
    assert support == {"auto": 10, "all": 30, "salient": 3, "none": 0}
    assert make(rho[:5], counted="auto").support == 5
    assert make(np.full(30, 0.5), counted="auto").support == 30


def test_density_of_the_fitted_model() -> None:
    X, _ = four_gaussians(0, n_noise=2)
    model = FeatureSaliencyMixture(6, random_state=0).fit(X.astype(np.float32))
    assert model.means_.dtype == model.saliencies_.dtype == np.float32
    a, b = plain_parts(model._components, X)
    joint = np.log(a + b).sum(axis=2) + np.log(model.weights_)
    np.testing.assert_allclose(model.score_samples(X), logsumexp(joint, axis=1), rtol=1e-4)
    np.testing.assert_allclose(model.predict_proba(X), softmax(joint, axis=1), atol=1e-3)
    k, on = model.n_components_, (model.saliencies_ > 0).sum()
    free = ((model.saliencies_ > 0) & (model.saliencies_ < 1)).sum()
    n_parameters = k - 1 + 2 * k * on + 2 * (model.saliencies_ < 1).sum() + free
    likelihood = model.score_samples(X).sum()
    assert model.bic(X) == pytest.approx(-2 * likelihood + n_parameters * np.log(800))
    rows, labels = model.sample(50)
    assert rows.shape == (50, 4)
    assert set(labels) <= set(range(k))


def test_rows_of_weight_two_count_as_two() -> None:
    X, _ = four_gaussians(0, n_noise=2)
    X = X[::4]
    times = np.random.default_rng(0).integers(1, 4, size=len(X))
    c = replace(
        make(np.full(4, 0.5), k=5),
        means=X[[3, 60, 110, 160, 20]],
        variances=np.ones((5, 4)),
        common_variances=X.var(axis=0),
    )
    by_weight = ComponentwiseEM(as_rows(X), c, np.full(5, 0.2), times)
    by_rows = ComponentwiseEM(as_rows(np.repeat(X, times, axis=0)), c, np.full(5, 0.2), None)
    for _ in range(20):
        by_weight.sweep(1)
        by_rows.sweep(1)
        assert by_weight.length == pytest.approx(by_rows.length, rel=1e-10)
    np.testing.assert_allclose(by_weight.components.saliencies, by_rows.components.saliencies)


# ------------------------------------------------------------------ post-processing


def separation(
    saliencies: Any, beta: np.ndarray, known: Any = None, seed: int = 0
) -> tuple[Separation, np.ndarray]:
    c = make(saliencies, seed=seed)
    X = some_rows(len(saliencies), n=80)
    rows = np.full(80, -1) if known is None else known
    weights = np.random.default_rng(seed).uniform(0.5, 2, size=80)
    log_weights = np.log([0.5, 0.3, 0.2])
    return Separation(as_rows(X), c, log_weights, beta, rows, weights), c.saliencies


BETAS = [np.eye(3), np.array([[0.9, 0.2, 0.5], [0.1, 0.8, 0.5]])]


@pytest.mark.parametrize("beta", BETAS, ids=["components", "classes"])
def test_slope_of_the_separation(beta: np.ndarray) -> None:
    known = np.where(np.arange(80) % 4 == 0, np.arange(80) % len(beta), -1)
    task, rho = separation([0.3, 0.9, 0.6, 0.05], beta, known)
    classes = task.classes(rho)
    np.testing.assert_array_equal(classes[known >= 0], known[known >= 0])
    value, slope = task.value_and_slope(rho, classes)
    assert value <= 0
    for f in range(4):
        step = np.zeros(4)
        step[f] = 1e-6
        ahead, behind = (task.value_and_slope(rho + s, classes)[0] for s in (step, -step))
        assert slope[f] == pytest.approx((ahead - behind) / 2e-6, rel=1e-6, abs=1e-6)


def test_a_feature_that_tells_nothing_has_no_slope() -> None:
    task, rho = separation([0.3, 0.9, 0.6], np.eye(3))
    c = task._components
    c.means[:, 1], c.variances[:, 1] = c.common_means[1], c.common_variances[1]
    task._components = replace(c)
    slope = task.value_and_slope(rho, task.classes(rho))[1]
    assert slope[1] == pytest.approx(0.0, abs=1e-10)
    assert abs(slope[0]) > 1e-3


def test_scale_of_class_weights_does_not_matter_to_the_slope() -> None:
    rho = [0.3, 0.9, 0.6]
    task, start = separation(rho, BETAS[1])
    classes = task.classes(start)
    scaled, _ = separation(rho, BETAS[1] * np.array([[3.0], [0.2]]))
    np.testing.assert_allclose(
        task.value_and_slope(start, classes)[1], scaled.value_and_slope(start, classes)[1]
    )


def test_labels_that_say_what_is_known_change_nothing() -> None:
    free, rho = separation([0.3, 0.9, 0.6, 0.05], np.eye(3))
    labelled, _ = separation([0.3, 0.9, 0.6, 0.05], np.eye(3), free.classes(rho))
    classes = free.classes(rho)
    assert free.value_and_slope(rho, classes)[0] == labelled.value_and_slope(rho, classes)[0]


@pytest.mark.parametrize("beta", BETAS, ids=["components", "classes"])
def test_the_separation_never_falls(beta: np.ndarray) -> None:
    for seed in range(3):
        task, rho = separation([0.3, 0.9, 0.6, 0.05, 0.0, 1.0], beta, seed=seed)
        found, path = task.maximize(rho)
        assert np.all(np.diff(path) >= -1e-9 * np.abs(path[:-1]))
        assert path[-1] > path[0]
        assert path[-1] <= 0
        assert found[4] == 0
        assert np.all((found >= 0) & (found <= 1))
        end, _ = task.value_and_slope(found, task.classes(found))
        assert end >= path[-1] - 1e-5 * abs(path[-1])


def test_class_weights_are_probabilities_of_classes() -> None:
    posterior = np.array([[1, 0, 0], [0.5, 0.5, 0], [0, 1, 0], [0, 1, 0.0]] * 20)
    classes = np.array([0, 0, 1, 1] * 20)
    beta = class_weights_of(posterior, classes, 2)
    np.testing.assert_allclose(beta.sum(axis=0), 1.0)
    np.testing.assert_allclose(beta[:, 2], 0.5)  # no labelled row: as the classes are
    assert beta[0, 0] > 0.97
    assert beta[1, 1] == pytest.approx(0.8, abs=0.02)
