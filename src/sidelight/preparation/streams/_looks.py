"""What the values of a column are, seen block by block."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from sidelight._typing import FloatArray, IntArray
from sidelight.io.inner import SpellingTally
from sidelight.preparation._reading import Dated, Numbered, RawColumn, names_rows_at, sampled_every
from sidelight.preparation._texts import one_dictionary
from sidelight.preparation.streams._levels import HASHES, LevelCounts, mixed
from sidelight.preparation.streams._quantiles import Quantiles

#: Values that cannot be read and are shown to the user.
SHOWN = 2


def both(one: Any, other: Any) -> Any:
    """Join what is known of both; None where it is not known of one."""
    return None if one is None or other is None else one.join(other)


@dataclass(frozen=True, eq=False)
class NumberLook:
    """Numbers of consecutive rows.

    Attributes
    ----------
    n_rows, n_missing : int
        Rows, and how many of them have no number.
    low, high : float
        Smallest and largest number.
    is_whole : bool
        Whether all of them are whole numbers.
    ends : (float, float)
        Numbers of the first and the last row.
    counts_rows : bool
        Whether each is one more than that of the row before.
    few : frozenset of float or None
        The different numbers, if there are no more than two.
    code_sum : int
        Sum of hashes of all whole numbers, modulo 2^64.
    hashes : ndarray or None
        Smallest hashes of the different numbers, where their number counts.
    positive : Quantiles or None
        Numbers above 0, where their quartile counts.
    sample : tuple of ndarray
        Numbers of rows evenly spread over the table.
    bad : tuple of str
        The first texts that cannot be read.
    n_bad : int
        How many cannot be read.
    how : str
        Note on the type.
    """

    n_rows: int
    n_missing: int
    low: float
    high: float
    is_whole: bool
    ends: tuple[float, float]
    counts_rows: bool
    few: frozenset[float] | None
    code_sum: int
    hashes: Any
    positive: Quantiles | None
    sample: tuple[FloatArray, ...]
    bad: tuple[str, ...]
    n_bad: int
    how: str

    def join(self, other: NumberLook) -> NumberLook:
        """Numbers of both runs of rows."""
        few = None if self.few is None or other.few is None else self.few | other.few
        hashes = None
        if self.hashes is not None:
            hashes = np.unique(np.concatenate([self.hashes, other.hashes]))[:HASHES]
        steps = self.counts_rows and other.counts_rows and other.ends[0] - self.ends[1] == 1.0
        return NumberLook(
            self.n_rows + other.n_rows,
            self.n_missing + other.n_missing,
            min(self.low, other.low),
            max(self.high, other.high),
            self.is_whole and other.is_whole,
            (self.ends[0], other.ends[1]),
            steps,
            None if few is None or len(few) > 2 else few,
            (self.code_sum + other.code_sum) % 2**64,
            hashes,
            both(self.positive, other.positive),
            self.sample + other.sample,
            (self.bad + other.bad)[:SHOWN],
            self.n_bad + other.n_bad,
            self.how,
        )


@dataclass(frozen=True, eq=False)
class DateLook:
    """Dates or times of day of consecutive rows.

    Attributes
    ----------
    n_rows, n_missing : int
        Rows, and how many of them have no date.
    low, high : float
        Seconds of the first and the last one.
    bad : tuple of str
        The first texts that cannot be read.
    n_bad : int
        How many cannot be read.
    note : str
        Note on the type.
    """

    n_rows: int
    n_missing: int
    low: float
    high: float
    bad: tuple[str, ...]
    n_bad: int
    note: str

    def join(self, other: DateLook) -> DateLook:
        """Dates of both runs of rows."""
        return DateLook(
            self.n_rows + other.n_rows,
            self.n_missing + other.n_missing,
            min(self.low, other.low),
            max(self.high, other.high),
            (self.bad + other.bad)[:SHOWN],
            self.n_bad + other.n_bad,
            self.note,
        )


@dataclass(frozen=True, eq=False)
class Words:
    """Words of an ordered category.

    Attributes
    ----------
    words : tuple of str or None
        The words in their order; None if blocks have different orders.
    """

    words: tuple[str, ...] | None

    def join(self, other: Words) -> Words:
        """Words of both, where those of one are among those of the other, in the same order."""
        if self.words is None or other.words is None:
            return Words(None)
        long, short = sorted((self.words, other.words), key=len, reverse=True)
        fits = tuple(word for word in long if word in set(short)) == short
        return Words(long if fits else None)


@dataclass(frozen=True, eq=False)
class ColumnLook:
    """A column in consecutive rows; what is not looked for is None.

    Attributes
    ----------
    n_rows, n_null : int
        Rows, and how many of them have no value.
    levels : LevelCounts or None
        The different values.
    words : Words or None
        Words of an ordered category.
    numbers : NumberLook or None
        The numbers.
    dates : DateLook or None
        The dates or times of day.
    tally : SpellingTally or None
        How texts are spelled.
    texts : tuple of str
        Texts of rows evenly spread over the table.
    """

    n_rows: int
    n_null: int
    levels: LevelCounts | None = None
    words: Words | None = None
    numbers: NumberLook | None = None
    dates: DateLook | None = None
    tally: SpellingTally | None = None
    texts: tuple[str, ...] = ()

    def join(self, other: ColumnLook) -> ColumnLook:
        """The column in both runs of rows."""
        return ColumnLook(
            self.n_rows + other.n_rows,
            self.n_null + other.n_null,
            both(self.levels, other.levels),
            both(self.words, other.words),
            both(self.numbers, other.numbers),
            both(self.dates, other.dates),
            both(self.tally, other.tally),
            self.texts + other.texts,
        )


@dataclass
class ColumnWatch:
    """What to look for in the blocks of a column.

    Attributes
    ----------
    name : str
        Name of the column.
    n_rows : int
        Rows of the table.
    reading : str
        ``number``, ``date`` or ``time`` for a column that is read as such, or nothing.
    written : str
        How texts spell them.
    levels : bool
        Whether all different values are counted; else up to two numbers are.
    spelling : bool
        Whether to find out what texts spell.
    ids : bool
        Whether the number of different numbers counts.
    logarithm : bool
        Whether the lower quartile of the numbers above 0 counts.
    """

    name: str
    n_rows: int
    reading: str = ""
    written: str = ""
    levels: bool = False
    spelling: bool = False
    ids: bool = False
    logarithm: bool = False
    # What was seen of texts so far spares a look at more of them, and changes no result.
    _seen: SpellingTally = field(default_factory=SpellingTally)

    def look(self, raw: RawColumn, start: int) -> ColumnLook:
        """Look at a block, of which the first row is at ``start``."""
        counts = (raw.n_rows, raw.n_null)
        if self.reading == "number":
            numbered = raw.numbers(self.written, some=True)
            assert numbered is not None
            numbers = self._numbers(raw, numbered, start)
            few = self.levels or numbers.few is not None
            return ColumnLook(*counts, self._levels(raw) if few else None, numbers=numbers)
        if self.reading:
            dated = raw.dates(self.written, kind=self.reading)
            assert dated is not None
            levels = self._levels(raw) if self.levels else None
            return ColumnLook(*counts, levels, dates=_dates(raw, dated))
        if not self.spelling:
            levels = self._levels(raw) if self.levels else None
            return ColumnLook(*counts, levels, self._words(raw))
        shared = RawColumn(raw.name, _dictionary(raw.values), raw.source)
        texts = _at(raw.values, names_rows_at(self.n_rows), start)
        levels = self._levels(shared)
        return ColumnLook(*counts, levels, tally=self._tally(shared.values), texts=texts)

    def _levels(self, raw: RawColumn) -> LevelCounts:
        return LevelCounts.of(raw.values.combine_chunks())

    def _words(self, raw: RawColumn) -> Words | None:
        import pyarrow as pa

        is_ordered = pa.types.is_dictionary(raw.type) and raw.type.ordered
        return Words(tuple(raw.words)) if is_ordered else None

    def _tally(self, column: Any) -> SpellingTally:
        """Count shapes, until it is sure that they are neither numbers nor dates."""
        if self._seen.is_settled(self.n_rows):
            return self._seen.settled()
        tally = SpellingTally.of(column)
        self._seen = self._seen.join(tally)
        return tally

    def _numbers(self, raw: RawColumn, numbered: Numbered, start: int) -> NumberLook:
        values = numbered.values
        n_missing = numbered.n_missing
        low, high = numbered.extent if n_missing < len(values) else (np.inf, -np.inf)
        inside = values[~np.isnan(values)] if n_missing else values
        is_whole = bool(np.all(values == np.round(values)))
        bits = inside + 0.0  # one zero
        bits = bits.view(np.uint64)
        step = sampled_every(self.n_rows)
        sample = values[-start % step :: step]
        return NumberLook(
            len(values),
            n_missing,
            low,
            high,
            is_whole,
            numbered.ends,
            is_whole and numbered.counts_rows,
            _few(inside, low, high),
            int(mixed(bits).sum()) if is_whole else 0,
            np.unique(mixed(bits))[:HASHES] if self.ids else None,
            Quantiles.of(inside[inside > 0]) if self.logarithm else None,
            (sample[~np.isnan(sample)],),
            _first_bad(raw, numbered.bad),
            len(numbered.bad),
            "" if self.written else numbered.how,
        )


def _few(values: FloatArray, low: float, high: float) -> frozenset[float] | None:
    """The different values, if there are no more than two."""
    if not len(values):
        return frozenset()
    return frozenset((low, high)) if np.all((values == low) | (values == high)) else None


def _dates(raw: RawColumn, dated: Dated) -> DateLook:
    n_missing = dated.n_missing
    low, high = dated.extent if n_missing < dated.n_rows else (np.inf, -np.inf)
    bad = _first_bad(raw, dated.bad)
    return DateLook(dated.n_rows, n_missing, low, high, bad, len(dated.bad), dated.note)


def _first_bad(raw: RawColumn, bad: npt.NDArray[Any]) -> tuple[str, ...]:
    return tuple(str(raw.values[int(place)].as_py()) for place in bad[:SHOWN])


def _dictionary(column: Any) -> Any:
    import pyarrow as pa

    return column if pa.types.is_dictionary(column.type) else one_dictionary(column)


def _at(column: Any, positions: IntArray, start: int) -> tuple[str, ...]:
    """Texts of a block at some positions of the table."""
    import pyarrow as pa

    rows = rows_at(positions, start, len(column))
    return tuple(text for text in column.take(pa.array(rows)).to_pylist() if text)


def rows_at(positions: IntArray, start: int, n_rows: int) -> IntArray:
    """Rows of a block that are at some positions of the table, which are in ascending order."""
    first, last = np.searchsorted(positions, [start, start + n_rows])
    return positions[first:last] - start


def range_sum(low: float, high: float) -> int:
    """Sum of the hashes of all whole numbers of a range, modulo 2^64."""
    step, total = 2**20, 0
    for start in range(int(low), int(high) + 1, step):
        numbers = np.arange(start, min(start + step, int(high) + 1), dtype=np.float64)
        total += int(mixed(numbers.view(np.uint64)).sum())
    return total % 2**64
