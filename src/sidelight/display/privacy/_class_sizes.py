"""How many rows are published alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from sidelight._typing import IntArray
from sidelight._words import counted
from sidelight.display._canvas import Display, Inks, check_matplotlib, set_titles
from sidelight.display._draw._bars import draw_bars
from sidelight.exceptions import InvalidRequest
from sidelight.pictures._rows import final_step
from sidelight.pictures.privacy._sizes import class_sizes
from sidelight.privacy import AnonymityCheck

#: More different sizes than these share bars.
MAX_BARS = 40


@dataclass(eq=False, repr=False, kw_only=True)
class ClassSizesDisplay(Display):
    """Number of classes of every size, with a line at the least size asked for.

    A class holds the rows that are published alike. Classes much larger than ``k`` lost more than
    they had to, those smaller break the promise.

    Parameters
    ----------
    sizes : ndarray of shape (n_classes,)
        Number of rows of every class.
    k : int or None
        Least number of rows that should be alike.
    n_suppressed : int
        Number of rows that are not published.

    Attributes
    ----------
    bars_ : BarContainer
        The bars.
    line_ : Line2D or None
        Line at ``k``.

    Examples
    --------
    >>> from sidelight.display import ClassSizesDisplay
    >>> from sidelight.privacy import check_anonymity
    >>> check = check_anonymity({"age": ["20-29"] * 3 + ["30-39"] * 2}, "age", k=2)
    >>> display = ClassSizesDisplay.from_check(check)
    >>> display.sizes.tolist(), display.k
    ([2, 3], 2)
    """

    sizes: IntArray
    k: int | None = None
    n_suppressed: int = 0
    title: str = ""

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Draw the sizes of the classes of a fitted anonymizer.

        Parameters
        ----------
        estimator : Anonymizer
            Fitted.
        """
        check_matplotlib(cls.__name__)
        model, _ = final_step(estimator)
        if not hasattr(model, "published_"):
            raise InvalidRequest(
                f"{type(model).__name__} publishes no table (it has no published_); Anonymizer "
                "does."
            )
        labels = np.asarray(model.labels_)
        return cls(
            sizes=np.bincount(labels[labels >= 0]),
            k=int(model.k),
            n_suppressed=int((labels < 0).sum()),
            title=type(model).__name__,
        ).plot(ax)

    @classmethod
    def from_check(cls, check: AnonymityCheck, *, ax: Any = None) -> Self:
        """Draw the sizes that :func:`sidelight.privacy.check_anonymity` counted.

        Parameters
        ----------
        check : AnonymityCheck
            What was counted.
        """
        check_matplotlib(cls.__name__)
        return cls(sizes=np.asarray(check.class_sizes), k=check.k).plot(ax)

    def _draw(self, inks: Inks) -> None:
        picture = class_sizes(self.sizes, self.k, MAX_BARS)
        drawn = draw_bars(self.ax_, picture, inks)
        self.bars_, self.line_ = drawn.bars, drawn.mark
        if self.line_ is not None:
            self.line_.set_label(f"k = {self.k}")
        note = f"{counted(self.n_suppressed, 'row')} left out" if self.n_suppressed else ""
        set_titles(self.ax_, picture.axis_titles, self.title, note)
