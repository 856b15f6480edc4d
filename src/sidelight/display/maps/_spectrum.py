"""How many coordinates a map needs: eigenvalues, or residual variance by dimension."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from sidelight.display._display import Display
from sidelight.evaluation import residual_variance
from sidelight.exceptions import InvalidRequest
from sidelight.pictures import Curves
from sidelight.pictures.inner import coordinates_of, final_step, spectrum


class SpectrumDisplay(Display, kind=Curves):
    """Eigenvalues of a map, or residual variance, by the number of coordinates.

    Both fall, and level off behind the dimension of the data. A line marks a chosen number.

    Examples
    --------
    >>> from sidelight.datasets import make_swiss_roll
    >>> from sidelight.display import SpectrumDisplay
    >>> roll = make_swiss_roll(100, random_state=0)
    >>> display = SpectrumDisplay.from_coordinates(roll.geodesics(), roll.coordinates)
    >>> display.ax_.get_ylabel()
    'residual variance'
    """

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Draw ``eigenvalues_`` of a fitted estimator.

        Fit with more coordinates than you expect to need: the eigenvalues are those of the fit.

        Parameters
        ----------
        estimator : fitted estimator
            One with ``eigenvalues_``, or a pipeline or search that ends with it.
        """
        final, _ = final_step(estimator)
        name = type(final).__name__
        values = np.asarray(getattr(final, "eigenvalues_", ()), dtype=np.float64)
        if not np.isfinite(values).any():
            raise InvalidRequest(
                f"{name} has no eigenvalues_; SpectrumDisplay.from_coordinates draws the residual "
                "variance of any map."
            )
        return cls(spectrum({name: values}, None, "eigenvalue")).plot(ax)

    @classmethod
    def from_coordinates(cls, D: Any, Z: Any, *, chosen: int | None = None, ax: Any = None) -> Self:
        """Draw the residual variance of the first coordinate of a map, the first two, and so on.

        Parameters
        ----------
        D : array of shape (n_samples, n_samples)
            Distances that the map is to keep, such as geodesics.
        Z : array of shape (n_samples, n_components), or dict of str to such arrays
            Coordinates, the most important first; of several maps by their names.
        chosen : int, default=None
            Number of coordinates to mark.
        """
        maps = Z if isinstance(Z, dict) else {"": Z}
        curves = {}
        for name, one in maps.items():
            places = coordinates_of(one)
            curves[str(name)] = np.array(
                [residual_variance(D, places[:, : d + 1]) for d in range(places.shape[1])]
            )
        return cls(spectrum(curves, chosen, "residual variance")).plot(ax)
