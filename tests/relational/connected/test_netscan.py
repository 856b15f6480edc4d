"""NetScan: validity, k-center on complete graphs, outliers, accuracy of the stand-in."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.preprocessing import normalize
from tests.relational.connected.graphs import (
    assert_valid,
    connected_partitions,
    radius,
    random_connected,
    sum_of_squares,
)

from sidelight.datasets import make_attributed_graph
from sidelight.relational import ConnectedKMeans, NetScan
from sidelight.relational.connected._netscan import largest_gap

options = {
    "growth": st.sampled_from(["heap", "rounds"]),
    "centers": st.sampled_from(["means", "nodes"]),
    "look_ahead": st.booleans(),
    "metric": st.sampled_from(["euclidean", "cosine"]),
    "outlier_threshold": st.sampled_from([None, "gap", 0.5]),
}


@given(st.integers(0, 10_000), st.integers(1, 5), st.fixed_dictionaries(options))
@settings(max_examples=50, deadline=None)
def test_clusters_are_connected_under_all_options(seed: int, k: int, chosen: dict) -> None:
    rng = np.random.default_rng(seed)
    X, edges = rng.normal(size=(25, 3)), random_connected(rng, 25, 12)
    model = NetScan(k, **chosen, n_init=2, random_state=seed).fit(X, relations=edges)
    assert_valid(model, edges, k)
    left_out = model.labels_ < 0
    assert not left_out.any() or chosen["outlier_threshold"] is not None
    assert np.all(model.absorbed_at_[left_out] > model.outlier_threshold_)


def test_objectives() -> None:
    rng = np.random.default_rng(0)
    X, edges = rng.normal(size=(40, 2)), random_connected(rng, 40, 30)
    means = NetScan(3, random_state=0).fit(X, relations=edges)
    assert means.objective_ == pytest.approx(sum_of_squares(X, means.labels_))
    nodes = NetScan(3, centers="nodes", random_state=0).fit(X, relations=edges)
    distances = np.linalg.norm(X - X[nodes.center_nodes_[nodes.labels_]], axis=1)
    assert nodes.objective_ == pytest.approx(distances.max()) == pytest.approx(nodes.radius_)
    np.testing.assert_allclose(
        nodes.radii_, [distances[nodes.labels_ == j].max() for j in range(3)]
    )


def test_radius_is_never_below_the_optimum_and_often_at_it() -> None:
    found = 0
    for seed in range(15):
        rng = np.random.default_rng(seed)
        X, edges = rng.normal(size=(8, 2)), random_connected(rng, 8, 4)
        optimum = min(radius(X, one) for one in connected_partitions(edges, 8, 2))
        model = NetScan(2, centers="nodes", n_init=20, random_state=0).fit(X, relations=edges)
        assert model.radius_ >= optimum - 1e-9
        found += model.radius_ <= optimum + 1e-9
    assert found >= 8


def test_growth_alone_is_connected_k_means_without_refinement() -> None:
    X, relations, _ = make_attributed_graph(n_per_cluster=40, random_state=0)
    scan = NetScan(3, look_ahead=False, tol=0, random_state=0, max_iter=100)
    kmeans = ConnectedKMeans(3, init="degree", refine=False, random_state=0)
    one, other = (model.fit(X, relations=relations) for model in (scan, kmeans))
    assert one.objective_ == pytest.approx(other.objective_)


def test_cosine_is_euclidean_on_unit_rows_for_center_nodes() -> None:
    rng = np.random.default_rng(3)
    X, edges = rng.normal(size=(50, 4)), random_connected(rng, 50, 60)
    cosine = NetScan(4, metric="cosine", centers="nodes", random_state=1).fit(X, relations=edges)
    unit = NetScan(4, centers="nodes", random_state=1).fit(normalize(X), relations=edges)
    np.testing.assert_array_equal(cosine.labels_, unit.labels_)
    assert cosine.radius_ == pytest.approx(unit.radius_**2 / 2)


def test_stand_in_of_the_chapter() -> None:
    """Three blocks in ten dimensions: NetScan finds them, the printed rounds do not."""
    accuracy = {"heap": [], "rounds": []}
    for seed in range(5):
        X, relations, y = make_attributed_graph(2.0, random_state=seed)
        for growth, scores in accuracy.items():
            labels = NetScan(3, growth=growth, random_state=0).fit(X, relations=relations).labels_
            scores.append(sum(np.bincount(y[labels == j]).max() for j in range(3)) / len(y))
    assert np.mean(accuracy["heap"]) > 0.93
    assert np.mean(accuracy["rounds"]) < 0.6


# --- what it is made of ---


def test_outliers_are_behind_the_largest_gap() -> None:
    X = np.array([0.0, 0.1, 0.2, 0.3, 0.4, 9.0])[:, None]
    path = [(i, i + 1) for i in range(5)]
    for outliers in ("gap", 2.0):
        model = NetScan(1, centers="nodes", outlier_threshold=outliers, random_state=0).fit(
            X, relations=path
        )
        assert model.labels_.tolist() == [0, 0, 0, 0, 0, -1]
        assert model.radius_ < 1 < model.objective_
    assert largest_gap(np.array([0.0, 5.0, 5.1, 5.3])) == 5.1
    assert largest_gap(np.ones(4)) == np.inf
