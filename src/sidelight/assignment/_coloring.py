"""Can the cannot-links be satisfied with k clusters? Coloring of the conflict graph.

Nodes are must-link components and edges the cannot-links between them, so that ``k`` clusters
suffice exactly when the graph has a proper coloring with ``k`` colors (book, section 1.2: hard
in general). Certificates that are cheap come first: a clique needs its size, a graph of degeneracy
``d`` never needs more than ``d + 1``, and ``k = 1`` and ``k = 2`` are decided by a search. Only
what lies between is left to a solver, on the nodes that can matter, for a limited time.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from sidelight._typing import IntArray
from sidelight._words import counted, listed, setting
from sidelight.assignment._graph import Graph, connected_parts, make_graph, subgraph
from sidelight.exceptions import InfeasibleConstraints, SidelightError

# Nodes times colors, and edges, up to which the better but slower greedy coloring is tried.
_DSATUR_CELLS = 20_000_000
_DSATUR_EDGES = 300_000
_CLIQUE_BUDGET = 20_000_000


@dataclass(frozen=True)
class ColorBounds:
    """Bounds of the chromatic number, with the clique and the coloring that prove them."""

    lower: int
    upper: int
    clique: IntArray
    coloring: IntArray
    core: IntArray


@dataclass(frozen=True, eq=False)
class Feasibility:
    """Whether ``k`` clusters can satisfy the cannot-links, and what proves it.

    Attributes
    ----------
    k : int
        Number of clusters that was asked about.
    answer : {"yes", "no", "unknown"}
        ``"unknown"`` when neither could be proved within the time limit.
    lower, upper : int
        Bounds of the number of clusters that the cannot-links need.
    clique : tuple of int or None
        More than ``k`` nodes that are pairwise apart, where that is why the answer is no.
    odd_cycle : tuple of int or None
        For ``k = 2``: an odd number of nodes, each apart from the next and the last from the first.
    coloring : ndarray of shape (n_nodes,) or None
        Nodes to at most ``k`` clusters such that everything is satisfied, if the answer is yes.
    """

    k: int
    answer: Literal["yes", "no", "unknown"]
    lower: int
    upper: int
    clique: tuple[int, ...] | None = None
    odd_cycle: tuple[int, ...] | None = None
    coloring: IntArray | None = None

    def __bool__(self) -> bool:
        return self.answer == "yes"

    def __str__(self) -> str:
        clusters = counted(self.k, "cluster")
        verdict = {
            "yes": f"{clusters} can satisfy the cannot-links",
            "no": f"{clusters} cannot satisfy the cannot-links",
            "unknown": f"whether {clusters} can satisfy the cannot-links is not known",
        }[self.answer]
        if self.lower == self.upper:
            need = f"{counted(self.upper, 'cluster')} needed"
        else:
            need = f"between {self.lower} and {counted(self.upper, 'cluster')} needed"
        return f"{verdict}; {need}{self.reason()}"

    def reason(self, name: Callable[[int], str] = str) -> str:
        """Sentence on the nodes that prove ``k`` too small; ``name`` turns a node into words."""
        if self.clique is not None:
            return f": {_listed(self.clique, name)} are pairwise apart"
        if self.odd_cycle is not None:
            return (
                f": {_listed(self.odd_cycle, name)} form an odd cycle, each apart from the next "
                "and the last from the first"
            )
        return ""


def check_coloring(
    n_nodes: int, edges: npt.ArrayLike, k: int, *, time_limit: float = 10.0
) -> Feasibility:
    """Decide whether a conflict graph can be colored with ``k`` colors.

    Parameters
    ----------
    n_nodes : int
        Number of nodes (must-link components).
    edges : array-like of shape (e, 2)
        Pairs of nodes that must differ.
    k : int
        Number of colors (clusters).
    time_limit : float
        Seconds for the exact search, which is needed only when the fast bounds leave ``k`` open.

    Returns
    -------
    Feasibility
        The answer is ``"unknown"`` when the time did not suffice, or when the bounds leave a graph
        open that is too large for a solver (edges times ``k`` above half a million).

    Notes
    -----
    Bounds take O(n + e) time. The exact search runs on the ``k``-core (a node with fewer than ``k``
    neighbors can always be colored last), one connected part at a time, with the colors of a
    clique fixed to break the symmetry.

    References
    ----------
    Basu, Davidson, Wagstaff (eds.), Constrained Clustering, section 1.2.

    Examples
    --------
    >>> from sidelight.assignment._coloring import check_coloring
    >>> print(check_coloring(4, [[0, 1], [1, 2], [0, 2], [2, 3]], k=2))
    2 clusters cannot satisfy the cannot-links; 3 clusters needed: 0, 1 and 2 are pairwise apart
    """
    if k < 1:
        raise SidelightError(f"{setting('k')} must be at least 1, got {k}.")
    graph = make_graph(n_nodes, edges)
    bounds = color_bounds(graph)
    lower, upper = bounds.lower, bounds.upper
    if lower > k:
        odd_cycle = find_odd_cycle(graph) if k == 2 else None
        return Feasibility(k, "no", lower, upper, _as_tuple(bounds.clique), odd_cycle)
    if upper <= k:
        return Feasibility(k, "yes", lower, upper, coloring=bounds.coloring)
    if k == 2:
        return _check_two_colors(graph, bounds)
    answer, coloring = _search_coloring(graph, bounds, k, time.monotonic() + time_limit)
    if answer == "yes":
        return Feasibility(k, "yes", lower, k, coloring=coloring)
    if answer == "no":
        return Feasibility(k, "no", k + 1, upper)
    return Feasibility(k, "unknown", lower, upper)


def infeasible(result: Feasibility, name: Callable[[int], str] = str) -> InfeasibleConstraints:
    """Make the error for a ``k`` that is too small; ``name`` turns a node into words."""
    return InfeasibleConstraints(
        f"No {counted(result.k, 'cluster')} can satisfy the cannot-links{result.reason(name)}; "
        f"{counted(result.upper, 'cluster')} would suffice. Use more clusters, drop a cannot-link, "
        "or use a method with soft constraints such as PCKMeans.",
        k=result.k,
        clique=result.clique,
        sufficient_k=result.upper,
    )


def color_bounds(graph: Graph) -> ColorBounds:
    """Bound the chromatic number from below by a clique and from above by a greedy coloring."""
    from sidelight._kernels.assignment import coloring as kernels

    indptr, neighbors = graph.indptr, graph.neighbors
    order, core = kernels.degeneracy_order(indptr, neighbors)
    clique = np.sort(kernels.large_clique(indptr, neighbors, order, core, _CLIQUE_BUDGET))
    uncolored = np.full(graph.n_nodes, -1, dtype=np.int64)
    colors = kernels.extend_coloring(indptr, neighbors, order[::-1].copy(), uncolored)
    lower, upper = len(clique), _n_colors(colors)
    small = graph.n_nodes * upper <= _DSATUR_CELLS and len(graph.edges) <= _DSATUR_EDGES
    if lower < upper and small:
        # Only a coloring with fewer colors is of any use, so the search may give up early.
        better, found = kernels.dsatur(indptr, neighbors, upper - 1)
        if found:
            colors, upper = better, _n_colors(better)
    return ColorBounds(lower, upper, clique, colors, core)


def find_odd_cycle(graph: Graph) -> tuple[int, ...] | None:
    """An odd cycle of the graph, or None if two colors suffice."""
    from sidelight._kernels.assignment.coloring import two_color

    _, _, cycle = two_color(graph.indptr, graph.neighbors)
    return _as_tuple(cycle) if len(cycle) else None


def _check_two_colors(graph: Graph, bounds: ColorBounds) -> Feasibility:
    from sidelight._kernels.assignment.coloring import two_color

    colors, _, cycle = two_color(graph.indptr, graph.neighbors)
    if len(cycle) == 0:
        return Feasibility(2, "yes", bounds.lower, 2, coloring=colors)
    clique = _as_tuple(cycle) if len(cycle) == 3 else None
    return Feasibility(2, "no", max(bounds.lower, 3), bounds.upper, clique, _as_tuple(cycle))


def _search_coloring(
    graph: Graph, bounds: ColorBounds, k: int, deadline: float
) -> tuple[Literal["yes", "no", "unknown"], IntArray | None]:
    """Color the k-core exactly, part by part, then everything outside it greedily."""
    from sidelight._kernels.assignment.coloring import degeneracy_order

    core_nodes = np.flatnonzero(bounds.core >= k)
    core = subgraph(graph, core_nodes)
    n_parts, part = connected_parts(core.n_nodes, core.edges)
    sizes = np.bincount(part, minlength=n_parts)
    colors = np.full(graph.n_nodes, -1, dtype=np.int64)
    colors[core_nodes] = bounds.coloring[core_nodes]
    answers: set[str] = set()
    # Few-colored parts are done; small ones first, because any of them may prove the answer no.
    too_many = np.unique(part[colors[core_nodes] >= k])
    for which in too_many[np.argsort(sizes[too_many], kind="stable")]:
        members = np.flatnonzero(part == which)
        answer, found = solve_coloring(subgraph(core, members), k, deadline)
        if answer == "no":
            return "no", None
        answers.add(answer)
        if found is not None:
            colors[core_nodes[members]] = found
    if "unknown" in answers:
        return "unknown", None
    order, _ = degeneracy_order(graph.indptr, graph.neighbors)
    return "yes", _color_outside(graph, colors, core_nodes, order)


def _color_outside(
    graph: Graph, colors: IntArray, core_nodes: IntArray, order: IntArray
) -> IntArray:
    """Color the peeled nodes in reverse order of peeling: each sees fewer than k colors."""
    from sidelight._kernels.assignment.coloring import extend_coloring

    peeled = np.ones(graph.n_nodes, dtype=bool)
    peeled[core_nodes] = False
    outside = order[peeled[order]][::-1].copy()
    colored: IntArray = extend_coloring(graph.indptr, graph.neighbors, outside, colors)
    return colored


def solve_coloring(
    graph: Graph, k: int, deadline: float
) -> tuple[Literal["yes", "no", "unknown"], IntArray | None]:
    """Decide the coloring of one connected part by constraint programming."""
    bounds = color_bounds(graph)
    if bounds.lower > k:
        return "no", None
    if bounds.upper <= k:
        return "yes", bounds.coloring
    from sidelight.assignment._cpsat import color_variables, fits, make_solver, read_colors, solve

    if not fits(graph, k, deadline):
        return "unknown", None
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    has_color = color_variables(model, graph, np.ones((graph.n_nodes, k), dtype=bool))
    for color, node in enumerate(bounds.clique):
        # Colors are interchangeable: give the clique the first ones.
        model.add(has_color[int(node), color] == 1)
    solver = make_solver(deadline)
    status = solve(solver, model)
    if status == cp_model.INFEASIBLE:
        return "no", None
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return "unknown", None
    return "yes", read_colors(solver, has_color, graph.n_nodes)


def _n_colors(colors: IntArray) -> int:
    return int(colors.max()) + 1 if len(colors) else 0


def _as_tuple(nodes: npt.NDArray[Any]) -> tuple[int, ...]:
    return tuple(int(node) for node in nodes)


def _listed(nodes: tuple[int, ...], name: Callable[[int], str]) -> str:
    """Names in a sentence; a long list is cut after the first ten."""
    names = [name(node) for node in nodes]
    return listed(names if len(names) <= 12 else [*names[:10], f"{len(names) - 10} more"])
