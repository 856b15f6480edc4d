"""What the page of a classifier shows: classes, accuracy, rows in doubt, what changed, rounds."""

from __future__ import annotations

from typing import Any

import numpy as np

from sidelight._words import counted, format_number, listed, statements
from sidelight.pictures._histograms import certainty
from sidelight.pictures._matching import count_together
from sidelight.pictures._progress import by_step
from sidelight.pictures._run import Given, Partition
from sidelight.pictures._sizes import cluster_sizes
from sidelight.pictures.classes._rounds import curves_of, mean_by_round
from sidelight.report.classes._classified import ClassifiedRun, make_classified
from sidelight.report.classes._picture import picture
from sidelight.report.figures import figure
from sidelight.report.sections import MAX_GROUPS, Section, objective, status
from sidelight.report.tables import tallies

LEAST_CERTAIN = 12
MAX_CHANGED = 12
MAX_VALUES = 6  # columns of probabilities; of more classes the best two are shown
_WIDE_TABLE = 7
SURE = 0.9
#: What boosting keeps of every round: attribute, title, and what it says.
ROUNDS = {
    "mean_margins_": (
        "Mean margin by round",
        "How far the right side of the boundary the rows lie, on average, after every round.",
    ),
    "estimator_weights_": ("Step size by round", "Weight of the learner of every round."),
}


def cards(given: Given, contrast: Any) -> Section:
    """Everything the page of a classifier shows."""
    run = make_classified(given, contrast)
    return {
        **_in_short(run),
        **picture(run),
        **_classes(run),
        **_contrast(run),
        **_confusions(run),
        **_doubts(run),
        **_certainty(run),
        "curves": _curves(run.estimator),
    }


def _in_short(run: ClassifiedRun) -> Section:
    said = statements(run.constraints.counts)
    n_free = int((~run.stated).sum())
    sentence = f"{counted(run.n_rows, 'row')} of {counted(len(run.names), 'class', 'classes')}; "
    sentence += f"known: {listed(said)}" if said else "what was known is not told"
    sentence += f"; the class of {counted(n_free, 'row')} was predicted." if n_free else "."
    return {
        "sentence": sentence,
        "status": _status(run),
        "facts_of_its_own": [
            ("Features", f"{run.source.n_features:,}"),
            ("Classes", f"{len(run.names):,}"),
            ("Labels", f"{int(run.stated.sum()):,}"),
        ],
    }


def _status(run: ClassifiedRun) -> Section:
    if run.contrast is None:
        return status(None, f"{int((~run.stated).sum()):,} predicted")
    what = run.contrast.what
    named = f"{what[:1].upper()}{what[1:]}"
    answers = {
        "helped": (True, f"{named} helped"),
        "hurt": (False, f"{named} hurt"),
        "unclear": (None, "No difference to the labels alone can be told"),
        "none": (None, "Supervised: every row is labeled"),
    }
    return status(*answers[run.contrast.answer])


def _classes(run: ClassifiedRun) -> Section:
    """Rows by class, and what was asked of pairs and groups."""
    note = f"{counted(int(run.stated.sum()), 'class was', 'classes were')} given."
    labels = run.constraints.labels
    if labels is not None and len(run.names) <= MAX_VALUES:
        given = np.bincount(run.clusters.codes[run.stated], minlength=len(run.names))
        pairs = zip(run.names, given.tolist(), strict=True)
        note = f"Given: {', '.join(f'{name} {n:,}' for name, n in pairs)}."
    if run.clusters.n_outside:
        note += f" {counted(run.clusters.n_outside, 'row')} got no class."
    asked = [tally for tally in tallies(run) if tally.kind != "known label"]
    return {
        "sizes": figure(
            "Rows of each class",
            cluster_sizes(run.clusters.names, run.clusters.sizes, noun="class"),
            note,
        ),
        "tallies": asked,
        "remarks": list(run.constraints.notes),
    }


# --- the labels alone -------------------------------------------------------------------------


def _contrast(run: ClassifiedRun) -> Section:
    """What rows without a label, and pairs, changed."""
    contrast = run.contrast
    if contrast is None:
        return {"contrast": None, "changed": [], "moves": None}
    judged = {
        "Cross-validation on the labeled rows": contrast.cross_validated,
        "True classes of the other rows": contrast.by_truth,
    }
    rows = [
        {
            "name": name,
            "n": f"{len(one.rows):,}",
            "found": _share(one.accuracy),
            "alone": None if one.accuracy_alone is None else _share(one.accuracy_alone),
        }
        for name, one in judged.items()
        if one is not None
    ]
    title = f"What {contrast.what} changed" if contrast.what else "How far it can be trusted"
    note = ""
    if contrast.alone is not None and contrast.n_open:
        note = (
            f"{len(contrast.changed):,} of {counted(contrast.n_open, 'row')} without a given class "
            "have another one than by the same method on the labels alone."
        )
    told = {"title": title, "verdict": contrast.verdict, "rows": rows, "note": note}
    return {
        "contrast": {**told, "remarks": contrast.remarks},
        "changed": _changed(run),
        "moves": _moves(run),
    }


def _share(share: Any) -> Section:
    low, high = share.interval
    return {"value": f"{share.value:.1%}", "interval": f"{100 * low:.0f}-{high:.0%}"}


