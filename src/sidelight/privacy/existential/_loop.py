"""Refinement and representatives by turns, from a partition that meets the conditions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sidelight._fit.alternation import Alternation, alternate
from sidelight._typing import Array, FloatArray
from sidelight.assignment import assign_at_least
from sidelight.engine.inner import count_changes
from sidelight.privacy.existential._geometry import OffsetSums, WeightedRows
from sidelight.privacy.existential._graph import PivotGraph, move_pivots
from sidelight.privacy.existential._requirements import Requirements


@dataclass(frozen=True, eq=False)
class FrozenClusters:
    """Clusters of the rows at frozen representatives.

    Attributes
    ----------
    parameters : ndarray of shape (k, n_features)
        Representatives.
    labels : ndarray of int32, shape (n,)
        Cluster of every row.
    sums : OffsetSums
        What the next representatives need.
    n_changed : int
        Rows that moved; -1 at first.
    prices : ndarray or None
        Prices of the last assignment, which start the next one.
    """

    parameters: Array
    labels: Array
    sums: OffsetSums
    n_changed: int
    prices: FloatArray | None = None

    @property
    def objective(self) -> float:
        """Dispersion."""
        return self.sums.squares


@dataclass(frozen=True)
class Stopping:
    """When a loop ends.

    Attributes
    ----------
    max_iter : int
        Largest number of iterations.
    largest_move : float
        Squared move of the representatives that counts as none.
    description : str
        Name of the fit in the progress bar.
    verbose : int
        Whether to show a progress bar.
    """

    max_iter: int
    largest_move: float
    description: str
    verbose: int

    def alternate(
        self, start: Array, evaluate: Callable[..., Any], update: Callable[..., Any]
    ) -> Alternation[Any]:
        """Alternate until nothing moves, or the dispersion does not fall."""
        return alternate(
            start,
            evaluate,
            update,
            stop=lambda before, now, history: (
                now.n_changed == 0 or not now.objective < before.objective
            ),
            stands_still=lambda old, new: (
                float(np.sum((new - old).astype(np.float64) ** 2)) <= self.largest_move
            ),
            reject_rises=True,
            max_iter=self.max_iter,
            description=self.description,
            verbose=self.verbose,
        )


class ConditionedRows:
    """Rows whose clusters meet conditions.

    Parameters
    ----------
    rows : WeightedRows
        The rows.
    requirements : Requirements
        What clusters need.
    refine : {"transport", "flow", "lookahead", "random"}
        How pivots move.
    lookahead : int
        Length of the paths along which they move.
    rng : RandomState
        For random moves.
    """

    def __init__(
        self,
        rows: WeightedRows,
        requirements: Requirements,
        refine: str,
        lookahead: int,
        rng: np.random.RandomState,
    ) -> None:
        self.rows = rows
        self.requirements = requirements
        self._refine = refine
        self._lookahead = lookahead
        self._rng = rng
        self._is_pivot = requirements.signature > 0

    def run_free(self, centers: Array, stopping: Stopping) -> Array:
        """Return where Lloyd's algorithm without conditions brings the centers."""

        def evaluate(centers: Array, before: FrozenClusters | None) -> FrozenClusters:
            labels, _ = self.rows.nearest(centers)
            changed = -1 if before is None else count_changes(labels, before.labels)
            return FrozenClusters(centers, labels, self.rows.sums(centers, labels), changed)

        return stopping.alternate(centers, evaluate, _means).last.parameters

    def run(
        self, centers: Array, stopping: Stopping, labels: Array | None = None
    ) -> Alternation[FrozenClusters]:
        """Refine until nothing moves, from given labels or from those nearest to the centers."""

        def evaluate(centers: Array, before: FrozenClusters | None) -> FrozenClusters:
            if before is None:
                return self._start(centers, labels)
            return self._refined(centers, before)

        return stopping.alternate(centers, evaluate, _means)

    def _start(self, centers: Array, labels: Array | None) -> FrozenClusters:
        prices = None
        nearest, _ = self.rows.nearest(centers)
        if labels is None:
            labels, prices = self._transported(centers, nearest, None)
        else:
            labels = np.where(self._is_pivot, labels, nearest)
        return FrozenClusters(centers, labels, self.rows.sums(centers, labels), -1, prices)

    def _refined(self, centers: Array, before: FrozenClusters) -> FrozenClusters:
        nearest, gain = self.rows.nearest(centers, before.labels)
        prices = before.prices
        if self._refine == "transport":
            labels, prices = self._transported(centers, nearest, prices)
        else:
            labels = self.moved(before.labels, nearest, gain)
        n_changed = count_changes(labels, before.labels)
        return FrozenClusters(centers, labels, self.rows.sums(centers, labels), n_changed, prices)

    def graph(self, labels: Array, nearest: Array, gain: Array) -> tuple[PivotGraph, Array]:
        """Return the graph of the unstable pivots, and their positions."""
        unstable = np.flatnonzero(self._is_pivot & (gain > 0))
        return PivotGraph(
            labels[unstable],
            nearest[unstable],
            self.requirements.signature[unstable],
            gain[unstable].astype(np.float64),
            np.ones(len(unstable), dtype=np.int64),
            self.requirements.counts(labels),
            self.requirements,
        ), unstable

    def moved(self, labels: Array, nearest: Array, gain: Array) -> Array:
        """Return the labels after pivots moved to where they are nearest, and all others did."""
        out = np.where(self._is_pivot, labels, nearest)
        graph, unstable = self.graph(labels, nearest, gain)
        if len(unstable):
            move_pivots(graph, self._refine, self._lookahead, self._rng)
            gone = unstable[graph.moved > 0]
            out[gone] = nearest[gone]
        return out

    def _transported(
        self, centers: Array, nearest: Array, prices: FloatArray | None
    ) -> tuple[Array, FloatArray | None]:
        """Return the cheapest labels that meet the conditions, and the prices that prove it."""
        if self.requirements.are_met(nearest):
            return nearest, prices
        pivots = np.flatnonzero(self._is_pivot)
        found = assign_at_least(
            self.rows.costs(centers, self._is_pivot),
            self.requirements.members(pivots),
            self.requirements.need,
            prices=prices,
        )
        labels = nearest.copy()
        labels[pivots] = found.labels
        return labels, found.prices


def _means(now: FrozenClusters) -> Array:
    return now.sums.means(now.parameters)
