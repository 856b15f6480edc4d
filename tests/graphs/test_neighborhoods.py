"""Neighborhood graphs of distances, their parts, and what constraints do to them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.sparse.csgraph import connected_components, dijkstra, minimum_spanning_tree
from scipy.spatial.distance import cdist
from tests.graphs.indices import with_small_indices
from tests.strategies import SEEDS

from sidelight import Constraints, engine
from sidelight.constraints import known_pairs
from sidelight.exceptions import EmbeddingWarning, SidelightError
from sidelight.graphs import (
    check_distances,
    constrain_graph,
    distance_graph,
    geodesics,
    join_parts,
    nearest_rows,
)
from sidelight.graphs.inner import bridges

RNG = np.random.default_rng(0)


def neighbors_by_force(X: np.ndarray, k: int) -> np.ndarray:
    """Nearest others by (distance, index)."""
    D = cdist(X, X)
    return np.array(
        [
            sorted((j for j in range(len(X)) if j != i), key=lambda j: (D[i, j], j))[:k]
            for i in range(len(X))
        ]
    )


def edges(graph: sparse.csr_array) -> set[tuple[int, int]]:
    stored = sparse.coo_array(graph)
    return set(zip(stored.row.tolist(), stored.col.tolist(), strict=True))


@given(
    st.integers(0, 10_000), st.integers(1, 9), st.sampled_from([1, 2, 20]), st.sampled_from([2, 50])
)
@settings(max_examples=40, deadline=None)
def test_nearest_rows_are_those_by_force_with_ties_in_order(
    seed: int, k: int, width: int, values: int
) -> None:
    """Whole numbers of few values: many ties, many duplicates."""
    X = np.random.default_rng(seed).integers(0, values, (25, width)).astype(float)
    distances, targets = nearest_rows(X, k)
    np.testing.assert_array_equal(targets, neighbors_by_force(X, k))
    np.testing.assert_array_equal(distances, np.take_along_axis(cdist(X, X), targets, 1))


def test_graph_is_the_symmetric_union_with_distances() -> None:
    X = RNG.normal(size=(60, 3))
    graph = distance_graph(X, n_neighbors=4)
    wanted = {(i, j) for i, row in enumerate(neighbors_by_force(X, 4)) for j in row}
    assert edges(graph) == wanted | {(j, i) for i, j in wanted}
    stored = sparse.coo_array(graph)
    np.testing.assert_allclose(stored.data, cdist(X, X)[stored.row, stored.col], rtol=1e-14)
    thin = distance_graph(sparse.csr_array(X), n_neighbors=4)
    assert edges(thin) == edges(graph)
    np.testing.assert_allclose(thin.data, graph.data, rtol=1e-12)


def test_rows_far_from_the_origin_keep_their_distances() -> None:
    X = RNG.normal(size=(40, 30))  # many columns: the search works with products
    near, far = distance_graph(X, n_neighbors=3), distance_graph(X + 1e6, n_neighbors=3)
    assert edges(near) == edges(far)
    np.testing.assert_allclose(far.data, near.data, rtol=1e-8)


def test_duplicates_are_joined_by_stored_zeros() -> None:
    X = np.array([[0.0], [0.0], [1.0]])
    graph = distance_graph(X, n_neighbors=1)
    assert edges(graph) == {(0, 1), (1, 0), (2, 0), (0, 2)}
    assert graph[0, 1] == 0.0
    assert graph.nnz == 4
    assert np.isfinite(geodesics(graph)).all()


def test_more_neighbors_than_rows_join_all() -> None:
    X = RNG.normal(size=(6, 2))
    np.testing.assert_allclose(distance_graph(X, n_neighbors=50).toarray(), cdist(X, X))
    np.testing.assert_allclose(
        distance_graph(cdist(X, X), n_neighbors=50, metric="precomputed").toarray(), cdist(X, X)
    )


def test_radius_is_open() -> None:
    X = np.arange(5.0)[:, None]
    assert edges(distance_graph(X, radius=1.0)) == set()
    assert edges(distance_graph(X, radius=1.0001)) == {
        (i, j) for i in range(5) for j in range(5) if abs(i - j) == 1
    }
    D = cdist(X, X)
    assert edges(distance_graph(D, radius=2.5, metric="precomputed")) == edges(
        distance_graph(X, radius=2.5)
    )


@pytest.mark.parametrize("k", [1, 3, 7])
def test_precomputed_distances_give_the_same_graph(k: int) -> None:
    X = RNG.integers(0, 4, (30, 2)).astype(float)
    graph = distance_graph(X, n_neighbors=k)
    D = cdist(X, X)
    for given_distances in (D, sparse.csr_array(np.where(D == 0, 0, D))):
        if sparse.issparse(given_distances):
            rows = RNG.normal(size=(30, 2))  # no zeros: a sparse matrix would not store them
            graph = distance_graph(rows, n_neighbors=k)
            given_distances = sparse.csr_array(cdist(rows, rows))
        found = distance_graph(given_distances, n_neighbors=k, metric="precomputed")
        assert edges(found) == edges(graph)
        np.testing.assert_allclose(found.data, graph.data)


def test_stored_distances_are_the_graph_itself() -> None:
    graph = distance_graph(np.array([[0.0], [0.0], [1.0], [3.0]]), n_neighbors=1)
    again = distance_graph(graph, metric="precomputed")
    assert edges(again) == edges(graph)
    np.testing.assert_array_equal(again.toarray(), graph.toarray())


@pytest.mark.parametrize(
    ("distances", "words"),
    [
        (np.zeros((2, 3)), "square"),
        ([[0.0, -1.0], [-1.0, 0.0]], "rows 0 and 1 is -1"),
        ([[0.0, np.nan], [np.nan, 0.0]], "rows 0 and 1 is nan"),
        ([[0.0, 1.0], [2.0, 0.0]], "from row 0 to row 1 is 1, but back it is 2"),
        ([[1.0, 0.5], [0.5, 1.0]], "row 0 to itself is 1"),
        (sparse.csr_array([[0.0, 1.0], [2.0, 0.0]]), "back it is 2"),
        (sparse.csr_array([[0.0, np.inf], [np.inf, 0.0]]), "rows 0 and 1 is inf"),
    ],
)
def test_matrices_that_are_no_distances_are_refused(distances: object, words: str) -> None:
    with pytest.raises(SidelightError, match=words):
        check_distances(distances)


def test_neighbors_or_radius() -> None:
    X = np.zeros((3, 1))
    with pytest.raises(ValueError, match="not both"):
        distance_graph(X, n_neighbors=1, radius=1.0)
    with pytest.raises(ValueError, match="which rows"):
        distance_graph(X)
    with pytest.raises(ValueError, match="at least 1, got 0"):
        distance_graph(X, n_neighbors=0)


@given(st.integers(0, 10_000), st.integers(1, 3))
@settings(max_examples=30, deadline=None)
def test_shortest_paths_are_those_of_scipy(seed: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 6, (30, 2)).astype(float)
    graph = distance_graph(X, n_neighbors=k)
    trees = np.empty((30, 30), np.int32)
    found = geodesics(graph, predecessors=trees)
    np.testing.assert_allclose(
        found, dijkstra(with_small_indices(graph), directed=True), atol=1e-12
    )
    for i, j in np.argwhere(trees >= 0):  # every tree ends at its source, edge by edge
        before = trees[i, j]
        np.testing.assert_allclose(found[i, before] + graph[before, j], found[i, j])
        steps = 0
        while j != i:
            j, steps = trees[i, j], steps + 1
            assert steps <= 30
    assert np.all((trees >= 0) == (np.isfinite(found) & ~np.eye(30, dtype=bool)))


def test_some_sources_any_number_of_threads() -> None:
    graph = distance_graph(RNG.normal(size=(300, 2)), n_neighbors=8)
    everything = geodesics(graph)
    for n_threads in (1, 2, 3):
        with engine.threads(n_threads):
            np.testing.assert_array_equal(geodesics(graph, [5, 299]), everything[[5, 299]])
            np.testing.assert_array_equal(geodesics(graph), everything)


@pytest.mark.parametrize("metric", ["euclidean", "precomputed"])
@pytest.mark.parametrize("sizes", [(40, 3, 1), (150, 90, 80), (1,) * 12])
def test_bridges_are_those_of_the_minimum_spanning_tree(
    sizes: tuple[int, ...], metric: str
) -> None:
    """The parts with their shortest distances to each other: the bridges are its tree."""
    rng = np.random.default_rng(1)
    X = np.vstack([rng.uniform(size=(s, 2)) + 30 * rng.normal(size=2) for s in sizes])
    part = np.repeat(np.arange(len(sizes)), sizes)
    graph = distance_graph(X, radius=0.9)
    assert connected_components(graph)[0] == len(sizes)
    D = cdist(X, X)
    between = np.array(
        [[D[part == a][:, part == b].min() for b in range(len(sizes))] for a in range(len(sizes))]
    )
    with pytest.warns(EmbeddingWarning, match=f"falls into {len(sizes)} parts of"):
        joined, kept = join_parts(graph, X if metric == "euclidean" else D, metric=metric)
    assert connected_components(joined)[0] == 1
    np.testing.assert_array_equal(kept, np.arange(len(X)))
    new = sparse.coo_array(joined)
    bridges = new.data[part[new.row] != part[new.col]]
    np.testing.assert_allclose(
        np.sort(bridges), np.sort(np.repeat(minimum_spanning_tree(between).data, 2))
    )


@settings(max_examples=60, deadline=None)
@given(seed=SEEDS, metric=st.sampled_from(["euclidean", "precomputed"]), sparse_rows=st.booleans())
def test_bridges_with_tied_lengths_are_those_of_the_first_rows(
    seed: int, metric: str, sparse_rows: bool
) -> None:
    """Kruskal's search over all pairs, by length and position: n - 1 links of n parts."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, rng.integers(2, 7), (rng.integers(2, 60), 2)).astype(float)
    n_parts = int(rng.integers(1, 10))
    part = np.unique(rng.integers(0, n_parts, len(X)), return_inverse=True)[1].ravel()
    D = cdist(X, X)
    joined, wanted = part.copy(), []
    pairs = [(i, j) for i in range(len(X)) for j in range(i)]
    for i, j in sorted(pairs, key=lambda pair: (D[pair], *pair[::-1])):
        if joined[i] != joined[j]:
            joined[joined == joined[i]] = joined[j]
            wanted.append((j, i))
    rows = sparse.csr_array(X) if sparse_rows else X
    for small in (0, 3, 64):
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr("sidelight.graphs._bridges.SMALL_PART", small)
            first, second, lengths = bridges(rows if metric == "euclidean" else D, part, metric)
        found = list(zip(first.tolist(), second.tolist(), strict=True))
        assert sorted(found) == sorted(wanted)
        np.testing.assert_array_equal(lengths, D[first, second])


