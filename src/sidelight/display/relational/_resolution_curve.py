"""Precision and recall of entity resolution over its threshold."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from sidelight.constraints.inner import plain, read_classes
from sidelight.display._display import Display
from sidelight.exceptions import InvalidRequest
from sidelight.pictures import Curves
from sidelight.pictures.inner import ResolutionCurve, curve_of, fitted_with, rates, threshold_of


class ResolutionCurveDisplay(Display, kind=Curves):
    """Precision, recall and F1 of the joined pairs over the threshold of the similarity.

    A threshold stands for the run that stops there, a vertical line for that of the fit. A fitted
    resolver has made the merges above its own threshold: fit with a lower one to see what comes
    below it.

    Examples
    --------
    >>> from sidelight.display import ResolutionCurveDisplay
    >>> display = ResolutionCurveDisplay.from_curve([0.9, 0.6], [1.0, 0.5], [0.5, 1.0])
    >>> [round(float(f1), 3) for f1 in display.drawn_.lines["F1"].get_ydata()]
    [0.667, 0.667]
    """

    @classmethod
    def from_estimator(cls, estimator: Any, truth: Any, *, ax: Any = None) -> Self:
        """Draw how the merges of a fitted resolver agree with the true entities.

        Parameters
        ----------
        estimator : AttributeResolution, RelationalResolution or CollectiveResolution
            Fitted; it has ``merges_``.
        truth : array-like of shape (n_samples,)
            True entity of every reference; -1, None or an empty word where it is unknown.
        """
        model = fitted_with(
            estimator, "merges_", "keeps no merges_; fit a resolver, such as CollectiveResolution."
        )
        codes, _ = read_classes(plain(truth), "truth")
        if len(codes) != len(model.labels_):
            raise InvalidRequest(
                f"truth holds {len(codes)} entities, but {len(model.labels_)} references were "
                "resolved."
            )
        picture = rates(curve_of(model.merges_, codes), threshold_of(model))
        return cls(picture.headed(type(model).__name__)).plot(ax)

    @classmethod
    def from_curve(cls, thresholds: Any, precision: Any, recall: Any, *, ax: Any = None) -> Self:
        """Draw a curve that was computed elsewhere.

        Parameters
        ----------
        thresholds : array-like of shape (m,)
            Thresholds, falling.
        precision, recall : array-like of shape (m,)
            Values at each of them.
        """
        parts = [np.asarray(values, np.float64) for values in (thresholds, precision, recall)]
        shapes = {part.shape for part in parts}
        if len(shapes) > 1 or parts[0].ndim != 1:
            raise InvalidRequest(
                "thresholds, precision and recall hold one number per threshold, got shapes "
                f"{', '.join(str(part.shape) for part in parts)}."
            )
        return cls(rates(ResolutionCurve(*parts), None)).plot(ax)
