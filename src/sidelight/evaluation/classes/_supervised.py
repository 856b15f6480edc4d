"""What classifiers are compared with: the labels alone, and a plain classifier of them."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.utils import Tags, get_tags

from sidelight.constraints import Constraints
from sidelight.constraints.inner import is_unknown, plain
from sidelight.tags import CLASSIFIER_TAGS, MethodTags


class SupervisedBaseline(BaseEstimator):
    """A classifier that is given the labeled rows with their labels, and nothing else.

    Parameters
    ----------
    estimator : classifier
        The method: one of ours or of scikit-learn's.
    pairwise : bool, default=False
        Whether ``X`` is a matrix between rows, of which the columns of the labeled ones are taken.

    Attributes
    ----------
    model_ : classifier
        The method, fitted to the labeled rows.
    classes_ : ndarray
        Its classes.
    """

    def __init__(self, estimator: Any = None, pairwise: bool = False) -> None:
        self.estimator = estimator
        self.pairwise = pairwise

    def fit(self, X: Any, y: Any = None, *, constraints: Constraints | None = None) -> Self:
        """Fit the method to the rows that ``y`` or the constraints label."""
        classes = np.full(X.shape[0], None, dtype=object)
        if constraints is not None and constraints.labels is not None:
            rows = np.flatnonzero(constraints.labels >= 0)
            classes[rows] = constraints.label_names[constraints.labels[rows]].tolist()
        if y is not None:
            for row, value in enumerate(plain(y).tolist()):
                if not is_unknown(value):
                    classes[row] = value
        rows = np.array([row for row, value in enumerate(classes) if value is not None], int)
        self._rows = rows if self.pairwise else None
        self.model_ = clone(self.estimator)
        self.model_.fit(self._between(X[rows]), np.array(classes[rows].tolist()))
        self.classes_ = self.model_.classes_
        return self

    def predict(self, X: Any) -> Any:
        """Return the class of every row."""
        return self.model_.predict(self._between(X))

    def _between(self, X: Any) -> Any:
        """Rows as they are; of a matrix between rows, the columns of the labeled ones."""
        return X if self._rows is None else X[:, self._rows]

    def __sidelight_tags__(self) -> MethodTags:
        own = {"summary": "labels alone", "source": "", "complexity": "that of the method"}
        return MethodTags(**{**CLASSIFIER_TAGS, **own})

    def __sklearn_tags__(self) -> Tags:
        return get_tags(self.estimator)


def plain_classifier(X: Any) -> Any:
    """Return logistic regression of standardized columns, as scikit-learn has it by default.

    Columns of sparse rows are not centered.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    scaler = StandardScaler(with_mean=not sparse.issparse(X))
    return make_pipeline(scaler, LogisticRegression(tol=1e-6, max_iter=10_000))
