"""NetScan: clusters that grow from center nodes along the edges (Algorithm 3 of chapter 12)."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Literal

import numpy as np

from sidelight._fit.parameters import (
    Count,
    FiniteNonNegative,
    NonNegative,
    Restarts,
    Seed,
    Verbosity,
    estimator,
    n_restarts,
)
from sidelight._typing import Array, FloatArray, IntArray
from sidelight.constraints import Constraints
from sidelight.relational.connected._base import ConnectedClusterer, Metric, NClusters
from sidelight.relational.connected._connected_kmeans import fill_empty
from sidelight.relational.connected._nodes import Clusters, Nodes
from sidelight.relational.connected._restart import Restart
from sidelight.tags import own_tags


@estimator
class NetScan(ConnectedClusterer):
    """Connected clusters that grow from centers along the edges of a graph.

    Steps: (I) center nodes are drawn in proportion to their degrees; (II) clusters grow along the
    edges by the distance to their centers; (III) the new center is the mean of a cluster, and the
    node next to it begins the next growth; II and III are repeated until nothing changes. With
    ``centers="means"`` distances are to the means and ``J = Σ_i ‖x_i - μ_{l_i}‖²`` is minimized,
    with ``centers="nodes"`` they are to center nodes ``c`` and the radius
    ``max_i ‖x_i - c_{l_i}‖``, which is connected k-center. Read more in the
    :doc:`user guide </relational/connected>`.

    Parameters
    ----------
    growth : {"heap", "rounds"}, default="heap"
        How clusters grow: always by the frontier row that is nearest to a center, or by the printed
        rounds, in which every center in turn takes all that it can within a threshold; it starts
        with half the smallest distance of two centers and rises by the average distance of two
        rows. Where distances are much alike, the first centers of a round take nearly everything.
    centers : {"means", "nodes"}, default="means"
        What distances are measured to: means of clusters, or the member that is nearest to the
        mean, as Algorithm 3 is printed. In many dimensions a single row is a noisy center.
    look_ahead : bool, default=True
        Whether a row between clusters goes where the neighbors of degree 1 that depend on it are
        served best, if one of them is closer to another center.
    outlier_threshold : "gap" or float >= 0, finite or None, default=None
        Rows that joined above this threshold get the label -1; with "gap" above the largest gap in
        the upper half of the sorted ``absorbed_at_``. ``objective_`` counts all rows.
    tol : float >= 0, default=0.001
        Share of the best objective by which an iteration has to lower it: a restart ends after two
        in a row that do not.

    Attributes
    ----------
    outlier_threshold_ : float
        Threshold above which rows are outliers; infinity where there are none.

    Notes
    -----
    An iteration takes O((n + e) (d + log n)) time for e edges and O(n d + e) memory. Restarts
    matter: growth follows its start more than k-means does. Where edges say little about the
    clusters, k-means is as good and faster.

    With ``growth="rounds"`` and ``centers="nodes"``, ``absorbed_at_`` has the thresholds of the
    rounds. ``growth="heap"`` is the limit of the printed rounds for increments towards 0. A
    threshold of rounds goes on to the first that absorbs a row, so that rows far away do not cost
    many rounds.

    References
    ----------
    Ester, Ge, Gao, Hu, Ben-Moshe, "Joint cluster analysis of attribute data and relationship data",
    *Constrained Clustering* (Basu, Davidson, Wagstaff, eds., 2009), section 12.5, Algorithm 3; ACM
    TKDD 2 (2008).

    Examples
    --------
    >>> from sidelight.relational import NetScan
    >>> X = [[0.0], [0.1], [5.0], [5.1], [9.0]]
    >>> path = [(0, 1), (1, 2), (2, 3), (3, 4)]
    >>> NetScan(2, random_state=0).fit(X, relations=path).labels_.tolist()
    [0, 0, 1, 1, 1]
    >>> NetScan(2, outlier_threshold=2.0, random_state=0).fit(X, relations=path).labels_.tolist()
    [0, 0, 1, 1, -1]
    """

    n_clusters: NClusters = 8
    _: KW_ONLY
    metric: Metric = "euclidean"
    growth: Literal["heap", "rounds"] = "heap"
    centers: Literal["means", "nodes"] = "means"
    look_ahead: bool = True
    outlier_threshold: Literal["gap"] | FiniteNonNegative | None = None
    n_init: Restarts = 10
    max_iter: Count = 30
    tol: NonNegative = 1e-3
    random_state: Seed = None
    verbose: Verbosity = 0

    _own_tags = own_tags(
        summary="clusters that grow from centers along the edges of a graph",
        source="Ester, Ge, Gao, Hu, Ben-Moshe 2009, section 12.5, Algorithm 3",
        complexity="O((n + e) (d + log n)) per iteration for e edges, O(n d + e) memory",
    )

    def _solve(self, nodes: Nodes, n_clusters: int) -> Restart:
        def run(number: int, rng: np.random.RandomState) -> Restart:
            seeds = nodes.draw_seeds(n_clusters, rng)
            increment = nodes.average_distance(rng) if self.growth == "rounds" else None
            scan = Scan(nodes, self.centers == "means", self.look_ahead, increment)
            return self._iterate(
                scan.grow(nodes.at(seeds), seeds),
                scan.step,
                lambda clusters: clusters.seeds.tobytes() + clusters.centers.tobytes(),
                tol=self.tol,
            )

        return self._best(nodes, run, n_restarts(self))

    def _with_thresholds(self, nodes: Nodes, found: Clusters) -> Clusters:
        if self.growth == "rounds" and self.centers == "nodes":
            return found  # with the thresholds of the rounds
        return super()._with_thresholds(nodes, found)

    def _set_fitted_attributes(self, nodes: Nodes, restart: Restart, known: Constraints) -> None:
        thresholds = nodes.lengths(restart.best.absorbed)
        self.outlier_threshold_ = self._threshold(thresholds)
        labels = np.where(thresholds > self.outlier_threshold_, -1, restart.best.labels)
        labels[restart.best.seeds] = np.arange(len(restart.best.seeds))
        best = replace(restart.best, labels=labels.astype(np.int32))
        super()._set_fitted_attributes(nodes, replace(restart, best=best), known)

    def _threshold(self, thresholds: FloatArray) -> float:
        if self.outlier_threshold is None:
            return float("inf")
        if self.outlier_threshold == "gap":
            return largest_gap(thresholds)
        return float(self.outlier_threshold)


@dataclass(frozen=True)
class Scan:
    """Steps II and III of NetScan.

    Attributes
    ----------
    nodes : Nodes
        The nodes.
    to_means : bool
        Whether distances are to means and summed, or to center nodes, where the largest counts.
    look_ahead : bool
        Whether bridge nodes look at what depends on them.
    increment : float or None
        Rise of the threshold in a round; None for growth by a heap.
    """

    nodes: Nodes
    to_means: bool
    look_ahead: bool
    increment: float | None = None

    def grow(self, centers: FloatArray, seeds: IntArray) -> Clusters:
        """Step II, and the objective."""
        nodes = self.nodes
        labels, absorbed = nodes.grow(
            centers, seeds, look_ahead=self.look_ahead, increment=self.increment
        )
        if nodes.graph is None:
            if self.to_means:
                fill_empty(labels, absorbed, len(centers))
            else:
                labels[seeds] = np.arange(len(seeds))
        return self.evaluate(labels, absorbed, centers, seeds)

    def evaluate(
        self, labels: Array, absorbed: FloatArray, centers: FloatArray, seeds: IntArray
    ) -> Clusters:
        """Clusters with new means, or around their center nodes, and the objective."""
        nodes = self.nodes
        if self.to_means:
            centers = nodes.means(labels, centers)
            seeds = nodes.closest(labels, centers, seeds)
            objective = nodes.total(nodes.squares(labels, centers))
        else:
            objective = float(nodes.lengths(nodes.squares(labels, centers).max()))
        return Clusters(labels, centers, seeds, absorbed, objective)

    def step(self, now: Clusters) -> Clusters:
        """Step III and step II."""
        if self.to_means:
            return self.grow(now.centers, now.seeds)
        means = self.nodes.means(now.labels, now.centers)
        seeds = self.nodes.closest(now.labels, means, now.seeds)
        return self.grow(self.nodes.at(seeds), seeds)


def largest_gap(thresholds: FloatArray) -> float:
    """Threshold below the largest gap in the upper half of the sorted thresholds.

    Infinity where all of the upper half is equal.
    """
    upper = np.sort(thresholds[np.isfinite(thresholds)])
    upper = upper[(len(upper) - 1) // 2 :]
    gaps = np.diff(upper)
    if not len(gaps) or gaps.max() <= 0:
        return float("inf")
    return float(upper[int(np.argmax(gaps))])
