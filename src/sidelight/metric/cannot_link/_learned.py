"""A metric held by rows and weighted pairs of them, and linear maps that belong to it.

With the rows ``S`` of the pairs and the Laplacian ``L`` of the graph of weights, ``A = S'LS`` and
the squared distance is ``g'Lg``, ``g = K(S, x) - K(S, z)``, for any kernel ``K``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, eigsh

from sidelight._typing import Array
from sidelight.metric._base import metric_root
from sidelight.metric.cannot_link._solver import Graph, as_csr

Products = Callable[[Any, Any], Array]

#: Entries of a block of products with the rows.
BLOCK_ENTRIES = 4_000_000


@dataclass
class PairForm:
    """Rows, weighted pairs of them, and inner products of other rows with these.

    ``products(Z, S)`` gives ``K(Z, S)``, dense.
    """

    rows: Any
    graph: Graph
    alpha: Array
    products: Products
    gram: Array | None = None  # K(S, S) where it is known already

    @classmethod
    def of_support(
        cls, rows: Any, graph: Graph, alpha: Array, products: Products, gram: Array | None
    ) -> PairForm:
        """Leave out pairs without a weight, and rows that are in no other pair."""
        kept = alpha > 0
        ends = np.concatenate([graph.first[kept], graph.second[kept]])
        used, places = np.unique(ends, return_inverse=True)
        first, second = places[: len(places) // 2], places[len(places) // 2 :]
        own = None if gram is None else gram[np.ix_(used, used)]
        kept_graph = Graph(first, second, graph.upper[kept])
        return cls(rows[used], kept_graph, alpha[kept], products, own)

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
        return np.asarray(
            (self.products(left, self.rows) @ self.laplacian()) @ self.products(right, self.rows).T
        )

    def squared_distances(self, rows: Any, pairs: Array, *, linear: bool) -> Array:
        """``g'Lg`` of pairs of positions in ``rows``."""
        out, graph = np.empty(len(pairs)), self.graph
        size = max(1, BLOCK_ENTRIES // max(self.n_rows, len(self.alpha), 1))
        for start in range(0, len(pairs), size):
            part = pairs[start : start + size]
            left, right = rows[part[:, 0]], rows[part[:, 1]]
            if linear:  # the difference first: nothing is lost between rows far from 0
                g = self.products(left - right, self.rows)
            else:
                g = self.products(left, self.rows) - self.products(right, self.rows)
            steps = g[:, graph.first] - g[:, graph.second]
            out[start : start + size] = steps**2 @ self.alpha
        return out

    def metric(self) -> Array:
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
        return steady_signs((vectors * np.sqrt(np.maximum(values, 0.0))).T[order])

    def row_map(self, n_components: int | None) -> Array:
        """``R`` with ``‖R (K(S, x) - K(S, z))‖`` the distance; ``n_components`` leading directions.

        With ``L = R'R`` the directions of ``A`` in the space of the kernel belong to those of
        ``R K(S, S) R'``, so that a turn of ``R`` puts the leading ones first.
        """
        root = metric_root(self.laplacian().toarray())
        if n_components is None:
            return root
        gram = self.products(self.rows, self.rows) if self.gram is None else self.gram
        inner = root @ gram @ root.T
        values, turn = np.linalg.eigh((inner + inner.T) / 2)
        leading = np.argsort(-values, kind="stable")[:n_components]
        return steady_signs(turn[:, leading].T @ root)


def joined(before: PairForm | None, rows: Any, graph: Graph) -> tuple[Any, Graph, Array]:
    """Rows, pairs and weights of a form, followed by new pairs without a weight."""
    weightless = np.zeros(len(graph.first))
    if before is None:
        return rows, graph, weightless
    both = [before.rows, rows]
    stacked = as_csr(sparse.vstack(both)) if any(map(sparse.issparse, both)) else np.vstack(both)
    longer = Graph(
        np.concatenate([before.graph.first, graph.first + before.n_rows]),
        np.concatenate([before.graph.second, graph.second + before.n_rows]),
        np.concatenate([before.graph.upper, graph.upper]),
    )
    return stacked, longer, np.concatenate([before.alpha, weightless])


def leading_root(A: Array, n_components: int | None) -> Array:
    """``W`` with ``W'W = A``, or its leading directions only."""
    if n_components is None:
        return metric_root(A)
    values, vectors = np.linalg.eigh((A + A.T) / 2)
    leading = np.argsort(-values, kind="stable")[:n_components]
    return steady_signs((vectors[:, leading] * np.sqrt(np.maximum(values[leading], 0.0))).T)


def steady_signs(components: Array) -> Array:
    """Turn directions so that their largest entry is positive: the same result everywhere."""
    largest = np.argmax(np.abs(components), axis=1)
    signs = np.sign(components[np.arange(len(components)), largest])
    return np.asarray(components * np.where(signs == 0, 1.0, signs)[:, None])
