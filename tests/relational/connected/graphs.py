"""Small graphs, and checks of partitions by plain search."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from sidelight import Relations
from sidelight.relational.connected._graph import connection_graph
from sidelight.relational.connected._nodes import Nodes


def nodes_of(X: Any, edges: Any) -> Nodes:
    X = np.asarray(X, dtype=np.float64)
    graph = (
        None if edges is None else connection_graph(Relations(edges, n_samples=len(X)), len(X), X)
    )
    return Nodes(X, graph, False)


def is_connected(edges: Any, members: Any) -> bool:
    """Breadth-first search in the subgraph of some nodes."""
    members = set(np.asarray(members).tolist())
    neighbors: dict[int, list[int]] = {node: [] for node in members}
    for i, j in np.asarray(edges).tolist():
        if i in members and j in members:
            neighbors[i].append(j)
            neighbors[j].append(i)
    start = next(iter(members))
    found, waiting = {start}, [start]
    while waiting:
        for other in neighbors[waiting.pop()]:
            if other not in found:
                found.add(other)
                waiting.append(other)
    return found == members


def assert_valid(model: Any, edges: Any, n_clusters: int) -> None:
    """Every cluster is there, connected, and contains its center node."""
    labels = model.labels_
    assert set(labels[labels >= 0].tolist()) == set(range(n_clusters))
    for cluster in range(n_clusters):
        assert labels[model.center_nodes_[cluster]] == cluster
        if edges is not None:
            assert is_connected(edges, np.flatnonzero(labels == cluster))


def random_connected(rng: np.random.Generator, n: int, n_more: int) -> np.ndarray:
    """A random tree with some more edges."""
    tree = [(int(rng.integers(0, i)), i) for i in range(1, n)]
    more = [tuple(sorted(rng.choice(n, 2, replace=False).tolist())) for _ in range(n_more)]
    return np.array(sorted({*tree, *more})) if n > 1 else np.empty((0, 2), int)


def set_partitions(n: int, k: int) -> Iterator[np.ndarray]:
    """All partitions of n nodes into k parts, as labels in order of appearance."""

    def extend(labels: list[int], used: int) -> Iterator[np.ndarray]:
        if len(labels) == n:
            if used == k:
                yield np.array(labels)
            return
        for label in range(min(used + 1, k)):
            yield from extend([*labels, label], max(used, label + 1))

    return extend([], 0)


def connected_partitions(edges: Any, n: int, k: int) -> Iterator[np.ndarray]:
    for labels in set_partitions(n, k):
        if all(is_connected(edges, np.flatnonzero(labels == j)) for j in range(k)):
            yield labels


def tree_partitions(edges: np.ndarray, n: int, k: int) -> Iterator[np.ndarray]:
    """Connected partitions of a tree: cut k - 1 edges."""
    for cut in itertools.combinations(range(len(edges)), k - 1):
        kept = np.delete(edges, cut, axis=0).reshape(-1, 2)
        graph = sparse.coo_array((np.ones(len(kept)), kept.T), (n, n))
        yield connected_components(graph, directed=False)[1]


def radius(X: np.ndarray, labels: np.ndarray) -> float:
    """Largest radius of the clusters around their best members."""
    worst = 0.0
    for j in np.unique(labels):
        inside = X[labels == j]
        distances = np.linalg.norm(inside[:, None] - inside[None], axis=2)
        worst = max(worst, float(distances.max(axis=1).min()))
    return worst


def sum_of_squares(X: np.ndarray, labels: np.ndarray) -> float:
    return sum(
        float(((X[labels == j] - X[labels == j].mean(axis=0)) ** 2).sum())
        for j in np.unique(labels[labels >= 0])
    )


def reach_balls(X: np.ndarray, edges: Any, r: float) -> list[set[int]]:
    """What each node reaches on paths that stay within r of it."""
    neighbors: list[list[int]] = [[] for _ in X]
    for i, j in np.asarray(edges).tolist():
        neighbors[i].append(j)
        neighbors[j].append(i)
    balls = []
    for u in range(len(X)):
        near = np.linalg.norm(X - X[u], axis=1) <= r
        found, waiting = {u}, [u]
        while waiting:
            for v in neighbors[waiting.pop()]:
                if v not in found and near[v]:
                    found.add(v)
                    waiting.append(v)
        balls.append(found)
    return balls


def relaxed_optimum(X: np.ndarray, edges: Any, k: int) -> float:
    """Smallest radius for which k centers reach everything, by enumeration."""
    distances = np.unique(np.linalg.norm(X[:, None] - X[None], axis=2))
    for r in distances:
        balls = reach_balls(X, edges, r * (1 + 1e-12))
        for centers in itertools.combinations(range(len(X)), min(k, len(X))):
            if len(set().union(*(balls[c] for c in centers))) == len(X):
                return float(r)
    raise AssertionError("a graph of more components than centers")
