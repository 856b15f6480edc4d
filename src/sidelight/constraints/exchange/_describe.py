"""Summaries of a set of statements, in words."""

from __future__ import annotations

from typing import Any

import numpy as np

from sidelight._words import counted
from sidelight.constraints.algebra._canonical import PAIR_KINDS


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
