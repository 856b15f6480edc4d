"""Constraints on rows, columns and both: components and conflicts of all elements.

Rows and columns are elements of one set, the columns counted on after the rows, so that a link
between a row and a column is a pair like any other.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np

from sidelight._kernels.cluster.coclustering.concepts import pack
from sidelight._typing import Array, IntArray
from sidelight._words import worded
from sidelight.constraints import Constraints, CrossLinks, Ordering
from sidelight.constraints.inner import RowIndex, align_to_ids, as_ids, own_ids
from sidelight.exceptions import SidelightError, UnknownIds

#: Ways to satisfy must-links and cannot-links: elements that belong together are merged and those
#: that must be apart are left out of bi-sets, or concepts with other elements are dropped.
Variant: TypeAlias = Literal["default", "published"]


@dataclass(frozen=True, eq=False)
class TableStatements:
    """All constraints on a table.

    Attributes
    ----------
    rows, columns : Constraints
        What is known about the elements of either side.
    cross_must_link, cross_cannot_link : ndarray of int64, shape (m, 2)
        Pairs of a row and a column.
    row_order, column_order : Ordering or None
        Orders of the sides.
    """

    rows: Constraints
    columns: Constraints
    cross_must_link: IntArray
    cross_cannot_link: IntArray
    row_order: Ordering | None = None
    column_order: Ordering | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.rows.n_samples

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return self.columns.n_samples

    @cached_property
    def everything(self) -> Constraints:
        """Must-links and cannot-links of all elements; a contradiction is raised with its chain."""
        must, cannot = [], []
        for known, offset in ((self.rows, 0), (self.columns, self.n_rows)):
            closure = known.closure()
            first = closure.first_row[closure.component]
            joined = np.flatnonzero(first != np.arange(known.n_samples))
            must.append(np.column_stack([first[joined], joined]) + offset)
            cannot.append(closure.first_row[closure.conflicts].reshape(-1, 2) + offset)
        across = np.array([0, self.n_rows])
        must.append(self.cross_must_link + across)
        cannot.append(self.cross_cannot_link + across)
        pairs = [np.concatenate(must), np.concatenate(cannot)]
        n_elements = self.n_rows + self.n_columns
        if not (len(self.cross_must_link) or len(self.cross_cannot_link)):
            return Constraints(*pairs, n_samples=n_elements)
        names = np.array([self.name(element) for element in range(n_elements)])
        return Constraints(*(names[ends] for ends in pairs), ids=names)

    @property
    def component(self) -> IntArray:
        """Must-link component of every element."""
        return self.everything.closure().component

    @property
    def conflicts(self) -> IntArray:
        """Pairs of components that must be apart."""
        return self.everything.closure().conflicts

    @cached_property
    def vertex(self) -> IntArray:
        """Vertex of the conflict graph of every element, -1 for none."""
        found = np.full(self.everything.closure().n_components, -1, np.int64)
        ends = np.unique(self.conflicts)
        found[ends] = np.arange(len(ends))
        return found[self.component]

    @cached_property
    def edges(self) -> Array:
        """Neighbors of every vertex of the conflict graph as bitsets."""
        ends = np.unique(self.conflicts)
        places = np.searchsorted(ends, self.conflicts)
        matrix = np.zeros((len(ends), len(ends)), dtype=bool)
        matrix[places[:, 0], places[:, 1]] = matrix[places[:, 1], places[:, 0]] = True
        return pack(matrix)

    def check_feasible(self, n_clusters: int) -> None:
        """Raise unless ``n_clusters`` clusters can satisfy all cannot-links."""
        for known in (self.rows, self.columns):
            known.check_feasible(n_clusters)
        if len(self.cross_cannot_link):
            self.everything.check_feasible(n_clusters)

    def name(self, element: int) -> str:
        """An element by the user's own name."""
        if element < self.n_rows:
            return _name("row", self.rows, element)
        return _name("column", self.columns, element - self.n_rows)


def _name(side: str, known: Constraints, place: int) -> str:
    return f"{side} {place}" if known.ids is None else f"{side} {known.id_of(place)!r}"


