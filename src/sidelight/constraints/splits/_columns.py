"""Known splits from whatever users give: the names of the splits, and their classes or numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np

from sidelight._typing import Array, IntArray
from sidelight._words import counted
from sidelight.constraints.algebra._alignment import own_ids
from sidelight.constraints.algebra._plain import (
    MISSING_WORDS,
    Classes,
    is_missing,
    plain,
    read_classes,
    recode,
    text_of,
)
from sidelight.exceptions import SidelightError

#: Class of the rows whose value is missing.
MISSING = "(missing)"


class RawSplit(NamedTuple):
    """A split as the user gave it."""

    name: str
    values: Array
    #: Whether it holds numbers; None to look at the values.
    numeric: bool | None


class CodedSplit(NamedTuple):
    """A split with the code of every row and the names of the codes, or with numbers.

    Attributes
    ----------
    name : str
        Name of the split.
    values : ndarray of shape (n_samples,)
        Codes, or numbers.
    classes : ndarray or None
        Names of the codes; None for numbers.
    missing : bool
        Whether the last class stands for missing values.
    note : str
        Anything that was noticed while reading the values.
    """

    name: str
    values: Array
    classes: Array | None
    missing: bool
    note: str = ""

    def take(self, rows: IntArray) -> CodedSplit:
        """Some of the rows, without the classes that no longer occur."""
        values = self.values[rows]
        if self.classes is None:
            return self._replace(values=values)
        used, codes = np.unique(values, return_inverse=True)
        missing = self.missing and bool(len(used)) and used[-1] == len(self.classes) - 1
        return _named(self.name, codes.reshape(-1), self.classes[used], missing=missing)


def given_columns(known: Any, numbers: Any) -> tuple[list[RawSplit], Array | None]:
    """Splits in every form in which they are given, and the ids that a pandas object brings."""
    if _are_names(numbers):
        columns, ids = _columns(known, "known", None)
        named = list(map(str, numbers))
        unknown = [name for name in named if name not in [column.name for column in columns]]
        if unknown:
            has = ", ".join(repr(column.name) for column in columns) or "none"
            raise SidelightError(
                f"numbers names {unknown[0]!r}, which is not one of the known splits ({has})."
            )
        return [column._replace(numeric=column.name in named) for column in columns], ids
    columns, ids = _columns(known, "known", None)
    more, other_ids = _columns(numbers, "number", True)
    return [*columns, *more], other_ids if ids is None else ids


def _are_names(numbers: Any) -> bool:
    """Whether ``numbers`` names columns rather than holding them."""
    if not isinstance(numbers, Sequence) or isinstance(numbers, str):
        return False
    return all(isinstance(name, str) for name in numbers)


def _columns(known: Any, word: str, numeric: bool | None) -> tuple[list[RawSplit], Array | None]:
    if known is None or (isinstance(known, list | tuple | Mapping) and not known):
        return [], None
    if isinstance(known, str | bytes):
        raise SidelightError(
            f"Known splits are labels of the rows, not the text {known!r}; KnownSplits.read(path) "
            "reads them from a file."
        )
    ids = own_ids(known)
    if isinstance(known, Mapping):
        return _named_columns(list(known.items()), numeric)
    if hasattr(known, "column_names") or hasattr(known, "columns"):
        names = getattr(known, "column_names", None)
        names = list(known.columns) if names is None else list(names)
        twice = [name for name in names if names.count(name) > 1]
        if twice:
            raise SidelightError(f"Two known splits are called {twice[0]!r}; rename one of them.")
        return _named_columns([(name, known[name]) for name in names], numeric)[0], ids
    if hasattr(known, "tocsr"):
        raise SidelightError("Known splits are labels of the rows, not a sparse matrix.")
    several = _several(known)
    if several is not None:
        names = [getattr(values, "name", None) for values in several]
        if None in names or len(set(map(str, names))) < len(names):
            names = [f"{word} {place}" for place in range(1, len(several) + 1)]
            names = [word] if len(several) == 1 else names
        return _named_columns(list(zip(names, several, strict=True)), numeric)
    values = plain(known)
    if values.ndim == 2:
        n_columns = values.shape[1]
        names = [word] if n_columns == 1 else [f"{word} {place + 1}" for place in range(n_columns)]
        return [RawSplit(n, plain(c), numeric) for n, c in zip(names, values.T, strict=True)], ids
    name = getattr(known, "name", None)
    return [RawSplit(word if name in (None, "") else str(name), _flat(values, word), numeric)], ids


def _several(known: Any) -> list[Any] | None:
    """Labelings of a list of labelings; None for one labeling, and for an array."""
    if not isinstance(known, list | tuple) or not known:
        return None
    many = [
        isinstance(values, list | np.ndarray) or hasattr(values, "__array__") for values in known
    ]
    many = [isn and np.ndim(values) > 0 for isn, values in zip(many, known, strict=True)]
    if isinstance(known, tuple) and all(isinstance(values, list | tuple) for values in known):
        return list(known)
    return list(known) if all(many) else None


def _named_columns(
    items: list[tuple[Any, Any]], numeric: bool | None
) -> tuple[list[RawSplit], Array | None]:
    """Splits by name; the ids are those of the first pandas object that has some."""
    columns: list[RawSplit] = []
    ids: Array | None = None
    for name, values in items:
        if isinstance(values, str | bytes | Mapping) or np.ndim(values) == 0:
            raise SidelightError(
                f"The known split {str(name)!r} has to hold one label per row, got "
                f"{type(values).__name__}; a mapping is {{name of the split: labels}}."
            )
        own = own_ids(values)
        if own is not None and ids is not None and not np.array_equal(own, ids):
            raise SidelightError(
                f"The known split {str(name)!r} has another index than the ones before; bring them "
                "into one order, or pass arrays."
            )
        ids = own if own is not None else ids
        columns.append(RawSplit(str(name), _flat(plain(values), str(name)), numeric))
    return columns, ids


def _flat(values: Array, name: str) -> Array:
    if values.ndim != 1:
        raise SidelightError(
            f"The known split {name!r} has to hold one label per row, got an array of shape "
            f"{values.shape}."
        )
    return values


def read_columns(given: Sequence[RawSplit], *, spelled: bool = False) -> list[CodedSplit]:
    """Codes or numbers of every split; with ``spelled`` words may spell numbers, as in a file."""
    return [_read(column, spelled) for column in given]


def _read(given: RawSplit, spelled: bool) -> CodedSplit:
    name, values, numeric = given
    if numeric is None:
        numeric = _has_fractions(values, spelled)
        note = f"The known split {name!r} holds fractions and was taken for numbers."
    else:
        note = ""
    if numeric:
        return CodedSplit(name, as_numbers(values, name), None, False, note)
    return _read_classes(name, values)


def _has_fractions(values: Array, spelled: bool) -> bool:
    """Whether these are numbers, and not all of them whole."""
    if values.dtype.kind == "f":
        finite = values[np.isfinite(values)]
        return bool(np.any(finite != np.round(finite)))
    if values.dtype == object and all(map(_is_amount, values.tolist())):
        return any(one % 1 != 0 for one in values.tolist() if not is_missing(one))
    if not spelled or values.dtype.kind not in "UO" or not len(values):
        return False
    texts = ["" if is_missing(value) else str(value).strip() for value in values.tolist()]
    try:
        numbers = [float(text) for text in texts if text]
    except ValueError:
        return False
    return bool(numbers) and not all(number.is_integer() for number in numbers)


def _is_amount(value: Any) -> bool:
    """Whether a value is a finite number, or missing."""
    if is_missing(value):
        return True
    if isinstance(value, bool) or not isinstance(value, Real):
        return False
    return isinstance(value, Integral) or math.isfinite(value)


def as_numbers(values: Array, name: str) -> Array:
    """Numbers of a split, all of them finite, or an error that names the first that is not."""
    try:
        numbers = np.array([_number(value) for value in values.tolist()], dtype=np.float64)
    except (TypeError, ValueError) as error:
        bad = next(v for v in values.tolist() if not _is_number(v))
        raise SidelightError(
            f"The known column {name!r} is to hold numbers, but there is {bad!r}."
        ) from error
    bad_rows = np.flatnonzero(~np.isfinite(numbers))
    if len(bad_rows):
        raise SidelightError(
            f"The known column {name!r} has no finite number in row {bad_rows[0]} "
            f"({counted(len(bad_rows), 'row')} in all); fill or drop these values."
        )
    return numbers


def _number(value: Any) -> float:
    return np.nan if is_missing(value) or value == "" else float(value)


def _is_number(value: Any) -> bool:
    try:
        _number(value)
    except (TypeError, ValueError):
        return False
    return True


def _read_classes(name: str, values: Array) -> CodedSplit:
    if values.dtype == object and any(isinstance(one, list | np.ndarray) for one in values):
        raise SidelightError(
            f"The known split {name!r} has to hold one label per row, and there are lists in it."
        )
    codes, names = read_classes(values, f"the known split {name!r}")
    lost = np.flatnonzero(codes < 0)
    # -1 is the noise of a clustering: a label as good as any other here.
    noise = np.array([row for row in lost.tolist() if not _is_nothing(values[row])], dtype=np.int64)
    if len(noise):
        codes = codes.copy()
        codes[noise] = len(names)
        minus = -1 if names.dtype.kind in "if" else "-1"
        names = np.array([*names.tolist(), minus])
    missing = len(lost) > len(noise)
    read = recode(Classes(codes, names))
    codes, names = (codes, names[:0]) if read is None else read
    if missing:
        codes = np.where(codes < 0, len(names), codes)
        names = np.array([*map(text_of, names.tolist()), _missing_name(names)])
    note = ""
    if missing:
        rows = counted(len(lost) - len(noise), "row")
        note = f"The known split {name!r} is missing in {rows}: these are a class of their own."
    return CodedSplit(name, codes.astype(np.int64), names, missing, note)


def _is_nothing(value: Any) -> bool:
    if isinstance(value, str | bytes):
        return not value.strip() or value in MISSING_WORDS
    return is_missing(value)


def _missing_name(names: Array) -> str:
    """Name of the class of missing values, whatever the other classes are called."""
    word = MISSING
    while word in set(map(text_of, names.tolist())):
        word = f"({word})"
    return word


def _named(name: str, codes: Array, names: Array, *, missing: bool) -> CodedSplit:
    """A split in canonical form: a subset of the classes is named as if it had been given so."""
    kept = names[:-1] if missing else names
    read = recode(Classes(np.where(codes == len(kept), -1, codes), kept))
    if read is None:
        return CodedSplit(name, codes.astype(np.int64), names, missing)
    codes, ordered = read
    if missing:
        codes = np.where(codes < 0, len(ordered), codes)
        ordered = np.array([*map(text_of, ordered.tolist()), str(names[-1])])
    return CodedSplit(name, codes.astype(np.int64), ordered, missing)
