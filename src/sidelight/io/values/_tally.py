"""How the texts of a column that comes piece by piece are spelled: counts of their shapes.

What a column of texts holds is decided by its shapes and how many rows have each (see
:mod:`sidelight.io.values._shapes`); of dates also by how many there are in each order of day and
month. These counts add up, so that the pieces together give what the whole column gives.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from sidelight.io.values import _dates as dates
from sidelight.io.values import _numbers as numbers
from sidelight.io.values._shapes import (
    MOST,
    Ints,
    Shapes,
    Texts,
    distinct_texts,
    is_missing,
    shapes_of,
)

if TYPE_CHECKING:
    import pyarrow as pa

ORDERS = (dates.DAY_FIRST, dates.MONTH_FIRST, dates.YEAR_FIRST)


class Spelling(NamedTuple):
    """How a column spells numbers, dates or times of day.

    Attributes
    ----------
    kind : str
        ``number``, ``date`` or ``time``.
    written : str
        How they are written, in words that the functions which read them understand.
    note : str
        Anything that was taken for granted, for the user.
    """

    kind: str
    written: str
    note: str


@dataclass(eq=False)
class SpellingTally:
    """Counts of the shapes of texts.

    Attributes
    ----------
    n_given : int
        Rows with a text.
    rows : dict of str to int, or None
        Rows of the shapes of numbers, dates and words for missing values; None once it is sure
        that the column holds neither numbers nor dates.
    dated : dict of str to ndarray
        Of the shapes of dates, how many are dates in each order.
    """

    n_given: int = 0
    rows: dict[str, int] | None = field(default_factory=dict)
    dated: dict[str, Ints] = field(default_factory=dict)

    @classmethod
    def of(cls, column: pa.ChunkedArray) -> Self:
        """Count the shapes of texts, or of a dictionary of texts."""
        texts, _ = distinct_texts(column)
        shapes = shapes_of(texts)
        tally = cls(int(texts.counts[texts.given].sum()))
        blocks: dict[int, list[Ints]] = {}
        for code, block in shapes.rows():
            blocks.setdefault(code, []).append(block)
        for code, found in blocks.items():
            tally._count(texts, shapes, code, found)
        return tally

    def _count(self, texts: Texts, shapes: Shapes, code: int, blocks: list[Ints]) -> None:
        assert self.rows is not None
        name, places = shapes.names[code], shapes.places[code]
        if not (places or is_missing(name)):  # neither has a shape without digits
            return
        part = dates.part_of(name, places)
        if part is not None:
            self.dated[name] = np.array(
                [sum(_n_read(texts, part, rows, order) for rows in blocks) for order in ORDERS]
            )
        elif not is_missing(name) and numbers.part_of(name) is None:
            return
        self.rows[name] = int(shapes.counts[code])

    def join(self, other: SpellingTally) -> SpellingTally:
        """Counts of both columns together."""
        n_given = self.n_given + other.n_given
        if self.rows is None or other.rows is None:
            return SpellingTally(n_given, None)
        rows, dated = dict(self.rows), dict(self.dated)
        for name, count in other.rows.items():
            rows[name] = rows.get(name, 0) + count
        for name, counts in other.dated.items():
            dated[name] = dated[name] + counts if name in dated else counts
        return SpellingTally(n_given, rows, dated)

    def is_settled(self, n_rows: int) -> bool:
        """Whether a column with ``n_rows`` rows, these among them, holds no numbers, no dates."""
        if self.rows is None:
            return True
        either = sum(self.rows.values())
        return self.n_given - either > (1 - MOST) * n_rows

    def settled(self) -> SpellingTally:
        """The tally of a column that holds no numbers and no dates."""
        return SpellingTally(self.n_given, None)

    def numbers(self) -> Spelling | None:
        """Return how numbers are spelled; None if the column does not hold numbers."""
        names = sorted(self.rows or ())
        read = numbers.NumberReading(names, np.array([(self.rows or {})[name] for name in names]))
        if not read.weighted or read.has_codes:
            return None
        known = read.decide(None)
        n_fitting = sum(count for part, count in read.weighted if known.admits(part))
        if not self._suffice(n_fitting):
            return None
        return Spelling("number", known.name, known.note)

    def dates(self) -> Spelling | None:
        """Return how dates or times of day are spelled; None if the column holds neither."""
        if not self.dated or self.rows is None:
            return None
        found = {
            name: part
            for name in sorted(self.dated)
            if (part := dates.part_of(name, _digits(name))) is not None
        }
        n_times = sum(self.rows[name] for name, part in found.items() if part.is_time)
        n_dates = sum(self.rows[name] for name, part in found.items() if not part.is_time)
        kind = "time" if n_times > n_dates else "date"
        found = {name: part for name, part in found.items() if part.is_time == (kind == "time")}

        def n_fitting(order: str) -> int:
            place = ORDERS.index(order)
            return sum(int(self.dated[name][place]) for name, p in found.items() if p.is_open)

        open_parts = [part for part in found.values() if part.is_open]
        order, note = dates.choose_order(open_parts, "", n_fitting)
        fixed = sum(int(self.dated[name][0]) for name, part in found.items() if not part.is_open)
        if not self._suffice(fixed + (n_fitting(order) if order else 0)):
            return None
        notes = [note] if note else []
        if any("east" in part.words for part in found.values()):
            notes.append(dates.OFFSETS)
        counted = [(part, self.rows[name]) for name, part in found.items()]
        return Spelling(kind, dates.format_of(counted, order), "; ".join(notes))

    def _suffice(self, n_fitting: int) -> bool:
        """Whether that many rows are most of those that are not missing."""
        n_missing = sum(count for name, count in (self.rows or {}).items() if is_missing(name))
        return n_fitting > 0 and n_fitting >= MOST * (self.n_given - n_missing)


def _n_read(texts: Texts, part: dates.DateTokens, rows: Ints, order: str) -> int:
    read = dates.read_part(texts, part, rows, order)
    return int(texts.counts[rows[~np.isnan(read)]].sum())


def _digits(shape: str) -> list[int]:
    return [place for place, byte in enumerate(shape.encode()) if byte in b"09"]
