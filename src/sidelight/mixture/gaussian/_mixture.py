"""Gaussian mixtures by EM, with partial labels (Verbeek 2004, section 3.1; Book 2009, 5.3.1)."""

from __future__ import annotations

from dataclasses import KW_ONLY, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from scipy.special import softmax
from sklearn.utils.validation import check_is_fitted

from sidelight._fit.parameters import (
    FiniteNonNegative,
    Whole,
    estimator,
)
from sidelight._typing import Array
from sidelight.constraints import Constraints
from sidelight.engine import RowSource
from sidelight.mixture._core import (
    EMResult,
    LabelledRows,
    Parameters,
    feature_tiles,
    known_classes,
    log_joint_blocks,
    warn_of_large_reg_covar,
)
from sidelight.mixture.gaussian._components import GaussianEMBase, one_gaussian
from sidelight.mixture.gaussian._imputation import conditional_covariances
from sidelight.mixture.gaussian._low_rank import (
    LOW_RANK_TYPES,
    LowRankComponents,
    low_rank_of_moments,
    low_rank_of_rows,
)
from sidelight.mixture.gaussian._missing import Incomplete, MissingAwareComponents, incomplete
from sidelight.mixture.gaussian._missing_rows import (
    FilledRows,
    has_missing,
    incomplete_moments,
    known_values,
)
from sidelight.tags import own_tags

AnyCovarianceType: TypeAlias = Literal[
    "full", "tied", "diag", "spherical", "factor", "ppca", "subspace"
]

#: Fitted attributes that only some kinds of covariances have.
PARAMETERS = (
    "covariances_",
    "precisions_",
    "precisions_cholesky_",
    "loadings_",
    "noise_variances_",
)


