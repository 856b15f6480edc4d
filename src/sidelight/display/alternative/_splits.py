"""The same rows, colored by several splits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from sidelight.constraints import Constraints, as_known_splits
from sidelight.display._canvas import check_matplotlib
from sidelight.display._display import Display
from sidelight.display._panels import axes_of, draw_panels
from sidelight.exceptions import InvalidRequest
from sidelight.pictures import Points
from sidelight.pictures.inner import final_step, split_maps

#: So many panels stand side by side.
ACROSS = 4


class SplitsDisplay(Display, kind=Points):
    """The same map of the rows side by side, colored by known splits and by found ones.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        The first panel, and the figure.
    axes_ : list of Axes
        All panels; ``picture`` and ``drawn_`` have one entry for each.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.cluster import CondEns, find_alternatives
    >>> from sidelight.display import SplitsDisplay
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> left = X[:, 0] < 0
    >>> found = find_alternatives(CondEns(2, random_state=0), X, 2, known={"left": left})
    >>> display = SplitsDisplay.from_estimators(found, X, known={"left": left})
    >>> [picture.heading for picture in display.picture]
    ['left', 'alternative 1', 'alternative 2']
    """

    @classmethod
    def from_estimators(
        cls,
        estimators: Sequence[Any],
        X: Any,
        *,
        known: Any = None,
        constraints: Constraints | None = None,
        feature_names: Sequence[str] | None = None,
        features: Sequence[Any] | None = None,
        like: Any = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw the clusters of several estimators beside the splits that were known.

        Parameters
        ----------
        estimators : sequence of fitted clusterers
            What :func:`sidelight.cluster.find_alternatives` returned.
        known : KnownSplits, labels, list of labels, mapping or table, default=None
            Known splits; columns of numbers are left out.
        """
        models = [final_step(one)[0] for one in estimators]
        if not models or not all(hasattr(model, "labels_") for model in models):
            raise InvalidRequest("one fitted clusterer at least is needed (with labels_).")
        given = as_known_splits(known, len(models[0].labels_), X)
        found = [model.labels_ for model in models]
        like = getattr(like, "picture", like)
        maps = split_maps(X, given, found, constraints, feature_names, features, like)
        return cls(maps).plot(ax, **options)

    def plot(self, ax: Any = None, **options: Any) -> Self:
        """Draw every split in axes of its own.

        Parameters
        ----------
        ax : sequence of matplotlib Axes, default=None
            Axes to draw in, one per split; a new figure by default.
        """
        check_matplotlib(type(self).__name__)
        self.axes_ = axes_of(ax, len(self.picture), "split", across=ACROSS, size=(3.6, 3.2))
        self.ax_, self.figure_ = self.axes_[0], self.axes_[0].figure
        self.drawn_ = draw_panels(self.axes_, self.picture, options)
        return self
