"""Connected k-means: means as centers, clusters that are one piece (section 12.5.3)."""

from __future__ import annotations

import hashlib
from dataclasses import KW_ONLY
from typing import Literal

import numpy as np

from sidelight._fit.parameters import Auto, Count, NonNegative, Seed, Verbosity, estimator
from sidelight._kernels.constraints.unionfind import members_by_code
from sidelight._kernels.relational.connected.boundary import improve_boundary
from sidelight._kernels.relational.connected.contraction import contract
from sidelight._kernels.relational.connected.quasi_clique import expel_weak_members
from sidelight._typing import Array, FloatArray, IntArray
from sidelight.relational.connected._base import (
    ConnectedClusterer,
    Metric,
    NClusters,
    PositiveShare,
)
from sidelight.relational.connected._nodes import Clusters, Nodes
from sidelight.relational.connected._restart import Restart
from sidelight.tags import own_tags

#: Nodes that a search visits before a move is given up; clusters of that size are always searched.
PATIENCE = 20_000

#: List entries per end of an edge that agglomeration may visit before it is given up; maps
#: take 4, random graphs of 15,000 nodes 12.
MAX_WORK = 16


@estimator
class ConnectedKMeans(ConnectedClusterer):
    """k-means every cluster of which is connected in a given graph.

    Minimizes ``J = Σ_i ‖x_i - μ_{l_i}‖²`` over labels ``l`` whose clusters induce connected
    subgraphs, with the means ``μ`` of the clusters; ``Σ_i 1 - cos(x_i, μ_{l_i})`` with
    ``metric="cosine"``. Clusters grow along the edges from the member that is closest to the mean,
    always by the frontier row that is nearest to a mean, until memberships do not change (Ester et
    al., section 12.5.3). On top of it, and ours: the first restart begins with Ward's agglomeration
    of adjacent clusters, and at the end of each restart rows at the boundary move to adjacent
    clusters as long as that lowers ``J`` and leaves every cluster connected. Read more in the
    :doc:`user guide </relational/connected>`.

    Parameters
    ----------
    init : {"ward", "degree"}, default="ward"
        Start of the first restart: clusters of Ward's agglomeration under the graph, or random
        rows in proportion to their degrees, from which all other restarts begin. Without a graph,
        and with ``min_neighbor_share``, all begin with random rows.
    refine : bool, default=True
        Whether rows at the boundary move at the end; without a graph there is no need.
    min_neighbor_share : float in (0, 1] or None, default=None
        Share of the other members of its cluster that every row is a neighbor of. A cluster
        admits only rows that are neighbors of this share of its present members; members that
        fall below it later are expelled, the weakest first. Rows without a cluster have the label
        -1. By default one neighbor is enough, and every row has a cluster.

    n_init : int >= 1 or "auto", default="auto"
        Number of restarts with different seeds; the best is kept. "auto" is 1 where the first
        begins with an agglomeration, since random rows rarely end as low, and 10 otherwise.
    tol : float >= 0, default=0.0001
        Share of the best objective by which an iteration has to lower it: growth ends after two in
        a row that do not. With 0 they have to lower it at all.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Means of the clusters; their directions, of unit length, with ``metric="cosine"``.

    Notes
    -----
    An iteration takes O((n + e) (d + log n)) time for e edges, a start by agglomeration about
    O(e d log n), a sweep over the boundary O(e d) and a search for every move; memory is
    O(n d + e). A graph with hubs can make the agglomeration slow; it is then given up for random
    rows. A move is given up where it takes more than 20,000 visited rows to see that the rest of a
    cluster is connected.

    The problem is NP-complete, and growth is not monotone: ``history_`` may rise, and the best
    clusters are kept. Where edges are many and the attributes noisy, refinement lets the
    attributes win over the graph: ``refine=False`` keeps the clusters as they grew.

    With ``min_neighbor_share`` a row without a cluster costs the largest squared distance of a row
    to the mean of all rows.

    References
    ----------
    Ester, Ge, Gao, Hu, Ben-Moshe, "Joint cluster analysis of attribute data and relationship data",
    *Constrained Clustering* (Basu, Davidson, Wagstaff, eds., 2009), section 12.5.3; ACM TKDD 2
    (2008). Ward, "Hierarchical grouping to optimize an objective function", JASA 58 (1963).

    Examples
    --------
    >>> from sidelight.relational import ConnectedKMeans
    >>> X = [[0.0], [0.1], [5.0], [5.1], [0.0], [0.1]]
    >>> path = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)]
    >>> model = ConnectedKMeans(3, random_state=0).fit(X, relations=path)
    >>> model.labels_.tolist()  # the ends are alike, but not connected
    [0, 0, 1, 1, 2, 2]
    """

    n_clusters: NClusters = 8
    _: KW_ONLY
    metric: Metric = "euclidean"
    init: Literal["ward", "degree"] = "ward"
    refine: bool = True
    min_neighbor_share: PositiveShare | None = None
    n_init: Count | Auto = "auto"
    max_iter: Count = 100
    tol: NonNegative = 1e-4
    random_state: Seed = None
    verbose: Verbosity = 0

    _own_tags = own_tags(
        summary="k-means with clusters that are connected in a graph",
        source="Ester, Ge, Gao, Hu, Ben-Moshe 2009, section 12.5.3",
        complexity="O((n + e) (d + log n)) per iteration for e edges, O(n d + e) memory",
    )

    def _solve(self, nodes: Nodes, n_clusters: int) -> Restart:
        on_graph = nodes.graph is not None and not self.min_neighbor_share
        ward = agglomerated(nodes, n_clusters) if on_graph and self.init == "ward" else None
        problem = _Squares(nodes, self.min_neighbor_share or 0.0)

        def run(number: int, rng: np.random.RandomState) -> Restart:
            seeds = nodes.draw_seeds(n_clusters, rng)
            if number == 0 and ward is not None:
                start = problem.evaluate(ward, nodes.at(seeds), seeds)
            else:
                start = problem.grow(nodes.at(seeds), seeds)
            restart = self._iterate(start, problem.step, _digest, tol=self.tol)
            if self.refine and on_graph:
                restart = problem.refine(restart, start, self.max_iter)
            return restart

        n_init = (10 if ward is None else 1) if self.n_init == "auto" else int(self.n_init)
        return self._best(nodes, run, n_init)


