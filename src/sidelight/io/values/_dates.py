"""Dates and times of day: Arrow's own types, and texts as people write them.

Texts may be ISO (``2024-03-01``, ``2024-03-01T14:05:30.5Z``), numbers between slashes, points or
dashes (``31.12.2024``, ``12/31/2024 2:05 PM``), or name the month in English (``3 Mar 2024``,
``Mar 3, 2024``). Whether the day or the month comes first, all values of a column decide together;
where none is above 12, the day comes first between points and dashes, and the month between
slashes, and the note of the result tells. Years of two digits are read only where one order alone
fits. Times with an offset are counted in UTC.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from sidelight.io._columns import is_text
from sidelight.io.values._shapes import (
    SAMPLE_MOST,
    Ints,
    Shapes,
    Texts,
    distinct_texts,
    is_missing,
    per_row,
    rows_with,
    sampled,
    shapes_of,
    too_many_misfits,
)

if TYPE_CHECKING:
    import pyarrow as pa

    from sidelight._typing import FloatArray

DAY = 86400
FIRST_YEAR, LAST_YEAR = 1000, 3000
#: Years of two digits from here on are of the last century, as POSIX has it.
LAST_CENTURY = 69

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
LONG_MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july", "august", "september"),
    *("october", "november", "december"),
)
NAMED = {name: i + 1 for names in (MONTHS, LONG_MONTHS) for i, name in enumerate(names)}
NAMED["sept"] = 9

_HALF = r"(?:\s*(?P<half>[AaPp])\.?[Mm]\.?)?"
_TIME = rf"(?P<H>9{{1,2}}):(?P<M>99)(?::(?P<S>99)(?:[.,](?P<F>9{{1,9}}))?)?{_HALF}"
_ZONE = r"(?:\s*(?:[Zz]|UTC|GMT|(?P<east>[-+−])(?P<zh>99):?(?P<zm>99)?))?"
_MONTH = rf"(?P<name>(?i:{'|'.join(sorted(NAMED, key=len, reverse=True))}))\.?"
_WEEKDAY = r"(?:(?i:mon|tue|wed|thu|fri|sat|sun)[a-z]*\.?,?\s+)?"
_DAY = r"(?P<D>9{1,2})(?:st|nd|rd|th)?"
#: Ways to write a date, as shapes; ``a`` and ``b`` are day and month in either order.
_DATES = (
    r"(?P<Y>9999)(?P<between>[-/.])(?P<m>99?)(?P=between)(?P<D>99?)",
    r"(?P<a>99?)(?P<between>[-/]|\.\s?)(?P<b>99?)(?P=between)(?P<Y>9999|99)",
    rf"{_WEEKDAY}{_DAY}\.?[\s-]*{_MONTH},?[\s-]*(?P<Y>9999)",
    rf"{_WEEKDAY}{_MONTH}\s*{_DAY},?\s+(?P<Y>9999)",
)
PATTERNS = [re.compile(rf"\s*{date}(?:(?:[Tt]|,?\s+){_TIME}{_ZONE})?\s*") for date in _DATES]
PATTERNS.append(re.compile(rf"\s*{_TIME}\s*"))

#: Note on times that say how far they are from UTC.
OFFSETS = "times with an offset counted in UTC"

#: Orders of the numbers of a date, and how they are written.
DAY_FIRST, MONTH_FIRST, YEAR_FIRST = "DMY", "MDY", "YMD"


@dataclass(frozen=True, eq=False)
class Dates:
    """Dates or times of day of a column.

    Attributes
    ----------
    seconds : ndarray of shape (n_rows,)
        Seconds since 1970, or since midnight for times of day; NaN where missing or unreadable.
    kind : str
        ``"date"`` or ``"time"``.
    has_time : bool
        Whether one of the dates has a time of day that is not midnight; True for times of day.
    format : str
        How most of the texts are written, in words that :func:`read_dates` understands again, such
        as ``"DD.MM.YYYY hh:mm"``; empty for Arrow's own dates and times.
    bad : ndarray of int
        Positions of texts that are neither dates nor words for a missing one, and of dates that
        do not exist or lie outside the years 1000 to 3000.
    note : str
        Anything that was taken for granted, for the user.
    """

    seconds: FloatArray
    kind: str
    has_time: bool
    format: str
    bad: Ints
    note: str = ""


def read_dates(
    column: pa.ChunkedArray, *, format: str | None = None, kind: str = ""
) -> Dates | None:
    """Read a column as dates or times, if at least 98 % of its non-missing values are such.

    Parameters
    ----------
    column : pyarrow.ChunkedArray
        Dates, timestamps or times of day, or texts that spell them.
    format : str, optional
        How the texts are written, as a former result tells; by default found out.
    kind : {"date", "time"}, optional
        What texts are known to spell. Then all that are not, however many, are unreadable ones.

    Returns
    -------
    Dates or None
        The dates or times; None if the column holds something else.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from sidelight.io.values._dates import read_dates
    >>> read = read_dates(pa.chunked_array([["02.01.1970", "31.12.1970 06:00", ""]]))
    >>> read.seconds.tolist(), read.format, read.has_time
    ([86400.0, 31471200.0, nan], 'DD.MM.YYYY', True)
    >>> read_dates(pa.chunked_array([["soon", "later"]])) is None
    True
    """
    import pyarrow as pa

    stored = column.type
    if pa.types.is_time(stored):
        seconds = _seconds(column, pa.int64() if pa.types.is_time64(stored) else pa.int32())
        return _checked(seconds, "time", known=bool(kind))
    if pa.types.is_date(stored) or pa.types.is_timestamp(stored):
        seconds = _seconds(column, pa.int32() if pa.types.is_date32(stored) else pa.int64())
        in_utc = pa.types.is_timestamp(stored) and stored.tz not in (None, "UTC")
        return _checked(seconds, "date", "counted in UTC" if in_utc else "", known=bool(kind))
    if not is_text(column):
        return None
    return _read_known(column, format or "", kind) if kind else _read_texts(column, format or "")


def _seconds(column: pa.ChunkedArray, whole: pa.DataType) -> FloatArray:
    """Seconds of a column that Arrow counts in days, seconds or parts of them."""
    import pyarrow as pa

    kind = column.type
    unit = DAY if pa.types.is_date32(kind) else 1e-3 if pa.types.is_date64(kind) else None
    if unit is None:
        unit = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}[kind.unit]
    counts = column.cast(whole).cast(pa.float64(), safe=False).to_numpy()
    values: FloatArray = np.array(counts * unit if unit >= 1 else counts / round(1 / unit))
    return values


def _checked(
    seconds: FloatArray, kind: str, note: str = "", *, known: bool = False
) -> Dates | None:
    """Dates of Arrow's own types, of which those of impossible years are unreadable."""
    given = ~np.isnan(seconds)
    if not (given.any() or known):
        return None
    bad = given & ~_possible(seconds) if kind == "date" else np.zeros(len(seconds), dtype=bool)
    seconds[bad] = np.nan
    has_time = kind == "time" or _has_time(seconds)
    return Dates(seconds, kind, has_time, "", np.flatnonzero(bad), note)


