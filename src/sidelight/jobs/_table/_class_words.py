"""What results about classes say: of a fit, and of new rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from sidelight._typing import IntArray
from sidelight._words import counted
from sidelight.jobs._parts import (
    MAX_CLUSTERS,
    MAX_VIOLATIONS,
    ended,
    heading,
    knowledge_text,
    objective_text,
)
from sidelight.jobs._table._classes import LEAST_CERTAIN, ClassesApplied, Classified
from sidelight.report.inner import TextTable, Told, first_rows, text_table

#: What rows of baselines are called.
BASELINE_TITLES = {"alone": "Labels alone", "plain": "Logistic regression"}


def class_words(found: Any) -> list[Told]:
    """Return labels and predictions by class, how far they can be trusted, rows in doubt."""
    n_features = counted(len(found.features_in), "feature")
    text = f", {n_features}; {_ended(found.estimator)}{found.seconds:.2f} s"
    parts: list[Told] = [heading(found.estimator, found.data, text), _class_table(found)]
    if hasattr(found.estimator, "chosen_"):
        parts.append(f"Chosen: {found.estimator.chosen_}. {found.estimator.reason_}")
    parts += _unknown_lines(found)
    if found.knowledge.n_pairs or found.knowledge.has_groups:
        parts += _pair_lines(found)
    parts += _contrast_parts(found.contrast)
    return [*parts, *_doubt_parts(found, found.open_rows)]


def predicted_words(found: ClassesApplied) -> list[Told]:
    """Return new rows by class, and those in doubt."""
    rows = [(name, f"{n:,}", f"{n / found.data.n_rows:.1%}") for name, n in found.sizes.items()]
    shown = text_table("Class", "Rows", "Share", rows=first_rows(rows, MAX_CLUSTERS))
    return [shown, *_unknown_lines(found), *_doubt_parts(found, np.arange(found.data.n_rows))]


def _ended(estimator: Any) -> str:
    if getattr(estimator, "n_iter_", None) is None:
        return "fitted in "
    has_objective = getattr(estimator, "objective_", None) is not None
    objective = f"{objective_text(estimator)}, " if has_objective else ""
    return f"{objective}{ended(estimator)} in "


def _class_table(found: Any) -> TextTable:
    given = np.bincount(found.codes[found.given], minlength=len(found.sizes))
    labels = found.labels_given
    rows = [
        (name, f"{labels[name]:,}", f"{n - given[code]:,}", f"{n:,}", f"{n / len(found.codes):.1%}")
        for code, (name, n) in enumerate(found.sizes.items())
    ]
    return text_table(
        "Class", "Labels", "Predicted", "Rows", "Share", rows=first_rows(rows, MAX_CLUSTERS)
    )


def _unknown_lines(found: Classified) -> list[Told]:
    if not found.n_unknown:
        return []
    return [f"{counted(found.n_unknown, 'row')} got no class: none is decided enough."]


def _pair_lines(found: Any) -> list[Told]:
    """How much of what is known the classes keep, and some of what they do not."""
    violated = found.violations
    kept = violated.n_stated - violated.n
    lines: list[Told] = [
        f"Known: {knowledge_text(found.knowledge)}; {kept:,} of {violated.n_stated:,} kept "
        f"({violated.satisfied:.1%})"
    ]
    kinds = (("must-link", violated.must_link), ("cannot-link", violated.cannot_link))
    for kind, pairs in kinds:
        shown = pairs[:MAX_VIOLATIONS]
        for text, pair in zip(found.knowledge.describe_pairs(shown), shown, strict=True):
            first, second = (_name(found, row) for row in pair)
            are = f"both are {first}" if first == second else f"they are {first} and {second}"
            lines.append(f"  {kind} {text} is violated: {are}.")
    hidden = violated.n - (len(lines) - 1)
    return [*lines, f"  and {hidden:,} more"] if hidden else lines


def _name(found: Classified, row: int) -> str:
    code = found.codes[row]
    return found.decisions.names[code] if code >= 0 else "of no class"


def _contrast_parts(contrast: Any) -> list[Told]:
    """Accuracy beside those of the labels alone, and whether the rest helped."""
    parts: list[Told] = []
    judged = {"Cross-validation": contrast.cross_validated, "True classes": contrast.by_truth}
    judged = {how: one for how, one in judged.items() if one is not None}
    if judged:
        parts.append(_accuracy_table(judged))
    parts.append(contrast.verdict)
    if contrast.alone is not None and contrast.n_open and not contrast.uses_labels_only:
        parts.append(
            f"{len(contrast.changed):,} of {counted(contrast.n_open, 'row')} without a given class "
            f"{'has' if len(contrast.changed) == 1 else 'have'} another class than on the labels "
            "alone."
        )
    return [*parts, *contrast.remarks]


def _accuracy_table(judged: dict[str, Any]) -> TextTable:
    """Return a row for the run and each baseline, and a column for each way to judge them."""
    headers = [f"{how} ({len(one.rows):,})" for how, one in judged.items()]
    rows = [("This run", *(str(one.accuracy) for one in judged.values()))]
    for name, title in BASELINE_TITLES.items():
        shares = [one.accuracies.get(name) for one in judged.values()]
        if any(share is not None for share in shares):
            rows.append((title, *("" if share is None else str(share) for share in shares)))
    return text_table("Right (95% interval)", *headers, rows=rows)


def _doubt_parts(found: Classified, rows: IntArray) -> list[Told]:
    """The rows whose best two classes are nearest to each other."""
    if not len(rows):
        return []
    decisions = found.decisions
    best = decisions.best_two
    cells = []
    for doubt in found.least_certain(rows, LEAST_CERTAIN):
        row = doubt["row"]
        first, second = (int(code) for code in best[row])
        cells.append(
            (
                doubt["id"],
                decisions.names[first],
                decisions.shown(row, first),
                decisions.names[second],
                decisions.shown(row, second),
            )
        )
    if not cells:
        return ["No row is in doubt: every class has a probability near 1."]
    value = "Probability" if decisions.are_probabilities else "Value"
    headers = ("Least certain", "Class", value, "or", value)
    return [text_table(*headers, rows=cells, justify=("left", "left", "right", "left", "right"))]
