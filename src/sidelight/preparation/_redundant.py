"""Columns of a table that say the same, so that it would count several times.

A table may hold the hour of a departure, its clock time and its timestamp, a weight in kilograms
and in pounds, a code and its name. What counts in a distance are *aspects*: a number, an ordered
category, the trend or a cycle of a date. Two of them say the same if

* they order the rows alike: no two rows are in another order, and the rank correlation is at least
  ``LEAST_CORRELATION``, so that none is much coarser than the other; or
* they have few values, of which each stands for one of the other.

Aspects that say the same count once together: of the weights ``b`` of an aspect and its like,
each gets the share ``max b / Σ b``. Those that have a rank correlation as large without the same
order, as planned and real departures, differ in what may matter: they are noted, and count each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sidelight._typing import Array, FloatArray, IntArray
from sidelight._words import listed

#: Rows that are looked at, and the least number of them that both aspects are known in.
SAMPLE, FEWEST_ROWS = 2_000, 20
#: Least rank correlation of aspects that say the same, or nearly.
LEAST_CORRELATION = 0.95
#: Rows that have another value than the most frequent one: a single one is alike by chance.
FEWEST_OTHERS = 10
#: Aspects with at most this many values may be names of each other.
MAX_VALUES = 50
#: Tables with more aspects are not searched: all pairs are compared.
MAX_ASPECTS = 2_000
#: Pairs whose order is compared, the most alike first, and the rows that are looked at first.
MAX_PAIRS, FIRST_LOOK = 5_000, 100


@dataclass(frozen=True)
class Aspect:
    """What counts in a distance: a column, or a part of a date.

    Attributes
    ----------
    column : str
        Name of the column.
    part : str
        Part of a date; empty for the whole column.
    values : ndarray
        Values in the rows that are looked at, NaN where missing.
    weight : float
        How many features it counts as; 0 for a part that is no feature.
    ordered : bool
        Whether the values have an order.
    """

    column: str
    part: str
    values: FloatArray
    weight: float
    ordered: bool = True

    @property
    def name(self) -> str:
        """Name for the table of decisions."""
        return f"{self.column} ({self.part})" if self.part else self.column


@dataclass(frozen=True)
class Likeness:
    """Which aspects say the same as one.

    Attributes
    ----------
    same : tuple of Aspect
        Aspects of other columns that say the same.
    share : float
        What is left of its weight.
    near : Aspect or None
        The aspect of another column that ranks the rows most alike, without saying the same.
    correlation : float
        Their rank correlation.
    """

    same: tuple[Aspect, ...] = ()
    share: float = 1.0
    near: Aspect | None = None
    correlation: float = 0.0


def sampled_rows(n_rows: int) -> IntArray:
    """Positions of the rows that are looked at, the same for all columns."""
    return np.unique(np.linspace(0, n_rows - 1, min(n_rows, SAMPLE)).astype(np.int64))


def find_likeness(aspects: Sequence[Aspect]) -> list[Likeness]:
    """Find aspects that say the same, and those that nearly do.

    Parameters
    ----------
    aspects : sequence of Aspect
        The aspects of all columns.

    Returns
    -------
    list of Likeness
        One per aspect.
    """
    n = len(aspects)
    if not 1 < n <= MAX_ASPECTS:
        return [Likeness()] * n
    correlations = _rank_correlations(aspects)
    same = _same_names(aspects)
    pairs = np.argwhere(np.triu(np.abs(correlations) >= LEAST_CORRELATION, 1))
    order = np.argsort(-np.abs(correlations[tuple(pairs.T)]), kind="stable")
    for first, second in pairs[order][:MAX_PAIRS].tolist():
        if _in_one_order(
            aspects[first].values, aspects[second].values, correlations[first, second]
        ):
            same[first, second] = same[second, first] = True
    _, columns = np.unique([one.column for one in aspects], return_inverse=True)
    return [
        _likeness(aspects, place, columns, same[place], correlations[place]) for place in range(n)
    ]


def _likeness(
    aspects: Sequence[Aspect], place: int, columns: IntArray, same: Array, correlations: FloatArray
) -> Likeness:
    """What is like one aspect, out of the parts of other columns."""
    own, elsewhere = aspects[place], columns != columns[place]
    others = [aspects[other] for other in np.flatnonzero(same & elsewhere).tolist()]
    weights = [own.weight, *(one.weight for one in others)]
    share = max(weights) / sum(weights) if own.weight else 1.0
    if others:
        return Likeness(tuple(others), share)
    likeness = np.where(elsewhere, np.abs(correlations), 0.0)
    nearest = int(np.argmax(likeness))
    if likeness[nearest] < LEAST_CORRELATION:
        return Likeness()
    return Likeness(near=aspects[nearest], correlation=float(correlations[nearest]))


def _rank_correlations(aspects: Sequence[Aspect]) -> FloatArray:
    """Rank correlation of all pairs in the rows in which both are known; 0 without an order.

    Ranks are those among the rows in which an aspect is known.
    """
    found = np.zeros((len(aspects), len(aspects)))
    there = [~np.isnan(one.values) for one in aspects]
    places = [
        place
        for place, (one, known) in enumerate(zip(aspects, there, strict=True))
        if one.ordered and _varies(one.values[known])
    ]
    if not places:
        return found
    known = np.column_stack([there[place] for place in places]).astype(np.float64)
    ranks = np.zeros(known.shape)
    for column, place in enumerate(places):
        ranks[there[place], column] = _ranks(aspects[place].values[there[place]])
    found[np.ix_(places, places)] = _correlations(ranks, known)
    return found


def _correlations(ranks: FloatArray, known: FloatArray) -> FloatArray:
    """Correlations of columns of which 0 stands for the mean, and for what is not known."""
    products = ranks.T @ ranks
    if len(ranks) < FEWEST_ROWS:
        return np.zeros(products.shape)
    if known.all():
        deviations = np.sqrt(np.diag(products))
        return np.asarray(products / np.outer(deviations, deviations))
    counts = known.T @ known
    with np.errstate(divide="ignore", invalid="ignore"):
        means = ranks.T @ known / counts  # of the first aspect where the second is known too
        squares = (ranks**2).T @ known / counts - means**2
        found = (products / counts - means * means.T) / np.sqrt(squares * squares.T)
    found[(counts < FEWEST_ROWS) | ~np.isfinite(found)] = 0.0
    return np.asarray(found)


def _ranks(values: FloatArray) -> FloatArray:
    """Middle ranks around their mean, between -1/2 and 1/2."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    middle = (np.cumsum(counts) - counts / 2.0) / len(values)
    return np.asarray(middle[place] - 0.5)


