"""Nearest nodes of rows, some of whose values may be missing, and sums by winner."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sidelight._fit.tiles import tiles
from sidelight._kernels.cluster.lloyd import CENTERS_AT_ONCE, nearest
from sidelight._typing import Array
from sidelight.engine import RowSource
from sidelight.mixture.som._families import add_by_winner

#: Rows whose distances to all nodes are held at a time.
TILE_ROWS = 500


class CenteredRows(NamedTuple):
    """Rows about a point, 0 where missing, and which values there are (None if all)."""

    rows: Array
    known: Array | None


def centered(block: Any, origin: Array) -> CenteredRows:
    """Rows centered at a point, in float64."""
    rows = np.asarray(block, np.float64) - origin
    missing = np.isnan(rows)
    if not missing.any():
        return CenteredRows(rows, None)
    return CenteredRows(np.where(missing, 0.0, rows), (~missing).astype(np.float64))


def half_squares(tile: CenteredRows, centers: Array) -> Array:
    """``½|x - c_s|²`` less ``½|x|²`` over the values that there are, of every row and center."""
    scores: Array = tile.rows @ (-centers.T)
    if tile.known is None:
        scores += 0.5 * np.einsum("kd,kd->k", centers, centers)
    else:
        scores += tile.known @ (0.5 * centers**2).T
    return scores


def squares_of(rows: Array) -> Array:
    """``|x|²`` of every row."""
    return np.asarray(np.einsum("nd,nd->n", rows, rows))


class NearestCenters:
    """Search for the nearest center of rows without missing values, in one product and one pass."""

    def __init__(self, centers: Array) -> None:
        k, d = centers.shape
        n_padded = -(-k // CENTERS_AT_ONCE) * CENTERS_AT_ONCE
        self._centers = np.zeros((n_padded, d))
        self._centers[:k] = centers
        self._half_norms = np.full(n_padded, np.inf)
        self._half_norms[:k] = 0.5 * squares_of(centers)

    def __call__(self, rows: Array) -> tuple[Array, Array]:
        """Nearest center of every row, and ``½|x - c|² - ½|x|²`` of it."""
        best, nearest_of = np.empty(len(rows)), np.empty(len(rows), dtype=np.int32)
        nearest(self._centers @ rows.T, self._half_norms, best, nearest_of)
        return nearest_of, best


class WinnerPass(NamedTuple):
    """Winners of all rows, the sum of their squared distances, and sums by winner.

    ``sums`` are about the origin; ``mass`` of shape (k, 1) counts rows, or of shape (k, d) values
    where some are missing. ``n_changed`` rows had other winners before.
    """

    winners: Array
    squares: float
    sums: Array
    mass: Array
    n_changed: int


def winners_of(
    source: RowSource,
    means: Array,
    origin: Array,
    *,
    missing: bool,
    before: Array | None = None,
) -> WinnerPass:
    """Find the nearest mean of every row, and add up the rows of every winner."""
    centers = np.asarray(means - origin, dtype=np.float64)
    aligned = (range(source.n_rows) if before is None else before,)
    work = _Winners(centers, origin, missing)
    (squares, sums, mass, n_changed), (winners,) = source.map_reduce(work, aligned=aligned)
    return WinnerPass(winners, float(squares), sums, mass, int(n_changed))


class _Winners:
    """Nearest centers of the rows of a block, and sums by them.

    The winners follow from the rows and the centers alone: where they are lost, they are found
    again without those before.
    """

    again_from: tuple[int, ...] = ()

    def __init__(self, centers: Array, origin: Array, missing: bool) -> None:
        self._search = NearestCenters(centers)
        self._centers = centers
        self._origin = origin
        self._missing = missing

    def __call__(self, block: Any, before: Any) -> tuple[tuple[Any, ...], tuple[Array]]:
        *sums, winners = self._found(block)
        n_changed = int(np.count_nonzero(winners != np.asarray(before)))
        return (*sums, n_changed), (winners,)

    def rows_again(self, block: Any) -> tuple[Array]:
        """Return the winners."""
        return (self._found(block)[-1],)

    def _found(self, block: Any) -> tuple[float, Array, Array, Array]:
        k, d = self._centers.shape
        winners = np.empty(block.shape[0], dtype=np.int32)
        squares, sums = 0.0, np.zeros((k, d))
        mass = np.zeros((k, d if self._missing else 1))
        for rows in tiles(block.shape[0], TILE_ROWS):
            tile = centered(block[rows], self._origin)
            if tile.known is None:
                own, best = self._search(tile.rows)
            else:
                scores = half_squares(tile, self._centers)
                own = np.argmin(scores, axis=1)
                best = scores[np.arange(len(own)), own]
            winners[rows] = own
            squares += float(np.maximum(2 * best + squares_of(tile.rows), 0.0).sum())
            ones = np.ones(len(own))
            sums += add_by_winner(tile.rows, own, ones, k)
            if self._missing and tile.known is not None:
                mass += add_by_winner(tile.known, own, ones, k)
            else:
                mass += np.bincount(own, minlength=k)[:, None]
        return squares, sums, mass, winners


def two_nearest(source: RowSource, means: Array, origin: Array) -> tuple[Array, Array, Array]:
    """The nearest and the second nearest mean of every row, and the distance to the nearest."""
    centers = means - origin

    def work(block: Any) -> tuple[tuple[()], tuple[Array, Array, Array]]:
        n = block.shape[0]
        best, second = np.zeros(n, dtype=np.int32), np.zeros(n, dtype=np.int32)
        distances = np.empty(n)
        for rows in tiles(n, TILE_ROWS):
            tile = centered(block[rows], origin)
            scores = half_squares(tile, centers)
            places = np.arange(len(scores))
            best[rows] = own = np.argmin(scores, axis=1)
            # By differences, which do not cancel.
            offsets = tile.rows - centers[own]
            if tile.known is not None:
                offsets *= tile.known
            distances[rows] = np.sqrt(squares_of(offsets))
            scores[places, own] = np.inf
            second[rows] = np.argmin(scores, axis=1)
        return (), (best, second, distances)

    return source.map_reduce(work)[1]  # type: ignore[return-value]
