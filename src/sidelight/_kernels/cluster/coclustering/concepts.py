"""Formal concepts of a 0/1 table, by closing one attribute at a time, over bitsets.

Every concept is visited once: a concept with intent ``B`` that was made with attribute ``j`` comes
from its canonical parent if the closure brings in no attribute before ``j`` that the parent lacks
(Kuznetsov 1993, Close by One). The search keeps its own stack, so that it can be left and resumed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sidelight._kernels import kernel
from sidelight._kernels.cluster.coclustering.bits import (
    NONE,
    ONE,
    gaps_within,
    has,
    is_subset,
    lowest_of,
    meets,
    ones_of,
    put,
    size_of,
    weight_of,
)

#: Why a branch was left out.
NOT_PRUNED, BY_CANNOT_LINK, BY_ORDER = -1, 0, 1

#: Rows that are intersected before the columns that are left are compared one by one.
FEW_ROWS = 6


@kernel
def mine(
    columns: Any,
    rows: Any,
    row_weight: Any,
    column_weight: Any,
    min_rows: int,
    min_columns: int,
    apart: Any,
    element_at: Any,
    min_gap: int,
    circular: bool,
    extents: Any,
    intents: Any,
    frequent: Any,
    start: Any,
    top: int,
    found_rows: Any,
    found_columns: Any,
    pruned_rows: Any,
    pruned_columns: Any,
    max_nodes: int,
) -> tuple[int, int]:
    """Continue the search; return the height of the stack and the number of concepts found.

    Ends when the stack is empty, after ``max_nodes`` nodes, when the buffers of found concepts
    could overflow, or when the stack could; whoever calls tells by the height of the stack.

    Parameters
    ----------
    columns, rows : uint64 arrays of shape (n_columns, row words), (n_rows, column words)
        The table by columns and by rows.
    row_weight, column_weight : int64 arrays, empty where every element counts once
        Elements that an element stands for.
    min_rows, min_columns : int
        Least weights of a concept.
    apart : uint64 array of shape (n_columns, column words), or empty
        Columns that must not go with a column. Larger intents hold them too, so that the whole
        branch is left out.
    element_at : int64 array
        Column at every place of the order, for ``min_gap``, which prunes in the same way; empty
        where there is no such bound.
    extents, intents, frequent, start : arrays
        Stack: rows, columns, columns that are frequent enough within the rows, and the first
        column to go on with.
    found_rows, found_columns : uint64 arrays
        Where the concepts are written.
    pruned_rows, pruned_columns : uint64 arrays of shape (2, words)
        Elements of concepts that cannot-links or the order removed; added to.
    """
    n_columns, row_words = columns.shape
    column_words = rows.shape[1]
    extent = np.empty(row_words, np.uint64)
    intent = np.empty(column_words, np.uint64)
    often = np.empty(column_words, np.uint64)
    left = np.empty(column_words, np.uint64)
    child = np.empty(row_words, np.uint64)
    n_found = 0
    n_nodes = 0
    while top > 0 and n_nodes < max_nodes and n_found < len(found_rows):
        # A node has at most one child per column; the caller enlarges the stack for them.
        if top + n_columns > len(start):
            break
        n_nodes += 1
        top -= 1
        extent[:] = extents[top]
        intent[:] = intents[top]
        often[:] = frequent[top]
        first = start[top]
        # A concept of the table: every node of Close by One (Kuznetsov 1993) is one, found once.
        size = _weigh(intent, column_weight)
        if size >= min_columns:
            found_rows[n_found] = extent
            found_columns[n_found] = intent
            n_found += 1
        _keep_frequent(columns, extent, intent, often, row_weight, min_rows)
        # Children: add a column j that comes after the last one added, in words of 64 columns.
        for word in range(first >> 6, column_words):
            rest = often[word] & ~intent[word]
            if word == first >> 6:
                rest = rest & ~((ONE << np.uint64(first & 63)) - ONE)
            while rest:
                j = 64 * word + np.int64(lowest_of(rest))
                rest &= rest - ONE
                for w in range(row_words):
                    child[w] = extent[w] & columns[j, w]
                # Canonicity: a closure with a column before j is found in another branch.
                if not _close(columns, rows, child, intent, often, j, left):
                    continue
                for w in range(column_words):
                    left[w] |= intent[w]
                put(left, j)
                # Prune by size: the branch cannot reach enough columns any more.
                if min_columns > 1 and _reachable(left, often, j, column_weight) < min_columns:
                    continue
                # Prune by constraints that larger intents violate, too (Book 2009, 6.3.3).
                reason = NOT_PRUNED
                if len(apart) and _has_conflict(left, apart):
                    reason = BY_CANNOT_LINK
                elif len(element_at) and not gaps_within(
                    left, element_at, min_gap, len(element_at), circular
                ):
                    reason = BY_ORDER
                if reason != NOT_PRUNED:
                    for w in range(row_words):
                        pruned_rows[reason, w] |= child[w]
                    for w in range(column_words):
                        pruned_columns[reason, w] |= left[w]
                    continue
                extents[top] = child
                intents[top] = left
                frequent[top] = often
                start[top] = j + 1
                top += 1
    return top, n_found


@kernel
def _keep_frequent(
    columns: Any, extent: Any, intent: Any, often: Any, row_weight: Any, min_rows: int
) -> None:
    """Take the columns that are not frequent enough within the extent out of ``often``."""
    row_words = len(extent)
    for w in range(len(often)):
        rest = often[w] & ~intent[w]
        while rest:
            low = rest & (~rest + ONE)
            j = 64 * w + np.int64(lowest_of(rest))
            rest &= rest - ONE
            total = 0
            if len(row_weight):
                for v in range(row_words):
                    both = extent[v] & columns[j, v]
                    while both:
                        total += row_weight[64 * v + np.int64(lowest_of(both))]
                        both &= both - ONE
            else:
                number = NONE
                for v in range(row_words):
                    number += ones_of(extent[v] & columns[j, v])
                total = int(number)
            if total < min_rows:
                often[w] &= ~low


@kernel
def _close(
    columns: Any, rows: Any, extent: Any, intent: Any, often: Any, j: Any, left: Any
) -> bool:
    """Write the columns outside ``intent`` that all rows have; False for one before ``j``."""
    column_words = len(often)
    some = False
    for w in range(column_words):
        left[w] = often[w] & ~intent[w]
    left[j >> 6] &= ~(ONE << np.uint64(j & 63))
    n_seen = 0
    for w in range(len(extent)):
        rest = extent[w]
        while rest and n_seen < FEW_ROWS:
            row = 64 * w + np.int64(lowest_of(rest))
            rest &= rest - ONE
            n_seen += 1
            some = False
            for v in range(column_words):
                left[v] &= rows[row, v]
                some |= left[v] != NONE
            if not some:
                return True
        if n_seen >= FEW_ROWS:
            break
    for w in range(column_words):
        rest = left[w]
        while rest:
            low = rest & (~rest + ONE)
            k = 64 * w + np.int64(lowest_of(rest))
            rest &= rest - ONE
            if is_subset(extent, columns[k]):
                if k < j:
                    return False
            else:
                left[w] &= ~low
    return True


@kernel
def _weigh(words: Any, weight: Any) -> int:
    return weight_of(words, weight) if len(weight) else size_of(words)


@kernel
def _reachable(intent: Any, often: Any, j: Any, column_weight: Any) -> int:
    """Largest weight that an intent can still reach in this branch."""
    total = 0
    for w in range(len(intent)):
        later = often[w]
        if w < j >> 6:
            later = NONE
        elif w == j >> 6:
            later &= ~((ONE << np.uint64(j & 63)) - ONE)
        word = intent[w] | later
        if len(column_weight):
            while word:
                total += column_weight[64 * w + np.int64(lowest_of(word))]
                word &= word - ONE
        else:
            total += int(ones_of(word))
    return total


@kernel
def _has_conflict(intent: Any, apart: Any) -> bool:
    """Whether two columns of an intent must not go together."""
    for w in range(len(intent)):
        rest = intent[w]
        while rest:
            if meets(intent, apart[64 * w + np.int64(lowest_of(rest))]):
                return True
            rest &= rest - ONE
    return False


@kernel
def pack(table: Any) -> Any:
    """Rows of a 0/1 table as bitsets, shape (n_rows, words)."""
    n, d = table.shape
    words = np.zeros((n, (d + 63) // 64), np.uint64)
    for i in range(n):
        for j in range(d):
            if table[i, j]:
                put(words[i], j)
    return words


@kernel
def unpack(words: Any, n_elements: int) -> Any:
    """Bitsets as a 0/1 table of bytes."""
    table = np.zeros((len(words), n_elements), np.uint8)
    for i in range(len(words)):
        for j in range(n_elements):
            if has(words[i], j):
                table[i, j] = 1
    return table


@kernel
def sizes(words: Any) -> Any:
    """Number of elements of every set."""
    result = np.empty(len(words), np.int64)
    for b in range(len(words)):
        result[b] = size_of(words[b])
    return result


@kernel
def write_indices(words: Any, indptr: Any) -> Any:
    """Elements of all sets, those of set ``b`` from ``indptr[b]`` on."""
    indices = np.empty(indptr[-1], np.int32)
    for b in range(len(words)):
        place = indptr[b]
        for w in range(words.shape[1]):
            rest = words[b, w]
            while rest:
                indices[place] = 64 * w + np.int64(lowest_of(rest))
                place += 1
                rest &= rest - ONE
    return indices
