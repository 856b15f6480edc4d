"""The partition with most information about several labelings: k-means on their indicators.

Of labelings ``Y^1 ... Y^R`` with weights ``w_r``, the median partition of degree 2 maximizes
``Σ_r w_r U(C, Y^r)`` with the category utility ``U``. Since

    SSE(Y | C) / n = Σ_r w_r (1 - Σ_j p(Y_j^r)²) - Σ_r w_r U(C, Y^r),

it is k-means on the indicator columns of all labelings side by side, block ``r`` multiplied with
``sqrt(w_r)`` (Constrained Clustering, section 11.3). Rows with the same labels are one point with a
weight: as many points as there are different combinations of labels.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from sidelight._typing import Array, FloatArray, IntArray
from sidelight.cluster.kmeans import KMeans

#: Number of starts of the combination, which is cheap: it sees different rows of labels only.
STARTS = 3

#: Indicator matrices of more entries are kept sparse.
DENSE_ENTRIES = 5_000_000


@dataclass(frozen=True)
class Labelings:
    """Several labelings of the same rows, by the different combinations of labels that occur.

    Attributes
    ----------
    combinations : ndarray of shape (n_combinations, n_labelings)
        Labels, counted from 0 in every labeling; -1 for a label that was never seen.
    of_row : ndarray of shape (n_samples,)
        Combination of every row.
    sizes : ndarray of shape (n_labelings,)
        Number of labels of every labeling.
    """

    combinations: IntArray
    of_row: IntArray
    sizes: IntArray

    @classmethod
    def of(cls, labels: list[IntArray], sizes: IntArray) -> Labelings:
        """Find the combinations that occur, one labeling after the other."""
        of_row = np.zeros(len(labels[0]), dtype=np.int64)
        first = np.zeros(1, dtype=np.int64)
        for one, size in zip(labels, sizes.tolist(), strict=True):
            # -1 becomes a digit of its own
            joint = of_row * (size + 1) + one + 1
            _, first, of_row = np.unique(joint, return_index=True, return_inverse=True)
            of_row = of_row.reshape(-1)
        return cls(np.column_stack([one[first] for one in labels]), of_row, sizes)

    def indicators(self, weights: FloatArray) -> Array | sparse.csr_array:
        """Indicator columns of all labels, ``sqrt(w_r)`` in block ``r``, a row per combination."""
        n, n_labelings = self.combinations.shape
        columns = self.combinations + np.append(0, np.cumsum(self.sizes)[:-1])
        values = np.where(self.combinations >= 0, np.sqrt(weights), 0.0)
        columns = np.where(self.combinations >= 0, columns, 0)
        matrix = sparse.csr_array(
            (
                values.ravel(),
                columns.ravel(),
                np.arange(0, n * n_labelings + 1, n_labelings),
            ),
            shape=(n, int(self.sizes.sum())),
        )
        matrix.sum_duplicates()
        return matrix.toarray() if n * int(self.sizes.sum()) <= DENSE_ENTRIES else matrix


@dataclass(frozen=True)
class MedianPartition:
    """A combination of labelings.

    Attributes
    ----------
    model : KMeans
        The k-means of the indicators.
    labels : ndarray of int32, shape (n_samples,)
        Cluster of every row.
    history : ndarray
        Mean squared distance ``SSE / n`` at every iteration of the best start.
    weights : ndarray of shape (n_labelings,)
        Weights of the labelings.
    """

    model: KMeans
    labels: Array
    history: FloatArray
    weights: FloatArray

    def place(self, labelings: Labelings) -> Array:
        """Cluster of other rows by their labels: the nearest center."""
        nearest: Array = self.model.predict(labelings.indicators(self.weights))
        return nearest[labelings.of_row].astype(np.int32)


def median_partition(
    labelings: Labelings, weights: FloatArray, n_clusters: int, seed: int
) -> MedianPartition:
    """Combine labelings into a partition of at most ``n_clusters`` clusters."""
    points = labelings.indicators(weights)
    counts = np.bincount(labelings.of_row, minlength=len(labelings.combinations))
    model = KMeans(min(n_clusters, points.shape[0]), n_init=STARTS, tol=0.0, random_state=seed).fit(
        points, sample_weight=counts.astype(np.float64)
    )
    n = len(labelings.of_row)
    return MedianPartition(
        model, model.labels_[labelings.of_row], np.asarray(model.history_) / n, weights
    )


def category_utility(labels: Array, other: IntArray) -> float:
    """``U(C, Y) = Σ_c p(c) Σ_j p(Y_j|c)² - Σ_j p(Y_j)²`` of clusters and a labeling."""
    n = len(other)
    table = sparse.coo_array((np.ones(n), (labels, other))).toarray()
    sizes = table.sum(axis=1)
    within = ((table**2).sum(axis=1)[sizes > 0] / sizes[sizes > 0]).sum() / n
    return float(within - ((table.sum(axis=0) / n) ** 2).sum())
