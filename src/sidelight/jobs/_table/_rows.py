"""Rows of a request: read from a file, or taken from memory, with labels and truth beside them."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from sidelight._in_memory import check_computed
from sidelight.constraints import Constraints
from sidelight.constraints.inner import (
    align,
    check_one_index,
    own_ids,
    plain,
    read_classes,
    rows_named_in,
    text_of,
)
from sidelight.exceptions import InvalidRequest
from sidelight.io import Table, read_table
from sidelight.io.inner import MAX_NOTES, note_on_others, rows_named_in_pairs, sounds_like_ids
from sidelight.jobs._table._asked import Rows
from sidelight.jobs._table._features import IN_MEMORY, frame_table, is_frame


def read_rows(request: Rows, *, allow_missing: bool = False, aside: Sequence[str] = ()) -> Table:
    """Read the rows, or take those in memory; labels and truth may be given beside them.

    ``aside`` are columns that are used for something else and are no features.
    """
    given = {"labels": request.labels, "truth": request.truth}
    names = {kind: value for kind, value in given.items() if isinstance(value, str)}
    if request.path is not None:
        data = read_table(
            request.path,
            id_column=request.id_column,
            label_column=names.get("labels"),
            truth_column=names.get("truth"),
            columns=request.columns,
            drop=(*request.drop, *aside),
            allow_missing=allow_missing,
            as_columns=request.prepare,
            named=(lambda: _named_rows(request)) if len(request.inputs) > 1 else None,
        )
    elif request.prepare and is_frame(request.data):
        data = frame_table(
            request,
            label_column=names.get("labels"),
            truth_column=names.get("truth"),
            colored=tuple(aside),
        )
    elif names or request.columns is not None or request.drop or request.id_column:
        raise InvalidRequest(
            "columns are chosen by name only where the data is a file, or a data frame that is "
            "not taken raw."
        )
    else:
        data = request.data if isinstance(request.data, Table) else _in_memory(request.data)
    return beside(request, data)


def beside(request: Rows, data: Table) -> Table:
    """Return the rows with the labels, the truth and the names of rows that are given in memory."""
    known = request.constraints
    if data.ids is None and isinstance(known, Constraints) and known.ids is not None:
        known = align(known, request.data, "data")
        if known.n_samples == data.n_rows:  # rows without names get those of the constraints
            data = dataclasses.replace(data, ids=known.ids)
    values = {}
    for kind, value in (("labels", request.labels), ("truth", request.truth)):
        check_one_index(value, request.data, kind, "data")
        if value is not None and not isinstance(value, str):
            values[kind] = _classes(value, data.n_rows, kind)
    return dataclasses.replace(data, **values) if values else data


def _named_rows(request: Rows) -> set[str]:
    """Everything that the files of knowledge name rows by."""
    names = set()
    if isinstance(request.constraints, str | os.PathLike):
        names |= rows_named_in(request.constraints)
    for file in (request.must_link, request.cannot_link):
        if file is not None:
            names |= rows_named_in_pairs(file)
    return names


def _in_memory(X: Any) -> Table:
    check_computed(X, "data")
    rows = X if sparse.issparse(X) else np.asarray(X, dtype=np.float64)
    names = getattr(X, "columns", None)
    if names is None:
        names = [f"x{feature}" for feature in range(rows.shape[1])]
    named = [name for name in map(str, names) if sounds_like_ids(name)]
    notes = [
        f"The column {name!r} is used as a feature; if it only names the rows, make it the index."
        for name in named[:MAX_NOTES]
    ]
    if len(named) > MAX_NOTES:
        notes.append(note_on_others(named[MAX_NOTES:]))
    return Table(rows, own_ids(X), tuple(map(str, names)), IN_MEMORY, notes=tuple(notes))


def _classes(values: Any, n_rows: int, name: str) -> Any:
    """Classes as a table holds them: whole numbers with -1, or text with "", where unknown."""
    given = plain(values)
    if given.shape != (n_rows,):
        raise InvalidRequest(f"{name} must hold one value per row, {n_rows}, got {given.shape}.")
    if given.dtype.kind == "i":
        return given
    codes, names = read_classes(given, name)
    return np.append([text_of(class_name) for class_name in names.tolist()], "")[codes]
