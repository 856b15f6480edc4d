"""Conditions on columns, such as "income > 52,000" or "country is DE or FR".

A condition is a set of values, so that conditions on one column can be intersected (both on one
path of a tree) and united (two leaves that differ in nothing else).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from sidelight._typing import Array
from sidelight.explanation._columns import Units, missing_rows, ordered_values
from sidelight.explanation._words import words_of
from sidelight.preparation import TypedColumn

MISSING = -1


@dataclass(frozen=True)
class ValueInterval:
    """Values between two bounds, with or without the missing ones.

    Numbers are above ``low`` and at most ``high``; dates and times from ``low`` on and before
    ``high``; levels of ordered categories from ``low`` to ``high``, both included.

    Attributes
    ----------
    name : str
        Name of the column.
    units : Units
        How values are written.
    low, high : float
        The bounds; infinite where there is none. No value is known where ``high`` is -inf.
    low_text, high_text : str
        The bounds as people write them.
    missing : bool
        Whether rows without a value are included.
    """

    name: str
    units: Units
    low: float = -np.inf
    high: float = np.inf
    low_text: str = ""
    high_text: str = ""
    missing: bool = True

    def below(self, value: float, text: str) -> Self:
        """Only values up to a bound."""
        return replace(self, high=value, high_text=text) if value < self.high else self

    def above(self, value: float, text: str) -> Self:
        """Only known values beyond a bound."""
        known = replace(self, missing=False)
        return replace(known, low=value, low_text=text) if value > self.low else known

    def united(self, other: Any) -> Self | None:
        """Both intervals as one; None where there is a hole between them."""
        if not isinstance(other, ValueInterval) or other.name != self.name:
            return None
        both: list[ValueInterval] = [self, other]
        first, second = sorted(both, key=lambda one: (one.low, one.high))
        if first.high < second.low - (self.units.kind == "ordered"):
            return None
        last = first if first.high >= second.high else second
        return replace(
            self,
            low=first.low,
            low_text=first.low_text,
            high=last.high,
            high_text=last.high_text,
            missing=self.missing or other.missing,
        )

    @property
    def holds_always(self) -> bool:
        """Whether every row fulfils it."""
        return self.low == -np.inf and self.high == np.inf and self.missing

    def holds(self, column: TypedColumn) -> Array:
        """Rows that fulfil it."""
        values, units = ordered_values(column)
        if units.origin != self.units.origin:  # other rows, whose day begins at another hour
            values = (values + units.origin - self.units.origin) % 86_400.0
        with np.errstate(invalid="ignore"):
            if units.kind == "number":
                inside = (values > self.low) & (values <= self.high)
            elif units.kind == "ordered":
                inside = (values >= self.low) & (values <= self.high)
            else:
                inside = (values >= self.low) & (values < self.high)
        return inside | np.isnan(values) if self.missing else inside

    def text(self, has_missing: bool) -> str:
        """Write the condition; missing values are mentioned only where there are any."""
        if self.high == -np.inf:
            return f"{self.name} is missing"
        if self.low == -np.inf and self.high == np.inf:
            return f"{self.name} is known"
        return self.bounds() + (" or missing" if self.missing and has_missing else "")

    def bounds(self) -> str:
        """Write the bounds, of which there is at least one."""
        name, low, high = self.name, self.low_text, self.high_text
        from_below, to_above = self.low == -np.inf, self.high == np.inf
        if self.units.kind == "number":
            if from_below or to_above:
                return f"{name} ≤ {high}" if from_below else f"{name} > {low}"
            return f"{low} < {name} ≤ {high}"
        if self.units.kind == "ordered":
            levels = self.units.levels
            first = 0 if from_below else int(self.low)
            last = len(levels) - 1 if to_above else int(self.high)
            if first == last:
                return f"{name} is {levels[first]}"
            if to_above:
                return f"{name} is {low} or higher"
            return f"{name} is {high} or lower" if from_below else f"{name} is {low} to {high}"
        if self.units.kind == "time" and self.units.origin and (from_below or to_above):
            start = self.units.one(0.0)  # a day that does not begin at midnight has two ends
            low, high = (start, high) if from_below else (low, start)
            return f"{name} from {low} and before {high}"
        if from_below or to_above:
            return f"{name} before {high}" if from_below else f"{name} from {low} on"
        return f"{name} from {low} and before {high}"


@dataclass(frozen=True)
class LevelSet:
    """Levels of a category, or all but these; a missing level is the level -1.

    Attributes
    ----------
    name : str
        Name of the column.
    names : tuple of str
        Names of its levels.
    levels : frozenset of int
        The levels.
    excluded : bool
        Whether all but these are meant.
    """

    name: str
    names: tuple[str, ...]
    levels: frozenset[int] = frozenset()
    excluded: bool = True

    def only(self, level: int) -> Self:
        """Only one level."""
        return replace(self, levels=frozenset([level]), excluded=False)

    def without(self, level: int) -> Self:
        """All levels but one."""
        other = self.levels | {level} if self.excluded else self.levels - {level}
        return replace(self, levels=other)

    def united(self, other: Any) -> Self | None:
        """Levels of both."""
        if not isinstance(other, LevelSet) or other.name != self.name:
            return None
        if self.excluded and other.excluded:
            return replace(self, levels=self.levels & other.levels)
        if not self.excluded and not other.excluded:
            return replace(self, levels=self.levels | other.levels)
        most, few = (self, other) if self.excluded else (other, self)
        return replace(self, levels=most.levels - few.levels, excluded=True)

    @property
    def holds_always(self) -> bool:
        """Whether every row fulfils it."""
        return self.excluded and not self.levels

    def holds(self, column: TypedColumn) -> Array:
        """Rows that fulfil it."""
        listed = np.isin(column.values, sorted(self.levels))
        return ~listed if self.excluded else listed

    def text(self, has_missing: bool) -> str:
        """Write the condition by the shorter of the two lists of levels."""
        everything = {*range(len(self.names)), *([MISSING] if has_missing else [])}
        named = everything - self.levels if self.excluded else self.levels & everything
        rest = everything - named
        if len(named) <= max(1, len(rest)):
            return f"{self.name} is {self._listed(named)}"
        return f"{self.name} is not {self._listed(rest)}"

    def _listed(self, levels: Iterable[int]) -> str:
        names = [self.names[level] for level in sorted(levels) if level != MISSING]
        names += ["missing"] if MISSING in levels else []
        return " or ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


@dataclass(frozen=True)
class Mention:
    """Texts with a word, or without it.

    Attributes
    ----------
    name : str
        Name of the column.
    word : str
        The word, in lower case.
    there : bool
        Whether it is in the text.
    """

    name: str
    word: str
    there: bool

    @property
    def holds_always(self) -> bool:
        """No word is in every text."""
        return False

    def united(self, other: Any) -> Self | None:
        """Two conditions on a word are the same, or cannot be written as one."""
        return self if other == self else None

    def holds(self, column: TypedColumn) -> Array:
        """Rows that fulfil it."""
        found = np.fromiter(
            (self.word in words_of(text) for text in column.values), bool, len(column.values)
        )
        return found if self.there else ~found

    def text(self, has_missing: bool) -> str:
        """Write the condition."""
        return f"{self.name} {'mentions' if self.there else 'does not mention'} “{self.word}”"


Condition = ValueInterval | LevelSet | Mention
#: A conjunction: at most one condition on a column, or on a word of a text, by its key.
Box = Mapping[tuple[str, str], Condition]


def matching(box: Box, columns: Mapping[str, TypedColumn], n_rows: int) -> Array:
    """Rows that fulfil all conditions."""
    rows = np.ones(n_rows, dtype=bool)
    for condition in box.values():
        rows &= condition.holds(columns[condition.name])
    return rows


def written(box: Box, columns: Mapping[str, TypedColumn]) -> str:
    """Write a conjunction.

    Examples
    --------
    >>> from sidelight.explanation._columns import Units
    >>> from sidelight.explanation._conditions import ValueInterval, written
    >>> from sidelight.preparation import TypedColumn
    >>> import numpy as np
    >>> income = TypedColumn("income", "number", np.array([20_000.0, 60_000.0]))
    >>> rich = ValueInterval("income", Units("number")).above(52_000.0, "52,000")
    >>> written({("income", ""): rich}, {"income": income})
    'income > 52,000'
    """
    texts = []
    for condition in box.values():
        text = condition.text(bool(missing_rows(columns[condition.name]).any()))
        texts.append(f"({text})" if " or " in text and len(box) > 1 else text)
    return " and ".join(texts) if texts else "any row"


def united(first: Box, second: Box) -> Box | None:
    """Join two conjunctions that differ in one column only; None where they differ in more."""
    if first.keys() != second.keys():
        return None
    different = [key for key in first if first[key] != second[key]]
    if len(different) != 1:
        return None
    (key,) = different
    whole = first[key].united(second[key])
    if whole is None:
        return None
    joined = {**first, key: whole}
    if whole.holds_always:
        del joined[key]
    return joined
