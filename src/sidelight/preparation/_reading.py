"""Values of a column in the user's units, read according to its kind."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from sidelight._typing import FloatArray, IntArray
from sidelight._warn import warn
from sidelight._words import counted
from sidelight.exceptions import PreparationWarning, SidelightError
from sidelight.io.inner import is_missing as means_nothing
from sidelight.io.inner import is_text, number_column, quoted, read_dates, read_numbers
from sidelight.preparation._plan import ColumnPlan
from sidelight.preparation._source import Source
from sidelight.preparation._texts import Coded, encode_texts, one_dictionary, recode
from sidelight.preparation._typed import TypedColumn

#: Of columns of this many rows, half as many decide whether texts differ: more than this share.
MANY_ROWS, NAMES_SHARE = 20_000, 0.9
#: Number of rows that show the shape of a distribution.
SAMPLE = 50_000
#: Level that stands for all rare ones.
OTHER = "other"
NONE = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Numbered:
    """A column read as numbers.

    Attributes
    ----------
    values : ndarray of shape (n_rows,)
        The numbers, NaN where missing.
    convention : str
        How texts spell them; empty for numbers.
    how : str
        Note on the reading.
    bad : ndarray of int
        Positions of texts that are none, and count as missing.
    """

    values: FloatArray
    convention: str = ""
    how: str = ""
    bad: npt.NDArray[Any] = field(default_factory=lambda: NONE)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.values)

    @property
    def n_unreadable(self) -> int:
        """Number of texts that are no numbers."""
        return len(self.bad)

    @cached_property
    def n_missing(self) -> int:
        """Rows without a number."""
        return int(np.count_nonzero(np.isnan(self.values)))

    @cached_property
    def extent(self) -> tuple[float, float]:
        """Smallest and largest number."""
        return float(np.nanmin(self.values)), float(np.nanmax(self.values))

    @cached_property
    def sample(self) -> FloatArray:
        """Numbers of some rows, evenly spread."""
        some = self.values[:: sampled_every(len(self.values))]
        return some[~np.isnan(some)]

    @property
    def has_two_values(self) -> bool:
        """Whether there are no more than two different numbers."""
        distinct = np.unique(self.sample)
        if len(distinct) > 2:
            return False
        return bool(np.all(np.isin(self.values[~np.isnan(self.values)], distinct)))

    @property
    def is_whole(self) -> bool:
        """Whether every row has a whole number."""
        return not (self.n_missing or np.any(self.values != np.round(self.values)))

    @property
    def counts_rows(self) -> bool:
        """Whether each number is one more than that of the row before."""
        return bool(np.all(np.diff(self.values) == 1.0))

    @property
    def ends(self) -> tuple[float, float]:
        """Numbers of the first and the last row."""
        return float(self.values[0]), float(self.values[-1])

    @property
    def n_different(self) -> int:
        """How many numbers differ."""
        return len(np.unique(self.values))

    @property
    def has_each_once(self) -> bool:
        """Whether every whole number from the smallest to the largest one is there once."""
        low, high = self.extent
        return bool(np.array_equal(np.sort(self.values), np.arange(low, high + 1)))

    def positive_quartile(self) -> float:
        """Lower quartile of the numbers above 0."""
        return float(np.quantile(self.values[self.values > 0], 0.25))


@dataclass(frozen=True, eq=False)
class Dated:
    """A column read as dates or times of day.

    Attributes
    ----------
    seconds : ndarray of shape (n_rows,)
        Seconds since 1970, or since midnight; NaN where missing.
    kind : str
        ``date`` or ``time``.
    format : str
        How texts spell them; empty for dates.
    how : str
        Note on the reading.
    bad : ndarray of int
        Positions of texts that are none, and count as missing.
    note : str
        What of the note does not depend on single values.
    """

    seconds: FloatArray
    kind: str
    format: str = ""
    how: str = ""
    bad: npt.NDArray[Any] = field(default_factory=lambda: NONE)
    note: str = ""

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.seconds)

    @property
    def n_unreadable(self) -> int:
        """Number of texts that are no dates."""
        return len(self.bad)

    @cached_property
    def n_missing(self) -> int:
        """Rows without a date."""
        return int(np.isnan(self.seconds).sum())

    @cached_property
    def extent(self) -> tuple[float, float]:
        """Seconds of the first and the last date."""
        return float(np.nanmin(self.seconds)), float(np.nanmax(self.seconds))


class RawColumn:
    """A column as the table has it, of which each reading is made once.

    Parameters
    ----------
    name : str
        Name of the column.
    values : pyarrow.ChunkedArray
        Its values.
    source : Source
        The table, for the names of rows in messages.
    """

    def __init__(self, name: str, values: Any, source: Source) -> None:
        self.name = name
        self.values = values
        self.source = source

    @property
    def type(self) -> Any:
        """Arrow's type of the values."""
        return self.values.type

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.values)

    @property
    def n_null(self) -> int:
        """Number of rows without a value."""
        return int(self.values.null_count)

    @property
    def words(self) -> list[str]:
        """Words of a category, in its order."""
        return [str(word) for word in self.values.chunk(0).dictionary.to_pylist()]

    @cached_property
    def coded(self) -> Coded:
        """The different values as text, whatever they are."""
        return encode_texts(self._shared)

    @cached_property
    def differing(self) -> list[str]:
        """Texts of a sample of many rows, if most of them differ; else empty."""
        import pyarrow as pa

        rows = names_rows_at(len(self.values))
        if not (len(rows) and is_text(self.values)) or pa.types.is_dictionary(self.values.type):
            return []
        return mostly_different(self.values.take(pa.array(rows)).to_pylist())

    @cached_property
    def numbered(self) -> Numbered | None:
        """The numbers, if it holds numbers or texts that spell them."""
        return self.numbers("")

    @cached_property
    def dated(self) -> Dated | None:
        """The dates or times of day, if it holds some or texts that spell them."""
        return self.dates("")

    def numbers(self, convention: str, *, some: bool = False) -> Numbered | None:
        """The numbers, spelled by a convention that is known or (empty) to be found out.

        These may be ``some`` rows of a column that is known to hold numbers.
        """
        import pyarrow as pa

        column = self._shared
        if pa.types.is_duration(column.type):
            ticks: Any = number_column(column.cast(pa.duration("us")).cast(pa.int64()))
            return Numbered(ticks / 1e6, how="duration in seconds")
        values = number_column(column)
        if values is not None:
            numbers = np.asarray(values, dtype=np.float64)
            self._check_finite(numbers)
            return Numbered(numbers)
        read = None
        if is_text(column):
            read = read_numbers(column, convention=convention or None, some=some)
        if read is None:
            return None
        how = self._reading_note(read.bad, read.note)
        return Numbered(read.values, read.convention, how, read.bad)

    def dates(self, written: str, *, kind: str = "") -> Dated | None:
        """The dates, spelled in a way that is known or (empty) to be found out.

        These may be some rows of a column that is known to hold dates, or times: its ``kind``.
        """
        column = self._shared
        if not (_is_temporal(column.type) or is_text(column)):
            return None
        read = read_dates(column, format=written or None, kind=kind)
        if read is None:
            return None
        how = self._reading_note(read.bad, read.note)
        return Dated(read.seconds, read.kind, read.format, how, read.bad, read.note)

    @property
    def is_empty(self) -> bool:
        """Whether no row has a value; texts that stand for a missing number are none."""
        return all(means_nothing(level) for level in self.coded.levels)

    @property
    def nothing(self) -> FloatArray:
        """Missing numbers for all rows."""
        return np.full(len(self.values), np.nan)

    def unreadable(self, kind: str, written: str = "") -> SidelightError:
        """Error about a value that is no number, date or time of day, with the id of its row."""
        texts = self._stripped
        place = self.first_unreadable(kind, written)
        if place is None:
            place = next(_one_of_each_shape(texts), 0)
        return not_of_kind(self.name, kind, texts[place], self.source.row(place))

    def first_unreadable(self, kind: str, written: str = "") -> int | None:
        """Position of the first value that is of another kind; None if there is none."""
        texts = self._stripped
        some = _one_of_each_shape(texts)
        return next((p for p in some if not self._reads(texts[p], kind, written)), None)

    @property
    def _stripped(self) -> list[str]:
        return ["" if value is None else str(value).strip() for value in self.values.to_pylist()]

    def _reads(self, text: str, kind: str, written: str) -> bool:
        """Whether a single text is of the kind."""
        import pyarrow as pa

        alone = RawColumn(self.name, pa.chunked_array([[text]]), self.source)
        if kind == "number":
            return alone.numbers(written) is not None
        dated = alone.dates(written)
        return dated is not None and dated.kind == kind

    @cached_property
    def _shared(self) -> Any:
        """The values, where they are texts as places among the different ones: found once."""
        import pyarrow as pa

        if pa.types.is_dictionary(self.values.type) and not is_text(self.values):
            return self.values.cast(self.values.type.value_type)
        plain = is_text(self.values) and not pa.types.is_dictionary(self.values.type)
        if plain and not self.differing:
            return one_dictionary(self.values)
        return self.values

    def _check_finite(self, values: npt.NDArray[Any]) -> None:
        infinite = np.isinf(values)
        if infinite.any():
            first = int(np.flatnonzero(infinite)[0])
            raise SidelightError(
                f"Column {self.name!r} has {counted(int(infinite.sum()), 'infinite number')}, the "
                f"first in {self.source.row(first)}; infinity has no place on a scale: correct "
                "it, or leave it empty."
            )

    def _reading_note(self, bad: Any, note: str) -> str:
        examples = [str(self.values[int(place)].as_py()) for place in bad[:2]]
        return reading_note(len(bad), examples, note)


