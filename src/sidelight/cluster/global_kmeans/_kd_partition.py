"""A kd-tree along principal directions, and the means of its buckets (Sproull 1991).

A node is cut through its mean, perpendicular to the first principal direction of its own points.
The heaviest leaf is cut next, until there are as many as asked for; one whose points are all equal
stays whole. The tree is deterministic and does not depend on the coordinate axes or on threads.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sidelight._typing import Array
from sidelight.cluster.global_kmeans._insertion import Points
from sidelight.engine import as_rows

#: Products below which neither we nor BLAS would use threads.
WORTH_BLOCKS = 1e5


@dataclass(frozen=True)
class _Node:
    rows: Array
    weight: float
    mean: Array


def kd_partition(points: Points, n_leaves: int) -> list[Array]:
    """Cut the points into leaves.

    Parameters
    ----------
    points : Points
        The points; those of weight 0 belong to no leaf.
    n_leaves : int
        Number of leaves; fewer where points are equal.

    Returns
    -------
    leaves : list of ndarray
        Positions of the points of every leaf, ascending; by the first of them.
    """
    return [node.rows for node in _grow(points, n_leaves)]


def kd_means(points: Points, n_leaves: int) -> Array:
    """Return the means of the leaves of :func:`kd_partition`, in the type of the points."""
    means = [node.mean for node in _grow(points, n_leaves)]
    return np.array(means).astype(points.rows.dtype)


def _grow(points: Points, n_leaves: int) -> list[_Node]:
    whole = _node(points, np.flatnonzero(points.weights > 0))
    whole_leaves: list[_Node] = []
    heap = [(-whole.weight, 0, whole)]  # of equally heavy leaves the older one is cut first
    n_made = 1
    while heap and len(heap) + len(whole_leaves) < n_leaves:
        _, _, node = heapq.heappop(heap)
        halves = _cut(points, node)
        if not halves:
            whole_leaves.append(node)
        for half in halves:
            heapq.heappush(heap, (-half.weight, n_made, half))
            n_made += 1
    leaves = whole_leaves + [node for _, _, node in heap]
    return sorted(leaves, key=lambda node: int(node.rows[0]))


def _node(points: Points, rows: Array) -> _Node:
    weights = points.weights[rows].astype(np.float64)
    near = points.rows[rows[0]].astype(np.float64)  # sums stay small far from the origin

    def add(block: Array, weights: Array) -> tuple[tuple[Array], tuple[()]]:
        return (weights @ (block - near),), ()

    offsets = _sum(add, points.rows[rows], weights)
    total = float(weights.sum())
    return _Node(rows, total, near + offsets / total)


def _cut(points: Points, node: _Node) -> tuple[_Node, ...]:
    """Cut a node in two, or not at all where its points are equal."""
    if len(node.rows) < 2:
        return ()
    away = points.rows[node.rows] - node.mean
    scale = np.abs(points.rows[node.rows]).max()
    if np.abs(away).max() <= 8 * np.finfo(points.rows.dtype).eps * scale:
        return ()
    right = away @ _principal_direction(points, node, away) >= 0
    if right.all() or not right.any():
        return ()
    return _node(points, node.rows[~right]), _node(points, node.rows[right])


def _principal_direction(points: Points, node: _Node, away: Array) -> Array:
    """First principal direction, its largest coordinate positive."""
    weights = points.weights[node.rows].astype(np.float64)
    if len(away) < away.shape[1]:
        direction = np.linalg.svd(away * np.sqrt(weights)[:, None], full_matrices=False)[2][0]
    else:

        def add(block: Array, weights: Array) -> tuple[tuple[Array], tuple[()]]:
            return ((block * weights[:, None]).T @ block,), ()

        direction = np.linalg.eigh(_sum(add, away, weights))[1][:, -1]
    return direction * np.sign(direction[np.argmax(np.abs(direction))])


def _sum(add: Callable[..., Any], rows: Array, weights: Array) -> Array:
    """Add something up over weighted rows."""
    if rows.size * rows.shape[1] < WORTH_BLOCKS:
        return add(rows, weights)[0][0]
    return as_rows(rows).map_reduce(add, aligned=(weights,))[0][0]
