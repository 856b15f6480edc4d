"""The page of entities: how pairs were found, merge chains, doubtful pairs, rates by threshold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup

from sidelight._words import counted, format_number
from sidelight.jobs._graph_page import known_for_certain
from sidelight.pictures.inner import rates
from sidelight.report.inner import (
    MAX_MEMBERS,
    Cell,
    Cluster,
    Page,
    agreement_card,
    card,
    figure,
    html,
    joined,
    largest_clusters,
    note,
    notes,
    row_id,
    row_names,
    side,
    size_figure,
    small,
    strong,
    table,
    table_card,
    text_table,
)

if TYPE_CHECKING:
    from sidelight.jobs.resolve._run import ResolveRun

MAX_CHAINS = 8
MAX_STEPS = 30
MAX_DOUBTFUL = 20
#: Kinds of merges, in words.
KINDS = {"bootstrap": "nearly identical", "similar": "", "must-link": "known for certain"}
#: Letters of a reference, and of an id, that are shown.
MAX_LETTERS, MAX_ID = 90, 32
#: Parts of a similarity.
PARTS = ("attribute", "relational", "similarity")


def page(found: ResolveRun) -> Page:
    """Return what the page of entities shows."""
    n, n_pairs = len(found.labels), int(found.estimator.blocking_.n_pairs)
    entities = counted(found.n_clusters, "entity", "entities")
    sentence = f"{counted(n, 'reference')} to {entities}; {counted(n_pairs, 'pair')} compared"
    compared = notes([*found.blocking_lines(), *found.knowledge.notes])
    return found.page_of(
        __package__,
        noun="References",
        sentence=known_for_certain(found, sentence),
        status=f"{n - found.n_clusters:,} references joined to others",
        facts=[("Entities", f"{found.n_clusters:,}"), ("Pairs", f"{n_pairs:,}")],
        settings={"groups": found.request.groups or "none"},
        cards=[
            _chains_card(found),
            side(
                card("Which pairs were compared", compared, size=""),
                agreement_card(found),
                size_figure(found.labels, "entities"),
            ),
            _rates(found),
            _doubtful(found),
        ],
    )


# --- how entities came about --------------------------------------------------------------------


def _chains_card(found: ResolveRun) -> Markup:
    """Return how the largest entities came about, merge by merge."""
    merges, texts = found.estimator.merges_, found.row_texts()
    first = np.asarray(merges["i"], np.int64)
    entity = found.labels[first] if len(first) else first
    chains: list[Markup] = []
    for cluster in largest_clusters(found.labels, found.data.ids, MAX_CHAINS):
        if cluster.size < 2:
            continue
        steps = np.flatnonzero(entity == cluster.label)
        tables = [_references(cluster, found, texts), _steps(merges, steps, found.data.ids)]
        form = "<details{}><summary>{}{}</summary>{}</details>"
        name = strong(f"Entity {cluster.label}")
        size = small(f"{cluster.size:,} references")
        is_open = Markup("" if chains else " open")
        chains.append(html(form, is_open, name, size, joined(filter(None, tables))))
    shown = joined(chains) or note("No references were joined.")
    return card("How the largest entities came about", shown, size="plot chains")


def _references(cluster: Cluster, found: ResolveRun, texts: list[str]) -> Markup:
    rows = np.flatnonzero(found.labels == cluster.label)[:MAX_MEMBERS].tolist()
    names = row_names(found.data.ids, rows)
    cells: list[Any] = [
        (row_id(name, MAX_ID), Cell(texts[row][:MAX_LETTERS], "members"))
        for name, row in zip(names, rows, strict=True)
    ]
    if cluster.n_more:
        cells.append((Cell(f"and {cluster.n_more:,} more", "quiet", span=2),))
    return table(text_table("Reference", "Says", rows=cells, justify=("left",)))


def _steps(merges: Any, steps: Any, ids: Any) -> Markup | None:
    """Return the merges of an entity, and how each came about where the method records that."""
    if not len(steps):
        return None
    cells: list[Any] = []
    for step in steps[:MAX_STEPS].tolist():
        one, other = row_names(ids, [merges["i"][step], merges["j"][step]])
        attribute, relational, similarity = (_share(merges[name][step]) for name in PARTS)
        names = (row_id(one, MAX_ID), row_id(other, MAX_ID))
        how = Cell(_how(merges, step), "quiet words")
        cells.append((*names, attribute, relational, strong(similarity), how))
    if len(steps) > MAX_STEPS:
        cells.append((Cell(f"and {len(steps) - MAX_STEPS:,} more merges", "quiet", span=6),))
    headers = ("Joined by the pair", "", "Attributes", "Relations", "Similarity", "")
    sides = ("left", "left", "right", "right", "right", "left")
    return table(text_table(*headers, rows=cells, justify=sides))


def _how(merges: Any, step: int) -> str:
    kind = str(merges["kind"][step]) if "kind" in merges else ""
    how = KINDS.get(kind, kind)
    if "shared" in merges and merges["neighbors"][step]:
        shared = f"{int(merges['shared'][step])} of {int(merges['neighbors'][step])}"
        how = f"{how}{', ' if how else ''}{shared} neighbors shared"
    return how


def _share(value: Any) -> str:
    return f"{float(value):.3f}" if np.isfinite(value) else ""


# --- what is in doubt ---------------------------------------------------------------------------


def _doubtful(found: ResolveRun) -> Markup | None:
    """Return the pairs nearest to the threshold, and what would decide them."""
    pairs, texts, ids = found.doubtful(MAX_DOUBTFUL), found.row_texts(), found.data.ids
    if not len(pairs["i"]):
        return None

    def reference(row: int) -> Markup:
        said = html('<small class="members">{}</small>', texts[row][:MAX_LETTERS])
        return html("{}<br>{}", row_id(row_names(ids, [row])[0], MAX_ID), said)

    columns = (pairs[name].tolist() for name in ("i", "j", *PARTS, "reason"))
    rows = [
        (
            reference(i),
            reference(j),
            _share(a),
            _share(r),
            strong(_share(s)),
            Cell(str(reason), "words"),
        )
        for i, j, a, r, s, reason in zip(*columns, strict=True)
    ]
    headers = ("Reference", "Other reference", "Attributes", "Relations", "Similarity")
    sides = ("left", "left", "right", "right", "right", "left")
    shown = text_table(*headers, "What would decide it", rows=rows, justify=sides)
    asked = html("Nearest to the threshold first. <code>sidelight ask</code> asks about them.")
    return table_card("Doubtful pairs", shown, note(asked))


def _rates(found: ResolveRun) -> Markup | None:
    """Return precision and recall over the threshold."""
    curve, best, threshold = found.curve, found.best, found.threshold
    if curve is None or best is None:
        return None
    at = curve.at(threshold)
    here = 0.0 if at is None else float(curve.f1[at])
    text = (
        f"A threshold stands for the run that stops there. Best F1: {best['f1']:.3f} at "
        f"{format_number(best['threshold'])}; {here:.3f} at "
        f"{format_number(threshold)}, the threshold of this run."
    )
    title = "Precision and recall over the threshold"
    return figure(title, rates(curve, threshold), text, size="full")
