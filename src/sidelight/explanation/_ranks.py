"""Numbers of a cluster against those of the other rows: Cliff's delta, medians and means.

``δ = P(x > y) - P(x < y)`` for a value ``x`` of the cluster and a value ``y`` of the other rows:
+1 where every row of the cluster is above all others, 0 where there is no difference. It depends on
the order of the values only, so that neither skewed numbers nor outliers nor units decide.

The variance of the estimate is that of DeLong et al. (1988), with the placements ``F_c(y)`` of the
other rows among the cluster and ``F_r(x)`` of the cluster among the other rows:
``s² = 4 (var F_r(x) / m + var F_c(y) / (n - m))``. The interval is Wilson's for ``(1 - δ²) / s²``
rows, at most ``3 m (n - m) / n`` (what equal distributions give), which never leaves [-1, 1] and is
not empty where the values are fully separated.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sidelight._typing import Array, FloatArray, IntArray

Z = 1.959963984540054  # of intervals that cover the truth in 95 of 100 cases
MAX_RANKS = 128


@dataclass(frozen=True)
class Ranked:
    """A column of numbers, compared for every cluster with the other rows.

    Attributes
    ----------
    n_rows : int
        Rows whose value is known.
    sizes : ndarray of shape (k,)
        Those of each cluster.
    delta, low, high : ndarray of shape (k,)
        Cliff's delta with its interval; NaN for a cluster without rows, or with all of them.
    medians, rest_medians, means, rest_means : ndarray of shape (k,)
        Of the cluster and of the other rows.
    ranks, counts : ndarray of shape (n_ranks,)
        Distinct ranks between 0 and 1, in at most ``MAX_RANKS`` classes, and the rows in each.
    """

    n_rows: int
    sizes: IntArray
    delta: FloatArray
    low: FloatArray
    high: FloatArray
    medians: FloatArray
    rest_medians: FloatArray
    means: FloatArray
    rest_means: FloatArray
    ranks: FloatArray
    counts: FloatArray

    @property
    def totals(self) -> FloatArray:
        """Sum of the ranks of every cluster."""
        return self.sizes * (0.5 + self.delta * (self.n_rows - self.sizes) / (2.0 * self.n_rows))


@dataclass(frozen=True)
class Cells:
    """Values that clusters have: a cell is a value of a cluster, with all its rows of it.

    Between two cells of a cluster lie only rows of others.

    Attributes
    ----------
    value, owner : ndarray of shape (n_cells,)
        Distinct value and cluster, by cluster and then by value.
    members, below : ndarray of shape (n_cells,)
        Rows of the cluster that have the value, and that have a lower one.
    """

    value: IntArray
    owner: IntArray
    members: IntArray
    below: IntArray


@dataclass(frozen=True)
class Sorted:
    """A column of numbers in ascending order, and where the rows of every cluster are in it.

    Attributes
    ----------
    values : ndarray of shape (n_rows,)
        The numbers, ascending.
    starts, ends : ndarray of shape (n_distinct,)
        Positions at which every distinct value begins, and after which it ends.
    distinct : ndarray of shape (n_rows,)
        Which distinct value is at a position.
    own, owners : ndarray of shape (n_inside,)
        Positions of rows in clusters, by cluster and then by value, and their clusters.
    sizes, first : ndarray of shape (k,)
        Rows of every cluster, and where they begin in ``own``.
    """

    values: FloatArray
    starts: IntArray
    ends: IntArray
    distinct: IntArray
    own: IntArray
    owners: Array
    sizes: IntArray
    first: IntArray

    @cached_property
    def cells(self) -> Cells:
        """Values that every cluster has."""
        distinct, owners = self.distinct[self.own], self.owners
        new = np.append(True, (distinct[1:] != distinct[:-1]) | (owners[1:] != owners[:-1]))
        cells = np.flatnonzero(new[: len(owners)])
        owner = owners[cells].astype(np.int64)
        members = np.diff(np.append(cells, len(owners)))
        return Cells(distinct[cells], owner, members, cells - self.first[owner])


def sort_values(values: FloatArray, codes: Array, k: int) -> Sorted:
    """Sort the values of a column.

    Parameters
    ----------
    values : ndarray of shape (n_rows,)
        Finite numbers.
    codes : ndarray of shape (n_rows,)
        Cluster of every row, from 0 to k - 1; -1 for rows that are compared with only.
    k : int
        Number of clusters.
    """
    order = np.argsort(values)
    ordered, owners = values[order], codes[order]
    n = len(values)
    starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))[: max(n, 0)]
    ends = np.append(starts[1:], n)
    distinct = np.repeat(np.arange(len(starts)), ends - starts)
    sizes = np.bincount(owners[owners >= 0], minlength=k)
    own = np.argsort(owners, kind="stable")[n - int(sizes.sum()) :]  # by cluster, then by value
    first = np.cumsum(sizes) - sizes
    return Sorted(ordered, starts, ends, distinct, own, owners[own], sizes, first)


def compare_ranks(column: Sorted) -> Ranked:
    """Compare the values of every cluster with those of all other rows.

    Parameters
    ----------
    column : Sorted
        The column.

    Returns
    -------
    Ranked
        The comparison; the work grows with the rows, not with rows times clusters.
    """
    n, sizes, k = len(column.values), column.sizes, len(column.sizes)
    starts, ends = column.starts, column.ends
    placed = _placements(column)
    delta, low, high = _delta(placed, sizes, n)
    medians, rest_medians = _medians(column.values, column.own, sizes, column.first)
    sums = np.bincount(column.owners, weights=column.values[column.own], minlength=k)
    with np.errstate(divide="ignore", invalid="ignore"):
        means, rest_means = sums / sizes, (column.values.sum() - sums) / (n - sizes)
    ranks, counts = _classes((starts + ends) / (2.0 * max(n, 1)), ends - starts)
    return Ranked(
        n, sizes, delta, low, high, medians, rest_medians, means, rest_means, ranks, counts
    )


def _placements(column: Sorted) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Sums and sums of squares of the placements: of own rows among others, of others among own.

    Rows of others between two cells of a cluster all have the same placement, so that cells are
    enough to sum over all rows.
    """
    starts, ends, k, n = column.starts, column.ends, len(column.sizes), len(column.values)
    cells = column.cells
    value, owner, members = cells.value, cells.owner, cells.members
    below = cells.below.astype(np.float64)
    level = below + members / 2.0
    all_level = (starts[value] + ends[value]) / 2.0
    last = np.append(owner[1:] != owner[:-1], True)[: len(owner)]
    following = np.append(starts[value[1:]], n)[: len(owner)]
    between = np.where(last, n, following) - ends[value]
    ties = (ends - starts)[value] - members

    def summed(weights: FloatArray) -> FloatArray:
        sums: Array = np.bincount(owner, weights=weights, minlength=k)
        return sums

    among_rest = all_level - level
    after = below + members
    return (
        summed(members * among_rest),
        summed(members * among_rest**2),
        summed(ties * level + between * after),
        summed(ties * level**2 + between * after**2),
    )


