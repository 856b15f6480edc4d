"""Maps of neighbor graphs that were computed elsewhere: sparse, directed, with stored zeros."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn import manifold as theirs
from sklearn.neighbors import KNeighborsTransformer, RadiusNeighborsTransformer
from tests.manifold.spectral.sheets import assert_same_up_to_sign, roll

from sidelight import Constraints
from sidelight.exceptions import EmbeddingWarning, SidelightError
from sidelight.manifold import (
    ClassicalScaling,
    Isomap,
    LandmarkIsomap,
    LaplacianEigenmap,
    SammonMapping,
)

MAPS: list[Any] = [
    Isomap(),
    Isomap(conformal=True),
    LandmarkIsomap(random_state=0),
    LaplacianEigenmap(),
    LaplacianEigenmap(weights="heat"),
]


@pytest.mark.parametrize("plain", MAPS, ids=str)
def test_graph_of_scikit_learn_gives_the_map_of_the_rows(plain: Any) -> None:
    X, new = roll(300)[0], roll(20, seed=1)[0]
    neighbors = KNeighborsTransformer(n_neighbors=10).fit(X)
    given = type(plain)(**plain.get_params() | {"metric": "precomputed"})
    found = given.fit(neighbors.transform(X)).embedding_
    extent = np.ptp(plain.fit(X).embedding_)
    np.testing.assert_allclose(found, plain.embedding_, atol=1e-7 * extent)
    # It stores one neighbor more of new rows, for rows of the fit that are their own neighbors.
    lists = neighbors.kneighbors_graph(new, 10, mode="distance")
    np.testing.assert_allclose(given.transform(lists), plain.transform(new), atol=1e-7 * extent)
    np.testing.assert_array_equal(given.transform(neighbors.transform(X[:9])), found[:9])


def test_isomap_of_a_graph_is_that_of_scikit_learn() -> None:
    X = roll(250)[0]
    graph = RadiusNeighborsTransformer(radius=8.0).fit_transform(X)
    peer = theirs.Isomap(n_neighbors=None, radius=8.0, metric="precomputed").fit(graph)
    model = Isomap(metric="precomputed").fit(graph)
    assert_same_up_to_sign(model.embedding_, peer.embedding_, 1e-6)
    assert model.reconstruction_error() == pytest.approx(peer.reconstruction_error(), rel=1e-6)


def test_rows_that_are_the_same_are_joined_by_a_stored_zero() -> None:
    X = np.repeat(roll(40)[0], 2, axis=0)
    graph = KNeighborsTransformer(n_neighbors=8).fit_transform(X)
    model = Isomap(metric="precomputed").fit(graph)
    assert np.all(model.geodesics_[::2, 1::2].diagonal() == 0)
    np.testing.assert_allclose(model.embedding_[::2], model.embedding_[1::2], atol=1e-9)


def test_pairs_are_measured_along_edges_stored_in_either_direction() -> None:
    line = np.arange(6.0)[:, None]
    upper = sparse.csr_array(sparse.triu(KNeighborsTransformer(n_neighbors=2).fit_transform(line)))
    lower = sparse.csr_array(upper.T)
    known = Constraints([(0, 1)], [(2, 4)], n_samples=6)
    graphs = [Isomap(1, metric="precomputed").fit(one, constraints=known) for one in (upper, lower)]
    np.testing.assert_array_equal(graphs[0].graph_.toarray(), graphs[1].graph_.toarray())
    assert graphs[0].graph_[0, 1] == pytest.approx(0.1)


def test_what_a_graph_cannot_say_is_told() -> None:
    X = roll(50)[0]
    graph = KNeighborsTransformer(n_neighbors=4).fit_transform(X)
    for method in (SammonMapping, ClassicalScaling):
        with pytest.raises(SidelightError, match=r"between all rows"):
            method(metric="precomputed").fit(graph)
    names = [f"row {chr(97 + i)}" for i in range(3)]
    entries = ([1.0, 2.0, 3.0], ([0, 1, 2], [1, 2, 1]))
    skew = sparse.csr_array(entries, shape=(3, 3))
    known = Constraints(n_samples=3, ids=names)
    with pytest.raises(SidelightError, match="'row b' and 'row c' is stored as 2 and as 3"):
        Isomap(1, metric="precomputed").fit(skew, constraints=known)
    parts = sparse.block_array([[graph, None], [None, graph]]).tocsr()
    with pytest.raises(SidelightError, match="does not tell how far"):
        Isomap(metric="precomputed").fit(parts)
    with pytest.warns(EmbeddingWarning, match="no coordinates"):
        half = Isomap(metric="precomputed", disconnected="largest").fit(parts)
    assert np.isnan(half.embedding_[50:]).all()
