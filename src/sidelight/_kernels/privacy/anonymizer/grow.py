"""Growth of classes from single rows, each by the row that opens the least."""

from __future__ import annotations

from typing import Any

import numpy as np

from sidelight._kernels import kernel
from sidelight._kernels.privacy.anonymizer.penalty import common_ancestor, span

#: Label of a row that has no class yet.
FREE = -1


@kernel
def pair_penalty(columns: Any, one: int, other: int) -> float:
    """Penalty of a class of two rows."""
    num, cat, domain, tree, parent, depth, open_ = columns
    total = 0.0
    for j in range(num.shape[1]):
        x, y = num[one, j], num[other, j]
        total += span(x, y) if x <= y else span(y, x)
    for j in range(cat.shape[1]):
        if cat[one, j] != cat[other, j]:
            total += 2.0 / domain[j]
    for j in range(tree.shape[1]):
        if tree[one, j] != tree[other, j]:
            total += open_[common_ancestor(tree[one, j], tree[other, j], parent, depth)]
    return total


@kernel
def _begin(
    columns: Any, row: int, low: Any, high: Any, codes: Any, n_codes: Any, node: Any
) -> None:
    """Ranges and sets of a class of one row."""
    for j in range(len(low)):
        low[j] = high[j] = columns[0][row, j]
    for j in range(len(n_codes)):
        codes[j, 0] = columns[1][row, j]
        n_codes[j] = 1
    for j in range(len(node)):
        node[j] = columns[3][row, j]


@kernel
def _opens(
    columns: Any, row: int, low: Any, high: Any, codes: Any, n_codes: Any, node: Any, most: float
) -> float:
    """Growth of the penalty when a row joins; only whether it is above ``most`` matters then."""
    num, cat, domain, tree, parent, depth, open_ = columns
    total = 0.0
    for j in range(len(low)):
        value = num[row, j]
        if value < low[j]:
            total += span(value, high[j]) - span(low[j], high[j])
        elif value > high[j]:
            total += span(low[j], value) - span(low[j], high[j])
    for j in range(len(n_codes)):
        if total > most:
            return total
        code = cat[row, j]
        known = False
        for a in range(n_codes[j]):
            if codes[j, a] == code:
                known = True
                break
        if not known:
            total += (2.0 if n_codes[j] == 1 else 1.0) / domain[j]
    for j in range(len(node)):
        if tree[row, j] != node[j]:
            joint = common_ancestor(node[j], tree[row, j], parent, depth)
            total += open_[joint] - open_[node[j]]
    return total


@kernel
def _join(columns: Any, row: int, low: Any, high: Any, codes: Any, n_codes: Any, node: Any) -> None:
    """Widen ranges and sets by a row."""
    num, cat, _, tree, parent, depth, _ = columns
    for j in range(len(low)):
        low[j] = min(low[j], num[row, j])
        high[j] = max(high[j], num[row, j])
    for j in range(len(n_codes)):
        code = cat[row, j]
        known = False
        for a in range(n_codes[j]):
            if codes[j, a] == code:
                known = True
                break
        if not known:
            codes[j, n_codes[j]] = code
            n_codes[j] += 1
    for j in range(len(node)):
        node[j] = common_ancestor(node[j], tree[row, j], parent, depth)


@kernel
def _admitted(sensitive: Any, row: int, counts: Any, distinct: Any, slots: int, rule: Any) -> bool:
    """Whether a row may take one of the slots that a class still has.

    The last slots are for values that the class does not have, until it has enough different ones;
    and no value may have more rows than its part.
    """
    least, most = rule
    for j in range(sensitive.shape[1]):
        count = counts[j, sensitive[row, j]]
        if count >= most[j] or (count > 0 and least[j] - distinct[j] >= slots):
            return False
    return True


