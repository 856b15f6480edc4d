"""Counting and listing in sentences."""

from __future__ import annotations

from collections.abc import Sequence


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """Say how many there are.

    Examples
    --------
    >>> counted(1, "row"), counted(1200, "row"), counted(2, "class")
    ('1 row', '1,200 rows', '2 classes')
    """
    if number == 1:
        return f"{number:,} {noun}"
    return f"{number:,} {plural or noun + ('es' if noun.endswith('s') else 's')}"


def listed(parts: Sequence[str]) -> str:
    """Join with commas and a final "and".

    Examples
    --------
    >>> listed(["a", "b", "c"])
    'a, b and c'
    """
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
