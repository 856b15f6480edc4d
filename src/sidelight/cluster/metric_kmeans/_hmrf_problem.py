"""The two halves of an iteration of HMRF-KMeans with a divergence that is not Euclidean."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from sidelight._fit.tiles import tiles
from sidelight._typing import Array
from sidelight.cluster._core._alternate import Visit, refill_rows
from sidelight.cluster._core._distances import dense_rows
from sidelight.cluster.metric_kmeans._divergences import Cosine, Divergence
from sidelight.cluster.metric_kmeans._feature_weights import (
    CountsTeacher,
    DirectionsTeacher,
    Lesson,
    Teacher,
    add_weighted,
)
from sidelight.cluster.pairs._priced import PricedPairs
from sidelight.constraints import Constraints
from sidelight.engine import RowSource


@dataclass(frozen=True)
class WeightedState:
    """Parameters: centres, and weights of the features."""

    centers: Array
    weights: Array


@dataclass(frozen=True)
class _Sums:
    """What the next move needs."""

    nodes: Array  # labels of the constrained rows and of the anchors
    sums: Array
    sizes: Array


class DivergenceProblem:
    """Rows, what is known about them, and weights of features that are learned (or stay 1).

    Parameters
    ----------
    source : RowSource
        The rows, as the divergence prepared them.
    divergence : Divergence
        How far a row is from a centre.
    constraints : Constraints
        What is known.
    penalty, prior : float
        Factor on the weights of the pairs, and strength of the prior of the weights.
    learn : bool
        Whether weights are learned.
    """

    random_state: np.random.RandomState

    def __init__(
        self,
        source: RowSource,
        divergence: Divergence,
        constraints: Constraints,
        penalty: float,
        prior: float,
        *,
        learn: bool,
    ) -> None:
        self._source, self._divergence = source, divergence
        self.pairs = PricedPairs(constraints, penalty, unit=0.0)
        self._points = source.take(self.pairs.rows).astype(np.float64)
        teacher = DirectionsTeacher if isinstance(divergence, Cosine) else CountsTeacher
        self.teacher: Teacher = teacher(source, self._points, self.pairs, prior)
        self.pairs.unit = penalty * self.teacher.largest
        self._learn = learn and self.teacher.kappa > 0

    def with_chance(self, random_state: np.random.RandomState) -> DivergenceProblem:
        """Return the problem of one start: its own source of chance and prices of pairs."""
        one = copy.copy(self)
        one.random_state, one.pairs = random_state, copy.copy(self.pairs)
        return one

    def start(self, centers: Array) -> WeightedState:
        """Begin with equal weights."""
        weights = np.ones(self._source.n_features)
        sizes = np.ones(len(centers))
        best = self._divergence.center(centers.astype(np.float64), sizes, weights, centers)
        return WeightedState(best.astype(self._source.dtype), weights)

    def visit(
        self, state: WeightedState, before: Visit[WeightedState] | None
    ) -> Visit[WeightedState]:
        """Label the rows and add up what the next parameters need."""
        weights, pairs = state.weights, self.pairs
        apart, together = self.teacher.prices(weights)
        pairs.set_prices(pairs.must_link_weight * apart, pairs.cannot_link_weight * together)
        cost = self._divergence.costs(self._points, state.centers, weights)
        last = None if before is None else before.details.nodes
        nodes = pairs.relabel(cost, last, self.random_state)
        held = nodes[: len(pairs.rows)].astype(np.int32)
        (sums, sizes, total, n_changed), labels = self._pass(
            state, held, None if before is None else before.labels
        )
        objective = float(total) + pairs.value(nodes)
        return Visit(
            state=state,
            labels=labels,
            inertia=float(total),
            objective=objective + (self.teacher.prior(weights) if self._learn else 0.0),
            n_changed=int(n_changed),
            details=_Sums(nodes, sums, sizes),
        )

    def _pass(
        self, state: WeightedState, held: Array, before: Array | None
    ) -> tuple[tuple[Array, ...], Array]:
        source, divergence, held_rows = self._source, self._divergence, self.pairs.rows
        centers, weights = state.centers, state.weights

        def label(block: Any, positions: range, before: Array) -> tuple[tuple[Any, ...], Any]:
            here = slice(*np.searchsorted(held_rows, (positions.start, positions.stop)))
            fixed = np.full(len(positions), -1, dtype=np.int32)
            fixed[held_rows[here] - positions.start] = held[here]
            labels = np.empty(len(positions), dtype=np.int32)
            sums, total = np.zeros(centers.shape), 0.0
            for tile in tiles(len(labels)):
                rows = block[tile]
                costs = divergence.costs(rows, centers, weights)
                labels[tile] = np.where(fixed[tile] < 0, costs.argmin(axis=1), fixed[tile])
                total += float(costs[np.arange(len(costs)), labels[tile]].sum(dtype=np.float64))
                add_weighted(rows, divergence.shares(rows, weights), labels[tile], sums)
            sizes = np.bincount(labels, minlength=len(centers)).astype(np.float64)
            return (sums, sizes, total, np.count_nonzero(labels != before)), (labels,)

        unlabelled = np.broadcast_to(np.int32(-1), source.n_rows)
        aligned = (range(source.n_rows), unlabelled if before is None else before)
        totals, (labels,) = source.map_reduce(label, aligned=aligned)
        return totals, labels

    def move(self, visit: Visit[WeightedState]) -> WeightedState:
        """Take the best centres, then better weights."""
        state, sums = visit.state, visit.details
        centers = self._divergence.center(sums.sums, sums.sizes, state.weights, state.centers)
        empty = np.flatnonzero(sums.sizes == 0)
        if len(empty):
            rows = self._refill(visit, len(empty))
            centers[empty[: len(rows)]] = self._divergence.center(
                rows, np.ones(len(rows)), state.weights, rows
            )
        centers = centers.astype(self._source.dtype)
        if not self._learn:
            return WeightedState(centers, state.weights)
        apart, together = self.pairs.violated(sums.nodes)
        lesson = Lesson(
            labels=visit.labels,
            sums=sums.sums,
            sizes=sums.sizes,
            centers=centers,
            must_link=self.pairs.must_link_weight * apart,
            cannot_link=self.pairs.cannot_link_weight * together,
        )
        return WeightedState(centers, self.teacher.learn(state.weights, lesson))

    def _refill(self, visit: Visit[WeightedState], n: int) -> Array:
        state, source = visit.state, self._source

        def costs_at(centers: Array, labels: Array) -> Array:
            def measure(block: Any, labels: Array) -> tuple[tuple[()], tuple[Array]]:
                costs = np.empty(len(labels))
                for tile in tiles(len(labels)):
                    found = self._divergence.costs(block[tile], centers, state.weights)
                    costs[tile] = found[np.arange(len(found)), labels[tile]]
                return (), (costs,)

            return source.map_reduce(measure, aligned=(labels,))[1][0]

        def measure(row: int) -> Array:
            point = dense_rows(source, [row])
            center = self._divergence.center(point, np.ones(1), state.weights, point)
            return costs_at(center, np.zeros(source.n_rows, dtype=np.int64))

        costs = costs_at(state.centers, visit.labels)
        costs[costs <= 1e-12 * max(float(costs.max()), 1.0)] = 0  # rounding of rows at centres
        linked = self.pairs.rows[np.unique(self.pairs.must_link)]
        return dense_rows(source, refill_rows(costs, linked, n, measure)).astype(np.float64)
