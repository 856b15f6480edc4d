"""Cross-validated classes of labeled rows: each is predicted by a fit without its label."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from sidelight._progress import progress, stage_progress
from sidelight._typing import Array
from sidelight.evaluation._candidates import join_knowledge, set_seed
from sidelight.evaluation.classes._class_fits import (
    ClassNames,
    check_takes_unlabeled,
    classes_of_rows,
    fit_classes,
    gives_classes,
    probabilities_of_rows,
)
from sidelight.evaluation.classes._label_folds import label_folds
from sidelight.exceptions import SidelightError

if TYPE_CHECKING:
    from sidelight.constraints import Constraints


def cross_validated_labels(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    constraints: Constraints | None = None,
    n_splits: int = 5,
    method: Literal["predict", "predict_proba"] = "predict",
    random_state: Any = None,
) -> Array:
    """Predict every labeled row by a fit without its label.

    The labels are folded class by class. A fit is given all rows, those of the fold as unlabeled
    ones, and the rest of the knowledge, but nothing about the rows of the fold: neither their
    must-links and groups, which pass labels on, nor their cannot-links. Rows of a group are in one
    fold, and every fit keeps labels of every class.

    Parameters
    ----------
    estimator : classifier
        A classifier of :mod:`sidelight.semi_supervised` or of scikit-learn's ``semi_supervised``,
        alone or at the end of a pipeline. It is cloned.
    X : array-like of shape (n_samples, n_features)
        The rows, labeled and unlabeled.
    y : array-like of shape (n_samples,), default=None
        Known classes; -1, None, NaN or an empty word where a row is unlabeled.
    constraints : Constraints, default=None
        Side information; its labels count like those of ``y``.
    n_splits : int, default=5
        Number of folds; fewer where there are fewer labels.
    method : {"predict", "predict_proba"}, default="predict"
        Return classes or probabilities.
    random_state : int, RandomState or None, default=None
        Seed or generator for the folds and, where that of the estimator is None, for its starts;
        pass an int for reproducible results.

    Returns
    -------
    predicted : ndarray of shape (n_samples,) or (n_samples, n_classes)
        Predicted classes of the rows that were held out, as they are written in ``y``. All other
        rows hold -1 where the classes are whole numbers, NaN where they are floating-point numbers,
        else None. With "predict_proba" the probabilities of the sorted classes, and rows of NaN.

    Raises
    ------
    SidelightError
        When no class has two labeled rows that no group joins, so that none can be held out.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.evaluation import cross_validated_labels
    >>> from sidelight.semi_supervised import HarmonicClassifier
    >>> X = np.array([[0.0], [0.3], [0.5], [4.0], [4.2], [4.6]])
    >>> y = ["low", "low", None, "high", None, "high"]
    >>> cross_validated_labels(HarmonicClassifier(2), X, y, n_splits=2, random_state=0).tolist()
    ['low', 'low', None, 'high', None, 'high']
    """
    if n_splits < 2:
        raise SidelightError(f"n_splits must be at least 2, got {n_splits}.")
    if method not in ("predict", "predict_proba"):
        raise SidelightError(f"method must be 'predict' or 'predict_proba', got {method!r}.")
    if not gives_classes(estimator):
        raise SidelightError(
            f"cross_validated_labels needs a classifier; {type(estimator).__name__} is none."
        )
    # One set of statements: labels of y and constraints.
    known = join_knowledge(constraints, y, X)
    if known is None:
        raise SidelightError("No row is labeled: give y, or constraints with labels.")
    classes = ClassNames.of(y, known)
    check_takes_unlabeled(estimator, classes)
    rng = check_random_state(random_state)
    seed = int(rng.randint(np.iinfo(np.int32).max))
    # A fold holds out labels with everything that would give them away.
    folds = label_folds(known, n_splits, rng)
    codes = np.full(known.n_samples, -1)
    probabilities = np.full((known.n_samples, len(classes.names)), np.nan)
    with stage_progress("Cross-validation", len(folds)) as bar:
        for fold in folds:
            with progress(show=False):
                fitted = fit_classes(set_seed(clone(estimator), seed), X, fold.train, classes)
            if method == "predict":
                codes[fold.rows] = classes.codes(classes_of_rows(fitted, X))[fold.rows]
            else:
                probabilities[fold.rows] = probabilities_of_rows(fitted, X)[fold.rows]
            bar.step()
    return classes.target(codes) if method == "predict" else probabilities
