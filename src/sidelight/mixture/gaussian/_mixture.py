"""Gaussian mixtures by EM, with partial labels (Verbeek 2004, section 3.1; Book 2009, 5.3.1)."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral
from typing import Any, Self

import numpy as np
from scipy.special import softmax
from sklearn.utils.validation import check_is_fitted

from sidelight._fit.checks import check_n_clusters, check_weights
from sidelight._typing import Array
from sidelight.constraints import Constraints
from sidelight.engine import RowSource
from sidelight.mixture._core._em import EMResult, em, feature_tiles, log_joint_blocks
from sidelight.mixture._core._known_classes import known_classes
from sidelight.mixture._core._labelled import LabelledRows
from sidelight.mixture._core._starts import components_of_clusters
from sidelight.mixture.gaussian._base import _GaussianBase, given_parameters
from sidelight.mixture.gaussian._components import COVARIANCE_TYPES, one_gaussian
from sidelight.mixture.gaussian._low_rank import (
    LOW_RANK_TYPES,
    LowRankComponents,
    low_rank_of_moments,
    low_rank_of_rows,
)
from sidelight.mixture.gaussian._missing import AnyRows, Incomplete, incomplete
from sidelight.mixture.gaussian._missing_rows import (
    FilledRows,
    has_missing,
    incomplete_moments,
    known_values,
)
from sidelight.tags import MethodTags

__all__ = ["GaussianMixture", "_GaussianBase", "given_parameters"]


#: Low-rank covariances are also kept as matrices up to this many features.
MOST_MATRIX_FEATURES = 200

#: Fitted attributes that only some kinds of covariances have.
PARAMETERS = (
    "covariances_",
    "precisions_",
    "precisions_cholesky_",
    "loadings_",
    "noise_variances_",
)

#: M-steps on rough clusters where one is not exact: low-rank covariances of many features.
FIRST_STEPS = 4


class GaussianMixture(_GaussianBase):
    """Mixture of Gaussians by expectation maximisation: missing values, partial labels, factors.

    Maximises the log-likelihood ``L = Σ_n w_n log Σ_s π_s N(x_n; μ_s, Σ_s)`` by turns: the
    responsibilities ``q_ns = p(s | x_n)``, then weights, means and covariances of the rows so
    weighted (Verbeek 2004, section 3.1.2). Rows of a known class ``c`` belong to component ``c``
    with certainty (Book 2009, section 5.3.1), so that components keep the names of their classes.
    The rows are read block by block and responsibilities are not kept: memory is
    ``O(n + k d²)``, and rows may live on disk.

    A value that is NaN was not measured. The likelihood is then that of the values there are,
    ``p(x_o)``; what a row lacks counts by its mean and covariance given the rest (Verbeek 2004,
    section 4.2.2). That is sound if values are missing at random: whether a value is missing may
    depend on what was measured, but not on the value itself.

    Low-rank covariances ``Σ_s = Ψ_s + Λ_s Λ_sᵀ`` have ``n_factors`` columns in ``Λ_s`` (Verbeek
    2004, section 3.1.4): a row is ``x = μ_s + Λ_s z + noise`` with latent coordinates
    ``z ~ N(0, I)``.

    Parameters
    ----------
    n_components : int, default=1
        Number of components ``k``.
    covariance_type : {"full", "tied", "diag", "spherical", "factor", "ppca", "subspace"}, \
            default="full"
        One matrix per component, one for all, variances per component and feature, or one
        variance per component; of low rank plus noise: factor analysers (noise of each feature),
        probabilistic principal components (the same noise for all features), k-subspaces type
        (also the same variance along all factors).
    n_factors : int, default=1
        Number of factors of low-rank covariances, below the number of features.
    tol : float, default=1e-5
        Stop when an iteration gains less log-likelihood than this per row.
    reg_covar : float, default=1e-6
        Added to the variances, which keeps components from collapsing onto single rows.
    measurement_noise : float, default=0.0
        Standard deviation of each measurement: rows are small Gaussians of this width and their
        expected likelihood is maximised, a bounded problem with an exact ascent. Not with missing
        values.
    max_iter : int, default=200
        At most this many iterations per start.
    n_init : int, default=1
        Number of starts, of which the best is kept.
    init_params : {"kmeans", "k-means++", "random_from_data", "random"}, default="kmeans"
        Rough clusters to start from; missing values are the means of their columns there.
    weights_init, means_init, precisions_init : array, default=None
        Parameters to start from, shaped like the fitted ones; what is not given comes from the
        rough clusters. Low-rank covariances always do.
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
        Covariances, their inverses and factors of these, shaped as in scikit-learn. Of low-rank
        ones only the covariances, as matrices, up to 200 features.
    loadings_ : ndarray of shape (n_components, n_features, n_factors)
        ``Λ`` of low-rank covariances; the first factor explains most.
    noise_variances_ : ndarray of shape (n_components, n_features) or (n_components,)
        ``Ψ`` of low-rank covariances: for every feature ("factor"), or one for all.
    labels_ : ndarray of int32, shape (n_samples,)
        Most probable component of every row; that of its class where that is known.
    classes_ : ndarray
        Known class that each of the first components stands for.
    objective_, history_ : float, ndarray
        Negative log-likelihood per row at the end, and at every iteration; never rises.
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
    >>> model.impute([[np.nan, 6.0]]).round().tolist()  # a value that was not measured
    [[6.0, 6.0]]
    """

    _covariance_types = (*COVARIANCE_TYPES, *LOW_RANK_TYPES)

    def __init__(
        self,
        n_components: int = 1,
        *,
        covariance_type: str = "full",
        n_factors: int = 1,
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
        self.n_factors = n_factors
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
            summary="Gaussian mixture by EM, with partial labels and missing values",
            knowledge=("labels",),
            enforcement="hard",
            source="Verbeek 2004, section 3.1; Book 2009, section 5.3.1",
            complexity="O(n k d²) per iteration, O(n + k d²) memory",
            monotone=True,
            out_of_core=True,
            missing=True,
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
            The rows; NaN stands for a value that was not measured.
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
        source = self._validate_rows(X, reset=True)
        k = check_n_clusters(self.n_components, source.n_rows, name="n_components")
        self._check_gaussian()
        self._check_low_rank(source.n_features)
        weights = check_weights(sample_weight, source)
        known = self._check_constraints(constraints, y, source.n_rows)
        labels, self.classes_ = known_classes(known, k)
        held = LabelledRows(labels, weights) if np.any(labels >= 0) else None
        rough: RowSource = source
        if has_missing(source):
            whole, rough = self._whole_of_incomplete(source, k, weights)
        else:
            whole = self._whole_data(source, k, weights)

        def run(number: int, rng: np.random.RandomState) -> EMResult:
            components, log_weights = self._start(
                source, whole, rng, sample_weight=weights, labels=labels, rough=rough
            )
            if isinstance(whole, Incomplete) and not isinstance(components, Incomplete):
                components = incomplete(components)  # a warm start
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

        best = self._best_restart(self.n_init, run, source)
        if isinstance(best.components, Incomplete):
            best = replace(best, components=best.components.inner)
        return self._set_fitted_attributes(best, source, known, held)

    def _check_low_rank(self, n_features: int) -> None:
        """Check what low-rank covariances need."""
        if self.covariance_type not in LOW_RANK_TYPES:
            return
        n = self.n_factors
        if isinstance(n, bool) or not isinstance(n, Integral) or not 0 <= n < n_features:
            raise ValueError(
                f"n_factors must be a whole number from 0 to {n_features - 1}, below the "
                f"{n_features} features, got {n!r}."
            )
        if self.precisions_init is not None:
            raise ValueError(
                f"precisions_init does not go with covariance_type={self.covariance_type!r}; "
                "start from means_init and weights_init, or with warm_start=True."
            )

    def _whole_data(self, source: RowSource, k: int, sample_weight: Array | None) -> Any:
        """``k`` copies of the component of all rows."""
        if self.covariance_type not in LOW_RANK_TYPES:
            return super()._whole_data(source, k, sample_weight)
        return low_rank_of_rows(
            source,
            k,
            self.covariance_type,
            int(self.n_factors),
            reg_covar=self.reg_covar,
            noise=self.measurement_noise**2,
            sample_weight=sample_weight,
        )

    def _whole_of_incomplete(
        self, source: RowSource, k: int, sample_weight: Array | None
    ) -> tuple[Incomplete, RowSource]:
        """``k`` copies of the component of rows with missing values, and stand-ins for these."""
        if self.measurement_noise:
            raise ValueError(
                "measurement_noise does not go with missing values; fit with measurement_noise=0."
            )
        columns = known_values(source, sample_weight, getattr(self, "feature_names_in_", None))
        filled = FilledRows(source, columns.means)
        mean, covariance, largest = incomplete_moments(filled, columns, sample_weight)
        whole: Any
        if self.covariance_type in LOW_RANK_TYPES:
            whole = low_rank_of_moments(
                mean,
                covariance,
                k,
                self.covariance_type,
                int(self.n_factors),
                self.reg_covar,
                largest_square=largest,
            )
        else:
            whole = one_gaussian(
                mean,
                covariance,
                k,
                self.covariance_type,
                reg_covar=self.reg_covar,
                largest_square=largest,
            )
        return incomplete(whole), filled

    def _first_components(
        self, source: RowSource, whole: Any, clusters: Array, sample_weight: Array | None
    ) -> tuple[Any, Array]:
        is_exact = not isinstance(whole, LowRankComponents) or whole.by_matrices
        components = whole
        for _ in range(1 if is_exact else FIRST_STEPS):
            components, log_weights = components_of_clusters(
                source, components, clusters, sample_weight
            )
        return components, log_weights

    def _keep_parameters(self, components: Any, dtype: np.dtype[Any]) -> None:
        for name in PARAMETERS:  # those of an earlier fit with other covariances
            self.__dict__.pop(name, None)
        if not isinstance(components, LowRankComponents):
            super()._keep_parameters(components, dtype)
            return
        components = components.canonical()
        self._components = components
        self.means_ = components.means.astype(dtype)
        self.loadings_ = components.loadings.astype(dtype)
        noise = components.noise_variances
        self.noise_variances_ = (noise if components.kind == "factor" else noise[:, 0]).astype(
            dtype
        )
        if components.means.shape[1] <= MOST_MATRIX_FEATURES:
            self.covariances_ = components.as_full.covariances.astype(dtype)

    def _map_joint(self, source: RowSource, finish: Any) -> Array:
        """Apply ``finish`` to ``log π_s + log p(x_o | s)`` of what the rows have."""
        components: Any = AnyRows(self._components)
        joint: Array = log_joint_blocks(source, components, self._log_weights, finish)
        return joint

    def impute(self, X: Any) -> Array:
        """Return the rows with what is missing replaced by its expectation given the rest.

        ``E[x_h | x_o] = Σ_s p(s | x_o) E[x_h | x_o, s]``.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Rows, NaN where a value is missing.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            The rows without gaps.
        """
        check_is_fitted(self)
        source = self._validate_rows(X, reset=False)
        components = incomplete(self._components)

        def work(block: Any) -> tuple[tuple[()], tuple[Array]]:
            pieces = []
            for start, stop in feature_tiles(components, block):
                rows = block[start:stop]
                features = components.features(rows)
                resp = softmax(components.log_density(features) + self._log_weights, axis=1)
                expected = components.expected_rows(features, resp)
                pieces.append(np.where(np.isnan(rows), expected, rows).astype(source.dtype))
            return (), (np.concatenate(pieces),)

        return source.map_reduce(work)[1][0]

    def latent(self, X: Any, *, most_probable: bool = False) -> Array:
        """Return the posterior means ``E[z | x, s]`` of the latent coordinates of the rows.

        Only with low-rank covariances.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Rows.
        most_probable : bool, default=False
            Only for the most probable component of every row.

        Returns
        -------
        z : ndarray of shape (n_samples, n_components, n_factors)
            Latent coordinates for every component; of shape (n_samples, n_factors) for the most
            probable one.
        """
        check_is_fitted(self)
        if not isinstance(self._components, LowRankComponents):
            raise ValueError(
                "Only mixtures with low-rank covariances have latent coordinates, not "
                f"covariance_type={self.covariance_type!r}."
            )
        source = self._validate_rows(X, reset=False)
        either: Any = AnyRows(self._components)

        def work(block: Any) -> tuple[tuple[()], tuple[Array]]:
            pieces = []
            for start, stop in feature_tiles(either, block):
                components = either.pick(block[start:stop])
                latent = components.latent(block[start:stop]).astype(source.dtype)
                if most_probable:
                    joint = components.log_density(components.features(block[start:stop]))
                    own = np.argmax(joint + self._log_weights, axis=1)
                    latent = latent[np.arange(len(latent)), own]
                pieces.append(latent)
            return (), (np.concatenate(pieces),)

        return source.map_reduce(work)[1][0]
