"""Conditions on what clusters hold, as a request gives them: read, checked, told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sidelight import catalog
from sidelight._words import worded
from sidelight.catalog import Method
from sidelight.constraints import Conditions
from sidelight.constraints.inner import align, align_to_ids, columns_in
from sidelight.exceptions import InvalidRequest, SidelightError
from sidelight.io import Table
from sidelight.io.inner import close_names, read_raw
from sidelight.jobs._table._features import is_frame

if TYPE_CHECKING:
    from sidelight.jobs.cluster._request import ClusterRequest

#: Method for conditions where none is named.
DEFAULT = "existential-kmeans"


def check_takes_conditions(method: Method) -> None:
    """Refuse conditions that a method has no use for."""
    if "conditions" not in method.tags.knowledge:
        able = ", ".join(m.name for m in catalog.methods(kind="clusterer", knowledge="conditions"))
        raise InvalidRequest(
            f"{method.cls.__name__} has no use for conditions: leave "
            f"{worded('conditions=', '--at-least')} out, or choose a method that takes them "
            f"({able})."
        )


def read_conditions(request: ClusterRequest, data: Table) -> Conditions:
    """Conditions on the clusters of these rows."""
    given = request.conditions
    if isinstance(given, Conditions):
        wanted: Conditions = align(given, request.data, "data")
        if wanted.ids is not None and data.ids is not None:
            wanted = align_to_ids(wanted, data.ids, "data")
        if wanted.n_samples != data.n_rows:
            raise InvalidRequest(
                f"the conditions are about {wanted.n_samples} rows, the data has {data.n_rows}."
            )
        return wanted
    texts = [given] if isinstance(given, str) else list(given)
    try:
        columns = _columns(request, data, texts)
        return Conditions.from_expressions(columns, texts, ids=data.ids)
    except SidelightError as error:
        raise InvalidRequest(f"{worded('conditions', '--at-least')} {error}") from error


def _columns(request: ClusterRequest, data: Table, texts: list[str]) -> dict[str, Any]:
    """The columns that expressions name, as the user's table has them, features or not."""
    named = {text: columns_in(text) for text in texts}
    names = [name for some in named.values() for name in some]
    # A column of positions keeps the number of rows where no column is named.
    columns: dict[str, Any] = {"": np.arange(data.n_rows)}
    if request.path is not None:
        raw = read_raw(request.path, text_columns=[data.id_column] if data.id_column else ())
        there = list(raw.names)
        columns |= {name: raw.column(name).to_pylist() for name in names if name in there}
    elif is_frame(request.data):
        there = [str(name) for name in request.data.columns]
        columns |= {name: request.data[name] for name in names if name in there}
    else:
        there = list(data.feature_names)
        rows = data.X
        for name in names:
            if name in there:
                column = rows[:, [there.index(name)]]
                columns[name] = (column.toarray() if hasattr(column, "toarray") else column).ravel()
    for text, some in named.items():
        for name in some:
            if name not in columns:
                raise SidelightError(
                    f"{text!r}: there is no column {name!r}; {close_names(name, there)}."
                )
    return columns
