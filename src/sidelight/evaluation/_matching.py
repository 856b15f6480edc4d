"""Scores that match clusters to classes: one to one, or each to its best."""

from __future__ import annotations

import numpy as np

from sidelight._typing import FloatArray, IntArray
from sidelight.evaluation._contingency import Contingency, partition_score

# Above this many cells the matching works on the non-empty cells only.
_DENSE_CELLS = 4_000_000


def best_matching(table: Contingency, gain: FloatArray) -> IntArray:
    """Cells of a one-to-one matching of classes to clusters with the largest total gain.

    ``gain`` holds one number >= 0 per cell of the table; empty cells gain nothing.
    """
    shape = (len(table.row_total), len(table.column_total))
    if shape[0] * shape[1] <= _DENSE_CELLS:
        from scipy.optimize import linear_sum_assignment

        dense = np.zeros(shape)
        dense[table.row, table.column] = gain
        row, column = linear_sum_assignment(dense, maximize=True)
    else:
        row, column = _sparse_matching(table, gain, shape)
    cell_of = row * shape[1] + column
    return np.flatnonzero(np.isin(table.row * shape[1] + table.column, cell_of))


def _sparse_matching(
    table: Contingency, gain: FloatArray, shape: tuple[int, int]
) -> tuple[IntArray, IntArray]:
    """Match in memory linear in the non-empty cells.

    Every class gets a column of its own to fall back on, so a full matching always exists; 1 is
    added to every gain because explicit zeros are no edges to SciPy. Each class is matched once,
    so the total only shifts by the number of classes.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import min_weight_full_bipartite_matching

    n_rows, n_columns = shape
    own = np.arange(n_rows)
    graph = csr_array(
        (
            np.concatenate([gain + 1.0, np.ones(n_rows)]),
            (
                np.concatenate([table.row, own]),
                np.concatenate([table.column, n_columns + own]),
            ),
        ),
        shape=(n_rows, n_columns + n_rows),
    )
    # Not all versions of SciPy take the 64-bit places that such a matrix has.
    places = graph.indices.astype(np.int32), graph.indptr.astype(np.int32)
    graph = csr_array((graph.data, *places), shape=graph.shape)
    row, column = min_weight_full_bipartite_matching(graph, maximize=True)
    real = column < n_columns
    return row[real].astype(np.int64), column[real].astype(np.int64)


@partition_score
def clustering_accuracy(table: Contingency) -> float:
    r"""Share of the rows that are right under the best one-to-one naming of the clusters.

    .. math:: \mathrm{ACC} = \max_{\pi \text{ one-to-one}} \frac{1}{n} \sum_i n_{i, \pi(i)}

    The matching is exact (Hungarian method), the table may be rectangular: surplus classes or
    clusters stay unmatched and their rows count as wrong. Constrained Clustering, experiment E4.1
    and section 11.2.

    Examples
    --------
    >>> from sidelight.evaluation import clustering_accuracy
    >>> clustering_accuracy(["a", "a", "b", "b"], [1, 1, 0, 2])
    0.75
    """
    matched = best_matching(table, table.count.astype(np.float64))
    return int(table.count[matched].sum()) / table.n


@partition_score
def purity(table: Contingency) -> float:
    r"""Share of the rows that belong to the majority class of their cluster.

    .. math:: \frac{1}{n} \sum_j \max_i n_{ij}

    Constrained Clustering, chapter 2. It never falls when a cluster is split, so compare it only
    at the same number of clusters.

    Examples
    --------
    >>> from sidelight.evaluation import purity
    >>> purity([0, 0, 1, 1, 1], [0, 0, 0, 1, 1])
    0.8
    """
    largest = np.zeros(len(table.column_total), dtype=np.int64)
    np.maximum.at(largest, table.column, table.count)
    return int(largest.sum()) / table.n


def f_of_cells(table: Contingency) -> FloatArray:
    """F1 of each class and cluster taken as each other's answer: ``2 n_ij / (n_i. + n_.j)``."""
    return 2.0 * table.count / (table.row_total[table.row] + table.column_total[table.column])


@partition_score
def class_weighted_f(table: Contingency) -> float:
    r"""F-score of each class with its best cluster, weighted by the size of the class.

    .. math:: F = \sum_i \frac{n_i}{n} \max_j \frac{2 p_{ij} r_{ij}}{p_{ij} + r_{ij}},
              \quad p_{ij} = \frac{n_{ij}}{n_{\cdot j}},\; r_{ij} = \frac{n_{ij}}{n_{i \cdot}}

    Law, equation 5.34; Constrained Clustering, section 5.4. Not symmetric, and not a matching:
    one cluster may serve several classes. For balanced classes it is at least 1/k.

    Examples
    --------
    >>> from sidelight.evaluation import class_weighted_f
    >>> class_weighted_f([0, 0, 1, 1], [5, 5, 5, 5])  # one cluster serves both classes
    0.6666666666666666
    """
    best = np.zeros(len(table.row_total))
    np.maximum.at(best, table.row, f_of_cells(table))
    return float(table.row_total @ best) / table.n


@partition_score
def matched_macro_f1(table: Contingency) -> float:
    r"""Mean over the classes of their F1 under the best one-to-one matching to clusters.

    .. math:: \frac{1}{C} \max_{\pi \text{ one-to-one}} \sum_{i=1}^{C}
              \frac{2\, n_{i, \pi(i)}}{n_{i \cdot} + n_{\cdot \pi(i)}}

    A class without a cluster counts 0. This is what Mallapragada's thesis (chapters 4 and 5)
    calls "pairwise F1"; the score over pairs of rows is :func:`pairwise_f1`.

    Examples
    --------
    >>> from sidelight.evaluation import matched_macro_f1
    >>> matched_macro_f1([0, 0, 1, 1], [5, 5, 5, 5])  # the second class has no cluster
    0.3333333333333333
    """
    f = f_of_cells(table)
    return float(f[best_matching(table, f)].sum()) / len(table.row_total)
