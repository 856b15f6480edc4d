"""What boosting keeps of its rounds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sidelight._typing import FloatArray


def curves_of(estimator: Any, attribute: str) -> dict[int, FloatArray]:
    """Numbers by round, of the only machine or of one for every pair of classes, by its number.

    Machines without any round are left out; so are numbers that are not finite.
    """
    values = getattr(estimator, attribute, None)
    if values is None:
        return {}
    several = isinstance(values, list | tuple) and any(np.ndim(one) for one in values)
    curves = [np.asarray(one, dtype=np.float64) for one in (values if several else [values])]
    return {
        number: one
        for number, one in enumerate(curves)
        if one.ndim == 1 and len(one) and np.isfinite(one).all()
    }


def mean_by_round(curves: Mapping[int, FloatArray]) -> FloatArray:
    """Mean of every round, over the machines that reached it."""
    rounds = range(max(len(curve) for curve in curves.values()))
    return np.array([np.mean([c[at] for c in curves.values() if len(c) > at]) for at in rounds])
