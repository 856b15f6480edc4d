"""Rows of every component, numbered by themselves, wherever the rows are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sidelight._fit.few_rows import FewRows
from sidelight._typing import Array, IntArray
from sidelight.engine.inner import Concatenated, is_elsewhere


class Members:
    """Rows of a block by their component."""

    def __init__(self, owner: Array) -> None:
        self._order = np.argsort(owner, kind="stable")
        self._sorted = owner[self._order]

    def of(self, component: int) -> Array:
        """Positions of the rows of one component, ascending."""
        start, stop = np.searchsorted(self._sorted, [component, component + 1])
        return self._order[start:stop]


class OwnedRows:
    """Positions of the rows of every component; where they are elsewhere, few come here.

    Parameters
    ----------
    owner : ndarray of int or RowValues, shape (n,)
        Component of every row, -1 for none.
    n_components : int
        Number of components.
    """

    def __init__(self, owner: Any, n_components: int) -> None:
        self._owner = owner
        if is_elsewhere(owner):
            table = owner.map(_BlockCounts(n_components), range(len(owner)))[0][0]
            self._starts, self._of_blocks = table[:, 0], table[:, 1:]
            self.counts = self._of_blocks.sum(axis=0)
        else:
            self._members = Members(owner)
            self.counts = np.bincount(owner[owner >= 0], minlength=n_components)

    def at(self, numbers: Mapping[int, IntArray]) -> dict[int, IntArray]:
        """Return the positions of rows of some components, by their numbers in these."""
        if not is_elsewhere(self._owner):
            return {i: self._members.of(i)[of_i] for i, of_i in numbers.items()}
        components = np.repeat(list(numbers), [of_i.size for of_i in numbers.values()])
        wanted = np.concatenate([of_i.ravel() for of_i in numbers.values()])
        block = np.empty(len(wanted), dtype=np.int64)
        for i in numbers:
            mine = components == i
            before = np.concatenate([[0], np.cumsum(self._of_blocks[:, i])])
            block[mine] = np.searchsorted(before, wanted[mine], side="right") - 1
            wanted[mine] -= before[block[mine]]
        order = np.argsort(block, kind="stable")
        asked = FewRows(self._starts[block[order]], np.column_stack((components, wanted))[order])
        found = self._owner.map(_find_members, range(len(self._owner)), asked)[0][0]
        positions = np.empty(len(wanted), dtype=np.int64)
        positions[order] = found
        ends = np.cumsum([of_i.size for of_i in numbers.values()])[:-1]
        pieces = np.split(positions, ends)
        return {
            i: piece.reshape(of_i.shape)
            for (i, of_i), piece in zip(numbers.items(), pieces, strict=True)
        }


class _BlockCounts:
    """Where a block starts, and how many rows each component has in it."""

    def __init__(self, n_components: int) -> None:
        self._n_components = n_components

    def __call__(self, owner: Array, positions: range) -> tuple[tuple[Concatenated], tuple[()]]:
        counts = np.bincount(owner[owner >= 0], minlength=self._n_components)
        return (Concatenated([np.concatenate([[positions.start], counts])[None]]),), ()


def _find_members(
    owner: Array, positions: range, asked: tuple[IntArray, Array]
) -> tuple[tuple[Concatenated], tuple[()]]:
    """Positions of the rows asked for: pairs of a component and a number of its rows here."""
    _, pairs = asked
    found = np.empty(len(pairs), dtype=np.int64)
    if len(pairs):
        members = Members(owner)
        for component in np.unique(pairs[:, 0]):
            mine = pairs[:, 0] == component
            found[mine] = members.of(component)[pairs[mine, 1]] + positions.start
    return (Concatenated([found]),), ()
