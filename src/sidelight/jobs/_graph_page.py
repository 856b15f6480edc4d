"""Parts of pages that several jobs about graphs share: the sign matrix, and the proven gap."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from sidelight._words import format_number
from sidelight.jobs._graph import OPTIMAL, gap_text
from sidelight.pictures.relational._blocks import SignBlocks, sign_cells
from sidelight.pictures.svg._render import svg_of
from sidelight.report.page import row_names
from sidelight.report.sections import Section, status


def gap_status(estimator: Any) -> Section:
    """Return the line at the top of the page: how far from optimal the partition can be."""
    text = gap_text(estimator)
    return status(True if text == OPTIMAL else None, text[:1].upper() + text[1:])


def quality(estimator: Any) -> Section:
    """Return cost, agreement and lower bound of a partition, and how they were found."""
    facts = [
        ("Cost", format_number(float(estimator.objective_))),
        ("Agreement", format_number(float(estimator.agreement_))),
        ("Lower bound", format_number(float(estimator.lower_bound_))),
    ]
    for name, attribute in (("Found by", "method_"), ("Bound by", "bound_method_")):
        if (value := getattr(estimator, attribute, None)) is not None:
            facts.append((name, str(value)))
    return {"quality": facts, "gap": gap_text(estimator)}


def matrix(blocks: SignBlocks, ids: Any, note: str) -> Section:
    """Return the sign matrix; ``note`` says which of the objects it shows."""
    svg = svg_of(sign_cells(blocks, row_names(ids, blocks.order)))
    return {"matrix": Markup(svg), "matrix_note": f"Shown are {note}." if note else ""}
