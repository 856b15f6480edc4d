"""Links between rows of several views: from what users give to positions and merged objects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sidelight._kernels.constraints.unionfind import join_pairs, number_components
from sidelight._typing import Array, IntArray
from sidelight._words import counted
from sidelight.constraints.algebra import _canonical as canonical
from sidelight.constraints.algebra._canonical import RowIndex
from sidelight.constraints.algebra._plain import frozen, plain
from sidelight.exceptions import SidelightError


def as_views(sizes: Any, ids: Any) -> tuple[tuple[RowIndex | None, ...], tuple[int, ...]]:
    """Index of the ids, and number of rows, of each view."""
    if ids is None and sizes is None:
        raise SidelightError(
            "The number of rows of each view is needed: pass sizes=[len(X1), len(X2)], or ids= to "
            "use your own ids."
        )
    named = [None] * len(sizes) if ids is None else list(ids)
    counts = [None] * len(named) if sizes is None else list(sizes)
    if len(named) != len(counts):
        raise SidelightError(f"There are ids of {len(named)} views and sizes of {len(counts)}.")
    if len(named) < 2:
        raise SidelightError("Correspondences are about two views or more.")
    indices: list[RowIndex | None] = []
    found: list[int] = []
    for view, (own, count) in enumerate(zip(named, counts, strict=True)):
        try:
            index = None
            if own is not None:
                index = RowIndex(frozen(np.array(canonical.as_ids(own))))
                canonical.check_unique(index)
            indices.append(index)
            found.append(canonical.number_of_rows(count, index))
        except SidelightError as error:
            raise SidelightError(f"View {view}: {error}") from error
    return tuple(indices), tuple(found)


def link_positions(
    links: Any, indices: tuple[RowIndex | None, ...], sizes: tuple[int, ...]
) -> IntArray:
    """Links as an (m, 4) array of views and positions."""
    columns = _link_columns(links, len(sizes))
    if columns is None:
        return np.empty((0, 4), np.int64)
    ends = []
    for views, rows in (columns[:2], columns[2:]):
        which = check_view_numbers(views, len(sizes))
        position = np.empty(len(which), np.int64)
        for view in np.unique(which).tolist():
            own = which == view
            given = rows[own].reshape(-1, 1).repeat(2, axis=1)
            what = f"links, for view {view},"
            position[own] = canonical.as_positions(given, what, indices[view], sizes[view])[:, 0]
        ends += [which, position]
    return np.column_stack(ends)


def _link_columns(links: Any, n_views: int) -> list[Array] | None:
    """View and row of both ends of every link; None where there are no links."""
    if links is None:
        return None
    if not isinstance(links, np.ndarray) and not hasattr(links, "__array__"):
        rows = [tuple(link) for link in links]
        if len({len(row) for row in rows}) > 1:
            raise SidelightError("links must be rows of two or of four entries, all of one kind.")
        columns = [plain(list(column)) for column in zip(*rows, strict=True)]
    else:
        array = np.asarray(links)
        if array.size and array.ndim != 2:
            raise SidelightError(f"links must have the shape (m, 2) or (m, 4), not {array.shape}.")
        columns = [plain(column) for column in array.T] if array.size else []
    if not columns:
        return None
    if len(columns) == 2 and n_views == 2:
        m = len(columns[0])
        return [np.zeros(m, np.int64), columns[0], np.ones(m, np.int64), columns[1]]
    if len(columns) != 4:
        pairs = ", or pairs (row_i, row_j)" if n_views == 2 else ""
        raise SidelightError(
            f"links are rows (view_i, row_i, view_j, row_j){pairs}; these have "
            f"{counted(len(columns), 'entry', 'entries')}."
        )
    return columns


def check_view_numbers(views: Array, n_views: int) -> IntArray:
    which = canonical.whole_numbers(views, "Views in links are counted from 0")
    bad = (which < 0) | (which >= n_views)
    if bad.any():
        raise SidelightError(
            f"links name view {int(which[bad][0])}, but there are {n_views} views (0 to "
            f"{n_views - 1})."
        )
    return which


def as_view(view: Any, n_views: int) -> int:
    (which,) = check_view_numbers(np.asarray([view]), n_views).tolist()
    return int(which)


def starts_of(sizes: Sequence[int]) -> IntArray:
    """Number of the first row of each view when all rows are counted through, and of all."""
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def by_view(ends: IntArray, starts: IntArray) -> IntArray:
    """Links as (view, row, view, row) from rows that are counted through all views."""
    views = np.searchsorted(starts, ends, side="right") - 1
    rows = ends - starts[views]
    return np.column_stack([views[:, 0], rows[:, 0], views[:, 1], rows[:, 1]]).astype(np.int64)


def merged_rows(n: int, ends: IntArray) -> tuple[IntArray, int]:
    """Component of each of ``n`` rows, numbered by its first row, and how many there are."""
    parent = np.arange(n, dtype=np.int64)
    join_pairs(parent, np.ascontiguousarray(ends, dtype=np.int64))
    component = np.empty(n, dtype=np.int64)
    return component, int(number_components(parent, component))


def rejoin(objects: IntArray, ends: IntArray) -> IntArray:
    """Links between the parts into which objects fell, from the first row of each."""
    parts, _ = merged_rows(len(objects), ends)
    _, first_of_part = np.unique(parts, return_index=True)
    owner = objects[first_of_part]
    order = np.lexsort((first_of_part, owner))
    owner, rows = owner[order], first_of_part[order]
    new = np.flatnonzero(np.diff(owner) == 0) + 1
    heads = np.flatnonzero(np.diff(owner, prepend=-1))
    head = rows[heads[np.searchsorted(heads, new, side="right") - 1]]
    return np.column_stack([head, rows[new]]).astype(np.int64)
