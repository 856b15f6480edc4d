"""Columns of a table by their different values: numbers, dates, categories."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from sidelight._typing import Array, FloatArray, IntArray
from sidelight._words import counted
from sidelight.exceptions import SidelightError
from sidelight.preparation.inner import Source, as_source, encode_texts

Kind = Literal["number", "date", "category"]


@dataclass(frozen=True, eq=False)
class Column:
    """One column.

    Attributes
    ----------
    name : str
        Name in the table.
    kind : {"number", "date", "category"}
        What it holds.
    codes : ndarray of int64, shape (n_rows,)
        Position of each value among the different ones, -1 where it is missing.
    values : ndarray
        The different values in increasing order: numbers, ``datetime64``, or texts.
    zone : str
        Ending of published moments, ``Z`` for those with a time zone, which are in UTC.
    center : tuple of int
        Positions among ``values`` of the first and the last one that is not far out.
    """

    name: str
    kind: Kind
    codes: IntArray
    values: Array
    zone: str = ""
    center: tuple[int, int] = (0, -1)

    @property
    def n_missing(self) -> int:
        """Number of rows without a value."""
        return int(np.count_nonzero(self.codes < 0))

    @property
    def is_ordered(self) -> bool:
        """Whether values have distances: numbers and dates."""
        return self.kind != "category"

    @cached_property
    def n_different(self) -> int:
        """Number of different values, a missing one included."""
        return len(self.values) + bool(self.n_missing)

    @cached_property
    def positions(self) -> FloatArray:
        """Places of the different values; see :func:`places_of`."""
        return places_of(self.values, self)

    @cached_property
    def shares(self) -> FloatArray:
        """Places of the different values on the whole range of the column, from 0 to 1."""
        if not len(self.values) or self.values[0] == self.values[-1]:
            return np.zeros(len(self.values))
        return _shares_of_range(self.values, self.values)

    def take(self, rows: IntArray) -> Column:
        """The column of some rows, with the values of all."""
        return replace(self, codes=self.codes[rows])

    def only(self, rows: IntArray) -> Column:
        """The column as if there were no other rows: nothing of the values of these is left."""
        codes = self.codes[rows]
        known = codes >= 0
        kept, codes[known] = np.unique(codes[known], return_inverse=True)
        made = Column(self.name, self.kind, codes, self.values[kept], self.zone)
        return with_center(made) if self.is_ordered else made

    def texts(self) -> list[str]:
        """The different values as texts, as a hierarchy of values names them."""
        if self.kind == "number" and np.array_equal(self.values, np.trunc(self.values)):
            return [str(int(value)) for value in self.values.tolist()]
        return [str(value) for value in self.values.tolist()]


#: Values are far out that lie beyond the middle ones, all but this share of them on either side, by
#: more than so many times the range of these.
FAR_SHARE, FAR_TIMES = 0.1, 1.5


def with_center(column: Column) -> Column:
    """A column of ordered values, with its values that are not far out.

    One value a thousand times as large as all others would leave no difference between these in
    shares of the whole range. The middle is that of the rows and that of the different values: many
    rows may share one value far out, such as a code for what is not known.
    """
    n_values = len(column.values)
    if n_values < 3:
        return column
    counts = np.bincount(column.codes[column.codes >= 0], minlength=n_values)
    parts = as_numbers(column.values) / 8  # differences of large numbers may overflow
    low, high = usual_range(parts, counts)
    first = int(np.searchsorted(parts, low, side="left"))
    last = int(np.searchsorted(parts, high, side="right")) - 1
    return replace(column, center=(first, last)) if first < last else column


def usual_range(values: FloatArray, counts: IntArray) -> tuple[float, float]:
    """Bounds beyond which increasing values are far out, given how often each of them occurs."""
    of_rows = _usual_range(values, counts)
    of_values = _usual_range(values, np.ones(len(values), np.int64))
    low, high = max(of_rows[0], of_values[0]), min(of_rows[1], of_values[1])
    return (low, high) if low < high else of_values


def _usual_range(values: FloatArray, counts: IntArray) -> tuple[float, float]:
    upto = np.cumsum(counts)
    n_out = int(FAR_SHARE * upto[-1])
    first = values[np.searchsorted(upto, n_out, side="right")]
    last = values[np.searchsorted(upto, upto[-1] - n_out, side="left")]
    if first == last:  # most rows have one value
        return -np.inf, np.inf
    width = FAR_TIMES * (last - first)
    return float(first - width), float(last + width)


def as_numbers(values: Array) -> FloatArray:
    """Ordered values as floating-point numbers."""
    if values.dtype.kind == "M":
        values = values.astype(np.int64)
    return values.astype(np.float64)


def places_of(values: Array, column: Column) -> FloatArray:
    """Places of ordered values on a column: 0 and 1 are the ends of what is not far out.

    Beyond these, places grow by logarithms: 1 + log(1 + x) for a value that is ``x`` of such ranges
    above the upper end.
    """
    on = column.values[list(column.center)] if len(column.values) else column.values
    if not len(on) or on[0] == on[-1]:
        return np.zeros(len(values))
    share = _shares_of_range(values, on)
    beyond = np.log1p(np.clip(np.maximum(-share, share - 1), 0.0, LARGEST))
    return np.where(share < 0, -beyond, np.where(share > 1, 1 + beyond, share))


#: Largest distance from a range, in ranges, so that no place is infinite.
LARGEST = 1e300


def _shares_of_range(values: Array, on: Array) -> FloatArray:
    if values.dtype.kind == "M":
        values, on = values.astype(np.int64), on.astype(np.int64)
    if values.dtype.kind in "iu" and on.dtype.kind in "iu" and len(values):
        # Exact differences of large integers, where 64 bits suffice for them.
        ends = [int(on[0]), int(on[-1]), int(values.min()), int(values.max())]
        if max(map(abs, ends)) < 2**62:
            return (values.astype(np.int64) - ends[0]) / (ends[1] - ends[0])
    # Halves, since the difference of two large numbers may overflow.
    half, first = values.astype(np.float64) / 2, float(on[0]) / 2
    width = float(on[-1]) / 2 - first
    if width == 0.0:  # integers that are equal as floating-point numbers
        return np.zeros(len(values))
    with np.errstate(over="ignore"):  # far beyond a narrow range
        return (half - first) / width


def read_columns(X: Any) -> tuple[list[Column], Source]:
    """Read all columns of a table.

    Parameters
    ----------
    X : data frame of pandas or polars, Arrow table, dict of columns, array, or path-like
        The table.
    """
    if isinstance(X, Mapping):
        import pyarrow as pa

        X = pa.table({str(name): pa.array(_listed(values)) for name, values in X.items()})
    source = as_source(X)
    names = source.columns.names
    if not names:
        raise SidelightError("The table has no columns; at least one quasi-identifier is needed.")
    return [_read(name, source.columns.column(name), source) for name in names], source


def columns_of_array(rows: Array, names: Any) -> list[Column]:
    """Columns of an array of numbers, NaN where missing."""
    return [_number_column(str(name), rows[:, j]) for j, name in enumerate(names)]


def _listed(values: Any) -> Any:
    return values.tolist() if isinstance(values, np.ndarray) else list(values)


def _read(name: str, values: Any, source: Source) -> Column:
    import pyarrow as pa

    kind = values.type
    types = pa.types
    if types.is_boolean(kind) or types.is_null(kind) or types.is_dictionary(kind):
        return _category_column(name, values)
    if types.is_decimal(kind):
        values, kind = values.cast(pa.float64()), pa.float64()
    if types.is_integer(kind):
        return _integer_column(name, values)
    if types.is_floating(kind):
        numbers = values.to_numpy().astype(np.float64 if kind != pa.float32() else np.float32)
        infinite = np.flatnonzero(np.isinf(numbers))
        if len(infinite):
            raise SidelightError(
                f"Column {name!r} holds infinity in {source.row(int(infinite[0]))}; it has no "
                "place in a range: correct it, or leave it empty."
            )
        return _number_column(name, numbers)
    if types.is_date(kind) or types.is_timestamp(kind):
        return _date_column(name, values)
    if types.is_nested(kind):
        raise SidelightError(
            f"Column {name!r} holds lists or records, which cannot be generalized; make columns "
            "of single values of it."
        )
    return _category_column(name, values)


def _category_column(name: str, values: Any) -> Column:
    """Texts in their order, so that the order of the rows changes nothing."""
    coded = encode_texts(values)
    levels = np.array(coded.levels, dtype=object)
    order = np.argsort(levels, kind="stable") if len(levels) else np.zeros(0, np.int64)
    rank = np.full(len(levels) + 1, -1, np.int64)
    rank[order] = np.arange(len(levels))
    return Column(name, "category", rank[coded.codes], levels[order])


def _number_column(name: str, numbers: Array) -> Column:
    known = ~np.isnan(numbers)
    codes = np.full(len(numbers), -1, np.int64)
    values, codes[known] = np.unique(numbers[known] + 0.0, return_inverse=True)  # -0.0 is 0.0
    return with_center(Column(name, "number", codes, values))


def _integer_column(name: str, values: Any) -> Column:
    known = values.is_valid().to_numpy().astype(bool)
    codes = np.full(len(known), -1, np.int64)
    different, codes[known] = np.unique(values.drop_null().to_numpy(), return_inverse=True)
    return with_center(Column(name, "number", codes, different))


def _date_column(name: str, values: Any) -> Column:
    import pyarrow as pa

    zone = "Z" if pa.types.is_timestamp(values.type) and values.type.tz is not None else ""
    if pa.types.is_date(values.type):
        moments = values.cast(pa.date32()).cast(pa.int32()).cast(pa.int64())
        unit = "D"
    else:
        unit = values.type.unit
        moments = values.cast(pa.int64())
    column = _integer_column(name, moments)
    days = column.values.astype(f"datetime64[{unit}]")
    if unit != "D" and not zone and np.array_equal(days, days.astype("datetime64[D]")):
        days = days.astype("datetime64[D]")  # as data frames hold dates
    return replace(column, kind="date", values=days, zone=zone)


def check_no_identifiers(columns: list[Column], covered: Any, n_rows: int) -> None:
    """Raise if a column of texts names single rows: it does not belong among quasi-identifiers."""
    if n_rows < FEWEST_NAMES:
        return
    for column in columns:
        n_texts = len(column.values) if column.kind == "category" else 0
        if n_texts > NAMES_SHARE * n_rows and column.name not in covered:
            raise SidelightError(
                f"Column {column.name!r} has {counted(n_texts, 'different text')} in "
                f"{counted(n_rows, 'row')}: it names single rows, and no class of them could "
                "share anything of it. Leave identifiers out of the quasi-identifiers and of the "
                "published table, or give the column a hierarchy."
            )


#: A column of texts names its rows if more than this share of them differ, in tables of this size.
NAMES_SHARE, FEWEST_NAMES = 0.9, 20
