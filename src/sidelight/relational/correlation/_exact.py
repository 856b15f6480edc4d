"""Exact correlation clustering: one component of positive edges after the other.

A component of few nodes is solved by dynamic programming over its subsets. For others the linear
program comes first, whose solution often is a partition. If it is not, up to 20 nodes are solved by
their subsets, and more by integer programs over the same cycles.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from sidelight._kernels.relational.correlation.lp_subsets import best_partition
from sidelight._typing import Array, FloatArray, IntArray
from sidelight.relational.correlation._graph import SignedGraph
from sidelight.relational.correlation._lp import (
    EQUAL,
    NodeDistances,
    PartSolution,
    has_whole_scores,
    rounded_up,
    solve_part,
)
from sidelight.relational.correlation._lp_parts import (
    ComponentScores,
    EdgeComponents,
    check_pairs,
    components_of,
    parts_of,
)
from sidelight.relational.correlation._rounding import balls, grow_regions, lp_pivot

#: Nodes of a component whose subsets are looked at at once, in less than a millisecond.
FEW_NODES = 12
#: Nodes of a component whose subsets are looked at if the linear program is fractional: 2 seconds.
MAX_SUBSETS = 20
#: Rows that are added before a program is solved again.
MAX_ROWS = 200_000
#: Gap that HiGHS may leave between its solution and its bound.
MILP_GAP = 1e-6
#: Random roundings of a fractional solution.
N_ROUNDINGS = 20


class ExactSolution(NamedTuple):
    """Partition of the nodes and what is proven about it.

    Attributes
    ----------
    labels : ndarray of shape (n,), int64
        A node of its cluster for every node.
    bound : float
        Lower bound on the cost of every partition; the cost if the partition is optimal.
    optimal : bool
        Whether the partition is proven to be optimal.
    component_bounds : ndarray of shape (n_components,)
        Lower bound on the cost of every component of positive edges.
    """

    labels: IntArray
    bound: float
    optimal: bool
    component_bounds: FloatArray


def solve_exact(
    graph: SignedGraph, *, time_limit: float = 60.0, labels: Array | None = None
) -> ExactSolution:
    """Find an optimal partition, or the best that is found in time and a lower bound.

    Parameters
    ----------
    graph : SignedGraph
        The problem.
    time_limit : float, default=60.0
        Seconds after which the best so far is returned. A program that is being solved is stopped.
    labels : ndarray of shape (n,), optional
        A partition that is known: the result is not worse.

    Raises
    ------
    SidelightError
        If a component of positive edges has too many nodes or scored pairs.
    """
    groups = components_of(graph)
    check_pairs(graph, groups, "An exact solution")
    stop = time.monotonic() + time_limit
    component = graph.positive_components
    start = np.arange(graph.n) if labels is None else _inside_components(labels, component)
    best = start.copy()
    bounds = np.zeros(int(component.max(initial=-1)) + 1)
    scores_of = ComponentScores(graph)
    for nodes in groups:
        if len(nodes) <= FEW_NODES:
            best[nodes] = _by_subsets(scores_of(nodes)[0], nodes)
    bounds[:] = graph.component_costs(best)
    for nodes in groups:
        if len(nodes) > FEW_NODES:
            code = component[nodes[0]]
            search = ComponentSearch(graph, nodes, start, stop)
            best[nodes], bounds[code] = search.run()
    costs = graph.component_costs(best)
    optimal = bool(np.all(costs - bounds <= EQUAL * np.maximum(1.0, costs)))
    bounds = np.minimum(bounds, costs)
    bound = graph.cost(best) if optimal else float(graph.constant + bounds.sum())
    return ExactSolution(best, bound, optimal, bounds)


class ComponentSearch:
    """Linear and then integer programs for one component, until bound and cost meet."""

    def __init__(self, graph: SignedGraph, nodes: IntArray, labels: IntArray, stop: float) -> None:
        self.graph = graph
        self.nodes = nodes
        self.code = int(graph.positive_components[nodes[0]])
        self.stop = stop
        self.whole = has_whole_scores(graph)
        self.best = labels
        self.cost = self._cost(labels)
        self.bound = 0.0

    def run(self) -> tuple[IntArray, float]:
        """Labels of the nodes of the component, and a lower bound on its cost."""
        (part,) = parts_of(self.graph, [self.nodes])
        solved = solve_part(part, MAX_ROWS, 10**6, self.stop)
        self._raise_bound(float(solved.values[0]))
        self._round(solved)
        if solved.converged and not self._is_optimal:
            if len(self.nodes) <= MAX_SUBSETS:
                self._try_all_subsets()
            else:
                self._branch(part, solved)
        return self.best[self.nodes], self.bound

    def _try_all_subsets(self) -> None:
        """Find the optimum by dynamic programming."""
        labels = np.arange(self.graph.n)
        labels[self.nodes] = _by_subsets(ComponentScores(self.graph)(self.nodes)[0], self.nodes)
        self._keep_better(labels)
        self.bound = self.cost

    def _branch(self, part: EdgeComponents, solved: PartSolution) -> None:
        """Solve integer programs, adding the cycles that their solutions miss."""
        paid = float(part.paid[0])
        while not self._is_optimal and time.monotonic() < self.stop:
            z, bound = solved.cover.solve_integral(self.stop - time.monotonic(), self.cost - paid)
            self._raise_bound(bound + paid)
            if z is None:
                return
            self._keep_better(_joined_by(part, z, self.graph.n))
            if not solved.cover.add_violated(z, MAX_ROWS):
                # Optimal to the tolerance of the solver: what is left is no real gap.
                if self.cost - self.bound <= MILP_GAP * max(1.0, self.cost):
                    self.bound = self.cost
                return

    def _round(self, solved: PartSolution) -> None:
        """Partitions from the distances of the linear program."""
        x = NodeDistances(self.graph.n, tuple(solved.blocks))
        self._keep_better(grow_regions(self.graph, x).labels)
        self._keep_better(balls(self.graph, x))
        rng = np.random.default_rng(0)
        for _ in range(N_ROUNDINGS):
            if self._is_optimal:
                return
            self._keep_better(lp_pivot(self.graph, x, rng))

    @property
    def _is_optimal(self) -> bool:
        return self.cost - self.bound <= EQUAL * max(1.0, self.cost)

    def _cost(self, labels: IntArray) -> float:
        return float(self.graph.component_costs(labels)[self.code])

    def _keep_better(self, labels: IntArray) -> None:
        if self.graph.violates(labels):
            return
        cost = self._cost(labels)
        if cost < self.cost:
            self.best, self.cost = labels, cost

    def _raise_bound(self, bound: float) -> None:
        if self.whole:
            bound = float(rounded_up(np.array([bound]))[0])
        self.bound = max(self.bound, bound)


def _by_subsets(scores: FloatArray, nodes: IntArray) -> IntArray:
    """Best partition of a few nodes."""
    labels = np.empty(len(nodes), np.int64)
    best_partition(scores, labels)
    return nodes[labels]


def _joined_by(part: EdgeComponents, z: FloatArray, n: int) -> IntArray:
    """Components of the positive edges that are not paid; a node of its cluster for every node."""
    kept = np.flatnonzero(z[: part.n_positive] < 0.5)
    first, second = part.ends[kept].T
    edges = sparse.coo_array((np.ones(len(kept)), (first, second)), (part.n_nodes,) * 2)
    _, codes = connected_components(edges, directed=False)
    labels = np.arange(n)
    labels[part.nodes] = part.nodes[np.unique(codes, return_index=True)[1][codes]]
    return labels


def _inside_components(labels: Array, component: IntArray) -> IntArray:
    """Parts of clusters that lie in one component, each named by its first node."""
    key = np.asarray(labels).astype(np.int64) * (int(component.max(initial=0)) + 1) + component
    _, first, codes = np.unique(key, return_index=True, return_inverse=True)
    return first[codes]