def _varies(values: FloatArray) -> bool:
    """Whether enough rows have another value than the most frequent one."""
    if not len(values):
        return False
    counts = np.unique(values, return_counts=True)[1]
    return bool(len(values) - counts.max() >= FEWEST_OTHERS)


def _in_one_order(first: FloatArray, second: FloatArray, correlation: float) -> bool:
    """Whether no two rows are in another order; in the reverse one for a negative correlation."""
    sign = np.sign(correlation)
    for some in (slice(FIRST_LOOK), slice(None)):  # few rows show that most pairs differ
        x, y = first[some], sign * second[some]
        known = ~(np.isnan(x) | np.isnan(y))
        x, y = x[known], y[known]
        if np.any(np.diff(y[np.lexsort([y, x])]) < 0):
            return False
    return True


def _same_names(aspects: Sequence[Aspect]) -> Array:
    """Whether each value of an aspect stands for one of the other: codes and their names."""
    same = np.zeros((len(aspects), len(aspects)), dtype=bool)
    seen: dict[bytes, list[int]] = {}
    for place, one in enumerate(aspects):
        known = ~np.isnan(one.values)
        distinct, first, codes = np.unique(
            one.values[known], return_index=True, return_inverse=True
        )
        few = len(distinct) <= min(MAX_VALUES, known.sum() // 5)
        if not few or known.sum() < FEWEST_ROWS or not _varies(one.values[known]):
            continue
        by_place = np.empty(len(distinct), dtype=np.int16)  # numbered as they come
        by_place[np.argsort(first)] = np.arange(len(distinct))
        all_codes = np.full(len(known), -1, dtype=np.int16)
        all_codes[known] = by_place[codes]
        for other in seen.setdefault(all_codes.tobytes(), []):
            same[place, other] = same[other, place] = True
        seen[all_codes.tobytes()].append(place)
    return same


def likeness_words(one: Aspect, found: Likeness) -> str:
    """Write what an aspect repeats, for the table of decisions; empty if nothing."""
    its = f"its {one.part} says" if one.part else "says"
    if found.same:
        return f"{its} the same as {listed([other.name for other in found.same])}"
    if found.near is not None and one.weight:
        near = found.near.name
        its = f"its {one.part} ranks" if one.part else "ranks"
        shown = np.trunc(1000.0 * found.correlation) / 1000.0  # never rounded to 1
        return f"{its} rows nearly as {near} does (rank correlation {shown:g})"
    return ""
