"""Classifiers that an automatic choice compares, the plain one first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sidelight.evaluation.inner import SupervisedBaseline, plain_classifier, takes_constraints
from sidelight.exceptions import SidelightError
from sidelight.semi_supervised._core._base_learners import make_learner
from sidelight.semi_supervised.boosting import SemiBoostClassifier
from sidelight.semi_supervised.graph import HarmonicClassifier
from sidelight.semi_supervised.pairs import PairwiseLogisticRegression

#: Name of the candidate that is taken unless another one is clearly better.
PLAIN = "logistic"
#: Labeled rows from which on trees find more than chance does.
MIN_FOREST_ROWS = 40
#: Labeled rows up to which the kernel between all of them is solved with.
MAX_KERNEL_ROWS = 2_000


@dataclass(frozen=True)
class Candidate:
    """A classifier that may be chosen.

    Attributes
    ----------
    name : str
        Name in the table of the candidates.
    estimator : classifier
        The classifier, not fitted.
    supervised : bool
        Whether it is given the labeled rows alone.
    """

    name: str
    estimator: Any
    supervised: bool

    @property
    def fits_all(self) -> Any:
        """The classifier as it is fitted to all rows and their partial labels."""
        return SupervisedBaseline(self.estimator) if self.supervised else self.estimator


def make_candidates(
    given: Mapping[str, Any] | str, rows: Any, n_labeled: int, n_classes: int
) -> list[Candidate]:
    """Return the plain classifier, then those that are given, or the default ones.

    Those that learn from unlabeled rows are left out where there are none.
    """
    plain = Candidate(PLAIN, plain_classifier(rows), supervised=True)
    if isinstance(given, str):
        others = _default(n_labeled, n_classes)
    else:
        others = [_own(name, estimator) for name, estimator in given.items()]
    has_unlabeled = rows.shape[0] > n_labeled
    return [plain, *(one for one in others if one.supervised or has_unlabeled)]


def _default(n_labeled: int, n_classes: int) -> list[Candidate]:
    candidates = []
    if n_labeled >= MIN_FOREST_ROWS:
        candidates.append(Candidate("forest", make_learner("forest"), supervised=True))
    if n_labeled <= MAX_KERNEL_ROWS:
        kernel = PairwiseLogisticRegression()
        candidates.append(Candidate("kernel-logistic", kernel, supervised=True))
    candidates.append(Candidate("harmonic", HarmonicClassifier(), supervised=False))
    if n_classes == 2:  # a machine for every pair of classes costs more than all others together
        boosted = SemiBoostClassifier("logistic")
        candidates.append(Candidate("semi-boost-logistic", boosted, supervised=False))
    return candidates


def _own(name: str, estimator: Any) -> Candidate:
    """Return a candidate of the user's: ours learn from all rows, others from labeled ones."""
    if name == PLAIN:
        raise SidelightError(f"The candidate {PLAIN!r} is always there: give yours another name.")
    for method in ("fit", "predict", "predict_proba"):
        if not hasattr(estimator, method):
            raise SidelightError(
                f"The candidate {name!r} must be a classifier with probabilities; "
                f"{type(estimator).__name__} has no {method}."
            )
    takes_unlabeled = takes_constraints(estimator)
    return Candidate(name, estimator, supervised=not takes_unlabeled)
