"""What is not there yet: collections that are computed on demand, and names of files.

NumPy would pull the first into memory without a word, and take the second for a word.
"""

from __future__ import annotations

import os
from typing import Any

#: Where the rows of a table on disk come from.
OPEN = (
    "sidelight.engine.open_rows(path) gives the rows of files to estimators, "
    "sidelight.io.read_table(path).X those of any table to all"
)


def check_in_memory(values: Any, what: str = "X") -> None:
    """Raise a TypeError that says what to do if values are not in memory.

    Parameters
    ----------
    values : object
        What was given: rows, labels, weights.
    what : str, default="X"
        What it is called.

    Examples
    --------
    >>> from sidelight._in_memory import check_in_memory
    >>> check_in_memory([[1.0, 2.0]])
    >>> check_in_memory("rows.parquet")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    TypeError: X is 'rows.parquet', a text; if it names a file, open it: ...
    """
    if isinstance(values, str | os.PathLike):
        path = os.fspath(values)
        raise TypeError(f"{what} is {path!r}, a text; if it names a file, open it: {OPEN}.")
    check_computed(values, what)


def check_computed(values: Any, what: str = "X", *, rows: bool = True) -> None:
    """Raise a TypeError if values have still to be computed: Dask collections, lazy queries.

    Parameters
    ----------
    values : object
        What was given.
    what : str, default="X"
        What it is called.
    rows : bool, default=True
        Whether these are rows, which may be left on disk.
    """
    kind = type(values)
    if is_collection(values):
        larger = f" If not, write it to Parquet, and open the folder: {OPEN}." if rows else ""
        raise TypeError(
            f"{what} is a Dask collection ({kind.__module__}.{kind.__qualname__}), which would be "
            "pulled into memory as a whole. If it fits there, call .compute() and give the "
            f"result.{larger}"
        )
    if kind.__name__ == "LazyFrame" and kind.__module__.partition(".")[0] == "polars":
        larger = f", or .sink_parquet(path) and open the file: {OPEN}" if rows else ""
        raise TypeError(
            f"{what} is a polars LazyFrame, a query that has not run yet: call .collect() and give "
            f"the data frame{larger}."
        )


def is_collection(values: Any) -> bool:
    """Whether values are a Dask collection, by the protocol of Dask; None is its word for "no".

    Examples
    --------
    >>> from sidelight._in_memory import is_collection
    >>> is_collection([[1.0, 2.0]])
    False
    """
    graph = getattr(type(values), "__dask_graph__", None)
    return graph is not None and values.__dask_graph__() is not None
