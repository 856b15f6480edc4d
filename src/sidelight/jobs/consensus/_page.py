"""The page of a consensus: votes about pairs, how near every partition is, rows in dispute."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sidelight._typing import IntArray
from sidelight._words import STATEMENTS, counted, listed, statements
from sidelight.constraints import Constraints
from sidelight.jobs._graph_page import gap_status, matrix, quality
from sidelight.jobs.consensus._facts import Partition, disputed_share, vote_blocks
from sidelight.pictures.relational._blocks import MAX_OBJECTS
from sidelight.report.page import agreement, largest_clusters, render_page, row_names, size_figure
from sidelight.report.sections import Section
from sidelight.report.tables import Tally

MAX_DISPUTED = 20
MAX_LARGEST = 12


def render_consensus(
    *,
    estimator: Any,
    partitions: IntArray,
    described: Sequence[Partition],
    ids: Any,
    constraints: Constraints,
    remarks: Sequence[str] = (),
    truth: IntArray | None = None,
    title: str | None = None,
    settings: Mapping[str, Any] | None = None,
    command: str | None = None,
    seconds: float | None = None,
) -> str:
    """Return the report of a consensus as HTML.

    Parameters
    ----------
    estimator : ConsensusClustering
        Fitted.
    partitions : ndarray of shape (n_rows, n_partitions)
        Codes of the given clusters, -1 where a partition does not know a row.
    described : sequence of Partition
        The given partitions, beside the consensus.
    ids : ndarray of shape (n_rows,) or None
        Names of the rows.
    constraints : Constraints
        What was known for certain; empty for nothing.
    remarks : sequence of str, default=()
        Sentences about the partitions.
    truth : ndarray of shape (n_rows,), default=None
        Codes of the true classes, -1 where unknown.
    title, settings, command, seconds
        As for :func:`sidelight.report.render_report`.
    """
    labels = np.asarray(estimator.labels_)
    n_clusters = len(np.unique(labels))
    given = counted(len(described), "partition")
    known = statements(constraints.counts)
    sentence = f"{counted(len(labels), 'row')}, {given}, {counted(n_clusters, 'cluster')}"
    sentence += f"; known for certain: {listed(known)}." if known else "."
    cards = {
        "sentence": sentence,
        "status": gap_status(estimator),
        "facts_of_its_own": [
            ("Partitions", f"{len(described):,}"),
            ("Clusters", f"{n_clusters:,}"),
        ],
        "n_colors": 1,
        **_votes(partitions, labels, ids),
        **quality(estimator),
        "tallies": _tallies(constraints, labels),
        "remarks": [*remarks, *constraints.notes],
        "partitions": [_partition_row(one) for one in described],
        "any_missing": any(one.n_missing for one in described),
        "disputed": _disputed(partitions, labels, ids),
        "largest": largest_clusters(labels, ids, MAX_LARGEST),
        "sizes": size_figure(labels, "clusters"),
        "scores": agreement(truth, labels, constraints),
    }
    return render_page(
        "page.html.j2",
        cards,
        style="page.css",
        kit_styles=("signs.css",),
        package=__package__,
        estimator=estimator,
        n_rows=len(labels),
        noun="Rows",
        title=title,
        settings=settings,
        command=command,
        seconds=seconds,
    )


def _votes(partitions: IntArray, labels: Any, ids: Any) -> Section:
    blocks, rows = vote_blocks(partitions, labels, MAX_OBJECTS)
    note = ""
    if len(rows) < len(labels):
        note = f"{len(rows):,} of {len(labels):,} rows, evenly from the clusters"
    return matrix(blocks, row_names(ids, rows), note)


def _tallies(known: Constraints, labels: Any) -> list[Tally]:
    """Count the statements by kind, and those that are not kept."""
    violated = known.violations(labels)
    return [
        Tally(STATEMENTS[kind], number, len(getattr(violated, kind)))
        for kind, number in known.counts.items()
        if number
    ]


def _partition_row(one: Partition) -> Section:
    return {
        "name": one.name,
        "n_clusters": f"{one.n_clusters:,}",
        "n_missing": f"{one.n_missing:,}",
        "n_different": f"{one.n_different:,}",
        "alike": 1.0 - one.distance,
        "percent": f"{1.0 - one.distance:.1%}",
    }


def _disputed(partitions: IntArray, labels: Any, ids: Any) -> list[Section]:
    """List the rows about which the most votes are against the consensus."""
    share = disputed_share(partitions, labels)
    order = np.argsort(-share, kind="stable")[:MAX_DISPUTED]
    order = order[share[order] > 0]
    return [
        {"name": name, "cluster": int(labels[row]), "share": f"{share[row]:.1%}"}
        for name, row in zip(row_names(ids, order), order.tolist(), strict=True)
    ]
