"""What users give (ids, pairs, weights, classes) as canonical arrays, and the fields they make."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from sidelight._typing import Array, FloatArray, IntArray
from sidelight.constraints.algebra._plain import (
    Classes,
    as_words,
    frozen,
    is_missing,
    plain,
    recode,
    row_key,
)
from sidelight.exceptions import InconsistentConstraints, SidelightError, UnknownIds
from sidelight.io.inner import alike_hint

# A pair is sorted as the one number i * n + j, which must fit into 64 bits.
MAX_ROWS = 3_037_000_499


class StatementKind(NamedTuple):
    """A kind of statement that constraints consist of.

    Attributes
    ----------
    field : str
        Attribute of ``Constraints`` and of :class:`Statements`.
    word : str
        Its name in files and messages.
    aliases : tuple of str
        Other names of it in files.
    """

    field: str
    word: str
    aliases: tuple[str, ...] = ()

    @property
    def names_field(self) -> str:
        """Attribute of ``Constraints`` with the names of classes or groups."""
        return f"{self.word}_names"


#: Statements about two rows, with a weight; a new kind is a line here.
PAIR_KINDS = (
    StatementKind(
        "must_link",
        "must-link",
        ("must_link", "must link", "mustlink", "ml", "same", "1", "+1", "1.0"),
    ),
    StatementKind(
        "cannot_link",
        "cannot-link",
        ("cannot_link", "cannot link", "cannotlink", "cl", "different", "-1", "-1.0"),
    ),
)
#: Statements that give a row a class; a new kind is a line here.
CLASS_KINDS = (StatementKind("labels", "label"), StatementKind("groups", "group"))


class StatedPairs(NamedTuple):
    """Pairs of rows with their weights; all weigh 1 when there are none."""

    rows: IntArray
    weight: Any = None


class Statements(NamedTuple):
    """All statements of a set of constraints, and notes on how it came about."""

    must_link: StatedPairs
    cannot_link: StatedPairs
    labels: Classes | None = None
    groups: Classes | None = None
    notes: tuple[str, ...] = ()


class RowIndex:
    """Where each id of the user is: vectorized for numbers and words, a dictionary otherwise."""

    def __init__(self, ids: Array) -> None:
        self.ids = ids

    @cached_property
    def _places(self) -> dict[Any, int]:
        return {row_key(value): place for place, value in enumerate(self.ids)}

    @cached_property
    def _sorted(self) -> tuple[Array, IntArray | None]:
        """Ids in ascending order, and the position of each (None if they are so already)."""
        if np.all(self.ids[1:] > self.ids[:-1]):
            return self.ids, None
        order = np.argsort(self.ids, kind="stable")
        return self.ids[order], order

    def repeated(self) -> Any:
        """One id that occurs twice, or None."""
        if self.ids.dtype == object:
            if len(self._places) == len(self.ids):
                return None
            places = self._places
            return next(v for place, v in enumerate(self.ids) if places[row_key(v)] != place)
        ids, _ = self._sorted
        twice = np.flatnonzero(ids[1:] == ids[:-1])
        return ids[twice[0]].item() if len(twice) else None

    def positions(self, values: Array) -> IntArray:
        """Position of every value, -1 where there is no such id."""
        if self.ids.dtype == object or values.dtype == object:
            flat = (self._places.get(row_key(value), -1) for value in values.ravel())
            return np.fromiter(flat, np.int64, values.size).reshape(values.shape)
        if values.dtype.kind != self.ids.dtype.kind or not len(self.ids):
            return np.full(values.shape, -1, np.int64)
        ids, order = self._sorted
        place = np.minimum(np.searchsorted(ids, values), len(ids) - 1)
        position = place if order is None else order[place]
        return np.where(ids[place] == values, position, -1)


def as_ids(ids: Any) -> Array:
    """Ids of the rows as integers, words, or (anything else hashable) objects."""
    values = plain(ids)
    if values.ndim != 1:
        raise SidelightError(
            "ids must be numbers, words or the like, one id per row, got an array of shape "
            f"{values.shape}."
        )
    if values.dtype == object:
        values = as_words(values)
    elif values.dtype.kind == "f":
        values = _whole_or_object(values)
    missing = _missing_ids(values)
    if len(missing):
        raise SidelightError(
            f"ids must name every row, but the id at position {missing[0]} is missing; "
            "give each row an id or leave out ids and use positions."
        )
    return values


def check_unique(index: RowIndex) -> None:
    """Raise if two rows have the same id."""
    try:
        repeated = index.repeated()
    except TypeError as error:
        raise SidelightError(f"ids must be numbers, words or the like: {error}.") from error
    if repeated is not None:
        named = enumerate(index.ids.tolist())
        rows = [place for place, value in named if row_key(value) == row_key(repeated)]
        raise SidelightError(
            f"ids must be unique, but {repeated!r} names {len(rows)} rows (positions {rows[0]} "
            f"and {rows[1]}); give each row its own id."
        )


def as_positions(pairs: Any, what: str, index: RowIndex | None, n_samples: int) -> IntArray:
    """Pairs of positions or ids as an (m, 2) array of positions."""
    values = _pair_array(pairs, what, as_objects=index is not None and index.ids.dtype == object)
    if not len(values):
        return np.empty((0, 2), np.int64)
    if index is not None:
        positions = index.positions(_like_ids(values, index.ids))
        _check_known_ids(values, positions, what, index.ids)
        return positions
    positions = whole_numbers(values, f"{what} must hold row positions (or pass ids=)")
    outside = (positions < 0) | (positions >= n_samples)
    if outside.any():
        row = int(positions[outside][0])
        raise UnknownIds(
            f"{what} names row {row}, but there are {n_samples} rows (positions 0 to "
            f"{n_samples - 1}); correct it or pass ids= if these are ids.",
            ids=np.unique(positions[outside]).tolist(),
        )
    return positions


def merge_pairs(
    pairs: StatedPairs, what: str, n_samples: int, ids: Array | None
) -> tuple[StatedPairs, list[str]]:
    """Sort the pairs, merge repeated ones and drop rows linked with themselves.

    Parameters
    ----------
    pairs : StatedPairs
        Positions in any order, with weights, one weight for all, or none.
    what : str
        ``"must-link"`` or ``"cannot-link"``, for messages.
    n_samples : int
        Number of rows.
    ids : ndarray or None
        Names of the rows, for messages.

    Returns
    -------
    merged : StatedPairs
        Unique pairs ``i < j`` in lexicographic order, with their largest weights.
    notes : list of str
        What was merged or dropped.
    """
    positions = pairs.rows
    weights = _weights(pairs, what, ids)
    if not len(positions):
        return StatedPairs(positions, weights), []
    notes = []
    low, high = positions.min(axis=1), positions.max(axis=1)
    same = low == high
    if same.any():
        if what == "cannot-link":
            row = int(low[same][0])
            (name,) = name_rows([row], ids)
            raise InconsistentConstraints(
                f"cannot-link {name} - {name} keeps a row apart from itself; remove it.",
                pair=(row, row),
                chain=(row,),
            )
        notes.append(_count(int(same.sum()), what, "of a row with itself", "dropped"))
        low, high, weights = low[~same], high[~same], weights[~same]
    key = low * n_samples + high
    if np.any(key[1:] <= key[:-1]):
        order = np.argsort(key, kind="stable")
        key, weights = key[order], weights[order]
        first = np.flatnonzero(np.diff(key, prepend=-1))
        if len(first) < len(key):
            merged = len(key) - len(first)
            notes.append(_count(merged, f"repeated {what}", "", "merged (largest weight kept)"))
            key, weights = key[first], np.maximum.reduceat(weights, first)
    return StatedPairs(np.column_stack(np.divmod(key, n_samples)), weights), notes


def whole_numbers(values: Array, what: str) -> IntArray:
    """Values as int64, with an error that shows the first that is not a whole number."""
    if values.dtype.kind in "iu":
        return values.astype(np.int64, copy=False)
    if values.dtype == object and all(isinstance(v, (int, np.integer)) for v in values.flat):
        return values.astype(np.int64)
    if values.dtype.kind == "f":
        bad = ~np.isfinite(values) | (values != np.round(values))
        if not bad.any():
            return values.astype(np.int64)
        raise SidelightError(f"{what}, but {values[bad][0]!s} is not a whole number.")
    first = values.flat[0]
    raise SidelightError(f"{what}, but {getattr(first, 'item', lambda: first)()!r} is not one.")


def _whole_or_object(values: Array) -> Array:
    """Numbers such as 3.0 are the ids 3; fractions stay what they are."""
    if np.all(values == np.round(values)):
        return values.astype(np.int64)
    return values.astype(object)


def _missing_ids(ids: Array) -> IntArray:
    if ids.dtype.kind == "U":
        return np.flatnonzero(ids == "")
    if ids.dtype == object:
        missing = (is_missing(v) or (isinstance(v, str) and v == "") for v in ids)
        return np.flatnonzero(np.fromiter(missing, bool, len(ids)))
    return np.empty(0, np.int64)


def _pair_array(pairs: Any, what: str, *, as_objects: bool) -> Array:
    """Pairs as an (m, 2) array of whatever the user names rows by."""
    if pairs is None:
        return np.empty((0, 2), np.int64)
    if not hasattr(pairs, "__array__"):
        pairs = list(pairs)
    try:
        if as_objects and isinstance(pairs, list):
            flat = [end for first, second in pairs for end in (first, second)]
            values = np.fromiter(flat, object, len(flat)).reshape(-1, 2)
        else:
            values = np.asarray(pairs)
            if as_objects or values.dtype.kind in "mM":
                values = plain(values).astype(object)
    except (ValueError, TypeError) as error:
        raise SidelightError(f"{what} must be pairs, one of two entries per row.") from error
    if values.size == 0:
        return np.empty((0, 2), np.int64)
    if values.ndim != 2 or values.shape[1] != 2:
        raise SidelightError(
            f"{what} must be pairs, an array of shape (m, 2), got shape {values.shape}."
        )
    return values


def _like_ids(values: Array, ids: Array) -> Array:
    """Pairs that came as objects (as from a data frame) as the kind of array that the ids are."""
    if ids.dtype == object:
        return values
    if values.dtype == object:
        values = as_words(plain(values))
    if values.dtype.kind == "u":
        return values.astype(np.int64)
    if ids.dtype.kind == "i" and values.dtype.kind == "f" and np.all(values == np.round(values)):
        return values.astype(np.int64)
    return values


def _check_known_ids(values: Array, positions: IntArray, what: str, ids: Array) -> None:
    unknown = positions < 0
    if not unknown.any():
        return
    names = list(dict.fromkeys(values[unknown].tolist()))
    shown = ", ".join(repr(name) for name in names[:5]) + (", ..." if len(names) > 5 else "")
    verb = "does" if len(names) == 1 else "do"
    raise UnknownIds(
        f"{what} names {shown}, which {verb} not occur among the {len(ids)} ids; "
        f"correct the spelling or drop these pairs.{alike_hint(names[0], ids.tolist())}",
        ids=names,
    )


def _weights(pairs: StatedPairs, what: str, ids: Array | None) -> FloatArray:
    m = len(pairs.rows)
    if pairs.weight is None:
        return np.ones(m)
    try:
        weights = np.array(pairs.weight, dtype=np.float64)
    except (ValueError, TypeError) as error:
        raise SidelightError(f"{what} weights must be numbers.") from error
    if weights.ndim == 0:
        weights = np.full(m, float(weights))
    if weights.shape != (m,):
        raise SidelightError(
            f"{what} weights must hold one number per pair, shape ({m},), got {weights.shape}."
        )
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights > 0)))
    if len(bad):
        first, second = name_rows(pairs.rows[bad[0]], ids)
        raise SidelightError(
            f"{what} {first} - {second} has the weight {weights[bad[0]]:g}; a weight must be "
            "positive and finite, so correct it or drop the pair."
        )
    return weights


def _count(number: int, what: str, of: str, done: str) -> str:
    words = " ".join(filter(None, [what if number == 1 else f"{what}s", of]))
    return f"{number} {words} {'was' if number == 1 else 'were'} {done}."


def number_of_rows(n_samples: Any, index: RowIndex | None, *values: Any) -> int:
    """Number of rows: ``n_samples``, or the length of the first argument that has one."""
    if n_samples is None:
        lengths = [] if index is None else [len(index.ids)]
        lengths += [len(value) for value in values if _has_rows(value)]
        if not lengths:
            raise SidelightError(
                "The number of rows is needed: pass n_samples=len(X), or ids= to use your own ids."
            )
        return lengths[0]
    try:
        n = operator.index(n_samples)
    except TypeError as error:
        raise SidelightError(f"n_samples must be a whole number, got {n_samples!r}.") from error
    if not 0 <= n <= MAX_ROWS:
        raise SidelightError(f"n_samples must be between 0 and {MAX_ROWS}, got {n}.")
    if index is not None and len(index.ids) != n:
        raise SidelightError(f"There are {len(index.ids)} ids for n_samples={n} rows.")
    return n


def _has_rows(values: Any) -> bool:
    """Whether there is one value per row, and not one for some ids."""
    return values is not None and not isinstance(values, Mapping) and values.ndim > 0


def as_row(position: Any, n_samples: int) -> int:
    """A position as a row number; negative ones count from the end."""
    row = operator.index(position)
    if not -n_samples <= row < n_samples:
        raise UnknownIds(
            f"There is no row {row}; the constraints are about {n_samples} rows.", ids=[row]
        )
    return row % n_samples


def name_rows(positions: Any, ids: Array | None) -> list[str]:
    """Words that name rows in a message."""
    rows = np.asarray(positions, dtype=np.int64)
    if ids is None:
        return [f"row {row}" for row in rows.tolist()]
    return [repr(row_id) for row_id in ids[rows].tolist()]


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
