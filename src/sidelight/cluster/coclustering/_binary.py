"""Tables of zeros and ones, and what makes one of any table."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import numpy as np
from scipy import sparse

from sidelight._fit.parameters import Share
from sidelight._fit.thresholds import share_of_maximum
from sidelight._typing import Array
from sidelight._words import setting
from sidelight.exceptions import SidelightError

#: Rule that makes a table 0/1.
Binarize: TypeAlias = Literal["mean"] | Share | None


def thresholds_of(rows: Any, rule: Binarize) -> Array | None:
    """Values above which each column counts as one; None where the table is 0/1 already."""
    if rule is None:
        return None
    if rule == "mean":
        return np.asarray(rows.mean(axis=0), dtype=np.float64).ravel()
    return share_of_maximum(rows, float(rule))


def as_binary(rows: Any, X: Any, thresholds: Array | None = None) -> Array:
    """The ones of a table as a dense array of bool; any other value is refused by its place.

    Parameters
    ----------
    rows : ndarray or CSR matrix
        The numbers.
    X : object
        What the user gave; its names of rows and columns are in the message.
    thresholds : ndarray of shape (n_columns,), default=None
        Values above which an entry counts as one.
    """
    values = rows.toarray() if sparse.issparse(rows) else np.asarray(rows)
    if thresholds is not None:
        return np.asarray(values > thresholds)
    ones = values == 1
    wrong = ~(ones | (values == 0))
    if wrong.any():
        row, column = np.unravel_index(int(np.argmax(wrong)), wrong.shape)
        raise _not_binary(X, values[row, column], int(row), int(column), int(wrong.sum()))
    return np.asarray(ones)


def _not_binary(X: Any, value: Any, row: int, column: int, number: int) -> SidelightError:
    index, names = getattr(X, "index", None), getattr(X, "columns", None)
    row_name = row if index is None or callable(index) else repr(index[row])
    column_name = column if names is None else repr(str(names[column]))
    more = f", and {number - 1:,} other cells are not 0 or 1 either" if number > 1 else ""
    return SidelightError(
        f"Row {row_name}, column {column_name} holds {value:g}{more}: a table of zeros and ones "
        f"is needed. {setting('binarize', 'mean')} makes the values above the mean of their "
        f"column ones, {setting('binarize', 0.25)} those above a quarter of its maximum."
    )
