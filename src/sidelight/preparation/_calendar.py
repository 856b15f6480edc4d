"""Cycles that dates can show: the season, the weekday, the hour of the day.

A cycle is shown only by dates that are fine enough. Years written as dates are all in January, and
months all begin on the first: their weekday says nothing but which year or month it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sidelight._typing import FloatArray

DAY = 86_400.0
YEAR = 365.2425 * DAY
#: Dates have a season if they span more than a year and a half, and weekdays after three weeks.
SEASONS_FROM, WEEKDAYS_FROM = 1.5 * YEAR, 21 * DAY


def cycles_of(kind: str, seconds: npt.NDArray[Any]) -> list[str]:
    """Find the cycles that dates or times of the day can show.

    Parameters
    ----------
    kind : str
        ``date`` or ``time``.
    seconds : ndarray
        Seconds since 1970, or since midnight; NaN where missing.

    Returns
    -------
    list of str
        Out of ``season``, ``weekday`` and ``hour``.
    """
    return Calendar.of(seconds).cycles(kind)


def weekday_of(seconds: FloatArray) -> FloatArray:
    """Day of the week, from 0 for Monday to 6; NaN where missing."""
    return (np.floor(seconds / DAY) + 3) % 7


def month_of(seconds: FloatArray) -> FloatArray:
    """Month of the year, from 0 for January to 11; NaN where missing."""
    known = ~np.isnan(seconds)
    months = np.full(len(seconds), np.nan)
    days = np.floor(seconds[known] / DAY).astype("datetime64[D]")
    months[known] = days.astype("datetime64[M]").astype(np.int64) % 12
    return months


@dataclass(frozen=True)
class Calendar:
    """What dates have in common: the first and the last value of each of their parts.

    Attributes
    ----------
    seconds : (float, float)
        Seconds since 1970, or since midnight.
    months, weekdays, days, clock : (float, float)
        Months of the year, days of the week, days of the month, seconds since midnight.
    ends_months : bool
        Whether all are the last day of their months.
    """

    seconds: tuple[float, float]
    months: tuple[float, float]
    weekdays: tuple[float, float]
    days: tuple[float, float]
    clock: tuple[float, float]
    ends_months: bool

    @classmethod
    def of(cls, seconds: npt.NDArray[Any]) -> Calendar:
        """Calendar of dates; NaN does not count."""
        known = seconds[~np.isnan(seconds)]
        days = np.floor(known / DAY).astype("datetime64[D]")
        months = days.astype("datetime64[M]")
        of_month = (days - months.astype("datetime64[D]")).astype(np.int64)
        last = (months + 1).astype("datetime64[D]") - 1
        return cls(
            _extent(known),
            _extent(months.astype(np.int64) % 12),
            _extent(weekday_of(known)),
            _extent(of_month),
            _extent(known % DAY),
            bool(np.all(days == last)),
        )

    def join(self, other: Calendar) -> Calendar:
        """Calendar of both sets of dates."""
        return Calendar(
            _both(self.seconds, other.seconds),
            _both(self.months, other.months),
            _both(self.weekdays, other.weekdays),
            _both(self.days, other.days),
            _both(self.clock, other.clock),
            self.ends_months and other.ends_months,
        )

    def cycles(self, kind: str) -> list[str]:
        """Cycles that the dates, or times of the day, can show."""
        if kind == "time":
            return ["hour"]
        first, last = self.seconds
        found = []
        if last - first > SEASONS_FROM and _varies(self.months):
            found.append("season")
        on_ends = self.ends_months or not _varies(self.days)
        if last - first > WEEKDAYS_FROM and _varies(self.weekdays) and not on_ends:
            found.append("weekday")
        return [*found, "hour"] if _varies(self.clock) else found


def _extent(values: npt.NDArray[Any]) -> tuple[float, float]:
    """Smallest and largest value; the wrong way around if there are none."""
    return (float(values.min()), float(values.max())) if len(values) else (np.inf, -np.inf)


def _both(one: tuple[float, float], other: tuple[float, float]) -> tuple[float, float]:
    return min(one[0], other[0]), max(one[1], other[1])


def _varies(extent: tuple[float, float]) -> bool:
    return extent[1] > extent[0]
