"""k-means of bi-sets: assignment to the nearest centroid, centroids as means of indicators."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sidelight._fit.alternation import alternate
from sidelight._kernels.cluster.coclustering.assignment import (
    assign,
    assign_apart,
    assign_trimmed,
    cells_once,
    count_members,
    reserve,
    vertices_of,
)
from sidelight._kernels.cluster.coclustering.concepts import unpack
from sidelight._typing import Array, FloatArray, IntArray
from sidelight.cluster.coclustering._mining import Concepts
from sidelight.cluster.coclustering._statements import TableStatements, Variant


@dataclass(frozen=True, eq=False)
class Centroids:
    """Share of the weight of the bi-sets of every cluster that hold an element.

    Attributes
    ----------
    rows : ndarray of shape (n_rows, n_clusters)
        Weights of the rows, ``tau`` of the paper.
    columns : ndarray of shape (n_columns, n_clusters)
        Weights of the columns, ``gamma``.
    """

    rows: FloatArray
    columns: FloatArray


@dataclass(frozen=True, eq=False)
class BiSetAssignment:
    """Centroids with the clusters of the bi-sets at them.

    Attributes
    ----------
    parameters : Centroids
        The centroids.
    labels : ndarray of int64
        Cluster of every bi-set, -1 where no cluster may take it.
    distances : ndarray
        Distance of every bi-set to its centroid; 1 where no cluster may take it.
    objective : float
        Weighted sum of the distances.
    trimmed : ndarray of uint64
        Vertices of the conflict graph that every bi-set leaves behind; empty if none does.
    """

    parameters: Centroids
    labels: IntArray
    distances: FloatArray
    objective: float
    trimmed: Array


@dataclass(frozen=True, eq=False)
class GroupingRestart:
    """The best iterate of one restart.

    Attributes
    ----------
    best : BiSetAssignment
        Iterate with the smallest sum of distances.
    history : ndarray
        Sum of distances at every iteration.
    n_iter : int
        Number of iterations.
    converged : bool
        Whether the assignment stood still.
    interrupted : bool
        Whether Ctrl-C ended the search.
    n_lost : int
        Number of elements with cannot-links that no cluster has a bi-set of.
    """

    best: BiSetAssignment
    history: FloatArray
    n_iter: int
    converged: bool
    interrupted: bool
    n_lost: int

    @property
    def objective(self) -> float:
        """Sum of distances of the best iterate."""
        return self.best.objective

    @property
    def n_skipped(self) -> int:
        """Number of bi-sets that no cluster could take."""
        return int(np.count_nonzero(self.best.labels < 0))


class BiSets:
    """The bi-sets, and the elements of them that must be apart."""

    def __init__(
        self,
        concepts: Concepts,
        known: TableStatements,
        n_clusters: int,
        variant: Variant,
    ) -> None:
        self.concepts = concepts
        self.n_clusters = n_clusters
        self.edges = known.edges
        self._trims = variant == "default"
        n_rows = concepts.n_rows
        # A block of many columns has exponentially more concepts than one of few: counted alike,
        # they would split the large block and leave none for the small one.
        self.weights = np.ones(len(concepts))
        if variant == "default":
            covers = np.zeros((n_rows, concepts.n_columns), np.int32)
            cells_once(concepts.row_words, concepts.column_words, covers, self.weights)
        self._vertex = (known.vertex[:n_rows], known.vertex[n_rows:])
        self._elements = np.zeros(len(self.edges), np.int64)
        ends = np.flatnonzero(known.vertex >= 0)
        self._elements[known.vertex[ends]] = ends  # of a vertex all have the same weight
        self.vertices = np.zeros((len(concepts), self.edges.shape[1]), np.uint64)
        if len(self.edges):
            vertices_of(
                concepts.row_words,
                concepts.column_words,
                *self._vertex,
                self.vertices,
            )

    def run(
        self, rng: np.random.RandomState, *, max_iter: int, description: str, verbose: int
    ) -> GroupingRestart:
        """One restart from random bi-sets; the best iterate is kept, since the sum may rise."""
        best: BiSetAssignment | None = None

        def evaluate(centroids: Centroids, before: BiSetAssignment | None) -> BiSetAssignment:
            nonlocal best
            now = self.assign(centroids)
            if best is None or now.objective < best.objective:
                best = now
            return now

        ended = alternate(
            self.start(rng),
            evaluate,
            self.update,
            stop=lambda before, now, history: np.array_equal(before.labels, now.labels),
            max_iter=max_iter,
            description=description,
            verbose=verbose,
        )
        assert best is not None
        return GroupingRestart(
            best,
            ended.history,
            ended.n_iter,
            ended.converged,
            ended.interrupted,
            self._count_lost(best),
        )

    def start(self, rng: np.random.RandomState) -> Centroids:
        """Random bi-sets as centroids, by their weights; empty ones where there are too few."""
        n_chosen = min(self.n_clusters, len(self.concepts))
        share = self.weights / self.weights.sum() if n_chosen else None
        chosen = rng.choice(len(self.concepts), n_chosen, replace=False, p=share)
        return self._fill(self._nothing(), np.arange(len(chosen)), chosen)

    def assign(self, centroids: Centroids) -> BiSetAssignment:
        """Every bi-set to the nearest centroid.

        With cannot-links it is the nearest that holds nothing that must be apart, as published; or
        every element that must be apart from others has a cluster reserved, and bi-sets leave
        behind the elements that must be apart from their cluster.
        """
        labels = np.empty(len(self.concepts), np.int64)
        distances = np.empty(len(self.concepts))
        sides = (
            self.concepts.row_words,
            self.concepts.column_words,
            centroids.rows + (centroids.rows > 0),
            centroids.columns + (centroids.columns > 0),
            centroids.rows.sum(axis=0),
            centroids.columns.sum(axis=0),
        )
        trimmed = self.vertices[:0]
        taken = np.zeros((self.n_clusters, self.edges.shape[1]), np.uint64)
        if not len(self.edges):
            assign(*sides, labels, distances)
        elif self._trims:
            weights = np.concatenate([centroids.rows, centroids.columns])[self._elements]
            order = np.argsort(-weights.max(axis=1), kind="stable")
            reserve(weights, order, self.edges, taken)
            trimmed = np.zeros_like(self.vertices)
            assign_trimmed(*sides, self.vertices, self.edges, taken, trimmed, labels, distances)
        else:
            assign_apart(*sides, self.vertices, self.edges, taken, labels, distances)
        objective = float(self.weights @ distances)
        return BiSetAssignment(centroids, labels, distances, objective, trimmed)

    def update(self, now: BiSetAssignment) -> Centroids:
        """Means of the clusters; an empty one begins again at the bi-set that fits worst."""
        means = self.means(now)
        empty = np.flatnonzero(self._mass(now) == 0)
        far = np.argsort(-now.distances, kind="stable")[: len(empty)]
        far = far[now.distances[far] > 0]
        return self._fill(means, empty[: len(far)], far)

    def means(self, now: BiSetAssignment) -> Centroids:
        """Weighted share of a cluster's bi-sets that hold an element; 0 in empty clusters."""
        sums = self._nothing()
        words = self.concepts.row_words, self.concepts.column_words
        for sets, vertex, counts in zip(
            words, self._vertex, (sums.rows, sums.columns), strict=True
        ):
            count_members(sets, self.weights, now.labels, vertex, now.trimmed, counts)
        mass = self._mass(now)
        mass[mass == 0] = 1.0
        return Centroids(sums.rows / mass, sums.columns / mass)

    def _mass(self, now: BiSetAssignment) -> FloatArray:
        """Sum of the weights of the bi-sets of every cluster."""
        taken = now.labels >= 0
        mass = np.zeros(self.n_clusters)
        np.add.at(mass, now.labels[taken], self.weights[taken])
        return mass

    def _count_lost(self, now: BiSetAssignment) -> int:
        """Number of vertices without a weight in any cluster."""
        if not len(self.edges):
            return 0
        means = self.means(now)
        weights = np.concatenate([means.rows, means.columns])[self._elements]
        return int(np.count_nonzero(weights.max(axis=1) == 0))

    def _nothing(self) -> Centroids:
        return Centroids(
            np.zeros((self.concepts.n_rows, self.n_clusters)),
            np.zeros((self.concepts.n_columns, self.n_clusters)),
        )

    def _fill(self, centroids: Centroids, clusters: IntArray, chosen: IntArray) -> Centroids:
        """Put bi-sets in the place of some centroids."""
        concepts = self.concepts
        centroids.rows[:, clusters] = unpack(concepts.row_words[chosen], concepts.n_rows).T
        centroids.columns[:, clusters] = unpack(concepts.column_words[chosen], concepts.n_columns).T
        return centroids


def first_largest(weights: Array) -> IntArray:
    """First cluster with the largest weight of every element, -1 where all are 0."""
    return np.where(weights.max(axis=1) > 0, weights.argmax(axis=1), -1).astype(np.int64)
