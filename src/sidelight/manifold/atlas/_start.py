"""Where the search begins: coordinates of the rows, and rough clusters for the charts."""

from __future__ import annotations

from typing import Any

import numpy as np

from sidelight._typing import Array
from sidelight._words import counted, setting
from sidelight.cluster import KMeans
from sidelight.exceptions import SidelightError

#: So many steps of k-means make rough clusters.
ROUGH_STEPS = 20

#: Rows per coordinate and chart by default, and the largest default number of charts.
ROWS_PER_PARAMETER = 8
MOST_CHARTS = 50


def default_n_charts(n_rows: int, d: int) -> int:
    """As many charts as leave each enough rows to fit its ``d + 2`` parameters per column."""
    return int(np.clip(round(n_rows / (ROWS_PER_PARAMETER * (d + 2))), 1, MOST_CHARTS))


def principal_places(rows: Array, d: int) -> Array:
    """Principal coordinates, white; random ones beyond the rank of the rows would be noise: 0."""
    centered = rows - rows.mean(axis=0)
    left, lengths, _ = np.linalg.svd(centered, full_matrices=False)
    places = np.zeros((len(rows), d))
    useful = int(np.sum(lengths[:d] > 1e-10 * max(lengths[0], 1e-300)))
    places[:, :useful] = left[:, :useful] * np.sqrt(len(rows))
    return places


def rough_clusters(
    rows: Array, places: Array, k: int, weights: Array, rng: np.random.RandomState
) -> Array:
    """k-means on rows and coordinates together, each half of the variance.

    Rows of which a view is missing are clustered by their coordinates alone: ``rows`` has no
    columns then.
    """
    parts = [_standardized(part) for part in (places, rows) if part.shape[1]]
    model = KMeans(k, n_init=1, max_iter=ROUGH_STEPS, random_state=rng)
    labels: Array = model.fit(np.hstack(parts), sample_weight=weights).labels_
    return labels


def _standardized(columns: Array) -> Array:
    """Columns of variance 1 over all of them together; constant ones are left out by 0."""
    deviations = columns.std(axis=0)
    scale = np.where(deviations > 0, deviations, 1.0) * np.sqrt(columns.shape[1])
    return np.asarray((columns - columns.mean(axis=0)) / scale)


def checked_anchors(anchors: Any, n_rows: int, d: int) -> tuple[Array, Array]:
    """Which rows have known coordinates, and the coordinates of all rows (0 where unknown)."""
    if anchors is None:
        return np.zeros(n_rows, dtype=bool), np.zeros((n_rows, d))
    places = np.asarray(anchors, dtype=np.float64)
    if places.shape != (n_rows, d):
        raise SidelightError(
            f"anchors must have the shape ({n_rows}, {d}), a row of coordinates for every row and "
            f"NaN where they are unknown, got {places.shape}."
        )
    known = np.asarray(~np.isnan(places).any(axis=1))
    partly = np.flatnonzero(~known & ~np.isnan(places).all(axis=1))
    if len(partly):
        raise SidelightError(
            f"The anchor of row {partly[0]} has NaN in some coordinates only; give all of them or "
            "none."
        )
    if not np.isfinite(places[known]).all():
        bad = np.flatnonzero(np.isinf(places).any(axis=1))[0]
        raise SidelightError(f"The anchor of row {bad} is infinite; coordinates are finite.")
    return known, np.where(known[:, None], places, 0.0)


def checked_init(init: Any, n_rows: int, d: int) -> Array:
    """Coordinates to start from that the user gave."""
    places = np.asarray(init, dtype=np.float64)
    if places.shape != (n_rows, d):
        raise SidelightError(
            f"{setting('init')} must hold {counted(d, 'coordinate')} of each of the "
            f"{counted(n_rows, 'row')}, shape ({n_rows}, {d}), got {places.shape}."
        )
    if not np.isfinite(places).all():
        bad = np.flatnonzero(~np.isfinite(places).all(axis=1))[0]
        raise SidelightError(f"{setting('init')} has a coordinate of row {bad} that is not finite.")
    return places


def aligned_to_anchors(places: Array, known: Array, anchors: Array) -> Array:
    """Coordinates mapped so that those of known rows come near to their anchors.

    An affine map where there are enough anchors in general position to fix one; a rotation with a
    scale and a shift where there are two; a shift for one.
    """
    d = places.shape[1]
    source, target = places[known], anchors[known]
    center, goal = source.mean(axis=0), target.mean(axis=0)
    offsets, wanted = source - center, target - goal
    if len(source) >= 2 * (d + 1) and np.linalg.cond(offsets) < 1e3:
        linear = np.linalg.lstsq(offsets, wanted, rcond=None)[0]
        if np.linalg.cond(linear) < 1e3:
            return (places - center) @ linear + goal
    spread = float(np.sum(offsets**2))
    if len(source) < 2 or spread == 0 or not wanted.any():
        return places - center + goal
    left, lengths, right = np.linalg.svd(offsets.T @ wanted)
    return (places - center) @ (lengths.sum() / spread * left @ right) + goal
