"""The two sides of a table as the search sees them: elements that stand for rows or columns.

Rows that must be together are one element, which has a one where at least half of them have one,
or, if that is nowhere, where most of them have one; rows that are equal and about which nothing is
known are one element as well. The same goes for columns. A row and a column that must be together
have a one in common, whatever the table holds: without it no rectangle of ones has both.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sidelight._typing import Array, IntArray
from sidelight.cluster.coclustering._statements import TableStatements, Variant
from sidelight.constraints import Ordering


@dataclass(frozen=True, eq=False)
class SideElements:
    """Elements of one side.

    Attributes
    ----------
    element : ndarray of int64
        Element of every row (or column).
    indptr, members : ndarray of int64
        Rows (or columns) of every element.
    weight : ndarray of int64
        Number of rows of every element; empty where each has one.
    vertex : ndarray of int64
        Vertex of the conflict graph of every element, -1 for none.
    at : ndarray of int64
        Element at every place of the order; empty where the order has no bounds.
    gaps : ndarray of int64, shape (3,)
        Smallest and largest gap, and whether the order is circular.
    """

    element: IntArray
    indptr: IntArray
    members: IntArray
    weight: IntArray
    vertex: IntArray
    at: IntArray
    gaps: IntArray

    @property
    def n_original(self) -> int:
        """Number of rows (or columns) of the table."""
        return len(self.element)

    @property
    def n_elements(self) -> int:
        """Number of elements."""
        return len(self.indptr) - 1


@dataclass(frozen=True, eq=False)
class TwoSides:
    """A table of elements with its two sides.

    Attributes
    ----------
    table : ndarray of bool, shape (n_row_elements, n_column_elements)
        The ones.
    rows, columns : SideElements
        The sides.
    joined : ndarray of int64, shape (m, 2)
        Elements that go together or not at all, columns counted on after the rows.
    """

    table: Array
    rows: SideElements
    columns: SideElements
    joined: IntArray


def prepare(table: Array, known: TableStatements, variant: Variant) -> TwoSides:
    """Make the elements of both sides, with the emptiest first."""
    n, d = table.shape
    component = known.component
    named = np.unique(component, return_inverse=True)[1]
    many = np.bincount(named)[named] > 1
    constrained = many | (known.vertex >= 0)
    codes = component if variant == "default" else np.arange(n + d)
    row_of = np.unique(codes[:n], return_inverse=True)[1]
    column_of = np.unique(codes[n:], return_inverse=True)[1]
    merged = _contract(_contract(table, row_of).T, column_of).T
    if variant == "default":
        _fill_linked_cells(merged, row_of, column_of, component)
    for arrange in (_without_duplicates, _emptiest_first):
        place = arrange(merged, row_of, constrained[:n], known.row_order)
        merged, row_of = _contract(merged, place), place[row_of]
        place = arrange(merged.T, column_of, constrained[n:], known.column_order)
        merged, column_of = _contract(merged.T, place).T, place[column_of]
    joined = _still_joined(component, np.concatenate([row_of, row_of.max() + 1 + column_of]))
    return TwoSides(
        merged,
        _side(row_of, known.vertex[:n], known.row_order),
        _side(column_of, known.vertex[n:], known.column_order),
        joined,
    )


def _contract(table: Array, element: IntArray) -> Array:
    """Ones of every element: those of at least half of its rows, or else of most of them."""
    size = np.bincount(element)
    if len(size) == len(element):
        merged = np.empty_like(table)
        merged[element] = table
        return merged
    order = np.argsort(element, kind="stable")
    starts = np.concatenate([[0], np.cumsum(size)[:-1]])
    counts = np.add.reduceat(table[order], starts, axis=0, dtype=np.int64)
    merged = 2 * counts >= size[:, None]
    most = counts.max(axis=1, initial=0)
    divided = ~merged.any(axis=1) & (most > 0)
    merged[divided] = counts[divided] == most[divided, None]
    return merged


def _fill_linked_cells(
    merged: Array, row_of: IntArray, column_of: IntArray, component: IntArray
) -> None:
    """Set a one where an element of rows and one of columns must be together."""
    n = len(row_of)
    _, first_row, first_column = np.intersect1d(
        component[:n], component[n:], return_indices=True
    )  # of a component all rows are one element, and all columns
    merged[row_of[first_row], column_of[first_column]] = True


def _without_duplicates(
    merged: Array, element: IntArray, constrained: Array, order: Ordering | None
) -> IntArray:
    """Places of elements when those that are equal and unconstrained are joined.

    Bounds on gaps distinguish all elements.
    """
    if order is not None and order.has_bounds:
        return np.arange(len(merged))
    alone = np.zeros(len(merged), dtype=bool)
    alone[element[constrained]] = True
    packed = np.packbits(merged, axis=1)
    number = np.where(alone, 1 + np.arange(len(merged)), 0).astype(np.int64)
    keys = np.concatenate([packed, number[:, None].view(np.uint8).reshape(len(merged), 8)], axis=1)
    keys = np.ascontiguousarray(keys).view(f"V{keys.shape[1]}").ravel()
    return np.asarray(np.unique(keys, return_inverse=True)[1])


def _emptiest_first(merged: Array, *others: object) -> IntArray:
    """Places of elements with few ones first: intersections with them are small early on."""
    place = np.empty(len(merged), np.int64)
    place[np.argsort(merged.sum(axis=1), kind="stable")] = np.arange(len(merged))
    return place


def _still_joined(component: IntArray, element: IntArray) -> IntArray:
    """Pairs of elements of one component, each with the first of it."""
    parts = np.unique(np.column_stack([component, element]), axis=0)
    starts = np.flatnonzero(np.diff(parts[:, 0], prepend=-1))
    first = np.repeat(parts[starts, 1], np.diff(np.append(starts, len(parts))))
    return np.column_stack([first, parts[:, 1]])[first != parts[:, 1]]


def _side(element: IntArray, vertex: IntArray, order: Ordering | None) -> SideElements:
    count = np.bincount(element)
    members = np.argsort(element, kind="stable")
    indptr = np.concatenate([[0], np.cumsum(count)])
    bounds = order is not None and order.has_bounds
    at, gaps = np.empty(0, np.int64), np.zeros(3, np.int64)
    if order is not None and bounds:
        at = element[order.order]
        widest = len(order) if order.max_gap is None else order.max_gap
        gaps = np.array([order.min_gap or 0, widest, order.circular], dtype=np.int64)
    return SideElements(
        element,
        indptr,
        members,
        count if count.max(initial=1) > 1 else np.empty(0, np.int64),
        vertex[members[indptr[:-1]]],
        at,
        gaps,
    )
