"""Names of objects as users give them: ids, words in pairs, positions."""

from __future__ import annotations

from typing import Any

import numpy as np

from sidelight._typing import Array, IntArray
from sidelight.constraints.algebra import _canonical as canonical
from sidelight.constraints.algebra._canonical import RowIndex
from sidelight.constraints.algebra._plain import frozen
from sidelight.constraints.relations._id_columns import arrow_column, encode
from sidelight.constraints.relations._tables import TableOptions
from sidelight.exceptions import SidelightError

#: Least number of pairs of words that is worth a dictionary.
MANY = 100_000


def table_options(ids: Any, n_samples: int | None, prior: float, duplicates: str) -> TableOptions:
    """How a table is to be read, from what a user passes."""
    index = as_index(ids)
    if index is not None or n_samples is not None:
        n_samples = canonical.number_of_rows(n_samples, index)
    return TableOptions(index, n_samples, prior, duplicates)


def as_index(ids: Any) -> RowIndex | None:
    """Position of each of the ids of a user."""
    if ids is None:
        return None
    index = RowIndex(frozen(np.array(canonical.as_ids(ids))))
    canonical.check_unique(index)
    return index


def listed_pairs(edges: Any) -> Any:
    """Pairs that can be gone through more than once."""
    if edges is None or hasattr(edges, "__array__"):
        return edges
    try:
        return list(edges)
    except TypeError as error:
        raise SidelightError(
            f"edges must be pairs, an array of shape (m, 2), got {type(edges).__name__}."
        ) from error


def words_of(edges: Any) -> Array | None:
    """Words that edges name their objects by, in the order in which they occur first."""
    if edges is None:
        return None
    try:
        pairs = np.asarray(edges)
    except ValueError as error:
        raise SidelightError("edges must be pairs, one of two entries per row.") from error
    words = pairs.ravel().tolist() if pairs.dtype.kind in "UO" else ()
    if not words or not all(isinstance(word, str) for word in words):
        return None
    return canonical.as_ids(list(dict.fromkeys(words)))


def as_pairs(edges: Any, index: RowIndex | None, n: int) -> IntArray:
    """Pairs of positions; many pairs of words are found by hashing rather than by sorting."""
    pairs = edges if isinstance(edges, np.ndarray) else None
    if index is None or pairs is None or pairs.ndim != 2 or len(pairs) < MANY:
        return canonical.as_positions(edges, "edges", index, n)
    if pairs.shape[1] != 2 or pairs.dtype.kind not in "U":
        return canonical.as_positions(edges, "edges", index, n)
    coded = encode([arrow_column(pairs[:, 0]), arrow_column(pairs[:, 1])])
    places = np.append(index.positions(coded.values), -1)
    found = places[coded.codes]
    if (found < 0).any():
        return canonical.as_positions(edges, "edges", index, n)  # which raises with the reason
    return found
