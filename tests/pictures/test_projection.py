from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from sidelight.engine import as_rows
from sidelight.pictures import _projection
from sidelight.pictures._projection import leading_components, project


def reference(X):
    """Principal components straight from the definition, by a full SVD."""
    centred = X - X.mean(axis=0)
    _, singular, right = np.linalg.svd(centred, full_matrices=False)
    return centred @ right[:2].T, singular[:2] ** 2 / (singular**2).sum()


def same_up_to_sign(a, b):
    signs = np.sign((a * b).sum(axis=0))
    np.testing.assert_allclose(a * signs, b, atol=1e-8 * np.abs(b).max())


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("wide", [False, True])
def test_components_are_those_of_a_full_svd(kind, wide, monkeypatch):
    """Both ways, by the covariance matrix and by the truncated SVD, give the definition."""
    if wide:
        monkeypatch.setattr(_projection, "_WIDE", 5)
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 12)) * np.arange(12, 0, -1) + 7.0
    X[rng.random(X.shape) < 0.5] = 0.0
    expected, expected_shares = reference(X)
    rows = sparse.csr_array(X) if kind == "sparse" else X
    mean, axes, shares = leading_components(rows)
    same_up_to_sign((X - mean) @ axes, expected)
    np.testing.assert_allclose(shares, expected_shares)
    np.testing.assert_allclose(axes.T @ axes, np.eye(2), atol=1e-10)
    drawn = project(as_rows(rows), np.arange(60), [f"f{i}" for i in range(12)], rng)
    same_up_to_sign(drawn.xy, expected)


def test_wide_sparse_rows_are_never_filled():
    """Text-like rows: the picture agrees with the full SVD within a thousandth of its width."""
    rng = np.random.default_rng(2)
    topics = rng.integers(0, 3, size=400)
    X = (rng.random((400, 1_500)) < 0.01 + 0.05 * (np.arange(1_500) % 3 == topics[:, None])) * 1.0
    expected, expected_shares = reference(X)
    mean, axes, shares = leading_components(sparse.csr_array(X))
    xy = (X - mean) @ axes
    signs = np.sign((xy * expected).sum(axis=0))
    assert np.abs(xy * signs - expected).max() < 1e-3 * np.ptp(expected)
    np.testing.assert_allclose(shares, expected_shares, rtol=1e-3)


@pytest.mark.parametrize("n_rows", [1, 2, 3, 4])
@pytest.mark.parametrize("wide", [False, True])
def test_few_rows(n_rows, wide, monkeypatch):
    if wide:
        monkeypatch.setattr(_projection, "_WIDE", 5)
    X = np.random.default_rng(0).normal(size=(n_rows, 9))
    mean, axes, shares = leading_components(X)
    assert np.isfinite(axes).all()
    # Up to three rows lie in a plane, so that their distances survive the projection.
    if n_rows <= 3:
        xy = (X - mean) @ axes
        gaps = np.linalg.norm(X[:, None] - X, axis=-1)
        np.testing.assert_allclose(np.linalg.norm(xy[:, None] - xy, axis=-1), gaps, atol=1e-9)
        assert shares.sum() == pytest.approx(1.0 if n_rows > 1 else 0.0)


@pytest.mark.parametrize("wide", [False, True])
def test_rows_on_a_line_and_constant_rows(wide, monkeypatch):
    if wide:
        monkeypatch.setattr(_projection, "_WIDE", 5)
    line = np.outer(np.arange(10.0), np.ones(8))
    _, axes, shares = leading_components(line)
    np.testing.assert_allclose(shares, [1.0, 0.0], atol=1e-9)
    np.testing.assert_allclose(np.abs(axes[:, 0]), 1 / np.sqrt(8))
    _, axes, shares = leading_components(np.ones((10, 8)))
    assert (shares == 0.0).all()
    assert (axes == 0.0).all()


def test_one_and_two_features_are_drawn_as_they_are():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    rows = np.array([3, 5, 29])
    plane = project(as_rows(X), rows, ["a", "b"], rng)
    np.testing.assert_array_equal(plane.xy, X[rows])
    assert plane.titles == ("a", "b")
    strip = project(as_rows(X[:, :1]), rows, ["a"], rng)
    np.testing.assert_array_equal(strip.xy[:, 0], X[rows, 0])
    assert (np.abs(strip.xy[:, 1]) <= 1.0).all()


def test_a_large_table_is_projected_from_a_sample(monkeypatch):
    monkeypatch.setattr(_projection, "FIT_ROWS", 500)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3_000, 6)) * [9.0, 5.0, 1.0, 1.0, 1.0, 1.0]
    rows = np.arange(100)
    drawn = project(as_rows(X), rows, list("abcdef"), rng)
    assert "500 random rows" in drawn.note
    # The first two features carry nearly everything: the sample finds their plane.
    assert np.abs(np.corrcoef(drawn.xy[:, 0], X[rows, 0])[0, 1]) > 0.98
    assert np.abs(np.corrcoef(drawn.xy[:, 1], X[rows, 1])[0, 1]) > 0.98
