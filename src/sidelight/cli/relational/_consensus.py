"""``sidelight consensus``: several partitions to the one that is nearest to all of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sidelight._words import counted
from sidelight.cli._run import claim
from sidelight.cli._screen import SHOWN_COLUMNS, Screen, table
from sidelight.cli.relational._correlate import ending, finish, heading, largest_table
from sidelight.jobs import ConsensusRequest, ConsensusRun
from sidelight.jobs.consensus._run import consensus


def run(
    request: ConsensusRequest,
    screen: Screen,
    *,
    force: bool,
    spreadsheet_safe: bool,
    **outputs: Path | None,
) -> None:
    """Do the whole job."""
    claim(screen, request.inputs, force=force, **outputs)
    with screen.progress():
        found = consensus(request)
    finish(found, "consensus", screen, _parts, spreadsheet_safe=spreadsheet_safe, **outputs)


def _parts(found: ConsensusRun, facts: dict[str, Any]) -> list[Any]:
    text = f"{counted(len(found.names), 'partition')}; {counted(facts['n_clusters'], 'cluster')}"
    rows = [(name, f"{share:.2%}") for name, share in facts["distances"].items()][:SHOWN_COLUMNS]
    if hidden := len(found.names) - len(rows):
        rows.append((f"and {hidden:,} more", ""))
    return [
        heading(found, "row", text),
        table("Partition", "Pairs that differ", rows=rows),
        largest_table(found, "Cluster", "Rows"),
        *ending(found),
    ]
