"""A column that was seen block by block, as decisions on it want to know it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sidelight._typing import FloatArray, IntArray
from sidelight.exceptions import SidelightError
from sidelight.io.inner import Spelling
from sidelight.io.inner import is_missing as means_nothing
from sidelight.preparation._reading import mostly_different, reading_note
from sidelight.preparation._source import Source
from sidelight.preparation._texts import EXAMPLES, by_frequency, distinct_texts
from sidelight.preparation.streams._levels import HASHES, LevelCounts
from sidelight.preparation.streams._looks import ColumnLook, DateLook, NumberLook, range_sum


@dataclass(frozen=True, eq=False)
class SeenLevels:
    """The different texts of a column, and how often each is there.

    Attributes
    ----------
    levels : list of str
        The different texts, the most frequent first; the frequent ones only, of very many.
    counts : ndarray
        Rows of every level.
    n_rows, n_missing, n_levels : int
        Rows, rows without a text, and different texts.
    number : str
        How many texts differ, in words.
    examples : sequence of str
        Some texts.
    """

    levels: list[str]
    counts: IntArray
    n_rows: int
    n_missing: int
    n_levels: int
    number: str
    examples: Sequence[str]

    @classmethod
    def of(cls, counted: LevelCounts, n_null: int, texts: Sequence[str]) -> SeenLevels:
        """Levels from counts of the values; ``texts`` show some of very many."""
        places, names = distinct_texts(counted.values.to_pylist())
        counts = np.zeros(len(names), dtype=np.int64)
        np.add.at(counts, places[places >= 0], counted.counts[places >= 0])
        order = by_frequency(counts, names)
        levels = [names[place] for place in order]
        n_missing = n_null + int(counted.counts[places < 0].sum())
        n_levels, number, examples = len(levels), f"{len(levels):,}", levels[:EXAMPLES]
        if counted.hashes is not None:
            n_levels = min(counted.n_different, counted.n_rows - n_missing)
            number = f"about {n_levels:,}"
            examples = list(dict.fromkeys(texts))[:EXAMPLES] or examples
        return cls(levels, counts[order], counted.n_rows, n_missing, n_levels, number, examples)


@dataclass(frozen=True, eq=False)
class SeenNumbers:
    """A column read as numbers.

    Attributes
    ----------
    look : NumberLook
        What its blocks showed.
    convention : str
        How texts spell them; empty for numbers.
    note : str
        Anything that was taken for granted.
    """

    look: NumberLook
    convention: str
    note: str

    @property
    def how(self) -> str:
        """Note on the reading."""
        return reading_note(self.look.n_bad, self.look.bad, self.note or self.look.how)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.look.n_rows

    @property
    def n_missing(self) -> int:
        """Rows without a number."""
        return self.look.n_missing

    @property
    def n_unreadable(self) -> int:
        """Number of texts that are no numbers."""
        return self.look.n_bad

    @property
    def extent(self) -> tuple[float, float]:
        """Smallest and largest number."""
        return self.look.low, self.look.high

    @cached_property
    def sample(self) -> FloatArray:
        """Numbers of some rows, evenly spread."""
        return np.concatenate(self.look.sample)

    @property
    def has_two_values(self) -> bool:
        """Whether there are no more than two different numbers."""
        return self.look.few is not None

    @property
    def is_whole(self) -> bool:
        """Whether every row has a whole number."""
        return self.look.is_whole

    @property
    def counts_rows(self) -> bool:
        """Whether each number is one more than that of the row before."""
        return self.look.counts_rows

    @property
    def ends(self) -> tuple[float, float]:
        """Numbers of the first and the last row."""
        return self.look.ends

    @property
    def n_different(self) -> int:
        """How many numbers differ; of very many, an estimate."""
        found = self.look.hashes
        if len(found) < HASHES:
            return len(found)
        return round((HASHES - 1) / (float(found[-1]) / 2.0**64))

    @property
    def has_each_once(self) -> bool:
        """Whether every whole number from the smallest to the largest one is there once."""
        return self.is_whole and range_sum(*self.extent) == self.look.code_sum

    def positive_quartile(self) -> float:
        """Lower quartile of the numbers above 0."""
        assert self.look.positive is not None
        return self.look.positive.at([0.25])[0]


@dataclass(frozen=True, eq=False)
class SeenDates:
    """A column read as dates or times of day.

    Attributes
    ----------
    look : DateLook
        What its blocks showed.
    kind : str
        ``date`` or ``time``.
    format : str
        How texts spell them; empty for dates.
    note : str
        Anything that was taken for granted.
    """

    look: DateLook
    kind: str
    format: str
    note: str

    @property
    def how(self) -> str:
        """Note on the reading."""
        return reading_note(self.look.n_bad, self.look.bad, self.note)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.look.n_rows

    @property
    def n_missing(self) -> int:
        """Rows without a date."""
        return self.look.n_missing

    @property
    def n_unreadable(self) -> int:
        """Number of texts that are no dates."""
        return self.look.n_bad

    @property
    def extent(self) -> tuple[float, float]:
        """Seconds of the first and the last date."""
        return self.look.low, self.look.high


class SeenColumn:
    """A column that was seen block by block.

    Parameters
    ----------
    name : str
        Its name.
    source : Source
        The table.
    kind : pyarrow.DataType
        Type of its values.
    look : ColumnLook or None
        What its blocks showed; None for a column that nobody looks at.
    spelling : Spelling or None
        What its texts spell.
    unreadable : callable
        ``unreadable(name, kind)`` returns the error about a value of another kind.
    """

    def __init__(
        self,
        name: str,
        source: Source,
        kind: Any,
        look: ColumnLook | None,
        spelling: Spelling | None,
        unreadable: Any,
    ) -> None:
        self.name, self.source, self.type = name, source, kind
        self._look, self._spelling, self._unreadable = look, spelling, unreadable

    @property
    def look(self) -> ColumnLook:
        """What its blocks showed."""
        assert self._look is not None
        return self._look

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.look.n_rows

    @property
    def n_null(self) -> int:
        """Number of rows without a value."""
        return self.look.n_null

    @property
    def words(self) -> Sequence[str]:
        """Words of a category, in its order."""
        words = self.look.words.words if self.look.words is not None else None
        if words is None:
            raise SidelightError(
                f"Column {self.name!r} has its levels in another order in different places; say "
                f"the order: {self.name}=ordered:low<medium<high."
            )
        return words

    @cached_property
    def coded(self) -> SeenLevels:
        """The different values as text, whatever they are."""
        assert self.look.levels is not None
        return SeenLevels.of(self.look.levels, self.n_null, self.look.texts)

    @property
    def numbered(self) -> SeenNumbers | None:
        """The numbers, if it holds numbers or texts that spell them."""
        if self.look.numbers is None:
            return None
        written, note = (
            (self._spelling.written, self._spelling.note) if self._spelling else ("", "")
        )
        return SeenNumbers(self.look.numbers, written, note)

    @property
    def dated(self) -> SeenDates | None:
        """The dates or times of day, if it holds some or texts that spell them."""
        import pyarrow as pa

        look = self.look.dates
        if look is None or (self._spelling is None and look.n_missing - look.n_bad == look.n_rows):
            return None
        if self._spelling is None:
            return SeenDates(look, "time" if pa.types.is_time(self.type) else "date", "", look.note)
        return SeenDates(look, self._spelling.kind, self._spelling.written, self._spelling.note)

    @property
    def differing(self) -> list[str]:
        """Texts of a sample of many rows, if most of them differ; else empty."""
        import pyarrow as pa

        return [] if pa.types.is_dictionary(self.type) else mostly_different(self.look.texts)

    @property
    def is_empty(self) -> bool:
        """Whether no row has a value; texts that stand for a missing number are none."""
        return self.look.levels is not None and all(map(means_nothing, self.coded.levels))

    def unreadable(self, kind: str) -> SidelightError:
        """Error about a value that is no number, date or time of day."""
        found: SidelightError = self._unreadable(self.name, kind)
        return found