def _delta(
    placed: tuple[FloatArray, ...], sizes: IntArray, n: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Cliff's delta and its interval."""
    m, r = sizes.astype(np.float64), (n - sizes).astype(np.float64)
    own, own_squares, rest, rest_squares = placed
    with np.errstate(divide="ignore", invalid="ignore"):
        delta = np.clip(2.0 * own / (m * r) - 1.0, -1.0, 1.0)
        own_variance = (own_squares - own**2 / m) / r**2 / np.maximum(m - 1.0, 1.0)
        rest_variance = (rest_squares - rest**2 / r) / m**2 / np.maximum(r - 1.0, 1.0)
        variance = 4.0 * (own_variance / m + rest_variance / r)
        most = 3.0 * m * r / n
        n_effective = np.fmin((1.0 - delta**2) / np.maximum(variance, 1e-300), most)
        spread = Z**2 / np.where(delta**2 < 1.0, n_effective, most)
        half = np.sqrt(spread * (1.0 - delta**2 + spread))
        low, high = (delta - half) / (1.0 + spread), (delta + half) / (1.0 + spread)
    return delta, np.maximum(low, -1.0), np.minimum(high, 1.0)


def _medians(
    ordered: FloatArray, own: IntArray, sizes: IntArray, first: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Median of every cluster and of its other rows, from positions in the order of the values."""
    inside, rest = np.full(len(sizes), np.nan), np.full(len(sizes), np.nan)
    for cluster, (start, size) in enumerate(zip(first.tolist(), sizes.tolist(), strict=True)):
        positions = own[start : start + size]
        others = len(ordered) - size
        if size:
            inside[cluster] = ordered[positions[[(size - 1) // 2, size // 2]]].mean()
        if others:
            wanted = np.array([(others - 1) // 2, others // 2])
            before = np.searchsorted(positions - np.arange(size), wanted, side="right")
            rest[cluster] = ordered[wanted + before].mean()
    return inside, rest


def _classes(ranks: FloatArray, counts: IntArray) -> tuple[FloatArray, FloatArray]:
    """Join neighbouring ranks where there are very many, at the mean of their rows."""
    if len(ranks) <= MAX_RANKS:
        return ranks, counts.astype(np.float64)
    classes = np.minimum((ranks * MAX_RANKS).astype(np.int64), MAX_RANKS - 1)
    rows: Array = np.bincount(classes, weights=counts, minlength=MAX_RANKS)
    sums: Array = np.bincount(classes, weights=ranks * counts, minlength=MAX_RANKS)
    used = rows > 0
    return sums[used] / rows[used], rows[used]
