"""Views of one set of objects: rows of each view, and the object that each row shows."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_array

from sidelight._typing import Array, IntArray
from sidelight._warn import warn
from sidelight._words import counted
from sidelight.constraints import Correspondences
from sidelight.exceptions import EmbeddingWarning, SidelightError

#: Unlinked rows that reach farther than this times the linked ones cause a warning.
FARTHEST = 2.0


@dataclass(frozen=True)
class Views:
    """Rows of each view, and the object that each of them shows.

    Attributes
    ----------
    rows : tuple of ndarray
        Rows of each view, of shape (n_v, D_v).
    objects : tuple of ndarray of int
        Object of every row of each view.
    n_objects : int
        Number of objects.
    columns : tuple of ndarray of int
        Columns of each view in the table of all views.
    links : ndarray of shape (m, 4)
        Linked rows ``(view_i, row_i, view_j, row_j)``.
    """

    rows: tuple[Array, ...]
    objects: tuple[IntArray, ...]
    n_objects: int
    columns: tuple[IntArray, ...]
    links: IntArray

    @property
    def seen(self) -> Array:
        """Which objects each view shows, of shape (n_objects, n_views)."""
        seen = np.zeros((self.n_objects, len(self.rows)), dtype=bool)
        for view, objects in enumerate(self.objects):
            seen[objects, view] = True
        return seen

    def average(self, places: Sequence[Array]) -> Array:
        """Mean place of every object over its rows in all views."""
        totals = np.zeros((self.n_objects, places[0].shape[1]))
        number = np.zeros(self.n_objects)
        for objects, own in zip(self.objects, places, strict=True):
            np.add.at(totals, objects, own)
            number += np.bincount(objects, minlength=self.n_objects)
        return totals / number[:, None]

    def check_links(self, n_components: int) -> None:
        """Raise unless every view shares enough objects with those that it can be placed by.

        A view is determined by its neighbors only up to an affine map, which takes
        ``n_components + 1`` points to fix.
        """
        seen = self.seen
        joined = seen[:, 0].copy()
        left = set(range(1, len(self.rows)))
        while left:
            shared = {view: int(np.sum(joined & seen[:, view])) for view in left}
            view = max(left, key=lambda one: (shared[one], -one))
            if shared[view] <= n_components:
                named = "The views are" if len(self.rows) == 2 else f"View {view} is"
                raise SidelightError(
                    f"{named} joined by {counted(shared[view], 'link')} for a "
                    f"{n_components}-dimensional map: at least {n_components + 1} are needed."
                )
            joined |= seen[:, view]
            left.remove(view)

    def warn_of_extrapolation(self, places: Array) -> None:
        """Warn where objects of a single view lie far beyond those of several views."""
        if len(self.rows) == 1:
            return
        linked = self.seen.sum(axis=1) > 1
        if linked.all():
            return
        center = places[linked].mean(axis=0)
        reach = np.abs(places[linked] - center).max(axis=0)
        beyond = np.abs(places[~linked] - center).max(axis=0)
        times = float(np.max(beyond / np.maximum(reach, 1e-300)))
        if times > FARTHEST:
            warn(
                f"Coordinates of unlinked rows extend {times:.1f} times as far as those of linked "
                "ones; there the map of one view is an extrapolation for the others. More links "
                "in between would help.",
                EmbeddingWarning,
            )


def are_views(X: Any) -> bool:
    """Whether this is a list of tables, and not one table."""
    return isinstance(X, list | tuple) and bool(X) and all(np.ndim(view) == 2 for view in X)


def of_list(
    tables: Sequence[Any], correspondences: Correspondences | None, *, missing: bool
) -> Views:
    """Views from one table each, and the correspondences of their rows."""
    if not isinstance(correspondences, Correspondences):
        raise SidelightError(
            "Several views need correspondences=sidelight.constraints.Correspondences(...), which "
            "says which of their rows show the same object."
        )
    correspondences = correspondences.align(tables)
    arrays = []
    for view, table in enumerate(correspondences.check_views(tables)):
        try:
            finite = "allow-nan" if missing else True
            arrays.append(
                check_array(table, dtype=[np.float64, np.float32], ensure_all_finite=finite)
            )
        except ValueError as error:
            raise SidelightError(f"View {view}: {error}") from error
    ends = np.cumsum([0, *(rows.shape[1] for rows in arrays)])
    columns = tuple(np.arange(a, b) for a, b in itertools.pairwise(ends))
    return Views(
        tuple(arrays),
        correspondences.objects,
        correspondences.n_objects,
        columns,
        correspondences.links,
    )


def of_table(table: Array, views: Sequence[Any] | None, names: Any, *, missing: bool) -> Views:
    """Views from blocks of columns of one table: rows of NaN are objects that a view does not show.

    Parameters
    ----------
    table : ndarray of shape (n_objects, n_features)
        One row per object.
    views : sequence of sequences of int or str, or None
        Columns of each view; None for one view.
    names : ndarray of str or None
        Names of the columns.
    missing : bool
        Whether single values of a row may be missing.
    """
    n = len(table)
    if views is None:
        everything = np.arange(table.shape[1])
        return Views((table,), (np.arange(n),), n, (everything,), np.empty((0, 4), np.int64))
    columns = _columns(views, table.shape[1], names)
    rows, objects = [], []
    place = np.full((n, len(columns)), -1)
    for view, own in enumerate(columns):
        known = ~np.isnan(table[:, own])
        shown = np.flatnonzero(known.any(axis=1))
        if not missing and not known[shown].all():
            row = int(shown[np.flatnonzero(~known[shown].all(axis=1))[0]])
            raise SidelightError(
                f"Row {row} has some values of view {view} but not all; leave the row empty there, "
                "or use CorrespondenceCharting, which models missing values."
            )
        if not len(shown):
            raise SidelightError(f"View {view} is empty: all its values are missing.")
        rows.append(table[np.ix_(shown, own)])
        objects.append(shown)
        place[shown, view] = np.arange(len(shown))
    lost = np.flatnonzero((place < 0).all(axis=1))
    if len(lost):
        raise SidelightError(f"Row {int(lost[0])} has no value in any view; leave it out.")
    return Views(tuple(rows), tuple(objects), n, tuple(columns), _links(place))


def _links(place: IntArray) -> IntArray:
    """Links between all rows of every object: positions by object and view, -1 for none."""
    found = [np.empty((0, 4), np.int64)]
    for a in range(place.shape[1]):
        for b in range(a + 1, place.shape[1]):
            both = np.flatnonzero((place[:, a] >= 0) & (place[:, b] >= 0))
            ends = np.full((2, len(both)), [[a], [b]])
            found.append(np.column_stack([ends[0], place[both, a], ends[1], place[both, b]]))
    return np.concatenate(found)


def _columns(views: Sequence[Any], n_features: int, names: Any) -> list[IntArray]:
    """Positions of the columns of each view."""
    position = {} if names is None else {name: place for place, name in enumerate(names)}
    columns = []
    for view, given in enumerate(views):
        own = [position.get(one, one) for one in np.asarray(given).ravel().tolist()]
        bad = [one for one in own if not isinstance(one, int) or not 0 <= one < n_features]
        if bad or not own:
            what = f"names the column {bad[0]!r}" if bad else "has no columns"
            raise SidelightError(
                f"View {view} {what}; views are lists of columns, by name or from 0 to "
                f"{n_features - 1}."
            )
        columns.append(np.asarray(own, dtype=np.int64))
    everything = np.concatenate(columns)
    if len(np.unique(everything)) < len(everything):
        raise SidelightError("A column belongs to two views; give each column to one view.")
    return columns
