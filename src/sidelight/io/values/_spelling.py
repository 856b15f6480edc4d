"""Spellings of one value: case, blanks, and numbers that are written differently."""

from __future__ import annotations

import math

from sidelight.io._columns import UNKNOWN_LABELS
from sidelight.io.values._shapes import MISSING_WORDS

#: Words for a missing number that are answers among words: no illness is known, and none.
ANSWERS = frozenset({"none", "nil"})


def folded(value: str | None) -> str | float | None:
    """A value without the differences that do not make it another one; None if it is missing.

    Examples
    --------
    >>> folded(" Flu"), folded("FLU"), folded("1.50"), folded("NA"), folded("?"), folded("none")
    ('flu', 'flu', 1.5, None, None, 'none')
    """
    if value is None or value.strip() in UNKNOWN_LABELS:
        return None
    text = " ".join(value.split()).casefold()
    if text in MISSING_WORDS and text not in ANSWERS:
        return None
    try:
        number = float(text)
    except ValueError:
        return text
    return number if math.isfinite(number) else text
