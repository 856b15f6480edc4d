"""k-means||: centers for very many rows in a few passes (Bahmani et al. 2012).

A round draws every row by itself, with probability

    min(1, m w_i d_i² / φ)        d_i² = min_c ‖x_i - c‖²,  φ = Σ_i w_i d_i²

over the candidates ``c`` so far: about ``m`` rows, twice as many as there are clusters. After five
rounds the candidates, each with the weight of the rows that are nearest to it, are clustered in
memory.

``φ`` is known at the end of a pass only. So a pass keeps the rows whose ``w_i d_i² / u_i`` is
largest, for random numbers ``u_i``: the drawn ones are those above ``φ / m``. The random numbers
depend on the position of the row alone: rows in memory, on disk and in any partitions give the
same centers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sidelight._fit.tiles import EqualWeights, tiles
from sidelight._kernels.cluster.lloyd import nearest
from sidelight._kernels.cluster.oversampling import join_labeled, race, uniforms
from sidelight._typing import Array, IntArray
from sidelight.cluster._core._distances import (
    CenterProducts,
    PointCosts,
    dense_rows,
    offset_sums,
    sparse_norms,
    without_noise,
)
from sidelight.cluster._core._seeding import kmeans_plusplus
from sidelight.engine import RowSource, Top, as_rows

#: Rounds, and rows that are drawn in each for every cluster.
ROUNDS = 5
ROWS_PER_CLUSTER = 2

#: The number of rows drawn in a round is above ``m + SPREAD √m + SOME`` about once in 10^15 rounds.
SPREAD, SOME = 8.0, 32

#: Clusterings of the candidates, each with at most so many iterations; the best one is kept.
TRIALS, ITERATIONS = 3, 30

Project = Callable[[Array, Array], Array]


def kmeans_parallel(
    source: RowSource,
    n_clusters: int,
    random_state: np.random.RandomState,
    *,
    given: Array | None = None,
    sample_weight: Array | None = None,
    project: Project | None = None,
) -> Array:
    """Choose centers by k-means||, in six passes over the rows, after those given.

    Parameters
    ----------
    source : RowSource
        The rows.
    n_clusters : int
        Number of centers, given ones included.
    random_state : numpy.random.RandomState
        Generator of random numbers.
    given : ndarray of shape (n_given, n_features), default=None
        Centers that are known already; they come first in the result, and stay.
    sample_weight : ndarray of shape (n_rows,), default=None
        Weights of the rows.
    project : callable, default=None
        Brings means to where centers may be, see :func:`sidelight.cluster._core._lloyd.lloyd`.

    Returns
    -------
    centers : ndarray of shape (n_clusters, n_features)
        Centers in the element type of the rows: means of candidates.
    """
    fixed = np.empty((0, source.n_features), dtype=source.dtype)
    if given is not None:
        fixed = np.asarray(given[:n_clusters], dtype=source.dtype)
    if len(fixed) == n_clusters:
        return fixed.copy()
    candidates, masses = _draw_candidates(source, n_clusters, random_state, fixed, sample_weight)
    best, least, points = candidates[:n_clusters], np.inf, as_rows(candidates)
    for _ in range(TRIALS):
        centers = kmeans_plusplus(
            points, n_clusters, random_state, given=fixed, sample_weight=masses
        )
        centers, cost = _improve(candidates, masses, centers, len(fixed), project)
        if cost < least:
            best, least = centers, cost
    return best


def _draw_candidates(
    source: RowSource,
    n_clusters: int,
    random_state: np.random.RandomState,
    given: Array,
    sample_weight: Array | None,
) -> tuple[Array, Array]:
    """Return candidates, the given ones first, and the weight of the rows nearest to each."""
    keys = random_state.randint(np.iinfo(np.int64).max, size=n_clusters + ROUNDS + 1)
    candidates = given
    if len(given) == 0:
        candidates = dense_rows(source, [_one_row(source.n_rows, sample_weight, random_state)])
    mean_drawn = ROWS_PER_CLUSTER * (n_clusters - len(given))
    rows = CandidateRounds(source, sample_weight, mean_drawn)
    for number, key in enumerate(keys):
        drawn = rows.join(candidates, key)
        # A round draws a row at least, so that there are enough candidates in the end.
        enough = number >= ROUNDS and len(candidates) >= n_clusters
        if enough or len(drawn) == 0:
            break
        candidates = np.concatenate([candidates, dense_rows(source, drawn)])
    return candidates, rows.masses


def _one_row(n_rows: int, weights: Array | None, random_state: np.random.RandomState) -> int:
    """Draw a row by weight."""
    goal = random_state.uniform()
    if weights is None:
        return int(goal * n_rows)
    cumulative = np.cumsum(weights, dtype=np.float64)
    return int(np.searchsorted(cumulative, goal * cumulative[-1], side="right"))


class CandidateRounds:
    """Rows with their nearest candidates, which stay where the rows are.

    Parameters
    ----------
    source : RowSource
        The rows.
    sample_weight : ndarray of shape (n_rows,) or None
        Their weights.
    mean_drawn : int
        Number of rows that a round draws, on average.

    Attributes
    ----------
    masses : ndarray of shape (n_candidates,)
        Weight of the rows nearest to each candidate, after :meth:`join`.
    """

    def __init__(self, source: RowSource, sample_weight: Array | None, mean_drawn: int) -> None:
        self._source = source
        self._weights: Any = EqualWeights(source) if sample_weight is None else sample_weight
        self._mean_drawn = mean_drawn
        self._n_joined = 0
        n = source.n_rows
        self._closest: Any = np.broadcast_to(np.asarray(np.inf, dtype=source.dtype), n)
        self._nearest: Any = np.broadcast_to(np.int32(0), n)

    def join(self, candidates: Array, key: int) -> IntArray:
        """Measure the candidates that are new, and draw rows by their distances to all of them.

        Returns positions of rows, ascending; none where all rows are candidates.
        """
        kept = int(self._mean_drawn + SPREAD * np.sqrt(self._mean_drawn) + SOME)
        work = _Round(candidates, self._n_joined, int(key), kept, self._source.is_sparse)
        totals, (self._closest, self._nearest) = self._source.map_reduce(
            work,
            aligned=(range(self._source.n_rows), self._weights, self._closest, self._nearest),
        )
        total, self.masses, (ratios, rows) = totals
        self._n_joined = len(candidates)
        drawn = ratios > float(total[0]) / self._mean_drawn
        drawn[:1] |= ratios[:1] > 0
        return np.sort(rows[drawn]).astype(np.int64)


class _Round:
    """A pass that measures new candidates and keeps the rows that may be drawn.

    Distances to the candidates so far are aligned with it, and returned. Where they were lost, they
    are measured again: the function knows all candidates.
    """

    again_from = ()

    def __init__(
        self, candidates: Array, n_before: int, key: int, n_kept: int, is_sparse: bool
    ) -> None:
        self._candidates = candidates
        self._n_before = n_before
        self._key = np.uint64(key)
        self._n_kept = n_kept
        self._is_sparse = is_sparse

    def __call__(
        self, block: Any, positions: range, weights: Array, closest: Array, nearest: Array
    ) -> tuple[tuple[Any, ...], tuple[Array, Array]]:
        closest, nearest = closest.copy(), nearest.copy()
        self._join(block, self._n_before, closest, nearest)
        n = block.shape[0]
        drawn, ratios, masses = np.empty(n), np.empty(n), np.zeros(len(self._candidates))
        uniforms(positions.start, self._key, drawn)
        total = race(weights, closest, nearest, drawn, masses, ratios)
        best = np.arange(n)
        if n > self._n_kept:
            best = np.sort(np.argpartition(-ratios, self._n_kept)[: self._n_kept])
        top = Top(ratios[best], positions.start + best, self._n_kept)
        return (np.array([total]), masses, top), (closest, nearest)

    def rows_again(self, block: Any) -> tuple[Array, Array]:
        """Return the row values of a block."""
        n = block.shape[0]
        closest = np.full(n, np.inf, dtype=self._candidates.dtype)
        nearest = np.zeros(n, dtype=np.int32)
        self._join(block, 0, closest, nearest)
        return closest, nearest

    def _join(self, block: Any, first: int, closest: Array, labels: Array) -> None:
        """Look for closer candidates among those from ``first`` on."""
        new = self._candidates[first:]
        products = CenterProducts(new, is_sparse=self._is_sparse)
        scratch = products.scratch
        found = np.empty(products.tile_rows, dtype=np.int32)
        for tile in tiles(block.shape[0], products.tile_rows):
            rows = block[tile]
            best, label = scratch.best[: rows.shape[0]], found[: rows.shape[0]]
            nearest(products.of(rows, scratch), products.half_norms, best, label)
            if not self._is_sparse:
                # Equal rows are at distance 0, which products would miss.
                join_labeled(rows, new, label, first, closest[tile], labels[tile])
                continue
            norms = sparse_norms(rows)
            scale = norms + 2 * products.half_norms[label]
            squared = without_noise(norms + 2 * best, scale)
            closer = squared < closest[tile]
            closest[tile][closer] = squared[closer]
            labels[tile][closer] = first + label[closer]


def _improve(
    points: Array, masses: Array, centers: Array, n_fixed: int, project: Project | None
) -> tuple[Array, float]:
    """Run Lloyd's algorithm on weighted points; the first centers stay. Return the cost, too."""
    costs = PointCosts(points, masses)
    before, places = None, np.arange(len(points))
    for _ in range(ITERATIONS):
        labels = costs.at(centers)[1]
        if before is not None and np.array_equal(labels, before):
            break
        before = labels
        offsets, sizes, _ = offset_sums(points, masses, centers, labels)
        filled = np.flatnonzero(sizes > 0)
        filled = filled[filled >= n_fixed]
        moved = centers.astype(np.float64)
        moved[filled] += offsets[filled] / sizes[filled, None]
        if project is not None:
            moved[n_fixed:] = project(moved, centers.astype(np.float64))[n_fixed:]
        centers = moved.astype(points.dtype)
    found, labels = costs.at(centers)
    return centers, float(found[places, labels].sum(dtype=np.float64))
