"""Traits of clusters: significant differences from all other rows, ranked.

Every column is compared in every cluster of at least ``FEWEST_ROWS`` rows: values with an order by
:mod:`~sidelight.explanation._ranks` and by the ranges of :mod:`~sidelight.explanation._ranges`,
levels, words and missing values by :mod:`~sidelight.explanation._shares`. Named is what has an
effect of at least ``SMALLEST_EFFECT`` and is significant at 5% after Holm's correction for the
number of all comparisons: of columns that have nothing to do with the clusters, anything is named
with a probability of at most 5%.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from sidelight._typing import Array, FloatArray, IntArray
from sidelight.engine import get_threads
from sidelight.explanation._chance import holm
from sidelight.explanation._columns import (
    LEVELS,
    ORDERED,
    missing_rows,
    ordered_values,
)
from sidelight.explanation._comparisons import (
    ColumnDifferences,
    RangeComparison,
    ShareComparison,
    Trait,
    ValueComparison,
    chances_of_values,
)
from sidelight.explanation._ranks import sort_values
from sidelight.explanation._shares import Shares, count_levels
from sidelight.explanation._words import find_words
from sidelight.preparation import TypedColumn

SMALLEST_EFFECT = 0.15
SIGNIFICANCE = 0.05
MAX_LEVELS = 200
CLEARLY = 1.25  # times the effect of the order, to name a range, or a level of an order, beside it
MAX_TEXTS = 20_000
MANY_ROWS = 50_000  # from here on threads save more than they cost


def find_traits(
    columns: Sequence[TypedColumn], codes: IntArray, k: int, seed: int | None
) -> list[tuple[Trait, ...]]:
    """Find the traits of every cluster, the largest effect first.

    Parameters
    ----------
    columns : sequence of TypedColumn
        The columns, in the user's units.
    codes : ndarray of shape (n_rows,)
        Cluster of every row, from 0 to k - 1; -1 for rows that are compared with only.
    k : int
        Number of clusters.
    seed : int or None
        Seed of the choice of texts to read, where there are very many.

    Returns
    -------
    list of tuple of Trait
        One tuple per cluster.
    """
    compared = _compare_all(columns, codes, k, seed)
    tested = [one.possible & _large(one.effect) for one in compared]
    chances = _chances(compared, tested)
    cells = [(p, *cell) for p, cells in enumerate(tested) for cell in np.argwhere(cells).tolist()]
    n_tests = sum(int(one.possible.sum()) for one in compared)
    named: list[list[Trait]] = [[] for _ in range(k)]
    for (place, cluster, level), chance in zip(cells, holm(chances, n_tests).tolist(), strict=True):
        if chance <= SIGNIFICANCE:
            named[cluster].append(compared[place].describe(cluster, level, chance))
    return [_ranked(traits) for traits in named]


def shown(traits: Sequence[Trait], most: int) -> list[Trait]:
    """Choose the traits to show, in their order.

    A level that is rarer is left out where its column has a level that is more frequent by
    half as much: it takes the place of others. Of the words of a column two are enough, and not two
    that come together.
    """
    chosen: list[Trait] = []
    more = _most_frequent(traits)
    for trait in traits:
        listed = [one for one in chosen if one.column == trait.column and one.about == trait.about]
        rarer = trait.about == "level" and trait.effect < 0.0
        if trait.about == "word":
            skipped = len(listed) > 1 or any(_alike(trait, one) for one in listed)
        else:
            skipped = rarer and (bool(listed) or more.get(trait.column, 0.0) >= -trait.effect / 2.0)
        if not skipped:
            chosen.append(trait)
        if len(chosen) == most:
            break
    return chosen


def _most_frequent(traits: Sequence[Trait]) -> dict[str, float]:
    """The largest effect of a level that is more frequent, by column."""
    found: dict[str, float] = {}
    for trait in traits:
        if trait.about == "level":
            found[trait.column] = max(trait.effect, found.get(trait.column, 0.0))
    return found


def _alike(first: Trait, second: Trait) -> bool:
    """Whether two words seem to occur in the same texts."""
    return (first.inside_text, first.rest_text) == (second.inside_text, second.rest_text)


def _compare_all(
    columns: Sequence[TypedColumn], codes: IntArray, k: int, seed: int | None
) -> list[ColumnDifferences]:
    def compare(column: TypedColumn) -> list[ColumnDifferences]:
        return list(_compare(column, codes, k, seed))

    if len(codes) < MANY_ROWS:
        return [one for column in columns for one in compare(column)]
    # Sorting, which takes most of the time, leaves the interpreter to the other threads.
    with ThreadPoolExecutor(max(1, min(get_threads(), len(columns)))) as pool:
        return [one for part in pool.map(compare, columns) for one in part]


def _compare(
    column: TypedColumn, codes: IntArray, k: int, seed: int | None
) -> Iterator[ColumnDifferences]:
    """All the ways in which a column is compared."""
    if column.kind in ORDERED:
        values, units = ordered_values(column)
        known = ~np.isnan(values)
        if known.all():
            in_order = sort_values(values, codes, k)
        else:
            in_order = sort_values(values[known], codes[known], k)
        yield ValueComparison(column.name, units, in_order)
        yield RangeComparison(column.name, units, in_order)
    if column.kind in LEVELS:
        levels = column.levels[:MAX_LEVELS]
        shares = count_levels(column.values, codes, k, len(levels))
        yield ShareComparison(column.name, "level", levels, shares)
    missing = missing_rows(column)
    if missing.any():
        shares = count_levels((~missing).astype(np.int8), codes, k, 1)
        yield ShareComparison(column.name, "missing", ("missing",), shares)
    if column.kind == "text":
        yield _compare_words(column, np.flatnonzero(~missing), codes, k, seed)


def _compare_words(
    column: TypedColumn, rows: IntArray, codes: IntArray, k: int, seed: int | None
) -> ShareComparison:
    if len(rows) > MAX_TEXTS:
        rng = np.random.default_rng(seed)
        rows = np.sort(rng.choice(rows, MAX_TEXTS, replace=False))
    words = find_words(column.values[rows])
    owners = np.where(codes[rows] >= 0, codes[rows], k).astype(np.int64)
    n = len(words.vocabulary)
    cells = owners[words.texts] * n + words.words
    counts = np.bincount(cells, minlength=(k + 1) * n).reshape(k + 1, n)
    sizes = np.bincount(owners, minlength=k + 1)[:k]
    shares = Shares(counts[:k], sizes, counts.sum(axis=0), len(rows))
    return ShareComparison(column.name, "word", words.vocabulary, shares)


def _large(effect: FloatArray) -> Array:
    with np.errstate(invalid="ignore"):
        large: Array = np.abs(effect) >= SMALLEST_EFFECT
    return large


def _chances(compared: Sequence[ColumnDifferences], tested: Sequence[Array]) -> FloatArray:
    """Probability under chance of all tested differences, in their order."""
    values = [
        (one, test)
        for one, test in zip(compared, tested, strict=True)
        if isinstance(one, ValueComparison)
    ]
    of_values = iter(chances_of_values(*map(list, zip(*values, strict=True))) if values else ())
    found: list[FloatArray] = []
    for one, test in zip(compared, tested, strict=True):
        if isinstance(one, ShareComparison):
            found.append(one.chances(test)[test])
        else:
            found.append(np.array([next(of_values) for _ in range(int(test.sum()))]))
    return np.concatenate(found) if found else np.zeros(0)


def _ranked(traits: list[Trait]) -> tuple[Trait, ...]:
    """Sort traits by effect; what follows from a simpler one of the column is left out.

    Of two ranges the one with the larger effect stays, if that clearly exceeds the effect of the
    order, and a level of an ordered category if it exceeds that of the order and of the range.
    """
    ranges = sorted((t for t in traits if t.about == "range"), key=lambda t: -abs(t.effect))
    of_column = {trait.column: trait for trait in reversed(ranges)}
    kept = [t for t in traits if t.about != "range" or t is of_column[t.column]]
    kept = _clearly_above(kept, "range", ("value",))
    kept = _clearly_above(kept, "level", ("value", "range"))
    return tuple(sorted(kept, key=lambda t: (-abs(t.effect), t.column, t.level)))


def _clearly_above(traits: list[Trait], about: str, simpler: tuple[str, ...]) -> list[Trait]:
    """Drop traits of one kind whose effect is hardly larger than a simpler one of their column."""
    least: dict[str, float] = {}
    for trait in traits:
        if trait.about in simpler:
            least[trait.column] = max(CLEARLY * abs(trait.effect), least.get(trait.column, 0.0))
    return [t for t in traits if t.about != about or abs(t.effect) > least.get(t.column, 0.0)]
