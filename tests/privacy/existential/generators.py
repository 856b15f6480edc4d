"""Partitions and graphs that the tests of conditions share."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from sidelight.constraints import Conditions
from sidelight.privacy.existential._graph import PivotGraph
from sidelight.privacy.existential._requirements import Requirements, requirements_of


def blobs(n: int = 120, k: int = 4, seed: int = 0) -> np.ndarray:
    """Clusters of unequal size in the plane."""
    rng = np.random.RandomState(seed)
    sizes = rng.multinomial(n, rng.dirichlet(np.full(k, 1.5)))
    centers = rng.normal(scale=4, size=(k, 2))
    return np.vstack([rng.normal(c, 1.0, size=(s, 2)) for c, s in zip(centers, sizes, strict=True)])


def balanced(n: int, k: int, seed: int = 0) -> np.ndarray:
    """A random partition into clusters that differ by one row at most."""
    return np.random.RandomState(seed).permutation(np.arange(n) % k)


def dispersion(X: np.ndarray, labels: np.ndarray) -> float:
    """Sum of squared distances to the means of the clusters."""
    return float(
        sum(np.sum((X[labels == h] - X[labels == h].mean(axis=0)) ** 2) for h in np.unique(labels))
    )


def squared(X: np.ndarray, centers: np.ndarray) -> np.ndarray:
    return np.sum((X[:, None] - centers[None]) ** 2, axis=2)


def all_valid(conditions: Conditions, k: int) -> Iterator[np.ndarray]:
    """All labelings of few rows that meet the conditions."""
    least = conditions.least_in(k)
    for labels in itertools.product(range(k), repeat=conditions.n_samples):
        given = np.array(labels)
        if np.all(conditions.counts(given, k) >= least):
            yield given


def two_kinds(n: int, k: int, seed: int) -> tuple[Conditions, np.ndarray]:
    """Conditions that overlap, and a random partition that meets them."""
    rng = np.random.RandomState(seed)
    labels = balanced(n, k, seed)
    masks = rng.random_sample((2, n)) < 0.6
    conditions = Conditions(n_samples=n)
    for j, mask in enumerate(masks):
        fewest = np.bincount(labels[mask], minlength=k).min()
        conditions = conditions.at_least(rng.randint(0, fewest + 1), mask, name=f"kind {j}")
    return conditions, labels


def frozen_graph(
    X: np.ndarray, labels: np.ndarray, conditions: Conditions, k: int
) -> tuple[PivotGraph, np.ndarray, Requirements]:
    """The graph at the means of the clusters, the positions of its pivots, what clusters need."""
    requirements = requirements_of(conditions, k)
    centers = np.array([X[labels == h].mean(axis=0) for h in range(k)])
    distance = squared(X, centers)
    nearest = distance.argmin(axis=1)
    rows = np.arange(len(X))
    gain = distance[rows, labels] - distance[rows, nearest]
    unstable = np.flatnonzero((requirements.signature > 0) & (gain > 0))
    graph = PivotGraph(
        labels[unstable],
        nearest[unstable],
        requirements.signature[unstable],
        gain[unstable],
        np.ones(len(unstable), dtype=np.int64),
        requirements.counts(labels),
        requirements,
    )
    return graph, unstable, requirements


def hamiltonian_gadget(edges: list[tuple[int, int]], n_nodes: int, start: int) -> PivotGraph:
    """The graph from which the hardness of schedules follows (section 16.3).

    Every node ``v`` has a dummy ``v'`` before it with the single object of the edge ``v' -> v``;
    every edge ``u -> v`` becomes an object on ``u -> v'``. All clusters are at their bound but the
    start, which has one pivot more and no edge into it: the walk of single moves visits every node
    at most once, so that ``2 (n - 1)`` moves, and one into a dummy that is used up, are possible if
    and only if there is a Hamiltonian path.
    """
    moves = [(n_nodes + v, v) for v in range(n_nodes) if v != start]
    moves += [(u, n_nodes + v) for u, v in edges if v != start]
    source, target = np.array(moves).T
    k = 2 * n_nodes
    has = np.array([[False], [True]])
    requirements = Requirements(np.zeros(0, np.int32), has, np.full((1, k), n_nodes, np.int64))
    counts = np.full((1, k), n_nodes, dtype=np.int64)
    counts[0, start] += 1
    ones = np.ones(len(source), dtype=np.int64)
    return PivotGraph(source, target, ones, ones.astype(float), ones, counts, requirements)


def is_acyclic(graph: PivotGraph, k: int) -> bool:
    """Whether the edges that still have pivots make no cycle, for any signature."""
    edges = graph.open_edges()
    for signature in np.unique(graph.signature[edges]):
        left = {
            (int(graph.source[e]), int(graph.target[e]))
            for e in edges
            if graph.signature[e] == signature
        }
        nodes = set(range(k))
        while nodes:
            sinks = {u for u in nodes if not any(a == u and b in nodes for a, b in left)}
            if not sinks:
                return False
            nodes -= sinks
    return True


WAYS: dict[str, Any] = {
    "random": lambda graph, most: graph.move_at_random(np.random.RandomState(0), most),
    "lookahead 1": lambda graph, most: graph.move_best(most),
    "lookahead 2": lambda graph, most: graph.move_on_paths(2, most),
    "lookahead 3": lambda graph, most: graph.move_on_paths(3, most),
}
MANY = 10**9
