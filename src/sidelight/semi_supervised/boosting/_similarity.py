"""Similarities between rows, as far as boosting asks for them.

It needs the similarity of every unlabeled row to the labeled rows of each class, summed up once
(votes), and products of the similarities between unlabeled rows with two vectors in every round.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from sklearn.metrics.pairwise import euclidean_distances

from sidelight._fit.moments import point_among, relative_to
from sidelight._kernels.semi_supervised.boosting import two_products
from sidelight._typing import Array, IntArray
from sidelight._warn import warn
from sidelight.engine import as_rows, get_threads
from sidelight.exceptions import ConstraintWarning, SidelightError
from sidelight.graphs import neighbor_graph, percentile_distance

#: Unlabeled rows whose similarities are all kept: the matrix takes 4 n² bytes.
MAX_ROWS = 20_000

#: Similarities that are computed at a time.
BLOCK_NUMBERS = 2_000_000

#: Entries of a matrix from which on threads gain more than they cost.
SIZE_FOR_THREADS = 1_000_000

#: Similarities may differ by this share of the largest between the two halves of a matrix.
ASYMMETRY = 1e-6


class SimilarityPairs(Protocol):
    """Similarities between unlabeled rows."""

    def products(self, vectors: Array) -> Array:
        """Products with two vectors, which are the rows of an array, as are the results."""

    def reached_from(self, start: Array) -> Array:
        """Rows that chains of similar rows lead to, from those of a mask."""


@dataclass(frozen=True)
class Similarities:
    """Similarities of all unlabeled rows.

    Attributes
    ----------
    votes : ndarray of shape (n_unlabeled, n_classes)
        Sum of the similarities to the labeled rows of each class.
    joined : SimilarityPairs
        Similarities between unlabeled rows.
    sigma : float or None
        Width ``σ`` of ``exp(-d²/σ²)``, where there is one.
    """

    votes: Array
    joined: SimilarityPairs
    sigma: float | None = None


class DenseSimilarities:
    """All similarities between unlabeled rows, as an array of float32 or float64."""

    def __init__(self, matrix: Array) -> None:
        self.matrix = np.ascontiguousarray(matrix)

    def products(self, vectors: Array) -> Array:
        n = len(self.matrix)
        out = np.empty((2, n))
        on_blocks(lambda i, j: two_products(self.matrix, i, j, vectors, out), n, n)
        return out

    def reached_from(self, start: Array) -> Array:
        return _spread(self.products, start)


class GraphSimilarities:
    """Similarities of joined rows, as a symmetric CSR matrix, and of every row with itself."""

    def __init__(self, graph: sparse.csr_array, itself: float = 0.0) -> None:
        self.graph, self.itself = graph, itself

    def products(self, vectors: Array) -> Array:
        product: Array = (self.graph @ vectors.T).T
        return product + self.itself * vectors

    def reached_from(self, start: Array) -> Array:
        part = connected_components(self.graph, directed=False)[1]
        return np.isin(part, np.unique(part[start]))


class LinearSimilarities:
    """``XX'``, which is never formed: ``X (X'v)``."""

    def __init__(self, rows: Any) -> None:
        self.rows = rows

    def products(self, vectors: Array) -> Array:
        product: Array = (self.rows @ (self.rows.T @ vectors.T)).T
        return product

    def reached_from(self, start: Array) -> Array:
        return _spread(self.products, start)


def _spread(products: Callable[[Array], Array], start: Array) -> Array:
    """Follow similarities above 0 until no more rows are reached."""
    reached = start
    while not reached.all():
        further = reached | (products(np.stack([reached, reached]).astype(np.float64))[0] > 0)
        if np.array_equal(further, reached):
            break
        reached = further
    return reached


def on_blocks(run: Callable[[int, int], Any], n: int, width: int) -> None:
    """Run a function of the ends of blocks of ``n`` rows; it writes where no other does."""
    size = max(1, BLOCK_NUMBERS // max(width, 1))
    bounds = [*range(0, n, size), n]
    workers = get_threads() if n * width >= SIZE_FOR_THREADS else 1
    if workers == 1 or len(bounds) <= 2:
        for first, last in pairwise(bounds):
            run(first, last)
        return
    with ThreadPoolExecutor(workers, "sidelight") as pool:
        list(pool.map(run, bounds[:-1], bounds[1:]))


# ------------------------------------------------------------------ from rows


def gaussian(rows: Any, labels: IntArray, n_classes: int, width: float) -> Similarities:
    """``exp(-‖x_i - x_j‖²/σ²)`` between all unlabeled rows, and the votes of the labeled ones."""
    centered = _near_origin(rows)
    unlabeled, labeled = centered[labels < 0], centered[labels >= 0]
    n = unlabeled.shape[0]
    if n > MAX_ROWS:
        raise SidelightError(
            f"The similarities between all {n:,} unlabeled rows take {4e-9 * n * n:,.0f} GB: join "
            "nearest neighbors instead (similarity='knn'), or leave some unlabeled rows out "
            f"(up to {MAX_ROWS:,} are taken)."
        )
    classes = _one_hot(labels[labels >= 0], n_classes)
    votes = np.empty((n, n_classes))
    matrix = np.empty((n, n), dtype=np.float32)

    def fill(first: int, last: int) -> None:
        block = unlabeled[first:last]
        votes[first:last] = (
            _bell(euclidean_distances(block, labeled, squared=True), width) @ classes
        )
        # The other half is the same, to the last bit: p and q then tie where they should.
        squares = euclidean_distances(block, unlabeled[first:], squared=True)
        squares *= -1.0 / width / width
        part = matrix[first:last, first:]
        np.exp(squares.astype(np.float32), out=part)
        corner = part[:, : last - first]
        corner[:] = np.tril(corner) + np.tril(corner, -1).T
        np.fill_diagonal(corner, 1.0)
        matrix[last:, first:last] = part[:, last - first :].T

    on_blocks(fill, n, n)
    return Similarities(votes, DenseSimilarities(matrix), width)


def nearest(
    rows: Any, labels: IntArray, n_classes: int, width: float, n_neighbors: int
) -> Similarities:
    """The same similarities, only between nearest neighbors, and of every row with itself."""
    # The weights of neighbor_graph are exp(-d²/2σ²).
    graph = neighbor_graph(rows, n_neighbors, sigma=width / np.sqrt(2))
    return _of_graph(graph, labels, n_classes, itself=1.0, width=width)


def linear(
    rows: Any, labels: IntArray, n_classes: int, name: Callable[[Array], list[str]]
) -> Similarities:
    """``x_i'x_j``, up to a factor that keeps sums in range."""
    scaled = _to_unit(rows)
    _check_products(scaled, name)
    unlabeled, labeled = scaled[labels < 0], scaled[labels >= 0]
    votes = unlabeled @ (labeled.T @ _one_hot(labels[labels >= 0], n_classes))
    return Similarities(np.asarray(votes), LinearSimilarities(unlabeled))


