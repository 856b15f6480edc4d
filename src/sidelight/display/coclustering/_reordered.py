"""A 0/1 table in the order of its clusters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy import sparse

from sidelight._typing import FloatArray, IntArray
from sidelight.constraints import Ordering
from sidelight.display._canvas import Display, Inks, check_matplotlib, set_titles
from sidelight.display._draw._cells import draw_cells
from sidelight.exceptions import InvalidRequest
from sidelight.pictures._rows import final_step
from sidelight.pictures.coclustering._blocks import TableBlocks, binned, is_paired, table_blocks
from sidelight.pictures.coclustering._pictures import table_cells

#: Most cells down and across; larger tables are drawn by shares of ones.
MAX_CELLS = (600, 600)


@dataclass(eq=False, repr=False, kw_only=True)
class CoclusterDisplay(Display):
    """A 0/1 table in the order of its clusters, with the co-clusters in color.

    Ones inside of a co-cluster have its color, others are grey, and zeros have the color of the
    page; lines part the clusters. In a good co-clustering the color stands in blocks, and there is
    little grey. Of a large table a cell shows the share of ones of several rows and columns, and
    the title says of how many.

    Parameters
    ----------
    blocks : TableBlocks
        Order of rows and columns, and the blocks.
    shares : ndarray of shape (n_cells_down, n_cells_across)
        Share of ones of every cell of the picture.
    bins : tuple of ndarray
        Cell of every place of the two sides.
    names : tuple
        Names of rows and columns; None where they have none.

    Attributes
    ----------
    image_ : AxesImage
        The table as colors.
    frames_ : list of Rectangle
        Frames of the co-clusters.

    Examples
    --------
    >>> from sidelight.datasets import make_purchases
    >>> from sidelight.display import CoclusterDisplay
    >>> bought = make_purchases(30, 9, random_state=0)
    >>> display = CoclusterDisplay.from_labels(bought.X, bought.target, bought.column_target)
    >>> display.image_.get_array().shape, len(display.frames_)
    ((30, 9, 3), 3)
    """

    blocks: TableBlocks
    shares: FloatArray
    bins: tuple[IntArray, IntArray]
    names: tuple[Any, Any] = (None, None)
    title: str = ""

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
        title : str, default=""
            Written above the picture.
        """
        check_matplotlib(cls.__name__)
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
        shares, rows, columns = binned(table, blocks, MAX_CELLS)
        names = (getattr(X, "index", None), getattr(X, "columns", None))
        return cls(
            blocks=blocks, shares=shares, bins=(rows, columns), names=names, title=title
        ).plot(ax)

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
        row_order, column_order : Ordering, default=None
            Orders in which rows and columns stand inside of their clusters.
        """
        check_matplotlib(cls.__name__)
        model, _ = final_step(estimator)
        if not hasattr(model, "column_labels_"):
            raise InvalidRequest(
                f"{type(model).__name__} gives no clusters of columns (it has no column_labels_)."
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

    @property
    def _size(self) -> tuple[float, float]:
        return 5.6, 6.0

    def _draw(self, inks: Inks) -> None:
        picture = table_cells(self.blocks, self.shares, self.bins, self.names)
        drawn = draw_cells(self.ax_, picture, inks)
        self.image_, self.frames_ = drawn.image, drawn.frames
        set_titles(self.ax_, picture.axis_titles, self.title, picture.note)
