"""Pictures of the rows, as SVG: points, pairs as lines, Gaussian components as ellipses."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
import numpy.typing as npt

from sidelight._words import format_number
from sidelight.pictures._projection import Projection
from sidelight.pictures._scales import frame_of, nice_ticks
from sidelight.pictures._selection import Links
from sidelight.pictures._shapes import Shape
from sidelight.pictures.svg._box import Box, svg_start

Array = npt.NDArray[np.float64]

DEVIATIONS = 2.0

_MANY_MARKS = 15
_REGION = 6.0  # side of the squares of which regions are made
SCATTER = Box(width=800, height=452, left=16, right=16, top=14, bottom=16)
SCATTER_WITH_TICKS = Box(width=800, height=452, left=44, right=16, top=14, bottom=30)
SQUARE = Box(width=800, height=560, left=16, right=16, top=14, bottom=16)
STAGE = Box(width=280, height=210, left=8, right=8, top=8, bottom=8)
MAP = Box(width=560, height=380, left=12, right=12, top=12, bottom=12)


@dataclass(frozen=True)
class _Placed:
    """Points in their frame; those beyond it lie on its edge."""

    box: Box
    x_range: tuple[float, float]
    y_range: tuple[float, float]
    x: Array
    y: Array
    n_beyond: int


def _place(xy: Array, box: Box, *, equal: bool = False) -> _Placed:
    """Place points in a box; ``equal`` if a unit is to be as long to the right as upwards."""
    x_range, y_range = frame_of(xy[:, 0]), frame_of(xy[:, 1])
    if equal:
        unit = max(
            (x_range[1] - x_range[0]) / box.inner_width,
            (y_range[1] - y_range[0]) / box.inner_height,
        )
        x_range, y_range = (
            (sum(ends) / 2 - unit * length / 2, sum(ends) / 2 + unit * length / 2)
            for ends, length in ((x_range, box.inner_width), (y_range, box.inner_height))
        )
    inside = np.column_stack([np.clip(xy[:, 0], *x_range), np.clip(xy[:, 1], *y_range)])
    x, y = box.x(inside[:, 0], *x_range), box.y(inside[:, 1], *y_range)
    return _Placed(box, x_range, y_range, x, y, int((inside != xy).any(axis=1).sum()))


@dataclass(frozen=True)
class Scatter:
    """The picture of the data."""

    svg: str
    n_beyond: int
    """Rows that lie beyond the frame and are drawn on its edge."""


def scatter(
    projection: Projection,
    links: Links,
    clusters: npt.NDArray[np.int64],
    classes: npt.NDArray[np.int64] | None,
    cluster_names: Sequence[str],
    wrong_rows: npt.NDArray[np.bool_],
    description: str,
    shapes: Sequence[Shape] = (),
    *,
    title: str = "The data with its clusters and constraints",
    marks: Sequence[str] | None = None,
    regions: Callable[[Array], npt.NDArray[np.int64]] | None = None,
) -> Scatter:
    """Draw the rows as points and the constraints as lines.

    Parameters
    ----------
    projection : Projection
        Coordinates of the drawn rows and how to read them.
    links : Links
        The drawn links, between positions of drawn rows.
    clusters, classes : ndarray of shape (n_drawn,)
        Colour numbers, -1 for no group; ``classes`` is None without true classes.
    cluster_names : sequence of str
        Written at the middle of every cluster.
    wrong_rows : ndarray of shape (n_drawn,)
        Rows that a violated statement mentions: they are ringed.
    description : str
        Text for a reader who cannot see the picture.
    shapes : sequence of Shape
        Gaussian components, drawn as ellipses.
    title : str
        What the picture shows.
    marks : sequence of str, default=None
        Further classes of the style sheet for every point.
    regions : callable, default=None
        Gives points of the plane, shape (m, 2), the numbers of colours, which are shaded.
    """
    box = SCATTER if projection.kind == "components" else SCATTER_WITH_TICKS
    placed = _place(projection.xy, box)
    x, y = placed.x, placed.y
    radius = 4.0 if len(x) <= 500 else 3.2 if len(x) <= 1500 else 2.4
    ends = _line_ends(links, x, y, gap=radius + 1.2)
    names = _classes(clusters, classes, wrong_rows)
    if marks is not None:
        names = [f"{name} {mark}".strip() for name, mark in zip(names, marks, strict=True)]
    parts = [
        svg_start(box, "scatter", title, description),
        "" if regions is None else _regions(placed, regions),
        _grid(placed, projection.kind),
        _ellipses(placed, shapes) if shapes else "",
        _lines("satisfied", "s", links, ~links.violated, ends),
        _casing(links, ends),
        _points(placed, radius, names, 'id="points" '),
        _lines("violated", "v", links, links.violated, ends),
        _cluster_marks(x, y, clusters, cluster_names),
        "</svg>",
    ]
    return Scatter("".join(parts), placed.n_beyond)


def map_scatter(
    xy: Array, links: Links, names: Sequence[str], anchored: npt.NDArray[np.bool_], description: str
) -> Scatter:
    """Draw the rows of a map as points, a unit as long in both directions, and pairs as lines.

    Parameters
    ----------
    xy : ndarray of shape (n_drawn, 2)
        Coordinates.
    links : Links
        The drawn links, between positions of drawn rows.
    names : sequence of str
        Classes of the style sheet for every point.
    anchored : ndarray of shape (n_drawn,)
        Rows with known coordinates: they are ringed.
    description : str
        Text for a reader who cannot see the picture.
    """
    placed = _place(xy, SQUARE, equal=True)
    x, y = placed.x, placed.y
    radius = 4.0 if len(x) <= 500 else 3.2 if len(x) <= 1500 else 2.4
    ends = _line_ends(links, x, y, gap=radius + 1.2)
    points = [name + " a" * bool(ring) for name, ring in zip(names, anchored, strict=True)]
    parts = [
        svg_start(SQUARE, "scatter", "The map", description),
        _grid(placed, "components"),
        _lines("satisfied", "s", links, ~links.violated, ends),
        _points(placed, radius, points, 'id="points" '),
        "</svg>",
    ]
    return Scatter("".join(parts), placed.n_beyond)


def stage_map(xy: Array, names: Sequence[str], name: str, title: str) -> str:
    """Draw a small map without lines."""
    placed = _place(xy, STAGE, equal=True)
    radius = 2.4 if len(xy) <= 500 else 1.6
    return "".join(
        [
            svg_start(STAGE, name, title, f"{len(xy)} rows."),
            _points(placed, radius, names),
            "</svg>",
        ]
    )


def _regions(placed: _Placed, color_of: Callable[[Array], npt.NDArray[np.int64]]) -> str:
    """Shade the plane by the numbers of its colours, in stripes of equal ones."""
    box = placed.box
    n_across = math.ceil(box.inner_width / _REGION)
    n_down = math.ceil(box.inner_height / _REGION)
    width, height = box.inner_width / n_across, box.inner_height / n_down
    across, down = np.meshgrid(
        _between(placed.x_range, (np.arange(n_across) + 0.5) / n_across),
        _between(placed.y_range, 1.0 - (np.arange(n_down) + 0.5) / n_down),
    )
    codes = color_of(np.column_stack([across.ravel(), down.ravel()])).reshape(across.shape)
    parts = ['<g id="regions">']
    for number, row in enumerate(codes):
        starts = np.flatnonzero(np.append(True, row[1:] != row[:-1]))
        for start, stop in zip(starts, np.append(starts[1:], len(row)), strict=True):
            parts.append(
                f'<rect class="{_group_class("k", row[start])}" '
                f'x="{box.left + width * start:.2f}" y="{box.top + height * number:.2f}" '
                f'width="{width * (stop - start):.2f}" height="{height:.2f}"/>'
            )
    return "".join(parts) + "</g>"


def _between(ends: tuple[float, float], shares: Array) -> Array:
    """Values at shares of the way from one end of a range to the other."""
    return ends[0] + shares * (ends[1] - ends[0])


def _ellipses(placed: _Placed, shapes: Sequence[Shape]) -> str:
    """Draw components at two standard deviations."""
    box, x_range, y_range = placed.box, placed.x_range, placed.y_range
    widths = np.array([x_range[1] - x_range[0], y_range[0] - y_range[1]])
    scale = np.array([box.inner_width, box.inner_height]) / widths
    parts = [f'<clipPath id="frame"><rect width="{box.width}" height="{box.height}"/></clipPath>']
    parts.append('<g id="ellipses" clip-path="url(#frame)">')
    for shape in shapes:
        x, y = float(box.x(shape.mean[0], *x_range)), float(box.y(shape.mean[1], *y_range))
        variances, directions = np.linalg.eigh(shape.covariance * np.outer(scale, scale))
        radii = DEVIATIONS * np.sqrt(np.maximum(variances, 0.0))
        angle = math.degrees(math.atan2(directions[1, 1], directions[0, 1]))
        parts.append(
            f'<ellipse class="k{shape.cluster}" rx="{radii[1]:.1f}" ry="{radii[0]:.1f}" '
            f'transform="translate({x:.1f} {y:.1f}) rotate({angle:.1f})"/>'
        )
    return "".join(parts) + "</g>"


def small_map(
    projection: Projection,
    links: npt.NDArray[np.int64],
    cannot: npt.NDArray[np.bool_],
    groups: npt.NDArray[np.int64],
    name: str,
    title: str,
) -> str:
    """Draw rows as points, coloured by group, and pairs as lines, dashed where they are apart."""
    placed = _place(projection.xy, MAP)
    x, y = placed.x, placed.y
    radius = 3.4 if len(x) <= 500 else 2.4
    ends = np.column_stack([x[links[:, 0]], y[links[:, 0]], x[links[:, 1]], y[links[:, 1]]])
    parts = [
        svg_start(MAP, name, title, f"{len(x)} rows and {len(links)} pairs."),
        *(_line("s", apart, where) for apart, where in zip(cannot, ends, strict=True)),
        _points(placed, radius, _classes(groups)),
        "</svg>",
    ]
    return "".join(parts)


def _grid(placed: _Placed, kind: str) -> str:
    """Draw faint lines at round values; numbers only where the axes are the user's features."""
    box, x_range, y_range = placed.box, placed.x_range, placed.y_range
    left, right, top, bottom = box.left, box.width - box.right, box.top, box.base
    parts = ['<g class="grid">']
    for tick in nice_ticks(*x_range, 8):
        at = float(box.x(tick, *x_range))
        parts.append(f'<path d="M{at:.1f} {top}V{bottom}"/>')
        if kind != "components":
            parts.append(f'<text x="{at:.1f}" y="{bottom + 18}">{format_number(tick)}</text>')
    if kind != "strip":
        for tick in nice_ticks(*y_range, 6):
            at = float(box.y(tick, *y_range))
            parts.append(f'<path d="M{left} {at:.1f}H{right}"/>')
            if kind == "plane":
                parts.append(
                    f'<text class="left" x="{left - 8}" y="{at + 4:.1f}">'
                    f"{format_number(tick)}</text>"
                )
    parts.append("</g>")
    return "".join(parts)


