"""References: rows of a table that mention entities, by column and with missing values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy import sparse

from sidelight._in_memory import check_in_memory
from sidelight._typing import Array, FloatArray, IntArray
from sidelight.constraints.inner import is_missing, name_rows, own_ids, text_of
from sidelight.exceptions import SidelightError

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, eq=False)
class ReferenceColumn:
    """One attribute of the references, by its different values.

    Attributes
    ----------
    name : str
        Name of the column.
    kind : {"text", "number", "date"}
        What it holds; dates are days since 1970.
    codes : ndarray of shape (n,), int64
        Which of the values each reference has, -1 where it has none.
    values : ndarray
        Different values in increasing order: texts, or numbers.
    n_counted : int or None
        How many of the first references tell how common a value is; None for all.
    """

    name: str
    kind: Literal["text", "number", "date"]
    codes: IntArray
    values: Array
    n_counted: int | None = None

    @property
    def counts(self) -> IntArray:
        """Number of the counted references with each value."""
        codes = self.codes[: self.n_counted]
        return np.bincount(codes[codes >= 0], minlength=len(self.values))

    def texts(self) -> Array:
        """The different values as texts."""
        if self.kind == "text":
            return self.values
        return np.array([text_of(value) for value in self.values.tolist()], dtype=object)

    def numbers(self) -> FloatArray:
        """Number of every reference, NaN where it has none."""
        values = np.append(np.asarray(self.values, dtype=np.float64), np.nan)
        return values[self.codes]


@dataclass(frozen=True, eq=False)
class References:
    """Rows that mention entities.

    Attributes
    ----------
    n : int
        Number of references.
    columns : dict of str to ReferenceColumn
        Attributes, in the order of the table.
    ids : ndarray of shape (n,) or None
        The user's own names of the references.
    """

    n: int
    columns: dict[str, ReferenceColumn]
    ids: Array | None

    def __len__(self) -> int:
        return self.n

    def name_rows(self, positions: Any) -> list[str]:
        """Words that name references in a message: ``'ann'`` by id, or ``row 17`` without ids."""
        return name_rows(positions, self.ids)

    def describe(self, position: int) -> str:
        """Values of a reference as a text, such as ``name=W. Wang, year=1999``."""
        shown = []
        for column in self.columns.values():
            code = int(column.codes[position])
            if code >= 0:
                shown.append(f"{column.name}={text_of(column.values[code])}")
        return ", ".join(shown)


def has_texts(X: Any) -> bool:
    """Whether a user's table holds anything but numbers, or is none that scikit-learn reads."""
    if sparse.issparse(X):  # one of its formats is a mapping
        return False
    if isinstance(X, Mapping) or _is_arrow(X):
        return True
    if _is_frame(X):
        return not all(_is_numeric(X[name]) for name in X.columns)
    if isinstance(X, list | tuple) and X and isinstance(X[0], list | tuple):
        return any(isinstance(value, str) for row in X for value in row)
    values = X if isinstance(X, np.ndarray) else None
    if values is None or values.ndim != 2:
        return False
    if values.dtype.kind == "U":
        return True
    return values.dtype.kind == "O" and any(isinstance(value, str) for value in values.flat)


def check_several_columns(X: Any) -> None:
    """Raise for texts that are no table: one column without a name, or a path."""
    check_in_memory(X)
    is_column = isinstance(X, list | tuple) or getattr(X, "ndim", 2) == 1
    if is_column and any(isinstance(value, str) for value in X):
        raise SidelightError(
            "Expected 2D array or a table, got a single column of texts: name it, as in "
            'fit({"name": names}).'
        )


def read_numbers(rows: Array, names: Array | None, X: Any) -> References:
    """References of a numeric array: columns x0, x1 ... where it names none."""
    titles = [f"x{j}" for j in range(rows.shape[1])] if names is None else list(map(str, names))
    columns = {title: _number_column(title, rows[:, j]) for j, title in enumerate(titles)}
    return References(len(rows), columns, own_ids(X))


