"""What is known about a table with two sides: about rows, columns, both, and their orders."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sidelight._words import counted, worded
from sidelight.constraints import Constraints, CrossLinks, Ordering
from sidelight.constraints.inner import KIND_OF_WORD, read_columns
from sidelight.exceptions import InvalidRequest, SidelightError, UnknownIds
from sidelight.io import Table
from sidelight.io.inner import alike_hint, close_names, position_of
from sidelight.jobs._method import is_path

if TYPE_CHECKING:
    from sidelight.jobs.cocluster._run import CoclusterRequest
    from sidelight.jobs.cocluster._table import BinaryTable

PAIRS = {"must-link": "must_link", "cannot-link": "cannot_link"}


def column_knowledge(given: Any, names: Sequence[str]) -> Constraints:
    """Constraints about columns, by their names."""
    place: dict[str, Any] = {"n_samples": len(names), "ids": list(names)}
    if given is None:
        return Constraints(**place)
    if is_path(given):
        try:
            return Constraints.read(given, **place)
        except UnknownIds as error:
            wrong = str(error.ids[0])
            meant = close_names(wrong, names)
            raise UnknownIds(
                f"{given}: no column of the table is called {wrong!r}; {meant}.",
                ids=error.ids,
            ) from error
    if not isinstance(given, Constraints):
        raise InvalidRequest(
            "column constraints are a file or sidelight.Constraints about the columns, not "
            f"{type(given).__name__}."
        )
    if given.n_samples != len(names):
        raise InvalidRequest(
            f"the column constraints are about {counted(given.n_samples, 'column')}, the table has "
            f"{len(names)}."
        )
    return given


def cross_knowledge(given: Any, data: Table) -> tuple[CrossLinks | None, tuple[str, ...]]:
    """Links between a row and a column as positions, and what there is to tell about them."""
    if given is None:
        return None, ()
    if not is_path(given):
        if not isinstance(given, CrossLinks):
            raise InvalidRequest(
                "cross constraints are a file or sidelight.constraints.CrossLinks, not "
                f"{type(given).__name__}."
            )
        return given, ()
    columns, trouble = read_columns(Path(given))
    lacking = [name for name in ("i", "j", "kind") if name not in columns]
    if lacking:
        raise trouble(
            None,
            f"there is no column {lacking[0]!r}; cross constraints have the columns i (a row), j "
            "(a column of the table) and kind.",
        )
    rows = {str(name): row for row, name in enumerate(data.row_ids.tolist())}
    names = {name: column for column, name in enumerate(data.feature_names)}
    pairs: dict[str, list[tuple[int, int]]] = {kind: [] for kind in PAIRS.values()}
    told = zip(columns["i"], columns["j"], columns["kind"], strict=True)
    for record, (row_id, name, word) in enumerate(told):
        kind = KIND_OF_WORD.get(str(word).strip().lower())
        if kind not in PAIRS:
            raise trouble(record, f"kind {str(word)!r} is neither must-link nor cannot-link.")
        row = position_of(str(row_id).strip(), rows)
        if row is None:
            hint = alike_hint(str(row_id), data.row_ids.tolist())
            raise trouble(record, f"no row has the id {str(row_id)!r}.{hint}", ids=(row_id,))
        column = names.get(str(name).strip())
        if column is None:
            known = close_names(str(name), data.feature_names)
            problem = f"no column of the table is called {str(name)!r}; {known}."
            raise trouble(record, problem, ids=(name,))
        pairs[PAIRS[kind]].append((row, column))
    extra = [name for name in columns if name not in ("i", "j", "kind")]
    notes = (f"Not used in {given}: {', '.join(extra)}.",) if extra else ()
    return CrossLinks(**pairs), notes


def orders(asked: CoclusterRequest, found: BinaryTable) -> tuple[Ordering | None, Ordering | None]:
    """Orders of the rows and of the columns, where they have one."""
    data = found.data
    rows = found.row_scores if isinstance(asked.row_order, str) else asked.row_order
    columns: Any = asked.ordered_columns
    if isinstance(columns, bool | np.bool_):
        columns = np.arange(len(data.feature_names)) if columns else None
    by_rows = worded("row_order", "--row-order COLUMN")
    by_columns = worded("ordered_columns", "--ordered-columns")
    return (
        _order(asked, "row", rows, data.row_ids, by_rows),
        _order(asked, "column", columns, np.array(data.feature_names), by_columns),
    )


def _order(
    asked: CoclusterRequest, side: str, scores: Any, ids: Any, option: str
) -> Ordering | None:
    """Order of a side with its gaps; ``option`` gives the order."""
    smallest, largest = (getattr(asked, f"{which}_{side}_gap") for which in ("min", "max"))
    circular = asked.circular in (f"{side}s", "both")
    given = {
        worded(f"min_{side}_gap", f"--min-{side}-gap"): smallest is not None,
        worded(f"max_{side}_gap", f"--max-{side}-gap"): largest is not None,
        worded("circular", "--circular"): circular,
    }
    named = [name for name, is_given in given.items() if is_given]
    if scores is None:
        if named:
            raise InvalidRequest(f"{named[0]} needs the order of the {side}s: give {option}.")
        return None
    if isinstance(scores, Ordering):
        if named:
            raise InvalidRequest(f"an Ordering has its own gaps: leave {named[0]} out.")
        return scores
    for name, value in zip(given, (smallest, largest), strict=False):
        if value is not None and value < 0:
            raise InvalidRequest(f"{name} counts {side}s and is at least 0, got {value}.")
    if smallest is not None and largest is not None and smallest > largest:
        low, high, _ = given
        raise InvalidRequest(
            f"{low} {smallest} is larger than {high} {largest}: no two {side}s could be together."
        )
    if len(scores) != len(ids):
        raise SidelightError(
            f"the order of the {side}s holds {counted(len(scores), 'value')} for "
            f"{counted(len(ids), side)}."
        )
    return Ordering(scores, largest, smallest, circular, ids=ids)


def order_notes(rows: Ordering | None, columns: Ordering | None) -> list[str]:
    """Notes on orders that bound nothing."""
    notes = []
    for side, order in (("row", rows), ("column", columns)):
        if order is not None and not order.has_bounds:
            option = worded(f"max_{side}_gap=0", f"--max-{side}-gap 0")
            notes.append(
                f"The order of the {side}s is only used to count jumps; {option} asks for runs."
            )
    return notes
