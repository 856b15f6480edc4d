"""Micro-clusters that share their pivots among clusters, for tables larger than memory.

One pass over the rows makes micro-clusters of bounded radius. The loop then works on them alone:
``share[p, h]`` pivots of item ``p`` (the pivots of one signature in one micro-cluster) are held by
cluster ``h``, without saying which. A second pass gives every row a cluster. (Constrained
Clustering, section 16.4.)
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from sidelight._fit.alternation import Alternation
from sidelight._kernels.privacy.existential.features import merge_or_append
from sidelight._kernels.privacy.existential.pivots import fill_shares
from sidelight._typing import Array, FloatArray, IntArray
from sidelight.assignment import share_at_least
from sidelight.engine import RowSource
from sidelight.exceptions import SidelightError
from sidelight.privacy.existential._geometry import OffsetSums, WeightedRows
from sidelight.privacy.existential._graph import PivotGraph, move_pivots
from sidelight.privacy.existential._loop import Stopping
from sidelight.privacy.existential._requirements import Requirements

#: Anchors of the search are this many radii apart.
ANCHOR_RADII = 4.0
#: Number of features for which there is room at first.
FIRST_ROOM = 1024
#: Largest number of entries of the matrix of shares.
MAX_SHARES = 200_000_000


class Features:
    """Cluster features: number of rows, mean, and sum of squared offsets from the mean.

    That is the triple of count, sum and sum of squares, in a form in which nothing cancels. It is
    a total of blocks of rows: features of two blocks are joined by absorbing one after the other.

    Parameters
    ----------
    radius : float
        Largest root mean squared distance of the rows of a feature from their mean.
    n_columns : int
        Number of columns of the rows.
    """

    _sizes: FloatArray
    _means: FloatArray
    _scatters: FloatArray
    _next_of: IntArray
    _anchors: FloatArray
    _head_of: IntArray

    def __init__(self, radius: float, n_columns: int) -> None:
        self._radius = radius
        self._n_found = np.zeros(2, dtype=np.int64)
        self._room(FIRST_ROOM, n_columns)
        #: For every block, the feature that each of its own features went to.
        self.went_to: list[IntArray] = []

    @property
    def sizes(self) -> FloatArray:
        """Number of rows of every feature."""
        return self._sizes[: self._n_found[0]]

    @property
    def means(self) -> FloatArray:
        """Mean of every feature."""
        return self._means[: self._n_found[0]]

    @property
    def scatters(self) -> FloatArray:
        """Sum of the squared offsets of every feature."""
        return self._scatters[: self._n_found[0]]

    def merge_or_append(
        self, sizes: FloatArray, means: FloatArray, scatters: FloatArray
    ) -> IntArray:
        """Merge or append features; return the number of the feature that each went to."""
        number = np.empty(len(sizes), dtype=np.int64)
        done = 0
        while True:
            done = merge_or_append(
                sizes,
                means,
                scatters,
                done,
                self._radius**2,
                (ANCHOR_RADII * self._radius) ** 2,
                self._n_found,
                self._sizes,
                self._means,
                self._scatters,
                self._next_of,
                self._anchors,
                self._head_of,
                number,
            )
            if done == len(sizes):
                return number
            self._room(2 * len(self._sizes), means.shape[1])

    def join(self, later: Features) -> Features:
        """Return the features of both; those of the earlier block grow."""
        if not self.went_to:
            self.went_to = [np.arange(len(self.sizes))]
        self.went_to.append(self.merge_or_append(later.sizes, later.means, later.scatters))
        return self

    def result(self) -> Features:
        """Return the features."""
        if not self.went_to:
            self.went_to = [np.arange(len(self.sizes))]
        return self

    def _room(self, room: int, n_columns: int) -> None:
        """Enlarge the arrays to ``room`` features, and keep the present ones."""
        shapes: dict[str, tuple[tuple[int, ...], type]] = {
            "_sizes": ((room,), np.float64),
            "_means": ((room, n_columns), np.float64),
            "_scatters": ((room,), np.float64),
            "_next_of": ((room,), np.int64),
            "_anchors": ((room, n_columns), np.float64),
            "_head_of": ((room,), np.int64),
        }
        for name, (shape, dtype) in shapes.items():
            before = getattr(self, name, None)
            grown: Array = np.empty(shape, dtype=dtype)
            if before is not None:
                grown[: len(before)] = before
            setattr(self, name, grown)


@dataclass(frozen=True, eq=False)
class MicroClusters:
    """Rows in micro-clusters, and their pivots as items.

    Attributes
    ----------
    number : ndarray of int32, shape (n_rows,)
        Micro-cluster of every row.
    means, scatters : ndarray
        Mean, and sum of squared offsets, of every micro-cluster.
    requirements : Requirements
        What clusters need, with the signatures of the rows.
    """

    number: Array
    means: FloatArray
    scatters: FloatArray
    requirements: Requirements
    members: IntArray = field(init=False)

    def __post_init__(self) -> None:
        n_signatures = len(self.requirements.has)
        codes = self.number.astype(np.int64) * n_signatures + self.requirements.signature
        members = np.bincount(codes, minlength=len(self.means) * n_signatures)
        object.__setattr__(self, "members", members.reshape(-1, n_signatures))

    def __len__(self) -> int:
        return len(self.means)

    @cached_property
    def sizes(self) -> IntArray:
        """Number of rows of every micro-cluster."""
        return self.members.sum(axis=1)

    @cached_property
    def items(self) -> tuple[Array, Array]:
        """Micro-cluster and signature of every item, a set of interchangeable pivots."""
        micro, signature = np.nonzero(self.members[:, 1:])
        return micro, signature + 1

    @cached_property
    def amounts(self) -> IntArray:
        """Number of pivots of every item."""
        return self.members[self.items]

    @cached_property
    def within(self) -> float:
        """Dispersion within micro-clusters, which no clusters of them change."""
        return float(self.scatters.sum())


def make_micro_clusters(
    source: RowSource, requirements: Requirements, radius: float
) -> MicroClusters:
    """Make micro-clusters of bounded radius in one pass; with radius 0 every row is one."""
    if radius == 0:
        rows = np.asarray(source.to_memory(), dtype=np.float64)
        own = np.arange(len(rows), dtype=np.int32)
        return MicroClusters(own, rows, np.zeros(len(rows)), requirements)

    def features_of(block: Array) -> tuple[tuple[Features], tuple[Array]]:
        found = Features(radius, block.shape[1])
        rows = np.ascontiguousarray(block, dtype=np.float64)
        number = found.merge_or_append(np.ones(len(rows)), rows, np.zeros(len(rows)))
        return (found,), (number.astype(np.int32),)

    (found,), (local,) = source.map_reduce(features_of)
    features: Any = found
    number = np.empty(source.n_rows, dtype=np.int32)
    for (start, stop), went_to in zip(source.blocks, features.went_to, strict=True):
        number[start:stop] = went_to[local[start:stop]]
    n, k = len(features.sizes), requirements.n_clusters
    if n * k > MAX_SHARES:
        raise SidelightError(
            f"micro_radius={radius:g} makes {n:,} micro-clusters, too many to be shared by {k} "
            "clusters: choose a larger radius."
        )
    return MicroClusters(number, features.means, features.scatters, requirements)


@dataclass(frozen=True, eq=False)
class SharedPartition:
    """Shares of the clusters in the items at frozen representatives.

    Attributes
    ----------
    parameters : ndarray of shape (k, n_features)
        Representatives.
    share : ndarray of int64, shape (n_items, k)
        Pivots of every item in every cluster.
    nearest : ndarray of int, shape (n_micro,)
        Nearest representative of every micro-cluster, which has its other rows.
    objective : float
        Dispersion with the rows in the middle of their micro-cluster, and that within them.
    n_changed : int
        Pivots that moved; -1 at first.
    prices : ndarray or None
        Prices of the last assignment.
    """

    parameters: FloatArray
    share: IntArray
    nearest: Array
    objective: float
    n_changed: int
    prices: FloatArray | None = None


class ConditionedShares:
    """Micro-clusters whose pivots clusters share under conditions.

    Parameters
    ----------
    micro : MicroClusters
        The micro-clusters.
    refine : {"transport", "flow", "lookahead", "random"}
        How pivots move.
    lookahead : int
        Length of the paths along which they move.
    rng : RandomState
        For random moves.
    """

    def __init__(
        self, micro: MicroClusters, refine: str, lookahead: int, rng: np.random.RandomState
    ) -> None:
        self.micro = micro
        self._refine = refine
        self._lookahead = lookahead
        self._rng = rng
        self._item_micro, self._item_signature = micro.items
        self._members = micro.requirements.has[self._item_signature]

    def run_free(self, centers: FloatArray, stopping: Stopping) -> FloatArray:
        """Return where Lloyd's algorithm without conditions brings the centers."""

        def evaluate(centers: FloatArray, before: SharedPartition | None) -> SharedPartition:
            distances = self._distances(centers)
            nearest = distances.argmin(axis=1)
            share = self._all_at(nearest)
            return self._partition(centers, distances, share, nearest, before)

        return stopping.alternate(centers, evaluate, self._means).last.parameters

    def run(
        self, centers: FloatArray, stopping: Stopping, share: IntArray | None = None
    ) -> Alternation[SharedPartition]:
        """Refine until nothing moves, from given shares or from those nearest to the centers."""

        def evaluate(centers: FloatArray, before: SharedPartition | None) -> SharedPartition:
            distances = self._distances(centers)
            nearest = distances.argmin(axis=1)
            prices = None if before is None else before.prices
            if before is None and share is not None:
                now = share
            elif before is None or self._refine == "transport":
                now, prices = self._transported(distances, nearest, prices)
            else:
                now = self.moved(before.share, distances, nearest)
            return self._partition(centers, distances, now, nearest, before, prices)

        return stopping.alternate(centers, evaluate, self._means)

    def shares_of(self, labels: Array) -> IntArray:
        """Return the shares of the clusters of rows."""
        requirements = self.micro.requirements
        k, n_signatures = requirements.n_clusters, len(requirements.has)
        place = np.zeros(len(self.micro) * n_signatures, dtype=np.int64)
        item_code = self._item_micro * n_signatures + self._item_signature
        place[item_code] = np.arange(len(item_code))
        pivots = np.flatnonzero(requirements.signature > 0)
        codes = self.micro.number[pivots].astype(np.int64) * n_signatures
        items = place[codes + requirements.signature[pivots]]
        counts = np.bincount(items * k + labels[pivots], minlength=len(item_code) * k)
        return counts.reshape(-1, k)

    def graph(
        self, share: IntArray, distances: FloatArray, nearest: Array
    ) -> tuple[PivotGraph, Array, Array]:
        """Return the graph of the unstable portions, with their items and clusters."""
        item, cluster = np.nonzero(share)
        micro = self._item_micro[item]
        gain = distances[micro, cluster] - distances[micro, nearest[micro]]
        unstable = gain > 0
        item, cluster, micro = item[unstable], cluster[unstable], micro[unstable]
        graph = PivotGraph(
            cluster,
            nearest[micro],
            self._item_signature[item],
            gain[unstable],
            share[item, cluster],
            self._members.T.astype(np.int64) @ share,
            self.micro.requirements,
        )
        return graph, item, cluster

    def moved(self, share: IntArray, distances: FloatArray, nearest: Array) -> IntArray:
        """Return the shares after pivots moved to where their micro-cluster is nearest."""
        graph, item, cluster = self.graph(share, distances, nearest)
        if len(item) == 0:
            return share
        move_pivots(graph, self._refine, self._lookahead, self._rng)
        out, moved = share.copy(), graph.moved
        np.subtract.at(out, (item, cluster), moved)
        np.add.at(out, (item, nearest[self._item_micro[item]]), moved)
        return out

    def _transported(
        self, distances: FloatArray, nearest: Array, prices: FloatArray | None
    ) -> tuple[IntArray, FloatArray | None]:
        share, requirements = self._all_at(nearest), self.micro.requirements
        if np.all(self._members.T.astype(np.int64) @ share >= requirements.need):
            return share, prices
        found = share_at_least(
            distances[self._item_micro],
            self.micro.amounts,
            self._members,
            requirements.need,
            prices=prices,
        )
        return found.shares, found.prices

    def _all_at(self, nearest: Array) -> IntArray:
        k = self.micro.requirements.n_clusters
        share = np.zeros((len(self._item_micro), k), dtype=np.int64)
        share[np.arange(len(share)), nearest[self._item_micro]] = self.micro.amounts
        return share

    def _partition(
        self,
        centers: FloatArray,
        distances: FloatArray,
        share: IntArray,
        nearest: Array,
        before: SharedPartition | None,
        prices: FloatArray | None = None,
    ) -> SharedPartition:
        held = self._held(share, nearest)
        objective = float(np.sum(held * distances)) + self.micro.within
        changed = -1
        if before is not None:
            changed = int(np.abs(share - before.share).sum()) // 2
            free = self.micro.members[:, 0] > 0
            changed += int(np.count_nonzero(free & (nearest != before.nearest)))
        return SharedPartition(centers, share, nearest, objective, changed, prices)

    def _held(self, share: IntArray, nearest: Array) -> IntArray:
        """Rows of every micro-cluster in every cluster."""
        held = np.zeros((len(self.micro), share.shape[1]), dtype=np.int64)
        np.add.at(held, self._item_micro, share)
        held[np.arange(len(held)), nearest] += self.micro.members[:, 0]
        return held

    def _distances(self, centers: FloatArray) -> FloatArray:
        middle = centers.mean(axis=0)
        away, rows = centers - middle, self.micro.means - middle
        out = rows @ (-2 * away.T)
        out += np.einsum("ij,ij->i", away, away)
        out += np.einsum("ij,ij->i", rows, rows)[:, None]
        return np.maximum(out, 0.0, out=out)

    def _means(self, now: SharedPartition) -> FloatArray:
        held = self._held(now.share, now.nearest).astype(np.float64)
        mass = held.sum(axis=0)
        filled = mass > 0
        centers = now.parameters.copy()
        # Offsets from the center keep the digits that sums of rows would lose.
        for h in np.flatnonzero(filled):
            own = held[:, h] > 0
            offsets = self.micro.means[own] - centers[h]
            centers[h] += held[own, h] @ offsets / mass[h]
        return centers


