"""What was asked and what came of it, as tables; clusters against classes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from markupsafe import Markup

from sidelight._words import STATEMENTS, counted, format_number, listed, score_rows
from sidelight.pictures.inner import (
    Links,
    Partition,
    Run,
    Selection,
    count_together,
    match_classes,
    shorten,
)
from sidelight.report.cards import (
    MAX_GROUPS,
    Cell,
    Row,
    card,
    count_cells,
    group,
    groups_across,
    row_id,
    table,
    tally_table,
)
from sidelight.report.text import TextTable, text_table

MAX_STATEMENTS = 200
MAX_CLASSES = 40


@dataclass(frozen=True)
class Tally:
    """How many statements of one kind were made, and how many were violated."""

    kind: str
    stated: int
    violated: int

    @property
    def plural(self) -> str:
        """Kind of the statements."""
        return f"{self.kind}s"

    @property
    def satisfied_share(self) -> float:
        """Part of the statements that hold."""
        return 1.0 - self.violated / self.stated

    @property
    def percent(self) -> str:
        """The same in per cent; no violation is rounded away."""
        share = self.satisfied_share
        return f"{share:.0%}" if share in (0.0, 1.0) or 0.01 <= share < 0.995 else f"{share:.2%}"


def tallies(run: Run) -> list[Tally]:
    """Count what was asked by kind; kinds that were not used are left out."""
    stated, violated = run.constraints, run.violations
    counts = [
        Tally(STATEMENTS[kind], number, len(getattr(violated, kind)))
        for kind, number in stated.counts.items()
    ]
    if run.size_bounds is not None:
        counts.append(Tally("bounded size", len(run.size_bounds), run.n_sizes_violated))
    if run.conditions is not None:
        k = len(run.estimator.cluster_sizes_)
        n_unmet = len(run.conditions.unmet(run.estimator.labels_, k))
        counts.append(Tally("condition", len(run.conditions) * k, n_unmet))
    return [tally for tally in counts if tally.stated]


def asked_in_one_sentence(run: Run) -> str:
    """Request and outcome in one sentence."""
    data = [counted(run.n_all, "row"), counted(run.n_clusters, "cluster")]
    kinds = tallies(run)
    if not kinds:
        return f"{listed(data)}; nothing else was known."
    asked = listed([counted(tally.stated, tally.kind) for tally in kinds])
    return f"{', '.join(data)}, {asked}: {outcome(kinds)}."


def outcome(kinds: list[Tally]) -> str:
    """Text of how much was violated."""
    stated = sum(tally.stated for tally in kinds)
    violated = sum(tally.violated for tally in kinds)
    return f"{violated:,} of {stated:,} violated" if violated else "all satisfied"


def asked_card(run: Run) -> Markup:
    """Count what was asked, and say what follows from it."""
    kinds = tallies(run)
    remarks = list(run.constraints.notes)
    if not kinds:
        remarks.append("Nothing was known besides the data: the clusters are the method's own.")
    elif not run.constraints.is_empty:
        closure = run.constraints.closure(on_contradiction="keep")
        together = counted(closure.n_entailed_must_link, "pair")
        apart = counted(closure.n_entailed_cannot_link, "pair")
        remarks.append(f"With what follows from it: {together} together, {apart} apart.")
        if n := len(closure.contradictions):
            contradict = counted(n, "cannot-link contradicts", "cannot-links contradict")
            remarks.append(f"{contradict} the must-links: no clustering can satisfy everything.")
    if run.clusters.names != run.clusters.numbers:
        remarks.append("A cluster has the class of most of its labeled rows behind its number.")
    return card("What was asked", tally_table(kinds) if kinds else None, *remarks, size="")


# --- what was asked, one by one ---------------------------------------------------------------


def statements_card(
    run: Run, links: Links, selection: Selection, noun: str = "Cluster"
) -> Markup | None:
    """List what was asked, violated statements first, at most :data:`MAX_STATEMENTS`.

    A pair that is drawn has the number of its line.
    """
    rows = _statements(run, links, selection)
    if not rows:
        return None
    kinds = tallies(run)
    n_violated = sum(row.css == "bad" for row in rows)
    note = ""
    if (n_rest := sum(tally.stated for tally in kinds) - len(rows)) > 0:
        n_violated_rest = sum(tally.violated for tally in kinds) - n_violated
        note = f"{counted(n_rest, 'more statement')}, {n_violated_rest:,} of them violated."
        if len(rows) < MAX_STATEMENTS:
            note += " Satisfied labels and group members are counted but not listed."
    title = "What was asked, " + ("the violated first" if n_violated else "one by one")
    headers = ("Outcome", "Asked", "Row", noun, "Other row", noun, "Weight")
    listing = text_table(*headers, rows=rows, justify=(*("left",) * 6, "right"))
    scrolled = table(listing, css="asked", scroll="scroll tall", label=title, row_heads=False)
    return card(title, scrolled, note)


def _statements(run: Run, links: Links, selection: Selection) -> list[Row]:
    drawn = zip(selection.rows[selection.links.pairs], selection.links.cannot, strict=True)
    line_of = {(int(a), int(b), bool(cannot)): n for n, ((a, b), cannot) in enumerate(drawn)}

    def pair(number: int) -> Row:
        first, second = (int(row) for row in links.pairs[number])
        cannot = bool(links.cannot[number])
        return Row(
            [
                _outcome(bool(links.violated[number])),
                STATEMENTS["cannot_link" if cannot else "must_link"],
                *_named(run, first),
                *_named(run, second),
                format_number(float(links.weight[number])),
            ],
            css="bad" if links.violated[number] else "",
            number=line_of.get((first, second, cannot)),
        )

    n_violated = int(links.violated.sum())
    found = [pair(number) for number in range(n_violated)[:MAX_STATEMENTS]]
    found += _row_statements(run)
    found += [pair(number) for number in range(n_violated, len(links))[:MAX_STATEMENTS]]
    return found[:MAX_STATEMENTS]


def _row_statements(run: Run) -> list[Row]:
    """Violated labels and memberships of groups."""
    known, violated = run.constraints, run.violations
    kinds = (
        ("labels", "labelled", known.labels, known.label_names, violated.labels),
        ("groups", "in group", known.groups, known.group_names, violated.groups),
    )
    return [
        Row(
            [
                _outcome(True),
                STATEMENTS[kind],
                *_named(run, row),
                row_id(f"{what} {names[codes[row]]}"),
                "",
                "",
            ],
            css="bad",
        )
        for kind, what, codes, names, rows in kinds
        if codes is not None
        for row in rows[:MAX_STATEMENTS].tolist()
    ]


def _outcome(violated: bool) -> str:
    return "✕ violated" if violated else "✓ satisfied"


def _named(run: Run, row: int) -> tuple[Markup, Markup]:
    """Return the id of a row and its cluster."""
    cluster = int(run.clusters.codes[row])
    return row_id(run.row_names([row])[0]), group(cluster, run.clusters.name(cluster))


# --- clusters and classes ---------------------------------------------------------------------


class Confusion(NamedTuple):
    """How two groupings of the same rows go together.

    Attributes
    ----------
    table : TextTable
        Classes by cluster, with the number of rows.
    n_columns : int
        Number of clusters that are shown.
    hidden : str
        A sentence on what is not shown, behind a blank; empty where all is.
    """

    table: TextTable
    n_columns: int
    hidden: str


def confusion(truth: Partition, clusters: Partition, what: str, limit: int) -> Confusion:
    """Tabulate the largest true classes (rows) against the largest clusters (columns).

    Each cluster stands under the class it was matched with; a last one, -1, holds the rows in no
    cluster. ``what`` stands above the classes, whose names are at most ``limit`` letters long.
    """
    counts = count_together(truth, clusters)
    numbers = match_classes(counts)
    order = np.argsort(-counts.sum(axis=1), kind="stable")[:MAX_CLASSES]
    order = order[np.argsort(numbers[order], kind="stable")]
    matched = numbers[order][numbers[order] < len(clusters.names)]
    rest = np.setdiff1d(np.arange(len(clusters.names)), matched)
    columns = np.concatenate([matched, rest])
    if counts[:, -1].any():
        columns = np.append(columns, -1)
    shown = columns[:MAX_GROUPS]
    rows = [
        (
            shorten(truth.names[code], limit),
            *count_cells(counts[code, shown], int(counts[code].sum())),
            Cell(f"{truth.sizes[code]:,}", "quiet"),
        )
        for code in order
    ]
    hidden = ""
    if n := len(counts) - len(order):
        hidden += f" {n} smaller classes are not shown."
    if n := len(columns) - len(shown):
        hidden += f" {n} more clusters are not shown."
    headers = (what, *groups_across(clusters, shown), "Rows")
    return Confusion(text_table(*headers, rows=rows), len(shown), hidden)


def scores_card(run: Run, size: str) -> Markup:
    """Score the clusters against the true classes.

    The constraints give part of the answer away: the rows they do not mention are scored apart.
    """
    from sidelight.evaluation import constrained_scores

    title = "Agreement with the true classes"
    assert run.truth is not None
    if not ((run.truth.codes >= 0) & (run.clusters.codes >= 0)).any():
        return card(title, "No row has both a cluster and a true class.", size=size)
    found = constrained_scores(run.truth.codes, run.clusters.codes, run.constraints)
    note = "1 is perfect agreement."
    if "unconstrained" in found:
        note = (
            "“Not mentioned” leaves out the rows that a constraint names: what was told in advance "
            f"is no merit. {note}"
        )
    return card(title, score_table(found, "All rows"), note, size=size)


def score_table(found: Mapping[str, Mapping[str, float]], over_all: str) -> TextTable:
    """Tabulate scores over all rows and, where there are any, over those not mentioned."""
    both = [found[which] for which in ("all", "unconstrained") if which in found]
    headers = (over_all, "Not mentioned")[: len(both)]
    return text_table("Score", *headers, rows=score_rows(*both))
