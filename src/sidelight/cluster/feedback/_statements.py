"""Statements of a user about a clustering, and checks that they make sense."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from scipy import sparse

from sidelight._typing import Array
from sidelight._warn import warn
from sidelight._words import counted
from sidelight.cluster.feedback._term_weights import Documents
from sidelight.constraints import Constraints
from sidelight.exceptions import ConstraintWarning, SidelightError

PAIR_KINDS = ("together", "apart")
#: Share of the documents in one cluster at which a clustering carries no information any more.
ALMOST_ALL = 0.9
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


def warn_of_lost_clusters(before: Array, labels: Array, n_clusters: int) -> None:
    """Warn of clusters that the feedback has emptied, with a remedy."""
    were, sizes = (np.bincount(found, minlength=n_clusters) for found in (before, labels))
    n_empty, largest = int(np.sum(sizes == 0)), int(sizes.max())
    together = largest > ALMOST_ALL * len(labels)
    was_together = were.max() > ALMOST_ALL * len(labels)
    if n_clusters == 1 or was_together or not (n_empty > np.sum(were == 0) or together):
        return
    found = f"{counted(n_empty, 'cluster')} of {n_clusters} got no document"
    if together:
        found = f"{largest} of {len(labels)} documents are in one cluster"
    warn(
        f"With this feedback {found}; undo() takes it back. State pairs that belong together too, "
        "or take a smaller step or fewer clusters.",
        ConstraintWarning,
    )


def warn_of_twins(documents: Documents, known: Constraints, apart: Array) -> None:
    """Warn about equal documents that should be apart: no weights can separate them."""
    _, twins = documents.pull_of_pairs(apart, np.ones(len(apart)))
    if twins.any():
        one, other = known.name_rows(apart[np.flatnonzero(twins)[0]])
        more = f" (and {twins.sum() - 1} more pairs)" if twins.sum() > 1 else ""
        warn(
            f"The documents {one} and {other} are to be apart but have the same counts{more}: "
            "no weights of terms can separate them; drop the cannot-link or one of the two.",
            ConstraintWarning,
        )
