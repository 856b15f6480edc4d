"""Measures that fit a map."""

from __future__ import annotations

from typing import Any

import numpy as np


def residual_variance_of(estimator: Any, plain: float) -> float:
    """Residual variance of the distances that a map is to keep; NaN where they are not known.

    ``plain`` is that of the distances between the rows, which maps of a neighborhood graph do not
    mean to keep.
    """
    found = getattr(estimator, "residual_variances_", None)
    if found is not None and len(found):
        return float(np.asarray(found, dtype=np.float64)[-1])
    return float("nan") if hasattr(estimator, "graph_") else plain