def _changed(run: ClassifiedRun) -> list[Section]:
    """Rows whose class the labels alone would not give, the most decided first."""
    contrast = run.contrast
    order = np.argsort(-run.margins[contrast.changed], kind="stable")[:MAX_CHANGED]
    found = []
    for row in contrast.changed[order]:
        truth = -1 if run.truth is None else int(run.truth.codes[row])
        found.append(
            {
                "name": run.row_names([row])[0],
                "found": _group(run, int(run.clusters.codes[row])),
                "alone": _group(run, int(contrast.alone[row])),
                "truth": None if run.truth is None else run.truth.name(truth),
            }
        )
    return found


def _group(run: ClassifiedRun, code: int) -> Section:
    return {"number": code, "name": run.clusters.name(code)}


def _moves(run: ClassifiedRun) -> Section | None:
    """Classes on the labels alone against those of the run, of rows whose class was not given."""
    contrast = run.contrast
    if not len(contrast.changed):
        return None
    free = ~run.stated
    before = Partition(contrast.alone[free], run.names)
    return _table(before, Partition(run.clusters.codes[free], run.names))


# --- accuracy ---------------------------------------------------------------------------------


def _confusions(run: ClassifiedRun) -> Section:
    """Known classes against those found: by cross-validation, and by the truth."""
    contrast, found = run.contrast, []
    if contrast is not None and contrast.cross_validated is not None:
        judged = contrast.cross_validated
        found.append(
            {
                "title": f"Cross-validation: {judged.accuracy.value:.1%} right",
                "what": "Known class",
                "note": "Every labeled row as a fit finds it that was not told its label.",
                **_judged_table(run, judged),
            }
        )
    if contrast is not None and contrast.by_truth is not None:
        judged = contrast.by_truth
        others = int((judged.known < 0).sum())
        note = "Rows whose class was not given."
        if others:
            note += f" {counted(others, 'row')} of classes without any label are left out."
        found.append(
            {
                "title": f"True classes: {judged.accuracy.value:.1%} right",
                "what": "True class",
                "note": note,
                **_judged_table(run, judged),
            }
        )
    return {"confusions": found}


def _judged_table(run: ClassifiedRun, judged: Any) -> Section:
    known = np.maximum(judged.known, -1)
    return _table(Partition(known, run.names), Partition(judged.found, run.names))


def _table(known: Partition, found: Partition) -> Section:
    """Counts by class and class, the same order on both sides."""
    counts = count_together(known, found)
    shown = np.arange(min(len(known.names), MAX_GROUPS))
    columns = np.append(shown, -1) if counts[:, -1].any() else shown
    rows = [
        {
            "number": int(code),
            "name": known.names[code],
            "cells": [
                {
                    "count": int(n),
                    "share": float(n / max(counts[code].sum(), 1)),
                    "right": bool(column == code),
                }
                for column, n in zip(columns, counts[code, columns], strict=True)
            ],
            "total": int(counts[code].sum()),
        }
        for code in shown
    ]
    return {
        "columns": [{"number": int(c), "name": found.name(int(c))} for c in columns],
        "rows": rows,
        "wide": len(columns) > _WIDE_TABLE,
        "n_hidden": len(known.names) - len(shown),
    }


# --- certainty --------------------------------------------------------------------------------


def _doubts(run: ClassifiedRun) -> Section:
    """The least certain rows with their probabilities or decision values."""
    rows = run.least_certain(LEAST_CERTAIN)
    decisions = run.decisions
    best = decisions.best_two
    all_shown = len(run.names) <= MAX_VALUES
    found = []
    for row, name in zip(rows, run.row_names(rows), strict=True):
        codes = range(len(run.names)) if all_shown else best[row]
        found.append(
            {
                "name": name,
                "found": _group(run, int(run.clusters.codes[row])),
                "values": [
                    {"name": run.names[code], "text": decisions.shown(row, int(code))}
                    for code in codes
                ],
            }
        )
    what = "probability" if decisions.are_probabilities else "decision value"
    return {
        "doubts": found,
        "doubt_columns": [
            {"number": code, "name": name} for code, name in enumerate(run.names) if all_shown
        ],
        "doubt_note": f"With the {what} of {'every class' if all_shown else 'the best two'}.",
    }


def _certainty(run: ClassifiedRun) -> Section:
    """How sure the classifier is of the rows whose class was not given."""
    free = np.flatnonzero(~run.stated)
    if not run.decisions.are_probabilities or not len(free):
        return {"certainty": None}
    largest = run.decisions.values[free].max(axis=1)
    share = float(np.mean(largest >= SURE))
    return {
        "certainty": figure(
            "How sure: rows by the probability of their class",
            certainty(largest, len(run.names), "Rows by the probability of their class"),
            f"{share:.0%} of the rows whose class was not given have one of {SURE:.0%} or more. "
            "Probabilities are the model's own opinion, not how often it is right.",
        )
    }


# --- boosting ---------------------------------------------------------------------------------


def _curves(estimator: Any) -> list[Section]:
    """The objective by iteration, and what boosting keeps of its rounds."""
    many = np.size(getattr(estimator, "history_", ())) > 1
    curve = objective(estimator)["objective"] if many else None
    found = [] if curve is None else [curve]
    for number, (attribute, (title, note)) in enumerate(ROUNDS.items()):
        machines = curves_of(estimator, attribute)
        if not machines:
            continue
        values = mean_by_round(machines)
        if len(machines) > 1:
            note += f" Mean over {len(machines)} pairs of classes."
        ends = f"From {format_number(values[0])} to {format_number(values[-1])}. {note}"
        what, css = title.partition(" by ")[0], f"curve rounds{number}"
        curve = by_step({what: values}, what, step="round", css=css)
        found.append(figure(title, curve, ends))
    return found
