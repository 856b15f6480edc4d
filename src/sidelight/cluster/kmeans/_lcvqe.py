"""LCVQE: k-means whose centers feel the constraints (Pelleg, Baras 2007)."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from scipy import sparse

from sidelight._fit.moments import moments
from sidelight._fit.parameters import Count, estimator
from sidelight._fit.tiles import EqualWeights
from sidelight._typing import Array
from sidelight.cluster._core._distances import labeled_distances, squared_center_distances
from sidelight.cluster._core._lloyd import Labeling, farthest_points
from sidelight.cluster._core._passes import one_pass, pass_arguments
from sidelight.cluster.pairs._penalties import Penalties, _MovingPricesBase
from sidelight.constraints import Constraints
from sidelight.engine import RowSource
from sidelight.tags import MethodTags


@estimator
class LCVQE(_MovingPricesBase):
    """Linear constrained vector quantization error: violated pairs pull centers towards their rows.

    Minimizes over labels ``l`` and centers ``μ``, with ``D_ih = ‖x_i - μ_h‖²``::

        J = ½ Σ_i D_{i,l_i}  +  ¼ Σ_ML w_ij [l_i ≠ l_j] ( D_{j,l_i} + D_{i,l_j} )
          + ½ Σ_CL w_ij [l_i = l_j] min_{r ∈ {i, j}, c ≠ l_i} D_{r,c}

    A violated must-link costs what its rows would cost in each other's clusters; a violated
    cannot-link what one of its rows would cost in the nearest other cluster. Centers are the means
    of their rows and of the rows that violated pairs would send to them::

        μ_h = ( Σ_{l_i=h} x_i + ½ Σ_ML w x + Σ_CL w x_r ) / ( n_h + ½ Σ_ML w + Σ_CL w )

    Prices are in the units of the data, so that there is nothing to tune. Read more in the
    :doc:`user guide </cluster/kmeans>`.

    On rows without constraints it was worse with correct constraints than without any on
    digits and vowel, for some numbers of them (:doc:`the comparison of all methods
    </does_knowledge_help>`).

    Parameters
    ----------
    penalty : float >= 0, finite or "auto", default="auto"
        Factor on the weights of all pairs, without unit: prices are distances already. ``"auto"``
        is 1, the published method.

    Attributes
    ----------
    inertia_ : float
        Sum of squared distances of the rows to the centers of their clusters.

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
    the center: then no step raises ``J``. Weights of pairs are ours too. Known classes and groups
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

    _: KW_ONLY
    max_iter: Count = 300

    def __sidelight_tags__(self) -> MethodTags:
        return self._method_tags(
            summary="k-means whose centers are pulled by violated pairs",
            source="Pelleg, Baras 2007",
            complexity="O(n k d + m k) per iteration with m pairs, O(n + m k) memory",
        )

    def fit(self, X: Any, y: Any = None, *, constraints: Constraints | None = None) -> Self:
        source, known = self._validate_fit(X, y, constraints)
        self.penalty_ = self._factor
        return self._fit_problem(LCVQEProblem(source, known, self.penalty_), source, known)


@dataclass(frozen=True)
class _CenterStatistics:
    """Sums from which the next centers are computed."""

    nodes: Array  # labels of the constrained rows and of the anchors
    offsets: Array  # Σ (x - μ) by cluster
    sizes: Array
    pulls: Any  # (k, constrained rows), weights by which violated pairs pull centers to rows


