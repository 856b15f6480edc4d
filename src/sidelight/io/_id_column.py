"""Which column holds row ids: found by name or values, or chosen by the user if ambiguous.

A column of whole numbers that only names rows must not become a feature, and constraints by its
numbers must not become positions. Without ``id_column`` the rows are named by

1. a column called ``id``, in any case;
2. a first column without a name, which is how pandas writes an index; in Parquet it has a name by
   which it is known anywhere;
3. a first column of text in which no value occurs twice;
4. a column of whole numbers or text, each there once, whose name says so: ``customer_id``,
   ``OrderNo``, ``key``, ``index``;
5. a column of whole numbers, each there once, that holds every number by which constraints name
   rows, where these numbers cannot be positions.

Where the numbers of the constraints could be positions as well as values of such a column, nothing
is guessed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sidelight._words import worded
from sidelight.exceptions import SidelightError
from sidelight.io._columns import all_different, is_text, number_column, quoted, repeated_ids

if TYPE_CHECKING:
    import pyarrow as pa

    from sidelight.io.formats._formats import Raw

#: How pandas writes an index without a name: first in text, and last in Parquet and Feather.
UNNAMED, PANDAS_INDEX = "", "__index_level_0__"

#: Words at the end of a name that say that the column names something.
ID_WORDS = {"id", "key", "nr", "no", "number", "uuid", "guid"}
#: Names of a column that counts rows.
COUNTER_NAMES = {"index", "row", "rowid", "rownames", "unnamed: 0", "level_0"}
#: What is often written together with "id".
THINGS = (
    "account|case|client|customer|device|employee|item|member|object|order|patient|person|product|"
    "record|row|sample|session|student|subject|transaction|user"
)
THING_ID = re.compile(f"(?:{THINGS})s?(?:id|nr|no)")
#: What every name of an id column contains.
HINT = re.compile("|".join(sorted({*ID_WORDS, *COUNTER_NAMES})))
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")

#: Whole numbers beyond this are not all there among floating-point numbers.
EXACT = 2**53
#: Largest number of columns of each kind with a note of their own.
MAX_NOTES = 5
#: Number of values that distinguish most columns of measurements from ids.
HEAD = 64

Named = Callable[[], Iterable[str]]


def sounds_like_ids(name: str) -> bool:
    """Whether the name of a column suggests that it holds row ids."""
    plain = name.strip().lower()
    if HINT.search(plain) is None:  # most names: a table may have very many
        return False
    if plain in COUNTER_NAMES or THING_ID.fullmatch(plain):
        return True
    words = [word.lower() for word in WORD.findall(name)]
    return bool(words) and (words[-1] in ID_WORDS or words[0] == "id")


def find_id_column(
    raw: Raw, taken: set[str | None], path: Path, named: Named | None
) -> tuple[str | None, str]:
    """Find the column of row ids, with the reason; None if rows go by position.

    Parameters
    ----------
    raw : Raw
        The table.
    taken : set of str
        Columns with another role.
    path : Path
        Its file.
    named : callable or None
        Returns what constraints name rows by.
    """
    free = [name for name in raw.names if name not in taken]
    for name in free:
        if name.lower() == "id":
            return name, f"column {name!r}"
    if PANDAS_INDEX in free and _names_each_row(raw.column(PANDAS_INDEX)):
        return PANDAS_INDEX, "index of the data frame, which has no name,"
    first = raw.names[0]
    if first in free:
        if first == UNNAMED:
            return first, "first column, which has no name,"
        column = raw.column(first)
        if is_text(column) and all_different(column):
            return first, f"first column {first!r}, in which no value occurs twice,"
    for name in free:
        if sounds_like_ids(name) and _names_each_row(raw.column(name)):
            return name, f"column {name!r}, in which no value occurs twice,"
    if named is not None:
        return _by_constraints(raw, free, path, named)
    return None, ""


def notes_on_features(raw: Raw, features: Sequence[str], X: Any) -> list[str]:
    """Notes on features that look like row ids or row numbers."""
    counters = _counters(raw, features, X)
    named = [name for name in features if raw.has_names and sounds_like_ids(name)]
    noted = set(named)
    counting = [name for name in counters if name not in noted]
    notes = [_note_on_name(raw, name) for name in named[:MAX_NOTES]]
    for name in counting[:MAX_NOTES]:
        low, high = counters[name]
        notes.append(
            f"The column {name!r} numbers the rows ({low} to {high}) and is used as a feature; "
            f"if it only names them: --id-column {name}, or --drop {name}."
        )
    others = [*named[MAX_NOTES:], *counting[MAX_NOTES:]]
    if others:
        notes.append(note_on_others(others))
    return notes


def notes_on_repeated_ids(raw: Raw, features: Sequence[str]) -> list[str]:
    """Notes on columns that look like ids but repeat values, so that rows go by their numbers."""
    notes = []
    for name in features:
        says_so = sounds_like_ids(name)
        if not says_so and (name != raw.names[0] or not is_text(raw.column(name))):
            continue
        twice = repeated_ids(raw.column(name), 1 if says_so else 1 / 3)
        if twice:
            notes.append(
                f"Column {name!r} looks like ids, but names rows twice: {twice}; rows go by their "
                "numbers, counted from 0. If they should go by it, make the ids different."
            )
    return notes[:MAX_NOTES]


def note_on_others(names: Sequence[str]) -> str:
    """Note on the further features beyond those that get a note of their own."""
    many = f"{len(names):,} more columns look" if len(names) > 1 else "1 more column looks"
    return f"{many} like names or numbers of the rows, used as features: {quoted(names, limit=3)}."


def _note_on_name(raw: Raw, name: str) -> str:
    """Note on a feature whose name suggests row ids."""
    if _names_each_row(raw.column(name)):
        hint = f"; if it only names the rows: --id-column {name}, or --drop {name}."
    else:
        hint = f", since {_why_no_ids(raw.column(name))}; if it is none: --drop {name}."
    return f"The column {name!r} is used as a feature{hint}"


def _why_no_ids(column: pa.ChunkedArray) -> str:
    twice = repeated_ids(column, 1)
    return f"values occur twice ({twice})" if twice else "values are missing or not whole"


def _counters(raw: Raw, features: Sequence[str], X: Any) -> dict[str, tuple[int, int]]:
    """Features that number the rows, from the first number to the last.

    They are found by their ranges in one go: a table may have very many columns.
    """
    looked_at = _columns_to_look_at(raw, features)
    if len(looked_at) == 0 or len(X) < 3:
        return {}
    values = X if len(looked_at) == len(features) else X[:, :1]
    low, high = values.min(axis=0), values.max(axis=0)
    with np.errstate(over="ignore", invalid="ignore"):
        found = np.flatnonzero((high - low == len(X) - 1) & (np.abs(high) < EXACT))
    ranks = np.sort(values[:, found], axis=0) - low[found]
    found = found[np.all(ranks == np.arange(len(X))[:, None], axis=0) & (low[found] % 1 == 0)]
    return {looked_at[place]: (int(low[place]), int(high[place])) for place in found.tolist()}


def _by_constraints(
    raw: Raw, free: Sequence[str], path: Path, named: Named
) -> tuple[str | None, str]:
    """Find the column whose numbers the constraints name rows by; raise where it is not clear."""
    wanted = _whole(named())
    if wanted is None or not len(wanted):
        return None, ""
    candidates = {}
    for name in _columns_to_look_at(raw, free):
        numbers = _different_numbers(raw.column(name))
        if numbers is not None and not np.array_equal(numbers, np.arange(len(numbers))):
            candidates[name] = numbers
    holding = [name for name, values in candidates.items() if np.all(np.isin(wanted, values))]
    if not holding:
        return None, ""
    positions = bool(wanted.min() >= 0 and wanted.max() < raw.n_rows)
    if positions or len(holding) > 1:
        could = [f"the column {name!r}" for name in holding[:3]]
        could += ["the number of the row, counted from 0"] if positions else []
        raise SidelightError(
            f"The constraints name rows by numbers, which could be {' or '.join(could)} of {path}. "
            f"Say which: --id-column {holding[0]}"
            + worded(f" (in Python id_column={holding[0]!r})", "")
            + (
                f"; or leave it out with --drop {holding[0]}, or name the features with --columns, "
                "for numbers of rows."
                if positions
                else "."
            )
        )
    return holding[0], f"column {holding[0]!r}, which holds all the ids of the constraints,"


def _columns_to_look_at(raw: Raw, names: Sequence[str]) -> Sequence[str]:
    """All columns of a table; of a file without names of columns only the first."""
    if raw.own_label is not None:
        return ()
    return names if raw.has_names else [name for name in names if name == raw.names[0]]


def _names_each_row(column: pa.ChunkedArray) -> bool:
    """Whether a column holds whole numbers or text, each there once."""
    if is_text(column):
        texts = [value.strip() if value else "" for value in column.to_pylist()]
        return "" not in texts and len(set(texts)) == len(texts)
    return _different_numbers(column) is not None


def _different_numbers(column: pa.ChunkedArray) -> npt.NDArray[np.int64] | None:
    """Whole numbers of a column in which none is missing or there twice, else None."""
    import pyarrow as pa

    if pa.types.is_boolean(column.type) or _different_whole(column.slice(0, HEAD)) is None:
        return None
    return _different_whole(column)


def _different_whole(column: Any) -> npt.NDArray[np.int64] | None:
    numbers = column if isinstance(column, np.ndarray) else number_column(column)
    if numbers is None or not np.all(np.isfinite(numbers)):
        return None
    if np.any(numbers != np.round(numbers)) or np.abs(numbers).max(initial=0) >= EXACT:
        return None
    whole = numbers.astype(np.int64)
    return whole if len(np.unique(whole)) == len(whole) else None


def _whole(names: Iterable[Any]) -> npt.NDArray[np.int64] | None:
    """The numbers that names of rows spell, None if one is something else."""
    texts = {str(name).strip() for name in names}
    try:
        return np.array(sorted(int(re.sub(r"\.0*$", "", text)) for text in texts), dtype=np.int64)
    except (ValueError, OverflowError):
        return None
