"""``sidelight explain``: what the clusters of a saved model are."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from sidelight._words import counted
from sidelight.explanation import Explanation, Profile, RuleSet, Trait
from sidelight.explanation.inner import NUMBERS, TEXTS, percent, plural, shown
from sidelight.io.inner import check_readable, write_columns
from sidelight.jobs._large._when import in_blocks
from sidelight.jobs._parts import MAX_CLUSTERS
from sidelight.jobs._result import Result, Writer
from sidelight.jobs._table._explain import explain, explanation_facts
from sidelight.jobs._table._features import IN_MEMORY
from sidelight.jobs._table._model import Model, load_model
from sidelight.jobs.explain._request import ExplainRequest
from sidelight.report.inner import Strong, Told, text_table

#: Largest number of traits of a cluster that are listed.
MAX_TRAITS = 8


@dataclass(frozen=True, eq=False)
class ExplainRun(Result):
    """What the clusters of a model are.

    Attributes
    ----------
    request : ExplainRequest
        What was asked for.
    model : Model or None
        The model; None for labels that a folder holds.
    explanation : Explanation
        What sets its clusters apart, typical and doubtful rows, rules.
    sampled : str
        Of which rows it speaks, where these are not all; else empty.
    """

    request: ExplainRequest
    model: Model | None
    explanation: Explanation
    sampled: str = ""

    advice = "-o explanation.csv keeps all of it as one table."

    @property
    def notes(self) -> tuple[str, ...]:
        """Decisions made on the way."""
        return tuple(self.explanation.notes)

    def facts(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {
            "model": str(self.request.model),
            "data": self._data_name,
            "method": None if self.model is None else self.model.method,
            **explanation_facts(self.explanation),
        }

    @property
    def _data_name(self) -> str:
        data = self.request.data
        return str(data if isinstance(data, str | os.PathLike) else IN_MEMORY)

    def tell(self) -> list[Told]:
        """Return what sets every cluster apart, typical and doubtful rows, and rules."""
        name = "Labels" if self.model is None else type(self.model.estimator).__name__
        rows = self.sampled or counted(self.explanation.n_rows, "row")
        head = (Strong(name), f" on {self._data_name}: {rows}")
        return [head, *_cluster_by_cluster(self.explanation)]

    def writers(self, spreadsheet_safe: bool) -> Mapping[str, Writer]:
        """Return what writes the plain table."""
        write = partial(_write, self.explanation, spreadsheet_safe=spreadsheet_safe)
        return {"explanation": write}


def prepare(request: ExplainRequest) -> ExplainRun:
    """Explain the clusters of a saved model."""
    model = request.model
    if is_folder_of_labels(model) or in_blocks(request):
        # Here, since a table in memory does without these imports.
        from sidelight.jobs._large._explain import explain_parts

        return ExplainRun(request, *explain_parts(request))
    if not isinstance(model, Model):
        model = load_model(model)
    data = request.data
    if isinstance(data, str | os.PathLike):
        data = model.read(check_readable(data), id_column=request.id_column)
    elif request.id_column is not None:
        model = replace(model, id_column=request.id_column)
    return ExplainRun(request, model, explain(model, data))


def is_folder_of_labels(model: Any) -> bool:
    """Whether what is explained is a folder of labels instead of a model."""
    return isinstance(model, str | os.PathLike) and os.path.isdir(model)


def _cluster_by_cluster(explanation: Explanation) -> Iterator[Told]:
    profiles = explanation.clusters
    if len(profiles) > MAX_CLUSTERS:
        largest = sorted(profiles, key=lambda profile: -profile.size)[:MAX_CLUSTERS]
        profiles = tuple(profile for profile in profiles if profile in largest)
    for profile in profiles:
        yield ""
        yield from _cluster_parts(explanation, profile)
    yield ""
    if hidden := len(explanation.clusters) - len(profiles):
        yield f"{hidden} smaller {plural(explanation.noun)} are not shown."
    if explanation.n_outside:
        few = ", ".join(map(str, explanation.outside))
        more = " ..." if explanation.n_outside > len(explanation.outside) else ""
        yield f"{counted(explanation.n_outside, 'row')} in no {explanation.noun}: {few}{more}"
    yield explanation.rules.sentence
    yield (
        "Inside and others: medians or shares. Effect: from 0 to 1, with its 95% interval. Named "
        "is only what chance does not explain, at 5% over all comparisons."
    )


def _cluster_parts(explanation: Explanation, profile: Profile) -> Iterator[Told]:
    share = percent(profile.share)
    yield (
        Strong(f"{profile.noun.capitalize()} {profile.title}"),
        f": {counted(profile.size, 'row')} ({share})",
    )
    traits = shown(profile.traits, MAX_TRAITS)
    if traits:
        rows = [_trait_cells(trait) for trait in traits]
        yield text_table("What sets it apart", "Inside", "Others", "Lift", "Effect", rows=rows)
        if hidden := len(profile.traits) - len(traits):
            yield f"  and {counted(hidden, 'lesser trait')}"
    else:
        yield f"  {profile.lack}"
    typical = explanation.typical[profile.name]
    yield f"  Typical rows: {', '.join(map(str, typical))}"
    doubts = [f"{doubt.row} (or {doubt.other})" for doubt in explanation.doubtful[profile.name]]
    if doubts:
        yield f"  Doubtful rows: {', '.join(doubts)}"
    yield from _rule_lines(explanation.rules, profile.name)


def _trait_cells(trait: Trait) -> tuple[str, ...]:
    low, high = sorted(side if trait.effect > 0.0 else -side for side in (trait.low, trait.high))
    said = f"{trait.statistic} " if trait.statistic.startswith("mean") else ""
    return (
        trait.what,
        f"{said}{trait.inside_text}",
        trait.rest_text,
        trait.lift_text,
        f"{abs(trait.effect):.2f} ({low:.2f}-{high:.2f})",
    )


def _rule_lines(rules: RuleSet, cluster: str) -> Iterator[str]:
    for rule in rules.of(cluster):
        yield f"  Rule: {rule.sentence}"


def _write(explanation: Explanation, path: Path, *, spreadsheet_safe: bool) -> None:
    """Write the plain table; numbers that do not apply are empty."""
    rows = explanation.table()
    columns: dict[str, Any] = {name: np.array([row[name] for row in rows], str) for name in TEXTS}
    for name in NUMBERS:
        columns[name] = np.array([row[name] for row in rows], object)
    write_columns(columns, path, spreadsheet_safe=spreadsheet_safe)
