"""The map of the rows: clusters in color, statements as lines, the violated ones in red."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sidelight._typing import Array, IntArray
from sidelight._words import STATEMENTS, counted
from sidelight.constraints import Constraints
from sidelight.exceptions import InvalidRequest, SidelightError
from sidelight.pictures._matching import count_together, match_classes
from sidelight.pictures._plane import Plane, rows_in_plane
from sidelight.pictures._rows import as_fitted, plain_labels, sampled_note
from sidelight.pictures._run import Partition, Run, clusters_of, shorten
from sidelight.pictures.kinds._points import Mark, Points, Regions, Text, around, color_plane
from sidelight.pictures.kinds._shapes import Shape, shapes_of

#: At most so many rows of violated statements are named.
MAX_ROW_NAMES = 12
#: At most so many rows of known class, or in known groups, are outlined.
MAX_MARKS = 300
KNOWN_LABEL = STATEMENTS["labels"]
#: Points of the grid on which regions are drawn, along each axis.
RESOLUTION = 200


def cluster_map(
    run: Run,
    name: str = "",
    *,
    like: Any = None,
    features: Sequence[Any] | None = None,
    regions: tuple[Any, Any] | None = None,
) -> Points:
    """Rows by cluster, with all that was known about them.

    Parameters
    ----------
    run : Run
        Rows, clusters and statements.
    name : str, default=""
        Name of the method.
    like : Points or array-like of shape (n_samples,), default=None
        Another map of the same rows, or labels of them, from which clusters take their colors.
    features : sequence of two names or numbers, default=None
        Features to draw; by default both of two, or principal components of more.
    regions : tuple of estimator and rows, default=None
        What predicts where new rows would go, and rows of the form that it was fitted to.
    """
    plane = rows_in_plane(run, features)
    rows = plane.rows
    color_of = _color_numbers(run, rows, like)
    shapes = shapes_of(run, plane.projection, rows)
    ringed = plane.ringed
    title = _title(run, name)
    return plane.points(
        title="The data with its clusters and constraints",
        text=title,
        heading=title,
        note=sampled_note(len(rows), run.n_rows),
        codes=np.append(color_of, -1)[run.clusters.codes[rows]],
        n_colors=max(int(color_of.max(initial=-1)) + 1, _n_colors_of(like)),
        names={int(color_of[code]): name for code, name in enumerate(run.clusters.names)},
        marks={**marked_rows(run.constraints, rows), Mark.WRONG: ringed},
        texts=_ringed_names(plane, ringed),
        shapes=[Shape(int(color_of[one.cluster]), one.mean, one.covariance) for one in shapes],
        centers=_centers(plane),
        regions=None if regions is None else _regions(*regions, plane, color_of),
    )


def color_numbers(drawn: Points, names: Sequence[str]) -> IntArray:
    """Number of the color of each cluster by its name; -1 for one that the map has not."""
    number = {name: code for code, name in drawn.names.items()}
    return np.array([number.get(name, -1) for name in names], np.int64)


def _title(run: Run, what: str) -> str:
    clusters = counted(len(run.clusters.names), "cluster")
    parts = [f"{what}: {clusters}" if what else clusters]
    if run.clusters.n_outside:
        parts.append(f"{counted(run.clusters.n_outside, 'row')} in none")
    stated, violated = run.violations.n_stated, run.violations.n
    if stated:
        parts.append(f"{violated:,} of {counted(stated, 'statement')} violated")
    return ", ".join(parts)


def _color_numbers(run: Run, rows: IntArray, like: Any) -> IntArray:
    """Number of the color of every cluster: its own number, or that of what it is to be like."""
    own = np.arange(len(run.clusters.names), dtype=np.int64)
    if like is None or not len(own):
        return own
    theirs = _codes_like(like, rows, run.n_rows)
    here = Partition(run.clusters.codes[rows], run.clusters.names)
    there = Partition(theirs, ("",) * max(int(theirs.max(initial=0)) + 1, _n_colors_of(like)))
    return match_classes(count_together(here, there))


def _codes_like(like: Any, rows: IntArray, n_rows: int) -> IntArray:
    """Number of a color for each of the rows; -1 where the other display has not drawn it."""
    if isinstance(like, Points) and like.rows is not None:
        codes = np.full(n_rows, -1, np.int64)
        there = like.rows[like.rows < n_rows]
        codes[there] = like.codes[: len(there)]
        return codes[rows]
    labels = plain_labels(like)
    if len(labels) != n_rows:
        raise SidelightError(
            f"like has {len(labels):,} labels but X has {n_rows:,} rows; give one for every row."
        )
    return clusters_of(labels).codes[rows]


def _n_colors_of(like: Any) -> int:
    """Number of colors of the other display, at least as many as the new one gets."""
    return int(getattr(like, "n_colors", 0))


def _regions(estimator: Any, X: Any, plane: Plane, color_of: IntArray) -> Regions:
    """Where new rows would go, of two features only."""
    run = plane.run
    if plane.projection.kind != "plane" or not hasattr(estimator, "predict"):
        raise InvalidRequest(
            "Regions are drawn for two features and an estimator that can predict; X has "
            f"{run.source.n_features} features, and {type(estimator).__name__} "
            f"{'can' if hasattr(estimator, 'predict') else 'cannot'} predict."
        )
    number = {name: color_of[code] for code, name in enumerate(run.clusters.numbers)}

    def colors(places: Array) -> IntArray:
        found = estimator.predict(as_fitted(estimator, X, places.astype(run.source.dtype)))
        values, codes = np.unique(np.asarray(found), return_inverse=True)
        known = np.array([number.get(str(value), -1) for value in values], np.int64)
        return known[codes.reshape(-1)]

    x, y = around(plane.projection.xy, RESOLUTION)
    return color_plane(x, y, colors)


def marked_rows(known: Constraints, rows: IntArray) -> dict[str, Array]:
    """Drawn rows of known class and of known groups, where these do not fill the picture."""
    kinds = {KNOWN_LABEL: known.labels, STATEMENTS["groups"]: known.groups}
    marked = {kind: codes[rows] >= 0 for kind, codes in kinds.items() if codes is not None}
    return {kind: said for kind, said in marked.items() if 0 < said.sum() <= MAX_MARKS}


def _ringed_names(plane: Plane, ringed: Array) -> list[Text]:
    """Ids of the ringed rows, where there are ids and not too many rows."""
    places = np.flatnonzero(ringed)
    if plane.run.ids is None or len(places) > MAX_ROW_NAMES:
        return []
    names = plane.run.row_names(plane.rows[places])
    at = plane.projection.xy[places]
    return [Text(shorten(name, 24), place, "wrong") for name, place in zip(names, at, strict=True)]


def _centers(plane: Plane) -> Array:
    """Centers or means of the clusters; of directions there are none between the rows."""
    estimator = plane.run.estimator
    for name in ("cluster_centers_", "means_"):
        centers = getattr(estimator, name, None)
        if centers is None or getattr(estimator, "_takes_directions", False):
            continue
        if np.ndim(centers) == 2 and centers.shape[1] == plane.run.source.n_features:
            return plane.projection.place(centers)
    return np.zeros((0, 2))