def reading_note(n_bad: int, examples: Sequence[str], note: str) -> str:
    """Note on how a column was read, unreadable values first."""
    parts = [note] if note else []
    if n_bad:
        parts.insert(0, f"{n_bad:,} unreadable ({quoted(examples)}), taken as gaps")
    return "; ".join(parts)


def sampled_every(n_rows: int) -> int:
    """Of how many rows one shows the shape of a distribution."""
    return max(1, n_rows // SAMPLE)


def names_rows_at(n_rows: int) -> IntArray:
    """Positions of rows whose texts show whether most of them differ; none of few rows."""
    if n_rows < MANY_ROWS:
        return NONE
    return np.linspace(0, n_rows - 1, MANY_ROWS // 2).astype(np.int64)


def mostly_different(texts: Sequence[str | None]) -> list[str]:
    """The texts that are there, if most of them differ; else none."""
    given = [text for text in texts if text]
    return given if len(set(given)) > NAMES_SHARE * len(given) else []


def not_of_kind(name: str, kind: str, text: str, row: str) -> SidelightError:
    """Error about a value of another kind than its column."""
    return SidelightError(
        f"Column {name!r} should hold {kind}s, but holds {text!r} in {row}; correct it, leave it "
        "empty, or say what the column is."
    )


def read_typed(
    plan: ColumnPlan, raw: RawColumn, *, gaps: str = "", some: bool = False
) -> TypedColumn:
    """Read a column according to its plan, in the user's units and words.

    Parameters
    ----------
    plan : ColumnPlan
        The decision on the column.
    raw : RawColumn
        The column.
    gaps : {"", "fill", "keep"}, default=""
        What becomes of gaps in rows that came after the fit, with a warning if the fit had none;
        empty for the rows of the fit.
    some : bool, default=False
        Whether these are some of the rows of the fit: however many of their values cannot be read,
        they are those that were gaps there.

    Raises
    ------
    SidelightError
        If the values are of another kind than those that the plan was made from.
    """
    if plan.kind == "number":
        numbered = raw.numbers(plan.written, some=some) if plan.written else raw.numbered
        if numbered is None and not raw.is_empty:
            raise raw.unreadable("number", plan.written)
        numbered = numbered or Numbered(raw.nothing)
        _warn_of_gaps(plan, raw, np.isnan(numbered.values), numbered.bad, gaps=gaps)
        return TypedColumn(plan.name, plan.kind, numbered.values)
    if plan.kind in ("date", "time"):
        known = plan.kind if some else ""
        dated = raw.dates(plan.written, kind=known) if plan.written or some else raw.dated
        if (dated is None or dated.kind != plan.kind) and not raw.is_empty:
            raise raw.unreadable(plan.kind, plan.written)
        dated = dated or Dated(raw.nothing, plan.kind)
        _warn_of_gaps(plan, raw, np.isnan(dated.seconds), dated.bad, gaps=gaps)
        return TypedColumn(plan.name, plan.kind, dated.seconds)
    if plan.kind == "text":
        texts = np.array([*raw.coded.levels, ""], dtype=object)
        return TypedColumn(plan.name, plan.kind, texts[raw.coded.codes])
    _warn_of_gaps(plan, raw, raw.coded.codes < 0, NONE, gaps=gaps)
    return _read_levels(plan, raw.coded, raw.source, warns=bool(gaps))


def _warn_of_gaps(
    plan: ColumnPlan,
    raw: RawColumn,
    missing: npt.NDArray[np.bool_],
    bad: npt.NDArray[Any],
    *,
    gaps: str,
) -> None:
    """Warn of missing or unreadable values in a column that had none in the fit."""
    if not gaps:
        return
    if len(bad) and not plan.n_unreadable:
        values = quoted([str(raw.values[int(place)].as_py()) for place in bad[:3]])
        message = (
            f"{counted(len(bad), 'value')} ({values}, first in {raw.source.row(int(bad[0]))}) "
        )
        message += "cannot be read, and such rows count as missing there."
    elif gaps == "fill" and missing.any() and not plan.n_missing:
        first = raw.source.row(int(np.flatnonzero(missing)[0]))
        message = (
            f"{counted(int(missing.sum()), 'gap')}, the first in {first}, where there was none "
        )
        message += "when the preparation was fitted; "
        levels = plan.kind in ("category", "yes-no")
        message += "such rows have none of its levels." if levels else "filled, but not marked."
    else:
        return
    warn(f"Column {plan.name!r}: {message}", PreparationWarning)


def _one_of_each_shape(texts: Sequence[str]) -> Iterator[int]:
    """Places of texts that differ in more than their digits, and are not missing."""
    seen = set()
    for place, text in enumerate(texts):
        shape = re.sub(r"\d", "9", text)
        if shape not in seen and not means_nothing(text):
            seen.add(shape)
            yield place


def levels_of(plan: ColumnPlan) -> tuple[str, ...]:
    """Levels of a column, that of the joined rare ones included."""
    return (*plan.levels, _other_name(plan.levels)) if plan.joined else plan.levels


def _read_levels(plan: ColumnPlan, coded: Coded, source: Source, *, warns: bool) -> TypedColumn:
    levels = levels_of(plan)
    codes = recode(coded, plan.levels, len(plan.levels) if plan.joined else -2)
    strange = codes == -2
    if strange.any() and warns:
        seen = set(plan.levels)
        new = [level for level in coded.levels if level not in seen]
        row = source.row(int(np.flatnonzero(strange)[0]))
        warn(
            f"Column {plan.name!r}: {counted(len(new), 'value')} ({quoted(new, limit=3)}, first "
            f"in {row}) did not occur when the preparation was fitted; "
            "such rows count as missing there.",
            PreparationWarning,
        )
    if strange.any():
        codes = np.where(strange, np.int32(-1), codes)
    return TypedColumn(plan.name, plan.kind, codes, levels)


def _other_name(levels: Sequence[str]) -> str:
    """A name for the joined levels that none of the others has."""
    name = OTHER
    while name in levels:
        name += " "
    return name


def _is_temporal(kind: Any) -> bool:
    """Whether an Arrow type is one of dates or times, durations aside."""
    import pyarrow as pa

    return bool(pa.types.is_temporal(kind) and not pa.types.is_duration(kind))
