"""What a result of ``sidelight correlate`` says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sidelight._words import counted, format_number
from sidelight.jobs._graph import graph_words, largest_table
from sidelight.report.inner import Strong, Told, text_table

if TYPE_CHECKING:
    from sidelight.jobs.correlate._run import CorrelateRun

#: Strongest disagreements that are listed.
MAX_WORST = 8


def words(found: CorrelateRun) -> list[Told]:
    """Return cost and bound, the largest clusters and the strongest disagreements."""
    names = ("objective", "agreement", "lower_bound")
    cost, agreement, bound = (format_number(value, 6) for value in found.fitted(*names).values())
    parts: list[Told] = [
        (f"Cost {cost}, agreement {agreement}; lower bound {bound}: ", Strong(found.gap), "."),
        largest_table(found, "Cluster", "Objects"),
    ]
    if worst := found.worst(MAX_WORST):
        cells = [(row["first"], row["second"], row["score"], row["kind"]) for row in worst]
        headers = ("Strongest disagreements", "", "Score", "But")
        justify = ("left", "left", "right", "left")
        parts.append(text_table(*headers, rows=cells, justify=justify))
    pairs = counted(found.relations.n_edges, "scored pair")
    return graph_words(found, "object", f"{pairs}; {counted(found.n_clusters, 'cluster')}", *parts)
