"""All partitions of a few nodes, and random signed graphs: what every method is compared with."""

from __future__ import annotations

import functools

import numpy as np

from sidelight import Constraints, Relations
from sidelight.relational.correlation._graph import SignedGraph, signed_graph


@functools.cache
def partitions(n: int) -> np.ndarray:
    """All partitions of ``n`` nodes as restricted-growth strings, a row each (Bell number of n)."""
    rows = [[0]] if n else [[]]
    for _ in range(n - 1):
        rows = [[*row, label] for row in rows for label in range(max(row) + 2)]
    return np.array(rows, dtype=np.int64).reshape(len(rows), n)


def pair_scores(graph: SignedGraph) -> np.ndarray:
    """Score of every pair of nodes, those of unlisted pairs included."""
    scores = -graph.absent * np.outer(graph.mass, graph.mass)
    coo = graph.scores.tocoo()
    scores[coo.row, coo.col] = coo.data
    np.fill_diagonal(scores, 0.0)
    return scores


def forbidden(graph: SignedGraph) -> np.ndarray:
    """Pairs of nodes that must not join."""
    apart = graph.conflicts.toarray().astype(bool)
    shared = graph.sources.toarray().astype(int)
    apart |= (shared @ shared.T) > 0
    np.fill_diagonal(apart, False)
    return apart


def all_costs(graph: SignedGraph) -> np.ndarray:
    """Cost of every partition of the nodes; infinite where it joins what must not join."""
    labels = partitions(graph.n)
    first, second = np.triu_indices(graph.n, 1)
    same = labels[:, first] == labels[:, second]
    scores = pair_scores(graph)[first, second]
    costs = graph.constant + same @ np.maximum(-scores, 0) + ~same @ np.maximum(scores, 0)
    return np.where((same & forbidden(graph)[first, second]).any(axis=1), np.inf, costs)


def optimum(graph: SignedGraph) -> float:
    """Least cost of a partition of the nodes (n <= 9)."""
    return float(all_costs(graph).min())


def random_graph(
    seed: int,
    n: int = 7,
    *,
    density: float = 0.7,
    absent: float = 0.0,
    unit: bool = False,
    n_must: int = 0,
    n_cannot: int = 0,
    n_sources: int = 0,
) -> SignedGraph:
    """Random scores, constraints that do not contradict each other, and sources of the objects."""
    rng = np.random.default_rng(seed)
    first, second = np.triu_indices(n, 1)
    kept = rng.random(len(first)) < density
    edges = np.column_stack([first[kept], second[kept]])
    scores = rng.choice([-1.0, 1.0], len(edges)) if unit else rng.normal(size=len(edges)).round(2)
    hidden = rng.integers(3, size=n)
    pairs = np.column_stack([first, second])[rng.permutation(len(first))]
    same = hidden[pairs[:, 0]] == hidden[pairs[:, 1]]
    known = Constraints(pairs[same][:n_must], pairs[~same][:n_cannot], n_samples=n)
    sources = None
    if n_sources:
        sources = rng.integers(-1, n_sources, size=n)
        # Objects of one source that must-links join would contradict it.
        node = known.components()
        _, once = np.unique(node * (n_sources + 1) + sources, return_index=True)
        dropped = np.setdiff1d(np.arange(n), once)
        sources[dropped] = -1
    return signed_graph(
        Relations(edges, scores, n_samples=n), known, sources=sources, absent=absent
    )
