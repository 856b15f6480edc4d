"""Clusters within the cells of known splits, coordinated by clusters of all rows.

The cost of row ``i`` in cluster ``c`` is ``d(t_i, μ_{c,z_i}) + λ d(t_i, ·)``, with the mean of the
rows of the cluster in the cell ``z_i`` and the mean that coordinates the cells. Rows are sorted by
cell once, so that a step is two products of the rows of every cell: with the means, and with the
memberships.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import xlogy

from sidelight._typing import Array, FloatArray, IntArray
from sidelight.cluster.alternative._annealing import Moves
from sidelight.cluster.alternative._bottleneck_common import CellBaseline, Common, adjusted_common
from sidelight.cluster.alternative._bottleneck_features import FLOOR, Items


class Sums(NamedTuple):
    """Sums over the rows of every cell, weighted by their masses and memberships.

    Attributes
    ----------
    features : ndarray of shape (n_cells, n_features, n_clusters)
        Sums of the features.
    masses : ndarray of shape (n_cells, n_clusters)
        ``Q(c, z)``.
    """

    features: FloatArray
    masses: FloatArray

    @property
    def cluster_masses(self) -> FloatArray:
        """``Q(c)``."""
        masses: FloatArray = self.masses.sum(axis=0)
        return masses

    def toward(self, other: Sums, step: float) -> Sums:
        """Sums of the memberships on the way to others."""
        return Sums(
            self.features + step * (other.features - self.features),
            self.masses + step * (other.masses - self.masses),
        )


class SortedRows:
    """Rows in the order of their cells.

    Attributes
    ----------
    order : ndarray of shape (n_samples,)
        Position of every sorted row among the rows given.
    cells : ndarray of shape (n_samples,)
        Cell of every sorted row.
    masses : ndarray of shape (n_samples,)
        ``p(x)`` of every sorted row.
    rows : ndarray or CSR matrix
        The sorted rows.
    """

    def __init__(self, items: Items, cells: IntArray) -> None:
        self.order = np.argsort(cells, kind="stable")
        self.cells = cells[self.order]
        self.masses = items.masses[self.order]
        sorted_already = bool(np.all(self.order == np.arange(items.n)))
        self.rows: Any = items.rows if sorted_already else items.rows[self.order]
        ends = np.cumsum(np.bincount(cells)).tolist()
        self._parts = [slice(low, high) for low, high in zip([0, *ends], ends, strict=False)]
        self._rows = [self.rows[part] for part in self._parts]
        self._columns = [rows.T for rows in self._rows]

    @functools.cached_property
    def entries(self) -> tuple[Array, Array, Array]:
        """Values, columns and starts of the rows, as of a CSR matrix."""
        rows = sparse.csr_matrix(self.rows)
        return rows.data, rows.indices, rows.indptr

    @property
    def n_cells(self) -> int:
        """Number of cells."""
        return len(self._parts)

    def times(self, tables: FloatArray) -> FloatArray:
        """Product of every row with the columns of the table of its cell."""
        result = np.empty((len(self.cells), tables.shape[2]))
        for part, rows, table in zip(self._parts, self._rows, tables, strict=True):
            result[part] = rows @ table
        return result

    def sums(self, memberships: FloatArray) -> Sums:
        """Sums of the rows of every cell."""
        weighted = self.masses[:, None] * memberships
        n_features, k = self.rows.shape[1], memberships.shape[1]
        features = np.empty((self.n_cells, n_features, k))
        masses = np.empty((self.n_cells, k))
        for z, (part, columns) in enumerate(zip(self._parts, self._columns, strict=True)):
            features[z] = columns @ weighted[part]
            masses[z] = weighted[part].sum(axis=0)
        return Sums(features, masses)


@dataclass(frozen=True)
class CellTables:
    """Parameters of the clusters with the energy of the memberships that they come from.

    Attributes
    ----------
    factors : ndarray of shape (n_cells, n_features, n_clusters)
        Factors of the features in the cost of a row of the cell.
    offsets : ndarray of shape (n_cells, n_clusters)
        Costs of the cell beside them.
    energy : float
        ``-(I(C;F|Z) + λ I)`` with the information of the coordinating term, and ``+ s I(C;Z)`` with
        a price on redundancy.
    """

    factors: FloatArray
    offsets: FloatArray
    energy: float


@dataclass(frozen=True)
class CellCosts:
    """Costs of new rows in the cells of a fit.

    Attributes
    ----------
    tables : CellTables
        Parameters of the fit.
    unseen : ndarray of bool, shape (n_cells, n_features, n_clusters)
        Features that no row of a cluster has in a cell.
    some : ndarray of bool, shape (n_cells, n_clusters)
        Whether a cluster has a row in a cell.
    """

    tables: CellTables
    unseen: Array
    some: Array

    def __call__(self, rows: Any, cells: IntArray) -> FloatArray:
        """Cost of every row in every cluster, up to a constant of the row."""
        products = times_of_cells(rows, cells, self.tables.factors)
        costs: FloatArray = self.tables.offsets[cells] - products
        return costs

    def least(self, rows: Any) -> tuple[FloatArray, IntArray]:
        """Least cost of every row in every cluster over all cells, and the cell of the least one.

        It is the cost at an unknown cell: the likeliest one for the row and the cluster.
        """
        n, k = rows.shape[0], self.some.shape[1]
        least, cells = np.full((n, k), np.inf), np.zeros((n, k), dtype=np.int64)
        for z, some in enumerate(self.some):
            costs = self.tables.offsets[z] - np.asarray(rows @ self.tables.factors[z])
            lower = some & (costs < least)
            least[lower], cells[lower] = costs[lower], z
        return least, cells[np.arange(n), least.argmin(axis=1)]

    def has_unseen(self, rows: Any, cells: IntArray, labels: IntArray) -> Array:
        """Whether a row has a feature that its cluster has not in the cell."""
        found = times_of_cells(rows, cells, self.unseen.astype(np.float64))
        return np.asarray(found[np.arange(len(labels)), labels] > 0)


def times_of_cells(rows: Any, cells: IntArray, tables: FloatArray) -> FloatArray:
    """Product of every row with the columns of the table of its cell."""
    products = np.empty((len(cells), tables.shape[2]))
    for z in np.unique(cells):
        here = np.flatnonzero(cells == z)
        products[here] = rows[here] @ tables[z]
    return products


class CellModel:
    """Costs of rows in clusters whose means differ from cell to cell.

    Parameters
    ----------
    items : Items
        Rows with their masses.
    cells : ndarray of int, shape (n_samples,)
        Cell of every row, numbered from 0 without gaps.
    coordination : float
        ``λ``.
    redundancy : float
        ``s``, price of the information of the clusters about the cells.
    adjusted : bool
        Whether the coordinating term is adjusted for the cells; of one cell that is the same.
    """

    def __init__(
        self,
        items: Items,
        cells: IntArray,
        *,
        coordination: float,
        redundancy: float = 0.0,
        adjusted: bool = False,
    ) -> None:
        self.family = items.family
        self.sorted = SortedRows(items, cells)
        self.coordination = coordination
        self.redundancy = redundancy
        whole = self.sorted.sums(np.ones((items.n, 1)))
        self.cell_masses = whole.masses[:, 0]
        self._cell_means = whole.features / whole.masses[:, None]
        self._mean = whole.features.sum(axis=0) / whole.masses.sum(axis=0)
        self._one_cell = float(self.cell_masses @ self.family.generator(self._cell_means)[:, 0])
        self._one_cluster = float(self.family.generator(self._mean)[0])
        self.adjusted = adjusted and len(self.cell_masses) > 1
        self.baseline = CellBaseline(np.ascontiguousarray(self._cell_means[:, :, 0]))

    @property
    def monotone(self) -> bool:
        """Whether steps never raise the free energy; a price on redundancy is not linear."""
        return self.redundancy == 0

    @property
    def moves_rows(self) -> Moves:
        """After which searches single rows are moved.

        That takes some ten steps for sparse rows. Adjusted for the cells it takes far more: all
        features of a cluster change with a row, not only those that it has.
        """
        if not sparse.issparse(self.sorted.rows):
            return "restarts"
        return "none" if self.adjusted else "best"

    @property
    def order(self) -> IntArray:
        """Position of every row of the model among the rows given."""
        return self.sorted.order

    @property
    def masses(self) -> FloatArray:
        """``p(x)`` of every row of the model."""
        return self.sorted.masses

    def sums(self, memberships: FloatArray) -> Sums:
        """Statistics of the memberships, linear in them."""
        return self.sorted.sums(memberships)

    def overall_means(self, sums: Sums) -> FloatArray:
        """Mean of every cluster over all cells; that of all rows where it is empty."""
        return _divided(sums.features.sum(axis=0), sums.cluster_masses, self._mean)

    def cell_means(self, sums: Sums) -> FloatArray:
        """Mean of every cluster in every cell; that of the cell where it has no row there."""
        return _divided(sums.features, sums.masses, self._cell_means)

    def fit(self, sums: Sums, before: CellTables | None = None) -> CellTables:
        """Best parameters for the statistics."""
        within = self.cell_means(sums)
        factors, offsets = self.family.natural(within), self.family.offset(within)
        energy = -self._conditional(sums, within)
        if self.coordination > 0:
            common = self.common(sums)
            factors += self.coordination * common.factors
            offsets = offsets + self.coordination * common.offsets
            energy -= self.coordination * common.information
        if self.redundancy > 0:
            excess = self._excess(sums)
            offsets = offsets + self.redundancy * np.log(excess)
            energy += self.redundancy * float(np.sum(xlogy(sums.masses, excess)))
        return CellTables(factors, offsets, energy)

    def common(self, sums: Sums) -> Common:
        """The coordinating term."""
        features = sums.features.sum(axis=0)
        if self.adjusted:
            return adjusted_common(self.family, features, sums.masses, self.baseline)
        overall = self.overall_means(sums)
        information = float(sums.cluster_masses @ self.family.generator(overall))
        return Common(
            self.family.natural(overall),
            self.family.offset(overall)[None],
            information - self._one_cluster,
        )

    def energy(self, sums: Sums) -> float:
        """``-(I(C;F|Z) + λ I) + s I(C;Z)``."""
        energy = -self._conditional(sums, self.cell_means(sums))
        if self.coordination > 0:
            energy -= self.coordination * self.common(sums).information
        if self.redundancy > 0:
            energy += self.redundancy * float(np.sum(xlogy(sums.masses, self._excess(sums))))
        return energy

    def costs(self, tables: CellTables) -> FloatArray:
        """Cost of every row in every cluster, up to a constant of the row."""
        costs = self.sorted.times(tables.factors)
        np.subtract(tables.offsets[self.sorted.cells], costs, out=costs)
        return costs

    def costs_of_new_rows(self, sums: Sums) -> CellCosts:
        """Costs of rows that were not in the fit, and of its own by their features and cell."""
        return CellCosts(self.fit(sums), sums.features == 0, sums.masses > 0)

    def mean_square_within_cells(self) -> float:
        """Mean squared distance of the rows to the means of their cells."""
        data, _, starts = self.sorted.entries
        squares = np.repeat(self.masses, np.diff(starts)) @ (data * data)
        return max(float(squares) - self._one_cell, 0.0)

    def informations(self, sums: Sums) -> tuple[float, float]:
        """``I(C;F|Z)`` and ``I(C;F)``, in the units of the features."""
        plain = float(sums.cluster_masses @ self.family.generator(self.overall_means(sums)))
        return self._conditional(sums, self.cell_means(sums)), plain - self._one_cluster

    def _excess(self, sums: Sums) -> FloatArray:
        """``Q(c, z) / (Q(c) p(z))``."""
        expected = self.cell_masses[:, None] * sums.cluster_masses
        some = sums.masses > 0
        return np.divide(sums.masses, expected, where=some, out=np.full_like(expected, FLOOR))

    def _conditional(self, sums: Sums, within: FloatArray) -> float:
        """``I(C;F|Z)``."""
        return float(np.sum(sums.masses * self.family.generator(within))) - self._one_cell


def _divided(features: FloatArray, masses: FloatArray, empty: FloatArray) -> FloatArray:
    """Means from sums; where there is no mass those of a larger group."""
    some = masses > 0
    means = features / np.where(some, masses, 1.0)[..., None, :]
    return means if some.all() else np.where(some[..., None, :], means, empty)
