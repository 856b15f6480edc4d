"""The partition with most information about several labelings: k-means on their indicators.

Of labelings ``Y^1 ... Y^R`` with weights ``w_r``, the median partition of degree 2 maximizes
``Σ_r w_r U(C, Y^r)`` with the category utility ``U``. Since

    SSE(Y | C) / n = Σ_r w_r (1 - Σ_j p(Y_j^r)²) - Σ_r w_r U(C, Y^r),

it is k-means on the indicator columns of all labelings side by side, block ``r`` multiplied with
``sqrt(w_r)`` (Constrained Clustering, section 11.3). Rows with the same labels are one point with a
weight: as many points as there are different combinations of labels.

A labeling of all rows by the model of one class may follow the known split where that one moves the
rows. The directions in which the means of the indicators differ between the known classes can
be left out, ``Y (1 - P)`` with the projection ``P`` on their span: then no known class has other
means than all rows, and the point of a row still depends on its labels alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from sidelight._typing import Array, FloatArray, IntArray
from sidelight.cluster.kmeans import KMeans

#: Number of starts of the combination, which is cheap: it sees different rows of labels only.
STARTS = 3

#: Indicator matrices of more entries are kept sparse.
DENSE_ENTRIES = 5_000_000

#: Means of indicators that differ by no more are the same.
SAME = 1e-9


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
    left_out : ndarray of shape (n_directions, n_columns)
        Orthonormal directions of the indicators that are left out.
    """

    model: KMeans
    labels: Array
    history: FloatArray
    weights: FloatArray
    left_out: FloatArray

    def place(self, labelings: Labelings) -> Array:
        """Cluster of other rows by their labels: the nearest center."""
        points = _without(labelings.indicators(self.weights), self.left_out)
        nearest: Array = self.model.predict(points)
        return nearest[labelings.of_row].astype(np.int32)


def directions_of_cells(labelings: Labelings, weights: FloatArray, cells: IntArray) -> FloatArray:
    """Orthonormal directions in which the means of the indicators differ between known cells.

    None where nothing would be left without them, and where the indicators are kept sparse.
    """
    points = labelings.indicators(weights)
    none = np.empty((0, points.shape[1]))
    if sparse.issparse(points) or cells.max() == 0:
        return none
    n = len(cells)
    table = sparse.coo_array((np.ones(n), (cells, labelings.of_row))).tocsr()
    sizes = np.bincount(cells)
    overall = np.bincount(labelings.of_row) @ points / n
    offsets = (table @ points) / sizes[:, None] - overall
    _, lengths, directions = np.linalg.svd(offsets, full_matrices=False)
    directions = directions[lengths > SAME * np.sqrt(np.sum(weights))]
    left = _without(points - overall, directions)
    return directions if np.abs(left).max(initial=0.0) > SAME else none


def _without(points: Any, directions: FloatArray) -> Any:
    return points - (points @ directions.T) @ directions if len(directions) else points


def median_partition(
    labelings: Labelings,
    weights: FloatArray,
    n_clusters: int,
    seed: int,
    left_out: FloatArray | None = None,
) -> MedianPartition:
    """Combine labelings into a partition of at most ``n_clusters`` clusters."""
    directions = np.empty((0, int(labelings.sizes.sum()))) if left_out is None else left_out
    points = _without(labelings.indicators(weights), directions)
    counts = np.bincount(labelings.of_row, minlength=len(labelings.combinations))
    model = KMeans(min(n_clusters, points.shape[0]), n_init=STARTS, tol=0.0, random_state=seed).fit(
        points, sample_weight=counts.astype(np.float64)
    )
    n = len(labelings.of_row)
    return MedianPartition(
        model,
        model.labels_[labelings.of_row],
        np.asarray(model.history_) / n,
        weights,
        directions,
    )


def category_utility(labels: Array, other: IntArray) -> float:
    """``U(C, Y) = Σ_c p(c) Σ_j p(Y_j|c)² - Σ_j p(Y_j)²`` of clusters and a labeling."""
    n = len(other)
    table = sparse.coo_array((np.ones(n), (labels, other))).toarray()
    sizes = table.sum(axis=1)
    within = ((table**2).sum(axis=1)[sizes > 0] / sizes[sizes > 0]).sum() / n
    return float(within - ((table.sum(axis=0) / n) ** 2).sum())