def _possible(seconds: FloatArray) -> npt.NDArray[np.bool_]:
    first, last = (
        np.datetime64(f"{year}-01-01", "s").astype(np.int64) for year in (FIRST_YEAR, LAST_YEAR + 1)
    )
    return (seconds >= first) & (seconds < last)


def _has_time(seconds: FloatArray) -> bool:
    with np.errstate(invalid="ignore"):
        return bool(np.any(seconds[~np.isnan(seconds)] % DAY != 0))


# --- texts ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class DateTokens:
    """Tokens of a shape of a date or a time.

    Attributes
    ----------
    places : dict of str to list of int
        For each number, by its name in the pattern, at which bytes its digits are.
    words : dict of str to str
        What the parts of the pattern matched, in their order.
    is_time : bool
        Whether it is a time of day without a date.
    """

    places: dict[str, list[int]]
    words: dict[str, str]
    is_time: bool

    @property
    def is_open(self) -> bool:
        """Whether day, month and year are numbers whose order the shape does not tell."""
        return "a" in self.places

    @property
    def format(self) -> str:
        """How it is written; day and month in either order are ``aa`` and ``bb``."""
        between = self.words.get("between", "")
        date = {
            "Y": "Y" * len(self.places.get("Y", ())),
            "m": "MM",
            "D": "DD",
            "a": "aa",
            "b": "bb",
            "name": "Mon",
        }
        text = (between or " ").join(date[name] for name in self.words if name in date)
        clock = ":".join(["hh", "mm", "ss"][: sum(name in self.places for name in "HMS")])
        return " ".join(part for part in (text, clock) if part)


