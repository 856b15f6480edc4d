"""Single columns: ids, labels and numbers, and messages about bad values in them."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from sidelight._words import counted, listed, worded
from sidelight.exceptions import SidelightError

if TYPE_CHECKING:
    import pyarrow as pa

UNKNOWN_LABELS = ("", "NA", "N/A", "NaN", "nan", "NaT", "<NA>", "null", "None")
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
    return not column.null_count and len(set(column.to_pylist())) == len(column)


def id_values(column: pa.ChunkedArray, name: str, path: Path) -> npt.NDArray[Any]:
    """Ids as int64 where all are whole numbers, else as text; each must be there once.

    ``007`` stays text: turned into 7 it would no longer be what the user wrote.
    """
    texts = column_texts(column)
    if "" in texts:
        raise SidelightError(
            f"The id column {name!r} of {path} is empty in {texts.count('')} of {len(texts)} rows, "
            f"the first is data row {texts.index('') + 1}; fill it in or name another id column."
        )
    if len(set(texts)) < len(texts):
        raise SidelightError(
            f"The id column {name!r} of {path} names rows twice: {repetitions(texts)}; ids must be "
            "different, or name another id column."
        )
    numbers = _whole_numbers(texts)
    return np.asarray(texts, dtype=str) if numbers is None else numbers


def repetitions(texts: Sequence[str]) -> str:
    """Text of the values that occur more than once, with data rows of the first of them, from 1."""
    repeated = [text for text, n in Counter(texts).items() if text and n > 1]
    rows = [str(row) for row, text in enumerate(texts, start=1) if text == repeated[0]]
    shown = listed(rows) if len(rows) <= 5 else f"{', '.join(rows[:5])} and {len(rows) - 5} more"
    others = f", and {quoted(repeated[1:])} likewise" if repeated[1:] else ""
    return f"{repeated[0]!r} in data rows {shown}{others}"


def repeated_ids(column: pa.ChunkedArray, share: float) -> str:
    """Text of the values that repeat in a column that else looks like ids; empty if there are none.

    Categories repeat most of their values, ids with a mistake in them a few: at most a ``share`` of
    the values were there before.
    """
    texts = column_texts(column)
    given = [text for text in texts if text]
    n_repeated = len(given) - len(set(given))
    return repetitions(texts) if 0 < n_repeated <= share * len(given) else ""


def notes_on_gaps(column: pa.ChunkedArray, name: str) -> list[str]:
    """Return a note on words in a column of classes that were taken for an unknown class."""
    counts = Counter(column_texts(column))
    gaps = {text: counts[text] for text in UNKNOWN_LABELS if text and counts[text]}
    if not gaps:
        return []
    parts = listed([f"{text!r} ({counted(n, 'row')})" for text, n in gaps.items()])
    those = "that is" if len(gaps) == 1 else "one of these is"
    return [
        f"In the column {name!r}, {parts} {'means' if len(gaps) == 1 else 'mean'} that the class "
        f"is not known; if {those} a class, give it another name."
    ]


def label_values(column: pa.ChunkedArray) -> npt.NDArray[Any]:
    """Labels as int64 (unknown: -1) where all are whole numbers, else as text (unknown: "")."""
    return _labels(column, minus_one_is_a_class=False)


def class_values(column: pa.ChunkedArray) -> npt.NDArray[Any]:
    """True classes, like labels, but -1 is a class: many files call theirs ±1."""
    return _labels(column, minus_one_is_a_class=True)


def _labels(column: pa.ChunkedArray, *, minus_one_is_a_class: bool) -> npt.NDArray[Any]:
    texts = column_texts(column)
    known = sorted(set(texts) - set(UNKNOWN_LABELS))
    shortened = [re.sub(r"^(-?\d+)\.0*$", r"\1", text) for text in known]  # 1.0 is often a 1
    numbers = _whole_numbers(shortened)
    if numbers is None or (minus_one_is_a_class and "-1" in shortened):
        names = dict(zip(known, known if numbers is None else shortened, strict=True))
        return np.array([names.get(text, "") for text in texts], dtype=str)
    values = dict(zip(known, numbers.tolist(), strict=True))
    return np.array([values.get(text, -1) for text in texts], dtype=np.int64)


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
    for position, value in enumerate(column_texts(column)):
        if value not in UNKNOWN_LABELS and not is_number(value):
            return position, value
    return 0, ""


def is_number(text: str) -> bool:
    """Whether a text reads as a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


