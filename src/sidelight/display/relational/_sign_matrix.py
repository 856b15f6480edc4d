"""Scored pairs as a matrix in the order of a partition."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from sidelight.constraints import as_relations
from sidelight.display._display import Display
from sidelight.exceptions import InvalidRequest
from sidelight.pictures import Cells
from sidelight.pictures.inner import fitted_with, sign_blocks, sign_cells

#: Of more objects the largest groups of linked clusters are drawn.
MAX_OBJECTS = 400


class SignMatrixDisplay(Display, kind=Cells):
    """Scores of all pairs in the order of the clusters, with the disagreements in red.

    Rows and columns are the objects, cluster by cluster; clusters that scored pairs link stand
    together, the largest group first, and those of at least two objects have a frame. Positive
    scores are blue, negative ones orange, and pairs without a score have the color of the page. A
    partition that agrees with all scores has blue blocks on the diagonal and orange beside them;
    what it disagrees with is red: negative scores inside of a block, positive ones outside. Of more
    than 400 objects the first are drawn, and the title says so.

    Examples
    --------
    >>> from sidelight import Relations
    >>> from sidelight.display import SignMatrixDisplay
    >>> scored = Relations([(0, 1), (1, 2), (0, 3)], [2.0, -1.0, 0.5], n_samples=4)
    >>> display = SignMatrixDisplay.from_relations(scored, [0, 0, 1, 1])
    >>> display.picture.codes.tolist()
    [[0, 1, 0, 3], [1, 0, 2, 0], [0, 2, 0, 0], [3, 0, 0, 0]]
    """

    _size = (5.6, 5.6)

    @classmethod
    def from_relations(
        cls, relations: Any, labels: Any, *, title: str = "", ax: Any = None, **options: Any
    ) -> Self:
        """Draw scored pairs with the clusters of any labels.

        Parameters
        ----------
        relations : Relations, square matrix or networkx graph
            Scored pairs of the objects.
        labels : array-like of shape (n_samples,)
            Cluster of every object.
        """
        clusters = np.asarray(labels)
        if clusters.ndim != 1:
            raise InvalidRequest(
                f"labels hold one cluster per object, got an array of shape {clusters.shape}."
            )
        given = as_relations(relations, len(clusters))
        blocks = sign_blocks(given.edges, given.scores, clusters, MAX_OBJECTS)
        return cls(sign_cells(blocks).headed(title)).plot(ax, **options)

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, *, ax: Any = None, **options: Any) -> Self:
        """Draw the scored pairs that a clusterer was fitted to, with its clusters.

        Parameters
        ----------
        estimator : fitted clusterer of a graph
            Has ``labels_``, such as :class:`~sidelight.relational.CorrelationClustering`.
        X : Relations or square matrix
            What it was fitted to.
        """
        model = fitted_with(estimator, "labels_", "gives no clusters (it has no labels_).")
        return cls.from_relations(X, model.labels_, title=type(model).__name__, ax=ax, **options)