def width_of(rows: Any, percent: float) -> float:
    """Percentile of the distances between rows; a larger one where too many rows are the same."""
    for share in (percent, 25.0, 50.0, 75.0, 100.0):
        width = percentile_distance(rows, max(share, percent))
        if width > 0:
            return width
    return 1.0


def _bell(squares: Array, width: float) -> Array:
    squares *= -1.0 / width / width
    return np.exp(squares, out=squares)


def _near_origin(rows: Any) -> Any:
    """Rows in float64, where squared lengths do not hide their distances."""
    return relative_to(rows, point_among(as_rows(rows))).astype(np.float64, copy=False)


def _to_unit(rows: Any) -> Any:
    """Rows in float64, divided by the largest value."""
    largest = float(as_rows(rows).largest().max(initial=0.0))
    wide = rows.astype(np.float64)
    return wide / largest if largest > 0 else wide


def _check_products(rows: Any, name: Callable[[Array], list[str]]) -> None:
    """Raise on rows with negative products; only rows with negative values can have them."""
    lowest = rows.min(axis=1)
    lowest = lowest.toarray().ravel() if sparse.issparse(lowest) else lowest
    suspects = np.flatnonzero(lowest < 0)
    if not len(suspects):
        return
    size = max(1, BLOCK_NUMBERS // max(rows.shape[0], 1))
    for first in range(0, min(len(suspects), MAX_ROWS), size):
        at = suspects[first : first + size]
        block = rows[at] @ rows.T
        block = block.toarray() if sparse.issparse(block) else block
        if block.min() < 0:
            i, j = np.argwhere(block < 0)[0]
            one, other = name(np.array([at[i], j]))
            raise SidelightError(
                f"Similarities must not be negative, but the product of {one} and "
                f"{other} is: similarity='linear' is for counts and other values that "
                "are not below 0, such as words of documents; use similarity='rbf'."
            )


def _one_hot(codes: IntArray, n_classes: int) -> Array:
    return (codes[:, None] == np.arange(n_classes)).astype(np.float64)


# ------------------------------------------------------------------ given


def given(
    matrix: Any, labels: IntArray, n_classes: int, name: Callable[[Array], list[str]]
) -> Similarities:
    """Similarities that the user computed, dense or CSR, of all rows of the fit."""
    checked, largest = symmetric(matrix, len(labels), name)
    if sparse.issparse(checked):
        return _of_graph(checked / largest, labels, n_classes)
    unlabeled, labeled = np.flatnonzero(labels < 0), np.flatnonzero(labels >= 0)
    votes = checked[np.ix_(unlabeled, labeled)] / largest @ _one_hot(labels[labeled], n_classes)
    between = checked[np.ix_(unlabeled, unlabeled)]
    between /= largest
    return Similarities(votes.astype(np.float64), DenseSimilarities(between))


def symmetric(matrix: Any, n: int, name: Callable[[Array], list[str]]) -> tuple[Any, float]:
    """Check similarities: a number per pair of rows, finite and not negative, made symmetric.

    Returns them with the largest one, by which they are to be divided: only ratios count, and sums
    stay in range.
    """
    thin = sparse.issparse(matrix)
    S: Any = sparse.csr_array(matrix) if thin else np.asarray(matrix)
    if S.dtype not in (np.float32, np.float64) or thin:
        S = S.astype(np.float64)
    if S.shape != (n, n):
        raise SidelightError(
            "Similarities are a square matrix with a row and a column for every row of the fit, "
            f"of shape ({n}, {n}); got shape {S.shape}."
        )
    values = S.data if thin else S
    largest = float(values.max(initial=0.0))
    if not (largest < np.inf and values.min(initial=0.0) >= 0):  # NaN is neither
        i, j, value = _first_bad(S)
        one, other = name(np.array([i, j]))
        raise SidelightError(
            f"The similarity of {one} and {other} is {value:.6g}; similarities must be "
            "finite and not negative (0 for rows that are not similar)."
        )
    skew = _skew(S)
    if skew > ASYMMETRY * largest:
        warn(
            f"The similarities are not symmetric (they differ by up to {skew:.3g}): their mean "
            "over both directions was taken.",
            ConstraintWarning,
        )
        S = sparse.csr_array((S + S.T) / 2) if thin else (S + S.T) / 2
    return S, largest if largest > 0 else 1.0


def _skew(S: Any) -> float:
    """Largest difference between the two halves of a matrix."""
    if sparse.issparse(S):
        return float(abs(S - S.T).max()) if S.nnz else 0.0
    size = max(1, BLOCK_NUMBERS // max(len(S), 1))
    starts = range(0, len(S), size)
    parts = (np.abs(S[i : i + size] - S[:, i : i + size].T).max() for i in starts)
    return float(max(parts, default=0.0))


def _first_bad(S: Any) -> tuple[int, int, float]:
    if sparse.issparse(S):
        entries = sparse.coo_array(S)
        at = int(np.flatnonzero(~((entries.data >= 0) & (entries.data < np.inf)))[0])
        return int(entries.row[at]), int(entries.col[at]), float(entries.data[at])
    i, j = np.argwhere(~(np.isfinite(S) & (S >= 0)))[0]
    return int(i), int(j), float(S[i, j])


def _of_graph(
    graph: sparse.csr_array,
    labels: IntArray,
    n_classes: int,
    itself: float = 0.0,
    width: float | None = None,
) -> Similarities:
    unlabeled, labeled = np.flatnonzero(labels < 0), np.flatnonzero(labels >= 0)
    own = sparse.csr_array(graph[unlabeled])
    votes = own[:, labeled] @ _one_hot(labels[labeled], n_classes)
    between = sparse.csr_array(own[:, unlabeled])
    return Similarities(np.asarray(votes), GraphSimilarities(between, itself), width)
