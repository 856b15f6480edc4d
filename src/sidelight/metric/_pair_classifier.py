"""A learned distance as a classifier of pairs, in the grammar of scikit-learn."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from sidelight._fit.parameters import (
    ArrayLike,
    FinitePositive,
    Share,
    check_parameters,
    estimator,
)
from sidelight._typing import Array
from sidelight.constraints import Constraints
from sidelight.metric._threshold import Strategy, check_pair_labels, check_strategy, rows_of_pairs


@estimator
class PairClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """Classify pairs of rows as together or apart by a learned distance.

    A sample is a pair, its class 1 where both rows belong together and -1 where they do not. The
    pairs are constraints for a metric learner; pairs within a threshold of the learned distance are
    of class 1. The threshold is chosen by the pairs of ``fit``, which the metric was made for: it
    tends to be narrow where features are many and pairs few, and :meth:`calibrate_threshold`
    chooses it by other pairs. Splits of pairs for cross-validation are scikit-learn's own. Read
    more in the :doc:`user guide </metric/index>`.

    Parameters
    ----------
    estimator : metric learner
        One of :mod:`sidelight.metric`.
    rows : array or None, default=None
        Rows whose positions the pairs hold; without, the pairs hold the rows themselves.
    strategy : {"accuracy", "f_beta", "max_tpr", "max_tnr"}, default="accuracy"
        What the threshold makes largest on the pairs of ``fit``: the share of right pairs, the
        F-score, or one of the rates of true positives and true negatives while the other is at
        least ``min_rate``.
    beta : float > 0, finite, default=1.0
        Weight of recall against precision in ``f_beta``.
    min_rate : float in [0, 1] or None, default=None
        Least rate of true negatives with ``max_tpr``, of true positives with ``max_tnr``.

    Attributes
    ----------
    estimator_ : metric learner
        The learner, fitted with the pairs.
    classes_ : ndarray of shape (2,)
        -1 and 1.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import cross_val_score
    >>> from sidelight.metric import ITML, PairClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> i, j = np.random.default_rng(0).integers(150, size=(2, 200))
    >>> together = np.where(y[i] == y[j], 1, -1)
    >>> model = PairClassifier(ITML(random_state=0), rows=X)
    >>> scores = cross_val_score(model, np.column_stack([i, j]), together)
    >>> bool(scores.mean() > 0.85)
    True
    """

    estimator: Any
    _: KW_ONLY
    rows: ArrayLike | None = None
    strategy: Strategy = "accuracy"
    beta: FinitePositive = 1.0
    min_rate: Share | None = None

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False  # of features: a sample is a pair
        tags.input_tags.three_d_array = self.rows is None
        tags.classifier_tags.multi_class = False
        return tags

    def fit(self, pairs: Any, y: Any) -> Self:
        """Learn a distance from pairs, and choose the threshold.

        Parameters
        ----------
        pairs : array of shape (n_pairs, 2, n_features) or (n_pairs, 2)
            Pairs of rows, or of positions in ``rows``.
        y : array of shape (n_pairs,)
            1 where both rows belong together, -1 where they do not.

        Returns
        -------
        self : PairClassifier
            The fitted classifier.
        """
        check_parameters(self)
        check_strategy(self.strategy, self.beta, self.min_rate)
        X, places = rows_of_pairs(pairs, self.rows)
        together = check_pair_labels(y, len(places))
        known = Constraints(places[together], places[~together], n_samples=len(X))
        self.classes_ = np.array([-1, 1])
        self.estimator_ = clone(self.estimator).fit(X, constraints=known)
        return self.calibrate_threshold(
            pairs, y, strategy=self.strategy, beta=self.beta, min_rate=self.min_rate
        )

    @property
    def threshold_(self) -> float:
        """Largest distance of two rows that are taken to belong together."""
        check_is_fitted(self, "estimator_")
        return float(self.estimator_.threshold_)

    def predict(self, pairs: Any) -> Array:
        """Return 1 for pairs whose rows belong together, and -1 for others.

        Parameters
        ----------
        pairs : array of shape (n_pairs, 2, n_features) or (n_pairs, 2)
            As in :meth:`fit`.

        Returns
        -------
        labels : ndarray of shape (n_pairs,)
            1 or -1.
        """
        check_is_fitted(self, "estimator_")
        return np.asarray(self.estimator_.predict_pairs(pairs, self.rows))

    def decision_function(self, pairs: Any) -> Array:
        """Return by how much the distance of each pair is below the threshold.

        Parameters
        ----------
        pairs : array of shape (n_pairs, 2, n_features) or (n_pairs, 2)
            As in :meth:`fit`.

        Returns
        -------
        margins : ndarray of shape (n_pairs,)
            At least 0 where the rows are taken to belong together.
        """
        return np.asarray(self.threshold_ - self.estimator_.pair_distance(pairs, self.rows))

    def score(self, pairs: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the share of pairs whose class is predicted.

        Parameters
        ----------
        pairs : array of shape (n_pairs, 2, n_features) or (n_pairs, 2)
            As in :meth:`fit`.
        y : array-like of shape (n_pairs,)
            Their classes: 1 for together, -1 for apart.
        sample_weight : array-like of shape (n_pairs,), default=None
            Weights of the pairs.

        Returns
        -------
        float
            From 0 to 1.
        """
        return float(super().score(pairs, y, sample_weight))

    def set_threshold(self, threshold: float) -> Self:
        """Set the threshold.

        Parameters
        ----------
        threshold : float
            Largest distance of two rows that belong together.

        Returns
        -------
        self : PairClassifier
            The classifier itself.
        """
        check_is_fitted(self, "estimator_")
        self.estimator_.set_threshold(threshold)
        return self

    def calibrate_threshold(
        self,
        pairs: Any,
        y: Any,
        *,
        strategy: Strategy = "accuracy",
        beta: float = 1.0,
        min_rate: float | None = None,
    ) -> Self:
        """Choose the threshold by pairs that are known, best by others than those of ``fit``.

        Parameters
        ----------
        pairs : array of shape (n_pairs, 2, n_features) or (n_pairs, 2)
            As in :meth:`fit`.
        y : array of shape (n_pairs,)
            1 where both rows belong together, -1 where they do not.
        strategy : {"accuracy", "f_beta", "max_tpr", "max_tnr"}, default="accuracy"
            What is to be largest.
        beta : float, default=1.0
            Weight of recall in ``f_beta``.
        min_rate : float in [0, 1], default=None
            Least value of the other rate with ``max_tpr`` and ``max_tnr``.

        Returns
        -------
        self : PairClassifier
            The classifier itself.
        """
        check_is_fitted(self, "estimator_")
        self.estimator_.calibrate_threshold(
            pairs, y, self.rows, strategy=strategy, beta=beta, min_rate=min_rate
        )
        return self
