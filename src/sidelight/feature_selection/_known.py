"""Knowledge about the rows in the form that scores need: classes, sums over pairs, graphs."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from sidelight._typing import Array
from sidelight._words import worded
from sidelight.constraints import Constraints, known_pairs
from sidelight.exceptions import SidelightError
from sidelight.feature_selection._scores import class_scatters, known_rows, pair_sums


def missing_y() -> str:
    """Start of the error message for a missing ``y``, as scikit-learn's checks expect it."""
    return worded("requires y to be passed, but the target y is None: ", "")


def classes_of(known: Constraints, selector: Any) -> Array:
    """Known class of every row, also through must-links; -1 where unknown."""
    if not known.has_labels:
        raise SidelightError(
            f"{missing_y()}{type(selector).__name__} needs known classes, "
            + worded(
                "-1 where unknown (on the command line --label-column).",
                "empty where unknown: --label-column NAME, or labels among the constraints.",
            )
        )
    closure = known.closure(on_contradiction="keep")
    classes: Array = closure.component_label[closure.component]
    if len(np.unique(classes[classes >= 0])) < 2:
        raise SidelightError(
            f"{type(selector).__name__} compares classes, but "
            f"{worded('y', 'the column of labels')} knows only 1 class; give rows of two classes "
            "at least."
        )
    return classes


def constraint_sums(rows: Any, known: Constraints) -> tuple[Array | None, Array | None]:
    """``f'L^M f`` and ``f'L^C f`` of every feature; None when no pair of the kind is known.

    Pairs of labeled and of grouped rows are counted without forming them. Those of a class of
    ``n_c`` rows with scatter ``S_c`` are ``n_c S_c``, those of two classes
    ``n_a S_b + n_b S_a + n_a n_b (μ_a - μ_b)²``.
    """
    together = pair_sums(rows, known.must_link, known.must_link_weight)
    apart = pair_sums(rows, known.cannot_link, known.cannot_link_weight)
    joined, parted = len(known.must_link) > 0, len(known.cannot_link) > 0
    for classes, tells_apart in ((known.labels, True), (known.groups, False)):
        if classes is None:
            continue
        members, codes = known_rows(rows, classes)
        n, sizes = len(codes), np.bincount(codes)
        joined = joined or len(sizes) < n
        together = together + class_scatters(members, codes, sizes)[0]
        if tells_apart and len(sizes) > 1:
            parted = True
            within, between = class_scatters(members, codes, n - sizes)
            apart = apart + within + n * between
    return together if joined else None, apart if parted else None


def edit_graph(W: Any, known: Constraints, *, must_link: float = 1.0) -> sparse.csr_array:
    """Join rows that belong together, by the weight of the pair; part those that do not.

    Of pairs that are stated both ways the latter holds. Labels and groups stand for their pairs.
    """
    graph = sparse.csr_array(W)
    pairs = known_pairs(known)
    joined = _both_ways(pairs.together, pairs.together_weight, graph.shape)
    parted = _both_ways(pairs.apart, pairs.apart_weight, graph.shape)
    if known.labels is not None:  # all edges between classes, whichever pairs stand for them
        edges = graph.tocoo()
        one, other = known.labels[edges.row], known.labels[edges.col]
        across = (one >= 0) & (other >= 0) & (one != other)
        crossing = (across.astype(np.float64), (edges.row, edges.col))
        parted = parted + sparse.csr_array(crossing, shape=graph.shape)
    stated = (joined + parted) > 0
    edited = graph - graph.multiply(stated) + must_link * (joined - joined.multiply(parted > 0))
    result = sparse.csr_array(edited)
    result.eliminate_zeros()
    return result


def _both_ways(pairs: Array, weights: Array, shape: tuple[int, int]) -> sparse.csr_array:
    """Symmetric matrix of pairs; one that is there several times keeps its largest weight."""
    places = np.minimum(pairs[:, 0], pairs[:, 1]) * shape[1] + np.maximum(pairs[:, 0], pairs[:, 1])
    order = np.lexsort((-weights, places))
    first = np.unique(places[order], return_index=True)[1]
    (i, j), values = pairs[order[first]].T, weights[order[first]]
    half = sparse.csr_array((values, (i, j)), shape=shape)
    return sparse.csr_array(half + half.T)
