"""The dual of the metric from cannot-links: coordinate ascent, with or without the metric at hand.

Maximises ``Σ α_p - ½ Σ_pq α_p α_q (d_p'd_q)²`` over ``0 ≤ α_p ≤ C_p`` (Book 2009, 15.5 to 15.8).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from sidelight._kernels.metric.cannot_link import gram_epoch, metric_epoch, sparse_epoch
from sidelight._kernels.metric.pair_model import gram_products, sparse_gram
from sidelight._progress import fit_progress
from sidelight._typing import Array

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


class Products(Visits, Protocol):
    """Visits that need nothing but the weights."""

    def products(self, weight: Array) -> Array:
        """``Q w``, ``Q_pq = (d_p'd_q)²``, of weights of any sign."""


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

    def products(self, weight: Array) -> Array:
        first, second = unsigned(self.graph.first), unsigned(self.graph.second)
        used = np.flatnonzero(weight)
        return gram_products(self.gram, first, second, first[used], second[used], weight[used])

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

    def products(self, weight: Array) -> Array:
        return measured(self, weight)

    def rescale(self, factor: float) -> None:
        """Nothing but the weights depends on them."""


def measured(visits: Visits, weight: Array) -> Array:
    """Margins under these weights: nothing steps."""
    margins = np.empty(len(weight))
    visits.visit(weight, np.arange(len(weight)), margins, rounds=0)
    return margins


def as_csr(rows: Any) -> Any:
    """Rows as CSR with sorted indices, in float64."""
    csr = sparse.csr_array(rows, dtype=np.float64)
    csr.sum_duplicates()
    return csr


def unsigned(indices: Array) -> Array:
    """Indices of a type of which compiled loops need not ask whether they count from the end."""
    return indices.astype(np.uint32, copy=False)


def forms_metric(rows: Any, graph: Graph) -> bool:
    """Whether ``A`` is small enough to be formed, and a step in it cheap."""
    n, d = rows.shape
    entries = 2 * rows.nnz / max(n, 1) if sparse.issparse(rows) else d
    return bool(d <= LARGEST_MATRIX and min(entries, d) ** 2 <= n + len(graph.first))


def has_room_for_gram(n: int) -> bool:
    """Whether the Gram matrix of so many rows is small enough to be formed."""
    return n <= LARGEST_GRAM


def choose_visits(rows: Any, graph: Graph) -> Visits:
    """The cheapest way to margins: by ``A`` in few dimensions, by products of rows in many."""
    return MetricVisits(rows, graph) if forms_metric(rows, graph) else choose_products(rows, graph)


def choose_products(rows: Any, graph: Graph) -> Products:
    """Products of rows: all at once where there are few rows, and much to multiply again."""
    n = rows.shape[0]
    if not sparse.issparse(rows):
        return (
            GramVisits(rows @ rows.T, graph) if has_room_for_gram(n) else SparseVisits(rows, graph)
        )
    per_column = np.bincount(rows.indices, minlength=rows.shape[1])
    per_pair = 2 * float(per_column @ per_column) / n  # entries that a difference meets
    if not has_room_for_gram(n) or per_pair <= n / 2:
        return SparseVisits(rows, graph)
    csr, csc = as_csr(rows), sparse.csc_array(as_csr(rows))
    gram = sparse_gram(
        unsigned(csr.indptr),
        unsigned(csr.indices),
        csr.data,
        unsigned(csc.indptr),
        unsigned(csc.indices),
        csc.data,
    )
    return GramVisits(gram, graph)


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


class Ascent(Protocol):
    """A way to larger values of the dual."""

    def begin(self, found: Solution, upper: Array, rng: np.random.RandomState) -> None:
        """Set first weights and their margins."""

    def improve(
        self, found: Solution, upper: Array, tol: float, rng: np.random.RandomState
    ) -> None:
        """Set better weights and their margins."""

    def rescale(self, factor: float) -> None:
        """All weights have been multiplied."""


class CoordinateAscent:
    """Visits of all pairs, each followed by some of the active ones."""

    def __init__(self, visits: Visits) -> None:
        self._visits = visits

    def begin(self, found: Solution, upper: Array, rng: np.random.RandomState) -> None:
        """Every pair steps, in random order."""
        order = rng.permutation(len(upper))
        self._visits.visit(found.alpha, order, found.margins, rounds=BLOCK_ROUNDS)
        found.margins = measured(self._visits, found.alpha)

    def improve(
        self, found: Solution, upper: Array, tol: float, rng: np.random.RandomState
    ) -> None:
        """Steps for the pairs with a weight and for those too near; the others stay satisfied."""
        active = np.flatnonzero((found.alpha > 0) | (found.margins < 1))
        largest = 0.0
        for _ in range(ACTIVE_ROUNDS):
            worst = self._visits.visit(
                found.alpha, rng.permutation(active), found.margins, rounds=BLOCK_ROUNDS
            )
            largest = max(largest, worst)
            if worst <= max(0.5 * tol, 0.1 * largest):
                break
        found.margins = measured(self._visits, found.alpha)

    def rescale(self, factor: float) -> None:
        """What the visits hold grows with the weights."""
        self._visits.rescale(factor)


def solve(
    ascent: Ascent,
    upper: Array,
    *,
    max_iter: int,
    tol: float,
    rng: np.random.RandomState,
    verbose: int = 0,
) -> Solution:
    """Ascend until the duality gap is small."""
    n_pairs = len(upper)
    found = Solution(np.zeros(n_pairs), np.zeros(n_pairs))
    with fit_progress("CannotLinkMetric", max_iter, verbose=verbose) as progress:
        ascent.begin(found, upper, rng)
        while not found.converged and found.n_iter < max_iter:
            if found.n_iter:
                ascent.improve(found, upper, tol, rng)
            found.n_iter += 1
            measure(found, ascent, upper)
            progress.step(-found.dual)
            found.converged = found.gap <= tol
    found.interrupted = progress.interrupted
    return found


def measure(found: Solution, ascent: Ascent, upper: Array) -> None:
    """Stretch the weights to the best length; the objectives of both problems there."""
    norm = float(found.alpha @ found.margins)  # ‖A‖²
    with np.errstate(divide="ignore"):
        most = float(np.min(upper / found.alpha, initial=np.inf, where=found.alpha > 0))
    factor = min(float(found.alpha.sum()) / norm, most)
    found.alpha *= factor
    np.minimum(found.alpha, upper, out=found.alpha)
    found.margins *= factor
    ascent.rescale(factor)
    norm *= factor**2
    found.dual = float(found.alpha.sum()) - norm / 2
    found.history.append(-found.dual)
    short = np.maximum(1.0 - found.margins, 0.0)
    slack = upper[short > 0] @ short[short > 0]
    found.primal = norm / 2 + float(slack)
    smallest = float(found.margins.min())
    if smallest > 0:  # a longer A without any slack
        found.primal = min(found.primal, norm / 2 / min(smallest, 1.0) ** 2)
