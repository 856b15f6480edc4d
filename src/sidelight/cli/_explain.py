"""``sidelight explain``: what the clusters of a saved model are."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from sidelight._words import counted
from sidelight.cli._run import claim
from sidelight.cli._screen import SHOWN_CLUSTERS, Screen, plain_text, table
from sidelight.explanation import Explanation, Profile, RuleSet, Trait
from sidelight.explanation._format import percent, ratio
from sidelight.explanation._table import NUMBERS, TEXTS
from sidelight.explanation._traits import shown
from sidelight.io._atomic import atomic_write
from sidelight.io._table import check_readable
from sidelight.io._write_table import write_columns
from sidelight.jobs import Model, explain, load_model
from sidelight.jobs._table._explain import explanation_facts

SHOWN_TRAITS = 8


def run(
    model_path: Path,
    data_path: Path,
    screen: Screen,
    *,
    id_column: str | None,
    output: Path | None,
    spreadsheet_safe: bool,
    force: bool,
) -> None:
    """Explain, write, show."""
    paths = claim(screen, [model_path, data_path], force=force, explanation=output)
    check_readable(data_path)
    model = load_model(model_path)
    data = model.read(data_path, id_column=id_column)
    explanation = explain(model, data)
    screen.note(*explanation.notes)
    for path in paths.values():
        _write(explanation, path, spreadsheet_safe=spreadsheet_safe)
    if screen.prints_text:
        screen.show(*_parts(explanation, model, data_path))
    outputs = screen.written(paths, "-o explanation.csv keeps all of it as one table.")
    if screen.as_json:
        screen.result(
            {
                "command": "explain",
                "model": str(model_path),
                "data": str(data_path),
                "method": model.method,
                **explanation_facts(explanation),
                "outputs": outputs,
            }
        )


def _parts(explanation: Explanation, model: Model, data: Path) -> Iterator[Any]:
    """Everything for people, cluster by cluster."""
    name, rows = type(model.estimator).__name__, counted(explanation.n_rows, "row")
    yield f"[bold]{name}[/] on {plain_text(data)}: {rows}"
    profiles = explanation.clusters
    if len(profiles) > SHOWN_CLUSTERS:
        largest = sorted(profiles, key=lambda profile: -profile.size)[:SHOWN_CLUSTERS]
        profiles = tuple(profile for profile in profiles if profile in largest)
    for profile in profiles:
        yield ""
        yield from _cluster_parts(explanation, profile)
    yield ""
    if hidden := len(explanation.clusters) - len(profiles):
        yield f"{hidden} smaller clusters are not shown."
    if explanation.n_outside:
        few = ", ".join(map(str, explanation.outside))
        more = " ..." if explanation.n_outside > len(explanation.outside) else ""
        yield (f"{counted(explanation.n_outside, 'row')} in no cluster: {plain_text(few)}{more}")
    yield explanation.rules.sentence
    yield (
        "Inside and others: medians or shares. Effect: from 0 to 1, with its 95% interval. Named "
        "is only what chance does not explain, at 5% over all comparisons."
    )


def _cluster_parts(explanation: Explanation, profile: Profile) -> Iterator[Any]:
    share = percent(profile.share)
    yield f"[bold]Cluster {plain_text(profile.title)}[/]: {counted(profile.size, 'row')} ({share})"
    traits = shown(profile.traits, SHOWN_TRAITS)
    if traits:
        rows = [_trait_cells(trait) for trait in traits]
        yield table("What sets it apart", "Inside", "Others", "Lift", "Effect", rows=rows)
        if hidden := len(profile.traits) - len(traits):
            yield f"  and {counted(hidden, 'lesser trait')}"
    else:
        yield f"  {plain_text(profile.sentence().split('. ', 1)[1])}"
    typical = explanation.typical[profile.name]
    yield f"  Typical rows: {plain_text(', '.join(map(str, typical)))}"
    doubts = [f"{doubt.row} (or {doubt.other})" for doubt in explanation.doubtful[profile.name]]
    if doubts:
        yield f"  Doubtful rows: {plain_text(', '.join(doubts))}"
    yield from _rule_lines(explanation.rules, profile.name)


def _trait_cells(trait: Trait) -> tuple[str, ...]:
    low, high = sorted(side if trait.effect > 0.0 else -side for side in (trait.low, trait.high))
    said = f"{trait.statistic} " if trait.statistic.startswith("mean") else ""
    return (
        trait.what,
        f"{said}{trait.inside_text}",
        trait.rest_text,
        "" if np.isnan(trait.lift) else ratio(trait.lift),
        f"{abs(trait.effect):.2f} ({low:.2f}-{high:.2f})",
    )


def _rule_lines(rules: RuleSet, cluster: str) -> Iterator[str]:
    for rule in rules.of(cluster):
        yield (
            f"  Rule: {plain_text(rule.text)} ({percent(rule.precision)} of "
            f"{counted(rule.n_matching, 'matching row')} are in it, "
            f"{percent(rule.coverage)} of it matches)"
        )


def _write(explanation: Explanation, path: Path, *, spreadsheet_safe: bool) -> None:
    """Write the plain table; numbers that do not apply are empty."""
    rows = explanation.table()
    columns: dict[str, Any] = {name: np.array([row[name] for row in rows], str) for name in TEXTS}
    for name in NUMBERS:
        columns[name] = np.array([row[name] for row in rows], object)
    with atomic_write(path) as temporary:
        write_columns(columns, temporary, spreadsheet_safe=spreadsheet_safe)
