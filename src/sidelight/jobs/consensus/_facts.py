"""Facts about a consensus: how near the partitions are, and which pairs and rows they dispute."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sidelight._typing import Array, FloatArray, IntArray
from sidelight._words import listed
from sidelight.pictures.relational._blocks import SignBlocks, sign_blocks

#: Partitions with missing rows that are named.
MAX_GAPS = 5


class Partition(NamedTuple):
    """One of the given partitions, beside the consensus.

    ``n_missing`` rows it does not know. ``n_pairs`` are the pairs of rows that it knows, and
    ``n_different`` those of them that are together in one of the two partitions and apart in the
    other.
    """

    name: str
    n_clusters: int
    n_missing: int
    n_pairs: int
    n_different: int

    @property
    def distance(self) -> float:
        """Share of the pairs that differ."""
        return self.n_different / max(self.n_pairs, 1)


def describe_partition(name: str, codes: IntArray, n_different: float) -> Partition:
    """Describe a partition: codes of its clusters, -1 for unknown rows, and pairs that differ."""
    n = int(np.count_nonzero(codes >= 0))
    n_clusters = int(codes.max(initial=-1)) + 1
    return Partition(name, n_clusters, len(codes) - n, n * (n - 1) // 2, int(n_different))


def note_gaps(partitions: IntArray, names: Sequence[str]) -> tuple[str, ...]:
    """Return a note on rows that a partition does not know."""
    missing = (partitions < 0).sum(axis=0)
    if not missing.any():
        return ()
    gaps = [f"{name!r} ({n:,})" for name, n in zip(names, missing.tolist(), strict=True) if n]
    return (f"Rows without a cluster say nothing there: {listed(gaps[:MAX_GAPS])}.",)


def disputed_share(partitions: IntArray, labels: Array) -> FloatArray:
    """Return the share of the votes about every row that the consensus is against.

    A partition has a vote about each pair of rows that it knows: together or apart.
    """
    against, votes = np.zeros(len(labels)), np.zeros(len(labels))
    for codes in partitions.T:
        rows = np.flatnonzero(codes >= 0)
        if not len(rows):
            continue
        own, given = labels[rows], codes[rows]
        both = np.unique(own.astype(np.int64) * (int(given.max()) + 1) + given, return_inverse=True)
        in_own, in_given, in_both = (
            np.bincount(one)[one] for one in (own, given, both[1].reshape(-1))
        )
        # A row counts itself once in all three.
        against[rows] += in_own + in_given - 2 * in_both
        votes[rows] += len(rows) - 1
    return np.divide(against, votes, out=np.zeros_like(against), where=votes > 0)


def votes_of_pairs(partitions: IntArray) -> tuple[IntArray, FloatArray]:
    """Return all pairs of rows, and how many more partitions join than part them."""
    first, second = np.triu_indices(len(partitions), 1)
    score = np.zeros(len(first))
    for codes in partitions.T:
        known = (codes[first] >= 0) & (codes[second] >= 0)
        score += np.where(known, np.where(codes[first] == codes[second], 1.0, -1.0), 0.0)
    return np.column_stack([first, second]), score


def vote_blocks(partitions: IntArray, labels: Array, most: int) -> tuple[SignBlocks, IntArray]:
    """Return the votes about pairs in the order of the clusters, and the positions of its rows.

    Of more than ``most`` rows an even choice is taken, so that clusters keep their proportions.
    """
    sizes = np.unique(labels, return_inverse=True, return_counts=True)
    codes, counts = sizes[1].reshape(-1), sizes[2]
    by_size = np.lexsort((codes, -counts[codes]))
    n_shown = min(most, len(labels))
    places = np.linspace(0, len(labels) - 1, n_shown).round().astype(np.int64)
    rows = np.sort(by_size[places])
    edges, scores = votes_of_pairs(partitions[rows])
    return sign_blocks(edges, scores, labels[rows], n_shown), rows
