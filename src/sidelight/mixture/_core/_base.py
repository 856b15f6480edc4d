"""Base of all mixtures: restarts, fitted attributes, queries of a density, rough clusters."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Any, ClassVar, Literal, Self, TypeAlias

import numpy as np
from sklearn.base import (
    ClassNamePrefixFeaturesOutMixin,
    DensityMixin,
    TransformerMixin,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from sidelight._fit.checks import check_weights
from sidelight._fit.em.loop import (
    ConstrainedPosterior,
    EMResult,
    Parameters,
    em,
    log_joint_blocks,
)
from sidelight._kernels.mixture.responsibilities import log_sums, posteriors
from sidelight._typing import Array
from sidelight._warn import warn
from sidelight._words import setting
from sidelight.base import CLUSTERER_ATTRIBUTES, Clusterer
from sidelight.cluster import KMeans, SeededKMeans
from sidelight.constraints import Constraints
from sidelight.constraints.inner import check_one_index
from sidelight.engine import RowSource, as_rows
from sidelight.engine.inner import opened
from sidelight.exceptions import SidelightError
from sidelight.mixture._core import _criteria as criteria
from sidelight.tags import SOFT_TAGS

#: Names of rough clusters to start from.
StartName: TypeAlias = Literal["kmeans", "k-means++", "random_from_data", "random"]

#: Parameters that mean the same in all mixtures that have them.
COMMON_PARAMETERS = {
    "n_components": "Number of components ``k``.",
    "covariance_type": "Shape of the covariances: one matrix per component, one for all, variances "
    "per component and feature, or one variance per component.",
    "tol": "Stop when an iteration improves the objective, which is per row, by no more than this.",
    "reg_covar": "Added to the variances, which keeps components from collapsing onto single rows.",
    "init_params": "Rough clusters to start from: k-means, a single step of it from k-means++ or "
    "from random rows, or random clusters.",
    "weights_init": "Initial mixing weights; by default those of the rough clusters.",
    "means_init": "Initial means; by default those of the rough clusters.",
    "precisions_init": "Initial precisions, shaped like ``precisions_``; by default those of the "
    "rough clusters.",
    "warm_start": "Whether to start from the parameters of the last fit.",
}


class MixtureBase(
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    DensityMixin,
    Clusterer,
):
    """A mixture ``p(x) = Σ_s π_s p(x | s)`` fitted to rows.

    Subclasses have the parameters ``n_components``, ``max_iter``, ``tol``, ``random_state`` and
    ``verbose``; in ``fit`` they find an :class:`EMResult` and pass it to
    :meth:`_set_fitted_attributes`. New rows are measured by ``_components`` and ``_log_weights``.
    """

    _common_parameters = COMMON_PARAMETERS
    _common_attributes: ClassVar[dict[str, str]] = CLUSTERER_ATTRIBUTES | {
        "weights_ : ndarray of shape (n_components,)": "Mixing weights ``π``."
    }
    _family_tags = SOFT_TAGS | {"monotone": True}

    n_components: int
    max_iter: int
    tol: float
    warm_start: bool = False

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        constraints: Constraints | None = None,
        sample_weight: Any = None,
    ) -> Self:
        source, known = self._validate_fit(X, y, constraints)
        weights = check_weights(sample_weight, source, X)
        best = self._fit_em(source, known, weights)
        return self._set_fitted_attributes(best, source, known)

    def _fit_em(self, source: RowSource, known: Constraints, weights: Array | None) -> EMResult:
        """Find the parameters."""
        raise NotImplementedError

    def _last_parameters(self) -> Parameters | None:
        """Parameters of the last fit, where a warm start is wanted."""
        if self.warm_start and hasattr(self, "_components"):
            return Parameters(self._components, self._log_weights)
        return None

    def _best_em(
        self,
        source: RowSource,
        sample_weight: Array | None,
        constrained: ConstrainedPosterior,
        start: Callable[[int, np.random.RandomState, Any], Parameters],
        *,
        n_init: int,
        noisy: bool = False,
    ) -> EMResult:
        """Return the best of several restarts of EM.

        ``start(number, rng, constrained)`` gives the initial parameters of a restart, which has
        constrained rows of its own.
        """

        def run(number: int, rng: np.random.RandomState) -> EMResult:
            own = constrained.restarted(rng)
            return em(
                source,
                *start(number, rng, own),
                sample_weight=sample_weight,
                constrained=own,
                noisy=noisy,
                max_iter=self.max_iter,
                tol=self.tol,
                description=type(self).__name__,
                verbose=self.verbose,
            )

        return self._best_restart(n_init, run, source)

    def _set_fitted_attributes(
        self, result: EMResult, source: RowSource, constraints: Constraints
    ) -> Self:
        """Set the fitted attributes."""
        self._components = result.components
        self._log_weights = result.log_weights
        self.weights_ = np.exp(result.log_weights).astype(source.dtype)
        self._set_parameters(result.components, source.dtype)
        self.objective_ = result.objective
        self.history_ = result.history
        self.n_iter_ = result.n_iter
        self.converged_ = result.converged
        self.labels_ = self._labels(source, result.constrained)
        self._compare_with(constraints)
        self._n_features_out = len(self.weights_)
        if not result.converged and not result.interrupted:
            warn(
                f"{type(self).__name__} did not converge in "
                f"{setting('max_iter', self.max_iter)} iterations; allow more, or a larger tol.",
                ConvergenceWarning,
            )
        return self

    def _set_parameters(self, components: Any, dtype: np.dtype[Any]) -> None:
        """Set the attributes that hold the parameters of the components."""
        for name, value in components.attributes(dtype).items():
            setattr(self, name, value)

    def _labels(self, source: RowSource, constrained: ConstrainedPosterior | None) -> Array:
        """Most probable component of every row, as the constraints allow."""
        labels = self._map_joint(source, most_probable)
        if constrained is not None and len(constrained.rows):
            rows = as_rows(source.take(constrained.rows))
            density = log_joint_blocks(rows, self._components, 0.0, lambda joint: joint)
            labels[constrained.rows] = constrained.labels(density, self._log_weights)
        return labels

    def _map_joint(self, source: RowSource, finish: Callable[[Array], Array]) -> Array:
        """Apply ``finish`` to ``log π_s + log p(x | s)`` of the rows, block by block."""
        joint: Array = log_joint_blocks(source, self._components, self._log_weights, finish)
        return joint

    def predict(self, X: Any) -> Array:
        """Return the most probable component of every row.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            New rows, independent of each other.

        Returns
        -------
        labels : ndarray of int32, shape (n_samples,)
            Component of every row.
        """
        check_is_fitted(self)
        return self._map_joint(self._validate_rows(X, reset=False), most_probable)

    def predict_proba(self, X: Any) -> Array:
        """Return the probability ``p(s | x)`` of every component for every row.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            New rows.

        Returns
        -------
        resp : ndarray of shape (n_samples, n_components)
            Responsibilities, in the element type of the rows; they add up to 1.
        """
        check_is_fitted(self)
        source = self._validate_rows(X, reset=False)
        return self._map_joint(source, _Posteriors(source.dtype))

    def transform(self, X: Any) -> Array:
        """Return the responsibilities, as :meth:`predict_proba` does: new features of the rows.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            New rows.

        Returns
        -------
        resp : ndarray of shape (n_samples, n_components)
            Responsibilities.
        """
        return self.predict_proba(X)

    def score_samples(self, X: Any) -> Array:
        """Return the log-density ``log p(x)`` of every row.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            New rows.

        Returns
        -------
        log_density : ndarray of float64, shape (n_samples,)
            Logarithms of the density.
        """
        check_is_fitted(self)
        source = self._validate_rows(X, reset=False)
        return self._map_joint(source, log_density_of_rows)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the average log-density of the rows.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            New rows.
        y : object
            Ignored.
        sample_weight : array of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        score : float
            The larger the better.
        """
        X = opened(X)
        check_one_index(sample_weight, X, "sample_weight")
        return float(np.average(self.score_samples(X), weights=sample_weight))

    def sample(self, n_samples: int = 1) -> tuple[Array, Array]:
        """Draw rows from the mixture.

        Parameters
        ----------
        n_samples : int, default=1
            Number of rows to draw.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            Rows, component by component.
        y : ndarray of int32, shape (n_samples,)
            Component that each row was drawn from.
        """
        check_is_fitted(self)
        if not isinstance(n_samples, Integral) or n_samples < 1:
            raise ValueError(f"n_samples must be a whole number above 0, got {n_samples!r}.")
        rng = check_random_state(self.random_state)
        probabilities = np.exp(self._log_weights)
        counts = rng.multinomial(n_samples, probabilities / probabilities.sum())
        rows = [self._components.sample(s, int(n), rng) for s, n in enumerate(counts)]
        labels = np.repeat(np.arange(len(counts), dtype=np.int32), counts)
        return np.concatenate(rows).astype(self.weights_.dtype), labels

    def bic(self, X: Any) -> float:
        """Return the Bayesian information criterion ``-2 L + p log n``; the lower the better.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The rows.
        """
        densities = self.score_samples(X)
        return criteria.bic(float(densities.sum()), self._n_parameters(), len(densities))

    def aic(self, X: Any) -> float:
        """Return Akaike's information criterion ``-2 L + 2 p``; the lower the better.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The rows.
        """
        return criteria.aic(float(self.score_samples(X).sum()), self._n_parameters())

    def mdl(self, X: Any) -> float:
        """Return the description length ``-L + p/2 log n``, half of :meth:`bic`.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The rows.
        """
        return self.bic(X) / 2

    def mml(self, X: Any) -> float:
        """Return the message length of Figueiredo and Jain (2002); the lower the better.

        ``N/2 Σ_s log(n π_s / 12) + k/2 log(n / 12) + k (N + 1)/2 - L`` for ``N`` parameters per
        component: a component is paid for by its own rows only.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The rows.
        """
        densities = self.score_samples(X)
        k = len(self._log_weights)
        n_parameters = int(self._components.n_parameters)
        shared = getattr(self._components, "n_shared_parameters", 0)
        per_component = (n_parameters - shared) // k
        return criteria.mml(
            float(densities.sum()),
            np.exp(self._log_weights),
            per_component,
            len(densities),
            shared=n_parameters - k * per_component,
        )

    def _n_parameters(self) -> int:
        """Free parameters of the components and the mixing weights."""
        return int(self._components.n_parameters) + len(self._log_weights) - 1


