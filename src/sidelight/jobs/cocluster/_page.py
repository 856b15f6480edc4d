"""The page of clusters of rows and columns: the re-ordered table, runs, co-clusters, measures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from markupsafe import Markup

from sidelight._typing import IntArray
from sidelight._words import STATEMENTS, counted, listed, statements
from sidelight.constraints import Constraints, CrossLinks, Ordering
from sidelight.jobs.cocluster._facts import Described, broken_cross_links
from sidelight.pictures.coclustering._blocks import Timeline
from sidelight.pictures.coclustering._pictures import cluster_lanes, table_cells
from sidelight.pictures.svg._render import svg_of
from sidelight.report.figures import figure
from sidelight.report.page import agreement, render_page, row_names
from sidelight.report.sections import MAX_GROUPS, Section, objective, status
from sidelight.report.tables import Tally, outcome

#: Most cells of the picture of a table, down and across; of larger ones cells are joined.
MAX_CELLS = (240, 320)
#: Statements that are listed because they are not kept.
MAX_BROKEN = 60


def render_coclusters(
    *,
    estimator: Any,
    X: Any,
    described: Described,
    ids: Any,
    columns: Sequence[str],
    constraints: Constraints,
    column_constraints: Constraints,
    cross: CrossLinks | None = None,
    row_order: Ordering | None = None,
    column_order: Ordering | None = None,
    truth: IntArray | None = None,
    title: str | None = None,
    settings: Mapping[str, Any] | None = None,
    command: str | None = None,
    seconds: float | None = None,
) -> str:
    """Return the report of clusters of rows and columns as HTML.

    Parameters
    ----------
    estimator : CDKMeans or InformationCoclustering
        Fitted.
    X : ndarray or sparse matrix of shape (n_rows, n_columns)
        The zeros and ones.
    described : Described
        What came out.
    ids : array-like or None
        Names of the rows.
    columns : sequence of str
        Names of the columns.
    constraints, column_constraints : Constraints
        What was known about the two sides; empty for nothing.
    cross : CrossLinks, default=None
        What was known about a row and a column, by position.
    row_order, column_order : Ordering, default=None
        Orders of the two sides.
    truth : ndarray of shape (n_rows,), default=None
        Codes of the true classes, -1 where unknown.
    title, settings, command, seconds
        As for :func:`sidelight.report.render_report`.
    """
    names = row_names(ids, range(X.shape[0]))
    kinds = _tallies(estimator, constraints, column_constraints, cross)
    blocks = described.blocks
    cards = {
        "sentence": _sentence(described, X, kinds, (constraints, column_constraints)),
        "status": _status(kinds, described),
        "facts_of_its_own": [
            ("Columns", f"{X.shape[1]:,}"),
            ("Ones", f"{blocks.overall:.1%}"),
            ("Co-clusters", f"{len(described.coclusters):,}"),
            *_concepts(estimator),
        ],
        "n_colors": max(int(np.max(side.clusters)) for side in (blocks.rows, blocks.columns)) + 1,
        **_table(X, described, names, columns),
        "lines": [
            *_line(described.row_line, row_order, names, "row"),
            *_line(described.column_line, column_order, columns, "column"),
        ],
        "tallies": kinds,
        "orders": _order_words(row_order, column_order),
        "broken": _broken(estimator, (constraints, column_constraints, cross), (names, columns)),
        "measures": described.measure_words(),
        "coclusters": _cocluster_rows(described, names, columns),
        "density": _density(described),
        "uncovered": described.because(names, columns),
        "scores": agreement(truth, np.asarray(estimator.labels_), constraints),
        "remarks": [*constraints.notes, *column_constraints.notes],
        **objective(estimator),
    }
    return render_page(
        "page.html.j2",
        cards,
        style="page.css",
        package=__package__,
        estimator=estimator,
        n_rows=X.shape[0],
        noun="Rows",
        title=title,
        settings=settings,
        command=command,
        seconds=seconds,
    )


def _sentence(
    described: Described, X: Any, kinds: list[Tally], known: tuple[Constraints, Constraints]
) -> str:
    size = f"{counted(X.shape[0], 'row')} by {counted(X.shape[1], 'column')}"
    text = f"{size}, {counted(len(described.coclusters), 'co-cluster')}"
    about = [
        f"{listed(said)} about {side}"
        for side, one in zip(("rows", "columns"), known, strict=True)
        if (said := statements(one.counts))
    ]
    if about:
        text += f"; known: {listed(about)}"
    return f"{text}{': ' + outcome(kinds) if kinds else ''}."


def _status(kinds: list[Tally], described: Described) -> Section:
    violated = sum(tally.violated for tally in kinds)
    if violated:
        stated = sum(tally.stated for tally in kinds)
        return status(False, f"{violated:,} of {stated:,} statements violated")
    alone = len(described.uncovered_rows) + len(described.uncovered_columns)
    if alone:
        return status(None, f"{counted(alone, 'row or column', 'rows and columns')} in no cluster")
    if kinds:
        return status(True, "All statements hold")
    lines = [line for line in (described.row_line, described.column_line) if line is not None]
    if lines:
        jumps = sum(line.n_jumps for line in lines)
        return status(jumps == 0 or None, f"{counted(jumps, 'jump')} along the order")
    return status(None, "Nothing was known")


def _concepts(estimator: Any) -> list[tuple[str, str]]:
    found = getattr(estimator, "n_concepts_", None)
    return [] if found is None else [("Bi-sets", f"{int(found):,}")]


def _table(X: Any, described: Described, names: Sequence[str], columns: Sequence[str]) -> Section:
    picture = table_cells(X, described.blocks, MAX_CELLS, (names, columns))
    note = picture.note.partition("\n")[2]  # below the numbers of blocks and ones
    return {
        "table": Markup(svg_of(picture)),
        "table_note": f"In this picture {note}; the shade is the share of ones." if note else "",
        "chips": [
            {"number": one.number, "name": f"cluster {one.number}"}
            for one in described.coclusters[:MAX_GROUPS]
        ],
    }


def _line(
    line: Timeline | None, order: Ordering | None, names: Sequence[str], noun: str
) -> list[Section]:
    if line is None or order is None:
        return []
    jumps = counted(line.n_jumps, "jump")
    note = f"{jumps}: a triangle marks where a cluster comes again after it was left. "
    note += f"Asked for: {order.bounds_text}."
    if order.circular:
        note += " The order is circular: behind the last comes the first."
    picture = cluster_lanes(line, names, noun)
    return [figure(picture.title, picture, note)]


def _order_words(rows: Ordering | None, columns: Ordering | None) -> list[str]:
    return [
        f"Order of the {side}: {order.bounds_text}{', circular' if order.circular else ''}."
        for side, order in (("rows", rows), ("columns", columns))
        if order is not None
    ]


def _tallies(
    estimator: Any, rows: Constraints, columns: Constraints, cross: CrossLinks | None
) -> list[Tally]:
    """Statements by kind and side, with the number that is not kept."""
    kinds = []
    sides = ((rows, estimator.labels_, "rows"), (columns, estimator.column_labels_, "columns"))
    for known, labels, side in sides:
        violated = known.violations(np.asarray(labels))
        kinds += [
            Tally(f"{side[:-1]} {STATEMENTS[kind]}", number, len(getattr(violated, kind)))
            for kind, number in known.counts.items()
        ]
    if cross is not None:
        broken = broken_cross_links(cross, estimator.labels_, estimator.column_labels_)
        kinds += [
            Tally(f"cross {kind}", len(pairs), sum(one[0] == kind for one in broken))
            for kind, pairs in (("must-link", cross.must_link), ("cannot-link", cross.cannot_link))
        ]
    return [tally for tally in kinds if tally.stated]


def _broken(
    estimator: Any,
    known: tuple[Constraints, Constraints, CrossLinks | None],
    names: tuple[Sequence[str], Sequence[str]],
) -> list[str]:
    """Sentences about statements that are not kept."""
    rows, columns, cross = known
    said = [
        *rows.violations(np.asarray(estimator.labels_)).describe(MAX_BROKEN),
        *columns.violations(np.asarray(estimator.column_labels_)).describe(MAX_BROKEN),
    ]
    for kind, row, column in broken_cross_links(cross, estimator.labels_, estimator.column_labels_):
        said.append(f"{kind} of row {names[0][row]} and column {names[1][column]}")
    return said[: 2 * MAX_BROKEN]


def _cocluster_rows(
    described: Described, names: Sequence[str], columns: Sequence[str]
) -> list[Section]:
    return [
        {
            "number": one.number,
            "n_rows": f"{one.n_rows:,}",
            "n_columns": f"{one.n_columns:,}",
            "density": f"{one.density:.0%}",
            "top": [
                {"name": columns[column], "weight": f"{weight:.2f}", "share": min(weight, 1.0)}
                for column, weight in one.top
            ],
            "more": max(0, one.n_columns - len(one.top)),
            "rows": [names[row] for row, _ in one.top_rows],
            "more_rows": max(0, one.n_rows - len(one.top_rows)),
        }
        for one in described.coclusters[:MAX_GROUPS]
    ]


def _density(described: Described) -> Section | None:
    """Share of ones of every block."""
    blocks = described.blocks
    if len(blocks.columns.clusters) > MAX_GROUPS or len(blocks.rows.clusters) > MAX_GROUPS:
        return None
    shares = blocks.density
    return {
        "columns": [
            {
                "number": number if blocks.paired else -1,
                "name": _cluster_name(number),
                "size": size,
            }
            for number, size in zip(
                blocks.columns.clusters.tolist(), blocks.columns.sizes.tolist(), strict=True
            )
        ],
        "rows": [
            {
                "number": number,
                "name": _cluster_name(number),
                "size": int(blocks.rows.sizes[place]),
                "cells": [
                    {"share": float(shares[place, at]), "own": bool(blocks.own[place, at])}
                    for at in range(shares.shape[1])
                ],
            }
            for place, number in enumerate(blocks.rows.clusters.tolist())
        ],
    }


def _cluster_name(number: int) -> str:
    return "none" if number < 0 else f"cluster {number}"
