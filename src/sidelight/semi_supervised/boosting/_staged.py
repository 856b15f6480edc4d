"""Predictions of a boosted ensemble after every round."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sklearn.utils.validation import check_is_fitted

from sidelight._typing import Array
from sidelight.base import ProbabilisticClassifier
from sidelight.base.inner import decided_codes


class StagedClassifier(ProbabilisticClassifier):
    """A classifier built in rounds.

    Subclasses define ``_staged(rows)``, which yields the decision values of checked rows after
    every round.
    """

    def _staged(self, rows: Any) -> Iterator[Array]:
        raise AttributeError(f"{type(self).__name__} does not define _staged.")

    def staged_decision_function(self, X: Any) -> Iterator[Array]:
        """Yield the decision values after every round.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            The rows.

        Yields
        ------
        values : ndarray of shape (n_samples,) or (n_samples, n_classes)
            As :meth:`decision_function` returns them at the end.
        """
        check_is_fitted(self)
        rows = self._check_rows(X, reset=False)
        for values in self._staged(rows):
            yield values.astype(rows.dtype, copy=False)

    def staged_predict(self, X: Any) -> Iterator[Array]:
        """Yield the classes that are predicted after every round.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            The rows.

        Yields
        ------
        classes : ndarray of shape (n_samples,)
            As :meth:`predict` returns them at the end.
        """
        check_is_fitted(self)
        rows = self._check_rows(X, reset=False)
        for values in self._staged(rows):
            yield self.classes_[decided_codes(values)]
