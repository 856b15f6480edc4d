"""Summaries of a set of statements and of its feasibility, in words and rows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sidelight._typing import IntArray
from sidelight._words import counted
from sidelight.constraints.algebra._canonical import PAIR_KINDS

if TYPE_CHECKING:
    from sidelight.assignment import Feasibility
    from sidelight.constraints.algebra._closure import Closure


def describe(known: Any) -> str:
    """Summary of the statements in one line."""
    pairs = {kind.word: len(getattr(known, kind.field)) for kind in PAIR_KINDS}
    parts = [counted(number, word) for word, number in pairs.items() if number]
    if known.labels is not None:
        labeled = int(np.count_nonzero(known.labels >= 0))
        classes = counted(len(known.label_names), "class")
        parts.append(f"{counted(labeled, 'label')} of {classes}")
    if known.groups is not None:
        grouped = int(np.count_nonzero(known.groups >= 0))
        groups = counted(len(known.group_names), "group")
        parts.append(f"{counted(grouped, 'row')} in {groups}")
    return ", ".join(parts) if parts else "nothing known"


def summarize(known: Any) -> str:
    """Summary of the statements and their consequences in a few lines."""
    closure = known.closure(on_contradiction="keep")
    lines = [
        f"{counted(known.n_samples, 'row')}: {describe(known)}.",
        f"Entailed: {counted(closure.n_entailed_must_link, 'pair')} together, "
        f"{counted(closure.n_entailed_cannot_link, 'pair')} apart, in "
        f"{counted(closure.n_components, 'component')} "
        f"(the largest of {counted(int(closure.sizes.max(initial=0)), 'row')}).",
    ]
    weights = np.concatenate([known.must_link_weight, known.cannot_link_weight])
    if np.any(weights != 1):
        lines.append(f"Weights from {weights.min():g} to {weights.max():g}.")
    error = known.contradiction()
    if error is not None:
        lines.append(
            f"{counted(len(closure.contradictions), 'contradiction')}; the shortest: {error}"
        )
    return "\n".join([*lines, *known.notes])


def feasibility(closure: Closure, k: int, time_limit: float) -> Feasibility:
    """Whether ``k`` clusters suffice; rows of the proof are the smallest of their components."""
    from sidelight.assignment.inner import check_coloring

    nodes, edges = np.unique(closure.conflicts, return_inverse=True)
    if not len(nodes):  # rows without cannot-links need one cluster all the same
        nodes = np.arange(min(1, closure.n_components))
    found = check_coloring(len(nodes), edges.reshape(-1, 2), k, time_limit=time_limit)
    coloring = None
    if found.coloring is not None:
        coloring = np.zeros(closure.n_components, np.int64)
        coloring[nodes] = found.coloring
    first_row = closure.first_row[nodes]
    return replace(
        found,
        coloring=coloring,
        clique=_rows(found.clique, first_row),
        odd_cycle=_rows(found.odd_cycle, first_row),
    )


def _rows(nodes: tuple[int, ...] | None, first_row: IntArray) -> tuple[int, ...] | None:
    return None if nodes is None else tuple(first_row[list(nodes)].tolist())