@kernel
def grow_classes(
    columns: Any,
    rows: Any,
    size: int,
    n_near: int,
    sensitive: Any,
    values: Any,
    rule: Any,
    labels: Any,
    first: int,
) -> int:
    """Partition most rows of a block into classes of ``size`` rows.

    The first row of a class is the one that is farthest from that of the class before, so that
    outliers find company while there is some. The nearest rows to it are candidates, and the class
    takes the candidate that opens the least until it is full.

    Parameters
    ----------
    columns : tuple
        The columns.
    rows : ndarray of int
        Rows of the block.
    size : int
        Number of rows of every class.
    n_near : int
        Number of candidates.
    sensitive, values
        Sensitive codes and their numbers of values; no columns where diversity is not asked for.
    rule : tuple (least, most) of ndarray
        Least number of different values of a class, and most rows of it with one value, by column.
    labels : ndarray of int
        Labels of all rows; those of classes are set, rows of the block that are left stay free.
    first : int
        Label of the first class.

    Returns
    -------
    n : int
        Label after the last class.
    """
    n_rows = len(rows)
    pool = rows.copy()  # rows that are free, in the first places
    n_num, n_cat, n_tree = columns[0].shape[1], columns[1].shape[1], columns[3].shape[1]
    low, high = np.empty(n_num), np.empty(n_num)
    codes, n_codes = np.empty((n_cat, size), np.int32), np.zeros(n_cat, np.int64)
    node = np.empty(n_tree, np.int64)
    n_sensitive = sensitive.shape[1]
    n_values = values.max() if n_sensitive > 0 else 0
    counts = np.zeros((n_sensitive, n_values), np.int64)
    distinct = np.zeros(n_sensitive, np.int64)
    distance = np.empty(n_rows)
    taken = np.empty(size, np.int64)
    label = first
    free = n_rows
    for a in range(free):
        distance[a] = pair_penalty(columns, rows[0], pool[a])
    while free >= size:
        # Seed: the free row that is farthest from the seed of the class before.
        seed_place = np.argmax(distance[:free])
        seed = pool[seed_place]
        pool[0], pool[seed_place] = seed, pool[0]
        for a in range(free):
            distance[a] = pair_penalty(columns, seed, pool[a])
        near = free
        if free > n_near:  # candidates to the front
            limit = np.partition(distance[:free], n_near - 1)[n_near - 1]
            near = 1
            for a in range(1, free):
                if distance[a] <= limit and near < 4 * n_near:
                    pool[a], pool[near] = pool[near], pool[a]
                    distance[a], distance[near] = distance[near], distance[a]
                    near += 1
        _begin(columns, seed, low, high, codes, n_codes, node)
        counts[:] = 0
        for j in range(n_sensitive):
            counts[j, sensitive[seed, j]] = 1
            distinct[j] = 1
        taken[0] = 0
        number = 1
        # Greedy growth by the row that opens the class least: of those near the seed, or of all
        # free rows where none of these keeps the class able to become diverse.
        while number < size:
            best, best_place = np.inf, -1
            upto = near
            while True:
                for a in range(upto):
                    used = False
                    for b in range(number):
                        if taken[b] == a:
                            used = True
                            break
                    if used:
                        continue
                    row = pool[a]
                    if n_sensitive > 0 and not _admitted(
                        sensitive, row, counts, distinct, size - number, rule
                    ):
                        continue
                    opened = _opens(columns, row, low, high, codes, n_codes, node, best)
                    if opened < best:
                        best, best_place = opened, a
                if best_place >= 0 or upto == free:
                    break
                upto = free
            if best_place < 0:
                break
            row = pool[best_place]
            _join(columns, row, low, high, codes, n_codes, node)
            taken[number] = best_place
            number += 1
            for j in range(n_sensitive):
                if counts[j, sensitive[row, j]] == 0:
                    distinct[j] += 1
                counts[j, sensitive[row, j]] += 1
        if number < size:
            break  # what is free is no longer diverse enough
        # The class is full: label its rows, and take them out of the pool.
        for b in range(size):
            labels[pool[taken[b]]] = label
        label += 1
        places = np.sort(taken)
        for b in range(size - 1, -1, -1):  # from the back, so that places stay what they are
            free -= 1
            pool[places[b]] = pool[free]
            distance[places[b]] = distance[free]
    return label
