"""Hyper-edges: sets of objects that occur together, as a 0/1 incidence matrix."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from sidelight._typing import Array
from sidelight.constraints.algebra import _canonical as canonical
from sidelight.constraints.algebra._canonical import RowIndex
from sidelight.constraints.algebra._plain import plain
from sidelight.exceptions import SidelightError


class Hyperedges(NamedTuple):
    """Incidence of objects and hyper-edges, with the names of the hyper-edges."""

    incidence: sparse.csr_array
    names: Array


def canonical_hyperedges(given: Any, index: RowIndex | None, n_samples: int) -> Hyperedges:
    """Read hyper-edges from a list of lists, a mapping of lists or an incidence matrix."""
    if given is None:
        return Hyperedges(incidence(_NONE, _NONE, n_samples, 0), np.empty(0, np.int64))
    if sparse.issparse(given) or (isinstance(given, np.ndarray) and given.ndim == 2):
        matrix = sparse.coo_array(given)
        if matrix.shape[0] != n_samples:
            raise SidelightError(
                f"The incidence matrix of the hyper-edges has {matrix.shape[0]} rows, but there "
                f"are {n_samples} objects: it has a row per object and a column per hyper-edge."
            )
        kept = matrix.data != 0
        found = incidence(matrix.row[kept], matrix.col[kept], n_samples, matrix.shape[1])
        return Hyperedges(found, np.arange(matrix.shape[1]))
    names, sets = _named_sets(given)
    try:
        sizes = np.fromiter(map(len, sets), np.int64, len(sets))
    except TypeError:
        sizes = None
    if sizes is None or any(isinstance(members, str) for members in sets):
        raise SidelightError(
            "Every hyper-edge is a list of objects, such as [[0, 3], [1, 2, 3]]; a table has a "
            "row per member (Relations.from_table), a column of group names is for "
            "Relations.from_groups."
        )
    flat = plain([member for members in sets for member in members])
    # Each member as a pair with itself: positions and ids are found as those of any pair.
    pairs = np.stack([flat, flat], axis=1)
    members = canonical.as_positions(pairs, "hyperedges", index, n_samples)[:, 0]
    of_edge = np.repeat(np.arange(len(sets)), sizes)
    return Hyperedges(incidence(members, of_edge, n_samples, len(sets)), names)


def _named_sets(given: Any) -> tuple[Array, list[Any]]:
    """Names of hyper-edges (their numbers where they have none) and their members."""
    if isinstance(given, Mapping):
        return canonical.as_ids(list(given)), list(given.values())
    try:
        sets = list(given)
    except TypeError as error:
        raise SidelightError(
            "hyperedges must be a list of lists, a mapping of lists or an incidence matrix, got "
            f"{type(given).__name__}."
        ) from error
    return np.arange(len(sets)), sets


_NONE = np.empty(0, np.int64)


def hyperedges_of_codes(codes: Array, names: Array, n_samples: int) -> Hyperedges:
    """Hyper-edges of objects with the same code; -1 for objects in none."""
    placed = np.flatnonzero(codes >= 0)
    return Hyperedges(incidence(placed, codes[placed], n_samples, len(names)), names)


def incidence(members: Array, of_edge: Array, n_samples: int, n_edges: int) -> sparse.csr_array:
    """0/1 matrix of objects and hyper-edges, from one entry per member."""
    matrix = sparse.csr_array(
        (np.ones(len(members), np.int32), (members, of_edge)), shape=(n_samples, n_edges)
    )
    matrix.sum_duplicates()
    matrix.data = np.ones(matrix.nnz, np.int8)
    return matrix
