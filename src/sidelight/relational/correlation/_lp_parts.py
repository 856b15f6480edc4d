r"""The covering problems of the linear program, one for each component of the positive edges.

A covering program in HiGHS to which columns and rows are added between solutions.

A solution stays dual feasible when rows are added, so that the dual simplex method goes on from its
basis instead of from nothing.

Covering of the cycles with exactly one negative edge, with rows that are added when violated.

.. math::
    \min_{z \ge 0} \sum_e w_e z_e \quad \text{such that} \quad \sum_{e \in C} z_e \ge 1
    \text{ for every cycle } C \text{ with exactly one negative edge}

``z`` is what is paid of an edge: ``x`` of a positive one, ``1 - x`` of a negative one. Its optimum
is that of the program with all triangle inequalities: for given ``x`` on the positive edges, the
largest pseudometric is the length of shortest positive paths, cut off at 1, and no negative edge
can do better than that. Pairs that have no score need neither column nor row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp

from sidelight._kernels.relational.correlation.lp import (
    component_scores,
    violated_cycles,
    violated_triangles,
)
from sidelight._typing import Array, FloatArray, IntArray
from sidelight.exceptions import SidelightError
from sidelight.relational.correlation._graph import SignedGraph

#: Nodes of a component whose pairs are held as a matrix: 8 bytes each, 128 MB.
MAX_NODES = 4000
#: Scored pairs of a component up to which programs are tried: 400 nodes if all pairs have a score.
#: 300 such nodes take seconds, and time grows steeply.
MAX_PAIRS = 80_000
#: Edges of small components that are solved together, so that few programs are started.
SHARED_EDGES = 4000


@dataclass(frozen=True, eq=False)
class EdgeComponents:
    """Some components of positive edges: positive edges, and the negative edges across them.

    Attributes
    ----------
    nodes : ndarray of shape (n_nodes,), int64
        Nodes of the graph, component by component.
    starts : ndarray of shape (n_components + 1,), int64
        Where components begin in ``nodes``.
    ends : ndarray of shape (n_edges, 2), int64
        Both ends of every edge as places in ``nodes``; positive edges first.
    weights : ndarray of shape (n_edges,), float64
        Absolute score; infinite for pairs that must not join.
    n_positive : int
        Number of positive edges.
    paid : ndarray of shape (n_components,), float64
        Positive scores of pairs that must not join: these pairs are no positive edges.
    """

    nodes: IntArray
    starts: IntArray
    ends: IntArray
    weights: FloatArray
    n_positive: int
    paid: FloatArray

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return len(self.nodes)

    @property
    def n_negative(self) -> int:
        """Number of negative edges."""
        return len(self.weights) - self.n_positive

    @property
    def n_components(self) -> int:
        """Number of components."""
        return len(self.starts) - 1

    @cached_property
    def component(self) -> IntArray:
        """Component of every edge, counted from 0 in this part."""
        return np.repeat(np.arange(self.n_components), np.diff(self.starts))[self.ends[:, 0]]

    def positive_rows(self) -> tuple[IntArray, IntArray, IntArray]:
        """Positive edges in CSR form, both directions: row pointers, neighbors, edge numbers."""
        low, high = self.ends[: self.n_positive].T
        rows, columns = np.concatenate([low, high]), np.concatenate([high, low])
        numbers = np.tile(np.arange(1, self.n_positive + 1), 2)
        matrix = sparse.coo_array((numbers, (rows, columns)), (self.n_nodes,) * 2).tocsr()
        matrix.sort_indices()
        return matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64), matrix.data - 1

    def negative_rows(self) -> tuple[IntArray, IntArray]:
        """Row pointers and larger ends of the negative edges, which are sorted by both ends."""
        low, high = self.ends[self.n_positive :].T
        counts = np.bincount(low, minlength=self.n_nodes)
        return np.concatenate([[0], np.cumsum(counts)]), np.ascontiguousarray(high)


def components_of(graph: SignedGraph) -> list[IntArray]:
    """Nodes of every component of positive edges that has more than one, by their first node."""
    code = graph.positive_components
    order = np.argsort(code, kind="stable")
    counts = np.bincount(code)
    groups = np.split(order, np.cumsum(counts)[:-1]) if graph.n else []
    return [group for group, count in zip(groups, counts, strict=True) if count > 1]


class ComponentScores:
    """Scores of all pairs of the nodes of one component, as a matrix at a time."""

    def __init__(self, graph: SignedGraph) -> None:
        self._graph = graph
        self._place = np.full(graph.n, -1, np.int64)
        self._sources = graph.sources.sorted_indices()

    def __call__(self, nodes: IntArray) -> tuple[FloatArray, float]:
        """Scores, ``-inf`` for pairs that must not join, and the positive scores these cost."""
        graph, sources = self._graph, self._sources
        out = np.empty((len(nodes), len(nodes)))
        self._place[nodes] = np.arange(len(nodes))
        paid = component_scores(
            graph.scores.indptr,
            graph.scores.indices,
            graph.scores.data,
            graph.mass,
            graph.absent,
            graph.cliques,
            graph.conflicts.indptr,
            graph.conflicts.indices,
            sources.indptr,
            sources.indices,
            nodes,
            self._place,
            out,
        )
        self._place[nodes] = -1
        return out, paid


def check_nodes(groups: list[IntArray], what: str) -> None:
    """Raise on a component whose matrix of pairs is too large for memory."""
    largest = max((len(group) for group in groups), default=0)
    if largest > MAX_NODES:
        raise SidelightError(
            f"{what} with n={largest:,} nodes that positive scores connect would need a matrix of "
            f"{8e-9 * largest**2:.1f} GB, and at most {MAX_NODES:,} nodes are taken; use "
            "method='local' or 'pivot'."
        )


def check_pairs(graph: SignedGraph, groups: list[IntArray], what: str) -> None:
    """Raise on a component that makes a program too large to solve."""
    check_nodes(groups, what)
    listed = np.diff(graph.scores.indptr)
    for nodes in groups:
        k = len(nodes)
        all_count = graph.absent > 0 or graph.cliques
        n_pairs = k * (k - 1) // 2 if all_count else int(listed[nodes].sum()) // 2
        if n_pairs > MAX_PAIRS:
            raise SidelightError(
                f"{what} with n={k:,} nodes that positive scores connect would need {n_pairs:,} "
                f"columns, and at most {MAX_PAIRS:,} are tried; use method='local' or 'pivot'."
            )


def parts_of(graph: SignedGraph, groups: list[IntArray]) -> Iterator[EdgeComponents]:
    """Parts of the graph, small components together."""
    scores_of = ComponentScores(graph)
    waiting: list[tuple[IntArray, IntArray, FloatArray, float]] = []
    n_edges = 0
    for nodes in groups:
        scores, paid = scores_of(nodes)
        first, second = np.nonzero(np.triu(scores))
        waiting.append((nodes, np.column_stack([first, second]), scores[first, second], paid))
        n_edges += len(first)
        if n_edges >= SHARED_EDGES:
            yield _joined(waiting)
            waiting, n_edges = [], 0
    if waiting:
        yield _joined(waiting)


def _joined(waiting: list[tuple[IntArray, IntArray, FloatArray, float]]) -> EdgeComponents:
    """One part of several components."""
    starts = np.concatenate([[0], np.cumsum([len(nodes) for nodes, *_ in waiting])])
    shifted = [pairs + start for (_, pairs, _, _), start in zip(waiting, starts[:-1], strict=True)]
    ends = np.concatenate(shifted)
    scores = np.concatenate([values for *_, values, _ in waiting])
    positive, negative = np.flatnonzero(scores > 0), np.flatnonzero(scores < 0)
    order = np.concatenate([positive, negative])
    return EdgeComponents(
        nodes=np.concatenate([nodes for nodes, *_ in waiting]),
        starts=starts.astype(np.int64),
        ends=ends[order].astype(np.int64),
        weights=np.abs(scores[order]),
        n_positive=len(positive),
        paid=np.array([paid for *_, paid in waiting]),
    )


#: The serial simplex method takes the same steps everywhere. The number of threads is left alone: a
#: process has one, which whoever solves first with HiGHS decides, and asking for another fails.
OPTIONS = {"output_flag": False, "parallel": "off", "random_seed": 0}


class CoveringProgram:
    """``min wᵀz`` such that ``0 ≤ z ≤ 1`` and the entries of every row add up to 1 or more.

    No optimum needs an entry above 1; HiGHS is faster with that bound.
    """

    def __init__(self) -> None:
        import highspy  # most partitions need no linear program

        self._status = highspy.HighsModelStatus
        self._highs: Any = highspy.Highs()
        for name, value in OPTIONS.items():
            self._highs.setOptionValue(name, value)

    def add_columns(self, weights: FloatArray) -> None:
        """Add entries of ``z`` that are in no row so far."""
        n = len(weights)
        starts, rows, values = np.zeros(n, np.int32), np.empty(0, np.int32), np.empty(0)
        self._highs.addCols(n, weights, np.zeros(n), np.ones(n), 0, starts, rows, values)

    def add_rows(self, sizes: IntArray, columns: IntArray) -> None:
        """Add rows, given by their lengths and their columns one after the other."""
        n = len(sizes)
        starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int32)
        self._highs.addRows(
            n,
            np.ones(n),
            np.full(n, np.inf),
            len(columns),
            starts,
            columns.astype(np.int32),
            np.ones(len(columns)),
        )

    def solve(self, seconds: float) -> tuple[FloatArray, FloatArray] | None:
        """Optimal ``z`` and dual values of the rows; None if the time was too short."""
        for method in ("simplex", "ipm"):  # the other one if the first fails
            status = self._run(method, seconds)
            if status == self._status.kOptimal:
                solution = self._highs.getSolution()
                return np.asarray(solution.col_value), np.asarray(solution.row_dual)
            if status == self._status.kTimeLimit:
                return None
            self._highs.clearSolver()
        raise SidelightError(
            f"HiGHS could not solve the linear program of {self._highs.getNumRow():,} rows; scores "
            "of very different sizes may be the reason: rescale them, or use method='local'."
        )

    def _run(self, method: str, seconds: float) -> Any:
        """Status of the model after a run; HiGHS counts the seconds of all runs together."""
        limit = self._highs.getRunTime() + max(seconds, 0.01)
        self._highs.setOptionValue("time_limit", limit)
        self._highs.setOptionValue("solver", method)
        self._highs.run()
        return self._highs.getModelStatus()


#: Violations that are looked for; above the 1e-7 to which HiGHS satisfies the rows it has.
TOLERANCE = 1e-6


class Cover:
    """Rows found so far, and the programs that they make.

    The linear program is one model that grows with the rows: every solution starts from the last.
    """

    def __init__(self, part: EdgeComponents) -> None:
        self.part = part
        self.n_rows = 0
        self.positive = part.positive_rows()
        self._negative = part.negative_rows()
        self._sizes: list[IntArray] = []
        self._columns: list[IntArray] = []
        self._program = CoveringProgram()
        # Edges get their columns when they are first part of a row.
        self._edges = np.empty(0, np.int64)
        self._column_of = np.full(len(part.weights), -1, np.int64)
        self._rng = np.random.default_rng(0)  # of ties alone: the optimum does not depend on it

    def add_violated(self, z: FloatArray, max_rows: int) -> int:
        """Add the most violated rows, one for a negative edge at most; return their number."""
        part = self.part
        sides = np.empty((part.n_negative, 2), np.int64)
        violation = np.empty(part.n_negative)
        common = (*self.positive, z, *self._negative, part.n_positive, TOLERANCE)
        violated_triangles(*common, int(self._rng.integers(2**31)), sides, violation)
        found = np.flatnonzero(violation > 0)
        chosen = self._most(found, violation, max_rows)
        if len(chosen):
            triangles = np.column_stack([part.n_positive + chosen, sides[chosen]])
            self._append(np.full(len(chosen), 3), triangles.ravel())
        n_cycles = 0
        if len(found) < max_rows:
            # Around edges that have triangles, cycles are mostly satisfied once triangles are.
            wanted = violation < 0 if len(found) else np.ones(part.n_negative, np.bool_)
            n_cycles = self._add_cycles(z, wanted, max_rows - len(found))
        return len(chosen) + n_cycles

    def _most(self, found: IntArray, violation: FloatArray, max_rows: int) -> IntArray:
        """The most violated, any of those that are equal."""
        if len(found) <= max_rows:
            return found
        key = violation[found] + TOLERANCE * self._rng.random(len(found))
        return np.sort(found[np.argpartition(-key, max_rows)[:max_rows]])

    def _add_cycles(self, z: FloatArray, wanted: Array, limit: int) -> int:
        """Add shortest cycles for the negative edges that are wanted."""
        common = (*self.positive, z, *self._negative, self.part.n_positive, TOLERANCE)
        negatives, starts, paths = violated_cycles(*common, wanted, limit)
        if not len(negatives):
            return 0
        lengths = np.diff(starts)
        # Every path is preceded by its negative edge.
        columns = np.insert(paths, starts[:-1], self.part.n_positive + negatives)
        self._append(lengths + 1, columns)
        return len(negatives)

    def _append(self, sizes: IntArray, edges: IntArray) -> None:
        """Add rows; pairs that must not join have no column, for none of them can be paid."""
        rows = np.repeat(np.arange(len(sizes)), sizes)
        kept = np.isfinite(self.part.weights[edges])
        sizes, edges = np.bincount(rows[kept], minlength=len(sizes)), edges[kept]
        new = np.unique(edges[self._column_of[edges] < 0])
        self._column_of[new] = len(self._edges) + np.arange(len(new))
        self._edges = np.concatenate([self._edges, new])
        columns = self._column_of[edges]
        self._program.add_columns(self.part.weights[new])
        self._program.add_rows(sizes, columns)
        self._sizes.append(sizes)
        self._columns.append(columns)
        self.n_rows += len(sizes)

    def _matrix(self) -> sparse.csr_array:
        """All rows over the edges that have columns."""
        columns = np.concatenate(self._columns)
        indptr = np.concatenate([[0], np.cumsum(np.concatenate(self._sizes))])
        shape = (self.n_rows, len(self._edges))
        return sparse.csr_array((np.ones(len(columns)), columns, indptr), shape)

    def solve(self, seconds: float) -> tuple[FloatArray, FloatArray] | None:
        """Optimum of the rows so far, and proven lower bounds for the components.

        None if time was too short.

        The bound holds whatever the solver's tolerances are: for any ``α ≥ 0``, no ``z`` between 0
        and 1 that satisfies the rows costs less than ``Σ α + Σ_e min(0, w_e - Σ_{C ∋ e} α_C)``.
        """
        found = self._program.solve(seconds)
        if found is None:
            return None
        paid, duals = found
        matrix, edges = self._matrix(), self._edges
        z = np.zeros(len(self.part.weights))
        z[edges] = np.clip(paid, 0.0, 1.0)
        alpha = np.maximum(duals, 0.0)
        excess = np.maximum(matrix.T @ alpha - self.part.weights[edges], 0.0)
        component = self.part.component[edges]
        n_components = self.part.n_components
        proven = np.bincount(
            component[matrix.indices[matrix.indptr[:-1]]], alpha, minlength=n_components
        ) - np.bincount(component, excess, minlength=n_components)
        return z, np.maximum(proven, 0.0)

    def solve_integral(self, seconds: float, best: float) -> tuple[FloatArray | None, float]:
        """Best integral ``z`` of the rows so far, if it is found, and a lower bound on all.

        ``best`` is the cost of a partition that is known: nothing above it is looked for.
        """
        matrix, edges = self._matrix(), self._edges
        weights = self.part.weights[edges]
        cheaper = LinearConstraint(weights[None, :], -np.inf, best * (1 + 1e-9) + 1e-9)
        found = milp(
            weights,
            integrality=np.ones(len(edges)),
            bounds=Bounds(0, 1),
            constraints=[LinearConstraint(matrix, np.ones(self.n_rows), np.inf), cheaper],
            options={"mip_rel_gap": 0.0, "time_limit": max(seconds, 0.01)},
        )
        bound = found.get("mip_dual_bound")
        lower = 0.0 if bound is None or not np.isfinite(bound) else float(bound)
        if found.status != 0:
            return None, lower
        z = np.zeros(len(self.part.weights))
        z[edges] = np.round(found.x)
        return z, lower
