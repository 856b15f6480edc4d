"""Checks of estimators that give every row new features."""

from __future__ import annotations

import warnings

import numpy as np
import sklearn
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from tests.common.applies import applies_to
from tests.common.models import K, data_for, fitted, knowledge_for, make, takes

from sidelight import engine
from sidelight.catalog import Method
from sidelight.cluster import KMeans


def check_transform(method: Method) -> None:
    data, model = data_for(method), fitted(method)
    mapped = model.transform(data.X)
    assert mapped.shape[0] == len(data.X)
    assert np.isfinite(mapped).all()
    assert len(model.get_feature_names_out()) == mapped.shape[1]
    np.testing.assert_allclose(model.transform(data.X[:7]), mapped[:7], rtol=1e-12)


def check_fit_transform(method: Method) -> None:
    data = data_for(method)
    mapped = make(method).fit_transform(data.X, constraints=data.known)
    np.testing.assert_array_equal(mapped, fitted(method).transform(data.X))


def check_precision_is_kept(method: Method) -> None:
    data = data_for(method)
    single = make(method).fit(data.X.astype(np.float32), constraints=data.known)
    for dtype, model in ((np.float32, single), (np.float64, fitted(method))):
        mapped = model.transform(data.X.astype(dtype))
        assert mapped.dtype == dtype
        assert np.isfinite(mapped).all()


def check_summary_counts_features(method: Method) -> None:
    model = fitted(method)
    n = len(model.get_feature_names_out())
    assert f"{n} feature" in model.summary().split("\n")[3]


def check_any_number_of_threads(method: Method) -> None:
    data = data_for(method)
    for n_threads in (1, 3):
        with engine.threads(n_threads):
            model = make(method).fit(data.X, constraints=data.known)
        np.testing.assert_array_equal(model.transform(data.X), fitted(method).transform(data.X))


@applies_to(lambda method: method.tags.sparse)
def check_sparse_equals_dense(method: Method) -> None:
    data = data_for(method)
    thinned = np.where(np.random.default_rng(0).uniform(size=data.X.shape) < 0.4, 0.0, data.X)
    dense = make(method).fit(thinned, constraints=data.known).transform(thinned)
    for kind in (sparse.csr_matrix, sparse.csr_array):
        thin = make(method).fit(kind(thinned), constraints=data.known).transform(kind(thinned))
        plain = thin.toarray() if sparse.issparse(thin) else thin
        np.testing.assert_allclose(plain, dense, rtol=1e-6, atol=1e-8)


def check_metadata_routing_carries_constraints(method: Method) -> None:
    data = data_for(method)
    with sklearn.config_context(enable_metadata_routing=True):
        step = make(method).set_fit_request(constraints=True)
        last = KMeans(K, random_state=0).set_fit_request(constraints=True)
        pipeline = make_pipeline(MinMaxScaler((1, 2)), step, last)
        pipeline.fit(data.X, constraints=data.known)
    scaled = MinMaxScaler((1, 2)).fit_transform(data.X)
    direct = make(method).fit(scaled, constraints=data.known).transform(scaled)
    labels = KMeans(K, random_state=0).fit(direct).labels_
    np.testing.assert_array_equal(pipeline[-1].labels_, labels)


def check_constant_features_and_duplicated_rows_give_finite_features(method: Method) -> None:
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(20, 3)), 2, axis=0)
    X[:, 1] = 4.0
    y = np.repeat(rng.integers(0, 2, 20), 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = make(method).fit(np.abs(X), constraints=knowledge_for(method, y, n=40))
    assert np.isfinite(np.asarray(model.transform(np.abs(X)))).all()


def learns_from_pairs_at_once(method: Method) -> bool:
    """Others see pairs one after the other, in epochs."""
    pairs = {"must-link", "cannot-link"} & set(method.tags.knowledge)
    return bool(pairs) and not takes(method, "n_epochs")


@applies_to(learns_from_pairs_at_once)
def check_order_of_the_rows_does_not_matter(method: Method) -> None:
    data = data_for(method)
    order = np.random.default_rng(0).permutation(len(data.X))
    one = make(method, tol=1e-7, max_iter=5000).fit(data.X, constraints=data.known)
    other = make(method, tol=1e-7, max_iter=5000).fit(data.X[order], constraints=data.known[order])
    left, right = (np.asarray(model.transform(data.X)) for model in (one, other))
    assert left.shape == right.shape
    first, second = (np.linalg.norm(m[:40, None] - m[None, :40], axis=2) for m in (left, right))
    np.testing.assert_allclose(first, second, rtol=1e-4, atol=1e-6 * first.max())
