"""Cells of rows that share their responsibilities (Verbeek 2004, section 3.4.1).

Log-densities of Gaussians are linear in ``x`` and its products, so the average over a cell follows
from its mean ``m`` and covariance ``V`` alone:

    <log p(x | s)> = -½ [ D log 2π + log|Σ_s| + (m - μ_s)ᵀ Σ_s⁻¹ (m - μ_s) + tr Σ_s⁻¹ V ].

EM on cells is EM on rows ``(m, V)`` whose weights are the numbers of rows in the cells.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any, Self

import numpy as np

from sidelight._fit.buffers import NEW_ARRAYS
from sidelight._kernels.mixture.cells import (
    cell_moments,
    cell_products,
    cut_cells,
    widest_directions,
)
from sidelight._typing import Array
from sidelight.engine import as_rows, get_threads
from sidelight.mixture._core import Statistics
from sidelight.mixture.gaussian import _local as local
from sidelight.mixture.gaussian._components import GaussianComponents, _symmetric

#: Marks of nodes without parts: not yet cut, and all rows equal.
UNCUT, EQUAL = -1, -2


@dataclass(frozen=True)
class CellSamples:
    """Some rows of every cell.

    Attributes
    ----------
    rows : ndarray of shape (l, d)
        The rows.
    shares : ndarray of shape (l,)
        Their weights; those of a cell add up to 1.
    owner : ndarray of int, shape (l,)
        Number of the cell of every row, ascending.
    """

    rows: Array
    shares: Array
    owner: Array

    def average(self, values: Array) -> Array:
        """Weighted average of values of the rows over every cell."""
        starts = np.flatnonzero(np.diff(self.owner, prepend=-1))
        weighted = values * self.shares.reshape(-1, *[1] * (values.ndim - 1))
        averages: Array = np.add.reduceat(weighted, starts, axis=0)
        return averages


class CellTree:
    """A binary tree of cells, cut on demand.

    A cell is cut by a plane through its mean. Its rows are kept together in memory, so that a cut
    reads them in one go.

    Parameters
    ----------
    rows : array or RowSource of shape (n, d)
        The rows; they are copied.
    weights : ndarray of shape (n,), default=None
        Weights of the rows; those of weight 0 are left out.
    full : bool
        Whether cells hold their covariance, or only the variances.

    Attributes
    ----------
    weights : ndarray of shape (m,)
        Weight of every node; node 0 holds all rows.
    means : ndarray of shape (m, d)
        Means of the nodes.
    spreads : ndarray
        Upper triangles of their covariances, or variances.
    parts : ndarray of int, shape (m,)
        First part of every node, the second is the next node; negative when there is none.
    """

    def __init__(self, rows: Any, weights: Array | None = None, *, full: bool) -> None:
        source = as_rows(rows)
        every = np.ones(source.n_rows) if weights is None else np.asarray(weights, np.float64)
        counted = np.flatnonzero(every > 0)
        self._rows = np.ascontiguousarray(source.take(counted))
        self._row_weights = every[counted]
        n, d = self._rows.shape
        self.means = np.empty((1, d))
        self.spreads = np.empty((1, d * (d + 1) // 2 if full and d > 1 else d))
        total = cell_moments(self._rows, self._row_weights, 0, n, self.means[0], self.spreads[0])
        self.weights = np.array([total])
        self.parts = np.array([UNCUT])
        self._starts = np.array([0])
        self._stops = np.array([n])

    def copy(self) -> Self:
        """Return a tree of the same cells that is cut without this one being cut."""
        return deepcopy(self)

    @property
    def sizes(self) -> Array:
        """Number of rows of every node."""
        return self._stops - self._starts

    def cells(self, nodes: Array) -> Array:
        """Means and spreads of some nodes, side by side: rows for EM."""
        return np.hstack((self.means[nodes], self.spreads[nodes]))

    def sample(self, nodes: Array, one_in: int, least: int, phase: float) -> CellSamples:
        """Return one in ``one_in`` rows of every node, evenly spaced in its order.

        Another ``phase`` between 0 and 1 gives other rows.
        """
        sizes = self.sizes[nodes]
        counts = np.minimum(np.maximum(sizes // one_in, least), sizes)
        owner = np.repeat(np.arange(len(nodes)), counts)
        number = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
        steps = ((number + phase) * (sizes / counts)[owner]).astype(np.int64)
        places = self._starts[nodes][owner] + np.minimum(steps, sizes[owner] - 1)
        weights = self._row_weights[places]
        share = weights / np.bincount(owner, weights)[owner]
        return CellSamples(self._rows[places], share, owner)

    def widest(self, nodes: Array) -> Array:
        """Directions in which the rows of the nodes vary most."""
        directions = np.empty((len(nodes), self.means.shape[1]))
        widest_directions(self.spreads[nodes], directions)
        return directions

    def cut(self, nodes: Array, directions: Array, heights: Array) -> None:
        """Cut nodes across directions, at heights above their means.

        Where a plane has all rows on one side another is tried: through the mean, across the
        widest direction. Only nodes whose rows are all equal stay whole.
        """
        self._cut(nodes, directions, heights)
        left = nodes[self.parts[nodes] == UNCUT]
        if len(left):
            self._cut(left, self.widest(left), np.zeros(len(left)))
            self.parts[left[self.parts[left] == UNCUT]] = EQUAL

    def _cut(self, nodes: Array, directions: Array, heights: Array) -> None:
        m, d = directions.shape
        middles = np.empty(m, dtype=np.int64)
        weights = np.empty((m, 2))
        means = np.empty((m, 2, d))
        spreads = np.empty((m, 2, self.spreads.shape[1]))

        def work(some: slice) -> None:
            chosen = nodes[some]
            cut_cells(
                self._rows,
                self._row_weights,
                self._starts[chosen],
                self._stops[chosen],
                self.means[chosen],
                directions[some],
                heights[some],
                middles[some],
                weights[some],
                means[some],
                spreads[some],
            )

        _on_threads(work, self.sizes[nodes])
        starts, stops = self._starts[nodes], self._stops[nodes]
        good = middles < stops
        self.parts[nodes[good]] = len(self.parts) + 2 * np.arange(np.count_nonzero(good))
        ends = np.column_stack((starts, middles, stops))[good]
        self._starts = np.append(self._starts, ends[:, :2])
        self._stops = np.append(self._stops, ends[:, 1:])
        self.weights = np.append(self.weights, weights[good])
        self.parts = np.append(self.parts, np.full(2 * len(ends), UNCUT))
        self.means = np.concatenate((self.means, means[good].reshape(-1, d)))
        self.spreads = np.concatenate((self.spreads, spreads[good].reshape(-1, spreads.shape[2])))

    def replaced(self, leaves: Array, nodes: Array) -> Array:
        """Put the parts of some leaves in their places."""
        kept = np.setdiff1d(leaves, nodes, assume_unique=True)
        return np.concatenate((kept, self.parts[nodes], self.parts[nodes] + 1))

    def partition(self, n_cells: int) -> Array:
        """Cut level by level, until there are ``n_cells`` leaves or all rows of each are equal."""
        leaves = np.array([0])
        while len(leaves) < n_cells:
            whole = leaves[self.parts[leaves] == UNCUT]
            self.cut(whole, self.widest(whole), np.zeros(len(whole)))
            divided = leaves[self.parts[leaves] >= 0]
            if not len(divided):
                break
            leaves = self.replaced(leaves, divided)
        return leaves


def _on_threads(work: Any, sizes: Array) -> None:
    """Share out jobs so that every thread has about as many rows; each job is by itself."""
    workers = min(get_threads(), len(sizes))
    if workers <= 1:
        work(slice(0, len(sizes)))
        return
    shares = np.linspace(0, sizes.sum(), workers + 1)[1:-1]
    ends = [0, *np.searchsorted(np.cumsum(sizes), shares).tolist(), len(sizes)]
    with ThreadPoolExecutor(workers, "sidelight") as pool:
        list(pool.map(work, (slice(a, b) for a, b in pairwise(ends))))


@dataclass(frozen=True)
class CellGaussians(GaussianComponents):
    """Gaussian components that measure cells: rows are means and spreads side by side."""

    @classmethod
    def of(cls, components: GaussianComponents) -> Self:
        """Take the parameters of components that measure rows."""
        return cls(**{field.name: getattr(components, field.name) for field in fields(components)})

    def of_rows(self) -> GaussianComponents:
        """Return components with the same parameters that measure rows."""
        return GaussianComponents(
            **{field.name: getattr(self, field.name) for field in fields(self)}
        )

    def features(self, block: Any) -> Array:
        """Averages of the rows about the origin and of their products, or (mean, spread)."""
        cells = np.ascontiguousarray(block, dtype=np.float64)
        d = self.means.shape[1]
        if not self.is_local and self.kind in ("full", "tied"):
            features = np.empty_like(cells)
            cell_products(cells, self.origin, features)
            return features
        centered, spreads = cells[:, :d] - self.origin, cells[:, d:]
        if not self.is_local:
            spreads = spreads + centered**2
        if self.kind == "spherical":
            spreads = spreads.sum(axis=1, keepdims=True)
        return np.hstack((centered, spreads))

    def log_density(self, features: Array) -> Array:
        """``<log p(x | s)>`` of every cell and component."""
        if not self.is_local:
            return super().log_density(features)
        d = self.means.shape[1]
        at_means = super().log_density(features[:, :d])
        quadratic: Array = self.natural[0][d:]
        return at_means + features[:, d:] @ quadratic

    def statistics(self, features: Array, resp: Array) -> Statistics:
        """Sums over the cells as over their rows."""
        if not self.is_local:
            return super().statistics(features, resp)
        d = self.means.shape[1]
        means, spreads = features[:, :d], features[:, d:]
        totals, first, second = local.moments(
            means, resp, self.means - self.origin, self.kind, NEW_ARRAYS
        )
        within = np.asarray((spreads.T @ resp).T)
        return totals, first, second + (_symmetric(within, d) if second.ndim == 3 else within)
