r"""The cheapest assignment in which every cluster has a least number of members of each kind.

.. math::

    \min_a \sum_{i,h} c_{ih} a_{ih} \quad\text{subject to}\quad
    \sum_h a_{ih} = q_i , \quad \sum_{i \in W_j} a_{ih} \ge m_{jh} , \quad
    a_{ih} \in \{0, 1, 2, \dots\}

Items of kinds that share no item are problems of their own. One kind alone is a transportation
problem (:func:`~sidelight.assignment.assign_sized` for :math:`q_i = 1`). Kinds that overlap, and of
which the cheapest assignment has too few, are solved as a linear program over few entries: prices
:math:`p_{jh} \ge 0` make the reduced costs :math:`c_{ih} - \sum_{j : i \in W_j} p_{jh}`, only
entries near the least of an item are in play, and those that turn out to be cheaper are added until
there are none. Where of two kinds that overlap one contains the other, the program is a network
flow, and its solutions are whole numbers; otherwise a few items may come out divided, and a mixed
integer program over the entries in play decides (Constrained Clustering, section 16.3, without its
intermediate steps).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, linprog, milp
from scipy.sparse.csgraph import connected_components

from sidelight._typing import Array, FloatArray, IntArray
from sidelight.assignment._sized import SizedAssignment, assign_sized, solve_flow
from sidelight.exceptions import SidelightError

#: Programs of at most this many entries are solved as a whole.
SMALL = 40_000
#: One item in this many is in the sample on which prices are found first.
SAMPLE = 8
#: Entries in play for every bound, at first.
ENTRIES_PER_BOUND = 100
#: Entries that are cheaper by less than this share of the largest cost are not.
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class SharedAssignment:
    """Items divided among clusters that each have enough members of every kind.

    Attributes
    ----------
    shares : ndarray of int64, shape (n, k)
        How much of every item is in every cluster.
    cost : float
        Sum of the costs.
    bound : float
        No assignment costs less than this.
    optimal : bool
        Whether it is proved that no assignment costs less than this one.
    prices : ndarray of shape (n_kinds, k)
        What a member more would cost, for every kind and cluster. They start the next problem.
    """

    shares: IntArray
    cost: float
    bound: float
    optimal: bool
    prices: FloatArray


@dataclass(frozen=True, eq=False)
class MemberAssignment:
    """Rows in clusters that each have enough members of every kind.

    Attributes
    ----------
    labels : ndarray of int32, shape (n,)
        Cluster of every row.
    cost, bound, optimal, prices
        As in :class:`SharedAssignment`.
    """

    labels: npt.NDArray[np.int32]
    cost: float
    bound: float
    optimal: bool
    prices: FloatArray


def assign_at_least(
    cost: npt.ArrayLike,
    members: npt.ArrayLike,
    least: npt.ArrayLike,
    *,
    prices: npt.ArrayLike | None = None,
    time_limit: float = 60.0,
) -> MemberAssignment:
    """Find the cheapest assignment with enough members of every kind in every cluster.

    Parameters
    ----------
    cost : array-like of shape (n, k)
        Cost of every row in every cluster; infinite where it must not go.
    members : array-like of bool, shape (n, n_kinds)
        Which rows are of which kind; a row may be of several, or of none.
    least : array-like of shape (n_kinds, k)
        How many rows of a kind a cluster needs.
    prices : array-like of shape (n_kinds, k), default=None
        Prices of a similar problem; they save time.
    time_limit : float, default=60.0
        Seconds for the mixed integer program, where kinds cross each other.

    Returns
    -------
    MemberAssignment

    Raises
    ------
    SidelightError
        If there is no such assignment, or none was found in time.

    Examples
    --------
    >>> from sidelight.assignment import assign_at_least
    >>> cost = [[0.0, 5.0], [1.0, 2.0], [1.0, 4.0]]
    >>> found = assign_at_least(cost, [[True], [False], [True]], [[0, 1]])
    >>> found.labels, found.cost
    (array([0, 0, 1], dtype=int32), 5.0)
    """
    costs = _check_cost(cost)
    kinds = _check_members(members, least, costs.shape)
    given = None if prices is None else np.asarray(prices, dtype=np.float64)
    cheapest = costs.argmin(axis=1).astype(np.int32)
    labels, active = cheapest, kinds.unmet(cheapest)
    excess, optimal, found_prices = 0.0, True, np.zeros(kinds.least.shape)
    # A problem of fewer kinds whose solution has enough of the others is solved.
    while np.any(unmet := kinds.unmet(labels)):
        active |= unmet
        labels, excess, optimal = cheapest.copy(), 0.0, True
        found_prices[:] = 0.0
        for conditions, rows in kinds.parts(active):
            start = None if given is None else given[conditions]
            if len(conditions) == 1:
                labels[rows], found_prices[conditions[0]] = _assign_one_kind(
                    costs[rows], kinds.least[conditions[0]], start
                )
                continue
            part = _Part(costs[rows], np.ones(len(rows)), kinds.members[np.ix_(rows, conditions)])
            solved = part.solve(kinds.least[conditions], start, time_limit)
            labels[rows] = solved.shares.argmax(axis=1)
            found_prices[conditions] = solved.prices
            excess += solved.cost - solved.bound
            optimal &= solved.optimal
    total = float(costs[np.arange(len(labels)), labels].sum(dtype=np.float64))
    bound = total if optimal else total - excess
    return MemberAssignment(labels, total, bound, optimal, found_prices)


def _assign_one_kind(
    cost: Array, least: Array, prices: FloatArray | None
) -> tuple[Array, FloatArray]:
    """Rows that are all of one kind: clusters with a least size."""
    start = None
    if prices is not None:
        start = SizedAssignment(np.empty(0, np.int32), 0.0, -prices[0], 0.0, False)
    upper = np.full(len(least), float(len(cost)))
    found = assign_sized(cost, least, upper, start=start)
    return found.labels, np.maximum(-found.prices, 0.0)


def share_at_least(
    cost: npt.ArrayLike,
    amounts: npt.ArrayLike,
    members: npt.ArrayLike,
    least: npt.ArrayLike,
    *,
    prices: npt.ArrayLike | None = None,
    time_limit: float = 60.0,
) -> SharedAssignment:
    """Divide items, of which there are several each, as :func:`assign_at_least` assigns rows.

    Parameters
    ----------
    cost : array-like of shape (n, k)
        Cost of one piece of every item in every cluster; infinite where it must not go.
    amounts : array-like of int, shape (n,)
        Pieces of every item.
    members : array-like of bool, shape (n, n_kinds)
        Which items are of which kind.
    least : array-like of shape (n_kinds, k)
        How many pieces of a kind a cluster needs.
    prices : array-like of shape (n_kinds, k), default=None
        Prices of a similar problem; they save time.
    time_limit : float, default=60.0
        Seconds for the mixed integer program, where kinds cross each other.

    Returns
    -------
    SharedAssignment
    """
    costs = _check_cost(cost)
    pieces = np.asarray(amounts, dtype=np.int64)
    n, k = costs.shape
    if np.all(pieces == 1):
        found = assign_at_least(costs, members, least, prices=prices, time_limit=time_limit)
        shares = np.zeros((n, k), dtype=np.int64)
        shares[np.arange(n), found.labels] = 1
        return SharedAssignment(shares, found.cost, found.bound, found.optimal, found.prices)
    kinds = _check_members(members, least, costs.shape)
    given = None if prices is None else np.asarray(prices, dtype=np.float64)
    cheapest = np.zeros((n, k), dtype=np.int64)
    cheapest[np.arange(n), costs.argmin(axis=1)] = pieces
    shares, active = cheapest, kinds.unmet_shares(cheapest)
    excess, optimal, found_prices = 0.0, True, np.zeros(kinds.least.shape)
    while np.any(unmet := kinds.unmet_shares(shares)):
        active |= unmet
        shares, excess, optimal = cheapest.copy(), 0.0, True
        found_prices[:] = 0.0
        for conditions, rows in kinds.parts(active):
            part = _Part(costs[rows], pieces[rows], kinds.members[np.ix_(rows, conditions)])
            start = None if given is None else given[conditions]
            if len(conditions) == 1:
                shares[rows], found_prices[conditions[0]] = part.solve_one_kind(
                    kinds.least[conditions[0]], start
                )
                continue
            solved = part.solve(kinds.least[conditions], start, time_limit)
            shares[rows] = solved.shares
            found_prices[conditions] = solved.prices
            excess += solved.cost - solved.bound
            optimal &= solved.optimal
    total = float(np.sum(np.where(shares > 0, costs, 0.0) * shares, dtype=np.float64))
    bound = total if optimal else total - excess
    return SharedAssignment(shares, total, bound, optimal, found_prices)


# --- the problem ------------------------------------------------------------------------------


@dataclass(frozen=True)
class _KindBounds:
    """Which items are of which kind, and how many of them clusters need."""

    members: npt.NDArray[np.bool_]
    least: IntArray

    def parts(self, active: Array) -> list[tuple[Array, Array]]:
        """Groups of active kinds that overlap, with their items."""
        chosen = np.flatnonzero(active)
        if len(chosen) == 0:
            return []
        members = self.members[:, chosen]
        overlap = members.T.astype(np.float64) @ members
        n_parts, part = connected_components(sparse.csr_array(overlap > 0), directed=False)
        return [
            (chosen[part == p], np.flatnonzero(members[:, part == p].any(axis=1)))
            for p in range(n_parts)
        ]

    def unmet(self, labels: Array) -> Array:
        """Kinds of which some cluster of rows has too few."""
        k = self.least.shape[1]
        counts = [np.bincount(labels[own], minlength=k) for own in self.members.T]
        return np.any(np.array(counts).reshape(self.least.shape) < self.least, axis=1)

    def unmet_shares(self, shares: IntArray) -> Array:
        """Kinds of which some cluster has too few pieces."""
        return np.any(self.members.T.astype(np.int64) @ shares < self.least, axis=1)


class _Part:
    """Items of kinds that overlap."""

    def __init__(self, cost: Array, amounts: Array, members: Array) -> None:
        self.cost = cost
        self.amounts = amounts.astype(np.float64)
        self.members = members.astype(np.float64)

    def solve(self, least: Array, prices: FloatArray | None, time_limit: float) -> SharedAssignment:
        """Solve the linear program, and the mixed integer one where it leaves items divided."""
        whole = least.astype(np.float64)
        entries, program = self._solve_relaxed(whole, prices, self._scale())
        if program.shortage > 0:
            raise _impossible()
        x, bound = program.x, program.cost
        if np.max(np.abs(x - np.round(x)), initial=0.0) > 1e-6:
            entries, x, proved = self._solve_whole(entries, program, whole, time_limit)
        else:
            proved = True
        row, cluster = np.divmod(entries, self.cost.shape[1])
        shares = np.zeros(self.cost.shape, dtype=np.int64)
        shares[row, cluster] = np.round(x)
        total = float(np.sum(self.cost[row, cluster].astype(np.float64) * np.round(x)))
        optimal = proved or total - bound <= ROUNDING * max(abs(bound), self._scale())
        return SharedAssignment(
            shares, total, total if optimal else min(bound, total), optimal, program.prices
        )

    def solve_one_kind(
        self, least: Array, prices: FloatArray | None
    ) -> tuple[IntArray, FloatArray]:
        """Return shares and prices where all items are of one kind: a transportation problem.

        Few items come out divided; how is a small program once all others are in their place.
        """
        n, k = self.cost.shape
        lower, upper = least.astype(np.float64), np.full(k, self.amounts.sum())
        start = None if prices is None else -prices[0]
        flow = solve_flow(self.cost, self.amounts, lower, upper, start)
        shares = np.zeros((n, k), dtype=np.int64)
        whole = np.delete(np.arange(n), flow.split)
        shares[whole, flow.labels[whole]] = self.amounts[whole]
        if len(flow.split):
            rest = _Part(self.cost[flow.split], self.amounts[flow.split], self.members[flow.split])
            missing = np.maximum(least - shares.sum(axis=0), 0)[None]
            shares[flow.split] = rest.solve(missing, None, np.inf).shares
        return shares, np.maximum(-flow.prices, 0.0)

    def _scale(self) -> float:
        finite = self.cost[np.isfinite(self.cost)]
        return float(max(finite.max(initial=0) - finite.min(initial=0), 1e-300))

    def _solve_relaxed(
        self, least: FloatArray, prices: FloatArray | None, scale: float
    ) -> tuple[IntArray, _Program]:
        """Solve over more and more entries until no other one would be cheaper."""
        k = self.cost.shape[1]
        if self.cost.size <= SMALL:
            entries = np.flatnonzero(np.isfinite(self.cost).ravel())
            return entries, self._program(entries, least, scale)
        if prices is None:
            prices = self._prices_of_sample(least, scale)
        n_entries = max(SMALL, ENTRIES_PER_BOUND * least.size)
        entries = self._entries_near(prices, n_entries)
        while True:
            program = self._program(entries, least, scale)
            reduced = self._reduced(program.prices)
            best = reduced.argmin(axis=1)
            row, cluster = np.divmod(entries, k)
            paid = np.full(len(reduced), np.inf)
            np.minimum.at(paid, row, reduced[row, cluster])
            cheaper = np.flatnonzero(reduced.min(axis=1) < paid - ROUNDING * scale)
            if len(cheaper) == 0:
                return entries, program
            n_entries *= 2
            more = self._entries_near(program.prices, n_entries)
            entries = np.union1d(np.union1d(entries, more), cheaper * k + best[cheaper])

    def _reduced(self, prices: FloatArray) -> FloatArray:
        return self.cost - self.members @ prices

    def _entries_near(self, prices: FloatArray, n_entries: int) -> IntArray:
        """Entries of least reduced cost, among them one of every item."""
        reduced = self._reduced(prices)
        best = reduced.argmin(axis=1)
        reduced -= reduced.min(axis=1, keepdims=True)
        flat = reduced.ravel()
        n_entries = min(n_entries + len(best), int(np.isfinite(flat).sum()))
        near = np.argpartition(flat, n_entries - 1)[:n_entries]
        return np.union1d(near, np.arange(len(best)) * reduced.shape[1] + best)

    def _prices_of_sample(self, least: FloatArray, scale: float) -> FloatArray:
        """Learn the prices from one item in eight, drawn evenly."""
        n = len(self.cost) // SAMPLE
        rows = np.arange(n) * SAMPLE + np.random.RandomState(0).randint(SAMPLE, size=n)
        sample = _Part(self.cost[rows], self.amounts[rows], self.members[rows])
        total = self.amounts @ self.members
        share = np.divide(
            sample.amounts @ sample.members, total, where=total > 0, out=np.zeros_like(total)
        )
        return sample._solve_relaxed(least * share[:, None], None, scale)[1].prices

    def _program(self, entries: IntArray, least: FloatArray, scale: float) -> _Program:
        """Solve the linear program over these entries; what is short of a bound is penalized.

        Items with one entry are put there, and take no variable.
        """
        k = self.cost.shape[1]
        row, cluster = np.divmod(entries, k)
        single = np.bincount(row, minlength=len(self.cost))[row] == 1
        x = np.where(single, self.amounts[row], 0.0)
        held = self._held(row[single], cluster[single], self.amounts[row[single]])
        row, cluster = row[~single], cluster[~single]
        items, number = np.unique(row, return_inverse=True)
        n_bounds, m = least.size, len(row)
        bounds_matrix = self._bounds_matrix(row, cluster)
        slack = sparse.identity(n_bounds, format="csr")
        once = sparse.csr_array((np.ones(m), (number, np.arange(m))), (len(items), m))
        value = self.cost[row, cluster].astype(np.float64) / scale
        # No price exceeds the cost of a path through all clusters, once for every kind.
        penalty = np.full(n_bounds, 2.0 * (n_bounds + 1))
        solved = linprog(
            np.concatenate([value, penalty]),
            A_ub=-sparse.hstack([bounds_matrix, slack], format="csr"),
            b_ub=-(least - held).ravel(),
            A_eq=sparse.hstack([once, sparse.csr_array((len(items), n_bounds))], format="csr")
            if m
            else None,
            b_eq=self.amounts[items] if m else None,
            bounds=(0, None),
            method="highs-ds",
        )
        if solved.x is None:
            raise SidelightError(f"The linear program was not solved: {solved.message}")
        x[~single] = solved.x[:m]
        shortage = float(solved.x[m:].sum())
        own_row, own_cluster = np.divmod(entries, k)
        return _Program(
            x=x,
            cost=float(self.cost[own_row, own_cluster].astype(np.float64) @ x),
            prices=np.maximum(-solved.ineqlin.marginals, 0.0).reshape(least.shape) * scale,
            shortage=shortage if shortage > 1e-7 else 0.0,
        )

    def _bounds_matrix(self, row: Array, cluster: Array) -> sparse.csr_array:
        """One line for every kind and cluster, one column for every entry."""
        k = self.cost.shape[1]
        entry, kind = np.nonzero(self.members[row])
        return sparse.csr_array(
            (np.ones(len(entry)), (kind * k + cluster[entry], entry)),
            (self.members.shape[1] * k, len(row)),
        )

    def _held(self, row: Array, cluster: Array, amounts: Array) -> FloatArray:
        """Members of every kind in every cluster."""
        k = self.cost.shape[1]
        return np.array(
            [np.bincount(cluster, kind[row] * amounts, minlength=k) for kind in self.members.T]
        )

    def _solve_whole(
        self, entries: IntArray, program: _Program, least: FloatArray, time_limit: float
    ) -> tuple[IntArray, FloatArray, bool]:
        """Solve over whole numbers; True if the result is proved to be the best of all."""
        k = self.cost.shape[1]
        n_entries = len(entries)
        while True:
            row, cluster = np.divmod(entries, k)
            items, number = np.unique(row, return_inverse=True)
            m = len(row)
            once = sparse.csr_array((np.ones(m), (number, np.arange(m))), (len(items), m))
            everything = m == int(np.isfinite(self.cost).sum())
            solved = milp(
                self.cost[row, cluster].astype(np.float64) / self._scale(),
                constraints=[
                    LinearConstraint(once, self.amounts[items], self.amounts[items]),
                    LinearConstraint(self._bounds_matrix(row, cluster), least.ravel(), np.inf),
                ],
                bounds=Bounds(0, self.amounts[row]),
                integrality=np.ones(m),
                options={"time_limit": time_limit, "mip_rel_gap": 1e-9 if everything else 1e-6},
            )
            if solved.x is not None:
                return entries, solved.x, bool(everything and solved.status == 0)
            if everything:
                raise _impossible() if solved.status == 2 else _not_found(time_limit)
            n_entries *= 4
            entries = self._entries_near(program.prices, n_entries)


@dataclass(frozen=True)
class _Program:
    """Solution of a linear program."""

    x: FloatArray
    cost: float
    prices: FloatArray
    shortage: float


def _check_cost(cost: npt.ArrayLike) -> Any:
    costs = np.asarray(cost)
    if costs.dtype != np.float32:
        costs = np.asarray(costs, dtype=np.float64)
    if costs.ndim != 2 or costs.shape[1] == 0:
        raise SidelightError(f"cost must be a matrix of rows and clusters, got {costs.shape}.")
    if np.isnan(np.sum(costs)):
        raise SidelightError("cost holds NaN; every row needs a cost in every cluster.")
    return costs


def _check_members(
    members: npt.ArrayLike, least: npt.ArrayLike, shape: tuple[int, int]
) -> _KindBounds:
    which, numbers = np.asarray(members, dtype=bool), np.asarray(least)
    if which.ndim != 2 or len(which) != shape[0]:
        raise SidelightError(f"members must have a row for each of the {shape[0]} rows.")
    if numbers.shape != (which.shape[1], shape[1]) or np.any(numbers < 0):
        raise SidelightError(
            f"least must hold {which.shape[1]} x {shape[1]} numbers, one for every kind and "
            "cluster, none of them negative."
        )
    return _KindBounds(which, numbers.astype(np.int64))


def _impossible() -> SidelightError:
    return SidelightError(
        "No assignment of the rows to the clusters gives every cluster as many members of every "
        "kind as it needs: ask for fewer of them, or for fewer clusters."
    )


def _not_found(time_limit: float) -> SidelightError:
    return SidelightError(
        f"Within {time_limit:g} seconds no assignment was found that gives every cluster as many "
        "members of every kind as it needs, and none was proved impossible: ask for fewer of them, "
        "or for fewer clusters."
    )
