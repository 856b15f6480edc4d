"""Scores of candidates as SVG: bars in a table, and curves over the number of clusters."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sidelight.evaluation import Candidate
from sidelight.pictures.svg._box import Box

#: The bar of a score inside its row of the table.
BAR = Box(width=220, height=22, left=2, right=2, top=0, bottom=0)


def score_bar(one: Candidate) -> str:
    """Draw a score from 0 to 1 with its standard error, chance, and the score without knowledge."""
    if np.isnan(one.score):
        return ""
    box, middle = BAR, BAR.height / 2
    at = _places([0.0, one.score, one.score - one.error, one.score + one.error])
    parts = [
        f'<svg class="score" viewBox="0 0 {box.width} {box.height}" aria-hidden="true">',
        f'<path class="chance" d="M{_places([0.5])[0]:.1f} 1V{box.height - 1}"/>',
        f'<rect x="{at[0]:.1f}" y="6" width="{max(at[1] - at[0], 1):.1f}" height="10" rx="2"/>',
        f'<path class="error" d="M{at[2]:.1f} {middle}H{at[3]:.1f}'
        f'M{at[2]:.1f} {middle - 3.5}v7M{at[3]:.1f} {middle - 3.5}v7"/>',
    ]
    if not np.isnan(one.plain_score):
        x = _places([one.plain_score])[0]
        parts.append(f'<path class="plain" d="M{x:.1f} 2l4 4.5l-4 4.5l-4 -4.5z"/>')
    return "".join(parts) + "</svg>"


def score_scale() -> str:
    """Draw the axis of the bars."""
    texts = "".join(
        f'<text x="{x:.1f}" y="12" style="text-anchor:{anchor}">{value}</text>'
        for x, value, anchor in zip(
            _places([0.0, 0.5, 1.0]), ("0", "0.5", "1"), ("start", "middle", "end"), strict=True
        )
    )
    return f'<svg class="score" viewBox="0 0 {BAR.width} 15" aria-hidden="true">{texts}</svg>'


def _places(values: Sequence[float]) -> list[float]:
    """Where scores lie in a bar; what lies beyond is drawn on its edge."""
    return [float(x) for x in BAR.x(np.clip(np.asarray(values), 0.0, 1.0), 0.0, 1.0)]
