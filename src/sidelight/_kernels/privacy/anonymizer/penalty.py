"""Certainty penalty of a class: how much of each column its published values leave open.

Columns are given as ``(num, cat, domain, tree, parent, depth, open)``: numbers as positions, from 0
to 1 but for those far out, :data:`MISSING` where there is none; categories as codes, with the
number of categories of each column; and values of hierarchies as leaves of trees, of which
``parent`` and ``depth`` of all nodes are in one array each, as is the share ``open`` of a column
that a node leaves open.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sidelight._kernels import kernel

#: Position of a missing number, after all others.
MISSING = 1e4


@kernel
def span(low: float, high: float) -> float:
    """Penalty of a range of positions; a range that mixes numbers and missing ones is open.

    A range as wide as all that is not far out leaves everything open.
    """
    if high >= MISSING:
        return 0.0 if low >= MISSING else 1.0
    return min(high - low, 1.0)


@kernel
def open_set(number: int, domain: float) -> float:
    """Penalty of a set of categories."""
    return number / domain if number > 1 else 0.0


@kernel
def common_ancestor(one: int, other: int, parent: Any, depth: Any) -> int:
    """Lowest node above two nodes of a tree."""
    while one != other:
        if depth[one] >= depth[other]:
            one = parent[one]
        else:
            other = parent[other]
    return one


@kernel
def penalty_of_rows(columns: Any, rows: Any, size: int, without: int, seen: Any) -> float:
    """Penalty of a class: sum over the columns.

    Parameters
    ----------
    columns : tuple
        The columns.
    rows : ndarray of int
        Rows of the class, in the first ``size`` places.
    size : int
        Number of rows.
    without : int
        Place that does not count; -1 for none.
    seen : ndarray of int64, one more place than the largest domain
        Marks; the last place holds the last mark that was used.
    """
    num, cat, domain, tree, parent, depth, open_ = columns
    total = 0.0
    for j in range(num.shape[1]):
        low, high = np.inf, -np.inf
        for a in range(size):
            if a != without:
                value = num[rows[a], j]
                low = min(low, value)
                high = max(high, value)
        total += span(low, high)
    for j in range(cat.shape[1]):
        seen[-1] += 1
        mark = seen[-1]
        number = 0
        for a in range(size):
            if a != without:
                code = cat[rows[a], j]
                if seen[code] != mark:
                    seen[code] = mark
                    number += 1
        total += open_set(number, domain[j])
    for j in range(tree.shape[1]):
        node = -1
        for a in range(size):
            if a != without:
                leaf = tree[rows[a], j]
                node = leaf if node < 0 else common_ancestor(node, leaf, parent, depth)
        total += open_[node]
    return total


@kernel
def classes_penalty(columns: Any, members: Any, starts: Any, seen: Any) -> Any:
    """Penalty of every class, whose rows are consecutive in ``members``."""
    penalties = np.empty(len(starts) - 1)
    for c in range(len(starts) - 1):
        rows = members[starts[c] : starts[c + 1]]
        penalties[c] = penalty_of_rows(columns, rows, len(rows), -1, seen)
    return penalties


@kernel
def common_ancestor_of_classes(leaves: Any, starts: Any, parent: Any, depth: Any) -> Any:
    """Lowest node above all leaves of every class, which are next to each other."""
    nodes = np.empty(len(starts) - 1, np.int64)
    for c in range(len(starts) - 1):
        node = leaves[starts[c]]
        for a in range(starts[c] + 1, starts[c + 1]):
            node = common_ancestor(node, leaves[a], parent, depth)
        nodes[c] = node
    return nodes


@kernel
def reliefs(columns: Any, members: Any, starts: Any, seen: Any) -> Any:
    """By how much the penalties of the rows of a class fall without one of them, itself included.

    For every place of ``members``.
    """
    relief = np.empty(len(members))
    for c in range(len(starts) - 1):
        rows = members[starts[c] : starts[c + 1]]
        size = len(rows)
        whole = penalty_of_rows(columns, rows, size, -1, seen)
        for a in range(size):
            rest = 0.0
            if size > 1 and whole > 0.0:
                rest = penalty_of_rows(columns, rows, size, a, seen)
            relief[starts[c] + a] = size * whole - (size - 1) * rest
    return relief
