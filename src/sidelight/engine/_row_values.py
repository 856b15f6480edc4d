"""Values of rows, here or left beside partitions: what can be asked without bringing them here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sidelight._typing import Array, IntArray
from sidelight.engine._reductions import Concatenated, Top
from sidelight.engine._source import BlockFunction, BlockResults, as_rows


def is_elsewhere(values: Any) -> bool:
    """Whether these are values of rows that a pass has left beside partitions."""
    from sidelight.engine.partitioned._values import RowValues

    return isinstance(values, RowValues)


def map_values(
    function: BlockFunction, values: Any, *aligned: Any
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Return totals and row values of ``function(values, *aligned)``, where the values are.

    The function is one of :meth:`RowSource.map_reduce` without a block of rows. Matrices in memory
    are shared out to threads in blocks, other arrays are a single one.

    Parameters
    ----------
    function : callable
        ``function(values, *aligned) -> (totals, rows)``.
    values : ndarray or RowValues
        A number or several for each row.
    *aligned : ndarray or sliceable
        What else there is for each row.
    """
    if is_elsewhere(values):
        found: tuple[tuple[Any, ...], tuple[Any, ...]] = values.map(function, *aligned)
        return found
    if values.ndim == 2:
        return as_rows(values).map_reduce(function, aligned=aligned)
    n = len(values)
    results = BlockResults(n)
    results.add(0, n, *function(values, *(thing[0:n] for thing in aligned)))
    return results.finish()


def largest_value(values: Any) -> tuple[float, int]:
    """Return the largest of the values of all rows, and the first row that has it."""
    if not is_elsewhere(values):
        row = int(np.argmax(values))
        return float(values[row]), row
    ((top, rows),), _ = values.map(_top, range(len(values)))
    return float(top[0]), int(rows[0])


def _top(values: Array, positions: range) -> tuple[tuple[Top], tuple[()]]:
    row = int(np.argmax(values))
    return (Top(values[row : row + 1], positions[row : row + 1], 1),), ()


def rows_where(test: Callable[[Array], Array], values: Any) -> IntArray:
    """Return the positions of the rows, a few, whose values pass a test, ascending."""
    if not is_elsewhere(values):
        return np.flatnonzero(test(values))

    def find(values: Array, positions: range) -> tuple[tuple[Concatenated], tuple[()]]:
        return (Concatenated([np.flatnonzero(test(values)) + positions.start]),), ()

    found: IntArray = values.map(find, range(len(values)))[0][0]
    return found


def total_of(values: Any, weights: Any = None) -> float:
    """Return the sum of the values of all rows, in float64, each times its weight."""

    def add(values: Array, *weights: Array) -> tuple[tuple[float], tuple[()]]:
        counted = values * weights[0] if weights else values
        return (float(np.sum(counted, dtype=np.float64)),), ()

    return float(map_values(add, values, *(() if weights is None else (weights,)))[0][0])


def count_changes(values: Any, before: Any) -> int:
    """Return how many rows have another value than before."""

    def count(values: Array, before: Array) -> tuple[tuple[int], tuple[()]]:
        return (int(np.count_nonzero(values != before)),), ()

    return int(map_values(count, values, before)[0][0])


def smaller_values(one: Any, other: Any) -> Any:
    """Return the smaller of two values of each row."""
    if not is_elsewhere(one):
        return np.minimum(one, other)
    return one.map(_smaller, other)[1][0]


def _smaller(one: Array, other: Array) -> tuple[tuple[()], tuple[Array]]:
    return (), (np.minimum(one, other),)


def count_codes(codes: Any, n_codes: int) -> IntArray:
    """Return how many rows have each code; those below 0 count nowhere."""

    def count(codes: Array) -> tuple[tuple[IntArray], tuple[()]]:
        inside = codes[codes >= 0] if codes.min(initial=0) < 0 else codes
        return (np.bincount(inside, minlength=n_codes),), ()

    if not is_elsewhere(codes):
        return count(codes)[0][0]
    found: IntArray = codes.map(count)[0][0]
    return found
