"""The sign matrix as SVG."""

from __future__ import annotations

from html import escape

import numpy as np

from sidelight._typing import Array
from sidelight.pictures.relational._blocks import SignBlocks, matrix_codes
from sidelight.pictures.svg._box import Box, svg_start

#: Of more objects the largest groups of linked clusters are drawn.
MOST_OBJECTS = 180
#: Up to so many disagreements tell their ids when the pointer rests on them.
MOST_TITLES = 600
FIELD = Box(width=640, height=640, left=4, right=4, top=4, bottom=4)
NAMES = {1: "together", 2: "apart", 3: "wrong"}


def sign_matrix(blocks: SignBlocks, names: list[str]) -> str:
    """Draw the matrix.

    Parameters
    ----------
    blocks : SignBlocks
        Ordered objects with their scored pairs.
    names : list of str
        Names of the shown objects.
    """
    n = max(blocks.n_shown, 1)
    n_wrong = int(blocks.disagree.sum())
    description = f"{blocks.n_shown} objects, {len(blocks.scores)} scored pairs, {n_wrong} against."
    parts = [
        svg_start(FIELD, "signs", "Scores of the pairs in the order of the clusters", description),
        f'<g transform="translate({FIELD.left} {FIELD.top}) scale({FIELD.inner_width / n:.5f})">',
        f'<rect class="field" width="{n}" height="{n}"/>',
    ]
    codes = matrix_codes(blocks)
    for code, name in NAMES.items():
        parts.append(f'<path class="{name}" d="{strokes(codes == code)}"/>')
    for start, end in zip(blocks.starts[:-1].tolist(), blocks.starts[1:].tolist(), strict=True):
        if end - start > 1:
            parts.append(
                f'<rect class="frame" x="{start}" y="{start}" width="{end - start}" '
                f'height="{end - start}"/>'
            )
    parts += _titles(blocks, names)
    return "".join(parts) + "</g></svg>"


def strokes(cells: Array) -> str:
    """Neighboring cells of a row as one stroke."""
    padded = np.pad(cells.astype(np.int8), ((0, 0), (1, 1)))
    change = np.diff(padded, axis=1)
    rows, starts = np.nonzero(change == 1)
    _, ends = np.nonzero(change == -1)
    return "".join(
        f"M{start} {row + 0.5}h{end - start}"
        for row, start, end in zip(rows.tolist(), starts.tolist(), ends.tolist(), strict=True)
    )


def _titles(blocks: SignBlocks, names: list[str]) -> list[str]:
    """Invisible cells over the strongest disagreements, which tell what they are."""
    wrong = np.flatnonzero(blocks.disagree)
    wrong = wrong[np.argsort(-np.abs(blocks.scores[wrong]), kind="stable")][:MOST_TITLES]
    parts = []
    for pair in wrong.tolist():
        a, b, score = int(blocks.first[pair]), int(blocks.second[pair]), blocks.scores[pair]
        how = "apart" if score > 0 else "together"
        said = escape(f"{names[a]} and {names[b]}: score {score:.4g}, but {how}")
        for x, y in ((a, b), (b, a)):
            parts.append(
                f'<rect class="hit" x="{x}" y="{y}" width="1" height="1"><title>{said}</title>'
                "</rect>"
            )
    return parts
