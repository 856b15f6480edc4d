"""What results about clusters say: sizes, what sets them apart, what is kept."""

from __future__ import annotations

from typing import Any

from sidelight._words import counted
from sidelight.jobs._parts import (
    MAX_CLUSTERS,
    class_lines,
    ended,
    ending,
    heading,
    objective_text,
    size_table,
)
from sidelight.report.inner import Told, text_table


def words(found: Any) -> list[Told]:
    """Return sizes of the clusters, what they are, and which statements they keep."""
    estimator, sizes, classes = found.estimator, found.sizes, found.class_names
    n_features = counted(len(found.features_in), "feature")
    text = f", {n_features}; {ended(estimator)} in {found.seconds:.2f} s"
    return [
        heading(estimator, found.data, f"{text}, {objective_text(estimator)}"),
        size_table(sizes, classes),
        *class_lines(classes, sizes),
        *_condition_parts(found.condition_facts, estimator),
        *explanation_lines(found),
        *ending(found.knowledge, found.violations, found.scores, found.data),
    ]


def _condition_parts(conditions: list[dict[str, Any]] | None, estimator: Any) -> list[Told]:
    """Return what clusters hold of what they must, and how many rows are in a farther cluster."""
    if not conditions:
        return []
    n_clusters = len(conditions[0]["rows"])
    shown = range(n_clusters)[:MAX_CLUSTERS]
    rows = [
        (one["condition"], _least_text(one["at_least"]), *(f"{one['rows'][h]:,}" for h in shown))
        for one in conditions
    ]
    parts: list[Told] = [text_table("Condition", "At least", *map(str, shown), rows=rows)]
    if n_clusters > len(shown):
        parts.append(f"  and {counted(n_clusters - len(shown), 'more cluster')}")
    if n := len(estimator.not_nearest_):
        parts.append(
            f"{counted(n, 'row')} {'is' if n == 1 else 'are'} nearer to another cluster: "
            "conditions come first."
        )
    return parts


def _least_text(least: list[int]) -> str:
    return f"{least[0]:,}" if min(least) == max(least) else f"{min(least):,} to {max(least):,}"


def explanation_lines(found: Any, title: str = "") -> list[Told]:
    """Return what sets the clusters apart, a line each; nothing for very many."""
    if not 1 < len(found.sizes) <= MAX_CLUSTERS:
        return []
    from sidelight.explanation import brief

    lines = [f"  {line}" for line in brief(found.explanation)]
    of = f", in {found.sampled}" if found.sampled else ""
    return [title or f"What sets them apart{of} (`sidelight explain` tells more):", *lines]
