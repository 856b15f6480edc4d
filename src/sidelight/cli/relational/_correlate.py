"""``sidelight correlate``: scored pairs to clusters, and how far from the best they can be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sidelight._words import counted
from sidelight.cli._run import claim
from sidelight.cli._screen import (
    Screen,
    number,
    plain_text,
    score_table,
    table,
    violation_lines,
)
from sidelight.runs.relational import CorrelateRequest, CorrelateRun, correlate
from sidelight.runs.relational._shared import GraphRun

SHOWN_CLUSTERS = 10
SHOWN_WORST = 8


def run(
    request: CorrelateRequest,
    screen: Screen,
    *,
    force: bool,
    safe_ids: bool,
    **outputs: Path | None,
) -> None:
    """Do the whole job."""
    claim(screen, request.inputs, force=force, **outputs)
    with screen.progress():
        found = correlate(request)
    finish(found, "correlate", screen, _parts, safe_ids=safe_ids, **outputs)


def finish(
    found: GraphRun, command: str, screen: Screen, parts: Any, *, safe_ids: bool, **outputs: Any
) -> None:
    """Write, show and end with the facts; ``parts`` makes what a person is told."""
    screen.note(*found.notes)
    facts = {"command": command, **found.facts()}
    paths = found.write(safe_ids=safe_ids, **outputs)
    if screen.talks:
        screen.show(*parts(found, facts))
    kind = next(iter(outputs))
    report = ", --report a report" if "report" in outputs else ""
    facts["outputs"] = screen.written(
        paths, f"Nothing was written; -o {kind}.csv keeps the {kind}{report}."
    )
    if kind not in paths:
        facts |= {"ids": found.data.row_ids, "labels": found.labels}
    screen.result(facts)


def heading(found: GraphRun, noun: str, text: str) -> str:
    """Method, data, number of objects, and what came out."""
    name = type(found.estimator).__name__
    return (
        f"[bold]{name}[/] on {plain_text(found.data.path)}: {counted(found.data.n_rows, noun)}, "
        f"{text} in {found.seconds:.2f} s"
    )


def largest_table(found: GraphRun, noun: str, many: str) -> Any:
    """The largest clusters; of single objects their number."""
    sizes = {name: size for name, size in found.sizes.items() if name != "-1"}
    single = sum(size == 1 for size in sizes.values())
    rows = [
        (name, f"{size:,}")
        for name, size in found.largest(SHOWN_CLUSTERS).items()
        if size > 1 and name in sizes
    ]
    hidden = len(sizes) - single - len(rows)
    if hidden:
        rows.append((f"and {hidden:,} others", ""))
    if single:
        rows.append((f"and {single:,} of a single one", ""))
    return table(noun, many, rows=rows)


def ending(found: GraphRun) -> list[Any]:
    """What was known, and agreement with the truth."""
    parts: list[Any] = []
    if not found.knowledge.is_empty:
        parts += violation_lines(found.knowledge, found.violations)
    if found.scores:
        parts.append(score_table(found.scores, found.data.truth_column or "truth"))
    return parts


def _parts(found: CorrelateRun, facts: dict[str, Any]) -> list[Any]:
    pairs = counted(facts["n_pairs"], "scored pair")
    clusters = counted(facts["n_clusters"], "cluster")
    parts: list[Any] = [
        heading(found, "object", f"{pairs}; {clusters}"),
        f"Cost {number(facts['objective'])}, agreement {number(facts['agreement'])}; lower bound "
        f"{number(facts['lower_bound'])}: [bold]{found.gap}[/].",
        largest_table(found, "Cluster", "Objects"),
    ]
    if worst := found.worst(SHOWN_WORST):
        cells = [(row["first"], row["second"], row["score"], row["kind"]) for row in worst]
        headers = ("Strongest disagreements", "", "Score", "But")
        parts.append(table(*headers, rows=cells, justify=("left", "left", "right", "left")))
    return [*parts, *ending(found)]
