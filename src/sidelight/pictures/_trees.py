"""The tree of merges of an agglomerative clustering."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from sidelight._typing import Array, FloatArray, IntArray
from sidelight.pictures._run import shorten
from sidelight.pictures.kinds._points import Lines, Points

#: Of a larger tree the last merges are drawn, down to so many branches.
MAX_LEAVES = 150
#: Up to so many leaves are named, by so many letters each.
MAX_NAMED, _LONGEST_NAME = 40, 24
#: Merges that the constraints forbid stand so much above the highest one.
_ABOVE = 1.15
#: Where SciPy puts the first leaf, and how far apart the others are.
_FIRST, _STEP = 5.0, 10.0


def merge_tree(linkage: Array, labels: IntArray, names: Sequence[str] | None = None) -> Points:
    """Tree of merges: leaves are points, merges are lines, and those that are forbidden are dashed.

    Parameters
    ----------
    linkage : ndarray of shape (n_samples - 1, 4)
        Merges in SciPy's format, with infinite heights for those that are forbidden.
    labels : ndarray of int, shape (n_samples,)
        Cluster of every row.
    names : sequence of str, default=None
        Names of the rows.
    """
    n = len(labels)
    tree = _layout(linkage, n)
    cluster = _clusters_of_nodes(linkage, labels)
    joined = np.isfinite(linkage[tree.merges, 2])
    n_leaves, codes = len(tree.leaves), cluster[n + tree.merges]
    said = [
        (f"row {node}" if names is None else names[node]) if node < n else f"merge {node - n}"
        for node in tree.leaves.tolist()
    ]
    notes = [f"the last {n_leaves - 1:,} of {n - 1:,} merges"] if n_leaves < n else []
    if not joined.all():
        notes.append("dashed: must stay apart")
    places = _FIRST + _STEP * np.arange(n_leaves)
    named = names is not None and n_leaves == n <= MAX_NAMED
    return Points(
        title="Tree of merges",
        text=f"{n_leaves} leaves, {int(joined.sum())} merges, {int((~joined).sum())} forbidden.",
        xy=np.column_stack([places, np.zeros(n_leaves)]),
        codes=cluster[tree.leaves],
        n_colors=int(labels.max(initial=0)) + 1,
        rows=tree.leaves,
        titles=said,
        lines=[
            _lines("branches", "group", tree.corners[joined], codes[joined]),
            _lines("forbidden", "plain", tree.corners[~joined], dashed=True),
        ],
        axes="heights",
        limits=((0.0, _STEP * n_leaves), (0.0, tree.top)),
        ticks=[
            (float(x), shorten(said[at], _LONGEST_NAME)) for at, x in enumerate(places) if named
        ],
        axis_titles=("rows" if n_leaves == n else "rows and subtrees", "height of the merge"),
        note=", ".join(notes),
    )


def _lines(
    name: str,
    role: Literal["group", "plain"],
    corners: FloatArray,
    codes: IntArray | None = None,
    *,
    dashed: bool = False,
) -> Lines:
    no_pairs = np.zeros((0, 2), np.int64)
    return Lines(name, no_pairs, role, dashed=dashed, label=None, places=corners, codes=codes)


@dataclass(frozen=True)
class _Tree:
    """Where the merges are drawn, the lowest first."""

    merges: IntArray
    corners: FloatArray
    leaves: IntArray
    top: float


def _layout(linkage: Array, n: int) -> _Tree:
    from scipy.cluster.hierarchy import dendrogram

    merges = linkage.copy()
    finite = np.isfinite(merges[:, 2])
    highest = float(merges[finite, 2].max(initial=0.0)) or 1.0
    merges[~finite, 2] = _ABOVE * highest
    drawn = dendrogram(
        merges,
        no_plot=True,
        truncate_mode="lastp" if n > MAX_LEAVES else None,
        p=MAX_LEAVES,
        link_color_func=str,  # the "color" of a branch is the number of its merge
    )
    numbers = np.array([int(node) for node in drawn["color_list"]], dtype=np.int64) - n
    order = np.argsort(numbers)
    corners = np.stack([drawn["icoord"], drawn["dcoord"]], axis=-1)
    top = highest if finite.all() else _ABOVE * highest
    return _Tree(numbers[order], corners[order], np.array(drawn["leaves"]), 1.05 * top)


def _clusters_of_nodes(linkage: Array, labels: IntArray) -> IntArray:
    """Cluster of every row and merge; -1 for a merge of rows of several clusters."""
    n = len(labels)
    cluster = np.concatenate([labels.astype(np.int64), np.full(n - 1, -1)])
    for number, (left, right) in enumerate(linkage[:, :2].astype(np.int64)):
        if cluster[left] == cluster[right]:
            cluster[n + number] = cluster[left]
    return cluster
