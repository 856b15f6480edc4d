"""Columns as zeros and ones: 0/1, true and false, yes and no, marks and blanks, large numbers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from sidelight._fit.thresholds import share_of_maximum
from sidelight._typing import FloatArray
from sidelight._words import counted, worded
from sidelight.exceptions import SidelightError
from sidelight.io import Table
from sidelight.io.inner import column_texts, is_text, number_column, quoted, read_numbers, row_name
from sidelight.preparation._texts import encode_texts
from sidelight.preparation._vocabulary import YES_NO

Bits = npt.NDArray[np.uint8]

NO = frozenset(no for no, _ in YES_NO)
YES = frozenset(yes for _, yes in YES_NO)
#: Marks of a table in which a blank means no.
MARKS = frozenset({"x", "✓", "✔", "☑", "✗", "✘", "*", "+", "•", "●"})


@dataclass(eq=False)
class CellReader:
    """Reads the columns of a table as zeros and ones.

    Attributes
    ----------
    data : Table
        The table, for the names in messages.
    above : float or None
        Share of the largest value of a column above which a number is 1; None where columns hold
        zeros and ones, or words for them.
    thresholds : dict of str to float
        Numbers above which values of a column are 1: those of the rows that were read first count
        for all that follow.
    is_new : bool
        Whether these are new rows, whose columns cannot be chosen any more.
    blank : list of str
        Columns read so far with blanks that count as 0.
    """

    data: Table
    above: float | None
    thresholds: dict[str, float] = field(default_factory=dict)
    is_new: bool = False
    blank: list[str] = field(default_factory=list)

    def read(self, name: str, column: Any) -> Bits:
        """One column as zeros and ones."""
        values = number_column(column)
        if self.above is not None:
            return self._large(name, self._numbers(name, column, values))
        if values is None:
            return self._words(name, column if is_text(column) else _as_texts(column))
        return self._zeros_and_ones(name, np.asarray(values, np.float64))

    @property
    def notes(self) -> list[str]:
        """Sentences about blanks."""
        if not self.blank:
            return []
        columns = counted(len(self.blank), "column")
        return [f"Blank fields count as 0 in {columns}: {quoted(self.blank)}."]

    def _zeros_and_ones(self, name: str, values: FloatArray) -> Bits:
        missing = np.isnan(values)
        self._refuse(name, values, ~missing & (values != 0.0) & (values != 1.0))
        self._blanks(name, missing, has_no=bool((values == 0.0).any()))
        return np.asarray(values == 1.0, np.uint8)

    def _words(self, name: str, column: Any) -> Bits:
        coded = encode_texts(column)
        meaning = [_meaning(level) for level in coded.levels]
        missing = coded.codes < 0
        unknown = np.array([*(one is None for one in meaning), False])[coded.codes]
        self._refuse(name, np.array([*coded.levels, ""], object)[coded.codes], unknown)
        self._blanks(name, missing, has_no=0 in meaning)
        return np.array([*(one or 0 for one in meaning), 0], np.uint8)[coded.codes]

    def _numbers(self, name: str, column: Any, values: Any) -> FloatArray:
        if values is None:
            read = read_numbers(column) if is_text(column) else None
            if read is None or len(read.bad):
                texts = encode_texts(_as_texts(column))
                bad = int(read.bad[0]) if read is not None else int(np.argmax(texts.codes >= 0))
                self._refuse_number(name, texts.levels[int(texts.codes[bad])], bad)
            values = read.values  # type: ignore[union-attr]
        numbers = np.asarray(values, np.float64)
        infinite = np.flatnonzero(np.isinf(numbers))
        if len(infinite):
            self._refuse_number(name, "an infinite number", int(infinite[0]))
        return numbers

    def _large(self, name: str, numbers: FloatArray) -> Bits:
        missing = np.isnan(numbers)
        self._blanks(name, missing, has_no=False)
        bits = np.zeros(len(numbers), np.uint8)
        if missing.all():
            return bits
        known = numbers[~missing]
        if not self.is_new:
            largest = share_of_maximum(known[:, None], self.above or 0.0, "above")
            self.thresholds[name] = float(largest[0])
        bits[~missing] = known > self.thresholds.get(name, np.inf)
        return bits

    def _blanks(self, name: str, missing: npt.NDArray[np.bool_], *, has_no: bool) -> None:
        """Take blanks for 0, unless the column says 0 or no in another way."""
        if not missing.any():
            return
        if has_no:
            where = row_name(self.data.ids, int(np.argmax(missing)))
            raise SidelightError(
                f"Column {name!r} of {self.data.path} is blank in "
                f"{counted(int(missing.sum()), 'row')}, the first is {where}, though it says no in "
                f"others; fill in 0 or 1{'' if self.is_new else _leave_out(name)}."
            )
        self.blank.append(name)

    def _refuse(self, name: str, values: Any, wrong: npt.NDArray[np.bool_]) -> None:
        if not wrong.any():
            return
        first = int(np.argmax(wrong))
        value = values[first]
        is_number = not isinstance(value, str)
        said = f"{value:.6g}" if is_number else repr(value)
        advice = (
            f"or call large numbers 1 with {worded('above=0.25', '--above 0.25')}: more than a "
            "quarter of the column's largest"
            if is_number
            else "or write 1 or 0, yes or no, x or nothing; if every line is a one, name the "
            f"columns with its row and column: {worded('long=', '--long ROW,COLUMN')}"
        )
        otherwise = f"; leave the column out ({_drop(name)}), {advice}"
        raise SidelightError(
            f"Column {name!r} of {self.data.path} holds {said} in "
            f"{row_name(self.data.ids, first)}, which is neither 0 nor 1"
            f"{'' if self.is_new else otherwise}."
        )

    def _refuse_number(self, name: str, value: str, row: int) -> None:
        said = value if value.startswith("an ") else repr(value)
        raise SidelightError(
            f"Column {name!r} of {self.data.path} holds {said} in "
            f"{row_name(self.data.ids, row)}, and {worded('above', '--above')} compares finite "
            f"numbers{'' if self.is_new else '; leave the column out: ' + _drop(name)}."
        )


def _as_texts(column: Any) -> Any:
    """Values of any type as text."""
    import pyarrow as pa

    return pa.chunked_array([column_texts(column)], pa.string())


def _meaning(level: str) -> int | None:
    """1 for yes, 0 for no, None for other words."""
    word = level.lower()
    if word in YES or word in MARKS:
        return 1
    return 0 if word in NO else None


def _leave_out(name: str) -> str:
    return f", or leave the column out: {_drop(name)}"


def _drop(name: str) -> str:
    return worded(f"drop=[{name!r}]", f"--drop {name}")
