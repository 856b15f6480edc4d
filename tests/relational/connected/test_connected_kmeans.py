"""Connected k-means: Lloyd on complete graphs, enumeration, agglomeration, moves, strength."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.preprocessing import normalize
from tests.relational.connected.graphs import (
    assert_valid,
    connected_partitions,
    is_connected,
    nodes_of,
    random_connected,
    sum_of_squares,
)

from sidelight import Relations
from sidelight._kernels.relational.connected.boundary import stays_connected
from sidelight.datasets import make_areas
from sidelight.relational import ConnectedKMeans
from sidelight.relational.connected._connected_kmeans import _Squares, agglomerated

PATH = [(i, i + 1) for i in range(9)]


def test_complete_graph_gives_the_inertia_of_k_means() -> None:
    rng = np.random.default_rng(1)
    X = 6 * rng.normal(size=(3, 2))[rng.integers(0, 3, 90)] + rng.normal(size=(90, 2))
    pairs = np.column_stack(np.triu_indices(90, 1))
    for relations in (None, pairs):
        model = ConnectedKMeans(3, random_state=0).fit(X, relations=relations)
        assert model.objective_ == pytest.approx(
            KMeans(3, n_init=10, random_state=0).fit(X).inertia_
        )
        assert np.all(np.diff(model.history_) <= 1e-9)


def test_small_graphs_against_all_connected_partitions() -> None:
    """Never below the optimum, and with restarts mostly at it."""
    found = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X, edges = rng.normal(size=(8, 2)), random_connected(rng, 8, 3)
        optimum = min(sum_of_squares(X, one) for one in connected_partitions(edges, 8, 3))
        model = ConnectedKMeans(3, n_init=10, random_state=0).fit(X, relations=edges)
        assert_valid(model, edges, 3)
        assert model.objective_ == pytest.approx(sum_of_squares(X, model.labels_))
        assert model.objective_ >= optimum * (1 - 1e-9)
        found += model.objective_ <= optimum * (1 + 1e-9)
    assert found >= 17


def test_path_gives_intervals() -> None:
    X = np.array([0, 0, 9, 9, 0, 0, 5, 5, 5, 0.0])[:, None]
    labels = ConnectedKMeans(5, random_state=0).fit(X, relations=PATH).labels_
    assert labels.tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 3, 4]


def test_star_has_single_leaves() -> None:
    X = np.arange(7.0)[:, None]
    labels = (
        ConnectedKMeans(3, random_state=0).fit(X, relations=[(0, i) for i in range(1, 7)]).labels_
    )
    others = [np.sum(labels == j) for j in range(3) if j != labels[0]]
    assert others == [1, 1]


def test_as_many_clusters_as_rows() -> None:
    X = np.random.default_rng(0).normal(size=(10, 2))
    for relations in (None, PATH):
        model = ConnectedKMeans(10, random_state=0).fit(X, relations=relations)
        assert model.objective_ == pytest.approx(0.0)
        assert model.radius_ == pytest.approx(0.0)
        assert len(np.unique(model.labels_)) == 10


@given(
    st.integers(0, 10_000),
    st.integers(1, 6),
    st.sampled_from(["euclidean", "cosine"]),
    st.sampled_from(["ward", "degree"]),
    st.booleans(),
)
@settings(max_examples=25, deadline=None)
def test_clusters_are_connected_under_all_options(
    seed: int, k: int, metric: str, init: str, refine: bool
) -> None:
    rng = np.random.default_rng(seed)
    X, edges = rng.normal(size=(25, 3)), random_connected(rng, 25, 12)
    model = ConnectedKMeans(
        k, metric=metric, init=init, refine=refine, n_init=2, random_state=seed
    ).fit(X, relations=edges)
    assert_valid(model, edges, k)
    assert model.objective_ == pytest.approx(model.history_.min())


def test_order_of_the_rows_does_not_matter() -> None:
    areas = make_areas(150, n_clusters=4, random_state=2)
    model = ConnectedKMeans(4, n_init=1).fit(areas.X, relations=areas.relations)
    order = np.random.default_rng(0).permutation(150)
    other = ConnectedKMeans(4, n_init=1).fit(
        areas.X[order], relations=areas.relations.restrict(order)
    )
    # Moves are made in the order of the rows: partitions may differ, but hardly the objective.
    assert other.objective_ == pytest.approx(model.objective_, rel=0.02)
    plain = ConnectedKMeans(4, refine=False).fit(areas.X, relations=areas.relations)
    again = ConnectedKMeans(4, refine=False).fit(
        areas.X[order], relations=areas.relations.restrict(order)
    )
    assert again.objective_ == pytest.approx(plain.objective_)
    joint = {(a, b) for a, b in zip(plain.labels_[order], again.labels_, strict=True)}
    assert len(joint) == 4


def test_cosine_does_not_see_lengths_and_counts_angles() -> None:
    rng = np.random.default_rng(5)
    X, edges = rng.normal(size=(60, 3)) + 1, random_connected(rng, 60, 40)
    scaled = X * rng.uniform(0.1, 10, size=(60, 1))
    models = [
        ConnectedKMeans(4, metric="cosine", random_state=0).fit(rows, relations=edges)
        for rows in (X, scaled, normalize(X))
    ]
    for model in models[1:]:
        np.testing.assert_array_equal(model.labels_, models[0].labels_)
    unit = normalize(X)
    cosines = np.sum(unit * models[0].cluster_centers_[models[0].labels_], axis=1)
    assert models[0].objective_ == pytest.approx(np.sum(1 - cosines))
    assert models[0].radius_ == pytest.approx(np.max(1 - cosines))
    np.testing.assert_array_equal(models[0].predict(scaled), models[0].predict(X))


def test_components_get_a_cluster_each() -> None:
    X = np.array([0.0, 0.1, 0.2, 50.0, 50.1, 0.05])[:, None]
    relations = Relations([(0, 1), (1, 2), (3, 4)], n_samples=6)
    for init in ("ward", "degree"):
        model = ConnectedKMeans(3, init=init, random_state=0).fit(X, relations=relations)
        assert model.labels_.tolist() == [0, 0, 0, 1, 1, 2]


@given(st.integers(0, 10_000), st.sampled_from([0.2, 0.5, 0.8, 1.0]))
@settings(max_examples=25, deadline=None)
def test_members_are_neighbors_of_a_share_of_their_cluster(seed: int, strength: float) -> None:
    rng = np.random.default_rng(seed)
    X, edges = rng.normal(size=(24, 2)), random_connected(rng, 24, 60)
    model = ConnectedKMeans(3, min_neighbor_share=strength, n_init=2, random_state=seed).fit(
        X, relations=edges
    )
    assert_valid(model, edges, 3)
    adjacent = np.zeros((24, 24), bool)
    adjacent[edges[:, 0], edges[:, 1]] = adjacent[edges[:, 1], edges[:, 0]] = True
    for j in range(3):
        members = np.flatnonzero(model.labels_ == j)
        inside = adjacent[np.ix_(members, members)].sum(axis=1)
        assert np.all(inside >= strength * (len(members) - 1))
    assert np.all(np.isinf(model.absorbed_at_) == (model.labels_ < 0))


def test_full_strength_finds_planted_cliques() -> None:
    cliques = [(i, j) for s in (0, 5, 10) for i in range(s, s + 5) for j in range(s, i)]
    edges = [*cliques, (4, 5), (9, 10)]
    X = np.repeat([0.0, 3.0, 6.0], 5)[:, None] + np.linspace(0, 0.5, 15)[:, None]
    model = ConnectedKMeans(3, min_neighbor_share=1.0, n_init=40, random_state=0).fit(
        X, relations=edges
    )
    assert model.labels_.tolist() == np.repeat([0, 1, 2], 5).tolist()


def test_thresholds_are_the_largest_distance_on_the_best_path() -> None:
    X = np.array([0.0, 4.0, 1.0, 2.0])[:, None]
    model = ConnectedKMeans(1, refine=False).fit(X, relations=[(0, 1), (1, 2), (2, 3)])
    # The mean 1.75 is nearest to row 3; every row behind row 1 joins at its distance, 2.25.
    assert model.center_nodes_.tolist() == [3]
    np.testing.assert_allclose(model.absorbed_at_, [2.25, 2.25, 0.75, 0.25])


def test_number_of_clusters_is_chosen() -> None:
    areas = make_areas(400, n_clusters=5, separation=6.0, noise=0.5, random_state=0)
    model = ConnectedKMeans("auto", random_state=0).fit(areas.X, relations=areas.relations)
    assert model.search_["n_clusters"].tolist() == list(range(2, 12))
    assert len(model.cluster_centers_) == 5
    assert model.search_["silhouette"].argmax() == 3
    ranged = ConnectedKMeans((3, 4), random_state=0).fit(areas.X, relations=areas.relations)
    assert ranged.search_["n_clusters"].tolist() == [3, 4]
    assert not hasattr(ConnectedKMeans(3).fit(areas.X, relations=areas.relations), "search_")


# --- what it is made of ---


def test_complete_graph_follows_lloyd() -> None:
    X = np.random.default_rng(0).normal(size=(80, 3))
    nodes, seeds = nodes_of(X, None), np.array([4, 31, 62])
    problem = _Squares(nodes, 0.0)
    now, centers = problem.grow(nodes.at(seeds), seeds), X[seeds]
    for _ in range(8):
        labels = ((X[:, None] - centers[None]) ** 2).sum(axis=2).argmin(axis=1)
        centers = np.array([X[labels == j].mean(axis=0) for j in range(3)])
        np.testing.assert_array_equal(now.labels, labels)
        np.testing.assert_allclose(now.centers, centers)
        now = problem.step(now)


@pytest.mark.parametrize("layout", ["lattice", "planar"])
def test_agglomeration_is_ward_under_the_graph(layout: str) -> None:
    areas = make_areas(300, layout=layout, n_clusters=6, random_state=0)
    labels = agglomerated(nodes_of(areas.X, areas.relations.edges), 6)
    peer = AgglomerativeClustering(6, connectivity=areas.relations.matrix()).fit(areas.X)
    assert labels is not None
    assert sum_of_squares(areas.X, labels) == pytest.approx(sum_of_squares(areas.X, peer.labels_))


def test_refinement_is_below_ward_and_leaves_no_better_move() -> None:
    areas = make_areas(200, n_clusters=5, separation=1.0, random_state=1)
    X, edges = areas.X, areas.relations.edges
    model = ConnectedKMeans(5, random_state=0).fit(X, relations=edges)
    ward = agglomerated(nodes_of(X, edges), 5)
    assert ward is not None
    assert model.objective_ < sum_of_squares(X, ward)
    for i, j in [*edges.tolist(), *edges[:, ::-1].tolist()]:
        moved = model.labels_.copy()
        moved[i] = model.labels_[j]
        rest = np.flatnonzero(moved == model.labels_[i])
        if moved[i] != model.labels_[i] and len(rest) and is_connected(edges, rest):
            assert sum_of_squares(X, moved) >= model.objective_ * (1 - 1e-7)


@given(st.integers(0, 10_000))
@settings(max_examples=25, deadline=None)
def test_articulation_is_found(seed: int) -> None:
    rng = np.random.default_rng(seed)
    edges = random_connected(rng, 14, 6)
    nodes = nodes_of(np.zeros((14, 1)), edges)
    graph = nodes.graph
    assert graph is not None
    labels = rng.integers(0, 2, 14).astype(np.int32)
    stamps, owners, queue = np.full(14, -1), np.empty(14, np.int64), np.empty(14, np.int64)
    for node in range(14):
        members = np.flatnonzero(labels == labels[node])
        if not is_connected(edges, members) or len(members) == 1:
            continue
        arguments = (
            graph.indptr,
            graph.indices,
            labels,
            node,
            100,
            stamps,
            owners,
            node + 1,
            queue,
        )
        assert stays_connected(*arguments) == is_connected(edges, members[members != node])
