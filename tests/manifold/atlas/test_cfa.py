"""Coordinated factor analysis: limits, inference, anchors, messages."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from scipy.special import logsumexp, softmax
from sklearn.decomposition import FactorAnalysis
from tests.manifold.atlas.charted import dense_log_joint

from sidelight.datasets import make_s_surface
from sidelight.exceptions import EmbeddingWarning, SidelightError
from sidelight.manifold import CoordinatedFactorAnalysis
from sidelight.manifold.atlas import _cfa


@pytest.fixture(scope="module")
def sheet() -> tuple[np.ndarray, np.ndarray]:
    """A bent sheet with noise, and its true coordinates."""
    rng = np.random.default_rng(0)
    places = np.column_stack([rng.uniform(-2, 2, 300), rng.uniform(0, 3, 300)])
    rows = np.column_stack([np.cos(places[:, 0]), np.sin(places[:, 0]), places[:, 1]])
    return rows + rng.normal(scale=0.05, size=rows.shape), places


@pytest.fixture(scope="module")
def model(sheet: tuple[np.ndarray, np.ndarray]) -> CoordinatedFactorAnalysis:
    return CoordinatedFactorAnalysis(2, n_charts=8, random_state=0).fit(sheet[0])


def linear_rows(n: int = 150, d: int = 2, noise: float = 0.3) -> np.ndarray:
    rng = np.random.default_rng(1)
    return rng.normal(size=(n, d)) @ rng.normal(size=(d, 6)) + rng.uniform(
        0.5, 1.5, 6
    ) * noise * rng.normal(size=(n, 6))


def one_chart(**params: Any) -> CoordinatedFactorAnalysis:
    exact = {"noise_floor": 1e-10, "alpha": 0.0, "tol": 1e-8, "max_iter": 3000, "n_init": 1}
    return CoordinatedFactorAnalysis(2, n_charts=1, init="pca", **exact, **params)


def test_one_chart_is_factor_analysis() -> None:
    X = linear_rows()
    peer = FactorAnalysis(2, tol=1e-6, max_iter=5000, svd_method="lapack").fit(X)
    found = one_chart().fit(X)
    np.testing.assert_allclose(found.score(X), peer.score(X), rtol=1e-5)
    np.testing.assert_allclose(-found.objective_, found.score(X), rtol=1e-7)


def test_one_chart_with_isotropic_noise_is_probabilistic_pca() -> None:
    X = linear_rows()
    values, vectors = np.linalg.eigh(np.cov(X.T, bias=True))
    rest = values[:4].mean()
    log_determinant = np.log(values[4:]).sum() + 4 * np.log(rest)
    wanted = -0.5 * (6 * np.log(2 * np.pi) + log_determinant + 6)
    found = one_chart(chart="ppca").fit(X)
    np.testing.assert_allclose(found.score(X), wanted, rtol=1e-7)
    np.testing.assert_allclose(found.noise_variances_, rest, rtol=1e-4)
    inside = vectors[:, 4:] @ vectors[:, 4:].T @ found.loadings_[0]
    np.testing.assert_allclose(inside, found.loadings_[0], atol=1e-3)


@pytest.mark.parametrize("n_charts", [1, 3, 6])
def test_exactly_linear_rows_come_back_from_any_number_of_charts(n_charts: int) -> None:
    X = linear_rows(noise=1e-3)
    found = CoordinatedFactorAnalysis(2, n_charts=n_charts, init="pca", random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EmbeddingWarning)  # the noise is below its floor
        found.fit(X)
    again = found.inverse_transform(found.transform(X))
    assert np.mean((again - X) ** 2) < 1e-4 * X.var()


def user_charts(model: CoordinatedFactorAnalysis) -> Any:
    return model._atlas.in_user_units


def test_density_and_posterior_are_those_of_dense_gaussians(
    sheet: tuple[np.ndarray, np.ndarray], model: CoordinatedFactorAnalysis
) -> None:
    X = sheet[0][:10]
    charts = user_charts(model)
    joint = np.array([dense_log_joint(charts, row, np.arange(3)) for row in X])
    np.testing.assert_allclose(model.score_samples(X), logsumexp(joint, axis=1), rtol=1e-9)
    np.testing.assert_allclose(model.score(X), logsumexp(joint, axis=1).mean())
    np.testing.assert_allclose(model.chart_posterior(X), softmax(joint, axis=1), atol=1e-8)
    np.testing.assert_array_equal(model.predict_proba(X), model.chart_posterior(X))


def test_coordinates_are_those_of_conditional_gaussians(
    sheet: tuple[np.ndarray, np.ndarray], model: CoordinatedFactorAnalysis
) -> None:
    X = sheet[0][:10]
    charts = user_charts(model)
    Z, cov = model.transform(X, return_cov=True)
    for n, row in enumerate(X):
        resp = softmax(dense_log_joint(charts, row, np.arange(3)))
        means, covs = [], []
        for s in range(charts.n_charts):
            B, G = charts.loadings[s], charts.spreads[s]
            gain = G @ B.T @ np.linalg.inv(B @ G @ B.T + np.diag(charts.noise[s]))
            means.append(charts.offsets[s] + gain @ (row - charts.means[s]))
            covs.append(G - gain @ B @ G)
        mean = resp @ means
        total = np.einsum("k,kij->ij", resp, covs)
        total += np.einsum("k,ki,kj->ij", resp, means - mean, means - mean)
        np.testing.assert_allclose(Z[n], mean, rtol=1e-6)
        np.testing.assert_allclose(cov[n], total, rtol=1e-5, atol=1e-9)
        precision = np.einsum("k,kij->ij", resp, np.linalg.inv(covs))
        apart = np.einsum("k,ki,ij,kj->", resp, means - mean, precision, means - mean)
        np.testing.assert_allclose(model.disagreement(row[None])[0], apart, rtol=1e-4, atol=1e-9)


def test_rows_at_coordinates_are_mixtures_of_the_charts(model: CoordinatedFactorAnalysis) -> None:
    places = model.embedding_[:5]
    charts = user_charts(model)
    rows, cov = model.inverse_transform(places, return_cov=True)
    for n, g in enumerate(places):
        offsets = g - charts.offsets
        squares = np.einsum("ki,kij,kj->k", offsets, np.linalg.inv(charts.spreads), offsets)
        log_joint = charts.log_weights - 0.5 * (squares + np.linalg.slogdet(charts.spreads)[1])
        resp = softmax(log_joint)
        means = charts.means + np.einsum("kjd,kd->kj", charts.loadings, offsets)
        np.testing.assert_allclose(rows[n], resp @ means, rtol=1e-7)
        total = np.diag(resp @ charts.noise)
        total += np.einsum("k,ki,kj->ij", resp, means - rows[n], means - rows[n])
        np.testing.assert_allclose(cov[n], total, rtol=1e-6, atol=1e-12)


def test_samples_have_the_moments_of_the_model(model: CoordinatedFactorAnalysis) -> None:
    rows, places = model.sample(20_000)
    charts = user_charts(model)
    weights = np.exp(charts.log_weights)
    np.testing.assert_allclose(rows.mean(axis=0), weights @ charts.means, atol=0.05)
    np.testing.assert_allclose(places.mean(axis=0), weights @ charts.offsets, atol=0.05)
    assert abs(model.score(rows) - model.score(model.sample(20_000)[0])) < 1e-12  # the same seed
    again = model.transform(rows)
    assert np.mean((again - places) ** 2) < 0.05  # they belong together


def test_bound_never_rises_and_stays_below_the_likelihood(
    sheet: tuple[np.ndarray, np.ndarray], model: CoordinatedFactorAnalysis
) -> None:
    assert (np.diff(model.history_) <= 0).all()
    assert model.history_[-1] == model.objective_
    assert -model.objective_ <= model.score(sheet[0])


def test_round_trip_error_falls_with_the_number_of_charts() -> None:
    S = make_s_surface(500, random_state=0)
    errors = []
    for n_charts in (1, 4, 16):
        found = CoordinatedFactorAnalysis(
            2, n_charts=n_charts, init=S.coordinates, n_init=1, random_state=0
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EmbeddingWarning)
            found.fit(S.data)
        again = found.inverse_transform(found.embedding_)
        errors.append(float(np.sum((again - S.data) ** 2, axis=1).mean()))
    assert errors[1] < 0.3 * errors[0]
    assert errors[2] < 0.1 * errors[1]


@pytest.mark.parametrize("init", ["llc", "charting", "lle", "pca"])
def test_every_start_gives_a_map_that_reconstructs_the_rows(
    sheet: tuple[np.ndarray, np.ndarray], init: Any
) -> None:
    X = sheet[0]
    found = CoordinatedFactorAnalysis(2, n_charts=8, init=init, n_init=1, random_state=0).fit(X)
    again = found.inverse_transform(found.embedding_)
    limit = 0.5 if init == "pca" else 0.05  # the projection onto a plane folds the sheet
    assert np.mean((again - X) ** 2) < limit * X.var()


def test_conformal_charts_keep_angles(sheet: tuple[np.ndarray, np.ndarray]) -> None:
    X, places = sheet
    found = CoordinatedFactorAnalysis(
        2, n_charts=6, conformal=True, init=places, random_state=0
    ).fit(X)
    for loadings in found.loadings_:
        inner = loadings.T @ loadings
        np.testing.assert_allclose(inner, inner[0, 0] * np.eye(2), atol=1e-8 * inner[0, 0])
    assert (np.diff(found.history_) <= 0).all()


# ------------------------------------------------------------------ anchors


def anchored(places: np.ndarray, every: int) -> np.ndarray:
    anchors = np.full(places.shape, np.nan)
    anchors[::every] = places[::every]
    return anchors


def test_anchors_stay_and_the_others_come_along(sheet: tuple[np.ndarray, np.ndarray]) -> None:
    X, places = sheet
    found = CoordinatedFactorAnalysis(2, n_charts=8, random_state=0)
    found.fit(X, anchors=anchored(places, 10))
    np.testing.assert_array_equal(found.embedding_[::10], places[::10])
    np.testing.assert_array_equal(found.transform(X[:20:10]), places[:20:10])
    others = np.arange(len(X)) % 10 > 0
    errors = np.abs(found.embedding_ - places)[others]
    assert np.median(errors) < 0.1
    cov = found.transform(X[:2], return_cov=True)[1]
    assert cov[0].max() < cov[1].max()  # a known place is nearly certain


def test_few_anchors_turn_the_map(sheet: tuple[np.ndarray, np.ndarray]) -> None:
    X, _ = sheet
    free = CoordinatedFactorAnalysis(2, n_charts=8, random_state=0).fit(X)
    anchors = np.full((len(X), 2), np.nan)
    turn = 3 * np.array([[0.6, -0.8], [0.8, 0.6]])
    anchors[:3] = free.embedding_[:3] @ turn + 7
    found = CoordinatedFactorAnalysis(2, n_charts=8, random_state=0).fit(X, anchors=anchors)
    wanted = free.embedding_ @ turn + 7
    assert np.median(np.abs(found.embedding_ - wanted)) < 0.3 * wanted.std()


def test_bad_anchors_are_named(sheet: tuple[np.ndarray, np.ndarray]) -> None:
    X, places = sheet
    model = CoordinatedFactorAnalysis(2)
    with pytest.raises(SidelightError, match=r"anchors must have the shape \(300, 2\)"):
        model.fit(X, anchors=places[:10])
    half = anchored(places, 10)
    half[4, 0] = 1.0
    with pytest.raises(SidelightError, match="anchor of row 4 has NaN in some coordinates"):
        model.fit(X, anchors=half)


# ------------------------------------------------------------------ weights, size, messages


def test_weights_are_repetitions() -> None:
    X = linear_rows(60)
    weights = np.arange(60) % 3 + 1.0
    repeated = np.repeat(np.arange(60), weights.astype(int))
    found = one_chart(chart="ppca").fit(X, sample_weight=weights)
    other = one_chart(chart="ppca").fit(X[repeated])
    np.testing.assert_allclose(found.objective_, other.objective_, rtol=1e-6)


def test_charts_without_rows_are_dropped_and_told(sheet: tuple[np.ndarray, np.ndarray]) -> None:
    X, places = sheet
    crowded = CoordinatedFactorAnalysis(2, n_charts=90, init=places, n_init=1, random_state=0)
    with pytest.warns(EmbeddingWarning, match="of 90 kept fewer than 4 rows"):
        crowded.fit(X)
    assert crowded.n_charts_ < 90
    np.testing.assert_allclose(crowded.weights_.sum(), 1.0)


def test_active_floor_is_told() -> None:
    t = np.linspace(0, 1, 80)
    X = np.column_stack([t, t**2, t**3])
    with pytest.warns(EmbeddingWarning, match="variance floor is active for"):
        CoordinatedFactorAnalysis(1, n_charts=8, n_init=1, random_state=0).fit(X)


def test_early_end_is_told(sheet: tuple[np.ndarray, np.ndarray]) -> None:
    from sklearn.exceptions import ConvergenceWarning

    with pytest.warns(ConvergenceWarning, match="max_iter=2"):
        CoordinatedFactorAnalysis(2, max_iter=2, n_init=1, random_state=0).fit(sheet[0])


def test_bad_input_is_explained(sheet: tuple[np.ndarray, np.ndarray]) -> None:
    X = sheet[0]
    with pytest.raises(SidelightError, match="n_components=4 is more than n_features=3"):
        CoordinatedFactorAnalysis(4).fit(X)
    with pytest.raises(SidelightError, match="All rows are equal"):
        CoordinatedFactorAnalysis(2).fit(np.ones((30, 3)))
    with pytest.raises(SidelightError, match="n_samples=3 is too few"):
        CoordinatedFactorAnalysis(2).fit(X[:3])
    with pytest.raises(SidelightError, match=r"init must hold 2 coordinates of each of the 300"):
        CoordinatedFactorAnalysis(2, init=X[:5]).fit(X)
    with pytest.raises(SidelightError, match="X has 3 columns, but the map has 2 coordinates"):
        CoordinatedFactorAnalysis(2, n_init=1).fit(X).inverse_transform(X)


# --- what it is made of ---


# ------------------------------------------------------------------ weights, size, messages


def test_large_tables_start_from_a_sample(
    sheet: tuple[np.ndarray, np.ndarray], monkeypatch: pytest.MonkeyPatch
) -> None:
    X = sheet[0]
    monkeypatch.setattr(_cfa, "MAX_SPECTRAL_ROWS", 200)
    monkeypatch.setattr(_cfa, "SAMPLE_ROWS", 150)
    found = CoordinatedFactorAnalysis(2, n_charts=8, random_state=0).fit(X)
    assert found.n_start_rows_ == 150
    assert len(found.embedding_) == 300
    again = found.inverse_transform(found.embedding_)
    assert np.mean((again - X) ** 2) < 0.05 * X.var()
