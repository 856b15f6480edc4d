"""Gaussian mixtures by EM, with partial labels (Verbeek 2004, section 3.1; Book 2009, 5.3.1)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from sidelight.base import MethodTags, check_n_clusters, check_weights
from sidelight.constraints import Constraints
from sidelight.engine import RowSource
from sidelight.mixture._base import _MixtureBase
from sidelight.mixture._em import EMResult, em, normalized_log
from sidelight.mixture._gaussian import COVARIANCE_TYPES, GaussianComponents, one_gaussian
from sidelight.mixture._held import LabelledRows
from sidelight.mixture._known_classes import known_classes
from sidelight.mixture._starts import components_of_clusters, data_moments, rough_clusters

Array = npt.NDArray[Any]


class _GaussianBase(_MixtureBase):
    """Mixtures of Gaussians: their parameters, their start and their public names."""

    covariance_type: str
    reg_covar: float
    n_init: int
    init_params: str
    weights_init: Any
    means_init: Any
    precisions_init: Any
    warm_start: bool

    #: Variance of measurement noise, where a subclass has it.
    measurement_noise: float = 0.0

    def _check_gaussian(self) -> None:
        """Check the parameters of the covariances."""
        if self.covariance_type not in COVARIANCE_TYPES:
            raise ValueError(
                f"covariance_type must be one of {', '.join(map(repr, COVARIANCE_TYPES))}, got "
                f"{self.covariance_type!r}."
            )
        for name in ("reg_covar", "measurement_noise"):
            if not getattr(self, name) >= 0:
                raise ValueError(f"{name} must not be negative, got {getattr(self, name)!r}.")

    def _start(
        self,
        source: RowSource,
        whole: GaussianComponents,
        rng: np.random.RandomState,
        *,
        sample_weight: Array | None = None,
        labels: Array | None = None,
    ) -> tuple[GaussianComponents, Array]:
        """Components and mixing weights (as logarithms) to start from."""
        if self.warm_start and hasattr(self, "_components"):
            return self._components, self._log_weights
        k = whole.n_components
        components: Any = whole
        log_weights = np.full(k, -np.log(k))
        if any(given is None for given in (self.means_init, self.precisions_init)):
            clusters = rough_clusters(
                source, k, self.init_params, rng, sample_weight=sample_weight, labels=labels
            )
            components, log_weights = components_of_clusters(source, whole, clusters, sample_weight)
        return given_parameters(
            components, log_weights, self.weights_init, self.means_init, self.precisions_init
        )

    def _whole_data(
        self, source: RowSource, k: int, sample_weight: Array | None
    ) -> GaussianComponents:
        """``k`` copies of the Gaussian of all rows."""
        mean, covariance, largest = data_moments(source, sample_weight)
        return one_gaussian(
            mean,
            covariance,
            k,
            self.covariance_type,
            reg_covar=self.reg_covar,
            noise=self.measurement_noise**2,
            largest_square=largest,
        )

    def _keep_parameters(self, components: Any, dtype: np.dtype[Any]) -> None:
        self.means_ = components.means.astype(dtype)
        self.covariances_ = components.covariances.astype(dtype)
        self.precisions_ = components.precisions.astype(dtype)
        self.precisions_cholesky_ = components.precision_factors.astype(dtype)


class GaussianMixture(_GaussianBase):
    """Mixture of Gaussians by expectation maximisation, with partial labels.

    Maximises the log-likelihood ``L = Σ_n w_n log Σ_s π_s N(x_n; μ_s, Σ_s)`` by turns: the
    responsibilities ``q_ns = p(s | x_n)``, then weights, means and covariances of the rows so
    weighted (Verbeek 2004, section 3.1.2). Rows of a known class ``c`` belong to component ``c``
    with certainty (Book 2009, section 5.3.1), so that components keep the names of their classes.
    The rows are read block by block and responsibilities are not kept: memory is
    ``O(n + k d²)``, and rows may live on disk.

    Parameters
    ----------
    n_components : int, default=1
        Number of components ``k``.
    covariance_type : {"full", "tied", "diag", "spherical"}, default="full"
        One matrix per component, one for all, variances per component and feature, or one
        variance per component.
    tol : float, default=1e-5
        Stop when an iteration gains less log-likelihood than this per row.
    reg_covar : float, default=1e-6
        Added to the variances, which keeps components from collapsing onto single rows.
    measurement_noise : float, default=0.0
        Standard deviation of each measurement: rows are small Gaussians of this width and their
        expected likelihood is maximised, a bounded problem with an exact ascent.
    max_iter : int, default=200
        At most this many iterations per start.
    n_init : int, default=1
        Number of starts, of which the best is kept.
    init_params : {"kmeans", "k-means++", "random_from_data", "random"}, default="kmeans"
        Rough clusters to start from.
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
        Most probable component of every row; that of its class where that is known.
    classes_ : ndarray
        Known class that each of the first components stands for.
    lower_bound_ : float
        Log-likelihood per row at the end.
    lower_bounds_ : ndarray
        The same at every iteration; never falls.
    objective_, history_ : float, ndarray
        Their negatives: what is minimised.
    n_iter_ : int
        Number of iterations of the best start.
    converged_ : bool
        Whether the gain fell to ``tol`` before ``max_iter``.
    n_violations_ : int
        Number of stated constraints that the labels violate.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.mixture import GaussianMixture
    >>> rng = np.random.default_rng(0)
    >>> X = np.vstack([rng.normal(0, 1, (50, 2)), rng.normal(6, 2, (50, 2))])
    >>> y = np.full(100, -1)
    >>> y[0], y[99] = 1, 0  # two rows of known class
    >>> model = GaussianMixture(n_components=2, random_state=0).fit(X, y)
    >>> np.bincount(model.labels_[:50]).tolist()
    [0, 50]
    """

    def __init__(
        self,
        n_components: int = 1,
        *,
        covariance_type: str = "full",
        tol: float = 1e-5,
        reg_covar: float = 1e-6,
        measurement_noise: float = 0.0,
        max_iter: int = 200,
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
        self.tol = tol
        self.reg_covar = reg_covar
        self.measurement_noise = measurement_noise
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
            name="gaussian-mixture",
            family="mixture",
            summary="Gaussian mixture by EM, with partial labels",
            knowledge=("labels",),
            enforcement="hard",
            source="Verbeek 2004, section 3.1; Book 2009, section 5.3.1",
            complexity="O(n k d²) per iteration, O(n + k d²) memory",
            monotone=True,
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
        """Fit the mixture to the rows.

        Parameters
        ----------
        X : array or RowSource of shape (n_samples, n_features)
            The rows.
        y : array of shape (n_samples,), default=None
            Known classes, -1 where unknown.
        constraints : Constraints, default=None
            Labels are used, also where must-links pass them on; other pairs are only counted.
        sample_weight : array of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        self : GaussianMixture
            The fitted mixture.
        """
        source = self._check_source_rows(X, reset=True)
        k = check_n_clusters(self.n_components, source.n_rows, name="n_components")
        self._check_loop()
        self._check_gaussian()
        weights = check_weights(sample_weight, source)
        known = self._check_constraints(constraints, y, source.n_rows)
        labels, self.classes_ = known_classes(known, k)
        held = LabelledRows(labels, weights) if np.any(labels >= 0) else None
        whole = self._whole_data(source, k, weights)

        def run(rng: np.random.RandomState) -> EMResult:
            components, log_weights = self._start(
                source, whole, rng, sample_weight=weights, labels=labels
            )
            return em(
                source,
                components,
                log_weights,
                sample_weight=weights,
                held=held,
                max_iter=self.max_iter,
                tol=self.tol,
                description=type(self).__name__,
                verbose=self.verbose,
            )

        return self._keep(self._best_start(self.n_init, run), source, known, held)


def given_parameters(
    components: GaussianComponents, log_weights: Array, weights: Any, means: Any, precisions: Any
) -> tuple[GaussianComponents, Array]:
    """Put the parameters that the user gave in place of those found."""
    if weights is not None:
        log_weights = _check_weights_init(weights, components.n_components)
    if means is not None:
        given = np.asarray(means, dtype=np.float64)
        if given.shape != components.means.shape or not np.all(np.isfinite(given)):
            raise ValueError(
                f"means_init must hold finite numbers in shape {components.means.shape}, got "
                f"shape {given.shape}."
            )
        components = replace(components, means=given)
    if precisions is not None:
        components = replace(components, covariances=_invert(precisions, components))
    return components, log_weights


def _check_weights_init(weights: Any, k: int) -> Array:
    given = np.asarray(weights, dtype=np.float64)
    if given.shape != (k,) or not np.all(given >= 0) or not np.isclose(given.sum(), 1.0):
        raise ValueError(
            f"weights_init must hold {k} weights that are not negative and add up to 1, got "
            f"{weights!r}."
        )
    return normalized_log(given)


def _invert(precisions: Any, components: GaussianComponents) -> Array:
    """Covariances from the precisions that the user gave."""
    given = np.asarray(precisions, dtype=np.float64)
    shape = components.covariances.shape
    problem = f"precisions_init must hold positive (definite) precisions in shape {shape}."
    if given.shape != shape or not np.all(np.isfinite(given)):
        raise ValueError(problem)
    if components.kind in ("full", "tied"):
        try:
            np.linalg.cholesky(given)
        except np.linalg.LinAlgError:
            raise ValueError(problem) from None
        return np.linalg.inv(given)
    if not np.all(given > 0):
        raise ValueError(problem)
    return 1.0 / given
