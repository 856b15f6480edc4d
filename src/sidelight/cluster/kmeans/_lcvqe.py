"""LCVQE: k-means whose centres feel the constraints (Pelleg, Baras 2007)."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy import sparse

from sidelight._fit.checks import check_n_clusters
from sidelight._fit.moments import moments
from sidelight._fit.tiles import EqualWeights
from sidelight._typing import Array
from sidelight.cluster._core._alternate import Alternated, Visit, alternate, refill_rows
from sidelight.cluster._core._base import _KMeansBase
from sidelight.cluster._core._distances import (
    dense_rows,
    distances_to,
    labelled_distances,
    squared_center_distances,
)
from sidelight.cluster._core._passes import DensePass, SparsePass
from sidelight.cluster.pairs._priced import ClusterPricedPairs
from sidelight.cluster.pairs._starts import Starts, check_penalty
from sidelight.constraints import Constraints
from sidelight.engine import RowSource
from sidelight.tags import MethodTags


class LCVQE(_KMeansBase):
    """Linear constrained vector quantisation error: violated pairs pull centres towards their rows.

    Minimises over labels ``l`` and centres ``μ``, with ``D_ih = ‖x_i - μ_h‖²``::

        J = ½ Σ_i D_{i,l_i}  +  ¼ Σ_ML w_ij [l_i ≠ l_j] ( D_{j,l_i} + D_{i,l_j} )
          + ½ Σ_CL w_ij [l_i = l_j] min_{r ∈ {i, j}, c ≠ l_i} D_{r,c}

    A violated must-link costs what its rows would cost in each other's clusters; a violated
    cannot-link what one of its rows would cost in the nearest other cluster. Centres are the means
    of their rows and of the rows that violated pairs would send to them::

        μ_h = ( Σ_{l_i=h} x_i + ½ Σ_ML w x + Σ_CL w x_r ) / ( n_h + ½ Σ_ML w + Σ_CL w )

    Penalties are in the units of the data, so that there is nothing to tune.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters ``k``.
    penalty : float, default=1.0
        Factor on the weights of all pairs; 1 is the published method.
    init : {"auto", "neighbourhoods", "k-means", "k-means++", "random"} or array of shape \
