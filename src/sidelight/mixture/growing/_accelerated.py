"""Gaussian mixtures of very many rows, by EM on cells of a tree (Verbeek 2004, section 3.4)."""

from __future__ import annotations

import warnings
from dataclasses import replace
from itertools import islice
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from sidelight._fit.checks import check_n_clusters, check_weights
from sidelight._typing import Array
from sidelight.constraints import Constraints
from sidelight.engine import as_rows
from sidelight.mixture._core._starts import STARTS, components_of_clusters, rough_clusters
from sidelight.mixture.gaussian._components import GaussianComponents
from sidelight.mixture.gaussian._mixture import _GaussianBase, given_parameters
from sidelight.mixture.growing._candidates import pick_components
from sidelight.mixture.growing._cell_em import CellResult, em_on_cells
from sidelight.mixture.growing._cells import CellGaussians, CellTree
from sidelight.mixture.growing._greedy_path import greedy_path
from sidelight.tags import MethodTags

#: With fewer cells several components would own the same ones and become the same.
CELLS_PER_COMPONENT = 8

#: Greedy EM takes cells for rows; a component needs many per feature to be split again and again.
GREEDY_CELLS = 32

#: Candidates per component and search, for a greedy start.
CANDIDATES = 10

#: Components this close, in units of their own spread, are the same.
SAME = 1e-3


