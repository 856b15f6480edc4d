"""Conditions written in the manner of SQL, and the reasons why some do not reduce to counting.

An aggregate condition ``agg(A) θ v`` reduces to "at least ``m`` rows with a property" for ``count``
from below, for ``max`` from below and for ``min`` from above (Constrained Clustering, section
16.2).
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sidelight._typing import Array
from sidelight._words import counted
from sidelight.constraints.algebra._plain import is_missing, plain
from sidelight.exceptions import SidelightError
from sidelight.io.inner import close_names

OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "<>": operator.ne,
    "!=": operator.ne,
    "==": operator.eq,
    "=": operator.eq,
    ">": operator.gt,
    "<": operator.lt,
}
_OPERATOR = "|".join(map(re.escape, OPERATORS))
_AGGREGATE = re.compile(
    rf"\s*(count|max|min|avg|mean|sum)\s*\((.*)\)\s*({_OPERATOR})\s*(\S+)\s*\Z",
    re.IGNORECASE | re.DOTALL,
)
#: A column, an operator and a value; texts in quotation marks may hold anything.
_COMPARISON = re.compile(
    rf"""\s*(?P<column>"[^"]+"|[^\W\d][\w.]*)\s*(?P<sign>{_OPERATOR})\s*"""
    r"""(?P<value>'(?:[^']|'')*'|[^\s'"]+)\s*""",
)
_JOINT = re.compile(r"(and|or)\b", re.IGNORECASE)
_COLUMN = re.compile(r"""\s*(?:"([^"]+)"|([^\W\d][\w.]*))\s*\Z""")

#: Largest number of rows named in a message.
SHOWN = 3


@dataclass(frozen=True)
class Condition:
    """Condition: at least ``least`` rows of the cluster match."""

    name: str
    mask: Array
    least: int


@dataclass(frozen=True)
class Read:
    """Conditions parsed from expressions, and notes on those that match no row."""

    conditions: list[Condition]
    notes: tuple[str, ...]


def read_expressions(
    columns: Mapping[str, Any], texts: list[str], n_rows: int, ids: Array | None
) -> Read:
    """Read expressions on the columns of a table."""
    reader = _ExpressionReader(columns, n_rows, ids)
    found = [reader.read(text) for text in texts]
    return Read([one for one in found if one is not None], tuple(reader.notes))


def columns_in(text: str) -> list[str]:
    """Return the columns that an expression names."""
    match = _AGGREGATE.match(text)
    if match is None:
        return []
    inside = match[2].strip()
    column = _COLUMN.match(inside)
    if column is not None:
        return [column[1] or column[2]]
    names = [one["column"].strip('"') for one in _COMPARISON.finditer(inside)]
    return list(dict.fromkeys(names))


