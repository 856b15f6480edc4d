"""What users give, one value per row, as plain arrays, and as codes and names of classes."""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Hashable, Iterable, Mapping, Sequence, Set
from decimal import Decimal
from enum import Enum
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sidelight._in_memory import check_computed
from sidelight._typing import Array, IntArray
from sidelight._warn import warn
from sidelight._words import counted
from sidelight.exceptions import ConstraintWarning, SidelightError

# Longer words are kept as Python objects: a NumPy array pads every word to the longest.
LONGEST_WORD = 64


def frozen(array: Array) -> Array:
    """Make the array read-only and return it."""
    array.flags.writeable = False
    return array


def plain(values: Any) -> Array:
    """An array of numbers, of words, or of objects.

    A list of tuples is one-dimensional (tuples are values), a list of lists has two dimensions.
    """
    check_computed(values, "What was given", rows=False)
    array = _as_array(values)
    if array.dtype.kind in "fU":
        return array
    if array.dtype.kind in "mM":
        return _moments(array)
    if array.dtype != bool and np.can_cast(array.dtype, np.int64):
        return array.astype(np.int64, copy=False)
    array = array.astype(object, copy=False)
    kinds = set(map(type, array.flat))
    if kinds & {np.datetime64, np.timedelta64}:
        return _moments(array)
    for kind, dtype in ((Integral, np.int64), (float, np.float64)):
        if kinds and all(issubclass(k, kind) and k is not bool for k in kinds):
            with contextlib.suppress(OverflowError):  # larger numbers stay as they are
                return array.astype(dtype)
    return array


def _as_array(values: Any) -> Array:
    if isinstance(values, Mapping | Set):
        raise SidelightError(
            f"One value per row is needed, in the order of the rows, not a {type(values).__name__}."
        )
    if isinstance(values, np.ma.MaskedArray):
        objects = np.asarray(values.data).astype(object)
        objects[np.ma.getmaskarray(values)] = None
        return objects
    if isinstance(values, np.ndarray):
        return values
    if hasattr(values, "__array__"):
        array = np.asarray(values)
        is_numpy = isinstance(getattr(values, "dtype", None), np.dtype)
        # Objects of pandas hold time zones and nanoseconds; of whole numbers with gaps NumPy makes
        # fractions with NaN.
        if array.dtype.kind in "mM" or (array.dtype.kind == "f" and not is_numpy):
            for to_list in ("to_list", "to_pylist"):
                if hasattr(values, to_list):
                    objects = _objects(getattr(values, to_list)())
                    whole = any(isinstance(value, Integral) for value in objects)
                    return objects if whole or array.dtype.kind != "f" else array
        return array
    if isinstance(values, Sequence) and not isinstance(values, str):
        if values and all(isinstance(value, list) for value in values):
            with contextlib.suppress(ValueError):  # lists of different lengths are no array
                return np.asarray(values)
        return np.fromiter(values, dtype=object, count=len(values))
    return np.fromiter(values, dtype=object)


def _objects(values: list[Any]) -> Array:
    return np.fromiter(values, dtype=object, count=len(values))


def _moments(array: Array) -> Array:
    """Dates and times of NumPy as Python's; nanoseconds, which Python has not, stay NumPy's."""
    return _objects([as_moment(value) for value in array.ravel()]).reshape(array.shape)


def as_moment(value: Any) -> Any:
    """A NumPy date or duration as Python's own where that is exact; anything else unchanged."""
    if not isinstance(value, np.datetime64 | np.timedelta64):
        return value
    if np.isnat(value):
        return None
    kind = "datetime64" if isinstance(value, np.datetime64) else "timedelta64"
    rounded = value.astype(f"{kind}[us]")
    python = rounded.item()
    return python if rounded == value and not isinstance(python, int) else value


def row_key(value: Any) -> Any:
    """Key by which an id is looked up: one day is one id, however it is written."""
    value = as_moment(value)
    if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
        return datetime.datetime.combine(value, datetime.time())
    return value


def as_words(values: Array | list[str]) -> Array:
    """Objects that are all words as an array of words, unless one is very long."""
    objects = values if isinstance(values, np.ndarray) else np.fromiter(values, object)
    flat = objects.ravel()
    only_words = set(map(type, flat)) <= {str, np.str_}
    if only_words and max(map(len, flat), default=0) <= LONGEST_WORD:
        return objects.astype(str)
    return objects


