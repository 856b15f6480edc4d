"""Published texts: how ranges, sets and single values are written, and read again.

Different ranges and sets are never written alike. A number is ``37`` and a range of numbers
``20-29``, also ``-5--2``: a minus sign between two numbers parts them. A range of dates is
``2024-01-31/2024-02-29``. A set is ``{a, b}``; in it, and in single values that could be taken for
something else, a backslash stands before every sign that has a meaning.
"""

from __future__ import annotations

import math
import re
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import Any

import numpy as np

from sidelight._typing import Array, FloatArray
from sidelight.privacy.anonymizer._columns import Column

#: Any value.
ANY = "*"
#: A missing value.
NOTHING = "missing"

NUMBER = r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?"
RANGE = re.compile(rf"({NUMBER})(?:-({NUMBER}))?")

#: Exact decimals are shown up to this many; beyond, numbers are rounded outward to a thousandth of
#: the range of their column.
MAX_DECIMALS = 6
DIGITS_OF_RANGE = 3
#: Numbers from this size on are written with an exponent.
LARGE = 1e15
_EXACT = Context(prec=1200)


def single(text: str) -> str:
    """Text of a single category, escaped if it could be read as something else."""
    escaped = text.replace("\\", "\\\\")
    return f"\\{escaped}" if escaped.startswith("{") or escaped in (ANY, NOTHING) else escaped


def several(texts: list[str]) -> str:
    """A set of categories; :data:`None` in it stands for a missing value, and comes last."""
    parts = [NOTHING if text is None else re.sub(r"([\\,{}])", r"\\\1", text) for text in texts]
    shown = [
        f"\\{part}" if text is not None and part in (NOTHING, "") else part
        for text, part in zip(texts, parts, strict=True)
    ]
    return "{" + ", ".join(shown) + "}"


def read_set(text: str) -> list[str | None]:
    """Categories that a published text stands for, None for a missing value.

    ``*`` is not read: it stands for all categories of its column.
    """
    if text == NOTHING:
        return [None]
    if not text.startswith("{"):
        plain = text[1:] if text.startswith(("\\{", f"\\{ANY}", f"\\{NOTHING}")) else text
        return [plain.replace("\\\\", "\\")]
    parts = re.findall(r"((?:\\.|[^\\,])*)(?:, |$)", text[1:-1], flags=re.DOTALL)
    if len(parts) > 1 and parts[-1] == "":
        parts.pop()
    return [
        None
        if part == NOTHING
        else re.sub(r"\\(.)", r"\1", part, flags=re.DOTALL)
        if part != f"\\{NOTHING}"
        else NOTHING
        for part in parts
    ]


class NumberTexts:
    """Texts of the numbers of a column.

    Parameters
    ----------
    column : Column
        The column.
    """

    def __init__(self, column: Column) -> None:
        self.values = column.values
        numbers = column.values.astype(np.float64)
        self.whole = column.values.dtype.kind in "iu" or bool(
            np.all(numbers == np.trunc(numbers)) and np.abs(numbers).max(initial=0.0) < LARGE
        )
        self.decimals = None if self.whole else _decimals(numbers)
        width = float(numbers[-1] / 2 - numbers[0] / 2) if len(numbers) else 0.0
        exponent = math.floor(math.log10(width)) + 1 if width > 0 else 0
        self.unit = Decimal(1).scaleb(exponent - DIGITS_OF_RANGE)

    def exact(self, code: int) -> str:
        """A single value."""
        value = self.values[code]
        if self.whole:
            return str(int(value))
        if self.decimals is not None:
            return f"{float(value):.{self.decimals}f}"
        return str(value.item() if self.values.dtype == np.float64 else value)

    def low(self, code: int) -> str:
        """The lower end of a range: the value, or a round number that is not above it."""
        return self._rounded(code, ROUND_FLOOR)

    def high(self, code: int) -> str:
        """The upper end of a range: the value, or a round number that is not below it."""
        return self._rounded(code, ROUND_CEILING)

    def nearest(self, number: float) -> str:
        """A mean: with one decimal more than whole numbers or exact decimals have."""
        if self.whole or self.decimals is not None:
            return decimal_text(Decimal(f"{number:.{(self.decimals or 0) + 1}f}"))
        return decimal_text(Decimal(number).quantize(self.unit, context=_EXACT))

    def _rounded(self, code: int, rounding: str) -> str:
        if self.whole or self.decimals is not None:
            return self.exact(code)
        number = Decimal(float(self.values[code]))
        rounded = number.quantize(self.unit, rounding=rounding, context=_EXACT)
        return decimal_text(rounded)


def decimal_text(number: Decimal) -> str:
    """A decimal number without an exponent, unless it is very large or small."""
    if number == 0:
        return "0"
    plain = number.normalize(_EXACT)
    if -20 <= plain.adjusted() <= 15:
        return format(plain, "f")
    return format(plain, "e").replace("E", "e")


def _decimals(numbers: FloatArray) -> int | None:
    """Least number of decimals that write all numbers exactly; None if they need many."""
    if np.abs(numbers).max(initial=0.0) >= LARGE:
        return None
    for decimals in range(1, MAX_DECIMALS + 1):
        if np.array_equal(np.round(numbers, decimals), numbers):
            exact = all(float(f"{number:.{decimals}f}") == number for number in numbers.tolist())
            return decimals if exact else None
    return None


def read_range(text: str) -> tuple[float, float]:
    """Both ends of a published number or range of numbers.

    Raises
    ------
    ValueError
        If the text is none.
    """
    found = RANGE.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is no number or range of numbers")
    low = float(found[1])
    return low, low if found[2] is None else float(found[2])


def date_text(moment: Any, zone: str) -> str:
    """A date or moment in the form of ISO 8601."""
    text = str(moment)
    if "T" in text and "." in text:
        text = text.rstrip("0").rstrip(".")
    return text + zone


def read_dates(text: str) -> tuple[Any, Any]:
    """Both ends of a published date or range of dates."""
    low, _, high = text.partition("/")
    first = np.datetime64(low.removesuffix("Z"))
    return first, np.datetime64(high.removesuffix("Z")) if high else first


def different_texts(column: Array) -> tuple[list[str], Array]:
    """Different texts of a column, and the position of every row among them."""
    import pyarrow as pa

    encoded = pa.array(column, pa.string()).dictionary_encode()
    places = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    return encoded.dictionary.to_pylist(), places


def range_texts(column: Column, low: Array, high: Array) -> Array:
    """Texts of ranges, by the codes of their ends; those of equal ends are single values."""
    texts = np.empty(len(low), dtype=object)
    pairs, place = np.unique(low * (len(column.values) + 1) + high, return_inverse=True)
    lows, highs = np.divmod(pairs, len(column.values) + 1)
    made = np.empty(len(pairs), dtype=object)
    if column.kind == "date":
        ends = {
            code: date_text(column.values[code], column.zone)
            for code in np.union1d(lows, highs).tolist()
        }
        first = last = one = ends
    else:
        numbers = NumberTexts(column)
        first = {code: numbers.low(code) for code in np.unique(lows).tolist()}
        last = {code: numbers.high(code) for code in np.unique(highs).tolist()}
        one = {code: numbers.exact(code) for code in np.unique(lows[lows == highs]).tolist()}
    mark = "/" if column.kind == "date" else "-"
    for number, (a, b) in enumerate(zip(lows.tolist(), highs.tolist(), strict=True)):
        made[number] = one[a] if a == b else f"{first[a]}{mark}{last[b]}"
    texts[:] = made[place]
    return texts
