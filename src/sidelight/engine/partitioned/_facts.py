"""The first look at a partition: its shape and type, and values that cannot be used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from sidelight._typing import Array
from sidelight.engine._extent import largest_by_column
from sidelight.engine._reductions import Maximum, Minimum
from sidelight.engine._source import as_rows
from sidelight.exceptions import SidelightError

#: Stands for no place in a table.
NOWHERE = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Facts:
    """What a first look at a partition tells.

    Attributes
    ----------
    n_rows, n_features : int
        Its shape.
    dtype : numpy.dtype or None
        Its element type.
    is_sparse : bool
        Whether it holds a CSR matrix.
    columns : tuple of str or None
        Names of its columns, where it has some.
    has_ids : bool
        Whether it names its rows.
    largest : ndarray or None
        Largest ``|x|`` of every column.
    first_nan, first_infinite : tuple of int or None
        Row and column of the first such value.
    error : str
        Why it cannot be read; empty where it can.
    """

    n_rows: int = 0
    n_features: int = 0
    dtype: Any = None
    is_sparse: bool = False
    columns: tuple[str, ...] | None = None
    has_ids: bool = False
    largest: Array | None = None
    first_nan: tuple[int, int] | None = None
    first_infinite: tuple[int, int] | None = None
    error: str = ""


def look_at(partition: Any, order: Any) -> Facts:
    """Look at a partition for the first time."""
    try:
        rows = as_rows(partition).with_missing()
        d = rows.n_features
        nan = infinite = np.array([NOWHERE])
        largest = np.zeros(d, dtype=rows.dtype)
        if len(rows):
            aligned = (range(len(rows)),)
            (nan, infinite, largest), _ = rows.map_reduce(_bad_values, aligned=aligned)
    except (OSError, ValueError, TypeError, SidelightError) as error:
        return Facts(error=str(error))
    columns = getattr(rows, "columns", None)
    return Facts(
        *rows.shape,
        rows.dtype,
        rows.is_sparse,
        None if columns is None else tuple(columns),
        rows.ids is not None,
        largest,
        _place(nan, d),
        _place(infinite, d),
    )


def _bad_values(block: Any, positions: range) -> tuple[tuple[Any, ...], tuple[()]]:
    largest = largest_by_column(block)
    if np.isfinite(largest).all() and not _has_nan(block):
        return (Minimum([NOWHERE]), Minimum([NOWHERE]), Maximum(largest)), ()
    finite = np.where(np.isfinite(largest), largest, 0)
    first = (_first(block, test, positions.start) for test in (np.isnan, np.isinf))
    return (*(Minimum([place]) for place in first), Maximum(finite)), ()


def _has_nan(block: Any) -> bool:
    values = block.data if sparse.issparse(block) else block
    return bool(np.isnan(values.min(initial=0)))


def _first(block: Any, test: Any, start: int) -> int:
    """Return the place of the first value that passes a test, counted through all rows."""
    if sparse.issparse(block):
        entries = block.tocoo()
        found = np.flatnonzero(test(entries.data))
        if len(found) == 0:
            return int(NOWHERE)
        places = (entries.row[found].astype(np.int64) + start) * block.shape[1] + entries.col[found]
        return int(places.min())
    found = np.flatnonzero(test(block).ravel())
    return int(found[0]) + start * block.shape[1] if len(found) else int(NOWHERE)


def _place(found: Any, n_features: int) -> tuple[int, int] | None:
    place = int(found[0])
    return None if place == NOWHERE else divmod(place, n_features)


def check_alike(names: Sequence[str], facts: Sequence[Facts]) -> Facts:
    """Return the first facts of a partition with rows; raise where partitions do not fit together.

    Parameters
    ----------
    names : sequence of str
        Names of the partitions.
    facts : sequence of Facts
        What is known of each.
    """
    for name, one in zip(names, facts, strict=True):
        if one.error:
            raise SidelightError(f"{name} cannot be read: {one.error}")
    filled = [place for place, one in enumerate(facts) if one.n_rows]
    if not filled:
        raise SidelightError("There are no rows: all partitions are empty.")
    first = facts[filled[0]]
    for place in filled[1:]:
        one = facts[place]
        if one.n_features != first.n_features or one.columns != first.columns:
            raise SidelightError(
                f"{names[place]} has {_columns(one)}, {names[filled[0]]} has {_columns(first)}: "
                "all partitions need the same columns in the same order."
            )
        if one.has_ids != first.has_ids:
            raise SidelightError(
                f"Only one of {names[place]} and {names[filled[0]]} has a column that names the "
                "rows: name it, or the features alone, when you open them."
            )
        if one.is_sparse != first.is_sparse:
            kinds = ["dense", "sparse"]
            raise SidelightError(
                f"{names[place]} is {kinds[one.is_sparse]}, {names[filled[0]]} is "
                f"{kinds[first.is_sparse]}: make all partitions of one kind."
            )
    return first


def _columns(facts: Facts) -> str:
    if facts.columns is None:
        return f"{facts.n_features} columns"
    shown = ", ".join(map(repr, facts.columns[:5]))
    more = ", ..." if len(facts.columns) > 5 else ""
    return f"the columns {shown}{more}"
