"""Which bi-sets satisfy constraints, and the largest ones inside of those that do not."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from sidelight._kernels.cluster.coclustering.bits import (
    NONE,
    ONE,
    drop,
    expand,
    gaps_within,
    has,
    is_subset,
    lowest_of,
    meets,
    put,
    size_of,
)

#: Kinds of constraints that remove a bi-set.
MUST_LINK, CANNOT_LINK, ROW_ORDER, COLUMN_ORDER, SIZE = range(5)


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def admit(
    found_rows: Any,
    found_columns: Any,
    first: int,
    n_found: int,
    rows: Any,
    columns: Any,
    vertex_of_row: Any,
    vertex_of_column: Any,
    edges: Any,
    joined_pairs: Any,
    split: bool,
    row_at: Any,
    row_gaps: Any,
    column_at: Any,
    column_gaps: Any,
    row_indptr: Any,
    row_members: Any,
    column_indptr: Any,
    column_members: Any,
    min_rows: int,
    min_columns: int,
    kept_rows: Any,
    kept_columns: Any,
    removed_rows: Any,
    removed_columns: Any,
) -> tuple[int, int]:
    """Write the bi-sets that satisfy all constraints, by original elements.

    Returns the place at which it ended, since ``kept_rows`` may be full before ``n_found``, and the
    number of bi-sets that were written.

    A bi-set with two elements that must be apart is dropped, or, with ``split``, parted by a
    coloring of the elements that must be apart: a bi-set per color with the elements of the color,
    those of no conflict, and as many others as go with them. Parts that are inside of a larger
    admissible bi-set are dropped. A row and a column that belong together are both left out of a
    bi-set that has only one of them.

    Parameters
    ----------
    found_rows, found_columns : uint64 arrays
        Concepts, of which those from ``first`` to before ``n_found`` are read.
    rows, columns : uint64 arrays
        The table by rows and by columns.
    vertex_of_row, vertex_of_column : int64 arrays
        Vertex of the conflict graph, -1 for elements without cannot-link.
    edges : uint64 array of shape (n_vertices, words)
        Neighbors of every vertex.
    joined_pairs : int64 array of shape (m, 2)
        Elements that go together or not at all; columns are counted on after the rows.
    row_at, column_at : int64 arrays
        Element at every place of the order; empty for no bounds.
    row_gaps, column_gaps : int64 arrays of shape (3,)
        Smallest and largest gap, and whether the order is circular.
    row_indptr, row_members, column_indptr, column_members : int64 arrays
        Original elements of every element.
    removed_rows, removed_columns : uint64 arrays of shape (5, words)
        Elements of bi-sets that each kind of constraint removed; added to.
    """
    n_kept = 0
    n_vertices, vertex_words = edges.shape
    inside = np.zeros(vertex_words, np.uint64)
    color = np.empty(n_vertices, np.int64)
    part_rows = np.empty(found_rows.shape[1], np.uint64)
    part_columns = np.empty(found_columns.shape[1], np.uint64)
    n_rows = len(rows)
    for b in range(first, n_found):
        if n_kept + n_vertices + 1 > len(kept_rows):
            return b, n_kept
        n_colors = 1
        if n_vertices:
            n_colors = _color(
                found_rows[b],
                found_columns[b],
                vertex_of_row,
                vertex_of_column,
                edges,
                inside,
                color,
            )
        if n_colors > 1 and not split:
            _note(removed_rows[CANNOT_LINK], found_rows[b])
            _note(removed_columns[CANNOT_LINK], found_columns[b])
            continue
        for c in range(n_colors):
            part_rows[:] = found_rows[b]
            part_columns[:] = found_columns[b]
            if n_colors > 1:
                _take_part(
                    c,
                    vertex_of_row,
                    vertex_of_column,
                    edges,
                    color,
                    inside,
                    part_rows,
                    part_columns,
                )
                if not _is_maximal(
                    part_rows,
                    part_columns,
                    rows,
                    columns,
                    vertex_of_row,
                    vertex_of_column,
                    edges,
                    inside,
                ):
                    continue
            reason = -1
            if not _keeps_joined(part_rows, part_columns, joined_pairs, n_rows, split):
                reason = MUST_LINK
            elif len(row_at) and not gaps_within(
                part_rows, row_at, row_gaps[0], row_gaps[1], row_gaps[2] != 0
            ):
                reason = ROW_ORDER
            elif len(column_at) and not gaps_within(
                part_columns, column_at, column_gaps[0], column_gaps[1], column_gaps[2] != 0
            ):
                reason = COLUMN_ORDER
            else:
                expand(part_rows, row_indptr, row_members, kept_rows[n_kept])
                expand(part_columns, column_indptr, column_members, kept_columns[n_kept])
                if (
                    size_of(kept_rows[n_kept]) < min_rows
                    or size_of(kept_columns[n_kept]) < min_columns
                ):
                    reason = SIZE
            if reason >= 0:
                _note(removed_rows[reason], part_rows)
                _note(removed_columns[reason], part_columns)
            else:
                n_kept += 1
    return n_found, n_kept


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _note(noted: Any, words: Any) -> None:
    for w in range(len(words)):
        noted[w] |= words[w]


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def find_vertices(words: Any, vertex: Any, inside: Any) -> None:
    """Add the vertices of the members of a set."""
    for w in range(len(words)):
        rest = words[w]
        while rest:
            v = vertex[64 * w + np.int64(lowest_of(rest))]
            if v >= 0:
                put(inside, v)
            rest &= rest - ONE


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _color(
    row_words: Any,
    column_words: Any,
    vertex_of_row: Any,
    vertex_of_column: Any,
    edges: Any,
    inside: Any,
    color: Any,
) -> int:
    """Color the vertices of a bi-set, each with the first color that no neighbor has."""
    inside[:] = NONE
    find_vertices(row_words, vertex_of_row, inside)
    find_vertices(column_words, vertex_of_column, inside)
    color[:] = -1
    n_colors = 1
    for v in range(len(edges)):
        if not has(inside, v):
            continue
        mine = 0
        while _neighbor_has(mine, v, edges, inside, color):
            mine += 1
        color[v] = mine
        n_colors = max(n_colors, mine + 1)
    return n_colors


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _neighbor_has(wanted: int, v: int, edges: Any, inside: Any, color: Any) -> bool:
    for w in range(len(inside)):
        rest = edges[v, w] & inside[w]
        while rest:
            if color[64 * w + np.int64(lowest_of(rest))] == wanted:
                return True
            rest &= rest - ONE
    return False


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _take_part(
    wanted: int,
    vertex_of_row: Any,
    vertex_of_column: Any,
    edges: Any,
    color: Any,
    inside: Any,
    part_rows: Any,
    part_columns: Any,
) -> None:
    """Leave out all elements that do not go with those of a color; ``inside`` has those kept."""
    inside[:] = NONE
    for v in range(len(edges)):
        if color[v] == wanted:
            put(inside, v)
    for v in range(len(edges)):
        if color[v] >= 0 and color[v] != wanted and not meets(edges[v], inside):
            put(inside, v)
    _leave_out(part_rows, vertex_of_row, inside)
    _leave_out(part_columns, vertex_of_column, inside)


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _leave_out(part: Any, vertex: Any, inside: Any) -> None:
    for element in range(len(vertex)):
        if vertex[element] >= 0 and not has(inside, vertex[element]):
            drop(part, element)


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _is_maximal(
    part_rows: Any,
    part_columns: Any,
    rows: Any,
    columns: Any,
    vertex_of_row: Any,
    vertex_of_column: Any,
    edges: Any,
    inside: Any,
) -> bool:
    """Whether no element can be added to a rectangle of ones, one of the two sides not empty."""
    if size_of(part_rows) == 0 or size_of(part_columns) == 0:
        return False
    return not (
        _can_grow(part_rows, part_columns, rows, vertex_of_row, edges, inside)
        or _can_grow(part_columns, part_rows, columns, vertex_of_column, edges, inside)
    )


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _can_grow(part: Any, other_part: Any, table: Any, vertex: Any, edges: Any, inside: Any) -> bool:
    for element in range(len(table)):
        if has(part, element) or not is_subset(other_part, table[element]):
            continue
        v = vertex[element]
        if v < 0 or not meets(edges[v], inside):
            return True
    return False


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _keeps_joined(
    part_rows: Any, part_columns: Any, joined_pairs: Any, n_rows: int, mend: bool
) -> bool:
    """Whether of two elements that belong together the bi-set has both or neither.

    With ``mend`` an element without the other is left out, and what is left has to be a bi-set.
    """
    torn = False
    for p in range(len(joined_pairs)):
        first, second = joined_pairs[p, 0], joined_pairs[p, 1]
        one = has(part_rows, first) if first < n_rows else has(part_columns, first - n_rows)
        other = has(part_rows, second) if second < n_rows else has(part_columns, second - n_rows)
        if one == other:
            continue
        if not mend:
            return False
        torn = True
        lonely = first if one else second
        if lonely < n_rows:
            drop(part_rows, lonely)
        else:
            drop(part_columns, lonely - n_rows)
    return not torn or (size_of(part_rows) > 0 and size_of(part_columns) > 0)
