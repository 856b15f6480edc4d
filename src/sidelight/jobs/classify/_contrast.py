"""A classifier beside the same method on the labels alone: did rows without a label and pairs help?

Both are judged on the same rows, by cross-validation on the labeled ones and, where the truth is
known, by the true classes of the others. With the rows that only one of the two finds,
:math:`b` and :math:`c`, the exact test of McNemar asks how often a fair coin, tossed
:math:`b + c` times, falls as unevenly.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy.stats import binomtest
from sklearn.base import BaseEstimator, clone
from sklearn.utils import Tags, get_tags

from sidelight._typing import IntArray
from sidelight._words import counted, format_number, listed
from sidelight.constraints import Constraints
from sidelight.constraints.inner import is_unknown, plain, text_of
from sidelight.exceptions import SidelightError
from sidelight.pictures.inner import class_codes, class_names

if TYPE_CHECKING:
    from sidelight.jobs.classify._run import ClassRun

#: Parts of the labeled rows, each predicted from the others.
SPLITS = 5
#: From this probability of chance on, a difference is not taken for one.
CHANCE = 0.05
CONFIDENCE = 0.95
MAX_NAMED = 3  # classes in a sentence


@dataclass(frozen=True)
class Share:
    """Rows whose class was found, out of those whose class is known.

    Attributes
    ----------
    n_right, n_rows : int
        The counts.
    """

    n_right: int
    n_rows: int

    @property
    def value(self) -> float:
        """Accuracy."""
        return self.n_right / self.n_rows

    @property
    def interval(self) -> tuple[float, float]:
        """Exact 95% interval of the accuracy (Clopper and Pearson 1934)."""
        found = binomtest(self.n_right, self.n_rows).proportion_ci(CONFIDENCE, method="exact")
        return float(found.low), float(found.high)

    def __str__(self) -> str:
        low, high = self.interval
        return f"{self.value:.1%} ({low:.0%} to {high:.0%})"

    def facts(self) -> dict[str, Any]:
        """Return the figures as plain values."""
        return {
            "accuracy": self.value,
            "interval": list(self.interval),
            "n_right": self.n_right,
            "n_rows": self.n_rows,
        }


@dataclass(frozen=True)
class Judged:
    """Classes that the classifier and its double on the labels alone give to the same rows.

    Attributes
    ----------
    rows : ndarray of shape (m,)
        Positions of the rows.
    known : ndarray of shape (m,)
        Codes of their classes.
    found, alone : ndarray of shape (m,), or None
        Codes of the classes that the classifier finds, and the labels alone; None where there is
        no such fit.
    """

    rows: IntArray
    known: IntArray
    found: IntArray
    alone: IntArray | None

    @property
    def accuracy(self) -> Share:
        """Accuracy of the classifier."""
        return Share(int((self.found == self.known).sum()), len(self.rows))

    @property
    def accuracy_alone(self) -> Share | None:
        """Accuracy of the same method on the labels alone."""
        if self.alone is None:
            return None
        return Share(int((self.alone == self.known).sum()), len(self.rows))

    @property
    def n_better(self) -> int:
        """Rows that only the classifier finds."""
        return self._only(self.found, self.alone)

    @property
    def n_worse(self) -> int:
        """Rows that only the labels alone find."""
        return self._only(self.alone, self.found)

    def _only(self, one: IntArray | None, other: IntArray | None) -> int:
        if one is None or other is None:
            return 0
        return int(((one == self.known) & (other != self.known)).sum())

    @property
    def chance(self) -> float:
        """Probability that chance alone makes such a difference (exact test of McNemar)."""
        n = self.n_better + self.n_worse
        return float(binomtest(self.n_better, n).pvalue) if n else 1.0

    @property
    def answer(self) -> str:
        """``"helped"``, ``"hurt"`` or ``"unclear"``."""
        if self.alone is None or self.chance >= CHANCE:
            return "unclear"
        return "helped" if self.n_better > self.n_worse else "hurt"

    def facts(self) -> dict[str, Any]:
        """Return the figures as plain values."""
        facts = self.accuracy.facts()
        if self.accuracy_alone is not None:
            facts["labels_alone"] = self.accuracy_alone.facts()
            facts |= {"n_better": self.n_better, "n_worse": self.n_worse, "chance": self.chance}
        return facts


@dataclass(frozen=True)
class Contrast:
    """What rows without a label, and pairs, changed.

    Attributes
    ----------
    what : str
        What the labels alone go without, in words; empty where there is nothing else.
    alone : ndarray of shape (n_rows,), or None
        Code of the class of every row by the same method on the labels alone.
    changed : ndarray of int
        Positions of the rows without a given class whose class differs.
    n_open : int
        Number of rows without a given class.
    cross_validated : Judged or None
        Labeled rows, each predicted from a fit that was not told its label.
    by_truth : Judged or None
        Rows without a given class whose true class is known.
    remarks : tuple of str
        What could not be found out, and why.
    """

    what: str
    alone: IntArray | None
    changed: IntArray
    n_open: int
    cross_validated: Judged | None
    by_truth: Judged | None
    remarks: tuple[str, ...]

    @property
    def judged(self) -> Judged | None:
        """What the verdict rests on: true classes where they are known, else cross-validation."""
        return self.by_truth or self.cross_validated

    @property
    def answer(self) -> str:
        """``"helped"``, ``"hurt"``, ``"unclear"``; ``"none"`` where there are only labels."""
        if not self.what:
            return "none"
        return "unclear" if self.judged is None else self.judged.answer

    @property
    def verdict(self) -> str:
        """One or two plain sentences."""
        if not self.what:
            return "All rows are labeled and nothing else is known: this is supervised learning."
        judged = self.judged
        if judged is None or judged.accuracy_alone is None:
            return f"Whether {self.what} helped cannot be told."
        return f"{self._lead(judged)} {self._evidence(judged)}"

    def _lead(self, judged: Judged) -> str:
        what = f"{self.what[0].upper()}{self.what[1:]}"
        if judged.answer != "unclear":
            return f"{what} {judged.answer}."
        if not judged.n_better + judged.n_worse:
            return f"{what} made no difference that shows."
        few = " with so few labels." if self.by_truth is None else ": too few rows differ."
        return f"Whether {self.what} helped cannot be told{few}"

    def _evidence(self, judged: Judged) -> str:
        n, right = len(judged.rows), judged.accuracy.n_right
        found = f"Of {counted(n, 'labeled row')}, cross-validation finds the class of {right:,}"
        if self.by_truth is not None:
            found = f"Of {n:,} rows whose class was not given, {right:,} are right"
        assert judged.accuracy_alone is not None
        alone = judged.accuracy_alone.n_right
        if not judged.n_better + judged.n_worse:
            return f"{found}, and the same on the labels alone."
        return (
            f"{found}, {alone:,} on the labels alone ({judged.n_better:,} better, "
            f"{judged.n_worse:,} worse; p = {format_number(judged.chance, 2)})."
        )

    def facts(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {
            "without": self.what or None,
            "answer": self.answer,
            "verdict": self.verdict,
            "n_changed": None if self.alone is None else len(self.changed),
            "n_open": self.n_open,
            "cross_validated": self.cross_validated and self.cross_validated.facts(),
            "by_truth": self.by_truth and self.by_truth.facts(),
            "remarks": list(self.remarks),
        }


def contrast_of(run: ClassRun) -> Contrast:
    """Fit the same method to the labels alone, and judge both on the same rows."""
    known, remarks = run.knowledge, []
    what = _beside_labels(run)
    names = class_names(run.estimator)
    alone = None
    if what:
        try:
            model = _quiet_fit(LabelsAlone(clone(run.estimator)), run.X, known)
            alone = class_codes(model.predict(run.X), names)
        except SidelightError as error:
            remarks.append(f"The labels alone cannot be learned from by this method: {error}")
    judged, why = _cross_validated(run, names, with_alone=alone is not None)
    open_rows = np.flatnonzero(~run.given)
    changed = open_rows[:0]
    if alone is not None:
        changed = open_rows[alone[open_rows] != run.codes[open_rows]]
    return Contrast(
        what=what,
        alone=alone,
        changed=changed,
        n_open=len(open_rows),
        cross_validated=judged,
        by_truth=_by_truth(run, names, open_rows, alone),
        remarks=(*remarks, *why),
    )


def _beside_labels(run: ClassRun) -> str:
    """What the method was given besides labels, in words."""
    counts, used = run.knowledge.counts, set(run.uses)
    parts = ["the unlabeled rows"] if (_stated(run.knowledge) < 0).any() else []
    if any(counts[kind] for kind in ("must_link", "cannot_link") if kind in used):
        parts.append("the pairs")
    if counts["groups"] and "groups" in used:
        parts.append("the groups")
    return listed(parts) if parts else ""


def _stated(known: Constraints) -> IntArray:
    return np.full(known.n_samples, -1) if known.labels is None else known.labels


def _cross_validated(
    run: ClassRun, names: tuple[str, ...], *, with_alone: bool
) -> tuple[Judged | None, list[str]]:
    """Predict every labeled row by a fit without its label, with and without the unlabeled rows.

    Both see the same parts of the labels.
    """
    try:
        found = _out_of_fold(clone(run.estimator), run, names)
    except SidelightError as error:
        return None, [f"No cross-validation. {error}"]
    labels = _stated(run.knowledge)
    rows = np.flatnonzero(labels >= 0)
    if getattr(run.estimator, "reject", None) is None:
        rows = rows[found[rows] >= 0]  # others were needed by every fit
    remarks = _remarks_on_single(run)
    alone = None
    if with_alone:
        try:
            alone = _out_of_fold(LabelsAlone(clone(run.estimator)), run, names)[rows]
        except SidelightError as error:
            remarks.append(f"No cross-validation of the labels alone. {error}")
    known = class_codes(run.knowledge.label_names[labels[rows]], names)
    return Judged(rows, known, found[rows], alone), remarks


def _remarks_on_single(run: ClassRun) -> list[str]:
    """Name classes with a single label, which no test can do without."""
    labels = _stated(run.knowledge)
    single = np.flatnonzero(np.bincount(labels[labels >= 0]) == 1)
    if not len(single):
        return []
    few = [repr(text_of(run.knowledge.label_names[code])) for code in single[:MAX_NAMED]]
    more = ["others"] if len(single) > len(few) else []
    return [
        f"Cross-validation says nothing about {listed([*few, *more])}: a single label is needed to "
        "learn from, and none is left to test."
    ]


def _out_of_fold(estimator: Any, run: ClassRun, names: tuple[str, ...]) -> IntArray:
    """Codes of the classes of the labeled rows, -1 elsewhere."""
    from sidelight.evaluation import cross_validated_labels

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # told by the fit to all labels
        found = cross_validated_labels(
            estimator,
            run.X,
            constraints=run.knowledge,
            n_splits=SPLITS,
            random_state=run.request.seed,
        )
    return class_codes(found, names)


def _by_truth(
    run: ClassRun, names: tuple[str, ...], open_rows: IntArray, alone: IntArray | None
) -> Judged | None:
    """Judge the rows without a given class by their true ones, where these are known."""
    if run.data.truth is None:
        return None
    truth = run.data.truth_codes[open_rows]
    rows = open_rows[truth >= 0]
    if not len(rows):
        return None
    # A class that no label names cannot be found: its rows count as not found.
    true_names = [text_of(value) for value in run.data.truth[rows].tolist()]
    place = {name: code for code, name in enumerate(names)}
    known = np.array([place.get(name, -2) for name in true_names], dtype=np.int64)
    return Judged(rows, known, run.codes[rows], None if alone is None else alone[rows])


class LabelsAlone(BaseEstimator):
    """A classifier that is shown the labeled rows with their labels, and nothing else.

    Parameters
    ----------
    estimator : Classifier
        The method.

    Attributes
    ----------
    model_ : Classifier
        The method, fitted to the labeled rows.
    classes_ : ndarray
        Its classes.
    """

    def __init__(self, estimator: Any = None) -> None:
        self.estimator = estimator

    def fit(self, X: Any, y: Any = None, *, constraints: Constraints | None = None) -> Self:
        """Fit the method to the rows that ``y`` or the constraints label."""
        classes = np.full(X.shape[0], None, dtype=object)
        if constraints is not None and constraints.labels is not None:
            rows = np.flatnonzero(constraints.labels >= 0)
            classes[rows] = constraints.label_names[constraints.labels[rows]].tolist()
        if y is not None:
            given = plain(y).tolist()
            for row, value in enumerate(given):
                if not is_unknown(value):
                    classes[row] = value
        rows = np.array([row for row, value in enumerate(classes) if value is not None], int)
        self._rows = rows if self.__sklearn_tags__().input_tags.pairwise else None
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

    def __sklearn_tags__(self) -> Tags:
        return get_tags(self.estimator)


def _quiet_fit(estimator: Any, X: Any, known: Constraints) -> Any:
    """Fit without the warnings that the fit to all rows gives as well."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return estimator.fit(X, constraints=known)