def part_of(shape: str, places: list[int]) -> DateTokens | None:
    """Take a shape apart; None if it is neither a date nor a time."""
    written = shape.replace("0", "9")
    for pattern in PATTERNS:
        match = pattern.fullmatch(written)
        if match is not None:
            break
    else:
        return None
    before = np.cumsum([0, *(c == "9" for c in written)])
    found = {name: text for name, text in match.groupdict().items() if text is not None}
    ordered = sorted(found, key=match.start)
    numbers = {
        name: places[before[match.start(name)] : before[match.end(name)]]
        for name in ordered
        if found[name][0] == "9"
    }
    return DateTokens(numbers, {name: found[name] for name in ordered}, pattern is PATTERNS[-1])


def _read_texts(column: pa.ChunkedArray, known: str) -> Dates | None:
    texts, codes = distinct_texts(column)
    few = sampled(texts, codes)
    if not _is_likely(shapes_of(few)):
        return None
    shapes = shapes_of(texts)
    reading = _DateReading(texts, shapes)
    reading.decide(known)
    fits = ~np.isnan(reading.seconds)
    if too_many_misfits(texts, fits, int(shapes.counts[reading.missing].sum())):
        return None
    return _dates_of(reading, shapes, codes)


def _read_known(column: pa.ChunkedArray, written: str, kind: str) -> Dates:
    """Read texts in a way that is known, however few of them are written so."""
    texts, codes = distinct_texts(column)
    shapes = shapes_of(texts)
    reading = _DateReading(texts, shapes)
    reading.read(kind, order_of(written))
    reading.format = written
    return _dates_of(reading, shapes, codes)


def _dates_of(reading: _DateReading, shapes: Shapes, codes: Ints | None) -> Dates:
    texts, fits = reading.texts, ~np.isnan(reading.seconds)
    bad = rows_with(texts.given & ~shapes.having(reading.missing) & ~fits, codes)
    has_time = reading.kind == "time" or _has_time(reading.seconds)
    return Dates(
        per_row(reading.seconds, codes),
        reading.kind,
        has_time,
        reading.format,
        bad,
        "; ".join(reading.notes),
    )


def _is_likely(shapes: Shapes) -> bool:
    """Whether a sample of a column mostly holds dates."""
    missing = np.array([is_missing(name) for name in shapes.names], dtype=bool)
    dated = [part_of(*pair) is not None for pair in zip(shapes.names, shapes.places, strict=True)]
    n_dates = int(shapes.counts[np.array(dated, dtype=bool)].sum())
    return n_dates >= SAMPLE_MOST * int(shapes.counts[~missing].sum())


