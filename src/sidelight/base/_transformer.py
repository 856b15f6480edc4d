"""Estimators that give rows new features, or a place on a map."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from sidelight._typing import Array
from sidelight.base._answers import answers
from sidelight.base._estimator import ConstrainedEstimator, not_defined
from sidelight.constraints import Constraints
from sidelight.engine import RowSource
from sidelight.tags import PLAIN_TAGS, SOFT_TAGS


class Transformer(TransformerMixin, ConstrainedEstimator):
    """An estimator that gives rows new features, in ``transform``.

    Subclasses define ``_learn(rows, known)`` and ``_transform(rows)`` for rows that have been
    checked.
    """

    _family_tags = SOFT_TAGS | {"kind": "transformer"}

    def fit(self, X: Any, y: Any = None, *, constraints: Constraints | None = None) -> Self:
        rows, known = self._validate_fit_in_memory(X, y, constraints)
        self._learn(rows, known)
        return self

    def _learn(self, rows: Any, known: Constraints) -> None:
        """Learn from checked rows and knowledge, in methods that :meth:`fit` runs for."""
        not_defined(self, "_learn")

    def transform(self, X: Any) -> Any:
        """Return the new features of the rows.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        Z : array or CSR matrix of shape (n_samples, n_features_out)
            New features, in the element type of the rows.
        """
        check_is_fitted(self)
        rows = self._check_rows(X, reset=False)
        if isinstance(rows, RowSource):
            return answers(self, "transform", rows)
        return self._transform(rows)

    def _transform(self, rows: Any) -> Any:
        """Return the new features of checked rows."""
        not_defined(self, "_transform")


class Embedding(ClassNamePrefixFeaturesOutMixin, Transformer):
    """An estimator that places rows on a map: coordinates in ``embedding_``, new rows later.

    Subclasses set ``embedding_`` in ``_learn(rows, known)`` or in a ``fit`` of their own. They
    define ``_transform(rows)``, which gives rows of the fit the coordinates that the fit gave them.
    """

    _family_tags = PLAIN_TAGS | {"kind": "embedding"}
    _common_attributes: ClassVar[Mapping[str, str]] = {
        "embedding_ : ndarray of shape (n_samples, n_components)": "Coordinates of the rows, in "
        "their element type."
    }

    embedding_: Array

    @property
    def _n_features_out(self) -> int:
        """Number of coordinates."""
        return int(self.embedding_.shape[1])

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Array:
        """Fit to the rows and return their coordinates.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The rows.
        y : array of shape (n_samples,), default=None
            As in ``fit``: known classes, where the method uses them.
        **fit_params : dict
            Other arguments of ``fit``, such as ``constraints``.

        Returns
        -------
        Z : ndarray of shape (n_samples, n_components)
            ``embedding_``.
        """
        return self.fit(X, y, **fit_params).embedding_


class PairStream:
    """Base of transformers for streams of pairs: ``fit`` starts over, ``partial_fit`` continues."""

    def partial_fit(self, X: Any, y: Any = None, *, constraints: Constraints | None = None) -> Self:
        """Learn from more pairs, each of them once.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            Rows that the pairs are about.
        y : array of shape (n_samples,), default=None
            Known classes, -1 where unknown.
        constraints : Constraints, default=None
            Side information about these rows.

        Returns
        -------
        self : object
            The estimator so far.
        """
        not_defined(self, "partial_fit")


class LinearTransformer(ClassNamePrefixFeaturesOutMixin, Transformer):
    """New features that are linear in the rows: ``(x - mean) Wᵀ`` with ``W`` in ``components_``."""

    components_: Array
    mean_: Array

    def _set_map(
        self, components: Array, dtype: np.dtype[Any], *, mean: Array | None = None
    ) -> None:
        """Set the map; without a mean the rows are not centered."""
        self.components_ = np.ascontiguousarray(components, dtype=dtype)
        self._n_features_out = len(components)
        if mean is not None:
            self.mean_ = mean.astype(dtype)

    def _transform(self, rows: Any) -> Array:
        centered = rows - self.mean_ if hasattr(self, "mean_") else rows
        return np.asarray(centered @ self.components_.T.astype(rows.dtype, copy=False))