class LCVQEProblem:
    """The two halves of an iteration of LCVQE."""

    def __init__(self, source: RowSource, constraints: Constraints, penalty: float) -> None:
        self._source = source
        self._pairs = Penalties(constraints, penalty, penalty * moments(source).total_variance)
        self._points = source.take(self._pairs.rows).astype(np.float64)
        self._weights = EqualWeights(source)

    def start(self, centers: Array) -> Array:
        """Return the centers in the type of the rows."""
        return np.ascontiguousarray(centers, self._source.dtype)

    def evaluate(
        self,
        random_state: np.random.RandomState,
        parameters: Array,
        before: Labeling[Array] | None,
    ) -> Labeling[Array]:
        """Label the rows and add up what the next centers need."""
        source, pairs, centers = self._source, self._pairs, parameters
        squared = squared_center_distances(self._points, centers)
        nearest_two = _two_nearest(squared)
        away = _leaving(squared, nearest_two)
        priced = self._priced(squared, away)
        last = None if before is None else before.statistics.nodes
        nodes = priced.relabel(squared / 2, last, random_state)
        fixed, known = nodes[: len(pairs.rows)], None if before is None else before.labels
        (offsets, sizes, squares, n_changed), (labels,) = source.map_reduce(
            one_pass(source, centers),
            aligned=pass_arguments(source, pairs.rows, fixed, self._weights, known),
        )
        inertia = float(squares[0])
        objective = inertia / 2 + priced.pair_total(nodes) + priced.anchor_total(nodes)
        pulls = self._pulls(nodes, nearest_two, away)
        return Labeling(
            parameters=centers,
            labels=labels,
            inertia=inertia,
            penalty=objective - inertia,
            n_changed=int(n_changed),
            statistics=_CenterStatistics(nodes, offsets, sizes, pulls),
        )

    def _priced(self, squared: Array, away: Array) -> Penalties:
        pairs = self._pairs
        (first, second), weight = pairs.must_link.T, pairs.must_link_weight[:, None] / 4
        cheaper = np.minimum(*(away[end] for end in pairs.cannot_link.T))
        return pairs.with_tables(
            weight * squared[second],
            weight * squared[first],
            pairs.cannot_link_weight[:, None] / 2 * cheaper,
        )

    def _pulls(self, nodes: Array, nearest_two: tuple[Array, Array], away: Array) -> Any:
        """Weights of rows in centers that are not theirs."""
        pairs, k = self._pairs, away.shape[1]
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
            cost = away[ends, label[:, None]]
            sent = ends[np.arange(len(ends)), cost.argmin(axis=1)]
            best, next_best = nearest_two
            clusters.append(np.where(best[sent] == label, next_best[sent], best[sent]))
            rows.append(sent)
            weights.append(pairs.cannot_link_weight[together])
        entries = (np.concatenate(weights), (np.concatenate(clusters), np.concatenate(rows)))
        return sparse.csr_array(entries, shape=(k, len(pairs.rows)))

    def update(self, now: Labeling[Array]) -> Array:
        """Put centers at the means of their rows and of the rows that pull them."""
        source, centers = self._source, now.parameters.astype(np.float64)
        sums: _CenterStatistics = now.statistics
        pulled = np.asarray(sums.pulls.sum(axis=1)).ravel()
        images = sums.pulls @ self._points
        images = images.toarray() if sparse.issparse(images) else images
        mass = sums.sizes + pulled
        filled = mass > 0
        steps = sums.offsets + images - pulled[:, None] * centers
        centers[filled] += steps[filled] / mass[filled, None]
        empty = np.flatnonzero(~filled)
        if len(empty):
            squared = labeled_distances(source, now.parameters, now.labels)
            rows = farthest_points(source, squared, len(empty), last=self._pairs.linked_rows)
            centers[empty[: len(rows)]] = rows
        return centers.astype(source.dtype)


def _two_nearest(squared: Array) -> tuple[Array, Array]:
    """Return the nearest and the second nearest center of every row; the same with one center."""
    if squared.shape[1] == 1:
        only = np.zeros(len(squared), dtype=np.int64)
        return only, only
    two = np.argpartition(squared, 1, axis=1)[:, :2]
    swapped = np.take_along_axis(squared, two, axis=1).argmin(axis=1)
    rows = np.arange(len(squared))
    return two[rows, swapped], two[rows, 1 - swapped]


def _leaving(squared: Array, nearest_two: tuple[Array, Array]) -> Array:
    """Return the squared distance to the nearest center other than h, for all rows and h."""
    best, next_best = nearest_two
    rows = np.arange(len(squared))
    if squared.shape[1] == 1:
        return np.zeros_like(squared)  # there is nowhere to go
    away = np.repeat(squared[rows, best][:, None], squared.shape[1], axis=1)
    away[rows, best] = squared[rows, next_best]
    return away
