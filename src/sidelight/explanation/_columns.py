"""Typed columns as what is compared: values with an order, and the calendar of dates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sidelight._typing import Array, FloatArray
from sidelight.explanation._format import (
    DAY,
    clock,
    date,
    numbers,
    round_moment,
    round_number,
    round_time,
)
from sidelight.preparation import TypedColumn
from sidelight.preparation.inner import cycles_of, month_of, weekday_of

#: Kinds whose values have an order.
ORDERED = ("number", "date", "time", "ordered")
#: Kinds whose values are levels.
LEVELS = ("yes-no", "category", "ordered")

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
_YEARS = (1500.0, 2200.0)
_SHORT_SPAN = 3 * DAY


@dataclass(frozen=True)
class Units:
    """How the values of a column with an order are written.

    Attributes
    ----------
    kind : str
        Kind of the column.
    levels : tuple of str
        Levels of an ordered category.
    whole, grouped : bool
        Whether numbers are whole, and whether their thousands are separated: years have none.
    with_time : bool
        Whether moments are too close to each other for their dates alone.
    origin : float
        For times of the day, the hour at which a day begins, in seconds after midnight: when the
        fewest rows are, so that 23:00 and 01:00 are close.
    """

    kind: str
    levels: tuple[str, ...] = ()
    whole: bool = False
    grouped: bool = True
    with_time: bool = False
    origin: float = 0.0

    def pair(self, first: float, second: float) -> list[str]:
        """Write two values that are compared."""
        if self.kind == "number":
            return numbers(first, second, whole=self.whole, grouped=self.grouped)
        return [self.one(first), self.one(second)]

    def means(self, first: float, second: float) -> list[str]:
        """Write two means that are compared; those of whole numbers and of levels are fractions."""
        if self.kind in ("number", "ordered"):
            return numbers(first, second, grouped=self.grouped)
        return self.pair(first, second)

    def one(self, value: float) -> str:
        """Write a date, a time or a level."""
        if self.kind == "date":
            return date(value, with_time=self.with_time)
        if self.kind == "time":
            return clock(round((value + self.origin) / 60.0) * 60.0)
        return self.levels[int(value)]

    def threshold(self, low: float, high: float) -> tuple[float, str]:
        """Find the roundest value between two neighbours, and its text."""
        if self.kind == "number":
            return round_number(low, high, grouped=self.grouped)
        if self.kind == "date":
            return round_moment(low, high)
        value, text = round_time(low + self.origin, high + self.origin)
        return value - self.origin, text


def ordered_values(column: TypedColumn) -> tuple[FloatArray, Units]:
    """Values of a column with an order, NaN where missing, and how they are written."""
    values = np.asarray(column.values)
    if column.kind == "ordered":
        codes = values.astype(np.float64)
        return np.where(codes >= 0, codes, np.nan), Units("ordered", column.levels)
    values = values.astype(np.float64, copy=False)
    known = values[np.isfinite(values)]
    if column.kind == "number":
        whole = bool(np.all(known == np.floor(known)))
        years = whole and len(known) > 0 and _YEARS[0] <= known.min() <= known.max() <= _YEARS[1]
        return values, Units("number", whole=whole, grouped=not years)
    if column.kind == "date":
        span = np.ptp(known) if len(known) else 0.0
        return values, Units("date", with_time=bool(0.0 < span < _SHORT_SPAN))
    origin = _quietest_hour(known)
    return (values - origin) % DAY, Units("time", origin=origin)


def _quietest_hour(seconds: FloatArray) -> float:
    """Start of the hour around which the fewest rows are; midnight if it is as quiet."""
    counts = np.bincount((seconds // 3600).astype(np.int64) % 24, minlength=24)
    around = counts + np.roll(counts, 1)
    from_midnight = np.minimum(np.arange(24), 24 - np.arange(24))
    return 3600.0 * float(np.lexsort([from_midnight, around])[0])


def missing_rows(column: TypedColumn) -> Array:
    """Rows in which a column has no value."""
    values = column.values
    if column.kind == "text":
        return np.asarray(values == "", dtype=bool)
    return np.isnan(values) if values.dtype.kind == "f" else values < 0


def with_calendar(columns: Sequence[TypedColumn], *, every: bool = False) -> list[TypedColumn]:
    """Columns with the month, the weekday and the time of day of dates beside them.

    Parameters
    ----------
    columns : sequence of TypedColumn
        The columns.
    every : bool, default=False
        Whether dates have all three, and not only those that their span can show.
    """
    taken = {column.name for column in columns}
    found: list[TypedColumn] = []
    for column in columns:
        found.append(column)
        if column.kind == "date":
            cycles = None if every else cycles_of("date", column.values)
            parts = _calendar(column, cycles)
            found += [part for part in parts if part.name not in taken]
    return found


def _calendar(column: TypedColumn, cycles: Sequence[str] | None) -> list[TypedColumn]:
    """Parts of a date as columns of their own; all of them where ``cycles`` is None."""
    name, seconds = column.name, column.values
    parts = {
        "season": lambda: _levels(f"{name} (month)", month_of(seconds), MONTHS),
        "weekday": lambda: _levels(f"{name} (weekday)", weekday_of(seconds), WEEKDAYS),
        "hour": lambda: TypedColumn(f"{name} (time of day)", "time", seconds % DAY),
    }
    return [make() for cycle, make in parts.items() if cycles is None or cycle in cycles]


def _levels(name: str, codes: FloatArray, levels: tuple[str, ...]) -> TypedColumn:
    known = ~np.isnan(codes)
    return TypedColumn(name, "category", np.where(known, codes, -1).astype(np.int32), levels)
