"""The page of scored pairs: sign matrix, bound and gap, worst disagreements, largest clusters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from markupsafe import Markup

from sidelight._typing import IntArray
from sidelight._words import counted, format_number, listed, statements
from sidelight.constraints import Constraints, Relations
from sidelight.pictures.relational._blocks import sign_blocks, sign_cells
from sidelight.pictures.svg._render import svg_of
from sidelight.report._page import (
    agreement,
    largest_clusters,
    render_page,
    row_names,
    size_figure,
)
from sidelight.report._sections import Section, status

WORST = 20
LARGEST = 12
#: Of more objects the largest groups of linked clusters are drawn.
MOST_OBJECTS = 180
#: Gaps below this are rounding.
CLOSED = 1e-9


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
    cards = {
        "sentence": sentence,
        "status": gap_status(estimator),
        "facts_of_its_own": [
            ("Pairs", f"{relations.n_edges:,}"),
            ("Clusters", f"{n_clusters:,}"),
        ],
        "n_colors": 1,
        **_matrix(relations, labels),
        **_quality(estimator, relations, labels),
        "worst": worst_disagreements(relations, labels, WORST),
        "largest": largest_clusters(labels, relations.ids, LARGEST),
        "sizes": size_figure(labels, "clusters"),
        "scores": agreement(truth, labels, constraints),
        "remarks": [*_absent(estimator), *relations.notes, *constraints.notes],
    }
    return render_page(
        "relational/correlation.html.j2",
        cards,
        style="relational/relational.css",
        estimator=estimator,
        n_rows=relations.n_samples,
        noun="Objects",
        title=title,
        settings=settings,
        command=command,
        seconds=seconds,
    )


def gap_text(estimator: Any) -> str:
    """How much of the cost a better partition could save at most, in words."""
    cost, bound = float(estimator.objective_), float(estimator.lower_bound_)
    if cost - bound <= CLOSED * max(cost, 1.0):
        return "proven optimal"
    if bound <= 0.0:
        return "no lower bound above 0 is known"
    return f"within {format_number(100 * (cost - bound) / cost, 2)} % of optimal"


def gap_status(estimator: Any) -> Section:
    """The line at the top of the page."""
    text = gap_text(estimator)
    fine = True if text == "proven optimal" else None
    return status(fine, text[:1].upper() + text[1:])


def _matrix(relations: Relations, labels: Any) -> Section:
    blocks = sign_blocks(relations.edges, relations.scores, labels, MOST_OBJECTS)
    names = row_names(relations.ids, blocks.order)
    note = f"Shown are {blocks.note}." if blocks.note else ""
    return {"matrix": Markup(svg_of(sign_cells(blocks, names))), "matrix_note": note}


def _quality(estimator: Any, relations: Relations, labels: Any) -> Section:
    edges, scores = relations.edges, relations.scores
    same = labels[edges[:, 0]] == labels[edges[:, 1]]
    kinds = [
        ("positive, and together", (scores > 0) & same, False),
        ("negative, and apart", (scores < 0) & ~same, False),
        ("positive, but apart", (scores > 0) & ~same, True),
        ("negative, but together", (scores < 0) & same, True),
    ]
    rows = [
        {
            "name": name,
            "n": f"{int(chosen.sum()):,}",
            "sum": format_number(float(np.abs(scores[chosen]).sum())),
            "bad": bad,
        }
        for name, chosen, bad in kinds
    ]
    facts = [
        ("Cost", format_number(float(estimator.objective_))),
        ("Agreement", format_number(float(estimator.agreement_))),
        ("Lower bound", format_number(float(estimator.lower_bound_))),
    ]
    for name, attribute in (("Found by", "method_"), ("Bound by", "bound_method_")):
        if (value := getattr(estimator, attribute, None)) is not None:
            facts.append((name, str(value)))
    return {"quality": facts, "gap": gap_text(estimator), "pair_kinds": rows}


def _absent(estimator: Any) -> list[str]:
    """What pairs without a score cost, where they do."""
    edits = getattr(estimator, "edits", "remove")  # cluster editing: an edge has to be added
    cost = float(getattr(estimator, "absent_", 0.0 if edits == "remove" else 1.0))
    if not cost:
        return []
    return [f"Pairs without a score cost {format_number(cost)} each where they are together."]


def worst_disagreements(relations: Relations, labels: Any, most: int) -> list[Section]:
    """The scored pairs that the partition is most against, by name."""
    edges, scores = relations.edges, relations.scores
    same = labels[edges[:, 0]] == labels[edges[:, 1]]
    wrong = np.flatnonzero(np.where(same, scores < 0, scores > 0))
    wrong = wrong[np.argsort(-np.abs(scores[wrong]), kind="stable")][:most]
    return [
        {
            "first": first,
            "second": second,
            "score": format_number(float(scores[pair])),
            "kind": "together" if same[pair] else "apart",
            "clusters": [int(label) for label in labels[edges[pair]]],
        }
        for pair in wrong.tolist()
        for first, second in [row_names(relations.ids, edges[pair])]
    ]