def materialize(
    rows: WeightedRows, micro: MicroClusters, end: SharedPartition
) -> tuple[Array, OffsetSums]:
    """Give every row a cluster within the shares, and add up the offsets from the centers.

    Rows of items that one cluster holds alone go there. Where several share an item, pairs of row
    and cluster are taken in the order of their distance as long as the cluster has a place.
    """
    requirements = micro.requirements
    item_micro, item_signature = micro.items
    n_signatures = len(requirements.has)
    item = np.full(len(micro) * n_signatures, -1, dtype=np.int64)
    item[item_micro * n_signatures + item_signature] = np.arange(len(item_micro))
    item_of_row = item[micro.number.astype(np.int64) * n_signatures + requirements.signature]
    divided = np.append(np.count_nonzero(end.share, axis=1) > 1, False)
    alone = np.append(end.share.argmax(axis=1), 0).astype(np.int32)
    labels = np.where(item_of_row < 0, end.nearest[micro.number], alone[item_of_row])
    labels = labels.astype(np.int32)
    open_rows = divided[item_of_row]
    centers = end.parameters.astype(rows.source.dtype)
    if open_rows.any():
        costs = rows.costs(centers, open_rows, full=True)
        items = item_of_row[open_rows]
        labels[open_rows] = fill_greedily(costs, items, end.share)
    return labels, rows.sums(centers, labels)


def fill_greedily(costs: Array, items: Array, share: IntArray) -> Array:
    """Label the rows of shared items, nearest pairs of row and cluster first.

    Parameters
    ----------
    costs : ndarray of shape (m, k)
        Squared distances of the rows to the representatives.
    items : ndarray of int, shape (m,)
        Item of every row.
    share : ndarray of int, shape (n_items, k)
        Places of every item in every cluster, as many as it has rows.
    """
    row, cluster = np.nonzero(share[items] > 0)
    order = np.argsort(costs[row, cluster], kind="stable")
    labels = np.full(len(items), -1, dtype=np.int32)
    fill_shares(
        row[order], cluster[order].astype(np.int32), items[row[order]], share.copy(), labels
    )
    return labels
