"""Corrections by hand that survive the next fit: edits of a clustering become constraints."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from sidelight._typing import Array
from sidelight.constraints import Constraints
from sidelight.exceptions import SidelightError


def move_rows(
    labels: Any, rows: Any, cluster: Any, *, X: Any = None, ids: Any = None
) -> Constraints:
    """Move rows into another cluster: with the row that stands for it, apart from where they were.

    Unite the result with what is known (``known | move_rows(...)``) and fit again.

    Parameters
    ----------
    labels : array-like of shape (n_samples,)
        The clustering that is corrected.
    rows : int or array-like of int
        Positions of the rows to move.
    cluster : int or str
        Where they belong.
    X : array or CSR matrix of shape (n_samples, n_features), optional
        The rows; the row closest to the mean then stands for a cluster, otherwise the middle one
        in the order of the rows.
    ids : array-like of shape (n_samples,), optional
        Names of the rows, for the result.

    Returns
    -------
    Constraints
        A must-link and a cannot-link per row.

    Examples
    --------
    >>> from sidelight.active import move_rows
    >>> edit = move_rows([0, 0, 0, 1, 1], rows=2, cluster=1)
    >>> edit.must_link, edit.cannot_link
    (array([[2, 4]]), array([[1, 2]]))
    """
    clusters = _check(labels, [cluster])
    moved = np.unique(np.atleast_1d(np.asarray(rows, np.int64)))
    outside = moved[(moved < 0) | (moved >= len(clusters))]
    if len(outside):
        raise SidelightError(f"There is no row {outside[0]}; there are {len(clusters)} rows.")
    moved = moved[clusters[moved] != cluster]
    staying = np.ones(len(clusters), bool)
    staying[moved] = False
    target = _representative(clusters, cluster, staying, X)
    must_link = [(row, target) for row in moved.tolist()]
    cannot_link = []
    for old in np.unique(clusters[moved]).tolist():
        if np.any(staying & (clusters == old)):  # a cluster that moved as a whole leaves nobody
            left = _representative(clusters, old, staying, X)
            cannot_link += [(row, left) for row in moved[clusters[moved] == old].tolist()]
    return _named(must_link, cannot_link, None, len(clusters), ids)


def merge_clusters(labels: Any, first: Any, second: Any, *, ids: Any = None) -> Constraints:
    """Make two clusters one: all their rows belong together.

    Ask for one cluster less in the next fit; otherwise another cluster is split instead.

    Parameters
    ----------
    labels : array-like of shape (n_samples,)
        The clustering that is corrected.
    first, second : int or str
        The clusters.
    ids : array-like of shape (n_samples,), optional
        Names of the rows, for the result.

    Returns
    -------
    Constraints
        One group.

    Examples
    --------
    >>> from sidelight.active import merge_clusters
    >>> merge_clusters([0, 0, 1, 2], 0, 2).components()
    array([0, 0, 1, 0])
    """
    clusters = _check(labels, [first, second])
    inside = (clusters == first) | (clusters == second)
    return _named([], [], np.where(inside, 0, -1), len(clusters), ids)


def freeze_clusters(
    labels: Any, clusters: Sequence[Any] | None = None, *, ids: Any = None
) -> Constraints:
    """Constraints that preserve clusters: rows of one stay together, two stay apart.

    Other rows may still join them. The clusters are kept apart by one cannot-link per pair of
    clusters, between the rows that stand for them; everything else follows.

    Parameters
    ----------
    labels : array-like of shape (n_samples,)
        The clustering.
    clusters : sequence, optional
        The clusters to keep; all by default, but for noise (-1).
    ids : array-like of shape (n_samples,), optional
        Names of the rows, for the result.

    Returns
    -------
    Constraints
        One group per cluster, and a cannot-link between every two.

    Examples
    --------
    >>> from sidelight.active import freeze_clusters
    >>> known = freeze_clusters([0, 0, 1, 1, 2], [0, 1])
    >>> known
    <Constraints on 5 rows: 1 cannot-link, 4 rows in 2 groups>
    >>> known.closure().n_entailed_cannot_link
    4
    """
    values = _check(labels, [] if clusters is None else clusters)
    if clusters is None:
        clusters = [name for name in np.unique(values).tolist() if name not in (-1, "-1", "")]
    groups = np.full(len(values), -1, np.int64)
    for code, name in enumerate(clusters):
        groups[values == name] = code
    everybody = np.ones(len(values), bool)
    speakers = [_representative(values, name, everybody, None) for name in clusters]
    return _named([], list(combinations(speakers, 2)), groups, len(values), ids)


def split_cluster(
    estimator: Any,
    X: Any,
    labels: Any,
    cluster: Any,
    k: int = 2,
    *,
    constraints: Constraints | None = None,
) -> Array:
    """Split one cluster and leave all others unchanged.

    Parameters
    ----------
    estimator : clusterer
        A clusterer with the parameter ``n_clusters``.
    X : array or CSR matrix of shape (n_samples, n_features)
        The rows.
    labels : array-like of int, shape (n_samples,)
        The clustering.
    cluster : int
        The cluster to split.
    k : int, default=2
        Number of parts.
    constraints : Constraints, default=None
        What is known about the rows; what it says about rows of this cluster is used.

    Returns
    -------
    labels : ndarray of int, shape (n_samples,)
        The clustering with the largest part under the old number and the others under new ones.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.active import split_cluster
    >>> from sidelight.cluster import KMeans
    >>> X = np.array([[0.0], [0.1], [5.0], [9.0], [9.1]])
    >>> split_cluster(KMeans(random_state=0), X, [0, 0, 0, 1, 1], cluster=0)
    array([0, 0, 2, 1, 1])
    """
    result = _check(labels, [cluster]).copy()
    if result.dtype.kind not in "iu":
        raise SidelightError("Clusters must be numbered to be split: the parts get new numbers.")
    rows = np.flatnonzero(result == cluster)
    if X.shape[0] != len(result):
        raise SidelightError(f"There are {len(result)} labels for {X.shape[0]} rows of X.")
    options = {} if constraints is None else {"constraints": constraints.restrict(rows)}
    parts = clone(estimator).set_params(n_clusters=k).fit(X[rows], **options).labels_
    names, place, sizes = np.unique(parts, return_inverse=True, return_counts=True)
    number = np.empty(len(names), result.dtype)
    by_size = np.argsort(-sizes, kind="stable")
    number[by_size] = [cluster, *range(result.max() + 1, result.max() + len(names))]
    result[rows] = number[place.reshape(-1)]
    return result


def _check(labels: Any, wanted: Sequence[Any]) -> Array:
    """Labels as an array in which the wanted clusters occur."""
    values = np.asarray(labels)
    if values.ndim != 1:
        raise SidelightError(f"labels must hold one cluster per row, got shape {values.shape}.")
    there = np.unique(values).tolist()
    for name in wanted:
        if name not in there:
            shown = ", ".join(map(str, there[:20])) + (", ..." if len(there) > 20 else "")
            raise SidelightError(f"There is no cluster {name!r}; the clusters are {shown}.")
    return values


def _representative(clusters: Array, cluster: Any, among: npt.NDArray[np.bool_], X: Any) -> int:
    """The row that stands for a cluster."""
    members = np.flatnonzero(among & (clusters == cluster))
    if X is None:
        return int(members[len(members) // 2])
    taken = X[members]
    dense = np.asarray(taken.toarray() if hasattr(taken, "toarray") else taken, np.float64)
    return int(members[np.argmin(((dense - dense.mean(axis=0)) ** 2).sum(axis=1))])


def _named(
    must_link: list[tuple[int, int]],
    cannot_link: list[tuple[int, int]],
    groups: Array | None,
    n_samples: int,
    ids: Any,
) -> Constraints:
    """Constraints from positions, about rows that may have names."""
    if ids is not None:
        names = np.asarray(ids).tolist() if hasattr(ids, "__array__") else list(ids)
        must_link, cannot_link = (
            [(names[i], names[j]) for i, j in pairs] for pairs in (must_link, cannot_link)
        )
    return Constraints(must_link, cannot_link, groups=groups, n_samples=n_samples, ids=ids)