class AcceleratedMixture(_GaussianBase):
    """Mixture of Gaussians for very many rows: EM on cells of a tree, refined where it matters.

    The rows are divided into cells ``A`` whose rows share their responsibilities ``q_A``. Then

    ``F = Σ_A |A| log Σ_s π_s exp <log N(x; μ_s, Σ_s)>_A  <=  L``

    with averages ``< >_A`` over the cells bounds the log-likelihood ``L`` from below, and depends
    on the number, the mean and the covariance of the rows of each cell only: an iteration of EM
    costs as much as if there were as many rows as cells (Verbeek 2004, section 3.4). It begins with
    the cells of a kd-tree. Where some rows of a cell show that their own posteriors differ from
    those they share, the cell is cut. Neither EM nor a cut can lower ``F``. With a single row in
    each cell it is EM as usual.

    Parameters
    ----------
    n_components : int, default=1
        Number of components ``k``.
    covariance_type : {"full", "tied", "diag", "spherical"}, default="full"
        One matrix per component, one for all, variances per component and feature, or one
        variance per component.
    accuracy : float, default=0.005
        Cut cells until ``L - F``, as far as some rows of every cell tell, is at most this per row.
        The log-likelihood itself ends much closer to that of EM on all rows.
    init_cells : int, default=None
        Number of cells to begin with; ``8 n_components`` unless told, and more for a greedy start.
    max_cells : int, default=None
        Cut no more cells once there are so many. As many as the accuracy takes unless told.
    tol : float, default=1e-5
        Stop when an iteration gains less than this per row.
    reg_covar : float, default=1e-6
        Added to the variances, which keeps components from collapsing onto single rows.
    max_iter : int, default=500
        At most this many iterations per start, over all partitions.
    n_init : int, default=1
        Number of starts, of which the best is kept.
    init_params : {"kmeans", "k-means++", "random_from_data", "random", "greedy"}, default="kmeans"
        Rough clusters of the first cells to start from; or greedy EM on them, as in
        :class:`GreedyMixture`.
    weights_init, means_init, precisions_init : array, default=None
        Parameters to start from, shaped like the fitted ones; what is not given comes from the
        rough clusters.
    warm_start : bool, default=False
        Start from the parameters of the last fit.
    random_state : int, RandomState or None, default=None
        Source of chance.
    verbose : int, default=0
        Show progress.

    Attributes
    ----------
    weights_ : ndarray of shape (n_components,)
        Mixing weights ``π``.
    means_ : ndarray of shape (n_components, n_features)
        Means.
    covariances_, precisions_, precisions_cholesky_ : ndarray
        Covariances, their inverses and factors of these, shaped as in scikit-learn.
    labels_ : ndarray of int32, shape (n_samples,)
        Most probable component of every row, by its own posterior.
    n_cells_ : int
        Number of cells at the end.
    cells_path_ : ndarray of int
        Number of cells of every partition.
    gap_ : float
        ``L - F`` per row at the end, as far as some rows of every cell tell.
    objective_, history_ : float, ndarray
        ``-F`` per row at the end, and at every iteration and after every refinement; never rises.
    n_iter_ : int
        Number of iterations of the best start.
    converged_ : bool
        Whether the gain fell to ``tol`` on cells that are fine enough, before ``max_iter``.
    n_violations_ : int
        Number of stated constraints that the labels violate.

    See Also
    --------
    GaussianMixture : EM on the rows themselves, which may live on disk.

    Notes
    -----
    A cell is cut across the direction in which the log-odds of its components vary most, between
    the rows of its main component and the others. That takes far fewer cells than cuts across the
    widest direction, as the source has them, and loses none of its guarantees. Gains are largest
    for few features and many rows; the number of cells does not grow with the number of rows.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.mixture import AcceleratedMixture, GaussianMixture
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(rng.choice([0.0, 5.0, 10.0], size=(20_000, 1)), 1.0, size=(20_000, 2))
    >>> model = AcceleratedMixture(n_components=3, random_state=0).fit(X)
    >>> model.n_cells_ < 500
    True
    >>> exact = GaussianMixture(n_components=3, random_state=0).fit(X)
    >>> bool(abs(model.score(X) - exact.score(X)) < 1e-3)
    True
    """

    def __init__(
        self,
        n_components: int = 1,
        *,
        covariance_type: str = "full",
        accuracy: float = 0.005,
        init_cells: int | None = None,
        max_cells: int | None = None,
        tol: float = 1e-5,
        reg_covar: float = 1e-6,
        max_iter: int = 500,
        n_init: int = 1,
        init_params: str = "kmeans",
        weights_init: Any = None,
        means_init: Any = None,
        precisions_init: Any = None,
        warm_start: bool = False,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.covariance_type = covariance_type
        self.accuracy = accuracy
        self.init_cells = init_cells
        self.max_cells = max_cells
        self.tol = tol
        self.reg_covar = reg_covar
        self.max_iter = max_iter
        self.n_init = n_init
        self.init_params = init_params
        self.weights_init = weights_init
        self.means_init = means_init
        self.precisions_init = precisions_init
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose

    def __sidelight_tags__(self) -> MethodTags:
        return MethodTags(
            summary="Gaussian mixture of very many rows by EM on cells of a tree",
            knowledge=(),
            enforcement="none",
            source="Verbeek 2004, section 3.4",
            complexity="O(n d²) per level of the tree, O(k d²) per iteration and cell",
            monotone=True,
        )

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        constraints: Constraints | None = None,
        sample_weight: Any = None,
    ) -> Self:
        """Fit the mixture to the rows.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The rows.
        y : object, default=None
            Partial labels; like other constraints they are only counted.
        constraints : Constraints, default=None
            Not used: violations are counted.
        sample_weight : array of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        self : AcceleratedMixture
            The fitted mixture.
        """
        rows: Any = self._check_rows(X, reset=True)
        source = as_rows(rows)
        k = check_n_clusters(self.n_components, len(rows), name="n_components")
        self._check_gaussian()
        self._check_cells()
        weights = check_weights(sample_weight, source)
        known = self._check_constraints(constraints, y, len(rows))

        whole = CellGaussians.of(self._whole_data(source, k, weights))
        tree = _tree(rows, weights, full=self.covariance_type in ("full", "tied"))
        leaves = tree.partition(self._first_cells(k, rows.shape[1]))

        def run(number: int, rng: np.random.RandomState) -> CellResult:
            components, log_weights = self._start_on_cells(tree, leaves, whole, rng)
            return em_on_cells(
                tree,
                leaves,
                components,
                log_weights,
                accuracy=self.accuracy,
                max_cells=self.max_cells,
                max_iter=self.max_iter,
                tol=self.tol,
                description=type(self).__name__,
                verbose=self.verbose,
            )

        best: Any = self._best_restart(self.n_init, run, source)
        self.n_cells_ = len(best.leaves)
        self.cells_path_ = np.array(best.n_cells)
        self.gap_ = best.gap
        self._warn_of_shortcomings(best, k)
        return self._set_fitted_attributes(
            replace(best, components=best.components.of_rows()), source, known
        )

    def _check_cells(self) -> None:
        if not self.accuracy >= 0:
            raise ValueError(f"accuracy must not be negative, got {self.accuracy!r}.")
        for name in ("init_cells", "max_cells"):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, Integral) or value < 1):
                raise ValueError(f"{name} must be a whole number above 0 or None, got {value!r}.")
        if self.init_params not in (*STARTS, "greedy"):
            raise ValueError(
                f"init_params must be one of {', '.join(map(repr, (*STARTS, 'greedy')))}, got "
                f"{self.init_params!r}."
            )
        if self.init_params == "greedy" and self.covariance_type == "tied":
            raise ValueError(
                "init_params='greedy' does not go with covariance_type='tied': a component joins "
                "with a covariance of its own."
            )

    def _first_cells(self, k: int, d: int) -> int:
        if self.init_cells is not None:
            return int(self.init_cells)
        if self.init_params == "greedy":
            return GREEDY_CELLS * k * (d + 1)
        return CELLS_PER_COMPONENT * k

    def _start_on_cells(
        self,
        tree: CellTree,
        leaves: Array,
        whole: CellGaussians,
        rng: np.random.RandomState,
    ) -> tuple[Any, Array]:
        """Components and mixing weights (as logarithms) to start from."""
        if self.warm_start and hasattr(self, "_components"):
            return CellGaussians.of(self._components), self._log_weights
        k = whole.n_components
        components: Any = whole
        log_weights = np.full(k, -np.log(k))
        if self.means_init is None or self.precisions_init is None:
            if self.init_params == "greedy":
                components, log_weights = self._greedy_start(tree, leaves, whole, rng)
            else:
                # k-means wants at least as many points as clusters, equal or not.
                copies = -(-k // len(leaves))
                points = np.tile(leaves, copies)
                weights = tree.weights[points] / copies
                clusters = rough_clusters(
                    as_rows(tree.means[points]), k, self.init_params, rng, sample_weight=weights
                )
                components, log_weights = components_of_clusters(
                    as_rows(tree.cells(points)), whole, clusters, weights
                )
        return given_parameters(
            components, log_weights, self.weights_init, self.means_init, self.precisions_init
        )

    def _greedy_start(
        self,
        tree: CellTree,
        leaves: Array,
        whole: CellGaussians,
        rng: np.random.RandomState,
    ) -> tuple[CellGaussians, Array]:
        """The mixture that greedy EM finds on the first cells."""
        path = greedy_path(
            as_rows(tree.cells(leaves)),
            pick_components(whole, [0]),
            rng,
            n_candidates=CANDIDATES,
            sample_weight=tree.weights[leaves],
            max_iter=self.max_iter,
            tol=self.tol,
            description=f"{type(self).__name__}, start",
            verbose=self.verbose,
        )
        *_, last = islice(path, whole.n_components)
        return last.result.components, last.result.log_weights

    def _warn_of_shortcomings(self, result: CellResult, k: int) -> None:
        """Say what the mixture lacks."""
        found = result.components
        if found.n_components < k:
            self._warn(
                f"Greedy EM found only {found.n_components} of n_components={k} components on the "
                "first cells; allow more init_cells, or start by k-means."
            )
        if len(result.leaves) < k:
            self._warn(
                f"There are only {len(result.leaves)} cells for n_components={k} components, so "
                "that some are the same; ask for fewer, or allow more cells if rows differ."
            )
        elif (same := _alike(found)) is not None:
            self._warn(
                f"Components {same[0]} and {same[1]} are the same; ask for fewer, or allow more "
                "init_cells."
            )
        if self.max_cells is not None and result.gap > self.accuracy:
            self._warn(
                f"The bound is about {result.gap:.2g} per row below the log-likelihood, more "
                f"than accuracy={self.accuracy}; allow more than max_cells={self.max_cells}."
            )

    def _warn(self, message: str) -> None:
        warnings.warn(message, ConvergenceWarning, stacklevel=4)


def _tree(rows: Array, weights: Array | None, *, full: bool) -> CellTree:
    """Make a tree of all rows that count."""
    if weights is None:
        return CellTree(rows, np.ones(len(rows)), full=full)
    return CellTree(rows[weights > 0], weights[weights > 0], full=full)


def _alike(components: GaussianComponents) -> tuple[int, int] | None:
    """Two components that are the same, if there are any."""
    covariances = components.full_covariances()
    spreads = np.sqrt(np.diagonal(covariances, axis1=1, axis2=2))
    for s in range(1, components.n_components):
        gaps = np.abs(components.means[:s] - components.means[s]) / spreads[s]
        scaled = (covariances[:s] - covariances[s]) / (spreads[s][:, None] * spreads[s])
        same = (gaps.max(axis=1) < SAME) & (np.abs(scaled).max(axis=(1, 2)) < SAME)
        if same.any():
            return int(np.argmax(same)), s
    return None
