"""The state of clusters that compete for directions, row by row or pass by pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy import sparse

from sidelight._fit.tiles import tiles
from sidelight._kernels.cluster.competition import compete, compete_by_counts, compete_sparse
from sidelight._typing import Array
from sidelight.cluster._core._distances import squared_distances
from sidelight.cluster.directional._directions import onto_sphere
from sidelight.engine import RowSource


@dataclass(frozen=True)
class WinnerRule:
    """Which cluster wins a row: that of the largest score.

    ``score_h = (1 + cos_h) n_h^-γ - γ log(n_h) / (L d)``, equation (8.10) for ``γ = 1``.

    Attributes
    ----------
    gamma : float
        Exponent of the sizes.
    memory : float
        ``L``: counts add up to it in the long run; infinite for counts that do not fade.
    n_features : int
        ``d``.
    """

    gamma: float
    memory: float
    n_features: int

    @property
    def fade(self) -> float:
        """Factor by which counts fade with every row."""
        return 1 - 1 / self.memory

    @property
    def discount(self) -> float:
        """Factor of ``log n_h``."""
        return self.gamma / (self.memory * self.n_features)

    def label(self, source: RowSource, centers: Array, counts: Array) -> Array:
        """Label every row at fixed centers and counts."""
        logs = np.log(np.maximum(counts, 1.0))
        weights, offsets = np.exp(-self.gamma * logs), self.discount * logs

        def choose(block: Any) -> tuple[tuple[()], tuple[Array]]:
            labels = np.empty(block.shape[0], dtype=np.int32)
            for tile in tiles(len(labels)):
                scores = (1 + cosines(block[tile], centers)) * weights - offsets
                labels[tile] = np.argmax(scores, axis=1)
            return (), (labels,)

        return source.map_reduce(choose)[1][0]

    def label_in_order(
        self, source: RowSource, centers: Array, counts: Array, order: Array
    ) -> tuple[Array, Array]:
        """Label the rows in this order at fixed centers; return labels and the counts after it."""
        products = source.map_reduce(lambda block: ((), (cosines(block, centers),)))[1][0]
        products = np.asarray(products)  # rows elsewhere: who wins depends on those before
        labels = np.empty(source.n_rows, dtype=np.int32)
        counts = np.maximum(counts, 1.0)
        compete_by_counts(products, order, counts, self.fade, self.gamma, self.discount, labels)
        return labels, counts


@dataclass
class Stream:
    """Fading sums and counts of the clusters; see :mod:`sidelight._kernels.cluster.competition`.

    The sum of a cluster is that of its rows, each with the weight that the memory has left of it;
    its direction is the center.
    """

    sums: Array
    mass: Array
    squares: Array
    scale: Array
    active: Array

    @classmethod
    def empty(cls, n_clusters: int, n_features: int) -> Self:
        """No rows yet: the first ``k`` different directions become the centers."""
        return cls(
            np.zeros((n_features, n_clusters)),
            np.zeros(n_clusters),
            np.zeros(n_clusters),
            np.ones(1),
            np.zeros(1, np.int64),
        )

    @classmethod
    def of(cls, sums: Array, counts: Array) -> Self:
        """Clusters with these ``(k, d)`` sums of rows and counts."""
        wide = np.ascontiguousarray(sums.T, dtype=np.float64)
        squares = np.einsum("ij,ij->j", wide, wide)
        active = np.array([len(sums)])
        return cls(wide, np.array(counts, np.float64), squares, np.ones(1), active)

    @property
    def counts(self) -> Array:
        """Effective counts of the clusters."""
        counts: Array = self.mass[: self.active[0]] * self.scale[0]
        return counts

    def centers(self, dtype: Any) -> Array:
        """Directions of the sums, of clusters that have had a row."""
        sums = self.sums.T[: self.active[0]] * self.scale[0]
        return onto_sphere(sums, np.zeros_like(sums)).astype(dtype)

    def copy(self) -> Stream:
        """Return a state of its own."""
        return Stream(*(np.copy(part) for part in vars(self).values()))

    def feed(self, rows: Any, rule: WinnerRule) -> Array:
        """Let the clusters compete for unit rows, one after the other; return who won them."""
        labels = np.empty(rows.shape[0], dtype=np.int32)
        same = float(16 * np.finfo(rows.dtype).eps)
        state = self.sums, self.mass, self.squares, self.scale, self.active
        rates = rule.fade, rule.gamma, rule.discount
        if sparse.issparse(rows):
            compete_sparse(rows.data, rows.indices, rows.indptr, same, *state, *rates, labels)
        else:
            compete(np.ascontiguousarray(rows), same, *state, *rates, labels)
        return labels


def cosines(rows: Any, centers: Array) -> Array:
    """Return the products of unit rows and unit centers, ``(m, k)`` in float64."""
    return np.asarray(rows @ centers.T, dtype=np.float64)


@dataclass(frozen=True)
class ClusterSums:
    """Sums and sizes of the clusters of labeled rows, and how well the rows fit them.

    ``divergence`` is ``Σ_i log(2 / (1 + cos_i))``; ``mean_cosine`` the mean of ``cos_i``.
    """

    sums: Array
    sizes: Array
    divergence: float
    mean_cosine: float


def add_up_clusters(source: RowSource, centers: Array, labels: Array) -> ClusterSums:
    """Add up the rows of every cluster.

    With ``cos = 1 - ‖x - μ‖² / 2``, a row at its center adds exactly 0 to the divergence.
    """
    k = len(centers)

    def add_up(block: Any, labels: Array) -> tuple[tuple[Array, Array, float, float], tuple[()]]:
        sums, divergence, misfit = np.zeros(centers.shape), 0.0, 0.0
        for tile in tiles(len(labels)):
            rows, own = block[tile], labels[tile]
            members = sparse.csr_array(
                (np.ones(len(own), rows.dtype), own, np.arange(len(own) + 1)), shape=(len(own), k)
            )
            total = members.T @ rows
            sums += total.toarray() if sparse.issparse(total) else total
            quarter = squared_distances(rows, centers[own]).astype(np.float64) / 4
            divergence -= float(np.sum(np.log1p(-np.minimum(quarter, 1 - 1e-12))))
            misfit += float(2 * np.sum(quarter))
        return (sums, np.bincount(labels, minlength=k), divergence, misfit), ()

    (sums, sizes, divergence, misfit), _ = source.map_reduce(add_up, aligned=(labels,))
    return ClusterSums(sums, sizes, float(divergence), 1 - float(misfit) / source.n_rows)
