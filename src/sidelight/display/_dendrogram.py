"""The tree of merges of an agglomerative clustering."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from sidelight._typing import Array, IntArray
from sidelight._words import counted
from sidelight.display._canvas import Display, Inks, check_matplotlib, set_titles
from sidelight.display._draw._points import DASHES
from sidelight.exceptions import InvalidRequest
from sidelight.pictures._rows import final_step
from sidelight.pictures._run import shorten

#: Of a larger tree the last merges are drawn, down to so many branches.
MAX_LEAVES = 150
#: Up to so many leaves are named.
MAX_NAMED = 40
#: Merges that the constraints forbid stand so much above the highest one.
_ABOVE = 1.15


@dataclass(eq=False, repr=False, kw_only=True)
class DendrogramDisplay(Display):
    """Tree of merges: branches inside a cluster have its color, forbidden merges are dashed.

    Rows that must be together are joined at height 0. Clusters that constraints keep apart are
    never joined; dashed lines above the tree say so, at no meaningful height. Of more than 150 rows
    the last 149 merges are drawn, and the title says so.

    Parameters
    ----------
    linkage : ndarray of shape (n_samples - 1, 4)
        Merges in SciPy's format, with infinite heights for those that are forbidden.
    labels : ndarray of int, shape (n_samples,)
        Cluster of every row.
    names : sequence of str or None
        Names of the rows.

    Attributes
    ----------
    branches_ : LineCollection
        Merges, four corners each, that of the lowest merge first.
    forbidden_ : LineCollection
        Merges that constraints forbid.
    leaves_ : PathCollection
        One mark per row, or per subtree that is not drawn, in the color of its cluster.
    order_ : ndarray of int
        Row of every leaf from left to right; ``n_samples`` + number of the merge for a subtree.

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
    >>> [float(corners[1, 1]) for corners in display.branches_.get_segments()]
    [1.0, 2.0]
    """

    linkage: Array
    labels: IntArray
    names: Sequence[str] | None = None
    title: str = ""

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, names: Sequence[Any] | None = None, ax: Any = None
    ) -> Self:
        """Draw the tree of a fitted :class:`~sidelight.cluster.ConstrainedAgglomeration`.

        Parameters
        ----------
        estimator : ConstrainedAgglomeration
            The fitted clusterer, or another with ``linkage_`` and ``labels_``.
        names : sequence of shape (n_samples,), default=None
            Names of the rows, such as ``known.ids``; up to 40 are written below the tree.
        """
        check_matplotlib(cls.__name__)
        model, _ = final_step(estimator)
        if not hasattr(model, "linkage_"):
            raise InvalidRequest(
                f"{type(model).__name__} has no tree of merges (linkage_); fit a "
                "ConstrainedAgglomeration."
            )
        labels = np.asarray(model.labels_)
        if names is not None and len(names) != len(labels):
            raise InvalidRequest(
                f"names has {len(names)} names but the tree joins {len(labels)} rows; give one "
                "for every row, in their order."
            )
        return cls(
            linkage=np.asarray(model.linkage_, np.float64),
            labels=labels,
            names=None if names is None else [str(name) for name in names],
            title=f"{type(model).__name__}: {counted(len(np.unique(labels)), 'cluster')}",
        ).plot(ax)

    @property
    def _size(self) -> tuple[float, float]:
        return 7.6, 4.8

    def _draw(self, inks: Inks) -> None:
        from matplotlib.collections import LineCollection

        n = len(self.labels)
        tree = self._layout()
        cluster = self._clusters_of_nodes()
        colors = inks.groups(int(self.labels.max(initial=0)) + 1)
        shades = [*colors, inks.soft]  # -1: rows of several clusters
        joined = np.isfinite(self.linkage[tree.nodes - n, 2])
        self.branches_ = LineCollection(
            list(tree.corners[joined]),
            colors=[shades[cluster[node]] for node in tree.nodes[joined]],
            linewidths=1.4,
        )
        self.forbidden_ = LineCollection(
            list(tree.corners[~joined]), colors=inks.faint, linestyles=[DASHES], linewidths=1.2
        )
        self.order_ = tree.leaves
        places = 5.0 + 10.0 * np.arange(len(tree.leaves))
        self.leaves_ = self.ax_.scatter(
            places,
            np.zeros(len(places)),
            c=[shades[cluster[leaf]] for leaf in tree.leaves],
            marker="s",
            s=float(np.clip(2_000 / len(places), 10, 34)),
            clip_on=False,
            zorder=3,
        )
        self.ax_.add_collection(self.branches_)
        self.ax_.add_collection(self.forbidden_)
        self._frame(places, tree.top)

    def _layout(self) -> _Tree:
        from scipy.cluster.hierarchy import dendrogram

        merges = self.linkage.copy()
        finite = np.isfinite(merges[:, 2])
        highest = float(merges[finite, 2].max(initial=0.0)) or 1.0
        merges[~finite, 2] = _ABOVE * highest
        drawn = dendrogram(
            merges,
            no_plot=True,
            truncate_mode="lastp" if len(self.labels) > MAX_LEAVES else None,
            p=MAX_LEAVES,
            link_color_func=str,  # the "color" of a branch is the number of its merge
        )
        nodes = np.array([int(node) for node in drawn["color_list"]], dtype=np.int64)
        order = np.argsort(nodes)
        corners = np.stack([drawn["icoord"], drawn["dcoord"]], axis=-1)
        top = highest if finite.all() else _ABOVE * highest
        return _Tree(nodes[order], corners[order], np.array(drawn["leaves"]), 1.05 * top)

    def _clusters_of_nodes(self) -> IntArray:
        """Cluster of every row and merge; -1 for a merge of rows of several clusters."""
        n = len(self.labels)
        cluster = np.concatenate([self.labels.astype(np.int64), np.full(n - 1, -1)])
        for number, (left, right) in enumerate(self.linkage[:, :2].astype(np.int64)):
            if cluster[left] == cluster[right]:
                cluster[n + number] = cluster[left]
        return cluster

    def _frame(self, places: Array, top: float) -> None:
        n = len(self.labels)
        self.ax_.set(xlim=(0, 10.0 * len(places)), ylim=(0, top), xticks=[])
        self.ax_.xaxis.labelpad = 8  # below the marks of the leaves
        what = "rows" if len(places) == n else "rows and subtrees"
        if self.names is not None and len(places) == n <= MAX_NAMED:
            texts = [shorten(self.names[row], 24) for row in self.order_]
            turn = 90 if max(map(len, texts)) * n > 60 else 0
            self.ax_.set_xticks(places, texts, rotation=turn, fontsize="small")
        note = f"the last {len(places) - 1:,} of {n - 1:,} merges" if len(places) < n else ""
        if len(self.forbidden_.get_segments()):
            note = ", ".join([part for part in (note, "dashed: must stay apart") if part])
        set_titles(self.ax_, (what, "height of the merge"), self.title, note)


@dataclass(frozen=True)
class _Tree:
    """Where the merges are drawn, the lowest first."""

    nodes: IntArray
    corners: Array
    leaves: IntArray
    top: float
