"""The page of scored pairs: sign matrix, bound and gap, worst disagreements, largest clusters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sidelight._typing import IntArray
from sidelight._words import counted, format_number, listed, statements
from sidelight.constraints import Constraints, Relations
from sidelight.jobs._graph_page import gap_status, matrix, quality
from sidelight.jobs.correlate._facts import pair_kinds, worst_disagreements
from sidelight.pictures.relational._blocks import MAX_OBJECTS, sign_blocks
from sidelight.report.page import agreement, largest_clusters, render_page, size_figure

MAX_WORST = 20
MAX_LARGEST = 12


def render_correlation(
    *,
    estimator: Any,
    relations: Relations,
    constraints: Constraints,
    truth: IntArray | None = None,
    title: str | None = None,
    settings: Mapping[str, Any] | None = None,
    command: str | None = None,
    seconds: float | None = None,
) -> str:
    """Return the report of a partition of scored pairs as HTML.

    Parameters
    ----------
    estimator : CorrelationClustering or ClusterEditing
        Fitted.
    relations : Relations
        The scored pairs.
    constraints : Constraints
        What else was known; empty for nothing.
    truth : ndarray of shape (n_samples,), default=None
        Codes of the true classes, -1 where unknown.
    title, settings, command, seconds
        As for :func:`sidelight.report.render_report`.
    """
    labels = np.asarray(estimator.labels_)
    n_clusters = len(np.unique(labels))
    objects = counted(relations.n_samples, "object")
    known = statements(constraints.counts)
    sentence = f"{objects}, {counted(relations.n_edges, 'scored pair')}, "
    sentence += f"{counted(n_clusters, 'cluster')}"
    sentence += f"; known for certain: {listed(known)}." if known else "."
    blocks = sign_blocks(relations.edges, relations.scores, labels, MAX_OBJECTS)
    cards = {
        "sentence": sentence,
        "status": gap_status(estimator),
        "facts_of_its_own": [
            ("Pairs", f"{relations.n_edges:,}"),
            ("Clusters", f"{n_clusters:,}"),
        ],
        "n_colors": 1,
        **matrix(blocks, relations.ids, blocks.note),
        **quality(estimator),
        "pair_kinds": [
            {**row, "sum": format_number(row["sum"])} for row in pair_kinds(relations, labels)
        ],
        "worst": worst_disagreements(relations, labels, MAX_WORST),
        "largest": largest_clusters(labels, relations.ids, MAX_LARGEST),
        "sizes": size_figure(labels, "clusters"),
        "scores": agreement(truth, labels, constraints),
        "remarks": [*_absent(estimator), *relations.notes, *constraints.notes],
    }
    return render_page(
        "page.html.j2",
        cards,
        style="page.css",
        kit_styles=("signs.css",),
        package=__package__,
        estimator=estimator,
        n_rows=relations.n_samples,
        noun="Objects",
        title=title,
        settings=settings,
        command=command,
        seconds=seconds,
    )


def _absent(estimator: Any) -> list[str]:
    """Return what pairs without a score cost, where they do."""
    edits = getattr(estimator, "edits", "remove")  # cluster editing: an edge has to be added
    cost = float(getattr(estimator, "absent_", 0.0 if edits == "remove" else 1.0))
    if not cost:
        return []
    return [f"Pairs without a score cost {format_number(cost)} each where they are together."]
