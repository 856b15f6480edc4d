"""All measures of a map at once, for reports and experiments."""

from __future__ import annotations

from typing import Any

import numpy as np

from sidelight.evaluation.maps._alignment import procrustes_distance, recovery_of
from sidelight.evaluation.maps._distances import residual_of, stress_of
from sidelight.evaluation.maps._neighborhoods import neighborhood_scores
from sidelight.evaluation.maps._pair import (
    MapPair,
    MapPoints,
    Metric,
    check_finite,
    check_lengths,
    check_neighbors,
    map_pair,
    matrix,
)
from sidelight.exceptions import SidelightError


def map_scores(
    X: Any,
    Z: Any,
    k: int = 5,
    *,
    geodesics: Any = None,
    truth: Any = None,
    metric: Metric = "euclidean",
) -> dict[str, float]:
    """Measures of a map in one dict, each of its own range and direction.

    Read more in the :doc:`user guide </evaluation/maps>`.

    Parameters
    ----------
    X : array of shape (n, n_features)
        The rows; with ``metric="precomputed"`` the distances between them, of shape (n, n).
    Z : array of shape (n, n_components)
        Coordinates of the rows. Rows of NaN, which have no place, are left out with a warning.
    k : int, default=5
        Number of neighbors, less than half of the number of rows.
    geodesics : array of shape (n, n), default=None
        Geodesic distances for the residual variance; by default it is that of the distances between
        the rows.
    truth : array of shape (n, dimension), default=None
        True coordinates, where they are known.
    metric : {"euclidean", "precomputed"}, default="euclidean"
        Whether ``X`` holds rows or distances.

    Returns
    -------
    dict
        ``trustworthiness``, ``continuity``, ``neighborhood_preservation`` (1 is best),
        ``residual_variance`` and ``sammon_stress`` (0 is best; NaN where not defined); with true
        coordinates also ``linear_recovery`` (1 is best) and ``procrustes_distance`` (0 is best).

    Examples
    --------
    >>> from sidelight.datasets import make_strip
    >>> from sidelight.evaluation import map_scores
    >>> strip = make_strip(100, random_state=0)
    >>> scores = map_scores(strip.data, strip.coordinates, truth=strip.coordinates)
    >>> round(scores["continuity"], 6), abs(round(scores["sammon_stress"], 6))
    (1.0, 0.0)
    """
    pair = map_pair(X, Z, metric)
    n = len(pair.rows)
    check_neighbors(k, n, (n - 1) // 2)
    scores = neighborhood_scores(pair, k)
    scores["residual_variance"] = residual_of(_with_geodesics(pair, geodesics))
    scores["sammon_stress"] = stress_of(pair)[0]
    if truth is not None:
        true = matrix(truth, "truth")
        check_lengths(true, np.asarray(Z), "truth", "Z")
        true = true[pair.rows]
        check_finite(true, "truth", pair.rows)
        scores["linear_recovery"] = recovery_of(true, pair.embedding.values)
        scores["procrustes_distance"] = procrustes_distance(true, pair.embedding.values)
    return scores


def _with_geodesics(pair: MapPair, geodesics: Any) -> MapPair:
    """The same pair with geodesics in the place of the data, where they are given."""
    if geodesics is None:
        return pair
    distances = matrix(geodesics, "geodesics")
    if distances.shape != (pair.n_given, pair.n_given):
        raise SidelightError(
            f"geodesics has shape {distances.shape}; there are {pair.n_given:,} rows."
        )
    distances = distances[np.ix_(pair.rows, pair.rows)]
    check_finite(distances, "geodesics", pair.rows)
    return MapPair(MapPoints(distances, True), pair.embedding, pair.rows, pair.n_given)