(n_clusters, n_features), default="auto"
        Where to start: the means of must-link components, some iterations of k-means, greedy D²
        sampling, random rows, or these centres. ``"auto"`` starts once from the neighbourhoods and
        otherwise with k-means.
    n_init : int, default=10
        Number of starts, of which the best is kept; one is enough when ``init`` is an array.
    max_iter : int, default=300
        At most this many iterations per start.
    tol : float, default=1e-6
        Stop when no label changes and ``J`` falls by less than this share of its size.
    random_state : int, RandomState or None, default=None
        Source of chance.
    verbose : int, default=0
        Show progress.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Centres, in the element type of the rows.
    labels_ : ndarray of int32, shape (n_samples,)
        Cluster of every row.
    inertia_ : float
        Sum of squared distances to the centres of the clusters.
    objective_ : float
        ``J`` at the end.
    history_ : ndarray
        ``J`` at every iteration; never rises.
    n_iter_ : int
        Number of iterations of the best start.
    converged_ : bool
        Whether labels and objective stood still before ``max_iter``.
    n_violations_ : int
        Number of stated constraints that the labels violate; ``constraints.violations(labels_)``
        tells which.

    See Also
    --------
    PCKMeans : A fixed price per violated pair.
    MPCKMeans : Prices in a metric that is learned.

    Notes
    -----
    Pelleg, Baras (2007), K-means with large and noisy constraint sets. The published method decides
    pair by pair in the order given, between two or three cases; its objective can rise when rows
    are in several pairs. Here (our repair) labels are improved row by row and must-link component
    by component with all pairs of the row counted, every cluster is considered, and of the two rows
    of a violated cannot-link the one counts that is cheaper to send away, not the one farther from
    the centre: then no step raises ``J``. Weights of pairs are ours too. Known classes and groups
    cost ``penalty`` times the mean squared distance of the rows to their mean for every row outside
    the cluster that stands for its class or group.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight import Constraints
    >>> from sidelight.cluster import LCVQE
    >>> X = np.array([[0.0], [1.0], [9.0], [10.0], [5.2]])
    >>> known = Constraints(must_link=[(1, 4)], n_samples=5)
    >>> model = LCVQE(n_clusters=2, random_state=0).fit(X, constraints=known)
    >>> bool(model.labels_[4] == model.labels_[1] != model.labels_[2]), model.n_violations_
    (True, 0)
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        penalty: float = 1.0,
        init: Any = "auto",
        n_init: int = 10,
        max_iter: int = 300,
        tol: float = 1e-6,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.penalty = penalty
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose

    def __sidelight_tags__(self) -> MethodTags:
        return MethodTags(
            summary="k-means whose centres are pulled by violated pairs",
            knowledge=("must-link", "cannot-link", "labels", "groups"),
            enforcement="soft",
            source="Pelleg, Baras 2007",
            complexity="O(n k d + m k) per iteration with m pairs, O(n + m k) memory",
            monotone=True,
            sparse=True,
            out_of_core=True,
        )

    def fit(self, X: Any, y: Any = None, *, constraints: Constraints | None = None) -> Self:
        """Cluster the rows.

        Parameters
        ----------
        X : array, CSR matrix or RowSource of shape (n_samples, n_features)
            The rows.
        y : array of shape (n_samples,), default=None
            Known classes, -1 where unknown.
        constraints : Constraints, default=None
            What is known about the rows.

        Returns
        -------
        self : LCVQE
            The fitted clusterer.
        """
        source = self._validate_rows(X, reset=True)
        known = self._check_constraints(constraints, y, source.n_rows)
        check_n_clusters(self.n_clusters, source.n_rows)
        penalty = check_penalty(self.penalty)
        self._warn_of_contradictions(known)
        starts = Starts(source, known, self.init, self.n_init)
        problem = LCVQEProblem(source, known, penalty)

        def run(number: int, random_state: np.random.RandomState) -> Alternated:
            centers = starts.centers(number, self, random_state)
            return alternate(
                problem.with_chance(random_state),
                CentersOnly(np.ascontiguousarray(centers, source.dtype)),
                max_iter=self.max_iter,
                tol=self.tol,
                description="LCVQE",
                verbose=self.verbose,
            )

        return self._set_fitted_attributes(self._best_restart(starts.n_starts, run, source), known)


@dataclass(frozen=True)
class CentersOnly:
    """Parameters that are centres and nothing else."""

    centers: Array


@dataclass(frozen=True)
class _Sums:
    """What the next centres need."""

    nodes: Array  # labels of the constrained rows and of the anchors
    gaps: Array  # Σ (x - μ) by cluster
    sizes: Array
    pulls: Any  # (k, constrained rows), weights by which violated pairs pull centres to rows


