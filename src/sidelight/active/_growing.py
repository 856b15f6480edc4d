"""Closure of links that come one by one and may be taken back (union-find with rollback)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sidelight._typing import IntArray
from sidelight.constraints import Closure


class _LinkChange(NamedTuple):
    """Changes by one link: components joined or kept apart, and the counts before."""

    kind: str  # "joined", "parted" or "nothing"
    first: int  # roots
    second: int
    gained: tuple[int, ...]  # components that the first is apart from only through the second
    together: int
    apart: int


class GrowingClosure:
    """Must-link components and the conflicts between them, link by link.

    Finding a component takes O(log n): trees are joined by size and not compressed, so that every
    link can be taken back, the last one first. A component is called by its root, one of its rows.

    Parameters
    ----------
    closure : Closure
        What follows from the statements known beforehand; consistent.

    Attributes
    ----------
    n_together, n_apart : int
        Number of pairs of rows that are known to be together, and to be apart.
    """

    def __init__(self, closure: Closure) -> None:
        roots = closure.first_row
        self._parent: IntArray = roots[closure.component]
        self._size = np.zeros(len(self._parent), np.int64)
        self._size[roots] = closure.sizes
        self._apart: dict[int, set[int]] = {}
        for a, b in roots[closure.conflicts].tolist():
            self._separate(a, b)
        self.n_together = closure.n_entailed_must_link
        self.n_apart = closure.n_entailed_cannot_link
        self._steps: list[_LinkChange] = []

    def find(self, row: int) -> int:
        """Root of the component of a row."""
        parent = self._parent
        above = int(parent[row])
        while above != row:
            row, above = above, int(parent[above])
        return row

    def entailed(self, i: int, j: int) -> bool | None:
        """Whether two rows are together (True), apart (False), or neither is known (None)."""
        a, b = self.find(i), self.find(j)
        if a == b:
            return True
        return False if b in self._apart.get(a, ()) else None

    def size(self, root: int) -> int:
        """Number of rows of a component."""
        return int(self._size[root])

    def mentioned(self) -> IntArray:
        """Roots of the components of several rows, or that are apart from another."""
        several = np.flatnonzero(self._size > 1)
        several = several[self._parent[several] == several]
        parted = [root for root, others in self._apart.items() if others and self._is_root(root)]
        return np.union1d(several, np.array(parted, np.int64))

    def _is_root(self, row: int) -> bool:
        return bool(self._parent[row] == row)

    def roots(self) -> IntArray:
        """Root of the component of every row."""
        roots = self._parent
        while True:
            above = roots[roots]
            if np.array_equal(above, roots):
                return above
            roots = above

    def add(self, i: int, j: int, same: bool) -> bool:
        """Link two rows; it must not contradict. Whether this was news."""
        a, b = self.find(i), self.find(j)
        before = (self.n_together, self.n_apart)
        if a == b or (not same and b in self._apart.get(a, ())):
            self._steps.append(_LinkChange("nothing", a, b, (), *before))
            return False
        if same:
            if (self._size[a], -a) < (self._size[b], -b):
                a, b = b, a
            self._steps.append(_LinkChange("joined", a, b, self._join(a, b), *before))
        else:
            self._separate(a, b)
            self.n_apart += self.size(a) * self.size(b)
            self._steps.append(_LinkChange("parted", a, b, (), *before))
        return True

    def undo(self) -> None:
        """Take the last link back."""
        step = self._steps.pop()
        a, b = step.first, step.second
        self.n_together, self.n_apart = step.together, step.apart
        if step.kind == "parted":
            self._unite(a, b)
        elif step.kind == "joined":
            self._parent[b] = b
            self._size[a] -= self._size[b]
            for other in step.gained:
                self._unite(a, other)
            for other in self._apart.get(b, ()):
                self._apart[other].add(b)

    def _join(self, a: int, b: int) -> tuple[int, ...]:
        """Hang b under a. What b was apart from is kept with b, for the way back."""
        of_a, of_b = self._apart.get(a, set()), self._apart.get(b, set())
        gained = tuple(of_b - of_a)
        self.n_together += self.size(a) * self.size(b)
        self.n_apart += self.size(a) * sum(map(self.size, gained))
        self.n_apart += self.size(b) * sum(map(self.size, of_a - of_b))
        for other in of_b:
            self._apart[other].discard(b)
        for other in gained:
            self._separate(a, other)
        self._parent[b] = a
        self._size[a] += self._size[b]
        return gained

    def _separate(self, a: int, b: int) -> None:
        self._apart.setdefault(a, set()).add(b)
        self._apart.setdefault(b, set()).add(a)

    def _unite(self, a: int, b: int) -> None:
        self._apart[a].discard(b)
        self._apart[b].discard(a)