class _Squares:
    """The sum of squared distances to means, and the steps that lower it."""

    def __init__(self, nodes: Nodes, strength: float) -> None:
        self.nodes, self.strength = nodes, strength
        center = nodes.rows.mean(axis=0, dtype=np.float64)[None]
        # What a row costs that no cluster admits: as much as the one that is farthest from the
        # mean, since rows near the mean would otherwise cost less outside of a cluster than in one.
        self.left_out = float(nodes.squares(np.zeros(nodes.n, np.int32), center).max())

    def evaluate(self, labels: Array, before: FloatArray, seeds: IntArray) -> Clusters:
        """Means, seeds and objective of labels."""
        nodes = self.nodes
        means = nodes.means(labels, before)
        squares = np.where(labels >= 0, nodes.squares(labels, means), self.left_out)
        seeds = nodes.closest(labels, means, seeds)
        return Clusters(labels, means, seeds, squares, nodes.total(squares))

    def grow(self, centers: FloatArray, seeds: IntArray) -> Clusters:
        """Clusters that grow from the seeds, with their means."""
        labels, squares = self.nodes.grow(centers, seeds, strength=self.strength)
        if self.nodes.graph is None:
            fill_empty(labels, squares, len(centers))
        elif self.strength:
            self._expel(labels, seeds)
        return self.evaluate(labels, centers, seeds)

    def step(self, now: Clusters) -> Clusters:
        """Grow the clusters from the members nearest to their means."""
        return self.grow(now.centers, now.seeds)

    def _expel(self, labels: Array, seeds: IntArray) -> None:
        graph = self.nodes.graph
        assert graph is not None
        sizes = np.bincount(labels[labels >= 0], minlength=len(seeds))
        starts = np.append(0, np.cumsum(sizes))
        members = members_by_code(labels, starts)
        expel_weak_members(
            graph.indptr, graph.indices, seeds, self.strength, members, starts, labels
        )

    def refine(self, restart: Restart, start: Clusters, max_sweeps: int) -> Restart:
        """Move rows at the boundary of the best clusters, and of the first ones if they differ."""
        candidates = [restart.best] if restart.best is start else [restart.best, start]
        for clusters in candidates:
            restart = restart.then(self._improved(clusters, max_sweeps))
        return restart

    def _improved(self, clusters: Clusters, max_sweeps: int) -> Clusters:
        nodes, graph = self.nodes, self.nodes.graph
        assert graph is not None
        labels = clusters.labels.copy()
        for _ in range(max_sweeps):
            sums, sizes = nodes.sums(
                labels, len(clusters.centers)
            )  # recomputed: sums that are kept drift
            moves = improve_boundary(
                graph.indptr,
                graph.indices,
                nodes.rows,
                nodes.directions,
                PATIENCE,
                labels,
                sums,
                sizes,
            )
            if not moves:
                break
        return self.evaluate(labels, clusters.centers, clusters.seeds)


def agglomerated(nodes: Nodes, n_clusters: int) -> Array | None:
    """Labels of Ward's agglomeration under the graph; None where hubs make it too slow."""
    graph = nodes.graph
    assert graph is not None
    roots = np.empty(nodes.n, np.int64)
    work = MAX_WORK * (len(graph.indices) + 1_000)
    left = contract(
        graph.indptr, graph.indices, nodes.rows, nodes.directions, n_clusters, work, roots
    )
    if left > n_clusters:
        return None
    return np.unique(roots, return_inverse=True)[1].astype(np.int32)


def fill_empty(labels: Array, squares: FloatArray, n_clusters: int) -> None:
    """Give every empty cluster the row that is farthest from its center, if it is not alone."""
    sizes = np.bincount(labels, minlength=n_clusters)
    for j in np.flatnonzero(sizes == 0):
        free = np.where(sizes[labels] > 1, squares, -1.0)
        q = int(np.argmax(free))
        sizes[labels[q]] -= 1
        labels[q], squares[q], sizes[j] = j, 0.0, 1


def _digest(clusters: Clusters) -> bytes:
    """A short name of the memberships, which decide what comes next."""
    return hashlib.blake2b(clusters.labels.tobytes(), digest_size=16).digest()
