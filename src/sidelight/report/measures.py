"""Measures that fit a map."""

from __future__ import annotations

from typing import Any

import numpy as np

MAX_ROWS = 2_000  # whose geodesics are compared with distances on the map


def residual_variance_of(estimator: Any, plain: float) -> float:
    """Residual variance of the distances that a map is to keep; NaN where they are not known.

    ``plain`` is that of the distances between the rows, which maps of a neighborhood graph do not
    mean to keep.
    """
    found = getattr(estimator, "residual_variances_", None)
    if found is not None and len(found):
        return float(np.asarray(found, dtype=np.float64)[-1])
    if hasattr(estimator, "geodesics") and len(estimator.embedding_) <= MAX_ROWS:
        return _of_geodesics(estimator)
    is_of_graph = hasattr(estimator, "graph_") or hasattr(estimator, "graph")
    return float("nan") if is_of_graph else plain


def _of_geodesics(estimator: Any) -> float:
    from sidelight.evaluation import residual_variance
    from sidelight.exceptions import SidelightError

    places = np.asarray(estimator.embedding_, dtype=np.float64)
    kept = np.flatnonzero(np.isfinite(places).all(axis=1))
    geodesics = np.asarray(estimator.geodesics(), dtype=np.float64)
    if geodesics.shape != (len(places), len(places)):  # of landmarks only
        return float("nan")
    try:
        return residual_variance(geodesics[np.ix_(kept, kept)], places[kept])
    except SidelightError:  # few rows, or infinite between parts
        return float("nan")