def test_other_ways_with_parts() -> None:
    X = np.array([[0.0], [1.0], [2.0], [50.0], [51.0]])
    graph = distance_graph(X, radius=1.5)
    with pytest.warns(EmbeddingWarning, match="2 parts of 3 and 2 rows; the 2 rows outside"):
        small, kept = join_parts(graph, X, "largest")
    np.testing.assert_array_equal(kept, [0, 1, 2])
    np.testing.assert_array_equal(small.toarray(), graph.toarray()[:3, :3])
    with pytest.raises(SidelightError, match="2 parts of 3 and 2 rows"):
        join_parts(graph, X, "raise")
    with pytest.raises(SidelightError, match="does not tell how far"):
        join_parts(graph, graph, metric="precomputed")
    whole = distance_graph(X, n_neighbors=4)
    assert join_parts(whole, X, "raise")[0] is whole


def test_must_links_shorten_by_their_weight() -> None:
    X = np.array([[0.0], [1.0], [3.0], [7.0]])
    graph = distance_graph(X, n_neighbors=1)
    known = Constraints(must_link=[(0, 3), (0, 1)], must_link_weight=[2.0, 1.0], n_samples=4)
    found = constrain_graph(graph, X, known_pairs(known))
    assert found[0, 3] == found[3, 0] == pytest.approx(7 / 19)
    assert found[0, 1] == pytest.approx(0.1)
    assert found[1, 2] == 2.0
    same = constrain_graph(graph, cdist(X, X), known_pairs(known), metric="precomputed")
    np.testing.assert_allclose(same.toarray(), found.toarray())


