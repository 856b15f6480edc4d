"""Spellings of one value: case, blanks, and numbers that are written differently."""

from __future__ import annotations

import math

from sidelight.io._columns import UNKNOWN_LABELS


def folded(value: str | None) -> str | float | None:
    """A value without the differences that do not make it another one; None if it is missing.

    Examples
    --------
    >>> folded(" Flu"), folded("FLU"), folded("1.50"), folded("NA"), folded("")
    ('flu', 'flu', 1.5, None, None)
    """
    if value is None or value.strip() in UNKNOWN_LABELS:
        return None
    text = " ".join(value.split()).casefold()
    try:
        number = float(text)
    except ValueError:
        return text
    return number if math.isfinite(number) else text
