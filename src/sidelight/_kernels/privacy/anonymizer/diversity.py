"""Diversity of the sensitive values of a class, and their closeness to those of all rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from sidelight._kernels import kernel

DISTINCT, ENTROPY, RECURSIVE, RECURSIVE_PUBLISHED = 0, 1, 2, 3

#: Entropies that are equal but for rounding count as equal: log l of l equal counts; distances too.
ROUNDING = 5e-13
#: Up to so many values are counted in an array of all; of more, those of a class are sorted.
FEW_VALUES = 64


@kernel
def is_diverse(counts: Any, model: int, least: int, constant: float) -> bool:
    """Whether counts of sensitive values, some of which may be 0, satisfy a model.

    Parameters
    ----------
    counts : ndarray of int
        Number of rows of every value.
    model : int
        DISTINCT, ENTROPY, RECURSIVE or RECURSIVE_PUBLISHED.
    least : int
        The ``l`` of the model.
    constant : float
        The ``c`` of the recursive models.
    """
    if least <= 1:
        return True
    present = 0
    total = 0
    for count in counts:
        if count > 0:
            present += 1
            total += count
    if present < least:  # follows from every model
        return False
    if model == DISTINCT:
        return True
    if model == ENTROPY:
        entropy = 0.0
        for count in counts:
            if count > 0:
                share = count / total
                entropy -= share * np.log(share)
        return entropy >= np.log(least) - ROUNDING
    ordered = np.empty(present, np.int64)
    place = 0
    for count in counts:
        if count > 0:
            ordered[place] = count
            place += 1
    ordered.sort()
    # All values but the l - 1 most frequent, or, as the text has it, the l least frequent ones.
    in_tail = present - least + 1 if model == RECURSIVE else least
    return ordered[-1] < constant * ordered[:in_tail].sum()


@kernel
def _area(below: Any, sums: Any, start: int, end: int, level: float) -> float:
    """Sum of ``|level - below|`` over places from ``start`` to before ``end``; below ascends."""
    first, last = start, end
    while first < last:  # the first place that is above the level
        middle = (first + last) // 2
        if below[middle] <= level:
            first = middle + 1
        else:
            last = middle
    under = level * (first - start) - (sums[first] - sums[start])
    return under + (sums[end] - sums[first]) - level * (end - first)


@kernel
def distance_to_all(
    found: Any, counts: Any, present: int, below: Any, sums: Any, n_values: int, ordered: bool
) -> float:
    """Distance between the distribution of a class and that of all rows.

    Of values with an order the earth mover's distance over their ranks, which is the mean distance
    of the two distribution functions; of others the total variation.

    Parameters
    ----------
    found, counts : ndarray of int
        Values of the class, ascending, and their numbers of rows, in the first places.
    present : int
        Number of different values of the class.
    below : ndarray
        Share of all rows up to every value; without an order, share of every value.
    sums : ndarray
        Sums of ``below`` before every value.
    n_values : int
        Number of values.
    ordered : bool
        Whether the values have an order.
    """
    total = counts[:present].sum()
    distance = 0.0
    if not ordered:  # what a class has more of, some other value has less of
        for a in range(present):
            distance += max(counts[a] / total - below[found[a]], 0.0)
        return distance
    if n_values < 2:
        return 0.0
    level, start = 0.0, 0
    for a in range(present):
        distance += _area(below, sums, start, found[a], level)
        level += counts[a] / total
        start = found[a]
    distance += _area(below, sums, start, n_values - 1, level)
    return distance / (n_values - 1)


@kernel
def _count_values(codes: Any, size: int, n_values: int, found: Any, counts: Any) -> int:
    """Count the values of a class: which, ascending, and how often; return how many differ."""
    present = 0
    if n_values <= FEW_VALUES:
        of_value = np.zeros(n_values, np.int64)
        for a in range(size):
            of_value[codes[a]] += 1
        for value in range(n_values):
            if of_value[value] > 0:
                found[present], counts[present] = value, of_value[value]
                present += 1
        return present
    ordered = codes[:size].copy()
    ordered.sort()
    for a in range(size):
        if a == 0 or ordered[a] != ordered[a - 1]:
            found[present], counts[present] = ordered[a], 0
            present += 1
        counts[present - 1] += 1
    return present


@kernel
def rows_are_diverse(
    sensitive: Any, values: Any, rows: Any, size: int, without: int, extra: int, rule: Any
) -> bool:
    """Whether rows of a class satisfy the rule in every sensitive column.

    Parameters
    ----------
    sensitive : ndarray of shape (n, q)
        Codes of the sensitive values.
    values : ndarray of shape (q,)
        Number of values of every sensitive column.
    rows : ndarray of int
        Rows of the class, in the first ``size`` places.
    size : int
        Number of rows.
    without : int
        Place that does not count; -1 for none.
    extra : int
        Row that counts too; -1 for none.
    rule : tuple (model, l, c, t, below, sums, ordered)
        The model of diversity, the largest distance to the distribution of all rows, and these
        distributions; see :func:`distance_to_all`.
    """
    model, least, constant, most, below, sums, ordered = rule
    if least <= 1 and most >= 1.0:
        return True
    codes = np.empty(size + 1, np.int64)
    found, counts = np.empty(size + 1, np.int64), np.empty(size + 1, np.int64)
    for j in range(sensitive.shape[1]):
        number = 0
        for a in range(size):
            if a != without:
                codes[number] = sensitive[rows[a], j]
                number += 1
        if extra >= 0:
            codes[number] = sensitive[extra, j]
            number += 1
        present = _count_values(codes, number, values[j], found, counts)
        if not is_diverse(counts[:present], model, least, constant):
            return False
        if most < 1.0 and present > 0:
            distance = distance_to_all(
                found, counts, present, below[j], sums[j], values[j], ordered[j]
            )
            if distance > most + ROUNDING:
                return False
    return True


@kernel
def classes_hold(
    sensitive: Any, values: Any, members: Any, starts: Any, least: int, rule: Any
) -> Any:
    """Whether classes, whose rows are consecutive in ``members``, are large and diverse enough."""
    hold = np.zeros(len(starts) - 1, np.bool_)
    for c in range(len(starts) - 1):
        rows = members[starts[c] : starts[c + 1]]
        hold[c] = len(rows) >= least and rows_are_diverse(
            sensitive, values, rows, len(rows), -1, -1, rule
        )
    return hold
