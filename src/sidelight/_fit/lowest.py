"""The lowest of several values, some of which may not be numbers; how far from the optimum it is.

Comparisons with NaN are all false, so that ``min``, ``np.argmin`` and ``if value < best`` keep a
NaN that comes first. A search that keeps the best of several asks here instead.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from sidelight.exceptions import SidelightError


def is_lower(value: float, best: float, *, margin: float = 0.0) -> bool:
    """Return whether a value is lower than the best so far; a NaN never is, and all are than NaN.

    Parameters
    ----------
    value : float
        The new value.
    best : float
        The lowest so far.
    margin : float, default=0.0
        Share of the size of ``best`` by which the value has to be lower.

    Examples
    --------
    >>> from sidelight._fit.lowest import is_lower
    >>> is_lower(1.0, float("nan")), is_lower(float("nan"), 1.0), is_lower(1.0, float("inf"))
    (True, False, True)
    """
    if math.isnan(value):
        return False
    if not math.isfinite(best):
        return math.isnan(best) or value < best
    return value < best - margin * abs(best)


def lowest(values: Iterable[float], what: str) -> int:
    """Return the position of the lowest value that is a number, the first of several.

    Parameters
    ----------
    values : iterable of float
        Values, at least one.
    what : str
        What was tried, in the plural, for the message when no value is a number.

    Examples
    --------
    >>> from sidelight._fit.lowest import lowest
    >>> lowest([float("nan"), 3.0, 2.0, 2.0], "starts")
    2
    """
    numbers = np.array(list(values), dtype=np.float64)
    if np.isnan(numbers).all():
        raise not_a_number(what)
    return int(np.nanargmin(numbers))


def relative_gap(gap: float, objective: float) -> float:
    """Return a bound on the distance to the optimum as a share of the size of the objective.

    Examples
    --------
    >>> from sidelight._fit.lowest import relative_gap
    >>> relative_gap(0.5, -10.0), relative_gap(0.0, 0.0), relative_gap(1.0, 0.0)
    (0.05, 0.0, inf)
    """
    if gap <= 0:
        return 0.0
    return gap / abs(objective) if objective else math.inf


def not_a_number(what: str) -> SidelightError:
    """Return the error for a search in which no objective is a number."""
    return SidelightError(
        f"None of the {what} has an objective that is a number: values were too large, too small "
        "or too unlike each other to be added up. Scale the columns to similar spreads, for "
        "example with StandardScaler, and look for a single value that is far from all others."
    )
