"""Values of a few rows of a table, cut like the table."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sidelight._typing import Array, IntArray


class FewRows:
    """Values of a few rows, aligned with the blocks of a table.

    A block gets a pair: which of its rows have values, counted from its start, and these values. A
    partition elsewhere is sent those of its own rows alone.

    Parameters
    ----------
    rows : array of int, shape (r,)
        Positions of the rows, ascending.
    values : array of shape (r, ...), default=None
        Their values; none where only the positions count.

    Examples
    --------
    >>> from sidelight._fit.few_rows import FewRows
    >>> labels = FewRows([2, 5, 7], [0, 1, 1])
    >>> labels[4:8]
    (array([1, 3]), array([1, 1]))
    """

    def __init__(self, rows: npt.ArrayLike, values: npt.ArrayLike | None = None) -> None:
        self._rows: IntArray = np.asarray(rows, dtype=np.int64)
        self._values = np.empty((len(self._rows), 0)) if values is None else np.asarray(values)

    def __getitem__(self, block: slice) -> tuple[IntArray, Array]:
        return self._between(block.start, block.stop)

    def part(self, start: int, stop: int) -> FewRows:
        """Return the values of consecutive rows, which are counted from 0 on there."""
        return FewRows(*self._between(start, stop))

    def _between(self, start: Any, stop: Any) -> tuple[IntArray, Array]:
        if len(self._rows) == 0:
            return self._rows, self._values
        here = slice(*np.searchsorted(self._rows, (start, stop)))
        return self._rows[here] - start, self._values[here]
