"""The map of the rows by class, with the regions in which new rows would get each class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from sidelight.constraints import Constraints
from sidelight.display._display import Display
from sidelight.pictures import Points
from sidelight.pictures.inner import class_map


class DecisionDisplay(Display, kind=Points):
    """Rows by class and where new rows would get which; given classes stand out, doubts are hollow.

    Make it by :meth:`from_estimator`. Two features are drawn as they are, one as a strip with
    random heights, more on their first two principal components; the regions are then those of the
    plane through the mean of the rows, and the title says so. Of many rows 4,000 are drawn, those
    that labels and pairs mention first.

    In doubt (the mark ``"doubtful"``) are rows whose class was not given and for which another is
    nearly as good: its probability less than 20% behind, or, without probabilities, the least
    decided twentieth. Rows of a given class are the mark ``"given"``; lines are called
    ``"must-link"``, ``"cannot-link"``, ``"violated must-link"`` and ``"violated cannot-link"``.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from sidelight.display import DecisionDisplay
    >>> from sidelight.semi_supervised import HarmonicClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> known = np.where(np.arange(150) % 10 == 0, y, -1)
    >>> model = HarmonicClassifier().fit(X[:, 2:], known)
    >>> display = DecisionDisplay.from_estimator(model, X[:, 2:], known)
    >>> display.ax_.get_title()
    'HarmonicClassifier: 15 of 150 rows labeled'
    """

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        constraints: Constraints | None = None,
        feature_names: Sequence[str] | None = None,
        features: Sequence[Any] | None = None,
        regions: bool = True,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw the classes that a fitted classifier gives to rows.

        Parameters
        ----------
        estimator : fitted classifier
            Of Sidelight or scikit-learn, a search or a pipeline that ends in one.
        X : array, CSR matrix or data frame of shape (n_samples, n_features)
            The rows: those of the fit, or others.
        y : array-like of shape (n_samples,), default=None
            Known classes; -1, None, NaN or an empty word where a row is unlabeled.
        constraints : Constraints, default=None
            What was known: pairs, which are drawn, and labels, which count like those of ``y``.
        regions : bool, default=True
            Whether to shade where new rows would get each class.
        """
        picture = class_map(estimator, X, y, constraints, feature_names, features, regions=regions)
        return cls(picture).plot(ax, **options)
