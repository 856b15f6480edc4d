"""Greedy EM: the bound of the search, the path, and what the search finds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import expit, logsumexp
from scipy.stats import multivariate_normal
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

from sidelight.datasets import make_separated_gaussians
from sidelight.engine import as_rows, threads
from sidelight.mixture import GaussianMixture, GreedyMixture
from sidelight.mixture._core import EMResult, data_moments, em
from sidelight.mixture.gaussian._components import GaussianComponents, one_gaussian
from sidelight.mixture.growing._candidates import (
    Candidates,
    CurrentMixture,
    draw_candidates,
    partial_em,
)
from sidelight.mixture.growing._greedy_path import current_mixture, find_candidates, relative_width

KINDS = ("full", "diag", "spherical")


@pytest.fixture(scope="module")
def X() -> np.ndarray:
    data: np.ndarray = make_separated_gaussians(
        500, n_components=5, separation=2.0, random_state=0
    ).data
    return data


# ------------------------------------------------------------------ the path


@pytest.mark.parametrize("kind", KINDS)
def test_path_rises_and_each_mixture_can_be_asked(X: np.ndarray, kind: str) -> None:
    model = GreedyMixture(6, covariance_type=kind, random_state=0).fit(X)
    assert len(model.mixtures_) == 6
    assert np.all(np.diff(model.search_["objective"]) < 0)
    assert np.all(np.diff(model.history_) <= 0)
    for k, mixture in enumerate(model.mixtures_, start=1):
        assert mixture.predict_proba(X).shape == (len(X), k)
        assert mixture.score(X) == pytest.approx(-model.search_["objective"][k - 1], abs=1e-6)
        assert mixture.bic(X) == pytest.approx(model.search_["bic"][k - 1], abs=1e-3)
        assert mixture.aic(X) == pytest.approx(model.search_["aic"][k - 1], abs=1e-3)
    np.testing.assert_array_equal(model.predict(X), model.mixtures_[-1].predict(X))


def test_far_apart_gaussians_are_always_found() -> None:
    rng = np.random.default_rng(0)
    for seed in range(20):
        X = np.vstack([rng.normal(0, 1, (80, 2)), rng.normal(12, 2, (120, 2))])
        model = GreedyMixture(2, random_state=seed).fit(X)
        order = np.argsort(model.means_[:, 0])
        for s, rows in zip(order, (X[:80], X[80:]), strict=True):
            np.testing.assert_allclose(model.means_[s], rows.mean(axis=0), atol=1e-3)
            np.testing.assert_allclose(model.covariances_[s], np.cov(rows.T, bias=True), atol=1e-3)
        np.testing.assert_allclose(model.weights_[order], [0.4, 0.6], atol=1e-6)


def test_reference_on_iris() -> None:
    X = load_iris().data
    for seed in range(3):
        model = GreedyMixture(3, reg_covar=0.0, tol=1e-9, max_iter=1000, random_state=seed).fit(X)
        first, second, third = -150 * model.search_["objective"]
        assert first == pytest.approx(-379.9146, abs=1e-3)
        assert second == pytest.approx(-214.3547, abs=1e-3)
        assert -190 < third <= -180.185 + 1e-3
        np.testing.assert_allclose(model.search_["bic"][:2], [829.98, 574.02], atol=0.01)


def test_criteria_choose_the_number_of_components() -> None:
    X = make_separated_gaussians(600, n_components=4, separation=4.0, random_state=1).data
    model = GreedyMixture(12, selection="bic", random_state=0).fit(X)
    assert len(model.weights_) == 4
    assert len(model.mixtures_) == 6  # two more that were worse
    assert model.search_["bic"].argmin() == 3
    assert model.objective_ == model.search_["objective"][3]
    assert model.labels_.max() == 3
    assert len(GreedyMixture(12, selection="aic", random_state=0).fit(X).weights_) >= 4


def test_more_paths_are_never_worse(X: np.ndarray) -> None:
    one = GreedyMixture(5, random_state=7).fit(X)
    several = GreedyMixture(5, n_init=3, random_state=7).fit(X)
    assert several.objective_ <= one.objective_


def test_threads_do_not_matter() -> None:
    X = make_separated_gaussians(9000, n_components=4, separation=1.0, random_state=0).data
    results = []
    for n in (1, 3):
        with threads(n):
            results.append(GreedyMixture(4, random_state=0).fit(X))
    np.testing.assert_array_equal(results[0].means_, results[1].means_)
    np.testing.assert_array_equal(results[0].history_, results[1].history_)


@pytest.mark.parametrize(("n_features", "spread"), [(1, 0.7), (1, 2.0), (2, 0.7)])
@pytest.mark.parametrize("seed", [0, 1])
def test_overlapping_components_are_all_inserted(n_features: int, spread: float, seed: int) -> None:
    # One more component gains far less than 0.01 per row here; on rows flatter than a Gaussian,
    # none gains anything as long as the others stand still.
    rng = np.random.default_rng(seed)
    centers = spread * rng.normal(size=(8, n_features))
    X = centers[rng.integers(8, size=600)] + rng.normal(size=(600, n_features))
    model = GreedyMixture(8, random_state=0).fit(X)
    assert len(model.weights_) == 8
    assert np.all(np.diff(model.search_["objective"]) < 0)
    assert np.all(np.diff(model.history_) <= 0)


def test_it_stops_when_nothing_helps() -> None:
    X = np.random.default_rng(0).normal(size=(30, 3))
    with pytest.warns(ConvergenceWarning, match=r"Only \d+ of 20 components"):
        model = GreedyMixture(20, random_state=0).fit(X)
    assert 1 <= len(model.weights_) < 20
    assert np.isfinite(model.covariances_).all()


def test_rejected_candidates_are_counted() -> None:
    X = load_iris().data
    tried = GreedyMixture(4, random_state=0).fit(X).search_
    np.testing.assert_array_equal(tried["n_candidates"], [0, 10, 20, 30])
    rejected = tried["n_small"] + tried["n_heavy"] + tried["n_thin"]
    assert np.all(rejected <= tried["n_candidates"])


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"selection": "icl"}, "selection"),
        ({"n_candidates": 0}, "n_candidates"),
        ({"n_init": 0}, "n_init"),
        ({"covariance_type": "tied"}, "covariance_type must be one of"),
        ({"covariance_type": "round"}, "covariance_type"),
        ({"max_iter": 0}, "max_iter"),
    ],
)
def test_wrong_parameters(params: dict[str, Any], message: str, X: np.ndarray) -> None:
    with pytest.raises(ValueError, match=message):
        GreedyMixture(3, **params).fit(X)


# --- what it is made of ---


def whole_of(X: np.ndarray, kind: str = "full") -> GaussianComponents:
    mean, covariance, largest = data_moments(as_rows(X))
    return one_gaussian(mean, covariance, 1, kind, reg_covar=0.0, largest_square=largest)


def fitted(X: np.ndarray, k: int, kind: str = "full") -> EMResult:
    """Some mixture at an optimum of EM."""
    model = GaussianMixture(k, covariance_type=kind, reg_covar=0.0, random_state=0).fit(X)
    return em(as_rows(X), model._components, model._log_weights, max_iter=5)


def seen_by(X: np.ndarray, result: EMResult, weights: np.ndarray | None = None) -> CurrentMixture:
    return current_mixture(as_rows(X), result, np.ones(len(X)) if weights is None else weights)


def log_likelihoods(X: np.ndarray, seen: CurrentMixture, new: Candidates) -> np.ndarray:
    """``Σ_n log[(1 - a) p(x_n) + a φ(x_n)]`` of every candidate, written out."""
    covariances = new.components.full_covariances()
    values = []
    for share, mean, covariance in zip(new.shares, new.components.means, covariances, strict=True):
        density = multivariate_normal(mean, covariance).logpdf(X)
        joint = np.array([np.log1p(-share) + seen.log_density, np.log(share) + density])
        values.append(logsumexp(joint, axis=0).sum())
    return np.array(values)


# ------------------------------------------------------------------ the bound


@pytest.mark.parametrize("kind", KINDS)
def test_bound_rises_and_stays_below_the_likelihood(X: np.ndarray, kind: str) -> None:
    result = fitted(X, 3, kind)
    seen = seen_by(X, result)
    base = seen.log_density.sum()
    rng = np.random.RandomState(0)
    groups = draw_candidates(seen, whole_of(X, kind), result.log_weights, 10, rng)
    assert [len(group) for group in groups] == [10, 10, 10]
    before = None
    for _ in range(15):
        measured, sums = seen.e_step(groups)
        for group in measured:
            exact = log_likelihoods(X, seen, group)
            assert np.all(base + group.gains <= exact + 1e-9 * abs(base))
            # The bound as it is defined: rows of other components see (1 - a) p only.
            outside = seen.owner != group.owner
            tail = [
                (np.log1p(-share) + seen.log_density[outside]).sum()
                + log_likelihoods(X[~outside], _only(seen, ~outside), group.pick([number]))[0]
                for number, share in enumerate(group.shares)
            ]
            np.testing.assert_allclose(base + group.gains, tail, rtol=1e-9)
        gains = np.concatenate([group.gains for group in measured])
        assert before is None or np.all(gains >= before - 1e-9 * abs(base))
        before = gains
        groups = [g.maximized(s, seen.total) for g, s in zip(measured, sums, strict=True)]


def _only(seen: CurrentMixture, rows: np.ndarray) -> CurrentMixture:
    return replace(seen, owner=seen.owner[rows], log_density=seen.log_density[rows])


def test_with_one_component_the_bound_is_the_likelihood(X: np.ndarray) -> None:
    result = fitted(X, 1)
    seen = seen_by(X, result)
    rng = np.random.RandomState(1)
    (group,) = draw_candidates(seen, whole_of(X), result.log_weights, 6, rng)
    (measured,), _ = seen.e_step([group])
    exact = log_likelihoods(X, seen, group)
    np.testing.assert_allclose(seen.log_density.sum() + measured.gains, exact)


def test_partial_em_is_em_with_a_frozen_component(X: np.ndarray) -> None:
    result = fitted(X, 1)
    seen = seen_by(X, result)
    (group,) = draw_candidates(seen, whole_of(X), result.log_weights, 4, np.random.RandomState(2))
    (moved,) = partial_em(seen, [group], max_iter=7, tol=-np.inf)
    assert len(moved) == 4
    for number in range(4):
        share = group.shares[number]
        mean, covariance = group.components.means[number], group.components.covariances[number]
        for _ in range(7):
            odds = np.log(share) - np.log1p(-share) - seen.log_density
            q = expit(odds + multivariate_normal(mean, covariance).logpdf(X))
            share, mean = q.mean(), q @ X / q.sum()
            covariance = (X - mean).T @ ((X - mean) * q[:, None]) / q.sum()
        # The seventh step is looked at, so that the candidate is where it leads.
        np.testing.assert_allclose(moved.shares[number], share)
        np.testing.assert_allclose(moved.components.means[number], mean)
        np.testing.assert_allclose(moved.components.covariances[number], covariance)


def test_weight_alone_goes_to_the_concave_optimum(X: np.ndarray) -> None:
    result = fitted(X, 2)
    seen = seen_by(X, result)
    (best_half,), _ = find_candidates(seen, result, whole_of(X), 10, np.random.RandomState(0))
    seen, group = seen.everywhere(), replace(best_half, shares=np.array([0.5]))
    fixed = group.components
    for _ in range(300):
        (measured,), (sums,) = seen.e_step([group])
        group = replace(measured.maximized(sums, seen.total), components=fixed)

    def loss(share: float) -> float:
        return -float(log_likelihoods(X, seen, replace(group, shares=np.array([share])))[0])

    best = minimize_scalar(loss, bounds=(1e-9, 1 - 1e-9), method="bounded", options={"xatol": 1e-9})
    assert group.shares[0] == pytest.approx(best.x, abs=1e-5)


def test_truncation_does_not_change_the_choice_on_separated_data() -> None:
    X = make_separated_gaussians(600, n_components=4, separation=8.0, random_state=3).data
    result = fitted(X, 3)
    seen = seen_by(X, result)
    rng = np.random.RandomState(0)
    groups = draw_candidates(seen, whole_of(X), result.log_weights, 10, rng)
    near = partial_em(seen, groups, max_iter=20, tol=-np.inf)
    everywhere = [replace(group, owner=0) for group in groups]
    far = [
        partial_em(seen.everywhere(), [group], max_iter=20, tol=-np.inf)[0] for group in everywhere
    ]
    gains_near = np.concatenate([group.gains for group in near])
    gains_far = np.concatenate([group.gains for group in far])
    # Candidates that meet in one place are equally good: any of them may be the first.
    assert gains_far[gains_near.argmax()] == pytest.approx(gains_far.max(), rel=1e-6)
    assert gains_near.max() == pytest.approx(gains_far.max(), rel=1e-6)


def test_candidates_are_halves(X: np.ndarray) -> None:
    result = fitted(X, 3)
    seen = seen_by(X, result)
    groups = draw_candidates(seen, whole_of(X), result.log_weights, 8, np.random.RandomState(4))
    for group in groups:
        rows = X[seen.owner == group.owner]
        pairs = group.components.means.reshape(-1, 2, 2)
        np.testing.assert_allclose(group.shares, np.exp(result.log_weights[group.owner]) / 2)
        for left, right in pairs:
            # Two halves of all rows: their means lie on a line through the mean of the rows.
            n = np.linalg.norm(right - left)
            along = (rows.mean(axis=0) - left) @ (right - left) / n
            assert 0 < along < n
            np.testing.assert_allclose(left + along / n * (right - left), rows.mean(axis=0))


def test_no_candidate_where_rows_cannot_be_split() -> None:
    X = np.repeat([[0.0, 0.0], [1.0, 3.0]], 50, axis=0)  # halves of equal rows, or none
    whole = replace(whole_of(X), reg_covar=1e-6)
    seen = CurrentMixture(as_rows(X), np.ones(100), np.repeat([0, 1], 50), np.zeros(100))
    log_weights = np.log([0.5, 0.5])
    assert draw_candidates(seen, whole, log_weights, 10, np.random.RandomState(0)) == []
    mixed = np.isin(np.arange(100), (0, 1, 50, 51))  # 2 d rows are too few
    few = replace(seen, owner=np.where(mixed, 0, -1))
    assert draw_candidates(few, whole, log_weights, 10, np.random.RandomState(0)) == []


def test_weights_count_rows(X: np.ndarray) -> None:
    rng = np.random.RandomState(0)
    times = rng.randint(0, 3, size=len(X))
    copies = np.repeat(X, times, axis=0)
    result = fitted(X, 2)
    groups = draw_candidates(
        seen_by(X, result), whole_of(X), result.log_weights, 5, np.random.RandomState(1)
    )
    weighted = partial_em(seen_by(X, result, times.astype(float)), groups, max_iter=5, tol=-np.inf)
    copied = partial_em(seen_by(copies, result), groups, max_iter=5, tol=-np.inf)
    for one, other in zip(weighted, copied, strict=True):
        np.testing.assert_allclose(one.gains, other.gains, rtol=1e-9)
        np.testing.assert_allclose(one.components.covariances, other.components.covariances)


def test_relative_width_is_free_of_units(X: np.ndarray) -> None:
    rng = np.random.default_rng(0)
    A = rng.normal(size=(2, 2))
    half = X[:100]
    plain = relative_width(whole_of(half), whole_of(X))
    np.testing.assert_allclose(relative_width(whole_of(half @ A), whole_of(X @ A)), plain)
    directions = rng.normal(size=(5000, 2))
    ratios = np.var(half @ directions.T, axis=0) / np.var(X @ directions.T, axis=0)
    assert plain[0] == pytest.approx(ratios.min(), rel=1e-3)


# ------------------------------------------------------------------ the path


def test_best_candidate_raises_the_likelihood(X: np.ndarray) -> None:
    result = fitted(X, 2)
    seen = seen_by(X, result)
    (best,), _ = find_candidates(seen, result, whole_of(X), 10, np.random.RandomState(0))
    rise = log_likelihoods(X, seen, best)[0] - seen.log_density.sum()
    assert best.gains[0] == pytest.approx(rise)
    assert rise > 0