class _ExpressionReader:
    """Expressions on one table."""

    def __init__(self, columns: Mapping[str, Any], n_rows: int, ids: Array | None) -> None:
        self._columns = columns
        self._n_rows = n_rows
        self._ids = ids
        self.notes: list[str] = []

    def read(self, text: str) -> Condition | None:
        """Read one expression; None where it holds for any clusters."""
        if not isinstance(text, str):
            raise SidelightError(f"A condition is written as a text, got {text!r}.")
        match = _AGGREGATE.match(text)
        if match is None:
            raise SidelightError(
                f"{text!r} is no condition on clusters: write it like count(*) >= 50, "
                "count(income >= 50000) >= 3, max(age) >= 60 or min(age) <= 18."
            )
        aggregate, inside, sign, value = match[1].lower(), match[2].strip(), match[3], match[4]
        if aggregate == "count":
            return self._count(text, inside, sign, value)
        if aggregate in ("max", "min"):
            return self._extreme(text, aggregate, inside, sign, value)
        raise SidelightError(
            f"{text!r} does not count rows: whether {'an average' if aggregate != 'sum' else 'a'}"
            f"{'' if aggregate != 'sum' else ' sum'} holds depends on all rows of a cluster "
            "together, so that any row that comes or goes may break it. State how many rows of a "
            "kind a cluster needs instead, such as count(income >= 50000) >= 3."
        )

    def _count(self, text: str, inside: str, sign: str, value: str) -> Condition:
        number = _number(value)
        if number is None:
            raise SidelightError(f"{text!r}: {value!r} is no number of rows.")
        if sign not in (">=", ">"):
            upper = sign in ("<", "<=")
            raise SidelightError(
                f"{text!r} "
                + ("sets an upper bound" if upper else "says exactly how many there are")
                + ", which more rows break: only 'at least' can be asked for here. For bounds on "
                "the sizes of clusters there is SizeConstrainedKMeans."
            )
        least = int(np.floor(number)) + 1 if sign == ">" else int(np.ceil(number))
        if inside == "*":
            return Condition("rows", np.ones(self._n_rows, dtype=bool), max(least, 0))
        return Condition(inside, self._property(text, inside), max(least, 0))

    def _extreme(
        self, text: str, aggregate: str, inside: str, sign: str, value: str
    ) -> Condition | None:
        match = _COLUMN.match(inside)
        if match is None:
            raise SidelightError(f"{text!r}: {aggregate} takes the name of one column.")
        name = match[1] or match[2]
        held = self._compare(text, name, sign, value)
        existential = (">=", ">") if aggregate == "max" else ("<=", "<")
        if sign in existential:
            return Condition(f"{name} {sign} {value}", held, 1)
        if sign not in (">=", ">", "<=", "<"):
            raise SidelightError(
                f"{text!r} asks for a row of this value and for none beyond it, and the second "
                "is about every row by itself: no choice of clusters can bring it about."
            )
        breaking = np.flatnonzero(~held & ~_missing(self._values(text, name)))
        if len(breaking) == 0:
            self.notes.append(f"{text} holds for every row, and so for any clusters.")
            return None
        names = breaking[:SHOWN] if self._ids is None else self._ids[breaking[:SHOWN]]
        shown = ", ".join(str(one) for one in names.tolist())
        more = f" and {len(breaking) - SHOWN:,} more" if len(breaking) > SHOWN else ""
        raise SidelightError(
            f"{text!r} is about every row by itself, so that no choice of clusters can help: "
            f"{counted(len(breaking), 'row')} break{'s' if len(breaking) == 1 else ''} it "
            f"({'id' if self._ids is not None else 'row'} {shown}{more}). Leave these rows out "
            "beforehand if that is meant."
        )

    def _property(self, text: str, inside: str) -> Array:
        """Rows for which comparisons hold; ``and`` binds closer than ``or``."""
        either = np.zeros(self._n_rows, dtype=bool)
        both = np.ones(self._n_rows, dtype=bool)
        place = 0
        while True:
            match = _COMPARISON.match(inside, place)
            if match is None:
                raise SidelightError(
                    f"{text!r}: {inside[place:].strip()!r} is no comparison of a column with a "
                    "number or a 'text'."
                )
            column = match["column"].strip('"')
            both &= self._compare(text, column, match["sign"], match["value"])
            place = match.end()
            if place == len(inside):
                return either | both
            joint = _JOINT.match(inside, place)
            if joint is None:
                raise SidelightError(
                    f"{text!r}: comparisons are joined by 'and' or 'or', not by "
                    f"{inside[place:].strip()!r}."
                )
            if joint[1].lower() == "or":
                either |= both
                both = np.ones(self._n_rows, dtype=bool)
            place = joint.end()

    def _values(self, text: str, name: str) -> Array:
        called = {str(column): column for column in self._columns}
        if name not in called:
            raise SidelightError(
                f"{text!r}: there is no column {name!r}; {close_names(name, list(called))}."
            )
        return plain(self._columns[called[name]])

    def _compare(self, text: str, name: str, sign: str, value: str) -> Array:
        values = self._values(text, name)
        quoted = value.startswith("'")
        wanted: Any = value[1:-1].replace("''", "'") if quoted else _number(value)
        missing = _missing(values)
        present = values[~missing]
        out = np.zeros(self._n_rows, dtype=bool)
        if wanted is None:
            wanted = {"true": True, "false": False}.get(value.lower(), value)
        numbers = _as_numbers(present) if not isinstance(wanted, str) else None
        if isinstance(wanted, str):
            if present.dtype.kind in "iuf" or all(_is_number(v) for v in present[:1000].tolist()):
                raise SidelightError(
                    f"{text!r}: the column {name!r} holds numbers, which {value} is not."
                )
            present = np.array([str(one) for one in present.tolist()])
        elif numbers is None:
            raise SidelightError(
                f"{text!r}: the column {name!r} holds text, which is compared with a text in "
                f"single quotation marks, {name} {sign} '{value}'."
            )
        else:
            present = numbers
        out[~missing] = OPERATORS[sign](present, wanted) if len(present) else False
        return out


def _number(text: str) -> float | None:
    try:
        number = float(text.replace("_", ""))
    except ValueError:
        return None
    return number if np.isfinite(number) else None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number)


def _as_numbers(values: Array) -> Array | None:
    """Values as numbers; None where some are text."""
    if values.dtype.kind in "iuf":
        return values
    if values.dtype.kind == "U" or not all(_is_number(v) for v in values.tolist()):
        return None
    return values.astype(np.float64)


def _missing(values: Array) -> Array:
    if values.dtype.kind == "f":
        return np.isnan(values)
    if values.dtype == object:
        return np.array([is_missing(value) for value in values.tolist()], dtype=bool)
    if values.dtype.kind == "U":
        return values == ""
    return np.zeros(len(values), dtype=bool)
