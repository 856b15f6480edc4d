"""Statements about a row and a column: they belong to one co-cluster, or to two."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from sidelight._typing import Array
from sidelight._words import counted
from sidelight.constraints.algebra._plain import frozen
from sidelight.exceptions import SidelightError


class CrossLinks:
    """Must-links and cannot-links between a row and a column of a table.

    In a co-clustering, cluster ``l`` of the rows goes with cluster ``l`` of the columns. A
    must-link says that a row and a column have the same number, a cannot-link that they have
    different ones. (The extended constraints of Constrained Clustering, 2009, section 6.2.) The
    object never changes.

    Parameters
    ----------
    must_link, cannot_link : array-like of shape (m, 2), default=None
        Pairs of a row and a column: positions, or the ids of the rows and the names of the
        columns, as the table has them.

    Examples
    --------
    >>> from sidelight.constraints import CrossLinks
    >>> CrossLinks(cannot_link=[("ann", "tea"), ("bob", "milk")])
    <CrossLinks: 2 cannot-links>
    """

    __slots__ = ("cannot_link", "must_link")

    must_link: Array
    cannot_link: Array

    def __init__(self, must_link: Any = None, cannot_link: Any = None) -> None:
        object.__setattr__(self, "must_link", _pairs(must_link, "must_link"))
        object.__setattr__(self, "cannot_link", _pairs(cannot_link, "cannot_link"))

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError("CrossLinks never change; make new ones.")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError("CrossLinks never change; make new ones.")

    def __reduce__(self) -> tuple[Any, ...]:
        return CrossLinks, (self.must_link, self.cannot_link)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CrossLinks):
            return NotImplemented
        return np.array_equal(self.must_link, other.must_link) and np.array_equal(
            self.cannot_link, other.cannot_link
        )

    def __hash__(self) -> int:
        return hash((len(self.must_link), len(self.cannot_link)))

    def __repr__(self) -> str:
        parts = [
            counted(len(pairs), word)
            for pairs, word in ((self.must_link, "must-link"), (self.cannot_link, "cannot-link"))
            if len(pairs)
        ]
        return f"<CrossLinks: {', '.join(parts) or 'nothing known'}>"


def _pairs(given: Any, name: str) -> Array:
    """Pairs as objects, so that a row may be a number and its column a word."""
    rows = [] if given is None else [tuple(pair) for pair in given]
    wrong = [place for place, pair in enumerate(rows) if len(pair) != 2]
    if wrong:
        raise SidelightError(
            f"{name} must hold pairs of a row and a column; entry {wrong[0]} is {rows[wrong[0]]!r}."
        )
    pairs = np.empty((len(rows), 2), dtype=object)
    for place, (row, column) in enumerate(rows):
        pairs[place] = _value(row), _value(column)
    return frozen(pairs)


def _value(value: Any) -> Any:
    """A plain Python value, as ids and names are compared."""
    return value.item() if isinstance(value, np.generic) else value
