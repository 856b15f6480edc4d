"""The dual of the metric from cannot-links: coordinate ascent, with or without the metric at hand.

Maximises ``Σ α_p - ½ Σ_pq α_p α_q (d_p'd_q)²`` over ``0 ≤ α_p ≤ C_p`` (Book 2009, 15.5 to 15.8).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from scipy import sparse

from sidelight._kernels.cannot_link import gram_epoch, metric_epoch, sparse_epoch
from sidelight._progress import fit_progress

Array = npt.NDArray[Any]

#: Metrics of up to this many features (134 MB) are formed.
LARGEST_MATRIX = 4096

#: Gram matrices of up to this many rows (512 MB) are formed where they save work.
LARGEST_GRAM = 8000

#: Rounds over pairs with a weight or too small a margin, between two over all pairs.
ACTIVE_ROUNDS = 8


#: Rounds within a block of pairs, which cost next to nothing.
BLOCK_ROUNDS = 5


class Visits(Protocol):
    """Visits of pairs: margins as they are met, and a step for each.

    ``rounds`` is how often the pairs of a block step before the next block: 0 to measure only, 1
    for every pair to step once, in order.
    """

    def visit(self, alpha: Array, order: Array, margins: Array, *, rounds: int) -> float:
        """Visit pairs; return the largest violation met."""

    def rescale(self, factor: float) -> None:
        """All weights have been multiplied."""


@dataclass
class Graph:
    """Pairs as edges between rows, with the largest weight that each may have."""

    first: Array
    second: Array
    upper: Array


class MetricVisits:
    """``A`` is at hand: ``O(k²)`` per pair for differences with ``k`` entries."""

    def __init__(self, rows: Any, graph: Graph, A: Array | None = None) -> None:
        self.rows = as_csr(rows)
        self.graph = graph
        d = self.rows.shape[1]
        self.A = np.zeros((d, d)) if A is None else A

    def visit(self, alpha: Array, order: Array, margins: Array, *, rounds: int) -> float:
        rows, graph = self.rows, self.graph
        return metric_epoch(
            self.A,
            rows.indptr,
            rows.indices,
            rows.data,
            graph.first,
            graph.second,
            order,
            graph.upper,
            alpha,
            margins,
            rounds,
        )

    def rescale(self, factor: float) -> None:
        self.A *= factor


class GramVisits:
    """The Gram or kernel matrix is at hand: ``O(rows + support)`` per pair."""

    def __init__(self, gram: Array, graph: Graph) -> None:
        self.gram = np.ascontiguousarray(gram, dtype=np.float64)
        self.graph = graph

    def visit(self, alpha: Array, order: Array, margins: Array, *, rounds: int) -> float:
        graph = self.graph
        return gram_epoch(
            self.gram, graph.first, graph.second, order, graph.upper, alpha, margins, rounds
        )

    def rescale(self, factor: float) -> None:
        """Nothing but the weights depends on them."""


class SparseVisits:
    """Only the sparse rows are at hand: products with them, and with the pair graph's Laplacian."""

    def __init__(self, rows: Any, graph: Graph) -> None:
        self.rows = as_csr(rows)
        self.columns = sparse.csc_array(self.rows)
        self.graph = graph

    def visit(self, alpha: Array, order: Array, margins: Array, *, rounds: int) -> float:
        rows, columns, graph = self.rows, self.columns, self.graph
        return sparse_epoch(
            rows.indptr,
            rows.indices,
            rows.data,
            columns.indptr,
            columns.indices,
            columns.data,
            graph.first,
            graph.second,
            order,
            graph.upper,
            alpha,
            margins,
            rounds,
        )

    def rescale(self, factor: float) -> None:
        """Nothing but the weights depends on them."""


def as_csr(rows: Any) -> Any:
    """Rows as CSR with sorted indices, in float64."""
    csr = sparse.csr_array(rows, dtype=np.float64)
    csr.sum_duplicates()
    return csr


