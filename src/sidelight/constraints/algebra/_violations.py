"""A clustering and what is known: statements that it does not keep, classes of its clusters."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import min_weight_full_bipartite_matching

from sidelight._typing import Array, FloatArray, IntArray
from sidelight.constraints.algebra._plain import frozen, is_unknown, plain, read_classes
from sidelight.exceptions import SidelightError


@dataclass(frozen=True, eq=False)
class Violations:
    """Statements that a clustering violates; true when there are any.

    A row with the cluster -1 (noise), None or NaN is in no cluster: it is together with nothing.

    Attributes
    ----------
    must_link, cannot_link : ndarray of shape (v, 2)
        Violated pairs.
    must_link_weight, cannot_link_weight : ndarray of shape (v,)
        Their weights.
    labels : ndarray of shape (v,)
        Rows with a known class that are not in the cluster matched to this class. Classes and
        clusters are matched one to one so that as many rows as possible agree.
    groups : ndarray of shape (v,)
        Rows outside the cluster that holds most of their group.
    n_stated : int
        Number of stated pairs, labels and group memberships.

    Examples
    --------
    >>> from sidelight.constraints import Constraints
    >>> known = Constraints([("a", "b")], [("b", "c")], ids=["a", "b", "c"])
    >>> violations = known.violations([0, 1, 1])
    >>> violations.n, violations.satisfied
    (2, 0.0)
    >>> print(violations)
    2 of 2 violated:
    must-link 'a' - 'b' is violated: they are in the clusters 0 and 1.
    cannot-link 'b' - 'c' is violated: both are in cluster 1.
    """

    must_link: IntArray
    cannot_link: IntArray
    must_link_weight: FloatArray
    cannot_link_weight: FloatArray
    labels: IntArray
    groups: IntArray
    n_stated: int
    _clusters: Array
    _class_cluster: dict[int, Any]
    _group_cluster: dict[int, Any]
    _known: Any

    def __bool__(self) -> bool:
        return self.n > 0

    def __repr__(self) -> str:
        return f"Violations(n={self.n}, n_stated={self.n_stated}, weight={self.weight:g})"

    def __str__(self) -> str:
        if not self.n:
            return (
                f"Nothing is violated of {self.n_stated} stated."
                if self.n_stated
                else ("Nothing is violated: nothing was stated.")
            )
        return "\n".join([f"{self.n} of {self.n_stated} violated:", *self.describe()])

    def _repr_html_(self) -> str:
        from sidelight.constraints._shown import violations_table

        return violations_table(self)

    @property
    def n(self) -> int:
        """Number of violated pairs, labels and group memberships."""
        return len(self.must_link) + len(self.cannot_link) + len(self.labels) + len(self.groups)

    @cached_property
    def weight(self) -> float:
        """Total weight of what is violated; a label or a group membership weighs 1."""
        pairs = float(self.must_link_weight.sum() + self.cannot_link_weight.sum())
        return pairs + len(self.labels) + len(self.groups)

    @property
    def satisfied(self) -> float:
        """Fraction of the statements that are satisfied; 1 when there are none."""
        return 1.0 - self.n / self.n_stated if self.n_stated else 1.0

    def as_dict(self) -> dict[str, Any]:
        """Return counts, and what is violated by the user's own ids, as plain values."""
        known = self._known
        ids = np.arange(known.n_samples) if known.ids is None else known.ids
        kinds = ("must_link", "cannot_link", "labels", "groups")
        violated = {kind: ids[getattr(self, kind)].tolist() for kind in kinds}
        return {"n": self.n, "n_stated": self.n_stated, "satisfied": self.satisfied, **violated}

    def describe(self, limit: int = 10) -> list[str]:
        """Describe the violated statements, by the user's ids, in at most ``limit`` sentences."""
        sentences: list[str] = []
        for sentence_of, things in (
            (self._must_link_sentence, self.must_link),
            (self._cannot_link_sentence, self.cannot_link),
            (self._label_sentence, self.labels),
            (self._group_sentence, self.groups),
        ):
            shown = things[: limit - len(sentences)]
            sentences += [sentence_of(thing) for thing in shown]
        if self.n > len(sentences):
            sentences.append(f"... and {self.n - len(sentences)} more.")
        return sentences

    def _must_link_sentence(self, pair: IntArray) -> str:
        first, second = self._clusters[pair].tolist()
        (text,) = self._known.describe_pairs([pair])
        if self._is_noise(pair[0]) or self._is_noise(pair[1]):
            noise = "both are" if first == second else "one is"
            return f"must-link {text} is violated: {noise} in no cluster."
        return f"must-link {text} is violated: they are in the clusters {first} and {second}."

    def _cannot_link_sentence(self, pair: IntArray) -> str:
        (text,) = self._known.describe_pairs([pair])
        cluster = self._clusters[pair].tolist()[0]
        return f"cannot-link {text} is violated: both are in cluster {cluster}."

    def _label_sentence(self, row: int) -> str:
        code = int(self._known.labels[row])
        name = self._known.label_names[code].item()
        found = f"{self._known.name_rows([row])[0]} is labeled {name!r} but {self._where(row)}"
        if self._is_noise(row):
            return f"{found}."
        if code not in self._class_cluster:
            return f"{found}; no cluster is left for {name!r}."
        return f"{found}, not in cluster {self._class_cluster[code]} that stands for {name!r}."

    def _group_sentence(self, row: int) -> str:
        code = int(self._known.groups[row])
        name = self._known.group_names[code].item()
        found = f"{self._known.name_rows([row])[0]} of group {name!r} {self._where(row)}"
        if code not in self._group_cluster:
            return f"{found}."
        return f"{found}, most of the group in cluster {self._group_cluster[code]}."

    def _where(self, row: int) -> str:
        if self._is_noise(row):
            return "is in no cluster"
        return f"is in cluster {self._clusters[[row]].tolist()[0]}"

    def _is_noise(self, row: int) -> bool:
        return is_unknown(self._clusters[row])