def _classes(
    clusters: npt.NDArray[np.int64],
    classes: npt.NDArray[np.int64] | None = None,
    wrong_rows: npt.NDArray[np.bool_] | None = None,
) -> list[str]:
    """Classes of the style sheet for every point: cluster, true class, whether it is ringed."""
    names = [_group_class("k", number) for number in clusters]
    if classes is not None:
        names = [f"{n} {_group_class('t', c)}" for n, c in zip(names, classes, strict=True)]
    if wrong_rows is not None:
        names = [n + " w" * bool(wrong) for n, wrong in zip(names, wrong_rows, strict=True)]
    return names


def _points(placed: _Placed, radius: float, names: Sequence[str], ident: str = "") -> str:
    points = "".join(
        f'<circle class="{name}" cx="{x:.1f}" cy="{y:.1f}"/>'
        for name, x, y in zip(names, placed.x, placed.y, strict=True)
    )
    return f'<g {ident}style="--r:{radius}px">{points}</g>'


def _line_ends(links: Links, x: Array, y: Array, gap: float) -> Array:
    """Place the lines: x and y of both ends.

    A violated line stops at the rim of its points, which lie under it and must stay visible.
    """
    first, second = links.pairs[:, 0], links.pairs[:, 1]
    start = np.column_stack([x[first], y[first]])
    stop = np.column_stack([x[second], y[second]])
    length = np.linalg.norm(stop - start, axis=1)
    long_enough = links.violated & (length > 3.0 * gap)
    cut = np.where(long_enough, gap / np.maximum(length, gap), 0.0)[:, None] * (stop - start)
    return np.column_stack([start + cut, stop - cut])


