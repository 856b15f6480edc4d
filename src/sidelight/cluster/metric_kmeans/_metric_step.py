"""The metric that minimises ``tr(A S) - N log det A + c Dmax(A)``."""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_solve, cholesky, eigh

from sidelight._typing import Array
from sidelight.cluster.metric_kmeans._max_distance import MaxDistance
from sidelight.cluster.metric_kmeans._metrics import Metrics

#: Bisections of the way to a metric that would raise the objective.
HALVINGS = 12


def best_metric(scatter: Array, mass: float, floor: Array) -> tuple[Array, float]:
    """Return ``N S⁻¹`` and its log-determinant, the minimiser of ``tr(A S) - N log det A``.

    A frozen farthest pair can make the scatter indefinite: where it is less than ``floor`` it is
    lifted.
    """
    d = len(scatter)
    if scatter.ndim == 1:
        lifted = np.maximum(scatter, floor)
        return mass / lifted, float(d * np.log(mass) - np.sum(np.log(lifted)))
    try:
        factor = cholesky(scatter, lower=True)
    except np.linalg.LinAlgError:
        lengths, axes = eigh(scatter, floor)  # axes' floor axes = I
        frame = floor @ axes
        factor = cholesky((frame * np.maximum(lengths, 1.0)) @ frame.T, lower=True)
    inverse = mass * cho_solve((factor, True), np.eye(d))
    log_det = d * np.log(mass) - 2 * np.sum(np.log(np.diag(factor)))
    return (inverse + inverse.T) / 2, float(log_det)


def learn_metrics(
    metrics: Metrics,
    scatter: Array,
    mass: Array,
    counted: Array,
    largest: MaxDistance,
) -> Metrics:
    """Take the metric step for every metric.

    Parameters
    ----------
    metrics : Metrics
        The metrics so far.
    scatter : ndarray of the shape of the metrics
        What is linear in the metrics.
    mass : ndarray of shape (g,)
        Factors of ``-log det``.
    counted : ndarray of shape (g,)
        Factors of the largest distance.
    largest : MaxDistance
        What stands for the largest distance.
    """
    _, forms = largest.at(metrics)
    sums = scatter + counted.reshape(-1, *(1,) * (scatter.ndim - 1)) * forms
    found = [best_metric(s, float(n), n * metrics.blur) for s, n in zip(sums, mass, strict=True)]
    values, log_dets = zip(*found, strict=True)
    candidate = Metrics(np.array(values), np.array(log_dets), metrics.blur)
    if largest.linear or not counted.any():
        return candidate
    return _safeguarded(metrics, candidate, scatter, mass, counted, largest)


def objectives(
    metrics: Metrics, scatter: Array, mass: Array, counted: Array, largest: MaxDistance
) -> Array:
    """Return ``tr(A S) - N log det A + c Dmax(A)`` of every metric."""
    return metrics.inner(scatter) - mass * metrics.log_det + counted * largest.at(metrics)[0]


def _safeguarded(
    old: Metrics,
    new: Metrics,
    scatter: Array,
    mass: Array,
    counted: Array,
    largest: MaxDistance,
) -> Metrics:
    """Go back halfway from the new metrics to the old ones until the objective has fallen.

    The farthest pair is chosen anew for every try. Metrics for which nothing helps stay as they
    are; the objective is a sum over them.
    """
    before = objectives(old, scatter, mass, counted, largest)
    share = np.ones(len(mass))
    tried = new
    for _ in range(HALVINGS):
        risen = ~(objectives(tried, scatter, mass, counted, largest) <= before)
        if not risen.any():
            return tried
        share[risen] /= 2
        tried = _between(old, new, share)
    share[~(objectives(tried, scatter, mass, counted, largest) <= before)] = 0.0
    return _between(old, new, share)


def _between(old: Metrics, new: Metrics, share: Array) -> Metrics:
    """Return ``(1 - t) A_old + t A_new`` for every metric."""
    t = share.reshape(-1, *(1,) * (old.values.ndim - 1))
    values = (1 - t) * old.values + t * new.values
    log_det = np.linalg.slogdet(values)[1] if old.is_full else np.log(values).sum(axis=1)
    return Metrics(values, np.where(share == 0, old.log_det, log_det), old.blur)
