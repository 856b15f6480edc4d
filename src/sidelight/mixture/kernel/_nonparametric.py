"""Mixtures of kernel densities by leave-one-out likelihood (Mallapragada 2010, chapter 4)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY
from typing import Annotated, Any, Literal, Self

import numpy as np
from scipy import sparse
from scipy.special import logsumexp
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from sidelight._fit.parameters import (
    Count,
    FinitePositive,
    Interval,
    NonNegative,
    Restarts,
    Seed,
    Verbosity,
    estimator,
    n_restarts,
)
from sidelight._fit.restarts import best_of
from sidelight._typing import Array
from sidelight._warn import warn
from sidelight._words import worded
from sidelight.constraints import Constraints
from sidelight.engine import RowSource
from sidelight.exceptions import SidelightError
from sidelight.mixture._core import (
    ConstrainedPosterior,
    EMResult,
    MixtureBase,
    log_joint_blocks,
    normalized_log,
)
from sidelight.mixture.kernel._bandwidths import CANDIDATES, choose, distance_percentiles
from sidelight.mixture.kernel._components import KernelComponents
from sidelight.mixture.kernel._profiles import (
    ProfileFit,
    dirichlet_start,
    fit_profiles,
    seeds_start,
)
from sidelight.mixture.kernel._rows import (
    KEPT_ROWS,
    SquaredDistances,
    ZeroDiagonalKernel,
    check_dense_size,
    dense_kernel,
    given_kernel,
    neighbor_distances,
    neighbor_kernel,
    strongest_links,
)
from sidelight.tags import own_tags

#: Near neighbors along which cells of seeds grow.
GRAPH_NEIGHBORS = 10
#: Largest number of entries in the profiles of restarts that climb side by side.
TOGETHER = 2**24


@estimator
class NonparametricMixture(MixtureBase):
    """Mixture of kernel densities with learned weights, for clusters of any shape.

    Component ``s`` has a profile ``Q_s`` over all rows, which adds up to 1, and the density
    ``p(x | s) = Σ_j Q_js κ(x, x_j)`` with ``κ(x, y) = exp(-‖x - y‖² / 2σ²)``. A row must not
    explain itself, so what is maximized is the leave-one-out likelihood (Mallapragada 2010,
    section 4.2) ::

        l(Q, g) = Σ_i log [ Σ_{j ≠ i} κ(x_i, x_j) Q_{j g_i} / (1 - Q_{i g_i}) ] - λ Σ_js Q_js²

    over the profiles and the labels ``g``. Both steps have closed forms and never lose: every row
    goes where its density is largest, and a bound of ``l`` falls apart into one quadratic equation
    per row and component. All restarts climb side by side, so that one pass over the kernel serves
    all of them.

    Constraints do not enter the fit; they choose the bandwidth (section 4.4): of the percentiles
    1, 5, 10, ..., 30 the one whose restarts satisfy the largest share of constraints on average.
    Read more in the :doc:`user guide </mixture/kernel>`.

    Parameters
    ----------
    kernel : {"auto", "rbf", "knn", "precomputed"}, default="auto"
        ``"rbf"``: between all rows, up to 100,000; kept in memory up to 5,000 rows and computed
        block by block in every iteration above. ``"knn"``: between near neighbors only, for any
        number of rows. ``"auto"``: the first up to 5,000 rows, else the second.
        ``"precomputed"``: ``X`` holds the kernel between all rows (dense or CSR, not negative).
    bandwidth : {"auto", "constraints", "percentile"} or float > 0, finite, default="auto"
        Width ``σ`` of the kernels: a number; ``"constraints"``, the percentile of the distances
        between rows that constraints choose; ``"percentile"``, the percentile that the parameter of
        that name says. ``"auto"`` is ``"constraints"`` if there are any, else ``"percentile"``.
    percentile : float in (0, 100], default=5.0
        Percentile of the distances between rows (2,000 random ones if there are more) that is the
        bandwidth where constraints do not choose it.
    normalize : bool, default=True
        Whether to divide every kernel by the sum of its values at the other rows, so that kernels
        in dense regions do not dominate.
    alpha : float > 0, finite, default=0.0001
        Weight ``λ`` of the squared profiles; the larger, the smoother the profiles.
    n_neighbors : int >= 1, default=30
        Number of nearest neighbors between which and a row ``kernel="knn"`` keeps the kernel.
    init_params : {"seeds", "dirichlet"}, default="seeds"
        Start from the cells around random rows, which grow along short paths between near
        neighbors and so follow the shape of the data, or from random profiles.
    n_init : int >= 1 or "auto", default=10
        Number of restarts; the best is kept.
        ``"auto"`` takes 10 where starts are random, and 1 otherwise.
    max_iter : int >= 1, default=300
        Largest number of iterations.
    tol : float >= 0, default=0.0001
        A restart ends when an iteration gains less than this per row, or when labels have stood
        still for 50 iterations.

    Attributes
    ----------
    profiles_ : ndarray of shape (n_samples, n_components)
        ``Q``: importance of every row for every component; columns add up to 1.
    weights_ : ndarray of shape (n_components,)
        Shares of the rows in the components.
    bandwidth_ : float or None
        Width of the kernels; None for a precomputed kernel.
    kernel_ : str
        Kernel that was used: ``"rbf"``, ``"knn"`` or ``"precomputed"``.
    search_ : dict of str to ndarray
        If constraints chose the bandwidth: ``percentile`` and ``bandwidth`` of the candidates, and
        ``mean_satisfaction`` and ``std_satisfaction`` over the restarts of the share of constraints
        that are satisfied.
    restarts_ : dict of str to ndarray
        ``objective``: ``-l`` per row at the end of every restart. If only one is near the best,
        more restarts may find a better one.
    labels_ : ndarray of int32, shape (n_samples,)
        Component of every row by its leave-one-out density. ``predict`` does not leave out
        anything and may differ for a few rows.
    history_ : ndarray
        ``-l`` per row at every iteration of the best restart; never rises.

    See Also
    --------
    GaussianMixture : Components of one shape, for any number of rows.
    sidelight.evaluation.ConstraintSearchCV : Chooses any parameter of any method by constraints.

    Notes
    -----
    Posteriors of new rows are ``p(s | x) ∝ π_s Σ_j Q_js κ(x, x_j) / c_j`` with the sums ``c`` of
    the columns; ``score_samples`` and ``sample`` belong to ``Σ_s π_s Σ_j Q_js N(x; x_j, σ² I)``.
    Rows have no weights: with the likelihood of a row left out, a heavy row and a repeated one,
    which has its copies as neighbors, are different things.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_moons
    >>> from sidelight.mixture import NonparametricMixture
    >>> X, y = make_moons(200, noise=0.05, random_state=0)
    >>> model = NonparametricMixture(n_components=2, random_state=0).fit(X)
    >>> sorted(np.bincount(model.labels_[y == 0], minlength=2).tolist())
    [0, 100]
    """

    n_components: Count = 1
    _: KW_ONLY
    kernel: Literal["auto", "rbf", "knn", "precomputed"] = "auto"
    bandwidth: Literal["auto", "constraints", "percentile"] | FinitePositive = "auto"
    percentile: Annotated[float, Interval(0, 100, open_low=True)] = 5.0
    normalize: bool = True
    alpha: FinitePositive = 1e-4
    n_neighbors: Count = 30
    init_params: Literal["seeds", "dirichlet"] = "seeds"
    n_init: Restarts = 10
    max_iter: Count = 300
    tol: NonNegative = 1e-4
    random_state: Seed = None
    verbose: Verbosity = 0

    _elsewhere = "GaussianMixture and PenalizedMixture read rows block by block."

    _own_tags = own_tags(
        weights=(),  # the published share counts pairs
        summary="kernel densities with learned weights; constraints choose the bandwidth",
        source="Mallapragada 2010, chapter 4",
        complexity="O(n² (d + k s)) per iteration with s starts, O(n k s) memory; O(n m k s) "
        "both with m near neighbors",
        sparse=True,
    )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    def fit(  # type: ignore[override]  # rows have no weights
        self, X: Any, y: Any = None, *, constraints: Constraints | None = None
    ) -> Self:
        source, known = self._validate_fit(X, y, constraints)
        rows = source.to_memory()
        rng = check_random_state(self.random_state)
        self.kernel_ = self._choose_kernel(rows)
        percentiles, bandwidths = self._bandwidths(rows, known, rng)
        make_kernel = self._kernel_maker(rows)
        make_start = self._start_maker(rows, self.n_components)
        seeds = rng.randint(np.iinfo(np.int32).max, size=n_restarts(self))
        candidates: list[tuple[Array, list[ProfileFit]]] = []
        for bandwidth in bandwidths:
            kernel = make_kernel(bandwidth)
            candidates.append((kernel.log_columns, self._climb(kernel, make_start, seeds)))
            if candidates[-1][1][-1].interrupted:
                break
        chosen = 0
        if len(bandwidths) > 1:
            choice = choose(known, [[fit.labels for fit in fits] for _, fits in candidates])
            chosen = choice.best
            self.search_ = {
                "percentile": np.array(percentiles[: len(candidates)]),
                "bandwidth": np.array(bandwidths[: len(candidates)]),
                "mean_satisfaction": choice.mean,
                "std_satisfaction": choice.spread,
            }
        log_columns, fits = candidates[chosen]
        self.bandwidth_ = None if self.kernel_ == "precomputed" else bandwidths[chosen]
        self.restarts_ = {"objective": np.array([fit.objective for fit in fits])}
        return self._set_profiles(best_of(fits), source, log_columns, known)

    def _choose_kernel(self, rows: Any) -> str:
        n = rows.shape[0]
        if self.kernel == "auto":
            return "rbf" if n <= KEPT_ROWS else "knn"
        if self.kernel == "rbf":
            check_dense_size(n)
        if self.kernel == "precomputed":
            _check_kernel_matrix(rows)
        return self.kernel

    def _bandwidths(
        self, rows: Any, known: Constraints, rng: np.random.RandomState
    ) -> tuple[tuple[float, ...], list[float]]:
        """Percentiles, and the bandwidths to choose from; only one where nothing is to choose."""
        if self.kernel == "precomputed":
            return (), [1.0]  # unused
        if not isinstance(self.bandwidth, str):
            return (), [float(self.bandwidth)]
        if self.bandwidth == "constraints" and known.is_empty:
            raise SidelightError(
                "bandwidth='constraints' chooses by what is known: "
                f"{worded('call fit(X, constraints=...) with', 'give')} a few must-links and "
                "cannot-links, or give a bandwidth."
            )
        by_constraints = self.bandwidth != "percentile" and not known.is_empty
        percentiles = CANDIDATES if by_constraints else (float(self.percentile),)
        values, repeated = distance_percentiles(rows, percentiles, rng)
        if repeated and rows.shape[0] > 1:
            warn(
                "So many rows are the same that the percentile of their distances is 0: the "
                "bandwidth was taken among distances above 0.",
                ConvergenceWarning,
            )
        return percentiles, [float(value) for value in values]

    def _kernel_maker(self, rows: Any) -> Callable[[float], ZeroDiagonalKernel]:
        """How to make the kernel of a bandwidth."""
        normalize = self.normalize
        if self.kernel_ == "precomputed":
            return lambda _: given_kernel(rows, normalize=normalize)
        if self.kernel_ == "knn":
            near = neighbor_distances(rows, self.n_neighbors)
            return lambda width: neighbor_kernel(near, width, normalize=normalize)
        distances = SquaredDistances(rows)
        return lambda width: dense_kernel(distances, width, normalize=normalize)

    def _start_maker(self, rows: Any, k: int) -> Callable[[int], Array]:
        """How to make the profiles that a start with this seed begins with."""
        n = rows.shape[0]
        if self.init_params == "dirichlet" or k == 1:
            return lambda seed: dirichlet_start(n, k, np.random.RandomState(seed))
        if self.kernel_ == "precomputed":
            graph = strongest_links(rows, GRAPH_NEIGHBORS)
        else:
            graph = neighbor_distances(rows, GRAPH_NEIGHBORS)
        return lambda seed: seeds_start(graph, k, np.random.RandomState(seed))

    def _climb(
        self, kernel: ZeroDiagonalKernel, make_start: Callable[[int], Array], seeds: Array
    ) -> list[ProfileFit]:
        """Climb from all starts, as many side by side as memory allows."""
        together = max(1, TOGETHER // (kernel.n_rows * self.n_components))
        fits: list[ProfileFit] = []
        for first in range(0, len(seeds), together):
            fits += fit_profiles(
                kernel,
                np.stack([make_start(seed) for seed in seeds[first : first + together]], axis=1),
                reg=float(self.alpha),
                max_iter=self.max_iter,
                tol=self.tol,
                description=type(self).__name__,
                verbose=self.verbose,
            )
            if fits[-1].interrupted:
                break
        return fits

    def _set_profiles(
        self, fit: ProfileFit, source: RowSource, log_columns: Array, known: Constraints
    ) -> Self:
        """Set the fitted attributes."""
        k = self.n_components
        sizes = np.bincount(fit.labels, minlength=k)
        components = KernelComponents(
            rows=None if self.kernel_ == "precomputed" else source.to_memory().copy(),
            bandwidth=self.bandwidth_,
            profiles=fit.profiles,
            log_columns=log_columns,
            n_neighbors=self.n_neighbors if self.kernel_ == "knn" else None,
            labels=fit.labels,
        )
        result = EMResult(
            components=components,
            log_weights=normalized_log(sizes),
            history=-fit.history,
            n_iter=len(fit.history),
            converged=fit.converged and not fit.interrupted,
            interrupted=fit.interrupted,
        )
        self._set_fitted_attributes(result, source, known)
        self.weights_ = (sizes / sizes.sum()).astype(source.dtype)
        n_found = int(np.sum(sizes > 0))
        if n_found < k:
            warn(
                f"Only {n_found} of {k} components have rows; the profiles of the "
                "others are even, a background that no row belongs to.",
                ConvergenceWarning,
            )
        return self

    def _labels(self, source: RowSource, constrained: ConstrainedPosterior | None) -> Array:
        labels: Array = self._components.labels
        return labels

    def score_samples(self, X: Any) -> Array:
        """Return ``log Σ_s π_s Σ_j Q_js N(x; x_j, σ² I)`` of every row.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            New rows; with a precomputed kernel its values between them and the fitted rows, and
            the density is in units of that kernel.

        Returns
        -------
        log_density : ndarray of float64, shape (n_samples,)
            Logarithms of the density.
        """
        check_is_fitted(self)
        source = self._validate_rows(X, reset=False)
        density = self._components.as_density()
        joint = log_joint_blocks(source, density, self._log_weights, lambda joint: joint)
        return np.asarray(logsumexp(joint, axis=1))


def _check_kernel_matrix(matrix: Any) -> None:
    n, m = matrix.shape
    if n != m:
        raise ValueError(
            f"kernel='precomputed' needs a square matrix with the kernel between all rows, got "
            f"shape {(n, m)}."
        )
    negative = sparse.coo_array(matrix < 0)
    if negative.nnz:
        raise ValueError(
            f"A kernel must not be negative: the entry of the rows {negative.row[0]} and "
            f"{negative.col[0]} is."
        )
