"""Sparse matrices of distances: what is stored, what is not, and what cannot be read."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.neighbors import KNeighborsTransformer, RadiusNeighborsTransformer

from sidelight import Constraints
from sidelight.exceptions import SidelightError
from sidelight.graphs import distance_graph, nearest_rows
from sidelight.graphs._precomputed import join_both_ways, read_distance_graph, read_neighbors

X = np.random.default_rng(0).normal(size=(40, 3))


def stored(entries: dict[tuple[int, int], float], n: int = 3) -> sparse.csr_array:
    rows, columns = zip(*entries, strict=True)
    return sparse.csr_array((list(entries.values()), (rows, columns)), shape=(n, n))


@pytest.mark.parametrize("n_neighbors", [1, 4, 10])
def test_a_neighbor_graph_of_scikit_learn_is_read_as_the_rows_would_be(n_neighbors: int) -> None:
    # It is directed, and stores a distance of 0 from every row to itself.
    given_graph = KNeighborsTransformer(n_neighbors=n_neighbors).fit_transform(X)
    expected = distance_graph(X, n_neighbors=n_neighbors)
    for wanted in (None, n_neighbors):
        read = read_distance_graph(given_graph, wanted)
        np.testing.assert_allclose(read.toarray(), expected.toarray(), atol=1e-12)
    distances, targets = nearest_rows(X, n_neighbors)
    lengths, places = read_neighbors(given_graph, n_neighbors)
    np.testing.assert_allclose(lengths, distances, atol=1e-12)
    np.testing.assert_array_equal(places, targets)


def test_the_nearest_of_more_that_are_stored_count() -> None:
    within = RadiusNeighborsTransformer(radius=2.5).fit_transform(X)
    fewest = int(np.diff(within.indptr).min()) - 1
    assert fewest >= 2
    np.testing.assert_allclose(
        read_distance_graph(within, 2).toarray(), distance_graph(X, n_neighbors=2).toarray()
    )
    np.testing.assert_array_equal(read_neighbors(within, 2)[1], nearest_rows(X, 2)[1])


def test_a_stored_zero_is_a_distance_and_what_is_not_stored_is_none() -> None:
    graph = read_distance_graph(stored({(0, 1): 0.0, (1, 2): 2.0, (2, 2): 0.0}))
    assert graph.nnz == 4  # both ends of two edges
    assert sorted(zip(*sparse.coo_array(graph).coords, strict=True)) == [
        (0, 1),
        (1, 0),
        (1, 2),
        (2, 1),
    ]
    assert graph[0, 1] == 0
    assert graph[2, 1] == 2


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 4))
def test_directed_lists_are_joined_by_union(seed: int, n_neighbors: int) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 4, size=(9, 2)).astype(float)  # with ties, and rows that are the same
    D = cdist(rows, rows)
    graph = KNeighborsTransformer(n_neighbors=n_neighbors).fit_transform(rows)
    directed = {(i, j) for i, j in zip(*sparse.coo_array(graph).coords, strict=True) if i != j}
    read = sparse.coo_array(read_distance_graph(graph))
    joined = set(zip(*(ends.tolist() for ends in read.coords), strict=True))
    assert joined == directed | {(j, i) for i, j in directed}
    np.testing.assert_allclose(read.data, D[read.coords])


def test_new_rows_store_their_neighbors_among_those_of_the_fit() -> None:
    transformer = KNeighborsTransformer(n_neighbors=4).fit(X[:30])
    lengths, places = read_neighbors(transformer.transform(X[30:]), 4, square=False)
    D = cdist(X[30:], X[:30])
    np.testing.assert_array_equal(places, np.argsort(D, axis=1)[:, :4])
    np.testing.assert_allclose(lengths, np.sort(D, axis=1)[:, :4])


def test_what_cannot_be_read_is_told_by_name() -> None:
    names = Constraints(n_samples=3, ids=["ann", "bob", "cy"]).name_rows
    line = {(0, 1): 1.0, (1, 2): 2.0, (2, 1): 2.0}
    with pytest.raises(SidelightError, match="'ann' stores the distances of 1 other row only"):
        read_neighbors(stored(line), 2, name_rows=names)
    with pytest.raises(SidelightError, match="row 0 stores the distances of 1 other row only"):
        read_distance_graph(stored(line), 2)
    with pytest.raises(SidelightError, match=r"between 'ann' and 'bob' is -1; distances are"):
        read_distance_graph(stored(line | {(0, 1): -1.0}), name_rows=names)
    with pytest.raises(SidelightError, match="is nan; distances are finite"):
        read_distance_graph(stored(line | {(0, 1): np.nan}))
    with pytest.raises(SidelightError, match="'bob' and 'cy' is stored as 2 and as 3"):
        read_distance_graph(stored(line | {(2, 1): 3.0}), name_rows=names)
    with pytest.raises(SidelightError, match="of 'cy' to itself is 1, not 0"):
        read_distance_graph(stored(line | {(2, 2): 1.0}), name_rows=names)
    with pytest.raises(SidelightError, match="got 2 x 3"):
        read_distance_graph(sparse.csr_array((2, 3)))


def test_similarities_that_are_stored_one_way_get_the_way_back() -> None:
    W = stored({(0, 1): 2.0, (1, 2): 3.0, (2, 1): 3.0})
    np.testing.assert_array_equal(join_both_ways(W).toarray(), [[0, 2, 0], [2, 0, 3], [0, 3, 0]])
    assert join_both_ways(stored({(0, 1): 2.0, (1, 0): 5.0}))[0, 1] == 2  # for a check to refuse
