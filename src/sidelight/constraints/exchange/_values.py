"""The fields of a constraints object: canonical form, equality, hashing and pickling."""

from __future__ import annotations

from typing import Any

import numpy as np

from sidelight.constraints.algebra._canonical import (
    CLASS_KINDS,
    PAIR_KINDS,
    RowIndex,
    Statements,
    frozen,
    merge_pairs,
)
from sidelight.constraints.algebra._classes import recode
from sidelight.exceptions import SidelightError

# What makes two sets equal; the notes on how one was read do not.
FIELDS = (
    "n_samples",
    *(name for kind in PAIR_KINDS for name in (kind.field, f"{kind.field}_weight")),
    *(name for kind in CLASS_KINDS for name in (kind.field, kind.names_field)),
    "ids",
)


def canonical_fields(
    n_samples: int, index: RowIndex | None, statements: Statements, *, report: bool
) -> dict[str, Any]:
    """Fields from statements in any order; equal statements give equal fields.

    With ``report`` the notes list which of the statements were merged or dropped.
    """
    ids = None if index is None else index.ids
    fields: dict[str, Any] = {"n_samples": n_samples, "ids": ids, "_cache": {"index": index}}
    notes = list(statements.notes)
    for kind in PAIR_KINDS:
        merged, changes = merge_pairs(getattr(statements, kind.field), kind.word, n_samples, ids)
        fields |= {kind.field: frozen(merged.rows), f"{kind.field}_weight": frozen(merged.weight)}
        notes += changes if report else []
    for kind in CLASS_KINDS:
        classes = recode(getattr(statements, kind.field))
        codes, names = (None, np.empty(0, np.int64)) if classes is None else classes
        fields[kind.field] = None if codes is None else frozen(codes)
        fields[kind.names_field] = frozen(names)
    return {**fields, "notes": tuple(notes)}


def state(known: Any) -> tuple[Any, ...]:
    """Values of the fields that make two sets equal."""
    return tuple(getattr(known, name) for name in FIELDS)


def same(first: Any, second: Any) -> bool:
    """Whether two fields are equal."""
    if first is None or second is None:
        return first is second
    return first is second or np.array_equal(first, second)


def hashable(value: Any) -> Any:
    """Something that is equal, and hashes alike, for equal fields."""
    if not isinstance(value, np.ndarray):
        return value
    # Equal arrays of words may be padded to different widths, so their bytes will not do.
    return tuple(value.tolist()) if value.dtype.kind in "OU" else value.tobytes()


def rebuild(kind: type[Any], values: tuple[Any, ...], notes: tuple[str, ...]) -> Any:
    """Unpickle; arrays come back writable and have to be frozen again."""
    for value in values:
        if isinstance(value, np.ndarray):
            frozen(value)
    fields = dict(zip(FIELDS, values, strict=True))
    index = None if fields["ids"] is None else RowIndex(fields["ids"])
    new = object.__new__(kind)
    new._set(**fields, notes=notes, _cache={"index": index})
    return new


def check_same_rows(first: Any, second: Any) -> None:
    """Raise unless two sets are about the same rows."""
    if type(second) is not type(first):
        raise TypeError(f"Expected {type(first).__name__}, got {type(second).__name__}.")
    if first.n_samples != second.n_samples:
        raise SidelightError(
            f"The two sets are about {first.n_samples} and {second.n_samples} rows; "
            "make them about the same rows first."
        )
    if not same(first.ids, second.ids):
        raise SidelightError(
            "The two sets name their rows by different ids; make both with the same ids."
        )
