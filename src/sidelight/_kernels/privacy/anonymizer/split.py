"""Top-down splits of the rows into blocks of rows that are near each other."""

from __future__ import annotations

from typing import Any

import numpy as np

from sidelight._kernels import kernel
from sidelight._kernels.privacy.anonymizer.diversity import rows_are_diverse
from sidelight._kernels.privacy.anonymizer.penalty import common_ancestor, open_set, span


@kernel
def _cut_numbers(values: Any, least: int) -> tuple[float, float]:
    """Best gain of a cut of positions, and the largest position of its left side."""
    ordered = np.sort(values)
    size = len(ordered)
    first, last = ordered[0], ordered[-1]
    whole = size * span(first, last)
    best, at = 0.0, -1.0
    for left in range(least, size - least + 1):
        if ordered[left - 1] != ordered[left]:
            cost = left * span(first, ordered[left - 1]) + (size - left) * span(ordered[left], last)
            if whole - cost > best:
                best, at = whole - cost, ordered[left - 1]
    return best, at


@kernel
def _cut_codes(codes: Any, domain: float, n_codes: Any, least: int) -> tuple[float, Any]:
    """Best gain of a cut of categories, the most frequent to the left, and which go there."""
    counts = np.zeros(n_codes, np.int64)
    for code in codes:
        counts[code] += 1
    order = np.argsort(-counts, kind="mergesort")
    present = 0
    while present < n_codes and counts[order[present]] > 0:
        present += 1
    size = len(codes)
    goes = np.zeros(n_codes, np.bool_)
    best, upto, left = 0.0, 0, 0
    whole = size * open_set(present, domain)
    for number in range(1, present):
        left += counts[order[number - 1]]
        if left < least or size - left < least:
            continue
        cost = left * open_set(number, domain)
        cost += (size - left) * open_set(present - number, domain)
        if whole - cost > best:
            best, upto = whole - cost, number
    for place in range(upto):
        goes[order[place]] = True
    return best, goes


@kernel
def _cut_tree(
    leaves: Any, parent: Any, depth: Any, open_: Any, least: int
) -> tuple[float, int, int]:
    """Best gain of parting one child of the common ancestor; the child and the ancestor."""
    top = leaves[0]
    for leaf in leaves:
        top = common_ancestor(top, leaf, parent, depth)
    size = len(leaves)
    children = np.empty(size, np.int64)
    for a in range(size):
        node = leaves[a]
        while depth[node] > depth[top] + 1:
            node = parent[node]
        children[a] = node
    ordered = np.sort(children)
    n_children = 1
    for a in range(1, size):
        if ordered[a] != ordered[a - 1]:
            n_children += 1
    best, chosen = 0.0, -1
    start = 0
    for a in range(1, size + 1):
        if a == size or ordered[a] != ordered[start]:
            number = a - start
            if number >= least and size - number >= least:
                rest = open_[top]
                if n_children == 2:
                    rest = open_[ordered[0] if start > 0 else ordered[-1]]
                gain = size * open_[top] - number * open_[ordered[start]] - (size - number) * rest
                if gain > best:
                    best, chosen = gain, ordered[start]
            start = a
    return best, chosen, top


@kernel
def _sides(columns: Any, rows: Any, column: int, least: int, weights: Any) -> tuple[float, Any]:
    """Gain of the best cut of one column, and which rows go to its left."""
    num, cat, domain, tree, parent, depth, open_ = columns
    n_num, n_cat = num.shape[1], cat.shape[1]
    left = np.zeros(len(rows), np.bool_)
    if column < n_num:
        values = num[rows, column]
        gain, at = _cut_numbers(values, least)
        for a in range(len(rows)):
            left[a] = values[a] <= at
    elif column < n_num + n_cat:
        codes = cat[rows, column - n_num]
        n_codes = np.int64(domain[column - n_num])
        gain, goes = _cut_codes(codes, domain[column - n_num], n_codes, least)
        for a in range(len(rows)):
            left[a] = goes[codes[a]]
    else:
        leaves = tree[rows, column - n_num - n_cat]
        gain, chosen, top = _cut_tree(leaves, parent, depth, open_, least)
        for a in range(len(rows)):
            node = leaves[a]
            while depth[node] > depth[top] + 1:
                node = parent[node]
            left[a] = node == chosen
    return gain * weights[column], left


@kernel
def _both_diverse(sensitive: Any, values: Any, rows: Any, left: Any, rule: Any) -> bool:
    """Whether both sides of a cut satisfy the rule."""
    if rule[1] <= 1:
        return True
    one, other = rows[left], rows[~left]
    return rows_are_diverse(sensitive, values, one, len(one), -1, -1, rule) and rows_are_diverse(
        sensitive, values, other, len(other), -1, -1, rule
    )


@kernel
def best_cut(
    columns: Any, rows: Any, least: int, sensitive: Any, values: Any, rule: Any, weights: Any
) -> tuple[float, Any]:
    """Gain of the best cut that leaves both sides large and diverse enough, and its left side."""
    n_columns = columns[0].shape[1] + columns[1].shape[1] + columns[3].shape[1]
    gains = np.zeros(n_columns)
    for column in range(n_columns):
        gains[column] = _sides(columns, rows, column, least, weights)[0]
    for _ in range(n_columns):  # the best first; sorting them takes a second to compile
        column = 0
        for other in range(1, n_columns):
            if gains[other] > gains[column]:
                column = other
        if gains[column] <= 0.0:
            break
        left = _sides(columns, rows, column, least, weights)[1]
        if _both_diverse(sensitive, values, rows, left, rule):
            return gains[column], left
        gains[column] = 0.0
    return 0.0, np.zeros(len(rows), np.bool_)


@kernel
def split_rows(
    columns: Any,
    rows: Any,
    largest: int,
    least: int,
    sensitive: Any,
    values: Any,
    rule: Any,
    weights: Any,
) -> tuple[Any, Any]:
    """Split rows, always by the cut that lowers the penalty most, until blocks are small.

    Parameters
    ----------
    columns : tuple
        The columns; see :mod:`sidelight._kernels.privacy.anonymizer.penalty`.
    rows : ndarray of int
        Rows to split.
    largest : int
        Blocks of up to this many rows are not split.
    least : int
        Least number of rows of a block.
    sensitive, values, rule
        Sensitive codes, their numbers of values, and the model of diversity of every block.
    weights : ndarray
        Weight of every column in the choice of the cut.

    Returns
    -------
    order : ndarray of int
        The rows, those of a block next to each other.
    starts : ndarray of int
        Where each block begins, and the end.
    """
    order = rows.copy()
    starts = [0]
    stack = [(0, len(order))]
    while len(stack) > 0:
        begin, end = stack.pop()
        size = end - begin
        if size > largest and size >= 2 * least:
            block = order[begin:end].copy()
            gain, left = best_cut(columns, block, least, sensitive, values, rule, weights)
            if gain > 0.0:
                middle = begin
                for a in range(size):
                    if left[a]:
                        order[middle] = block[a]
                        middle += 1
                place = middle
                for a in range(size):
                    if not left[a]:
                        order[place] = block[a]
                        place += 1
                stack.append((middle, end))
                stack.append((begin, middle))
                continue
        starts.append(end)
    return order, np.array(starts)
