"""Estimators that give every row a class, learned from few labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from sidelight._fit.targets import check_target, idle_cannot_links, read_targets
from sidelight._typing import Array, IntArray
from sidelight._warn import warn
from sidelight.base._estimator import ConstrainedEstimator, not_defined
from sidelight.constraints import Constraints
from sidelight.constraints.inner import check_one_index, is_unknown, plain
from sidelight.engine.inner import opened
from sidelight.exceptions import SidelightError, UnusedKnowledge
from sidelight.tags import CLASSIFIER_TAGS

#: What every fitted classifier has; docstrings of classifiers that say more about one keep it.
CLASSIFIER_ATTRIBUTES = {
    "classes_ : ndarray of shape (n_classes,)": "The classes as they were given, sorted.",
    "transduction_ : ndarray of shape (n_samples,)": "Class of every row of the fit: the known one "
    "of labeled rows, the predicted one of all others.",
    "n_violations_ : int": "Number of stated constraints that ``transduction_`` violates.",
}


class Classifier(ClassifierMixin, ConstrainedEstimator):
    """An estimator that gives every row a class.

    Subclasses define ``_learn(rows, labels, known)`` for rows that have been checked and codes of
    the labels (-1 for unlabeled rows, of which there may be none), and ``_decide(rows)``: decision
    values of shape (n_rows,) for two classes, positive for the second one, and (n_rows, n_classes)
    for more, the largest for the class of the row.
    """

    _family_tags = CLASSIFIER_TAGS
    _common_attributes: ClassVar[Mapping[str, str]] = CLASSIFIER_ATTRIBUTES
    #: Labels are passed on by must-links and groups, and by cannot-links that leave one class.
    _with_labels: ClassVar[tuple[str, ...]] = ("must-link", "cannot-link", "groups")

    classes_: Array
    transduction_: Array
    n_violations_: int

    def fit(self, X: Any, y: Any = None, *, constraints: Constraints | None = None) -> Self:
        """Fit the classifier to labeled and unlabeled rows.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            The rows, labeled and unlabeled; CSR matrices where the method takes them.
        y : array of shape (n_samples,), default=None
            Known classes, of any type; -1, None, NaN or an empty word where a row is unlabeled.
        constraints : Constraints, default=None
            Side information about the rows. Its labels count like those of ``y``. Where both the
            constraints have ids and ``X`` has an index, rows are found by it, whatever their
            order; otherwise by position.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        rows, known = self._validate_fit_in_memory(X, y, constraints)
        labels, self.classes_ = read_targets(
            y, known, type(self).__name__, pass_on="must-link" in self._with_labels
        )
        self._learn(rows, labels, known)
        self._set_transduction(rows, labels, known)
        return self

    def _learn(self, rows: Any, labels: IntArray, known: Constraints) -> None:
        """Learn from checked rows, codes of their classes and knowledge."""
        not_defined(self, "_learn")

    def _decide(self, rows: Any) -> Array:
        """Return the decision values of checked rows."""
        not_defined(self, "_decide")

    def _validate_knowledge(
        self, constraints: Constraints | None, y: Any, n_samples: int, X: Any
    ) -> Constraints:
        self._check_y_holds_labels(y)
        check_target(y, X, n_samples)
        return super()._validate_knowledge(constraints, y, n_samples, X)

    def _warn_of_unused(self, known: Constraints) -> None:
        super()._warn_of_unused(known)
        if "cannot-link" not in self._with_labels or not len(known.cannot_link):
            return
        idle = idle_cannot_links(known)
        if not len(idle):
            return
        total = len(known.cannot_link)
        number = f"{len(idle):,} of {total:,} cannot-links" if len(idle) < total else "cannot-links"
        example = known.describe_pairs(known.cannot_link[idle[:1]])[0]
        warn(
            f"{type(self).__name__} does not use {number} (such as {example}): a cannot-link tells "
            "the class of a row where labels and other pairs leave no other one.",
            UnusedKnowledge,
        )

    def _set_transduction(self, rows: Any, labels: IntArray, known: Constraints) -> None:
        """Set the class of every row of the fit, and what the classes violate of what is known."""
        classes = self._codes_of_fit(rows, labels)
        self.transduction_ = self.classes_[classes]
        self.n_violations_ = known.violations(classes).n

    def _codes_of_fit(self, rows: Any, labels: IntArray) -> IntArray:
        """Codes of the classes of the rows of the fit: the known ones, predictions elsewhere."""
        return np.where(labels >= 0, labels, self._transduced(rows))

    def _transduced(self, rows: Any) -> IntArray:
        """Codes of the predicted classes of the rows of the fit."""
        return decided_codes(self._decide(rows))

    def decision_function(self, X: Any) -> Array:
        """Return how decidedly every row is of each class.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        values : ndarray of shape (n_samples,) or (n_samples, n_classes)
            For two classes one value, positive for ``classes_[1]``; for more a value per class,
            the largest for the class that is predicted.
        """
        check_is_fitted(self)
        rows = self._check_rows(X, reset=False)
        return np.asarray(self._decide(rows), dtype=rows.dtype)

    def predict(self, X: Any) -> Array:
        """Return the class of every row.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        classes : ndarray of shape (n_samples,)
            Classes as they were given to ``fit``.
        """
        check_is_fitted(self)
        rows = self._check_rows(X, reset=False)
        return self.classes_[decided_codes(self._decide(rows))]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the share of rows whose class is predicted, among those whose class is known.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            The rows.
        y : array of shape (n_samples,)
            Their true classes; rows of unknown class (-1, None, NaN) do not count.
        sample_weight : array of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        accuracy : float
            Between 0 and 1.
        """
        X = opened(X)
        check_one_index(y, X, "y")
        truth = plain(y).reshape(-1)
        known = np.array([not is_unknown(value) for value in truth.tolist()], dtype=bool)
        if not known.any():
            raise SidelightError("y knows the class of no row, so that nothing can be scored.")
        predicted = self.predict(X)
        if len(predicted) != len(truth):
            raise SidelightError(f"y holds {len(truth)} classes, but X has {len(predicted)} rows.")
        given = np.asarray(y).reshape(-1) if hasattr(y, "__array__") else truth
        weight = None if sample_weight is None else np.asarray(sample_weight)[known]
        pairs = zip(predicted[known].tolist(), given[known].tolist(), strict=True)
        return float(np.average([one == other for one, other in pairs], weights=weight))


class ProbabilisticClassifier(Classifier):
    """A classifier with class probabilities.

    Subclasses define ``_probabilities(rows)``: those of checked rows, a column for each class.
    """

    def _probabilities(self, rows: Any) -> Array:
        """Return the probabilities of the classes of checked rows."""
        not_defined(self, "_probabilities")

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of every class for every row.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``; rows sum to 1.
        """
        check_is_fitted(self)
        rows = self._check_rows(X, reset=False)
        return np.asarray(self._probabilities(rows), dtype=rows.dtype)


def decided_codes(values: Array) -> IntArray:
    """Codes of the classes that decision values choose; the first of equals."""
    chosen = values > 0 if values.ndim == 1 else np.argmax(values, axis=1)
    return np.asarray(chosen, dtype=np.int64)
