"""Equality, hashing and pickling of relations."""

from __future__ import annotations

from typing import Any

from scipy import sparse

from sidelight.constraints.algebra._canonical import RowIndex
from sidelight.constraints.algebra._plain import frozen
from sidelight.constraints.relations._edges import Edges
from sidelight.constraints.relations._hyperedges import Hyperedges


def frozen_csr(matrix: sparse.csr_array) -> sparse.csr_array:
    """Make the arrays of a matrix read-only and return it."""
    for array in (matrix.data, matrix.indices, matrix.indptr):
        frozen(array)
    return matrix


def state(relations: Any) -> tuple[Any, ...]:
    """State that makes two objects equal, without the notes on how one was read."""
    incidence = relations.incidence
    return (
        relations.n_samples,
        relations.edges,
        relations.scores,
        incidence.indices,
        incidence.indptr,
        relations.hyperedge_names,
        relations.ids,
    )


def rebuild(kind: type[Any], values: tuple[Any, ...], notes: tuple[str, ...]) -> Any:
    """Unpickle; arrays come back writable and have to be frozen again."""
    import numpy as np

    n, edges, scores, indices, indptr, names, ids = values
    ones = np.ones(len(indices), np.int8)
    incidence = sparse.csr_array((ones, indices, indptr), shape=(n, len(names)))
    index = None if ids is None else RowIndex(frozen(ids))
    return kind._make(n, index, Edges(edges, scores, notes), Hyperedges(incidence, names))
