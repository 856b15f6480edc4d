"""What is known about rows, from all the places where a request gives it."""

from __future__ import annotations

from typing import Any

from sidelight.constraints import Constraints
from sidelight.constraints.inner import align, align_to_ids, statements_of, warn_of_positions
from sidelight.exceptions import InvalidRequest
from sidelight.io import Table, read_pairs


def read_knowledge(data: Table, request: Any) -> Constraints:
    """Read everything that a request says about the rows."""
    given = (request.constraints, request.must_link, request.cannot_link)
    return knowledge_about(data, *given, rows=request.data)


def knowledge_about(
    data: Table, constraints: Any, must_link: Any, cannot_link: Any, *, rows: Any = None
) -> Constraints:
    """Read everything that is known about rows, labels of the table too.

    ``rows`` are the rows as they were given, whose index constraints in memory follow.
    """
    place: dict[str, Any] = {"n_samples": data.n_rows, "ids": data.ids}
    knowledge = Constraints(**place)
    if isinstance(constraints, Constraints):
        knowledge |= _about(constraints, data, rows)
    elif constraints is not None:
        knowledge |= Constraints.read(constraints, **place)
    files = {"must_link": must_link, "cannot_link": cannot_link}
    pairs: dict[str, Any] = {
        kind: data.row_ids[read_pairs(file, data.row_ids)]
        for kind, file in files.items()
        if file is not None
    }
    if pairs:
        knowledge |= Constraints(**pairs, **place)
    if data.labels is not None:
        knowledge |= Constraints(labels=data.labels, **place)
    return knowledge


def _about(known: Constraints, data: Table, rows: Any) -> Constraints:
    """Constraints made elsewhere, in the order of the rows and under their ids.

    Constraints without ids are about positions.
    """
    known = align(known, rows, "data")
    if known.ids is not None and data.ids is not None:
        known = align_to_ids(known, data.ids, "data")
    elif data.id_column is not None and known.n_pairs:
        raise InvalidRequest(
            f"the column {data.id_column!r} names the rows, but the constraints have no ids, so "
            "that their numbers could be positions or ids; make them with the ids of the rows."
        )
    else:
        warn_of_positions(known, rows, "data")
    if known.n_samples != data.n_rows:
        raise InvalidRequest(
            f"the constraints are about {known.n_samples} rows, the data has {data.n_rows}."
        )
    return Constraints(n_samples=data.n_rows, ids=data.ids)._derive(statements_of(known))
