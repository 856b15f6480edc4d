"""User input with one value per row, as plain arrays: dates stay dates, None stays None."""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Hashable, Mapping, Sequence, Set
from decimal import Decimal
from enum import Enum
from numbers import Integral, Real
from typing import Any

import numpy as np

from sidelight._typing import Array
from sidelight.exceptions import SidelightError

# Longer words are kept as Python objects: a NumPy array pads every word to the longest.
LONGEST_WORD = 64


def plain(values: Any) -> Array:
    """An array of numbers, of words, or of objects.

    A list of tuples is one-dimensional (tuples are values), a list of lists has two dimensions.
    """
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
        if array.dtype.kind in "mM":  # the objects of pandas hold time zones and nanoseconds
            for to_list in ("to_list", "to_pylist"):
                if hasattr(values, to_list):
                    return _objects(getattr(values, to_list)())
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
