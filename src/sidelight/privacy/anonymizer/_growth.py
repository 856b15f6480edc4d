"""How classes grow: their size, and which sensitive values a class may take.

A class that grows to the right size, with no value in more rows than its part, satisfies the
conditions when it is full. The size is the smallest for which there is such a part.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sidelight._kernels.privacy.anonymizer.diversity import is_diverse
from sidelight._typing import Array, IntArray
from sidelight.privacy.anonymizer._columns import Column
from sidelight.privacy.anonymizer._conditions import ClassConditions

#: Random classes with a row of every part of a distribution, and the share of them that has to be
#: as close to the whole as asked for.
TRIALS, MOST_TRIALS = 50, 0.8
#: Sizes of close classes, in times of the smallest.
CLOSE_TIMES = (1, 2, 4)
#: By how much classes are larger in the next attempt.
LARGER = 1.25


@dataclass(frozen=True, eq=False)
class Growth:
    """What classes grow by.

    Attributes
    ----------
    size : int
        Number of rows of a class.
    codes : ndarray of shape (n_rows, q)
        Values of which a class takes different ones: of the sensitive columns, and parts of their
        distributions.
    n_values : ndarray of int
        Number of values of each of these columns.
    least : ndarray of int
        Least number of different values of a class, by column.
    most : ndarray of int
        Most rows of a class with one value, by column.
    """

    size: int
    codes: Array
    n_values: IntArray
    least: IntArray
    most: IntArray


def growths_for(conditions: ClassConditions, n_rows: int) -> list[Growth]:
    """Ways to grow, of which every block of rows takes the one that loses least.

    Classes that are valid when they are full; and small ones of which those that are not valid
    have to be repaired, which loses less where most are.
    """
    codes, n_values = conditions.codes, conditions.n_values
    if not codes.shape[1]:
        codes = np.zeros((n_rows, 0), np.int32)
    small = max(conditions.k, conditions.least)
    repaired = _growth(small, codes, n_values, conditions.least, small)
    if conditions.t < 1:
        return [*_close_growths(conditions, codes), repaired]
    if conditions.least <= 1 or conditions.model == "distinct":
        return [repaired]
    ways = [
        _growth(size, codes, n_values, conditions.least, part) for size, part in _sizes(conditions)
    ]
    return [*ways, repaired] if conditions.unions_hold else ways[-1:]


def _growth(size: int, codes: Array, n_values: IntArray, least: int, most: int) -> Growth:
    q = codes.shape[1]
    return Growth(size, codes, n_values, np.full(q, least), np.full(q, most))


def _close_growths(conditions: ClassConditions, codes: Array) -> list[Growth]:
    """Classes of a row of every part of each distribution, which are close to all rows.

    Larger ones have company where the parts of several columns are hard to have at once.
    """
    size = max(conditions.k, conditions.least)
    if conditions.least > 1 and conditions.model != "distinct":
        size = _sizes(conditions)[0][0]
    size = max(_close_size(column, size, conditions.t) for column in conditions.columns)
    return [_close_growth(conditions, codes, size * times) for times in CLOSE_TIMES]


def _close_growth(conditions: ClassConditions, codes: Array, size: int) -> Growth:
    parts = [_parts_of(column, size) for column in conditions.columns]
    most = (_part(conditions, size) or size) if conditions.least > 1 else size
    q = codes.shape[1]
    return Growth(
        size,
        np.column_stack([codes, *parts]).astype(np.int32),
        np.append(conditions.n_values, np.full(q, size)),
        np.append(np.full(q, conditions.least), np.zeros(q, np.int64)),
        np.append(np.full(q, most), np.ones(q, np.int64)),
    )


def _sizes(conditions: ClassConditions) -> list[tuple[int, int]]:
    """Sizes of diverse classes, and the most rows of them that may have one value.

    The smallest, which may need more values than are frequent; and that of equally frequent values.
    """
    least = conditions.least
    n_even = least
    if conditions.model == "recursive":  # r < c (v - l + 1) r
        n_even = max(least, int(np.floor(least - 1 + 1 / conditions.c)) + 1)
    even = -(-conditions.k // n_even) * n_even
    sizes = range(max(conditions.k, least), even)
    smallest = next(((size, part) for size in sizes if (part := _part(conditions, size))), None)
    return [*([] if smallest is None else [smallest]), (even, even // n_even)]


def _part(conditions: ClassConditions, size: int) -> int:
    """Most rows of a class that may have one value, whatever the others have; 0 for none."""
    model, least, constant = conditions.rule[:3]
    for most in range(size, 0, -1):
        counts = _most_uneven(size, most, least)
        if len(counts) and is_diverse(counts, model, least, constant):
            return most
    return 0


def _most_uneven(size: int, most: int, least: int) -> IntArray:
    """Counts of ``least`` values or more, as uneven as can be: all others are more diverse."""
    if size < least:
        return np.zeros(0, np.int64)
    counts = np.ones(least, np.int64)
    spare = size - least
    for place in range(least):
        more = min(most - 1, spare)
        counts[place] += more
        spare -= more
    full, rest = divmod(spare, most)
    return np.concatenate([counts, np.full(full, most), np.full(int(rest > 0), rest)])


def _parts_of(column: Column, size: int) -> IntArray:
    """Equal parts of the rows, in the order of their values."""
    n_rows = len(column.codes)
    parts = np.empty(n_rows, np.int64)
    parts[np.argsort(column.codes, kind="stable")] = np.arange(n_rows) * size // n_rows
    return parts


def _close_size(column: Column, size: int, t: float) -> int:
    """Size of classes that are close to all rows if they have a row of each of as many parts."""
    n_rows, n_values = len(column.codes), len(column.values)
    ordered = np.sort(column.codes)
    everywhere = np.bincount(ordered, minlength=n_values) / n_rows
    rng = np.random.RandomState(0)
    while size < n_rows // 2:
        starts = np.arange(size) * n_rows / size
        drawn = ordered[
            (starts + rng.uniform(size=(TRIALS, size)) * n_rows / size).astype(np.int64)
        ]
        cells = (np.arange(TRIALS)[:, None] * n_values + drawn).ravel()
        shares = np.bincount(cells, minlength=TRIALS * n_values).reshape(TRIALS, n_values) / size
        if column.is_ordered:
            gaps = np.abs(np.cumsum(shares - everywhere, axis=1))[:, :-1].sum(axis=1)
            distance = gaps / max(n_values - 1, 1)
        else:
            distance = np.maximum(shares - everywhere, 0.0).sum(axis=1)
        if np.quantile(distance, MOST_TRIALS) <= t:
            return size
        size = max(size + 1, int(LARGER * size))
    return n_rows