def read_table(X: Any) -> References:
    """References of a table with texts: pandas, polars, Arrow, a dict of columns, or rows.

    Raises
    ------
    SidelightError
        If columns have different lengths, are named twice, or hold infinite numbers.
    """
    given = _columns_of(X)
    if not given:
        raise SidelightError("The table has 0 columns; give at least one column to compare.")
    columns = {name: _column(name, values) for name, values in given.items()}
    lengths = {name: len(column.codes) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        shown = ", ".join(f"{name!r} {length}" for name, length in lengths.items())
        raise SidelightError(f"All columns need the same number of rows; they have {shown}.")
    n = next(iter(lengths.values()))
    if n == 0:
        raise SidelightError("Found a table with 0 sample(s); at least one row is needed.")
    return References(n, columns, own_ids(X))


def is_table(X: Any) -> bool:
    """Whether a user's table names its columns."""
    return isinstance(X, Mapping) or _is_arrow(X) or _is_frame(X)


def like(column: ReferenceColumn, fitted: ReferenceColumn) -> ReferenceColumn:
    """A column of a later table with values of the kind that the column of the fit has.

    Raises
    ------
    SidelightError
        If it holds texts where the fit had numbers or dates.
    """
    if column.kind == fitted.kind:
        return column
    if fitted.kind == "text":
        values, codes = np.unique(column.texts().astype(str), return_inverse=True)
        of_rows = np.append(codes, -1)[column.codes]
        return ReferenceColumn(column.name, "text", of_rows, values.astype(object))
    if not len(column.values):  # nothing but gaps
        return ReferenceColumn(column.name, fitted.kind, column.codes, np.empty(0))
    if fitted.kind == "date" and column.kind == "text":
        return days_of_texts(column)
    raise SidelightError(
        f"The column {column.name!r} held {fitted.kind}s in the fit, and now holds "
        f"{column.kind}s such as {text_of(column.values[0])!r}."
    )


def appended(old: ReferenceColumn, new: ReferenceColumn) -> ReferenceColumn:
    """The values of some references, and behind them those of others."""
    every = np.concatenate([old.values, new.values])
    values, place = np.unique(every, return_inverse=True)
    first, second = place[: len(old.values)], place[len(old.values) :]
    codes = [np.append(first, -1)[old.codes], np.append(second, -1)[new.codes]]
    return ReferenceColumn(old.name, old.kind, np.concatenate(codes), values)


def _columns_of(X: Any) -> dict[str, Any]:
    """Name of a column to its values, unchanged."""
    if isinstance(X, Mapping):
        return {str(name): values for name, values in X.items()}
    if _is_arrow(X):
        return dict(zip(X.column_names, X.columns, strict=True))
    if _is_frame(X):
        names = [str(name) for name in X.columns]
        repeated = {name for name in names if names.count(name) > 1}
        if repeated:
            raise SidelightError(f"The table names a column twice: {sorted(repeated)}.")
        return {str(name): X[name] for name in X.columns}
    rows = X if isinstance(X, np.ndarray) else [list(row) for row in X]
    if not isinstance(X, np.ndarray) and len({len(row) for row in rows}) > 1:
        raise SidelightError("All rows need the same number of values; these have different ones.")
    values = np.array(rows, dtype=object)
    return {f"x{j}": values[:, j] for j in range(values.shape[1])}


def _column(name: str, values: Any) -> ReferenceColumn:
    import pyarrow as pa
    import pyarrow.compute as pc

    array = _as_arrow(values, name)
    kind = array.type
    if pa.types.is_boolean(kind):
        return _text_column(name, pc.if_else(array, "True", "False"))
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        numbers = array.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        _check_finite(name, numbers)
        return _number_column(name, numbers)
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return _date_column(name, array)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        words = array.cast(pa.list_(pa.string()))
        return _text_column(name, pc.binary_join(words, " "))
    if pa.types.is_null(kind):
        return _text_column(name, array.cast(pa.string()))
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        array = _texts(array.to_pylist())
    return _text_column(name, array)


def _as_arrow(values: Any, name: str) -> pa.Array:
    import pyarrow as pa

    if hasattr(values, "to_arrow"):
        values = values.to_arrow()
    if not isinstance(values, pa.Array | pa.ChunkedArray):
        try:
            values = pa.array(values, from_pandas=True)
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
            values = _texts(list(values))
        except TypeError as error:
            raise SidelightError(
                f"The column {name!r} holds no values, one per row: {error}."
            ) from error
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if pa.types.is_string_view(values.type):
        values = values.cast(pa.large_string())
    return values


def _texts(values: list[Any]) -> pa.Array:
    """Values of several types, or of one without an Arrow type, as texts."""
    import pyarrow as pa

    return pa.array([None if is_missing(one) else text_of(one) for one in values], pa.string())


def _text_column(name: str, texts: pa.Array) -> ReferenceColumn:
    """Texts by code; what is empty or blank is missing."""
    import pyarrow.compute as pc

    blank = pc.equal(pc.utf8_trim_whitespace(texts), "")
    encoded = pc.if_else(blank, None, texts).dictionary_encode()
    values = encoded.dictionary.to_numpy(zero_copy_only=False).astype(object)
    codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    # By their text and not by their first row, so that the order of the rows changes nothing.
    order = np.argsort(values, kind="stable")
    rank = np.empty(len(values) + 1, np.int64)
    rank[order] = np.arange(len(values))
    rank[-1] = -1
    return ReferenceColumn(name, "text", rank[codes], values[order])


def _number_column(
    name: str, numbers: Array, kind: Literal["number", "date"] = "number"
) -> ReferenceColumn:
    values = np.asarray(numbers, dtype=np.float64)
    known = ~np.isnan(values)
    codes = np.full(len(values), -1, np.int64)
    different, codes[known] = np.unique(values[known], return_inverse=True)
    return ReferenceColumn(name, kind, codes, different)


def _date_column(name: str, dates: pa.Array) -> ReferenceColumn:
    import pyarrow as pa

    if pa.types.is_timestamp(dates.type) and dates.type.tz is not None:
        dates = dates.cast(pa.timestamp(dates.type.unit))
    moments = dates.cast(pa.timestamp("us"), safe=False)
    micros = moments.cast(pa.int64()).to_numpy(zero_copy_only=False).astype(np.float64)
    return _number_column(name, micros / 86_400_000_000, "date")


def days_of_texts(column: ReferenceColumn) -> ReferenceColumn:
    """A column of dates that were written as texts, such as 2024-05-31.

    Raises
    ------
    SidelightError
        If a text is no date of this form.
    """
    import pyarrow as pa

    if column.kind != "text":
        return ReferenceColumn(column.name, "date", column.codes, column.values)
    texts = pa.array(column.values, pa.string())
    try:
        moments = texts.cast(pa.timestamp("us"))
    except pa.ArrowInvalid as error:
        raise SidelightError(
            f"The column {column.name!r} is compared as dates, but holds what is none of the form "
            f'2024-05-31: {error}. Turn it into dates first, or compare it as "text".'
        ) from error
    days = moments.cast(pa.int64()).to_numpy(zero_copy_only=False) / 86_400_000_000
    return _number_column(column.name, np.append(days, np.nan)[column.codes], "date")


def _check_finite(name: str, numbers: Array) -> None:
    bad = np.flatnonzero(np.isinf(numbers))
    if len(bad):
        raise SidelightError(
            f"The column {name!r} holds infinity in row {bad[0]}; leave such values empty."
        )


def _is_frame(X: Any) -> bool:
    return hasattr(X, "columns") and hasattr(X, "__getitem__") and not _is_arrow(X)


def _is_arrow(X: Any) -> bool:
    return hasattr(X, "column_names") and hasattr(X, "schema")


def _is_numeric(column: Any) -> bool:
    kind: Any = getattr(column, "dtype", None)  # two columns of one name have none
    if hasattr(kind, "is_numeric"):  # polars
        return bool(kind.is_numeric())
    return getattr(kind, "kind", "O") in "iuf"
