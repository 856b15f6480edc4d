"""The long format: one statement per row, columns ``i, j, kind[, weight]``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sidelight._typing import Array, FloatArray, IntArray
from sidelight._words import worded
from sidelight.constraints.algebra._canonical import (
    CLASS_KINDS,
    PAIR_KINDS,
    RowIndex,
    StatedPairs,
    Statements,
)
from sidelight.constraints.algebra._plain import (
    MISSING_WORDS,
    Classes,
    as_words,
    check_nameable,
    is_missing,
    plain,
    text_of,
)
from sidelight.exceptions import SidelightError, UnknownIds
from sidelight.io.inner import alike_hint, as_typed

if TYPE_CHECKING:
    import pyarrow

# Makes the error for a record (counted from 0, None for the whole table); with ids if unknown.
Trouble = Callable[..., SidelightError]

KINDS = (*PAIR_KINDS, *CLASS_KINDS)
KIND_OF_WORD = {word: kind.word for kind in KINDS for word in (kind.word, *kind.aliases)}
NEEDED = ("i", "j", "kind")
MISSING_WEIGHTS = ("", "nan", "none", "null", "<na>")


class Record(NamedTuple):
    """Statements as columns, for writing."""

    i: list[Any]
    j: list[Any]
    kind: list[str]
    weight: list[float | None]


def table_trouble(record: int | None, problem: str, ids: Sequence[Any] = ()) -> SidelightError:
    """Error about a table in memory."""
    place = "The table" if record is None else f"Row {record} of the table"
    message = f"{place}: {problem}"
    return UnknownIds(message, ids=ids) if ids else SidelightError(message)


def column_names(table: Any, what: str) -> list[Any]:
    """Names of the columns of a pandas, polars or pyarrow table, or of a mapping."""
    names: Any = list(table) if isinstance(table, Mapping) else None
    for attribute in ("column_names", "columns"):  # of pyarrow; of pandas and polars
        if names is None:
            names = getattr(table, attribute, None)
    if names is None:
        raise SidelightError(
            f"A table of {what} is a pandas, polars or pyarrow table or a dictionary of columns, "
            f"not {type(table).__name__}."
        )
    return list(names)


def table_columns(table: Any) -> dict[str, Array]:
    """Columns of a pandas, polars or pyarrow table, or of a mapping."""
    columns = {str(name): plain(table[name]) for name in column_names(table, "constraints")}
    if len({len(column) for column in columns.values()}) > 1:
        raise SidelightError("The columns of the table have different lengths.")
    return columns


def from_columns(blank: Any, columns: Mapping[str, Array], trouble: Trouble) -> Any:
    """Constraints about the rows of ``blank`` from columns in the long format."""
    given = {name.strip().lower(): column for name, column in columns.items()}
    missing = [name for name in NEEDED if name not in given]
    if missing:
        has = ", ".join(repr(name) for name in columns) or "none"
        raise trouble(
            None,
            "the columns i, j and kind (and weight, if you like) are needed; "
            f"{' and '.join(missing)} missing among {has}.",
        )
    ignored = [name for name in columns if name.strip().lower() not in (*NEEDED, "weight")]
    notes = tuple(f"The column {name!r} was ignored." for name in ignored)
    kind = _kinds(given["kind"], trouble)
    reader = _IdResolver(blank, given["i"], given["j"], trouble)
    weight = _weights(given.get("weight"), kind, trouble)
    stated: dict[str, Any] = {}
    for one in PAIR_KINDS:
        stated[one.field] = reader.pairs(np.flatnonzero(kind == one.word), weight)
    for one in CLASS_KINDS:
        stated[one.field] = reader.classes(np.flatnonzero(kind == one.word), one.word)
    return blank._derive(Statements(**stated, notes=notes), report=True)


def named_rows(columns: Mapping[str, Array]) -> set[str]:
    """Names of rows in columns of the long format; empty where the columns are not clear."""
    given = {name.strip().lower(): _texts(column) for name, column in columns.items()}
    if not set(NEEDED) <= set(given):
        return set()
    about_two = {word for kind in PAIR_KINDS for word in (kind.word, *kind.aliases)}
    pairs = np.isin(np.char.lower(given["kind"]), list(about_two))
    return {*given["i"].tolist(), *given["j"][pairs].tolist()}


class _IdResolver:
    """Resolves the two columns that name rows and classes."""

    def __init__(self, blank: Any, i: Array, j: Array, trouble: Trouble) -> None:
        self.i, self.j, self.trouble = i, j, trouble
        self.n = blank.n_samples
        self.index = blank.row_index

    def pairs(self, records: IntArray, weight: FloatArray) -> StatedPairs:
        """Stated pairs as positions."""
        ends = [self._positions(column[records], records) for column in (self.i, self.j)]
        return StatedPairs(np.column_stack(ends), weight[records])

    def classes(self, records: IntArray, kind: str) -> Classes | None:
        """Stated classes as codes of the rows."""
        if not len(records):
            return None
        rows = self._positions(self.i[records], records)
        names, code = np.unique(_texts(self.j[records]), return_inverse=True)
        empty = np.flatnonzero(np.isin(names, ("", *MISSING_WORDS))[code])
        if len(empty):
            raise self.trouble(int(records[empty[0]]), f"the {kind} of this row is missing in j.")
        codes = np.full(self.n, -1, np.int64)
        codes[rows] = code
        clash = np.flatnonzero(codes[rows] != code)
        if len(clash):
            record = clash[0]
            row_id = _item(self.i[records[record]])
            one, other = names[code[record]].item(), names[codes[rows[record]]].item()
            raise self.trouble(
                int(records[record]),
                f"{row_id!r} has the {kind} {one!r} here and {other!r} elsewhere; remove one.",
            )
        return Classes(codes, names)

    def _positions(self, values: Array, records: IntArray) -> IntArray:
        """Positions of rows; text and numbers are matched by what they look like in a file."""
        if not len(values):
            return np.empty(0, np.int64)
        if self.index is None:
            positions, whole = whole_numbers_in(values)
            unknown = ~whole | (positions < 0) | (positions >= self.n)
        else:
            positions = find_ids(values, self.index)
            unknown = positions < 0
        if unknown.any():
            first = int(np.flatnonzero(unknown)[0])
            bad = _item(values[first])
            what = "does not occur in the data" if self.index is not None else self._no_position()
            ids = range(self.n) if self.index is None else self.index.ids.tolist()
            raise self.trouble(
                int(records[first]),
                f"the id {bad!r} {what}; correct or remove it.{alike_hint(bad, ids)}",
                ids=[bad],
            )
        return positions

    def _no_position(self) -> str:
        own = worded("pass ids=", "say which column holds the ids, --id-column NAME,")
        return f"is not a position from 0 to {self.n - 1} ({own} to use your own ids)"


def to_columns(known: Any) -> Record:
    """Statements of a constraints object as columns, rows named by their ids."""
    names = _row_names(known)
    record = Record([], [], [], [])
    for kind in PAIR_KINDS:
        pairs = getattr(known, kind.field)
        record.i.extend(names[pairs[:, 0]].tolist())
        record.j.extend(names[pairs[:, 1]].tolist())
        record.kind.extend([kind.word] * len(pairs))
        record.weight.extend(getattr(known, f"{kind.field}_weight").tolist())
    for kind in CLASS_KINDS:
        codes = getattr(known, kind.field)
        if codes is not None:
            rows = np.flatnonzero(codes >= 0)
            record.i.extend(names[rows].tolist())
            record.j.extend(getattr(known, kind.names_field)[codes[rows]].tolist())
            record.kind.extend([kind.word] * len(rows))
            record.weight.extend([None] * len(rows))
    return record


def to_table(known: Any) -> pyarrow.Table:
    """Statements of a constraints object as an Arrow table."""
    import pyarrow as pa

    record = to_columns(known)
    return pa.table(
        {
            "i": _arrow(record.i),
            "j": _arrow(record.j),
            "kind": pa.array(record.kind, pa.string()),
            "weight": pa.array(record.weight, pa.float64()),
        }
    )


def _arrow(values: list[Any]) -> pyarrow.Array:
    """Whole numbers as such, anything else as text."""
    import pyarrow as pa

    if set(map(type, values)) <= {int}:
        return pa.array(values, pa.int64())
    return pa.array([text_of(value) for value in values], pa.string())


def _row_names(known: Any) -> Array:
    """Ids of the rows in the form that a file can hold."""
    if known.ids is None:
        return np.arange(known.n_samples)
    if known.ids.dtype != object:
        ids: Array = known.ids
        return ids
    texts = np.array([text_of(value) for value in known.ids], dtype=object)
    if len(set(texts)) < len(texts):
        raise SidelightError(
            "Some ids look the same when written as text, so a file could not tell them apart; "
            "use ids that differ as text."
        )
    return texts


def _kinds(column: Array, trouble: Trouble) -> npt.NDArray[np.str_]:
    words, which = np.unique(_texts(column), return_inverse=True)
    kinds = [KIND_OF_WORD.get(str(word).lower(), "") for word in words]
    if "" in kinds:
        bad = kinds.index("")
        record = int(np.flatnonzero(which == bad)[0])
        *others, last = (kind.word for kind in KINDS)
        raise trouble(
            record,
            f"the kind {str(words[bad])!r} is not known; use {', '.join(others)} or {last}.",
        )
    return np.array(kinds, dtype=str)[which.reshape(-1)]


def _weights(column: Array | None, kind: Array, trouble: Trouble) -> FloatArray:
    """Weights, 1 where none is given."""
    if column is None:
        return np.ones(len(kind))
    try:
        weight = column.astype(np.float64)
    except (ValueError, TypeError):
        weight = np.array([_weight(value, r, trouble) for r, value in enumerate(column.tolist())])
    weight = np.where(np.isnan(weight), 1.0, weight)
    bad = np.flatnonzero(~(np.isfinite(weight) & (weight > 0)))
    if len(bad):
        raise trouble(
            int(bad[0]), f"the weight {weight[bad[0]]:g} is not a positive finite number."
        )
    extra = np.flatnonzero((weight != 1) & np.isin(kind, [one.word for one in CLASS_KINDS]))
    if len(extra):
        plurals = " and ".join(one.field for one in CLASS_KINDS)
        raise trouble(int(extra[0]), f"{plurals} have no weight; leave it empty.")
    return weight


def _weight(value: Any, record: int, trouble: Trouble) -> float:
    """One weight from a text; NaN where it is missing."""
    text = str(value).strip()
    if value is None or text.lower() in MISSING_WEIGHTS:
        return np.nan
    try:
        return float(text)
    except ValueError:
        raise trouble(record, f"the weight {text!r} is not a number.") from None


def _texts(values: Array) -> Array:
    """Values as words without spaces around; missing ones as empty words, 3.0 as 3."""
    if values.dtype.kind == "i":
        return values.astype(str)
    if values.dtype.kind == "U":
        return np.char.strip(values)
    return np.array([_text(value) for value in values.tolist()], dtype=str)


def _text(value: Any) -> str:
    if is_missing(value):
        return ""
    check_nameable(value, "a table of constraints")
    return text_of(value).strip()


def whole_numbers_in(values: Array) -> tuple[IntArray, npt.NDArray[np.bool_]]:
    """Whole numbers that the values are or spell, and which of the values do."""
    if values.dtype.kind == "i":
        return values.astype(np.int64, copy=False), np.ones(len(values), bool)
    texts = _texts(values)
    try:
        return texts.astype(np.int64), np.ones(len(values), bool)
    except (ValueError, OverflowError):
        spelled = np.array([_is_whole(text) for text in texts.tolist()], dtype=bool)
        return np.where(spelled, texts, "0").astype(np.int64), spelled


def _is_whole(text: str) -> bool:
    try:
        return abs(int(text)) < 2**63
    except ValueError:
        return False


def find_ids(values: Array, index: RowIndex) -> IntArray:
    """Positions of ids, compared as numbers if all ids are numbers and as text otherwise."""
    if index.ids.dtype.kind == "i":
        numbers, whole = whole_numbers_in(values)
        return np.where(whole, index.positions(numbers), -1)
    if index.ids.dtype.kind == "U":
        return _find_words(values, index)
    positions = index.positions(values.astype(object))
    for text in (text_of, str):  # a day, and a day with its time
        lost = np.flatnonzero(positions < 0)
        if len(lost):
            by_text = RowIndex(as_words([text(value) for value in index.ids]))
            if by_text.repeated() is None:
                positions[lost] = _find_words(values[lost], by_text)
    return positions


def _find_words(values: Array, index: RowIndex) -> IntArray:
    """Positions of words, matched exactly or else without spaces and an apostrophe around them."""
    words = values if values.dtype.kind == "U" else as_words(list(map(_as_is, values.tolist())))
    positions = index.positions(words)
    for change in (str.strip, as_typed):
        lost = np.flatnonzero(positions < 0)
        if len(lost):
            changed = as_words([change(word.strip()) for word in words[lost].tolist()])
            positions[lost] = index.positions(changed)
    return positions


def _as_is(value: Any) -> str:
    return value if isinstance(value, str) else _text(value)


def _item(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
