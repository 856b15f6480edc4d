"""Contours of the density of a mixture, with the rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.special import logsumexp

from sidelight._typing import Array, IntArray
from sidelight.display._canvas import Display, Inks, check_matplotlib, set_titles
from sidelight.display._draw._points import draw_points
from sidelight.engine import as_rows
from sidelight.exceptions import InvalidRequest
from sidelight.pictures._points import Points
from sidelight.pictures._projection import Projection, dense
from sidelight.pictures._rows import (
    as_fitted,
    final_step,
    has_gaps,
    plane_of,
    readable,
    sampled_note,
)
from sidelight.pictures._run import sample_rows
from sidelight.pictures._selection import MAX_POINTS

#: Shares of the rows that the contours hold.
SHARES = (0.25, 0.5, 0.75, 0.95)
#: Points of the grid along each axis.
RESOLUTION = 80
_MOST_FEATURES = 500  # for which matrices of all features are formed


@dataclass(eq=False, repr=False, kw_only=True)
class DensityDisplay(Display):
    """Density of a mixture as contours that hold 25, 50, 75 and 95 percent of the rows.

    The density of one feature is drawn as a curve above the rows, that of two as contours. Of more
    features the picture shows the plane of the first two principal components of the rows, or of
    two features: for Gaussian mixtures the density of the projected rows (everything else summed
    out exactly), for other mixtures the density along the plane through the mean of the rows; the
    title says which.

    Parameters
    ----------
    x : ndarray of shape (nx,)
        Places of the grid along the first axis.
    y : ndarray of shape (ny,) or None
        Places of the grid along the second axis; None for one feature.
    log_density : ndarray of shape (ny, nx) or (nx,)
        Log-density on the grid.
    levels : ndarray of shape (m,)
        Log-densities of the contours, ascending.
    shares : sequence of float
        Share of the rows that lies within each contour, as many as levels.
    xy : ndarray of shape (n_drawn, 2)
        Places of the drawn rows.
    codes : ndarray of int, shape (n_drawn,)
        Most probable component of each, which is the number of its color.
    kind : {"density", "marginal", "slice"}
        Density of the features themselves, of their projection, or along a plane.
    axis_titles : tuple of str
        Titles of the axes.
    title, note : str
        Written above the picture.

    Attributes
    ----------
    points_ : PathCollection
        The rows.
    contours_ : QuadContourSet or None
        The contours, of two and more features.
    line_ : Line2D or None
        The density of one feature.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sidelight.display import DensityDisplay
    >>> from sidelight.mixture import GaussianMixture
    >>> X = load_iris().data
    >>> display = DensityDisplay.from_estimator(GaussianMixture(3, random_state=0).fit(X), X)
    >>> display.kind
    'marginal'
    """

    x: Array
    y: Array | None
    log_density: Array
    levels: Array
    shares: Sequence[float]
    xy: Array
    codes: IntArray
    kind: str = "density"
    axis_titles: tuple[str, str] = ("", "")
    title: str = ""
    note: str = ""

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        feature_names: Sequence[str] | None = None,
        features: Sequence[Any] | None = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw the density of a fitted mixture around the rows.

        Parameters
        ----------
        estimator : fitted mixture
            A mixture of Gaussians or of kernel densities, or a pipeline that ends in one.
        X : array, data frame or RowSource of shape (n_samples, n_features)
            Rows, of the fit or new ones; of more than 4,000 a random sample is drawn.
        feature_names : sequence of str, default=None
            Names of the features; by default those of the data frame, or of the fit.
        features : sequence of two names or numbers, default=None
            Features to draw; by default both of two, or principal components of more.
        **options : dict
            Passed on to :meth:`plot`.
        """
        check_matplotlib(cls.__name__)
        model, as_given = final_step(estimator)
        _check_density(model)
        rng = np.random.default_rng(0)  # the same rows give the same picture
        source = readable(X)
        n_rows = source.n_rows
        rows = sample_rows(n_rows, MAX_POINTS, rng)
        taken = source.take(rows)
        names = feature_names or _names(X, model, source.n_features)
        filled = _filled(estimator, X, taken)
        if filled is taken:
            projection = plane_of(source, rows, names, rng, features)
        else:
            projection = plane_of(as_rows(filled), np.arange(len(rows)), names, rng, features)

        def score(places: Array) -> Array:
            return np.asarray(estimator.score_samples(as_fitted(estimator, X, places)), np.float64)

        density, kind = _density_of(score, model if as_given else None, projection, filled)
        grid = _grid(projection)
        at_rows = density(projection.xy)
        levels = np.quantile(at_rows, 1.0 - np.array(SHARES))
        return cls(
            x=grid[0],
            y=None if len(grid) == 1 else grid[1],
            log_density=_on_grid(density, grid),
            levels=levels[::-1],
            shares=SHARES[::-1],
            xy=projection.xy,
            codes=np.asarray(estimator.predict(as_fitted(estimator, X, taken)), np.int64),
            kind=kind,
            axis_titles=projection.axis_titles,
            title=type(model).__name__,
            note=", ".join(filter(None, [_said(kind, grid), sampled_note(len(rows), n_rows)])),
        ).plot(ax, **options)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw.

        Parameters
        ----------
        **kwargs : dict
            Passed on to ``Axes.scatter``, such as ``s`` or ``alpha``.

        Returns
        -------
        DensityDisplay
            The display itself.
        """
        inks = self._begin(ax)
        self.contours_ = self.line_ = None
        titles = self.axis_titles
        if self.y is None:
            titles = (titles[0], "density")
            self._draw_curve(inks, kwargs)
        else:
            self._draw_contours(inks, kwargs)
        set_titles(self.ax_, titles, self.title, self.note)
        return self

    def _draw_contours(self, inks: Inks, kwargs: dict[str, Any]) -> None:
        from matplotlib.colors import to_rgba

        assert self.y is not None
        levels, first = np.unique(self.levels, return_index=True)
        top = max(float(self.log_density.max()), float(levels[-1])) + 1e-9
        shades = [to_rgba(inks.ink, 0.05 * (number + 1)) for number in range(len(levels))]
        grid = (self.x, self.y, self.log_density)
        self.ax_.contourf(*grid, levels=[*levels, top], colors=shades, zorder=0.5)
        self.contours_ = self.ax_.contour(
            *grid, levels=levels, colors=inks.soft, linewidths=1.0, linestyles="solid", zorder=3
        )
        self.points_ = self._draw_rows(self.xy, inks, {"s": 12.0} | kwargs)
        names = {level: f"{self.shares[k]:.0%}" for level, k in zip(levels, first, strict=True)}
        self.ax_.clabel(self.contours_, fmt=names, fontsize="x-small", inline_spacing=2)

    def _draw_curve(self, inks: Inks, kwargs: dict[str, Any]) -> None:
        density = np.exp(self.log_density)
        (self.line_,) = self.ax_.plot(self.x, density, color=inks.ink, linewidth=1.8)
        self.ax_.fill_between(self.x, density, color=inks.faint, alpha=0.2, linewidth=0)
        # Below the curve, and with their random heights, so that rows do not hide each other.
        heights = -(0.08 + 0.04 * self.xy[:, 1]) * float(density.max())
        below = np.column_stack([self.xy[:, 0], heights])
        self.points_ = self._draw_rows(below, inks, {"s": 10.0} | kwargs)
        self.ax_.axhline(0.0, color=inks.faint, linewidth=0.8)
        self.ax_.set_yticks([tick for tick in self.ax_.get_yticks() if tick >= 0])

    def _draw_rows(self, xy: Array, inks: Inks, style: dict[str, Any]) -> Any:
        n_colors = int(self.codes.max(initial=0)) + 1
        rows = Points(title="The rows", text="", xy=xy, codes=self.codes, n_colors=n_colors)
        return draw_points(self.ax_, rows, inks, **style).points


_KINDS = {
    "density": "density; lines hold so many of the rows",
    "marginal": "density of the rows in this plane; lines hold so many of them",
    "slice": "density along the plane through the mean of the rows",
}


def _said(kind: str, grid: Sequence[Array]) -> str:
    """What the picture shows; a curve needs no words."""
    return "" if len(grid) == 1 else _KINDS[kind]


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


def _names(X: Any, model: Any, n_features: int) -> list[str]:
    for names in (getattr(X, "columns", None), getattr(model, "feature_names_in_", None)):
        if names is not None and len(names) == n_features:
            return [str(name) for name in names]
    return [f"feature {number}" for number in range(n_features)]


def _filled(estimator: Any, X: Any, taken: Any) -> Any:
    """Put what the mixture expects where values are missing."""
    if not has_gaps(taken):
        return taken
    if not hasattr(estimator, "impute"):
        raise InvalidRequest(
            f"X misses values, which {type(estimator).__name__} does not fill in; fill them first."
        )
    return np.asarray(estimator.impute(as_fitted(estimator, X, taken)))


Density = Callable[[Array], Array]


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


def _grid(projection: Projection) -> list[Array]:
    """Places along each axis that means something, a little beyond the rows."""
    n_axes = 1 if projection.kind == "strip" else 2
    low, high = projection.xy[:, :n_axes].min(axis=0), projection.xy[:, :n_axes].max(axis=0)
    margin = np.where(high > low, 0.12 * (high - low), 1.0)
    number = 4 * RESOLUTION if n_axes == 1 else RESOLUTION
    return [np.linspace(a, b, number) for a, b in zip(low - margin, high + margin, strict=True)]


def _on_grid(density: Density, grid: Sequence[Array]) -> Array:
    if len(grid) == 1:
        return density(np.column_stack([grid[0], np.zeros(len(grid[0]))]))
    across, up = np.meshgrid(*grid)
    return density(np.column_stack([across.ravel(), up.ravel()])).reshape(across.shape)
