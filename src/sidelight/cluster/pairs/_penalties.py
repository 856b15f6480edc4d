"""Costs of violated side information, as couplings between rows; k-means with such costs.

    P(l) = Σ_ML f_e [l_i ≠ l_j]  +  Σ_CL t_e [l_i = l_j]
         + u · min_t #{labeled rows i : l_i ≠ t(class of i)}  +  u · Σ_groups min_t #{i : l_i ≠ t}

Prices f and t of pairs are fixed (their weights: PCK-means) or move with centers, metrics or
weights of features: f = w ‖x_i - x_j‖²_A and t = w (max-distance - ‖x_i - x_j‖²_A) for MPCK-means.
Where clusters have metrics of their own, or the price is a distance to centers (LCVQE), it depends
on the clusters of the rows: ``f_e(l_i) + g_e(l_j)`` and ``t_e(l_i)``. Then a price for being apart
is a cost of the two rows and a reward for being together::

    [l_i ≠ l_j] (f(l_i) + g(l_j))  =  f(l_i) + g(l_j) - [l_i = l_j] (f + g)(l_i)

so that iterated conditional modes look up tables and nothing else.

Labels and groups never become pairs, of which there would be quadratically many. Each class and
each group has an *anchor*, the cluster t that stands for it, and a row costs the unit u for
being elsewhere; anchors of classes are pairwise different. For given labels of the rows the best
anchors are a matching (classes) and the most frequent cluster (groups), so P counts exactly what
:meth:`Constraints.violations` reports. Anchors are nodes of the coupling graph beyond the rows:
for the rows they are neighbors like any other.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass
from functools import cached_property, partial
from typing import Any, ClassVar, Literal, Protocol, Self, TypeVar

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment

from sidelight._fit.alternation import alternate
from sidelight._fit.moments import moments
from sidelight._fit.parameters import (
    ArrayLike,
    Auto,
    Count,
    FiniteNonNegative,
    NonNegative,
    Restarts,
    estimator,
    n_restarts,
)
from sidelight._kernels.cluster.icm import (
    ROUNDING,
    add_rows,
    block_sweep,
    conditional_costs,
    conditional_modes,
    labeled_total,
    restless_nodes,
)
from sidelight._typing import Array, FloatArray, IntArray
from sidelight.cluster._core._lloyd import Labeling, LloydResult, _CentersBase, finished, lloyd
from sidelight.cluster._core._starts import Starts
from sidelight.constraints import Constraints
from sidelight.engine import RowSource
from sidelight.engine.inner import one_thread_blas

Parameters = TypeVar("Parameters")

#: Rounds of sweeps, block moves and anchors; each round lowers the objective, few are ever needed.
MAX_ROUNDS = 50

#: Iterations of k-means for a start: a labeling that makes sense, not the best of k-means.
SHORT = 20

#: A relative fall of the objective below this is rounding.
STANDSTILL = 1e-12

#: Rows whose costs without their anchors are in memory together.
ROWS_AT_ONCE = 8192


def resolve_penalty(penalty: float | str, source: RowSource) -> float:
    """Return the penalty; ``"auto"`` is the mean squared distance of the rows to their mean."""
    if penalty != "auto":
        return float(penalty)
    # Rows that are all the same have no scale; the constraints still count.
    return moments(source).total_variance or 1.0


@dataclass(frozen=True)
class Anchored:
    """Rows with a known class, or in a known group.

    Attributes
    ----------
    nodes : ndarray of int, shape (m,)
        Places of the rows.
    anchor : ndarray of int, shape (m,)
        Number of the anchor of each.
    first : int
        Node of the first anchor; the others follow.
    n_anchors : int
        Number of classes or groups.
    exclusive : bool
        Whether no two anchors are the same cluster: classes.
    """

    nodes: IntArray
    anchor: IntArray
    first: int
    n_anchors: int
    exclusive: bool

    @property
    def own(self) -> IntArray:
        """Node of the anchor of every row."""
        return self.first + self.anchor

    @property
    def anchors(self) -> slice:
        """Nodes of all anchors."""
        return slice(self.first, self.first + self.n_anchors)

    def choose(self, gain: FloatArray) -> IntArray:
        """Anchors of the largest total gain (n_anchors, k), -1 for a class too many."""
        if not self.exclusive:
            return gain.argmax(axis=1)
        chosen = np.full(self.n_anchors, -1, dtype=np.int64)
        classes, clusters = linear_sum_assignment(gain, maximize=True)
        chosen[classes] = clusters
        return chosen


class Penalties:
    """The rows under constraints, with a price for every pair.

    Parameters
    ----------
    constraints : Constraints
        Side information about the rows.
    penalty : float
        Factor on the weights of the pairs; prices are these products until others are set.
    unit : float, default=None
        Cost of a labeled or grouped row elsewhere than its class or group; ``penalty`` by default.

    Attributes
    ----------
    rows : ndarray of shape (r,)
        Positions of the rows under any constraint, ascending.
    must_link, cannot_link : ndarray of shape (m, 2)
        Pairs, as places in ``rows``.
    must_link_weight, cannot_link_weight : ndarray of shape (m,)
        ``penalty`` times the weights of the pairs.
    linked_rows : ndarray
        Positions of the rows with a must-link.
    """

    def __init__(self, constraints: Constraints, penalty: float, unit: float | None = None) -> None:
        self.unit = penalty if unit is None else unit
        labels, groups = constraints.labels, _shared(constraints.groups)
        self.rows = constraints.mentioned
        self.must_link = np.searchsorted(self.rows, constraints.must_link)
        self.cannot_link = np.searchsorted(self.rows, constraints.cannot_link)
        self.must_link_weight = penalty * constraints.must_link_weight
        self.cannot_link_weight = penalty * constraints.cannot_link_weight
        self.linked_rows = np.unique(constraints.must_link)
        self.anchored: list[Anchored] = []
        self.n_nodes = len(self.rows)
        for codes, exclusive in ((labels, True), (groups, False)):
            if codes is not None:
                self.anchored.append(_anchored(codes[self.rows], self.n_nodes, exclusive))
                self.n_nodes += self.anchored[-1].n_anchors
        self._build_graph()
        self._build_blocks(constraints)
        self._set_prices(self.must_link_weight, self.cannot_link_weight)

    def _build_graph(self) -> None:
        """Both directions of every statement (pairs, then anchors), sorted by where they leave."""
        ends = [self.must_link, self.cannot_link]
        ends += [np.column_stack([kind.nodes, kind.own]) for kind in self.anchored]
        stated = np.concatenate(ends).astype(np.int64)
        self._n_anchorings = len(stated) - len(self.must_link) - len(self.cannot_link)
        leaving = np.concatenate([stated[:, 0], stated[:, 1]])
        order = np.argsort(leaving, kind="stable")
        self._starts = np.searchsorted(leaving[order], np.arange(self.n_nodes + 1))
        self._neighbors = np.concatenate([stated[:, 1], stated[:, 0]])[order]
        self._statement = np.concatenate([np.arange(len(stated))] * 2)[order]

    def _build_blocks(self, constraints: Constraints) -> None:
        """Must-link components of at least two rows: what is moved as a whole."""
        component = constraints.closure(on_contradiction="keep").component[self.rows]
        _, block, size = np.unique(component, return_inverse=True, return_counts=True)
        self._block = np.full(self.n_nodes, -1, dtype=np.int64)
        self._block[: len(block)] = block
        self._members = np.argsort(block, kind="stable")
        self._member_starts = np.concatenate([[0], np.cumsum(size)])
        self._is_movable = size > 1

    # ------------------------------------------------------------------------------------- prices

    def with_prices(self, apart: Array, together: Array) -> Self:
        """Return the same statements with other prices.

        Parameters
        ----------
        apart : ndarray of shape (m,)
            Prices ``f`` of must-links whose rows are apart.
        together : ndarray of shape (m,)
            Prices ``t`` of cannot-links whose rows are together.
        """
        priced = copy.copy(self)
        priced._set_prices(apart, together)
        return priced

    def with_tables(self, first: Array, second: Array, together: Array) -> ClusterPenalties:
        """Return the same statements with prices that depend on the cluster.

        Parameters
        ----------
        first, second : ndarray of shape (m, k)
            Prices ``f`` and ``g`` of must-links, in the cluster of their first and second row.
        together : ndarray of shape (m, k)
            Prices ``t`` of cannot-links.
        """
        return ClusterPenalties(self, first, second, together)

    @cached_property
    def _collectors(self) -> list[sparse.csr_array]:
        """Matrices that add entries of must-links to their first and to their second row."""
        m, n = len(self.must_link), len(self.rows)
        return [
            sparse.csr_array((np.ones(m), (end, np.arange(m))), shape=(n, m))
            for end in self.must_link.T
        ]

    def _set_prices(self, apart: Array, together: Array) -> None:
        self._apart, self._together = apart, together
        self._couple(-apart, together)

    def _couple(self, must_link: Array, cannot_link: Array) -> None:
        """Set what the pairs add to the energy when they are together."""
        anchoring = np.full((self._n_anchorings, *must_link.shape[1:]), -self.unit)
        couplings = np.concatenate([must_link, cannot_link, anchoring])
        self._graph = (self._starts, self._neighbors, couplings[self._statement])

    # ------------------------------------------------------------------------------------- labels

    def relabel(self, cost: Array, labels: Array | None, rng: np.random.RandomState) -> Array:
        """Lower ``Σ_i cost[i, l_i] + P(l)`` to a local optimum; return the labels of all nodes.

        ``labels`` is what the last call returned, ``None`` to begin with the cheapest clusters.
        """
        nearest = cost.argmin(axis=1)
        start = self.start(nearest, cost.shape[1]) if labels is None else labels.copy()
        self.improve(cost, nearest, start, rng)
        return start

    def start(self, nearest: Array, n_clusters: int) -> Array:
        """Labels of rows and anchors to begin with: the nearest centers, the best anchors."""
        labels = np.full(self.n_nodes, -1, dtype=np.int64)
        labels[: len(self.rows)] = nearest
        self._follow_labels(labels, n_clusters)
        return labels

    def contested(self, labels: Array) -> Array:
        """Mask of the nodes that paths of links connect to a violated statement.

        The energy is a sum over the connected parts of the graph. Where every row of a part is in
        its cheapest cluster and nothing is violated, no other labels of it cost less.
        """
        not_together, not_apart = self.violated(labels)
        violated = np.concatenate([self.must_link[not_together], self.cannot_link[not_apart]])
        if self.anchored:  # no two classes are the same cluster: all parts depend on each other
            return np.full(self.n_nodes, len(violated) > 0 or self.anchor_total(labels) > 0)
        is_contested = np.zeros(len(self.rows), dtype=bool)
        is_contested[self._part[violated]] = True
        return is_contested[self._part]

    @cached_property
    def _part(self) -> IntArray:
        """Number of the connected part of every node, by links of both kinds."""
        graph = (np.ones(len(self._neighbors)), self._neighbors, self._starts)
        shape = (self.n_nodes, self.n_nodes)
        return sparse.csgraph.connected_components(sparse.csr_array(graph, shape=shape))[1]

    def improve(
        self,
        cost: Array,
        nearest: Array,
        labels: Array,
        rng: np.random.RandomState,
        nodes: Array | None = None,
    ) -> None:
        """Lower ``Σ_i cost[i, l_i] + P(l)`` from the given labels, in place, to a local optimum.

        ``nearest`` is the cheapest cluster of every row: ``cost.argmin(axis=1)``. Only ``nodes``
        move, and only their costs are read: see :meth:`contested`. All rows by default.
        """
        n_rows, links = len(self.rows), self._graph[:2]
        if nodes is None:
            nodes = np.arange(n_rows)
        blocks = self._blocks_of(nodes)
        members = self._block, self._members, self._member_starts
        checked: Array | None = None  # the labels that all blocks were last content with
        self._move_anchors(cost, labels)
        for _ in range(MAX_ROUNDS):
            conditional_modes(cost, nearest, self._graph, labels, nodes, rng)
            if checked is not None:
                restless = restless_nodes(*links, checked, labels, n_rows)
                blocks = self._blocks_of(restless)
            checked = labels.copy()
            order = rng.permutation(blocks)
            n_moves = block_sweep(cost, nearest, *self._graph, labels, *members, order)
            if n_moves == 0 and not self.anchored:
                break
            self._follow_labels(labels, cost.shape[1])
            self._move_anchors(cost, labels)
            nodes = restless_nodes(*links, checked, labels, n_rows)
            if len(nodes) == 0:
                break

    def _blocks_of(self, nodes: Array) -> IntArray:
        """Blocks of at least two rows that any of these rows is in, ascending."""
        here = np.zeros(len(self._is_movable), dtype=bool)
        here[self._block[nodes]] = True
        return np.flatnonzero(here & self._is_movable)

    def _follow_labels(self, labels: Array, n_clusters: int) -> None:
        """Put every anchor where most of its rows are: the optimum for these labels.

        An anchor moves only to a cluster that holds strictly more of its rows, so ties cannot cause
        endless swapping.
        """
        for kind in self.anchored:
            key = kind.anchor * n_clusters + labels[kind.nodes]
            counts = np.bincount(key, minlength=kind.n_anchors * n_clusters)
            gain = counts.reshape(kind.n_anchors, n_clusters).astype(np.float64)
            chosen = kind.choose(gain)
            if _total(gain, chosen) > _total(gain, labels[kind.anchors]):
                labels[kind.anchors] = chosen

    def _move_anchors(self, cost: Array, labels: Array) -> None:
        """Move anchors and their rows at once where that lowers the objective.

        With anchor t a row pays ``min(U_it, u + min_h U_ih)``; summed over its rows this is the
        exact cost of an anchor unless its rows are also linked to each other.
        """
        for kind in self.anchored:
            gain = np.zeros((kind.n_anchors, cost.shape[1]))
            for _, anchor, saved, _ in self._without_anchors(cost, labels, kind):
                add_rows(gain, anchor, saved)
            candidate = labels.copy()
            candidate[kind.anchors] = kind.choose(gain)
            for nodes, anchor, saved, best in self._without_anchors(cost, labels, kind):
                target = candidate[kind.anchors][anchor]
                stays = (target >= 0) & (saved[np.arange(len(saved)), target] > 0)
                candidate[nodes] = np.where(stays, target, best)
            before = self.objective(cost, labels)
            if self.objective(cost, candidate) < before - ROUNDING * abs(before):
                labels[:] = candidate

    def _without_anchors(
        self, cost: Array, labels: Array, kind: Anchored
    ) -> Iterator[tuple[Array, Array, Array, Array]]:
        """For some rows at a time: what each anchor would save them, and where they go alone."""
        for start in range(0, len(kind.nodes), ROWS_AT_ONCE):
            nodes = kind.nodes[start : start + ROWS_AT_ONCE]
            anchor = kind.anchor[start : start + ROWS_AT_ONCE]
            energy = conditional_costs(cost, *self._graph, labels, nodes)
            own = labels[kind.first + anchor]
            known = np.flatnonzero(own >= 0)
            energy[known, own[known]] += self.unit
            saved = np.maximum(self.unit + energy.min(axis=1)[:, None] - energy, 0.0)
            yield nodes, anchor, saved, energy.argmin(axis=1)

    # -------------------------------------------------------------------------------------- value

    def objective(self, cost: Array, labels: Array) -> float:
        """``Σ_i cost[i, l_i] + P(l)`` at these labels of rows and anchors."""
        return labeled_total(cost, labels) + self.value(labels)

    def value(self, labels: Array) -> float:
        """P at these labels of rows and anchors."""
        return self.pair_total(labels) + self.anchor_total(labels)

    def pair_total(self, labels: Array) -> float:
        """The part of P that pairs pay."""
        not_together, not_apart = self.violated(labels)
        return float(self._apart[not_together].sum() + self._together[not_apart].sum())

    def anchor_total(self, labels: Array) -> float:
        """The part of P that labels and groups pay."""
        elsewhere = sum(
            int(np.count_nonzero(labels[kind.nodes] != labels[kind.own])) for kind in self.anchored
        )
        return self.unit * elsewhere

    def violated(self, labels: Array) -> tuple[Array, Array]:
        """Which must-links and which cannot-links these labels violate (boolean)."""
        (a, b), (c, d) = self.must_link.T, self.cannot_link.T
        return labels[a] != labels[b], labels[c] == labels[d]


class ClusterPenalties(Penalties):
    """The rows under constraints, with a price for every pair and cluster."""

    def __init__(self, pairs: Penalties, first: Array, second: Array, together: Array) -> None:
        vars(self).update(vars(pairs))
        self._first, self._second, self._together = first, second, together
        one, other = pairs._collectors
        self._advance = one @ first + other @ second
        self._couple(-(first + second), together)

    def relabel(self, cost: Array, labels: Array | None, rng: np.random.RandomState) -> Array:
        """Lower ``Σ_i cost[i, l_i] + P(l)`` to a local optimum; return the labels of all nodes."""
        if labels is None:
            labels = self.start(cost.argmin(axis=1), cost.shape[1])
        return super().relabel(cost + self._advance, labels, rng)

    def value(self, labels: Array) -> float:
        """P less what the rows pay in advance: the energy beyond the costs inside ``improve``."""
        n = len(self.rows)
        return super().value(labels) - float(self._advance[np.arange(n), labels[:n]].sum())

    def pair_total(self, labels: Array) -> float:
        """The part of P that pairs pay."""
        not_together, not_apart = (np.flatnonzero(kind) for kind in self.violated(labels))
        one, other = labels[self.must_link[not_together]].T
        price = self._first[not_together, one].sum() + self._second[not_together, other].sum()
        price += self._together[not_apart, labels[self.cannot_link[not_apart, 0]]].sum()
        return float(price)


# ------------------------------------------------------------------ k-means with such costs


class PenaltyProblem(Protocol[Parameters]):
    """The two halves of an iteration; neither may raise the objective, and nothing is changed."""

    def start(self, centers: Array) -> Parameters:
        """Return the parameters to begin with at these centers."""

    def evaluate(
        self,
        random_state: np.random.RandomState,
        parameters: Parameters,
        before: Labeling[Parameters] | None,
    ) -> Labeling[Parameters]:
        """Label the rows at these parameters, starting from the labels before."""

    def update(self, now: Labeling[Parameters]) -> Parameters:
        """Improve the parameters for these labels."""


class Beginnings(Protocol):
    """Starts of the restarts."""

    #: Number of restarts.
    n_starts: int

    def parameters(self, number: int, random_state: np.random.RandomState) -> Any:
        """Return the parameters that a restart begins with."""


class CenterBeginnings:
    """Restarts that begin with centers alone.

    Parameters
    ----------
    problem : PenaltyProblem
        The problem.
    starts : Starts
        The initial centers.
    """

    def __init__(self, problem: PenaltyProblem[Any], starts: Starts) -> None:
        self.n_starts = starts.n_starts
        self._problem, self._starts = problem, starts

    def parameters(self, number: int, random_state: np.random.RandomState) -> Any:
        """Return the parameters at the centers of a restart."""
        return self._problem.start(self._starts.centers(number, random_state))


def alternate_labels(
    problem: PenaltyProblem[Parameters],
    parameters: Parameters,
    random_state: np.random.RandomState,
    *,
    max_iter: int,
    tol: float,
    description: str,
    verbose: int,
) -> LloydResult:
    """Alternate between labels and parameters that are more than centers.

    Ends when no label changes and the objective falls by at most ``tol`` times the inertia and what
    it has fallen in all (at least by rounding). Its own size may depend on the units of the rows.
    """

    def stop(before: Labeling[Any], now: Labeling[Any], history: list[float]) -> bool:
        size = abs(now.inertia) + abs(history[0] - now.objective)
        fall = before.objective - now.objective
        rounding = 4 * np.finfo(np.float64).eps * abs(now.objective)
        return now.n_changed == 0 and bool(fall <= max(tol, STANDSTILL) * size + rounding)

    # Between the passes there are only small matrices, on which more threads lose time.
    with one_thread_blas:
        end = alternate(
            parameters,
            partial(problem.evaluate, random_state),
            problem.update,
            stop=stop,
            max_iter=max_iter,
            description=description,
            verbose=verbose,
        )
    return finished(end)


@estimator
class _MovingPricesBase(_CentersBase):
    """k-means in which prices of pairs move with the centers and what else is fitted."""

    _common_parameters: ClassVar[Mapping[str, str]] = {
        "penalty": "Factor on the weights of all pairs, without unit: violated pairs cost "
        'distances already. ``"auto"`` is 1, the published method.',
        "init": "Initial centers: the means of must-link components, some iterations of k-means, "
        "greedy D² sampling, D² sampling of many rows a pass, random rows, or an array of shape "
        "(n_clusters, n_features). "
        '``"auto"`` starts once from the neighborhoods and otherwise with k-means: what is learned '
        "from seeds alone misleads.",
        "tol": "Stop when no label changes and ``J`` falls by less than this share of ``inertia_`` "
        "and of what it has fallen in all.",
    }
    _common_attributes: ClassVar[Mapping[str, str]] = {
        "penalty_ : float": "The penalty that was used.",
        **_CentersBase._common_attributes,
    }

    _: KW_ONLY
    penalty: FiniteNonNegative | Auto = "auto"
    init: (
        Literal["auto", "neighborhoods", "k-means", "k-means++", "k-means||", "random"] | ArrayLike
    ) = "auto"
    n_init: Restarts = 10
    max_iter: Count = 100
    tol: NonNegative = 1e-6

    _has_inertia = True

    def _fit_problem(
        self,
        problem: PenaltyProblem[Any],
        source: RowSource,
        constraints: Constraints,
        *,
        polish: Callable[[Array], Array] | None = None,
        beginnings: Beginnings | None = None,
    ) -> Self:
        """Keep the best restart; ``polish`` is some k-means from seeds, Lloyd's by default."""
        if beginnings is None:
            polish = polish or (lambda seeds: lloyd(source, seeds, max_iter=SHORT).centers)
            args = source, self.n_clusters, self.init, n_restarts(self), constraints
            beginnings = CenterBeginnings(problem, Starts(*args, polish=polish))

        def run(number: int, random_state: np.random.RandomState) -> LloydResult:
            return alternate_labels(
                problem,
                beginnings.parameters(number, random_state),
                random_state,
                max_iter=self.max_iter,
                tol=self.tol,
                description=type(self).__name__,
                verbose=self.verbose,
            )

        best = self._best_restart(beginnings.n_starts, run, source)
        return self._set_fitted_attributes(best, constraints)

    @property
    def _factor(self) -> float:
        return 1.0 if self.penalty == "auto" else float(self.penalty)


def _total(gain: FloatArray, anchors: Array) -> float:
    placed = anchors >= 0
    return float(gain[placed.nonzero()[0], anchors[placed]].sum())


def _shared(groups: IntArray | None) -> IntArray | None:
    """Groups of at least two rows; smaller ones constrain nothing."""
    if groups is None:
        return None
    size = np.bincount(groups[groups >= 0], minlength=1)
    return np.where((groups >= 0) & (size[groups] > 1), groups, -1)


def _anchored(codes: IntArray, first: int, exclusive: bool) -> Anchored:
    nodes = np.flatnonzero(codes >= 0)
    names, anchor = np.unique(codes[nodes], return_inverse=True)
    return Anchored(nodes, anchor.astype(np.int64), first, len(names), exclusive)
