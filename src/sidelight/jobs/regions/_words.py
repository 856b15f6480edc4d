"""What a result of ``sidelight regions`` says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sidelight._words import counted, format_number
from sidelight.jobs._parts import MAX_CLUSTERS, ended, ending, heading, objective_text
from sidelight.jobs._table._words import explanation_lines
from sidelight.report.inner import TextTable, Told, first_rows, text_table

if TYPE_CHECKING:
    from sidelight.jobs.regions._run import RegionsRun


def words(found: RegionsRun) -> list[Told]:
    """Return sizes, radii and centers of the clusters, what sets them apart and what they keep."""
    facts = found.facts()
    graph = "" if facts["n_edges"] is None else f", {counted(facts['n_edges'], 'edge')}"
    text = (
        f", {counted(facts['n_features'], 'feature')}{graph}; {ended(found.estimator)} in "
        f"{found.seconds:.2f} s, {objective_text(found.estimator)}"
    )
    parts: list[Told] = [heading(found.estimator, found.data, text), _region_table(found, facts)]
    if facts["lower_bound"] is not None and facts["radius"] is not None:
        parts.append(
            f"Largest radius {format_number(facts['radius'], 6)}; no connected clusters have one "
            f"below {format_number(facts['lower_bound'], 6)}."
        )
    about = (found.knowledge, found.violations, found.scores, found.data)
    return [*parts, *explanation_lines(found), *ending(*about)]


def _region_table(found: RegionsRun, facts: dict[str, Any]) -> TextTable:
    """Return rows, radius and center of every cluster; of very many, of the largest."""
    radii, centers = facts["radii"], facts.get("centers")
    shown = list(found.sizes.items())
    if len(shown) > MAX_CLUSTERS:
        shown.sort(key=lambda one: -one[1])
    rows = []
    for name, size in shown:
        cluster = int(name)
        known = radii is not None and cluster >= 0
        radius = format_number(float(radii[cluster]), 6) if known else ""
        center = centers[cluster] if centers is not None and cluster >= 0 else None
        rows.append((name, f"{size:,}", radius, "" if center is None else center))
    told = first_rows(rows, MAX_CLUSTERS, "smaller ones")
    return text_table("Cluster", "Rows", "Radius", "Center", rows=told)