def choose_visits(rows: Any, graph: Graph) -> Visits:
    """The cheapest way to margins: by ``A`` in few dimensions, by products of rows in many."""
    n, d = rows.shape
    entries = 2 * rows.nnz / max(n, 1) if sparse.issparse(rows) else d
    if d <= LARGEST_MATRIX and min(entries, d) ** 2 <= n + len(graph.first):
        return MetricVisits(rows, graph)
    return choose_products(rows, graph)


def choose_products(rows: Any, graph: Graph) -> Visits:
    """Products of rows: all at once where there are few rows, and much to multiply again."""
    n = rows.shape[0]
    if sparse.issparse(rows):
        per_column = np.bincount(rows.indices, minlength=rows.shape[1])
        per_pair = 2 * float(per_column @ per_column) / n  # entries that a difference meets
        again = per_pair > n / 2
    else:
        again = True
    if n > LARGEST_GRAM or not again:
        return SparseVisits(rows, graph)
    gram = rows @ rows.T
    return GramVisits(gram.toarray() if sparse.issparse(gram) else gram, graph)


@dataclass
class Solution:
    """Weights of the pairs, their margins, and how good they are."""

    alpha: Array
    margins: Array
    primal: float = np.inf
    dual: float = 0.0
    history: list[float] = field(default_factory=list)
    n_iter: int = 0
    converged: bool = False
    interrupted: bool = False

    @property
    def gap(self) -> float:
        """How far the objective can be from the optimum, as a share of it."""
        return (self.primal - self.dual) / max(self.primal, 1e-300)


def solve(
    visits: Visits,
    upper: Array,
    *,
    max_iter: int,
    tol: float,
    rng: np.random.RandomState,
    verbose: int = 0,
) -> Solution:
    """Rounds over all pairs, each followed by some over the active ones, until the gap is small."""
    n_pairs = len(upper)
    found = Solution(np.zeros(n_pairs), np.zeros(n_pairs))
    everything = np.arange(n_pairs)
    with fit_progress("CannotLinkMetric", max_iter, verbose=verbose) as progress:
        visits.visit(found.alpha, rng.permutation(n_pairs), found.margins, rounds=BLOCK_ROUNDS)
        while not found.converged and found.n_iter < max_iter:
            found.n_iter += 1
            visits.visit(found.alpha, everything, found.margins, rounds=0)
            measure(found, visits, upper)
            progress.step(-found.dual)
            found.converged = found.gap <= tol
            if not found.converged:
                visit_active(found, visits, tol, rng)
    found.interrupted = progress.interrupted
    return found


def measure(found: Solution, visits: Visits, upper: Array) -> None:
    """Stretch the weights to the best length; the objectives of both problems there."""
    norm = float(found.alpha @ found.margins)  # ‖A‖²
    with np.errstate(divide="ignore"):
        most = float(np.min(upper / found.alpha, initial=np.inf, where=found.alpha > 0))
    factor = min(float(found.alpha.sum()) / norm, most)
    found.alpha *= factor
    np.minimum(found.alpha, upper, out=found.alpha)
    found.margins *= factor
    visits.rescale(factor)
    norm *= factor**2
    found.dual = float(found.alpha.sum()) - norm / 2
    found.history.append(-found.dual)
    short = np.maximum(1.0 - found.margins, 0.0)
    slack = upper[short > 0] @ short[short > 0]
    found.primal = norm / 2 + float(slack)
    smallest = float(found.margins.min())
    if smallest > 0:  # a longer A without any slack
        found.primal = min(found.primal, norm / 2 / min(smallest, 1.0) ** 2)


def visit_active(found: Solution, visits: Visits, tol: float, rng: np.random.RandomState) -> None:
    """Steps for the pairs with a weight and for those too near; the others stay satisfied."""
    active = np.flatnonzero((found.alpha > 0) | (found.margins < 1))
    largest = 0.0
    for _ in range(ACTIVE_ROUNDS):
        worst = visits.visit(
            found.alpha, rng.permutation(active), found.margins, rounds=BLOCK_ROUNDS
        )
        largest = max(largest, worst)
        if worst <= max(0.5 * tol, 0.1 * largest):
            return
