"""What a map of clusters shows besides the rows: colors, marks, names, centers, regions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sidelight._typing import Array, IntArray
from sidelight._words import STATEMENTS, counted
from sidelight.constraints import Constraints
from sidelight.display._rows import as_fitted, in_plane, plain_labels
from sidelight.exceptions import InvalidRequest, SidelightError
from sidelight.pictures._matching import count_together, match_classes
from sidelight.pictures._projection import Projection
from sidelight.pictures._run import Partition, Run, shorten

if TYPE_CHECKING:
    pass

#: At most so many rows of violated statements are named.
MAX_ROW_NAMES = 12
#: At most so many rows of known class, or in known groups, are outlined.
MAX_MARKS = 300
KNOWN_LABEL = STATEMENTS["labels"]
#: Points of the grid on which regions are drawn, along each axis.
RESOLUTION = 200


def title_of(run: Run, what: str) -> str:
    clusters = counted(len(run.clusters.names), "cluster")
    parts = [f"{what}: {clusters}" if what else clusters]
    if run.clusters.n_outside:
        parts.append(f"{counted(run.clusters.n_outside, 'row')} in none")
    stated, violated = run.violations.n_stated, run.violations.n
    if stated:
        parts.append(f"{violated:,} of {counted(stated, 'statement')} violated")
    return ", ".join(parts)


def color_numbers_of(run: Run, rows: IntArray, like: Any) -> IntArray:
    """Number of the color of every cluster: its own number, or that of what it is to be like."""
    own = np.arange(len(run.clusters.names), dtype=np.int64)
    if like is None or not len(own):
        return own
    theirs = _codes_like(like, rows, run.n_rows)
    here = Partition(run.clusters.codes[rows], run.clusters.names)
    there = Partition(theirs, ("",) * max(int(theirs.max(initial=0)) + 1, n_colors_of(like)))
    return match_classes(count_together(here, there))


def _codes_like(like: Any, rows: IntArray, n_rows: int) -> IntArray:
    """Number of a color for each of the rows; -1 where the other display has not drawn it."""
    if hasattr(like, "n_colors"):
        codes = np.full(n_rows, -1, np.int64)
        there = like.rows[like.rows < n_rows]
        codes[there] = like.codes[: len(there)]
        return codes[rows]
    labels = plain_labels(like)
    if len(labels) != n_rows:
        raise SidelightError(
            f"like has {len(labels):,} labels but X has {n_rows:,} rows; give one for every row."
        )
    values, codes = np.unique(labels, return_inverse=True)
    outside = int(values.dtype.kind in "iu" and len(values) > 0 and values[0] == -1)
    return np.asarray(codes.reshape(-1)[rows] - outside, np.int64)


def n_colors_of(like: Any) -> int:
    """Number of colors of the other display, at least as many as the new one gets."""
    return int(getattr(like, "n_colors", 0))


def regions_of(estimator: Any, X: Any, run: Run, projection: Projection, color_of: IntArray) -> Any:
    """Where new rows would go: places along both axes, and numbers of colors on their grid."""
    if projection.kind != "plane" or not hasattr(estimator, "predict"):
        raise InvalidRequest(
            "Regions are drawn for two features and an estimator that can predict; X has "
            f"{run.source.n_features} features, and {type(estimator).__name__} "
            f"{'can' if hasattr(estimator, 'predict') else 'cannot'} predict."
        )
    low, high = projection.xy.min(axis=0), projection.xy.max(axis=0)
    margin = np.where(high > low, 0.05 * (high - low), 1.0)
    x, y = (np.linspace(a, b, RESOLUTION) for a, b in zip(low - margin, high + margin, strict=True))
    across, up = np.meshgrid(x, y)
    grid = np.column_stack([across.ravel(), up.ravel()]).astype(run.source.dtype)
    found = np.asarray(estimator.predict(as_fitted(estimator, X, grid)))
    number = {name: color_of[code] for code, name in enumerate(run.clusters.numbers)}
    values, codes = np.unique(found, return_inverse=True)
    colors = np.array([number.get(str(value), -1) for value in values], np.int64)
    return x, y, colors[codes.reshape(-1)].reshape(across.shape)


def marked_rows(known: Constraints, rows: IntArray) -> dict[str, Array]:
    """Drawn rows of known class and of known groups, where these do not fill the picture."""
    kinds = {KNOWN_LABEL: known.labels, STATEMENTS["groups"]: known.groups}
    marked = {kind: codes[rows] >= 0 for kind, codes in kinds.items() if codes is not None}
    return {kind: said for kind, said in marked.items() if 0 < said.sum() <= MAX_MARKS}


def ringed_names(run: Run, rows: IntArray, ringed: Array) -> dict[int, str]:
    """Ids of the ringed rows by their places, where there are ids and not too many rows."""
    places = np.flatnonzero(ringed)
    if run.ids is None or len(places) > MAX_ROW_NAMES:
        return {}
    names = run.row_names(rows[places])
    return {int(place): shorten(name, 24) for place, name in zip(places, names, strict=True)}


def centers_of(run: Run, projection: Projection) -> Array:
    """Centers or means of the clusters; of directions there are none between the rows."""
    estimator = run.estimator
    for name in ("cluster_centers_", "means_"):
        centers = getattr(estimator, name, None)
        if centers is None or getattr(estimator, "_takes_directions", False):
            continue
        if np.ndim(centers) == 2 and centers.shape[1] == run.source.n_features:
            return in_plane(centers, projection)
    return np.zeros((0, 2))
