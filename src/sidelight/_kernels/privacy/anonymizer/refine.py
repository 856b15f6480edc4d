"""Refinement: rows move between classes, or change places, where that lowers the penalty.

The move rule of section 16.5.1: a row goes from one class to another only if both satisfy the
conditions afterwards. Where a class has no row to spare, two rows of different classes change
places, the shortest cycle that resolves a deadlock.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sidelight._kernels import kernel
from sidelight._kernels.privacy.anonymizer.diversity import rows_are_diverse
from sidelight._kernels.privacy.anonymizer.penalty import (
    common_ancestor,
    open_set,
    penalty_of_rows,
    span,
)

#: A change has to lower the penalty by more than what may be rounding.
MIN_GAIN = 1e-9

#: Classes of one pass with which a row may change places, and rows of them that are tried.
N_TARGETS, N_PARTNERS = 4, 12


@kernel
def _summarize(
    columns: Any,
    members: Any,
    size: int,
    low: Any,
    high: Any,
    mask: Any,
    number: Any,
    node: Any,
    seen: Any,
) -> float:
    """Set ranges, sets and nodes of a class; return its penalty."""
    num, cat, domain, tree, parent, depth, open_ = columns
    total = 0.0
    for j in range(num.shape[1]):
        low[j], high[j] = np.inf, -np.inf
        for a in range(size):
            value = num[members[a], j]
            low[j] = min(low[j], value)
            high[j] = max(high[j], value)
        total += span(low[j], high[j])
    for j in range(cat.shape[1]):
        seen[-1] += 1
        mark = seen[-1]
        bits = np.uint64(0)
        number[j] = 0
        for a in range(size):
            code = cat[members[a], j]
            if seen[code] != mark:
                seen[code] = mark
                number[j] += 1
                bits |= np.uint64(1) << np.uint64(code & 63)
        mask[j] = bits
        total += open_set(number[j], domain[j])
    for j in range(tree.shape[1]):
        node[j] = tree[members[0], j]
        for a in range(1, size):
            node[j] = common_ancestor(node[j], tree[members[a], j], parent, depth)
        total += open_[node[j]]
    return total


@kernel
def _holds(cat: Any, j: int, code: int, members: Any, size: int, bits: Any, exact: bool) -> bool:
    """Whether a row of a class has a category; ``bits`` are exact for up to 64 categories."""
    if not (bits >> np.uint64(code & 63)) & np.uint64(1):
        return False
    if exact:
        return True
    for a in range(size):  # noqa: SIM110 - a loop is what compiles
        if cat[members[a], j] == code:
            return True
    return False


@kernel
def _penalty_with(
    columns: Any,
    row: int,
    members: Any,
    size: int,
    low: Any,
    high: Any,
    mask: Any,
    number: Any,
    node: Any,
) -> float:
    """Penalty of a class and one more row."""
    num, cat, domain, tree, parent, depth, open_ = columns
    total = 0.0
    for j in range(num.shape[1]):
        value = num[row, j]
        total += span(min(low[j], value), max(high[j], value))
    for j in range(cat.shape[1]):
        held = _holds(cat, j, cat[row, j], members, size, mask[j], domain[j] <= 64)
        total += open_set(number[j] + (0 if held else 1), domain[j])
    for j in range(tree.shape[1]):
        total += open_[common_ancestor(node[j], tree[row, j], parent, depth)]
    return total


@kernel
def _replaced(columns: Any, members: Any, size: int, place: int, row: int, seen: Any) -> float:
    """Penalty of a class in which another row has one of the places."""
    before = members[place]
    members[place] = row
    penalty = penalty_of_rows(columns, members, size, -1, seen)
    members[place] = before
    return penalty


@kernel
def refine_block(
    columns: Any,
    rows: Any,
    starts: Any,
    least: int,
    largest: int,
    sensitive: Any,
    values: Any,
    rule: Any,
    out: Any,
    n_codes: int,
) -> tuple[float, int]:
    """Visit every row of some classes once, and move it or let it change places.

    Parameters
    ----------
    columns : tuple
        The columns.
    rows : ndarray of int
        Rows of the classes, those of a class next to each other.
    starts : ndarray of int
        Where each class begins, and the end.
    least : int
        Least number of rows of a class.
    largest : int
        Classes of more rows stay as they are.
    sensitive, values, rule
        Sensitive codes, their numbers of values, and the model of diversity.
    out : ndarray of int
        Class of every place of ``rows`` afterwards.
    n_codes : int
        Largest number of categories of a column.

    Returns
    -------
    gain : float
        By how much the sum of the penalties of the rows is lower.
    n_changes : int
        Number of moves and exchanges.
    """
    num, cat, tree = columns[0], columns[1], columns[3]
    n_classes = len(starts) - 1
    sizes = np.empty(n_classes, np.int64)
    for i in range(n_classes):
        sizes[i] = starts[i + 1] - starts[i]
    room = largest + 1
    members = np.empty((n_classes, room), np.int64)
    places = np.empty((n_classes, room), np.int64)
    low, high = np.empty((n_classes, num.shape[1])), np.empty((n_classes, num.shape[1]))
    mask = np.zeros((n_classes, cat.shape[1]), np.uint64)
    number = np.zeros((n_classes, cat.shape[1]), np.int64)
    node = np.zeros((n_classes, tree.shape[1]), np.int64)
    penalty = np.zeros(n_classes)
    seen = np.zeros(n_codes + 1, np.int64)
    # Summaries of the classes: ranges, sets of categories, nodes of hierarchies, penalties.
    for i in range(n_classes):
        for a in range(sizes[i]):
            out[starts[i] + a] = i
        if sizes[i] > largest:
            continue
        for a in range(sizes[i]):
            members[i, a] = rows[starts[i] + a]
            places[i, a] = starts[i] + a
        penalty[i] = _summarize(
            columns, members[i], sizes[i], low[i], high[i], mask[i], number[i], node[i], seen
        )
    targets, opened = np.empty(N_TARGETS, np.int64), np.empty(N_TARGETS)
    gained, n_changes = 0.0, 0
    # Visit the rows; classes of penalty 0 lose nothing, those that are too large stay.
    for i in range(n_classes):
        if sizes[i] > largest or penalty[i] <= 0.0:
            continue
        a = -1
        while a + 1 < sizes[i]:
            a += 1
            row = members[i, a]
            # A move may leave neither too few rows nor too little diversity behind.
            spare = sizes[i] > least and rows_are_diverse(
                sensitive, values, members[i], sizes[i], a, -1, rule
            )
            alone = penalty_of_rows(columns, members[i], sizes[i], a, seen) if sizes[i] > 1 else 0.0
            if alone >= penalty[i] - MIN_GAIN and not spare:
                continue
            # Gain of the class that is left; a move pays if that of the target rises by less.
            relief = sizes[i] * penalty[i] - (sizes[i] - 1) * alone
            targets[:] = -1
            opened[:] = np.inf
            best_move, best_cost = -1, relief - MIN_GAIN
            for j in range(n_classes):
                if j == i or sizes[j] > largest:
                    continue
                joint = _penalty_with(
                    columns, row, members[j], sizes[j], low[j], high[j], mask[j], number[j], node[j]
                )
                cost = (sizes[j] + 1) * joint - sizes[j] * penalty[j]
                if (
                    spare
                    and sizes[j] < largest
                    and cost < best_cost
                    and rows_are_diverse(sensitive, values, members[j], sizes[j], -1, row, rule)
                ):
                    best_move, best_cost = j, cost
                # Keep the classes that the row would open least, as partners of an exchange.
                extra = sizes[j] * (joint - penalty[j])
                if extra < opened[N_TARGETS - 1]:
                    b = N_TARGETS - 1
                    while b > 0 and opened[b - 1] > extra:
                        opened[b], targets[b] = opened[b - 1], targets[b - 1]
                        b -= 1
                    opened[b], targets[b] = extra, j
            # The best move, if there is one: the last row takes its place and is visited next.
            if best_move >= 0:
                j = best_move
                members[j, sizes[j]], places[j, sizes[j]] = row, places[i, a]
                out[places[i, a]] = j
                sizes[j] += 1
                sizes[i] -= 1
                members[i, a], places[i, a] = members[i, sizes[i]], places[i, sizes[i]]
                gained += relief - best_cost
                n_changes += 1
                for c in (i, j):
                    penalty[c] = _summarize(
                        columns,
                        members[c],
                        sizes[c],
                        low[c],
                        high[c],
                        mask[c],
                        number[c],
                        node[c],
                        seen,
                    )
                a -= 1
                continue
            # Otherwise the best exchange with some rows of these classes; sizes do not change.
            best, best_j, best_b = -MIN_GAIN, -1, -1
            for t in range(N_TARGETS):
                j = targets[t]
                if j < 0:
                    break
                step = max(1, sizes[j] // N_PARTNERS)
                for b in range(a % step, sizes[j], step):
                    other = members[j, b]
                    mine = _replaced(columns, members[i], sizes[i], a, other, seen)
                    change = sizes[i] * (mine - penalty[i])
                    # Bound: the other class can gain no more than all of its penalty.
                    if change - sizes[j] * penalty[j] >= best:
                        continue
                    theirs = _replaced(columns, members[j], sizes[j], b, row, seen)
                    change += sizes[j] * (theirs - penalty[j])
                    if (
                        change < best
                        and rows_are_diverse(
                            sensitive, values, members[i], sizes[i], a, other, rule
                        )
                        and rows_are_diverse(sensitive, values, members[j], sizes[j], b, row, rule)
                    ):
                        best, best_j, best_b = change, j, b
            # Both classes are diverse after the exchange, as was checked: carry it out.
            if best_j >= 0:
                j, b = best_j, best_b
                out[places[i, a]], out[places[j, b]] = j, i
                members[i, a], members[j, b] = members[j, b], members[i, a]
                places[i, a], places[j, b] = places[j, b], places[i, a]
                gained -= best
                n_changes += 1
                for c in (i, j):
                    penalty[c] = _summarize(
                        columns,
                        members[c],
                        sizes[c],
                        low[c],
                        high[c],
                        mask[c],
                        number[c],
                        node[c],
                        seen,
                    )
    return gained, n_changes


@kernel
def attach_rows(
    columns: Any,
    rows: Any,
    labels: Any,
    n_classes: int,
    sensitive: Any,
    values: Any,
    rule: Any,
    n_codes: int,
) -> int:
    """Dissolve classes of a block that are not diverse, and give free rows to the others.

    A row goes to the class whose penalties rise least, of those that stay diverse with it. Rows
    that no class can take are tried again as long as classes change.

    Parameters
    ----------
    columns : tuple
        The columns.
    rows : ndarray of int
        Rows of the block.
    labels : ndarray of int
        Class of every row of the block, below 0 for free ones; changed in place.
    n_classes : int
        Number of classes.
    sensitive, values, rule
        Sensitive codes, their numbers of values, and the model of diversity.
    n_codes : int
        Largest number of categories of a column.

    Returns
    -------
    n_free : int
        Number of rows that no class can take.
    """
    num, cat, tree = columns[0], columns[1], columns[3]
    n = len(rows)
    sizes = np.zeros(n_classes, np.int64)
    for a in range(n):
        if labels[a] >= 0:
            sizes[labels[a]] += 1
    n_free = n - sizes.sum()
    # Rows of every class, in lists that can grow.
    lists = [np.empty(size + 8, np.int64) for size in sizes]
    sizes[:] = 0
    for a in range(n):
        c = labels[a]
        if c >= 0:
            lists[c][sizes[c]] = rows[a]
            sizes[c] += 1
    alive = sizes > 0
    # Dissolve the classes that are not diverse: their rows become free.
    for c in range(n_classes):
        if alive[c] and not rows_are_diverse(sensitive, values, lists[c], sizes[c], -1, -1, rule):
            alive[c] = False
    for a in range(n):
        if labels[a] >= 0 and not alive[labels[a]]:
            labels[a] = -1
            n_free += 1
    low, high = np.empty((n_classes, num.shape[1])), np.empty((n_classes, num.shape[1]))
    mask = np.zeros((n_classes, cat.shape[1]), np.uint64)
    number = np.zeros((n_classes, cat.shape[1]), np.int64)
    node = np.zeros((n_classes, tree.shape[1]), np.int64)
    penalty = np.zeros(n_classes)
    seen = np.zeros(n_codes + 1, np.int64)
    # Summaries of the classes that stay.
    for c in range(n_classes):
        if not alive[c]:
            continue
        penalty[c] = _summarize(
            columns, lists[c], sizes[c], low[c], high[c], mask[c], number[c], node[c], seen
        )
    changed = True
    # A row that joins may make its class diverse enough for another one: repeat while any joins.
    while n_free > 0 and changed:
        changed = False
        for a in range(n):
            if labels[a] >= 0:
                continue
            row = rows[a]
            best, chosen = np.inf, -1
            for c in range(n_classes):
                if not alive[c]:
                    continue
                joint = _penalty_with(
                    columns, row, lists[c], sizes[c], low[c], high[c], mask[c], number[c], node[c]
                )
                # Increase of the total penalty, for the rows of the class and the new one.
                cost = (sizes[c] + 1) * joint - sizes[c] * penalty[c]
                if cost < best and rows_are_diverse(
                    sensitive, values, lists[c], sizes[c], -1, row, rule
                ):
                    best, chosen = cost, c
            if chosen < 0:
                continue
            if sizes[chosen] == len(lists[chosen]):
                longer = np.empty(2 * sizes[chosen], np.int64)
                longer[: sizes[chosen]] = lists[chosen]
                lists[chosen] = longer
            lists[chosen][sizes[chosen]] = row
            sizes[chosen] += 1
            labels[a] = chosen
            penalty[chosen] = _summarize(
                columns,
                lists[chosen],
                sizes[chosen],
                low[chosen],
                high[chosen],
                mask[chosen],
                number[chosen],
                node[chosen],
                seen,
            )
            n_free -= 1
            changed = True
    return n_free


@kernel
def nearest_class(
    new: Any, domain: Any, trees: Any, low: Any, high: Any, sets: Any, set_starts: Any, node: Any
) -> Any:
    """For new rows, the class whose penalty grows least when the row joins it.

    Parameters
    ----------
    new : tuple (num, cat, tree)
        New rows as positions, codes and leaves.
    domain : ndarray
        Number of categories of every column.
    trees : tuple (parent, depth, open)
        Nodes of the hierarchies.
    low, high : ndarray of shape (n_classes, n_numbers)
        Ranges of the classes.
    sets : ndarray of int
        Categories of the classes, one class and column after the other.
    set_starts : ndarray of shape (n_classes, n_categories + 1)
        Where the categories of each class and column begin.
    node : ndarray of shape (n_classes, n_trees)
        Nodes of the classes.
    """
    num, cat, tree = new
    parent, depth, open_ = trees
    found = np.empty(len(num), np.int32)
    for row in range(len(num)):
        best, chosen = np.inf, 0
        for c in range(len(low)):
            total = 0.0
            for j in range(num.shape[1]):
                value = num[row, j]
                before = span(low[c, j], high[c, j])
                total += span(min(low[c, j], value), max(high[c, j], value)) - before
            for j in range(cat.shape[1]):
                if total >= best:
                    break
                start, end = set_starts[c, j], set_starts[c, j + 1]
                held = False
                for a in range(start, end):
                    if sets[a] == cat[row, j]:
                        held = True
                        break
                if not held:
                    total += open_set(end - start + 1, domain[j]) - open_set(end - start, domain[j])
            for j in range(tree.shape[1]):
                joint = common_ancestor(node[c, j], tree[row, j], parent, depth)
                total += open_[joint] - open_[node[c, j]]
            if total < best:
                best, chosen = total, c
        found[row] = chosen
    return found


@kernel
def nearest_union(
    columns: Any,
    members: Any,
    starts: Any,
    which: int,
    sensitive: Any,
    values: Any,
    rule: Any,
    seen: Any,
) -> int:
    """The class whose union with another one raises the penalties of both least.

    Of those whose union with it is diverse, if there are some.
    """
    mine = members[starts[which] : starts[which + 1]]
    alone = len(mine) * penalty_of_rows(columns, mine, len(mine), -1, seen)
    best, nearest, best_diverse, nearest_diverse = np.inf, -1, np.inf, -1
    for c in range(len(starts) - 1):
        if c == which:
            continue
        theirs = members[starts[c] : starts[c + 1]]
        both = np.concatenate((mine, theirs))
        rise = len(both) * penalty_of_rows(columns, both, len(both), -1, seen) - alone
        rise -= len(theirs) * penalty_of_rows(columns, theirs, len(theirs), -1, seen)
        if rise < best:
            best, nearest = rise, c
        if rise < best_diverse and rows_are_diverse(
            sensitive, values, both, len(both), -1, -1, rule
        ):
            best_diverse, nearest_diverse = rise, c
    return nearest_diverse if nearest_diverse >= 0 else nearest
