"""Global coordination: bound, exact steps by finite differences, factor analysis as a limit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_normal
from sklearn.decomposition import PCA, FactorAnalysis
from sklearn.exceptions import ConvergenceWarning
from tests.manifold.coordination.cases import explained, s_curve

from sidelight.exceptions import SidelightError
from sidelight.manifold import GlobalCoordination
from sidelight.manifold.coordination import _coordinated_em as em


def test_one_chart_is_factor_analysis():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 2)) @ rng.normal(size=(2, 6)) + rng.normal(size=(150, 6))
    model = GlobalCoordination(2, n_charts=1, tol=1e-6, max_iter=1000).fit(X)
    peer = FactorAnalysis(2, tol=1e-6, max_iter=5000).fit(X)
    assert model.score_samples(X).mean() == pytest.approx(peer.score(X), abs=1e-3)
    assert -model.objective_ == pytest.approx(model.score_samples(X).mean(), abs=1e-9)


def test_one_chart_of_isotropic_noise_is_probabilistic_pca():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2)) @ rng.normal(size=(2, 6)) + rng.normal(size=(300, 6)) * 0.5
    model = GlobalCoordination(2, n_charts=1, chart="ppca", tol=1e-10, max_iter=3000).fit(X)
    eigenvalues = np.linalg.eigvalsh(np.cov(X, rowvar=False, bias=True))
    noise = eigenvalues[:4].mean()
    volume = np.log(eigenvalues[4:]).sum() + 4 * np.log(noise)
    expected = -0.5 * (6 * np.log(2 * np.pi) + volume + 6)
    assert model.score_samples(X).mean() == pytest.approx(expected, abs=1e-6)
    plane = PCA(2).fit(X).components_
    basis = np.linalg.qr(model.loadings_[0])[0]
    np.testing.assert_allclose(np.abs(np.linalg.svd(plane @ basis)[1]), 1.0, atol=1e-5)


def test_unrolls_a_surface_and_rolls_it_up_again():
    X, truth = s_curve(500)
    model = GlobalCoordination(2, random_state=0).fit(X)
    assert explained(model.embedding_, truth).min() > 0.95
    np.testing.assert_allclose(model.embedding_.mean(axis=0), 0.0, atol=1e-8)
    covariance = np.cov(model.embedding_, rowvar=False, bias=True)
    np.testing.assert_allclose(covariance, np.eye(2), atol=1e-10)
    assert np.all(np.diff(model.history_) <= 1e-10)
    assert model.objective_ >= -model.score_samples(X).mean() - 1e-10
    assert np.mean((model.inverse_transform(model.embedding_) - X) ** 2) < 0.01


def test_densities_are_per_unit_of_the_rows():
    X, _ = s_curve(200)
    one = GlobalCoordination(2, random_state=0).fit(X)
    other = GlobalCoordination(2, random_state=0).fit(8.0 * X)
    np.testing.assert_allclose(
        other.score_samples(8.0 * X), one.score_samples(X) - 3 * np.log(8.0), atol=1e-6
    )
    np.testing.assert_allclose(other.means_, 8.0 * one.means_, atol=1e-8)
    np.testing.assert_allclose(other.noise_variances_, 64.0 * one.noise_variances_, atol=1e-8)


def test_first_coordinates_may_be_given():
    t = np.linspace(0, 3, 200)
    X = np.column_stack([t, np.cos(t), np.sin(2 * t)])
    rough = t[:, None] + 0.3 * np.random.default_rng(0).normal(size=(200, 1))
    model = GlobalCoordination(1, n_charts=6, init=rough, random_state=0).fit(X)
    assert abs(np.corrcoef(model.embedding_[:, 0], t)[0, 1]) > 0.9
    linear = GlobalCoordination(1, n_charts=6, init="pca", random_state=0).fit(X)
    assert np.isfinite(linear.embedding_).all()
    with pytest.raises(SidelightError, match=r"shape \(200, 1\)"):
        GlobalCoordination(1, init=rough[:5]).fit(X)


def test_too_few_iterations_are_told():
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model = GlobalCoordination(max_iter=2, tol=0.0, random_state=0).fit(s_curve(100)[0])
    assert not model.converged_


def test_places_of_another_width_are_told():
    model = GlobalCoordination(2, random_state=0).fit(s_curve(100)[0])
    with pytest.raises(SidelightError, match="2 coordinates"):
        model.inverse_transform(np.zeros((3, 1)))


# --- what it is made of ---


N, D, K, d = 30, 4, 3, 2


def start(seed: int = 0) -> tuple[np.ndarray, em.CoordinateEstimates]:
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(N, D))
    resp = rng.dirichlet(np.ones(K), size=N)
    spread = rng.normal(size=(N, d, d)) * 0.3
    covariances = spread @ np.swapaxes(spread, 1, 2) + 0.1 * np.eye(d)
    blank = em.blank_charts(K, D, d)
    return rows, em.CoordinateEstimates(blank, resp, rng.normal(size=(N, d)), covariances, np.inf)


def charts(isotropic: bool = False) -> tuple[np.ndarray, em.CoordinateEstimates, em.LinkedCharts]:
    rows, now = start()
    return rows, now, em.m_step(rows, now, np.full(D, 1e-8), isotropic=isotropic)


def covariance_of(model: em.LinkedCharts, s: int) -> np.ndarray:
    return model.maps[s] @ model.spreads[s] @ model.maps[s].T + np.diag(model.noise[s])


def test_densities_are_those_of_gaussians():
    rows, _, model = charts()
    dense = np.column_stack(
        [
            np.log(model.weights[s])
            + multivariate_normal(model.means[s], covariance_of(model, s)).logpdf(rows)
            for s in range(K)
        ]
    )
    np.testing.assert_allclose(model.posterior(rows)[0], dense, atol=1e-9)
    np.testing.assert_allclose(model.log_likelihood(rows), logsumexp(dense, axis=1), atol=1e-9)


def test_places_are_conditional_means():
    rows, _, model = charts()
    for s in range(K):
        gain = model.spreads[s] @ model.maps[s].T @ np.linalg.inv(covariance_of(model, s))
        expected = model.offsets[s] + (rows - model.means[s]) @ gain.T
        np.testing.assert_allclose(model.posterior(rows)[1][:, s], expected, atol=1e-9)


def test_bound_of_both_steps_is_the_same_number():
    rows, now, model = charts()
    after = em.e_step(rows, model, now.resp)
    assert em.bound(rows, after, model) == pytest.approx(-after.objective, abs=1e-10)


def test_bound_is_below_the_likelihood_and_rises_with_every_step():
    rows, now, model = charts()
    value = em.bound(rows, now, model)
    for _ in range(30):
        now = em.e_step(rows, model, now.resp)
        assert -now.objective >= value - 1e-10
        assert -now.objective <= model.log_likelihood(rows).mean() + 1e-10
        model = em.m_step(rows, now, np.full(D, 1e-8), isotropic=False)
        value = em.bound(rows, now, model)
        assert value >= -now.objective - 1e-10


def test_bound_is_tight_where_charts_agree():
    """One chart: p(g|y) is a Gaussian, which the e-step finds."""
    rows, now = start()
    one = replace(now, resp=np.ones((N, 1)), parameters=em.blank_charts(1, D, d))
    model = em.m_step(rows, one, np.full(D, 1e-8), isotropic=False)
    found = em.e_step(rows, model, one.resp)
    assert -found.objective == pytest.approx(model.log_likelihood(rows).mean(), abs=1e-10)


@pytest.mark.parametrize("name", ["offsets", "spreads", "means", "maps", "noise"])
def test_charts_of_the_m_step_are_stationary(name):
    rows, now, model = charts()
    rng = np.random.default_rng(1)
    value = getattr(model, name)
    for _ in range(5):
        step = rng.normal(size=value.shape) * np.abs(value).mean()
        if name == "spreads":
            step = step + np.swapaxes(step, 1, 2)
        sides = [
            em.bound(rows, now, replace(model, **{name: value + sign * 1e-5 * step}))
            for sign in (1, -1)
        ]
        assert abs(sides[0] - sides[1]) / 2e-5 < 1e-6
        assert max(sides) <= em.bound(rows, now, model) + 1e-12


def test_isotropic_noise_is_stationary():
    rows, now, model = charts(isotropic=True)
    assert np.ptp(model.noise, axis=1).max() == 0
    best = em.bound(rows, now, model)
    for factor in (0.99, 1.01):
        assert em.bound(rows, now, replace(model, noise=model.noise * factor)) < best


def test_estimates_of_the_e_step_are_stationary():
    rows, now, model = charts()
    # The responsibilities are updated last: places are best for those before.
    found = replace(em.e_step(rows, model, now.resp), resp=now.resp)
    best = em.bound(rows, found, model)
    rng = np.random.default_rng(2)
    for _ in range(5):
        for sign in (1, -1):
            moved = replace(found, places=found.places + sign * 1e-4 * rng.normal(size=(N, d)))
            assert em.bound(rows, moved, model) < best
            wider = replace(found, covariances=found.covariances * (1 + sign * 1e-3))
            assert em.bound(rows, wider, model) < best


def test_affine_maps_of_the_coordinates_change_nothing():
    rows, now, model = charts()
    shift, turn = np.array([3.0, -1.0]), np.array([[2.0, 0.5], [-0.3, 0.7]])
    moved = model.moved(shift, turn)
    np.testing.assert_allclose(moved.log_likelihood(rows), model.log_likelihood(rows))
    np.testing.assert_allclose(moved.place(rows), (model.place(rows) - shift) @ turn.T)
    places = model.place(rows)
    np.testing.assert_allclose(moved.rebuild((places - shift) @ turn.T), model.rebuild(places))
    one, other = em.e_step(rows, model, now.resp), em.e_step(rows, moved, now.resp)
    assert other.objective == pytest.approx(one.objective, abs=1e-9)


def test_charts_without_rows_keep_their_parameters():
    rows, now, model = charts()
    resp = np.column_stack([now.resp[:, :2] / now.resp[:, :2].sum(axis=1, keepdims=True), 0 * rows])
    starved = replace(now, resp=resp[:, :3], parameters=model)
    again = em.m_step(rows, starved, np.full(D, 1e-8), isotropic=False)
    assert again.weights[2] == 0
    np.testing.assert_array_equal(again.means[2], model.means[2])
    found = em.e_step(rows, again, resp[:, :3])
    assert np.isfinite(found.objective)
    assert np.isfinite(again.place(rows)).all()
