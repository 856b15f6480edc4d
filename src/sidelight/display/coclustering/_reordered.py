"""A 0/1 table in the order of its clusters."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy import sparse

from sidelight.constraints import Ordering
from sidelight.display._display import Display
from sidelight.exceptions import InvalidRequest
from sidelight.pictures import Cells
from sidelight.pictures.inner import fitted_with, is_paired, table_blocks, table_cells

#: Most cells down and across; larger tables are drawn by shares of ones.
MAX_CELLS = (600, 600)


class CoclusterDisplay(Display, kind=Cells):
    """A 0/1 table in the order of its clusters, with the co-clusters in color.

    Ones inside of a co-cluster have its color, others are grey, and zeros have the color of the
    page; lines part the clusters. In a good co-clustering the color stands in blocks, and there is
    little grey. Of a large table a cell shows the share of ones of several rows and columns, and
    the title says of how many.

    Examples
    --------
    >>> from sidelight.datasets import make_purchases
    >>> from sidelight.display import CoclusterDisplay
    >>> bought = make_purchases(30, 9, random_state=0)
    >>> display = CoclusterDisplay.from_labels(bought.X, bought.target, bought.column_target)
    >>> display.drawn_.image.get_array().shape, len(display.drawn_.frames)
    ((30, 9, 3), 3)
    """

    _size = (5.6, 6.0)

    @classmethod
    def from_labels(
        cls,
        X: Any,
        labels: Any,
        column_labels: Any,
        *,
        paired: bool = True,
        row_order: Ordering | None = None,
        column_order: Ordering | None = None,
        row_weights: Any = None,
        column_weights: Any = None,
        title: str = "",
        ax: Any = None,
    ) -> Self:
        """Draw a table with any clusters of its rows and columns.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_columns)
            The table; what is not zero counts as one.
        labels, column_labels : array-like
            Cluster of every row and of every column, -1 for none.
        paired : bool, default=True
            Whether cluster ``l`` of the rows goes with cluster ``l`` of the columns; otherwise
            blocks denser than the table are colored.
        row_order, column_order : Ordering, default=None
            Orders in which rows and columns stand inside of their clusters.
        row_weights, column_weights : array-like of shape (n_clusters, n), default=None
            Weights by which they stand there where there is no order.
        """
        table = X if sparse.issparse(X) else np.asarray(X)
        sides = [np.asarray(one) for one in (labels, column_labels)]
        if table.ndim != 2 or table.shape != tuple(len(one) for one in sides):
            raise InvalidRequest(
                f"a table of shape {table.shape} needs a label for every row and every column, got "
                f"{len(sides[0])} and {len(sides[1])}."
            )
        blocks = table_blocks(
            table,
            *sides,
            paired=paired,
            row_order=row_order,
            column_order=column_order,
            row_weights=row_weights,
            column_weights=column_weights,
        )
        names = (getattr(X, "index", None), getattr(X, "columns", None))
        return cls(table_cells(table, blocks, MAX_CELLS, names).headed(title)).plot(ax)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        row_order: Ordering | None = None,
        column_order: Ordering | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw the table that a co-clusterer was fitted to, with its clusters.

        Parameters
        ----------
        estimator : fitted co-clusterer
            Has ``labels_`` and ``column_labels_``, such as :class:`~sidelight.cluster.CDKMeans`.
        X : array-like, sparse matrix or data frame of shape (n_rows, n_columns)
            The zeros and ones that it was fitted to.
        """
        model = fitted_with(
            estimator, "column_labels_", "gives no clusters of columns (it has no column_labels_)."
        )
        return cls.from_labels(
            X,
            model.labels_,
            model.column_labels_,
            paired=is_paired(model),
            row_order=row_order,
            column_order=column_order,
            row_weights=getattr(model, "row_weights_", None),
            column_weights=getattr(model, "column_weights_", None),
            title=type(model).__name__,
            ax=ax,
        )
