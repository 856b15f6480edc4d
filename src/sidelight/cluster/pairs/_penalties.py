"""What violated side information costs, as couplings between rows: the soft part of PCK-means.

    P(l) = Σ_ML w_ij [l_i ≠ l_j]  +  Σ_CL w_ij [l_i = l_j]
         + u · min_t #{labelled rows i : l_i ≠ t(class of i)}  +  u · Σ_groups min_t #{i : l_i ≠ t}

Labels and groups never become pairs, of which there would be quadratically many. Each class and
each group has an *anchor*, the cluster t that stands for it, and a row costs the unit weight u for
being elsewhere; anchors of classes are pairwise different. For given labels of the rows the best
anchors are a matching (classes) and the most frequent cluster (groups), so P counts exactly what
:meth:`Constraints.violations` reports. Anchors are nodes of the coupling graph beyond the rows:
for the rows they are neighbours like any other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment

from sidelight._kernels.cluster.icm import (
    ROUNDING,
    add_rows,
    block_sweep,
    conditional_costs,
    icm_sweep,
    labelled_total,
    restless_nodes,
)
from sidelight._typing import Array
from sidelight.cluster.pairs._icm import conditional_modes
from sidelight.constraints import Constraints

#: Rounds of sweeps, block moves and anchors; each round lowers the objective, few are ever needed.
MOST_ROUNDS = 50

#: Rows whose costs without their anchors are in memory together.
ROWS_AT_ONCE = 8192


@dataclass(frozen=True)
class Anchored:
    """Rows that know their class, or their group: ``nodes`` belong to anchor ``anchor``."""

    nodes: npt.NDArray[np.int64]
    anchor: npt.NDArray[np.int64]
    n_anchors: int
    exclusive: bool  # classes: no two anchors are the same cluster

    def choose(self, gain: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
        """Anchors of the largest total gain (n_anchors, k), -1 for a class too many."""
        if not self.exclusive:
            return gain.argmax(axis=1)
        chosen = np.full(self.n_anchors, -1, dtype=np.int64)
        classes, clusters = linear_sum_assignment(gain, maximize=True)
        chosen[classes] = clusters
        return chosen


class Penalties:
    """Couplings of the rows that are under any constraint.

    Parameters
    ----------
    constraints : Constraints
        What is known.
    unit : float
        Cost of violating a statement of weight 1.
    """

    # Where the price of a pair depends on the cluster it is in, these are others.
    _sweep = staticmethod(icm_sweep)
    _block_sweep = staticmethod(block_sweep)
    _conditional_costs = staticmethod(conditional_costs)
    graph: tuple[Array, Array, Array]

    def __init__(self, constraints: Constraints, unit: float) -> None:
        self.unit = unit
        labels, groups = constraints.labels, _shared(constraints.groups)
        mentioned = np.zeros(constraints.n_samples, dtype=bool)
        mentioned[constraints.must_link] = True
        mentioned[constraints.cannot_link] = True
        for codes in (labels, groups):
            if codes is not None:
                mentioned |= codes >= 0
        self.rows = np.flatnonzero(mentioned)
        self.must_link = np.searchsorted(self.rows, constraints.must_link)
        self.cannot_link = np.searchsorted(self.rows, constraints.cannot_link)
        self.must_link_weight = unit * constraints.must_link_weight
        self.cannot_link_weight = unit * constraints.cannot_link_weight
        self.anchored = [
            _anchored(codes[self.rows], exclusive)
            for codes, exclusive in ((labels, True), (groups, False))
            if codes is not None
        ]
        ends = len(self.rows) + np.cumsum([0, *(kind.n_anchors for kind in self.anchored)])
        self.first_anchor, self.n_nodes = ends[:-1], int(ends[-1])
        self._build_graph()
        self._build_blocks(constraints)

    def _build_graph(self) -> None:
        """Symmetric couplings: -w for a must-link, +w for a cannot-link, -u to an anchor."""
        ends = [self.must_link, self.cannot_link]
        values = [-self.must_link_weight, self.cannot_link_weight]
        for kind, first in zip(self.anchored, self.first_anchor, strict=True):
            ends.append(np.column_stack([kind.nodes, first + kind.anchor]))
            values.append(np.full(len(kind.nodes), -self.unit))
        one, other = np.concatenate(ends).T
        leaving, value = np.concatenate([one, other]), np.concatenate(values * 2)
        order = np.argsort(leaving, kind="stable")
        starts = np.searchsorted(leaving[order], np.arange(self.n_nodes + 1))
        self.graph = (starts, np.concatenate([other, one])[order], value[order])

    def _build_blocks(self, constraints: Constraints) -> None:
        """Must-link components of at least two rows: what is moved as a whole."""
        component = constraints.closure(on_contradiction="keep").component[self.rows]
        _, block, size = np.unique(component, return_inverse=True, return_counts=True)
        self.block = np.full(self.n_nodes, -1, dtype=np.int64)
        self.block[: len(block)] = block
        self.members = np.argsort(block, kind="stable")
        self.member_starts = np.concatenate([[0], np.cumsum(size)])
        self.is_movable = size > 1

    def start(self, nearest: Array, n_clusters: int) -> Array:
        """Labels of rows and anchors to begin with: the nearest centres, the best anchors."""
        labels = np.full(self.n_nodes, -1, dtype=np.int64)
        labels[: len(self.rows)] = nearest
        self._follow_labels(labels, n_clusters)
        return labels

    def improve(
        self, cost: Array, nearest: Array, labels: Array, rng: np.random.RandomState
    ) -> None:
        """Lower ``Σ_i cost[i, l_i] + P(l)`` from the given labels, in place, to a local optimum.

        ``nearest`` is the cheapest cluster of every row: ``cost.argmin(axis=1)``.
        """
        n_rows = len(self.rows)
        nodes, blocks = np.arange(n_rows), np.flatnonzero(self.is_movable)
        checked: Array | None = None  # the labels that all blocks were last content with
        self._move_anchors(cost, labels)
        for _ in range(MOST_ROUNDS):
            conditional_modes(self._sweep, cost, nearest, self.graph, labels, nodes, rng)
            if checked is not None:
                restless = restless_nodes(*self.graph[:2], checked, labels, n_rows)
                blocks = np.unique(self.block[restless])
                blocks = blocks[self.is_movable[blocks]]
            checked = labels.copy()
            self._block_sweep(
                cost,
                nearest,
                *self.graph,
                labels,
                self.block,
                self.members,
                self.member_starts,
                rng.permutation(blocks),
            )
            self._follow_labels(labels, cost.shape[1])
            self._move_anchors(cost, labels)
            nodes = restless_nodes(*self.graph[:2], checked, labels, n_rows)
            if len(nodes) == 0:
                break

    def value(self, labels: Array) -> float:
        """P at these labels of rows and anchors."""
        together = labels[self.must_link[:, 0]] == labels[self.must_link[:, 1]]
        apart = labels[self.cannot_link[:, 0]] != labels[self.cannot_link[:, 1]]
        penalty = self.must_link_weight[~together].sum() + self.cannot_link_weight[~apart].sum()
        for kind, first in zip(self.anchored, self.first_anchor, strict=True):
            elsewhere = labels[kind.nodes] != labels[first + kind.anchor]
            penalty += self.unit * np.count_nonzero(elsewhere)
        return float(penalty)

    def _follow_labels(self, labels: Array, n_clusters: int) -> None:
        """Put every anchor where most of its rows are: the optimum for these labels.

        An anchor only leaves a cluster for one with more rows: ties end nowhere.
        """
        for kind, first in zip(self.anchored, self.first_anchor, strict=True):
            key = kind.anchor * n_clusters + labels[kind.nodes]
            counts = np.bincount(key, minlength=kind.n_anchors * n_clusters)
            gain = counts.reshape(kind.n_anchors, n_clusters).astype(np.float64)
            anchors = labels[first : first + kind.n_anchors]
            chosen = kind.choose(gain)
            if _total(gain, chosen) > _total(gain, anchors):
                anchors[:] = chosen

    def _move_anchors(self, cost: Array, labels: Array) -> None:
        """Move anchors and their rows at once where that lowers the objective.

        With anchor t a row pays ``min(U_it, u + min_h U_ih)``; summed over its rows this is the
        exact cost of an anchor unless its rows are also linked to each other.
        """
        for kind, first in zip(self.anchored, self.first_anchor, strict=True):
            anchors = slice(first, first + kind.n_anchors)
            gain = np.zeros((kind.n_anchors, cost.shape[1]))
            for _, anchor, saved, _ in self._without_anchors(cost, labels, kind, first):
                add_rows(gain, anchor, saved)
            candidate = labels.copy()
            candidate[anchors] = kind.choose(gain)
            for nodes, anchor, saved, best in self._without_anchors(cost, labels, kind, first):
                target = candidate[anchors][anchor]
                stays = (target >= 0) & (saved[np.arange(len(saved)), target] > 0)
                candidate[nodes] = np.where(stays, target, best)
            before = self.objective(cost, labels)
            if self.objective(cost, candidate) < before - ROUNDING * abs(before):
                labels[:] = candidate

    def _without_anchors(
        self, cost: Array, labels: Array, kind: Anchored, first: int
    ) -> Iterator[tuple[Array, Array, Array, Array]]:
        """For some rows at a time: what each anchor would save them, and where they go alone."""
        for start in range(0, len(kind.nodes), ROWS_AT_ONCE):
            nodes = kind.nodes[start : start + ROWS_AT_ONCE]
            anchor = kind.anchor[start : start + ROWS_AT_ONCE]
            energy = self._conditional_costs(cost, *self.graph, labels, nodes)
            own = labels[first + anchor]
            known = np.flatnonzero(own >= 0)
            energy[known, own[known]] += self.unit
            saved = np.maximum(self.unit + energy.min(axis=1)[:, None] - energy, 0.0)
            yield nodes, anchor, saved, energy.argmin(axis=1)

    def objective(self, cost: Array, labels: Array) -> float:
        """``Σ_i cost[i, l_i] + P(l)`` at these labels of rows and anchors."""
        return labelled_total(cost, labels) + self.value(labels)


def _total(gain: npt.NDArray[np.float64], anchors: Array) -> float:
    placed = anchors >= 0
    return float(gain[placed.nonzero()[0], anchors[placed]].sum())


def _shared(groups: npt.NDArray[np.int64] | None) -> npt.NDArray[np.int64] | None:
    """Groups of at least two rows; a group of one says nothing."""
    if groups is None:
        return None
    size = np.bincount(groups[groups >= 0], minlength=1)
    return np.where((groups >= 0) & (size[groups] > 1), groups, -1)


def _anchored(codes: npt.NDArray[np.int64], exclusive: bool) -> Anchored:
    nodes = np.flatnonzero(codes >= 0)
    names, anchor = np.unique(codes[nodes], return_inverse=True)
    return Anchored(nodes, anchor.astype(np.int64), len(names), exclusive)
