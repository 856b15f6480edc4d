"""Which row is which: the index of pandas objects against the ids of constraints.

A data frame in another order than the ids is put in their order by its index, never by position.
Rows without an index (arrays, sparse matrices, polars, Arrow, rows on disk) and with the index
0, 1, 2 ... that pandas gives by itself have no ids of their own: they are taken by position, unless
the ids are those very numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sidelight._typing import Array, IntArray
from sidelight._warn import warn
from sidelight.constraints.algebra._canonical import RowIndex, as_ids
from sidelight.constraints.algebra._plain import plain
from sidelight.exceptions import ConstraintWarning, SidelightError, UnknownIds

#: Largest number of ids shown in a message.
SHOWN = 3


def index_of(values: Any) -> Any:
    """Index of a pandas object; None for everything else."""
    index = getattr(values, "index", None)
    return index if hasattr(values, "iloc") and hasattr(index, "equals") else None


def _names_of(rows: Any) -> Any:
    """Index of a pandas object, or ids of a source of rows; None for everything else."""
    index = index_of(rows)
    return getattr(rows, "ids", None) if index is None and hasattr(rows, "map_reduce") else index


def _called(rows: Any, what: str) -> str:
    """What the names of the rows are called in messages."""
    return f"{what}.index" if index_of(rows) is not None else f"{what}.ids"


def is_numbered(index: Any) -> bool:
    """Whether an index is 0, 1, 2 ... in this order: positions, not names."""
    if getattr(index, "start", None) == 0 and getattr(index, "step", None) == 1:
        return True
    if getattr(index.dtype, "kind", "O") not in "iu":
        return False
    return bool(np.array_equal(index, np.arange(len(index))))


def own_ids(values: Any) -> Array | None:
    """Ids that a pandas object has of its own; None if it only counts, or names rows twice."""
    index = index_of(values)
    if index is None or is_numbered(index) or not index.is_unique or _misses_names(index):
        return None
    return as_ids(index)


def adopted_ids(pairs: Any, **classes: Any) -> Array | None:
    """Ids of constraints made without: those of a Series of labels or groups, if it has some."""
    for name, values in classes.items():
        ids = own_ids(values)
        if ids is None:
            continue
        if any(given is not None and len(given) for given in pairs):
            raise SidelightError(
                f"{name} has an index of its own, so that it is not clear whether the pairs name "
                f"rows by it or by position. Pass ids={name}.index if they name ids, or "
                f"{name}={name}.to_numpy() if they are positions."
            )
        return ids
    return None


def align(known: Any, rows: Any, what: str = "X", *, hint: bool = True) -> Any:
    """Constraints in the order of the rows of a pandas object; unchanged for anything else."""
    if known.ids is None:
        return known
    places = rows_in_order(known.row_index, known.n_samples, rows, what, hint=hint)
    return known if places is None else known.restrict(places)


def align_to_ids(known: Any, ids: Array, what: str) -> Any:
    """Constraints with ids in the order of these ids, of which each has to occur."""
    places = known.row_index.positions(ids)
    check_same_rows(known.row_index, places, ids, what)
    if np.array_equal(places, np.arange(known.n_samples)):
        return known
    return known.restrict(places)


def rows_in_order(
    ids: RowIndex, n_samples: int, rows: Any, what: str, *, hint: bool = True
) -> IntArray | None:
    """Position among the ids of every row of a pandas object; None where positions agree.

    Parameters
    ----------
    ids : RowIndex
        Ids of ``n_samples`` rows.
    n_samples : int
        Number of rows.
    rows : object
        Rows, or values of rows, perhaps with an index.
    what : str
        What they are called in messages.
    hint : bool, default=True
        Whether to warn where ids are numbers of rows, and could be meant for another order.
    """
    index = _names_of(rows)
    if index is None:
        return None
    numbered = is_numbered(index)
    if numbered and (ids.ids.dtype.kind != "i" or len(index) != n_samples):
        return None
    places = ids.positions(_index_ids(index, what))
    if np.array_equal(places, np.arange(n_samples)):
        return None
    if numbered:
        if np.any(places < 0):
            return None
        if hint:
            _warn_of_numbers(what)
    check_same_rows(ids, places, index, what, on_disk=index_of(rows) is None)
    return places


def check_same_rows(
    ids: RowIndex, places: IntArray, index: Any, what: str, *, on_disk: bool = False
) -> None:
    """Raise unless an index names every id once, in whatever order."""
    hint = (
        f"Make the constraints with the ids of the rows on disk (ids={what}.ids), or say which "
        "column holds the ids: open_rows(path, id_column=...)."
        if on_disk
        else f"Give both the same ids (ids={what}.index); if their rows are in the same order, "
        f"{what}.reset_index(drop=True) takes them by position."
    )
    unknown = np.flatnonzero(places < 0)
    if len(unknown):
        names = [index[row] for row in unknown[:SHOWN]]
        raise UnknownIds(
            f"The index of {what} and the ids of the constraints do not agree: {_shown(names)} "
            f"{_among(len(unknown), 'row')} of {what} {_is(len(unknown))} not among the ids. "
            f"{hint}",
            ids=names,
        )
    counts = np.bincount(places, minlength=len(ids.ids))
    if np.any(counts > 1):
        name = ids.ids[[int(counts.argmax())]].tolist()[0]
        raise SidelightError(
            f"The index of {what} names {name!r} {counts.max()} times, so the ids of the "
            f"constraints do not say which row is meant; make the index unique. {hint}"
        )
    lost = np.flatnonzero(counts == 0)
    if len(lost):
        names = ids.ids[lost[:SHOWN]].tolist()
        raise SidelightError(
            f"The constraints are about {len(ids.ids)} rows but {what} has {len(places)}: the ids "
            f"{_shown(names)} {_among(len(lost), 'id')} {_is(len(lost))} not in its index. Make "
            f"them with the ids of this {what}, or restrict them to its rows: "
            f"constraints.restrict(positions)."
        )


def check_one_index(values: Any, rows: Any, what: str, of: str = "X") -> None:
    """Raise if values of rows and the rows name the rows in different orders.

    Values have names if they are of pandas, rows if they are, or are a source of rows with ids.
    """
    mine = index_of(values)
    theirs = None if mine is None else _names_of(rows)
    if theirs is None or len(mine) != len(theirs) or _same(mine, theirs):
        return
    counted = is_numbered(mine) or is_numbered(theirs)
    if counted and not _same(mine.sort_values(), _in_order(theirs)):
        return  # one of the two has no ids of its own
    raise SidelightError(
        f"{what} and {of} have different indexes (rows {_shown(mine[:SHOWN])} ... and "
        f"{_shown(theirs[:SHOWN])} ...), so that it is not clear which row is which. "
        f"{what}.loc[{_called(rows, of)}] brings them into one order; {what}.to_numpy() takes them "
        "by position."
    )


def _in_order(names: Any) -> Any:
    return np.sort(names) if isinstance(names, np.ndarray) else names.sort_values()


def _same(index: Any, names: Any) -> bool:
    if isinstance(names, np.ndarray):
        return np.array_equal(index.to_numpy(), names)
    return bool(index.equals(names))


def by_row(
    values: Any, ids: RowIndex | None, n_samples: int, what: str, *, partial: bool = False
) -> Array:
    """Values of the rows in the order of the ids: a Series by its index, a mapping by its keys.

    With ``partial`` rows may be left out; theirs is None. A mapping always may.
    """
    if isinstance(values, Mapping):
        return _placed(
            _mapped(values, ids, n_samples, what), plain(list(values.values())), n_samples
        )
    if ids is None:
        return plain(values)
    index = index_of(values)
    if partial and index is not None and not is_numbered(index) and len(index) < n_samples:
        places = ids.positions(_index_ids(index, what))
        if np.all(places >= 0) and len(np.unique(places)) == len(places):
            return _placed(places, plain(values), n_samples)
    given, order = plain(values), rows_in_order(ids, n_samples, values, what)
    if order is None:
        return given
    ordered = np.empty_like(given)
    ordered[order] = given
    return ordered


def with_rows(values: Any) -> Any:
    """Values of rows with the ids they bring along, or else as a plain array."""
    if values is None or isinstance(values, Mapping) or index_of(values) is not None:
        return values
    return plain(values)


def by_id(values: Any, ids: RowIndex | None, n_samples: int, what: str, given: Any) -> Array:
    """Classes of the rows, where ``given`` is what the ids were given as.

    A column of ids and a column of classes of one data frame go together row by row.
    """
    mine, theirs = index_of(values), index_of(given)
    if mine is not None and theirs is not None and mine.equals(theirs):
        return plain(values)
    return by_row(values, ids, n_samples, what, partial=True)


def _mapped(values: Mapping[Any, Any], ids: RowIndex | None, n: int, what: str) -> IntArray:
    keys = as_ids(list(values)) if values else np.empty(0, np.int64)
    index = ids or RowIndex(np.arange(n))
    places = index.positions(keys)
    if np.any(places < 0):
        names = keys[places < 0].tolist()
        raise UnknownIds(
            f"{what} names {_shown(names[:SHOWN])}, which {'does' if len(names) == 1 else 'do'} "
            f"not occur among the {n} {'rows' if ids is None else 'ids'}.",
            ids=names,
        )
    return places


def _placed(places: IntArray, values: Array, n_samples: int) -> Array:
    """Values at their places, None elsewhere."""
    full = np.full(n_samples, None, dtype=object)
    full[places] = values
    return plain(full)


def warn_of_positions(known: Any, rows: Any, what: str = "X") -> None:
    """Hint that pairs by position may have been meant by the numbers of an index."""
    index = _names_of(rows)
    if index is None or not known.n_pairs or is_numbered(index) or index.dtype.kind not in "iu":
        return
    named = np.unique(np.concatenate([known.must_link.ravel(), known.cannot_link.ravel()]))
    if np.all(np.isin(named, index)):
        warn(
            f"The constraints have no ids, so their numbers are positions; {what} has ids of its "
            "own, other numbers or in another order, in which these numbers occur too. If they "
            f"were meant, make the constraints with ids={_called(rows, what)}.",
            ConstraintWarning,
        )


def warn_of_order(known: Any, rows: Any, what: str = "X") -> None:
    """Warn that constraints with ids are taken in the order of rows on disk that have none."""
    if rows.ids is None and not is_numbered(known.ids):
        warn(
            f"The constraints have ids and {what} has none: the ids are taken in the order of its "
            "rows. Say which column holds the ids of the rows (open_rows(path, id_column=...)), or "
            "give them (open_rows(path, ids=...)).",
            ConstraintWarning,
        )


def _index_ids(index: Any, what: str) -> Array:
    if _misses_names(index):
        raise SidelightError(
            f"The index of {what} is missing in some rows, so the ids of the constraints do not "
            "say which row is meant; name every row."
        )
    return as_ids(index)


def _misses_names(index: Any) -> bool:
    return getattr(index, "nlevels", 1) == 1 and bool(getattr(index, "hasnans", False))


def _warn_of_numbers(what: str) -> None:
    warn(
        f"The ids of the constraints are the numbers of the rows of {what} in another order: they "
        f"are taken as its index, not as the order of the rows. {what}.to_numpy() takes rows by "
        "position.",
        ConstraintWarning,
    )


def _shown(names: Any) -> str:
    return ", ".join(repr(name) for name in plain(list(names)).tolist())


def _among(number: int, noun: str) -> str:
    return "" if number <= SHOWN else f"and others ({number} {noun}s)"


def _is(number: int) -> str:
    return "is" if number == 1 else "are"
