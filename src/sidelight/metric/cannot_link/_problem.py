"""The problem of the metric from cannot-links: a kernel of rows, and pairs of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import pairwise_kernels

from sidelight._kernels.metric.cannot_link import squared_lengths
from sidelight._typing import Array
from sidelight._warn import warn
from sidelight.engine import RowSource
from sidelight.exceptions import SidelightError
from sidelight.metric.cannot_link._sweeps import LARGEST_MATRIX, PairGraph, as_csr

#: Kernels of up to this many rows (3.4 GB) are formed.
LARGEST_KERNEL = 5 * LARGEST_MATRIX

#: Squared lengths are squared, divided by and added up many times.
LONGEST = 1e100

#: A sparse feature in a larger share of the rows than this is worth a warning.
FREQUENT = 0.3


@dataclass(frozen=True)
class BaseKernel:
    """Inner products of rows: by name, as a function, or known by position."""

    metric: str | Callable[..., Any]
    params: dict[str, Any] | None = None

    @property
    def linear(self) -> bool:
        """Whether the difference of two rows is a row."""
        return isinstance(self.metric, str) and self.metric == "linear"

    @property
    def precomputed(self) -> bool:
        """Whether rows hold their products with those of ``fit``."""
        return isinstance(self.metric, str) and self.metric == "precomputed"

    def products(self, left: Any, right: Any) -> Array:
        """``K(left, right)``, dense; for a precomputed kernel ``right`` holds positions."""
        if self.precomputed:
            found = left[:, right]
        elif self.linear:
            found = left @ right.T
        else:
            found = pairwise_kernels(left, right, metric=self.metric, **(self.params or {}))
        dense = found.toarray() if sparse.issparse(found) else found
        return np.asarray(dense, dtype=np.float64)

    def of_rows(self, source: RowSource, used: Array) -> tuple[Any, Array]:
        """Rows that are used, as :meth:`products` takes them, and their kernel."""
        if len(used) > LARGEST_KERNEL:
            raise SidelightError(
                f"The kernel of the {len(used):,} rows in cannot-links needs "
                f"{8 * len(used) ** 2 / 1e9:.0f} GB; give pairs of fewer rows, or base_kernel="
                "'linear' on features of the kernel (sklearn.kernel_approximation)."
            )
        if not self.precomputed:
            own = source.take(used).astype(np.float64)
            return own, self.products(own, own)
        return used, self.products(source.take(used), used)


@dataclass(frozen=True)
class CannotLinkProblem:
    """Rows that are to be apart.

    Attributes
    ----------
    apart : ndarray of shape (n_pairs, 2)
        Pairs of rows that differ.
    rows : array or CSR matrix
        Rows that are in a pair; their positions for a precomputed kernel.
    graph : PairGraph
        Pairs as edges between these rows.
    gram : ndarray or None
        Kernel of these rows; None for the linear one.
    differs : ndarray of bool
        Which of all pairs differ; the others are left out.
    """

    apart: Array
    rows: Any
    graph: PairGraph
    gram: Array | None
    differs: Array


def make_problem(
    kernel: BaseKernel, source: RowSource, apart: Array, price: Array
) -> CannotLinkProblem:
    """Collect pairs that differ, each with its price of slack, and their rows."""
    used, places = np.unique(apart, return_inverse=True)
    first, second = np.ascontiguousarray(places.reshape(-1, 2).T)
    gram = None
    if kernel.linear:
        own = source.take(used).astype(np.float64)
        csr = as_csr(own)
        lengths = squared_lengths(csr.indptr, csr.indices, csr.data, csr.shape[1], first, second)
    else:
        own, gram = kernel.of_rows(source, used)
        diagonal = gram.diagonal()
        lengths = diagonal[first] + diagonal[second] - 2 * gram[first, second]
    longest = float(lengths.max())
    if longest > 0 and not 1 / LONGEST < longest < LONGEST:
        raise SidelightError(
            f"Rows that are to be apart differ by up to {longest**0.5:.3g}; the fourth power of "
            "that is no number to compute with. Standardize the features first."
        )
    differs = lengths > 1e-14 * max(longest, 1e-300)
    graph = PairGraph(first[differs], second[differs], price[differs])
    return CannotLinkProblem(apart[differs], own, graph, gram, differs)


def warn_of_frequent_features(source: RowSource) -> None:
    """Warn that features in many rows gain weight, where rows are really sparse."""
    if not source.is_sparse:
        return
    n, d = source.shape
    (counts,), _ = source.map_reduce(lambda block: ((np.bincount(block.indices, minlength=d),), ()))
    frequent = counts > FREQUENT * n
    n_frequent = int(np.count_nonzero(frequent))
    if n_frequent and n_frequent < 0.1 * d:  # else the rows are not really sparse
        warn(
            f"{n_frequent} features (the first is number {int(np.argmax(frequent))}) are in "
            f"more than {FREQUENT:.0%} of the rows; rows that are apart vary in them, so that "
            "they gain weight even if they mean nothing. Leave them out if so.",
            UserWarning,
        )
