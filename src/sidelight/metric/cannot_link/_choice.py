"""Which solver suits the rows and pairs: the one place where it is chosen."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from sidelight._kernels.metric.pair_model import sparse_gram
from sidelight._typing import Array
from sidelight.metric.cannot_link._model import ModelAscent, PairModel
from sidelight.metric.cannot_link._solver import Ascent, CoordinateAscent
from sidelight.metric.cannot_link._sweeps import (
    LARGEST_MATRIX,
    GramSweeps,
    MetricSweeps,
    PairGraph,
    Products,
    SparseSweeps,
    as_csr,
    unsigned,
)

#: Gram matrices of up to this many rows (512 MB) are formed where they save work.
LARGEST_GRAM = 8000

#: Differences with up to this many entries in all (600 MB) are stored.
LARGEST_DIFFERENCES = 50_000_000

#: Times of products with the Gram matrix, per pair and row and per two pairs, in units of those
#: with a row of ``A``, per two entries of a difference.
PER_ROW, PER_PAIR = 0.4, 0.25


def choose_ascent(rows: Any, graph: PairGraph, gram: Array | None = None) -> Ascent:
    """Return the fastest ascent: by ``A`` in few dimensions, in the model for sparse rows.

    Otherwise it is coordinate ascent by products of rows, of which ``gram`` may be known already.
    """
    if gram is None and _metric_is_small(rows, graph):
        return CoordinateAscent(MetricSweeps(rows, graph))
    if gram is not None or not sparse.issparse(rows):
        return CoordinateAscent(choose_products(rows, graph, gram))
    csr = as_csr(rows)
    entries = np.diff(csr.indptr)
    if int((entries[graph.first] + entries[graph.second]).sum()) > LARGEST_DIFFERENCES:
        return CoordinateAscent(choose_products(rows, graph))
    model = PairModel(csr, graph)
    n_pairs, n = len(graph.first), rows.shape[0]
    by_features = float(np.mean(np.diff(model.differences.indptr) ** 2.0))
    if by_features <= PER_ROW * n + PER_PAIR * n_pairs or n > LARGEST_GRAM:
        return ModelAscent(model, model.products, lambda: choose_products(rows, graph))
    sweeps = choose_products(rows, graph)
    return ModelAscent(model, sweeps.products, lambda: sweeps)


def choose_products(rows: Any, graph: PairGraph, gram: Array | None = None) -> Products:
    """Products of rows: all at once where there are few rows, and much to multiply again."""
    n = rows.shape[0]
    if gram is not None:
        return GramSweeps(gram, graph)
    if not sparse.issparse(rows):
        return GramSweeps(rows @ rows.T, graph) if n <= LARGEST_GRAM else SparseSweeps(rows, graph)
    per_column = np.bincount(rows.indices, minlength=rows.shape[1])
    per_pair = 2 * float(per_column @ per_column) / n  # entries that a difference meets
    if n > LARGEST_GRAM or per_pair <= n / 2:
        return SparseSweeps(rows, graph)
    csr, csc = as_csr(rows), sparse.csc_array(as_csr(rows))
    return GramSweeps(sparse_gram(*_unsigned_parts(csr), *_unsigned_parts(csc)), graph)


def _metric_is_small(rows: Any, graph: PairGraph) -> bool:
    """Whether ``A`` is small enough to be formed, and a step in it cheap."""
    n, d = rows.shape
    entries = 2 * rows.nnz / max(n, 1) if sparse.issparse(rows) else d
    return bool(d <= LARGEST_MATRIX and min(entries, d) ** 2 <= n + len(graph.first))


def _unsigned_parts(matrix: Any) -> tuple[Array, Array, Array]:
    return unsigned(matrix.indptr), unsigned(matrix.indices), matrix.data
