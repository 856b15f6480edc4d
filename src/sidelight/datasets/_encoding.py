"""From columns of text to numbers: the same conventions whatever the source of a table.

Numbers stay numbers. A column of two words becomes one 0/1 column, of more words one 0/1 column
for each, named ``column=word``. Missing values become NaN. Columns that only name the rows go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sidelight._typing import FloatArray
from sidelight.datasets._dataset import Dataset
from sidelight.exceptions import SidelightError

MISSING = frozenset({"", "?", "na", "n/a", "nan", "none", "<null>", "<na>", "null"})
ROW_NAMES = frozenset({"id", "rowid", "row_id", "index", "identifier", "code.number"})
# Pairs of words that need no "=word" in the name of their 0/1 column: the second is 1.
YES_NO = ({"no": 0, "yes": 1}, {"n": 0, "y": 1}, {"false": 0, "true": 1}, {"f": 0, "t": 1})


def encode_table(
    columns: Mapping[str, Sequence[Any]], target_column: str, title: str, source: str
) -> Dataset:
    """Make a data set of a table of text, numbers or both.

    Parameters
    ----------
    columns : mapping of str to sequence
        Values of every column, by its name.
    target_column : str
        The column with the classes.
    title, source : str
        First line of the description, and where the table was found.
    """
    parts: list[FloatArray] = []
    names: list[str] = []
    notes: list[str] = []
    for name, values in columns.items():
        if name == target_column:
            continue
        if name.lower() in ROW_NAMES:
            notes.append(f"Column {name!r} only names the rows and was left out.")
            continue
        numbers, new_names = encode_column(name, values)
        parts.extend(numbers)
        names.extend(new_names)
    if not parts:
        raise SidelightError(f"{title} has no column besides its classes.")
    data = np.column_stack(parts)
    incomplete = int(np.isnan(data).any(axis=1).sum())
    if incomplete:
        notes.append(f"{incomplete} of {len(data)} rows have missing values, kept as NaN.")
    target, target_names = encode_target(columns[target_column])
    return Dataset(
        data=data,
        target=target,
        feature_names=tuple(names),
        target_names=target_names,
        description="\n".join([title, f"Source: {source}.", *notes]),
    )


def encode_column(name: str, values: Sequence[Any]) -> tuple[list[FloatArray], list[str]]:
    """Turn one column into numbers: itself, or 0/1 columns for its words."""
    text = [clean(value) for value in values]
    numbers = _as_numbers(text)
    if numbers is not None:
        return [numbers], [name]
    flags = _as_yes_no(text)
    if flags is not None:
        return [flags], [name]
    words = sorted({word for word in text if word is not None})
    if len(words) <= 2:
        words = words[-1:]  # of two words the second tells everything
    columns = [
        np.array([np.nan if given is None else float(given == word) for given in text])
        for word in words
    ]
    return columns, [f"{name}={word}" for word in words]


def _as_yes_no(text: Sequence[str | None]) -> FloatArray | None:
    """A column of yes and no (in any case) as 1 and 0 with NaN for what is missing, or None."""
    lowered = [None if word is None else word.lower() for word in text]
    for yes_no in YES_NO:
        if set(lowered) - {None} <= set(yes_no):
            return np.array([np.nan if w is None else float(yes_no[w]) for w in lowered])
    return None


def encode_target(values: Sequence[Any]) -> tuple[npt.NDArray[np.int64], tuple[str, ...]]:
    """Number the classes in the order of their names; -1 where the class is missing."""
    text = [clean(value) for value in values]
    names = {word for word in text if word is not None}
    numbers = _as_numbers(sorted(names))
    if numbers is not None and np.all(numbers == np.round(numbers)):
        ordered = sorted(names, key=float)
        shown = tuple(str(int(float(name))) for name in ordered)
    else:
        ordered = sorted(names)
        shown = tuple(ordered)
    position = {name: number for number, name in enumerate(ordered)}
    codes = np.array([-1 if word is None else position[word] for word in text], dtype=np.int64)
    return codes, shown


def clean(value: Any) -> str | None:
    """Text of a value without the space around it; None if it marks a missing value."""
    if value is None or value != value:
        return None
    text = str(value).strip()
    return None if text.lower() in MISSING else text


def _as_numbers(text: Sequence[str | None]) -> FloatArray | None:
    """The column as numbers with NaN for what is missing, or None if a word is in it."""
    try:
        return np.array([np.nan if word is None else float(word) for word in text])
    except ValueError:
        return None