@estimator
class GaussianMixture(GaussianEMBase):
    """Mixture of Gaussians by expectation maximization: missing values, partial labels, factors.

    Maximizes the log-likelihood ``L = Σ_n w_n log Σ_s π_s N(x_n; μ_s, Σ_s)`` by turns: the
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
    ``z ~ N(0, I)``. Read more in the :doc:`user guide </mixture/gaussian>`.

    Parameters
    ----------
    covariance_type : {"full", "tied", "diag", "spherical", "factor", "ppca", "subspace"}, \
default="full"
        Shape of the covariances: one matrix per component, one for all, variances per component
        and feature, or one variance per component; of low rank plus noise: factor analyzers (noise
        of each feature), probabilistic principal components (the same noise for all features),
        k-subspaces type (also the same variance along all factors).
    n_factors : int >= 0, default=1
        Number of factors of low-rank covariances, below the number of features.
    measurement_noise : float >= 0, finite, default=0.0
        Standard deviation of each measurement: rows are small Gaussians of this width and their
        expected likelihood is maximized, a bounded problem with an exact ascent. Not with missing
        values.
    init_params : {"kmeans", "k-means++", "random_from_data", "random"}, default="kmeans"
        Rough clusters to start from; missing values are the means of their columns there.
    weights_init, means_init, precisions_init : array or None, default=None
        Parameters to start from, shaped like the fitted ones; by default they come from the rough
        clusters. Low-rank covariances always do.

    Attributes
    ----------
    covariances_, precisions_, precisions_cholesky_ : ndarray
        Covariances, their inverses and factors of these, shaped as in scikit-learn. Of low-rank
        ones only the covariances, as matrices, up to 200 features.
    loadings_ : ndarray of shape (n_components, n_features, n_factors)
        ``Λ`` of low-rank covariances; the first factor explains most.
    noise_variances_ : ndarray of shape (n_components, n_features) or (n_components,)
        ``Ψ`` of low-rank covariances: for every feature ("factor"), or one for all.
    labels_ : ndarray of int32, shape (n_samples,)
        Most probable component of every row; that of its class where that is known.
    objective_ : float
        Negative log-likelihood per row at the end.
    history_ : ndarray
        Negative log-likelihood per row at every iteration; never rises.

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

    _: KW_ONLY
    covariance_type: AnyCovarianceType = "full"  # type: ignore[assignment]  # more than the base
    n_factors: Whole = 1
    measurement_noise: FiniteNonNegative = 0.0

    _own_tags = own_tags(
        summary="Gaussian mixture by EM, with partial labels and missing values",
        knowledge=("labels",),
        enforcement="hard",
        source="Verbeek 2004, section 3.1; Book 2009, section 5.3.1",
        complexity="O(n k d²) per iteration, O(n + k d²) memory",
        missing=True,
    )

    def _fit_em(self, source: RowSource, known: Constraints, weights: Array | None) -> EMResult:
        self._check_low_rank(source.n_features)
        labels, self.classes_ = known_classes(known, self.n_components)
        whole, rough = self._whole_and_rough(source, weights)
        best = self._best_em(
            source,
            weights,
            LabelledRows(labels, weights),
            lambda number, rng, _: self._rough_start(source, whole, rng, weights, labels, rough),
            n_init=self._n_restarts(),
        )
        components = best.components
        if isinstance(components, Incomplete):
            components = components.inner
        if isinstance(components, LowRankComponents):
            components = components.canonical()
        for name in PARAMETERS:  # those of an earlier fit with other covariances
            self.__dict__.pop(name, None)
        return replace(best, components=components)

    def _check_low_rank(self, n_features: int) -> None:
        """Check the parameters of low-rank covariances against the data."""
        if self.covariance_type not in LOW_RANK_TYPES:
            return
        if self.n_factors >= n_features:
            raise ValueError(
                f"n_factors must be a whole number from 0 to {n_features - 1}, below the "
                f"{n_features} features, got {self.n_factors!r}."
            )
        if self.precisions_init is not None:
            raise ValueError(
                f"precisions_init does not go with covariance_type={self.covariance_type!r}; "
                "start from means_init and weights_init, or with warm_start=True."
            )

    def _whole_and_rough(
        self, source: RowSource, sample_weight: Array | None
    ) -> tuple[Any, RowSource]:
        """Copies of the component of all rows, and rows without missing values to cluster."""
        k = self.n_components
        if not has_missing(source):
            return self._whole_data(source, k, sample_weight), source
        if self.measurement_noise:
            raise ValueError(
                "measurement_noise does not go with missing values; fit with measurement_noise=0."
            )
        columns = known_values(source, sample_weight, getattr(self, "feature_names_in_", None))
        filled = FilledRows(source, columns.means)
        mean, covariance, largest = incomplete_moments(filled, columns, sample_weight)
        kind, reg_covar = self.covariance_type, self.reg_covar
        warn_of_large_reg_covar(reg_covar, np.diagonal(covariance))
        if kind in LOW_RANK_TYPES:
            whole: Any = low_rank_of_moments(
                mean, covariance, k, kind, self.n_factors, reg_covar, largest_square=largest
            )
        else:
            whole = one_gaussian(
                mean, covariance, k, kind, reg_covar=reg_covar, largest_square=largest
            )
        return incomplete(whole), filled

    def _whole_data(self, source: RowSource, k: int, sample_weight: Array | None) -> Any:
        if self.covariance_type not in LOW_RANK_TYPES:
            return super()._whole_data(source, k, sample_weight)
        return low_rank_of_rows(
            source,
            k,
            self.covariance_type,
            self.n_factors,
            reg_covar=self.reg_covar,
            noise=self.measurement_noise**2,
            sample_weight=sample_weight,
        )

    def _start(
        self, source: RowSource, whole: Any, clusters: Any, sample_weight: Array | None
    ) -> Parameters:
        start = super()._start(source, whole, clusters, sample_weight)
        if isinstance(whole, Incomplete) and not isinstance(start.components, Incomplete):
            return start._replace(components=incomplete(start.components))  # a warm start
        return start

    def _map_joint(self, source: RowSource, finish: Any) -> Array:
        """Apply ``finish`` to ``log π_s + log p(x_o | s)`` of what the rows have."""
        components: Any = MissingAwareComponents(self._components)
        joint: Array = log_joint_blocks(source, components, self._log_weights, finish)
        return joint

    def impute(self, X: Any, *, return_cov: bool = False) -> Any:
        """Return the rows with missing values replaced by their expectation given the rest.

        ``E[x_h | x_o] = Σ_s p(s | x_o) E[x_h | x_o, s]``.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Rows, NaN where a value is missing.
        return_cov : bool, default=False
            Whether to return the covariances of the missing values given the rest as well: within
            the components and between their expectations.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            The rows without missing values.
        covariances : ndarray of shape (n_samples, n_features, n_features)
            Only with ``return_cov``: ``Cov(x | x_o)``, zero in the rows and columns of values that
            are known.

        Examples
        --------
        >>> import numpy as np
        >>> from sidelight.mixture import GaussianMixture
        >>> X = np.random.default_rng(0).normal(size=(200, 2)) @ [[1.0, 1.0], [0.0, 0.1]]
        >>> model = GaussianMixture(1, random_state=0).fit(X)
        >>> filled, covariances = model.impute([[2.0, np.nan]], return_cov=True)
        >>> filled.round(1), round(float(np.sqrt(covariances[0, 1, 1])), 1)
        (array([[2., 2.]]), 0.1)
        """
        check_is_fitted(self)
        source = self._validate_rows(X, reset=False)
        components, log_weights = incomplete(self._components), self._log_weights
        dtype = source.dtype

        def work(block: Any) -> tuple[tuple[()], tuple[Array, ...]]:
            filled, spreads = [], []
            for start, stop in feature_tiles(components, block):
                rows = np.asarray(block[start:stop])
                features = components.features(rows)
                resp = softmax(components.log_density(features) + log_weights, axis=1)
                expected = components.expected_rows(features, resp)
                filled.append(np.where(np.isnan(rows), expected, rows).astype(dtype))
                if return_cov:
                    spread = conditional_covariances(components.inner, rows, resp)
                    spreads.append(spread.astype(dtype))
            done = (np.concatenate(filled),)
            return (), (*done, np.concatenate(spreads)) if return_cov else done

        found = source.map_reduce(work)[1]
        return found if return_cov else found[0]

    def latent(self, X: Any, *, most_probable: bool = False) -> Array:
        """Return the posterior means ``E[z | x, s]`` of the latent coordinates of the rows.

        Only with low-rank covariances.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Rows.
        most_probable : bool, default=False
            Whether to return only those of the most probable component of every row.

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
        either: Any = MissingAwareComponents(self._components)
        log_weights, dtype = self._log_weights, source.dtype

        def work(block: Any) -> tuple[tuple[()], tuple[Array]]:
            pieces = []
            for start, stop in feature_tiles(either, block):
                components = either.pick(block[start:stop])
                latent = components.latent(block[start:stop]).astype(dtype)
                if most_probable:
                    joint = components.log_density(components.features(block[start:stop]))
                    own = np.argmax(joint + log_weights, axis=1)
                    latent = latent[np.arange(len(latent)), own]
                pieces.append(latent)
            return (), (np.concatenate(pieces),)

        return source.map_reduce(work)[1][0]
