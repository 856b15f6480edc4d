"""The pictures of the report, as SVG: crisp at any size, coloured by the page's style sheet."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
import numpy.typing as npt

from sidelight.report._projection import Projection
from sidelight.report._run import Partition, shorten
from sidelight.report._selection import Links
from sidelight.report._tables import format_number

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Box:
    """The drawing area of a chart inside its picture."""

    width: float
    height: float
    left: float
    right: float
    top: float
    bottom: float

    def x(self, values: Array | float, low: float, high: float) -> Array:
        """Place values between ``low`` and ``high`` from left to right."""
        return self.left + (np.asarray(values) - low) / (high - low) * self.inner_width

    def y(self, values: Array | float, low: float, high: float) -> Array:
        """Place values between ``low`` and ``high`` from the bottom up."""
        return (
            self.height
            - self.bottom
            - (np.asarray(values) - low) / (high - low) * self.inner_height
        )

    @property
    def inner_width(self) -> float:
        """Width of the drawing area."""
        return self.width - self.left - self.right

    @property
    def inner_height(self) -> float:
        """Height of the drawing area."""
        return self.height - self.top - self.bottom


@dataclass(frozen=True)
class Shape:
    """A Gaussian component as the picture shows it."""

    cluster: int
    mean: Array
    covariance: Array


DEVIATIONS = 2.0

SCATTER = Box(width=800, height=452, left=16, right=16, top=14, bottom=16)
SCATTER_WITH_TICKS = Box(width=800, height=452, left=44, right=16, top=14, bottom=30)
SIZES = Box(width=420, height=142, left=6, right=6, top=20, bottom=22)
OBJECTIVE = Box(width=420, height=142, left=56, right=16, top=12, bottom=24)


_MANY_MARKS = 15
_BAR = 19.0


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
) -> Scatter:
    """Draw the rows as points and the constraints as lines.

    Parameters
    ----------
    projection : Projection
        Coordinates of the drawn rows and how to read them.
    links : Links
        The drawn links, between positions of drawn rows.
    clusters, classes : ndarray of shape (n_drawn,)
        Colour numbers, -1 for no group; ``classes`` is None without known labels.
    cluster_names : sequence of str
        Written at the middle of every cluster.
    wrong_rows : ndarray of shape (n_drawn,)
        Rows that a violated statement mentions: they are ringed.
    description : str
        What a reader who cannot see the picture is told.
    shapes : sequence of Shape
        Gaussian components, drawn as ellipses.
    """
    x_low, x_high = frame_of(projection.xy[:, 0])
    y_low, y_high = frame_of(projection.xy[:, 1])
    box = SCATTER if projection.kind == "components" else SCATTER_WITH_TICKS
    inside = np.column_stack(
        [np.clip(projection.xy[:, 0], x_low, x_high), np.clip(projection.xy[:, 1], y_low, y_high)]
    )
    x = box.x(inside[:, 0], x_low, x_high)
    y = box.y(inside[:, 1], y_low, y_high)
    radius = 4.0 if len(x) <= 500 else 3.2 if len(x) <= 1500 else 2.4
    ends = _line_ends(links, x, y, gap=radius + 1.2)
    parts = [
        svg_start(box, "scatter", "The data with its clusters and constraints", description),
        _scatter_grid(box, projection.kind, (x_low, x_high), (y_low, y_high)),
        _ellipses(box, shapes, (x_low, x_high), (y_low, y_high)),
        _lines("satisfied", "s", links, ~links.violated, ends),
        _casing(links, ends),
        _points(x, y, radius, clusters, classes, wrong_rows),
        _lines("violated", "v", links, links.violated, ends),
        _cluster_marks(x, y, clusters, cluster_names),
        "</svg>",
    ]
    n_beyond = int(np.count_nonzero((inside != projection.xy).any(axis=1)))
    return Scatter("".join(parts), n_beyond)


def _ellipses(
    box: Box,
    shapes: Sequence[Shape],
    x_range: tuple[float, float],
    y_range: tuple[float, float],
) -> str:
    """Draw components at two standard deviations."""
    scale = np.array(
        [
            box.inner_width / (x_range[1] - x_range[0]),
            -box.inner_height / (y_range[1] - y_range[0]),
        ]
    )
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
    return "".join(parts) + "</g>" if shapes else ""


def size_bars(clusters: Partition, bounds: npt.NDArray[np.float64] | None = None) -> str:
    """Draw the sizes of the clusters as columns, with a mark at each of their bounds (k, 2)."""
    box, sizes = SIZES, clusters.sizes
    n_bars = max(len(sizes), 1)
    largest = max(int(sizes.max(initial=0)), 1)
    if bounds is not None:
        largest = max(largest, int(np.ceil(bounds[bounds < sizes.sum()].max(initial=0))))
    step = box.inner_width / n_bars
    width = min(step * 0.72, 54.0)
    told = ", ".join(f"{name}: {size}" for name, size in zip(clusters.names, sizes, strict=True))
    parts = [svg_start(box, "bars", "Rows in each cluster", told)]
    base = box.height - box.bottom
    with_values = step >= 7.0 * len(f"{largest:,}")
    every = math.ceil(7.0 * max((len(name[:12]) for name in clusters.names), default=1) / step)
    for number, (name, size) in enumerate(zip(clusters.names, sizes, strict=True)):
        middle = box.left + (number + 0.5) * step
        top = float(box.y(float(size), 0.0, float(largest)))
        top = min(top, base - 1.5)
        parts.append(
            f"<g><title>cluster {escape(name)}: {size:,} rows</title>"
            f'<path class="k{number}" d="{_column(middle - width / 2, width, top, base)}"/>'
        )
        if with_values:
            parts.append(f'<text class="value" x="{middle:.1f}" y="{top - 5:.1f}">{size:,}</text>')
        if number % every == 0:
            parts.append(f'<text x="{middle:.1f}" y="{base + 15:.1f}">{escape(name[:12])}</text>')
        if bounds is not None:
            parts += _bound_marks(box, middle, width, bounds[number], float(largest))
        parts.append("</g>")
    parts.append(f'<path class="axis" d="M{box.left} {base}H{box.width - box.right}"/></svg>')
    return "".join(parts)


def _bound_marks(
    box: Box, middle: float, width: float, bounds: npt.NDArray[np.float64], largest: float
) -> list[str]:
    """Draw a mark across a column at its lower and upper bound, where these say anything."""
    reach = width / 2 + 6
    return [
        f'<path class="bound" d="M{middle - reach:.1f} {float(box.y(bound, 0.0, largest)):.1f}'
        f'h{2 * reach:.1f}"/>'
        for bound in bounds.tolist()
        if 0 < bound <= largest
    ]


def objective_line(history: npt.NDArray[np.float64], title: str = "Objective") -> str:
    """Draw the objective by iteration; values that are not finite are left out."""
    iterations = np.flatnonzero(np.isfinite(history))
    values = history[iterations]
    box = OBJECTIVE
    low, high = frame_of(values)
    last = max(int(iterations[-1]), 1)
    x = box.x(iterations.astype(np.float64), 0.0, float(last))
    y = box.y(values, low, high)
    told = (
        f"From {format_number(values[0])} to {format_number(values[-1])} "
        f"in {len(values)} recorded values."
    )
    parts = [svg_start(box, "curve", f"{title} by iteration", told)]
    for tick in nice_ticks(low, high, 3):
        height = float(box.y(tick, low, high))
        parts.append(
            f'<path class="gridline" d="M{box.left} {height:.1f}H{box.width - box.right}"/>'
            f'<text class="left" x="{box.left - 8}" y="{height + 4:.1f}">'
            f"{format_number(tick)}</text>"
        )
    for tick in nice_ticks(0.0, float(last), 6):
        if tick == round(tick):
            at = float(box.x(tick, 0.0, float(last)))
            parts.append(f'<text x="{at:.1f}" y="{box.height - 6}">{int(tick):,}</text>')
    path = "M" + "L".join(f"{a:.1f} {b:.1f}" for a, b in zip(x, y, strict=True))
    base = box.height - box.bottom
    if len(values) > 1:
        parts.append(f'<path class="area" d="{path}V{base}H{x[0]:.1f}Z"/>')
    parts.append(f'<path class="line" d="{path}"/>')
    if len(values) <= 60:
        parts += [
            f'<circle class="dot" cx="{a:.1f}" cy="{b:.1f}" r="2.6">'
            f"<title>iteration {step}: {format_number(value)}</title></circle>"
            for a, b, step, value in zip(x, y, iterations, values, strict=True)
        ]
    parts.append(f'<path class="axis" d="M{box.left} {base}H{box.width - box.right}"/></svg>')
    return "".join(parts)


def named_bars(
    names: Sequence[str],
    lengths: Array,
    texts: Sequence[str],
    *,
    name: str,
    title: str,
    kept: Sequence[bool] | None = None,
) -> str:
    """Draw horizontal bars of lengths from 0 to 1, each with its name and a text at its end."""
    box = Box(width=420, height=_BAR * len(names) + 6, left=130, right=64, top=3, bottom=3)
    told = ", ".join(f"{what}: {text}" for what, text in zip(names, texts, strict=True))
    parts = [svg_start(box, name, title, told)]
    rows = zip(names, lengths, texts, kept or [True] * len(names), strict=True)
    for number, (what, share, text, chosen) in enumerate(rows):
        y = box.top + number * _BAR
        length = max(float(share) * box.inner_width, 1.0)
        parts.append(
            f"<g{'' if chosen else ' class=unkept'}><title>{escape(what)}: {escape(text)}</title>"
            f'<text class="left" x="{box.left - 8}" y="{y + 13:.1f}">'
            f"{escape(shorten(what, 18))}</text>"
            f'<rect x="{box.left}" y="{y + 3:.1f}" width="{length:.1f}" height="{_BAR - 6:.1f}"/>'
            f'<text class="right" x="{box.left + length + 6:.1f}" y="{y + 13:.1f}">'
            f"{escape(text)}</text></g>"
        )
    return "".join(parts) + "</svg>"


def nice_ticks(low: float, high: float, wanted: int) -> list[float]:
    """Choose round values between ``low`` and ``high``.

    Examples
    --------
    >>> nice_ticks(0.0, 10.0, 5)
    [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]
    """
    rough = (high - low) / wanted
    if not rough > 0.0:
        return [low]
    magnitude = 10.0 ** math.floor(math.log10(rough))
    step = min((factor * magnitude for factor in (1, 2, 5, 10)), key=lambda s: abs(s - rough))
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [float(f"{number * step:.12g}") for number in range(first, last + 1)]


def frame_of(values: Array) -> tuple[float, float]:
    """Limits of an axis; a few far outliers do not squeeze everything else."""
    if not len(values):
        return 0.0, 1.0
    low, high = float(values.min()), float(values.max())
    inner_low, inner_high = np.percentile(values, [1.0, 99.0])
    reach = 1.0 * (inner_high - inner_low)
    if reach > 0.0:
        low, high = max(low, inner_low - reach), min(high, inner_high + reach)
    margin = 0.04 * (high - low) or max(abs(high), 1.0) * 0.5
    return float(low - margin), float(high + margin)


def svg_start(box: Box, name: str, title: str, description: str) -> str:
    """Open a picture; ``name`` is its class or classes, and no other picture of the page has it."""
    ident = name.replace(" ", "-")
    return (
        f'<svg class="{name}" viewBox="0 0 {box.width} {box.height}" role="img" '
        f'aria-labelledby="{ident}-title {ident}-text"><title id="{ident}-title">{escape(title)}'
        f'</title><desc id="{ident}-text">{escape(description)}</desc>'
    )


def _scatter_grid(
    box: Box, kind: str, x_range: tuple[float, float], y_range: tuple[float, float]
) -> str:
    """Draw faint lines at round values; numbers only where the axes are the user's features."""
    left, right = box.left, box.width - box.right
    top, bottom = box.top, box.height - box.bottom
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


