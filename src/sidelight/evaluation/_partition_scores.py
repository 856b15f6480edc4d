"""All scores of a partition at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sidelight.constraints import Constraints
from sidelight.constraints.inner import align, check_one_index
from sidelight.evaluation._contingency import contingency, encode_labels
from sidelight.evaluation._information import (
    NORMALIZATIONS,
    adjusted_mutual_information,
    mutual_information,
    normalized_information,
    variation_of_information,
)
from sidelight.evaluation._matching import (
    class_weighted_f,
    clustering_accuracy,
    matched_macro_f1,
    purity,
)
from sidelight.evaluation._pairs import (
    adjusted_rand_index,
    pairwise_precision_recall_f1,
    rand_index,
)
from sidelight.exceptions import SidelightError

#: Scores without parameters; a new one is a line here.
SCORES = (
    rand_index,
    adjusted_rand_index,
    mutual_information,
    adjusted_mutual_information,
    variation_of_information,
    clustering_accuracy,
    purity,
    class_weighted_f,
    matched_macro_f1,
)


def partition_scores(
    labels_true: Any, labels_pred: Any, *, rows: npt.ArrayLike | None = None
) -> dict[str, float]:
    """Every score of this module for one partition, from a single pass over the labels.

    Parameters
    ----------
    labels_true, labels_pred : array-like of shape (n,)
        Classes and clusters, of any type. Rows where either is unknown (-1, NaN, None, "") are
        left out; ``n_rows`` tells how many were scored.
    rows : array-like, optional
        Positions, or a mask, of the rows to score. Scores over the rows that no constraint
        mentions are the honest ones: the constraints gave the others away.

    Returns
    -------
    dict of str to float
        By name of the function; the normalizations of mutual information as ``nmi_<name>``; and
        the counts ``n_rows``, ``n_classes`` and ``n_clusters``.

    Examples
    --------
    >>> from sidelight.evaluation import partition_scores
    >>> scores = partition_scores(["a", "a", "b", "b", None], [0, 0, 0, 1, 1])
    >>> scores["clustering_accuracy"], scores["n_rows"]
    (0.75, 4.0)
    >>> partition_scores(["a", "a", "b", "b", None], [0, 0, 0, 1, 1], rows=[0, 1, 3])["rand_index"]
    1.0
    """
    check_one_index(labels_pred, labels_true, "labels_pred", "labels_true")
    if rows is not None:
        labels_true, labels_pred = _take(labels_true, rows), _take(labels_pred, rows)
    table = contingency(labels_true, labels_pred)
    pairwise = pairwise_precision_recall_f1.of_table(table)
    return {
        **{f"pairwise_{name}": value for name, value in pairwise._asdict().items()},
        **{score.__name__: score.of_table(table) for score in SCORES},
        **{f"nmi_{name}": normalized_information(table, name) for name in NORMALIZATIONS},
        "n_rows": float(table.n),
        "n_classes": float(len(table.row_total)),
        "n_clusters": float(len(table.column_total)),
    }


def constrained_scores(
    labels_true: Any, labels_pred: Any, constraints: Constraints
) -> dict[str, dict[str, float]]:
    """Scores of a partition over all rows, and over the rows that no constraint mentions.

    The constraints gave part of the answer away: the rows they do not mention are the fair test.

    Parameters
    ----------
    labels_true, labels_pred : array-like of shape (n,)
        Classes and clusters, as in :func:`partition_scores`.
    constraints : Constraints
        What the clusters were made with.

    Returns
    -------
    dict of str to dict
        ``"all"``, and ``"unconstrained"`` where constraints mention some of the rows with a known
        class but not all of them.

    Examples
    --------
    >>> from sidelight import Constraints
    >>> from sidelight.evaluation import constrained_scores
    >>> known = Constraints(must_link=[(0, 1)], n_samples=5)
    >>> scores = constrained_scores(["a", "a", "b", "b", "a"], [0, 0, 1, 1, 1], known)
    >>> {rows: score["n_rows"] for rows, score in scores.items()}
    {'all': 5.0, 'unconstrained': 3.0}
    """
    check_one_index(labels_pred, labels_true, "labels_pred", "labels_true")
    constraints = align(constraints, labels_true, "labels_true")
    classes = encode_labels(labels_true, "labels_true")
    clusters = encode_labels(labels_pred, "labels_pred")
    scores = {"all": partition_scores(classes, clusters)}
    scored = np.flatnonzero((classes >= 0) & (clusters >= 0))
    free = np.setdiff1d(scored, constraints.mentioned)
    if 0 < len(free) < len(scored):
        scores["unconstrained"] = partition_scores(classes, clusters, rows=free)
    return scores


def _take(labels: Any, rows: npt.ArrayLike) -> Any:
    positions = np.asarray(rows)
    n = len(labels)
    if positions.dtype == bool:
        if positions.shape != (n,):
            raise SidelightError(
                f"The mask of rows has shape {positions.shape}, but there are {n} labels."
            )
        positions = np.flatnonzero(positions)
    elif positions.size and (positions.min() < -n or positions.max() >= n):
        raise SidelightError(
            f"rows names position {positions.max() if positions.max() >= n else positions.min()}, "
            f"but there are {n} labels."
        )
    if isinstance(labels, list | tuple):
        return [labels[position] for position in positions.astype(np.int64)]
    return np.asarray(labels)[positions.astype(np.int64)]
