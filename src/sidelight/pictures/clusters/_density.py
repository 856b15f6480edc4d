"""Contours of the density of a mixture, with the rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.special import logsumexp

from sidelight._typing import Array
from sidelight.engine import as_rows
from sidelight.exceptions import InvalidRequest
from sidelight.pictures._projection import Projection, dense
from sidelight.pictures._rows import (
    as_fitted,
    final_step,
    has_gaps,
    plane_of,
    readable,
    sampled_note,
)
from sidelight.pictures._run import feature_names_of, sample_rows
from sidelight.pictures._selection import MAX_POINTS
from sidelight.pictures.kinds._points import Heights, Points, around

#: Shares of the rows that the contours hold, of the lowest contour first.
SHARES = (0.95, 0.75, 0.5, 0.25)
#: Points of the grid along each axis.
RESOLUTION = 80
_MOST_FEATURES = 500  # for which matrices of all features are formed

Density = Callable[[Array], Array]


def density_points(
    estimator: Any,
    X: Any,
    feature_names: Sequence[str] | None = None,
    features: Sequence[Any] | None = None,
) -> Points:
    """Density of a fitted mixture, over the rows by component.

    The parameters are those of ``DensityDisplay.from_estimator``.
    """
    model, as_given = final_step(estimator)
    _check_density(model)
    rng = np.random.default_rng(0)  # the same rows give the same picture
    source = readable(X)
    rows = sample_rows(source.n_rows, MAX_POINTS, rng)
    taken = source.take(rows)
    names = feature_names_of(feature_names, X, model, source.n_features)
    filled = _filled(estimator, X, taken)
    if filled is taken:
        projection = plane_of(source, rows, names, rng, features)
    else:
        projection = plane_of(as_rows(filled), np.arange(len(rows)), names, rng, features)

    def score(places: Array) -> Array:
        return np.asarray(estimator.score_samples(as_fitted(estimator, X, places)), np.float64)

    density, kind = _density_of(score, model if as_given else None, projection, filled)
    codes = np.asarray(estimator.predict(as_fitted(estimator, X, taken)), np.int64)
    is_strip = projection.kind == "strip"
    heights = _curve(density, projection) if is_strip else _contours(density, projection)
    notes = ["" if is_strip else _KINDS[kind], sampled_note(len(rows), source.n_rows)]
    return Points(
        title="The density of the mixture",
        text=_KINDS[kind],
        heading=type(model).__name__,
        note=", ".join(note for note in notes if note),
        xy=_below(projection.xy, heights) if is_strip else projection.xy,
        codes=codes,
        n_colors=int(codes.max(initial=0)) + 1,
        rows=rows,
        heights=heights,
        axes="plane",
        axis_titles=(projection.titles[0], "density") if is_strip else projection.axis_titles,
    )


def _contours(density: Density, projection: Projection) -> Heights:
    """Log-density on a grid, with the levels above which shares of the rows lie."""
    x, y = around(projection.xy, RESOLUTION, 0.12)
    across, up = np.meshgrid(x, y)
    values = density(np.column_stack([across.ravel(), up.ravel()])).reshape(across.shape)
    levels = np.quantile(density(projection.xy), 1.0 - np.array(SHARES))
    return Heights(x, y, values, levels, [f"{share:.0%}" for share in SHARES])


def _curve(density: Density, projection: Projection) -> Heights:
    """Density of one feature."""
    (x,) = around(projection.xy[:, :1], 4 * RESOLUTION, 0.12)
    return Heights(x, None, np.exp(density(np.column_stack([x, np.zeros(len(x))]))), np.zeros(0))


def _below(xy: Array, curve: Heights) -> Array:
    """Places below a curve, with their random heights, so that rows do not hide each other."""
    heights = -(0.08 + 0.04 * xy[:, 1]) * float(curve.values.max())
    return np.column_stack([xy[:, 0], heights])


_KINDS = {
    "density": "density; lines hold so many of the rows",
    "marginal": "density of the rows in this plane; lines hold so many of them",
    "slice": "density along the plane through the mean of the rows",
}


def _check_density(model: Any) -> None:
    """Raise for what is no density of numbers."""
    name = type(model).__name__
    if not hasattr(model, "score_samples"):
        raise InvalidRequest(f"{name} is no mixture: it has no density to draw.")
    if not any(hasattr(model, fitted) for fitted in ("covariances_", "bandwidth_")):
        raise InvalidRequest(
            f"{name} is a mixture of counts, categories or directions, whose density has no "
            "contours between the rows; ClusterDisplay draws its clusters."
        )


def _filled(estimator: Any, X: Any, taken: Any) -> Any:
    """Put what the mixture expects where values are missing."""
    if not has_gaps(taken):
        return taken
    if not hasattr(estimator, "impute"):
        raise InvalidRequest(
            f"X misses values, which {type(estimator).__name__} does not fill in; fill them first."
        )
    return np.asarray(estimator.impute(as_fitted(estimator, X, taken)))


def _density_of(
    score: Density, model: Any, projection: Projection, rows: Any
) -> tuple[Density, str]:
    """Log-density at places of the picture, and what it is the density of."""
    if projection.kind == "strip":
        return lambda places: score(places[:, :1]), "density"
    if projection.kind == "plane":
        return score, "density"
    parts = None if model is None else _gaussians(model, len(projection.origin))
    if parts is not None and _is_density_of(score, parts, dense(rows[:20])):
        weights, means, covariances = parts
        axes = projection.axes
        shadow = (weights, (means - projection.origin) @ axes, axes.T @ covariances @ axes)
        return lambda places: _log_density(shadow, places), "marginal"
    return lambda places: score(projection.origin + places @ projection.axes.T), "slice"


Gaussians = tuple[Array, Array, Array]


def _gaussians(model: Any, n_features: int) -> Gaussians | None:
    """Weights, means and full covariances of a Gaussian mixture, if these describe it."""
    means = getattr(model, "means_", None)
    covariances = getattr(model, "covariances_", None)
    if means is None or covariances is None or n_features > _MOST_FEATURES:
        return None
    if means.shape[1] != n_features:  # components of a projection
        return None
    k, d = means.shape
    covariances = np.asarray(covariances, np.float64)
    kind = getattr(model, "covariance_type", "full" if covariances.ndim == 3 else "diag")
    if kind == "spherical":
        covariances = covariances[:, None, None] * np.eye(d)
    elif kind == "diag":
        covariances = covariances[:, None, :] * np.eye(d)
    if covariances.shape not in ((d, d), (k, d, d)):
        return None
    weights = np.asarray(model.weights_, np.float64)
    return weights, np.asarray(means, np.float64), np.broadcast_to(covariances, (k, d, d))


def _is_density_of(score: Density, parts: Gaussians, rows: Array) -> bool:
    """Whether the mixture is nothing but these Gaussians: some add other densities to them."""
    return bool(np.allclose(_log_density(parts, rows), score(rows), atol=1e-3))


def _log_density(parts: Gaussians, places: Array) -> Array:
    joint = []
    for weight, mean, covariance in zip(*parts, strict=True):
        cholesky = np.linalg.cholesky(covariance)
        scaled = np.linalg.solve(cholesky, (places - mean).T)
        volume = np.log(np.diag(cholesky)).sum() + 0.5 * len(mean) * np.log(2.0 * np.pi)
        with np.errstate(divide="ignore"):
            joint.append(np.log(weight) - volume - 0.5 * np.sum(scaled**2, axis=0))
    return np.asarray(logsumexp(joint, axis=0), np.float64)
