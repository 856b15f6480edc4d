"""Texts about splits that differ from the known ones."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from sidelight._words import counted
from sidelight.jobs._parts import ended, ending, heading, objective_text, size_table
from sidelight.jobs._table._run import Run
from sidelight.jobs._table._words import explanation_lines
from sidelight.report.inner import Strong, Told, text_table

if TYPE_CHECKING:
    from sidelight.jobs.alternatives._run import AlternativesRun


def words(found: AlternativesRun) -> list[Told]:
    """Return every split with its sizes, its clusters and how near it is to the others."""
    n_features = counted(len(found.features_in), "feature")
    avoided = ", ".join(found.known.describe())
    text = f", {n_features}; {counted(len(found.alternatives), 'split')} in {found.seconds:.2f} s"
    text += f", different from {avoided}" if avoided else ""
    told: list[Told] = [heading(found.estimator, found.data, text)]
    for name, one, similar in zip(found.names, found.alternatives, found.similarities, strict=True):
        told += _alternative(name, one, similar)
    if any(found.similarities):
        told.append(
            "Variation of information: 0 for the same split, the largest for independent ones. "
            "NMI: 1 and 0; of the known split: the share of it that the clusters tell."
        )
    return told


def _alternative(name: str, one: Run, similar: list[Any]) -> list[Told]:
    """Return one split: sizes, what sets its clusters apart, how near it is to the others."""
    told: list[Told] = [
        "",
        (Strong(name), f" ({ended(one.estimator)}, {objective_text(one.estimator)})"),
        size_table(one.sizes, {}),
        *explanation_lines(one, "What sets its clusters apart:"),
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
        headers = ("Beside", "Variation of information", "NMI", "Of the known split")
        told.append(text_table(*headers, rows=rows))
    return [*told, *ending(one.knowledge, one.violations, one.scores, one.data)]


def _or_dash(value: float, largest: float | None = None) -> str:
    if math.isnan(value):
        return "-"
    return f"{value:.3f}" if largest is None else f"{value:.3f} of {largest:.3f}"
