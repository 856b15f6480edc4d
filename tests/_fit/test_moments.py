"""Moments of rows against NumPy's, far from the origin too."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from sidelight._fit.moments import feature_ranges, moments
from sidelight.engine import as_rows


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", ["dense", "float32", "csr"])
def test_moments_are_those_of_numpy(kind: str, weighted: bool, full: bool) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 4)) * (rng.random((20_000, 4)) < 0.5) + (0 if kind == "csr" else 3)
    X = X.astype(np.float32) if kind == "float32" else X
    w = rng.uniform(0, 2, size=len(X)) if weighted else None
    found = moments(as_rows(sparse.csr_matrix(X) if kind == "csr" else X), w, full=full)
    mean = np.average(X.astype(float), axis=0, weights=w)
    covariance = np.cov(X.T.astype(float), aweights=w, ddof=0)
    assert found.mass == pytest.approx(len(X) if w is None else w.sum())
    np.testing.assert_allclose(found.mean, mean, atol=1e-10)
    np.testing.assert_allclose(found.variances, np.diag(covariance), rtol=1e-10)
    expected = covariance if full else np.diag(covariance)
    np.testing.assert_allclose(found.covariance, expected, atol=1e-10)
    assert found.total_variance == pytest.approx(np.trace(covariance))
    assert found.mean_variance == pytest.approx(np.trace(covariance) / 4)


def test_far_from_the_origin_no_digits_are_lost_and_constant_features_have_no_variance() -> None:
    rng = np.random.default_rng(1)
    spread = rng.normal(size=(5_000, 3)) * [1.0, 1e-3, 0.0]
    X = spread + 1e6
    for full in (False, True):
        variances = moments(as_rows(X), full=full).variances
        np.testing.assert_allclose(variances[:2], X.var(axis=0)[:2], rtol=1e-7)
        assert variances[2] == 0.0
    # A few rows far from the rest, at the very place that values are taken relative to.
    X[:5] += 1e6
    np.testing.assert_allclose(moments(as_rows(X)).variances[:2], X.var(axis=0)[:2], rtol=1e-9)


def test_ranges_of_features_cover_all_blocks() -> None:
    X = np.random.default_rng(2).normal(size=(50_000, 3))
    for rows in (X, sparse.csr_matrix(X)):
        low, high = feature_ranges(as_rows(rows))
        np.testing.assert_array_equal(low, X.min(axis=0))
        np.testing.assert_array_equal(high, X.max(axis=0))
