"""Numbers, dates and times as people write them."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

DAY = 86_400
_STEPS = (DAY, 3600, 1800, 900, 300, 60, 1)  # seconds


def plural(noun: str) -> str:
    """Write several clusters, or classes.

    Examples
    --------
    >>> plural("cluster"), plural("class")
    ('clusters', 'classes')
    """
    return f"{noun}es" if noun.endswith("s") else f"{noun}s"


def percent(share: float) -> str:
    """Write a share; nothing that happened is rounded to never or always.

    Examples
    --------
    >>> percent(0.404), percent(0.0012), percent(0.9996), percent(1.0)
    ('40%', '0.1%', '>99.9%', '100%')
    """
    if share in (0.0, 1.0) or 0.0095 <= share < 0.9905:
        return f"{share:.0%}"
    if share < 0.0005:
        return "<0.1%"
    return ">99.9%" if share >= 0.9995 else f"{share:.1%}"


def ratio(value: float) -> str:
    """Write a ratio with two digits, or all before the point.

    Examples
    --------
    >>> ratio(3.1415), ratio(0.0523), ratio(1234.5)
    ('3.1', '0.052', '1,234')
    """
    if value <= 0.0 or not math.isfinite(value):
        return f"{value:g}"
    decimals = max(0, 1 - math.floor(math.log10(value)))
    return f"{value:,.{decimals}f}"


def numbers(first: float, second: float, *, whole: bool = False, grouped: bool = True) -> list[str]:
    """Write two numbers with three digits, and with more where they would look equal.

    Parameters
    ----------
    first, second : float
        The numbers.
    whole : bool, default=False
        Whether the column holds whole numbers, whose medians have at most one decimal.
    grouped : bool, default=True
        Whether thousands are separated.

    Examples
    --------
    >>> numbers(71_234.5, 38_012.0)
    ['71,200', '38,000']
    >>> numbers(10_012.0, 10_013.0)
    ['10,012.0', '10,013.0']
    >>> numbers(2019.0, 2001.0, whole=True, grouped=False)
    ['2019', '2001']
    """
    values = (first, second)
    largest = max(map(abs, values))
    if not 0.0 < largest < 1e15:
        return [f"{value:g}" for value in values]
    decimals = 2 - math.floor(math.log10(largest))
    if first != second:
        decimals = max(decimals, 1 - math.floor(math.log10(abs(first - second))))
    if whole:
        decimals = min(decimals, 0 if all(float(value).is_integer() for value in values) else 1)
    if decimals > 9:
        return [f"{value:.4g}" for value in values]
    mark = "," if grouped else ""
    return [f"{round(value, decimals):{mark}.{max(decimals, 0)}f}" for value in values]


def date(seconds: float, *, with_time: bool = False) -> str:
    """Write a moment, given in seconds since 1970.

    Examples
    --------
    >>> date(86_400.0 * 365), date(3_600.0, with_time=True)
    ('1971-01-01', '1970-01-01 01:00')
    """
    if not with_time:
        return str(np.datetime64(math.floor(seconds), "s").astype("datetime64[D]"))
    text = str(np.datetime64(round(seconds * 1e6), "us")).replace("T", " ")
    return text.removesuffix(".000000").removesuffix(":00")


def clock(seconds: float) -> str:
    """Write a time of the day, given in seconds since midnight.

    Examples
    --------
    >>> clock(30_600.0), clock(86_400.0), clock(61.5)
    ('08:30', '00:00', '00:01:01.500000')
    """
    return date(seconds % DAY, with_time=True)[11:]


def round_number(low: float, high: float, *, grouped: bool = True) -> tuple[float, str]:
    """Find the number with the fewest digits in ``[low, high)``, and its text.

    Examples
    --------
    >>> round_number(51_870.0, 52_240.0)
    (52000.0, '52,000')
    >>> round_number(3.0, 4.0), round_number(0.1234, 0.1298)
    ((3.0, '3'), (0.125, '0.125'))
    """
    largest = max(abs(low), abs(high))
    if low <= 0.0 < high:
        return 0.0, "0"
    if not 1e-9 < largest < 1e15:
        return low, repr(low)
    mark = "," if grouped else ""
    middle = low + (high - low) / 2.0
    for power in range(math.floor(math.log10(largest)) + 1, -13, -1):
        for factor in (1.0, 0.5):
            step = factor * 10.0**power
            near = math.floor(middle / step) * step
            for value in (near, near + step):
                decimals = max(0, -power + (factor == 0.5))
                text = f"{value:{mark}.{decimals}f}"
                read = float(text.replace(",", ""))
                if low <= read < high:
                    return read, text
    return low, repr(low)


def round_moment(low: float, high: float) -> tuple[float, str]:
    """Find the roundest moment in ``(low, high]``, in seconds since 1970, and its text.

    Examples
    --------
    >>> round_moment(1.61e9, 1.62e9)
    (1614556800.0, '2021-03-01')
    >>> round_moment(30_000.0, 31_000.0)
    (30600.0, '1970-01-01 08:30')
    """
    for unit in ("Y", "M"):
        for latest in (low + (high - low) / 2.0, high):
            start = np.datetime64(math.floor(latest), "s").astype(f"datetime64[{unit}]")
            moment = float(start.astype("datetime64[s]").astype(np.int64))
            if moment > low:
                return moment, date(moment)
    return _round_seconds(low, high, lambda moment: date(moment, with_time=bool(moment % DAY)))


def round_time(low: float, high: float) -> tuple[float, str]:
    """Find the roundest time of the day in ``(low, high]``, in seconds, and its text.

    Examples
    --------
    >>> round_time(30_000.0, 31_000.0)
    (30600.0, '08:30')
    """
    return _round_seconds(low, high, clock)


def _round_seconds(low: float, high: float, text: Callable[[float], str]) -> tuple[float, str]:
    for step in _STEPS:
        for latest in (low + (high - low) / 2.0, high):
            moment = math.floor(latest / step) * float(step)
            if moment > low:
                return moment, text(moment)
    return high, text(high)
