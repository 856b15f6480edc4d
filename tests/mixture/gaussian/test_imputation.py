"""Spread of imputed values: the law of total variance, and missing blocks of two views."""

from __future__ import annotations

import numpy as np
import pytest
from tests.mixture.gaussian.test_missing import (
    ALL_KINDS,
    clouds,
    completed,
    fitted,
    matrices,
    with_missing,
)

from sidelight import engine
from sidelight.constraints import Correspondences
from sidelight.mixture import GaussianMixture
from sidelight.mixture.gaussian import _imputation


@ALL_KINDS
def test_covariances_follow_the_law_of_total_variance(kind: str) -> None:
    X = with_missing(clouds(60))
    X[5] = np.nan
    model = fitted(X, kind)
    resp = model.predict_proba(X)
    filled, covariances = model.impute(X, return_cov=True)
    np.testing.assert_array_equal(filled, model.impute(X))
    for n, x in enumerate(X):
        given = [completed(x, model.means_[s], matrices(model)[s]) for s in range(2)]
        means = np.array([mean for mean, _ in given])
        within = sum(resp[n, s] * given[s][1] for s in range(2))
        apart = means - resp[n] @ means
        np.testing.assert_allclose(
            covariances[n], within + (resp[n, :, None] * apart).T @ apart, atol=1e-9
        )


def test_known_values_have_no_spread() -> None:
    X = with_missing(clouds(60))
    covariances = fitted(X).impute(X, return_cov=True)[1]
    known = ~np.isnan(X)
    assert np.all(covariances[known[:, :, None] | known[:, None, :]] == 0)
    spread = np.linalg.eigvalsh(covariances)
    assert spread.min() > -1e-12


def test_samples_have_the_spread() -> None:
    """Values drawn from the mixture near a known one vary as much as the imputation says."""
    X = clouds(400)
    model = fitted(X)
    drawn = model.sample(400_000)[0]
    at = float(np.median(X[:, 0]))
    near = drawn[np.abs(drawn[:, 0] - at) < 0.02]
    filled, covariances = model.impute([[at, np.nan, np.nan, np.nan]], return_cov=True)
    np.testing.assert_allclose(filled[0, 1:], near[:, 1:].mean(axis=0), atol=0.1)
    found = np.cov(near[:, 1:], rowvar=False)
    np.testing.assert_allclose(covariances[0, 1:, 1:], found, atol=0.1 * found.max())


def test_missing_blocks_of_two_views_are_predicted_both_ways() -> None:
    """Factor analysis of linked views predicts one from the other, as a regression does."""
    rng = np.random.default_rng(0)
    g = rng.normal(size=(400, 1))
    first = g @ rng.normal(size=(1, 3)) + 0.1 * rng.normal(size=(400, 3))
    second = g @ rng.normal(size=(1, 2)) + 0.1 * rng.normal(size=(400, 2))
    linked = np.arange(0, 400, 4)
    known = Correspondences(np.column_stack([linked, linked]), [400, 400])
    table, (left, right) = known.stack([first, second])
    model = GaussianMixture(1, covariance_type="factor", n_factors=1, max_iter=300).fit(table)
    assert len(table) == 700
    asked = np.full((400, 5), np.nan)
    asked[:, left] = first
    forth = model.impute(asked)[:, right]
    assert np.mean((forth - second) ** 2) < 0.02 * second.var()
    asked[:], asked[:, right] = np.nan, second
    back = model.impute(asked)[:, left]
    assert np.mean((back - first) ** 2) < 0.03 * first.var()


# --- what it is made of ---


def test_blocks_of_rows_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    X = with_missing(clouds(60))
    model = fitted(X, "ppca")
    whole = model.impute(X, return_cov=True)[1]
    monkeypatch.setattr(_imputation, "BLOCK_NUMBERS", 100)
    with engine.threads(1):
        np.testing.assert_allclose(model.impute(X, return_cov=True)[1], whole, atol=1e-12)
