"""Edges from and to matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from sidelight._typing import Array, FloatArray, IntArray
from sidelight.constraints.relations._edges import Edges, canonical_edges
from sidelight.exceptions import SidelightError


def edges_of_matrix(matrix: Any, ids: Array | None, duplicates: str) -> tuple[int, Edges]:
    """Edges of a square matrix, dense or sparse, and the number of objects; no diagonal."""
    given = sparse.coo_array(matrix if sparse.issparse(matrix) else _dense(matrix))
    n, m = given.shape
    if n != m:
        raise SidelightError(
            f"Scores between objects are a square matrix, got shape ({n}, {m}); pass Relations "
            "for a list of scored pairs."
        )
    given.sum_duplicates()
    low, high, values = given.row, given.col, np.asarray(given.data, dtype=np.float64)
    # Matrices that were shifted or centered have any diagonal; it is about no pair.
    stored = ((values != 0) | ~np.isfinite(values)) & (low != high)
    pairs = np.column_stack([low[stored], high[stored]]).astype(np.int64)
    values = values[stored]
    upper, lower = int((pairs[:, 0] < pairs[:, 1]).sum()), int((pairs[:, 0] > pairs[:, 1]).sum())
    if upper and lower:
        pairs, values = _both_sides(pairs, values, n)
    edges = canonical_edges(pairs, values, max(n, 1), ids, duplicates)
    notes = tuple(note for note in edges.notes if "the same score" not in note)
    return n, edges._replace(notes=notes)


def _both_sides(pairs: IntArray, values: FloatArray, n: int) -> tuple[IntArray, FloatArray]:
    """Add zeros where only one side of a full matrix has an entry: the sides differ there."""
    key, mirrored = pairs[:, 0] * n + pairs[:, 1], pairs[:, 1] * n + pairs[:, 0]
    alone = ~np.isin(mirrored, key)
    if not alone.any():
        return pairs, values
    return np.concatenate([pairs, pairs[alone, ::-1]]), np.append(values, np.zeros(alone.sum()))


def _dense(matrix: Any) -> Array:
    try:
        values = np.asarray(matrix, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise SidelightError(f"A matrix of scores holds numbers: {error}.") from error
    if values.ndim != 2:
        raise SidelightError(
            f"Expected 2D array, got {values.ndim}D array instead: scores between objects are a "
            "square matrix."
        )
    return values


def symmetric_csr(edges: IntArray, scores: FloatArray, n_samples: int) -> sparse.csr_array:
    """Edges in both directions, as CSR with sorted indices.

    Rows are filled in the order of the entries: with all mirrored edges first, which are sorted
    by their smaller end, the columns of every row come out in ascending order.
    """
    kind = np.int32 if max(n_samples, 2 * len(edges)) < 2**31 else np.int64
    low, high = edges[:, 0].astype(kind), edges[:, 1].astype(kind)
    rows, columns = np.concatenate([high, low]), np.concatenate([low, high])
    both = sparse.coo_array(
        (np.concatenate([scores, scores]), (rows, columns)), shape=(n_samples, n_samples)
    )
    both.has_canonical_format = True  # no entry is repeated: nothing to look for
    return both.tocsr()
