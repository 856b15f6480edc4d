"""What a set of statements says, in words."""

from __future__ import annotations

from typing import Any

import numpy as np


def counted(number: int, what: str) -> str:
    """``1 row``, ``2 rows``."""
    plural = "classes" if what == "class" else f"{what}s"
    return f"{number:,} {what if number == 1 else plural}"


def describe(known: Any) -> str:
    """What is stated, in one line."""
    parts = []
    if len(known.must_link):
        parts.append(counted(len(known.must_link), "must-link"))
    if len(known.cannot_link):
        parts.append(counted(len(known.cannot_link), "cannot-link"))
    if known.labels is not None:
        labelled = int(np.count_nonzero(known.labels >= 0))
        classes = counted(len(known.label_names), "class")
        parts.append(f"{counted(labelled, 'label')} of {classes}")
    if known.groups is not None:
        grouped = int(np.count_nonzero(known.groups >= 0))
        groups = counted(len(known.group_names), "group")
        parts.append(f"{counted(grouped, 'row')} in {groups}")
    return ", ".join(parts) if parts else "nothing known"


def summarise(known: Any) -> str:
    """What is stated and what follows, in a few lines."""
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
