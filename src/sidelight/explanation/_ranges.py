"""Ranges of values in which a cluster is, and others are not; or the other way around.

A cluster in the middle of a column has the median of the others: no shift shows it. Of all ranges
from one value of the column to another the one is taken that parts cluster and others best, by the
difference ``p - q`` of the shares of their rows inside: the largest one, where the cluster is, and
the smallest one, where it is not. Both together are Kuiper's statistic. With the shares of rows up
to a value, ``P`` and ``Q``, it is the largest rise and fall of ``P - Q``, found in one pass over
the values of the cluster.

The range was looked for, and its probability under chance is told so: of a column with ``d``
different values there are ``d (d + 1) / 2`` ranges, and the probability of the one is multiplied by
this number. It bounds the probability that chance alone makes *any* range as improbable.
"""

from __future__ import annotations

import numpy as np

from sidelight._typing import IntArray
from sidelight.explanation._ranks import Cells, Sorted
from sidelight.explanation._shares import Shares

#: Of fewer different values every range begins or ends where the column does: it is a shift.
FEWEST_VALUES = 3


def count_ranges(n_distinct: int) -> int:
    """Count the ranges from one distinct value to another, without that of all values."""
    return max(n_distinct * (n_distinct + 1) // 2 - 1, 1)


def best_ranges(column: Sorted) -> tuple[IntArray, Shares]:
    """Find the range that holds most of a cluster and least of the others, and the reverse.

    Parameters
    ----------
    column : Sorted
        The column.

    Returns
    -------
    ranges : ndarray of int, shape (k, 2, 2)
        First and last distinct value of both ranges of every cluster; -1 where there is none.
    shares : Shares
        Rows of the clusters, and of all, inside: two levels, which are each cluster's own.
    """
    k, n = len(column.sizes), len(column.values)
    ranges = np.full((k, 2, 2), -1, dtype=np.int64)
    found, level = np.zeros((k, 2), dtype=np.int64), np.zeros((k, 2), dtype=np.int64)
    cells = column.cells
    edges = np.searchsorted(cells.owner, np.arange(k + 1))
    for cluster, size in enumerate(column.sizes.tolist()):
        if not 0 < size < n or len(column.starts) < FEWEST_VALUES:
            continue
        part = slice(edges[cluster], edges[cluster + 1])
        ends = _rise_and_fall(column, cells, part, size)
        for side, (first, last) in enumerate(ends):
            if first > last:
                continue
            ranges[cluster, side] = first, last
            level[cluster, side] = column.ends[last] - column.starts[first]
            value = cells.value[part]
            there = (value >= first) & (value <= last)
            found[cluster, side] = cells.members[part][there].sum()
    return ranges, Shares(found, column.sizes, level, n)


def _rise_and_fall(
    column: Sorted, cells: Cells, part: slice, size: int
) -> tuple[tuple[int, int], tuple[int, int]]:
    """First and last value of the largest rise of ``P - Q``, and of its largest fall.

    The shares are multiplied by the rows of both sides: whole numbers, whose ties do not depend on
    rounding. A rise begins and ends at a value of the cluster, a fall beside one.
    """
    value, below, others = cells.value[part], cells.below[part], len(column.values) - size
    above = below + cells.members[part]
    before = below * others - (column.starts[value] - below) * size
    after = above * others - (column.ends[value] - above) * size
    last = int(np.argmax(after - np.minimum.accumulate(before)))
    first = int(np.argmin(before[: last + 1]))
    rise = int(value[first]), int(value[last])
    # Falls may begin before the first value of the cluster and end after its last one.
    from_after, to_before = np.append(0, after), np.append(before, 0)
    stop = int(np.argmax(np.maximum.accumulate(from_after) - to_before))
    start = int(np.argmax(from_after[: stop + 1]))
    begin = 0 if start == 0 else int(value[start - 1]) + 1
    end = len(column.starts) - 1 if stop == len(value) else int(value[stop]) - 1
    return rise, (begin, end)
