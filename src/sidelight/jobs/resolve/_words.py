"""What a result of ``sidelight resolve`` says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sidelight._words import counted, format_number
from sidelight.jobs._graph import graph_words, largest_table
from sidelight.report.inner import Told, text_table

if TYPE_CHECKING:
    from sidelight.jobs.resolve._run import ResolveRun

#: Pairs in doubt that are listed.
MAX_DOUBTFUL = 5


def words(found: ResolveRun) -> list[Told]:
    """Return which pairs were compared, the largest entities and the pairs in doubt."""
    entities = counted(found.n_clusters, "entity", "entities")
    largest = largest_table(found, "Entity", "References")
    parts = [*found.blocking_lines(), largest, *_doubtful(found)]
    text = f"{entities} at the threshold {found.threshold:g}"
    told = graph_words(found, "reference", text, *parts)
    if (best := found.best) is not None:
        told.append(
            f"Best pairwise F1 over the threshold: {best['f1']:.3f} at "
            f"{format_number(best['threshold'], 6)} (this run: {found.threshold:g})."
        )
    return told


def _doubtful(found: ResolveRun) -> list[Told]:
    """Return the pairs in doubt as a table; nothing where there are none."""
    pairs = found.doubtful(MAX_DOUBTFUL)
    if not len(pairs["i"]):
        return []
    ids = found.data.row_ids
    columns = (pairs[name] for name in ("i", "j", "similarity", "reason"))
    cells = [
        (ids[i], ids[j], f"{similarity:.3f}", reason)
        for i, j, similarity, reason in zip(*columns, strict=True)
    ]
    headers = ("In doubt", "", "Similarity", "What would decide it")
    return [text_table(*headers, rows=cells, justify=("left", "left", "right", "left"))]
