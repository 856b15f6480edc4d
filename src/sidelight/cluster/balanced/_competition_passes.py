"""Passes over the rows in which clusters compete: counts and centers follow sooner or later.

Each kind of pass is the evaluation of an alternation (:mod:`sidelight._fit.alternation`): it labels
the rows at the state it is given, and says with which state the next pass begins.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sidelight._fit.lowest import is_lower
from sidelight._typing import Array
from sidelight.cluster.balanced._competition import ClusterSums, Stream, WinnerRule, add_up_clusters
from sidelight.cluster.directional._directions import onto_sphere
from sidelight.engine import RowSource
from sidelight.engine.inner import count_changes, map_values

#: Odd numbers whose bits look random.
MIXERS = np.array([0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB], dtype=np.uint64)

#: Rows that are taken from a shuffled table at a time.
CHUNK_ROWS = 2000


class CompetitionState(NamedTuple):
    """Centers and counts that a pass begins with."""

    centers: Array
    counts: Array


@dataclass(frozen=True)
class CompetitionPass:
    """Labels of a pass, the centers they are measured at, and the competition after it.

    Attributes
    ----------
    parameters : CompetitionState or Stream
        State that the pass began with.
    labels : ndarray of int32, shape (n_rows,)
        Winners of the rows.
    centers : ndarray of shape (k, n_features)
        Centers that the objective is measured at.
    clusters : ClusterSums
        Sums over the clusters of these labels.
    stream : Stream
        Fading sums and counts after the pass.
    following : CompetitionState or Stream
        State that the next pass begins with.
    objective : float
        ``Σ_i log(2 / (1 + cos_i)) + γ Σ_h n_h log(k n_h / n)``.
    best : CompetitionPass or None
        The best of the passes before, if it is at least as good as this one.
    """

    parameters: Any
    labels: Array
    centers: Array
    clusters: ClusterSums
    stream: Stream
    following: Any
    objective: float
    best: CompetitionPass | None

    def counts_near(self, counts: Array, most: float) -> bool:
        """Whether the counts of all clusters are nearly these."""
        ours = self.stream.counts
        return len(ours) == len(counts) and bool(np.all(np.abs(ours - counts) <= most))


class _Competition:
    """Rows with the rule by which clusters compete for them."""

    def __init__(self, source: RowSource, rule: WinnerRule) -> None:
        self.source = source
        self.rule = rule

    def _measured(
        self,
        begin: Any,
        labels: Array,
        centers: Array,
        found: ClusterSums,
        before: CompetitionPass | None,
    ) -> dict[str, Any]:
        """Fields of a pass that all kinds share."""
        filled = found.sizes[found.sizes > 0]
        uneven = float(filled @ np.log(filled * len(found.sizes) / len(labels)))
        objective = found.divergence + self.rule.gamma * uneven
        best = None if before is None else before.best or before
        return {
            "parameters": begin,
            "labels": labels,
            "centers": centers,
            "clusters": found,
            "objective": objective,
            "best": None if best is None or is_lower(objective, best.objective) else best,
        }


class Batch(_Competition):
    """Counts and centers follow once per pass (fs); the order of the rows does not matter."""

    def __init__(self, source: RowSource, rule: WinnerRule, damping: float) -> None:
        super().__init__(source, rule)
        self.damping = damping

    def __call__(
        self, begin: CompetitionState, before: CompetitionPass | None = None
    ) -> CompetitionPass:
        """Label all rows at once, then move."""
        centers, counts = begin
        labels = self.rule.label(self.source, centers, counts)
        found = add_up_clusters(self.source, centers, labels)
        damped = (1 - self.damping) * counts + self.damping * found.sizes
        return CompetitionPass(
            **self._measured(begin, labels, centers, found, before),
            stream=_as_stream(centers, counts, found),
            following=CompetitionState(_moved(found.sums, centers), damped),
        )


class Partial(_Competition):
    """Counts follow after every row, centers once per pass (pifs)."""

    def __init__(self, source: RowSource, rule: WinnerRule, order: Array) -> None:
        super().__init__(source, rule)
        self.order = order

    def __call__(
        self, begin: CompetitionState, before: CompetitionPass | None = None
    ) -> CompetitionPass:
        """Label the rows in order, then move."""
        centers, counts = begin
        labels, counts = self.rule.label_in_order(self.source, centers, counts, self.order)
        found = add_up_clusters(self.source, centers, labels)
        return CompetitionPass(
            **self._measured(begin, labels, centers, found, before),
            stream=_as_stream(centers, counts, found),
            following=CompetitionState(_moved(found.sums, centers), counts),
        )


class Incremental(_Competition):
    """Counts and centers follow after every row (fifs), in a given order or as they come (sfs)."""

    def __init__(self, source: RowSource, rule: WinnerRule, order: Array | None = None) -> None:
        super().__init__(source, rule)
        self.order = order

    def __call__(self, begin: Stream, before: CompetitionPass | None = None) -> CompetitionPass:
        """Let the clusters compete for all rows in order."""
        stream = begin.copy()
        labels = feed(stream, self.source, self.rule, self.order)
        centers = stream.centers(self.source.dtype)
        found = add_up_clusters(self.source, centers, labels)
        return CompetitionPass(
            **self._measured(begin, labels, centers, found, before),
            stream=stream,
            following=stream,
        )


class Cycles:
    """Stopping rule of the passes of one restart: labels that are unchanged or repeat.

    Parameters
    ----------
    tol : float
        Share of the labels that may still change.

    Attributes
    ----------
    oscillates : bool
        Whether a notable share of the labels goes around in circles.
    """

    #: A cycle in which more than this share of the labels changes is worth a warning.
    NOTABLE = 0.01

    def __init__(self, tol: float) -> None:
        self.tol = tol
        self.oscillates = False
        self._seen: dict[int, Array] = {}

    def __call__(self, before: CompetitionPass, now: CompetitionPass, history: list[float]) -> bool:
        """Whether the passes have ended."""
        self._seen[_fingerprint(before.labels)] = before.stream.counts
        n_rows = len(now.labels)
        n_changed = count_changes(now.labels, before.labels)
        converged = n_changed <= self.tol * n_rows and now.counts_near(
            before.stream.counts, max(0.1, self.tol * n_rows)
        )
        again = self._seen.get(_fingerprint(now.labels))
        if n_changed > 0 and again is not None and now.counts_near(again, 0.5):
            # Been here before: a few rows between two clusters, or whole clusters.
            self.oscillates = n_changed > self.NOTABLE * n_rows
            return True
        return converged


def _fingerprint(labels: Array) -> int:
    """Return a number that differs between any two labelings, but for a chance of 2⁻⁶⁴."""
    return int(map_values(_mixed, labels, range(len(labels)))[0][0][0])


def _mixed(labels: Array, positions: range) -> tuple[tuple[Array], tuple[()]]:
    """Sum over the rows, modulo 2⁶⁴, of a mixture of position and label (as in splitmix64)."""
    places = np.arange(positions.start, positions.stop, dtype=np.uint64)
    mixed = places * MIXERS[0] + labels.astype(np.uint64) * MIXERS[1]
    for shift, factor in zip((30, 27), MIXERS[1:], strict=True):
        mixed ^= mixed >> np.uint64(shift)
        mixed *= factor
    mixed ^= mixed >> np.uint64(31)
    return (mixed.sum(keepdims=True).view(np.int64),), ()


def feed(stream: Stream, source: RowSource, rule: WinnerRule, order: Array | None = None) -> Array:
    """Let the clusters compete for the rows in this order, as they come if there is none."""
    labels = np.empty(source.n_rows, dtype=np.int32)
    if order is None:
        pieces = [np.arange(start, stop) for start, stop in source.blocks]
    else:
        pieces = [order[at : at + CHUNK_ROWS] for at in range(0, len(order), CHUNK_ROWS)]
    for rows in pieces:
        labels[rows] = stream.feed(source.take(rows), rule)
    return labels


def _moved(sums: Array, centers: Array) -> Array:
    return onto_sphere(sums, centers.astype(np.float64)).astype(centers.dtype)


def _as_stream(centers: Array, counts: Array, found: ClusterSums) -> Stream:
    """Fading sums in the direction of the centers, as long as the rows of the clusters agree."""
    agreement = np.linalg.norm(found.sums, axis=1) / np.maximum(found.sizes, 1)
    length = counts * np.where(found.sizes > 0, agreement, 1.0)
    return Stream.of(centers * length[:, None], counts)
