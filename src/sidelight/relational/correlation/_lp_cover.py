r"""Covering of the cycles with exactly one negative edge, with rows that are added when violated.

.. math::
    \min_{z \ge 0} \sum_e w_e z_e \quad \text{such that} \quad \sum_{e \in C} z_e \ge 1
    \text{ for every cycle } C \text{ with exactly one negative edge}

``z`` is what is paid of an edge: ``x`` of a positive one, ``1 - x`` of a negative one. Its optimum
is that of the program with all triangle inequalities: for given ``x`` on the positive edges, the
largest pseudometric is the length of shortest positive paths, cut off at 1, and no negative edge
can do better than that. Pairs that have no score need neither column nor row.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp

from sidelight._kernels.relational.correlation.lp import violated_cycles, violated_triangles
from sidelight._typing import Array, FloatArray, IntArray
from sidelight.relational.correlation._lp_parts import EdgeComponents
from sidelight.relational.correlation._lp_program import CoveringProgram

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
