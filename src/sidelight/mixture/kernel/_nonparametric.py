"""Mixtures of kernel densities by leave-one-out likelihood (Mallapragada 2010, chapter 4)."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from scipy import sparse
from scipy.special import logsumexp
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from sidelight._fit.checks import check_n_clusters
from sidelight._typing import Array
from sidelight.constraints import Constraints
from sidelight.exceptions import SidelightError
from sidelight.mixture._core._base import _MixtureBase
from sidelight.mixture._core._em import log_joint_blocks, normalized_log
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
    Distances,
    Kernel,
    check_dense_size,
    dense_kernel,
    given_kernel,
    neighbour_distances,
    neighbour_kernel,
    strongest_links,
)
from sidelight.tags import MethodTags

KERNELS = ("auto", "rbf", "knn", "precomputed")
#: Near neighbours along which cells of seeds grow.
GRAPH_NEIGHBOURS = 10
#: Numbers in the profiles of starts that climb side by side.
TOGETHER = 2**24


class NonparametricMixture(_MixtureBase):
    """Mixture of kernel densities with learned weights, for clusters of any shape.

    Component ``s`` has a profile ``Q_s`` over all rows, which adds up to 1, and the density
    ``p(x | s) = Σ_j Q_js κ(x, x_j)`` with ``κ(x, y) = exp(-‖x - y‖² / 2σ²)``. A row must not
    explain itself, so what is maximised is the leave-one-out likelihood (Mallapragada 2010,
    section 4.2) ::

        l(Q, g) = Σ_i log [ Σ_{j ≠ i} κ(x_i, x_j) Q_{j g_i} / (1 - Q_{i g_i}) ] - λ Σ_js Q_js²

    over the profiles and the labels ``g``. Both steps have closed forms and never lose: every row
    goes where its density is largest, and a bound of ``l`` falls apart into one quadratic equation
    per row and component. All starts climb side by side, so that one pass over the kernel serves
    all of them.

    Constraints do not enter the fit; they choose the bandwidth (section 4.4): of the percentiles
    1, 5, 10, ..., 30 the one whose starts satisfy the largest share of constraints on average.

    Parameters
    ----------
    n_components : int, default=1
        Number of components.
    kernel : {"auto", "rbf", "knn", "precomputed"}, default="auto"
        ``"rbf"``: between all rows, up to 100,000; kept in memory up to 5,000 rows and computed
        block by block in every iteration above. ``"knn"``: between near neighbours only, for any
        number of rows. ``"auto"``: the first up to 5,000 rows, else the second.
        ``"precomputed"``: ``X`` holds the kernel between all rows (dense or CSR, not negative).
    bandwidth : {"auto", "constraints", "percentile:p"} or float, default="auto"
        The width ``σ``: a number, the percentile ``p`` of the distances between rows, or chosen by
        constraints; ``"auto"`` is that if there are any, else ``"percentile:5"``. Percentiles
        are taken among 2,000 random rows if there are more.
    normalize : {"column", "none"}, default="column"
        Divide every kernel by the sum of its values at the other rows, so that kernels in dense
        regions do not dominate, or leave it.
    reg : float, default=1e-4
        ``λ > 0``; the larger, the smoother the profiles.
    n_neighbors : int, default=30
        Neighbours that ``kernel="knn"`` keeps for every row, and it for them.
    init_params : {"seeds", "dirichlet"}, default="seeds"
        Start from the cells around random rows, which grow along short paths between near
        neighbours and so follow the shape of the data, or from random profiles.
    n_init : int, default=10
        Number of starts, of which the one with the best objective is kept.
    max_iter : int, default=300
        At most this many iterations.
    tol : float, default=1e-4
        A start ends when an iteration gains less than this per row, or when labels have stood still
        for 50 iterations.
    random_state : int, RandomState or None, default=None
        Source of chance.
    verbose : int, default=0
        Show progress.

    Attributes
    ----------
    profiles_ : ndarray of shape (n_samples, n_components)
        ``Q``: importance of every row for every component; columns add up to 1.
    weights_ : ndarray of shape (n_components,)
        Shares of the rows in the components.
    bandwidth_ : float or None
        The width; None for a precomputed kernel.
    kernel_ : str
        ``"rbf"``, ``"knn"`` or ``"precomputed"``.
    bandwidth_search_ : dict
        If constraints chose: ``percentile`` and ``bandwidth`` of the candidates, ``mean`` and
        ``std`` over the starts of the share of constraints satisfied, and ``ties``, the positions
        of those with the largest mean.
    labels_ : ndarray of int32, shape (n_samples,)
        Component of every row by its leave-one-out density. ``predict`` does not leave out
        anything and may differ for a few rows.
    start_lower_bounds_ : ndarray of shape (n_init,)
        ``l`` per row at the end of every start. If only one is near the best, more starts may find
        a better one.
    objective_, history_ : float, ndarray
        ``-l`` per row at the end, and at every iteration; never rises.
    n_iter_ : int
        Number of iterations of the best start.
    converged_ : bool
        Whether it ended before ``max_iter``.
    n_violations_ : int
        Number of stated constraints that the labels violate.

    See Also
    --------
    GaussianMixture : Components of one shape, for any number of rows.
    sidelight.evaluation.ConstraintSearchCV : Chooses any parameter of any method by constraints.

    Notes
    -----
    Posteriors of new rows are ``p(s | x) ∝ π_s Σ_j Q_js κ(x, x_j) / c_j`` with the sums ``c`` of
    the columns; ``score_samples`` and ``sample`` belong to ``Σ_s π_s Σ_j Q_js N(x; x_j, σ² I)``.
    Rows have no weights: with the likelihood of a row left out, a heavy row and a repeated one,
    which has its copies as neighbours, are different things.

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

    def __init__(
        self,
        n_components: int = 1,
        *,
        kernel: str = "auto",
        bandwidth: Any = "auto",
        normalize: str = "column",
        reg: float = 1e-4,
        n_neighbors: int = 30,
        init_params: str = "seeds",
        n_init: int = 10,
        max_iter: int = 300,
        tol: float = 1e-4,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.normalize = normalize
        self.reg = reg
        self.n_neighbors = n_neighbors
        self.init_params = init_params
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose

    def __sidelight_tags__(self) -> MethodTags:
        return MethodTags(
            summary="kernel densities with learned weights; constraints choose the bandwidth",
            knowledge=("must-link", "cannot-link", "labels", "groups"),
            enforcement="soft",
            source="Mallapragada 2010, chapter 4",
            complexity="O(n² (d + k s)) per iteration with s starts, O(n k s) memory; O(n m k s) "
            "both with m near neighbours",
            monotone=True,
            sparse=True,
        )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    def fit(self, X: Any, y: Any = None, *, constraints: Constraints | None = None) -> Self:
        """Fit the mixture to the rows.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            The rows; with ``kernel="precomputed"`` the kernel, of shape (n_samples, n_samples).
        y : array of shape (n_samples,), default=None
            Known classes, -1 where unknown.
        constraints : Constraints, default=None
            What is known about the rows: it chooses the bandwidth.

        Returns
        -------
        self : NonparametricMixture
            The fitted mixture.

        Raises
        ------
        SidelightError
            If the kernel between all rows is too large, or ``bandwidth="constraints"`` and there
            are none.
        """
        rows: Any = self._check_rows(X, reset=True)
        n = rows.shape[0]
        k = check_n_clusters(self.n_components, n, name="n_components")
        self._check_choices()
        known = self._check_constraints(constraints, y, n)
        self._warn_of_contradictions(known)
        rng = check_random_state(self.random_state)
        self.kernel_ = self._choose_kernel(rows)
        by_constraints, bandwidths = self._bandwidths(rows, known, rng)
        make_kernel, make_start = self._kernel_maker(rows), self._start_maker(rows, k)
        seeds = rng.randint(np.iinfo(np.int32).max, size=self.n_init)
        best: list[ProfileFit] = []
        columns, labels, ends = [], [], []
        for bandwidth in bandwidths:
            kernel = make_kernel(bandwidth)
            fits = self._climb(kernel, make_start, seeds)
            best.append(max(fits, key=lambda fit: fit.lower_bound))
            columns.append(kernel.log_columns)
            labels.append(np.stack([fit.labels for fit in fits], axis=1))
            ends.append(np.array([fit.lower_bound for fit in fits]))
            if best[-1].interrupted:
                break
        chosen = 0
        if by_constraints:
            choice = choose(known, labels)
            chosen = choice.best
            self.bandwidth_search_ = {
                "percentile": np.array(CANDIDATES[: len(best)]),
                "bandwidth": np.array(bandwidths[: len(best)]),
                "mean": choice.mean,
                "std": choice.spread,
                "ties": choice.ties,
            }
        self.bandwidth_ = None if self.kernel_ == "precomputed" else bandwidths[chosen]
        self.start_lower_bounds_ = ends[chosen]
        return self._keep_profiles(best[chosen], rows, columns[chosen], known)

    def _check_choices(self) -> None:
        if self.kernel not in KERNELS:
            raise ValueError(f"kernel must be one of {KERNELS}, got {self.kernel!r}.")
        if self.normalize not in ("column", "none"):
            raise ValueError(f"normalize must be 'column' or 'none', got {self.normalize!r}.")
        if self.init_params not in ("seeds", "dirichlet"):
            raise ValueError(
                f"init_params must be 'seeds' or 'dirichlet', got {self.init_params!r}."
            )
        if not isinstance(self.reg, Real) or not 0 < float(self.reg) < np.inf:
            raise ValueError(f"reg must be a finite number above 0, got {self.reg!r}.")
        for name in ("n_init", "n_neighbors"):
            value = getattr(self, name)
            if not isinstance(value, Integral) or value < 1:
                raise ValueError(f"{name} must be a whole number above 0, got {value!r}.")

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
    ) -> tuple[bool, list[float]]:
        """Whether constraints choose, and the bandwidths to choose from."""
        asked = self.bandwidth
        if isinstance(asked, Real) and 0 < float(asked) < np.inf:
            return False, [float(asked)]
        percent = _read_percentile(asked)
        if self.kernel == "precomputed":
            return False, [1.0]  # unused
        if asked == "constraints" and known.is_empty:
            raise SidelightError(
                "bandwidth='constraints' chooses by what is known: call fit(X, constraints=...) "
                "with a few must-links and cannot-links, or give a bandwidth."
            )
        by_constraints = percent is None and not known.is_empty
        percents = CANDIDATES if by_constraints else (5.0 if percent is None else percent,)
        values, repeated = distance_percentiles(rows, percents, rng)
        if repeated and rows.shape[0] > 1:
            warnings.warn(
                "So many rows are the same that the percentile of their distances is 0: the "
                "bandwidth was taken among distances above 0.",
                ConvergenceWarning,
                stacklevel=3,
            )
        return by_constraints, [float(value) for value in values]

    def _kernel_maker(self, rows: Any) -> Callable[[float], Kernel]:
        """How to make the kernel of a bandwidth."""
        normalize = self.normalize == "column"
        if self.kernel_ == "precomputed":
            return lambda _: given_kernel(rows, normalize=normalize)
        if self.kernel_ == "knn":
            near = neighbour_distances(rows, self.n_neighbors)
            return lambda width: neighbour_kernel(near, width, normalize=normalize)
        distances = Distances(rows)
        return lambda width: dense_kernel(distances, width, normalize=normalize)

    def _start_maker(self, rows: Any, k: int) -> Callable[[int], Array]:
        """How to make the profiles that a start with this seed begins with."""
        n = rows.shape[0]
        if self.init_params == "dirichlet" or k == 1:
            return lambda seed: dirichlet_start(n, k, np.random.RandomState(seed))
        if self.kernel_ == "precomputed":
            graph = strongest_links(rows, GRAPH_NEIGHBOURS)
        else:
            graph = neighbour_distances(rows, GRAPH_NEIGHBOURS)
        return lambda seed: seeds_start(graph, k, np.random.RandomState(seed))

    def _climb(
        self, kernel: Kernel, make_start: Callable[[int], Array], seeds: Array
    ) -> list[ProfileFit]:
        """Climb from all starts, as many side by side as memory allows."""
        together = max(1, TOGETHER // (kernel.n_rows * self.n_components))
        fits: list[ProfileFit] = []
        for first in range(0, len(seeds), together):
            fits += fit_profiles(
                kernel,
                np.stack([make_start(seed) for seed in seeds[first : first + together]], axis=1),
                reg=float(self.reg),
                max_iter=self.max_iter,
                tol=self.tol,
                description=type(self).__name__,
                verbose=self.verbose,
            )
            if fits[-1].interrupted:
                break
        return fits

    def _keep_profiles(
        self, fit: ProfileFit, rows: Any, log_columns: Array, known: Constraints
    ) -> Self:
        """Set the fitted attributes."""
        given = self.kernel_ == "precomputed"
        self._components = KernelComponents(
            rows=None if given else rows,
            bandwidth=self.bandwidth_,
            profiles=fit.profiles,
            log_columns=log_columns,
            n_neighbors=self.n_neighbors if self.kernel_ == "knn" else None,
        )
        k = fit.profiles.shape[1]
        sizes = np.bincount(fit.labels, minlength=k)
        self._log_weights = normalized_log(sizes)
        self.profiles_ = fit.profiles.astype(rows.dtype)
        self.weights_ = (sizes / sizes.sum()).astype(rows.dtype)
        self.labels_ = fit.labels
        self.objective_ = -fit.lower_bound
        self.history_ = -fit.history
        self.n_iter_ = len(fit.history)
        self.converged_ = fit.converged and not fit.interrupted
        self.n_violations_ = known.violations(self.labels_).n
        self._n_features_out = k
        self._warn_of_the_end(fit, int(np.sum(sizes > 0)), k)
        return self

    def _warn_of_the_end(self, fit: ProfileFit, n_found: int, k: int) -> None:
        if n_found < k:
            warnings.warn(
                f"Only {n_found} of n_components={k} components have rows; the profiles of the "
                "others are even, a background that no row belongs to.",
                ConvergenceWarning,
                stacklevel=4,
            )
        if not fit.converged and not fit.interrupted:
            warnings.warn(
                f"{type(self).__name__} did not come to rest in max_iter={self.max_iter} "
                "iterations; allow more, or a larger tol.",
                ConvergenceWarning,
                stacklevel=4,
            )

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


def _read_percentile(bandwidth: Any) -> float | None:
    """Read ``"percentile:5"``; None for other words that mean something."""
    if isinstance(bandwidth, str):
        if bandwidth in ("auto", "constraints"):
            return None
        word, _, number = bandwidth.partition(":")
        try:
            percent = float(number)
        except ValueError:
            percent = np.nan
        if word == "percentile" and 0 < percent <= 100:
            return percent
    raise ValueError(
        "bandwidth must be 'auto', 'constraints', 'percentile:p' with a number p up to 100, or a "
        f"number above 0, got {bandwidth!r}."
    )


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
            f"A kernel must not be negative: X[{negative.row[0]}, {negative.col[0]}] is."
        )
