"""The order of merges: the closest-pair rule, and how to get past its dead ends.

The closest pair that no cannot-link forbids is merged (Davidson and Ravi 2005). This may end with
more clusters than the cannot-links need, because merges that looked harmless left too many clusters
that are pairwise apart. A merge is harmless for ``k`` clusters exactly when the conflict graph
after it can still be colored with ``k`` colors; as merging only ever makes that harder, the
longest harmless beginning of the closest-pair rule is found by bisection, and only what follows it
is done one merge at a time, with a coloring as the proof that ``k`` clusters are within reach.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.distance import squareform

from sidelight._kernels.cluster.nn_chain import (
    AVERAGE,
    COMPLETE,
    SINGLE,
    WARD,
    follow_chain,
    grow_tree,
    labels_after,
)
from sidelight._progress import stage_progress
from sidelight._typing import Array
from sidelight.assignment.inner import check_coloring

#: Seconds to decide whether one merge leaves enough colors, and for all such searches of a fit;
#: a merge that is not decided in time counts as harmful, which is always safe.
SECONDS_PER_MERGE = 1.0
SECONDS_IN_ALL = 20.0
#: Distances looked at between two looks for Ctrl-C: about a tenth of a second.
CELLS_AT_ONCE = 20_000_000
#: Name of the fit in the progress bar.
DESCRIPTION = "ConstrainedAgglomeration"


@dataclass(frozen=True)
class MergeSequence:
    """Merges in order: a member of either side, and the height."""

    left: Array
    right: Array
    height: Array

    def __len__(self) -> int:
        return len(self.height)

    def first(self, n: int) -> MergeSequence:
        """Only the first ``n`` merges."""
        return MergeSequence(self.left[:n], self.right[:n], self.height[:n])

    def then(self, other: MergeSequence) -> MergeSequence:
        """These merges and then others."""
        return MergeSequence(
            np.concatenate([self.left, other.left]),
            np.concatenate([self.right, other.right]),
            np.concatenate([self.height, other.height]),
        )

    def labels(self, n_merges: int, n: int) -> Array:
        """Cluster of each of ``n`` objects after the first merges."""
        return labels_after(self.left, self.right, n_merges, n)


def set_pairs(distances: Array, n: int, pairs: Array, value: float) -> None:
    """Set the distances of these pairs, ``a < b``, in a condensed matrix."""
    first, second = pairs[:, 0], pairs[:, 1]
    distances[n * first - first * (first + 1) // 2 + second - first - 1] = value


def merge_closest(distances: Array, sizes: Array, linkage: int, *, verbose: int) -> MergeSequence:
    """Merge the closest pair until nothing is left that may be merged; overwrites distances."""
    n = len(sizes)
    left, right = np.empty((2, n), dtype=np.int64)
    height, place = np.empty(n), np.zeros(3, dtype=np.int64)
    state = left, right, height, np.zeros(n, dtype=bool), np.empty(n, dtype=np.int64), place
    size = sizes.copy()
    # In slices, between which progress is shown and Ctrl-C is heard.
    n_steps = max(1, CELLS_AT_ONCE // max(n, 1))
    with stage_progress(f"{DESCRIPTION}, merges", n - 1, verbose=verbose) as progress:
        while not follow_chain(distances, size, linkage, *state, n_steps):
            progress.step(n_steps=int(place[2]) - progress.n_steps)
    done = int(place[2])
    return _sorted(left[:done], right[:done], height[:done])


def spanning_tree_merges(rows: Array, group: Array, *, verbose: int) -> MergeSequence:
    """Merge groups of rows by single linkage without keeping distances: O(n² d) time, O(n) memory.

    The merges of single linkage are the edges of the minimum spanning tree, by length.
    """
    n = len(rows)
    left, right = np.empty((2, max(n - 1, 0)), dtype=np.int64)
    height = np.empty(max(n - 1, 0))
    tree = np.zeros(n, dtype=bool), left, right, height
    closest = np.zeros(n, dtype=np.int64), np.full(n, np.inf)
    n_edges = max(1, CELLS_AT_ONCE // max(rows.size, 1))
    with stage_progress(f"{DESCRIPTION}, tree", n - 1, verbose=verbose) as progress:
        for start in range(0, n - 1, n_edges):
            stop = min(n - 1, start + n_edges)
            grow_tree(rows, group, *closest, *tree, start, stop)
            progress.step(n_steps=stop - start)
    between = group[left] != group[right]
    return _sorted(group[left[between]], group[right[between]], height[between])


def _sorted(left: Array, right: Array, height: Array) -> MergeSequence:
    order = np.argsort(height, kind="stable")
    return MergeSequence(left[order], right[order], height[order])


def contracted(edges: Array, labels: Array) -> Array:
    """Conflicts between clusters, from the conflicts between their parts."""
    return np.unique(np.sort(labels[edges], axis=1), axis=0)


def harmless_beginning(merges: MergeSequence, n: int, edges: Array, k: int, coloring: Array) -> Any:
    """Return how many merges leave ``k`` clusters possible, and a coloring of the clusters left.

    ``coloring`` proves that ``k`` clusters are possible before any merge.
    """
    done, proof = 0, coloring
    too_many = len(merges) + 1
    while too_many - done > 1:
        middle = (done + too_many) // 2
        labels = merges.labels(middle, n)
        found = check_coloring(
            n - middle, contracted(edges, labels), k, time_limit=SECONDS_PER_MERGE
        )
        if found.coloring is not None:
            done, proof = middle, found.coloring
        else:
            too_many = middle
    return done, proof


class CarefulMerging:
    """Merges one at a time that never leave the reach of ``k`` clusters.

    An infinite distance is a conflict: a cannot-link, or a merge that was found to be harmful (then
    the two are in different clusters of every solution that can still be reached).
    """

    def __init__(self, distances: Array, sizes: Array, linkage: int, coloring: Array) -> None:
        self._distances = squareform(distances, checks=False)
        np.fill_diagonal(self._distances, np.inf)
        self._size = sizes.astype(np.float64)
        self._linkage = linkage
        self._color = coloring.astype(np.int64)
        self._alive = np.ones(len(sizes), dtype=bool)
        self._seconds = SECONDS_IN_ALL
        self._nearest = self._distances.argmin(axis=1)
        self._shortest = self._distances.min(axis=1)

    def run(self, k: int) -> MergeSequence:
        """Merge until ``k`` clusters are left."""
        done: list[tuple[int, int, float]] = []
        while self._alive.sum() > k:
            one = int(self._shortest.argmin())
            other, height = int(self._nearest[one]), float(self._shortest[one])
            if height == np.inf:
                # Two clusters of one color are not in conflict, so there is always a way.
                raise AssertionError("no merge is left although the coloring has more clusters")
            if self._can_share_a_color(one, other, k):
                self._merge(one, other)
                done.append((one, other, height))
            else:
                self._keep_apart(one, other)
        left, right, heights = zip(*done, strict=True) if done else ((), (), ())
        return MergeSequence(
            np.array(left, dtype=np.int64),
            np.array(right, dtype=np.int64),
            np.array(heights, dtype=np.float64),
        )

    def _merge(self, one: int, other: int) -> None:
        D = self._distances
        new = self._joined(one, other)
        D[one], D[:, one] = new, new
        D[other], D[:, other] = np.inf, np.inf
        self._size[one] += self._size[other]
        self._alive[other] = False
        self._shortest[other] = np.inf
        stale = self._alive & np.isin(self._nearest, (one, other))
        stale[one] = True
        self._look_again(np.flatnonzero(stale))

    def _joined(self, one: int, other: int) -> Array:
        """Distances of everything to the two as one cluster."""
        here, there = self._distances[one], self._distances[other]
        if self._linkage == SINGLE:
            new = np.minimum(here, there)
        elif self._linkage == COMPLETE:
            new = np.maximum(here, there)
        elif self._linkage == AVERAGE:
            weight = self._size[[one, other]]
            new = (weight[0] * here + weight[1] * there) / weight.sum()
        else:
            assert self._linkage == WARD
            new = self._joined_by_ward(one, other)
        new[np.isinf(here) | np.isinf(there)] = np.inf
        return new

    def _joined_by_ward(self, one: int, other: int) -> Array:
        """Ward distances of everything to the two as one cluster (Lance and Williams)."""
        here, there = self._distances[one], self._distances[other]
        first, second = self._size[one] + self._size, self._size[other] + self._size
        squares = first * here**2 + second * there**2
        squares -= self._size * self._distances[one, other] ** 2
        total = first + self._size[other]
        return np.sqrt(np.maximum(squares, 0.0) / total)

    def _keep_apart(self, one: int, other: int) -> None:
        self._distances[one, other] = self._distances[other, one] = np.inf
        self._look_again(np.array([one, other]))

    def _look_again(self, rows: Array) -> None:
        part = self._distances[rows]
        self._nearest[rows] = part.argmin(axis=1)
        self._shortest[rows] = part.min(axis=1)

    def _can_share_a_color(self, one: int, other: int, k: int) -> bool:
        """Whether two clusters can be merged; if so, they get one color."""
        color = self._color
        if color[one] == color[other]:
            return True
        # Exchange the two colors in everything that hangs together with one of them (a Kempe
        # chain): they get the same color if the other does not hang together with it.
        chain = self._kempe_chain(one, int(color[other]))
        if other not in chain:
            swapped = np.array(sorted(chain))
            color[swapped] = color[one] + color[other] - color[swapped]
            return True
        if k == 2:
            return False  # the two colors of a connected graph are unique
        return self._search(one, other, k)

    def _kempe_chain(self, start: int, color: int) -> set[int]:
        alternate = self._alive & np.isin(self._color, (self._color[start], color))
        seen, front = {start}, [start]
        while front:
            node = front.pop()
            reached = np.flatnonzero(np.isinf(self._distances[node]) & alternate)
            new = set(reached.tolist()) - seen
            seen |= new
            front.extend(new)
        return seen

    def _search(self, one: int, other: int, k: int) -> bool:
        """Look for any coloring with ``k`` colors of the clusters after the merge."""
        if self._seconds <= 0:
            return False
        started = time.monotonic()
        nodes = np.flatnonzero(self._alive)
        conflict = np.isinf(self._distances[np.ix_(nodes, nodes)])
        np.fill_diagonal(conflict, False)
        a, b = np.searchsorted(nodes, [one, other])
        merged = np.arange(len(nodes)) - (np.arange(len(nodes)) > b)
        merged[b] = merged[a] = a - (a > b)
        edges = np.column_stack(np.nonzero(np.triu(conflict)))
        found = check_coloring(
            len(nodes) - 1, contracted(edges, merged), k, time_limit=SECONDS_PER_MERGE
        )
        self._seconds -= time.monotonic() - started
        if found.coloring is None:
            return False
        self._color[nodes] = found.coloring[merged]
        return True
