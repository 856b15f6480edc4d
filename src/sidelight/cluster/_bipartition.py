"""Recursive two-way cuts of a graph along its second eigenvector (Shi, Malik 2000)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from sidelight._kernels.sweep import sweep_cuts
from sidelight.graphs import degrees, smooth_eigenvectors

Array = npt.NDArray[Any]

OBJECTIVES = ("cut", "ratio-cut", "normalized-cut", "min-max-cut")


def recursive_labels(W: Any, k: int, objective: str, rng: np.random.RandomState) -> Array:
    """Split the part whose best split costs least until there are ``k`` parts."""
    if objective not in OBJECTIVES:
        raise ValueError(f"objective must be one of {', '.join(OBJECTIVES)}, got {objective!r}.")
    graph = sparse.csr_array(W)
    labels = np.zeros(graph.shape[0], dtype=np.int32)
    splits = {0: best_split(graph, np.arange(len(labels)), objective, rng)}
    for new in range(1, k):
        possible = {part: split for part, split in splits.items() if split[1] is not None}
        if not possible:  # only single rows are left
            break
        part = min(possible, key=lambda p: possible[p][0])
        moved = possible[part][1]
        assert moved is not None
        labels[moved] = new
        for changed in (part, new):
            rows = np.flatnonzero(labels == changed)
            splits[changed] = best_split(graph, rows, objective, rng)
    return labels


def best_split(
    graph: sparse.csr_array, rows: Array, objective: str, rng: np.random.RandomState
) -> tuple[float, Array | None]:
    """Cost of the best split of these rows along an eigenvector, and the rows that leave."""
    if len(rows) < 2:
        return np.inf, None
    inside = sparse.csr_array(graph[rows][:, rows])
    n_parts, part = connected_components(inside, directed=False)
    if n_parts > 1:  # a split that cuts nothing
        largest = int(np.argmax(np.bincount(part)))
        return 0.0, rows[part != largest]
    vector = smooth_eigenvectors(inside, 2, random_state=rng)[1][:, 1]
    with np.errstate(divide="ignore"):
        vector = vector / np.sqrt(degrees(inside))
    order = np.argsort(vector, kind="stable")
    values = split_costs(inside, order, objective)
    best = int(np.argmin(values))
    return float(values[best]), rows[order[: best + 1]]


def split_costs(graph: sparse.csr_array, order: Array, objective: str) -> Array:
    """Cost of cutting behind each of the first ``n - 1`` vertices in this order."""
    degree = degrees(graph)
    cut = sweep_cuts(graph.data, graph.indices, graph.indptr, order)
    n = len(order)
    volume = np.cumsum(degree[order])[:-1]
    other = degree.sum() - volume
    size = np.arange(1, n)
    with np.errstate(divide="ignore", invalid="ignore"):
        if objective == "cut":
            return cut
        if objective == "ratio-cut":
            return cut / size + cut / (n - size)
        if objective == "normalized-cut":
            return cut / volume + cut / other
        inner, outer = volume - cut, other - cut
        return np.where(inner > 1e-12, cut / inner, np.inf) + np.where(
            outer > 1e-12, cut / outer, np.inf
        )