def test_cannot_links_cut_the_edges_between_neighborhoods() -> None:
    """Two lines of rows, joined at one end: a link across cuts the rungs beside it."""
    line = np.arange(10.0)
    X = np.vstack([np.column_stack([line, 0 * line]), np.column_stack([line, 0 * line + 2.0])])
    graph = distance_graph(X, radius=2.1)
    known = Constraints(cannot_link=[(5, 15)], n_samples=20)
    found = constrain_graph(graph, X, known_pairs(known))
    gone = {pair for pair in edges(graph) - edges(found) if pair[0] < pair[1]}
    assert (5, 15) in gone
    assert {(4, 14), (6, 16)} <= gone  # 1 + 1 away, at most the 2 of the link
    assert all((i < 10) != (j < 10) for i, j in gone)  # no edge along a line
    assert (3, 13) not in gone
    wider = Constraints(cannot_link=[(5, 15)], cannot_link_weight=[2.0], n_samples=20)
    assert (3, 13) not in edges(constrain_graph(graph, X, known_pairs(wider)))
    assert edges(found) == {(j, i) for i, j in edges(found)}


def test_cuts_never_split_a_graph() -> None:
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    graph = distance_graph(X, radius=1.5)
    known = Constraints(cannot_link=[(1, 2)], n_samples=4)
    found = constrain_graph(graph, X, known_pairs(known))
    assert connected_components(found)[0] == 1
    assert found[1, 2] == found[2, 1] == 10.0
    assert found[0, 1] == 1.0


