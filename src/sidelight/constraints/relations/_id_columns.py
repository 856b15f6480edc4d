"""Two columns of ids as pairs of positions, through Arrow's dictionaries.

Every different id is looked up once, so that ten million pairs of words cost little more than the
hashing of their words.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sidelight._typing import Array, IntArray
from sidelight.constraints.algebra._canonical import RowIndex, as_ids, check_unique
from sidelight.constraints.algebra._plain import as_words, frozen, is_missing, plain
from sidelight.constraints.exchange._tables import Trouble, find_ids, whole_numbers_in
from sidelight.exceptions import SidelightError
from sidelight.io.inner import alike_hint


class CodedIds(NamedTuple):
    """Columns of ids: the different ids, and which of them is where (-1 where it is missing)."""

    values: Array
    codes: IntArray


class Resolved(NamedTuple):
    """Positions in columns of ids, and the ids of all objects (None for positions)."""

    positions: IntArray
    row_index: RowIndex | None
    n_samples: int


def arrow_column(values: Any) -> Any:
    """A column as an Arrow array of whole numbers or words; else as an array of objects."""
    import pyarrow as pa

    if isinstance(values, pa.ChunkedArray | pa.Array):
        column = values
    elif hasattr(values, "to_arrow"):
        column = values.to_arrow()
    else:
        try:
            column = pa.array(values, from_pandas=True)
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
            return _objects(values)
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    kind = column.type
    if pa.types.is_floating(kind):
        return _whole_or_objects(column)
    if pa.types.is_integer(kind) and kind != pa.uint64():
        return column.cast(pa.int64())
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or str(kind) == "string_view":
        return column.cast(pa.large_string())
    return _objects(column.to_pylist())


def _objects(values: Any) -> Array:
    """A column of anything else; lists would be several ids in one cell."""
    objects = plain(values)
    if objects.ndim != 1 or any(isinstance(value, list | np.ndarray) for value in objects):
        raise SidelightError("A column of ids has one id per row: a number, a word or the like.")
    return objects


def _whole_or_objects(column: Any) -> Any:
    """Numbers such as 3.0 are the ids 3: pandas turns whole numbers with gaps into fractions."""
    import pyarrow as pa

    try:
        return column.cast(pa.int64())
    except pa.ArrowInvalid:
        return plain(column.to_pylist())


def encode(columns: list[Any]) -> CodedIds:
    """Different values of columns of equal length, and codes of shape (m, number of columns)."""
    import pyarrow as pa

    m = len(columns[0])
    kinds = {getattr(column, "type", None) for column in columns}
    if len(kinds) > 1 or None in kinds:
        objects = [
            column if isinstance(column, np.ndarray) else plain(column.to_pylist())
            for column in columns
        ]
        return _encode_objects([column.astype(object) for column in objects])
    chunks = [c for column in columns for c in getattr(column, "chunks", [column])]
    joined = pa.chunked_array(chunks, type=kinds.pop())
    encoded = joined.dictionary_encode()
    if not len(encoded):
        return CodedIds(np.empty(0, np.int64), np.empty((0, len(columns)), np.int64))
    parts = [chunk.indices.fill_null(-1).to_numpy() for chunk in encoded.chunks if len(chunk)]
    codes = np.concatenate(parts).astype(np.int64).reshape(len(columns), m).T
    values = encoded.chunk(encoded.num_chunks - 1).dictionary
    if pa.types.is_integer(values.type):
        return CodedIds(values.to_numpy(), codes)
    words = values.to_pylist()
    if "" in words:  # an empty cell names nothing
        codes = np.where(codes == words.index(""), -1, codes)
    return CodedIds(as_words(words), codes)


def _encode_objects(columns: list[Array]) -> CodedIds:
    codes: dict[Any, int] = {}
    try:
        rows = [
            -1 if is_missing(value) or value == "" else codes.setdefault(value, len(codes))
            for column in columns
            for value in column
        ]
    except TypeError as error:
        raise SidelightError(f"Ids must be numbers, words or the like: {error}.") from error
    values = np.fromiter(codes, object, len(codes))
    return CodedIds(values, np.array(rows, np.int64).reshape(len(columns), -1).T)


def resolve(
    columns: list[Any],
    names: list[str],
    index: RowIndex | None,
    n_samples: int | None,
    trouble: Trouble,
    *,
    spelled: bool = False,
) -> Resolved:
    """Positions of the objects that columns name.

    Parameters
    ----------
    columns : list of columns
        What :func:`arrow_column` returns, of equal length.
    names : list of str
        What the columns are called, for messages.
    index : RowIndex or None
        Ids of all objects.
    n_samples : int or None
        Number of objects, where they are named by position. Without this and an index, the ids
        are those that occur: whole numbers in ascending order, anything else in the order in
        which it occurs first, row by row.
    trouble : callable
        Makes the error about a row.
    spelled : bool, default=False
        Whether words that spell whole numbers, as in a text file, may be whole numbers.
    """
    if spelled and (index is None or index.ids.dtype.kind == "i"):
        # Without ids to compare with, 007 and 7 are two words rather than one number.
        columns = _spelled_columns(columns, plainly=index is None and n_samples is None)
    numbers = _as_numbers(columns)
    if numbers is not None and (index is None or index.ids.dtype.kind == "i"):
        return _resolve_numbers(numbers, index, n_samples, trouble)
    coded = encode(columns)
    missing = np.argwhere(coded.codes < 0)
    if len(missing):
        record, column = (int(place) for place in missing[0])
        raise trouble(record, f"the id in the column {names[column]!r} is missing.")
    if index is None and n_samples is None:
        return _adopt(coded)
    if index is not None:
        places = find_ids(coded.values, index)
        where = "does not occur in the data"
    else:
        places, whole = whole_numbers_in(coded.values)
        n = n_samples or 0
        places = np.where(whole & (places >= 0) & (places < n), places, -1)
        where = _no_position(n)
    if len(coded.codes):
        unknown = (places < 0)[coded.codes]
        if unknown.any():
            record, column = (int(place) for place in np.argwhere(unknown)[0])
            bad = coded.values[[coded.codes[record, column]]].tolist()[0]
            raise _unknown(record, bad, where, index, n_samples, trouble)
    positions = places[coded.codes] if len(coded.codes) else coded.codes
    return Resolved(positions, index, len(index.ids) if index else int(n_samples or 0))


def _no_position(n_samples: int) -> str:
    return (
        f"is not a position from 0 to {n_samples - 1} (pass ids= to use your own ids)"
        if n_samples
        else "cannot be: there are no objects"
    )


def _unknown(
    record: int, bad: Any, where: str, index: RowIndex | None, n: int | None, trouble: Trouble
) -> SidelightError:
    hint = alike_hint(bad, range(n or 0) if index is None else index.ids.tolist())
    return trouble(record, f"the id {bad!r} {where}; correct or remove it.{hint}", ids=[bad])


def _as_numbers(columns: list[Any]) -> IntArray | None:
    """Columns of whole numbers side by side, or None where they are something else."""
    import pyarrow as pa

    for column in columns:
        kind = column.dtype.kind if isinstance(column, np.ndarray) else None
        arrow = getattr(column, "type", None)
        if kind != "i" and (arrow is None or not pa.types.is_integer(arrow) or column.null_count):
            return None
    values = np.empty((len(columns[0]), len(columns)), np.int64)
    for place, column in enumerate(columns):
        values[:, place] = column if isinstance(column, np.ndarray) else column.to_numpy()
    return values


def _resolve_numbers(
    values: IntArray, index: RowIndex | None, n_samples: int | None, trouble: Trouble
) -> Resolved:
    if index is None and n_samples is None:
        index = RowIndex(frozen(_different(values)))
    if index is None:
        n = int(n_samples or 0)
        positions = values
        unknown = (values < 0) | (values >= n)
        where = _no_position(n)
    else:
        n = len(index.ids)
        positions = _look_up(values, index)
        unknown = positions < 0
        where = "does not occur in the data"
    if unknown.any():
        record, column = (int(place) for place in np.argwhere(unknown)[0])
        bad = int(values[record, column])
        raise _unknown(record, bad, where, index, n_samples, trouble)
    return Resolved(positions, index, n)


def _different(values: IntArray) -> IntArray:
    """Values that occur, ascending; by marking them where their range is short."""
    if not values.size:
        return np.empty(0, np.int64)
    low, high = int(values.min()), int(values.max())
    if high - low <= 4 * values.size:
        seen = np.zeros(high - low + 1, bool)
        seen[values.ravel() - low] = True
        return np.flatnonzero(seen) + low
    ordered = np.sort(values, axis=None)
    return ordered[np.concatenate([[True], ordered[1:] != ordered[:-1]])]


def _look_up(values: IntArray, index: RowIndex) -> IntArray:
    """Positions of whole numbers, by a table where their range is short."""
    ids = index.ids
    if not len(ids) or not values.size:
        return index.positions(values)
    low, high = int(ids.min()), int(ids.max())
    if high - low > 4 * (len(ids) + values.size):
        return index.positions(values)
    table = np.full(high - low + 1, -1, np.int64)
    table[ids - low] = np.arange(len(ids))
    inside = (values >= low) & (values <= high)
    if inside.all():
        return table[values - low]
    return np.where(inside, table[np.where(inside, values - low, 0)], -1)


def _adopt(coded: CodedIds) -> Resolved:
    """Ids that occur, in the order of their first appearance, and where they are."""
    m = coded.codes.size
    values = coded.values
    # The last writer is the first appearance.
    first = np.full(len(values), m, np.int64)
    first[coded.codes.ravel()[::-1]] = np.arange(m)[::-1]
    occurring = np.flatnonzero(first < m)
    order = occurring[np.argsort(first[occurring], kind="stable")]
    place = np.full(len(values), -1, np.int64)
    place[order] = np.arange(len(order))
    index = RowIndex(frozen(np.array(as_ids(values[order]))))
    if index.ids.dtype == object:  # a day and its midnight are one id
        check_unique(index)
    return Resolved(place[coded.codes] if m else coded.codes, index, len(order))


def _spelled_columns(columns: list[Any], *, plainly: bool) -> list[Any]:
    """Columns of words as whole numbers, if all of them spell such."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if any(isinstance(column, np.ndarray) for column in columns):
        return columns
    if not all(pa.types.is_large_string(column.type) for column in columns):
        return columns
    # Arrow reads 0x10 as 16.
    other = "^(-?0.|-0)" if plainly else "^-?0[xX]"
    if any(pc.any(pc.match_substring_regex(column, other)).as_py() for column in columns):
        return columns
    try:
        return [column.cast(pa.int64()) for column in columns]
    except pa.ArrowInvalid:
        return columns


def spelled_numbers(words: Array) -> IntArray | None:
    """Whole numbers that words spell in the plain way: 007 is not 7."""
    if words.dtype.kind != "U" or not len(words):
        return None
    try:
        numbers = words.astype(np.int64)
    except (ValueError, OverflowError):
        return None
    return numbers if np.array_equal(numbers.astype(words.dtype), words) else None