MISSING_IS_MODELED = (
    " Methods that model missing values take them as they are: --method gaussian-mixture."
)


def check_finite(
    X: Any,
    names: Sequence[str],
    ids: npt.NDArray[Any] | None,
    path: Path,
    *,
    allow_missing: bool = False,
) -> None:
    """Raise at infinite and (unless allowed) missing numbers, with the place of the first one."""
    is_good = _is_number_or_missing if allow_missing else np.isfinite
    if sparse.issparse(X):
        bad = np.flatnonzero(~is_good(X.data))
        if len(bad):
            rows = np.searchsorted(X.indptr, bad, side="right") - 1
            _raise_not_finite(rows, X.indices[bad], X.data[bad], names, ids, path)
        return
    height = max(1, BLOCK_VALUES // max(1, X.shape[1]))
    with np.errstate(over="ignore", invalid="ignore"):
        sums = [X[start : start + height].sum() for start in range(0, len(X), height)]
    if np.isfinite(sums).all():  # else look at each number: finite ones may overflow the sum
        return
    found = [np.nonzero(~is_good(X[s : s + height])) for s in range(0, len(X), height)]
    offsets = range(0, len(X), height)
    rows = np.concatenate([r + offset for (r, _), offset in zip(found, offsets, strict=True)])
    columns = np.concatenate([c for _, c in found])
    if len(rows):
        _raise_not_finite(rows, columns, X[rows, columns], names, ids, path)


def _is_number_or_missing(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return ~np.isinf(values)


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
    more = f" ({others} more columns have such values)" if others else ""
    name = names[int(first)]
    in_python = worded(f" (in Python drop=[{name!r}])", "")
    raise SidelightError(
        f"Column {name!r} of {path} has {here.sum()} {kind} number{'s' if here.sum() > 1 else ''}, "
        f"the first in {row_name(ids, int(rows[here].min()))}{more}; fill them in, remove these "
        f"rows, or leave the column out: --drop {name}{in_python}."
        f"{'' if kind == 'infinite' else MISSING_IS_MODELED}"
    )


def row_name(ids: npt.NDArray[Any] | None, position: int) -> str:
    """How to speak of a row to the user."""
    return f"row {position}" if ids is None else f"row {ids[[position]].tolist()[0]!r}"


def quoted(names: Sequence[Any], limit: int = 5) -> str:
    """List a few names: ``'a', 'b' and 3 more``."""
    shown = ", ".join(repr(name) for name in names[:limit])
    return shown if len(names) <= limit else f"{shown} and {len(names) - limit} more"


def first_line(error: Exception) -> str:
    """First line of another library's error message."""
    return str(error).split("\n")[0].rstrip(".")


def close_names(name: str, names: Sequence[str]) -> str:
    """Words for a name that does not occur: what was probably meant, or what there is."""
    close = difflib.get_close_matches(name, names, n=3) or [
        other for other in names if other.lower() == name.lower()
    ]
    if close:
        return f"did you mean {quoted(close)}?".rstrip("?")
    return f"its columns are {quoted(list(names), limit=12)}"


def column_texts(column: pa.ChunkedArray) -> list[str]:
    """A column as text, missing values as the empty text.

    Plain Python: ids become Python objects sooner or later, and Arrow's own functions for text take
    longer to import than a short command has.
    """
    values = column.to_pylist()
    if is_text(column):
        return [value.strip() if value else "" for value in values]
    values = ["" if value is None or value != value else value for value in values]
    if all(isinstance(value, float) and value.is_integer() for value in values if value != ""):
        values = [value if value == "" else int(value) for value in values]  # 3.0 is the id 3
    return [_text(value) for value in values]


def _text(value: Any) -> str:
    """Text of a value; bytes are the text that they encode."""
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else str(value)


def _whole_numbers(texts: list[str]) -> npt.NDArray[np.int64] | None:
    """The integers that texts spell in the plain way, or None."""
    try:
        numbers = np.array([int(text) for text in texts], dtype=np.int64)
    except (ValueError, OverflowError):
        return None
    return numbers if list(map(str, numbers.tolist())) == texts else None
