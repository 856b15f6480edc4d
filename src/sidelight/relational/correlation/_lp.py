r"""Linear program of correlation clustering: a pseudometric and a proven lower bound.

.. math::
    \min_x \sum_{u<v} S^+_{uv} x_{uv} + S^-_{uv} (1 - x_{uv}) \quad \text{such that} \quad
    x_{uv} \le x_{uw} + x_{wv},\ 0 \le x \le 1

and ``x = 1`` for pairs that must not join. Every partition is a solution with ``x`` = 0 inside of
clusters and 1 across, so that the optimum is a lower bound on every cost.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sidelight._kernels.relational.correlation.lp import path_distances
from sidelight._typing import FloatArray, IntArray
from sidelight.exceptions import SidelightError
from sidelight.relational.correlation._graph import SignedGraph
from sidelight.relational.correlation._lp_parts import (
    Cover,
    EdgeComponents,
    check_pairs,
    components_of,
    parts_of,
)

#: What is so near to 0 or 1 is 0 or 1.
SNAP = 1e-7
#: Nodes up to which distances are given as one matrix: 800 MB.
MAX_MATRIX = 10_000
#: The bound counts as the cost of a solution from which only rounding errors separate it.
EQUAL = 1e-9


@dataclass(frozen=True, eq=False)
class NodeDistances:
    """Distances between nodes: a matrix for every component, 1 between components.

    Attributes
    ----------
    n : int
        Number of nodes.
    blocks : tuple of (ndarray of shape (k,), ndarray of shape (k, k))
        Nodes of every component of more than one, and the distances between them.
    """

    n: int
    blocks: tuple[tuple[IntArray, FloatArray], ...]

    @cached_property
    def matrix(self) -> FloatArray:
        """All distances as one matrix of shape (n, n)."""
        if self.n > MAX_MATRIX:
            raise SidelightError(
                f"The distances of all {self.n:,} nodes are a matrix of "
                f"{8e-9 * self.n**2:.1f} GB; use those of single components (blocks)."
            )
        x = np.ones((self.n, self.n))
        np.fill_diagonal(x, 0.0)
        for nodes, block in self.blocks:
            x[np.ix_(nodes, nodes)] = block
        return x

    @property
    def are_integral(self) -> bool:
        """Whether all distances are 0 or 1."""
        return all(bool(np.all((block == 0) | (block == 1))) for _, block in self.blocks)

    def clusters(self) -> IntArray:
        """First node at distance 0 of every node; a partition if the distances are integral."""
        labels = np.arange(self.n)
        for nodes, block in self.blocks:
            labels[nodes] = nodes[np.argmax(block == 0, axis=1)]
        return labels


@dataclass(frozen=True, eq=False)
class LPSolution:
    """Solution of the linear program.

    Attributes
    ----------
    distances : NodeDistances
        The pseudometric.
    value : float
        Optimum of the program, ``graph.constant`` included: a lower bound on the cost of every
        partition, proven by the dual solution. Where only rounding errors (1e-9 of it) separate
        it from the cost of ``x``, it is that cost.
    bound : float
        ``value``, or more: the sum of ``graph.constant`` and ``component_bounds``.
    component_bounds : ndarray of shape (n_components,)
        Lower bound on the cost of every component of positive edges; rounded up where all scores,
        and therefore all costs, are whole numbers.
    integral : bool
        Whether all distances are 0 or 1, and therefore ``distances.clusters()`` is optimal.
    n_rows : int
        Number of rows that were needed.
    n_rounds : int
        Number of programs that were solved, of the component with most.
    converged : bool
        Whether all is optimal. If time or rounds ran out, ``value`` is a smaller bound.
    """

    distances: NodeDistances
    value: float
    bound: float
    component_bounds: FloatArray
    integral: bool
    n_rows: int
    n_rounds: int
    converged: bool

    @property
    def x(self) -> FloatArray:
        """The distances as one matrix of shape (n, n)."""
        return self.distances.matrix


@dataclass(frozen=True, eq=False)
class PartSolution:
    """Solution of the linear program of one part."""

    blocks: list[tuple[IntArray, FloatArray]]
    values: FloatArray
    n_rounds: int
    converged: bool
    cover: Cover


def solve_lp(
    graph: SignedGraph,
    *,
    max_rows_per_round: int = 200_000,
    max_rounds: int = 1000,
    time_limit: float = np.inf,
) -> LPSolution:
    """Solve the linear program with rows that are added when they are violated.

    Time is that of a few linear programs of about one to three rows per negative edge; memory
    ``8 k²`` bytes for a component of ``k`` nodes and the rows.

    Parameters
    ----------
    graph : SignedGraph
        The problem.
    max_rows_per_round : int, default=200_000
        Largest number of rows that are added before the program is solved again. A round adds the
        most violated row of every negative edge, which takes fewer rounds and less time in all
        than smaller numbers do.
    max_rounds : int, default=1000
        Largest number of programs for a part.
    time_limit : float, default=inf
        Seconds after which no further program is begun.

    Raises
    ------
    SidelightError
        If a component of positive edges has too many nodes or scored pairs.
    """
    groups = components_of(graph)
    check_pairs(graph, groups, "A linear program")
    stop = time.monotonic() + time_limit
    component = graph.positive_components
    values = np.zeros(int(component.max(initial=-1)) + 1)
    blocks: list[tuple[IntArray, FloatArray]] = []
    n_rows, n_rounds, converged = 0, 1, True
    for part in parts_of(graph, groups):
        solved = solve_part(part, max_rows_per_round, max_rounds, stop)
        blocks += solved.blocks
        values[component[part.nodes[part.starts[:-1]]]] = solved.values
        n_rows += solved.cover.n_rows
        n_rounds = max(n_rounds, solved.n_rounds)
        converged &= solved.converged
    distances = NodeDistances(graph.n, tuple(blocks))
    bounds = rounded_up(values) if has_whole_scores(graph) else values
    return LPSolution(
        distances,
        value=float(graph.constant + values.sum()),
        bound=float(graph.constant + bounds.sum()),
        component_bounds=bounds,
        integral=converged and distances.are_integral,
        n_rows=n_rows,
        n_rounds=n_rounds,
        converged=converged,
    )


def solve_part(part: EdgeComponents, max_rows: int, max_rounds: int, stop: float) -> PartSolution:
    """Add violated rows and solve, until no row is violated."""
    cover = Cover(part)
    z = np.zeros(len(part.weights))
    bounds, n_rounds, converged = np.zeros(part.n_components), 0, False
    while n_rounds < max_rounds:
        if not cover.add_violated(z, max_rows):
            converged = True
            break
        solved = cover.solve(stop - time.monotonic())
        if solved is None:
            break
        n_rounds += 1
        z, bounds = solved[0], np.maximum(bounds, solved[1])
        if time.monotonic() > stop:
            break
    blocks, costs = _metric(part, cover, _snap(z))
    if converged:
        bounds = np.where(np.abs(costs - bounds) <= EQUAL * np.maximum(1.0, costs), costs, bounds)
    return PartSolution(blocks, bounds + part.paid, n_rounds, converged, cover)


def _metric(
    part: EdgeComponents, cover: Cover, z: FloatArray
) -> tuple[list[tuple[IntArray, FloatArray]], FloatArray]:
    """Lengths of shortest paths, as a matrix for every component, and what they cost."""
    sizes = np.diff(part.starts)
    offsets = np.concatenate([[0], np.cumsum(sizes**2)])
    flat = np.empty(offsets[-1])
    blocks = []
    for start, size, offset in zip(part.starts[:-1], sizes, offsets[:-1], strict=True):
        block = flat[offset : offset + size**2].reshape(size, size)
        path_distances(*cover.positive, z, start, block)
        blocks.append((part.nodes[start : start + size], block))
    _snap(flat)
    component = part.component
    first, second = (part.ends - part.starts[component, None]).T
    places = offsets[component] + first * sizes[component] + second
    mirrored = offsets[component] + second * sizes[component] + first
    forbidden = np.isinf(part.weights)
    # Changes something only if the program was stopped early.
    flat[places[forbidden]] = flat[mirrored[forbidden]] = 1.0
    x = flat[places]
    paid = np.where(np.arange(len(x)) < part.n_positive, x, 1.0 - x)
    some = paid > 0
    costs = np.zeros(part.n_components)
    np.add.at(costs, component[some], part.weights[some] * paid[some])
    return blocks, costs


def _snap(x: FloatArray) -> FloatArray:
    """Replace what is nearly 0 or 1 by it, in place."""
    x[x < SNAP] = 0.0
    x[x > 1.0 - SNAP] = 1.0
    return x


def has_whole_scores(graph: SignedGraph) -> bool:
    """Whether all scores, and therefore all costs, are whole numbers."""
    scores = graph.scores.data
    return bool(float(graph.absent).is_integer() and np.all(scores == np.round(scores)))


def rounded_up(bounds: FloatArray) -> FloatArray:
    """Whole numbers that are still bounds, up to rounding errors, where all costs are whole."""
    return np.ceil(bounds * (1 - EQUAL) - EQUAL) + 0.0
