"""Sizes of the clusters against their bounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from sidelight._typing import Array, IntArray
from sidelight.display._canvas import Display, Inks, check_matplotlib, set_titles
from sidelight.display._clusters import ClusterDisplay
from sidelight.display._draw._bars import draw_bars
from sidelight.exceptions import InvalidRequest
from sidelight.pictures._bars import Bars
from sidelight.pictures._rows import final_step, plain_labels
from sidelight.pictures._sizes import cluster_sizes
from sidelight.pictures.clusters._map import color_numbers


@dataclass(eq=False, repr=False, kw_only=True)
class SizesDisplay(Display):
    """Size of every cluster as a bar, with marks at its bounds; a bar beyond a bound is outlined.

    Parameters
    ----------
    sizes : ndarray of shape (k,)
        Sizes of the clusters: rows, or what their weights add up to.
    names : list of str
        Names of the clusters.
    bounds : ndarray of shape (k, 2) or None
        Smallest and largest size of every cluster.
    n_outside : int
        Number of rows in no cluster; a grey bar where there are any.
    codes : ndarray of int, shape (k,), default=None
        Number of the color of every cluster; by default the number of the cluster.

    Attributes
    ----------
    bars_ : BarContainer
        The sizes, that of rows in no cluster last.
    bounds_ : LineCollection or None
        Marks at the bounds that can be missed: a lower bound of 0, or an upper one that all rows
        together do not reach, says nothing.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sidelight.cluster import SizeConstrainedKMeans
    >>> from sidelight.display import SizesDisplay
    >>> model = SizeConstrainedKMeans(3, min_size=40, max_size=60, random_state=0)
    >>> display = SizesDisplay.from_estimator(model.fit(load_iris().data))
    >>> len(display.bars_), len(display.bounds_.get_segments())
    (3, 6)
    """

    sizes: Array
    names: Sequence[str]
    bounds: Array | None = None
    n_outside: int = 0
    title: str = ""
    codes: IntArray | None = None

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, like: ClusterDisplay | None = None, ax: Any = None
    ) -> Self:
        """Draw the sizes that a fitted clusterer found.

        Parameters
        ----------
        estimator : fitted clusterer
            Has ``labels_``; ``cluster_sizes_`` and ``size_bounds_`` are used where it has them.
        like : ClusterDisplay, default=None
            Map of the same clusters, of which their bars take the colors.
        """
        check_matplotlib(cls.__name__)
        model, _ = final_step(estimator)
        if not hasattr(model, "labels_"):
            raise InvalidRequest(f"{type(model).__name__} gives no clusters (it has no labels_).")
        labels = np.asarray(model.labels_)
        sizes = getattr(model, "cluster_sizes_", None)
        if sizes is None:
            sizes = np.bincount(labels[labels >= 0])
        classes = getattr(model, "cluster_names_", ())
        names = [str(cluster) for cluster in range(len(sizes))]
        for cluster, name in enumerate(classes):
            if name is not None:
                names[cluster] = f"{cluster}: {name}"
        return cls(
            sizes=np.asarray(sizes, np.float64),
            names=names,
            bounds=getattr(model, "size_bounds_", None),
            n_outside=int(np.count_nonzero(labels < 0)),
            title=type(model).__name__,
            codes=None if like is None else color_numbers(like.picture, names),
        ).plot(ax)

    @classmethod
    def from_labels(cls, labels: Any, *, bounds: Any = None, ax: Any = None) -> Self:
        """Draw the sizes of the clusters of any labels.

        Parameters
        ----------
        labels : array-like of shape (n_samples,)
            Cluster of every row; -1 for none.
        bounds : array-like of shape (k, 2) or (2,), default=None
            Smallest and largest size of every cluster, in the sorted order of the labels.
        """
        check_matplotlib(cls.__name__)
        values, counts = np.unique(plain_labels(labels), return_counts=True)
        outside = int(values.dtype.kind in "iu" and len(values) > 0 and values[0] == -1)
        sizes = counts[outside:].astype(np.float64)
        if bounds is not None:
            bounds = np.broadcast_to(np.asarray(bounds, np.float64), (len(sizes), 2))
        return cls(
            sizes=sizes,
            names=[str(value) for value in values[outside:]],
            bounds=bounds,
            n_outside=int(counts[0]) if outside else 0,
        ).plot(ax)

    @property
    def n_beyond(self) -> int:
        """Number of clusters that are smaller or larger than they may be."""
        return sum(self._picture().wrong)

    def _draw(self, inks: Inks) -> None:
        picture = self._picture()
        drawn = draw_bars(self.ax_, picture, inks)
        self.bars_, self.bounds_ = drawn.bars, drawn.marks
        title = ": ".join(filter(None, [self.title, picture.note]))
        set_titles(self.ax_, picture.axis_titles, title)

    def _picture(self) -> Bars:
        return cluster_sizes(
            self.names, self.sizes, self.bounds, n_outside=self.n_outside, colors=self.codes
        )
