"""Nominal columns: codes of their values, single or paired by mutual information.

Pairs follow Verbeek 2004, section 4.4: the two columns of largest mutual information are modeled
jointly, then the next two of those that are left, and so on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics import mutual_info_score

from sidelight._typing import Array
from sidelight.exceptions import SidelightError
from sidelight.mixture.families._categorical import CategoricalComponents
from sidelight.mixture.som._families import PairedCategoricalComponents
from sidelight.mixture.som._parts import FamilySettings, filled_by_means, picked


def codes_of(rows: Array, categories: Sequence[Array]) -> Array:
    """Number of the category of every value; -1 where it is missing or was never seen."""
    codes = np.empty(rows.shape, dtype=np.int64)
    for number, (values, known) in enumerate(zip(rows.T, categories, strict=True)):
        places = np.minimum(np.searchsorted(known, values), len(known) - 1)
        codes[:, number] = np.where(known[places] == values, places, -1)
    return codes


def pair_by_information(codes: Array) -> list[tuple[int, ...]]:
    """Columns in pairs, those of the largest mutual information first, then what is left alone.

    Rows that miss one of two columns do not count for their information.
    """
    n_columns = codes.shape[1]
    information = np.full((n_columns, n_columns), -np.inf)
    for i in range(n_columns):
        for j in range(i + 1, n_columns):
            known = (codes[:, i] >= 0) & (codes[:, j] >= 0)
            if known.any():
                information[i, j] = mutual_info_score(codes[known, i], codes[known, j])
    groups: list[tuple[int, ...]] = []
    while np.isfinite(information).any():
        pair = divmod(int(np.argmax(information)), n_columns)
        groups.append(pair)
        for column in pair:
            information[column] = information[:, column] = -np.inf
    paired = {column for group in groups for column in group}
    return groups + [(column,) for column in range(n_columns) if column not in paired]


@dataclass(frozen=True)
class Cells:
    """Where the values of groups of one or two columns are indicated.

    Attributes
    ----------
    groups : list of tuple of int
        Columns that are modeled jointly.
    sizes : ndarray of shape (n_columns,)
        Number of categories of every column.
    starts : ndarray of shape (n_groups,)
        First cell of every group.
    marginal_starts : ndarray of shape (n_columns,)
        First marginal of every column of a pair, after all cells; -1 of single columns.
    members : csr_array of shape (n_cells, n_marginals)
        1 where a cell has the value of a marginal.
    """

    groups: list[tuple[int, ...]]
    sizes: Array
    starts: Array
    marginal_starts: Array
    members: Any

    @property
    def n_cells(self) -> int:
        """Number of cells of all groups."""
        return int(self.members.shape[0])

    def indicators(self, codes: Array) -> sparse.csr_array:
        """CSR rows with a 1 in the cell of every group, or the marginal of the half of a pair."""
        places = []
        for start, group in zip(self.starts, self.groups, strict=True):
            first = codes[:, group[0]]
            if len(group) == 1:
                places.append(np.where(first >= 0, start + first, -1))
                continue
            second = codes[:, group[1]]
            both = start + first * self.sizes[group[1]] + second
            one = np.where(first >= 0, self.marginal_starts[group[0]] + first, -1)
            other = np.where(second >= 0, self.marginal_starts[group[1]] + second, -1)
            places.append(
                np.where((first >= 0) & (second >= 0), both, np.where(first >= 0, one, other))
            )
        columns = np.column_stack(places)
        known = columns >= 0
        indptr = np.append(0, np.cumsum(known.sum(axis=1)))
        shape = (len(codes), sum(self.members.shape))
        return sparse.csr_array((np.ones(int(indptr[-1])), columns[known], indptr), shape=shape)

    def marginal(self, probabilities: Array, column: int) -> Array:
        """Probabilities of the categories of a column from those of the cells, (k, size)."""
        (number,) = (i for i, group in enumerate(self.groups) if column in group)
        table = self.table(probabilities, number)
        group = self.groups[number]
        return table if len(group) == 1 else table.sum(axis=2 if column == group[0] else 1)

    def table(self, probabilities: Array, number: int) -> Array:
        """Probabilities of a group, of shape (k, size) or (k, size, size)."""
        group, start = self.groups[number], self.starts[number]
        shape = tuple(int(self.sizes[column]) for column in group)
        stop = start + int(np.prod(shape))
        return probabilities[:, start:stop].reshape(len(probabilities), *shape)


def make_cells(groups: list[tuple[int, ...]], sizes: Array) -> Cells:
    """Number the cells of the groups, then the marginals of their columns."""
    n_cells = [int(np.prod([sizes[column] for column in group])) for group in groups]
    starts = np.append(0, np.cumsum(n_cells)[:-1]).astype(np.int64)
    marginal_starts = np.full(len(sizes), -1, dtype=np.int64)
    rows, columns = [], []
    n_marginals = 0
    for start, group in zip(starts, groups, strict=True):
        if len(group) == 1:
            continue
        cells = np.arange(sizes[group[0]] * sizes[group[1]])
        for column, of_cell in zip(group, np.divmod(cells, sizes[group[1]]), strict=True):
            marginal_starts[column] = sum(n_cells) + n_marginals
            rows.append(start + cells)
            columns.append(n_marginals + of_cell)
            n_marginals += int(sizes[column])
    places = (np.concatenate(rows), np.concatenate(columns)) if rows else (np.empty(0, int),) * 2
    members = sparse.csr_array((np.ones(len(places[0])), places), shape=(sum(n_cells), n_marginals))
    return Cells(groups, sizes, starts, marginal_starts, members)


@dataclass(frozen=True)
class CategoricalPart:
    """Nominal columns: every distinct number is a category."""

    columns: Array
    settings: FamilySettings
    categories: list[Array]
    cells: Cells = field(repr=False)

    takes_missing = True

    def encode(self, rows: Any) -> sparse.csr_array:
        """Indicators of the categories."""
        return self.cells.indicators(codes_of(picked(rows, self.columns), self.categories))

    def coordinates(self, table: Any) -> Array:
        """Indicators of the cells, NaN where the value is missing."""
        indicators = table[:, : self.cells.n_cells].toarray()
        sizes = np.diff(np.append(self.cells.starts, self.cells.n_cells))
        known = np.add.reduceat(indicators, self.cells.starts, axis=1)
        return np.where(np.repeat(known, sizes, axis=1) > 0, indicators, np.nan)

    def points(self, components: Any) -> Array:
        """Probabilities of the cells."""
        return np.exp(components.log_probabilities)

    def numbers(self, table: Any) -> Array:
        """Indicators of the cells, their mean where the value is missing."""
        return filled_by_means(self.coordinates(table))

    def whole(self, table: Any, weights: Array, k: int) -> CategoricalComponents:
        """Equal probabilities for all categories; one M-step makes the nodes differ."""
        sizes = np.diff(np.append(self.cells.starts, self.cells.n_cells))
        uniform = np.tile(-np.log(np.repeat(sizes, sizes)), (k, 1))
        return PairedCategoricalComponents(
            uniform, self.cells.starts, self.settings.alpha, members=self.cells.members
        )

    def for_rows(self, components: Any, table: Any) -> Any:
        """The same: missing values count nothing."""
        return components

    def centers(self, components: Any) -> Array:
        """Most probable category of every column."""
        probabilities = np.exp(components.log_probabilities)
        return np.column_stack(
            [
                categories[np.argmax(self.cells.marginal(probabilities, column), axis=1)]
                for column, categories in enumerate(self.categories)
            ]
        )

    def probabilities(self, components: Any) -> list[Array]:
        """Probabilities of the categories of every column, of shape (k, size) each."""
        cells = np.exp(components.log_probabilities)
        return [self.cells.marginal(cells, column) for column in range(len(self.categories))]

    def expected(self, components: Any, table: Any, resp: Array) -> Array:
        """Most probable category of every column given what is known."""
        cells = np.exp(components.log_probabilities)
        expected = np.empty((len(resp), len(self.categories)))
        for number, group in enumerate(self.cells.groups):
            joint = self.cells.table(cells, number)
            for place, column in enumerate(group):
                shares = resp @ self.cells.marginal(cells, column)
                if len(group) == 2:
                    self._given_partner(table, resp, joint, group[1 - place], place, shares)
                expected[:, column] = self.categories[column][np.argmax(shares, axis=1)]
        return expected

    def _given_partner(
        self, table: Any, resp: Array, joint: Array, partner: int, place: int, shares: Array
    ) -> None:
        """Replace shares by those given the other value of the pair, where only that is known."""
        first = int(self.cells.marginal_starts[partner])
        values = table[:, first : first + int(self.cells.sizes[partner])].tocoo()
        if not values.nnz:
            return
        of_partner = joint if place == 1 else np.swapaxes(joint, 1, 2)
        conditional = of_partner / of_partner.sum(axis=2, keepdims=True)
        rows, codes = values.coords
        shares[rows] = np.einsum("nk,knc->nc", resp[rows], conditional[:, codes])


def categorical_part(
    rows: Array, columns: Array, settings: FamilySettings, names: Sequence[str] | None
) -> CategoricalPart:
    """Learn the categories, and pairs of columns if requested."""
    values = picked(rows, columns)
    categories = [np.unique(column[~np.isnan(column)]) for column in values.T]
    for column, known in zip(columns, categories, strict=True):
        if not len(known):
            name = "" if names is None else f" ({names[column]!r})"
            raise SidelightError(
                f"No row has a value in column {column}{name}, so nothing can be learned about "
                "it; drop it."
            )
    single: list[tuple[int, ...]] = [(column,) for column in range(len(columns))]
    groups = pair_by_information(codes_of(values, categories)) if settings.pairs else single
    sizes = np.array([len(known) for known in categories])
    return CategoricalPart(columns, settings, categories, make_cells(groups, sizes))
