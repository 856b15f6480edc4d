"""What the mixtures share: starts, what is kept, and what a density can be asked."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from numbers import Integral
from typing import Any, Self

import numpy as np
from scipy.special import logsumexp, softmax
from sklearn.base import (
    ClassNamePrefixFeaturesOutMixin,
    DensityMixin,
    TransformerMixin,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from sidelight._typing import Array
from sidelight.base import Clusterer
from sidelight.constraints import Constraints
from sidelight.engine import RowSource, as_rows
from sidelight.mixture._core import _criteria as criteria
from sidelight.mixture._core._em import EMResult, HeldPosterior, log_joint_blocks


class _MixtureBase(
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    DensityMixin,
    Clusterer,
):
    """A mixture ``p(x) = Σ_s π_s p(x | s)`` fitted to rows.

    Subclasses have the parameters ``n_components``, ``max_iter``, ``tol``, ``random_state`` and
    ``verbose``; in ``fit`` they find an :class:`EMResult` and :meth:`_keep` it. ``_components`` and
    ``_log_weights`` are then what new rows are measured by; :meth:`_keep_parameters` gives the
    parameters their public names.
    """

    n_components: int
    max_iter: int
    tol: float

    def _set_fitted_attributes(
        self,
        result: EMResult,
        source: RowSource,
        constraints: Constraints,
        held: HeldPosterior | None = None,
    ) -> Self:
        """Set the fitted attributes."""
        self._components = result.components
        self._log_weights = result.log_weights
        self.weights_ = np.exp(result.log_weights).astype(source.dtype)
        self._keep_parameters(result.components, source.dtype)
        self.objective_ = -result.lower_bound
        self.history_ = -result.history
        self.n_iter_ = result.n_iter
        self.converged_ = result.converged
        self.labels_ = self._labels(source, held)
        self.n_violations_ = constraints.violations(self.labels_).n
        self._n_features_out = len(self.weights_)
        if not result.converged and not result.interrupted:
            warnings.warn(
                f"{type(self).__name__} did not converge in max_iter={self.max_iter} iterations; "
                "allow more, or a larger tol.",
                ConvergenceWarning,
                stacklevel=3,
            )
        return self

    def _keep_parameters(self, components: Any, dtype: np.dtype[Any]) -> None:
        """Give the parameters of the components their public names."""
        raise NotImplementedError

    def _labels(self, source: RowSource, held: HeldPosterior | None) -> Array:
        """Most probable component of every row, as the knowledge about the rows allows."""
        labels = self._map_joint(source, _most_probable)
        if held is not None and len(held.rows):
            rows = as_rows(source.take(held.rows))
            density = log_joint_blocks(rows, self._components, 0.0, lambda joint: joint)
            labels[held.rows] = held.labels(density, self._log_weights)
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
        return self._map_joint(self._validate_rows(X, reset=False), _most_probable)

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
        return self._map_joint(source, lambda joint: softmax(joint, axis=1).astype(source.dtype))

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
        return self._map_joint(source, lambda joint: logsumexp(joint, axis=1))

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
        return float(np.average(self.score_samples(X), weights=sample_weight))

    def sample(self, n_samples: int = 1) -> tuple[Array, Array]:
        """Draw rows from the mixture.

        Parameters
        ----------
        n_samples : int, default=1
            How many.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            Rows, component by component.
        y : ndarray of int32, shape (n_samples,)
            Component that each was drawn from.
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
        per_component = int(self._components.n_parameters) // k
        shared = int(self._components.n_parameters) - k * per_component
        if getattr(self._components, "kind", "") == "tied":
            per_component = self._components.means.shape[1]
            shared = int(self._components.n_parameters) - k * per_component
        return criteria.mml(
            float(densities.sum()),
            np.exp(self._log_weights),
            per_component,
            len(densities),
            shared=shared,
        )

    def _n_parameters(self) -> int:
        """Free parameters of the components and the mixing weights."""
        return int(self._components.n_parameters) + len(self._log_weights) - 1


def _most_probable(joint: Array) -> Array:
    return np.argmax(joint, axis=1).astype(np.int32)
