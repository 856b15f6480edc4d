"""The learned metric: its map and distances, by a matrix or by weighted pairs of rows.

With the rows ``S`` of the pairs and the Laplacian ``L`` of the graph of weights, ``A = S'LS`` and
the squared distance is ``g'Lg``, ``g = K(S, x) - K(S, z)``, for any kernel ``K``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, eigsh

from sidelight._fit.scatter import fix_signs, leading_root, root
from sidelight._typing import Array
from sidelight._words import setting, worded
from sidelight.exceptions import SidelightError
from sidelight.metric.cannot_link._problem import BaseKernel
from sidelight.metric.cannot_link._sweeps import LARGEST_MATRIX, PairGraph, as_csr

#: Entries of a block of products with the rows.
BLOCK_ENTRIES = 4_000_000

#: Up to this many features, or rows in pairs, a map with all directions is found.
ALL_DIRECTIONS = 1000


@dataclass(frozen=True)
class LearnedMetric:
    """A metric, in the form that its size allows.

    Attributes
    ----------
    kernel : BaseKernel
        Inner products of rows that it was learned in.
    map : ndarray or None
        ``W``, or the map of ``K(x, S)`` where the kernel is not linear; None where it would be too
        large.
    matrix : ndarray or None
        ``A``, where there are few features.
    support : WeightedPairs or None
        Pairs with a weight, where there is no matrix.
    """

    kernel: BaseKernel
    map: Array | None
    matrix: Array | None = None
    support: WeightedPairs | None = None

    @classmethod
    def from_matrix(
        cls, kernel: BaseKernel, A: Array, n_components: int | None, dtype: np.dtype[Any]
    ) -> LearnedMetric:
        """The metric of a matrix."""
        return cls(kernel, leading_root(A, n_components).astype(dtype), matrix=A)

    @classmethod
    def from_pairs(
        cls, support: WeightedPairs, d: int, n_components: int | None, dtype: np.dtype[Any]
    ) -> LearnedMetric:
        """The metric of weighted pairs, with a map where there are few features or rows."""
        kernel, W = support.kernel, None
        if kernel.linear and d <= ALL_DIRECTIONS:
            return cls.from_matrix(kernel, support.matrix(), n_components, dtype)
        if not kernel.linear:
            if support.n_rows <= LARGEST_MATRIX:
                W = support.row_map(n_components)
        elif n_components is not None and n_components < d:
            seed = np.random.RandomState(0).standard_normal(d)
            W = support.leading_directions(n_components, seed)
        elif support.n_rows <= ALL_DIRECTIONS:
            W = np.asarray(support.row_map(None) @ support.rows)
        return cls(kernel, None if W is None else W.astype(dtype), support=support)

    def transform(self, rows: Any) -> Array:
        """Rows where the metric is the Euclidean distance."""
        if self.map is None:
            raise SidelightError(
                f"A map with all directions of {rows.shape[1]:,} features would be too large; set "
                f"{setting('n_components', 100)}, say."
                + worded(" pair_distance and kernel work without.", "")
            )
        if self.kernel.linear:
            return np.asarray(rows @ self.map.T.astype(rows.dtype, copy=False))
        assert self.support is not None
        products = self.kernel.products(rows, self.support.rows)
        return np.asarray(products @ self.map.T, dtype=rows.dtype)

    def distances(self, rows: Any, pairs: Array) -> Array:
        """Distances of pairs of positions in ``rows``."""
        if self.map is not None:
            mapped = self.transform(rows)
            return np.linalg.norm(mapped[pairs[:, 0]] - mapped[pairs[:, 1]], axis=1)
        assert self.support is not None
        squares = self.support.squared_distances(rows, pairs)
        return np.sqrt(np.maximum(squares, 0.0)).astype(rows.dtype)

    def inner(self, rows: Any, others: Any) -> Array:
        """Inner products under the metric."""
        if self.map is not None:
            return self.transform(rows) @ self.transform(others).T
        assert self.support is not None
        return self.support.inner(rows, others).astype(rows.dtype)

    def mahalanobis(self, d: int) -> Array:
        """``A`` of ``d`` features, or of the leading directions where only these are kept."""
        if not self.kernel.linear:
            raise SidelightError(
                "With a kernel the metric is no matrix of features; use pair_distance or kernel."
            )
        if self.support is not None and d > LARGEST_MATRIX:
            raise SidelightError(
                f"The matrix of {d:,} features is too large to be formed; use pair_distance or "
                "kernel, or components_ with n_components."
            )
        if self.map is not None:
            return np.asarray(self.map.T @ self.map)
        assert self.support is not None
        return self.support.matrix()


@dataclass
class WeightedPairs:
    """Rows ``S``, weighted pairs of them, and the kernel that compares other rows with these."""

    rows: Any
    graph: PairGraph
    alpha: Array
    kernel: BaseKernel
    gram: Array | None = None  # K(S, S) where it is known already

    @classmethod
    def of_support(
        cls, rows: Any, graph: PairGraph, alpha: Array, kernel: BaseKernel, gram: Array | None
    ) -> WeightedPairs:
        """Leave out pairs without a weight, and rows that are in no other pair."""
        kept = alpha > 0
        ends = np.concatenate([graph.first[kept], graph.second[kept]])
        used, places = np.unique(ends, return_inverse=True)
        first, second = places[: len(places) // 2], places[len(places) // 2 :]
        own = None if gram is None else gram[np.ix_(used, used)]
        kept_graph = PairGraph(first, second, graph.upper[kept])
        return cls(rows[used], kept_graph, alpha[kept], kernel, own)

    @property
    def n_rows(self) -> int:
        """Rows that are in a pair."""
        return int(self.rows.shape[0])

    def laplacian(self) -> sparse.csr_array:
        """``diag(W1) - W`` of the weights."""
        n, graph = self.n_rows, self.graph
        weights = sparse.csr_array((self.alpha, (graph.first, graph.second)), shape=(n, n))
        weights = weights + weights.T
        degrees = np.asarray(weights.sum(axis=1)).reshape(1, n)
        return sparse.csr_array(sparse.dia_array((degrees, [0]), shape=(n, n)) - weights)

    def inner(self, left: Any, right: Any) -> Array:
        """Inner products under the metric, ``K(left, S) L K(S, right)``."""
        near, far = self.kernel.products(left, self.rows), self.kernel.products(right, self.rows)
        return np.asarray((near @ self.laplacian()) @ far.T)

    def squared_distances(self, rows: Any, pairs: Array) -> Array:
        """``g'Lg`` of pairs of positions in ``rows``."""
        out, graph = np.empty(len(pairs)), self.graph
        size = max(1, BLOCK_ENTRIES // max(self.n_rows, len(self.alpha), 1))
        for start in range(0, len(pairs), size):
            part = pairs[start : start + size]
            left, right = rows[part[:, 0]], rows[part[:, 1]]
            if self.kernel.linear:  # the difference first: nothing is lost between rows far from 0
                g = self.kernel.products(left - right, self.rows)
            else:
                g = self.kernel.products(left, self.rows) - self.kernel.products(right, self.rows)
            steps = g[:, graph.first] - g[:, graph.second]
            out[start : start + size] = steps**2 @ self.alpha
        return out

    def matrix(self) -> Array:
        """``A = S'LS``, dense."""
        A = self.rows.T @ (self.laplacian() @ self.rows)
        return np.asarray(A.toarray() if sparse.issparse(A) else A, dtype=np.float64)

    def leading_directions(self, n_components: int, seed: Array) -> Array:
        """``W`` of the largest eigenvalues of ``A``, by products with ``S`` and ``L`` alone."""
        rows, laplacian, d = self.rows, self.laplacian(), self.rows.shape[1]
        operator = LinearOperator(
            (d, d), matvec=lambda v: rows.T @ (laplacian @ (rows @ v)), dtype=np.float64
        )
        values, vectors = eigsh(operator, k=n_components, v0=seed)
        order = np.argsort(-values, kind="stable")
        return fix_signs((vectors * np.sqrt(np.maximum(values, 0.0))).T[order])

    def row_map(self, n_components: int | None) -> Array:
        """``R`` with ``‖R (K(S, x) - K(S, z))‖`` the distance; ``n_components`` leading directions.

        With ``L = R'R`` the directions of ``A`` in the space of the kernel belong to those of
        ``R K(S, S) R'``, so that a turn of ``R`` puts the leading ones first.
        """
        whole = root(self.laplacian().toarray())
        if n_components is None:
            return whole
        gram = self.kernel.products(self.rows, self.rows) if self.gram is None else self.gram
        inner = whole @ gram @ whole.T
        values, turn = np.linalg.eigh((inner + inner.T) / 2)
        leading = np.argsort(-values, kind="stable")[:n_components]
        return fix_signs(turn[:, leading].T @ whole)


def joined(
    before: WeightedPairs | None, rows: Any, graph: PairGraph
) -> tuple[Any, PairGraph, Array]:
    """Rows, pairs and weights of before, followed by new pairs without a weight."""
    weightless = np.zeros(len(graph.first))
    if before is None:
        return rows, graph, weightless
    both = [before.rows, rows]
    stacked = as_csr(sparse.vstack(both)) if any(map(sparse.issparse, both)) else np.vstack(both)
    longer = PairGraph(
        np.concatenate([before.graph.first, graph.first + before.n_rows]),
        np.concatenate([before.graph.second, graph.second + before.n_rows]),
        np.concatenate([before.graph.upper, graph.upper]),
    )
    return stacked, longer, np.concatenate([before.alpha, weightless])
