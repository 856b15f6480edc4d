"""All scores of a partition at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sidelight.evaluation._contingency import contingency
from sidelight.evaluation._information import (
    NORMALIZATIONS,
    information,
    normalized_information,
    variation,
)
from sidelight.evaluation._matching import accuracy, macro_f1, purity_of, weighted_f
from sidelight.evaluation._pairs import adjusted_rand, count_pairs, precision_recall_f1, rand
from sidelight.exceptions import SidelightError


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
        By name of the function; the normalisations of mutual information as ``nmi_<name>``; and
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
    if rows is not None:
        labels_true, labels_pred = _take(labels_true, rows), _take(labels_pred, rows)
    table = contingency(labels_true, labels_pred)
    pairs = count_pairs(table)
    scores = precision_recall_f1(pairs)
    return {
        "pairwise_precision": scores.precision,
        "pairwise_recall": scores.recall,
        "pairwise_f1": scores.f1,
        "rand_index": rand(pairs),
        "adjusted_rand_index": adjusted_rand(pairs),
        "mutual_information": information(table),
        **{f"nmi_{name}": normalized_information(table, name) for name in NORMALIZATIONS},
        "variation_of_information": variation(table),
        "clustering_accuracy": accuracy(table),
        "purity": purity_of(table),
        "class_weighted_f": weighted_f(table),
        "matched_macro_f1": macro_f1(table),
        "n_rows": float(table.n),
        "n_classes": float(len(table.row_total)),
        "n_clusters": float(len(table.column_total)),
    }


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
