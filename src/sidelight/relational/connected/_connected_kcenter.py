"""Connected k-center: the smallest radius of connected clusters (sections 12.3 and 12.4)."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Literal

import numpy as np

from sidelight._fit.parameters import Count, Restarts, Seed, Verbosity, estimator, n_restarts
from sidelight._kernels.constraints.unionfind import members_by_code
from sidelight._kernels.relational.connected.reach import part_overlaps, split_off_leaves
from sidelight._kernels.relational.connected.recenter import recenter
from sidelight._typing import Array, IntArray
from sidelight.constraints import Constraints
from sidelight.relational.connected._base import ConnectedClusterer, Metric, NClusters
from sidelight.relational.connected._nodes import Clusters, Nodes
from sidelight.relational.connected._relaxation import Relaxation, relax
from sidelight.relational.connected._restart import Restart
from sidelight.tags import own_tags

#: Clusters up to this size try all members as centers.
MAX_TRIED = 1_000


@estimator
class ConnectedKCenter(ConnectedClusterer):
    """Connected clusters of small radius, with a lower bound of the radius.

    Minimizes ``max_i ‖x_i - c_{l_i}‖`` over labels ``l`` whose clusters induce connected subgraphs
    and center nodes ``c`` of the clusters. First the relaxation in which clusters may overlap is
    solved: center nodes that reach everything on paths that stay within ``r`` of them. Its
    clusters are made disjoint (Algorithm 2), centers move to the members of least radius, and
    clusters grow around them as in NetScan; the best is kept. Other restarts begin with random
    rows. Read more in the :doc:`user guide </relational/connected>`.

    Parameters
    ----------
    method : {"auto", "exact", "greedy"}, default="auto"
        How the relaxation is solved: by the exact search of Algorithm 1, or by a greedy cover with
        a radius of at most twice the smallest; "auto" is exact for up to 500 rows and 3 clusters.

    Attributes
    ----------
    lower_bound_ : float
        No connected clusters have a smaller radius: the radius of the exact relaxation, or one for
        which the greedy cover proves that there is none.
    radius_bound_ : float
        Radius that the conversion cannot exceed, ``(2 k - 1)`` times what the centers of the
        relaxation reach.
    gap_ : float
        ``(radius_ - lower_bound_) / radius_``; 0 for clusters that are optimal.
    method_ : str
        How the relaxation was solved.

    Notes
    -----
    There is no constant factor: the chapter claims 3 for few clusters and 6 for many, but labels
    can be passed on along a chain of overlapping clusters, and what can be proven of the conversion
    is ``(2 k - 1) r`` (3 for two clusters), with ``r`` at most twice the smallest for the greedy
    cover. ``gap_`` says how good the result at hand is.

    The exact search takes O(n (n + e) log n) time for the distances, a search over covers for each
    of O(log n) radii that grows like n^k in the worst case, and O(n²) memory: up to 2,000 rows. The
    greedy cover takes O(k (n + e) d) per radius, and O(n d + e) memory. The radius hangs on single
    rows: outliers decide it, and ConnectedKMeans or NetScan may be what is wanted.

    References
    ----------
    Ester, Ge, Gao, Hu, Ben-Moshe, "Joint cluster analysis of attribute data and relationship data",
    *Constrained Clustering* (Basu, Davidson, Wagstaff, eds., 2009), sections 12.3 and 12.4.
    Drexler et al., "Connected k-center and k-diameter clustering", ICALP 2023.

    Examples
    --------
    >>> from sidelight.relational import ConnectedKCenter
    >>> X = [[0.0], [1.0], [2.0], [7.0], [8.0], [9.0]]
    >>> path = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)]
    >>> model = ConnectedKCenter(2).fit(X, relations=path)
    >>> model.labels_.tolist(), model.center_nodes_.tolist(), model.radius_, model.lower_bound_
    ([0, 0, 0, 1, 1, 1], [1, 4], 1.0, 1.0)
    """

    n_clusters: NClusters = 8
    _: KW_ONLY
    metric: Metric = "euclidean"
    method: Literal["auto", "exact", "greedy"] = "auto"
    n_init: Restarts = 10
    max_iter: Count = 30
    random_state: Seed = None
    verbose: Verbosity = 0

    _own_tags = own_tags(
        summary="connected clusters of small radius, with a lower bound",
        source="Ester, Ge, Gao, Hu, Ben-Moshe 2009, sections 12.3 and 12.4",
        complexity="O((n + e) (k d + log n)) per iteration for e edges, O(n d + e) memory; the "
        "exact relaxation O(n²) memory",
    )

    def _solve(self, nodes: Nodes, n_clusters: int) -> _Bounded:
        relaxation = relax(nodes, n_clusters, self.method)
        problem = _Radius(nodes)

        def run(number: int, rng: np.random.RandomState) -> Restart:
            if number == 0:
                start = problem.converted(relaxation, n_clusters)
            else:
                start = problem.grow(nodes.draw_seeds(n_clusters, rng))
            return self._iterate(
                start, lambda now: problem.grow(now.seeds), lambda now: now.seeds.tobytes()
            )

        best = self._best(nodes, run, n_restarts(self))
        return _Bounded(**vars(best), relaxation=relaxation)

    def _set_fitted_attributes(self, nodes: Nodes, restart: Restart, known: Constraints) -> None:
        super()._set_fitted_attributes(nodes, restart, known)
        assert isinstance(restart, _Bounded)
        found = restart.relaxation
        n_clusters = len(restart.best.seeds)
        self.lower_bound_ = float(min(nodes.lengths(found.lower_bound**2), self.radius_))
        self.radius_bound_ = float(nodes.lengths(((2 * n_clusters - 1) * found.reach) ** 2))
        self.gap_ = (self.radius_ - self.lower_bound_) / self.radius_ if self.radius_ else 0.0
        self.method_ = found.method


@dataclass(frozen=True)
class _Bounded(Restart):
    """A restart with the relaxation that bounds it."""

    relaxation: Relaxation


@dataclass(frozen=True)
class _Radius:
    """The largest distance to a center node, and the steps that lower it."""

    nodes: Nodes

    def evaluate(self, labels: Array, seeds: IntArray) -> Clusters:
        """Center nodes of least radius, and the radius."""
        nodes = self.nodes
        starts = np.append(0, np.cumsum(np.bincount(labels, minlength=len(seeds))))
        centers = seeds.copy()
        recenter(nodes.rows, members_by_code(labels, starts), starts, MAX_TRIED, centers)
        squares = nodes.squares(labels, nodes.at(centers))
        radius = float(nodes.lengths(squares.max()))
        return Clusters(labels, nodes.at(centers), centers, squares, radius)

    def grow(self, seeds: IntArray) -> Clusters:
        """Clusters that grow from center nodes, with new center nodes."""
        labels, _ = self.nodes.grow(self.nodes.at(seeds), seeds, look_ahead=True)
        if self.nodes.graph is None:
            labels[seeds] = np.arange(len(seeds))
        return self.evaluate(labels, seeds)

    def converted(self, relaxation: Relaxation, n_clusters: int) -> Clusters:
        """Disjoint connected clusters from the relaxation, exactly ``n_clusters`` of them."""
        labels, seeds = disjoint(self.nodes, relaxation.centers, relaxation.reach)
        labels, seeds = completed(self.nodes, labels, seeds, n_clusters)
        return self.evaluate(labels, seeds)


def disjoint(nodes: Nodes, centers: IntArray, reach: float) -> tuple[Array, IntArray]:
    """Algorithm 2: connected clusters around some of the centers, and these centers.

    A center that lies in an earlier cluster has none of its own; the nodes that it reaches join
    others. Distances to the centers are at most ``(2 k - 1) reach``.
    """
    if nodes.graph is None:
        labels = nodes.grow(nodes.at(centers), centers)[0]
        labels[centers] = np.arange(len(centers))
        return labels, centers
    labels = np.empty(nodes.n, np.int32)
    # The square of a root may be a little below the square that it was taken of.
    square = reach * reach * (1 + 4 * np.finfo(np.float64).eps)
    part_overlaps(nodes.graph.indptr, nodes.graph.indices, nodes.rows, centers, square, labels)
    kept, labels = np.unique(labels, return_inverse=True)
    return labels.astype(np.int32), centers[kept]


def completed(
    nodes: Nodes, labels: Array, seeds: IntArray, n_clusters: int
) -> tuple[Array, IntArray]:
    """Split off leaves until there are ``n_clusters`` clusters; no radius grows."""
    missing = n_clusters - len(seeds)
    if missing == 0:
        return labels, seeds
    if nodes.graph is None:
        others = np.setdiff1d(np.arange(nodes.n), seeds)
        far = np.argsort(-nodes.squares(labels, nodes.at(seeds))[others], kind="stable")
        leaves = others[far[:missing]]
        labels = labels.copy()
        labels[leaves] = len(seeds) + np.arange(missing, dtype=np.int32)
        return labels, np.concatenate([seeds, leaves])
    leaves = np.empty(missing, np.int64)
    split_off_leaves(nodes.graph.indptr, nodes.graph.indices, seeds, missing, labels, leaves)
    return labels, np.concatenate([seeds, leaves])