def find_violations(known: Any, clusters: Any) -> Violations:
    """Compare a clustering with what is known (the arrays of a constraints object)."""
    given = plain(clusters)
    if given.shape != (known.n_samples,):
        raise SidelightError(
            f"labels must hold one cluster per row, shape ({known.n_samples},), got shape "
            f"{given.shape}."
        )
    cluster, names = _codes(given)
    together = _together(cluster, known.must_link)
    joined = _together(cluster, known.cannot_link)
    label_rows, class_cluster = _outside(known.labels, cluster, _match_classes)
    group_rows, group_cluster = _outside(known.groups, cluster, _majority)
    memberships = sum(
        int(np.count_nonzero(codes >= 0))
        for codes in (known.labels, known.groups)
        if codes is not None
    )
    return Violations(
        must_link=frozen(known.must_link[~together]),
        cannot_link=frozen(known.cannot_link[joined]),
        must_link_weight=frozen(known.must_link_weight[~together]),
        cannot_link_weight=frozen(known.cannot_link_weight[joined]),
        labels=frozen(label_rows),
        groups=frozen(group_rows),
        n_stated=known.n_pairs + memberships,
        _clusters=given,
        _class_cluster={code: names[c].item() for code, c in class_cluster.items()},
        _group_cluster={code: names[c].item() for code, c in group_cluster.items()},
        _known=known,
    )


def _codes(clusters: Array) -> tuple[IntArray, Array]:
    """Clusters as codes, -1 for noise, and the name of each code."""
    if clusters.dtype.kind == "i" and len(clusters):
        lowest, highest = int(clusters.min()), int(clusters.max())
        if lowest >= -1 and highest < 2 * len(clusters):  # clusters are numbered already
            return clusters.astype(np.int64, copy=False), np.arange(highest + 1)
    return read_classes(clusters, "labels")