class _DateReading:
    """All texts of a column taken apart, and what was decided about them."""

    def __init__(self, texts: Texts, shapes: Shapes) -> None:
        self.texts = texts
        self.counts = texts.counts
        self.missing = np.array([is_missing(name) for name in shapes.names], dtype=bool)
        found = [part_of(*pair) for pair in zip(shapes.names, shapes.places, strict=True)]
        self.parts = [
            (part, rows) for code, rows in shapes.rows() if (part := found[code]) is not None
        ]
        self.seconds = np.full(len(texts), np.nan)
        self.notes: list[str] = []
        self.kind, self.format = "date", ""

    def decide(self, known: str) -> None:
        """Find kind and order, and read all texts by them."""
        n_times = sum(self._weight(rows) for part, rows in self.parts if part.is_time)
        n_dates = sum(self._weight(rows) for part, rows in self.parts if not part.is_time)
        kind = "time" if n_times > n_dates else "date"
        parts = [pair for pair in self.parts if pair[0].is_time == (kind == "time")]
        order = self._order(parts, known)
        self.read(kind, order)
        self.format = format_of([(part, self._weight(rows)) for part, rows in parts], order)
        if any("east" in part.words for part, _ in parts):
            self.notes.append(OFFSETS)

    def read(self, kind: str, order: str | None) -> None:
        """Read all texts that are of a kind."""
        self.kind = kind
        for part, rows in self.parts:
            if part.is_time == (kind == "time"):
                self.seconds[rows] = read_part(self.texts, part, rows, order)

    def _weight(self, rows: Ints) -> int:
        return int(self.counts[rows].sum())

    def _order(self, parts: list[tuple[DateTokens, Ints]], known: str) -> str | None:
        """Order of day, month and year in purely numeric dates; None if no order fits."""
        open_parts = [(part, rows) for part, rows in parts if part.is_open]
        tokens = [part for part, _ in open_parts]
        order, note = choose_order(tokens, known, lambda one: self._n_fitting(open_parts, one))
        self.notes += [note] if note else []
        return order

    def _n_fitting(self, parts: list[tuple[DateTokens, Ints]], order: str) -> int:
        good = [rows[~np.isnan(read_part(self.texts, part, rows, order))] for part, rows in parts]
        return sum(self._weight(rows) for rows in good)


def choose_order(
    open_parts: Sequence[DateTokens], known: str, n_fitting: Callable[[str], int]
) -> tuple[str | None, str]:
    """Order of day, month and year in purely numeric dates, None if no order fits; and a note.

    Parameters
    ----------
    open_parts : sequence of DateTokens
        Shapes that do not tell the order.
    known : str
        How dates were written before, as far as that is known.
    n_fitting : callable
        Number of rows that are dates by an order.
    """
    if not open_parts:
        return DAY_FIRST, ""
    short = any(len(part.places["Y"]) == 2 for part in open_parts)
    if order := order_of(known):
        return order, ""
    marks = {part.words["between"].strip() for part in open_parts}
    orders = [DAY_FIRST, MONTH_FIRST, *([YEAR_FIRST] if short and "-" in marks else [])]
    fitting = {order: n_fitting(order) for order in orders}
    best = max(fitting, key=fitting.__getitem__)
    if list(fitting.values()).count(fitting[best]) == 1:
        return best, "years of two digits from 1969 to 2068" if short else ""
    if short:
        return None, ""
    best = MONTH_FIRST if marks == {"/"} else DAY_FIRST
    first, second = ("month", "day") if best == MONTH_FIRST else ("day", "month")
    return best, f"taken as {first} before {second}: no number above 12 tells"


def order_of(written: str) -> str | None:
    """Order of day, month and year that a way to write dates shows, None if it shows none."""
    date = written.split(" ")[0]
    for order, letters in ((DAY_FIRST, "DD"), (MONTH_FIRST, "MM"), (YEAR_FIRST, "YY")):
        if date.startswith(letters) and not date.startswith("YYYY"):
            return order
    return None


def format_of(parts: Sequence[tuple[DateTokens, int]], order: str | None) -> str:
    """How most of the dates are written; of those whose order had to be found, if there are some.

    So the order is known when later rows are read.

    Parameters
    ----------
    parts : sequence of (DateTokens, int)
        Shapes, and the number of rows of each.
    order : str or None
        Order of day, month and year.
    """
    some = [pair for pair in parts if pair[0].is_open == (order is not None)] or parts
    counts: dict[str, int] = {}
    for part, count in some:
        name = _with_order(part.format, order)
        counts[name] = counts.get(name, 0) + count
    return max(sorted(counts), key=counts.__getitem__, default="")


