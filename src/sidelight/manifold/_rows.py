"""Rows of a map: columns to ignore, rows whose places are known, rows that no map can have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from sidelight._typing import Array
from sidelight._words import counted, setting, worded
from sidelight.exceptions import SidelightError


@dataclass(frozen=True)
class KeptColumns:
    """The columns in use, with the linear influence of the ignored columns removed.

    ``x_kept - (x_ignored - mean) B``: with ``B`` the least-squares regression of the columns that
    count on the ignored ones, no linear effect of these is left.

    Attributes
    ----------
    kept, ignored : ndarray of int
        Positions of the columns.
    mean : ndarray of shape (n_ignored,)
        Mean of the ignored columns.
    effect : ndarray of shape (n_ignored, n_kept)
        ``B``.
    """

    kept: Array
    ignored: Array
    mean: Array
    effect: Array

    def of(self, rows: Array) -> Array:
        """The columns that count, of any rows, in their element type."""
        values = rows[:, self.kept].astype(np.float64)
        for column, mean, effect in zip(self.ignored, self.mean, self.effect, strict=True):
            # A product of matrices would round a row otherwise among others than alone.
            values -= np.outer(rows[:, column] - mean, effect)
        return np.asarray(values.astype(rows.dtype))


def keep_columns(
    rows: Any, ignore: Sequence[int | str] | None, names: Array | None
) -> KeptColumns | None:
    """Learn the columns in use and their regression on the ignored ones; None keeps all.

    Parameters
    ----------
    rows : ndarray of shape (n_samples, n_features)
        The rows.
    ignore : sequence of int or str or None
        Positions or names of the columns.
    names : ndarray of str or None
        Names of the columns, where the rows came with names (``feature_names_in_``).
    """
    if ignore is None:
        return None
    if sparse.issparse(rows):
        raise SidelightError(
            f"{setting('ignore')} takes the effect of columns out of all others, which leaves no "
            "zeros: give the rows as a dense array."
        )
    width = rows.shape[1]
    ignored = np.unique([_position(one, width, names) for one in ignore])
    kept = np.setdiff1d(np.arange(width), ignored)
    if not len(kept):
        raise SidelightError(
            f"{setting('ignore')} names all {counted(width, 'column')}: none is left for the "
            "distances."
        )
    covariates, values = rows[:, ignored].astype(np.float64), rows[:, kept].astype(np.float64)
    mean = covariates.mean(axis=0)
    # Units of the columns would decide which of them count as constant.
    spread = np.abs(covariates - mean).max(axis=0)
    spread[spread == 0] = 1.0
    effect = np.linalg.lstsq(
        (covariates - mean) / spread, values - values.mean(axis=0), rcond=None
    )[0]
    return KeptColumns(kept, ignored, mean, effect / spread[:, None])


def _position(one: int | str, width: int, names: Array | None) -> int:
    if isinstance(one, str):
        if names is None:
            raise SidelightError(
                f"{setting('ignore')} names the column {one!r}, but the rows came without names of "
                "columns; give a table, or positions."
            )
        found = np.flatnonzero(np.asarray(names) == one)
        if not len(found):
            raise SidelightError(
                f"{setting('ignore')} names the column {one!r}, which the table does not have."
            )
        return int(found[0])
    if not -width <= one < width:
        raise SidelightError(
            f"{setting('ignore')} names column {one}, but there are {counted(width, 'column')}."
        )
    return int(one) % width


@dataclass(frozen=True)
class Anchors:
    """Rows whose places on the map are known.

    Attributes
    ----------
    rows : ndarray of int, shape (n_anchors,)
        Positions of the rows.
    places : ndarray of shape (n_anchors, n_components)
        Their coordinates.
    """

    rows: Array
    places: Array

    def restricted_to(self, kept: Array) -> Anchors:
        """The anchors among some of the rows, which have other positions then."""
        found = np.isin(self.rows, kept)
        return Anchors(np.searchsorted(kept, self.rows[found]), self.places[found])


def check_anchors(anchors: Any, n_samples: int, n_components: int) -> Anchors | None:
    """Check known coordinates: a row for each row, NaN where nothing is known."""
    if anchors is None:
        return None
    places = np.asarray(anchors, dtype=np.float64)
    if places.shape != (n_samples, n_components):
        raise SidelightError(
            f"anchors hold {counted(n_components, 'coordinate')} for each of {n_samples} rows, NaN "
            f"where nothing is known: shape ({n_samples}, {n_components}), got {places.shape}."
        )
    known = np.asarray(~np.isnan(places).all(axis=1))
    for what, bad in (
        ("knows some of its coordinates only", np.isnan(places) & known[:, None]),
        ("has a coordinate that is infinite", np.isinf(places)),
    ):
        if bad.any():
            raise SidelightError(f"Anchor {int(np.flatnonzero(bad.any(axis=1))[0])} {what}.")
    if np.count_nonzero(known) <= n_components:
        raise SidelightError(
            f"{counted(int(np.count_nonzero(known)), 'anchor')} cannot hold a map of "
            f"{counted(n_components, 'dimension')} in place; give at least {n_components + 1}."
        )
    return Anchors(np.flatnonzero(known), places[known])


@dataclass(frozen=True)
class SimilarityMap:
    """A shift, turn or reflection and one scale: ``s (x - from) R + to``."""

    start: Array
    turn: Array
    end: Array

    def of(self, places: Array) -> Array:
        """Move coordinates."""
        return np.asarray((places - self.start) @ self.turn + self.end)


def move_onto(places: Array, known: Array) -> SimilarityMap:
    """Find the similarity that brings places nearest to known ones (Procrustes).

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.manifold._rows import move_onto
    >>> square = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]])
    >>> move_onto(square, 3 * square[:, ::-1] + 5).of(square)
    array([[5., 5.],
           [5., 8.],
           [8., 8.]])
    """
    start, end = places.mean(axis=0), known.mean(axis=0)
    moving, fixed = places - start, known - end
    left, singular, right = np.linalg.svd(moving.T @ fixed)
    size = float(np.sum(moving**2))
    scale = float(singular.sum()) / size if size > 0 else 1.0
    return SimilarityMap(start, scale * (left @ right), end)


def check_several(n: int) -> None:
    """Refuse a single row."""
    if n < 2:
        given = worded("1 sample", "one")
        raise SidelightError(f"A map needs at least 2 rows; there is {given}.")


def all_the_same(n: int) -> SidelightError:
    """The error that no map can tell the rows apart."""
    return SidelightError(
        f"All rows are the same ({worded('n_samples=', '')}{n}), so they have one place and no "
        "map; give rows that differ."
    )
