"""What mixtures of Gaussians share: parameters of the covariances, starts, public names."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from sidelight._typing import Array
from sidelight.engine import RowSource
from sidelight.mixture._core._base import _MixtureBase
from sidelight.mixture._core._em import normalized_log
from sidelight.mixture._core._starts import components_of_clusters, data_moments, rough_clusters
from sidelight.mixture.gaussian._components import (
    COVARIANCE_TYPES,
    GaussianComponents,
    one_gaussian,
)
from sidelight.mixture.gaussian._missing import Incomplete


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

    _covariance_types: tuple[str, ...] = COVARIANCE_TYPES

    def _check_gaussian(self) -> None:
        """Check the parameters of the covariances."""
        if self.covariance_type not in self._covariance_types:
            raise ValueError(
                f"covariance_type must be one of {', '.join(map(repr, self._covariance_types))}, "
                f"got {self.covariance_type!r}."
            )
        for name in ("reg_covar", "measurement_noise"):
            if not getattr(self, name) >= 0:
                raise ValueError(f"{name} must not be negative, got {getattr(self, name)!r}.")

    def _start(
        self,
        source: RowSource,
        whole: Any,
        rng: np.random.RandomState,
        *,
        sample_weight: Array | None = None,
        labels: Array | None = None,
        rough: RowSource | None = None,
    ) -> tuple[Any, Array]:
        """Components and mixing weights (as logarithms) to start from.

        ``rough`` are rows to find clusters of in the place of those of the source.
        """
        if self.warm_start and hasattr(self, "_components"):
            return self._components, self._log_weights
        k = whole.n_components
        components: Any = whole
        log_weights = np.full(k, -np.log(k))
        if any(given is None for given in (self.means_init, self.precisions_init)):
            clusters = rough_clusters(
                source if rough is None else rough,
                k,
                self.init_params,
                rng,
                sample_weight=sample_weight,
                labels=labels,
            )
            components, log_weights = self._first_components(source, whole, clusters, sample_weight)
        return given_parameters(
            components, log_weights, self.weights_init, self.means_init, self.precisions_init
        )

    def _first_components(
        self, source: RowSource, whole: Any, clusters: Array, sample_weight: Array | None
    ) -> tuple[Any, Array]:
        """Components and mixing weights (as logarithms) of rough clusters."""
        return components_of_clusters(source, whole, clusters, sample_weight)

    def _whole_data(self, source: RowSource, k: int, sample_weight: Array | None) -> Any:
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


def given_parameters(
    components: Any, log_weights: Array, weights: Any, means: Any, precisions: Any
) -> tuple[Any, Array]:
    """Put the parameters that the user gave in place of those found."""
    if isinstance(components, Incomplete):
        inner, log_weights = given_parameters(
            components.inner, log_weights, weights, means, precisions
        )
        return replace(components, inner=inner), log_weights
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