def gather(
    X: Any,
    rows: Constraints,
    n_columns: int,
    names: Array | None,
    *,
    columns: Constraints | None,
    cross: CrossLinks | None,
    row_order: Ordering | None,
    column_order: Ordering | None,
) -> TableStatements:
    """Check what is known about a table, and put it in the order of its rows and columns.

    Parameters
    ----------
    X : object
        The table as the user gave it.
    rows : Constraints
        What is known about the rows, in their order.
    n_columns : int
        Number of columns.
    names : ndarray of str or None
        Names of the columns, if the table has some.
    columns, cross, row_order, column_order
        As in ``CDKMeans.fit``.
    """
    about_columns = _about_columns(columns, n_columns, names)
    ids = rows.ids if rows.ids is not None else own_ids(X)
    must, cannot = _by_position(cross, rows.n_samples, ids, about_columns)
    return TableStatements(
        rows,
        about_columns,
        must,
        cannot,
        _aligned(row_order, rows.n_samples, own_ids(X), "row"),
        _aligned(column_order, n_columns, None if names is None else as_ids(names), "column"),
    )


def _about_columns(known: Constraints | None, n_columns: int, names: Array | None) -> Constraints:
    if known is None:
        return Constraints(n_samples=n_columns, ids=names)
    if not isinstance(known, Constraints):
        raise TypeError(
            "column_constraints must be a sidelight.Constraints object about the columns, not "
            f"{type(known).__name__}."
        )
    if known.n_samples != n_columns:
        raise SidelightError(
            f"The column constraints are about {known.n_samples} columns but X has {n_columns}; "
            "make them with the names of its columns as ids, or with their number as n_samples."
        )
    if known.ids is not None and names is not None:
        return align_to_ids(known, as_ids(names), "X.columns")
    return known


def _by_position(
    cross: CrossLinks | None, n_rows: int, ids: Array | None, columns: Constraints
) -> tuple[IntArray, IntArray]:
    """Links between a row and a column as positions."""
    if cross is None:
        return np.empty((0, 2), np.int64), np.empty((0, 2), np.int64)
    if not isinstance(cross, CrossLinks):
        raise TypeError(
            "cross_constraints must be a sidelight.constraints.CrossLinks object, not "
            f"{type(cross).__name__}; make one with CrossLinks(must_link=..., cannot_link=...) of "
            "pairs of a row and a column."
        )
    row_index = None if ids is None else RowIndex(ids)
    found = []
    for pairs in (cross.must_link, cross.cannot_link):
        places = np.empty((len(pairs), 2), np.int64)
        places[:, 0] = _places(pairs[:, 0], row_index, n_rows, "row")
        places[:, 1] = _places(pairs[:, 1], columns.row_index, columns.n_samples, "column")
        found.append(places)
    return found[0], found[1]


def _places(values: Array, index: RowIndex | None, n: int, side: str) -> IntArray:
    """Positions of elements that are given by name or, failing that, by position."""
    named = np.full(len(values), -1, np.int64) if index is None else index.positions(values)
    numbers = np.array(
        [
            value if isinstance(value, int) and not isinstance(value, bool) else -1
            for value in values
        ],
        dtype=np.int64,
    )
    # Names that are numbers are names: positions count only where no name is meant.
    places = np.where(named >= 0, named, numbers)
    wrong = np.flatnonzero((places < 0) | (places >= n))
    if len(wrong):
        value = values[wrong[0]]
        raise UnknownIds(
            f"A link between a row and a column names the {side} {value!r}, which the table does "
            f"not have; give a {'name' if index is not None else 'position'} of one of its {n} "
            f"{side}s.",
            ids=(value,),
        )
    return places


def _aligned(order: Ordering | None, n: int, names: Array | None, side: str) -> Ordering | None:
    """An order with the elements in the order of the table."""
    if order is None:
        return None
    name = f"{side}_order"
    if not isinstance(order, Ordering):
        raise TypeError(
            f"{name} must be a sidelight.constraints.Ordering object, not "
            f"{type(order).__name__}; make one with Ordering(scores, max_gap=...)."
        )
    if len(order) != n:
        raise SidelightError(
            f"{worded(name, 'The order')} has {len(order)} scores but the table has {n} {side}s; "
            f"give one score for each."
        )
    return order if names is None else order.in_order_of(names)
