"""Covariances of low rank plus noise: lemmas against dense algebra, limits, invariances."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.decomposition import PCA, FactorAnalysis

from sidelight.engine import as_rows
from sidelight.mixture import GaussianMixture
from sidelight.mixture._core import em
from sidelight.mixture.gaussian import _low_rank
from sidelight.mixture.gaussian._low_rank import (
    LOW_RANK_TYPES,
    LowRankComponents,
    low_rank_of_rows,
)
from sidelight.mixture.gaussian._low_rank_steps import (
    LowRank,
    canonical,
    dense,
    em_step,
    lemma,
    of_scatter,
)

KINDS = pytest.mark.parametrize("kind", LOW_RANK_TYPES)


def strips(n: int = 300, d: int = 6, k: int = 2, factors: int = 2, seed: int = 0) -> np.ndarray:
    """Rows near flat pieces of space."""
    rng = np.random.default_rng(seed)
    component = np.arange(n) % k
    loadings = rng.normal(size=(k, d, factors))
    latent = rng.normal(size=(n, factors))
    noise = rng.normal(size=(n, d)) * rng.uniform(0.3, 0.8, d)
    return (
        5 * rng.normal(size=(k, d))[component]
        + np.einsum("nij,nj->ni", loadings[component], latent)
        + noise
    )


def some_model(kind: str, k: int = 3, n_features: int = 7, d: int = 2, seed: int = 0) -> LowRank:
    rng = np.random.default_rng(seed)
    loadings = rng.normal(size=(k, n_features, d))
    noise = rng.uniform(0.2, 2.0, (k, n_features))
    if kind != "factor":
        noise = np.repeat(noise[:, :1], n_features, axis=1)
    if kind == "subspace":
        loadings = 1.5 * np.linalg.qr(loadings)[0]
    return LowRank(loadings, noise)


def components(kind: str, X: np.ndarray, **settings: Any) -> LowRankComponents:
    model = some_model(kind, n_features=X.shape[1])
    return LowRankComponents(
        means=X[:3].copy(),
        loadings=model.loadings,
        noise_variances=model.noise,
        kind=kind,
        origin=X.mean(axis=0),
        least=np.full(X.shape[1], 1e-9),
        **{"by_matrices": False, **settings},
    )


def scatters(k: int = 3, n_features: int = 7, seed: int = 1) -> np.ndarray:
    rows = np.random.default_rng(seed).normal(size=(k, 30, n_features))
    mixing = np.random.default_rng(seed + 1).normal(size=(k, n_features, n_features))
    rows = rows @ mixing
    return np.swapaxes(rows, 1, 2) @ rows / 30


def fit_of(model: LowRank, scatter: np.ndarray) -> np.ndarray:
    """Twice the log-likelihood of the scatter per row, without constants."""
    covariances = dense(model)
    return -np.linalg.slogdet(covariances)[1] - np.trace(
        np.linalg.solve(covariances, scatter), axis1=1, axis2=2
    )


class TestAlgebra:
    @KINDS
    def test_lemmas(self, kind: str) -> None:
        model = some_model(kind)
        small = lemma(model)
        covariances = dense(model)
        np.testing.assert_allclose(small.log_determinants, np.linalg.slogdet(covariances)[1])
        inverse = np.swapaxes(small.half, 1, 2) @ small.half
        inverse = np.eye(7) / model.noise[:, :, None] - inverse
        np.testing.assert_allclose(inverse, np.linalg.inv(covariances), atol=1e-12)
        regression = np.swapaxes(model.loadings, 1, 2) @ np.linalg.inv(covariances)
        np.testing.assert_allclose(small.mean_map, regression, atol=1e-12)

    @KINDS
    @pytest.mark.parametrize("noise", [0.0, 0.3])
    def test_densities_of_all_paths(self, kind: str, noise: float) -> None:
        X = strips(40, d=7)
        thin = components(kind, X, noise=noise)
        expected = np.empty((40, 3))
        for s, covariance in enumerate(dense(thin.model)):
            expected[:, s] = multivariate_normal(thin.means[s], covariance).logpdf(X)
            expected[:, s] -= 0.5 * noise * np.trace(np.linalg.inv(covariance))
        paths = [thin, replace(thin, largest_square=1e30), replace(thin, by_matrices=True)]
        assert [path.is_local for path in paths] == [False, True, False]
        for path in paths:
            density = path.log_density(path.features(X))
            np.testing.assert_allclose(density, expected, atol=1e-9)

    @KINDS
    def test_em_step_without_matrices_is_that_with_matrices(self, kind: str) -> None:
        X = strips(60, d=7)
        resp = np.random.default_rng(0).dirichlet(np.ones(3), size=60)
        thin = components(kind, X, reg_covar=0.01)
        full = thin.as_full
        _, means, scatter = full.scatters(full.statistics(full.features(X), resp))
        mean_map = lemma(thin.model).mean_map
        expected = em_step(
            thin.model,
            mean_map,
            scatter @ np.swapaxes(mean_map, 1, 2),
            np.diagonal(scatter, axis1=1, axis2=2),
            kind,
            thin.least,
        )
        for path in (thin, replace(thin, largest_square=1e30)):
            after = path.m_step(path.statistics(path.features(X), resp))
            np.testing.assert_allclose(after.means, means, atol=1e-10)
            np.testing.assert_allclose(after.loadings, expected.loadings, atol=1e-9)
            np.testing.assert_allclose(after.noise_variances, expected.noise, atol=1e-9)

    @KINDS
    def test_em_steps_climb_to_the_exact_step(self, kind: str) -> None:
        scatter = scatters()
        model = some_model(kind)
        values = [fit_of(model, scatter)]
        for _ in range(1000):
            mean_map = lemma(model).mean_map
            cross = scatter @ np.swapaxes(mean_map, 1, 2)
            diagonal = np.diagonal(scatter, axis1=1, axis2=2)
            model = em_step(model, mean_map, cross, diagonal, kind, np.full(7, 1e-9))
            values.append(fit_of(model, scatter))
        assert np.diff(values, axis=0).min() > -1e-10
        if kind != "factor":
            exact = of_scatter(scatter, 2, kind, np.full(7, 1e-9))
            np.testing.assert_allclose(values[-1], fit_of(exact, scatter), atol=1e-5)

    @pytest.mark.parametrize("kind", ["ppca", "subspace"])
    def test_exact_steps_beat_their_neighbours(self, kind: str) -> None:
        scatter = scatters()
        exact = of_scatter(scatter, 2, kind, np.full(7, 1e-9))
        best = fit_of(exact, scatter)
        rng = np.random.default_rng(0)
        for size in (1e-3, 1e-2, 0.1):
            for _ in range(20):
                loadings = exact.loadings + size * rng.normal(size=exact.loadings.shape)
                if kind == "subspace":
                    radius = np.linalg.norm(loadings, axis=(1, 2)) / np.sqrt(2)
                    loadings = radius[:, None, None] * np.linalg.qr(loadings)[0]
                noise = exact.noise * np.exp(size * rng.normal())
                assert np.all(fit_of(LowRank(loadings, noise), scatter) <= best + 1e-12)

    def test_rotated_factors_have_the_same_covariance(self) -> None:
        model = some_model("factor")
        turned = canonical(model)
        np.testing.assert_allclose(dense(turned), dense(model), atol=1e-12)
        inner = np.swapaxes(turned.loadings, 1, 2) @ (turned.loadings / model.noise[:, :, None])
        assert np.abs(inner[:, 0, 1]).max() < 1e-10
        assert np.all(inner[:, 0, 0] >= inner[:, 1, 1])


def fitted(X: np.ndarray, kind: str, n_factors: int = 2, **params: Any) -> GaussianMixture:
    settings: dict[str, Any] = {"max_iter": 30, "random_state": 0, "tol": 1e-10, **params}
    return GaussianMixture(2, covariance_type=kind, n_factors=n_factors, **settings).fit(X)


class TestLimits:
    def test_all_factors_but_one_are_a_full_covariance(self) -> None:
        X = strips(d=4)
        full, ppca = fitted(X, "full"), fitted(X, "ppca", 3)
        np.testing.assert_allclose(ppca.covariances_, full.covariances_, atol=1e-9)
        np.testing.assert_allclose(ppca.history_, full.history_, atol=1e-10)

    @pytest.mark.parametrize(
        ("kind", "limit"), [("factor", "diag"), ("ppca", "spherical"), ("subspace", "spherical")]
    )
    @pytest.mark.parametrize("most_features", [48, 0])
    def test_no_factors(self, kind: str, limit: str, most_features: int, monkeypatch: Any) -> None:
        monkeypatch.setattr(_low_rank, "MAX_FEATURES", most_features)
        X = strips()
        flat, plain = fitted(X, kind, 0), fitted(X, limit)
        assert flat._components.by_matrices == (most_features > 0)
        noise = plain.covariances_
        np.testing.assert_allclose(flat.noise_variances_, noise, atol=1e-9)
        np.testing.assert_allclose(flat.means_, plain.means_, atol=1e-9)
        assert flat._n_parameters() == plain._n_parameters()

    def test_one_factor_of_k_subspaces_is_principal_components(self) -> None:
        X = strips()
        one, other = fitted(X, "subspace", 1), fitted(X, "ppca", 1)
        np.testing.assert_allclose(one.covariances_, other.covariances_, atol=1e-9)

    def test_one_component_is_pca_and_factor_analysis(self) -> None:
        X = strips(k=1)
        model = GaussianMixture(1, covariance_type="ppca", n_factors=2, reg_covar=0).fit(X)
        peer = PCA(2).fit(X)
        ours = model.loadings_[0] / np.linalg.norm(model.loadings_[0], axis=0)
        np.testing.assert_allclose(np.abs(peer.components_ @ ours), np.eye(2), atol=1e-8)
        biased = peer.noise_variance_ * (len(X) - 1) / len(X)
        assert model.noise_variances_[0] == pytest.approx(biased)
        model = GaussianMixture(
            1, covariance_type="factor", n_factors=2, reg_covar=0, tol=1e-8, max_iter=300
        ).fit(X)
        assert model.score(X) >= FactorAnalysis(2, tol=1e-6).fit(X).score(X) - 1e-5


class TestInvariances:
    @pytest.mark.parametrize("most_features", [48, 0])
    @KINDS
    def test_closed_under(self, kind: str, most_features: int, monkeypatch: Any) -> None:
        """Factor analysers follow the scales of features, the others rotations."""
        monkeypatch.setattr(_low_rank, "MAX_FEATURES", most_features)
        X = strips()
        rng = np.random.default_rng(0)
        turn = np.linalg.qr(rng.normal(size=(6, 6)))[0] * 3.0
        A = np.diag(rng.uniform(0.1, 10, 6)) if kind == "factor" else turn
        start = components(kind, X)
        start = replace(start, by_matrices=most_features > 0)
        moved = replace(
            start,
            means=start.means @ A,
            origin=start.origin @ A,
            loadings=A.T @ start.loadings,
            noise_variances=start.noise_variances * (np.diag(A) ** 2 if kind == "factor" else 9.0),
        )
        weights = np.log(np.full(3, 1 / 3))
        plain = em(as_rows(X), start, weights, max_iter=10, tol=0)
        mapped = em(as_rows(X @ A), moved, weights, max_iter=10, tol=0)
        volume = np.linalg.slogdet(A)[1]
        np.testing.assert_allclose(mapped.history, plain.history + volume, atol=1e-7)
        np.testing.assert_allclose(mapped.components.means, plain.components.means @ A, atol=1e-6)


class TestFit:
    @KINDS
    @pytest.mark.parametrize("most_features", [48, 0])
    def test_likelihood_never_falls(self, kind: str, most_features: int, monkeypatch: Any) -> None:
        monkeypatch.setattr(_low_rank, "MAX_FEATURES", most_features)
        for seed in range(4):
            X = strips(120, seed=seed)
            model = fitted(X, kind, 2, reg_covar=0, tol=0, init_params="random", random_state=seed)
            assert np.all(np.diff(model.history_) <= 1e-12)
            assert -model.objective_ == pytest.approx(model.score(X), abs=1e-9)

    def test_both_ways_meet(self, monkeypatch: Any) -> None:
        X = strips()
        by_matrices = fitted(X, "ppca", max_iter=500)
        monkeypatch.setattr(_low_rank, "MAX_FEATURES", 0)
        thin = fitted(X, "ppca", max_iter=500)
        assert thin.objective_ == pytest.approx(by_matrices.objective_, abs=1e-5)
        np.testing.assert_array_equal(thin.labels_, by_matrices.labels_)

    def test_samples_have_the_covariance(self) -> None:
        model = fitted(strips(), "factor")
        rows, labels = model.sample(40_000)
        for s in range(2):
            error = np.cov(rows[labels == s].T) - model.covariances_[s]
            assert np.abs(error).max() < 0.05 * np.abs(model.covariances_[s]).max()

    @pytest.mark.parametrize("kind", ["factor", "ppca"])
    def test_latent_coordinates(self, kind: str) -> None:
        X = strips()
        model = fitted(X, kind)
        latent = model.latent(X)
        assert latent.shape == (300, 2, 2)
        for s in range(2):
            gain = model.loadings_[s].T @ np.linalg.inv(model.covariances_[s])
            np.testing.assert_allclose(latent[:, s], (X - model.means_[s]) @ gain.T, atol=1e-8)
        own = model.latent(X, most_probable=True)
        np.testing.assert_array_equal(own, latent[np.arange(300), model.predict(X)])
        assert model.transform(X).shape == (300, 2)
        with pytest.raises(ValueError, match="covariance_type='diag'"):
            fitted(X, "diag").latent(X)

    @pytest.mark.parametrize("kind", ["factor", "ppca", "subspace"])
    def test_many_features_without_matrices(self, kind: str) -> None:
        rng = np.random.default_rng(0)
        n_features = 3000
        loadings = rng.normal(size=(2, n_features, 2))
        y = np.arange(200) % 2
        X = np.einsum("nij,nj->ni", loadings[y], rng.normal(size=(200, 2)))
        X += 0.5 * rng.normal(size=X.shape) + y[:, None]
        model = GaussianMixture(2, covariance_type=kind, n_factors=2, max_iter=5, random_state=0)
        model.fit(X[:, :50])  # compile first
        model.fit(X)
        assert not model._components.by_matrices
        assert len(np.unique(model.labels_[y == 0])) == len(np.unique(model.labels_[y == 1])) == 1
        assert np.median(model.noise_variances_) == pytest.approx(0.25, rel=0.1)
        model.set_params(init_params="random")  # k-means has its own need of memory
        tracemalloc.start()
        model.fit(X)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 0.5 * n_features**2 * 8

    def test_noise_does_not_vanish(self) -> None:
        X = strips(d=5)
        X[:, 0] = X[:, 1] + X[:, 2]  # a Heywood case: a feature without noise of its own
        for reg_covar in (0.0, 1e-6):
            model = fitted(X, "factor", 3, reg_covar=reg_covar, max_iter=200)
            assert model.noise_variances_.min() >= 1e-6 * X.var(axis=0).min()
            assert np.all(np.isfinite(model.loadings_))
            assert np.all(np.diff(model.history_) <= 0)

    @KINDS
    def test_few_rows_in_many_features(self, kind: str) -> None:
        for n_features in (10, 60):
            X = np.random.default_rng(0).normal(size=(6, n_features))
            model = fitted(X, kind, 3)
            assert np.all(np.isfinite(model.history_))
            assert np.all(model.noise_variances_ > 0)

    @KINDS
    def test_float32(self, kind: str) -> None:
        X = strips()
        single = fitted(X.astype(np.float32), kind, max_iter=10)
        double = fitted(X, kind, max_iter=10)
        for name in ("means_", "loadings_", "noise_variances_", "covariances_"):
            assert getattr(single, name).dtype == np.float32
        np.testing.assert_allclose(single.covariances_, double.covariances_, atol=1e-2)
        assert single.latent(X.astype(np.float32)).dtype == np.float32

    def test_number_of_parameters(self) -> None:
        X = strips(d=6)
        for kind, of_covariance in (("factor", 6 + 12 - 1), ("ppca", 1 + 12 - 1), ("subspace", 10)):
            assert fitted(X, kind)._n_parameters() == 2 * (6 + of_covariance) + 1

    @pytest.mark.parametrize("n_factors", [-1, 6, 1.5, None, True])
    def test_bad_number_of_factors(self, n_factors: Any) -> None:
        with pytest.raises(
            ValueError, match=r"n_factors must be a whole number (from 0 to 5|of at least 0)"
        ):
            fitted(strips(), "factor", n_factors)

    def test_precisions_do_not_fit(self) -> None:
        with pytest.raises(ValueError, match="precisions_init does not go with"):
            fitted(strips(), "ppca", precisions_init=np.tile(np.eye(6), (2, 1, 1)))

    def test_start_of_many_features_is_that_of_few(self, monkeypatch: Any) -> None:
        """The leading directions of the rows, by passes over them or from their covariance."""
        X = strips(400, d=8, k=1)
        by_matrices = low_rank_of_rows(as_rows(X), 1, "ppca", 2, reg_covar=0.0)
        monkeypatch.setattr(_low_rank, "MAX_FEATURES", 0)
        thin = low_rank_of_rows(as_rows(X), 1, "ppca", 2, reg_covar=0.0)
        np.testing.assert_allclose(dense(thin.model), dense(by_matrices.model), atol=1e-2)
