"""CkC': connected k-center with clusters that may overlap, whose radius is a lower bound."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from sidelight._kernels.relational.connected.cover import balls_within, find_cover
from sidelight._kernels.relational.connected.reach import (
    all_squares,
    cover_all_pairs_greedily,
    cover_greedily,
    minimax_squares,
)
from sidelight._typing import FloatArray, IntArray
from sidelight._words import setting
from sidelight.exceptions import SidelightError
from sidelight.relational.connected._nodes import Nodes

#: Rows for which all distances are kept: three arrays of 8 bytes per pair at most.
MAX_EXACT = 2_000

#: Balls that the exact search tests for one radius: some seconds.
MAX_TESTS = 20_000_000

#: Sizes up to which ``method="auto"`` tries the exact search.
SMALL_ROWS, SMALL_CLUSTERS = 500, 3

#: Relative width at which the search for the radius ends, and its largest number of steps.
WIDTH, MAX_STEPS = 1e-6, 60


@dataclass(frozen=True)
class Relaxation:
    """Centers from which everything is reachable.

    Attributes
    ----------
    centers : ndarray of int64
        Center nodes, at most as many as clusters.
    reach : float
        Distance with respect to which everything is reachable from them.
    lower_bound : float
        No connected clusters have a smaller radius.
    method : str
        "exact", where ``reach`` is the lower bound, or "greedy", where it is at most twice the
        smallest one.
    """

    centers: IntArray
    reach: float
    lower_bound: float
    method: Literal["exact", "greedy"]


def relax(nodes: Nodes, n_clusters: int, method: str) -> Relaxation:
    """Solve the relaxation exactly, or with a radius of at most twice the smallest."""
    if method == "exact":
        if nodes.n > MAX_EXACT:
            raise SidelightError(
                f"The exact relaxation keeps all pairs of rows and takes {nodes.n} rows only up "
                f"to {MAX_EXACT}: use {setting('method', 'greedy')}, whose lower bound is "
                "at least half of it."
            )
        found = exact(nodes, n_clusters)
        if found is None:
            raise SidelightError(
                f"The exact search for {n_clusters} centers among {nodes.n} rows, of the order of "
                f"{nodes.n}^{n_clusters} covers, tested {MAX_TESTS:,} balls for one radius "
                f"without an answer: use {setting('method', 'greedy')}, or fewer clusters."
            )
        return found
    if method == "auto" and nodes.n <= SMALL_ROWS and n_clusters <= SMALL_CLUSTERS:
        found = exact(nodes, n_clusters)
        if found is not None:
            return found
    return greedy(nodes, n_clusters)


def exact(nodes: Nodes, n_clusters: int) -> Relaxation | None:
    """Algorithm 1: the smallest radius for which some centers reach everything, by bisection.

    ``D1(u, v)``, the smallest radius for which ``u`` reaches ``v``, takes the place of a search in
    the ball for every radius. None where the search for a cover takes too long.
    """
    squares = np.empty((nodes.n, nodes.n))
    if nodes.graph is None:
        all_squares(nodes.rows, squares)
    else:
        minimax_squares(nodes.graph.indptr, nodes.graph.indices, nodes.rows, squares)
    candidates = np.unique(squares[np.isfinite(squares)])
    balls = np.empty((nodes.n, (nodes.n + 63) // 64), np.uint64)
    n_holding = np.empty(nodes.n, np.int64)
    centers, found = np.empty(n_clusters, np.int64), np.empty(0, np.int64)
    low, high = 0, len(candidates) - 1  # the answer is one of candidates[low..high]
    while low <= high:
        middle = (low + high) // 2
        balls_within(squares, candidates[middle], balls, n_holding)
        answer = find_cover(balls, n_holding, MAX_TESTS, centers)
        if answer < 0:
            return None
        if answer:
            found, high = centers[centers >= 0].copy(), middle - 1
        else:
            low = middle + 1
    radius = float(np.sqrt(candidates[low]))
    return Relaxation(found, radius, radius, "exact")


def greedy(nodes: Nodes, n_clusters: int) -> Relaxation:
    """The threshold greedy: uncovered nodes become centers that reach with respect to 2r.

    Every node reaches all of its cluster in an optimal cover with respect to twice its radius, so
    that a radius for which the centers do not suffice is below the optimum. The search halves the
    interval between such a radius and one for which they suffice; no distances are kept.
    """
    centers = np.empty(n_clusters, np.int64)
    high = _surely_enough(nodes)
    if _covers(nodes, 0.0, centers) <= n_clusters:
        return Relaxation(_first(nodes, 0.0, centers), 0.0, 0.0, "greedy")
    low, n_steps = 0.0, 0
    while high - low > WIDTH * high and n_steps < MAX_STEPS:
        middle = (low + high) / 2
        n_steps += 1
        if _covers(nodes, middle, centers) <= n_clusters:
            high = middle
        else:
            low = middle
    return Relaxation(_first(nodes, high, centers), 2 * high, low, "greedy")


def _covers(nodes: Nodes, radius: float, centers: IntArray) -> int:
    square = (2 * radius) ** 2
    if nodes.graph is None:
        return cover_all_pairs_greedily(nodes.rows, square, centers)
    return cover_greedily(nodes.graph.indptr, nodes.graph.indices, nodes.rows, square, centers)


def _first(nodes: Nodes, radius: float, centers: IntArray) -> IntArray:
    """The centers that cover with this radius."""
    return centers[: _covers(nodes, radius, centers)].copy()


def _surely_enough(nodes: Nodes) -> float:
    """Radius for which one center of every component suffices."""
    if nodes.graph is None:
        component = np.zeros(nodes.n, np.int32)
    else:
        component = nodes.graph.component.astype(np.int32)
    firsts = np.unique(component, return_index=True)[1]
    squares: FloatArray = nodes.squares(component, nodes.at(firsts))
    return 0.5 * float(np.sqrt(squares.max())) * (1 + 1e-12)
