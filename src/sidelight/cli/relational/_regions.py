"""``sidelight regions``: rows and a graph to clusters that are one piece each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sidelight._words import counted
from sidelight.cli._run import claim, explanation_lines
from sidelight.cli._run import heading as run_heading
from sidelight.cli._screen import (
    SHOWN_CLUSTERS,
    Screen,
    number,
    preparation_lines,
    score_table,
    table,
    violation_lines,
)
from sidelight.jobs import RegionsRequest, RegionsRun
from sidelight.jobs.regions._run import prepare_regions


def run(
    asked: RegionsRequest,
    screen: Screen,
    *,
    force: bool,
    spreadsheet_safe: bool,
    **outputs: Path | None,
) -> None:
    """Do the whole job."""
    claim(screen, asked.inputs, force=force, **outputs)
    ready = prepare_regions(asked)
    prepared = ready.prepared
    screen.note(*prepared.notes)
    screen.show(*preparation_lines(prepared.preparer, raw=not prepared.request.prepare))
    with screen.progress():
        found = ready.fit()
        facts = {"command": "regions", **found.facts()}
    paths = found.write(spreadsheet_safe=spreadsheet_safe, **outputs)
    if screen.prints_text:
        screen.show(*_parts(found, facts))
    facts["outputs"] = screen.written(
        paths, "Nothing was written; -o labels.csv keeps the labels, --report a report."
    )
    if "labels" not in paths:
        facts |= {"ids": found.data.row_ids, "labels": found.labels}
    screen.result(facts)


def _parts(found: RegionsRun, facts: dict[str, Any]) -> list[Any]:
    graph = "" if facts["n_edges"] is None else f", {counted(facts['n_edges'], 'edge')}"
    ended = "converged" if facts["converged"] else "not converged"
    n_features = counted(facts["n_features"], "feature")
    parts: list[Any] = [
        f"{run_heading(found)}, {n_features}{graph}; {ended} after "
        f"{counted(facts['n_iter'], 'iteration')} in {found.seconds:.2f} s, objective "
        f"{number(facts['objective'])}",
        _region_table(found, facts),
    ]
    if facts["lower_bound"] is not None and facts["radius"] is not None:
        parts.append(
            f"Largest radius {number(facts['radius'])}; no connected clusters have one below "
            f"{number(facts['lower_bound'])}."
        )
    parts += explanation_lines(found)
    if not found.knowledge.is_empty:
        parts += violation_lines(found.knowledge, found.violations)
    if found.scores:
        parts.append(score_table(found.scores, found.data.truth_column or "truth"))
    return parts


def _region_table(found: RegionsRun, facts: dict[str, Any]) -> Any:
    """Rows, radius and center of every cluster; of very many, the largest."""
    radii, centers = facts["radii"], facts.get("centers")
    shown = list(found.sizes.items())
    if len(shown) > SHOWN_CLUSTERS:
        shown = sorted(shown, key=lambda one: -one[1])[:SHOWN_CLUSTERS]
    rows = []
    for name, size in shown:
        cluster = int(name)
        radius = number(float(radii[cluster])) if radii is not None and cluster >= 0 else ""
        center = centers[cluster] if centers is not None and cluster >= 0 else None
        rows.append((name, f"{size:,}", radius, "" if center is None else center))
    if hidden := len(found.sizes) - len(shown):
        rows.append((f"and {hidden:,} smaller ones", "", "", ""))
    return table("Cluster", "Rows", "Radius", "Center", rows=rows)
