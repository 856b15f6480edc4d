"""A classifier beside two baselines of the labels alone: did unlabeled rows and pairs help?

The baselines are the same method on the labels alone, and plain logistic regression of them. All
are judged on the same rows: by repeated cross-validation on the labeled ones and, where the truth
is known, by the true classes of the others. The verdict is about the better of the two baselines
(:mod:`sidelight.evaluation.classes._differences`).
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import get_tags

from sidelight._typing import IntArray
from sidelight._words import counted, format_number, listed
from sidelight.constraints import Constraints
from sidelight.constraints.inner import text_of
from sidelight.evaluation.inner import (
    RepeatedPredictions,
    SupervisedBaseline,
    n_repeats_for,
    plain_classifier,
    repeated_predictions,
)
from sidelight.exceptions import SidelightError
from sidelight.jobs.classify._judged import BASELINES, Judged
from sidelight.pictures.inner import class_codes, class_names

if TYPE_CHECKING:
    from sidelight.jobs.classify._run import ClassRun

#: Parts of the labeled rows, each predicted from the others.
SPLITS = 5
MAX_NAMED = 3  # classes in a sentence


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
        Labeled rows, each predicted from fits that were not told its label.
    by_truth : Judged or None
        Rows without a given class whose true class is known.
    remarks : tuple of str
        What could not be found out, and why.
    uses_labels_only : bool, default=False
        Whether the classifier that was chosen makes no use of what the labels alone go without.
    """

    what: str
    alone: IntArray | None
    changed: IntArray
    n_open: int
    cross_validated: Judged | None
    by_truth: Judged | None
    remarks: tuple[str, ...]
    uses_labels_only: bool = False

    @property
    def judged(self) -> Judged | None:
        """What the verdict rests on: true classes where they are known, else cross-validation."""
        return self.by_truth or self.cross_validated

    @property
    def answer(self) -> str:
        """``"helped"``, ``"hurt"``, ``"unclear"``; ``"none"`` where there are only labels."""
        if not self.what:
            return "none"
        if self.judged is None or self.uses_labels_only:
            return "unclear"
        return self.judged.answer

    @property
    def verdict(self) -> str:
        """One or two plain sentences."""
        judged = self.judged
        has_rival = judged is not None and judged.rival is not None
        if not self.what:
            lead = "All rows are labeled and nothing else is known: this is supervised learning."
        elif not has_rival:
            return f"Whether {self.what} helped cannot be told."
        else:
            lead = self._lead(judged)
        return f"{lead} {self._evidence(judged)}" if has_rival else lead

    def _lead(self, judged: Any) -> str:
        what = f"{self.what[0].upper()}{self.what[1:]}"
        if self.uses_labels_only:
            return (
                f"{what} are not used: no classifier that learns from them was better than "
                "one of the labels alone by more than chance."
            )
        if judged.answer == "helped":
            return f"{what} helped."
        if judged.answer == "hurt":
            return (
                f"{what} hurt."
                if judged.rival == "alone"
                else f"{what} did not help: {BASELINES['plain']} alone is better."
            )
        if judged.makes_no_difference:
            return f"{what} made no difference that shows."
        few = ": too few rows differ" if self.by_truth is not None else " with so few labels"
        return f"No difference to the labels alone could be shown{few}."

    def _evidence(self, judged: Any) -> str:
        n, right = len(judged.rows), _count(judged.accuracy.n_right)
        found = f"Of {counted(n, 'labeled row')}, cross-validation finds the class of {right}"
        if self.by_truth is not None:
            found = f"Of {n:,} rows whose class was not given, {right} are right"
        by = {
            "alone": "by the same method on the labels alone",
            "plain": f"by {BASELINES['plain']}",
        }
        if self.uses_labels_only and judged.makes_no_difference:
            return f"{found}."
        others = [
            f"{_count(share.n_right)} {by[name]}" for name, share in judged.accuracies.items()
        ]
        sentence = f"{found}; {listed(others)}"
        if judged.makes_no_difference:
            return f"{sentence}."
        which = "against the better of the two, " if len(others) > 1 else ""
        n_compared = judged.n_compared
        chosen = f", corrected for the choice out of {n_compared}" if n_compared > 1 else ""
        return (
            f"{sentence} ({which}{_count(judged.n_better)} better, {_count(judged.n_worse)} worse; "
            f"p = {format_number(judged.chance, 2)}{chosen})."
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


def _count(number: float) -> str:
    """Return a number of rows; a mean over repetitions has a decimal where it is not whole."""
    return f"{number:,.0f}" if float(number).is_integer() else f"{number:,.1f}"


def contrast_of(run: ClassRun) -> Contrast:
    """Fit the baselines, and judge all on the same rows."""
    what, remarks = _beside_labels(run), []
    names = class_names(run.estimator)
    baselines = _baselines(run, what)
    classes: dict[str, IntArray] = {}
    for name, model in baselines.items():
        try:
            fitted = _quiet_fit(clone(model), run.X, run.knowledge)
            classes[name] = class_codes(fitted.predict(run.X), names)
        except (SidelightError, ValueError) as error:
            remarks.append(f"{_cannot[name]}: {error}")
    left = {name: baselines[name] for name in classes}
    judged, why = _cross_validated(run, names, left)
    open_rows = np.flatnonzero(~run.given)
    alone = classes.get("alone")
    changed = open_rows[:0]
    if alone is not None:
        changed = open_rows[alone[open_rows] != run.codes[open_rows]]
    return Contrast(
        what=what,
        alone=alone,
        changed=changed,
        n_open=len(open_rows),
        cross_validated=judged,
        by_truth=_by_truth(run, names, open_rows, classes),
        remarks=(*remarks, *why),
        uses_labels_only=bool(getattr(run.estimator, "uses_labels_only_", False)) and bool(what),
    )


_cannot = {
    "alone": "The labels alone cannot be learned from by this method",
    "plain": "Logistic regression cannot learn from the labels",
}


def _baselines(run: ClassRun, what: str) -> dict[str, Any]:
    """The two baselines, not fitted; only the plain one where there is nothing but labels."""
    pairwise = get_tags(run.estimator).input_tags.pairwise
    baselines = {"plain": SupervisedBaseline(plain_classifier(run.X), pairwise)}
    if what:
        alone = getattr(run.estimator, "supervised_candidate", lambda: clone(run.estimator))()
        baselines["alone"] = SupervisedBaseline(alone, pairwise)
    return baselines


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
    run: ClassRun, names: tuple[str, ...], baselines: dict[str, Any]
) -> tuple[Judged | None, list[str]]:
    """Predict every labeled row by fits without its label, by the classifier and its baselines."""
    try:
        found = _repeated(run, baselines)
    except SidelightError as error:
        return None, [f"No cross-validation. {error}"]
    if "run" in found.failed:
        return None, [f"No cross-validation. {found.failed['run']}"]
    remarks = _remarks_on_single(run)
    remarks += [
        f"No cross-validation of {BASELINES[name]}. {why}" for name, why in found.failed.items()
    ]
    place = _places(run, names)
    coded = {name: np.append(place, -1)[codes] for name, codes in found.predicted.items()}
    return Judged(
        rows=found.rows,
        known=place[found.known],
        found=coded.pop("run"),
        baselines=coded,
        factor=found.factor,
        n_compared=getattr(run.estimator, "n_compared_", 1),
    ), remarks


def _places(run: ClassRun, names: tuple[str, ...]) -> IntArray:
    """Places among the names of the classes that predictions have codes of."""
    if hasattr(run.estimator, "compared_with"):
        return np.arange(len(names))
    return class_codes(run.knowledge.label_names, names)


def _repeated(run: ClassRun, baselines: dict[str, Any]) -> RepeatedPredictions:
    """Predictions of the held-out rows; those by which the classifier was chosen, if it was."""
    if hasattr(run.estimator, "compared_with"):
        return run.estimator.compared_with(tuple(baselines))
    return repeated_predictions(
        {"run": clone(run.estimator), **baselines},
        run.X,
        run.knowledge,
        n_splits=SPLITS,
        n_repeats=n_repeats_for(run.knowledge),
        random_state=run.request.seed,
    )


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


def _by_truth(
    run: ClassRun, names: tuple[str, ...], open_rows: IntArray, classes: dict[str, IntArray]
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
    return Judged(
        rows, known, run.codes[rows], {one: codes[rows] for one, codes in classes.items()}
    )


def _quiet_fit(estimator: Any, X: Any, known: Constraints) -> Any:
    """Fit without the warnings that the fit to all rows gives as well."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return estimator.fit(X, constraints=known)