def is_missing(value: Any) -> bool:
    """Whether a value stands for nothing: None, NaN of any type, NaT, NA."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    try:
        return bool(value != value)
    except ArithmeticError:  # a signaling NaN among decimals
        return True
    except (TypeError, ValueError):  # an array, which is equal to itself place by place
        return False


def text_of(value: Any) -> str:
    """The text that a value is known by: its name in tables, files and messages.

    A whole number is written without a point whatever its type, a day without a time, bytes as the
    text that they encode, a member of an enumeration by its name.
    """
    value = as_moment(value)
    if isinstance(value, str):
        return str.__str__(value)  # of a word that is a member of an enumeration, the word
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if isinstance(value, bool | np.bool_):
        return str(bool(value))
    if isinstance(value, Integral):
        return str(int(value))
    if isinstance(value, float | np.floating):
        number = float(value)
        return str(int(number)) if number.is_integer() else repr(number)
    if isinstance(value, Decimal) and value.is_finite():
        whole = value == value.to_integral_value()
        return str(int(value)) if whole else format(value.normalize(), "f")
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, datetime.datetime) and _is_day(value):
        return str(value.date())
    if isinstance(value, datetime.timedelta) and not getattr(value, "nanoseconds", 0):
        return datetime.timedelta.__str__(value)
    if isinstance(value, tuple):
        return f"({', '.join(map(_inner_text, value))})"
    if isinstance(value, frozenset):
        return f"{{{', '.join(sorted(map(_inner_text, value)))}}}"
    return str(value)


def _is_day(moment: datetime.datetime) -> bool:
    midnight = moment.time() == datetime.time() and not getattr(moment, "nanosecond", 0)
    return midnight and moment.tzinfo is None


def _inner_text(value: Any) -> str:
    return repr(str(value)) if isinstance(value, str) else text_of(value)


def check_nameable(value: Any, what: str) -> None:
    """Raise for what cannot be the name of a class: lists, and objects without a text."""
    kind = type(value)
    if not is_missing(value) and not isinstance(value, Hashable):
        raise SidelightError(
            f"{what} must hold one label per row, plain values such as numbers or words, but there "
            f"is a {kind.__name__}: {str(value)[:60]}."
        )
    if kind.__str__ is object.__str__ and kind.__repr__ is object.__repr__:
        raise SidelightError(
            f"{what} must hold one label per row, plain values such as numbers or words, but there "
            f"is a {kind.__name__}, which has no text of its own; use its name or number."
        )


#: Words that stand for a missing number or date once an array or column was turned into text.
MISSING_WORDS = ("nan", "NaN", "NaT", "<NA>")
_NUMBERS = (Integral, Real, Decimal)


def is_unknown(value: Any) -> bool:
    """Whether a label marks an unknown class: missing, -1 as a number, or an empty word."""
    if isinstance(value, str | bytes):
        return not value.strip()
    if isinstance(value, bool | np.bool_):
        return False
    return is_missing(value) or (isinstance(value, _NUMBERS) and bool(value == -1))


class Classes(NamedTuple):
    """Codes of the rows (-1 = none) and the names of the codes."""

    codes: IntArray
    names: Array


def as_codes(given: Array | None, n_samples: int, what: str) -> Classes | None:
    """Classes of the rows as codes (-1 = unknown) and the sorted names of the classes.

    Unknown is -1 (also as a word), whatever :func:`read_classes` takes for unknown. Names are
    compared by their text and are whole numbers when all of them look like it, because a text file
    cannot distinguish ``1`` from ``"1"``.
    """
    if given is None:
        return None
    if given.shape != (n_samples,):
        raise SidelightError(
            f"{what} must hold one entry per row, shape ({n_samples},), got {given.shape}."
        )
    codes, names = read_classes(given, what)
    if names.dtype.kind == "U":
        codes = np.where(np.append(names == "-1", False)[codes], -1, codes)
    return recode(Classes(codes, names))


def read_classes(given: Array, what: str) -> Classes:
    """Number the classes of a plain array (:func:`~._plain.plain`); the unknown ones are -1.

    Unknown is -1, None, NaN, NaT, NA or an empty word. The words ``"nan"``, ``"NaN"``, ``"NaT"``
    and ``"<NA>"`` are what NumPy and pandas make of a missing value on the way to text
    (``np.array(["a", np.nan])``): they are unknown too, with a warning, since a class might really
    be called so.
    """
    if given.dtype.kind in "if":
        return _read_numbers(given, what)
    texts, code = _read_objects(given, what)
    unknown = texts == ""
    lost = np.isin(texts, MISSING_WORDS)
    if lost.any():
        _warn_of_missing_words(texts[lost], int(lost[code].sum()), what)
    names, rank = np.unique(texts[~(unknown | lost)], return_inverse=True)
    codes = np.full(len(texts), -1, np.int64)
    codes[~(unknown | lost)] = rank.reshape(-1)
    return Classes(codes[code.reshape(-1)], names)


def _read_numbers(given: Array, what: str) -> Classes:
    known = given != -1
    if given.dtype.kind == "f":
        if np.isinf(given).any():
            raise SidelightError(f"{what} holds an infinite number; use -1 for unknown.")
        known &= ~np.isnan(given)
    codes = np.full(len(given), -1, np.int64)
    names, code = np.unique(given[known], return_inverse=True)
    codes[known] = code.reshape(-1)
    return Classes(codes, names)


def _read_objects(given: Array, what: str) -> tuple[npt.NDArray[np.str_], IntArray]:
    """Texts of the distinct values ("" for unknown), and the place of every row among them.

    A dictionary finds the few different words among many rows in a fraction of the time of sorting.
    """
    values = given.tolist()
    places: dict[Any, int] = {}
    try:
        code = [places.setdefault(key, len(places)) for key in _keys(values)]
    except TypeError:  # something that cannot be a class, or a missing value that has no hash
        for value in values:
            check_nameable(value, what)
        return _read_objects(np.fromiter(map(_or_none, values), object, len(values)), what)
    texts = [_class_text(value, what) for _, value in places]
    return np.array(texts, dtype=str), np.array(code, dtype=np.int64)


def _keys(values: list[Any]) -> Iterable[tuple[type, Any]]:
    """Values with their types: to Python True, 1 and 1.0 are equal."""
    return zip(map(type, values), values, strict=True)


def _or_none(value: Any) -> Any:
    return None if is_missing(value) else value


def _class_text(value: Any, what: str) -> str:
    if is_unknown(value):
        return ""
    check_nameable(value, what)
    return text_of(value).strip()


def _warn_of_missing_words(words: Array, n_rows: int, what: str) -> None:
    shown = " and ".join(sorted({repr(word) for word in words.tolist()}))
    warn(
        f"{what} holds the word {shown} in {counted(n_rows, 'row')}, which is what a missing value "
        "becomes as text: taken for unknown. Give unknown classes as None or -1; a class that is "
        "really called so needs another name.",
        ConstraintWarning,
    )


def recode(classes: Classes | None) -> Classes | None:
    """Classes in canonical form: only names that occur, sorted; None if there are none."""
    if classes is None:
        return None
    codes, names = classes
    used = np.flatnonzero(np.bincount(codes[codes >= 0], minlength=len(names)))
    if not len(used):
        return None
    ordered, rank = _name_classes(names[used])
    new_code = np.full(len(names) + 1, -1, np.int64)
    new_code[used] = rank
    return Classes(new_code[codes], ordered)


def _name_classes(names: Array) -> tuple[Array, IntArray]:
    """Sorted class names, as whole numbers when all look like it, and the rank of each name."""
    if names.dtype.kind == "f" and np.all(names == np.round(names)):
        names = names.astype(np.int64)
    elif names.dtype.kind == "f":
        names = np.array([text_of(value) for value in names.tolist()])
    if names.dtype.kind == "U":
        try:
            numbers = names.astype(np.int64)
        except (ValueError, OverflowError):
            numbers = None
        if numbers is not None and np.array_equal(numbers.astype(str), names):
            names = numbers
    ordered, rank = np.unique(names, return_inverse=True)
    return ordered, rank.astype(np.int64)
