"""A 0/1 table in the order of its clusters: blocks, their densities, and runs along an order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from sidelight._typing import Array, FloatArray, IntArray
from sidelight._words import counted
from sidelight.constraints import Ordering


@dataclass(frozen=True, eq=False)
class Side:
    """Rows or columns in the order of their clusters.

    Attributes
    ----------
    order : ndarray of shape (n,)
        Positions, cluster by cluster; elements of no cluster are last.
    clusters : ndarray of shape (n_clusters,)
        Numbers of the clusters in this order; -1 for elements of none.
    starts : ndarray of shape (n_clusters + 1,)
        Where every cluster begins in ``order``, and where the last one ends.
    """

    order: IntArray
    clusters: IntArray
    starts: IntArray

    @property
    def sizes(self) -> IntArray:
        """Number of elements of every cluster."""
        return np.diff(self.starts)


@dataclass(frozen=True, eq=False)
class TableBlocks:
    """A 0/1 table in the order of its clusters.

    Attributes
    ----------
    rows, columns : Side
        Rows and columns in the order of their clusters.
    ones : ndarray of int64, shape (n_row_clusters, n_column_clusters)
        Number of ones of every block.
    own : ndarray of bool, same shape
        Blocks that make a co-cluster: equal numbers, or, where rows and columns have clusters of
        their own, blocks that are denser than the table.
    paired : bool
        Whether equal numbers of both sides go together.
    """

    rows: Side
    columns: Side
    ones: IntArray
    own: npt.NDArray[np.bool_]
    paired: bool = True

    @property
    def density(self) -> FloatArray:
        """Share of ones of every block."""
        cells = np.outer(self.rows.sizes, self.columns.sizes)
        return np.asarray(self.ones / np.maximum(cells, 1))

    @property
    def overall(self) -> float:
        """Share of ones of the table."""
        cells = len(self.rows.order) * len(self.columns.order)
        return float(self.ones.sum() / max(cells, 1))


def table_blocks(
    X: Any,
    labels: Array,
    column_labels: Array,
    *,
    paired: bool = True,
    row_order: Ordering | None = None,
    column_order: Ordering | None = None,
    row_weights: FloatArray | None = None,
    column_weights: FloatArray | None = None,
) -> TableBlocks:
    """Order a 0/1 table by its clusters.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_rows, n_columns)
        The table; what is not zero counts as one.
    labels, column_labels : ndarray
        Clusters of rows and columns, -1 for none.
    paired : bool, default=True
        Whether cluster ``l`` of the rows goes with cluster ``l`` of the columns.
    row_order, column_order : Ordering, default=None
        Orders in which rows and columns stand inside of their clusters. Clusters stand by the
        middle of their members in the order of the columns, else in that of the rows.
    row_weights, column_weights : ndarray of shape (n_clusters, n), default=None
        Weights by which members stand inside of clusters where there is no order, the largest
        first.
    """
    ranked = _by_order(labels, column_labels, row_order, column_order, paired)
    rows = _side(np.asarray(labels), ranked[0], row_order, row_weights)
    columns = _side(np.asarray(column_labels), ranked[1], column_order, column_weights)
    ones = _counts(X, rows, columns)
    if not paired and column_order is None:  # columns follow the rows that have most of them
        share = ones / np.maximum(rows.sizes, 1)[:, None]
        followed = _last(columns.clusters[np.argsort(share.argmax(axis=0), kind="stable")])
        columns = _side(np.asarray(column_labels), followed, None, column_weights)
        ones = _counts(X, rows, columns)
    if paired:
        own = (rows.clusters[:, None] == columns.clusters) & (rows.clusters[:, None] >= 0)
    else:
        cells = np.maximum(np.outer(rows.sizes, columns.sizes), 1)
        own = ones / cells > ones.sum() / max(cells.sum(), 1)
    return TableBlocks(rows, columns, ones, own, paired)


def _by_order(
    labels: Array,
    column_labels: Array,
    row_order: Ordering | None,
    column_order: Ordering | None,
    paired: bool,
) -> tuple[IntArray, IntArray]:
    """Clusters of both sides in the order in which they are shown."""
    rows, columns = np.unique(labels), np.unique(column_labels)
    if paired:
        both = np.union1d(rows, columns)
        for values, order in ((column_labels, column_order), (labels, row_order)):
            if order is not None:
                shown = _sorted_clusters(both, np.asarray(values), order)
                return shown[np.isin(shown, rows)], shown[np.isin(shown, columns)]
        return _last(rows), _last(columns)
    return (
        _sorted_clusters(rows, np.asarray(labels), row_order),
        _sorted_clusters(columns, np.asarray(column_labels), column_order),
    )


def _sorted_clusters(clusters: IntArray, labels: Array, order: Ordering | None) -> IntArray:
    if order is None:
        return _last(clusters)
    middles = [
        np.median(order.rank[labels == one]) if (labels == one).any() else np.inf
        for one in clusters.tolist()
    ]
    return _last(clusters[np.argsort(middles, kind="stable")])


def _last(clusters: IntArray) -> IntArray:
    """Elements of no cluster are shown last."""
    return np.concatenate([clusters[clusters >= 0], clusters[clusters < 0]]).astype(np.int64)


def _side(
    labels: Array, clusters: IntArray, order: Ordering | None, weights: FloatArray | None
) -> Side:
    place = np.full(int(clusters.max(initial=0)) + 2, len(clusters), np.int64)
    place[clusters] = np.arange(len(clusters))  # the last place stands for -1
    inside: Array = np.zeros(len(labels))
    if order is not None:
        inside = order.rank
    elif weights is not None:
        own = np.maximum(labels, 0)
        inside = -np.asarray(weights)[own, np.arange(len(labels))]
    codes = place[labels]
    shown = np.lexsort((np.arange(len(labels)), inside, codes))
    sizes = np.bincount(codes, minlength=len(clusters))[: len(clusters)]
    return Side(shown, clusters, np.append(0, np.cumsum(sizes)))


def _counts(X: Any, rows: Side, columns: Side) -> IntArray:
    """Number of ones of every block."""
    of_rows, of_columns = (_members(side) for side in (rows, columns))
    table = sparse.csr_matrix(X) if sparse.issparse(X) else np.asarray(X)
    ones = (table != 0).astype(np.int64)
    found = of_rows @ (ones @ of_columns.T)
    return np.asarray(found.toarray() if sparse.issparse(found) else found, np.int64)


def _members(side: Side) -> Any:
    """Indicators of clusters by elements."""
    return sparse.csr_matrix(
        (np.ones(len(side.order), np.int64), side.order, side.starts),
        (len(side.clusters), len(side.order)),
    )


# --- pictures of large tables -----------------------------------------------------------------


def bins_of(side: Side, most: int) -> IntArray:
    """Bin of every place of a side, at most ``most`` (and one per cluster); none spans a border."""
    n = len(side.order)
    if n <= most:
        return np.arange(n)
    bins, first = np.empty(n, np.int64), 0
    for start, end in zip(side.starts[:-1].tolist(), side.starts[1:].tolist(), strict=True):
        size = end - start
        wanted = max(1, min(size, round(most * size / n)))
        bins[start:end] = first + np.arange(size) * wanted // max(size, 1)
        first += wanted
    return bins


def binned(X: Any, blocks: TableBlocks, most: tuple[int, int]) -> tuple[FloatArray, Any, Any]:
    """Shares of ones in the cells of a picture, and the bins of rows and columns.

    Every element is a bin of its own where there are at most as many as ``most`` says.
    """
    rows, columns = (
        bins_of(side, limit)
        for side, limit in zip((blocks.rows, blocks.columns), most, strict=True)
    )
    gather = [
        sparse.csr_matrix((np.ones(len(bins)), (bins, side.order)), (int(bins[-1]) + 1, len(bins)))
        for bins, side in ((rows, blocks.rows), (columns, blocks.columns))
    ]
    table = sparse.csr_matrix(X) if sparse.issparse(X) else np.asarray(X)
    ones = (table != 0).astype(np.float64)
    found = gather[0] @ (ones @ gather[1].T)
    counts = np.asarray(found.toarray() if sparse.issparse(found) else found)
    cells = np.outer(np.bincount(rows), np.bincount(columns))
    return counts / cells, rows, columns


def cluster_of_bins(side: Side, bins: IntArray) -> IntArray:
    """Which cluster of the side, by its place there, a bin belongs to."""
    first = np.searchsorted(bins, np.arange(int(bins[-1]) + 1))
    return np.searchsorted(side.starts, first, side="right") - 1


def borders(side: Side, bins: IntArray) -> list[int]:
    """Where clusters begin and end, in cells of the picture."""
    return [0, *(int(bins[end - 1]) + 1 if end else 0 for end in side.starts[1:].tolist())]


def bin_note(blocks: TableBlocks, rows: IntArray, columns: IntArray) -> str:
    """How many rows and columns a cell of the picture stands for; empty for one each."""
    parts = []
    sides = ((rows, blocks.rows, "row"), (columns, blocks.columns, "column"))
    for bins, side, noun in sides:
        n_bins = int(bins[-1]) + 1 if len(bins) else 0
        if n_bins < len(side.order):
            parts.append(f"about {counted(round(len(side.order) / n_bins), noun)}")
    return f"a cell stands for {' by '.join(parts)}" if parts else ""


# --- runs along an order ----------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Timeline:
    """Runs of equal labels along an order.

    Attributes
    ----------
    starts, ends : ndarray of shape (n_runs,)
        First place of every run, and the one behind its last.
    clusters : ndarray of shape (n_runs,)
        Cluster of every run, -1 for none.
    jumps : ndarray of bool, shape (n_runs,)
        Whether the cluster was there before, was left, and comes again with this run.
    shown : ndarray
        Clusters by their first place.
    order : ndarray of shape (n,)
        Elements by place.
    """

    starts: IntArray
    ends: IntArray
    clusters: IntArray
    jumps: npt.NDArray[np.bool_]
    shown: IntArray
    order: IntArray

    @property
    def n_jumps(self) -> int:
        """Number of holes in the clusters."""
        return int(self.jumps.sum())


def timeline(labels: Array, order: Ordering) -> Timeline:
    """Find the runs of clusters along an order.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.constraints import Ordering
    >>> found = timeline(np.array([0, 0, 1, 0, 1]), Ordering(range(5)))
    >>> found.starts.tolist(), found.jumps.tolist(), found.n_jumps
    ([0, 2, 3, 4], [False, False, True, True], 2)
    """
    along = np.asarray(labels)[order.order]
    starts = np.flatnonzero(np.r_[True, along[1:] != along[:-1]])
    ends = np.append(starts[1:], len(along))
    clusters = along[starts].astype(np.int64)
    _, first = np.unique(clusters, return_index=True)
    jumps = clusters >= 0
    jumps[first] = False
    last = len(clusters) - 1
    if order.circular and last > 0 and clusters[0] == clusters[last]:
        jumps[last] = False  # the run goes on behind the end
    return Timeline(starts, ends, clusters, jumps, _last(clusters[np.sort(first)]), order.order)


def is_paired(estimator: Any) -> bool:
    """Whether cluster ``l`` of the rows goes with cluster ``l`` of the columns."""
    return "n_column_clusters" not in estimator.get_params(deep=False)