@given(st.integers(0, 10_000), st.integers(1, 4), st.integers(0, 12), st.integers(0, 6))
@settings(max_examples=40, deadline=None)
def test_any_links_leave_a_symmetric_graph_of_the_same_parts(
    seed: int, k: int, n_apart: int, n_together: int
) -> None:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 9, (30, 2)).astype(float)
    graph = distance_graph(X, n_neighbors=k)
    drawn = rng.permutation(30)
    weights = rng.uniform(0.1, 5.0, n_apart)
    apart = Constraints(
        cannot_link=np.sort(rng.permutation(30)[: 2 * n_apart].reshape(-1, 2), axis=1),
        cannot_link_weight=weights,
        n_samples=30,
    )
    cut = constrain_graph(graph, X, known_pairs(apart))
    assert edges(cut) <= edges(graph)
    np.testing.assert_array_equal(cut.toarray(), cut.T.toarray())
    assert edges(cut) == {(j, i) for i, j in edges(cut)}
    before, after = (connected_components(one, directed=False) for one in (graph, cut))
    assert before[0] == after[0]
    np.testing.assert_array_equal(before[1], after[1])
    # What is left of the graph has its length, or was cut and holds it together, longer.
    ratio = {cut[i, j] / graph[i, j] for i, j in edges(cut) if graph[i, j] > 0}
    assert all(one == 1 or np.isclose(one, 1 + 9 * weights).any() for one in ratio)
    pairs = drawn[: 2 * n_together].reshape(-1, 2)
    both = apart | Constraints(must_link=pairs, n_samples=30)
    joined = constrain_graph(graph, X, known_pairs(both))
    assert {(int(i), int(j)) for i, j in pairs} <= edges(joined)
    for i, j in pairs:
        assert joined[i, j] == pytest.approx(np.linalg.norm(X[i] - X[j]) / 10)


def test_cannot_links_between_sheets_repair_a_roll_also_for_other_rows() -> None:
    """Rows on a spiral with too many neighbors: the short-circuits go, also far from the links."""
    rng = np.random.default_rng(0)
    t = np.sort(rng.uniform(1.5 * np.pi, 4.5 * np.pi, 600))
    X = np.column_stack([t * np.cos(t), t * np.sin(t)])
    order = rng.permutation(600)
    X, t = X[order], t[order]
    arc = (t * np.sqrt(1 + t**2) + np.arcsinh(t)) / 2
    truth = np.abs(arc[:, None] - arc)
    graph = distance_graph(X, n_neighbors=60)
    short = geodesics(graph)
    stored = sparse.coo_array(graph)
    across = np.flatnonzero(truth[stored.row, stored.col] > 3 * stored.data)
    chosen = rng.choice(across, 40, replace=False)
    links = np.column_stack([stored.row[chosen], stored.col[chosen]])
    known = Constraints(cannot_link=links, n_samples=600)
    repaired = geodesics(constrain_graph(graph, X, known_pairs(known)))
    unmentioned = np.setdiff1d(np.arange(600), links)
    ways = np.ix_(unmentioned, unmentioned)

    def agreement(G: np.ndarray) -> float:
        return float(np.corrcoef(G[ways].ravel(), truth[ways].ravel())[0, 1])

    assert agreement(short) < 0.9
    assert agreement(repaired) > 0.99
