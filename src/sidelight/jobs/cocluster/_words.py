"""What a result of ``sidelight cocluster`` says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sidelight._words import counted
from sidelight.jobs._parts import (
    MAX_CLUSTERS,
    MAX_VIOLATIONS,
    heading,
    score_table,
    violation_lines,
)
from sidelight.report.inner import TextTable, Told, text_table

if TYPE_CHECKING:
    from sidelight.jobs.cocluster._run import CoclusterRun

#: Heaviest columns of a co-cluster that are named.
MAX_COLUMNS = 5


def words(found: CoclusterRun) -> list[Told]:
    """Return sizes, heaviest columns, measures and what is kept, as lines and tables."""
    described = found.described
    size = f"{counted(found.X.shape[1], 'column')}, {described.blocks.overall:.1%} ones"
    n_concepts, n_iter, converged = found.fitted("n_concepts", "n_iter", "converged").values()
    from_concepts = "" if n_concepts is None else f" from {counted(n_concepts, 'bi-set')}"
    ended = "converged" if converged else "not converged"
    text = (
        f", {size}; {counted(len(described.coclusters), 'co-cluster')}{from_concepts}, {ended} "
        f"after {counted(n_iter, 'iteration')} in {found.seconds:.2f} s"
    )
    parts: list[Told] = [heading(found.estimator, found.data, text), _cocluster_table(found)]
    parts += [f"{name}: {value}" for name, value in described.measure_words()]
    parts += described.doubts
    if not found.knowledge.is_empty:
        parts += violation_lines(found.knowledge, found.violations)
    if not found.column_knowledge.is_empty:
        about = (found.column_knowledge, found.column_violations)
        parts += violation_lines(*about, "Known about columns")
    parts += [
        f"  {kind} of row {row!r} and column {column!r} is not kept"
        for kind, row, column in found.cross_violations()[:MAX_VIOLATIONS]
    ]
    if found.scores:
        parts.append(score_table(found.scores, found.data.truth_column or "truth"))
    return parts


def _cocluster_table(found: CoclusterRun) -> TextTable:
    """Rows, columns, density and heaviest columns of every co-cluster."""
    names, coclusters = found.data.feature_names, found.described.coclusters
    rows = [
        (
            str(one.number),
            *one.cells,
            ", ".join(f"{names[column]} {weight:.2f}" for column, weight in one.top[:MAX_COLUMNS]),
        )
        for one in coclusters[:MAX_CLUSTERS]
    ]
    if hidden := len(coclusters) - len(rows):
        rows.append((f"and {hidden:,} more", "", "", "", "", ""))
    headers = ("Cluster", "Rows", "Columns", "Ones", "In other rows", "Heaviest columns")
    justify = ("left", "right", "right", "right", "right", "left")
    return text_table(*headers, rows=rows, justify=justify)
