"""Statements of a user about a clustering, and checks that they make sense."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from scipy import sparse

from sidelight.constraints import Constraints
from sidelight.exceptions import SidelightError

PAIR_KINDS = ("together", "apart")
CLUSTER_KINDS = ("move", "bad-cluster", "keep")


@dataclass(frozen=True)
class Feedback:
    """A statement of the user about the clustering.

    Attributes
    ----------
    kind : {"together", "apart", "move", "bad-cluster", "keep"}
        Kind of statement.
    rows : tuple of int
        Rows that the statement is about.
    cluster : int or None
        Cluster that the statement is about.
    """

    kind: str
    rows: tuple[int, ...]
    cluster: int | None = None


def as_pairs(feedback: Feedback, known: Constraints) -> Constraints:
    """Return feedback about rows together or apart as pairs, with the ids of ``known``."""
    pairs = list(itertools.combinations([known.id_of(row) for row in feedback.rows], 2))
    n_samples = known.n_samples if known.ids is None else None
    if feedback.kind == "together":
        return Constraints(pairs, n_samples=n_samples, ids=known.ids)
    return Constraints(cannot_link=pairs, n_samples=n_samples, ids=known.ids)


def check_counts(rows: Any, known: Constraints) -> None:
    """Check that counts are not negative and that no document is empty."""
    values = rows.data if sparse.issparse(rows) else rows
    if values.size and values.min() < 0:
        bad = np.flatnonzero(np.asarray((rows < 0).sum(axis=1)).ravel())
        (name,) = known.name_rows(bad[:1])
        raise ValueError(
            f"Negative values in data passed to FeedbackClustering: {name} has one (in all "
            f"{len(bad)} rows); counts of terms are at least 0."
        )
    empty = np.flatnonzero(np.asarray(rows.sum(axis=1)).ravel() == 0)
    if len(empty):
        (name,) = known.name_rows(empty[:1])
        raise SidelightError(
            f"The document {name} has no terms (in all {len(empty)} rows are empty), so that "
            "nothing says where it belongs: drop empty rows."
        )


def check_feedback(kind: str, rows: tuple[int, ...], cluster: int | None, n_clusters: int) -> None:
    """Check that feedback is complete."""
    if kind not in PAIR_KINDS + CLUSTER_KINDS:
        raise ValueError(f"kind must be one of {PAIR_KINDS + CLUSTER_KINDS}, got {kind!r}.")
    if kind in PAIR_KINDS:
        if len(rows) < 2 or cluster is not None:
            raise ValueError(f"{kind!r} is about two or more different rows, not about a cluster.")
        return
    if not isinstance(cluster, Integral) or not 0 <= cluster < n_clusters:
        raise ValueError(f"{kind!r} needs a cluster from 0 to {n_clusters - 1}, got {cluster!r}.")
    if (kind == "move") != bool(rows):
        raise ValueError("Only 'move' needs rows besides a cluster, and it needs at least one.")
