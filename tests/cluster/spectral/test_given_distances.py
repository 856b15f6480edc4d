"""Graphs of given distances: dense, or those of neighbors only, stored one way."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.datasets import make_blobs
from sklearn.neighbors import KNeighborsTransformer

from sidelight import Constraints, catalog
from sidelight.cluster import SpectralClustering
from sidelight.exceptions import SidelightError

METHODS = [
    m.cls for m in catalog.methods() if "spectral" in m.cls.__module__ and m.family == "cluster"
]
X, Y = make_blobs(120, centers=3, cluster_std=2.0, random_state=4)
NEW = make_blobs(30, centers=3, cluster_std=2.0, random_state=5)[0]


@pytest.mark.filterwarnings("ignore::sidelight.exceptions.UnusedKnowledge")
@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.__name__)
@pytest.mark.parametrize("dense", [True, False])
def test_distances_give_the_clusters_of_the_rows(method: type, dense: bool) -> None:
    known = Constraints.sample(Y, 40, random_state=0)
    rows = method(3, random_state=0).fit(X, constraints=known)
    neighbors = KNeighborsTransformer(n_neighbors=10).fit(X)
    given = cdist(X, X) if dense else neighbors.transform(X)
    new = cdist(NEW, X) if dense else neighbors.transform(NEW)
    model = method(3, graph="distances", random_state=0).fit(given, constraints=known)
    np.testing.assert_array_equal(model.labels_, rows.labels_)
    assert model.objective_ == pytest.approx(rows.objective_, rel=1e-9)
    np.testing.assert_array_equal(model.predict(new), rows.predict(NEW))


def test_directed_similarities_count_both_ways() -> None:
    W = sparse.csr_array(np.where(cdist(X, X) < 4, np.exp(-cdist(X, X)), 0.0))
    both = SpectralClustering(3, graph="precomputed", random_state=0).fit(W)
    one = SpectralClustering(3, graph="precomputed", random_state=0).fit(sparse.triu(W).tocsr())
    np.testing.assert_array_equal(one.labels_, both.labels_)


def test_what_distances_cannot_say_is_told() -> None:
    given = KNeighborsTransformer(n_neighbors=5).fit_transform(X)
    with pytest.raises(SidelightError, match="stores the distances of 5 other rows only"):
        SpectralClustering(3, graph="distances").fit(given)
    with pytest.raises(SidelightError, match="give some widths"):
        SpectralClustering(
            3, graph="distances", weights="gaussian", sigma="distortion", n_neighbors=5
        ).fit(given)
    with pytest.raises(SidelightError, match="Cosines of rows"):
        SpectralClustering(3, graph="distances", weights="cosine", n_neighbors=5).fit(given)
