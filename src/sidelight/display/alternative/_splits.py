"""The same rows, colored by several splits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from sidelight._typing import Array
from sidelight.constraints import as_known_splits
from sidelight.display._canvas import Display, check_matplotlib
from sidelight.display._clusters import ClusterDisplay
from sidelight.exceptions import InvalidRequest
from sidelight.pictures._rows import final_step

#: So many panels stand side by side.
ACROSS = 4


@dataclass(eq=False, repr=False, kw_only=True)
class SplitsDisplay(Display):
    """The same map of the rows side by side, colored by known splits and by found ones.

    Parameters
    ----------
    X : array, CSR matrix or data frame of shape (n_samples, n_features)
        The rows.
    splits : dict of str to ndarray of shape (n_samples,)
        Classes or clusters of the rows, by the name of the split.
    options : dict
        Passed on to :meth:`ClusterDisplay.from_labels`, such as ``features``.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        The first panel, and the figure.
    axes_ : ndarray of Axes
        All panels.
    displays_ : dict of str to ClusterDisplay
        What was drawn in each.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.cluster import CondEns, find_alternatives
    >>> from sidelight.display import SplitsDisplay
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> left = X[:, 0] < 0
    >>> found = find_alternatives(CondEns(2, random_state=0), X, 2, known={"left": left})
    >>> display = SplitsDisplay.from_estimators(found, X, known={"left": left})
    >>> list(display.displays_)
    ['left', 'alternative 1', 'alternative 2']
    """

    X: Any
    splits: dict[str, Array]
    options: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def from_estimators(
        cls,
        estimators: Sequence[Any],
        X: Any,
        *,
        known: Any = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw the clusters of several estimators beside the splits that were known.

        Parameters
        ----------
        estimators : sequence of fitted clusterers
            What :func:`sidelight.cluster.find_alternatives` returned.
        X : array, CSR matrix or data frame of shape (n_samples, n_features)
            The rows that they were fitted to.
        known : KnownSplits, labels, list of labels, mapping or table, default=None
            Known splits; columns of numbers are left out.
        ax : sequence of matplotlib Axes, default=None
            Axes to draw in, one per split; a new figure by default.
        **options : dict
            Passed on to :meth:`ClusterDisplay.from_labels`, such as ``features``.
        """
        check_matplotlib(cls.__name__)
        models = [final_step(one)[0] for one in estimators]
        if not models or not all(hasattr(model, "labels_") for model in models):
            raise InvalidRequest("one fitted clusterer at least is needed (with labels_).")
        given = as_known_splits(known, len(models[0].labels_), X)
        splits: dict[str, Array] = {
            name: classes[codes].astype(str)
            for name, codes, classes in zip(
                given.split_names, given.codes.T, given.class_names, strict=True
            )
        }
        for number, model in enumerate(models, start=1):
            splits[f"alternative {number}"] = np.asarray(model.labels_)
        return cls(X=X, splits=splits, options=options).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : sequence of matplotlib Axes, default=None
            Axes to draw in, one per split; a new figure by default.

        Returns
        -------
        SplitsDisplay
            The display itself.
        """
        import matplotlib.pyplot as plt

        n = len(self.splits)
        if ax is None:
            across = min(n, ACROSS)
            down = -(-n // across)
            _, grid = plt.subplots(
                down,
                across,
                figsize=(3.6 * across, 3.2 * down),
                squeeze=False,
                layout="constrained",
            )
            for unused in grid.ravel()[n:]:
                unused.set_visible(False)
            ax = grid.ravel()[:n]
        self.axes_ = np.atleast_1d(np.asarray(ax, dtype=object)).ravel()
        if len(self.axes_) != n:
            raise InvalidRequest(f"{n} splits are drawn in {n} axes, got {len(self.axes_)}.")
        self.displays_ = {}
        for (name, labels), panel in zip(self.splits.items(), self.axes_, strict=True):
            self.displays_[name] = ClusterDisplay.from_labels(
                self.X, labels, ax=panel, **self.options
            )
            panel.set_title(name)
        self.ax_, self.figure_ = self.axes_[0], self.axes_[0].figure
        return self
