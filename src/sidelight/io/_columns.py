"""Single columns: ids, labels, numbers, and the words to say what is wrong with them."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from sidelight.exceptions import SidelightError

if TYPE_CHECKING:
    import pyarrow as pa

UNKNOWN_LABELS = ("", "NA", "N/A", "NaN", "nan", "null", "None")
BLOCK_VALUES = 1 << 22  # numbers looked at in one go: memory-mapped files are larger than memory


def is_text(column: pa.ChunkedArray) -> bool:
    """Whether a column holds text (categories are text too)."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def all_different(column: pa.ChunkedArray) -> bool:
    """Whether no value occurs twice and none is missing."""
    import pyarrow.compute as pc

    if column.null_count:
        return False
    return int(pc.count_distinct(column).as_py()) == len(column)


def id_values(column: pa.ChunkedArray, name: str, path: Path) -> npt.NDArray[Any]:
    """Ids as int64 where all are whole numbers, else as text; each must be there once.

    ``007`` stays text: turned into 7 it would no longer be what the user wrote.
    """
    import pyarrow.compute as pc

    text = pc.fill_null(_as_text(column), "")
    missing = np.flatnonzero(pc.equal(text, "").to_numpy())
    if len(missing):
        raise SidelightError(
            f"The id column {name!r} of {path} is empty in {len(missing)} of {len(text)} rows, "
            f"the first is data row {missing[0] + 1}; fill it in or name another id column."
        )
    if not all_different(text):
        counts = pc.value_counts(text)
        values = np.asarray(counts.field("values").to_pylist())
        repeated = values[counts.field("counts").to_numpy() > 1].tolist()
        raise SidelightError(
            f"The id column {name!r} of {path} names rows twice: {quoted(repeated)}; ids must be "
            "different, or name another id column."
        )
    numbers = _whole_numbers(text)
    return np.asarray(text.to_pylist(), dtype=str) if numbers is None else numbers


def label_values(column: pa.ChunkedArray) -> npt.NDArray[Any]:
    """Labels as int64 (unknown: -1) where all are whole numbers, else as text (unknown: "")."""
    text, numbers = _label_text(column)
    return np.asarray(text.to_pylist(), dtype=str) if numbers is None else numbers


def class_values(column: pa.ChunkedArray) -> npt.NDArray[Any]:
    """True classes, like labels, but -1 is a class: many files call theirs ±1."""
    text, numbers = _label_text(column)
    if numbers is None or np.array_equal(numbers == -1, np.asarray(text.to_pylist()) == ""):
        return label_values(column)
    return np.asarray(text.to_pylist(), dtype=str)


def _label_text(column: pa.ChunkedArray) -> tuple[pa.ChunkedArray, npt.NDArray[np.int64] | None]:
    """Labels as text (unknown: ""), and as whole numbers (unknown: -1) if they are all that."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_floating(column.type):  # integers with gaps are often stored as floats
        column = pc.if_else(pc.is_nan(column), None, column)
        if pc.all(pc.equal(column, pc.round(column))).as_py():
            column = column.cast(pa.int64())
    text = pc.fill_null(_as_text(column), "")
    unknown = pc.is_in(text, value_set=pa.array(UNKNOWN_LABELS))
    text = pc.if_else(unknown, "", text)
    shortened = pc.replace_substring_regex(text, r"^(-?\d+)\.0*$", r"\1")
    numbers = _whole_numbers(pc.if_else(unknown, "-1", shortened))
    return (text if numbers is None else shortened), numbers


def number_column(column: pa.ChunkedArray) -> npt.NDArray[Any] | None:
    """A column as float64 or float32, missing numbers as NaN; None if it does not hold numbers."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_decimal(kind):
        column = column.cast(pa.float64())
    elif pa.types.is_boolean(kind):
        column = column.cast(pa.uint8())
    elif pa.types.is_null(kind):
        column = column.cast(pa.float64())
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        return None
    values = column.to_numpy()
    return values if values.dtype == np.float32 else values.astype(np.float64, copy=False)


