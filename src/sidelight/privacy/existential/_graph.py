"""The pivot-movement graph at frozen representatives, and ways to move pivots along its edges.

A pivot is unstable if another representative is strictly nearer than its own; a cluster has surplus
if it holds more pivots than it needs. An edge from cluster ``i`` to ``j`` is labeled with the
unstable pivots of ``i`` that are nearest to ``j``, each with its gain. (Constrained Clustering,
section 16.3; micro-clusters, whose pivots move in portions, section 16.4.)
"""

from __future__ import annotations

import numpy as np

from sidelight._kernels.privacy.existential.pivots import (
    MANY,
    move_at_random,
    move_best,
    move_on_paths,
    resolve_cycles,
    surplus_of,
)
from sidelight._typing import Array, IntArray
from sidelight.assignment import share_at_least
from sidelight.privacy.existential._requirements import Requirements


class PivotGraph:
    """Unstable pivots by the edge on which they would move.

    Parameters
    ----------
    source, target : ndarray of int, shape (n_portions,)
        Cluster that holds a portion of pivots, and the cluster of the nearest representative.
    signature : ndarray of int, shape (n_portions,)
        Signature of the pivots.
    gain : ndarray of shape (n_portions,)
        What one pivot gains by the move, positive.
    amount : ndarray of int, shape (n_portions,)
        Number of pivots; 1 each unless they come from micro-clusters.
    counts : ndarray of int, shape (n_conditions, k)
        Pivots of every condition in every cluster, the stable ones too.
    requirements : Requirements
        What clusters need.
    """

    def __init__(
        self,
        source: Array,
        target: Array,
        signature: Array,
        gain: Array,
        amount: Array,
        counts: IntArray,
        requirements: Requirements,
    ) -> None:
        k, n_signatures = requirements.n_clusters, len(requirements.has)
        self._order = np.lexsort((-gain, target, source, signature))
        place = (signature.astype(np.int64) * k + source) * k + target
        edges, first = np.unique(place[self._order], return_index=True)
        self.requirements = requirements
        self.counts = np.ascontiguousarray(counts, dtype=np.int64)
        self.source, self.target = edges // k % k, edges % k
        self.signature = edges // (k * k)
        self.gain = np.ascontiguousarray(gain[self._order], dtype=np.float64)
        self._amount = amount[self._order].astype(np.int64)
        self.left = self._amount.copy()
        self.indptr = np.append(first, len(place)).astype(np.int64)
        self.first = self.indptr[:-1].copy()
        self._node_indptr = np.searchsorted(edges // k, np.arange(n_signatures * k + 1))
        self._leaving = np.argsort(self.source, kind="stable")
        self._leaving_indptr = np.searchsorted(self.source[self._leaving], np.arange(k + 1))

    @property
    def moved(self) -> IntArray:
        """How many pivots of every portion have moved, in the order in which they were given."""
        out = np.empty_like(self.left)
        out[self._order] = self._amount - self.left
        return out

    def total_gain(self) -> float:
        """Return what the moves so far have gained."""
        return float(self.gain @ (self._amount - self.left))

    def open_edges(self) -> Array:
        """Return the edges that still have pivots."""
        return np.flatnonzero(self.first < self.indptr[1:])

    def surplus(self, edge: int) -> int:
        """Return how many pivots of its signature the cluster that an edge leaves can spare."""
        need, has = self.requirements.need, self.requirements.has
        return int(
            surplus_of(self.counts, need, has, int(self.signature[edge]), int(self.source[edge]))
        )

    def move_best(self, max_moves: int = MANY) -> int:
        """Move the best pivot out of a surplus cluster while there is one; return the moves."""
        return int(
            move_best(
                *self._edges,
                self.gain,
                self._leaving,
                self._leaving_indptr,
                *self._state,
                max_moves,
            )
        )

    def move_on_paths(self, length: int, max_moves: int = MANY) -> int:
        """Move pivots along the best path of ``length`` moves while there is one."""
        return int(
            move_on_paths(
                length,
                *self._edges,
                self.gain,
                self._leaving,
                self._leaving_indptr,
                *self._state,
                max_moves,
            )
        )

    def move_at_random(self, rng: np.random.RandomState, max_moves: int = MANY) -> int:
        """Move the best pivot of a random edge out of a surplus cluster while there is one."""
        draws = rng.random_sample(max(len(self.left), 1))
        return int(move_at_random(*self._edges, *self._state, draws, max_moves))

    def resolve_cycles(self, max_cycles: int = MANY) -> int:
        """Move pivots along cycles, which keep every count, while there is one."""
        return int(
            resolve_cycles(
                self.requirements.n_clusters,
                self.target,
                self._node_indptr,
                self.indptr,
                self.first,
                self.left,
                max_cycles,
            )
        )

    def move_by_flow(self) -> bool:
        """Move those pivots that together gain most; return whether that is proved.

        Steps in between need not be valid, so that this is one network program: maximize
        ``Σ_p gain_p z_p`` with at most the surplus leaving a cluster, arrivals deducted.
        """
        need, has = self.requirements.need, self.requirements.has
        edge = np.repeat(np.arange(len(self.source)), np.diff(self.indptr))
        rows = np.arange(len(edge))
        members = has[self.signature[edge]]
        away = np.zeros_like(self.counts)
        for j in range(len(need)):
            own = members[:, j]
            away[j] = np.bincount(
                self.source[edge[own]], self._amount[own], minlength=need.shape[1]
            ).astype(np.int64)
        cost = np.full((len(edge), need.shape[1]), np.inf)
        cost[rows, self.source[edge]] = self.gain
        cost[rows, self.target[edge]] = 0.0
        least = np.maximum(need - (self.counts - away), 0)
        found = share_at_least(cost, self._amount, members, least)
        self.left[:] = found.shares[rows, self.source[edge]]
        return found.optimal

    @property
    def _edges(self) -> tuple[Array, Array, Array, Array]:
        return self.source, self.target, self.signature, self.indptr

    @property
    def _state(self) -> tuple[Array, Array, Array, Array, Array]:
        requirements = self.requirements
        return self.counts, requirements.need, requirements.has, self.first, self.left


def move_pivots(graph: PivotGraph, refine: str, lookahead: int, rng: np.random.RandomState) -> None:
    """Move pivots by one of the ways, and resolve what is deadlocked afterwards."""
    if refine == "flow":
        graph.move_by_flow()
        return
    if refine == "random":
        graph.move_at_random(rng)
    elif lookahead == 1:
        graph.move_best()
    else:
        graph.move_on_paths(lookahead)
    graph.resolve_cycles()
