"""What ``sidelight classify`` and ``sidelight predict`` tell about classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sidelight._typing import IntArray
from sidelight._words import counted
from sidelight.cli._run import heading
from sidelight.cli._screen import (
    SHOWN_CLUSTERS,
    SHOWN_VIOLATIONS,
    knowledge_text,
    number,
    plain_text,
    table,
)
from sidelight.jobs import ClassesApplied, ClassRun
from sidelight.jobs.classify._contrast import Contrast, Judged
from sidelight.jobs.classify._run import LEAST_CERTAIN, Classified


def class_parts(found: ClassRun, facts: dict[str, Any]) -> list[Any]:
    """Labels and predictions by class, how far they can be trusted, rows in doubt."""
    n_features = counted(facts["n_features"], "feature")
    parts: list[Any] = [
        f"{heading(found)}, {n_features}; {_ended(facts)}{found.seconds:.2f} s",
        _class_table(found),
    ]
    parts += _unknown_lines(found)
    if found.knowledge.n_pairs or found.knowledge.has_groups:
        parts += _pair_lines(found)
    parts += _contrast_parts(found.contrast)
    return [*parts, *_doubt_parts(found, found.open_rows)]


def predicted_parts(found: ClassesApplied) -> list[Any]:
    """New rows by class, and those in doubt."""
    rows = [(name, f"{n:,}", f"{n / found.data.n_rows:.1%}") for name, n in found.sizes.items()]
    shown = table("Class", "Rows", "Share", rows=_few(rows))
    return [shown, *_unknown_lines(found), *_doubt_parts(found, np.arange(found.data.n_rows))]


def _ended(facts: dict[str, Any]) -> str:
    if facts["n_iter"] is None:
        return "fitted in "
    ended = "not converged" if facts["converged"] is False else "converged"
    said = f"{ended} after {counted(int(facts['n_iter']), 'iteration')} in "
    if facts["objective"] is None:
        return said
    return f"objective {number(facts['objective'])}, {said}"


def _class_table(found: ClassRun) -> Any:
    given = np.bincount(found.codes[found.given], minlength=len(found.sizes))
    labels = found.labels_given
    rows = [
        (name, f"{labels[name]:,}", f"{n - given[code]:,}", f"{n:,}", f"{n / len(found.codes):.1%}")
        for code, (name, n) in enumerate(found.sizes.items())
    ]
    return table("Class", "Labels", "Predicted", "Rows", "Share", rows=_few(rows))


def _few(rows: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """The first of very many classes, and how many more there are."""
    if len(rows) <= SHOWN_CLUSTERS:
        return list(rows)
    more = (f"and {len(rows) - SHOWN_CLUSTERS} more", *("" for _ in rows[0][1:]))
    return [*rows[:SHOWN_CLUSTERS], more]


def _unknown_lines(found: Classified) -> list[str]:
    if not found.n_unknown:
        return []
    return [f"{counted(found.n_unknown, 'row')} got no class: none is decided enough."]


def _pair_lines(found: ClassRun) -> list[str]:
    """How much of what is known the classes keep, and some of what they do not."""
    violated = found.violations
    kept = violated.n_stated - violated.n
    lines = [
        f"Known: {knowledge_text(found.knowledge)}; {kept:,} of {violated.n_stated:,} kept "
        f"({violated.satisfied:.1%})"
    ]
    kinds = (("must-link", violated.must_link), ("cannot-link", violated.cannot_link))
    for kind, pairs in kinds:
        shown = pairs[:SHOWN_VIOLATIONS]
        for text, pair in zip(found.knowledge.describe_pairs(shown), shown, strict=True):
            first, second = (_name(found, row) for row in pair)
            are = f"both are {first}" if first == second else f"they are {first} and {second}"
            lines.append(f"  {plain_text(f'{kind} {text} is violated: {are}.')}")
    hidden = violated.n - (len(lines) - 1)
    return [*lines, f"  and {hidden:,} more"] if hidden else lines


def _name(found: Classified, row: int) -> str:
    code = found.codes[row]
    return found.decisions.names[code] if code >= 0 else "of no class"


def _contrast_parts(contrast: Contrast) -> list[Any]:
    """Accuracy beside that of the labels alone, and whether the rest helped."""
    judged = {
        "cross-validation": contrast.cross_validated,
        "true classes": contrast.by_truth,
    }
    rows = [_accuracy(name, one) for name, one in judged.items() if one is not None]
    parts: list[Any] = []
    if rows:
        headers = ("Right by (95% interval)", "Rows", "This run", "Labels alone")
        parts.append(table(*headers, rows=rows))
    parts.append(plain_text(contrast.verdict))
    if contrast.alone is not None and contrast.n_open:
        parts.append(
            f"{len(contrast.changed):,} of {counted(contrast.n_open, 'row')} without a given class "
            f"{'has' if len(contrast.changed) == 1 else 'have'} another class than on the labels "
            "alone."
        )
    return [*parts, *map(plain_text, contrast.remarks)]


def _accuracy(name: str, judged: Judged) -> tuple[str, ...]:
    alone = judged.accuracy_alone
    return name, f"{len(judged.rows):,}", str(judged.accuracy), "" if alone is None else str(alone)


def _doubt_parts(found: Classified, rows: IntArray) -> list[Any]:
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
    return [table(*headers, rows=cells, justify=("left", "left", "right", "left", "right"))]
