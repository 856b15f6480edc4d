"""How many rows are published alike."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from sidelight.display._display import Display
from sidelight.pictures import Bars
from sidelight.pictures.inner import class_sizes, fitted_with
from sidelight.privacy import AnonymityCheck

#: More different sizes than these share bars.
MAX_BARS = 40


class ClassSizesDisplay(Display, kind=Bars):
    """Number of classes of every size, with a line at the least size asked for.

    A class holds the rows that are published alike. Classes much larger than ``k`` lost more than
    they had to, those smaller break the promise.

    Examples
    --------
    >>> from sidelight.display import ClassSizesDisplay
    >>> from sidelight.privacy import check_anonymity
    >>> check = check_anonymity({"age": ["20-29"] * 3 + ["30-39"] * 2}, "age", k=2)
    >>> display = ClassSizesDisplay.from_check(check)
    >>> display.picture.names, display.picture.texts
    (['2', '3'], ['1', '1'])
    """

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Draw the sizes of the classes of a fitted anonymizer.

        Parameters
        ----------
        estimator : Anonymizer
            Fitted.
        """
        model = fitted_with(
            estimator, "published_", "publishes no table (it has no published_); Anonymizer does."
        )
        labels = np.asarray(model.labels_)
        sizes, n_suppressed = np.bincount(labels[labels >= 0]), int((labels < 0).sum())
        picture = class_sizes(sizes, int(model.k), MAX_BARS, n_suppressed)
        return cls(picture.headed(type(model).__name__)).plot(ax)

    @classmethod
    def from_check(cls, check: AnonymityCheck, *, ax: Any = None) -> Self:
        """Draw the sizes that :func:`sidelight.privacy.check_anonymity` counted.

        Parameters
        ----------
        check : AnonymityCheck
            What was counted.
        """
        return cls(class_sizes(check.class_sizes, check.k, MAX_BARS)).plot(ax)
