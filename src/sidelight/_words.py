"""Words of messages: counts, numbers, lists, titles, and what parameters are called.

A message is written once. Where it speaks of a parameter it says :func:`setting`, where it gives
advice that differs between Python and the command line :func:`worded`; both know where the user is.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar
from typing import Any

#: Kinds of statements, as ``Constraints.counts`` names them, and one statement of each.
STATEMENTS = {
    "must_link": "must-link",
    "cannot_link": "cannot-link",
    "labels": "known label",
    "groups": "group member",
}

#: Scores that are shown, out of those of ``partition_scores``, with their titles.
SCORES = {
    "adjusted_rand_index": "Adjusted Rand index",
    "nmi_arithmetic": "Normalized mutual information",
    "clustering_accuracy": "Accuracy (best matching)",
    "pairwise_f1": "Pairwise F1",
    "purity": "Purity",
}


def score_rows(*sides: Mapping[str, float]) -> list[tuple[str, ...]]:
    """Return a row for every score that is shown: its title, and its value on every side."""
    return [(title, *(f"{side[name]:.3f}" for side in sides)) for name, title in SCORES.items()]


#: Options that stand for parameters where messages go to a terminal; None in Python.
_OPTIONS: ContextVar[Mapping[str, str] | None] = ContextVar("options", default=None)


@contextlib.contextmanager
def at_the_terminal() -> Iterator[None]:
    """Word messages for the command line: options instead of parameters of the library."""
    token = _OPTIONS.set({"random_state": "--seed"})
    try:
        yield
    finally:
        _OPTIONS.reset(token)


@contextlib.contextmanager
def set_by(options: Mapping[str, str]) -> Iterator[None]:
    """Record which command-line options set which parameters, for the messages inside the block."""
    known = _OPTIONS.get()
    token = _OPTIONS.set(None if known is None else {**known, **options})
    try:
        yield
    finally:
        _OPTIONS.reset(token)


def has_option(name: str) -> bool:
    """Whether the user sets a parameter by an option of its own."""
    return name in (_OPTIONS.get() or {})


def setting(name: str, value: Any = None) -> str:
    """Name a parameter, and perhaps its value, in the way in which the user sets it.

    Examples
    --------
    >>> setting("n_clusters"), setting("n_clusters", 3)
    ('n_clusters', 'n_clusters=3')
    >>> with at_the_terminal(), set_by({"n_clusters": "-k"}):
    ...     setting("n_clusters"), setting("n_clusters", 3), setting("max_iter", 5)
    ('-k', '-k 3', '--set max_iter=5')
    """
    known = _OPTIONS.get()
    if known is not None and name in known:
        return known[name] if value is None else f"{known[name]} {value}"
    text = name if value is None else f"{name}={value}"
    return text if known is None else f"--set {text}"


def worded(python: str, terminal: str) -> str:
    """Choose the words by where the user is.

    Examples
    --------
    >>> worded("pass ids=", "name the column with --id-column")
    'pass ids='
    """
    return python if _OPTIONS.get() is None else terminal


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """Text of a number with its noun in the singular or plural.

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


def statements(counts: Mapping[str, int]) -> list[str]:
    """Text of the number of statements of each kind, from ``Constraints.counts``.

    Examples
    --------
    >>> statements({"must_link": 2, "cannot_link": 0, "labels": 1, "groups": 0})
    ['2 must-links', '1 known label']
    """
    return [counted(number, STATEMENTS[kind]) for kind, number in counts.items() if number]


def format_number(value: float, digits: int | None = None) -> str:
    """Write a number for people: with about four digits, or with as many as asked for.

    Examples
    --------
    >>> [format_number(value) for value in (0.0, 12.0, 3.14159, 123456.7, 1.5e-7)]
    ['0', '12', '3.142', '123,457', '1.5e-07']
    >>> format_number(0.123456, 2), format_number(1234.5678, 6)
    ('0.12', '1,234.57')
    """
    if digits is not None:
        return f"{value:,.{digits}g}"
    if not math.isfinite(value):
        return str(value)
    if value == 0 or 1e-3 <= abs(value) < 1e3:
        return f"{value:.4g}"
    if 1e3 <= abs(value) < 1e7:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def two_digits(value: float, sign: str = "") -> str:
    """Write a number with two decimals, a dash for none.

    Examples
    --------
    >>> two_digits(0.517), two_digits(0.517, "+"), two_digits(float("nan"))
    ('0.52', '+0.52', '–')
    """
    return "–" if math.isnan(value) else format(value, f"{sign}.2f")
