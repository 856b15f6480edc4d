"""Gaussian components in the coordinates of a picture."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sidelight.pictures._projection import Projection
from sidelight.pictures._run import Run

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Shape:
    """A Gaussian component as the picture shows it."""

    cluster: int
    mean: Array
    covariance: Array


def shapes(run: Run, projection: Projection) -> list[Shape]:
    """Gaussian components in the coordinates of the picture; nothing for other methods."""
    estimator = run.estimator
    means, covariances = (getattr(estimator, name, None) for name in ("means_", "covariances_"))
    if means is None or covariances is None or projection.kind == "strip":
        return []
    means = np.asarray(means, np.float64)
    if means.shape[1] != len(projection.origin):
        return []
    number = {name: code for code, name in enumerate(run.clusters.numbers)}
    kind = getattr(estimator, "covariance_type", "full")
    found = []
    for s, mean in enumerate(means):
        if str(s) in number:
            covariance = _matrix(np.asarray(covariances, np.float64), kind, s, len(mean))
            found.append(
                Shape(
                    cluster=number[str(s)],
                    mean=(mean - projection.origin) @ projection.axes,
                    covariance=projection.axes.T @ covariance @ projection.axes,
                )
            )
    return found


def _matrix(covariances: Array, kind: str, component: int, d: int) -> Array:
    """Covariance of one component, whatever kind the mixture has."""
    if kind == "tied":
        return covariances
    own = covariances[component]
    return own if own.ndim == 2 else np.eye(d) * own
