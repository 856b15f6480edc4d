"""Scores of clusters of rows and columns: holes in an order, association, information in bits."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from sidelight._typing import Array, FloatArray, IntArray
from sidelight.constraints import Ordering
from sidelight.evaluation._contingency import encode_labels
from sidelight.exceptions import SidelightError


def jump_number(labels: Any, order: Any = None) -> int:
    r"""Number of holes in the clusters of ordered elements: 0 if every cluster is an interval.

    .. math:: N_J = \text{number of maximal runs of equal labels} - \text{number of clusters}

    The runs are those of clusters; elements in no cluster (-1) are holes where they interrupt one.
    In a circular order the last run goes on with the first. (Constrained Clustering, section
    6.4.1.)

    Parameters
    ----------
    labels : array-like of shape (n,)
        Clusters of the elements.
    order : Ordering or array-like of shape (n,), default=None
        Order of the elements, or scores to sort them by; by default as they come.

    Examples
    --------
    >>> from sidelight.evaluation import jump_number
    >>> jump_number([0, 0, 1, 0, 2, 2]), jump_number([0, 1, 0], order=[1, 3, 2])
    (1, 0)
    """
    codes = encode_labels(labels, "labels")
    circular = False
    if order is not None:
        ordering = order if isinstance(order, Ordering) else Ordering(order)
        if len(ordering) != len(codes):
            raise SidelightError(
                f"The order has {len(ordering)} elements and labels has {len(codes)}; both must "
                "be about the same."
            )
        codes, circular = codes[ordering.order], ordering.circular
    before = np.roll(codes, 1) if circular else np.concatenate([[-2], codes[:-1]])
    starts = codes[(codes != before) & (codes >= 0)]
    # A cluster of all elements of a circle has one run that starts nowhere.
    n_clusters = len(np.unique(codes[codes >= 0]))
    return max(0, len(starts) - n_clusters)


def goodman_kruskal_tau(X: Any, row_labels: Any, column_labels: Any) -> float:
    r"""Association of clusters of rows and of columns: 0 for none, 1 for a block diagonal.

    The symmetric form of Goodman and Kruskal's coefficient, with :math:`p_{ij}` the share of the
    total of the table in rows of cluster :math:`i` and columns of cluster :math:`j`,

    .. math::
        \tau = \frac{\tfrac12 \sum_{ij} (p_{ij} - p_{i\cdot} p_{\cdot j})^2
                     \frac{p_{i\cdot} + p_{\cdot j}}{p_{i\cdot} p_{\cdot j}}}
                    {1 - \tfrac12 \sum_i p_{i\cdot}^2 - \tfrac12 \sum_j p_{\cdot j}^2} .

    Tables with a single cluster on both sides have no association to speak of: 0. (Constrained
    Clustering, section 6.4.1.)

    Parameters
    ----------
    X : array or sparse matrix of shape (n_rows, n_columns)
        Table of ones, counts or other values that are not negative.
    row_labels, column_labels : array-like
        Clusters; rows and columns in no cluster (-1) are left out.

    Examples
    --------
    >>> from sidelight.evaluation import goodman_kruskal_tau
    >>> goodman_kruskal_tau([[1, 1, 0], [0, 0, 1]], [0, 1], [0, 0, 1])
    1.0
    """
    p = _block_shares(*_clustered(X, row_labels, column_labels))
    of_rows, of_columns = p.sum(axis=1)[:, None], p.sum(axis=0)[None, :]
    expected = of_rows * of_columns
    terms = np.divide(
        (p - expected) ** 2 * (of_rows + of_columns),
        expected,
        out=np.zeros_like(p),
        where=expected > 0,
    )
    rest = 1.0 - 0.5 * float(np.sum(of_rows**2)) - 0.5 * float(np.sum(of_columns**2))
    return 0.5 * float(terms.sum()) / rest if rest > 1e-12 else 0.0


def cocluster_information(X: Any, row_labels: Any, column_labels: Any) -> float:
    r"""Mutual information between clusters of rows and clusters of columns, in bits.

    .. math:: I = \sum_{ij} p_{ij} \log_2 \frac{p_{ij}}{p_{i\cdot}\, p_{\cdot j}}

    with :math:`p_{ij}` the share of the total of the table in rows of cluster :math:`i` and
    columns of cluster :math:`j`.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_rows, n_columns)
        Table of ones, counts or other values that are not negative.
    row_labels, column_labels : array-like
        Clusters; rows and columns in no cluster (-1) are left out.

    Examples
    --------
    >>> from sidelight.evaluation import cocluster_information
    >>> cocluster_information([[1, 1, 0, 0], [0, 0, 1, 1]], [0, 1], [0, 0, 1, 1])
    1.0
    """
    return information(_block_shares(*_clustered(X, row_labels, column_labels)))


def cocluster_information_loss(X: Any, row_labels: Any, column_labels: Any) -> float:
    r"""Information between rows and columns that is lost between their clusters, in bits.

    .. math:: I(\text{rows}; \text{columns}) - I(\text{row clusters}; \text{column clusters}) \ge 0

    Parameters
    ----------
    X : array or sparse matrix of shape (n_rows, n_columns)
        Table of ones, counts or other values that are not negative.
    row_labels, column_labels : array-like
        Clusters; rows and columns in no cluster (-1) are left out of both terms.

    Examples
    --------
    >>> from sidelight.evaluation import cocluster_information_loss
    >>> cocluster_information_loss([[1, 1, 0, 0], [0, 0, 1, 1]], [0, 1], [0, 0, 1, 1])
    0.0
    """
    values, rows, columns = _clustered(X, row_labels, column_labels)
    table = values.toarray() if sparse.issparse(values) else values
    whole = information(table / max(table.sum(), np.finfo(float).tiny))
    return max(0.0, whole - information(_block_shares(values, rows, columns)))


def information(p: FloatArray) -> float:
    """Mutual information of a joint distribution, in bits."""
    expected = p.sum(axis=1)[:, None] * p.sum(axis=0)[None, :]
    some = p > 0
    return max(0.0, float(np.sum(p[some] * np.log2(p[some] / expected[some]))))


def _clustered(X: Any, row_labels: Any, column_labels: Any) -> tuple[Any, IntArray, IntArray]:
    """The part of a table in clusters, scaled so that nothing overflows, and the clusters."""
    table = X.tocsr() if sparse.issparse(X) else np.asarray(X)
    rows, columns = (
        encode_labels(labels, name)
        for labels, name in ((row_labels, "row_labels"), (column_labels, "column_labels"))
    )
    if table.ndim != 2 or table.shape != (len(rows), len(columns)):
        raise SidelightError(
            f"The table has the shape {table.shape}, but there are {len(rows)} labels of rows and "
            f"{len(columns)} of columns; give one for each."
        )
    table = table.astype(np.float64)[rows >= 0][:, columns >= 0]
    if table.size and table.min() < 0:
        raise SidelightError("The table has negative values; give ones, counts or shares.")
    largest = table.max() if table.size else 0.0
    return table / (largest or 1.0), rows[rows >= 0], columns[columns >= 0]


def _block_shares(table: Any, rows: IntArray, columns: IntArray) -> FloatArray:
    """Share of the total of a table in every block."""
    blocks = _indicators(rows).T @ (table @ _indicators(columns))
    sums = np.asarray(blocks.toarray() if sparse.issparse(blocks) else blocks)
    total = float(sums.sum())
    return sums / total if total > 0 else sums


def _indicators(labels: IntArray) -> Array:
    n_clusters = int(labels.max(initial=-1)) + 1
    return sparse.csr_array(
        (np.ones(len(labels)), (np.arange(len(labels)), labels)), shape=(len(labels), n_clusters)
    )
