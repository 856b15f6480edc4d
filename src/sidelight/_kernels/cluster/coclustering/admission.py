"""Which bi-sets satisfy constraints."""

from __future__ import annotations

from typing import Any

import numpy as np

from sidelight._kernels import kernel
from sidelight._kernels.cluster.coclustering.bits import (
    NONE,
    ONE,
    drop,
    expand,
    gaps_within,
    has,
    lowest_of,
    meets,
    put,
    size_of,
)

#: Kinds of constraints that remove a bi-set.
MUST_LINK, CANNOT_LINK, ROW_ORDER, COLUMN_ORDER, SIZE = range(5)


@kernel
def admit(
    found_rows: Any,
    found_columns: Any,
    n_found: int,
    vertex_of_row: Any,
    vertex_of_column: Any,
    edges: Any,
    joined_pairs: Any,
    mend: bool,
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
) -> int:
    """Write the bi-sets that satisfy all constraints, by original elements; return their number.

    Parameters
    ----------
    found_rows, found_columns : uint64 arrays
        Concepts, the first ``n_found`` of them; changed by ``mend``.
    vertex_of_row, vertex_of_column : int64 arrays
        Vertex of the conflict graph, -1 for elements without cannot-link.
    edges : uint64 array of shape (n_vertices, words)
        Neighbors of every vertex; empty to let bi-sets have elements that must be apart.
    joined_pairs : int64 array of shape (m, 2)
        Elements that go together or not at all; columns are counted on after the rows.
    mend : bool
        Whether to leave out an element that is there without the one that it belongs to, and not
        the whole bi-set.
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
    inside = np.empty(edges.shape[1], np.uint64)
    for b in range(n_found):
        rows, columns = found_rows[b], found_columns[b]
        reason = -1
        # Local counterparts of the global constraints (Book 2009, section 6.3.3 and table 6.3):
        # both or neither element of a must-link, at most one of a cannot-link, bounded gaps.
        if not _keeps_joined(rows, columns, joined_pairs, len(vertex_of_row), mend):
            reason = MUST_LINK
        elif len(edges) and not _keeps_apart(
            rows, columns, vertex_of_row, vertex_of_column, edges, inside
        ):
            reason = CANNOT_LINK
        elif len(row_at) and not gaps_within(
            rows, row_at, row_gaps[0], row_gaps[1], row_gaps[2] != 0
        ):
            reason = ROW_ORDER
        elif len(column_at) and not gaps_within(
            columns, column_at, column_gaps[0], column_gaps[1], column_gaps[2] != 0
        ):
            reason = COLUMN_ORDER
        else:
            expand(rows, row_indptr, row_members, kept_rows[n_kept])
            expand(columns, column_indptr, column_members, kept_columns[n_kept])
            too_few = size_of(kept_rows[n_kept]) < min_rows
            if too_few or size_of(kept_columns[n_kept]) < min_columns:
                reason = SIZE
        # A bi-set that is not admitted counts towards the reason why its elements are uncovered.
        if reason < 0:
            n_kept += 1
        else:
            for w in range(len(rows)):
                removed_rows[reason, w] |= rows[w]
            for w in range(len(columns)):
                removed_columns[reason, w] |= columns[w]
    return n_kept


@kernel
def _find_vertices(words: Any, vertex: Any, inside: Any) -> None:
    """Add the vertices of the members of a set."""
    for w in range(len(words)):
        rest = words[w]
        while rest:
            v = vertex[64 * w + np.int64(lowest_of(rest))]
            if v >= 0:
                put(inside, v)
            rest &= rest - ONE


@kernel
def _keeps_apart(
    rows: Any, columns: Any, vertex_of_row: Any, vertex_of_column: Any, edges: Any, inside: Any
) -> bool:
    """Whether no two elements of a bi-set must be apart."""
    inside[:] = NONE
    _find_vertices(rows, vertex_of_row, inside)
    _find_vertices(columns, vertex_of_column, inside)
    for w in range(len(inside)):
        rest = inside[w]
        while rest:
            if meets(edges[64 * w + np.int64(lowest_of(rest))], inside):
                return False
            rest &= rest - ONE
    return True


@kernel
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