class _Posteriors:
    """Responsibilities, in an element type."""

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self._dtype = dtype

    def __call__(self, joint: Array) -> Array:
        resp = np.empty(joint.shape, dtype=self._dtype)
        posteriors(joint, resp)
        return resp


def log_density_of_rows(joint: Array) -> Array:
    """``log p(x)`` from the log-joints of the components."""
    densities = np.empty(len(joint))
    log_sums(joint, densities)
    return densities


def most_probable(joint: Array) -> Array:
    """Number of the component of the largest joint density."""
    return np.argmax(joint, axis=1).astype(np.int32)


def rough_clusters(
    source: RowSource,
    n_components: int,
    how: StartName,
    rng: np.random.RandomState,
    *,
    sample_weight: Array | None = None,
    labels: Array | None = None,
) -> Array:
    """Rough clusters of the rows; class ``c`` of partial labels becomes cluster ``c``."""
    if how == "random":
        clusters = rng.randint(n_components, size=source.n_rows).astype(np.int32)
        return clusters if labels is None else with_known(clusters, labels)
    max_iter = 100 if how == "kmeans" else 1
    if labels is not None and np.any(labels >= 0):
        model: Any = SeededKMeans(n_components, n_init=1, max_iter=max_iter, random_state=rng)
        model.fit(source, constraints=Constraints.from_labels(labels), sample_weight=sample_weight)
        return with_known(model.labels_.copy(), labels)
    init: Any = {"random_from_data": "random", "kmeans": "auto"}.get(how, how)
    model = KMeans(n_components, init=init, n_init=1, max_iter=max_iter, random_state=rng)
    clusters = model.fit(source, sample_weight=sample_weight).labels_
    return clusters


def with_known(clusters: Array, labels: Array) -> Array:
    """Write the labels that are known (0 or more) into the clusters."""
    rows = np.flatnonzero(labels >= 0)
    clusters[rows] = labels[rows]
    return clusters


def known_classes(known: Constraints, n_components: int) -> tuple[Array, Array]:
    """Return the component of every row (-1 where unknown) and the class each stands for.

    Class number ``c`` of those present is component ``c``. Must-links and groups pass a label on to
    all rows they join.
    """
    if not known.has_labels:
        return np.full(known.n_samples, -1), np.empty(0, dtype=np.int64)
    closure = known.closure()
    codes = closure.component_label[closure.component]
    present = np.unique(codes[codes >= 0])
    if len(present) > n_components:
        names = ", ".join(str(name) for name in known.label_names[present])
        raise SidelightError(
            f"There are {len(present)} classes among the labels ({names}) but only "
            f"{setting('n_components', n_components)}; ask for at least {len(present)} components."
        )
    components = np.where(codes >= 0, np.searchsorted(present, codes), -1)
    return components, known.label_names[present]
