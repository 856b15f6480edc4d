"""Relations as users pass them to ``fit``."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from sidelight.constraints.algebra import _alignment as alignment
from sidelight.constraints.relations._networkx import is_graph
from sidelight.constraints.relations._relations import Relations
from sidelight.constraints.relations._tables import is_table_of_relations
from sidelight.exceptions import SidelightError


def as_relations(given: Any, n_samples: int, X: Any = None) -> Relations:
    """Relations of the rows of ``X`` from what a user passes to ``fit``.

    Parameters
    ----------
    given : Relations, square matrix, networkx graph or array-like of shape (m, 2)
        Relations, or what they can be made of.
    n_samples : int
        Number of rows of ``X``.
    X : object, optional
        The rows. Where the relations have ids and ``X`` has an index, rows are found by it.
    """
    relations = given if isinstance(given, Relations) else _coerce(given, n_samples, X)
    if relations.ids is not None and X is not None:
        relations = alignment.align(relations, X)
    if relations.n_samples != n_samples:
        raise SidelightError(
            f"The relations are about {relations.n_samples} objects but X has {n_samples} rows; "
            "make them with the ids or n_samples of this X, or restrict them to its rows."
        )
    return relations


def _coerce(given: Any, n_samples: int, X: Any) -> Relations:
    ids = alignment.own_ids(X)
    if is_graph(given):
        return Relations.from_networkx(given, ids=np.arange(n_samples) if ids is None else ids)
    if is_table_of_relations(given):
        return Relations.from_table(given, n_samples=n_samples, ids=ids)
    if sparse.issparse(given) or np.shape(given) == (n_samples, n_samples) != (2, 2):
        return Relations.from_matrix(given)
    return Relations(given, n_samples=n_samples, ids=ids)
