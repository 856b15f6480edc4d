"""Pictures of the page: bars before and after, and the loss against the number of classes."""

from __future__ import annotations

from html import escape

import numpy as np

from sidelight._typing import FloatArray
from sidelight._words import format_number
from sidelight.pictures._run import shorten_words
from sidelight.pictures._scales import nice_ticks
from sidelight.pictures.privacy._distributions import Distribution
from sidelight.pictures.svg._charts import Box, svg_start

SEARCH = Box(width=420, height=190, left=56, right=16, top=12, bottom=40)
_ROW, _BAR = 26.0, 8.0
_LETTER, _NAME = 6.6, 26


def before_and_after(found: Distribution, number: int) -> str:
    """Draw two bars for every label: rows as they were, and as they are published."""
    shown = [shorten_words(label, _NAME) for label in found.labels]
    left = max(110.0, _LETTER * max(map(len, shown)) + 12)
    box = Box(width=420, height=_ROW * len(shown) + 6, left=left, right=48, top=3, bottom=3)
    most = max(float(found.before.max()), float(found.after.max()), 1.0)
    description = ", ".join(
        f"{label}: {before:.0f}% before, {after:.0f}% after"
        for label, before, after in zip(found.labels, found.before, found.after, strict=True)
    )
    parts = [
        svg_start(box, f"spread spread{number}", f"{found.name} before and after", description)
    ]
    rows = zip(found.labels, shown, found.before, found.after, strict=True)
    for place, (label, text, before, after) in enumerate(rows):
        y = box.top + place * _ROW
        parts.append(
            f"<g><title>{escape(label)}: {before:.0f}% before, {after:.0f}% after</title>"
            f'<text class="left" x="{left - 8}" y="{y + 16:.1f}">{escape(text)}</text>'
        )
        for kind, share, at in (("before", before, y + 3), ("after", after, y + 4 + _BAR)):
            length = max(share / most * box.inner_width, 1.0)
            parts.append(
                f'<rect class="{kind}" x="{left}" y="{at:.1f}" width="{length:.1f}" '
                f'height="{_BAR}"/>'
            )
        end = left + max(before, after) / most * box.inner_width + 6
        parts.append(f'<text class="right" x="{end:.1f}" y="{y + 16:.1f}">{before:.0f}%</text></g>')
    return "".join(parts) + "</svg>"


def search_line(n_clusters: FloatArray, losses: FloatArray, chosen: int) -> str:
    """Draw the loss of every number of classes that was tried, and mark the one that was chosen."""
    box, order = SEARCH, np.argsort(n_clusters)
    x_values, y_values = n_clusters[order], losses[order]
    low, high = float(x_values.min()), float(x_values.max())
    low, high = (low, high) if high > low else (low - 1, high + 1)
    top = float(y_values.max()) or 1.0
    description = ", ".join(
        f"{int(n):,}: {loss:.3f}" for n, loss in zip(x_values, y_values, strict=True)
    )
    parts = [svg_start(box, "curve search", "Loss by number of classes", description)]
    for tick in nice_ticks(0.0, top, 3):
        height = float(box.y(tick, 0.0, top))
        parts.append(
            f'<path class="gridline" d="M{box.left} {height:.1f}H{box.width - box.right}"/>'
            f'<text class="left" x="{box.left - 8}" y="{height + 4:.1f}">'
            f"{format_number(tick)}</text>"
        )
    for tick in nice_ticks(low, high, 5):
        if tick == round(tick):
            at = float(box.x(tick, low, high))
            parts.append(f'<text x="{at:.1f}" y="{box.base + 15:.1f}">{int(tick):,}</text>')
    parts.append(
        f'<text x="{box.left + box.inner_width / 2}" y="{box.height - 4}">number of classes</text>'
    )
    x, y = box.x(x_values, low, high), box.y(y_values, 0.0, top)
    path = "M" + "L".join(f"{a:.1f} {b:.1f}" for a, b in zip(x, y, strict=True))
    parts.append(f'<path class="line" d="{path}"/>')
    for a, b, n, loss in zip(x, y, x_values, y_values, strict=True):
        here = " here" if int(n) == chosen else ""
        parts.append(
            f'<circle class="dot{here}" cx="{a:.1f}" cy="{b:.1f}" r="{4 if here else 2.6}">'
            f"<title>{int(n):,} classes: {loss:.4f}</title></circle>"
        )
    return "".join(parts) + box.axis(box.base)
