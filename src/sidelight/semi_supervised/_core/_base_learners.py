"""Learners that wrappers can be given by name."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from sidelight.exceptions import SidelightError

#: Parameter ``estimator`` of the classifiers that wrap another one.
LearnerName: TypeAlias = Literal[
    "stump", "tree", "forest", "logistic", "svm", "rbf-svm", "naive-bayes", "neighbors"
]
BaseLearner: TypeAlias = LearnerName | BaseEstimator

#: Entry of the docstrings of this parameter.
LEARNER_PARAMETERS = {
    "estimator": 'Classifier that is wrapped: any of scikit-learn\'s, or a name: "stump" '
    '(decision tree of depth 1), "tree", "forest", "logistic" (regression), "svm" '
    '(linear), "rbf-svm", "naive-bayes" (Gaussian) or "neighbors" (the nearest one).',
}


def make_learner(estimator: Any, random_state: Any = None) -> Any:
    """Make a learner from its name, or a copy of the one that is given.

    ``random_state`` is used where the learner has one that is not set.
    """
    learner = _named(estimator) if isinstance(estimator, str) else clone(estimator)
    for method in ("fit", "predict"):
        if not hasattr(learner, method):
            raise SidelightError(
                f"estimator must be a classifier with fit and predict; {type(learner).__name__} "
                f"has no {method}."
            )
    if getattr(learner, "random_state", 0) is None and random_state is not None:
        learner.set_params(random_state=random_state)
    return learner


def check_takes(learner: Any, rows: Any) -> None:
    """Raise on sparse rows for a learner that takes dense ones only."""
    if sparse.issparse(rows) and not get_tags(learner).input_tags.sparse:
        raise SidelightError(
            f"The rows are sparse, but the learner {type(learner).__name__} takes dense rows only: "
            "wrap another one, such as a tree or a linear SVM, or give the rows as an array."
        )


def takes_weights(learner: Any) -> bool:
    """Whether a learner takes weights of rows."""
    return bool(has_fit_parameter(learner, "sample_weight"))


def _named(name: str) -> Any:
    if name in ("stump", "tree"):
        from sklearn.tree import DecisionTreeClassifier

        return DecisionTreeClassifier(max_depth=1 if name == "stump" else None)
    if name == "forest":
        from sklearn.ensemble import RandomForestClassifier

        return RandomForestClassifier()
    if name == "logistic":
        from sklearn.linear_model import LogisticRegression

        return LogisticRegression(max_iter=10_000)
    if name in ("svm", "rbf-svm"):
        from sklearn.svm import SVC, LinearSVC

        return LinearSVC() if name == "svm" else SVC()
    if name == "naive-bayes":
        from sklearn.naive_bayes import GaussianNB

        return GaussianNB()
    from sklearn.neighbors import KNeighborsClassifier

    return KNeighborsClassifier(n_neighbors=1)
