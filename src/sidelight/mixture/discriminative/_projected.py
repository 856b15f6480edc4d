"""Clustering and projection at the same time, from constraints (Law 2006, section 5.5)."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sidelight._fit.buffers import Buffers
from sidelight._fit.parameters import (
    Count,
    estimator,
)
from sidelight._typing import Array
from sidelight.constraints import Constraints
from sidelight.engine import RowSource
from sidelight.mixture._core import EMResult, InBuffers
from sidelight.mixture.discriminative._base import BestStart, _DiscriminativeBase
from sidelight.mixture.discriminative._factor_models import FactorModel, TiedModel
from sidelight.mixture.discriminative._objective import WhiteRows
from sidelight.mixture.gaussian._components import GaussianComponents
from sidelight.tags import own_tags


@estimator
class ProjectedDiscriminativeMixture(_DiscriminativeBase):
    """Clusters and the few directions that show them, found together from constraints.

    The rows are made white and projected, ``z = Fᵀ W (x - mean)``; there they are a mixture of
    Gaussians with a common precision. Maximizes over ``F``, weights and means::

        J = Σ_i log Σ_j α_j N(z_i; m_j, I)  +  n/2 log det FᵀF  -  λ · violated

    with the smooth count of :class:`DiscriminativeMixture`. The likelihood part looks for
    directions in which the rows are clustered, as discriminant analysis does for known classes; the
    constraints say which clusters. For clusters of any shape, put kernel PCA in front.
    Read more in the :doc:`user guide </mixture/discriminative>`.

    Parameters
    ----------
    n_directions : int >= 1, default=2
        Number of directions; at most that of the features.
    reg_covar : float >= 0, finite, default=1e-06
        Added to the variances of the features before they are made white: directions without
        variance do not attract.

    Attributes
    ----------
    projection_ : ndarray of shape (n_features, n_directions)
        ``W F``: clusters have unit covariance in ``(X - mean_) @ projection_``; the first
        direction separates the means most.
    mean_ : ndarray of shape (n_features,)
        Mean of the rows.
    means_ : ndarray of shape (n_components, n_directions)
        Means of the projected clusters.
    covariances_, precisions_, precisions_cholesky_ : ndarray of shape (n_directions, n_directions)
        Their common covariance, which is the identity.

    Notes
    -----
    Law (2006), section 5.5. The density is that of the projected white rows: ``score`` and ``bic``
    compare numbers of clusters for the same number of directions only. Rows that :meth:`sample`
    draws have all features: in the directions that do not show the clusters they vary as the data
    do. With as many features as
    rows a projection that keeps every constraint nearly always exists and means little: reduce the
    features first.

    Examples
    --------
    >>> from sidelight.datasets import make_four_gaussians
    >>> from sidelight.evaluation import clustering_accuracy
    >>> from sidelight.mixture import ProjectedDiscriminativeMixture
    >>> data = make_four_gaussians(random_state=0)
    >>> model = ProjectedDiscriminativeMixture(n_components=2, n_directions=1, random_state=0)
    >>> labels = model.fit_predict(data.data, constraints=data.constraints)
    >>> clustering_accuracy(data.target, labels) > 0.95
    True
    >>> model.transform(data.data).shape
    (400, 1)
    """

    _: KW_ONLY
    n_directions: Count = 2

    _own_tags = own_tags(
        summary="clusters and a projection that shows them, from constraints",
        source="Law 2006, section 5.5",
        complexity="O((n + m) k d) per evaluation for m constraints, O(n + m d) memory",
    )

    def _model(self, rows: WhiteRows, added: float) -> FactorModel:
        d = len(rows.mean)
        return TiedModel(self.n_components, d, min(self.n_directions, d), rows.total)

    def _is_start_random(self) -> bool:
        return self.means_init is None

    def _first(self, rows: WhiteRows, model: Any, rng: np.random.RandomState) -> Array:
        means = self._first_means(rows, rng)
        directions = np.linalg.qr(rng.standard_normal((model.n_features, model.rank)))[0]
        if self.means_init is not None:  # the directions in which these means differ most
            directions = np.linalg.svd(means - means.mean(axis=0))[2][: model.rank].T
        if model.rank == model.n_features:
            directions = np.eye(model.rank)
        start: Array = model.start(means, directions)
        return start

    def _result(self, search: BestStart, largest_square: float) -> EMResult:
        rows = search.rows
        log_weights, _, factor = search.objective.model.moments(search.theta)
        m = search.objective.model.split(search.theta)[1]
        turn = _main_axes(m, np.exp(log_weights))
        projection = rows.whitener @ factor @ turn
        components = ProjectedGaussians(
            rows.mean,
            projection,
            np.linalg.pinv(rows.whitener),
            log_volume=0.5 * float(np.linalg.slogdet(factor.T @ factor)[1]),
            inner=GaussianComponents(
                means=m @ turn,
                covariances=np.eye(len(turn)),
                kind="tied",
                origin=np.zeros(len(turn)),
            ),
        )
        return search.result(components, log_weights, 0.0)

    def _set_parameters(self, components: Any, dtype: np.dtype[Any]) -> None:
        super()._set_parameters(components.inner, dtype)
        self.mean_ = components.mean.astype(dtype)
        self.projection_ = components.projection.astype(dtype)

    def _set_fitted_attributes(
        self, result: EMResult, source: RowSource, constraints: Constraints
    ) -> Self:
        super()._set_fitted_attributes(result, source, constraints)
        self._n_features_out = self.projection_.shape[1]
        return self

    def transform(self, X: Any) -> Array:
        """Project rows on the directions that show the clusters.

        Parameters
        ----------
        X : array or RowSource of shape (n_samples, n_features)
            New rows.

        Returns
        -------
        Z : ndarray of shape (n_samples, n_directions)
            ``(X - mean_) @ projection_``, in the element type of the rows.
        """
        check_is_fitted(self)
        source = self._validate_rows(X, reset=False)
        project, dtype = self._components.project, source.dtype

        def work(block: Any) -> tuple[tuple[()], tuple[Array]]:
            return (), (project(block).astype(dtype),)

        return source.map_reduce(work)[1][0]


@dataclass(frozen=True)
class ProjectedGaussians(InBuffers):
    """Gaussians of projected rows.

    Attributes
    ----------
    mean : ndarray of shape (d,)
        Subtracted from the rows.
    projection : ndarray of shape (d, r)
        Directions.
    spread : ndarray of shape (d, d)
        What white rows are multiplied with to have the covariance of the data.
    log_volume : float
        Added to log-densities: how much the projection stretches white rows.
    inner : GaussianComponents
        Components of the projected rows.
    """

    mean: Array
    projection: Array
    spread: Array
    log_volume: float
    inner: GaussianComponents

    @property
    def n_components(self) -> int:
        """Number of components."""
        return self.inner.n_components

    @property
    def n_parameters(self) -> int:
        """Free parameters of means and projection."""
        k, r = self.inner.means.shape
        # A rotation of the projected rows changes nothing.
        return k * r + self.projection.size - r * (r - 1) // 2

    @property
    def n_statistics(self) -> int:
        """Numbers per row that are in memory at a time."""
        return self.inner.n_statistics + len(self.mean)

    def in_buffers(self, memory: Buffers) -> Self:
        """Return the same components, those of projected rows in buffers as well."""
        bound = super().in_buffers(memory)
        bound.__dict__["inner"] = self.inner.in_buffers(memory)
        return bound

    def prepare(self) -> None:
        """Prepare the components of projected rows."""
        self.inner.prepare()

    def project(self, block: Any) -> Array:
        """Projected rows."""
        n, r = len(block), self.projection.shape[1]
        centered = self.memory.array("centered", block.shape)
        np.subtract(block, self.mean, out=centered)
        return np.matmul(centered, self.projection, out=self.memory.array("projected", (n, r)))

    def features(self, block: Any) -> Array:
        """Statistics of the projected rows."""
        return self.inner.features(self.project(block))

    def log_density(self, features: Array) -> Array:
        """Log-densities of the projected rows."""
        log_density = self.inner.log_density(features)
        log_density += self.log_volume
        return log_density

    def sample(self, component: int, n: int, rng: np.random.RandomState) -> Array:
        """Draw projected rows, and with them rows as the data are.

        In the directions that the projection does not see, rows are white noise: a Gaussian of the
        data's covariance given the projected row, whatever the component.
        """
        drawn = self.inner.sample(component, n, rng)
        inward = self.spread @ self.projection
        back = np.linalg.pinv(inward)
        white = rng.standard_normal((n, len(self.mean)))
        white += (drawn - white @ inward) @ back
        return np.asarray(self.mean + white @ self.spread)


def _main_axes(m: Array, weights: Array) -> Array:
    """Rotation to the axes along which the means differ most, each pointing one way."""
    offsets = m - weights @ m
    axes = np.linalg.eigh((offsets * weights[:, None]).T @ offsets)[1][:, ::-1]
    along = offsets @ axes
    largest = along[np.argmax(np.abs(along), axis=0), np.arange(axes.shape[1])]
    return np.asarray(axes * np.where(largest < 0, -1.0, 1.0))
