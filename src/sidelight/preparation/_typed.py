"""A column of a table after its kind is known: numbers, codes of levels, or texts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

#: Kinds of columns that become features; every other column is set aside.
KINDS = ("number", "yes-no", "category", "ordered", "date", "time", "text")


@dataclass(frozen=True, eq=False)
class TypedColumn:
    """A column in the user's own units and words.

    Attributes
    ----------
    name : str
        Name in the table.
    kind : str
        One of :data:`KINDS`.
    values : ndarray of shape (n_rows,)
        For ``number`` the numbers, for ``date`` seconds since 1970, for ``time`` seconds since
        midnight: float64 with NaN where missing. For ``yes-no``, ``category`` and ``ordered`` the
        position in ``levels``: int32 with -1 where missing. For ``text`` str objects, "" where
        missing.
    levels : tuple of str
        The user's words for the levels; in their order for ``ordered``, ``(no, yes)`` for
        ``yes-no``, the most frequent first for ``category``; empty for other kinds.
    """

    name: str
    kind: str
    values: npt.NDArray[Any]
    levels: tuple[str, ...] = ()
