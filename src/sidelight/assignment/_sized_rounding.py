"""Bounded sizes with rows that must not be split, or must be apart: the part that is hard.

Rows of different sizes make a knapsack of every cluster, cannot-links a coloring. The optimum for
divisible rows gives prices ``p`` and a bound ``g(p)``, and whoever puts row i into cluster h pays
at least its reduced cost ``r_ih = c_ih + s_i p_h - min_h' (c_ih' + s_i p_h')`` on top of the bound.
So a small problem is solved by a mixed integer program as a whole, and of a large one only the rows
that the prices leave in doubt: the entries of least reduced cost.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp

from sidelight._typing import FloatArray, IntArray
from sidelight.assignment._assign import assign
from sidelight.assignment._sized import SizedAssignment, size_bound, solve_flow
from sidelight.exceptions import InfeasibleConstraints, SidelightError

#: Entries (row and cluster) of a problem that is solved as a whole.
SMALL = 1000

#: Entries of a mixed integer program otherwise: at first, how many more in the next round, at most.
FIRST_ENTRIES = 200
GROWTH = 4
MAX_ENTRIES = 60_000

#: How much more than the least possible cost is good enough where not all entries take part.
GOOD_ENOUGH = 1e-4


@dataclass(frozen=True, eq=False)
class _RoundingProblem:
    cost: FloatArray
    sizes: FloatArray
    lower: FloatArray
    upper: FloatArray
    edges: IntArray

    @property
    def slack(self) -> float:
        """Tolerance of the mixed integer program, below the size of any row that matters."""
        return max(1e-9 * float(self.sizes.sum()), 1e-6 * float(self.sizes.max(initial=0)))

    def is_met(self, labels: IntArray) -> bool:
        """Whether the labels are within the bounds and satisfy the conflicts."""
        filled = np.bincount(labels, self.sizes, minlength=self.cost.shape[1])
        return bool(
            np.all(filled >= self.lower - self.slack)
            and np.all(filled <= self.upper + self.slack)
            and np.all(labels[self.edges[:, 0]] != labels[self.edges[:, 1]])
        )

    def total(self, labels: IntArray) -> float:
        return self.total_of(np.arange(len(labels)), labels)

    def total_of(self, rows: IntArray, labels: IntArray) -> float:
        return float(self.cost[rows, labels[rows]].sum())


def solve_whole_rows(
    cost: np.ndarray,
    sizes: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    edges: IntArray,
    start: SizedAssignment | None,
    time_limit: float,
) -> SizedAssignment:
    """Solve the problem for rows that must stay whole; see :func:`assign_sized`."""
    deadline = time.monotonic() + time_limit
    problem = _RoundingProblem(cost.astype(np.float64), sizes, lower, upper, edges)
    given = None if start is None else start.labels.astype(np.int64)
    if len(edges) and np.all(lower <= 0) and np.all(upper >= sizes.sum()):
        found = assign(problem.cost, edges, start=given, time_limit=time_limit)
        bound = found.cost if found.optimal else size_bound(cost, sizes, lower, upper, 0 * lower)
        return _result(problem, found.labels, np.zeros(len(lower)), bound, found.optimal)
    labels, prices, bound, split = _divide(problem, None if start is None else start.prices)
    if not split and problem.is_met(labels):
        return _result(problem, labels, prices, bound, True)
    reduced = problem.cost + sizes[:, None] * prices
    reduced -= reduced.min(axis=1, keepdims=True)
    known = given if given is not None and problem.is_met(given) else None
    found_labels, optimal = _search(problem, labels, reduced, bound, known, deadline)
    return _result(problem, found_labels, prices, bound, optimal)


def _result(
    problem: _RoundingProblem, labels: IntArray, prices: FloatArray, bound: float, optimal: bool
) -> SizedAssignment:
    total = problem.total(labels)
    return SizedAssignment(labels.astype(np.int32), total, prices, min(bound, total), optimal)


def _divide(
    problem: _RoundingProblem, start: FloatArray | None
) -> tuple[IntArray, FloatArray, float, bool]:
    """Solve the problem for rows that may be divided, without the conflicts.

    Returns labels, prices, the bound, and whether any row is split.
    """
    counting = np.flatnonzero(problem.sizes > 0)
    labels = np.argmin(problem.cost, axis=1)
    sizes = problem.sizes[counting]
    flow = solve_flow(
        np.ascontiguousarray(problem.cost[counting] / sizes[:, None]),
        sizes,
        problem.lower,
        problem.upper,
        start,
    )
    labels[counting] = flow.labels
    bound = size_bound(problem.cost, problem.sizes, problem.lower, problem.upper, flow.prices)
    return labels, flow.prices, bound, len(flow.split) > 0


def _search(
    problem: _RoundingProblem,
    labels: IntArray,
    reduced: FloatArray,
    bound: float,
    known: IntArray | None,
    deadline: float,
) -> tuple[IntArray, bool]:
    """Solve over more and more entries until an assignment is found; True if it is the best."""
    apart = np.unique(problem.edges)
    k = reduced.shape[1]
    n_entries = reduced.size if reduced.size <= SMALL else FIRST_ENTRIES + len(apart) * k
    if n_entries > MAX_ENTRIES:
        raise SidelightError(
            f"{len(apart):,} rows (or linked groups) with cannot-links in {k} clusters with bounds "
            "on their sizes are too many to be solved: use COPKMeans, which takes cannot-links "
            "without sizes, or state fewer cannot-links."
        )
    while True:
        entries, everything = _cheapest_entries(reduced, apart, n_entries)
        found, proved = _solve_over(problem, labels, entries, everything, deadline)
        if found is not None:
            break
        if proved and everything and known is None:
            raise _impossible(problem)
        if everything or n_entries >= MAX_ENTRIES or time.monotonic() > deadline:
            break
        n_entries = min(n_entries * GROWTH, MAX_ENTRIES)
    better = [one for one in (known, found) if one is not None]
    if not better:
        raise _not_found(problem)
    best = min(better, key=problem.total)
    gap = problem.total(best) - bound
    return best, (proved and everything) or gap <= 1e-12 * abs(bound)


def _cheapest_entries(
    reduced: FloatArray, apart: IntArray, n_entries: int
) -> tuple[IntArray, bool]:
    """Entries of least reduced cost, all of rows with conflicts; True if that is all."""
    n, k = reduced.shape
    order = reduced.copy()
    order[apart] = np.where(np.isfinite(order[apart]), -1.0, np.inf)
    order[np.arange(n), reduced.argmin(axis=1)] = np.inf  # not a choice where it is the only one
    flat = order.ravel()
    n_choices = int(np.count_nonzero(np.isfinite(flat)))
    n_chosen = min(n_entries, n_choices)
    chosen = np.argpartition(flat, n_chosen - 1)[:n_chosen] if n_chosen else np.empty(0, np.int64)
    rows = np.unique(np.concatenate([chosen // k, apart]))
    own = rows * k + reduced[rows].argmin(axis=1)
    return np.union1d(chosen, own), n_chosen == n_choices


def _solve_over(
    problem: _RoundingProblem, labels: IntArray, entries: IntArray, exactly: bool, deadline: float
) -> tuple[IntArray | None, bool]:
    """Reassign the rows of these entries, all others fixed; None where no solution was found.

    The second value tells whether that is proved for these entries.
    """
    k = problem.cost.shape[1]
    row, cluster = np.divmod(entries, k)
    rows, number = np.unique(row, return_inverse=True)
    m = len(entries)
    columns = np.arange(m)
    fixed = np.delete(np.arange(len(labels)), rows)
    filled = np.bincount(labels[fixed], problem.sizes[fixed], minlength=k)
    once = sparse.csr_array((np.ones(m), (number, columns)), shape=(len(rows), m))
    # The solver's tolerance is absolute: whole numbers stay, others become shares of the largest.
    whole = np.all(problem.sizes == np.round(problem.sizes))
    unit = 1.0 if whole else problem.sizes.max()
    size = sparse.csr_array((problem.sizes[row] / unit, (cluster, columns)), shape=(k, m))
    room = (problem.lower - filled) / unit, (problem.upper - filled) / unit
    constraints = [LinearConstraint(once, 1, 1), LinearConstraint(size, *room)]
    if len(problem.edges):
        constraints.append(LinearConstraint(_apart(problem.edges, row, cluster, k), -np.inf, 1))
    # Every row pays its share of what the fixed rows cost, so that gaps are relative to the whole.
    value = problem.cost[row, cluster] + problem.total_of(fixed, labels) / len(rows)
    options = {
        "time_limit": max(deadline - time.monotonic(), 0.1),
        "mip_rel_gap": 0.0 if exactly else GOOD_ENOUGH,
    }
    binary = {"integrality": np.ones(m), "bounds": Bounds(0, 1)}
    solved = milp(value, constraints=constraints, options=options, **binary)
    if solved.status == 4:  # HiGHS fails on some infeasible programs unless it skips the presolve
        options["presolve"] = False
        solved = milp(value, constraints=constraints, options=options, **binary)
    proved = solved.status in (0, 2)
    if solved.x is None:
        return None, proved
    taken = np.flatnonzero(solved.x > 0.5)
    found = labels.copy()
    found[row[taken]] = cluster[taken]
    return (found, proved) if problem.is_met(found) else (None, False)


def _apart(edges: IntArray, row: IntArray, cluster: IntArray, k: int) -> sparse.csr_array:
    """One line for every edge and cluster: not both ends."""
    place = {(int(i), int(h)): e for e, (i, h) in enumerate(zip(row, cluster, strict=True))}
    pairs = [
        (place[i, h], place[j, h])
        for i, j in edges.tolist()
        for h in range(k)
        if (i, h) in place and (j, h) in place
    ]
    ends = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    lines = np.repeat(np.arange(len(ends)), 2)
    return sparse.csr_array(
        (np.ones(2 * len(ends)), (lines, ends.ravel())), shape=(len(ends), len(row))
    )


def _impossible(problem: _RoundingProblem) -> InfeasibleConstraints:
    k = problem.cost.shape[1]
    reason = "rows that count differently" if len(problem.edges) == 0 else "the cannot-links"
    return InfeasibleConstraints(
        f"No assignment to {k} clusters meets the bounds on the sizes together with {reason}, "
        "although the bounds alone can be met: widen them by the size of the largest row or "
        "linked group, or allow more clusters.",
        k=k,
    )


def _not_found(problem: _RoundingProblem) -> SidelightError:
    reason = "rows that count differently" if len(problem.edges) == 0 else "the cannot-links"
    return SidelightError(
        f"No assignment of {len(problem.cost):,} rows (or linked groups) was found that meets the "
        f"bounds on the sizes together with {reason}, and none was proved impossible: widen the "
        "bounds by the size of the largest row or linked group, or use COPKMeans without sizes."
    )
