"""Initial centers: D² sampling, far rows, random rows, and must-link components.

Of the λ components with at least one link (or a known class), the neighborhoods, k are chosen by

- ``"largest"``: the k largest (Basu, Banerjee, Mooney 2004, PCK-means);
- ``"farthest-first"``: the largest, then again and again ``argmax_J s_J min_T ‖m_J - m_T‖`` over
  the chosen T (Bilenko, Basu, Mooney 2004, MPCK-means);
- ``"clique"``: greedily a clique of the cannot-links between them, large ones first, whose members
  are known to be of different clusters, completed by farthest-first (our extension).

With λ < k all of them are centers, then a point that is cannot-linked to each of them. The rest is
filled by k-means++ given the centers so far or, as published, by the global mean with a small
perturbation (near-coincident centers, a poor start).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from scipy import sparse

from sidelight._fit.moments import moments
from sidelight._kernels.cluster.lloyd import join_candidates, join_center
from sidelight._typing import Array, FloatArray, IntArray
from sidelight.cluster._core._distances import PointCosts, dense, dense_rows, squared_distances
from sidelight.constraints import Constraints
from sidelight.constraints.inner import Contraction, contract
from sidelight.engine import RowSource

#: Rows of a bin of the order by content.
BIN_ROWS = 1024

#: What :func:`_order_by_content` has found, as long as the source is in use.
_orders: WeakKeyDictionary[RowSource, ContentOrder] = WeakKeyDictionary()


class Starts:
    """Initial centers of the restarts of a fit under constraints.

    Parameters
    ----------
    source : RowSource
        The rows.
    n_clusters : int
        Number of centers.
    init : {"auto", "neighborhoods", "k-means", "k-means++", "random"} or array
        Where to start. ``"auto"`` starts once from the neighborhoods, if there are constraints, and
        otherwise with ``"k-means"`` where there is ``polish``, or else with ``"k-means++"``:
        neighborhoods are not classes, so that their start alone can be a trap.
    n_init : int
        Number of restarts; given centers are run once.
    constraints : Constraints
        Side information about the rows.
    contraction : Contraction, default=None
        The constrained components of these constraints, if they are known already.
    polish : callable, default=None
        Turns seeds of k-means++ into the centers of ``"k-means"``.
    rule : {"farthest-first", "largest", "clique"}, default="farthest-first"
        Choice of neighborhoods when there are more than ``n_clusters``.
    published : bool, default=False
        Whether neighborhoods are the largest, and missing centers near the global mean.

    Attributes
    ----------
    n_starts : int
        Number of restarts.
    contraction : Contraction or None
        The constrained components, where a restart uses the neighborhoods.
    """

    def __init__(
        self,
        source: RowSource,
        n_clusters: int,
        init: Any,
        n_init: int,
        constraints: Constraints,
        *,
        contraction: Contraction | None = None,
        polish: Callable[[Array], Array] | None = None,
        rule: str = "farthest-first",
        published: bool = False,
    ) -> None:
        others = "k-means++" if polish is None else "k-means"
        self._ways = plan_starts(init, n_init, constraints, others)
        self.n_starts = len(self._ways)
        if contraction is None and "neighborhoods" in self._ways:
            closure = constraints.closure(on_contradiction="keep")
            contraction = contract(source, closure, only_constrained=True)
        self.contraction = contraction
        self._source, self._n_clusters = source, n_clusters
        self._init, self._polish = init, polish
        self._rule, self._published = "largest" if published else rule, published

    def centers(self, number: int, random_state: np.random.RandomState) -> Array:
        """Return the initial centers of a restart."""
        way, args = self._ways[number], (self._source, self._n_clusters)
        if way == "neighborhoods":
            return self._from_neighborhoods(random_state)
        if self._polish is not None and way == "k-means":
            return self._polish(kmeans_plusplus(*args, random_state))
        return initial_centers(*args, self._init if way == "given" else way, random_state)

    def chosen(self) -> IntArray:
        """Return the components that give centers, at most ``n_clusters``, in order of choice."""
        assert self.contraction is not None
        return choose_neighborhoods(self.contraction, self._n_clusters, self._rule)

    def _from_neighborhoods(self, random_state: np.random.RandomState) -> Array:
        """Means of the chosen components, then what is filled in."""
        assert self.contraction is not None
        source, k = self._source, self._n_clusters
        given = dense(self.contraction.means[self.chosen()])
        if self._published:
            filled = _perturbed_mean(source, k - len(given), random_state)
            return np.concatenate([given, filled]).astype(source.dtype)
        return kmeans_plusplus(source, k, random_state, given=given if len(given) else None)


def plan_starts(init: Any, n_init: int, constraints: Constraints, others: str) -> list[str]:
    """List the starts of all restarts; centers that are given are run once."""
    if not isinstance(init, str):
        return ["given"]
    if init != "auto":
        return [init] * n_init
    first = others if constraints.is_empty else "neighborhoods"
    return [first] + [others] * (n_init - 1)


def initial_centers(
    source: RowSource,
    n_clusters: int,
    init: Any,
    random_state: np.random.RandomState,
    *,
    sample_weight: Array | None = None,
) -> Array:
    """Return initial centers by the method of that name, or the centers that are given."""
    if not isinstance(init, str):
        return check_centers(init, n_clusters, source)
    methods = {
        "k-means++": kmeans_plusplus,
        "farthest-first": farthest_first,
        "random": random_rows,
    }
    if init not in methods:
        names = ", ".join(map(repr, methods))
        raise ValueError(f"init must be {names} or an array of centers, got {init!r}.")
    return methods[init](source, n_clusters, random_state, sample_weight=sample_weight)


def check_centers(init: Any, n_clusters: int, source: RowSource) -> Array:
    """Check centers that the user gave as a start."""
    centers = np.array(init, dtype=source.dtype, order="C")
    if centers.shape != (n_clusters, source.n_features):
        raise ValueError(
            f"init must hold one center per cluster, shape ({n_clusters}, {source.n_features}), "
            f"got shape {centers.shape}."
        )
    if not np.all(np.isfinite(centers)):
        raise ValueError("init holds NaN or infinity; give finite centers.")
    return centers


def kmeans_plusplus(
    source: RowSource,
    n_clusters: int,
    random_state: np.random.RandomState,
    *,
    given: Array | None = None,
    sample_weight: Array | None = None,
) -> Array:
    """Choose centers by greedy D² sampling (Arthur and Vassilvitskii 2007), after those given.

    Every next center is the best of ``2 + log k`` rows that are drawn with probability
    proportional to ``w_i min_h ‖x_i - c_h‖²``: the one that leaves the smallest sum of these. A
    row of weight 2 is the same as the row twice, and the order of the rows does not matter.

    Parameters
    ----------
    source : RowSource
        The rows.
    n_clusters : int
        Number of centers, given ones included.
    random_state : numpy.random.RandomState
        Generator of random numbers.
    given : ndarray of shape (n_given, n_features), default=None
        Centers that are known already; they come first in the result.
    sample_weight : ndarray of shape (n_rows,), default=None
        Weights of the rows.

    Returns
    -------
    centers : ndarray of shape (n_clusters, n_features)
        Centers in the element type of the rows.
    """
    n_candidates = 2 + int(np.log(max(n_clusters, 1)))

    def best_of_some(state: _Seeding) -> Array:
        candidates = dense_rows(source, state.draw(n_candidates, random_state))
        best: Array = candidates[np.argmin(state.potentials(candidates))]
        return best

    return _choose_in_turn(source, n_clusters, random_state, best_of_some, given, sample_weight)


def farthest_first(
    source: RowSource,
    n_clusters: int,
    random_state: np.random.RandomState,
    *,
    given: Array | None = None,
    sample_weight: Array | None = None,
) -> Array:
    """Choose centers far from each other (Gonzalez 1985), after those given.

    The first is drawn with probability proportional to the weights, every next is the row farthest
    from all before it. No row is then farther from its center than twice what is possible with as
    many centers.

    The parameters are those of :func:`kmeans_plusplus`; a row of weight 0 is no center.
    """

    def farthest(state: _Seeding) -> Array:
        # Of equally far rows the first in an order that does not depend on the table's.
        order = state.content.order
        row = order[np.argmax(np.where(state.weights > 0, state.closest, -1)[order])]
        return dense_rows(source, [row])[0]

    return _choose_in_turn(source, n_clusters, random_state, farthest, given, sample_weight)


def _choose_in_turn(
    source: RowSource,
    n_clusters: int,
    random_state: np.random.RandomState,
    choose: Callable[[_Seeding], Array],
    given: Array | None,
    sample_weight: Array | None,
) -> Array:
    """Choose one center after the other, behind those given; the first of all is drawn."""
    centers = np.empty((n_clusters, source.n_features), dtype=source.dtype)
    n_given = 0 if given is None else min(len(given), n_clusters)
    if given is not None:
        centers[:n_given] = given[:n_given]
    if n_given == n_clusters:
        return centers
    state = _Seeding(source, sample_weight)
    for h in range(n_clusters):
        if h > 0:
            state.add(centers[h - 1])
        if h == n_given == 0:
            centers[0] = dense_rows(source, state.draw(1, random_state))[0]
        elif h >= n_given:
            centers[h] = choose(state)
    return centers


def random_rows(
    source: RowSource,
    n_clusters: int,
    random_state: np.random.RandomState,
    *,
    sample_weight: Array | None = None,
) -> Array:
    """Choose different rows as centers, with probabilities proportional to the weights."""
    p = None if sample_weight is None else sample_weight / np.sum(sample_weight)
    enough = p is None or np.count_nonzero(p) >= n_clusters
    chosen = random_state.choice(source.n_rows, n_clusters, replace=False, p=p if enough else None)
    return dense_rows(source, chosen)


class _Seeding:
    """Rows with the centers so far: what the choice of the next one needs.

    Attributes
    ----------
    weights : ndarray of shape (n_rows,)
        Weights of the rows.
    content : ContentOrder
        Their order by content.
    closest : ndarray of shape (n_rows,)
        Squared distances to the nearest center; infinite before the first.
    """

    def __init__(self, source: RowSource, sample_weight: Array | None) -> None:
        self._source = source
        self.weights = np.ones(source.n_rows, dtype=source.dtype)
        if sample_weight is not None:
            self.weights[:] = sample_weight
        self.content = _order_by_content(source)
        self.closest = np.full(source.n_rows, np.inf, dtype=source.dtype)
        self._is_first = True
        self._masses = self.content.add_up(self.weights)

    def add(self, center: Array) -> None:
        """Add a center."""
        n_bins = len(self._masses)

        def join(
            block: Any, weights: Array, bins: Array, closest: Array
        ) -> tuple[tuple[Array], tuple[Array]]:
            if sparse.issparse(block):
                closest = np.minimum(closest, squared_distances(block, center))
                return (np.bincount(bins, closest * weights, minlength=n_bins),), (closest,)
            closest, masses = closest.copy(), np.zeros(n_bins)
            join_center(block, weights, center, bins, closest, masses)
            return (masses,), (closest,)

        aligned = (self.weights, self.content.bins, self.closest)
        (self._masses,), (self.closest,) = self._source.map_reduce(join, aligned=aligned)
        self._is_first = False

    def potentials(self, candidates: Array) -> Array:
        """Sums of weighted squared distances with each candidate as a further center."""

        def join(block: Any, weights: Array, closest: Array) -> tuple[tuple[Array], tuple[()]]:
            found = np.zeros(len(candidates))
            if not sparse.issparse(block):
                join_candidates(block, weights, candidates, closest, found)
                return (found,), ()
            for c, candidate in enumerate(candidates):
                found[c] = np.minimum(closest, squared_distances(block, candidate)) @ weights
            return (found,), ()

        return self._source.map_reduce(join, aligned=(self.weights, self.closest))[0][0]

    def draw(self, n: int, random_state: np.random.RandomState) -> Array:
        """Draw rows by weight times squared distance; evenly where that is zero for all.

        The first of all is drawn by weight.
        """
        order, starts = self.content.order, self.content.starts
        masses = np.cumsum(self._masses)
        if masses[-1] <= 0:
            return order[random_state.randint(len(order), size=n)]
        goals = random_state.uniform(size=n) * masses[-1]
        drawn = []
        for goal, b in zip(goals, _first_above(masses, goals), strict=True):
            rows = order[starts[b] : starts[b + 1]]
            mass = self.weights[rows] * (1 if self._is_first else self.closest[rows])
            before = masses[b - 1] if b > 0 else 0.0
            drawn.append(rows[_first_above(np.cumsum(mass, dtype=np.float64), goal - before)])
        return np.array(drawn)


def _first_above(cumulative: Array, goals: Any) -> Any:
    """Position of the first sum above each goal; after rounding, at most of the last that rose."""
    last = np.searchsorted(cumulative, cumulative[-1], side="left")
    return np.minimum(np.searchsorted(cumulative, goals, side="right"), last)


@dataclass(frozen=True)
class ContentOrder:
    """An order of rows that depends on what is in them, in bins of consecutive rows.

    Attributes
    ----------
    order : ndarray of shape (n_rows,)
        Positions of the rows.
    starts : ndarray of shape (n_bins + 1,)
        Where the bins begin in ``order``.
    bins : ndarray of shape (n_rows,)
        Bin of every row of the table.
    """

    order: Array
    starts: Array
    bins: Array

    @classmethod
    def from_values(cls, values: Array) -> ContentOrder:
        """Order rows by these values, ties by position."""
        n = len(values)
        order = np.argsort(values)  # several times as fast as a stable sort
        ascending = values[order]
        same = np.append(False, ascending[1:] == ascending[:-1])
        tied = np.flatnonzero(same | np.append(same[1:], False))
        order[tied] = order[tied][np.lexsort((order[tied], ascending[tied]))]
        n_bins = min(-(-n // BIN_ROWS), np.iinfo(np.uint16).max)
        starts = np.linspace(0, n, n_bins + 1).astype(np.int64)
        bins = np.empty(n, dtype=np.uint16)
        bins[order] = np.repeat(np.arange(n_bins), np.diff(starts))
        return cls(order, starts, bins)

    def add_up(self, mass: Array) -> Array:
        """Sum of some mass of the rows in every bin."""
        return np.bincount(self.bins, mass, minlength=len(self.starts) - 1)


def _order_by_content(source: RowSource) -> ContentOrder:
    """Order the rows by their projection on a fixed line: equal rows become neighbors.

    Random draws along this order meet the same rows however the table is arranged, and do
    not tell a heavy row from a repeated one. It is the same for all restarts on these rows.
    """
    known = _orders.get(source)
    if known is not None:
        return known
    line = np.random.RandomState(0).standard_normal(source.n_features).astype(source.dtype)
    projections = source.map_reduce(lambda block: ((), (block @ line,)))[1][0]
    content = _orders[source] = ContentOrder.from_values(projections)
    return content


def choose_neighborhoods(contraction: Contraction, n_clusters: int, rule: str) -> IntArray:
    """Return the components whose means are centers, at most ``n_clusters``, in order of choice."""
    candidates = np.flatnonzero((contraction.sizes >= 2) | (contraction.labels >= 0))
    by_size = candidates[np.argsort(-contraction.sizes[candidates], kind="stable")]
    if len(candidates) <= n_clusters:
        return _add_point_apart_from_all(contraction, by_size, n_clusters)
    if rule == "largest":
        return by_size[:n_clusters]
    start = by_size[:1]
    if rule == "clique":
        start = _large_clique(contraction, candidates, n_clusters)
    return _farthest_components(contraction, candidates, n_clusters, start)


def _farthest_components(
    contraction: Contraction, candidates: IntArray, n_chosen: int, start: IntArray
) -> IntArray:
    """Weighted farthest-first traversal of the means of some components (ascending)."""
    sizes = contraction.sizes[candidates]
    points = PointCosts(contraction.means[candidates])
    chosen = np.searchsorted(candidates, start).tolist()
    nearest = points.at(dense(contraction.means[start]))[0].min(axis=1)
    while len(chosen) < n_chosen:
        reach = sizes * np.sqrt(nearest)
        reach[chosen] = -1.0
        chosen.append(int(np.argmax(reach)))
        newest = dense(contraction.means[candidates[chosen[-1:]]])
        nearest = np.minimum(nearest, points.at(newest)[0][:, 0])
    return candidates[chosen]


def _large_clique(contraction: Contraction, candidates: IntArray, n_chosen: int) -> IntArray:
    """Start with the largest component, add the largest one in conflict with all chosen."""
    apart = _conflict_matrix(contraction)
    size = np.full(contraction.n_components, -1)  # of those that may still be added
    size[candidates] = contraction.sizes[candidates]
    chosen: list[int] = []
    while len(chosen) < n_chosen and size.max() > 0:
        chosen.append(int(np.argmax(size)))
        size[apart[[chosen[-1]]].toarray().ravel() == 0] = -1
    return np.array(chosen, dtype=np.int64)


def _add_point_apart_from_all(
    contraction: Contraction, chosen: IntArray, n_clusters: int
) -> IntArray:
    """Add the largest other component that conflicts with every chosen one, where there is one."""
    if len(chosen) in (0, n_clusters):
        return chosen
    n_conflicts = _conflict_matrix(contraction)[chosen].sum(axis=0)
    apart_from_all = np.flatnonzero(np.asarray(n_conflicts).ravel() == len(chosen))
    if len(apart_from_all) == 0:
        return chosen
    return np.append(chosen, apart_from_all[np.argmax(contraction.sizes[apart_from_all])])


def _conflict_matrix(contraction: Contraction) -> sparse.csr_array:
    """Symmetric matrix with a one for every pair of components that must be apart."""
    one, other = contraction.conflicts.T
    m = contraction.n_components
    half = sparse.csr_array((np.ones(len(one)), (one, other)), shape=(m, m))
    return sparse.csr_array(half + half.T)


def likely_twins(contraction: Contraction, chosen: IntArray) -> tuple[int, int] | None:
    """Two chosen neighborhoods that are probably the same class: a row of each, or None.

    They are no farther apart than the median radius of a neighborhood, and nothing says that they
    differ: neighborhoods are not classes.
    """
    linked = contraction.sizes >= 2
    if len(chosen) < 2 or not linked.any():
        return None
    radius = np.median(contraction.scatter[linked] / contraction.sizes[linked])
    means = contraction.means[chosen]
    close = PointCosts(means).at(dense(means))[0] <= radius
    known_apart = _conflict_matrix(contraction)[chosen][:, chosen].toarray() > 0
    pairs = np.argwhere(np.triu(close & ~known_apart, 1))
    if len(pairs) == 0:
        return None
    one, other = (
        int(contraction.rows[np.argmax(contraction.component == chosen[place])])
        for place in pairs[0]
    )
    return one, other


def _perturbed_mean(
    source: RowSource, n_centers: int, random_state: np.random.RandomState
) -> FloatArray:
    """Centers around the global mean, about a hundredth of the data's spread away from it."""
    found = moments(source)
    noise = random_state.standard_normal((n_centers, source.n_features))
    return found.mean + 0.01 * np.sqrt(found.mean_variance) * noise
