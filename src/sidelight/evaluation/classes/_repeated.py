"""Several classifiers on the same held-out labels, over repeated cross-validation."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from sidelight._progress import progress, stage_progress
from sidelight._typing import IntArray
from sidelight.constraints import Constraints
from sidelight.engine.inner import one_thread_blas
from sidelight.evaluation._candidates import set_seed
from sidelight.evaluation.classes._class_fits import ClassNames, classes_of_rows, fit_classes
from sidelight.evaluation.classes._differences import variance_factor
from sidelight.evaluation.classes._label_folds import LabelFold, label_folds
from sidelight.exceptions import SidelightError

#: How often labeled rows are folded anew, at most.
MAX_REPEATS = 5
#: Rows, and labeled rows, of which so many repetitions would take long and tell little more.
MANY_ROWS, MANY_LABELS = 10_000, 1_000


def n_repeats_for(known: Constraints) -> int:
    """Return how often to fold: five times, less often where there are many rows or labels."""
    n_labeled = 0 if known.labels is None else int((known.labels >= 0).sum())
    allowed = min(MANY_ROWS // max(known.n_samples, 1), MANY_LABELS // max(n_labeled, 1))
    return max(1, min(MAX_REPEATS, allowed))


@dataclass(frozen=True)
class RepeatedPredictions:
    """Classes that several classifiers predict for rows whose labels were held out.

    Attributes
    ----------
    rows : ndarray of shape (m,)
        Positions of the rows that were held out.
    known : ndarray of shape (m,)
        Codes of their classes.
    predicted : dict of str to ndarray of shape (n_repeats, m)
        Codes that a classifier predicts, by its name; -1 for none.
    failed : dict of str to str
        Why the fit of another one failed, by its name.
    n_folds, n_repeats : int
        Number of folds, and how often rows were folded anew.
    """

    rows: IntArray
    known: IntArray
    predicted: dict[str, IntArray]
    failed: dict[str, str]
    n_folds: int
    n_repeats: int

    @property
    def factor(self) -> float:
        """Number of rows that count as one."""
        return variance_factor(self.n_folds, self.n_repeats)

    def n_right(self, name: str) -> float:
        """Return how many rows a classifier finds, on average over the repetitions."""
        return float((self.predicted[name] == self.known).sum(axis=1).mean())

    def followed_by(self, others: RepeatedPredictions) -> RepeatedPredictions:
        """Return these and more repetitions, of the classifiers that are in both."""
        rows, mine, theirs = np.intersect1d(self.rows, others.rows, return_indices=True)
        return replace(
            self,
            rows=rows,
            known=self.known[mine],
            predicted={
                name: np.concatenate([self.predicted[name][:, mine], codes[:, theirs]])
                for name, codes in others.predicted.items()
            },
            failed={**self.failed, **others.failed},
            n_repeats=self.n_repeats + others.n_repeats,
        )

    def differences(self, name: str, other: str) -> tuple[float, float]:
        """Return the rows that only the one finds, and that only the other finds, on average."""
        one, two = (self.predicted[which] == self.known for which in (name, other))
        return float((one & ~two).sum(axis=1).mean()), float((two & ~one).sum(axis=1).mean())


def repeated_predictions(
    estimators: Mapping[str, Any],
    X: Any,
    known: Constraints,
    *,
    n_splits: int,
    n_repeats: int,
    random_state: Any,
) -> RepeatedPredictions:
    """Predict every labeled row by fits without its label, several times, by several classifiers.

    All see the same folds. Those of which a fit fails are left out.

    Parameters
    ----------
    estimators : mapping of str to classifier
        The classifiers; they are cloned.
    X : array or CSR matrix of shape (n_samples, n_features)
        The rows, labeled and unlabeled.
    known : Constraints
        What is known, labels of at least two classes among it.
    n_splits : int
        Number of folds; fewer where there are fewer labels.
    n_repeats : int
        How often rows are folded anew.
    random_state : int, RandomState or None
        Seed or generator of the folds, and of classifiers without a seed of their own.

    Raises
    ------
    SidelightError
        When no label can be held out.
    """
    rng = check_random_state(random_state)
    seed = int(rng.randint(np.iinfo(np.int32).max))
    classes = ClassNames.of(None, known)
    folds = [label_folds(known, n_splits, rng, tell=False) for _ in range(n_repeats)]
    assert known.labels is not None
    times = np.bincount(np.concatenate([fold.rows for one in folds for fold in one]))
    rows = np.flatnonzero(times == n_repeats)  # others were needed by some fits
    codes = {name: np.full((n_repeats, known.n_samples), -1) for name in estimators}
    failed: dict[str, str] = {}
    total = sum(map(len, folds)) * len(estimators)
    with stage_progress("Cross-validation", total) as bar:
        for repeat, fold in ((repeat, fold) for repeat, one in enumerate(folds) for fold in one):
            for name, estimator in estimators.items():
                if name not in failed:
                    try:
                        found = _predict(set_seed(clone(estimator), seed), X, fold, classes)
                        codes[name][repeat, fold.rows] = found
                    except (SidelightError, ValueError) as error:
                        failed[name] = str(error)
                bar.step()
    return RepeatedPredictions(
        rows=rows,
        known=known.labels[rows],
        predicted={name: codes[name][:, rows] for name in estimators if name not in failed},
        failed=failed,
        n_folds=len(folds[0]),
        n_repeats=n_repeats,
    )


def _predict(estimator: Any, X: Any, fold: LabelFold, classes: ClassNames) -> IntArray:
    """Return the codes of the rows of a fold, by a fit whose warnings the fit to all rows gives."""
    with warnings.catch_warnings(), progress(show=False), one_thread_blas:
        warnings.simplefilter("ignore")
        fitted = fit_classes(estimator, X, fold.train, classes)
        return classes.codes(classes_of_rows(fitted, X))[fold.rows]
