"""Contours of the density of a mixture, with the rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from sidelight.display._display import Display
from sidelight.pictures import Points
from sidelight.pictures.inner import density_points


class DensityDisplay(Display, kind=Points):
    """Density of a mixture as contours that hold 25, 50, 75 and 95 percent of the rows.

    The density of one feature is drawn as a curve above the rows, that of two as contours. Of more
    features the picture shows the plane of the first two principal components of the rows, or of
    two features: for Gaussian mixtures the density of the projected rows (everything else summed
    out exactly), for other mixtures the density along the plane through the mean of the rows; the
    title says which. The ``heights`` of the picture are the density of one feature, and the
    log-density of more; rows have the color of their most probable component.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sidelight.display import DensityDisplay
    >>> from sidelight.mixture import GaussianMixture
    >>> X = load_iris().data
    >>> display = DensityDisplay.from_estimator(GaussianMixture(3, random_state=0).fit(X), X)
    >>> display.picture.note
    'density of the rows in this plane; lines hold so many of them'
    """

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
        """
        return cls(density_points(estimator, X, feature_names, features)).plot(ax, **options)
