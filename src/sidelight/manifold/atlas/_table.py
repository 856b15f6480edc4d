"""Tables that hold several views side by side: their columns, and the views that are missing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sidelight._typing import Array
from sidelight._words import counted, setting
from sidelight.exceptions import SidelightError


def column_positions(
    views: Sequence[Any] | None, n_features: int, names: Array | None
) -> tuple[Array, ...]:
    """Positions of the columns of every view; all columns are one view by default."""
    if views is None:
        return (np.arange(n_features),)
    place = {} if names is None else {str(name): number for number, name in enumerate(names)}
    columns = []
    for number, view in enumerate(views):
        found = []
        for column in view:
            position = place.get(column) if isinstance(column, str) else int(column)
            if position is None or not 0 <= position < n_features:
                raise SidelightError(
                    f"{setting('views')} gives view {number} the column {column!r}, which the "
                    f"{counted(n_features, 'column')} do not have."
                )
            found.append(position)
        columns.append(np.array(found))
    counts = np.bincount(np.concatenate(columns), minlength=n_features)
    odd = np.flatnonzero(counts != 1)
    if len(odd):
        times = "no view" if counts[odd[0]] == 0 else "several views"
        raise SidelightError(
            f"{setting('views')} has column {odd[0]} in {times}; every column belongs to one view."
        )
    return tuple(columns)


def views_seen(table: Array, columns: tuple[Array, ...]) -> Array:
    """Views that every row has, of shape (n, V); a view is there as a whole or not at all."""
    seen = np.empty((len(table), len(columns)), dtype=bool)
    for number, own in enumerate(columns):
        missing = np.isnan(table[:, own])
        partly = np.flatnonzero(missing.any(axis=1) & ~missing.all(axis=1))
        if len(partly):
            row, column = int(partly[0]), int(own[np.argmax(missing[partly[0]])])
            raise SidelightError(
                f"Row {row} has view {number} without column {column}: a view is there as a whole, "
                "or NaN in all its columns. Fill the column in, or drop the view of the row."
            )
        seen[:, number] = ~missing[:, 0]
    nothing = np.flatnonzero(~seen.any(axis=1))
    if len(nothing):
        raise SidelightError(f"Row {nothing[0]} has no view at all; drop it.")
    return seen


def of_one_view(rows: Array, columns: Array, n_features: int) -> Array:
    """Rows of one view with all columns, NaN in those of the other views."""
    table = np.full((len(rows), n_features), np.nan, dtype=rows.dtype)
    table[:, columns] = rows
    return table


def check_joined(seen: Array, d: int) -> None:
    """Check that all views hang together by more links than there are coordinates."""
    joined = np.zeros(seen.shape[1], dtype=bool)
    joined[0] = True
    while not joined.all():
        shared = seen[seen[:, joined].any(axis=1)].sum(axis=0)
        shared[joined] = -1
        best = int(np.argmax(shared))
        if shared[best] < d + 1:
            raise SidelightError(
                f"{counted(int(shared[best]), 'link')} for a {d}-dimensional latent space: at "
                f"least {d + 1} are needed between view {best} and the others."
            )
        joined[best] = True
