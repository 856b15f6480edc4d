"""A map with the rows or distances it was made from, checked, without dropped rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.neighbors import NearestNeighbors

from sidelight._fit.tiles import tiles
from sidelight._typing import Array, FloatArray, IntArray
from sidelight._warn import warn
from sidelight._words import counted
from sidelight.exceptions import EmbeddingWarning, SidelightError

Metric: TypeAlias = Literal["euclidean", "precomputed"]

#: Distances that are held at once, in numbers of 8 bytes.
BLOCK_NUMBERS = 4_000_000

#: Distances may differ by this share of the largest between the two halves of a matrix.
ASYMMETRY = 1e-8


@dataclass(frozen=True)
class MapPoints:
    """Points by their coordinates, or by all distances between them.

    Attributes
    ----------
    values : ndarray of shape (n, n_features) or (n, n)
        Coordinates, or distances where ``precomputed``.
    precomputed : bool
        Whether ``values`` are distances.
    """

    values: FloatArray
    precomputed: bool = False

    def __len__(self) -> int:
        return len(self.values)

    def nearest(self, k: int) -> IntArray:
        """Return the ``k`` nearest others of every point, the nearest first."""
        metric = "precomputed" if self.precomputed else "euclidean"
        search = NearestNeighbors(n_neighbors=k, metric=metric).fit(self.values)
        return np.asarray(search.kneighbors(return_distance=False))

    def blocks(self) -> Iterator[tuple[slice, FloatArray]]:
        """Yield distances from blocks of points to all; those of points to themselves are 0."""
        n = len(self)
        norms = None if self.precomputed else np.einsum("ij,ij->i", self.values, self.values)
        for rows in tiles(n, max(1, BLOCK_NUMBERS // n)):
            yield rows, self._distances(rows, norms)

    def _distances(self, rows: slice, norms: FloatArray | None) -> FloatArray:
        if norms is None:
            return self.values[rows]
        distances = euclidean_distances(
            self.values[rows],
            self.values,
            X_norm_squared=norms[rows, None],
            Y_norm_squared=norms[None],
        )
        distances[np.arange(rows.stop - rows.start), np.arange(rows.start, rows.stop)] = 0.0
        return np.asarray(distances)


@dataclass(frozen=True)
class MapPair:
    """Rows of the data and their places on a map, for the rows that are on the map.

    Attributes
    ----------
    data, embedding : MapPoints
        The rows, or the distances between them, and their coordinates.
    rows : ndarray of int64
        Positions of the rows among all that were given.
    n_given : int
        Number of rows that were given.
    """

    data: MapPoints
    embedding: MapPoints
    rows: IntArray
    n_given: int


def map_pair(X: Any, Z: Any, metric: Metric = "euclidean", name: str = "X") -> MapPair:
    """Check rows, or distances, and coordinates; drop rows without coordinates, with a warning.

    Parameters
    ----------
    X : array of shape (n, n_features), or (n, n) where precomputed
        Rows, or distances between them.
    Z : array of shape (n, n_components)
        Coordinates; NaN for rows that were left out of the map.
    metric : {"euclidean", "precomputed"}
        Whether ``X`` holds rows or distances.
    name : str
        Name of ``X`` in messages.
    """
    if metric not in ("euclidean", "precomputed"):
        raise SidelightError(f"metric is 'euclidean' or 'precomputed', got {metric!r}.")
    if metric == "precomputed" and sparse.issparse(X):
        raise SidelightError(
            f"{name} is a sparse matrix, which does not hold the distances between all rows: those "
            "that are not stored are not 0. Give the rows, or a dense matrix of distances."
        )
    data = matrix(X, name)
    embedding = matrix(Z, "Z")
    check_lengths(data, embedding, name, "Z")
    if metric == "precomputed":
        _check_square(data, name)
    rows = _rows_on_the_map(embedding)
    if len(rows) < len(data):
        data = data[np.ix_(rows, rows)] if metric == "precomputed" else data[rows]
        embedding = embedding[rows]
    check_finite(data, name, rows)
    if metric == "precomputed":
        _check_distances(data, name, rows)
    return MapPair(
        MapPoints(np.ascontiguousarray(data), metric == "precomputed"),
        MapPoints(np.ascontiguousarray(embedding)),
        rows,
        len(Z),
    )


def matrix(values: Any, name: str) -> FloatArray:
    """Return numbers in two dimensions; one dimension is one column."""
    try:
        array = np.asarray(values.toarray() if sparse.issparse(values) else values, np.float64)
    except (TypeError, ValueError) as error:
        raise SidelightError(f"{name} holds values that are not numbers: {error}") from error
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2 or array.size == 0:
        raise SidelightError(f"{name} has shape {array.shape}; give one row per point.")
    return array


def check_lengths(first: Array, second: Array, first_name: str, second_name: str) -> None:
    """Raise where two tables are not about the same rows."""
    if len(first) != len(second):
        raise SidelightError(
            f"{first_name} has {counted(len(first), 'row')} but {second_name} has "
            f"{counted(len(second), 'row')}; give the same rows in the same order."
        )


def check_finite(values: Array, name: str, rows: IntArray | None = None) -> None:
    """Raise where values are missing or infinite, and name the first."""
    for part in _parts(values):
        bad = ~np.isfinite(values[part])
        if not bad.any():
            continue
        place, column = np.argwhere(bad)[0] + [part.start, 0]
        row = place if rows is None else rows[place]
        raise SidelightError(
            f"{name} holds {values[place, column]} in row {row}, column {column}; a measure of a "
            "map needs finite numbers. Geodesics are infinite between parts of a disconnected "
            "graph: measure each part alone."
        )


def _parts(values: Array) -> list[slice]:
    """Blocks of the rows of a large table, so that what is computed of them stays small."""
    return list(tiles(len(values), max(1, BLOCK_NUMBERS // values.shape[1])))


def check_neighbors(k: int, n: int, most: int) -> None:
    """Raise where a neighborhood is empty, or too large for the number of rows."""
    if isinstance(k, bool | np.bool_) or not isinstance(k, int | np.integer) or k < 1:
        raise SidelightError(f"k must be a whole number of at least 1, got {k!r}.")
    if k > most:
        raise SidelightError(
            f"k={k} neighbors are too many for {counted(n, 'row')} on the map; at most {most} are "
            "possible here."
        )


def _rows_on_the_map(embedding: FloatArray) -> IntArray:
    """Positions of rows with coordinates; warns how many have none."""
    missing = np.isnan(embedding).any(axis=1)
    if np.isinf(embedding).any():
        row = int(np.argwhere(np.isinf(embedding))[0, 0])
        raise SidelightError(f"Z places row {row} at infinity; NaN says that a row has no place.")
    n_missing = int(missing.sum())
    if n_missing == len(embedding):
        raise SidelightError("Z has no row with coordinates; there is nothing to measure.")
    if n_missing:
        warn(
            f"{counted(n_missing, 'row')} of {len(embedding):,} without coordinates left out "
            f"(the first is row {int(np.flatnonzero(missing)[0])}): the measure is about the rest.",
            EmbeddingWarning,
        )
    return np.flatnonzero(~missing)


def _check_square(distances: FloatArray, name: str) -> None:
    if distances.shape[0] != distances.shape[1]:
        raise SidelightError(
            f"{name} has shape {distances.shape}; distances are a square matrix, one row and one "
            "column per point."
        )


def _check_distances(distances: FloatArray, name: str, rows: IntArray) -> None:
    largest = float(distances.max())
    off = np.flatnonzero(np.diagonal(distances))
    if len(off):
        raise SidelightError(
            f"{name} has a distance from row {rows[off[0]]} to itself that is not 0; give "
            "distances, not similarities."
        )
    for part in _parts(distances):
        block, across = distances[part], distances[:, part].T
        if block.min() < 0:
            first, second = rows[np.argwhere(block < 0)[0] + [part.start, 0]]
            raise SidelightError(
                f"{name} has a negative distance between rows {first} and {second}."
            )
        unlike = np.abs(block - across) > ASYMMETRY * largest
        if unlike.any():
            first, second = rows[np.argwhere(unlike)[0] + [part.start, 0]]
            raise SidelightError(
                f"{name} is not symmetric: the distance from row {first} to row {second} differs "
                "from that back. Take the mean of both, (D + D.T) / 2."
            )
