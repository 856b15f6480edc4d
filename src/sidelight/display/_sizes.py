"""Sizes of the clusters against their bounds."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from sidelight.display._clusters import ClusterDisplay
from sidelight.display._display import Display
from sidelight.pictures import Bars
from sidelight.pictures.inner import (
    cluster_sizes,
    clusters_of,
    color_numbers,
    fitted_with,
    plain_labels,
    with_classes,
)


class SizesDisplay(Display, kind=Bars):
    """Size of every cluster as a bar, with marks at its bounds; a bar beyond a bound is outlined.

    Marks stand at the bounds that can be missed: a lower bound of 0, or an upper one that all rows
    together do not reach, says nothing. Rows in no cluster are the last bar, a grey one.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sidelight.cluster import SizeConstrainedKMeans
    >>> from sidelight.display import SizesDisplay
    >>> model = SizeConstrainedKMeans(3, min_size=40, max_size=60, random_state=0)
    >>> display = SizesDisplay.from_estimator(model.fit(load_iris().data))
    >>> len(display.drawn_.bars["size"]), len(display.drawn_.marks.get_segments())
    (3, 6)
    """

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
        model = fitted_with(estimator, "labels_", "gives no clusters (it has no labels_).")
        labels = np.asarray(model.labels_)
        sizes = getattr(model, "cluster_sizes_", None)
        if sizes is None:
            sizes = np.bincount(labels[labels >= 0])
        numbers = [str(cluster) for cluster in range(len(sizes))]
        names = with_classes(numbers, getattr(model, "cluster_names_", ()))
        picture = cluster_sizes(
            names,
            sizes,
            getattr(model, "size_bounds_", None),
            n_outside=int(np.count_nonzero(labels < 0)),
            colors=None if like is None else color_numbers(like.picture, names),
        )
        return cls(picture.headed(type(model).__name__)).plot(ax)

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
        found = clusters_of(plain_labels(labels))
        if bounds is not None:
            bounds = np.broadcast_to(np.asarray(bounds, np.float64), (len(found.sizes), 2))
        picture = cluster_sizes(found.names, found.sizes, bounds, n_outside=found.n_outside)
        return cls(picture).plot(ax)
