"""Known splits in words: one line, and a few lines."""

from __future__ import annotations

from typing import Any

import numpy as np

from sidelight._words import counted


def line(splits: Any) -> str:
    """Rows and splits in one line."""
    words = ", ".join(describe(splits)) or "none"
    return f"<KnownSplits of {counted(splits.n_samples, 'row')}: {words}>"


def describe(splits: Any) -> list[str]:
    """Every split by name, with its number of classes."""
    classes = iter(splits.class_names)
    return [
        f"{name!r} ({counted(len(next(classes)), 'class') if categorical else 'numbers'})"
        for name, categorical in zip(splits.names, splits.categorical, strict=True)
    ]


def summarize(splits: Any) -> str:
    """Splits, the largest of their classes, and notes, in a few lines."""
    lines = [f"{counted(len(splits.names), 'known split')} of {counted(splits.n_samples, 'row')}"]
    for column in splits.columns():
        if column.classes is None:
            low, high = column.values.min(initial=np.inf), column.values.max(initial=-np.inf)
            lines.append(f"{column.name}: numbers from {low:g} to {high:g}")
            continue
        sizes = np.bincount(column.values, minlength=len(column.classes))
        largest = np.argsort(-sizes, kind="stable")[:5]
        shown = [f"{column.classes[h]} {sizes[h]:,}" for h in largest]
        more = f" and {len(sizes) - 5:,} more" if len(sizes) > 5 else ""
        lines.append(f"{column.name}: {', '.join(shown)}{more}")
    return "\n".join([*lines, *splits.notes])
