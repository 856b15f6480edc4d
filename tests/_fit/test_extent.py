"""The one range of values: what is in it works as at any scale, what is not is refused in words."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from sidelight import Constraints
from sidelight.active import Answers, ExploreConsolidate
from sidelight.cluster import (
    ConstrainedAgglomeration,
    COPKMeans,
    KMeans,
    MPCKMeans,
    PCKMeans,
    SpectralClustering,
    SphericalKMeans,
)
from sidelight.engine import as_rows, open_rows
from sidelight.engine._extent import SQUARED
from sidelight.exceptions import SidelightError
from sidelight.feature_selection import ConstraintScore, FisherScore, ForwardConstraintSelector
from sidelight.metric import DCA, ITML, RCA
from sidelight.mixture import DiscriminativeMixture, GaussianMixture, MMLMixture

RNG = np.random.default_rng(0)
Y = np.repeat(np.arange(3), 30)
X = RNG.normal(size=(90, 3)) + 4.0 * RNG.normal(size=(3, 3))[Y]
X.setflags(write=False)
PAIRS = Constraints.sample(Y, 40, random_state=0)

#: Methods whose result does not depend on the unit of all columns.
MODELS: list[Any] = [
    KMeans(3, random_state=0),
    COPKMeans(3, random_state=0),
    PCKMeans(3, random_state=0),
    MPCKMeans(3, random_state=0),
    ConstrainedAgglomeration(3),
    SpectralClustering(3, random_state=0),
    GaussianMixture(3, reg_covar=0.0, random_state=0),
    DiscriminativeMixture(3, reg_covar=0.0, penalty=1.0, random_state=0),
    MMLMixture(6, random_state=0),
    RCA(),
    DCA(),
    ITML(random_state=0),
    FisherScore(),
    ConstraintScore(),
    ForwardConstraintSelector(),
]


def outcome(model: Any, rows: np.ndarray) -> np.ndarray:
    """Labels, ranks of features, or features up to their unit."""
    labels = Constraints(labels=np.where(np.arange(90) % 3 == 0, Y, -1))
    known = labels if isinstance(model, FisherScore) else PAIRS
    model = model.fit(rows, constraints=known)
    for name in ("labels_", "ranking_"):
        if hasattr(model, name):
            return np.asarray(getattr(model, name))
    features = model.transform(rows).astype(np.float64)
    return features / np.abs(features).max()


@functools.cache
def plain(number: int, dtype: type) -> np.ndarray:
    return outcome(MODELS[number], X.astype(dtype))


@pytest.mark.parametrize("number", range(len(MODELS)), ids=lambda i: type(MODELS[i]).__name__)
@pytest.mark.parametrize(
    ("dtype", "exponent"), [(np.float64, 228), (np.float64, -231), (np.float32, 45)]
)
def test_up_to_its_ends_the_range_has_no_units(number: int, dtype: type, exponent: int) -> None:
    rows = np.ldexp(X, exponent).astype(dtype)
    extent = SQUARED[rows.itemsize]
    largest = np.abs(rows).max()
    assert min(extent.largest / largest, largest / extent.smallest) < 100  # near one of the ends
    tolerance = 1e-6 if dtype is np.float64 else 1e-2
    np.testing.assert_allclose(outcome(MODELS[number], rows), plain(number, dtype), atol=tolerance)


def test_names_of_rows_and_columns_are_in_the_message() -> None:
    table = pd.DataFrame(X.copy(), columns=["a", "b", "c"], index=[f"r{i}" for i in range(90)])
    table.loc["r4", "b"] = -3e120
    with pytest.raises(SidelightError, match=r"Row 'r4', column 'b' holds -3e\+120"):
        KMeans(3).fit(table)
    table["b"] = X[:, 1] * 1e-100
    with pytest.raises(SidelightError, match=r"No value of column 'b' is larger than \d"):
        KMeans(3).fit(table)


def test_zeros_have_no_size() -> None:
    rows = np.hstack([X, np.zeros((90, 1))])
    np.testing.assert_array_equal(
        KMeans(3, random_state=0).fit(rows).labels_, KMeans(3, random_state=0).fit(X).labels_
    )
    with pytest.warns(ConvergenceWarning):
        KMeans(2).fit(np.zeros((5, 2)))


def test_a_float32_column_may_be_as_small_as_it_likes_beside_others() -> None:
    rows = X.astype(np.float32)
    rows[:, 2] *= np.float32(1e-25)
    exact = rows.astype(np.float64)
    one, other = (ConstraintScore().fit(values, constraints=PAIRS) for values in (rows, exact))
    np.testing.assert_allclose(one.scores_, other.scores_, rtol=1e-4)


@pytest.mark.parametrize("scale", [1e100, 1e-100])
def test_sparse_rows(scale: float) -> None:
    rows = sparse.csr_array(np.where(X > 0, X, 0.0))
    with pytest.raises(SidelightError, match="by a power of ten"):
        KMeans(3).fit(rows * scale)
    np.testing.assert_array_equal(as_rows(rows).largest(), abs(rows).toarray().max(axis=0))


def test_new_rows_may_be_small_but_not_large() -> None:
    model = KMeans(3, random_state=0).fit(X)
    np.testing.assert_array_equal(
        model.predict(X[:4] * 1e-200), np.repeat(model.predict(np.zeros((1, 3))), 4)
    )
    with pytest.raises(SidelightError, match="Row 0, column 1 holds"):
        model.predict([[0.0, 1e200, 0.0]])
    with pytest.raises(SidelightError, match=r"Column 1 holds 1e\+200"):
        model.predict(as_rows(np.array([[0.0, 1e200, 0.0]])))


def test_directions_have_no_unit() -> None:
    directions = SphericalKMeans(3, random_state=0)
    expected = directions.fit(X).labels_
    for scale in (2.0**900, 2.0**-900):
        np.testing.assert_array_equal(directions.fit(X * scale).labels_, expected)
        np.testing.assert_array_equal(directions.predict(X * scale), expected)


@pytest.mark.parametrize("suffix", [".npy", ".parquet"])
def test_rows_on_disk(tmp_path: Path, suffix: str) -> None:
    def stored(values: np.ndarray) -> Any:
        path = tmp_path / f"rows{suffix}"
        if suffix == ".npy":
            np.save(path, values)
        else:
            pd.DataFrame(values, columns=["a", "b", "c"]).to_parquet(path, row_group_size=40)
        return open_rows(path)

    np.testing.assert_array_equal(stored(X).largest(), np.abs(X).max(axis=0))
    with pytest.raises(SidelightError, match=r"No value is larger than .*multiply by a power"):
        KMeans(3).fit(stored(X * 1e-100))
    model = KMeans(3, random_state=0).fit(stored(X))
    large = X.copy()
    large[41, 2] = 1e200
    column = "column 'c'" if suffix == ".parquet" else "column 2"
    for use in (KMeans(3).fit, model.predict):
        with pytest.raises(SidelightError, match=rf"1e\+200 in size in row 41, {column}; squares"):
            use(stored(large))


@pytest.mark.parametrize("weight", [1e300, 1e-300])
def test_weights(weight: float) -> None:
    for model in (KMeans(3), GaussianMixture(3)):
        with pytest.raises(SidelightError, match="divide all weights by the same number"):
            model.fit(X, sample_weight=np.full(90, weight))
    pair = Constraints(must_link=[(0, 1)], n_samples=90, must_link_weight=weight)
    with pytest.raises(SidelightError, match=r"must-link row 0 - row 1 .* divide all weights"):
        PCKMeans(3).fit(X, constraints=pair)
    mixed = np.where(np.arange(90) % 2 == 0, 1.0, 1e-300)
    half = KMeans(3, random_state=0).fit(X, sample_weight=(mixed == 1.0).astype(float))
    np.testing.assert_allclose(
        np.sort(KMeans(3, random_state=0).fit(X, sample_weight=mixed).cluster_centers_, axis=0),
        np.sort(half.cluster_centers_, axis=0),
    )


def test_questions_are_asked_about_rows_in_the_range() -> None:
    with pytest.raises(SidelightError, match="power of ten"):
        ExploreConsolidate().start(X * 1e200, Answers(n_samples=90))


@pytest.mark.parametrize("kind", ["full", "diag", "ppca"])
def test_a_regularization_that_hides_the_clusters_is_told(kind: str) -> None:
    model = GaussianMixture(3, covariance_type=kind, random_state=0)
    with pytest.warns(ConvergenceWarning, match="reg_covar=1e-06 is larger than the variance"):
        model.fit(X * 1e-5)
