"""Must-link components to clusters under hard cannot-links: the assignment step of COP-KMeans."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from sidelight._fit.lowest import lowest
from sidelight._kernels.assignment.augmenting import assign_in_order
from sidelight._kernels.assignment.coloring import compress_edges, degeneracy_order
from sidelight._kernels.cluster.icm import conditional_modes, labeled_total
from sidelight._typing import Array, IntArray
from sidelight.assignment import assign, greedy_assign
from sidelight.cluster._core._distances import PointCosts
from sidelight.cluster._core._lloyd import ConstrainedRows, Relabeled
from sidelight.constraints.inner import Contraction
from sidelight.engine import RowSource
from sidelight.exceptions import SidelightError

#: ``separate(cost, nearest)`` returns the cluster of every node of costs (m, k), no two nodes with
#: a conflict in the same; ``nearest`` are the cheapest clusters.
Separator = Callable[[Array, IntArray], IntArray]

#: Random orders that are tried after the two that have a reason.
RANDOM_ORDERS = 5


class DeadEnd(SidelightError):
    """A greedy assignment had no cluster left.

    Attributes
    ----------
    row : int
        The row that could go nowhere.
    others : tuple of int
        Rows that it must be apart from, one in every cluster.
    """

    def __init__(self, row: int, others: tuple[int, ...]) -> None:
        super().__init__(f"no cluster is left for row {row}")
        self.row = row
        self.others = others


class HardConstrainedRows(ConstrainedRows):
    """The contracted components: free of conflicts to the nearest center, the others separated.

    Parameters
    ----------
    contraction : Contraction
        The constrained components.
    points : PointCosts
        A weighted point for every component.
    separate : callable
        Assignment of components with conflicts, see :data:`Separator`.
    """

    def __init__(self, contraction: Contraction, points: PointCosts, separate: Separator) -> None:
        self.rows = contraction.rows
        self._component = contraction.component
        self._points = points
        self._separate = separate
        self._conflicting = np.unique(contraction.conflicts)
        self._labels = np.empty(0, np.int64)

    def relabel(self, centers: Array, nearest: Array | None = None) -> Relabeled:
        """Return the labels of the rows; nothing is violated, so there is no penalty."""
        cost, self._labels = self._points.at(centers)
        if len(self._conflicting):
            nodes = self._conflicting
            self._labels[nodes] = self._separate(cost[nodes], self._labels[nodes])
        return Relabeled(self._labels[self._component])

    def farthest(self, centers: Array, n: int) -> Array:
        """Return at most ``n`` components (their points) for clusters that are empty."""
        return self._points.farthest(centers, self._labels, n)


def hard_constrained_rows(
    source: RowSource,
    contraction: Contraction,
    variant: str,
    random_state: np.random.RandomState,
    time_limit: float,
) -> HardConstrainedRows:
    """Return the constrained rows of one restart; ``variant`` is that of :class:`COPKMeans`."""
    conflicting = np.unique(contraction.conflicts)
    edges = np.searchsorted(conflicting, contraction.conflicts)
    if variant == "published":
        return _as_published(source, contraction, conflicting, edges, random_state)
    separate: Separator = (
        ExactAssignment(edges, time_limit)
        if variant == "exact"
        else GreedyAssignment(len(conflicting), edges, random_state, time_limit)
    )
    points = PointCosts(contraction.means, contraction.weights)
    return HardConstrainedRows(contraction, points, separate)


class ExactAssignment:
    """The cheapest assignment; the last one is kept where the time limit ends in a worse one."""

    def __init__(self, edges: IntArray, time_limit: float) -> None:
        self._edges = edges
        self._time_limit = time_limit
        self._last: IntArray | None = None

    def __call__(self, cost: Array, nearest: IntArray) -> IntArray:
        """Return the cluster of every node at these costs."""
        found = assign(cost, self._edges, start=self._last, time_limit=self._time_limit).labels
        if self._last is None or labeled_total(cost, found) < labeled_total(cost, self._last):
            self._last = found
        return self._last


class GreedyAssignment:
    """One by one in several orders; the best of these and of the last assignment, improved.

    Only when there is no last assignment and every order ends in a dead end it is solved.
    """

    def __init__(
        self,
        n_nodes: int,
        edges: IntArray,
        random_state: np.random.RandomState,
        time_limit: float,
    ) -> None:
        self._edges = edges
        starts, neighbors = compress_edges(n_nodes, edges)
        self._conflicts = (starts, neighbors, np.full(len(neighbors), np.inf))
        self._random_state = random_state
        self._time_limit = time_limit
        self._last: IntArray | None = None

    def __call__(self, cost: Array, nearest: IntArray) -> IntArray:
        """Return the cluster of every node at these costs."""
        candidates = [] if self._last is None else [self._last]
        candidates += self._greedy(cost, self._by_regret(cost))
        if not candidates:
            for order in self._other_orders(len(cost)):
                candidates += self._greedy(cost, order)
        if not candidates:
            candidates.append(assign(cost, self._edges, time_limit=self._time_limit).labels)
        totals = (labeled_total(cost, labels) for labels in candidates)
        self._last = candidates[lowest(totals, "assignments")].copy()
        # Single components to cheaper admissible clusters: conflicts are infinite couplings.
        conditional_modes(
            cost,
            nearest,
            self._conflicts,
            self._last,
            np.arange(len(cost)),
            self._random_state,
        )
        return self._last

    def _greedy(self, cost: Array, order: IntArray) -> list[IntArray]:
        """Assign one by one; an empty list stands for a dead end."""
        labels, blocked = assign_in_order(cost, *self._conflicts[:2], order)
        return [labels] if blocked < 0 else []

    def _by_regret(self, cost: Array) -> IntArray:
        """Order by what the second choice would cost more than the first, the largest first."""
        if cost.shape[1] == 1:
            return np.arange(len(cost))
        two_cheapest = np.partition(cost, 1, axis=1)[:, :2]
        return np.argsort(two_cheapest[:, 0] - two_cheapest[:, 1], kind="stable")

    def _other_orders(self, n_nodes: int) -> Iterator[IntArray]:
        """The order that never fails where few conflicts meet, then random ones."""
        order, _ = degeneracy_order(*self._conflicts[:2])
        yield order[::-1].copy()
        for _ in range(RANDOM_ORDERS):
            yield self._random_state.permutation(n_nodes)


class _PublishedAssignment:
    """One by one in one order; a dead end is a failure."""

    def __init__(self, edges: IntArray, order: IntArray, row_of_node: IntArray) -> None:
        self._edges = edges
        self._order = order
        self._row_of_node = row_of_node

    def __call__(self, cost: Array, nearest: IntArray) -> IntArray:
        """Return the cluster of every node at these costs, or raise at the dead end."""
        labels, blocked = greedy_assign(cost, self._edges, self._order)
        if blocked >= 0:
            raise self._dead_end(labels, blocked)
        return labels

    def _dead_end(self, labels: IntArray, blocked: int) -> DeadEnd:
        ends = self._edges[np.any(self._edges == blocked, axis=1)]
        partners = np.where(ends[:, 0] == blocked, ends[:, 1], ends[:, 0])
        placed = partners[labels[partners] >= 0]
        _, one_per_cluster = np.unique(labels[placed], return_index=True)
        others = self._row_of_node[placed[one_per_cluster]]
        return DeadEnd(int(self._row_of_node[blocked]), tuple(others.tolist()))


def _as_published(
    source: RowSource,
    contraction: Contraction,
    conflicting: IntArray,
    edges: IntArray,
    random_state: np.random.RandomState,
) -> HardConstrainedRows:
    """Assign the rows in random order: the first row of a component decides for all of it."""
    order = random_state.permutation(len(contraction.rows))
    _, first = np.unique(contraction.component[order], return_index=True)
    deciding = contraction.rows[order[first]]
    node_order = np.argsort(first[conflicting], kind="stable")
    separate = _PublishedAssignment(edges, node_order, deciding[conflicting])
    points = PointCosts(source.take(deciding).astype(np.float64))
    return HardConstrainedRows(contraction, points, separate)
