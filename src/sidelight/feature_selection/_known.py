"""Knowledge about the rows in the form that scores need: classes, sums over pairs, graphs."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from sidelight._typing import Array
from sidelight.constraints import Constraints
from sidelight.exceptions import SidelightError
from sidelight.feature_selection._scores import pair_sums, variances


def classes_of(known: Constraints, selector: Any) -> Array:
    """Known class of every row, also through must-links; -1 where unknown."""
    if not known.has_labels:
        raise SidelightError(
            f"requires y to be passed, but the target y is None: {type(selector).__name__} needs "
            "known classes, -1 where unknown (on the command line --label-column)."
        )
    closure = known.closure(on_contradiction="keep")
    classes: Array = closure.component_label[closure.component]
    if len(np.unique(classes[classes >= 0])) < 2:
        raise SidelightError(
            f"{type(selector).__name__} compares classes, but y knows only 1 class; give rows of "
            "two classes at least."
        )
    return classes


def constraint_sums(rows: Any, known: Constraints) -> tuple[Array | None, Array | None]:
    """``f'L^M f`` and ``f'L^C f`` of every feature; None when no pair of the kind is known.

    Pairs of labeled rows are counted without forming them: all pairs of a class of ``n`` rows have
    ``n²`` times its variance, all pairs of labeled rows that of all of them.
    """
    together = pair_sums(rows, known.must_link, known.must_link_weight)
    apart = pair_sums(rows, known.cannot_link, known.cannot_link_weight)
    joined, parted = len(known.must_link) > 0, len(known.cannot_link) > 0
    if known.labels is not None:
        labeled = np.flatnonzero(known.labels >= 0)
        codes = known.labels[labeled]
        within = np.zeros(rows.shape[1])
        for code in np.unique(codes):
            members = rows[labeled[codes == code]]
            within += members.shape[0] ** 2 * variances(members)
        joined = joined or len(np.unique(codes)) < len(codes)
        together = together + within
        if len(np.unique(codes)) > 1:
            parted = True
            every = len(labeled) ** 2 * variances(rows[labeled])
            apart = apart + np.maximum(every - within, 0.0)
    return together if joined else None, apart if parted else None


def edit_graph(W: Any, known: Constraints, *, must_link: float = 1.0) -> sparse.csr_array:
    """Join must-linked rows, part cannot-linked ones; of pairs in both lists the latter holds."""
    graph = sparse.csr_array(W)
    joined, parted = (
        _both_ways(pairs, graph.shape) for pairs in (known.must_link, known.cannot_link)
    )
    stated = (joined + parted) > 0
    edited = graph - graph.multiply(stated) + must_link * (joined - joined.multiply(parted))
    result = sparse.csr_array(edited)
    result.eliminate_zeros()
    return result


def _both_ways(pairs: Array, shape: tuple[int, int]) -> sparse.csr_array:
    ends = np.concatenate([pairs, pairs[:, ::-1]])
    return sparse.csr_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=shape)
