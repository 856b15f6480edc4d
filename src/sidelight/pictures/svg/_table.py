"""The re-ordered table and the timeline of clusters as SVG."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from sidelight._typing import FloatArray, IntArray
from sidelight.pictures._run import shorten_words
from sidelight.pictures.coclustering._blocks import (
    TableBlocks,
    Timeline,
    bin_note,
    binned,
    borders,
    cluster_of_bins,
)
from sidelight.pictures.svg._box import Box, svg_start
from sidelight.pictures.svg._signs import strokes

#: Most cells of a picture, down and across; larger tables are drawn by shares of ones.
MOST_CELLS = (240, 320)
#: Up to so many rows and columns are named.
NAMED_ROWS, NAMED_COLUMNS = 48, 42
#: Shades of the share of ones in a cell.
N_SHADES = 5
WIDTH, LINE_WIDTH = 760.0, 1180.0
LETTER = 6.2
WIDEST_CELL, TALLEST_CELL = 40.0, 15.0
STRIP = 7.0  # of the colors of clusters beside the table
LANE = 22.0


def table_svg(
    X: Any, blocks: TableBlocks, row_names: Sequence[str], column_names: Sequence[str]
) -> tuple[str, str]:
    """Draw a 0/1 table in the order of its clusters; return the picture and a note.

    Ones of the co-clusters have the color of their cluster, others are grey.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_rows, n_columns)
        The table.
    blocks : TableBlocks
        Its order and blocks.
    row_names, column_names : sequence of str
        Names of all rows and columns.
    """
    shares, rows, columns = binned(X, blocks, MOST_CELLS)
    n_rows, n_columns = shares.shape
    top, left = _margins(blocks, row_names, column_names)
    width = min(WIDTH - left - 6, WIDEST_CELL * n_columns)
    left = round(left + (WIDTH - left - 6 - width) / 2, 1)  # a narrow table stands in the middle
    height = float(np.clip(TALLEST_CELL * n_rows, 160.0, 640.0))
    box = Box(WIDTH, round(top + height + 6, 1), left, 6, top, 6)
    described = (
        f"{len(blocks.rows.order)} rows and {len(blocks.columns.order)} columns, "
        f"{int(blocks.ones.sum())} ones."
    )
    scale = (width / n_columns, height / n_rows)
    parts = [
        svg_start(box, "cells", "The table in the order of its clusters", described),
        *_names(blocks, (row_names, column_names), (left, top), scale),
        *_strips(blocks, (rows, columns), (left, top), scale),
        f'<g transform="translate({left:.1f} {top:.1f}) scale({scale[0]:.5f} {scale[1]:.5f})">',
        f'<rect class="field" width="{n_columns}" height="{n_rows}"/>',
        *_cells(shares, blocks, (rows, columns)),
        *_frames(blocks, (rows, columns), (n_rows, n_columns)),
    ]
    return "".join(parts) + "</g></svg>", bin_note(blocks, rows, columns)


def _margins(
    blocks: TableBlocks, row_names: Sequence[str], column_names: Sequence[str]
) -> tuple[float, float]:
    """Room above and on the left for names, where there are few enough."""
    top = left = STRIP + 5
    if len(blocks.columns.order) <= NAMED_COLUMNS:
        top += (
            min(max((len(str(name)) for name in column_names), default=0), 16) * LETTER * 0.85 + 12
        )
    if len(blocks.rows.order) <= NAMED_ROWS:
        left += min(max((len(str(name)) for name in row_names), default=0), 16) * LETTER + 6
    return round(top, 1), round(left, 1)


def _names(
    blocks: TableBlocks,
    names: tuple[Sequence[str], Sequence[str]],
    corner: tuple[float, float],
    scale: tuple[float, float],
) -> list[str]:
    left, top = corner
    parts = []
    if len(blocks.rows.order) <= NAMED_ROWS:
        for place, row in enumerate(blocks.rows.order.tolist()):
            y = top + (place + 0.5) * scale[1] + 3.6
            said = escape(shorten_words(str(names[0][row]), 16))
            parts.append(f'<text class="row" x="{left - STRIP - 6:.1f}" y="{y:.1f}">{said}</text>')
    if len(blocks.columns.order) <= NAMED_COLUMNS:
        for place, column in enumerate(blocks.columns.order.tolist()):
            x, y = left + (place + 0.5) * scale[0] + 3, top - STRIP - 6
            said = escape(shorten_words(str(names[1][column]), 16))
            parts.append(
                f'<text class="column" transform="translate({x:.1f} {y:.1f}) rotate(-55)">'
                f"{said}</text>"
            )
    return parts


def _class(cluster: int) -> str:
    return f"k{cluster}" if cluster >= 0 else "kx"


def _strips(
    blocks: TableBlocks,
    bins: tuple[IntArray, IntArray],
    corner: tuple[float, float],
    scale: tuple[float, float],
) -> list[str]:
    """The color of every cluster beside its rows and above its columns."""
    left, top = corner
    parts = []
    for side, places, across in ((blocks.rows, bins[0], False), (blocks.columns, bins[1], True)):
        ends = borders(side, places)
        noun = "columns" if across else "rows"
        for cluster, start, end, size in zip(
            side.clusters.tolist(), ends, ends[1:], side.sizes.tolist(), strict=False
        ):
            name = "no cluster" if cluster < 0 else f"cluster {cluster}"
            if across:
                x, width = left + start * scale[0], (end - start) * scale[0]
                area = f'x="{x:.1f}" y="{top - STRIP - 2:.1f}" width="{width:.1f}" height="{STRIP}"'
            else:
                y, height = top + start * scale[1], (end - start) * scale[1]
                area = (
                    f'x="{left - STRIP - 2:.1f}" y="{y:.1f}" width="{STRIP}" height="{height:.1f}"'
                )
            color = _class(cluster if blocks.paired or not across else -1)
            parts.append(
                f'<rect class="strip {color}" {area}><title>{name}: {size:,} {noun}</title></rect>'
            )
    return parts


def _cells(shares: FloatArray, blocks: TableBlocks, bins: tuple[IntArray, IntArray]) -> list[str]:
    """Strokes over the cells, by color and shade."""
    shades = np.ceil(shares * N_SHADES).astype(np.int64)
    of_rows = cluster_of_bins(blocks.rows, bins[0])
    of_columns = cluster_of_bins(blocks.columns, bins[1])
    own = blocks.own[of_rows][:, of_columns]
    cluster = np.where(own, blocks.rows.clusters[of_rows][:, None], -1)
    parts = []
    for number in np.unique(cluster).tolist():
        for shade in range(1, N_SHADES + 1):
            chosen = (cluster == number) & (shades == shade)
            if chosen.any():
                kind = _class(number) if number >= 0 else "other"
                opacity = 0.25 + 0.75 * shade / N_SHADES
                parts.append(
                    f'<path class="{kind}" opacity="{opacity:.2f}" d="{strokes(chosen)}"/>'
                )
    return parts


def _frames(
    blocks: TableBlocks, bins: tuple[IntArray, IntArray], shape: tuple[int, int]
) -> list[str]:
    """Lines between clusters, and frames of the co-clusters that tell what they are."""
    down, across = borders(blocks.rows, bins[0]), borders(blocks.columns, bins[1])
    parts = [f'<path class="border" d="M0 {at}H{shape[1]}"/>' for at in down[1:-1]]
    parts += [f'<path class="border" d="M{at} 0V{shape[0]}"/>' for at in across[1:-1]]
    density = blocks.density
    for i, row_cluster in enumerate(blocks.rows.clusters.tolist()):
        for j, column_cluster in enumerate(blocks.columns.clusters.tolist()):
            said = (
                f"rows of {_said(row_cluster)}, columns of {_said(column_cluster)}: "
                f"{density[i, j]:.0%} ones"
            )
            kind = f"frame own {_class(row_cluster)}" if blocks.own[i, j] else "frame"
            parts.append(
                f'<rect class="{kind}" x="{across[j]}" y="{down[i]}" '
                f'width="{across[j + 1] - across[j]}" height="{down[i + 1] - down[i]}">'
                f"<title>{said}</title></rect>"
            )
    return parts


def _said(cluster: int) -> str:
    return "no cluster" if cluster < 0 else f"cluster {cluster}"


def timeline_svg(line: Timeline, names: Sequence[str], noun: str) -> str:
    """Draw the runs of every cluster along an order, a lane for each, with a mark at every jump.

    Parameters
    ----------
    line : Timeline
        The runs.
    names : sequence of str
        Names of all elements.
    noun : str
        ``"row"`` or ``"column"``, a part of the class of the picture.
    """
    n = len(line.order)
    box = Box(LINE_WIDTH, LANE * len(line.shown) + 36, 74, 10, 8, 28)
    description = f"{len(line.starts)} runs along the order of {n} {noun}s, {line.n_jumps} jumps."
    title = f"Clusters along the order of the {noun}s"
    parts = [svg_start(box, f"lanes of-{noun}s", title, description)]
    lane_of = {int(cluster): lane for lane, cluster in enumerate(line.shown.tolist())}
    for cluster, lane in lane_of.items():
        y = box.top + (lane + 0.5) * LANE
        said = "none" if cluster < 0 else f"cluster {cluster}"
        parts.append(
            f'<text class="left" x="{box.left - 8}" y="{y + 4:.1f}">{said}</text>'
            f'<path class="gridline" d="M{box.left} {y:.1f}H{box.width - box.right}"/>'
        )
    runs = zip(line.starts, line.ends, line.clusters, line.jumps, strict=True)
    for start, end, cluster, jumps in runs:
        x0, x1 = (float(box.x(float(at), 0.0, float(n))) for at in (start, end))
        y = box.top + lane_of[int(cluster)] * LANE + 4
        first, last = (escape(str(names[line.order[at]])) for at in (start, end - 1))
        reach = first if start + 1 == end else f"{first} to {last}"
        parts.append(
            f'<rect class="{_class(int(cluster))}" x="{x0:.1f}" y="{y:.1f}" '
            f'width="{max(x1 - x0 - 0.6, 0.8):.1f}" height="{LANE - 8:.1f}">'
            f"<title>{_said(int(cluster))}: {reach}</title></rect>"
        )
        if jumps:
            parts.append(
                f'<path class="jump" d="M{x0 - 4:.1f} {y - 4:.1f}h8l-4 6z">'
                f"<title>{_said(int(cluster))} comes again at {first}</title></path>"
            )
    parts += _ticks(line, names, box)
    return "".join(parts) + box.axis(box.base)


def _ticks(line: Timeline, names: Sequence[str], box: Box) -> list[str]:
    """Names below the axis, as many as there is room for."""
    n = len(line.order)
    longest = max((len(str(names[one])) for one in line.order.tolist()), default=1)
    room = max(int(box.inner_width / (min(longest, 14) * LETTER + 14)), 2)
    parts = []
    for at in np.unique(np.linspace(0, n - 1, min(n, room)).round().astype(int)).tolist():
        x = float(box.x(at + 0.5, 0.0, float(n)))
        said = escape(shorten_words(str(names[line.order[at]]), 14))
        parts.append(f'<text x="{x:.1f}" y="{box.height - 8}">{said}</text>')
    return parts
