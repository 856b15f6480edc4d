"""Scored pairs in the order of a partition: the sign matrix with its blocks."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from sidelight._typing import Array, FloatArray, IntArray
from sidelight._words import counted, format_number
from sidelight.pictures.kinds._cells import WRONG, Cells, Frame, Layer

#: Of more objects a page draws the largest groups of linked clusters.
MAX_OBJECTS = 180
#: Up to this many disagreements tell their ids when the pointer rests on them.
MAX_TITLES = 600
#: Clusters of fewer objects have no frame.
SMALLEST_FRAME = 2


@dataclass(frozen=True, eq=False)
class SignBlocks:
    """Objects in the order of their clusters, with the scored pairs between them.

    Attributes
    ----------
    order : ndarray of shape (n_shown,)
        Positions of the shown objects, cluster by cluster. Clusters that scored pairs link stand
        together, the largest such group first, and in it the largest cluster.
    starts : ndarray of shape (n_shown_clusters + 1,)
        Where every cluster begins in ``order``, and where the last one ends.
    clusters : ndarray of shape (n_shown_clusters,)
        Labels of the shown clusters.
    first, second : ndarray of shape (m,)
        Places in ``order`` of the scored pairs, ``first < second``.
    scores : ndarray of shape (m,)
        Their scores.
    disagree : ndarray of bool, shape (m,)
        Whether the partition is against the score: positive but apart, or negative but together.
    n_objects, n_clusters : int
        Numbers of all objects and clusters, shown or not.
    """

    order: IntArray
    starts: IntArray
    clusters: Array
    first: IntArray
    second: IntArray
    scores: FloatArray
    disagree: npt.NDArray[np.bool_]
    n_objects: int
    n_clusters: int

    @property
    def n_shown(self) -> int:
        """Number of shown objects."""
        return len(self.order)

    @property
    def note(self) -> str:
        """What is not shown; empty where everything is."""
        if self.n_shown == self.n_objects:
            return ""
        clusters = counted(len(self.clusters), "cluster")
        return (
            f"the largest groups of linked clusters: {clusters} of {self.n_clusters:,}, "
            f"{self.n_shown:,} of {self.n_objects:,} objects"
        )


def sign_blocks(edges: IntArray, scores: FloatArray, labels: Array, most: int) -> SignBlocks:
    """Order objects by cluster and find the pairs that a partition disagrees with.

    Parameters
    ----------
    edges : ndarray of shape (m, 2)
        Scored pairs, as positions.
    scores : ndarray of shape (m,)
        Their scores.
    labels : ndarray of shape (n_objects,)
        Cluster of every object.
    most : int
        Largest number of objects to show, in that order; of a cluster that does not fit, the
        objects with the most scored pairs inside of it.
    """
    names, codes, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    codes = codes.reshape(-1)
    inside = codes[edges[:, 0]] == codes[edges[:, 1]]
    degree = np.bincount(edges[inside].ravel(), minlength=len(codes))
    group = _linked_groups(edges, codes, len(sizes))
    of_group = np.bincount(group, weights=sizes)[group]
    rank = np.empty(len(sizes), np.int64)
    rank[np.lexsort((np.arange(len(sizes)), -sizes, group, -of_group))] = np.arange(len(sizes))
    order = np.lexsort((np.arange(len(codes)), -degree, rank[codes]))[:most]
    place = np.full(len(codes), -1, np.int64)
    place[order] = np.arange(len(order))
    ends = np.sort(place[edges], axis=1)
    shown = ends[:, 0] >= 0
    ends, same, kept = ends[shown], inside[shown], scores[shown]
    blocks = codes[order]
    starts = np.flatnonzero(np.r_[True, np.diff(blocks) != 0]) if len(order) else np.zeros(0, int)
    return SignBlocks(
        order=order,
        starts=np.append(starts, len(order)),
        clusters=names[blocks[starts]],
        first=ends[:, 0],
        second=ends[:, 1],
        scores=kept,
        disagree=np.where(same, kept < 0, kept > 0),
        n_objects=len(codes),
        n_clusters=len(names),
    )


def _linked_groups(edges: IntArray, codes: IntArray, n_clusters: int) -> IntArray:
    """Group of every cluster: clusters between which there are scored pairs, directly or not."""
    ends = codes[edges]
    ones = np.ones(len(ends), np.int8)
    graph = sparse.coo_array((ones, (ends[:, 0], ends[:, 1])), (n_clusters, n_clusters))
    found: IntArray = connected_components(graph, directed=False)[1].astype(np.int64)
    return found


def matrix_codes(blocks: SignBlocks) -> IntArray:
    """The symmetric matrix: 0 no score or zero, 1 positive, 2 negative, 3 disagreement."""
    codes = np.zeros((blocks.n_shown, blocks.n_shown), np.int64)
    sign = np.where(blocks.scores > 0, 1, np.where(blocks.scores < 0, 2, 0))
    values = np.where(blocks.disagree, 3, sign)
    codes[blocks.first, blocks.second] = values
    codes[blocks.second, blocks.first] = values
    return codes


def sign_cells(blocks: SignBlocks, names: Sequence[str] = ()) -> Cells:
    """Matrix of the signs of the scores, with a frame around every cluster.

    Parameters
    ----------
    blocks : SignBlocks
        Ordered objects with their scored pairs.
    names : sequence of str, default=()
        Names of the shown objects, for what the strongest disagreements say.
    """
    n_wrong = int(blocks.disagree.sum())
    wrong = counted(n_wrong, "disagreement")
    lines = [f"{wrong}, {counted(len(blocks.scores), 'scored pair')}", blocks.note]
    return Cells(
        title="Scores of the pairs in the order of the clusters",
        text=f"{blocks.n_shown} objects, {len(blocks.scores)} scored pairs, {n_wrong} against.",
        layers=[
            Layer("positive", "together", 0),
            Layer("negative", "apart", 1),
            Layer("disagreement", "wrong", WRONG),
        ],
        codes=matrix_codes(blocks),
        axis_titles=("objects by cluster", "objects by cluster"),
        note="\n".join(line for line in lines if line),
        css="signs",
        size=(640, 640),
        square=True,
        frames=[
            Frame(start, start, end - start, end - start)
            for start, end in itertools.pairwise(blocks.starts.tolist())
            if end - start >= SMALLEST_FRAME
        ],
        hits=_hits(blocks, names) if names else (),
    )


def _hits(blocks: SignBlocks, names: Sequence[str]) -> list[tuple[int, int, str]]:
    """What the strongest disagreements are, at both of their cells."""
    wrong = np.flatnonzero(blocks.disagree)
    wrong = wrong[np.argsort(-np.abs(blocks.scores[wrong]), kind="stable")][:MAX_TITLES]
    found = []
    for pair in wrong.tolist():
        a, b, score = int(blocks.first[pair]), int(blocks.second[pair]), float(blocks.scores[pair])
        how = "apart" if score > 0 else "together"
        said = f"{names[a]} and {names[b]}: score {format_number(score)}, but {how}"
        found += [(b, a, said), (a, b, said)]
    return found
