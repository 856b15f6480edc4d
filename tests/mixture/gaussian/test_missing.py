"""Missing values in Gaussian mixtures: marginal densities, expected moments, what they recover."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

from sidelight import engine
from sidelight.engine import _memory
from sidelight.engine._disk import BLOCKS_IN_BUDGET
from sidelight.exceptions import SidelightError
from sidelight.mixture import ChunkletMixture, GaussianMixture
from sidelight.mixture.gaussian import _components as _gaussian
from sidelight.mixture.gaussian._components import COVARIANCE_TYPES
from sidelight.mixture.gaussian._low_rank import LOW_RANK_TYPES
from sidelight.mixture.gaussian._missing import incomplete
from sidelight.mixture.gaussian._missing_rows import FilledRows, patterns_of


def clouds(n: int = 200, d: int = 4, k: int = 2, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    shapes = rng.normal(size=(k, d, d)) / np.sqrt(d)
    component = np.arange(n) % k
    noise = np.einsum("nij,nj->ni", shapes[component], rng.normal(size=(n, d)))
    return rng.normal(0, 2, (k, d))[component] + noise


def with_missing(X: np.ndarray, share: float = 0.3, seed: int = 0) -> np.ndarray:
    gaps = np.random.default_rng(seed).random(X.shape) < share
    return np.where(gaps, np.nan, X)


def fitted(X: Any, kind: str = "full", k: int = 2, **params: Any) -> GaussianMixture:
    settings: dict[str, Any] = {"max_iter": 20, "random_state": 0, "n_factors": 2, **params}
    return GaussianMixture(k, covariance_type=kind, **settings).fit(X)


@pytest.mark.parametrize("kind", ["full", "factor"])
def test_values_missing_at_random_leave_the_parameters(kind: str) -> None:
    rng = np.random.default_rng(0)
    means = np.array([[0.0, 0, 0], [4.0, -3, 2]])
    loadings = rng.normal(size=(2, 3, 1))
    covariances = loadings @ np.swapaxes(loadings, 1, 2) + 0.5 * np.eye(3)
    y = np.arange(4000) % 2
    X = np.array([rng.multivariate_normal(means[c], covariances[c]) for c in y])
    model = fitted(with_missing(X, 0.25), kind, n_factors=1, max_iter=200)
    order = np.argsort(model.means_[:, 0])
    np.testing.assert_allclose(model.means_[order], means, atol=0.15)
    np.testing.assert_allclose(model.covariances_[order], covariances, atol=0.2)


def test_missing_depending_on_what_was_measured() -> None:
    """Rows with a small second value lack the first: dropping them would bias its mean."""
    rng = np.random.default_rng(0)
    X = rng.multivariate_normal([0, 0], [[1, 0.8], [0.8, 1]], size=5000)
    X[X[:, 1] < 0, 0] = np.nan
    model = fitted(X, k=1, max_iter=200, tol=1e-9)
    assert np.nanmean(X[:, 0]) > 0.5
    assert abs(model.means_[0, 0]) < 0.08
    assert model.covariances_[0, 0, 1] == pytest.approx(0.8, abs=0.1)


def test_any_number_of_threads() -> None:
    X = with_missing(clouds(9000))
    results = []
    for n in (1, 3):
        with engine.threads(n):
            results.append(fitted(X, max_iter=3))
    np.testing.assert_array_equal(results[0].means_, results[1].means_)
    np.testing.assert_array_equal(results[0].labels_, results[1].labels_)


# --- what it is made of ---


KINDS = pytest.mark.parametrize("kind", COVARIANCE_TYPES)


ALL_KINDS = pytest.mark.parametrize("kind", [*COVARIANCE_TYPES, *LOW_RANK_TYPES])


def matrices(model: GaussianMixture) -> np.ndarray:
    """Covariances of all components as matrices, in double precision."""
    components = model._components
    if model.covariance_type in LOW_RANK_TYPES:
        return components.as_full.covariances
    return components.full_covariances()


def marginals(X: np.ndarray, means: np.ndarray, covariances: np.ndarray) -> np.ndarray:
    """Log-densities of what each row has, one row at a time."""
    joint = np.zeros((len(X), len(means)))
    for n, x in enumerate(X):
        o = ~np.isnan(x)
        if o.any():
            for s, mean in enumerate(means):
                marginal = multivariate_normal(mean[o], covariances[s][np.ix_(o, o)])
                joint[n, s] = marginal.logpdf(x[o])
    return joint


def completed(x: np.ndarray, mean: np.ndarray, covariance: np.ndarray) -> tuple[Any, Any]:
    """Conditional mean and covariance of a row given what it has, by the textbook."""
    o, h = ~np.isnan(x), np.isnan(x)
    gain = covariance[np.ix_(h, o)] @ np.linalg.inv(covariance[np.ix_(o, o)])
    full = x.copy()
    full[h] = mean[h] + gain @ (x[o] - mean[o])
    spread = np.zeros_like(covariance)
    spread[np.ix_(h, h)] = covariance[np.ix_(h, h)] - gain @ covariance[np.ix_(o, h)]
    return full, spread


@ALL_KINDS
def test_densities_are_marginals(kind: str) -> None:
    X = with_missing(clouds())
    X[3] = np.nan
    model = fitted(X, kind)
    joint = marginals(X, model.means_, matrices(model)) + np.log(model.weights_)
    np.testing.assert_allclose(model.score_samples(X), logsumexp(joint, axis=1), atol=1e-9)
    posterior = np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
    np.testing.assert_allclose(model.predict_proba(X), posterior, atol=1e-9)
    np.testing.assert_array_equal(model.predict(X), np.argmax(joint, axis=1))
    np.testing.assert_allclose(model.predict_proba(X)[3], model.weights_, atol=1e-12)
    assert -model.objective_ == pytest.approx(model.score(X), abs=1e-9)


@ALL_KINDS
def test_likelihood_never_falls(kind: str) -> None:
    for seed in range(4):
        X = with_missing(clouds(80, seed=seed), 0.4, seed)
        model = fitted(X, kind, k=3, reg_covar=0, tol=0, init_params="random", random_state=seed)
        assert np.all(np.diff(model.history_) <= 1e-12)


@pytest.mark.parametrize("kind", ["full", "tied"])
@pytest.mark.parametrize("cancellation", [1e9, 0.0])
def test_a_step_by_expected_moments(kind: str, cancellation: float, monkeypatch: Any) -> None:
    monkeypatch.setattr(_gaussian, "CANCELLATION", cancellation)
    X = with_missing(clouds(60))
    X[7] = np.nan
    start = fitted(X, kind, max_iter=2, tol=0)
    resp, totals = start.predict_proba(X), np.zeros(2)
    resp[np.isnan(X).all(axis=1)] = 0  # a row without values adds nothing to the moments
    means, scatters = np.zeros((2, 4)), np.zeros((2, 4, 4))
    rows = [[completed(x, start.means_[s], matrices(start)[s]) for x in X] for s in range(2)]
    for s in range(2):
        totals[s] = resp[:, s].sum()
        means[s] = sum(q * full for q, (full, _) in zip(resp[:, s], rows[s], strict=True))
        means[s] /= totals[s]
        for q, (full, spread) in zip(resp[:, s], rows[s], strict=True):
            gap = full - means[s]
            scatters[s] += q * (np.outer(gap, gap) + spread)
    expected = (
        scatters / totals[:, None, None] if kind == "full" else scatters.sum(0) / totals.sum()
    )
    model = GaussianMixture(
        2, covariance_type=kind, reg_covar=0, max_iter=1, warm_start=True, tol=0
    )
    model._components, model._log_weights = start._components, start._log_weights
    object.__setattr__(model._components, "reg_covar", 0.0)
    model.fit(X)
    np.testing.assert_allclose(model.means_, means, atol=1e-9)
    np.testing.assert_allclose(model.covariances_, expected, atol=1e-9)
    np.testing.assert_allclose(model.weights_, start.predict_proba(X).mean(axis=0), atol=1e-12)


@pytest.mark.parametrize("kind", ["diag", "spherical"])
@pytest.mark.parametrize("cancellation", [1e9, 0.0])
def test_independent_features_leave_missing_ones_out(
    kind: str, cancellation: float, monkeypatch: Any
) -> None:
    monkeypatch.setattr(_gaussian, "CANCELLATION", cancellation)
    X = with_missing(clouds(100))
    params: dict[str, Any] = {"reg_covar": 0.0, "tol": 0.0, "max_iter": 5}
    start = fitted(X, kind, **params)
    resp = start.predict_proba(X)
    known = ~np.isnan(X)
    filled = np.where(known, X, 0.0)
    counts = resp.T @ known
    means = resp.T @ filled / counts
    squares = np.array(
        [q @ (known * (filled - m) ** 2) for q, m in zip(resp.T, means, strict=True)]
    )
    variances = squares / counts if kind == "diag" else squares.sum(axis=1) / counts.sum(axis=1)
    after = fitted(X, kind, **{**params, "max_iter": 6})
    np.testing.assert_allclose(after.means_, means, atol=1e-10)
    np.testing.assert_allclose(after.covariances_, variances, atol=1e-10)


@pytest.mark.parametrize("kind", ["full", "diag"])
def test_gradient_vanishes_at_convergence(kind: str) -> None:
    X = with_missing(clouds(60, d=2), 0.3)
    model = fitted(X, kind, reg_covar=0, tol=0, max_iter=3000)
    lower = np.tril_indices(2) if kind == "full" else np.diag_indices(2)
    factors = [np.linalg.cholesky(c)[lower] for c in matrices(model)]
    theta = np.concatenate([np.log(model.weights_), model.means_.ravel(), *factors])

    def log_likelihood(values: np.ndarray) -> float:
        logits, means, numbers = np.split(values, [2, 6])
        roots = np.zeros((2, 2, 2))
        roots[:, lower[0], lower[1]] = numbers.reshape(2, -1)
        joint = marginals(X, means.reshape(2, 2), roots @ np.swapaxes(roots, 1, 2))
        return float(logsumexp(joint + logits - logsumexp(logits), axis=1).sum())

    def slope(at: np.ndarray, step: np.ndarray) -> float:
        return (log_likelihood(at + step) - log_likelihood(at - step)) / 2e-5

    steps = 1e-5 * np.eye(len(theta))
    assert max(abs(slope(theta, step)) for step in steps) < 5e-3
    assert abs(slope(theta + 0.1, steps[2])) > 0.1  # so that the line above can fail


@ALL_KINDS
def test_without_gaps_nothing_changes(kind: str) -> None:
    X = clouds()
    model = fitted(X, kind)
    plain, ready = model._components, incomplete(model._components)
    expected = plain.log_density(plain.features(X))
    np.testing.assert_allclose(ready.log_density(ready.features(X)), expected, atol=1e-9)
    np.testing.assert_array_equal(model.impute(X), X)
    if kind in COVARIANCE_TYPES:
        resp = model.predict_proba(X)
        after = ready.m_step(ready.statistics(ready.features(X), resp)).inner
        direct = plain.m_step(plain.statistics(plain.features(X), resp))
        np.testing.assert_allclose(after.covariances, direct.covariances, atol=1e-10)


@KINDS
def test_rows_without_values_add_nothing(kind: str) -> None:
    X = with_missing(clouds(), 0.2)
    longer = np.vstack([X, np.full((50, 4), np.nan)])
    start = fitted(X, kind, max_iter=1, tol=0)
    params: dict[str, Any] = {
        "weights_init": start.weights_,
        "means_init": start.means_,
        "precisions_init": start.precisions_,
    }
    one, other = (fitted(rows, kind, **params, max_iter=1) for rows in (X, longer))
    np.testing.assert_allclose(other.means_, one.means_, atol=1e-9)
    np.testing.assert_allclose(other.covariances_, one.covariances_, atol=1e-9)
    # They stand for the old weights, so new ones take longer to settle, at the same place.
    one, other = (fitted(rows, kind, **params, max_iter=2000, tol=1e-11) for rows in (X, longer))
    np.testing.assert_allclose(other.weights_, one.weights_, atol=1e-3)
    assert other.objective_ * 250 == pytest.approx(one.objective_ * 200, rel=1e-6)


@ALL_KINDS
def test_impute_gives_conditional_expectations(kind: str) -> None:
    X = with_missing(clouds(60))
    X[5] = np.nan
    model = fitted(X, kind)
    resp = model.predict_proba(X)
    expected = sum(
        resp[:, s, None]
        * np.array([completed(x, model.means_[s], matrices(model)[s])[0] for x in X])
        for s in range(2)
    )
    filled = model.impute(X)
    np.testing.assert_allclose(filled, expected, atol=1e-9)
    np.testing.assert_array_equal(filled[~np.isnan(X)], X[~np.isnan(X)])
    np.testing.assert_allclose(filled[5], model.weights_ @ model.means_, atol=1e-9)


def test_a_mixture_fitted_to_complete_rows_measures_incomplete_ones() -> None:
    X = clouds()
    for kind in ("full", "diag", "ppca"):
        model = fitted(X, kind)
        holes = with_missing(X)
        joint = marginals(holes, model.means_, matrices(model)) + np.log(model.weights_)
        np.testing.assert_allclose(model.score_samples(holes), logsumexp(joint, axis=1), atol=1e-9)


def test_latent_coordinates_given_what_there_is() -> None:
    X = with_missing(clouds())
    model = fitted(X, "factor", n_factors=1)
    latent = model.latent(X)
    o = ~np.isnan(X[0])
    for s in range(2):
        marginal = matrices(model)[s][np.ix_(o, o)]
        gain = model.loadings_[s][o].T @ np.linalg.inv(marginal)
        expected = gain @ (X[0, o] - model.means_[s][o])
        np.testing.assert_allclose(latent[0, s], expected, atol=1e-9)


@KINDS
def test_weights_are_repetitions(kind: str) -> None:
    X = with_missing(clouds(80))
    times = np.random.default_rng(0).integers(0, 3, size=80)
    start = fitted(X, kind, max_iter=1)
    params = {
        "weights_init": start.weights_,
        "means_init": start.means_,
        "precisions_init": start.precisions_,
        "max_iter": 8,
        "tol": 0.0,
    }
    settings: dict[str, Any] = {"covariance_type": kind, **params}
    weighted = GaussianMixture(2, **settings).fit(X, sample_weight=times)
    repeated = GaussianMixture(2, **settings).fit(np.repeat(X, times, axis=0))
    np.testing.assert_allclose(weighted.means_, repeated.means_, atol=1e-9)
    np.testing.assert_allclose(weighted.covariances_, repeated.covariances_, atol=1e-9)


def test_partial_labels() -> None:
    X = with_missing(clouds())
    X[0] = np.nan
    y = np.where(np.arange(200) < 20, np.arange(200) % 2, -1)
    for kind in COVARIANCE_TYPES:
        model = fitted(X, kind).fit(X, y)
        np.testing.assert_array_equal(model.labels_[:20], y[:20])
        assert np.all(np.diff(model.history_) <= 1e-12)


@KINDS
def test_float32(kind: str) -> None:
    X = with_missing(clouds()).astype(np.float32)
    model = fitted(X, kind)
    assert model.means_.dtype == model.predict_proba(X).dtype == model.impute(X).dtype == np.float32
    np.testing.assert_allclose(
        model.means_, fitted(X.astype(float), kind).means_, rtol=1e-3, atol=1e-3
    )


def test_more_than_sixty_four_features() -> None:
    X = with_missing(clouds(60, d=70), 0.1)
    for kind in ("full", "ppca"):
        model = fitted(X, kind, reg_covar=0.1, max_iter=3)
        joint = marginals(X, model.means_, matrices(model)) + np.log(model.weights_)
        np.testing.assert_allclose(model.score_samples(X), logsumexp(joint, axis=1), atol=1e-7)


def test_patterns() -> None:
    rng = np.random.default_rng(0)
    missing = rng.random((200, 9)) < 0.15
    patterns = patterns_of(missing)
    np.testing.assert_array_equal(patterns.missing[patterns.of_row], missing)
    assert len(patterns.missing) == len(np.unique(missing, axis=0))
    values = rng.normal(size=(200, 3))
    sums = np.zeros((len(patterns.missing), 3))
    np.add.at(sums, patterns.of_row, values)
    np.testing.assert_allclose(patterns.sums(values), sums)


def test_filled_rows() -> None:
    X = with_missing(clouds(20))
    filled = FilledRows(engine.as_rows(X), np.arange(4.0))
    expected = np.where(np.isnan(X), np.arange(4.0), X)
    np.testing.assert_array_equal(filled.take([3, 1]), expected[[3, 1]])
    (total,), _ = filled.map_reduce(lambda block: ((block.sum(axis=0),), ()))
    np.testing.assert_allclose(total, expected.sum(axis=0))
    assert filled.shape == (20, 4)


class TestRowsOnDisk:
    BLOCK = 50

    def on_disk(self, X: np.ndarray, kind: str, folder: Path) -> engine.RowSource:
        """The rows in a file, in blocks of fifty."""
        budget = BLOCKS_IN_BUDGET * self.BLOCK * X.shape[1] * X.itemsize
        if kind == "parquet":
            table = pa.table({f"f{j}": X[:, j] for j in range(X.shape[1])})
            pq.write_table(table, folder / "x.parquet", row_group_size=100)
            return engine.open_rows(folder / "x.parquet", memory_budget=2 * budget)
        np.save(folder / "x.npy", X)
        if kind == "memmap":
            mapped = np.load(folder / "x.npy", mmap_mode="r")
            return engine.as_rows(mapped, memory_budget=budget)
        return engine.open_rows(folder / "x.npy", memory_budget=budget)

    @pytest.mark.parametrize("file", ["npy", "memmap", "parquet"])
    @pytest.mark.parametrize("kind", ["full", "diag", "ppca"])
    def test_equal_blocks_give_equal_bits(
        self, kind: str, file: str, tmp_path: Path, monkeypatch: Any
    ) -> None:
        monkeypatch.setattr(_memory, "TILE_ROWS", self.BLOCK)
        monkeypatch.setattr(_memory, "MAX_BLOCK_TILES", 1)
        X = with_missing(clouds())
        X[3] = np.nan
        y = np.where(np.arange(200) < 10, np.arange(200) % 2, -1)
        disk, memory = self.on_disk(X, file, tmp_path), engine.as_rows(X)
        assert disk.blocks == memory.blocks == [(0, 50), (50, 100), (100, 150), (150, 200)]
        one, other = (fitted(rows, kind).fit(rows, y) for rows in (disk, memory))
        for name in ("means_", "covariances_", "weights_", "history_", "labels_"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
        for ask in ("predict_proba", "score_samples", "impute"):
            np.testing.assert_array_equal(getattr(one, ask)(disk), getattr(other, ask)(memory))
        assert np.isfinite(one.impute(disk)).all()

    def test_nulls_are_gaps(self, tmp_path: Path) -> None:
        X = np.round(10 * with_missing(clouds(), 0.1))
        numbers = pd.DataFrame(X).astype("Int64").set_axis(list("abcd"), axis=1)
        numbers.to_parquet(tmp_path / "x.parquet")
        disk = fitted(engine.open_rows(tmp_path / "x.parquet"))
        np.testing.assert_array_equal(disk.means_, fitted(X).means_)

    @pytest.mark.parametrize("file", ["npy", "memmap", "parquet"])
    def test_infinity_is_not_missing(self, file: str, tmp_path: Path) -> None:
        X = with_missing(clouds())
        X[77, 1] = -np.inf
        with pytest.raises(SidelightError, match=r"holds infinity in row 77, column ('f1'|1);"):
            fitted(self.on_disk(X, file, tmp_path))

    def test_who_does_not_know_gaps_still_refuses_them(self, tmp_path: Path) -> None:
        source = self.on_disk(with_missing(clouds()), "npy", tmp_path)
        fitted(source)
        with pytest.raises(SidelightError, match="holds NaN or infinity in row 0"):
            ChunkletMixture(2).fit(source)

    def test_a_column_without_values(self, tmp_path: Path) -> None:
        X = clouds()
        X[:, 2] = np.nan
        with pytest.raises(SidelightError, match="No row has a value in column 2"):
            fitted(self.on_disk(X, "npy", tmp_path))


class TestBadInput:
    def test_a_column_without_values(self) -> None:
        X = with_missing(clouds())
        X[:, 2] = np.nan
        with pytest.raises(SidelightError, match="No row has a value in column 2, so"):
            fitted(X)
        table = pd.DataFrame(X, columns=["a", "b", "petal width", "d"])
        with pytest.raises(SidelightError, match=r"column 2 \('petal width'\)"):
            fitted(table)

    def test_a_column_with_values_in_rows_that_do_not_count(self) -> None:
        X = clouds()
        X[1:, 0] = np.nan
        weight = np.ones(200)
        weight[0] = 0
        with pytest.raises(SidelightError, match="column 0"):
            GaussianMixture(2).fit(X, sample_weight=weight)

    @ALL_KINDS
    def test_a_column_with_one_value(self, kind: str) -> None:
        X = with_missing(clouds())
        X[1:, 0] = np.nan
        X[0, 0] = 1.0
        model = fitted(X, kind, k=3)
        assert np.all(np.isfinite(model.means_))
        assert np.all(np.isfinite(model.covariances_))
        assert np.all(np.isfinite(model.impute(X)))

    def test_infinity_is_not_missing(self) -> None:
        X = with_missing(clouds())
        X[4, 1] = np.inf
        with pytest.raises(ValueError, match="row 4, column 1"):
            fitted(X)

    def test_measurement_noise(self) -> None:
        with pytest.raises(ValueError, match="measurement_noise does not go with missing"):
            fitted(with_missing(clouds()), measurement_noise=0.1)

    def test_other_mixtures_do_not_take_gaps(self) -> None:
        with pytest.raises(ValueError, match="NaN"):
            ChunkletMixture(2).fit(with_missing(clouds()))
