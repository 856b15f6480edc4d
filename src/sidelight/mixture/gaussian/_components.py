"""Gaussian components and the base of their mixtures (Verbeek 2004, section 3.1.4).

    log p(x | s) = -½ [ D log 2π + log|Σ_s| + (x - μ_s)ᵀ Σ_s⁻¹ (x - μ_s) ]

is linear in ``y`` and the products ``y_i y_j`` of ``y = x - origin``. That is fast unless there are
many features, but cancels when a component is tiny beside the spread of the data; in both cases
differences to the means are taken instead (:mod:`sidelight.mixture.gaussian._local`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from functools import cache, cached_property
from typing import Any, Literal, Self, TypeAlias

import numpy as np
from scipy.linalg.lapack import dtrtri

from sidelight._fit.parameters import (
    ArrayLike,
    Count,
    FiniteNonNegative,
    NonNegative,
    Restarts,
    Seed,
    Verbosity,
    estimator,
    n_restarts,
)
from sidelight._kernels.mixture.responsibilities import product_columns, square_columns
from sidelight._typing import Array
from sidelight.engine import RowSource
from sidelight.mixture._core import (
    ExponentialFamily,
    MixtureBase,
    Parameters,
    StartName,
    Statistics,
    WithMeans,
    column_sums,
    components_of_clusters,
    data_moments,
    normalized_log,
    rough_clusters,
)
from sidelight.mixture.gaussian import _local as local

CovarianceType: TypeAlias = Literal["full", "tied", "diag", "spherical"]
COVARIANCE_TYPES = ("full", "tied", "diag", "spherical")

#: A component with less responsibility than this keeps its parameters.
STARVED = 10 * np.finfo(np.float64).eps

#: A variance below this is none.
MIN_VARIANCE = float(np.finfo(np.float64).tiny)

#: Products of centered rows lose this many units of rounding against the density at most.
CANCELLATION = 1e9

#: With more features than this, products of all pairs outgrow the cache.
MAX_FEATURES = 48


@dataclass(frozen=True)
class GaussianComponents(WithMeans, ExponentialFamily):
    """Means and covariances of all components.

    Attributes
    ----------
    means : ndarray of shape (k, D)
        Means.
    covariances : ndarray
        Of shape (k, D, D), (D, D), (k, D) or (k,) for full, tied, diagonal, spherical ones.
    kind : {"full", "tied", "diag", "spherical"}
        Kind of covariances.
    origin : ndarray of shape (D,)
        Statistics are taken about this point: the mean of the data.
    reg_covar : float
        Added to the variances in every m-step.
    noise : float
        Variance of measurement noise: every row is a small Gaussian with this variance, so that
        the expected likelihood is bounded and its ascent exact (Verbeek 2004, section 3.1.2).
    largest_square : float
        Largest squared distance of a row to the origin, which tells when products cancel.
    """

    means: Array
    covariances: Array
    kind: str
    origin: Array
    reg_covar: float = 0.0
    noise: float = 0.0
    largest_square: float = 0.0

    @property
    def n_parameters(self) -> int:
        """Free parameters of means and covariances."""
        k, d = self.means.shape
        of_covariances = {
            "full": k * d * (d + 1) // 2,
            "tied": d * (d + 1) // 2,
            "diag": k * d,
            "spherical": k,
        }
        return k * d + of_covariances[self.kind]

    @property
    def n_shared_parameters(self) -> int:
        """Free parameters that all components share: those of a tied covariance."""
        d = self.means.shape[1]
        return d * (d + 1) // 2 if self.kind == "tied" else 0

    @property
    def n_statistics(self) -> int:
        """Numbers per row in :meth:`features`."""
        d = self.means.shape[1]
        if self.kind in ("full", "tied") and not self.is_local:
            return d * (d + 3) // 2
        return 2 * d

    @cached_property
    def is_local(self) -> bool:
        """Whether differences to the means are taken, since products would cancel or be many."""
        if self.kind in ("full", "tied") and self.means.shape[1] > MAX_FEATURES:
            return True
        return self.largest_square * float(np.max(self.precisions)) > CANCELLATION

    @cached_property
    def factors(self) -> Array:
        """Cholesky factors of the covariances, or standard deviations."""
        if self.kind in ("full", "tied"):
            return np.linalg.cholesky(self.covariances)
        return np.sqrt(self.covariances)

    @cached_property
    def precision_factors(self) -> Array:
        """``F`` with ``F Fᵀ = Σ⁻¹``, as scikit-learn's ``precisions_cholesky_``."""
        if self.kind == "full":
            return np.array([dtrtri(factor, lower=1)[0].T for factor in self.factors])
        if self.kind == "tied":
            return np.ascontiguousarray(dtrtri(self.factors, lower=1)[0].T)
        return 1.0 / self.factors

    @cached_property
    def precisions(self) -> Array:
        """Inverse covariances."""
        if self.kind in ("full", "tied"):
            return self.precision_factors @ np.swapaxes(self.precision_factors, -1, -2)
        return self.precision_factors**2

    def features(self, block: Any) -> Array:
        """Rows about the origin and their products, as far as the covariances need them."""
        rows = np.ascontiguousarray(block)
        n, d = rows.shape
        if self.is_local:
            return np.subtract(rows, self.origin, out=self.memory.array("features", (n, d)))
        if self.kind in ("full", "tied"):
            features = self.memory.array("features", (d * (d + 3) // 2, n))
            product_columns(rows, self.origin, features)
        else:
            n_squares = d if self.kind == "diag" else 1
            features = self.memory.array("features", (d + n_squares, n))
            square_columns(rows, self.origin, features)
        return features.T

    @cached_property
    def log_normalizers(self) -> Array:
        """Log-densities at the means."""
        k, d = self.means.shape
        factors = self.precision_factors
        if self.kind in ("full", "tied"):
            log_factor = np.log(np.diagonal(factors, axis1=-2, axis2=-1)).sum(axis=-1)
            traces = np.einsum("...ij,...ij->...", factors, factors)
        elif self.kind == "diag":
            log_factor = np.log(factors).sum(axis=1)
            traces = np.sum(factors**2, axis=1)
        else:
            log_factor = d * np.log(factors)
            traces = d * factors**2
        return np.broadcast_to(
            log_factor - 0.5 * d * math.log(2 * math.pi) - 0.5 * self.noise * traces, (k,)
        )

    def _natural(self) -> tuple[Array, Array]:
        k, d = self.means.shape
        mu = self.means - self.origin
        if self.kind in ("full", "tied"):
            precisions = np.broadcast_to(self.precisions, (k, d, d))
            linear = np.einsum("kij,kj->ki", precisions, mu)
            upper = upper_triangle(d)
            quadratic = precisions[:, upper[0], upper[1]] * np.where(
                upper[0] == upper[1], -0.5, -1.0
            )
        else:
            precisions = self.precisions if self.kind == "diag" else self.precisions[:, None]
            linear = precisions * mu
            quadratic = -0.5 * precisions
        offset = self.log_normalizers - 0.5 * np.einsum("ki,ki->k", linear, mu)
        return np.ascontiguousarray(np.hstack((linear, quadratic)).T), offset

    def log_density(self, features: Array) -> Array:
        """``log p(x_n | s)`` of every row and component."""
        n, (k, d) = len(features), self.means.shape
        if self.is_local:
            log_density = local.squared_distances(
                features, self.means - self.origin, self, self.memory
            )
            log_density *= -0.5
            log_density += self.log_normalizers
            return log_density
        if self.kind == "tied":  # the quadratic part is the same for all components
            eta, offset = self.natural
            log_density = self.memory.array("densities", (n, k))
            np.matmul(features[:, :d], eta[:d], out=log_density)
            log_density += offset
            quadratic = self.memory.array("quadratic", n)
            log_density += np.matmul(features[:, d:], eta[d:, 0], out=quadratic)[:, None]
            return log_density
        return super().log_density(features)

    def prepare(self) -> None:
        """Compute factors and natural parameters, as far as densities need them."""
        needed = ("precision_factors", "log_normalizers") if self.is_local else ("natural",)
        for name in needed:
            getattr(self, name)

    def statistics(self, features: Array, resp: Array) -> Statistics:
        """Sums of responsibilities, and of the rows and their products weighted by them."""
        if self.is_local:
            return local.moments(features, resp, self.means - self.origin, self.kind, self.memory)
        if self.kind == "tied":
            k, d = self.means.shape
            common = features[:, d:].T @ resp.sum(axis=1)
            sums = np.matmul(features[:, :d].T, resp, out=self.memory.array("sums", (d, k)))
            return column_sums(resp), sums.T, common
        return super().statistics(features, resp)

    def m_step(self, statistics: Statistics) -> Self:
        """Means and covariances of the weighted rows; a starved component keeps its own."""
        fed, means, scatter = self.scatters(statistics)
        return replace(self, means=means, covariances=self.acceptable(scatter, fed))

    def scatters(self, statistics: Statistics) -> tuple[Array, Array, Array]:
        """Which components have rows at all, the means, and the scatter about these.

        What is added to the variances is in the scatter, which may be singular all the same.
        """
        totals = statistics[0]
        d = self.means.shape[1]
        safe = np.maximum(totals, STARVED)[:, None]
        if self.is_local:
            _, first, second = statistics
            shape = (-1, *[1] * (second.ndim - 1))
            return self._from_moments(
                totals, first / safe, second / safe.reshape(shape), self.means
            )
        if self.kind == "tied":
            _, first, second = statistics
            second = _symmetric(second[None], d)[0] / totals.sum()
            return self._from_moments(totals, first / safe, second, self.origin)
        sums = statistics[1]
        first, second = sums[:, :d] / safe, sums[:, d:] / safe
        if self.kind == "full":
            second = _symmetric(second, d)
        return self._from_moments(totals, first, second, self.origin)

    def _from_moments(
        self, totals: Array, first: Array, second: Array, center: Array
    ) -> tuple[Array, Array, Array]:
        """Means and scatter from the moments of the rows about ``center``.

        The second moments are those of each component; of tied ones also those of all rows.
        """
        fed = totals > STARVED
        means = np.where(fed[:, None], center + first, self.means)
        d = means.shape[1]
        added = self.reg_covar + self.noise
        if self.kind == "tied":
            if second.ndim == 3:
                second = np.einsum("k,kij->ij", totals, second) / totals.sum()
            scatter = second - (first * (totals / totals.sum())[:, None]).T @ first
            scatter[np.arange(d), np.arange(d)] += added
        elif self.kind == "full":
            scatter = second - first[:, :, None] * first[:, None, :]
            scatter[:, np.arange(d), np.arange(d)] += added
        elif self.kind == "diag":
            scatter = np.maximum(second - first**2, 0.0) + added
        else:
            scatter = np.maximum(second[:, 0] - np.sum(first**2, axis=1), 0.0) / d + added
        return fed, means, scatter

    def acceptable(self, covariances: Array, fed: Array) -> Array:
        """Keep the old covariance of a component whose new one is singular or has no rows."""
        if self.kind == "tied":
            return covariances if _are_positive(covariances[None])[0] else self.covariances
        if self.kind == "full":
            good = fed & _are_positive(covariances)
            return np.where(good[:, None, None], covariances, self.covariances)
        good = covariances > MIN_VARIANCE
        if self.kind == "diag":
            good = np.all(good, axis=1, keepdims=True) & fed[:, None]
        else:
            good = good & fed
        return np.where(good, covariances, self.covariances)

    def full_covariances(self) -> Array:
        """All covariances as matrices, of shape (k, D, D)."""
        k, d = self.means.shape
        if self.kind in ("full", "tied"):
            return np.broadcast_to(self.covariances, (k, d, d))
        variances = self.covariances if self.kind == "diag" else self.covariances[:, None]
        return np.broadcast_to(variances, (k, d))[:, :, None] * np.eye(d)

    def with_parameters(self, **changes: Any) -> Self:
        """The same components with other means or covariances."""
        return replace(self, **changes)

    def attributes(self, dtype: np.dtype[Any]) -> dict[str, Any]:
        """Fitted attributes, shaped as in scikit-learn."""
        values = {
            "means_": self.means,
            "covariances_": self.covariances,
            "precisions_": self.precisions,
            "precisions_cholesky_": self.precision_factors,
        }
        return {name: value.astype(dtype) for name, value in values.items()}

    def sample(self, component: int, n: int, rng: np.random.RandomState) -> Array:
        """Draw rows from one component."""
        normal = rng.standard_normal((n, self.means.shape[1]))
        if self.kind in ("full", "tied"):
            factor = self.factors[component] if self.kind == "full" else self.factors
            return self.means[component] + normal @ factor.T
        return self.means[component] + normal * self.factors[component]


def one_gaussian(
    mean: Array,
    covariance: Array,
    k: int,
    kind: str,
    *,
    reg_covar: float,
    noise: float = 0.0,
    largest_square: float = 0.0,
) -> GaussianComponents:
    """``k`` copies of the Gaussian of the whole data, which the first m-step starts from."""
    d = len(mean)
    matrix = covariance + (reg_covar + noise) * np.eye(d)
    if not _are_positive(matrix[None])[0]:  # constant features, and nothing was added
        matrix = matrix + (float(np.trace(matrix)) / d or 1.0) * 1e-9 * np.eye(d)
    variances = np.diagonal(matrix)
    covariances = {
        "full": np.repeat(matrix[None], k, axis=0),
        "tied": matrix,
        "diag": np.repeat(variances[None], k, axis=0),
        "spherical": np.full(k, variances.mean()),
    }[kind]
    return GaussianComponents(
        means=np.repeat(mean[None], k, axis=0),
        covariances=covariances,
        kind=kind,
        origin=mean,
        reg_covar=reg_covar,
        noise=noise,
        largest_square=largest_square,
    )


@cache
def upper_triangle(d: int) -> tuple[Array, Array]:
    """Rows and columns of the upper triangle of a matrix, row by row."""
    rows, columns = np.triu_indices(d)
    return rows, columns


def _symmetric(packed: Array, d: int) -> Array:
    """Matrices from their upper triangles, row by row."""
    upper = upper_triangle(d)
    matrices = np.empty((len(packed), d, d))
    matrices[:, upper[0], upper[1]] = packed
    matrices[:, upper[1], upper[0]] = packed
    return matrices


def _are_positive(matrices: Array) -> Array:
    """Whether each matrix has a Cholesky factor that is not lost in rounding."""
    try:
        pivots = np.diagonal(np.linalg.cholesky(matrices), axis1=1, axis2=2)
    except np.linalg.LinAlgError:
        if len(matrices) == 1:
            return np.zeros(1, dtype=bool)
        return np.concatenate([_are_positive(matrix[None]) for matrix in matrices])
    largest = np.diagonal(matrices, axis1=1, axis2=2).max(axis=1)
    smallest = pivots.min(axis=1)
    good: Array = (smallest > 0) & (smallest**2 > 1e-15 * largest)
    return good


class GaussianBase(MixtureBase):
    """Mixtures of Gaussians: the parameters of all of them, and where EM starts."""

    _family_tags = MixtureBase._family_tags | {"out_of_core": True}
    _common_attributes = MixtureBase._common_attributes | {
        "means_ : ndarray of shape (n_components, n_features)": "Means.",
        "covariances_ : ndarray": "Covariances, shaped as in scikit-learn.",
        "precisions_ : ndarray": "Inverses of the covariances.",
        "precisions_cholesky_ : ndarray": "Factors of the precisions.",
    }

    covariance_type: str
    reg_covar: float
    n_init: Restarts
    init_params: StartName
    weights_init: Any
    means_init: Any
    precisions_init: Any

    #: Standard deviation of measurement noise, where a subclass has it.
    measurement_noise: float = 0.0

    def _whole_data(self, source: RowSource, k: int, sample_weight: Array | None) -> Any:
        """``k`` copies of the Gaussian of all rows."""
        mean, covariance, largest = data_moments(source, sample_weight, reg_covar=self.reg_covar)
        return one_gaussian(
            mean,
            covariance,
            k,
            self.covariance_type,
            reg_covar=self.reg_covar,
            noise=self.measurement_noise**2,
            largest_square=largest,
        )

    def _start_is_given(self) -> bool:
        """Whether the parameters define the start, so that nothing about it is random."""
        given = self.means_init is not None and self.precisions_init is not None
        return given or self._last_parameters() is not None

    def _n_restarts(self) -> int:
        """Number of restarts; a start that is given is run once."""
        return 1 if self._start_is_given() else n_restarts(self)

    def _start(
        self,
        source: RowSource,
        whole: Any,
        clusters: Callable[[], Array],
        sample_weight: Array | None,
    ) -> Parameters:
        """Parameters of the last fit, those given by the user, or those of rough clusters."""
        last = self._last_parameters()
        if last is not None:
            return last
        k = whole.n_components
        start = Parameters(whole, np.full(k, -np.log(k)))
        if not self._start_is_given():
            found = clusters()
            for _ in range(getattr(whole, "n_first_steps", 1)):
                start = components_of_clusters(source, start.components, found, sample_weight)
        return given_parameters(
            *start,
            weights=self.weights_init,
            means=self.means_init,
            precisions=self.precisions_init,
        )

    def _rough_start(
        self,
        source: RowSource,
        whole: Any,
        rng: np.random.RandomState,
        sample_weight: Array | None,
        labels: Array | None = None,
        rough: RowSource | None = None,
    ) -> Parameters:
        """Start from rough clusters of the rows, or of ``rough`` in their place."""
        return self._start(
            source,
            whole,
            lambda: rough_clusters(
                source if rough is None else rough,
                whole.n_components,
                self.init_params,
                rng,
                sample_weight=sample_weight,
                labels=labels,
            ),
            sample_weight,
        )


@estimator
class GaussianEMBase(GaussianBase):
    """Mixtures of Gaussians by EM: the parameters that all of them have."""

    _common_attributes = GaussianBase._common_attributes | {
        "classes_ : ndarray": "Known class that each of the first components stands for.",
    }

    n_components: Count = 1
    _: KW_ONLY
    covariance_type: CovarianceType = "full"
    tol: NonNegative = 1e-5
    reg_covar: FiniteNonNegative = 1e-6
    max_iter: Count = 200
    n_init: Restarts = 1
    init_params: StartName = "kmeans"
    weights_init: ArrayLike | None = None
    means_init: ArrayLike | None = None
    precisions_init: ArrayLike | None = None
    warm_start: bool = False
    random_state: Seed = None
    verbose: Verbosity = 0


def given_parameters(
    components: Any, log_weights: Array, *, weights: Any, means: Any, precisions: Any
) -> Parameters:
    """Put the parameters that the user gave in place of those found."""
    k, shape = components.n_components, components.means.shape
    if weights is not None:
        given = np.asarray(weights, dtype=np.float64)
        if given.shape != (k,) or not np.all(given >= 0) or not np.isclose(given.sum(), 1.0):
            raise ValueError(
                f"weights_init must hold {k} weights that are not negative and add up to 1, got "
                f"{weights!r}."
            )
        log_weights = normalized_log(given)
    if means is not None:
        given = np.asarray(means, dtype=np.float64)
        if given.shape != shape or not np.all(np.isfinite(given)):
            raise ValueError(
                f"means_init must hold finite numbers in shape {shape}, got shape {given.shape}."
            )
        components = components.with_parameters(means=given)
    if precisions is not None:
        covariances = _invert(precisions, components.covariances.shape, components.kind)
        components = components.with_parameters(covariances=covariances)
    return Parameters(components, log_weights)


def _invert(precisions: Any, shape: tuple[int, ...], kind: str) -> Array:
    """Covariances from the precisions that the user gave."""
    given = np.asarray(precisions, dtype=np.float64)
    problem = f"precisions_init must hold positive (definite) precisions in shape {shape}."
    if given.shape != shape or not np.all(np.isfinite(given)):
        raise ValueError(problem)
    if kind in ("full", "tied"):
        try:
            np.linalg.cholesky(given)
        except np.linalg.LinAlgError:
            raise ValueError(problem) from None
        return np.linalg.inv(given)
    if not np.all(given > 0):
        raise ValueError(problem)
    return 1.0 / given
