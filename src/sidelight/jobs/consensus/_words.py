"""What a result of ``sidelight consensus`` says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sidelight._words import counted
from sidelight.jobs._graph import graph_words, largest_table
from sidelight.jobs._parts import MAX_COLUMNS
from sidelight.report.inner import Told, text_table

if TYPE_CHECKING:
    from sidelight.jobs.consensus._run import ConsensusRun


def words(found: ConsensusRun) -> list[Told]:
    """Return how far every partition is from the consensus, and its largest clusters."""
    rows = [(name, f"{share:.2%}") for name, share in found.distances.items()][:MAX_COLUMNS]
    if hidden := len(found.names) - len(rows):
        rows.append((f"and {hidden:,} more", ""))
    distances = text_table("Partition", "Pairs that differ", rows=rows)
    partitions = counted(len(found.names), "partition")
    text = f"{partitions}; {counted(found.n_clusters, 'cluster')}"
    return graph_words(found, "row", text, distances, largest_table(found, "Cluster", "Rows"))
