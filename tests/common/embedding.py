"""Checks of estimators that place rows on a map."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import sklearn
from scipy import sparse
from scipy.spatial.distance import pdist
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from tests.common.applies import applies_to
from tests.common.models import K, data_for, fitted, knowledge_for, make

from sidelight import engine
from sidelight.catalog import Method
from sidelight.cluster import KMeans

#: Coordinates of rows of the fit, by the extension to new rows: part of the size of the map.
CLOSE = 1e-5


def assert_same_places(found: Any, wanted: Any, share: float = CLOSE) -> None:
    """Assert that coordinates agree, up to a share of the extent of the map."""
    extent = max(float(np.ptp(wanted, axis=0).max()), 1e-12)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=share * extent)


def check_coordinates(method: Method) -> None:
    data, model = data_for(method), fitted(method)
    assert model.embedding_.shape == (len(data.X), 2)
    assert model.embedding_.dtype == data.X.dtype
    assert np.isfinite(model.embedding_).all()
    assert len(model.get_feature_names_out()) == 2
    assert "2 coordinates" in model.summary().split("\n")[3]


def check_rows_of_the_fit_stay_where_they_are(method: Method) -> None:
    data, model = data_for(method), fitted(method)
    mapped = model.transform(data.X)
    assert_same_places(mapped, model.embedding_)
    assert_same_places(model.transform(data.X[:7]), mapped[:7], 1e-9)
    direct = make(method).fit_transform(data.X, constraints=data.known)
    np.testing.assert_array_equal(direct, model.embedding_)


def check_new_rows_are_placed_one_by_one(method: Method) -> None:
    """Where a new row goes does not depend on the rows that come with it."""
    data, model = data_for(method), fitted(method)
    rng = np.random.default_rng(0)
    new = np.abs(data.X[:20] + rng.normal(scale=0.3, size=(20, data.X.shape[1])))
    together = model.transform(new)
    assert np.isfinite(together).all()
    one_by_one = np.vstack([model.transform(row[None]) for row in new])
    assert_same_places(one_by_one, together, 1e-6)


def check_precision_is_kept(method: Method) -> None:
    data = data_for(method)
    single = make(method).fit(data.X.astype(np.float32), constraints=data.known)
    assert single.embedding_.dtype == np.float32
    for dtype, model in ((np.float32, single), (np.float64, fitted(method))):
        mapped = model.transform(data.X.astype(dtype))
        assert mapped.dtype == dtype
        assert np.isfinite(mapped).all()


def check_any_number_of_threads(method: Method) -> None:
    data = data_for(method)
    for n_threads in (1, 3):
        with engine.threads(n_threads):
            model = make(method).fit(data.X, constraints=data.known)
        np.testing.assert_array_equal(model.embedding_, fitted(method).embedding_)


@applies_to(lambda method: method.tags.sparse)
def check_sparse_equals_dense(method: Method) -> None:
    data = data_for(method)
    thinned = np.where(np.random.default_rng(0).uniform(size=data.X.shape) < 0.4, 0.0, data.X)
    dense = make(method).fit(thinned, constraints=data.known).embedding_
    for kind in (sparse.csr_matrix, sparse.csr_array):
        thin = make(method).fit(kind(thinned), constraints=data.known).embedding_
        assert_same_places(thin, dense)


def check_metadata_routing_carries_constraints(method: Method) -> None:
    data = data_for(method)
    with sklearn.config_context(enable_metadata_routing=True):
        step = make(method).set_fit_request(constraints=True)
        last = KMeans(K, random_state=0).set_fit_request(constraints=True)
        pipeline = make_pipeline(MinMaxScaler((1, 2)), step, last)
        pipeline.fit(data.X, constraints=data.known)
    scaled = MinMaxScaler((1, 2)).fit_transform(data.X)
    direct = make(method).fit(scaled, constraints=data.known).embedding_
    labels = KMeans(K, random_state=0).fit(direct).labels_
    np.testing.assert_array_equal(pipeline[-1].labels_, labels)


def check_constant_features_and_duplicated_rows_give_finite_places(method: Method) -> None:
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(20, 3)), 2, axis=0)
    X[:, 1] = 4.0
    y = np.repeat(rng.integers(0, 2, 20), 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = make(method).fit(np.abs(X), constraints=knowledge_for(method, y, n=40))
    assert np.isfinite(model.embedding_).all()
    assert np.isfinite(model.transform(np.abs(X))).all()


@applies_to(lambda method: method.tags.kind == "embedding" and method.family == "manifold")
def check_order_of_the_rows_does_not_matter(method: Method) -> None:
    """The map is the same up to a rotation, unless the order is that of a stream."""
    if hasattr(method.cls, "partial_fit") or "random_state" in method.cls().get_params():
        return
    data = data_for(method)
    order = np.random.default_rng(0).permutation(len(data.X))
    one = make(method).fit(data.X, constraints=data.known).embedding_[order]
    other = make(method).fit(data.X[order], constraints=data.known[order]).embedding_
    first, second = pdist(one[:40]), pdist(other[:40])
    np.testing.assert_allclose(first, second, rtol=1e-4, atol=1e-4 * first.max())
