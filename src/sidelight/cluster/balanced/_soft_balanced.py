"""Soft-balanced k-means: memberships whose sums over the rows are equal (Zhong, Ghosh 2003)."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple, Self, cast

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from sidelight._fit.alternation import alternate
from sidelight._fit.moments import moments
from sidelight._fit.parameters import ArrayLike, FinitePositive, estimator
from sidelight._fit.tiles import EqualWeights, tiles
from sidelight._typing import Array
from sidelight._warn import warn
from sidelight.cluster._core._distances import map_tiles
from sidelight.cluster._core._lloyd import LloydResult, Project, _WeightedRowsMixin
from sidelight.cluster.balanced._base import _BalancedBase
from sidelight.cluster.balanced._sinkhorn import Balance, balance, memberships
from sidelight.cluster.directional._directions import Geometry, TileCosts, row_costs
from sidelight.constraints import Constraints
from sidelight.engine import RowSource
from sidelight.engine.inner import map_values
from sidelight.exceptions import SidelightError
from sidelight.tags import MethodTags

#: Temperatures on the way to the last one: each half of that before, few iterations at each.
COOLING = 2.0
ITERATIONS_ON_THE_WAY = 5


@estimator
class SoftBalancedKMeans(_WeightedRowsMixin, _BalancedBase):
    """k-means with memberships in which every cluster gets exactly its share of the rows.

    Minimizes over memberships ``P`` (rows sum to 1) and centers ``μ``::

        J = Σ_ih w_i P_ih d(x_i, μ_h)  +  T Σ_ih w_i P_ih log(P_ih / π_h)
            subject to   Σ_i w_i P_ih = π_h Σ_i w_i   for all h

    with ``d`` the squared distance or 1 minus the cosine, and ``π_h = 1/k`` for equal sizes: the
    mean log-likelihood minus ``T`` times the information that a row has about its cluster, under
    balance (Constrained Clustering, section 8.4.2). The temperature ``T`` sets how fuzzy the
    memberships ``P_ih ∝ π_h exp((b_h - d_ih) / T)`` are; the multipliers ``b`` that balance them
    are found exactly, in log space. The temperature is lowered in steps. Read more in the
    :doc:`user guide </cluster/sizes>`.

    Parameters
    ----------
    temperature : float > 0, finite, default=0.01
        Last temperature: times the mean squared distance of the rows to their mean for Euclidean
        geometry, so that units do not matter, and as it is for directions. Towards 0 memberships
        become 0 or 1, the cheapest assignment of equal size (:class:`SizeConstrainedKMeans` is the
        limit); towards infinity all are equal.
    start_temperature : float > 0, finite, default=0.1
        First temperature, in the units of ``temperature``; halved until that is reached.
    target_sizes : array or None, default=None
        Sizes that clusters should have, one each, as numbers or shares (they are scaled to the
        rows); equal by default.
    max_iter : int >= 1, default=300
        Largest number of iterations at the last temperature.
    tol : float >= 0, default=0.0001
        Stop when the squared move of the centers is at most ``tol`` times the mean variance of the
        features.

    Attributes
    ----------
    memberships_ : ndarray of shape (n_samples, n_clusters)
        Memberships ``P``: their sums over the rows are the target sizes.
    labels_ : ndarray of int32, shape (n_samples,)
        Cluster of largest membership.
    cluster_prices_ : ndarray of shape (n_clusters,)
        Price ``b`` of balance for a row in each cluster, with ``Σ_h π_h b_h = 0``.
    temperature_ : float
        ``T`` in the units of ``d``.
    inertia_ : float
        First part of ``J``.
    history_ : ndarray
        ``J`` at every iteration at the last temperature; never rises.
    n_iter_ : int
        Number of iterations of the best restart, at all temperatures.
    converged_ : bool
        Whether the centers stood still before ``max_iter``, and the memberships are balanced.

    See Also
    --------
    BalancedKMeans : A minimum size for whole rows.
    SizeConstrainedKMeans : The limit of low temperatures, exactly.

    Notes
    -----
    Zhong, Ghosh (2003), A unified framework for model-based clustering. The multipliers solve an
    entropic transport problem (Sinkhorn); Newton's method on its dual takes a handful of steps
    where the sweeps of equation (8.18) take thousands at low temperatures.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.cluster import SoftBalancedKMeans
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0], [4.0], [9.0]])
    >>> model = SoftBalancedKMeans(n_clusters=2, random_state=0).fit(X)
    >>> model.memberships_.sum(axis=0).round(6)
    array([3., 3.])
    """

    _: KW_ONLY
    temperature: FinitePositive = 0.01
    start_temperature: FinitePositive = 0.1
    target_sizes: ArrayLike | None = None
    metric: Geometry = "euclidean"

    _has_inertia = True

    def __sidelight_tags__(self) -> MethodTags:
        return self._method_tags(
            summary="k-means with memberships of exactly balanced sums",
            source="Zhong, Ghosh 2003; Constrained Clustering 8.4.2",
            complexity="O(n k (d + k)) per iteration, O(n k) memory",
        )

    def _fit_weighted(self, source: RowSource, known: Constraints, weights: Array | None) -> Self:
        shares = self._shares()
        variance = moments(source, weights).mean_variance
        temperatures = self._temperatures(source.n_features * variance)
        problem = _SoftBalanceProblem(source, weights, shares, self.metric, self._project)

        def run(number: int, random_state: np.random.RandomState) -> _SoftResult:
            centers = self._start(source, random_state, weights)
            return self._anneal(problem, centers, temperatures, self.tol * variance)

        best = self._best_restart(self._n_starts, run, source)
        self._set_fitted_attributes(best, known)
        self.temperature_, self.cluster_prices_ = best.temperature, best.balance.multipliers
        self._shares_ = shares
        self.memberships_ = self._memberships(source)
        if not best.balance.balanced:
            sums = best.balance.sums
            off = np.max(np.abs(sums / sums.sum() - shares))
            warn(
                f"The sums of the memberships are off by up to {off:.1e} of the rows; a higher "
                "temperature is easier to balance, and SizeConstrainedKMeans is the limit of low "
                "ones.",
                ConvergenceWarning,
            )
        return self

    def _sized_labels(self, source: RowSource) -> Array:
        """Take the clusters of largest membership, at the multipliers of the fit."""
        (labels,) = map_values(_largest, self._memberships(source))[1]
        return cast(Array, labels)

    def _shares(self) -> Array:
        """Read the target sizes as shares of the rows."""
        k = self.n_clusters
        if self.target_sizes is None:
            return np.full(k, 1 / k)
        sizes = np.asarray(self.target_sizes, dtype=np.float64)
        if sizes.shape != (k,) or not np.all(np.isfinite(sizes)) or np.any(sizes <= 0):
            raise SidelightError(
                f"target_sizes must hold one finite number above 0 for each of the {k} clusters."
            )
        return sizes / sizes.sum()

    def _temperatures(self, spread: float) -> list[float]:
        """Return the temperatures from first to last, in the units of the costs."""
        last, first = self.temperature, self.start_temperature
        # Rows that are all the same have no scale.
        scale = spread if self.metric == "euclidean" and spread > 0 else 1.0
        steps = [first * COOLING**-j for j in range(int(np.log2(max(first / last, 1))) + 1)]
        return [scale * t for t in steps if t > last] + [scale * last]

    def _anneal(
        self,
        problem: _SoftBalanceProblem,
        centers: Array,
        temperatures: list[float],
        largest_move: float,
    ) -> _SoftResult:
        """Lower the temperature; at each, balance the memberships and move the centers by turns."""
        last = len(temperatures) - 1

        def e_step(at: _Stage, before: _Balanced | None) -> _Balanced:
            return problem.balance(at, temperatures[at.number], before)

        def m_step(now: _Balanced) -> _Stage:
            at, moved = now.parameters, problem.means(now)
            move = float(np.sum((moved - at.centers).astype(np.float64) ** 2))
            if move <= largest_move:
                return at if at.number == last else _Stage(at.centers, at.number + 1, 1)
            if at.number < last and at.n_iter == ITERATIONS_ON_THE_WAY:
                return _Stage(moved, at.number + 1, 1)
            return _Stage(moved, at.number, at.n_iter + 1)

        def out_of_iterations(before: _Balanced, now: _Balanced, history: list[float]) -> bool:
            return now.parameters.number == last and now.parameters.n_iter >= self.max_iter

        found = alternate(
            _Stage(centers, 0, 1),
            e_step,
            m_step,
            stop=out_of_iterations,
            stands_still=lambda old, new: new is old,
            max_iter=ITERATIONS_ON_THE_WAY * last + self.max_iter,
            description=type(self).__name__,
            verbose=self.verbose,
        )
        end = found.last
        at = end.parameters
        labels, inertia = problem.labels(end)
        still = found.converged and at.n_iter < self.max_iter
        return _SoftResult(
            centers=at.centers,
            labels=labels,
            inertia=inertia,
            penalty=end.objective - inertia,
            history=found.history[-at.n_iter :],
            n_iter=found.n_iter,
            converged=still and end.balance.balanced,
            interrupted=found.interrupted,
            balance=end.balance,
            temperature=end.temperature,
        )

    def _memberships(self, source: RowSource) -> Array:
        """Return the memberships of rows, in their element type."""
        dtype = source.dtype
        costs_of = TileCosts(self.cluster_centers_, self.metric, dtype)
        share = self.cluster_prices_, self._shares_, self.temperature_
        return map_tiles(source, lambda rows: memberships(costs_of(rows), *share), dtype=dtype)


def _largest(memberships: Array) -> tuple[tuple[()], tuple[Array]]:
    """Clusters of largest membership, as a block function."""
    return (), (np.argmax(memberships, axis=1).astype(np.int32),)


@dataclass(frozen=True)
class _SoftResult(LloydResult):
    """Final state of the alternation, with the multipliers and the temperature there."""

    balance: Balance
    temperature: float


class _Stage(NamedTuple):
    """Centers, the number of the temperature, and the number of the iteration at it (from 1)."""

    centers: Array
    number: int
    n_iter: int


@dataclass(frozen=True)
class _Balanced:
    """Balanced memberships at given centers and temperature."""

    parameters: _Stage
    costs: Array
    balance: Balance
    temperature: float

    @property
    def objective(self) -> float:
        return self.balance.value


@dataclass(frozen=True)
class _SoftBalanceProblem:
    """The two halves of an iteration: balance the memberships, move the centers."""

    source: RowSource
    weights: Array | None
    shares: Array
    metric: Geometry
    project: Project | None

    def balance(self, at: _Stage, temperature: float, before: _Balanced | None) -> _Balanced:
        """Balance the memberships at these centers."""
        costs = row_costs(self.source, at.centers, self.metric)
        start = None if before is None else before.balance.multipliers
        found = balance(costs, self.shares, temperature, weights=self.weights, start=start)
        return _Balanced(at, costs, found, temperature)

    def means(self, now: _Balanced) -> Array:
        """Return the means of the rows by their memberships, as directions if they are such."""
        centers = now.parameters.centers.astype(np.float64)
        middle = np.zeros(centers.shape[1]) if self.source.is_sparse else centers.mean(axis=0)
        near, is_sparse = middle.astype(self.source.dtype), self.source.is_sparse
        share = self._shared_out(now)

        def add_up(
            block: Any, costs: Array, weights: Array
        ) -> tuple[tuple[Array, Array], tuple[()]]:
            sums, mass = np.zeros(centers.shape), np.zeros(len(centers))
            for tile in tiles(len(costs)):
                P = memberships(costs[tile], *share) * weights[tile, None]
                rows = block[tile] if is_sparse else block[tile] - near
                sums += (rows.T @ P.astype(rows.dtype)).T
                mass += P.sum(axis=0)
            return (sums, mass), ()

        weights = EqualWeights(self.source) if self.weights is None else self.weights
        (sums, mass), _ = self.source.map_reduce(add_up, aligned=(now.costs, weights))
        moved = near + sums / mass[:, None]
        if self.project is not None:
            moved = self.project(moved, centers)
        return moved.astype(now.parameters.centers.dtype)

    def labels(self, now: _Balanced) -> tuple[Array, float]:
        """Return the clusters of largest membership, and the sum of the expected costs."""
        share = self._shared_out(now)

        def choose(costs: Array, weights: Array) -> tuple[tuple[float], tuple[Array]]:
            labels, inertia = np.empty(len(costs), dtype=np.int32), 0.0
            for tile in tiles(len(costs)):
                P = memberships(costs[tile], *share)
                labels[tile] = np.argmax(P, axis=1)
                inertia += float(weights[tile] @ np.einsum("ij,ij->i", P, costs[tile]))
            return (inertia,), (labels,)

        weights = EqualWeights(now.costs) if self.weights is None else self.weights
        (inertia,), (labels,) = map_values(choose, now.costs, weights)
        return labels, float(inertia)

    def _shared_out(self, now: _Balanced) -> tuple[Array, Array, float]:
        """What memberships depend on besides the costs."""
        return now.balance.multipliers, self.shares, now.temperature
