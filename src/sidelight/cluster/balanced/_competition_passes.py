"""Passes over the rows in which clusters compete: counts and centres follow sooner or later."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sidelight._typing import Array
from sidelight.cluster.balanced._competition import Clusters, Rule, Stream, add_up_clusters
from sidelight.cluster.directional._directions import onto_sphere
from sidelight.engine import RowSource

#: Rows that are taken from a shuffled table at a time.
CHUNK_ROWS = 2000


@dataclass(frozen=True)
class Visit:
    """Labels after a pass, the centres they are measured at, and the state of the competition."""

    labels: Array
    centers: Array
    clusters: Clusters
    stream: Stream

    def objective(self, gamma: float) -> float:
        """``Σ_i log(2 / (1 + cos_i)) + γ Σ_h n_h log(k n_h / n)``."""
        sizes = self.clusters.sizes
        filled = sizes[sizes > 0]
        uneven = float(filled @ np.log(filled * len(sizes) / len(self.labels)))
        return self.clusters.divergence + gamma * uneven

    def n_changed(self, before: Visit) -> int:
        """Return how many labels are not as before."""
        return int(np.count_nonzero(self.labels != before.labels))

    def counts_near(self, counts: Array, most: float) -> bool:
        """Whether the counts of all clusters are nearly these."""
        ours = self.stream.counts
        return len(ours) == len(counts) and bool(np.all(np.abs(ours - counts) <= most))


class Batch:
    """Counts and centres follow once per pass (fs); the order of the rows does not matter."""

    def __init__(
        self, source: RowSource, rule: Rule, centers: Array, counts: Array, damping: float
    ) -> None:
        self.source = source
        self.rule = rule
        self.damping = damping
        self.centers = centers
        self.counts = counts.astype(np.float64)

    def __call__(self) -> Visit:
        """Label all rows at once, then move."""
        labels = self.rule.label(self.source, self.centers, self.counts)
        found = add_up_clusters(self.source, self.centers, labels)
        visit = Visit(labels, self.centers, found, _as_stream(self.centers, self.counts, found))
        self.counts = (1 - self.damping) * self.counts + self.damping * found.sizes
        self.centers = _moved(found.sums, self.centers)
        return visit


class Partial:
    """Counts follow after every row, centres once per pass (pifs)."""

    def __init__(
        self, source: RowSource, rule: Rule, centers: Array, counts: Array, order: Array
    ) -> None:
        self.source = source
        self.rule = rule
        self.order = order
        self.centers = centers
        self.counts = counts.astype(np.float64)

    def __call__(self) -> Visit:
        """Label the rows in order, then move."""
        labels, self.counts = self.rule.label_in_order(
            self.source, self.centers, self.counts, self.order
        )
        found = add_up_clusters(self.source, self.centers, labels)
        visit = Visit(labels, self.centers, found, _as_stream(self.centers, self.counts, found))
        self.centers = _moved(found.sums, self.centers)
        return visit


class Incremental:
    """Counts and centres follow after every row (fifs), in a given order or as they come (sfs)."""

    def __init__(
        self, source: RowSource, rule: Rule, start: Stream, order: Array | None = None
    ) -> None:
        self.source = source
        self.rule = rule
        self.order = order
        self.stream = start.copy()

    def __call__(self) -> Visit:
        """Let the clusters compete for all rows in order."""
        labels = feed(self.stream, self.source, self.rule, self.order)
        centers = self.stream.centers(self.source.dtype)
        found = add_up_clusters(self.source, centers, labels)
        return Visit(labels, centers, found, self.stream.copy())


def feed(stream: Stream, source: RowSource, rule: Rule, order: Array | None = None) -> Array:
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


def _as_stream(centers: Array, counts: Array, found: Clusters) -> Stream:
    """Fading sums in the direction of the centres, as long as the rows of the clusters agree."""
    agreement = np.linalg.norm(found.sums, axis=1) / np.maximum(found.sizes, 1)
    length = counts * np.where(found.sizes > 0, agreement, 1.0)
    return Stream.of(centers * length[:, None], counts)
