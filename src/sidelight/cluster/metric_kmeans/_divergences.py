"""Divergences of rows from centers under weights of the features, and between rows of pairs.

Cosine, for rows and centers as directions::

    D(x, z) = φ(x, z) = 1 - x'Az / (‖x‖_A ‖z‖_A),   A = diag(a)

I-divergence (Kullback-Leibler for rows that are not normalized), for rows without negative values::

    D(x, z) = Σ_m a_m ( x_m log(x_m / z_m) - x_m + z_m )
    φ(x, z) = Σ_m a_m ( x_m log(2 x_m / (x_m + z_m)) + z_m log(2 z_m / (x_m + z_m)) )

All of them touch only the entries of CSR rows that are not zero, and all sums are in float64.
Divergences of dense rows that are nearly the same are small differences of large numbers, and none
of these are taken: ``1 - cos`` is half the squared distance of vectors of unit length, measured
from the middle of the centers; and for any point o, such as the mean of the rows,

    D(x, z) = D(x, o) + D(o, z) - Σ_m a_m (x_m - o_m) log(z_m / o_m)

in which everything is as small as the rows are near. CSR rows are not shifted, and keep what is
left of 16 digits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from sidelight._fit.views import NOWHERE, NameRows, UnitRows
from sidelight._kernels.cluster.divergence import i_divergences
from sidelight._typing import Array
from sidelight.cluster._core._distances import (
    dense_rows,
    map_tiles,
    squared_center_distances,
    without_noise,
)
from sidelight.cluster.directional._directions import onto_sphere
from sidelight.engine import Minimum, RowSource
from sidelight.exceptions import SidelightError

#: Centers of counts are not below this: a row may have a word that its cluster has not.
FLOOR = 1e-12


#: Divergences of rows from fixed centers.
Costs = Callable[[Any], Array]


class Divergence(Protocol):
    """How far a row is from a center."""

    def prepare(self, source: RowSource, name_rows: NameRows | None) -> RowSource:
        """Check the rows, and give them as the divergence reads them."""

    def costs_at(self, centers: Array, weights: Array) -> Costs:
        """Return what gives ``D`` of rows and these centers, shape (m, k).

        What follows from centers and weights alone is computed here, once for all rows.
        """

    def shares(self, rows: Any, weights: Array) -> Array:
        """Return what each row counts in the sum that gives its center."""

    def offsets(self, rows: Any) -> Any:
        """Return what is added up of rows: the rows, relative to a point of the divergence."""

    def center(self, sums: Array, sizes: Array, weights: Array, before: Array) -> Array:
        """Return the best centers for these sums of offsets; an empty one stays where it was."""


class Cosine:
    """One minus the cosine."""

    def prepare(self, source: RowSource, name_rows: NameRows | None) -> RowSource:
        """Divide the rows by their lengths, which do not matter; a row of zeros is an error."""
        return UnitRows(source, name_rows)

    def costs_at(self, centers: Array, weights: Array) -> Costs:
        """Return what gives ``1 - cos_A`` of rows and these centers."""
        roots = np.sqrt(weights)
        units = roots * centers / np.sqrt(weighted_squares(centers, weights))[:, None]
        columns = (roots * units).T

        def costs(rows: Any) -> Array:
            shares = self.shares(rows, weights)
            if not sparse.issparse(rows):
                return squared_center_distances(rows * (shares[:, None] * roots), units) / 2
            cosines = np.asarray(rows @ columns) * shares[:, None]
            return np.maximum(1 - cosines, 0)

        return costs

    def shares(self, rows: Any, weights: Array) -> Array:
        """Return ``1 / ‖x‖_A``."""
        return 1 / np.sqrt(weighted_squares(rows, weights))

    def offsets(self, rows: Any) -> Any:
        """Return what is added up of rows."""
        return rows

    def center(self, sums: Array, sizes: Array, weights: Array, before: Array) -> Array:
        """Return the directions of the sums of ``x / ‖x‖_A``, the minimizer of the divergences."""
        means = sums / np.maximum(sizes, 1)[:, None]
        return onto_sphere(means, before)


class KullbackLeibler:
    """The I-divergence of counts or frequencies.

    Parameters
    ----------
    origin : ndarray of shape (d,), default=None
        Point among dense rows that sums and products are taken relative to; 0 for CSR rows.
    """

    def __init__(self, origin: Array | None = None) -> None:
        self.origin = origin

    def prepare(self, source: RowSource, name_rows: NameRows | None) -> RowSource:
        """Check that no value is negative."""

        positions = range(source.n_rows)
        (total, n_bad, first), _ = source.map_reduce(_negative_rows, aligned=(positions,))
        if n_bad > 0:
            low = dense_rows(source, first).min()
            name = f"row {first[0]}" if name_rows is None else name_rows(first)[0]
            more = f" (and {n_bad - 1} more rows have some)" if n_bad > 1 else ""
            raise SidelightError(
                f"{name[0].upper()}{name[1:]} has the negative value {low:g}{more}, and "
                "divergence='kl' is for counts and frequencies: shift or drop such features, or "
                "use divergence='euclidean'."
            )
        if not source.is_sparse:
            self.origin = np.maximum(total / source.n_rows, FLOOR)
        return source

    def costs_at(self, centers: Array, weights: Array) -> Costs:
        """Return what gives the I-divergences of rows and these centers."""
        floored = np.maximum(centers.astype(np.float64), FLOOR)
        middle = floored.mean(axis=0)
        sums, logs = floored @ weights, (weights * np.log(floored)).T
        away = entry_divergences(np.broadcast_to(middle, floored.shape), floored) @ weights
        ratios = (weights * log_ratio(floored, middle)).T

        def costs(rows: Any) -> Array:
            if sparse.issparse(rows):
                own = np.asarray(entropies(rows) @ weights).ravel()
                return np.maximum(own[:, None] - np.asarray(rows @ logs) + sums, 0)
            own = entry_divergences(rows, middle[None]) @ weights
            scale = own[:, None] + away
            return without_noise(scale - (rows - middle) @ ratios, scale)

        return costs

    def offsets(self, rows: Any) -> Any:
        """Return what is added up of rows."""
        return rows if self.origin is None else rows - self.origin

    def shares(self, rows: Any, weights: Array) -> Array:
        """Every row counts once."""
        return np.ones(rows.shape[0])

    def center(self, sums: Array, sizes: Array, weights: Array, before: Array) -> Array:
        """Return the means, which minimize the divergences for any weights, above the floor."""
        filled = sizes > 0
        means = before.astype(np.float64)
        means[filled] = sums[filled] / sizes[filled, None]
        if self.origin is not None:
            means[filled] += self.origin
        return np.maximum(means, FLOOR)


def _negative_rows(block: Any, positions: range) -> tuple[tuple[Array, int, Minimum], tuple[()]]:
    """Sum of the rows; number of rows with negative values, and the position of the first."""
    low = block.min(axis=1)
    low = low.toarray() if sparse.issparse(low) else low
    bad = np.flatnonzero(np.asarray(low).ravel() < 0)
    first = positions.start + bad[0] if len(bad) else NOWHERE
    total = np.asarray(block.sum(axis=0, dtype=np.float64)).ravel()
    return (total, len(bad), Minimum([first])), ()


def weighted_squares(rows: Any, weights: Array) -> Array:
    """Return ``‖x‖²_A`` of dense or CSR rows in float64."""
    squares = rows.multiply(rows) if sparse.issparse(rows) else rows * rows
    return np.asarray(squares @ weights, dtype=np.float64).ravel()


def entropies(rows: Any) -> Any:
    """Return ``x log x - x`` of all entries, 0 where x is 0; CSR for CSR."""
    if sparse.issparse(rows):
        return sparse.csr_array(
            (_x_log_x(rows.data) - rows.data, rows.indices, rows.indptr), shape=rows.shape
        )
    return _x_log_x(rows) - rows


def mean_divergences(first: Any, second: Any) -> Any:
    """Return ``x log(2x / (x + z)) + z log(2z / (x + z))`` of all entries; CSR for CSR."""
    both = first + second
    if sparse.issparse(both):
        terms = [_mapped(first, _x_log_x), _mapped(second, _x_log_x), _mapped(both, _half_log)]
        return sparse.csr_array(terms[0] + terms[1] - terms[2])
    # Both diverge from their mean: Σ D(x, (x + z)/2) + D(z, (x + z)/2), in which nothing cancels.
    means = np.atleast_2d(both) / 2
    parts = [entry_divergences(np.atleast_2d(rows), means) for rows in (first, second)]
    return (parts[0] + parts[1]).reshape(first.shape)


def entry_divergences(rows: Array, points: Array) -> Array:
    """Return ``x log(x/z) - x + z`` of all entries of dense rows and points, or one point."""
    terms = np.empty(rows.shape)
    i_divergences(np.ascontiguousarray(rows), np.ascontiguousarray(points), terms)
    return terms


def log_ratio(points: Array, origin: Array) -> Array:
    """Return ``log(z / o)`` with all digits where z and o are near each other."""
    away = (points - origin) / origin
    near = np.abs(away) < 0.5
    return np.where(near, np.log1p(np.where(near, away, 0)), np.log(points / origin))


def _mapped(rows: Any, function: Any) -> Any:
    rows = sparse.csr_array(rows)
    return sparse.csr_array((function(rows.data), rows.indices, rows.indptr), shape=rows.shape)


def _x_log_x(x: Array) -> Array:
    return x * np.log(np.where(x > 0, x, 1))


def _half_log(x: Array) -> Array:
    """Return ``x log(x / 2)``."""
    return x * np.log(np.where(x > 0, x, 2) / 2)


@dataclass(frozen=True)
class DivergenceDistances:
    """Divergences of new rows from fitted centers.

    Attributes
    ----------
    divergence : Divergence
        The divergence.
    centers : ndarray of shape (k, d)
        The centers.
    weights : ndarray of shape (d,)
        Weights of the features.
    """

    divergence: Divergence
    centers: Array
    weights: Array

    def labels(self, source: RowSource) -> Array:
        """Return the center of the least divergence of every row (int32)."""
        costs = self._costs()
        return map_tiles(source, lambda rows: costs(rows).argmin(axis=1), dtype=np.int32)

    def all(self, source: RowSource) -> Array:
        """Return the divergences of all rows from all centers in the type of the rows."""
        costs = self._costs()
        return map_tiles(source, lambda rows: np.maximum(costs(rows), 0), dtype=source.dtype)

    def costs(self, source: RowSource) -> Array:
        """Return the least divergence of every row (float64)."""
        costs = self._costs()
        return map_tiles(source, lambda rows: costs(rows).min(axis=1))

    def labeled(self, source: RowSource, labels: Array) -> Array:
        """Return the divergence of every row from the center of its label (float64)."""
        costs = self._costs()
        return map_tiles(
            source, lambda rows, labels: costs(rows)[np.arange(len(labels)), labels], labels
        )

    def _costs(self) -> Costs:
        costs = self.divergence.costs_at(self.centers, self.weights)
        return lambda rows: costs(rows.astype(np.float64, copy=False))
