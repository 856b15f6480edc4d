"""The contract of what makes features: metrics, selectors, projections.

A new method is covered the moment its tags put it into the catalog.
"""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from sidelight import Constraints, catalog, engine
from sidelight.cluster import KMeans
from sidelight.exceptions import ConstraintWarning, SidelightError

METHODS = [m for m in catalog.methods() if m.tags.kind in ("transformer", "selector")]
PAIRS = [m for m in METHODS if {"must-link", "cannot-link"} & set(m.tags.knowledge)]
# Others see pairs one after the other, in epochs.
AT_ONCE = [m for m in PAIRS if "n_epochs" not in m.cls().get_params()]

EXPECTED_TO_FAIL: dict[str, dict[str, str]] = {}


def named(methods: Any) -> Any:
    return pytest.mark.parametrize("method", methods, ids=lambda m: m.name)


def make(method: Any, **params: Any) -> Any:
    wanted = {"random_state": 0, **params}
    known = method.cls().get_params()
    return method.cls(**{name: value for name, value in wanted.items() if name in known})


@pytest.fixture(scope="module")
def blobs() -> tuple[np.ndarray, np.ndarray]:
    X, y = make_blobs(160, n_features=6, centers=3, cluster_std=3.0, random_state=3)
    return X - X.min() + 1.0, y


def knowledge_for(method: Any, y: np.ndarray, n: int = 80, seed: int = 1) -> Constraints:
    """Some side information of the kinds that the method takes; true to the classes."""
    if {"must-link", "cannot-link"} & set(method.tags.knowledge):
        return Constraints.sample(y, n, random_state=seed)
    return Constraints.from_labels(np.where(np.arange(len(y)) % 3 == 0, y, -1))


@parametrize_with_checks(
    [m.cls() for m in METHODS],
    expected_failed_checks=lambda estimator: EXPECTED_TO_FAIL.get(type(estimator).__name__, {}),
)
def test_scikit_learn_estimator_checks(estimator: Any, check: Any) -> None:
    with warnings.catch_warnings():
        # The checks hand fractions to y, or nothing at all; we say what we make of it.
        warnings.simplefilter("ignore", ConstraintWarning)
        check(estimator)


@named(METHODS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_precision_is_kept(method: Any, dtype: Any, blobs: Any) -> None:
    X, y = blobs
    model = make(method).fit(X.astype(dtype), constraints=knowledge_for(method, y))
    mapped = model.transform(X.astype(dtype))
    assert mapped.dtype == dtype
    assert mapped.shape[0] == len(X)
    assert np.isfinite(mapped).all()
    assert len(model.get_feature_names_out()) == mapped.shape[1]


@named(METHODS)
def test_clone_and_pickle(method: Any, blobs: Any) -> None:
    X, y = blobs
    model = make(method)
    assert clone(model).get_params() == model.get_params()
    model.fit(X, constraints=knowledge_for(method, y))
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.transform(X), model.transform(X))


@named(METHODS)
def test_same_seed_and_any_number_of_threads(method: Any, blobs: Any) -> None:
    X, y = blobs
    known = knowledge_for(method, y)
    results = []
    for n_threads in (1, 2, 3):
        with engine.threads(n_threads):
            results.append(make(method, random_state=5).fit(X, constraints=known).transform(X))
    for other in results[1:]:
        np.testing.assert_array_equal(other, results[0])


@named([m for m in METHODS if m.tags.sparse])
def test_sparse_equals_dense(method: Any, blobs: Any) -> None:
    X, y = blobs
    thinned = np.where(np.random.default_rng(0).uniform(size=X.shape) < 0.4, 0.0, X)
    known = knowledge_for(method, y)
    dense = make(method).fit(thinned, constraints=known).transform(thinned)
    for kind in (sparse.csr_matrix, sparse.csr_array):
        thin = make(method).fit(kind(thinned), constraints=known).transform(kind(thinned))
        plain = thin.toarray() if sparse.issparse(thin) else thin
        np.testing.assert_allclose(plain, dense, rtol=1e-6, atol=1e-8)


@named(METHODS)
def test_tables_in(method: Any, blobs: Any) -> None:
    X, y = blobs
    known = knowledge_for(method, y)
    names = [f"feature {j}" for j in range(X.shape[1])]
    plain = make(method).fit(X, constraints=known).transform(X)
    for table in (pd.DataFrame(X, columns=names), pl.DataFrame(X, schema=names)):
        model = make(method).fit(table, constraints=known)
        np.testing.assert_array_equal(np.asarray(model.transform(table)), plain)
        np.testing.assert_array_equal(model.feature_names_in_, names)


@named(METHODS)
def test_metadata_routing_carries_constraints(method: Any, blobs: Any) -> None:
    X, y = blobs
    known = knowledge_for(method, y)
    with sklearn.config_context(enable_metadata_routing=True):
        step = make(method).set_fit_request(constraints=True)
        last = KMeans(3, random_state=0).set_fit_request(constraints=True)
        pipeline = make_pipeline(MinMaxScaler((1, 2)), step, last).fit(X, constraints=known)
    scaled = MinMaxScaler((1, 2)).fit_transform(X)
    direct = make(method).fit(scaled, constraints=known).transform(scaled)
    labels = KMeans(3, random_state=0).fit(direct).labels_
    np.testing.assert_array_equal(pipeline[-1].labels_, labels)


@named(METHODS)
def test_constraints_about_other_rows(method: Any, blobs: Any) -> None:
    X, _ = blobs
    with pytest.raises(SidelightError, match=r"about 10 rows but X has 160"):
        make(method).fit(X, constraints=Constraints([(0, 1)], n_samples=10))
    with pytest.raises(TypeError, match=r"sidelight\.Constraints"):
        make(method).fit(X, constraints=[(0, 1)])


@named(METHODS)
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_bad_numbers_are_located(method: Any, bad: float, blobs: Any) -> None:
    X = blobs[0].copy()
    X[17, 2] = bad
    with pytest.raises(ValueError, match=r"(?s)(NaN|infinity).*row 17, column 2"):
        make(method).fit(X, constraints=knowledge_for(method, blobs[1]))


@named(METHODS)
def test_constant_features_and_duplicated_rows_give_finite_features(method: Any) -> None:
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(20, 3)), 2, axis=0)
    X[:, 1] = 4.0
    y = np.repeat(rng.integers(0, 2, 20), 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = make(method).fit(np.abs(X), constraints=knowledge_for(method, y, n=40))
    assert np.isfinite(np.asarray(model.transform(np.abs(X)))).all()


@named(AT_ONCE)
def test_order_of_the_rows_does_not_matter(method: Any, blobs: Any) -> None:
    X, y = blobs
    known = knowledge_for(method, y)
    order = np.random.default_rng(0).permutation(len(X))
    one = make(method, tol=1e-7, max_iter=5000).fit(X, constraints=known)
    other = make(method, tol=1e-7, max_iter=5000).fit(X[order], constraints=known[order])
    left, right = np.asarray(one.transform(X)), np.asarray(other.transform(X))
    assert left.shape == right.shape
    gaps = [np.linalg.norm(m[:40, None] - m[None, :40], axis=2) for m in (left, right)]
    np.testing.assert_allclose(gaps[0], gaps[1], rtol=1e-4, atol=1e-6 * gaps[0].max())