def _points(
    x: Array,
    y: Array,
    radius: float,
    clusters: npt.NDArray[np.int64],
    classes: npt.NDArray[np.int64] | None,
    wrong_rows: npt.NDArray[np.bool_],
) -> str:
    parts = [f'<g id="points" style="--r:{radius}px">']
    for number in range(len(x)):
        names = _group_class("k", clusters[number])
        if classes is not None:
            names += " " + _group_class("t", classes[number])
        if wrong_rows[number]:
            names += " w"
        parts.append(f'<circle class="{names}" cx="{x[number]:.1f}" cy="{y[number]:.1f}"/>')
    parts.append("</g>")
    return "".join(parts)


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
    parts = [f'<g id="{name}">']
    for number in np.flatnonzero(chosen):
        x1, y1, x2, y2 = ends[number]
        kind = "cl" if links.cannot[number] else "ml"
        parts.append(
            f'<line class="{letter} {kind}" data-n="{number}" x1="{x1:.1f}" y1="{y1:.1f}" '
            f'x2="{x2:.1f}" y2="{y2:.1f}"/>'
        )
    parts.append("</g>")
    return "".join(parts)


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


def _column(left: float, width: float, top: float, base: float) -> str:
    """Outline a column that stands on ``base`` with round upper corners."""
    round_by = min(4.0, width / 2, base - top)
    return (
        f"M{left:.1f} {base:.1f}V{top + round_by:.1f}q0 -{round_by:.1f} {round_by:.1f} "
        f"-{round_by:.1f}h{width - 2 * round_by:.1f}q{round_by:.1f} 0 {round_by:.1f} "
        f"{round_by:.1f}V{base:.1f}Z"
    )
