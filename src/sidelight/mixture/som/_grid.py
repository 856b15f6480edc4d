"""Grids of nodes, neighborhoods on them, and where nodes start (Verbeek 2004, section 4.1).

Node ``s`` has a fixed place ``g_s``. The normalized neighborhood of node ``r`` is a distribution
over all nodes,

    h_r(s) = exp(-λ |g_r - g_s|²) / Σ_t exp(-λ |g_r - g_t|²),

nearly uniform for a small rate ``λ`` and all at ``r`` for a large one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
from scipy import linalg, sparse
from scipy.optimize import brentq
from scipy.spatial.distance import cdist
from scipy.special import xlogy
from sklearn.metrics import pairwise_distances_argmin
from sklearn.utils.extmath import randomized_svd

from sidelight._fit.moments import moments
from sidelight._typing import Array
from sidelight._words import setting
from sidelight.engine import RowSource, as_rows
from sidelight.exceptions import SidelightError

Topology: TypeAlias = Literal["rectangular", "hexagonal"]

MAX_AXES = 3

#: The first neighborhood: ``λ`` times the largest squared distance between nodes. Nearly uniform
#: ones lose the layout of the start, after which grids of two axes may fold.
FIRST_RATE = 3.0


@dataclass(frozen=True)
class GridNeighborhood:
    """Normalized neighborhoods of all nodes.

    Attributes
    ----------
    rate : float
        ``λ``.
    shares : ndarray of shape (k, k)
        ``h_r(s)``: row ``r`` is the neighborhood of node ``r``.
    entropy : ndarray of shape (k,)
        Entropy of every row, in nats.
    """

    rate: float
    shares: Array
    entropy: Array


@dataclass(frozen=True)
class Grid:
    """Nodes on a line, in the plane or in space, whose ends may be joined.

    Attributes
    ----------
    shape : tuple of int
        Number of nodes along each axis.
    topology : {"rectangular", "hexagonal"}
        Hexagonal grids have two axes, and every other row is shifted by half a node.
    periodic : bool
        Whether the ends of every axis are joined: a ring, a torus.
    """

    shape: tuple[int, ...]
    topology: Topology = "rectangular"
    periodic: bool = False

    @property
    def n_nodes(self) -> int:
        """Number of nodes ``k``."""
        return math.prod(self.shape)

    @cached_property
    def lattice(self) -> Array:
        """Places of the nodes at distance 1 from their neighbors, the last axis fastest."""
        axes = np.meshgrid(*(np.arange(n, dtype=np.float64) for n in self.shape), indexing="ij")
        places = np.column_stack([axis.ravel() for axis in axes])
        if self.topology == "hexagonal":
            row, column = places.T
            places = np.column_stack([row * math.sqrt(0.75), column + 0.5 * (row % 2)])
        return places

    @cached_property
    def periods(self) -> Array:
        """Length of every axis after which a periodic grid begins again."""
        periods = np.array(self.shape, dtype=np.float64)
        if self.topology == "hexagonal":
            periods[0] *= math.sqrt(0.75)
        return periods

    @cached_property
    def scale(self) -> float:
        """Root of the mean variance of the axes that have several nodes."""
        variances = self.lattice.var(axis=0)
        several = variances > 0
        return float(np.sqrt(variances[several].mean())) if several.any() else 1.0

    @cached_property
    def positions(self) -> Array:
        """Places ``g`` of the nodes, of shape (k, d): mean 0, mean variance of the axes 1."""
        return (self.lattice - self.lattice.mean(axis=0)) / self.scale

    @cached_property
    def standard_positions(self) -> Array:
        """Places of the nodes with mean 0 and variance 1 along every axis."""
        spread = self.lattice.std(axis=0)
        return (self.lattice - self.lattice.mean(axis=0)) / np.where(spread > 0, spread, 1.0)

    @cached_property
    def squared_distances(self) -> Array:
        """``|g_r - g_s|²``, around the ends of a periodic grid where that is shorter."""
        return self.squared_distances_to(self.positions)

    def squared_distances_to(self, points: Array) -> Array:
        """Squared distances of points of the map to all nodes, of shape (n, k)."""
        periods = self.periods / self.scale if self.periodic else None
        return squared_distances(points, self.positions, periods)

    @cached_property
    def are_adjacent(self) -> Array:
        """Whether nodes are neighbors: the 8 around a node, or the 6 of hexagonal grids."""
        within = 1.01 if self.topology == "hexagonal" else 1.01 * len(self.shape)
        return self.squared_distances * self.scale**2 <= within

    @property
    def edges(self) -> Array:
        """Pairs of nodes at distance 1 on the lattice, also around the ends, of shape (m, 2)."""
        next_to = np.abs(self.squared_distances * self.scale**2 - 1.0) < 1e-6
        return np.argwhere(np.triu(next_to, 1))

    @property
    def first_rate(self) -> float:
        """Rate of the first, wide neighborhood."""
        largest = float(self.squared_distances.max())
        return FIRST_RATE / largest if largest > 0 else 0.0

    def neighborhood(self, rate: float) -> GridNeighborhood:
        """Normalized neighborhoods at a rate, which may be infinite."""
        if math.isinf(rate):
            return GridNeighborhood(rate, np.eye(self.n_nodes), np.zeros(self.n_nodes))
        shares = np.exp(-rate * self.squared_distances)
        shares /= shares.sum(axis=1, keepdims=True)
        return GridNeighborhood(rate, shares, -xlogy(shares, shares).sum(axis=1))

    def rate_of_mass(self, mass: float) -> float:
        """Rate at which the median node has this share of its own neighborhood."""
        if mass >= 1:
            return math.inf
        if self.n_nodes == 1 or self._winner_mass(0.0) >= mass:
            return 0.0
        distances = self.squared_distances[self.squared_distances > 0]
        logarithm = brentq(
            lambda value: self._winner_mass(math.exp(value)) - mass,
            math.log(1e-9 / float(distances.max())),
            math.log(700.0 / float(distances.min())),
            xtol=1e-12,
        )
        return math.exp(logarithm)

    def _winner_mass(self, rate: float) -> float:
        return float(np.median(1.0 / np.exp(-rate * self.squared_distances).sum(axis=1)))

    def rates(self, winner_mass: float, growth: float) -> list[float]:
        """Rates from the first, wide neighborhood to the last, growing by a factor.

        To hard winners (an infinite rate) the way leads over winners that hold 99.9 percent of
        their neighborhood.
        """
        last = self.rate_of_mass(winner_mass)
        finite = self.rate_of_mass(0.999) if math.isinf(last) else last
        rates = []
        rate = self.first_rate
        while 0 < rate < finite:
            rates.append(rate)
            rate *= growth
        return [*rates, finite, last] if math.isinf(last) else [*rates, last]

    def place(self, resp: Array) -> Array:
        """Mean place of the nodes under the rows of ``resp``; the circular one if periodic."""
        if not self.periodic:
            return np.asarray(resp @ self.positions)
        angles = 2 * np.pi * self.lattice / self.periods
        mean = np.angle(resp @ np.exp(1j * angles)) / (2 * np.pi) * self.periods
        # The seam is halfway between the last node and the first.
        mean = (mean + 0.5) % self.periods - 0.5
        return (mean - self.lattice.mean(axis=0)) / self.scale

    def nearest(self, points: Array) -> Array:
        """Node nearest to every point of the map."""
        return np.argmin(self.squared_distances_to(points), axis=1)


def squared_distances(points: Array, others: Array, periods: Array | None) -> Array:
    """Squared distances between two sets of points, along axes that may be periodic."""
    if periods is None:
        return cdist(points, others, "sqeuclidean")
    squares = np.zeros((len(points), len(others)))
    for axis, period in enumerate(periods):
        offsets = np.subtract.outer(points[:, axis], others[:, axis])
        squares += ((offsets + 0.5 * period) % period - 0.5 * period) ** 2
    return squares


def make_grid(shape: Sequence[int], topology: Topology, periodic: bool) -> Grid:
    """Make a grid; raise if there is none of this shape."""
    shape = tuple(int(n) for n in shape)
    if len(shape) > MAX_AXES:
        raise SidelightError(
            f"{setting('grid')} has {len(shape)} axes, but grids have at most {MAX_AXES}; give "
            "the numbers of nodes along one, two or three axes."
        )
    if topology == "hexagonal" and len(shape) != 2:
        raise SidelightError(
            f"Hexagonal grids have two axes, but {setting('grid', shape)} has {len(shape)}; give "
            "two numbers of nodes, or a rectangular grid."
        )
    if topology == "hexagonal" and periodic and shape[0] % 2:
        raise SidelightError(
            f"The {shape[0]} rows of a periodic hexagonal grid do not fit together: every other "
            "row is shifted by half a node; give an even number of rows."
        )
    return Grid(shape, topology, periodic)


StartName: TypeAlias = Literal["pca", "random"]

#: Up to this many columns the matrix of all pairs of columns is decomposed.
MAX_COLUMNS = 1000

#: Of wider rows at most this many say where the plane is, evenly spread: it is only a start.
MAX_WIDE_ROWS = 10_000


def principal_plane(numbers: Any, weights: Array | None, n_axes: int) -> tuple[Array, Array, Array]:
    """Mean of the rows, their first principal axes of shape (n_axes, D), and the variances.

    Axes beyond the rank are 0, with variance 0. The sign of an axis makes its largest entry
    positive. Rows may be a source; weights are 1 by default.
    """
    source = as_rows(numbers)
    n, d = source.shape
    n_found = min(n_axes, n, d)
    if d <= MAX_COLUMNS:
        found = moments(source, weights, full=True)
        mean = found.mean
        values, vectors = linalg.eigh(found.covariance)
        values, axes = values[::-1][:n_found], vectors.T[::-1][:n_found]
    else:
        mean = moments(source, weights).mean
        some = np.linspace(0, n - 1, min(n, MAX_WIDE_ROWS)).astype(np.int64)
        numbers, weights = source.take(some), np.ones(n) if weights is None else weights
        scaled = np.sqrt(weights[some] / float(weights[some].sum()))
        # The mean of wide sparse rows stays in: without it they would not be sparse.
        rows = numbers if sparse.issparse(numbers) else numbers - mean
        rows = (
            sparse.diags_array(scaled) @ rows if sparse.issparse(rows) else rows * scaled[:, None]
        )
        _, singular, axes = randomized_svd(rows, n_found, n_iter=7, random_state=0)
        values = singular**2
    largest = np.take_along_axis(axes, np.argmax(np.abs(axes), axis=1)[:, None], axis=1)
    axes = axes * np.where(largest < 0, -1.0, 1.0)
    values = np.where(values > 1e-12 * max(float(values.max(initial=0.0)), 1e-300), values, 0.0)
    plane, variances = np.zeros((n_axes, d)), np.zeros(n_axes)
    plane[:n_found], variances[:n_found] = axes, values
    plane[variances == 0] = 0.0
    return mean, plane, variances


def means_on_plane(numbers: Any, weights: Array | None, grid: Grid) -> tuple[Array, Array]:
    """Nodes spread over the principal plane by its standard deviations, and the largest variances.

    One more variance than the grid has axes is found: the largest that the plane leaves out.
    """
    n_axes = len(grid.shape)
    mean, plane, variances = principal_plane(numbers, weights, n_axes + 1)
    spread = np.sqrt(variances[:n_axes])[:, None] * plane[:n_axes]
    return mean + grid.standard_positions @ spread, variances


def start_means(
    source: RowSource, grid: Grid, init: StartName, rng: np.random.RandomState
) -> Array:
    """Means of the nodes to start from."""
    if init == "pca":
        return means_on_plane(source, None, grid)[0]
    chosen = _random_rows(source.n_rows, grid.n_nodes, rng)
    return np.array(source.take(chosen), dtype=np.float64)


def start_winners(
    numbers: Any, weights: Array, grid: Grid, init: StartName, rng: np.random.RandomState
) -> Array:
    """Winning node of every row to start from, whatever the family of the components."""
    if init == "random":
        chosen = _random_rows(numbers.shape[0], grid.n_nodes, rng)
        return pairwise_distances_argmin(numbers, numbers[chosen]).astype(np.int32)
    mean, plane, variances = principal_plane(numbers, weights, len(grid.shape))
    spread = np.sqrt(np.where(variances > 0, variances, 1.0))
    scores = np.asarray(numbers @ plane.T - mean @ plane.T) / spread
    return pairwise_distances_argmin(scores, grid.standard_positions).astype(np.int32)


def most_frequent(winners: Array, weights: Array, episodes: Array) -> Array:
    """For every row the winner of most rows of its episode, by weight."""
    pairs, of_row = np.unique(np.column_stack([episodes, winners]), axis=0, return_inverse=True)
    mass = np.bincount(of_row.ravel(), weights)
    order = np.lexsort((-mass, pairs[:, 0]))  # the heaviest of every episode first
    owners, first = np.unique(pairs[order, 0], return_index=True)
    best = pairs[order[first], 1]
    return best[np.searchsorted(owners, episodes)].astype(np.int32)


def _random_rows(n: int, k: int, rng: np.random.RandomState) -> Array:
    return rng.choice(n, size=k, replace=n < k)
