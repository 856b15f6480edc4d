"""Sweeps of coordinate ascent over pairs, with or without the metric at hand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from sidelight._kernels.metric.cannot_link import gram_epoch, metric_epoch, sparse_epoch
from sidelight._kernels.metric.pair_model import gram_products
from sidelight._typing import Array

#: Metrics of up to this many features (134 MB) are formed.
LARGEST_MATRIX = 4096


class Sweeps(Protocol):
    """Sweeps over pairs, with a step for each at its current margin.

    ``rounds`` is how often the pairs of a block step before the next block: 0 to measure only, 1
    for every pair to step once, in order.
    """

    def sweep(self, alpha: Array, order: Array, margins: Array, *, rounds: int) -> float:
        """Go once through the pairs; return the largest violation."""

    def rescale(self, factor: float) -> None:
        """All weights have been multiplied."""


class Products(Sweeps, Protocol):
    """Sweeps that need nothing but the weights."""

    def products(self, weight: Array) -> Array:
        """``Q w``, ``Q_pq = (d_p'd_q)²``, of weights of any sign."""


@dataclass
class PairGraph:
    """Pairs as edges between rows, with the largest weight that each may have."""

    first: Array
    second: Array
    upper: Array

    def visit(
        self, alpha: Array, order: Array, margins: Array, rounds: int
    ) -> tuple[Array, Array, Array, Array, Array, Array, int]:
        """Arguments that every kernel takes to go through the pairs in this order."""
        return self.first, self.second, order, self.upper, alpha, margins, rounds


class MetricSweeps:
    """``A`` is at hand: ``O(k²)`` per pair for differences with ``k`` entries."""

    def __init__(self, rows: Any, graph: PairGraph, A: Array | None = None) -> None:
        self.rows = as_csr(rows)
        self.graph = graph
        d = self.rows.shape[1]
        self.A = np.zeros((d, d)) if A is None else A

    def sweep(self, alpha: Array, order: Array, margins: Array, *, rounds: int) -> float:
        rows, visit = self.rows, self.graph.visit(alpha, order, margins, rounds)
        return metric_epoch(self.A, rows.indptr, rows.indices, rows.data, *visit)

    def rescale(self, factor: float) -> None:
        self.A *= factor


class GramSweeps:
    """The Gram or kernel matrix is at hand: ``O(rows + support)`` per pair."""

    def __init__(self, gram: Array, graph: PairGraph) -> None:
        self.gram = np.ascontiguousarray(gram, dtype=np.float64)
        self.graph = graph

    def sweep(self, alpha: Array, order: Array, margins: Array, *, rounds: int) -> float:
        return gram_epoch(self.gram, *self.graph.visit(alpha, order, margins, rounds))

    def products(self, weight: Array) -> Array:
        first, second = unsigned(self.graph.first), unsigned(self.graph.second)
        used = np.flatnonzero(weight)
        return gram_products(self.gram, first, second, first[used], second[used], weight[used])

    def rescale(self, factor: float) -> None:
        """Nothing but the weights depends on them."""


class SparseSweeps:
    """Only the sparse rows are at hand: products with them, and with the pair graph's Laplacian."""

    def __init__(self, rows: Any, graph: PairGraph) -> None:
        self.rows = as_csr(rows)
        self.columns = sparse.csc_array(self.rows)
        self.graph = graph

    def sweep(self, alpha: Array, order: Array, margins: Array, *, rounds: int) -> float:
        rows, columns = self.rows, self.columns
        return sparse_epoch(
            rows.indptr,
            rows.indices,
            rows.data,
            columns.indptr,
            columns.indices,
            columns.data,
            *self.graph.visit(alpha, order, margins, rounds),
        )

    def products(self, weight: Array) -> Array:
        return measured(self, weight)

    def rescale(self, factor: float) -> None:
        """Nothing but the weights depends on them."""


def measured(sweeps: Sweeps, weight: Array) -> Array:
    """Margins under these weights: nothing steps."""
    margins = np.empty(len(weight))
    sweeps.sweep(weight, np.arange(len(weight)), margins, rounds=0)
    return margins


def as_csr(rows: Any) -> Any:
    """Rows as CSR with sorted indices, in float64."""
    csr = sparse.csr_array(rows, dtype=np.float64)
    csr.sum_duplicates()
    return csr


def unsigned(indices: Array) -> Array:
    """Unsigned, so Numba skips the negative-index check."""
    return indices.astype(np.uint32, copy=False)
