"""Soft-balanced k-means: memberships whose sums over the rows are equal (Zhong, Ghosh 2003)."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from sidelight._fit.checks import check_n_clusters, check_weights
from sidelight._fit.moments import moments
from sidelight._fit.restarts import fit_progress
from sidelight._fit.tiles import EqualWeights, tiles
from sidelight._typing import Array
from sidelight.cluster._core._lloyd import LloydResult
from sidelight.cluster.balanced._sinkhorn import Balance, balance, memberships
from sidelight.cluster.directional._directions import _DirectionsBase
from sidelight.constraints import Constraints
from sidelight.engine import RowSource, as_rows
from sidelight.exceptions import SidelightError
from sidelight.tags import MethodTags

#: Temperatures on the way to the last one: each half of that before, few iterations at each.
COOLING = 2.0
ITERATIONS_ON_THE_WAY = 5


class SoftBalancedKMeans(_DirectionsBase):
    """k-means with memberships in which every cluster gets exactly its share of the rows.

    Minimises over memberships ``P`` (rows sum to 1) and centres ``μ``::

        J = Σ_ih w_i P_ih d(x_i, μ_h)  +  T Σ_ih w_i P_ih log(P_ih / π_h)
            subject to   Σ_i w_i P_ih = π_h Σ_i w_i   for all h

    with ``d`` the squared distance or 1 minus the cosine, and ``π_h = 1/k`` for equal sizes: the
    mean log-likelihood minus ``T`` times the information that a row has about its cluster, under
    balance (Constrained Clustering, section 8.4.2). One temperature ``T`` is the knob for
    fuzziness. Memberships are ``P_ih ∝ π_h exp((b_h - d_ih) / T)``; the multipliers ``b`` that
    balance them are found exactly, in log space. The temperature is lowered in steps.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters ``k``.
    temperature : float, default=0.01
        Last temperature: times the mean squared distance of the rows to their mean for Euclidean
        geometry, so that units do not matter, and as it is for directions. Towards 0 memberships
        become 0 or 1, the cheapest assignment of equal size; towards infinity all are equal.
    start_temperature : float, default=0.1
        First temperature, in the same units; halved until the last one is reached.
    target_sizes : array-like of shape (n_clusters,), default=None
        Sizes that clusters should have, as numbers or shares (they are scaled to the rows); equal
        unless told.
    geometry : {"euclidean", "cosine"}, default="euclidean"
        Squared distances and means, or directions as in :class:`SphericalKMeans`.
    init : {"k-means++", "random", "perturb"} or array of shape (n_clusters, n_features), \