def _together(cluster: IntArray, pairs: IntArray) -> Array:
    first, second = cluster[pairs[:, 0]], cluster[pairs[:, 1]]
    return (first == second) & (first >= 0)


def _outside(
    codes: IntArray | None, cluster: IntArray, match: Any
) -> tuple[IntArray, dict[int, int]]:
    """Rows that are not in the cluster matched to their class, and the match."""
    if codes is None:
        return np.empty(0, np.int64), {}
    rows = np.flatnonzero((codes >= 0) & (cluster >= 0))
    matched = np.full(int(codes.max()) + 1, -1, np.int64)
    if len(rows):
        shape = (len(matched), int(cluster.max()) + 1)
        ones = np.ones(len(rows), np.int64)
        overlap = sparse.coo_matrix((ones, (codes[rows], cluster[rows])), shape=shape).tocsr()
        matched = match(overlap)
    known = np.flatnonzero(codes >= 0)
    own = matched[codes[known]]
    outside = known[(cluster[known] != own) | (own < 0)]
    return outside, {int(c): int(matched[c]) for c in np.flatnonzero(matched >= 0)}


def _majority(overlap: Any) -> IntArray:
    """Cluster with the most rows of each group, -1 where the group is all noise."""
    largest = _largest_in_rows(overlap)
    largest[np.diff(overlap.indptr) == 0] = -1
    return largest


def _largest_in_rows(counts: Any) -> IntArray:
    """Column of the largest entry of every row, the first of equal ones; 0 in empty rows.

    ``argmax`` of a sparse matrix goes through its rows one by one.
    """
    entries = counts.tocoo()
    order = np.lexsort((entries.col, -entries.data, entries.row))
    rows, first = np.unique(entries.row[order], return_index=True)
    columns = np.zeros(counts.shape[0], dtype=np.int64)
    columns[rows] = entries.col[order][first]
    return columns


def _match_classes(overlap: Any) -> IntArray:
    """One-to-one match of classes to clusters with the largest overlap, -1 for no cluster.

    Every class gets a cluster of its own that holds nothing, so that a full matching exists and
    only the non-zero overlaps are needed.
    """
    n_classes, n_clusters = overlap.shape
    worst = int(overlap.max()) + 1
    cost = overlap.astype(np.float64)
    cost.data = worst - cost.data
    own = sparse.identity(n_classes, format="csr") * worst
    _, column = min_weight_full_bipartite_matching(sparse.hstack([cost, own], format="csr"))
    return np.where(column < n_clusters, column, -1)


def name_clusters(known: Any, labels: Array, n_clusters: int) -> Array:
    """Name every cluster by the known class that it stands for, None where that is not clear.

    A cluster stands for a class if more than half of its labeled rows are of this class, and more
    than half of the labeled rows of the class are in it: no class names two clusters, and none is
    chosen among equals. A method that keeps every label names all clusters that hold labeled rows.

    Parameters
    ----------
    known : Constraints
        What is known.
    labels : ndarray of int, shape (n_samples,)
        Cluster of every row, -1 for none.
    n_clusters : int
        Number of clusters.

    Returns
    -------
    ndarray of object, shape (n_clusters,)
        Names of classes, or None.
    """
    names = np.full(n_clusters, None, dtype=object)
    if known.labels is None:
        return names
    rows = np.flatnonzero((known.labels >= 0) & (labels >= 0))
    shape = (n_clusters, len(known.label_names))
    ones = np.ones(len(rows), np.int64)
    counts = sparse.coo_matrix((ones, (labels[rows], known.labels[rows])), shape=shape)
    counts.sum_duplicates()
    in_cluster = np.bincount(labels[rows], minlength=n_clusters)
    of_class = np.bincount(known.labels[known.labels >= 0], minlength=shape[1])
    most = (2 * counts.data > in_cluster[counts.row]) & (2 * counts.data > of_class[counts.col])
    classes = np.fromiter(known.label_names.tolist(), dtype=object)
    names[counts.row[most]] = classes[counts.col[most]]
    return names
