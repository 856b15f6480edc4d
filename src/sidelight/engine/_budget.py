"""How much memory blocks of rows on disk may take."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from contextvars import ContextVar

from sidelight.exceptions import SidelightError

DEFAULT_BUDGET = 256 * 2**20

#: Units of sizes, as people write them: powers of 1000, and of 1024 with an i.
UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
BINARY_UNITS = {"k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
SIZE = re.compile(r"\s*(\d+(?:\.\d*)?)\s*([kmgt]?)(i?)b?\s*", re.IGNORECASE)

_asked: ContextVar[int | None] = ContextVar("sidelight_memory", default=None)


@contextlib.contextmanager
def memory(budget: int | str) -> Iterator[None]:
    """Let blocks of rows on disk take this much memory, for everything inside the block.

    It holds for what is opened inside: a path or query that is given to a fit, and rows that
    :func:`open_rows` opens without a budget of their own. What a method keeps for every row, and
    labels, come on top.

    Parameters
    ----------
    budget : int or str
        Bytes, or a size such as ``"500MB"`` or ``"2GB"``.

    Examples
    --------
    >>> from sidelight.engine import memory
    >>> with memory("2GB"):
    ...     pass
    """
    token = _asked.set(check_budget(budget, "budget"))
    try:
        yield
    finally:
        _asked.reset(token)


def check_budget(budget: int | str | None, name: str = "memory_budget") -> int:
    """Return the number of bytes that blocks may take in memory at the same time.

    Parameters
    ----------
    budget : int, str or None
        Bytes, a size as text, or None for what ``with memory(...)`` asks for, else 256 MB.
    name : str, default="memory_budget"
        What the user calls it.

    Examples
    --------
    >>> from sidelight.engine._budget import check_budget
    >>> check_budget("500MB"), check_budget("1.5 GiB")
    (500000000, 1610612736)
    """
    if budget is None:
        return _asked.get() or DEFAULT_BUDGET
    if isinstance(budget, str):
        found = SIZE.fullmatch(budget)
        if found is None:
            raise SidelightError(
                f"{name} must be a number of bytes or a size such as '500MB' or '2GB', got "
                f"{budget!r}."
            )
        number, unit, binary = found.groups()
        units = BINARY_UNITS if binary and unit else UNITS
        budget = int(float(number) * units[unit.lower()])
    if int(budget) < 1:
        raise SidelightError(f"{name} must be a number of bytes above 0, got {budget}.")
    return int(budget)
