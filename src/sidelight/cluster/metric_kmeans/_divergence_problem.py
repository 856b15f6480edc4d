"""The two halves of an iteration of HMRF-KMeans with a divergence that is not Euclidean."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from sidelight._fit.tiles import EqualWeights, tiles
from sidelight._typing import Array
from sidelight.cluster._core._distances import dense_rows, farthest_rows
from sidelight.cluster._core._lloyd import Labeling
from sidelight.cluster._core._passes import BlockLabels, pass_arguments
from sidelight.cluster.metric_kmeans._divergences import (
    Divergence,
    DivergenceDistances,
    KullbackLeibler,
)
from sidelight.cluster.metric_kmeans._feature_weights import (
    CountWeightStep,
    DirectionWeightStep,
    FeatureWeightStep,
    ViolationSums,
    add_weighted,
)
from sidelight.cluster.pairs._penalties import Penalties
from sidelight.constraints import Constraints
from sidelight.engine import RowSource
from sidelight.engine.inner import largest_value, map_values


@dataclass(frozen=True)
class WeightedCenters:
    """Parameters: centers, and weights of the features."""

    centers: Array
    weights: Array


@dataclass(frozen=True)
class _DivergenceStatistics:
    """Sums from which centers and term weights are updated."""

    nodes: Array  # labels of the constrained rows and of the anchors
    sums: Array
    sizes: Array


class DivergenceProblem:
    """Rows, constraints, and weights of features that are learned (or stay 1). It never changes.

    Parameters
    ----------
    source : RowSource
        The rows, as the divergence prepared them.
    divergence : Divergence
        How far a row is from a center.
    constraints : Constraints
        Side information about the rows.
    penalty, prior : float
        Factor on the weights of the pairs, and strength of the prior of the weights.
    learn : bool
        Whether weights are learned.
    """

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
        points = source.take(constraints.mentioned).astype(np.float64)
        must_link, cannot_link = (
            np.searchsorted(constraints.mentioned, pairs)
            for pairs in (constraints.must_link, constraints.cannot_link)
        )
        args = source, points, must_link, cannot_link, prior
        self.step: FeatureWeightStep
        if isinstance(divergence, KullbackLeibler):
            self.step = CountWeightStep(*args, divergence)
        else:
            self.step = DirectionWeightStep(*args)
        self.pairs = Penalties(constraints, penalty, penalty * self.step.largest)
        self._points = points
        self._learn = learn and self.step.kappa > 0

    def start(self, centers: Array) -> WeightedCenters:
        """Begin with equal weights."""
        weights = np.ones(self._source.n_features)
        best = self._at(centers.astype(np.float64), weights)
        lost = np.flatnonzero(~np.any(best, axis=1))
        if len(lost):
            # Directions that cancel have no mean direction: any other will do, such as of a row.
            rows = dense_rows(self._source, np.arange(len(lost)) % self._source.n_rows)
            best[lost] = self._at(rows.astype(np.float64), weights)
        return WeightedCenters(best, weights)

    def _at(self, points: Array, weights: Array) -> Array:
        """Return the best centers of single points."""
        offsets = self._divergence.offsets(points)
        return self._divergence.center(offsets, np.ones(len(points)), weights, points)

    def evaluate(
        self,
        random_state: np.random.RandomState,
        parameters: WeightedCenters,
        before: Labeling[WeightedCenters] | None,
    ) -> Labeling[WeightedCenters]:
        """Label the rows and add up what the next parameters need."""
        weights, pairs = parameters.weights, self.pairs
        apart, together = self.step.prices(weights)
        priced = pairs.with_prices(
            pairs.must_link_weight * apart, pairs.cannot_link_weight * together
        )
        cost = self._divergence.costs_at(parameters.centers, weights)(self._points)
        last = None if before is None else before.statistics.nodes
        nodes = priced.relabel(cost, last, random_state)
        (sums, sizes, total, n_changed), labels = self._pass(
            parameters,
            nodes[: len(pairs.rows)],
            None if before is None else before.labels,
        )
        return Labeling(
            parameters=parameters,
            labels=labels,
            inertia=float(total),
            penalty=priced.value(nodes) + (self.step.prior(weights) if self._learn else 0.0),
            n_changed=int(n_changed),
            statistics=_DivergenceStatistics(nodes, sums, sizes),
        )

    def _pass(
        self, parameters: WeightedCenters, fixed: Array, before: Array | None
    ) -> tuple[tuple[Array, ...], Array]:
        work = _DivergencePass(self._divergence, parameters)
        weights = EqualWeights(self._source)
        aligned = pass_arguments(self._source, self.pairs.rows, fixed, weights, before)
        totals, (labels,) = self._source.map_reduce(work, aligned=aligned)
        return totals, labels

    def update(self, now: Labeling[WeightedCenters]) -> WeightedCenters:
        """Update the centers, then the weights."""
        old, sums = now.parameters, now.statistics
        centers = self._divergence.center(sums.sums, sums.sizes, old.weights, old.centers)
        empty = np.flatnonzero(sums.sizes == 0)
        if len(empty):
            rows = self._farthest(now, len(empty))
            centers[empty[: len(rows)]] = self._at(rows, old.weights)
        if not self._learn:
            return WeightedCenters(centers, old.weights)
        weights = self.step.learn(old.weights, self.violation_sums(now, centers))
        return WeightedCenters(centers, weights)

    def violation_sums(self, now: Labeling[WeightedCenters], centers: Array) -> ViolationSums:
        """Return what the weight step at these centers needs."""
        apart, together = self.pairs.violated(now.statistics.nodes)
        return ViolationSums(
            labels=now.labels,
            sums=now.statistics.sums,
            sizes=now.statistics.sizes,
            centers=centers,
            must_link=self.pairs.must_link_weight * apart,
            cannot_link=self.pairs.cannot_link_weight * together,
        )

    def _farthest(self, now: Labeling[WeightedCenters], n: int) -> Array:
        """Rows for empty clusters."""
        source, divergence, weights = self._source, self._divergence, now.parameters.weights

        def measure(row: int) -> Array:
            center = self._at(dense_rows(source, [row]).astype(np.float64), weights)
            return DivergenceDistances(divergence, center, weights).costs(source)

        distances = DivergenceDistances(divergence, now.parameters.centers, weights)
        costs = distances.labeled(source, now.labels)
        # Rounding of rows at centers; that of CSR rows, which are not shifted, is in units of 1.
        size = largest_value(costs)[0]
        least = 1e-12 * (max(size, 1.0) if source.is_sparse else size)

        def without_rounding(costs: Array) -> tuple[tuple[()], tuple[Array]]:
            return (), (np.where(costs <= least, 0, costs),)

        (costs,) = map_values(without_rounding, costs)[1]
        chosen = farthest_rows(costs, n, measure, last=self.pairs.linked_rows)
        return dense_rows(source, chosen).astype(np.float64)


class _DivergencePass:
    """Label rows by their divergences from centers, and add up what moves the centers."""

    again_from = (0,)

    def __init__(self, divergence: Divergence, parameters: WeightedCenters) -> None:
        self._divergence = divergence
        self._centers, self._weights = parameters.centers, parameters.weights
        self._costs = divergence.costs_at(parameters.centers, parameters.weights)

    def __call__(
        self, block: Any, fixed: BlockLabels, _: Array, before: Array
    ) -> tuple[tuple[Any, ...], tuple[Array]]:
        divergence, weights = self._divergence, self._weights
        labels = np.empty(len(before), dtype=np.int32)
        sums, total = np.zeros(self._centers.shape), 0.0
        for tile, rows, costs in self._labeled(block, fixed, labels):
            total += float(costs[np.arange(len(costs)), labels[tile]].sum(dtype=np.float64))
            shares = divergence.shares(rows, weights)
            add_weighted(divergence.offsets(rows), shares, labels[tile], sums)
        sizes = np.bincount(labels, minlength=len(self._centers)).astype(np.float64)
        return (sums, sizes, total, np.count_nonzero(labels != before)), (labels,)

    def rows_again(self, block: Any, fixed: BlockLabels) -> tuple[Array]:
        """Return the labels of a block."""
        labels = np.empty(block.shape[0], dtype=np.int32)
        deque(self._labeled(block, fixed, labels), maxlen=0)
        return (labels,)

    def _labeled(
        self, block: Any, fixed: BlockLabels, labels: Array
    ) -> Iterator[tuple[slice, Any, Array]]:
        """Label the rows, tile by tile; yield the tile, its rows in float64 and their costs."""
        places, given = fixed
        own = np.full(len(labels), -1, dtype=np.int32)
        own[places] = given
        for tile in tiles(len(labels)):
            rows = block[tile].astype(np.float64, copy=False)
            costs = self._costs(rows)
            labels[tile] = np.where(own[tile] < 0, costs.argmin(axis=1), own[tile])
            yield tile, rows, costs
