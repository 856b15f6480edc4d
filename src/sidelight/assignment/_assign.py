r"""The cheapest assignment to clusters in which cannot-linked components differ, exactly.

.. math::

    \min_l \sum_i c_{i, l_i} \quad\text{subject to}\quad l_i \ne l_j \text{ for all edges } (i, j)

Nodes are must-link components (contracted to weighted points) and edges the cannot-links between
them. The problem falls into connected parts, and most parts are easy: the ladder below solves each
with the cheapest exact method that fits (specified after Baumann and Hochbaum, BLPKM-CC and PCCC).

1. a node without edges takes its cheapest cluster;
2. two clusters: a part has two labelings;
3. nodes that can be decided given one neighbor leave (trees are solved by this), and clusters that
   a node never needs are forbidden, which often takes the rest apart;
4. a clique is an assignment problem;
5. a small part is searched by branch and bound;
6. the linear relaxation with clique inequalities, where its solution is integral;
7. CP-SAT with the start as a hint, until the time is over. What is too large for that, or left
   over, is assigned greedily and improved by exchanges along chains (Kempe), without a proof.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from sidelight._typing import FloatArray, IntArray
from sidelight.assignment._coloring import check_coloring, infeasible
from sidelight.assignment._cpsat import fits
from sidelight.assignment._graph import Graph, connected_parts, make_graph, subgraph
from sidelight.assignment._parts import (
    Unsolvable,
    satisfies,
    solve_by_relaxation,
    solve_by_search,
    solve_clique,
    solve_hard_part,
)
from sidelight.exceptions import InfeasibleConstraints, SidelightError

# Looks at one node before a round of the reduction ends, and the largest part for branch and bound.
_VISITS = 8
_SMALL = 24


@dataclass(frozen=True, eq=False)
class Assignment:
    """An assignment of nodes to clusters.

    Attributes
    ----------
    labels : ndarray of shape (m,)
        Cluster of every node.
    cost : float
        Sum of the nodes' costs in their clusters.
    optimal : bool
        Whether no cheaper assignment exists; False when the time was over before that was proved.
    parts : dict of str to int
        How many connected parts each solver took.
    """

    labels: IntArray
    cost: float
    optimal: bool
    parts: dict[str, int] = field(default_factory=dict)


def assign(
    cost: npt.ArrayLike,
    edges: npt.ArrayLike,
    *,
    start: npt.ArrayLike | None = None,
    time_limit: float = 60.0,
) -> Assignment:
    """Find the cheapest assignment in which the two ends of every edge differ.

    Parameters
    ----------
    cost : array-like of shape (m, k)
        Cost of every node in every cluster; infinite where it must not go.
    edges : array-like of shape (e, 2)
        Pairs of nodes that must differ.
    start : array-like of shape (m,), optional
        An assignment to begin with, for instance the one before the centers moved. On every
        connected part where it satisfies everything the result is no worse, and the same on a tie.
    time_limit : float
        Seconds for the parts that need a general solver.

    Returns
    -------
    Assignment

    Raises
    ------
    InfeasibleConstraints
        When no assignment exists. ``clique`` then holds nodes that are pairwise apart, if that is
        the reason; with two clusters the message names an odd cycle.
    SidelightError
        When the time was over before any assignment was found.

    Examples
    --------
    >>> from sidelight.assignment._assign import assign
    >>> cost = [[0.0, 9.0], [9.0, 0.0], [4.0, 4.5]]
    >>> assign(cost, [[0, 2], [1, 0]]).labels
    array([0, 1, 1])
    """
    deadline = time.monotonic() + time_limit
    costs = _check_cost(cost)
    graph = make_graph(len(costs), edges)
    given = None if start is None else np.asarray(start, dtype=np.int64)
    if given is not None and given.shape != (len(costs),):
        raise SidelightError(f"start must hold one cluster for each of the {len(costs)} nodes.")
    try:
        if costs.shape[1] == 2:
            labels, parts = _two_clusters(costs, graph)
            optimal = True
        else:
            labels, optimal, parts = _solve(costs, graph, given, deadline)
    except Unsolvable:
        raise _explain(costs, graph) from None
    if given is not None:
        labels = _prefer(given, labels, costs, graph)
    if np.any(labels < 0):
        raise SidelightError(
            f"No assignment to {costs.shape[1]} clusters that satisfies all cannot-links was found "
            f"in {time_limit:g} seconds, and none was proved impossible: allow more time or more "
            "clusters."
        )
    return Assignment(
        labels, float(costs[np.arange(len(costs)), labels].sum()), optimal, dict(parts)
    )


def greedy_assign(
    cost: npt.ArrayLike, edges: npt.ArrayLike, order: npt.ArrayLike
) -> tuple[IntArray, int]:
    """Give every node in turn the cheapest cluster that no neighbor has yet (COP-KMEANS).

    ``cost`` and ``edges`` are those of :func:`assign`, ``order`` holds the nodes in the order of
    their turns (Basu, Davidson, Wagstaff (eds.), Constrained Clustering, table 1.1). Returns the
    clusters, -1 for nodes without a turn, and the node that found every cluster taken, or -1.

    Examples
    --------
    Whether the greedy way succeeds depends on the order:

    >>> from sidelight.assignment._assign import greedy_assign
    >>> cost, apart = [[0, 100], [100, 0], [25, 25]], [[0, 2], [1, 2]]
    >>> greedy_assign(cost, apart, [0, 1, 2])[1]
    2
    >>> greedy_assign(cost, apart, [0, 2, 1])[0]
    array([0, 0, 1])
    """
    from sidelight._kernels.assignment.augmenting import assign_in_order

    costs = _check_cost(cost)
    graph = make_graph(len(costs), edges)
    turns = np.ascontiguousarray(order, dtype=np.int64)
    labels, blocked = assign_in_order(costs, graph.indptr, graph.neighbors, turns)
    return labels, int(blocked)


def _check_cost(cost: npt.ArrayLike) -> FloatArray:
    costs = np.ascontiguousarray(cost, dtype=np.float64)
    if costs.ndim != 2 or costs.shape[1] == 0:
        raise SidelightError(f"cost must have shape (nodes, clusters), got {costs.shape}.")
    if np.isnan(costs).any() or np.isneginf(costs).any():
        raise SidelightError("Costs must be numbers, or infinite where a cluster is not allowed.")
    return costs


def _two_clusters(cost: FloatArray, graph: Graph) -> tuple[IntArray, Counter[str]]:
    """Every connected part has two labelings: take the cheaper."""
    from sidelight._kernels.assignment.augmenting import orient_parts
    from sidelight._kernels.assignment.coloring import two_color

    colors, part, cycle = two_color(graph.indptr, graph.neighbors)
    if len(cycle):
        raise Unsolvable
    n_parts = int(part.max()) + 1 if len(part) else 0
    labels: IntArray = orient_parts(cost, colors, part, n_parts)
    if not np.isfinite(cost[np.arange(len(cost)), labels]).all():
        raise Unsolvable
    return labels, Counter({"two clusters": n_parts})


def _solve(
    cost: FloatArray, graph: Graph, start: IntArray | None, deadline: float
) -> tuple[IntArray, bool, Counter[str]]:
    """Solve the nodes with edges by the ladder; the others take their cheapest cluster."""
    labels = cost.argmin(axis=1).astype(np.int64)
    if not np.isfinite(cost[np.arange(len(cost)), labels]).all():
        raise Unsolvable
    nodes = np.flatnonzero(np.diff(graph.indptr))
    parts: Counter[str] = Counter({"nearest": len(cost) - len(nodes)})
    if len(nodes) == 0:
        return labels, True, parts
    held = subgraph(graph, nodes)
    reduction = _reduce(cost[nodes], held)
    hint = None if start is None else start[nodes][reduction.nodes]
    rest, optimal, used = _solve_parts(reduction.cost, reduction.graph, hint, deadline)
    labels[nodes] = reduction.expand(rest)
    n_parts, part = connected_parts(held.n_nodes, held.edges)
    parts["reduction"] = n_parts - len(np.unique(part[reduction.nodes]))
    return labels, optimal, +(parts + used)


@dataclass(frozen=True)
class _ReductionRound:
    """Nodes that left in one round of the reduction (see ``reduce_problem``)."""

    n_nodes: int
    remaining: IntArray
    left: IntArray
    parent: IntArray
    first: IntArray
    second: IntArray


@dataclass(frozen=True)
class _Reduction:
    """The reduced problem: nodes (of the graph it began with) and costs."""

    nodes: IntArray
    cost: FloatArray
    graph: Graph
    rounds: list[_ReductionRound]

    def expand(self, labels: IntArray) -> IntArray:
        """Labels of all nodes from those of the remaining ones."""
        from sidelight._kernels.assignment.augmenting import read_back

        for one in reversed(self.rounds):
            wider = np.full(one.n_nodes, -1, dtype=np.int64)
            wider[one.remaining] = labels
            read_back(wider, one.left, one.parent, one.first, one.second)
            labels = wider
        return labels


def _reduce(cost: FloatArray, graph: Graph) -> _Reduction:
    """Remove nodes and edges as long as the exact reduction rules apply."""
    from sidelight._kernels.assignment.augmenting import reduce_problem

    nodes = np.arange(graph.n_nodes)
    rounds: list[_ReductionRound] = []
    while graph.n_nodes:
        cost = cost.copy()
        left, parent, first, second, dead_end = reduce_problem(
            cost, graph.indptr, graph.neighbors, _VISITS
        )
        if dead_end >= 0:
            raise Unsolvable
        stays = np.ones(graph.n_nodes, dtype=bool)
        stays[left] = False
        remaining = np.flatnonzero(stays)
        rounds.append(_ReductionRound(graph.n_nodes, remaining, left, parent, first, second))
        nodes, cost, n_edges = nodes[remaining], cost[remaining], len(graph.edges)
        graph = _drop_idle_edges(subgraph(graph, remaining), cost)
        if len(left) == 0 and len(graph.edges) == n_edges:
            break
    return _Reduction(nodes, cost, graph, rounds)


def _drop_idle_edges(graph: Graph, cost: FloatArray) -> Graph:
    """Keep the edges whose ends have an allowed cluster in common."""
    allowed = np.isfinite(cost)
    matters = np.any(allowed[graph.edges[:, 0]] & allowed[graph.edges[:, 1]], axis=1)
    return make_graph(graph.n_nodes, graph.edges[matters])


def _solve_parts(
    cost: FloatArray, graph: Graph, hint: IntArray | None, deadline: float
) -> tuple[IntArray, bool, Counter[str]]:
    """Solve connected parts in which every node has at least two edges."""
    labels = np.full(graph.n_nodes, -1, dtype=np.int64)
    used: Counter[str] = Counter()
    if graph.n_nodes == 0:
        return labels, True, used
    n_parts, part = connected_parts(graph.n_nodes, graph.edges)
    n_nodes = np.bincount(part, minlength=n_parts)
    n_edges = np.bincount(part[graph.edges[:, 0]], minlength=n_parts)
    by_part = np.argsort(part, kind="stable")
    starts = np.concatenate([[0], np.cumsum(n_nodes)])

    is_clique = 2 * n_edges == n_nodes * (n_nodes - 1)
    for p in np.flatnonzero(is_clique):
        members = by_part[starts[p] : starts[p + 1]]
        labels[members] = solve_clique(cost[members])
    used["clique"] = int(is_clique.sum())

    small = ~is_clique & (n_nodes <= _SMALL)
    listed = by_part[small[part[by_part]]]
    bounds = np.concatenate([[0], np.cumsum(n_nodes[small])])
    found, solved = solve_by_search(cost, graph, listed, bounds)
    done = is_clique.copy()
    done[np.flatnonzero(small)[solved]] = True
    by_search = done[part] & ~is_clique[part]
    labels[by_search] = found[by_search]
    used["search"] = int(solved.sum())

    open_nodes = np.flatnonzero(~done[part])
    if len(open_nodes) == 0:
        return labels, True, used
    relaxed = solve_by_relaxation(cost[open_nodes], subgraph(graph, open_nodes), deadline)
    fractional = np.unique(part[open_nodes[relaxed < 0]])
    for p in np.setdiff1d(part[open_nodes], fractional):
        members = by_part[starts[p] : starts[p + 1]]
        labels[members] = relaxed[np.searchsorted(open_nodes, members)]
        used["linear programme"] += 1

    optimal = True
    for p in fractional[np.argsort(n_nodes[fractional], kind="stable")]:
        members = by_part[starts[p] : starts[p + 1]]
        guess = None if hint is None else hint[members]
        one = subgraph(graph, members)
        used["cp-sat" if fits(one, cost.shape[1], deadline) else "greedy"] += 1
        labels[members], proved = solve_hard_part(cost[members], one, guess, deadline)
        optimal &= proved
    return labels, optimal, used


def _prefer(start: IntArray, labels: IntArray, cost: FloatArray, graph: Graph) -> IntArray:
    """Keep the start on every connected part where it satisfies everything and costs no more."""
    n_parts, part = connected_parts(graph.n_nodes, graph.edges)
    nodes = np.arange(len(cost))
    fine = np.ones(n_parts, dtype=bool)
    fine[part[~satisfies(start, cost, graph)]] = False
    open_part = np.zeros(n_parts, dtype=bool)
    open_part[part[labels < 0]] = True
    k = cost.shape[1]
    before = _sum_by(part, cost[nodes, np.clip(start, 0, k - 1)], fine, n_parts)
    after = _sum_by(part, cost[nodes, labels], ~open_part, n_parts)
    # Equal up to rounding counts as equal, so that an assignment does not swing between ties.
    keep = fine & (before <= after + 1e-12 * np.abs(after))
    return np.where(keep[part], start, labels)


def _sum_by(
    part: IntArray, values: FloatArray, counts: npt.NDArray[np.bool_], n_parts: int
) -> FloatArray:
    """Sum of the values in every part that counts; infinite in the others."""
    total = np.bincount(part, weights=np.where(counts[part], values, 0.0), minlength=n_parts)
    return np.where(counts, total, np.inf)


def _explain(cost: FloatArray, graph: Graph) -> InfeasibleConstraints:
    """Raise with the reason for infeasibility: too few clusters, or too few allowed ones."""
    k = cost.shape[1]
    result = check_coloring(graph.n_nodes, graph.edges, k)
    if result.answer == "no":
        return infeasible(result)
    return InfeasibleConstraints(
        f"The cannot-links cannot be satisfied with {k} clusters when every node has to be in one "
        "that is allowed to it: allow more clusters or drop cannot-links.",
        k=k,
        sufficient_k=None,
    )
