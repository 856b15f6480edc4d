"""Information-theoretic co-clustering (Dhillon, Mallela, Modha 2003)."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from sidelight._fit.alternation import Alternation, alternate
from sidelight._fit.parameters import (
    Count,
    NonNegative,
    Restarts,
    Seed,
    Verbosity,
    estimator,
    n_restarts,
)
from sidelight._typing import Array, FloatArray, IntArray
from sidelight._words import setting
from sidelight.base import Clusterer
from sidelight.cluster.coclustering._numbering import clusters_along, renumbered
from sidelight.constraints import Constraints
from sidelight.engine import as_rows
from sidelight.evaluation.inner import information
from sidelight.exceptions import SidelightError
from sidelight.tags import MethodTags

#: Logarithm of a probability of zero: worse than any other, and a number that 0 can multiply.
IMPOSSIBLE = -1e30


@estimator
class InformationCoclustering(Clusterer):
    r"""Co-clustering of a table of counts that keeps as much mutual information as it can.

    With :math:`p(t, g)` the table divided by its total, the loss

    .. math::
        I(T; G) - I(\hat T; \hat G) = D\big( p(t, g) \,\|\, p(\hat t, \hat g)\,
        p(t | \hat t)\, p(g | \hat g) \big)

    is lowered by turns: every row goes to the cluster ``l`` with the smallest divergence
    :math:`D(p(g|t) \| q(g|l))`, :math:`q(g|l) = p(g | \hat g)\, p(\hat g | l)`, and every column
    likewise. It never rises. Read more in the :doc:`user guide </cluster/coclustering>`.

    Parameters
    ----------
    n_clusters : int >= 1, default=3
        Number of clusters of rows.
    n_column_clusters : int >= 1 or None, default=None
        Number of clusters of columns; None for as many as of rows, or as there are columns.
    n_init : int >= 1 or "auto", default=10
        Number of restarts from random clusters; the one with the smallest loss is kept.
        ``"auto"`` takes 10.
    max_iter : int >= 1, default=100
        Most iterations of a restart.
    tol : float >= 0, default=1e-09
        Least decrease of the loss, in bits, for the search to go on.

    Attributes
    ----------
    labels_ : ndarray of int32, shape (n_samples,)
        Cluster of every row; -1 for rows of zeros. Clusters are numbered by the mean position of
        their rows.
    column_labels_ : ndarray of int32, shape (n_features,)
        Cluster of every column; -1 for columns of zeros.
    joint_ : ndarray of shape (n_clusters, n_column_clusters)
        Share of the total of the table in every block.
    total_information_ : float
        Mutual information of rows and columns, in bits; ``objective_`` is the part that is lost.

    See Also
    --------
    CDKMeans : For 0/1 tables and constraints.

    Notes
    -----
    The baseline of Constrained Clustering, chapter 6. A cluster that becomes empty takes the row
    (column) that fits its own worst, which lowers the loss as well.

    Examples
    --------
    >>> from sidelight.cluster import InformationCoclustering
    >>> counts = [[5, 4, 0, 0], [4, 5, 0, 1], [0, 0, 6, 5], [0, 1, 5, 6]]
    >>> model = InformationCoclustering(2, random_state=0).fit(counts)
    >>> model.labels_, model.column_labels_
    (array([0, 0, 1, 1], dtype=int32), array([0, 0, 1, 1], dtype=int32))
    """

    n_clusters: Count = 3
    _: KW_ONLY
    n_column_clusters: Count | None = None
    n_init: Restarts = 10
    max_iter: Count = 100
    tol: NonNegative = 1e-9
    random_state: Seed = None
    verbose: Verbosity = 0

    def __sidelight_tags__(self) -> MethodTags:
        return MethodTags(
            summary="clusters of rows and columns that keep the mutual information of a table",
            knowledge=(),
            enforcement="none",
            source="Dhillon, Mallela, Modha 2003; Constrained Clustering 6.4",
            complexity="O(nnz k) per iteration, O(n d) memory",
            kind="coclusterer",
            monotone=True,
            sparse=True,
            raw_columns=True,
        )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags

    def fit(self, X: Any, y: Any = None, *, constraints: Constraints | None = None) -> Self:
        rows, known = self._validate_fit_in_memory(X, y, constraints)
        table = _as_shares(rows)
        n_columns = self._n_column_clusters(rows.shape[1])
        search = _BlockSearch(table, self.n_clusters, n_columns)

        def run(number: int, rng: np.random.RandomState) -> Alternation[_Blocks]:
            return alternate(
                search.start(rng),
                search.evaluate,
                search.update,
                stop=lambda before, now, history: before.objective - now.objective <= self.tol,
                max_iter=self.max_iter,
                description=type(self).__name__,
                verbose=self.verbose,
            )

        best = self._best_restart(n_restarts(self), run, as_rows(rows))
        self._read_off(best, search, rows.dtype)
        self._compare_with(known)
        return self

    def predict(self, X: Any) -> Array:
        """Return the cluster of rows with the smallest divergence of every row.

        Parameters
        ----------
        X : array, CSR matrix or data frame of shape (n_samples, n_features)
            New rows, not negative.

        Returns
        -------
        labels : ndarray of int32, shape (n_samples,)
            Cluster of every row; -1 for rows without a value in a column that has a cluster.
        """
        check_is_fitted(self)
        rows = _as_shares(self._check_rows(X, reset=False))
        sums = _sums(rows, self.column_labels_, self.joint_.shape[1])
        return _nearest(sums, self.joint_.astype(np.float64)).astype(np.int32)

    def _n_clusters_found(self) -> int:
        return len(self.joint_)

    def _n_column_clusters(self, n_features: int) -> int:
        asked = self.n_column_clusters
        if asked is None:
            return min(self.n_clusters, n_features)
        if asked > n_features:
            raise SidelightError(
                f"{setting('n_column_clusters', asked)} is more than the {n_features} columns "
                "there are; ask for fewer clusters."
            )
        return asked

    def _read_off(self, best: Alternation[_Blocks], search: _BlockSearch, dtype: Any) -> None:
        labels, column_labels = best.last.parameters
        order = clusters_along(labels, np.arange(len(labels)), self.n_clusters)
        n_columns = best.last.joint.shape[1]
        column_order = clusters_along(column_labels, np.arange(len(column_labels)), n_columns)
        self.labels_ = renumbered(labels, order)
        self.column_labels_ = renumbered(column_labels, column_order)
        self.joint_ = best.last.joint[order][:, column_order].astype(dtype)
        self.total_information_ = search.total
        self.objective_ = best.objective
        self.history_ = best.history
        self.n_iter_ = best.n_iter
        self.converged_ = best.converged


@dataclass(frozen=True, eq=False)
class _Blocks:
    """Clusters of rows and columns with the shares of their blocks, and the loss in bits."""

    parameters: tuple[IntArray, IntArray]
    joint: FloatArray
    objective: float


class _BlockSearch:
    """The table by rows and by columns: what never changes during a fit."""

    def __init__(self, table: Any, n_clusters: int, n_column_clusters: int) -> None:
        self.table = table
        self.sizes = (n_clusters, n_column_clusters)
        self.turned = table.T.tocsr() if sparse.issparse(table) else table.T
        self.total = _information_of(table)
        self.used = tuple(np.asarray(table.sum(axis=axis)).ravel() > 0 for axis in (1, 0))

    def start(self, rng: np.random.RandomState) -> tuple[IntArray, IntArray]:
        """Random clusters of about the same size; rows and columns of zeros in none."""
        labels = []
        for used, size in zip(self.used, self.sizes, strict=True):
            label = np.full(len(used), -1, np.int64)
            members = np.flatnonzero(used)
            label[members] = rng.permutation(len(members)) % size
            labels.append(label)
        return labels[0], labels[1]

    def evaluate(self, labels: tuple[IntArray, IntArray], before: _Blocks | None) -> _Blocks:
        """Shares of the blocks and the loss."""
        joint = self._joint(*labels)
        return _Blocks(labels, joint, max(0.0, self.total - information(joint)))

    def update(self, now: _Blocks) -> tuple[IntArray, IntArray]:
        """Rows to their nearest clusters, then columns to theirs."""
        rows, columns = now.parameters
        rows = self._step(self.table, columns, now.joint)
        joint = self._joint(rows, columns)
        return rows, self._step(self.turned, rows, joint.T)

    def _joint(self, rows: IntArray, columns: IntArray) -> FloatArray:
        sums = _sums(self.table, columns, self.sizes[1])
        joint = np.zeros(self.sizes)
        np.add.at(joint, rows[rows >= 0], sums[rows >= 0])
        return joint

    def _step(self, table: Any, others: IntArray, joint: FloatArray) -> IntArray:
        """Nearest clusters of one side; empty ones take the element that fits worst."""
        sums = _sums(table, others, joint.shape[1])
        labels = _nearest(sums, joint)
        size = np.bincount(labels[labels >= 0], minlength=len(joint))
        fit = np.where(labels >= 0, _divergences(sums, joint, labels), -np.inf)
        for empty in np.flatnonzero(size == 0).tolist():
            alone = size[labels] <= 1
            worst = int(np.argmax(np.where(alone, -np.inf, fit)))
            if alone[worst] or fit[worst] <= 0:
                break
            size[labels[worst]] -= 1
            size[empty] += 1
            labels[worst] = empty
        return labels


def _as_shares(rows: Any) -> Any:
    """A table that is not negative in float64, divided so that it adds up to one."""
    values = rows.data if sparse.issparse(rows) else rows
    if values.size and values.min() < 0:
        raise SidelightError(
            "Negative values in data passed to InformationCoclustering: a table of counts, ones or "
            "shares is needed. Leave out columns that are differences, or shift them."
        )
    table = rows.astype(np.float64)
    largest = values.max() if values.size else 0
    table = table / float(largest or 1.0)
    return table / (float(table.sum()) or 1.0)


def _sums(table: Any, labels: IntArray, n_clusters: int) -> FloatArray:
    """Sums over the clusters of the columns, shape (n_rows, n_clusters)."""
    member = np.zeros((len(labels), n_clusters))
    placed = np.flatnonzero(labels >= 0)
    member[placed, labels[placed]] = 1.0
    return np.asarray(table @ member)


def _costs(sums: FloatArray, joint: FloatArray) -> FloatArray:
    """Part of the divergence of every row that depends on the cluster, times its share."""
    total = joint.sum(axis=1, keepdims=True)
    share = np.divide(joint, total, out=np.zeros_like(joint), where=total > 0)
    logarithm = np.log2(share, out=np.full_like(share, IMPOSSIBLE), where=share > 0)
    return -sums @ logarithm.T


def _nearest(sums: FloatArray, joint: FloatArray) -> IntArray:
    return np.where(sums.sum(axis=1) > 0, _costs(sums, joint).argmin(axis=1), -1)


def _divergences(sums: FloatArray, joint: FloatArray, labels: IntArray) -> FloatArray:
    """Divergence between clusters of columns of every row from its cluster, times its share."""
    total = sums.sum(axis=1, keepdims=True)
    share = np.divide(sums, total, out=np.zeros_like(sums), where=total > 0)
    logarithm = np.log2(share, out=np.zeros_like(share), where=share > 0)
    return (sums * logarithm).sum(axis=1) + _costs(sums, joint)[np.arange(len(sums)), labels]


def _information_of(table: Any) -> float:
    """Mutual information of rows and columns, in bits."""
    if not sparse.issparse(table):
        return information(table)
    entries = table.tocoo()
    of_rows, of_columns = (np.asarray(table.sum(axis=axis)).ravel() for axis in (1, 0))
    some = entries.data > 0
    p, rows, columns = entries.data[some], entries.row[some], entries.col[some]
    return float(np.sum(p * np.log2(p / (of_rows[rows] * of_columns[columns]))))