def _lines(name: str, letter: str, links: Links, chosen: npt.NDArray[np.bool_], ends: Array) -> str:
    """Draw one line per link; ``data-n`` is its place among the drawn links."""
    lines = (
        _line(letter, links.cannot[number], ends[number], f' data-n="{number}"')
        for number in np.flatnonzero(chosen)
    )
    return f'<g id="{name}">{"".join(lines)}</g>'


def _line(letter: str, cannot: bool, ends: Array, data: str = "") -> str:
    x1, y1, x2, y2 = ends
    return (
        f'<line class="{letter} {"cl" if cannot else "ml"}"{data} x1="{x1:.1f}" y1="{y1:.1f}" '
        f'x2="{x2:.1f}" y2="{y2:.1f}"/>'
    )


def _casing(links: Links, ends: Array) -> str:
    """Draw a page-coloured border around the violated lines, so that they stand out of a crowd."""
    parts = []
    for kind, cannot in (("ml", False), ("cl", True)):
        chosen = ends[links.violated & (links.cannot == cannot)]
        if len(chosen):
            path = "".join(f"M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}" for x1, y1, x2, y2 in chosen)
            parts.append(f'<path class="casing {kind}" d="{path}"/>')
    return "".join(parts)


def _cluster_marks(
    x: Array, y: Array, clusters: npt.NDArray[np.int64], names: Sequence[str]
) -> str:
    """Write the name of every cluster at its middle, so that colour is not the only cue."""
    parts = [f'<g id="marks"{" class=small" if len(names) > _MANY_MARKS else ""}>']
    for number, name in enumerate(names):
        members = np.flatnonzero(clusters == number)
        if not len(members):
            continue
        short = name[:8]
        width = 10.0 + 6.6 * len(short)
        at_x, at_y = float(np.median(x[members])), float(np.median(y[members]))
        parts.append(
            f'<g transform="translate({at_x:.1f} {at_y:.1f})"><g><rect class="k{number}" '
            f'x="{-width / 2:.1f}" y="-9" width="{width:.1f}" height="18" rx="9"/>'
            f'<text y="4">{escape(short)}</text></g></g>'
        )
    parts.append("</g>")
    return "".join(parts)


def _group_class(letter: str, number: int) -> str:
    return f"{letter}{number}" if number >= 0 else f"{letter}x"
