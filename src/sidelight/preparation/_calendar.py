"""Cycles that dates can show: the season, the weekday, the hour of the day.

A cycle is shown only by dates that are fine enough. Years written as dates are all in January, and
months all begin on the first: their weekday says nothing but which year or month it is.
"""

from __future__ import annotations

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
    if kind == "time":
        return ["hour"]
    known = seconds[~np.isnan(seconds)]
    if not len(known):
        return []
    span = float(np.ptp(known))
    days = np.floor(known / DAY).astype("datetime64[D]")
    months = days.astype("datetime64[M]")
    found = []
    if span > SEASONS_FROM and not _same(months.astype(np.int64) % 12):
        found.append("season")
    if span > WEEKDAYS_FROM and not _same(weekday_of(known)) and not _ends_of_months(days, months):
        found.append("weekday")
    return [*found, "hour"] if not _same(known % DAY) else found


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


def _ends_of_months(days: npt.NDArray[Any], months: npt.NDArray[Any]) -> bool:
    """Whether all dates are the same day of their months, or all the last one."""
    if _same((days - months.astype("datetime64[D]")).astype(np.int64)):
        return True
    last = (months + 1).astype("datetime64[D]") - 1
    return bool(np.all(days == last))


def _same(values: npt.NDArray[Any]) -> bool:
    return bool(np.all(values == values[0]))
