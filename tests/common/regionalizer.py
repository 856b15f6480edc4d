"""Checks of estimators whose clusters are connected in a graph."""

from __future__ import annotations

import functools
from typing import Any

import networkx as nx
import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from sklearn.neighbors import kneighbors_graph
from tests.common.applies import applies_to, has
from tests.common.models import K, blobs, data_for, fitted, make

from sidelight import Relations, engine
from sidelight.catalog import Method
from sidelight.exceptions import SidelightError


@functools.cache
def neighbors() -> Relations:
    """The shared rows, each with its nearest ones, and a path through all of them."""
    X, _ = blobs()
    path = sparse.eye(len(X), k=1)
    return Relations.from_matrix(sparse.triu(kneighbors_graph(X, 4).maximum(path + path.T), 1))


@functools.cache
def connected(method: Method) -> Any:
    return make(method).fit(blobs()[0], relations=neighbors())


def assert_connected(labels: np.ndarray, relations: Relations) -> None:
    graph = relations.matrix()
    for cluster in range(labels.max() + 1):
        members = np.flatnonzero(labels == cluster)
        assert len(members)
        assert connected_components(graph[members][:, members], directed=False)[0] == 1


def check_clusters_are_connected(method: Method) -> None:
    assert_connected(connected(method).labels_, neighbors())
    assert set(np.unique(connected(method).labels_)) == set(range(K))


def check_without_a_graph_all_clusters_are_there(method: Method) -> None:
    assert set(np.unique(fitted(method).labels_)) == set(range(K))


def check_forms_of_the_same_graph(method: Method) -> None:
    X, _ = blobs()
    matrix = neighbors().matrix()
    for given in (matrix, matrix.toarray(), nx.from_scipy_sparse_array(matrix), neighbors().edges):
        model = make(method).fit(X, relations=given)
        np.testing.assert_array_equal(model.labels_, connected(method).labels_)


def check_any_number_of_threads(method: Method) -> None:
    for n_threads in (1, 3):
        with engine.threads(n_threads):
            model = make(method).fit(blobs()[0], relations=neighbors())
        np.testing.assert_array_equal(model.labels_, connected(method).labels_)
        np.testing.assert_array_equal(model.history_, connected(method).history_)


def check_disconnected_graphs(method: Method) -> None:
    X, _ = blobs()
    parts = Relations([(i, i + 1) for i in range(len(X) - 1) if i % 40 != 39], n_samples=len(X))
    assert_connected(make(method).fit(X, relations=parts).labels_, parts)
    with pytest.raises(SidelightError, match="4 components"):
        make(method, n_clusters=3).fit(X, relations=parts)


def check_relations_about_other_rows(method: Method) -> None:
    with pytest.raises(SidelightError, match=r"about 10 objects but X has"):
        make(method).fit(data_for(method).X, relations=Relations([(0, 1)], n_samples=10))


def check_wrong_numbers_of_clusters(method: Method) -> None:
    X = data_for(method).X
    with pytest.raises(ValueError, match=r"n_samples=3 should be >= n_clusters=4"):
        make(method).fit(X[:3])
    with pytest.raises(ValueError, match="at least 1"):
        make(method, n_clusters=0).fit(X)


def check_single_row_and_equal_rows(method: Method) -> None:
    assert list(make(method, n_clusters=1).fit([[1.0, 2.0]]).labels_) == [0]
    X = np.repeat([[1.0, 5.0], [2.0, 5.0]], 20, axis=0)
    two = make(method, n_clusters=2).fit(X)
    assert len(np.unique(two.labels_[:20])) == len(np.unique(two.labels_[20:])) == 1
    assert np.isfinite(make(method, n_clusters=3).fit(X).objective_)


@applies_to(has("predict"))
def check_predict(method: Method) -> None:
    X, model = data_for(method).X, connected(method)
    labels = model.predict(X)
    assert labels.shape == (len(X),)
    assert labels.dtype == model.labels_.dtype
    assert set(np.unique(labels)) <= set(range(K))
    np.testing.assert_array_equal(model.predict(X[:7]), labels[:7])
