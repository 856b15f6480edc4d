"""Ids as people and spreadsheets write them: which are meant, and how to keep them harmless.

A spreadsheet runs a cell that begins with ``=``, ``+``, ``-`` or ``@`` as a formula. An apostrophe
in front makes it a text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any, TypeVar

from sidelight.io._columns import is_number, quoted

FORMULA = ("=", "+", "-", "@", "\t", "\r")

Position = TypeVar("Position")


def harmless(value: Any) -> Any:
    """Put an apostrophe in front of a text that a spreadsheet would run as a formula.

    Examples
    --------
    >>> [harmless(value) for value in ("=1+1", "-5", "ann", -5)]
    ["'=1+1", '-5', 'ann', -5]
    """
    if isinstance(value, str) and value.startswith(FORMULA) and not is_number(value):
        return f"'{value}"
    return value


def as_typed(text: str) -> str:
    """Take away the apostrophe that :func:`harmless` has put in front."""
    return text[1:] if text.startswith("'") and harmless(text[1:]) == text else text


def position_of(name: str, positions: Mapping[str, Position]) -> Position | None:
    """Position of an id; one that is not there with its apostrophe is looked for without."""
    found = positions.get(name)
    return positions.get(as_typed(name)) if found is None else found


def alike_hint(name: Any, ids: Iterable[Any]) -> str:
    """Name ids that are the same up to case, blanks, leading zeros and a final ``.0``.

    A sentence to put behind an error, or nothing. These are not taken for the same, since two rows
    may be called ``a1`` and ``A1``.

    Examples
    --------
    >>> alike_hint("c-1003 ", ["C-1003", "C-1004"])
    " Did you mean 'C-1003'? Ids have to be written in the same way."
    >>> alike_hint("1.0", [1, 2]), alike_hint("7", ["007"]), alike_hint("x", [1, 2])
    (' Did you mean 1? Ids have to be written in the same way.', " Did you mean '007'? Ids have to \
be written in the same way.", '')
    """
    wanted = _folded(name)
    found = list(islice((one for one in ids if _folded(one) == wanted), 4))
    if not found:
        return ""
    return f" Did you mean {quoted(found, limit=3)}? Ids have to be written in the same way."


def _folded(name: Any) -> str:
    text = "".join(unicodedata.normalize("NFKC", as_typed(str(name).strip())).split()).casefold()
    text = re.sub(r"^(\d+)\.0*$", r"\1", text)
    return text.lstrip("0") or "0" if text.isdigit() else text
