"""What a result of ``sidelight cocluster`` says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sidelight._words import counted
from sidelight.jobs._parts import (
    MAX_CLUSTERS,
    MAX_VIOLATIONS,
    heading,
    score_table,
    violation_lines,
)
from sidelight.report.text import TextTable, Told, text_table

if TYPE_CHECKING:
    from sidelight.jobs.cocluster._run import CoclusterRun

#: Heaviest columns of a co-cluster that are named.
MAX_COLUMNS = 5


def words(found: CoclusterRun) -> list[Told]:
    """Return sizes, heaviest columns, measures and what is kept, as lines and tables."""
    facts = found.facts()
    size = f"{counted(facts['n_columns'], 'column')}, {facts['density']:.1%} ones"
    concepts = facts["n_concepts"]
    from_concepts = "" if concepts is None else f" from {counted(concepts, 'bi-set')}"
    ended = "converged" if facts["converged"] else "not converged"
    text = (
        f"{size}; {counted(len(facts['coclusters']), 'co-cluster')}{from_concepts}, {ended} after "
        f"{counted(facts['n_iter'], 'iteration')}"
    )
    text = f", {text} in {found.seconds:.2f} s"
    parts: list[Told] = [heading(found.estimator, found.data, text), _cocluster_table(facts)]
    parts += [f"{name}: {value}" for name, value in found.described.measure_words()]
    if not found.knowledge.is_empty:
        parts += violation_lines(found.knowledge, found.violations)
    if not found.column_knowledge.is_empty:
        about = (found.column_knowledge, found.column_violations)
        parts += violation_lines(*about, "Known about columns")
    parts += [
        f"  {kind} of row {row!r} and column {column!r} is not kept"
        for kind, row, column in facts["cross_violations"][:MAX_VIOLATIONS]
    ]
    if found.scores:
        parts.append(score_table(found.scores, found.data.truth_column or "truth"))
    return parts


def _cocluster_table(facts: dict[str, Any]) -> TextTable:
    """Rows, columns, density and heaviest columns of every co-cluster."""
    rows = [
        (
            str(one["cluster"]),
            f"{one['n_rows']:,}",
            f"{one['n_columns']:,}",
            f"{one['density']:.0%}",
            ", ".join(
                f"{name} {weight:.2f}"
                for name, weight in list(one["columns"].items())[:MAX_COLUMNS]
            ),
        )
        for one in facts["coclusters"][:MAX_CLUSTERS]
    ]
    if hidden := len(facts["coclusters"]) - len(rows):
        rows.append((f"and {hidden:,} more", "", "", "", ""))
    headers = ("Cluster", "Rows", "Columns", "Ones", "Heaviest columns")
    justify = ("left", "right", "right", "right", "left")
    return text_table(*headers, rows=rows, justify=justify)
