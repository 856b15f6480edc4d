"""What a result of ``sidelight correlate`` says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sidelight._words import counted, format_number
from sidelight.jobs._graph import graph_heading, largest_table
from sidelight.jobs._parts import ending
from sidelight.report.text import Strong, Told, text_table

if TYPE_CHECKING:
    from sidelight.jobs.correlate._run import CorrelateRun

#: Strongest disagreements that are listed.
MAX_WORST = 8


def words(found: CorrelateRun) -> list[Told]:
    """Return cost and bound, the largest clusters and the strongest disagreements."""
    facts = found.facts()
    pairs = counted(facts["n_pairs"], "scored pair")
    cost, agreement, bound = (
        format_number(facts[name], 6) for name in ("objective", "agreement", "lower_bound")
    )
    parts: list[Told] = [
        graph_heading(found, "object", f"{pairs}; {counted(facts['n_clusters'], 'cluster')}"),
        (
            f"Cost {cost}, agreement {agreement}; lower bound {bound}: ",
            Strong(found.gap),
            ".",
        ),
        largest_table(found, "Cluster", "Objects"),
    ]
    if worst := found.worst(MAX_WORST):
        cells = [(row["first"], row["second"], row["score"], row["kind"]) for row in worst]
        headers = ("Strongest disagreements", "", "Score", "But")
        justify = ("left", "left", "right", "left")
        parts.append(text_table(*headers, rows=cells, justify=justify))
    return [*parts, *ending(found.knowledge, found.violations, found.scores, found.data)]
