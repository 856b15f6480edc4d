"""The score by which runs of a conditional ensemble are compared."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from sidelight._typing import Array, FloatArray, IntArray
from sidelight.constraints import KnownSplits
from sidelight.evaluation import similarity_to_splits

#: Weight of what the clusters say about all rows beside what they say within the known classes:
#: the value of the experiments in section 11.5.
COORDINATION = 0.3


#: Adjusted mutual information with a known split up to which clusters count as independent.
INDEPENDENT = 0.1
#: Price of every unit beyond it, in units of the score.
PRICE = 2.0


class ConditionalScore:
    """``I(C;F|Z) + λ I(C;F)`` of clusters, by the squared error that they save.

    Within the known classes and in all rows, each as a share of the error without clusters.
    """

    def __init__(self, rows: Any, cells: IntArray, splits: KnownSplits) -> None:
        self.rows, self.cells, self.splits = rows, cells, splits
        self.n_cells = int(cells.max()) + 1
        self.squares = float(_squares(rows))
        sums, counts = self._sums(cells, self.n_cells)
        self.within = self.squares - _explained(sums, counts)
        self.total = self.squares - _explained(
            sums.sum(axis=0, keepdims=True), counts.sum(keepdims=True)
        )

    def __call__(self, labels: Array) -> float:
        k = int(labels.max()) + 1
        sums, counts = self._sums(
            labels.astype(np.int64) * self.n_cells + self.cells, k * self.n_cells
        )
        left = self.squares - _explained(sums, counts)
        sums = sums.reshape(k, self.n_cells, -1).sum(axis=1)
        overall = self.squares - _explained(sums, counts.reshape(k, -1).sum(axis=1))
        return _saved(left, self.within) + COORDINATION * _saved(overall, self.total)

    def redundancy(self, labels: Array) -> float:
        """Largest adjusted mutual information of clusters and a known split; 0 without any."""
        return max((one.ami for one in similarity_to_splits(labels, self.splits)), default=0.0)

    def _sums(self, groups: IntArray, n_groups: int) -> tuple[FloatArray, FloatArray]:
        n = len(groups)
        members = sparse.csr_array((np.ones(n), (groups, np.arange(n))), shape=(n_groups, n))
        sums = members @ self.rows
        sums = sums.toarray() if sparse.issparse(sums) else np.asarray(sums)
        return sums.astype(np.float64), np.bincount(groups, minlength=n_groups).astype(np.float64)


def _squares(rows: Any) -> float:
    values = rows.data if sparse.issparse(rows) else rows
    return float(np.sum(np.square(values, dtype=np.float64)))


def _explained(sums: FloatArray, counts: FloatArray) -> float:
    """Squared error that the means of groups save, against the origin."""
    return float(np.sum((sums**2).sum(axis=1) / np.maximum(counts, 1.0)))


def _saved(left: float, before: float) -> float:
    """Share of a squared error that is saved; 0 where there was none."""
    return 1.0 - left / before if before > 0 else 0.0
