"""``sidelight cocluster``: a 0/1 table to clusters of its rows and columns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sidelight._words import counted
from sidelight.cli._run import claim
from sidelight.cli._screen import (
    SHOWN_CLUSTERS,
    SHOWN_VIOLATIONS,
    Screen,
    plain_text,
    score_table,
    table,
    violation_lines,
)
from sidelight.cli.relational._correlate import finish, heading
from sidelight.jobs import CoclusterRequest, CoclusterRun
from sidelight.jobs.cocluster._run import cocluster

#: Heaviest columns of a co-cluster that are named.
SHOWN_COLUMNS = 5


def run(
    request: CoclusterRequest,
    screen: Screen,
    *,
    force: bool,
    spreadsheet_safe: bool,
    **outputs: Path | None,
) -> None:
    """Do the whole job."""
    claim(screen, request.inputs, force=force, **outputs)
    with screen.progress():
        found = cocluster(request)
    finish(found, "cocluster", screen, _parts, spreadsheet_safe=spreadsheet_safe, **outputs)


def _parts(found: CoclusterRun, facts: dict[str, Any]) -> list[Any]:
    size = f"{counted(facts['n_columns'], 'column')}, {facts['density']:.1%} ones"
    concepts = facts["n_concepts"]
    from_concepts = "" if concepts is None else f" from {counted(concepts, 'bi-set')}"
    ended = "converged" if facts["converged"] else "not converged"
    text = (
        f"{size}; {counted(len(facts['coclusters']), 'co-cluster')}{from_concepts}, {ended} after "
        f"{counted(facts['n_iter'], 'iteration')}"
    )
    parts: list[Any] = [heading(found, "row", text), _cocluster_table(facts)]
    parts += [f"{name}: {value}" for name, value in found.described.measure_words()]
    if not found.knowledge.is_empty:
        parts += violation_lines(found.knowledge, found.violations)
    if not found.column_knowledge.is_empty:
        first, *others = violation_lines(found.column_knowledge, found.column_violations)
        parts += [first.replace("Known:", "Known about columns:", 1), *others]
    parts += [
        f"  {kind} of row {plain_text(repr(row))} and column {plain_text(repr(column))} is not kept"
        for kind, row, column in facts["cross_violations"][:SHOWN_VIOLATIONS]
    ]
    if found.scores:
        parts.append(score_table(found.scores, found.data.truth_column or "truth"))
    return parts


def _cocluster_table(facts: dict[str, Any]) -> Any:
    """Rows, columns, density and heaviest columns of every co-cluster."""
    rows = [
        (
            str(one["cluster"]),
            f"{one['n_rows']:,}",
            f"{one['n_columns']:,}",
            f"{one['density']:.0%}",
            ", ".join(
                f"{name} {weight:.2f}"
                for name, weight in list(one["columns"].items())[:SHOWN_COLUMNS]
            ),
        )
        for one in facts["coclusters"][:SHOWN_CLUSTERS]
    ]
    if hidden := len(facts["coclusters"]) - len(rows):
        rows.append((f"and {hidden:,} more", "", "", "", ""))
    headers = ("Cluster", "Rows", "Columns", "Ones", "Heaviest columns")
    justify = ("left", "right", "right", "right", "left")
    return table(*headers, rows=rows, justify=justify)
