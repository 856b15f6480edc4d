"""What learned distances share: a linear map, its distances, and pairs to be measured."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from sidelight._typing import Array
from sidelight.base import ConstrainedEstimator
from sidelight.constraints import Constraints
from sidelight.exceptions import ConstraintWarning, SidelightError


class _MetricBase(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ConstrainedEstimator):
    """A distance ``‖W (x - z)‖``, that of a linear map ``W`` of the rows.

    Subclasses find ``components_ = W`` of shape (n_components, n_features) in ``fit`` and hand it
    to :meth:`_keep`.
    """

    components_: Array

    def _keep(self, components: Array, dtype: np.dtype[Any]) -> None:
        """Set the linear map."""
        self.components_ = np.ascontiguousarray(components, dtype=dtype)
        self._n_features_out = len(components)

    def _tell_of_equal_rows(
        self, known: Constraints, apart: Array, differs: Array, *, needed: bool
    ) -> None:
        """Warn of cannot-links of rows that are the same, which are to be left out.

        Where nothing can be learned without any (``needed``) and all are such, that is an error.
        """
        same = apart[~differs]
        if not len(same):
            return
        first, second = known.name_rows(same[0])
        warnings.warn(
            f"{len(same)} of {len(apart)} cannot-links join rows that are the same in every "
            f"feature, the first {first} and {second}; no distance can part them, and they are "
            "left out.",
            ConstraintWarning,
            stacklevel=3,
        )
        if needed and len(same) == len(apart):
            raise SidelightError(
                "Every cannot-link joins two rows that are the same in every feature, such as "
                f"{first} and {second}; no distance can part them. Give pairs of rows that differ."
            )

    def transform(self, X: Any) -> Array:
        """Map the rows to where the learned distance is the Euclidean one.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        Z : ndarray of shape (n_samples, n_components)
            ``X Wᵀ``, in the element type of the rows.
        """
        check_is_fitted(self)
        rows: Any = self._check_rows(X, reset=False)
        mapped = rows @ self.components_.T.astype(rows.dtype, copy=False)
        return np.asarray(mapped)

    def get_mahalanobis_matrix(self) -> Array:
        """Return ``A = WᵀW``: the squared distance is ``(x - z)ᵀ A (x - z)``.

        Returns
        -------
        A : ndarray of shape (n_features, n_features)
            Positive semi-definite.
        """
        check_is_fitted(self)
        return np.asarray(self.components_.T @ self.components_)

    def get_metric(self) -> Callable[[Any, Any], float]:
        """Return the distance as a function of two rows, for whatever takes a metric.

        Returns
        -------
        distance : callable
            ``distance(u, v) -> float``.
        """
        check_is_fitted(self)
        components = self.components_.copy()

        def distance(u: Any, v: Any) -> float:
            gap = np.asarray(u, dtype=np.float64) - np.asarray(v, dtype=np.float64)
            return float(np.linalg.norm(components @ gap))

        return distance

    def pair_distance(self, pairs: Any, X: Any = None) -> Array:
        """Return the learned distance of each pair.

        Parameters
        ----------
        pairs : array of shape (n_pairs, 2, n_features) or (n_pairs, 2)
            Pairs of rows, or of positions in ``X``.
        X : array or CSR matrix of shape (n_samples, n_features), default=None
            The rows, where ``pairs`` holds positions.

        Returns
        -------
        distances : ndarray of shape (n_pairs,)
            Distances.
        """
        check_is_fitted(self)
        places = np.asarray(pairs)
        if X is None:
            if places.ndim != 3 or places.shape[1] != 2:
                raise ValueError(
                    "pairs must have the shape (n_pairs, 2, n_features), or hold positions of "
                    f"rows given as X, got shape {places.shape}."
                )
            gaps = self.transform(places[:, 0]) - self.transform(places[:, 1])
        else:
            if places.ndim != 2 or places.shape[1] != 2:
                raise ValueError(f"pairs must have the shape (n_pairs, 2), got {places.shape}.")
            mapped = self.transform(X)
            gaps = mapped[places[:, 0]] - mapped[places[:, 1]]
        return np.linalg.norm(gaps, axis=1)

    def pair_score(self, pairs: Any, X: Any = None) -> Array:
        """Return minus the distance of each pair: the larger, the more alike.

        Parameters
        ----------
        pairs : array of shape (n_pairs, 2, n_features) or (n_pairs, 2)
            Pairs of rows, or of positions in ``X``.
        X : array or CSR matrix of shape (n_samples, n_features), default=None
            The rows, where ``pairs`` holds positions.

        Returns
        -------
        scores : ndarray of shape (n_pairs,)
            Scores.
        """
        return -self.pair_distance(pairs, X)

    def kernel(self, X: Any, Y: Any = None) -> Array:
        """Return the inner products ``(W x)·(W z)`` that the distance belongs to.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            Rows.
        Y : array or CSR matrix of shape (n_others, n_features), default=None
            Other rows; ``X`` itself unless told. The result has ``n_samples · n_others`` entries.

        Returns
        -------
        K : ndarray of shape (n_samples, n_others)
            The kernel.
        """
        left = self.transform(X)
        right = left if Y is None else self.transform(Y)
        return left @ right.T


def warn_of_rank(n_components: int, rank: int, why: str) -> None:
    """Say that fewer directions mean anything than were asked for; to be called in ``fit``."""
    if n_components > rank:
        warnings.warn(
            f"n_components={n_components} directions were asked for, but {why} {rank}; ask for "
            f"{rank} at most.",
            ConstraintWarning,
            stacklevel=3,
        )


def pair_differences(rows: Any, pairs: Array) -> Array:
    """``x_i - x_j`` of every pair, dense, in float64."""
    gaps = rows[pairs[:, 0]] - rows[pairs[:, 1]]
    dense = gaps.toarray() if sparse.issparse(gaps) else gaps
    return np.asarray(dense, dtype=np.float64)


def metric_root(A: Array) -> Array:
    """``W`` with ``W'W = A``, the symmetric root where ``A`` is positive definite."""
    values, vectors = np.linalg.eigh((A + A.T) / 2)
    kept = values > 1e-12 * max(float(values.max()), 1e-300)
    root = np.sqrt(np.where(kept, values, 0.0))
    if kept.all():
        return np.asarray((vectors * root) @ vectors.T)
    return np.asarray((vectors[:, kept] * root[kept]).T[::-1])
