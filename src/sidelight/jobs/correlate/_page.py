"""The page of scored pairs: sign matrix, bound and gap, worst disagreements, largest clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from markupsafe import Markup

from sidelight._words import counted, format_number
from sidelight.jobs._graph_page import partition_page, signs_card
from sidelight.jobs.correlate._facts import pair_kinds
from sidelight.pictures.inner import MAX_OBJECTS, sign_blocks
from sidelight.report.inner import Cell, Page, card, notes, row_id, table_card, text_table

if TYPE_CHECKING:
    from sidelight.jobs.correlate._run import CorrelateRun

MAX_WORST = 20
#: What the colors of the sign matrix mean.
KEY = (
    "positive score",
    "negative score",
    "disagreement: positive but apart, or negative but together",
)


def page(found: CorrelateRun) -> Page:
    """Return what the page of scored pairs shows."""
    relations = found.relations
    blocks = sign_blocks(relations.edges, relations.scores, found.labels, MAX_OBJECTS)
    reading = (
        "Rows and columns are the objects; frames are clusters, and clusters that scored pairs "
        "link stand together."
    )
    shown = f"{reading} Shown are {blocks.note}." if blocks.note else reading
    title = "Scores of the pairs, in the order of the clusters"
    worst = _worst(found)
    return partition_page(
        found,
        "object",
        ("Pairs", counted(relations.n_edges, "scored pair")),
        signs=signs_card(title, blocks, relations.ids, KEY, shown),
        cost="The cost is the sum of the scores that the partition is against.",
        asked=_pairs(found),
        below=(worst,),
        largest="full" if worst is None else "half",
    )


def _pairs(found: CorrelateRun) -> Markup:
    """Return how many scores the partition keeps, and what pairs without a score cost."""
    rows = [
        (name, Cell(f"{n:,}", "bad" if against and n else ""), format_number(total))
        for name, n, total, against in pair_kinds(found.relations, found.labels)
    ]
    edits = getattr(found.estimator, "edits", "remove")  # cluster editing: an edge has to be added
    absent = float(getattr(found.estimator, "absent_", 0.0 if edits == "remove" else 1.0))
    said = [*found.relations.notes, *found.knowledge.notes]
    if absent:
        cost = format_number(absent)
        said.insert(0, f"Pairs without a score cost {cost} each where they are together.")
    told = text_table("Score", "Pairs", "Sum", rows=rows)
    return card("Scored pairs", told, notes(said), size="")


def _worst(found: CorrelateRun) -> Markup | None:
    """Return the pairs that the partition is most against."""
    rows = [
        (
            row_id(pair["first"]),
            row_id(pair["second"]),
            pair["score"],
            pair["kind"],
            ", ".join(map(str, dict.fromkeys(pair["clusters"]))),
        )
        for pair in found.worst(MAX_WORST)
    ]
    if not rows:
        return None
    headers = ("Object", "Other object", "Score", "But", "Clusters")
    told = text_table(*headers, rows=rows, justify=("left", "left", "right", "left"))
    return table_card("Strongest disagreements", told, size="half")
