"""Texts that are numbers as people write them: ``1.234,56``, ``12 %``, ``(5.00)``, ``CHF 1'200``.

A column has one convention, which all of its values decide together:

1. The decimal mark is the point or the comma by which more of the values are numbers; thousands
   are separated by the other one, a blank or an apostrophe, always in threes.
2. Where both fit alike (``1,234`` is written with thousands, or with three decimals), other columns
   of the same table decide (``decimal``).
3. Otherwise a point is the decimal mark. A comma separates thousands, unless a whole number of four
   or more digits is written without one. The note of the result tells.

Percent signs and currencies are units: 12 % is 12, and a column has one unit. Texts such as 007 are
codes: a column that has one holds no numbers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

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

PLAIN = "plain"
#: Marks between groups of three digits, and their names.
THOUSANDS = {",": "comma", ".": "point", " ": "blank", "'": "apostrophe"}
DECIMALS = {",": "comma", ".": "point"}
#: Whole numbers of this many digits, and powers of ten, are exact as floats: so is one division.
EXACT_DIGITS = 15

CURRENCIES = (
    "€|$|£|¥|₹|₽|₩|₺|₴|₪|฿|₫|₦|₱|₡|zł|kr|Kč|Ft|Fr|SFr|R$|US$|CA$|C$|AU$|A$|NZ$|HK$|S$|Euro|Rs|"
    "EUR|USD|GBP|CHF|JPY|CNY|RMB|INR|RUB|BRL|SEK|NOK|DKK|ISK|PLN|CZK|HUF|RON|BGN|TRY|UAH|CAD|AUD|"
    "NZD|ZAR|MXN|ARS|CLP|COP|KRW|SGD|HKD|TWD|THB|IDR|MYR|PHP|VND|ILS|SAR|AED|EGP|NGN|KES"
)
#: One name for each, however it is spelled.
UNITS = {name.lower(): name for name in CURRENCIES.split("|")}
UNITS |= {"eur": "€", "euro": "€", "usd": "$", "us$": "$", "gbp": "£", "jpy": "¥", "sfr": "Fr"}
_UNIT = "|".join(sorted(map(re.escape, CURRENCIES.split("|")), key=len, reverse=True))
_SIGN = "[-+−–]?"
_MARKS = ".,'"
NUMBER = re.compile(
    rf"\s*(?P<opened>\()?\s*(?P<sign>{_SIGN})\s*(?:(?P<before>{_UNIT}|%)\.?)?\s*(?P<inner>{_SIGN})"
    rf"\s*(?P<body>[09](?:[09{_MARKS} ]*[09])?[.,]?|[.,][09]+)(?P<power>[eE][-+]?[09]+)?"
    rf"\s*(?P<behind>(?:{_UNIT})\.?|%)?\s*(?P<last>[-−]?)\s*(?P<closed>\))?\s*",
    flags=re.IGNORECASE,
)
#: Blanks and apostrophes of all kinds that stand between digits.
ALIKE = str.maketrans("\u00a0\u202f\u2009\u2007’‘´`", "    ''''")
CODE = re.compile("0[09]+")


@dataclass(frozen=True, eq=False)
class Numbers:
    """Numbers that a column of texts spells.

    Attributes
    ----------
    values : ndarray of shape (n_rows,)
        The numbers, NaN where missing or unreadable.
    convention : str
        How they are written, in words that :func:`read_numbers` understands again: ``"plain"``, or
        parts such as ``"decimal comma, thousands point, in €"``.
    bad : ndarray of int
        Positions of texts that are neither numbers nor words for a missing one.
    n_missing : int
        Number of rows without a number or an unreadable text.
    decimal : str or None
        Decimal mark, ``"."`` or ``","``, where the values decide it.
    note : str
        Anything that was taken for granted, for the user.
    """

    values: FloatArray
    convention: str
    bad: Ints
    n_missing: int
    decimal: str | None = None
    note: str = ""


def read_numbers(
    column: pa.ChunkedArray,
    *,
    convention: str | None = None,
    decimal: str | None = None,
    some: bool = False,
) -> Numbers | None:
    """Read a column of texts as numbers, if at least 98 % of its non-missing values are numbers.

    Parameters
    ----------
    column : pyarrow.ChunkedArray
        Texts, or a dictionary of texts.
    convention : str, optional
        How the numbers are written, as a former result tells; by default found out.
    decimal : {".", ","}, optional
        Decimal mark to believe in where the values leave it open.
    some : bool, default=False
        Whether these are some rows of a column that holds numbers: all texts that are none, however
        many, are unreadable ones.

    Returns
    -------
    Numbers or None
        The numbers; None if the column holds something else.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from sidelight.io.values._numbers import read_numbers
    >>> read = read_numbers(pa.chunked_array([["1.234,50 €", "12 €", "n/a", "-3,25 €"]]))
    >>> read.values.tolist(), read.convention
    ([1234.5, 12.0, nan, -3.25], 'decimal comma, thousands point, in €')
    >>> read_numbers(pa.chunked_array([["007", "12"]])) is None
    True
    """
    texts, codes = distinct_texts(column)
    if not some and not _is_likely(texts, codes):
        return None
    shapes = shapes_of(texts)
    read = NumberReading.of(shapes)
    if read.has_codes and not some:
        return None
    known = Convention.named(convention) if convention else read.decide(decimal)
    values = np.full(len(texts), np.nan)
    for code, rows in shapes.rows():
        part = read.parts[code]
        if part is not None and known.admits(part):
            values[rows] = part.values(texts, rows, shapes.places[code], known.decimal)
    values[np.isinf(values)] = np.nan
    fits = ~np.isnan(values)
    if not some and too_many_misfits(texts, fits, read.n_missing):
        return None
    missing = shapes.having(read.missing)
    wrong = rows_with(texts.given & ~missing & ~fits, codes)
    numbers = per_row(values, codes)
    n_missing = int(np.isnan(numbers).sum()) - len(wrong)
    name = convention or known.name
    return Numbers(numbers, name, wrong, n_missing, known.decided, known.note)


def read_number_columns(
    columns: Mapping[str, pa.ChunkedArray], *, alike: bool = True
) -> dict[str, Numbers]:
    """Read those of the columns of a table that hold numbers.

    Parameters
    ----------
    columns : dict of str to pyarrow.ChunkedArray
        Columns of texts.
    alike : bool, default=True
        Whether all are written by one hand: where a column leaves its decimal mark open, that of
        the other columns is taken.
    """
    read = {name: read_numbers(column) for name, column in columns.items()}
    found = {name: numbers for name, numbers in read.items() if numbers is not None}
    decimal = decimal_mark(found) if alike else None
    if decimal is not None:
        for name, numbers in found.items():
            if numbers.decimal is None:
                found[name] = read_numbers(columns[name], decimal=decimal) or numbers
    return found


def decimal_mark(found: Mapping[str, Numbers]) -> str | None:
    """Decimal mark of most of the columns that decide it."""
    decided = [numbers.decimal for numbers in found.values() if numbers.decimal is not None]
    return max(DECIMALS, key=decided.count) if decided else None


@dataclass(frozen=True)
class Convention:
    """How the numbers of a column are written."""

    decimal: str = "."
    thousands: str = ""
    unit: str = ""
    shown: bool = True  # whether the decimal mark occurs
    decided: str | None = None
    note: str = ""

    @property
    def name(self) -> str:
        """The convention in words."""
        parts = []
        if self.shown and (self.decimal == "," or self.thousands):
            parts.append(f"decimal {DECIMALS[self.decimal]}")
        if self.thousands:
            parts.append(f"thousands {THOUSANDS[self.thousands]}")
        if self.unit:
            parts.append("percent" if self.unit == "%" else f"in {self.unit}")
        return ", ".join(parts) or PLAIN

    @classmethod
    def named(cls, name: str) -> Convention:
        """The convention of that name."""
        parts = dict(part.partition(" ")[::2] for part in name.split(", "))
        words = {word: mark for mark, word in THOUSANDS.items()}
        thousands = words.get(parts.get("thousands", ""), "")
        decimal = "," if parts.get("decimal") == "comma" or thousands == "." else "."
        unit = "%" if "percent" in parts else parts.get("in", "")
        # Larger numbers than before may have groups, and a point cannot be the decimal mark then.
        return cls(decimal, thousands or ("." if decimal == "," else ""), unit, decided=decimal)

    def admits(self, part: NumberTokens) -> bool:
        """Whether a shape is written so."""
        between = part.thousands[self.decimal]
        if between is None or (between and self.thousands and between != self.thousands):
            return False
        if between and not self.thousands and part.is_open:
            return False
        return part.unit == self.unit or (not part.unit and self.unit != "%")


@dataclass(frozen=True)
class NumberTokens:
    """Tokens of a shape of a number.

    Attributes
    ----------
    body : str
        Digits and marks between them.
    power : str
        Power of ten, as in ``e-05``.
    negative : bool
        Whether the number is below zero.
    unit : str
        Currency, or ``"%"``.
    thousands : dict of str to (str or None)
        For each decimal mark what separates thousands, nothing where nothing does, None if the
        digits make no number then.
    """

    body: str
    power: str
    negative: bool
    unit: str
    thousands: dict[str, str | None]

    @property
    def is_open(self) -> bool:
        """Whether it is a number by both decimal marks, but not the same one."""
        return None not in self.thousands.values() and any(mark in self.body for mark in DECIMALS)

    def values(self, texts: Texts, rows: Ints, places: list[int], decimal: str) -> FloatArray:
        """Numbers that texts of this shape spell, correctly rounded."""
        n_digits = sum(c in "09" for c in self.body)
        n_decimals = 0
        if decimal in self.body:
            n_decimals = len(self.body) - 1 - self.body.rindex(decimal)
        if not self.power and n_digits <= EXACT_DIGITS:
            found = texts.integers(rows, places) / 10.0**n_decimals
        else:
            found = self._long(texts.digits(rows, places), n_digits, n_decimals)
        return -found if self.negative else found

    def _long(self, digits: npt.NDArray[np.uint8], n_digits: int, n_decimals: int) -> FloatArray:
        """Numbers with more digits than a whole number holds, or with a power of ten."""
        whole = n_digits - n_decimals
        signs = b"e" + (b"-" if "-" in self.power else b"+")
        middle = [_column(b".", digits), digits[:, whole:n_digits]]
        power = [_column(signs, digits), digits[:, n_digits:]] if self.power else []
        return _floats(np.hstack([_column(b"0", digits), digits[:, :whole], *middle, *power]))


def _floats(spelled: npt.NDArray[np.uint8]) -> FloatArray:
    """Numbers that rows of letters spell in the plain way."""
    import pyarrow as pa

    n, width = spelled.shape
    ends = np.arange(n + 1, dtype=np.int64) * width
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(np.ascontiguousarray(spelled))]
    texts = pa.Array.from_buffers(pa.large_string(), n, buffers)
    values: FloatArray = texts.cast(pa.float64()).to_numpy()
    return values


def _column(text: bytes, neighbors: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """The same text for each row."""
    return np.tile(np.frombuffer(text, dtype=np.uint8), (len(neighbors), 1))


def part_of(shape: str) -> NumberTokens | None:
    """Take a shape apart; None if it is no number."""
    match = NUMBER.fullmatch(shape.translate(ALIKE))
    if match is None or bool(match["opened"]) != bool(match["closed"]):
        return None
    body = match["body"]
    named = [match[name].rstrip(".").lower() for name in ("before", "behind") if match[name]]
    units = {UNITS.get(name, name) for name in named}
    signs = [sign for sign in (match["sign"], match["inner"], match["last"]) if sign]
    if len(units) > 1 or len(signs) > 1 or (signs and match["opened"]):
        return None
    negative = bool(match["opened"]) or (bool(signs) and signs[0] != "+")
    thousands = {mark: _thousands(body, mark) for mark in DECIMALS}
    unit = next(iter(units), "")
    return NumberTokens(body, match["power"] or "", negative, unit, thousands)


def _thousands(body: str, decimal: str) -> str | None:
    """Separator of thousands of a number with this decimal mark; None if it is no number."""
    whole, found, fraction = body.partition(decimal)
    if found and not fraction.isdigit() and fraction:
        return None
    marks = {c for c in whole if c not in "09"}
    if not marks:
        has_digits = bool(whole or fraction)
        return "" if has_digits and not CODE.match(whole) else None
    groups = re.split(r"[.,' ]", whole)
    first, others = groups[0], groups[1:]
    even = all(len(group) == 3 for group in others) and 0 < len(first) <= 3
    return marks.pop() if len(marks) == 1 and even and first[0] != "0" else None


class NumberReading:
    """All shapes of a column taken apart."""

    def __init__(self, names: list[str], counts: Ints) -> None:
        self.missing = np.array([is_missing(name) for name in names], dtype=bool)
        self.parts = [
            None if gap else part_of(name) for name, gap in zip(names, self.missing, strict=True)
        ]
        self.counts = [int(count) for count in counts]
        self.n_missing = int(counts[self.missing].sum()) if len(counts) else 0

    @classmethod
    def of(cls, shapes: Shapes) -> NumberReading:
        return cls(shapes.names, shapes.counts)

    @property
    def weighted(self) -> list[tuple[NumberTokens, int]]:
        """Shapes that are a number in some convention, and how often each occurs."""
        pairs = zip(self.parts, self.counts, strict=True)
        return [(part, count) for part, count in pairs if part is not None]

    @property
    def has_codes(self) -> bool:
        """Whether a number of digits alone begins with 0, which numbers do not."""
        return any(CODE.fullmatch(part.body) and not part.power for part, _ in self.weighted)

    def decide(self, hint: str | None) -> Convention:
        """Find the convention by which most are numbers."""
        parts = self.weighted
        fitting = {
            mark: sum(n for part, n in parts if part.thousands[mark] is not None)
            for mark in DECIMALS
        }
        decided: str | None = None
        note = ""
        marked = [part for part, _ in parts if any(mark in part.body for mark in DECIMALS)]
        if fitting["."] != fitting[","]:
            decimal = decided = max(DECIMALS, key=fitting.__getitem__)
        else:
            decimal, note = self._by_rule(marked, hint)
        thousands = _most([(part.thousands[decimal], n) for part, n in parts])
        unit = _most([(part.unit, n) for part, n in parts])
        shown = any(decimal in part.body for part in marked)
        return Convention(decimal, thousands, unit, shown, decided, note)

    def _by_rule(self, marked: list[NumberTokens], hint: str | None) -> tuple[str, str]:
        """Decimal mark where the values are ambiguous, and a note on the choice."""
        if not marked:
            return hint or ".", ""
        if hint is not None:
            mark = "comma" if any("," in part.body for part in marked) else "point"
            word = "thousands" if any(part.thousands[hint] for part in marked) else "decimal"
            return hint, f"{mark} read as {word} mark, as in other columns"
        if any("." in part.body for part in marked):
            return ".", ""
        whole = [part for part, _ in self.weighted if part.thousands["."] == ""]
        if any(len(part.body) > 3 for part in whole):
            return ",", "comma read as decimal mark, since larger numbers have none"
        if whole:
            return ".", "comma read as thousands mark, since smaller numbers have none"
        return ".", "comma read as thousands mark: three digits follow each"


def _most(pairs: list[tuple[str | None, int]]) -> str:
    """The most frequent of some marks that are there, or nothing."""
    counts: dict[str, int] = {}
    for mark, count in pairs:
        if mark:
            counts[mark] = counts.get(mark, 0) + count
    return max(sorted(counts), key=counts.__getitem__, default="")


def _is_likely(texts: Texts, codes: Ints | None) -> bool:
    """Whether some of the rows, spread over all of them, mostly hold numbers."""
    read = NumberReading.of(shapes_of(sampled(texts, codes)))
    n_numbers = sum(count for _, count in read.weighted)
    return n_numbers >= SAMPLE_MOST * (sum(read.counts) - read.n_missing)
