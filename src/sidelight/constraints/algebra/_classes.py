"""Classes of rows, of any type, as codes and names: the one reader of labels and groups."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sidelight._typing import Array, IntArray
from sidelight._warn import warn
from sidelight._words import counted
from sidelight.constraints.algebra._plain import (
    MISSING_WORDS,
    check_nameable,
    is_missing,
    is_unknown,
    text_of,
)
from sidelight.exceptions import ConstraintWarning, SidelightError


class Classes(NamedTuple):
    """Codes of the rows (-1 = none) and the names of the codes."""

    codes: IntArray
    names: Array


def as_codes(given: Array | None, n_samples: int, what: str) -> Classes | None:
    """Classes of the rows as codes (-1 = unknown) and the sorted names of the classes.

    Unknown is -1 (also as a word), whatever :func:`read_classes` takes for unknown. Names are
    compared by their text and are whole numbers when all of them look like it, because a text file
    cannot tell ``1`` from ``"1"``.
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
