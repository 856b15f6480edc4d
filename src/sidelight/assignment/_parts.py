"""Exact solvers for one kind of connected part of an assignment problem each.

Costs are infinite where a cluster is not allowed; see :mod:`sidelight.assignment._assign`.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from sidelight._typing import FloatArray, IntArray
from sidelight.assignment._coloring import color_bounds
from sidelight.assignment._cpsat import color_variables, fits, make_solver, read_colors, solve
from sidelight.assignment._graph import Graph

# Decisions in branch and bound before a part is handed on, and neighbors looked at by chains.
_DECISIONS = 2_000
_CHAIN_WORK = 100_000_000
# A larger linear programme (edges times clusters) is not made.
_MAX_TERMS = 5_000_000
# CP-SAT counts in whole numbers: the dearest cluster of a part costs this much.
_WHOLE = 10**9
_INTEGRAL = 1e-6


class Unsolvable(Exception):
    """A part has no assignment; the caller finds out why."""


def solve_clique(cost: FloatArray) -> IntArray:
    """All nodes differ: the rectangular assignment problem."""
    from scipy.optimize import linear_sum_assignment

    if cost.shape[0] > cost.shape[1]:
        raise Unsolvable
    try:
        _, labels = linear_sum_assignment(cost)
    except ValueError:
        raise Unsolvable from None
    return labels.astype(np.int64)


def solve_by_search(
    cost: FloatArray, graph: Graph, nodes: IntArray, starts: IntArray
) -> tuple[IntArray, npt.NDArray[np.bool_]]:
    """Branch and bound over small parts; (labels of all nodes, which parts are solved).

    The nodes of part ``p`` are ``nodes[starts[p]:starts[p + 1]]``.
    """
    from sidelight._kernels.assignment.augmenting import branch_and_bound

    labels, states = branch_and_bound(
        cost, graph.indptr, graph.neighbors, starts, nodes, _DECISIONS
    )
    if np.any(states == 0):
        raise Unsolvable
    return labels, states == 1


def solve_by_relaxation(cost: FloatArray, graph: Graph, deadline: float) -> IntArray:
    """Solve the linear relaxation with clique inequalities; -1 where a node is not integral.

    The relaxation falls apart like the problem: a part without a -1 is solved.
    """
    from scipy.optimize import linprog

    labels = np.full(graph.n_nodes, -1, dtype=np.int64)
    if len(graph.edges) * cost.shape[1] > _MAX_TERMS or time.monotonic() >= deadline:
        return labels
    node, cluster = np.nonzero(np.isfinite(cost))
    objective = cost[node, cluster] - cost.min(axis=1)[node]
    largest = objective.max()
    if largest > 0:
        objective /= largest
    once, at_most_once = _inequalities(graph, node, cluster, cost.shape)
    result = linprog(
        objective,
        A_ub=at_most_once,
        b_ub=np.ones(at_most_once.shape[0]),
        A_eq=once,
        b_eq=np.ones(graph.n_nodes),
        bounds=(0, None),
        method="highs",
        options={"time_limit": max(deadline - time.monotonic(), 0.0)},
    )
    if result.status == 2:
        raise Unsolvable
    if result.x is None or result.status != 0:
        return labels
    chosen = result.x > 1 - _INTEGRAL
    labels[node[chosen]] = cluster[chosen]
    return labels


def _inequalities(
    graph: Graph, node: IntArray, cluster: IntArray, shape: tuple[int, ...]
) -> tuple[Any, Any]:
    """Every node once; of a clique, every cluster at most once. Columns are (node, cluster)."""
    from scipy.sparse import csr_array

    from sidelight._kernels.assignment.coloring import cover_by_cliques

    n_nodes, k = shape
    n_columns = len(node)
    columns = np.arange(n_columns)
    once = csr_array((np.ones(n_columns), (node, columns)), shape=(n_nodes, n_columns))
    column_of = np.full(shape, -1, dtype=np.int64)
    column_of[node, cluster] = columns
    starts, members = cover_by_cliques(graph.indptr, graph.neighbors)
    clique = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    column = column_of[members]
    row = clique[:, None] * k + np.arange(k)
    there = column >= 0
    entries = (np.ones(int(there.sum())), (row[there], column[there]))
    at_most_once = csr_array(entries, shape=((len(starts) - 1) * k, n_columns))
    matters = np.diff(at_most_once.indptr) > 1
    return once, at_most_once[matters]


def solve_hard_part(
    cost: FloatArray, graph: Graph, hint: IntArray | None, deadline: float
) -> tuple[IntArray, bool]:
    """Solve one part by CP-SAT; (labels, whether they are optimal), labels -1 if none was found."""
    guesses = [] if hint is None else [hint]
    if fits(graph, cost.shape[1], deadline):
        found, optimal = _solve_by_cpsat(cost, graph, hint, deadline)
        if optimal:
            return found, True
        guesses = [found, *guesses]
    return _best_guess(cost, graph, guesses), False


def _solve_by_cpsat(
    cost: FloatArray, graph: Graph, hint: IntArray | None, deadline: float
) -> tuple[IntArray, bool]:
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    has_color = color_variables(model, graph, np.isfinite(cost))
    above_least = cost - cost.min(axis=1, keepdims=True)
    largest = above_least[np.isfinite(cost)].max()
    whole = _WHOLE / largest if largest > 0 else 0.0
    prices = [round(above_least[key] * whole) for key in has_color]
    model.minimize(cp_model.LinearExpr.weighted_sum(list(has_color.values()), prices))
    if hint is not None:
        for (node, cluster), variable in has_color.items():
            model.add_hint(variable, int(hint[node] == cluster))
    solver = make_solver(deadline)
    # The relaxation gives the bound here; without it the search does not end.
    solver.parameters.linearization_level = 2
    status = solve(solver, model)
    if status == cp_model.INFEASIBLE:
        raise Unsolvable
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return np.full(graph.n_nodes, -1, dtype=np.int64), False
    return read_colors(solver, has_color, graph.n_nodes), status == cp_model.OPTIMAL


def _best_guess(cost: FloatArray, graph: Graph, guesses: Iterable[IntArray]) -> IntArray:
    """Improve the guesses that satisfy everything, and greedy ones; the cheapest, or -1."""
    from sidelight._kernels.assignment.augmenting import improve_by_chains

    best, least = np.full(graph.n_nodes, -1, dtype=np.int64), np.inf
    nodes = np.arange(graph.n_nodes)
    for guess in [*guesses, *_greedy_guesses(cost, graph)]:
        labels = guess.copy()
        if not satisfies(labels, cost, graph).all():
            continue
        improve_by_chains(cost, graph.indptr, graph.neighbors, labels, _CHAIN_WORK)
        total = cost[nodes, labels].sum()
        if total < least:
            best, least = labels, total
    return best


def _greedy_guesses(cost: FloatArray, graph: Graph) -> Iterator[IntArray]:
    """Nodes with most to lose first; and a coloring, each color to the cluster it suits best."""
    from scipy.optimize import linear_sum_assignment

    from sidelight._kernels.assignment.augmenting import assign_in_order, assign_the_rest

    indptr, neighbors, k = graph.indptr, graph.neighbors, cost.shape[1]
    two_cheapest = np.partition(cost, 1, axis=1)[:, :2]
    order = np.argsort(two_cheapest[:, 0] - two_cheapest[:, 1], kind="stable")
    yield assign_in_order(cost, indptr, neighbors, order)[0]

    bounds = color_bounds(graph)
    if bounds.upper > k:
        return
    allowed = np.isfinite(cost)
    price = np.zeros((bounds.upper, k))
    np.add.at(price, bounds.coloring, np.where(allowed, cost, cost[allowed].max()))
    _, cluster = linear_sum_assignment(price)
    labels = cluster[bounds.coloring]
    # Nodes that this takes to a cluster that is not allowed come last.
    wrong = np.flatnonzero(~allowed[np.arange(graph.n_nodes), labels])
    labels[wrong] = -1
    assign_the_rest(cost, indptr, neighbors, wrong, labels)
    yield labels


def satisfies(labels: IntArray, cost: FloatArray, graph: Graph) -> npt.NDArray[np.bool_]:
    """Which nodes have an allowed cluster that none of their neighbors has."""
    k = cost.shape[1]
    fine = (labels >= 0) & (labels < k)
    fine &= np.isfinite(cost[np.arange(len(cost)), np.clip(labels, 0, k - 1)])
    first, second = graph.edges[:, 0], graph.edges[:, 1]
    same = labels[first] == labels[second]
    fine[first[same]] = False
    fine[second[same]] = False
    return fine
