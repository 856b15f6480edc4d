"""Gaussian components and learned distances as ellipses in the plane of a picture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sidelight._typing import IntArray
from sidelight.pictures._projection import Projection, dense
from sidelight.pictures._run import Run

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Shape:
    """A Gaussian component, or a ball of a learned distance, as a picture shows it.

    Attributes
    ----------
    cluster : int
        Number of its color.
    mean : ndarray of shape (2,)
        Its middle.
    covariance : ndarray of shape (2, 2)
        Its covariance in the plane of the picture.
    """

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


def shapes_of(run: Run, projection: Projection, rows: IntArray) -> list[Shape]:
    """Components of a Gaussian mixture, or balls of a learned metric; nothing for others."""
    if projection.kind == "strip":
        return []
    return shapes(run, projection) or _metric_shapes(run, projection, rows)


def _metric_shapes(run: Run, projection: Projection, rows: IntArray) -> list[Shape]:
    """Balls of a learned metric ``A``, as wide as the rows lie around their centers.

    With ``s`` the mean of ``(x - c)ᵀ A (x - c) / d`` they are those of a Gaussian of covariance
    ``s A⁻¹``, of which the picture shows the shadow.
    """
    metrics = cluster_metrics(run.estimator)
    if metrics is None or not hasattr(run.estimator, "cluster_centers_"):
        return []
    number = {name: code for code, name in enumerate(run.clusters.numbers)}
    labels = np.asarray(run.estimator.labels_)[rows]
    found = []
    for cluster, center in enumerate(dense(run.estimator.cluster_centers_)):
        if str(cluster) not in number:
            continue
        metric = metrics[cluster % len(metrics)]
        offsets = dense(run.source.take(rows[labels == cluster])) - center
        spread = float(squared_lengths(offsets, metric).sum()) / max(offsets.size, 1)
        covariance = projection.axes.T @ _inverse_times(metric, projection.axes)
        mean = projection.place(center[None])[0]
        found.append(Shape(number[str(cluster)], mean, spread * covariance))
    return found


def cluster_metrics(estimator: Any) -> list[Array] | None:
    """Learned metrics of a clusterer, a vector or a matrix each: one for all, or one per cluster.

    None where there is none, or where it is no quadratic form (cosine, Kullback-Leibler).
    """
    metrics = getattr(estimator, "metrics_", None)
    if metrics is None or getattr(estimator, "divergence", "euclidean") != "euclidean":
        return None
    per_cluster = getattr(estimator, "metric_type", "shared") == "per-cluster"
    return list(np.asarray(metrics, np.float64)) if per_cluster else [np.asarray(metrics)]


def squared_lengths(offsets: Array, metric: Array) -> Array:
    """``xᵀ A x`` of every row, for a matrix or for weights of the features."""
    weighted = offsets * metric if metric.ndim == 1 else offsets @ metric
    return np.asarray(np.maximum(np.sum(weighted * offsets, axis=1), 0.0), np.float64)


def _inverse_times(metric: Array, axes: Array) -> Array:
    """``A⁻¹`` times the axes; a direction of no weight would be endless, and is left out."""
    if metric.ndim == 2:
        return np.asarray(np.linalg.pinv(metric, hermitian=True) @ axes)
    inverse = np.divide(1.0, metric, out=np.zeros(len(metric)), where=metric > 0)
    return np.asarray(inverse[:, None] * axes)