def _number(texts: Texts, part: DateTokens, rows: Ints, name: str) -> Ints:
    return texts.integers(rows, part.places.get(name, []))


def read_part(texts: Texts, part: DateTokens, rows: Ints, order: str | None) -> FloatArray:
    """Seconds of texts of one shape, NaN where there is no such date or time."""
    seconds, good = _clock(texts, part, rows)
    if not part.is_time:
        days, possible = _days(texts, part, rows, order)
        seconds, good = seconds + days * float(DAY), good & possible
    return np.where(good, seconds, np.nan)


def _days(
    texts: Texts, part: DateTokens, rows: Ints, order: str | None
) -> tuple[Ints, npt.NDArray[np.bool_]]:
    """Days since 1970, and whether there is such a day."""
    names = {"year": "Y", "month": "m", "day": "D"}
    if "a" in part.places:
        if order is None:
            return np.zeros(len(rows), dtype=np.int64), np.zeros(len(rows), dtype=bool)
        letters = dict(zip(order, ("a", "b", "Y"), strict=True))
        names = {"year": letters["Y"], "month": letters["M"], "day": letters["D"]}
    year, day = (_number(texts, part, rows, names[name]) for name in ("year", "day"))
    if "name" in part.words:
        month = np.full(len(rows), NAMED[part.words["name"].lower()])
    else:
        month = _number(texts, part, rows, names["month"])
    if len(part.places[names["year"]]) == 2:
        year = year + np.where(year >= LAST_CENTURY, 1900, 2000)
    return _days_since_1970(year, month, day)


def _clock(texts: Texts, part: DateTokens, rows: Ints) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
    """Seconds since midnight (in UTC, where an offset is given), and whether they exist."""
    hour, minute, second = (_number(texts, part, rows, name) for name in "HMS")
    good = (hour < 24) & (minute < 60) & (second < 60)
    if "half" in part.words:
        good &= (hour >= 1) & (hour <= 12)
        hour = hour % 12 + (12 if part.words["half"].lower() == "p" else 0)
    seconds = (hour * 3600 + minute * 60 + second).astype(np.float64)
    if "F" in part.places:
        seconds += _number(texts, part, rows, "F") / 10.0 ** len(part.places["F"])
    if "east" in part.words:
        ahead = _number(texts, part, rows, "zh") * 3600 + _number(texts, part, rows, "zm") * 60
        seconds -= ahead if part.words["east"] == "+" else -ahead
    return seconds, good


@lru_cache(maxsize=1)
def _first_days() -> Ints:
    """Days since 1970 of the first of all months of possible years, and of one month more."""
    months = np.arange(f"{FIRST_YEAR}-01", f"{LAST_YEAR + 1}-02", dtype="datetime64[M]")
    return months.astype("datetime64[D]").astype(np.int64)


def _days_since_1970(year: Ints, month: Ints, day: Ints) -> tuple[Ints, npt.NDArray[np.bool_]]:
    """Days since 1970 of dates of the calendar, and whether there are such dates."""
    good = (year >= FIRST_YEAR) & (year <= LAST_YEAR) & (month >= 1) & (month <= 12)
    months = np.where(good, (year - FIRST_YEAR) * 12 + month - 1, 0)
    firsts = _first_days()
    days = firsts[months] + day - 1
    return days, good & (day >= 1) & (days < firsts[months + 1])


def _with_order(written: str, order: str | None) -> str:
    """How a date is written once the order of day and month is known."""
    first, second = ("MM", "DD") if order == MONTH_FIRST else ("DD", "MM")
    if order == YEAR_FIRST and "aa" in written:
        return written.replace("YY", "DD").replace("aa", "YY").replace("bb", "MM")
    return written.replace("aa", first).replace("bb", second)
