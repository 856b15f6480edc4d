"""The page of a consensus: votes about pairs, how near every partition is, rows in dispute."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from markupsafe import Markup

from sidelight._words import STATEMENTS, counted
from sidelight.jobs._graph_page import partition_page, signs_card
from sidelight.jobs.consensus._facts import disputed_share, note_gaps, vote_blocks
from sidelight.pictures._run import shorten
from sidelight.pictures.relational._blocks import MAX_OBJECTS
from sidelight.report.cards import card, meter, notes, row_id, table_card, tally_table
from sidelight.report.page import Page, row_names
from sidelight.report.tables import Tally
from sidelight.report.text import text_table

if TYPE_CHECKING:
    from sidelight.jobs.consensus._run import ConsensusRun

MAX_DISPUTED = 20
#: Letters of a name that are shown.
MAX_NAME = 40
#: What the colors of the sign matrix mean.
KEY = (
    "more partitions put the two together",
    "more keep them apart",
    "the consensus is against most",
)


def page(found: ConsensusRun) -> Page:
    """Return what the page of a consensus shows."""
    disputed = _disputed(found)
    return partition_page(
        found,
        "row",
        ("Partitions", counted(len(found.names), "partition")),
        signs=_votes(found),
        cost="The cost is the number of votes that the consensus is against, over all partitions "
        "and pairs.",
        asked=_known(found),
        below=(_partitions(found, "full" if disputed is None else "half"), disputed),
        largest="full",
    )


def _votes(found: ConsensusRun) -> Markup:
    n_rows = found.data.n_rows
    blocks, rows = vote_blocks(found.partitions, found.labels, MAX_OBJECTS)
    text = (
        "Rows and columns are the rows of the table; frames are clusters. Every partition has a "
        "vote about every pair of rows that it knows; pairs with as many votes for as against stay "
        "empty."
    )
    if len(rows) < n_rows:
        text += f" Shown are {len(rows):,} of {n_rows:,} rows, evenly from the clusters."
    title = "Votes about the pairs, in the order of the clusters"
    return signs_card(title, blocks, row_names(found.data.ids, rows), KEY, text)


def _known(found: ConsensusRun) -> Markup:
    """Count the statements by kind, and those that are not kept."""
    kinds = [
        Tally(STATEMENTS[kind], number, len(getattr(found.violations, kind)))
        for kind, number in found.knowledge.counts.items()
        if number
    ]
    known = tally_table(kinds) if kinds else "Nothing but the partitions."
    said = notes([*note_gaps(found.partitions, found.names), *found.knowledge.notes])
    return card("What was known", known, said, size="")


def _partitions(found: ConsensusRun, size: str) -> Markup:
    """Return how far every partition is from the consensus."""
    any_missing = any(one.n_missing for one in found.described)
    rows = []
    for one in found.described:
        alike = 1.0 - one.distance
        missing = [f"{one.n_missing:,}"] if any_missing else []
        bar = meter(alike, f"{alike:.1%} alike", f"{alike:.1%}")
        name = shorten(one.name, MAX_NAME)
        rows.append((name, f"{one.n_clusters:,}", *missing, f"{one.n_different:,}", bar))
    missing = ["Rows without one"] if any_missing else []
    headers = ("Partition", "Clusters", *missing, "Pairs that differ", "Pairs alike")
    sides = ("left", *["right"] * (len(headers) - 2), "left")
    told = text_table(*headers, rows=rows, justify=sides)
    note = (
        "A pair differs where it is together in one of the two partitions and apart in the other."
    )
    return table_card("How near every partition is", told, note, css="tally", size=size)


def _disputed(found: ConsensusRun) -> Markup | None:
    """List the rows about which the most votes are against the consensus."""
    share = disputed_share(found.partitions, found.labels)
    order = np.argsort(-share, kind="stable")[:MAX_DISPUTED]
    order = order[share[order] > 0]
    if not len(order):
        return None
    rows = [
        (row_id(name, MAX_NAME), int(found.labels[row]), f"{share[row]:.1%}")
        for name, row in zip(row_names(found.data.ids, order), order.tolist(), strict=True)
    ]
    sides = ("left", "left", "right")
    told = text_table("Row", "Cluster", "Votes against", rows=rows, justify=sides)
    note = (
        "Share of the votes about the pairs of a row that the consensus is against, the largest "
        "first."
    )
    return table_card("Rows in dispute", told, note, size="half")