default="k-means++"
        Where to start; ``"perturb"`` for directions only.
    n_init : int, default=5
        Number of starts, of which the best is kept; one is enough when ``init`` is an array.
    max_iter : int, default=300
        At most this many iterations at the last temperature.
    tol : float, default=1e-4
        Stop when the squared move of the centres is at most ``tol`` times the mean variance of the
        features.
    random_state : int, RandomState or None, default=None
        Source of chance.
    verbose : int, default=0
        Show progress.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Centres, in the element type of the rows.
    memberships_ : ndarray of shape (n_samples, n_clusters)
        ``P``: the sums over the rows are the target sizes.
    labels_ : ndarray of int32, shape (n_samples,)
        Cluster of largest membership.
    multipliers_ : ndarray of shape (n_clusters,)
        ``b``, with ``Σ_h π_h b_h = 0``: what balance costs a row in each cluster.
    temperature_ : float
        ``T`` in the units of ``d``.
    inertia_ : float
        First part of ``J``.
    objective_ : float
        ``J`` at the end.
    history_ : ndarray
        ``J`` at every iteration at the last temperature; never rises.
    n_iter_ : int
        Number of iterations of the best start, at all temperatures.
    converged_ : bool
        Whether the centres stood still before ``max_iter``, and the sums are as they should be.
    n_violations_ : int
        Number of stated constraints that the labels violate.

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

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        temperature: float = 0.01,
        start_temperature: float = 0.1,
        target_sizes: Any = None,
        geometry: str = "euclidean",
        init: Any = "k-means++",
        n_init: int = 5,
        max_iter: int = 300,
        tol: float = 1e-4,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.temperature = temperature
        self.start_temperature = start_temperature
        self.target_sizes = target_sizes
        self.geometry = geometry
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose

    def __sidelight_tags__(self) -> MethodTags:
        return MethodTags(
            summary="k-means with memberships of exactly balanced sums",
            knowledge=("sizes",),
            enforcement="soft",
            source="Zhong, Ghosh 2003; Constrained Clustering 8.4.2",
            complexity="O(n k (d + k)) per iteration, O(n k) memory",
            monotone=True,
            sparse=True,
            out_of_core=True,
        )

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        constraints: Constraints | None = None,
        sample_weight: Any = None,
    ) -> Self:
        """Cluster the rows.

        Parameters
        ----------
        X : array, CSR matrix or RowSource of shape (n_samples, n_features)
            The rows; for directions none may be all zeros.
        y : object
            Ignored.
        constraints : Constraints, default=None
            Not used in fitting; ``n_violations_`` counts what the result violates.
        sample_weight : array of shape (n_samples,), default=None
            Weights of the rows: they count in sizes and costs alike.

        Returns
        -------
        self : SoftBalancedKMeans
            The fitted clusterer.
        """
        self._check_geometry()
        source, known = self._check_fit(X, constraints)
        weights = check_weights(sample_weight, source)
        check_n_clusters(self.n_clusters, source.n_rows)
        shares = self._shares()
        temperatures, variance = self._temperatures(source, weights)
        self._warn_of_unused(known, "SizeConstrainedKMeans uses sizes and pairs together.")

        problem = _Problem(self, source, weights, shares)

        def run(number: int, random_state: np.random.RandomState) -> _SoftResult:
            centers = self._start(source, self.init, random_state, weights)
            return self._anneal(problem, centers, temperatures, variance)

        starts = self.n_init if isinstance(self.init, str) else 1
        best = self._best_restart(starts, run, source)
        assert isinstance(best, _SoftResult)
        self._set_fitted_attributes(best, known)
        self.temperature_, self.multipliers_ = best.temperature, best.balance.multipliers
        self._shares_ = shares
        self.memberships_ = self._memberships(source)
        if not best.balance.balanced:
            off = np.max(np.abs(self.memberships_.sum(axis=0) / source.n_rows - shares))
            warnings.warn(
                f"The sums of the memberships are off by up to {off:.1e} of the rows; a higher "
                "temperature is easier to balance, and SizeConstrainedKMeans is the limit of low "
                "ones.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def predict(self, X: Any, *, balanced: bool = False) -> Array:
        """Return the clusters of new rows.

        Parameters
        ----------
        X : array, CSR matrix or RowSource of shape (n_samples, n_features)
            New rows.
        balanced : bool, default=False
            Whether the multipliers of the clusters count, as they do for ``labels_``; if not, rows
            go to the nearest centre.

        Returns
        -------
        labels : ndarray of int32, shape (n_samples,)
            Cluster of every row.
        """
        if not balanced:
            return super().predict(X)
        check_is_fitted(self)
        found = self._memberships(self._validate_rows(X, reset=False))
        return np.argmax(found, axis=1).astype(np.int32)

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

    def _temperatures(self, source: RowSource, weights: Array | None) -> tuple[list[float], float]:
        """Return the temperatures from first to last, and the mean variance of the features."""
        last, first = self.temperature, self.start_temperature
        if not 0 < last < np.inf or not 0 < first < np.inf:
            raise ValueError(
                "temperature and start_temperature must be above 0 and finite, got "
                f"{last!r} and {first!r}; SizeConstrainedKMeans is the limit of temperature 0."
            )
        variance = moments(source, weights).mean_variance
        scale = 1.0 if self._cosine else source.n_features * variance
        scale = scale if scale > 0 else 1.0  # rows that are all the same have no scale
        steps = [first * COOLING**-j for j in range(int(np.log2(max(first / last, 1))) + 1)]
        return [scale * t for t in steps if t > last] + [scale * last], variance

    def _anneal(
        self,
        problem: _Problem,
        centers: Array,
        temperatures: list[float],
        variance: float,
    ) -> _SoftResult:
        """Lower the temperature; at each, balance the memberships and move the centres by turns."""
        trail: list[tuple[float, float]] = []
        visit: _Visit | None = None
        still = False
        with fit_progress(type(self).__name__, None, verbose=self.verbose) as progress:
            for temperature in temperatures:
                last = temperature == temperatures[-1]
                for _ in range(self.max_iter if last else ITERATIONS_ON_THE_WAY):
                    visit = problem.visit(centers, temperature, visit)
                    trail.append((temperature, visit.balance.value))
                    progress.step(visit.balance.value)
                    moved = problem.means(visit)
                    move = float(np.sum((moved - centers).astype(np.float64) ** 2))
                    still = move <= self.tol * variance
                    if still:
                        break
                    centers = moved
        assert visit is not None  # an interruption before the first iteration is raised
        labels, inertia = problem.labels(visit)
        return _SoftResult(
            centers=visit.centers,
            labels=labels,
            inertia=inertia,
            penalty=visit.balance.value - inertia,
            history=np.array([value for at, value in trail if at == visit.temperature]),
            n_iter=progress.n_steps,
            converged=still and visit.balance.balanced and not progress.interrupted,
            interrupted=progress.interrupted,
            balance=visit.balance,
            temperature=visit.temperature,
        )

    def _memberships(self, source: RowSource) -> Array:
        """Return the memberships of rows, in their element type."""
        costs = as_rows(self._costs(source, self.cluster_centers_))

        def share_out(costs: Array) -> tuple[tuple[()], tuple[Array]]:
            found = np.empty(costs.shape, dtype=source.dtype)
            for tile in tiles(len(costs)):
                found[tile] = memberships(
                    costs[tile], self.multipliers_, self._shares_, self.temperature_
                )
            return (), (found,)

        return costs.map_reduce(share_out)[1][0]


@dataclass(frozen=True)
class _SoftResult(LloydResult):
    """Where the alternation ended, with what balances the memberships there."""

    balance: Balance
    temperature: float


@dataclass(frozen=True)
class _Visit:
    """Centres with the costs of the rows and the multipliers at a temperature."""

    centers: Array
    costs: Array
    balance: Balance
    temperature: float


class _Problem:
    """The two halves of an iteration: balance the memberships, move the centres."""

    def __init__(
        self, model: SoftBalancedKMeans, source: RowSource, weights: Array | None, shares: Array
    ) -> None:
        self._model = model
        self._source = source
        self._weights = weights
        self._shares = shares

    def visit(self, centers: Array, temperature: float, before: _Visit | None) -> _Visit:
        """Balance the memberships at these centres."""
        costs = self._model._costs(self._source, centers)
        start = None if before is None else before.balance.multipliers
        found = balance(costs, self._shares, temperature, weights=self._weights, start=start)
        return _Visit(centers, costs, found, temperature)

    def means(self, visit: _Visit) -> Array:
        """Return the means of the rows by their memberships, as directions if they are such."""
        centers = visit.centers.astype(np.float64)
        middle = np.zeros(centers.shape[1]) if self._source.is_sparse else centers.mean(axis=0)
        near = middle.astype(self._source.dtype)

        def add_up(
            block: Any, costs: Array, weights: Array
        ) -> tuple[tuple[Array, Array], tuple[()]]:
            sums, mass = np.zeros(centers.shape), np.zeros(len(centers))
            for tile in tiles(len(costs)):
                P = self._of(visit, costs[tile]) * weights[tile, None]
                rows = block[tile] if self._source.is_sparse else block[tile] - near
                sums += (rows.T @ P.astype(rows.dtype)).T
                mass += P.sum(axis=0)
            return (sums, mass), ()

        weights = EqualWeights(self._source) if self._weights is None else self._weights
        (sums, mass), _ = self._source.map_reduce(add_up, aligned=(visit.costs, weights))
        moved = near + sums / mass[:, None]
        if self._model._project is not None:
            moved = self._model._project(moved, centers)
        return moved.astype(visit.centers.dtype)

    def labels(self, visit: _Visit) -> tuple[Array, float]:
        """Return the clusters of largest membership, and the mean costs by memberships added up."""

        def choose(costs: Array, weights: Array) -> tuple[tuple[float], tuple[Array]]:
            labels, inertia = np.empty(len(costs), dtype=np.int32), 0.0
            for tile in tiles(len(costs)):
                P = self._of(visit, costs[tile])
                labels[tile] = np.argmax(P, axis=1)
                inertia += float(weights[tile] @ np.einsum("ij,ij->i", P, costs[tile]))
            return (inertia,), (labels,)

        rows = as_rows(visit.costs)
        weights = EqualWeights(rows) if self._weights is None else self._weights
        (inertia,), (labels,) = rows.map_reduce(choose, aligned=(weights,))
        return labels, float(inertia)

    def _of(self, visit: _Visit, costs: Array) -> Array:
        return memberships(costs, visit.balance.multipliers, self._shares, visit.temperature)
