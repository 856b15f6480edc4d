"""Which pairs to ask about: ambiguous sequences, and whom to compare them with.

With the ambiguity ``amb(G) = max_{x in G} min_s L(f_s(x))`` of a sequence and the kernel
``K(G, H)`` between centroids,

    MIN   the most ambiguous G, with argmin_H K(G,G) + K(H,H) - 2 K(G,H) of known class
    MAX   the most ambiguous G, with argmax_H of the same
    COM   the pair of unknown class with the largest amb(G) + amb(H) - K(G,H)
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from sidelight._typing import Array, FloatArray, IntArray
from sidelight.constraints import Constraints
from sidelight.semi_supervised._core._kernel import Kernel

#: Ambiguous sequences that are looked at together.
AT_A_TIME = 256

#: Sequences of unknown class among which "com" pairs, the most ambiguous ones.
MAX_COMBINED = 1000

#: Rows of sequences whose kernel with themselves is computed together.
ROWS_AT_A_TIME = 256

#: Kernel values that are held at a time.
VALUES_AT_A_TIME = 4_000_000


class Sequences:
    """Rows that must-links and groups join, and the pairs of them that need no asking.

    Parameters
    ----------
    known : Constraints
        All that is known, labels included.
    doubt : ndarray of shape (n_samples,)
        Ambiguity of every row.
    exclude : array-like of shape (m, 2) or None
        Pairs of rows that are not wanted.

    Attributes
    ----------
    members : CSR array of shape (n_sequences, n_samples)
        Averages over the rows of every sequence.
    ambiguity : ndarray of shape (n_sequences,)
        Ambiguity of every sequence.
    speaker : ndarray of int64
        Row that stands for the sequence in a question: a labeled one, or the most ambiguous.
    has_class : ndarray of bool
        Whether the class is known.
    """

    def __init__(self, known: Constraints, doubt: FloatArray, exclude: Any = None) -> None:
        joined = Constraints(known.must_link, groups=known.groups, n_samples=known.n_samples)
        self.of_row = joined.components()
        n = int(self.of_row.max()) + 1
        sizes = np.bincount(self.of_row)
        rows = np.arange(known.n_samples)
        shape = (n, known.n_samples)
        self.members = sparse.csr_array((1 / sizes[self.of_row], (self.of_row, rows)), shape=shape)
        self.ambiguity = np.zeros(n)
        np.maximum.at(self.ambiguity, self.of_row, doubt)
        labeled = np.zeros(known.n_samples, bool) if known.labels is None else known.labels >= 0
        # Ascending, so that labeled rows come last, and the most ambiguous last of the others.
        order = np.lexsort((-rows, doubt, labeled))
        self.speaker = np.empty(n, dtype=np.int64)
        self.speaker[self.of_row[order]] = order
        self.has_class = labeled[self.speaker]
        closure = known.closure(on_contradiction="keep")
        self._component = closure.component[self.speaker]
        self._n_components = closure.n_components
        self._apart = _keys(closure.conflicts, closure.n_components)
        unwanted = np.asarray([] if exclude is None else exclude, dtype=np.int64).reshape(-1, 2)
        self._unwanted = _keys(self.of_row[unwanted], n)

    def is_settled(self, one: IntArray, other: IntArray) -> npt.NDArray[np.bool_]:
        """Whether pairs of sequences need no asking."""
        ends = np.column_stack([one.ravel(), other.ravel()])
        component = self._component[ends]
        together = component[:, 0] == component[:, 1]
        apart = np.isin(_keys(component, self._n_components), self._apart)
        unwanted = np.isin(_keys(ends, len(self.speaker)), self._unwanted)
        return np.reshape(together | apart | unwanted, one.shape)


def _keys(pairs: IntArray, n: int) -> IntArray:
    """A number for every unordered pair of numbers below n."""
    keys: IntArray = pairs.min(axis=1, initial=n) * n + pairs.max(axis=1, initial=0)
    return keys


def suggest(
    sequences: Sequences, kernel: Kernel, rows: Any, strategy: str, n_pairs: int
) -> tuple[IntArray, FloatArray]:
    """Return pairs of rows to ask about, and their scores, the most useful first."""
    unknown = np.flatnonzero(~sequences.has_class)
    unknown = unknown[np.argsort(-sequences.ambiguity[unknown], kind="stable")]
    between = CentroidKernel(sequences, kernel, rows)
    if strategy == "com":
        return _combined(sequences, between, unknown[:MAX_COMBINED], n_pairs)
    partners = np.flatnonzero(sequences.has_class)
    squares = between.squares(partners)
    pairs: list[Array] = []
    for start in range(0, len(unknown), AT_A_TIME):
        if sum(map(len, pairs)) >= n_pairs or not len(partners):
            break
        some = unknown[start : start + AT_A_TIME]
        distance = squares - 2 * between(some, partners)
        cost = distance if strategy == "min" else -distance
        one, other = np.broadcast_arrays(some[:, None], partners[None])
        cost[sequences.is_settled(one, other)] = np.inf
        best = cost.argmin(axis=1)
        is_open = np.isfinite(cost[np.arange(len(some)), best])
        pairs.append(np.column_stack([some, partners[best]])[is_open])
    chosen = np.concatenate([np.empty((0, 2), dtype=np.int64), *pairs])[:n_pairs]
    return sequences.speaker[chosen], sequences.ambiguity[chosen[:, 0]]


def _combined(
    sequences: Sequences, between: CentroidKernel, some: IntArray, n_pairs: int
) -> tuple[IntArray, FloatArray]:
    """Pairs of sequences of unknown class, every sequence in at most one."""
    ambiguity = sequences.ambiguity[some]
    scores = ambiguity[:, None] + ambiguity - between(some, some)
    one, other = np.broadcast_arrays(some[:, None], some[None])
    scores[sequences.is_settled(one, other)] = -np.inf
    pairs: list[tuple[int, int]] = []
    found: list[float] = []
    while len(pairs) < n_pairs and scores.size:
        i, j = sorted(map(int, np.unravel_index(scores.argmax(), scores.shape)))
        if not np.isfinite(scores[i, j]):
            break
        pairs.append((some[i], some[j]))
        found.append(scores[i, j])
        scores[[i, j], :] = scores[:, [i, j]] = -np.inf
    chosen = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return sequences.speaker[chosen], np.array(found)


class CentroidKernel:
    """Kernel between the centroids of sequences: the mean over all pairs of their rows."""

    def __init__(self, sequences: Sequences, kernel: Kernel, rows: Any) -> None:
        self._members, self._kernel, self._rows = sequences.members, kernel, rows

    def __call__(self, some: IntArray, others: IntArray) -> FloatArray:
        """Kernel of some sequences with others, shape (len(some), len(others))."""
        averages, rows = self._averages(some)
        other_averages, other_rows = self._averages(others)
        mixed = np.empty((len(rows), len(others)))
        size = max(1, VALUES_AT_A_TIME // max(1, len(other_rows)))
        for start in range(0, len(rows), size):
            block = self._values(rows[start : start + size], other_rows)
            mixed[start : start + size] = (other_averages @ block.T).T
        return np.asarray(averages @ mixed)

    def squares(self, some: IntArray) -> FloatArray:
        """``K(G, G)`` of some sequences."""
        sizes = np.diff(self._members.indptr)[some]
        block = np.cumsum(sizes) // ROWS_AT_A_TIME
        cuts = np.flatnonzero(np.diff(block)) + 1
        parts = (np.diag(self(part, part)) for part in np.split(some, cuts))
        return np.concatenate([np.empty(0), *parts])

    def _averages(self, some: IntArray) -> tuple[sparse.csr_array, IntArray]:
        """Averages over the rows of some sequences, and these rows."""
        averages = sparse.csr_array(self._members[some])
        rows, columns = np.unique(averages.indices, return_inverse=True)
        shape = (len(some), len(rows))
        parts = (averages.data, columns, averages.indptr)
        return sparse.csr_array(parts, shape=shape), rows.astype(np.int64)

    def _values(self, one: IntArray, other: IntArray) -> FloatArray:
        if self._kernel.is_precomputed:
            return np.asarray(self._rows[np.ix_(one, other)], dtype=np.float64)
        return self._kernel(self._rows[one], self._rows[other])
