"""Reductions over blocks besides sums: minima, maxima, and the rows with the largest values.

A block function returns them among its totals; :meth:`RowSource.map_reduce` joins those of all
blocks, in the order of the blocks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self

import numpy as np
import numpy.typing as npt

from sidelight._typing import Array


class Reduction(Protocol):
    """Partial result of a block that can be joined with that of the next block."""

    def join(self, later: Self) -> Self:
        """Return the total of both; neither is changed."""

    def result(self) -> Any:
        """Return what ``map_reduce`` returns for the total of all blocks."""


@dataclass(frozen=True)
class _Elementwise:
    values: npt.ArrayLike
    _choose: ClassVar[np.ufunc]

    def join(self, later: Self) -> Self:
        """Return the elementwise choice of both."""
        return type(self)(self._choose(self.values, later.values))

    def result(self) -> Array:
        """Return the choice over all blocks."""
        return np.asarray(self.values)


class Minimum(_Elementwise):
    """Elementwise minimum over the blocks; the result is an array."""

    _choose = np.minimum


class Maximum(_Elementwise):
    """Elementwise maximum over the blocks; the result is an array."""

    _choose = np.maximum


@dataclass(frozen=True)
class Concatenated:
    """Arrays of the blocks, one behind the other: something about a few rows of each.

    Attributes
    ----------
    pieces : list of ndarray
        Arrays of the same shape behind the first dimension.
    """

    pieces: list[Array]

    def join(self, later: Concatenated) -> Concatenated:
        """Return the arrays of both."""
        return Concatenated([*self.pieces, *later.pieces])

    def result(self) -> Array:
        """Return one array."""
        return np.concatenate(self.pieces)


@dataclass(frozen=True)
class Top:
    """The ``n`` rows with the largest values, ties in the order of the rows.

    Attributes
    ----------
    values : ndarray of shape (m,)
        Values of the rows of the block.
    rows : ndarray of int, shape (m,)
        Positions of these rows in the table: slices of ``range(n_rows)``, passed as ``aligned``.
    n : int
        Number of rows to keep.

    The result is a pair of arrays: the values, largest first, and the positions.
    """

    values: Array
    rows: Any
    n: int

    def join(self, later: Top) -> Top:
        """Return the best of both."""
        mine, theirs = self.kept(), later.kept()
        return Top(
            np.concatenate([mine.values, theirs.values]),
            np.concatenate([mine.rows, theirs.rows]),
            self.n,
        ).kept()

    def kept(self) -> Top:
        """Return the best ``n`` alone, largest first."""
        best = np.argsort(-np.asarray(self.values), kind="stable")[: self.n]
        return Top(np.asarray(self.values)[best], np.asarray(self.rows)[best], self.n)

    def result(self) -> tuple[Array, Array]:
        """Return values and positions of the best ``n`` of all blocks."""
        best = self.kept()
        return best.values, best.rows