def first_not_a_number(column: pa.ChunkedArray) -> tuple[int, str]:
    """Position and text of the first value that is not a number."""
    for position, value in enumerate(_as_text(column).to_pylist()):
        if value is not None and value not in UNKNOWN_LABELS and not is_number(value):
            return position, value
    return 0, ""


def is_number(text: str) -> bool:
    """Whether a text reads as a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def check_finite(
    X: Any,
    names: Sequence[str],
    ids: npt.NDArray[Any] | None,
    path: Path,
) -> None:
    """Find missing and infinite numbers, and say where the first one is."""
    if sparse.issparse(X):
        bad = np.flatnonzero(~np.isfinite(X.data))
        if len(bad):
            rows = np.searchsorted(X.indptr, bad, side="right") - 1
            _raise_not_finite(rows, X.indices[bad], X.data[bad], names, ids, path)
        return
    height = max(1, BLOCK_VALUES // max(1, X.shape[1]))
    with np.errstate(over="ignore", invalid="ignore"):
        sums = [X[start : start + height].sum() for start in range(0, len(X), height)]
    if np.isfinite(sums).all():  # else look at each number: finite ones may overflow the sum
        return
    found = [np.nonzero(~np.isfinite(X[s : s + height])) for s in range(0, len(X), height)]
    offsets = range(0, len(X), height)
    rows = np.concatenate([r + offset for (r, _), offset in zip(found, offsets, strict=True)])
    columns = np.concatenate([c for _, c in found])
    if len(rows):
        _raise_not_finite(rows, columns, X[rows, columns], names, ids, path)


def _raise_not_finite(
    rows: npt.NDArray[Any],
    columns: npt.NDArray[Any],
    values: npt.NDArray[Any],
    names: Sequence[str],
    ids: npt.NDArray[Any] | None,
    path: Path,
) -> None:
    first = columns.min()
    here = columns == first
    kind = "missing" if np.isnan(values[here]).all() else "missing or infinite"
    if np.isinf(values[here]).all():
        kind = "infinite"
    others = len(np.unique(columns)) - 1
    more = f" ({others} more columns have such gaps)" if others else ""
    name = names[int(first)]
    raise SidelightError(
        f"Column {name!r} of {path} has {here.sum()} {kind} number{'s' if here.sum() > 1 else ''}, "
        f"the first in {row_name(ids, int(rows[here].min()))}{more}; fill the gaps, remove these "
        f"rows, or leave the column out: --drop {name} (in Python drop=[{name!r}])."
    )


def row_name(ids: npt.NDArray[Any] | None, position: int) -> str:
    """How to speak of a row to the user."""
    return f"row {position}" if ids is None else f"row {ids[position].item()!r}"


def quoted(names: Sequence[Any], limit: int = 5) -> str:
    """List a few names: ``'a', 'b' and 3 more``."""
    shown = ", ".join(repr(name) for name in names[:limit])
    return shown if len(names) <= limit else f"{shown} and {len(names) - limit} more"


def close_names(name: str, names: Sequence[str]) -> str:
    """Words for a name that does not occur: what was probably meant, or what there is."""
    close = difflib.get_close_matches(name, names, n=3) or [
        other for other in names if other.lower() == name.lower()
    ]
    if close:
        return f"did you mean {quoted(close)}?".rstrip("?")
    return f"its columns are {quoted(list(names), limit=12)}"


def _as_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_floating(column.type):  # an id 3.0 is the id 3
        whole = pc.all(pc.equal(column, pc.round(column))).as_py()
        column = column.cast(pa.int64()) if whole else column
    return pc.utf8_trim_whitespace(column.cast(pa.string()))


def _whole_numbers(text: pa.ChunkedArray) -> npt.NDArray[np.int64] | None:
    """The integers that a text column spells in the plain way, or None."""
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        numbers = text.cast(pa.int64())
    except pa.ArrowInvalid:
        return None
    return numbers.to_numpy() if pc.all(pc.equal(numbers.cast(pa.string()), text)).as_py() else None
