"""``sidelight alternatives``: rows and known splits to splits that differ from them."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from sidelight._words import counted
from sidelight.cli._run import claim, explanation_lines, heading
from sidelight.cli._screen import (
    Screen,
    number,
    plain_text,
    preparation_lines,
    score_table,
    size_table,
    table,
    violation_lines,
)
from sidelight.jobs import AlternativesRequest, AlternativesRun, Run
from sidelight.jobs.alternatives._run import prepare_alternatives


def run(
    asked: AlternativesRequest,
    screen: Screen,
    *,
    force: bool,
    spreadsheet_safe: bool,
    **outputs: Path | None,
) -> None:
    """Do the whole job."""
    claim(screen, asked.inputs, force=force, **outputs)
    ready = prepare_alternatives(asked)
    prepared = ready.prepared
    screen.note(*prepared.notes)
    screen.show(*preparation_lines(prepared.preparer, raw=not prepared.request.prepare))
    with screen.progress():
        found = ready.fit()
        facts = {"command": "alternatives", **found.facts()}
    paths = found.write(spreadsheet_safe=spreadsheet_safe, **outputs)
    if screen.prints_text:
        screen.show(*_parts(found))
    facts["outputs"] = screen.written(
        paths, "Nothing was written; -o splits.csv keeps the splits, --report a report."
    )
    if "splits" not in paths:
        facts |= {"ids": found.data.row_ids, "labels": found.labels}
    screen.result(facts)


def _parts(found: AlternativesRun) -> list[Any]:
    n_features = counted(len(found.features_in), "feature")
    avoided = ", ".join(found.known.describe())
    parts: list[Any] = [
        f"{heading(found)}, {n_features}; {counted(len(found.alternatives), 'split')} in "
        f"{found.seconds:.2f} s" + (f", different from {plain_text(avoided)}" if avoided else "")
    ]
    for name, one, similar in zip(found.names, found.alternatives, found.similarities, strict=True):
        parts += _alternative(name, one, similar)
    if any(found.similarities):
        parts.append(
            "Variation of information: 0 for the same split, the largest for independent ones. "
            "NMI: 1 and 0; of the known split: the share of it that the clusters tell."
        )
    return parts


def _alternative(name: str, one: Run, similar: list[Any]) -> list[Any]:
    """One split: sizes, what sets its clusters apart, how near it is to the others."""
    ended = "converged" if one.estimator.converged_ else "not converged"
    parts: list[Any] = [
        f"\n[bold]{plain_text(name)}[/] ({ended} after "
        f"{counted(one.estimator.n_iter_, 'iteration')}, objective "
        f"{number(one.estimator.objective_)})",
        size_table(one.sizes, {}),
        *_explained(one),
    ]
    if similar:
        rows = [
            (
                found.name,
                _or_dash(found.variation_of_information, found.largest),
                _or_dash(found.nmi),
                f"{found.nmi_reference:.3f}",
            )
            for found in similar
        ]
        parts.append(
            table("Beside", "Variation of information", "NMI", "Of the known split", rows=rows)
        )
    if not one.knowledge.is_empty:
        parts += violation_lines(one.knowledge, one.violations)
    if one.scores:
        parts.append(score_table(one.scores, one.data.truth_column or "truth"))
    return parts


def _explained(one: Run) -> list[str]:
    """What sets the clusters apart; `sidelight explain` is for saved models, which this is not."""
    lines = explanation_lines(one)
    return ["What sets its clusters apart:", *lines[1:]] if lines else []


def _or_dash(value: float, largest: float | None = None) -> str:
    if math.isnan(value):
        return "-"
    return f"{value:.3f}" if largest is None else f"{value:.3f} of {largest:.3f}"
