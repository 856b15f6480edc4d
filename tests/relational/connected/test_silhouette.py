"""The joint silhouette against its definition."""

from __future__ import annotations

import numpy as np
import pytest
from tests.relational.connected.graphs import nodes_of, random_connected

from sidelight.relational.connected._graph import joined_pairs
from sidelight.relational.connected._nodes import Clusters
from sidelight.relational.connected._silhouette import joint_silhouette


def clusters_of(X: np.ndarray, labels: np.ndarray) -> Clusters:
    k = labels.max() + 1
    centers = np.array([X[labels == j].mean(axis=0) for j in range(k)])
    seeds = np.array([np.flatnonzero(labels == j)[0] for j in range(k)])
    return Clusters(labels.astype(np.int32), centers, seeds, np.zeros(len(X)), 0.0)


def by_definition(X: np.ndarray, labels: np.ndarray, adjacent: np.ndarray) -> float:
    centers = clusters_of(X, labels).centers
    total = 0.0
    for x, own in zip(X, labels, strict=True):
        if own < 0 or np.sum(labels == own) == 1:
            continue
        a = np.linalg.norm(x - centers[own])
        b = min(np.linalg.norm(x - centers[j]) for j in np.flatnonzero(adjacent[own]))
        total += (b - a) / max(a, b)
    return total / len(X)


@pytest.mark.parametrize("seed", range(5))
def test_definition(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, edges = rng.normal(size=(30, 2)), random_connected(rng, 30, 10)
    labels = rng.integers(-1, 5, 30)
    labels[:5] = np.arange(5)
    adjacent = np.zeros((5, 5), bool)
    for i, j in edges:
        if labels[i] != labels[j] and min(labels[i], labels[j]) >= 0:
            adjacent[labels[i], labels[j]] = adjacent[labels[j], labels[i]] = True
    adjacent[~adjacent.any(axis=1)] = True
    np.fill_diagonal(adjacent, False)
    found = joint_silhouette(nodes_of(X, edges), clusters_of(X, labels))
    assert found == pytest.approx(by_definition(X, labels, adjacent))
    everywhere = joint_silhouette(nodes_of(X, None), clusters_of(X, labels))
    assert everywhere == pytest.approx(by_definition(X, labels, ~np.eye(5, dtype=bool)))
    assert found >= everywhere - 1e-12  # fewer rivals


def test_clusters_that_touch_nothing_are_compared_with_all() -> None:
    nodes = nodes_of(np.arange(5.0)[:, None], [(0, 1), (1, 2), (3, 4)])
    matrix = joined_pairs(nodes.graph, np.array([0, 0, 1, 2, 2]), 3).toarray()
    np.testing.assert_array_equal(matrix, [[0, 1, 0], [1, 0, 0], [1, 1, 0]])


def test_alike_regions_that_do_not_touch_do_not_lower_it() -> None:
    X = np.array([0, 0.2, 9, 9.2, 0.1, 0.3])[:, None]
    labels = np.repeat([0, 1, 2], 2)
    path = [(i, i + 1) for i in range(5)]
    assert joint_silhouette(nodes_of(X, path), clusters_of(X, labels)) > 0.95
    assert joint_silhouette(nodes_of(X, None), clusters_of(X, labels)) < 0.7