class LCVQEProblem:
    """The two halves of an iteration of LCVQE."""

    random_state: np.random.RandomState

    def __init__(self, source: RowSource, constraints: Constraints, penalty: float) -> None:
        self._source = source
        spread = moments(source).total_variance
        self.pairs = ClusterPricedPairs(constraints, penalty, unit=penalty * spread)
        self._points = source.take(self.pairs.rows).astype(np.float64)
        self._weights = EqualWeights(source)

    def with_chance(self, random_state: np.random.RandomState) -> LCVQEProblem:
        """Return the problem of one start: its own source of chance and prices of pairs."""
        one = copy.copy(self)
        one.random_state, one.pairs = random_state, copy.copy(self.pairs)
        return one

    def visit(self, state: CentersOnly, before: Visit[CentersOnly] | None) -> Visit[CentersOnly]:
        """Label the rows and add up what the next centres need."""
        centers, pairs = state.centers, self.pairs
        squared = squared_center_distances(self._points, centers)
        nearest_two = _two_nearest(squared)
        self._set_prices(squared, nearest_two)
        last = None if before is None else before.details.nodes
        nodes = pairs.relabel(squared / 2, last, self.random_state)
        held = nodes[: len(pairs.rows)].astype(np.int32)
        label = (SparsePass if self._source.is_sparse else DensePass)(centers, pairs.rows, held)
        unlabelled = np.broadcast_to(np.int32(-1), self._source.n_rows)
        aligned = (
            range(self._source.n_rows),
            self._weights,
            unlabelled if before is None else before.labels,
        )
        (gaps, sizes, squares, n_changed), (labels,) = self._source.map_reduce(
            label, aligned=aligned
        )
        return Visit(
            state=state,
            labels=labels,
            inertia=float(squares[0]),
            objective=float(squares[0]) / 2 + pairs.pair_total(nodes) + pairs.anchor_total(nodes),
            n_changed=int(n_changed),
            details=_Sums(nodes, gaps, sizes, self._pulls(nodes, nearest_two, len(centers))),
        )

    def _set_prices(self, squared: Array, nearest_two: tuple[Array, Array]) -> None:
        pairs = self.pairs
        (first, second), weight = pairs.must_link.T, pairs.must_link_weight[:, None] / 4
        away = _leaving(squared, nearest_two)
        cheaper = np.minimum(*(away[end] for end in pairs.cannot_link.T))
        pairs.set_tables(
            weight * squared[second],
            weight * squared[first],
            pairs.cannot_link_weight[:, None] / 2 * cheaper,
        )
        self._away = away

    def _pulls(self, nodes: Array, nearest_two: tuple[Array, Array], k: int) -> Any:
        """Weights of rows in centres that are not theirs."""
        pairs = self.pairs
        apart, together = (np.flatnonzero(kind) for kind in pairs.violated(nodes))
        ends, weight = pairs.must_link[apart], pairs.must_link_weight[apart] / 2
        clusters, rows, weights = [], [], []
        for own, other in ((0, 1), (1, 0)):
            clusters.append(nodes[ends[:, own]])
            rows.append(ends[:, other])
            weights.append(weight)
        if k > 1:
            ends = pairs.cannot_link[together]
            label = nodes[ends[:, 0]]
            cost = self._away[ends, label[:, None]]
            sent = ends[np.arange(len(ends)), cost.argmin(axis=1)]
            best, next_best = nearest_two
            clusters.append(np.where(best[sent] == label, next_best[sent], best[sent]))
            rows.append(sent)
            weights.append(pairs.cannot_link_weight[together])
        entries = (np.concatenate(weights), (np.concatenate(clusters), np.concatenate(rows)))
        return sparse.csr_array(entries, shape=(k, len(pairs.rows)))

    def move(self, visit: Visit[CentersOnly]) -> CentersOnly:
        """Put centres at the means of their rows and of the rows that pull them."""
        centers, sums = visit.state.centers.astype(np.float64), visit.details
        pulled = np.asarray(sums.pulls.sum(axis=1)).ravel()
        images = sums.pulls @ self._points
        images = images.toarray() if sparse.issparse(images) else images
        mass = sums.sizes + pulled
        filled = mass > 0
        steps = sums.gaps + images - pulled[:, None] * centers
        centers[filled] += steps[filled] / mass[filled, None]
        empty = np.flatnonzero(~filled)
        if len(empty):
            rows = self._refill(visit, len(empty))
            centers[empty[: len(rows)]] = rows
        return CentersOnly(centers.astype(self._source.dtype))

    def _refill(self, visit: Visit[CentersOnly], n: int) -> Array:
        source = self._source
        costs = labelled_distances(source, visit.state.centers, visit.labels)
        linked = self.pairs.rows[np.unique(self.pairs.must_link)]
        chosen = refill_rows(
            costs, linked, n, lambda row: distances_to(source, dense_rows(source, [row])[0])
        )
        return dense_rows(source, chosen)


def _two_nearest(squared: Array) -> tuple[Array, Array]:
    """Return the nearest and the second nearest centre of every row; the same with one centre."""
    if squared.shape[1] == 1:
        only = np.zeros(len(squared), dtype=np.int64)
        return only, only
    two = np.argpartition(squared, 1, axis=1)[:, :2]
    swapped = np.take_along_axis(squared, two, axis=1).argmin(axis=1)
    rows = np.arange(len(squared))
    return two[rows, swapped], two[rows, 1 - swapped]


def _leaving(squared: Array, nearest_two: tuple[Array, Array]) -> Array:
    """Return the squared distance to the nearest centre other than h, for all rows and h."""
    best, next_best = nearest_two
    rows = np.arange(len(squared))
    if squared.shape[1] == 1:
        return np.zeros_like(squared)  # there is nowhere to go
    away = np.repeat(squared[rows, best][:, None], squared.shape[1], axis=1)
    away[rows, best] = squared[rows, next_best]
    return away
