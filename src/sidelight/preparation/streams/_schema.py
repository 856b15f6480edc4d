"""Columns of a table in several files: the same names everywhere, each of one kind."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sidelight._words import worded
from sidelight.exceptions import SidelightError
from sidelight.io.inner import quoted

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Places:
    """Where the rows of a table are.

    Attributes
    ----------
    names : tuple of str
        Names of its parts.
    starts : tuple of int
        Position of the first row of each, and the number of rows of the table.
    """

    names: tuple[str, ...]
    starts: tuple[int, ...]

    @property
    def n_rows(self) -> int:
        """Number of rows of the table."""
        return self.starts[-1]

    def row(self, position: int) -> str:
        """How to speak of a row to the user."""
        part = bisect_right(self.starts, position) - 1
        return f"row {position - self.starts[part]} of {self.names[part]}"


@dataclass(frozen=True)
class RowsFrom:
    """Words for the rows of a block.

    Attributes
    ----------
    places : Places
        Where the rows of the table are.
    start : int
        Position of the first row of the block.
    """

    places: Places
    start: int

    def __call__(self, position: int) -> str:
        return self.places.row(self.start + position)


def common_schema(
    names: Sequence[str], schemas: Sequence[pa.Schema], dropped: Collection[str] = ()
) -> pa.Schema:
    """Return the columns of all parts, with types that hold the values of each.

    Parameters
    ----------
    names : sequence of str
        Names of the parts.
    schemas : sequence of pyarrow.Schema
        Their columns.
    dropped : collection of str
        Columns that are not looked at.

    Raises
    ------
    SidelightError
        If a part lacks a column, or holds another kind of values in it.
    """
    import pyarrow as pa

    found: dict[str, tuple[str, pa.DataType]] = {}
    for name, schema in zip(names, schemas, strict=True):
        _check_names(names[0], schemas[0], name, schema, dropped)
        for field in schema:
            if field.name in dropped:
                continue
            first, kind = found.setdefault(field.name, (name, field.type))
            if not field.type.equals(kind):
                joined = _joined(kind, field.type)
                if joined is None:
                    raise _of_two_kinds(field.name, (first, kind), (name, field.type))
                was_empty = pa.types.is_null(kind)
                found[field.name] = (name if was_empty else first, joined)
    return pa.schema([(name, kind) for name, (_, kind) in found.items()])


def _check_names(
    first: str, expected: pa.Schema, name: str, schema: pa.Schema, dropped: Collection[str]
) -> None:
    twice = sorted({one for one in schema.names if schema.names.count(one) > 1})
    if twice:
        raise SidelightError(
            f"{name} has several columns called {quoted(twice)}; give them different names."
        )
    for here, there, lacking in ((expected, schema, name), (schema, expected, first)):
        missing = [one for one in here.names if one not in there.names and one not in dropped]
        if missing:
            other = first if lacking == name else name
            raise SidelightError(
                f"{lacking} has no column {quoted(missing)}, which {other} has; give all files the "
                f"same columns, or leave it out: {_drop(missing[0])}."
            )


def _of_two_kinds(
    column: str, first: tuple[str, pa.DataType], second: tuple[str, pa.DataType]
) -> SidelightError:
    holds = " and ".join(f"{_kind(kind)} in {name}" for name, kind in (first, second))
    return SidelightError(
        f"Column {column!r} holds {holds}; write it alike in all files, or leave it out: "
        f"{_drop(column)}."
    )


def _drop(column: str) -> str:
    return worded(f"drop=[{column!r}]", f"--drop {column}")


def _kind(kind: pa.DataType) -> str:
    """What a column of a type holds, in words."""
    import pyarrow.types as types

    if types.is_dictionary(kind):
        kind = kind.value_type
    kinds: list[tuple[Callable[[Any], bool], str]] = [
        (types.is_null, "nothing"),
        (types.is_boolean, "true or false"),
        (types.is_integer, "numbers"),
        (types.is_floating, "numbers"),
        (types.is_decimal, "numbers"),
        (types.is_string, "texts"),
        (types.is_large_string, "texts"),
        (types.is_date, "dates"),
        (types.is_timestamp, "dates"),
        (types.is_time, "times of day"),
        (types.is_duration, "durations"),
    ]
    return next((words for test, words in kinds if test(kind)), str(kind))


def _joined(one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    """Return a type for the values of both; None if they are of different kinds."""
    import pyarrow as pa

    types = pa.types
    if types.is_null(one) or types.is_null(other):
        return other if types.is_null(one) else one
    words = _kind(one)
    if words != _kind(other):
        return None
    both = (one, other)
    if any(map(types.is_dictionary, both)) and words != "texts":
        one, other = (kind.value_type if types.is_dictionary(kind) else kind for kind in both)
        return one if one.equals(other) else _joined(one, other)
    if words == "texts":
        if all(types.is_dictionary(kind) and kind.ordered for kind in both):
            return pa.dictionary(pa.int32(), pa.large_string(), ordered=True)
        return pa.large_string()
    if words == "numbers":
        signed = all(map(types.is_integer, both)) and not any(map(types.is_uint64, both))
        return pa.int64() if signed else pa.float64()
    if words == "dates":
        zones = {kind.tz for kind in both if types.is_timestamp(kind)}
        return pa.timestamp("us", tz=zones.pop() if len(zones) == 1 else "UTC")
    if words == "times of day":
        return pa.time64("us")
    return pa.duration("us") if words == "durations" else None
