"""Typed columns as what is compared: values with an order, and words of texts."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from sidelight._typing import Array, FloatArray, IntArray
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

#: Kinds whose values have an order.
ORDERED = ("number", "date", "time", "ordered")
#: Kinds whose values are levels.
LEVELS = ("yes-no", "category", "ordered")

MAX_WORDS = 300
FEWEST_TEXTS = 5  # that a compared word occurs in
_WORD = re.compile(r"[^\W\d_](?:[\w'’-]*\w)?")
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


def words_of(text: str) -> set[str]:
    """Words of a text, in lower case.

    Examples
    --------
    >>> from sidelight.explanation._columns import words_of
    >>> sorted(words_of("Refund, please: order 17 isn't here"))
    ['here', "isn't", 'order', 'please', 'refund']
    """
    return {word for word in _WORD.findall(text.lower()) if len(word) > 1}


@dataclass(frozen=True)
class TextWords:
    """Words of some texts.

    Attributes
    ----------
    vocabulary : tuple of str
        The most frequent words, by how many texts they occur in, without those of all texts.
    texts, words : ndarray
        Position of a text and of a word of the vocabulary in it, for all occurrences.
    """

    vocabulary: tuple[str, ...]
    texts: IntArray
    words: IntArray


def find_words(texts: Any, most: int = MAX_WORDS) -> TextWords:
    """Find words that may distinguish texts, chosen without regard to the clusters."""
    found = [words_of(text) for text in texts]
    counts: Counter[str] = Counter()
    for words in found:
        counts.update(words)
    frequent = [(n, word) for word, n in counts.items() if FEWEST_TEXTS <= n < len(found)]
    vocabulary = [word for _, word in sorted(frequent, key=lambda one: (-one[0], one[1]))[:most]]
    position = {word: number for number, word in enumerate(vocabulary)}
    pairs = [
        (text, position[word])
        for text, words in enumerate(found)
        for word in words
        if word in position
    ]
    occurrences = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return TextWords(tuple(vocabulary), occurrences[:, 0], occurrences[:, 1])
