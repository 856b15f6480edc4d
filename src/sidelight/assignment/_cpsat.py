"""Coloring models for CP-SAT: one 0/1 variable per node and allowed color."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sidelight._progress import SECONDS_DEAF, wait_for

if TYPE_CHECKING:
    from sidelight.assignment._graph import Graph

# A time limit does not stop the making of a model: larger ones (edges times colors) are not made.
MAX_TERMS = 500_000


def fits(graph: Graph, k: int, deadline: float) -> bool:
    """Whether there is time to solve this, and the model can be made in a few seconds."""
    return len(graph.edges) * k <= MAX_TERMS and time.monotonic() < deadline


def clique_cover(graph: Graph) -> list[npt.NDArray[np.int64]]:
    """Cliques that contain every edge: one inequality each instead of one per edge."""
    from sidelight._kernels.assignment.coloring import cover_by_cliques

    starts, nodes = cover_by_cliques(graph.indptr, graph.neighbors)
    return np.split(nodes, starts[1:-1])


def color_variables(
    model: Any, graph: Graph, allowed: npt.NDArray[np.bool_]
) -> dict[tuple[int, int], Any]:
    """Add variables "node has color" such that neighbors differ; (node, color) to variable.

    Measured against integer variables with AllDifferent: as fast or faster, and the objective of
    an assignment becomes linear.
    """
    nodes, colors = (index.tolist() for index in np.nonzero(allowed))
    has_color = {
        (node, color): model.new_bool_var("") for node, color in zip(nodes, colors, strict=True)
    }
    of_node: list[list[Any]] = [[] for _ in range(graph.n_nodes)]
    for (node, _), variable in has_color.items():
        of_node[node].append(variable)
    for variables in of_node:
        model.add_exactly_one(variables)
    for clique in clique_cover(graph):
        for color in np.flatnonzero(allowed[clique].sum(axis=0) > 1).tolist():
            model.add_at_most_one(
                has_color[node, color] for node in clique.tolist() if allowed[node, color]
            )
    return has_color


def make_solver(deadline: float) -> Any:
    """A solver that ends at the deadline; one worker, so that a run can be repeated."""
    from ortools.sat.python import cp_model

    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    # Its own handler of Ctrl-C would stay behind and end the interpreter at the next one.
    solver.parameters.catch_sigint_signal = False
    solver.parameters.max_time_in_seconds = max(deadline - time.monotonic(), 0.0)
    return solver


def solve(solver: Any, model: Any) -> Any:
    """Solve and return the status; Ctrl-C ends the search at once."""
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(solver.solve, model)
        try:
            return wait_for(future)
        except KeyboardInterrupt:
            while not wait([future], timeout=SECONDS_DEAF).done:
                solver.stop_search()  # does nothing as long as the search has not begun
            raise


def read_colors(
    solver: Any, has_color: dict[tuple[int, int], Any], n_nodes: int
) -> npt.NDArray[np.int64]:
    """Color of every node in the solution found."""
    colors = np.full(n_nodes, -1, dtype=np.int64)
    for (node, color), variable in has_color.items():
        if solver.boolean_value(variable):
            colors[node] = color
    return colors
