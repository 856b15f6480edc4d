"""The tree of merges of an agglomerative clustering."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from sidelight._words import counted
from sidelight.display._canvas import Inks
from sidelight.display._display import Display
from sidelight.exceptions import InvalidRequest
from sidelight.pictures import Points
from sidelight.pictures.inner import fitted_with, merge_tree


class DendrogramDisplay(Display, kind=Points):
    """Tree of merges: branches inside a cluster have its color, forbidden merges are dashed.

    Rows that must be together are joined at height 0. Clusters that constraints keep apart are
    never joined; dashed lines above the tree say so, at no meaningful height. Of more than 150 rows
    the last 149 merges are drawn, and the title says so. The points are the rows, or subtrees that
    are not drawn, from left to right, and ``picture.rows`` says which: ``n_samples`` and the number
    of the merge stand for a subtree.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight import Constraints
    >>> from sidelight.cluster import ConstrainedAgglomeration
    >>> from sidelight.display import DendrogramDisplay
    >>> X = np.array([[0.0], [1.0], [5.0], [7.0]])
    >>> apart = Constraints(cannot_link=[(1, 2)], n_samples=4)
    >>> model = ConstrainedAgglomeration(2).fit(X, constraints=apart)
    >>> display = DendrogramDisplay.from_estimator(model)
    >>> [float(corners[1, 1]) for corners in display.drawn_.lines["branches"].get_segments()]
    [1.0, 2.0]
    """

    _size = (7.6, 4.8)

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, names: Sequence[Any] | None = None, ax: Any = None, **options: Any
    ) -> Self:
        """Draw the tree of a fitted :class:`~sidelight.cluster.ConstrainedAgglomeration`.

        Parameters
        ----------
        estimator : ConstrainedAgglomeration
            The fitted clusterer, or another with ``linkage_`` and ``labels_``.
        names : sequence of shape (n_samples,), default=None
            Names of the rows, such as ``known.ids``; up to 40 are written below the tree.
        """
        model = fitted_with(
            estimator,
            "linkage_",
            "has no tree of merges (linkage_); fit a ConstrainedAgglomeration.",
        )
        labels = np.asarray(model.labels_)
        if names is not None and len(names) != len(labels):
            raise InvalidRequest(
                f"names has {len(names)} names but the tree joins {len(labels)} rows; give one "
                "for every row, in their order."
            )
        picture = merge_tree(
            np.asarray(model.linkage_, np.float64),
            labels,
            None if names is None else [str(name) for name in names],
        )
        heading = f"{type(model).__name__}: {counted(len(np.unique(labels)), 'cluster')}"
        return cls(picture.headed(heading)).plot(ax, **options)

    def _options(self, inks: Inks) -> Mapping[str, Any]:
        size = float(np.clip(2_000 / len(self.picture.xy), 10, 34))
        return {"marker": "s", "s": size, "linewidths": 1.5, "clip_on": False, "zorder": 3}
