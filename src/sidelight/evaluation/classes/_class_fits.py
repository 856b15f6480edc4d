"""Fits of classifiers to a part of the labels, and their predictions for the others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline

from sidelight._fit.targets import as_written
from sidelight._typing import Array, IntArray
from sidelight.evaluation._candidates import fit_with, takes_constraints
from sidelight.exceptions import SidelightError

if TYPE_CHECKING:
    from sidelight.constraints import Constraints


def last_step(estimator: Any) -> Any:
    """The estimator that predicts: the last step of a pipeline, or the estimator itself."""
    return last_step(estimator.steps[-1][1]) if isinstance(estimator, Pipeline) else estimator


def gives_classes(estimator: Any) -> bool:
    """Whether an estimator is a classifier, alone or at the end of a pipeline."""
    last = last_step(estimator)
    tags = getattr(last, "__sidelight_tags__", None)
    if tags is not None:
        return bool(tags().kind == "classifier")
    return hasattr(last, "__sklearn_tags__") and is_classifier(last)


@dataclass(frozen=True)
class ClassNames:
    """The classes as the user wrote them, in the order of their codes in the constraints.

    Attributes
    ----------
    names : ndarray of shape (n_classes,)
        Names by code.
    """

    names: Array

    @classmethod
    def of(cls, y: Any, known: Constraints) -> ClassNames:
        """Names of the classes in ``y``; as the constraints have them where ``y`` has not."""
        if known.labels is None or not np.any(known.labels >= 0):
            raise SidelightError(
                "Classifiers are judged by labels that are held out, but no row is labeled: give "
                "the classes of some rows as y (-1 where unknown), or as labels of the constraints."
            )
        return cls(as_written(y, known))

    def target(self, codes: IntArray) -> Array:
        """Classes of the rows by name, and what means unlabeled where the code is -1."""
        kind = self.names.dtype.kind
        if kind in "iu":
            return np.where(codes >= 0, self.names[codes], -1).astype(np.int64)
        if kind == "f":
            return np.where(codes >= 0, self.names[codes], np.nan)
        target = np.full(len(codes), None, dtype=object)
        by_code = self.names.tolist()
        for row in np.flatnonzero(codes >= 0):  # a tuple would be taken for an array
            target[row] = by_code[codes[row]]
        return target

    def codes(self, predicted: Any) -> IntArray:
        """Codes of predicted classes, -1 for anything else."""
        place = {name: code for code, name in enumerate(self.names.tolist())}
        found = [place.get(value, -1) for value in np.asarray(predicted).tolist()]
        return np.array(found, dtype=np.int64)


def check_takes_unlabeled(estimator: Any, classes: ClassNames) -> None:
    """Raise on classifiers that would take -1 for a class, and on names that do not go with -1."""
    last = last_step(estimator)
    if takes_constraints(last):
        return
    name = type(last).__name__
    if not type(last).__module__.startswith("sklearn.semi_supervised"):
        raise SidelightError(
            f"{name} knows no unlabeled rows and would take -1 for a class. Wrap it in "
            "sidelight.semi_supervised.SemiBoostClassifier or scikit-learn's "
            "SelfTrainingClassifier, or search on the labeled rows alone with GridSearchCV."
        )
    names = classes.names
    if names.dtype.kind not in "iu" or names.min() < 0:
        raise SidelightError(
            f"scikit-learn's {name} marks unlabeled rows by -1: give the classes as whole numbers "
            f"from 0, not as {names.tolist()[0]!r}."
        )


def fit_classes(estimator: Any, X: Any, train: Constraints, classes: ClassNames) -> Any:
    """Fit a classifier to the labels, pairs and groups of ``train``."""
    assert train.labels is not None
    return fit_with(estimator, X, train, classes.target(train.labels))


def classes_of_rows(estimator: Any, X: Any) -> Array:
    """Classes of the rows of the fit.

    ``transduction_`` of scikit-learn's self-training leaves rows unlabeled; it predicts.
    """
    last = last_step(estimator)
    if takes_constraints(last) and hasattr(last, "transduction_"):
        return np.asarray(last.transduction_)
    return np.asarray(estimator.predict(X))


def probabilities_of_rows(estimator: Any, X: Any) -> Array:
    """Probabilities of the classes of the rows of the fit."""
    last = last_step(estimator)
    found = getattr(last, "label_distributions_", None)
    return np.asarray(estimator.predict_proba(X) if found is None else found, dtype=np.float64)
