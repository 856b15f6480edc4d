"""The page of clusters of rows and columns: the re-ordered table, runs, co-clusters, measures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from markupsafe import Markup

from sidelight._words import STATEMENTS, counted, listed, statements
from sidelight.jobs.cocluster._facts import Cocluster
from sidelight.pictures.inner import cluster_lanes, shorten, table_cells
from sidelight.report.inner import (
    MAX_GROUPS,
    MAX_NAME,
    Cell,
    Page,
    Row,
    Tally,
    agreement_card,
    card,
    figure,
    figures,
    group,
    html,
    joined,
    members,
    note,
    notes,
    objective_panel,
    outcome,
    row_names,
    side,
    table_card,
    tally_table,
    text_table,
)

if TYPE_CHECKING:
    from sidelight.jobs.cocluster._run import CoclusterRun

#: Most cells of the picture of a table, down and across; of larger ones cells are joined.
MAX_CELLS = (240, 320)
#: Statements that are listed because they are not kept.
MAX_BROKEN = 60
#: A table of more blocks across takes the width of the page.
WIDE_TABLE = 9
#: Letters of the name of a column that are told when the pointer rests on it.
MAX_TITLE = 120
MEASURES = (
    "Tau: how much better the cluster of one side is guessed when that of the other side is "
    "known, 0 to 1; by chance: in tables with shuffled columns. Information lost: what the ones "
    "of the table tell beyond those of its blocks."
)
WEIGHTS = (
    "The weight of a column is the share of the bi-sets of its co-cluster that contain it; where a "
    "method has no bi-sets, how much more often the rows of the cluster have it than others."
)


def page(found: CoclusterRun) -> Page:
    """Return what the page of co-clusters shows."""
    described, blocks = found.described, found.described.blocks
    names, columns = row_names(found.data.ids, range(found.data.n_rows)), found.data.feature_names
    kinds, broken = _tallies(found), _broken(found, names)
    fine, status = _status(found, kinds)
    facts = [
        ("Columns", f"{len(columns):,}"),
        ("Ones", f"{blocks.overall:.1%}"),
        ("Co-clusters", f"{len(described.coclusters):,}"),
    ]
    if (n_concepts := found.fitted("n_concepts")["n_concepts"]) is not None:
        facts.append(("Bi-sets", f"{int(n_concepts):,}"))
    objective = objective_panel(found.estimator)
    measures = text_table("", "", rows=described.measure_words())
    uncovered = described.because(names, columns)
    return found.page_of(
        __package__,
        sentence=_sentence(found, kinds),
        fine=fine,
        status=status,
        facts=facts,
        n_colors=max(int(np.max(one.clusters)) for one in (blocks.rows, blocks.columns)) + 1,
        cards=[
            _table(found, names),
            side(
                card("How good it is", measures, MEASURES, size=""),
                _asked(found, kinds),
                card("In doubt", notes(described.doubts), size="") if described.doubts else None,
                card("In no cluster", notes(uncovered), size="") if uncovered else None,
                agreement_card(found),
            ),
            _line("row", found, names),
            _line("column", found, columns),
            _coclusters(described.coclusters, names, columns),
            _density(found, is_alone=not broken and objective is None),
            figures(objective, size="narrow-half"),
            _not_kept(broken, "narrow-half" if objective is None else "full"),
        ],
    )


# --- what was asked -----------------------------------------------------------------------------


def _sentence(found: CoclusterRun, kinds: Sequence[Tally]) -> str:
    size = f"{counted(found.data.n_rows, 'row')} by {counted(found.X.shape[1], 'column')}"
    text = f"{size}, {counted(len(found.described.coclusters), 'co-cluster')}"
    sides = {"rows": found.knowledge, "columns": found.column_knowledge}
    about = [
        f"{listed(said)} about {name}"
        for name, known in sides.items()
        if (said := statements(known.counts))
    ]
    if about:
        text += f"; known: {listed(about)}"
    return f"{text}{': ' + outcome(list(kinds)) if kinds else ''}."


def _status(found: CoclusterRun, kinds: Sequence[Tally]) -> tuple[bool | None, str]:
    """Return whether all is well, and the outcome in a few words."""
    described = found.described
    violated = sum(tally.violated for tally in kinds)
    if violated:
        stated = sum(tally.stated for tally in kinds)
        return False, f"{violated:,} of {stated:,} statements violated"
    if alone := sum(map(len, described.uncovered.values())):
        return None, f"{counted(alone, 'row or column', 'rows and columns')} in no cluster"
    if described.by_chance and not described.measures["tau"] > described.by_chance[-1]:
        return None, "Chance does as well"
    if kinds:
        return True, "All statements hold"
    if described.lines:
        jumps = sum(line.n_jumps for line in described.lines.values())
        return jumps == 0 or None, f"{counted(jumps, 'jump')} along the order"
    return None, "Nothing was known"


def _tallies(found: CoclusterRun) -> list[Tally]:
    """Statements by kind and side, with the number that is not kept."""
    kinds = []
    for known, violated, one in (
        (found.knowledge, found.violations, "row"),
        (found.column_knowledge, found.column_violations, "column"),
    ):
        kinds += [
            Tally(f"{one} {STATEMENTS[kind]}", number, len(getattr(violated, kind)))
            for kind, number in known.counts.items()
        ]
    if (cross := found.cross) is not None:
        broken = [kind for kind, _, _ in found.broken_cross_links]
        pairs = {"must-link": cross.must_link, "cannot-link": cross.cannot_link}
        kinds += [
            Tally(f"cross {kind}", len(given), broken.count(kind)) for kind, given in pairs.items()
        ]
    return [tally for tally in kinds if tally.stated]


def _asked(found: CoclusterRun, kinds: Sequence[Tally]) -> Markup:
    orders = [
        f"Order of the {name}: {order.bounds_text}{', circular' if order.circular else ''}."
        for name, order in (("rows", found.row_order), ("columns", found.column_order))
        if order is not None
    ]
    known = tally_table(kinds) if kinds else ""
    if not kinds and not orders:
        known = "Nothing was known about rows or columns."
    said = notes([*orders, *found.knowledge.notes, *found.column_knowledge.notes])
    return card("What was asked", known, said, size="")


def _broken(found: CoclusterRun, names: Sequence[str]) -> list[str]:
    """Sentences about statements that are not kept."""
    columns = found.data.feature_names
    said = [
        *found.violations.describe(MAX_BROKEN),
        *found.column_violations.describe(MAX_BROKEN),
        *(
            f"{kind} of row {names[row]} and column {columns[column]}"
            for kind, row, column in found.broken_cross_links
        ),
    ]
    return said[: 2 * MAX_BROKEN]


def _not_kept(broken: Sequence[str], size: str) -> Markup | None:
    if not broken:
        return None
    title = "Statements that are not kept"
    form = '<div class="scroll tall" tabindex="0" role="region" aria-label="{}">{}</div>'
    return card(title, html(form, title, notes(broken)), size=size)


# --- what came out ------------------------------------------------------------------------------


def _table(found: CoclusterRun, names: Sequence[str]) -> Markup:
    """Return the table in the order of its clusters."""
    described = found.described
    sides = (names, found.data.feature_names)
    picture = table_cells(found.X, described.blocks, MAX_CELLS, sides)
    text = "Rows and columns stand cluster by cluster; a frame is a co-cluster."
    if joins := picture.note.partition("\n")[2]:  # below the numbers of blocks and ones
        text += f" In this picture {joins}; the shade is the share of ones."
    shown = [one.number for one in described.coclusters[:MAX_GROUPS]]
    other = html('<span><i class="other"></i>{}</span>', "ones outside of the co-clusters")
    entries = joined([*(group(number, _name(number)) for number in shown), other])
    title = "The table in the order of its clusters"
    return figure(title, picture, html('<p class="block-key">{}</p>', entries), text, size="plot")


def _line(noun: str, found: CoclusterRun, names: Sequence[str]) -> Markup | None:
    """Return the clusters along the order of a side, where it has one."""
    line, order = found.described.lines.get(noun), getattr(found, f"{noun}_order")
    if line is None:
        return None
    jumps = counted(line.n_jumps, "jump")
    text = f"{jumps}: a triangle marks where a cluster comes again after it was left. "
    text += f"Asked for: {order.bounds_text}."
    if order.circular:
        text += " The order is circular: behind the last comes the first."
    picture = cluster_lanes(line, names, noun)
    return figure(picture.title, picture, text, size="full")


def _coclusters(
    coclusters: Sequence[Cocluster], names: Sequence[str], columns: Sequence[str]
) -> Markup:
    """Return the co-clusters with their heaviest columns and rows."""
    rows = []
    for one in coclusters[:MAX_GROUPS]:
        heaviest = [names[row] for row, _ in one.top_rows]
        some = members(heaviest, max(0, one.n_rows - len(heaviest)), MAX_NAME)
        number = group(one.number, str(one.number))
        cells = (number, *one.cells, _weights(one, columns), Cell(some, "members"))
        rows.append(Row(cells, css=f"k{one.number}"))
    headers = (
        "Cluster", "Rows", "Columns", "Ones", "In other rows", "Heaviest columns", "Heaviest rows"
    )  # fmt: skip
    sides = ("left", "right", "right", "right", "right", "left")
    told = text_table(*headers, rows=rows, justify=sides)
    return table_card("The co-clusters", told, WEIGHTS, css="scores coclusters")


def _weights(one: Cocluster, columns: Sequence[str]) -> Markup:
    """Return the heaviest columns with bars as long as their weights."""
    form = '<li><span title="{}">{}</span><b style="--v:{:.3f}"></b><small>{:.2f}</small></li>'
    entries = [
        html(
            form,
            shorten(columns[column], MAX_TITLE),
            shorten(columns[column], MAX_NAME),
            min(weight, 1.0),
            weight,
        )
        for column, weight in one.top
    ]
    more = max(0, one.n_columns - len(one.top))
    listing = html('<ul class="weights">{}</ul>', joined(entries))
    return listing + note(f"and {more:,} more") if more else listing


def _density(found: CoclusterRun, *, is_alone: bool) -> Markup | None:
    """Return the share of ones of every block, shaded; nothing for very many."""
    blocks = found.described.blocks
    across, down = blocks.columns, blocks.rows
    if max(len(across.clusters), len(down.clusters)) > MAX_GROUPS:
        return None
    heads = [group(n if blocks.paired else -1, _name(n)) for n in across.clusters.tolist()]
    rows = [
        (
            group(number, _name(number)),
            *(
                Cell(f"{100 * share:.0f}%", "own" if own else "", share)
                for share, own in zip(blocks.density[place], blocks.own[place], strict=True)
            ),
            Cell(f"{down.sizes[place]:,}", "quiet"),
        )
        for place, number in enumerate(down.clusters.tolist())
    ]
    sizes = (Cell(f"{size:,}", "quiet") for size in across.sizes.tolist())
    rows.append(Row(("Columns", *sizes, ""), css="quiet"))
    told = text_table("Rows of", *heads, "Rows", rows=rows)
    is_wide = is_alone or len(heads) > WIDE_TABLE
    text = "Columns of the table are clusters of columns; co-clusters are bold."
    size = "full" if is_wide else "wide-half"
    return table_card("Share of ones in every block", told, text, css="heat", size=size)


def _name(number: int) -> str:
    return "none" if number < 0 else f"cluster {number}"
