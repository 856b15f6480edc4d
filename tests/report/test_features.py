from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from sidelight.engine import as_rows
from sidelight.pictures._run import Partition
from sidelight.report import _features
from sidelight.report._features import feature_means


def partition(codes):
    return Partition(np.asarray(codes), tuple("abc"[: max(codes) + 1]))


@pytest.mark.parametrize("kind", ["dense", "float32", "sparse"])
def test_means_and_shares_are_their_definitions(kind):
    rng = np.random.default_rng(0)
    codes = rng.integers(-1, 3, size=5_000)
    X = rng.normal(size=(5_000, 4)) + 2.0 * (codes[:, None] + 1) * [1.0, 0.0, -1.0, 0.3] + 50.0
    X[:, 3] = 7.0
    rows = {"dense": X, "float32": X.astype(np.float32), "sparse": sparse.csr_array(X)}[kind]
    table = feature_means(as_rows(rows), partition(codes))
    tolerance = {
        "rtol": 1e-4 if kind == "float32" else 1e-7,
        "atol": 1e-4 if kind == "float32" else 1e-8,
    }
    means = np.array([X[codes == c].mean(axis=0) for c in range(3)])
    sizes = np.array([(codes == c).sum() for c in range(3)])
    overall, deviation = X.mean(axis=0), X.std(axis=0)
    varying = slice(0, 3)
    np.testing.assert_array_equal(table.features, range(4))
    np.testing.assert_allclose(table.overall, overall, **tolerance)
    np.testing.assert_allclose(table.means, means.T, **tolerance)
    expected = ((means - overall) / deviation.clip(1e-9)).T
    np.testing.assert_allclose(table.difference[varying], expected[varying], **tolerance)
    share = (sizes[:, None] * (means - overall) ** 2).sum(axis=0) / (
        5_000 * deviation.clip(1e-9) ** 2
    )
    np.testing.assert_allclose(table.share[varying], share[varying], **tolerance)
    # A constant feature tells nothing.
    assert table.share[3] == 0.0
    assert (table.difference[3] == 0.0).all()


def test_no_digits_cancel_far_from_zero():
    codes = np.repeat([0, 1], 500)
    X = 1e8 + codes[:, None] + np.zeros((1, 2))
    table = feature_means(as_rows(X), partition(codes))
    np.testing.assert_allclose(table.share, 1.0)
    np.testing.assert_allclose(table.difference, [[-1.0, 1.0], [-1.0, 1.0]])


@pytest.mark.parametrize("considered", [2_000, 40])
def test_of_many_features_the_telling_ones_come_first(considered, monkeypatch):
    monkeypatch.setattr(_features, "_CONSIDERED", considered)
    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1], 200)
    X = rng.normal(size=(400, 60))
    X[:, 17] += 9.0 * codes
    X[:, 44] += 5.0 * codes
    table = feature_means(as_rows(X), partition(codes))
    assert len(table.features) == _features.SHOW_TOP
    assert list(table.features[:2]) == [17, 44]
    assert (np.diff(table.share) <= 0.0).all()
