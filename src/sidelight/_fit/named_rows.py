"""Rows that constraints name: few of very many, and gathered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from sidelight._typing import Array, IntArray
from sidelight.constraints import Constraints, known_pairs
from sidelight.engine import RowSource


@dataclass(frozen=True)
class NamedRows:
    """Some rows of a table, by their positions in the table.

    Attributes
    ----------
    positions : ndarray of int, shape (n_named,)
        Where the rows are in the table, ascending.
    values : array or CSR matrix of shape (n_named, n_features)
        The rows.
    shape : tuple of int
        Shape of the table.
    """

    positions: IntArray
    values: Any
    shape: tuple[int, int]

    @classmethod
    def of(cls, source: RowSource, positions: npt.ArrayLike) -> NamedRows:
        """Gather the rows at these positions, each once."""
        used = np.unique(np.asarray(positions, dtype=np.int64))
        return cls(used, source.take(used), source.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Element type of the rows."""
        return np.dtype(self.values.dtype)

    def astype(self, dtype: Any) -> NamedRows:
        """Return the same rows in another element type."""
        return replace(self, values=self.values.astype(dtype, copy=False))

    def map(self, function: Callable[[Any], Array]) -> NamedRows:
        """Return what a function makes of the rows, each on its own, at the same positions."""
        values = function(self.values)
        return NamedRows(self.positions, values, (self.shape[0], values.shape[1]))

    def __getitem__(self, positions: npt.ArrayLike) -> Any:
        """Return the rows at these positions of the table; raise if they were not gathered."""
        wanted = np.asarray(positions)
        places = np.searchsorted(self.positions, wanted)
        inside = np.minimum(places, len(self.positions) - 1)
        if len(wanted) and not np.array_equal(self.positions[inside], wanted):
            raise IndexError("Rows that were not gathered.")
        return self.values[places]


def named_rows(source: RowSource, known: Constraints) -> NamedRows:
    """Gather the rows that pairs, labels or groups name.

    Memory is that of these rows: few, as a rule, where rows are many.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight import Constraints
    >>> from sidelight._fit.named_rows import named_rows
    >>> from sidelight.engine import as_rows
    >>> known = Constraints([(0, 3)], n_samples=5)
    >>> named_rows(as_rows(np.arange(5.0)[:, None]), known)[[3]]
    array([[3.]])
    """
    pairs = known_pairs(known)
    of_codes = [
        np.flatnonzero(codes >= 0) for codes in (known.labels, known.groups) if codes is not None
    ]
    return NamedRows.of(
        source, np.concatenate([pairs.together.ravel(), pairs.apart.ravel(), *of_codes])
    )


def taken(rows: Any, positions: Array) -> Any:
    """Return rows of an array, a CSR matrix, named rows or a source."""
    return rows.take(positions) if isinstance(rows, RowSource) else rows[positions]
