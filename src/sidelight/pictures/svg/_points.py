"""Points as SVG, with lines between them, ellipses, regions and names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from sidelight._typing import FloatArray, IntArray
from sidelight._words import format_number
from sidelight.pictures._run import shorten_words
from sidelight.pictures.kinds._points import Lines, Mark, Points, Regions, Text
from sidelight.pictures.kinds._scales import frame_of, nice_ticks
from sidelight.pictures.kinds._shapes import Shape
from sidelight.pictures.svg._box import LETTER, Box, svg_start

DEVIATIONS = 2.0
#: Up to this many points say what they are when the pointer rests on them.
MAX_TITLES = 2_000
#: Classes of the style sheet of rows that stand out.
_MARKS: dict[str, str] = {
    Mark.WRONG: "w",
    Mark.GIVEN: "a",
    Mark.DOUBTFUL: "u",
    Mark.CENTER: "center",
}
_MANY_NAMES = 15
_LETTERS = 18  # of the name of a group
#: From these widths on a picture has these margins, and these radii of few, more and many points.
_LOOKS = (
    (700, 16.0, (4.0, 3.2, 2.4)),
    (500, 12.0, (3.4, 2.4, 2.4)),
    (0, 8.0, (2.4, 1.6, 1.6)),
)
_FEW, _MORE = 500, 1_500
_ROOM_LEFT, _ROOM_BELOW = 44.0, 30.0  # for numbers


@dataclass(frozen=True)
class Placed:
    """Points in their frame; those beyond it lie on its edge.

    Attributes
    ----------
    box : Box
        The frame.
    x_range, y_range : tuple of float
        Values at its ends.
    x, y : ndarray of shape (n,)
        Places of the points in the picture.
    radius : float
        Radius of a point.
    n_beyond : int
        Number of points that lie beyond the frame.
    """

    box: Box
    x_range: tuple[float, float]
    y_range: tuple[float, float]
    x: FloatArray
    y: FloatArray
    radius: float
    n_beyond: int

    def place(self, xy: FloatArray) -> FloatArray:
        """Places in the picture of others than its points, shape (m, 2)."""
        x, y = self.box.x(xy[:, 0], *self.x_range), self.box.y(xy[:, 1], *self.y_range)
        return np.column_stack([x, y])


def placed(drawn: Points) -> Placed:
    """Place the points of a picture."""
    width, height = drawn.size
    margin, radii = next((m, r) for least, m, r in _LOOKS if width >= least)
    n = len(drawn.xy)
    radius = radii[0 if n <= _FEW else 1 if n <= _MORE else 2]
    left, bottom = margin, margin
    if drawn.axes in ("plane", "strip"):
        left, bottom = _ROOM_LEFT, _ROOM_BELOW
    box = Box(width, height, left, margin, margin, bottom)
    x_range, y_range = drawn.limits or (frame_of(drawn.xy[:, 0]), frame_of(drawn.xy[:, 1]))
    if drawn.equal:
        x_range, y_range = _equal(x_range, y_range, box)
    inside = np.column_stack([np.clip(drawn.xy[:, 0], *x_range), np.clip(drawn.xy[:, 1], *y_range)])
    x, y = box.x(inside[:, 0], *x_range), box.y(inside[:, 1], *y_range)
    n_beyond = int((inside != drawn.xy).any(axis=1).sum())
    return Placed(box, x_range, y_range, x, y, radius, n_beyond)


def _equal(
    x_range: tuple[float, float], y_range: tuple[float, float], box: Box
) -> tuple[tuple[float, float], ...]:
    """Ends of both axes such that a unit is as long to the right as upwards."""
    unit = max(
        (x_range[1] - x_range[0]) / box.inner_width, (y_range[1] - y_range[0]) / box.inner_height
    )
    return tuple(
        (sum(ends) / 2 - unit * length / 2, sum(ends) / 2 + unit * length / 2)
        for ends, length in ((x_range, box.inner_width), (y_range, box.inner_height))
    )


def points_svg(drawn: Points) -> str:
    """Draw points, with lines below them and wrong lines above."""
    at = placed(drawn)
    below = [lines for lines in drawn.lines if lines.role != "wrong"]
    wrong = [lines for lines in drawn.lines if lines.role == "wrong"]
    parts = [
        svg_start(at.box, drawn.css, drawn.title, drawn.text),
        "" if drawn.regions is None else _regions(at, drawn.regions),
        "" if drawn.axes in ("none", "layout") else _grid(at, drawn.axes),
        _ellipses(at, drawn.shapes) if drawn.shapes else "",
        _group("satisfied", drawn, "".join(_lines(at, lines, drawn.codes) for lines in below)),
        "".join(_casing(at, lines) for lines in wrong),
        _points(at, drawn),
        _group("violated", drawn, "".join(_lines(at, lines, drawn.codes) for lines in wrong)),
        _names(at, drawn) if (drawn.names and not drawn.listed) or drawn.interactive else "",
        "".join(_text(at, text) for text in drawn.texts),
        "</svg>",
    ]
    return "".join(parts)


def _group(name: str, drawn: Points, inside: str) -> str:
    """A group that the script of the page finds by its name."""
    return f'<g id="{name}">{inside}</g>' if drawn.interactive else inside


def _regions(at: Placed, regions: Regions) -> str:
    """Shade the plane by the numbers of its colors, in stripes of equal ones."""
    box = at.box
    n_down, n_across = regions.codes.shape
    width, height = box.inner_width / n_across, box.inner_height / n_down
    parts = ['<g id="regions">']
    for number, row in enumerate(regions.codes[::-1]):
        starts = np.flatnonzero(np.append(True, row[1:] != row[:-1]))
        for start, stop in zip(starts, np.append(starts[1:], len(row)), strict=True):
            parts.append(
                f'<rect class="{group_class("k", row[start])}" '
                f'x="{box.left + width * start:.2f}" y="{box.top + height * number:.2f}" '
                f'width="{width * (stop - start):.2f}" height="{height:.2f}"/>'
            )
    return "".join(parts) + "</g>"


def _grid(at: Placed, axes: str) -> str:
    """Draw faint lines at round values; numbers only where the axes mean something."""
    box = at.box
    left, right, top, bottom = box.left, box.width - box.right, box.top, box.base
    parts = ['<g class="grid">']
    for tick in nice_ticks(*at.x_range, 8):
        x = float(box.x(tick, *at.x_range))
        parts.append(f'<path d="M{x:.1f} {top}V{bottom}"/>')
        if axes in ("plane", "strip"):
            parts.append(f'<text x="{x:.1f}" y="{bottom + 18}">{format_number(tick)}</text>')
    if axes != "strip":
        for tick in nice_ticks(*at.y_range, 6):
            y = float(box.y(tick, *at.y_range))
            parts.append(f'<path d="M{left} {y:.1f}H{right}"/>')
            if axes == "plane":
                parts.append(
                    f'<text class="left" x="{left - 8}" y="{y + 4:.1f}">{format_number(tick)}'
                    "</text>"
                )
    return "".join(parts) + "</g>"


def _ellipses(at: Placed, shapes: Sequence[Shape]) -> str:
    """Draw components at two standard deviations."""
    box = at.box
    scale = np.array(
        [
            box.inner_width / (at.x_range[1] - at.x_range[0]),
            -box.inner_height / (at.y_range[1] - at.y_range[0]),
        ]
    )
    parts = [f'<clipPath id="frame"><rect width="{box.width}" height="{box.height}"/></clipPath>']
    parts.append('<g id="ellipses" clip-path="url(#frame)">')
    for shape in shapes:
        variances, directions = np.linalg.eigh(shape.covariance * np.outer(scale, scale))
        radii = DEVIATIONS * np.sqrt(np.maximum(variances, 0.0))
        angle = float(np.degrees(np.arctan2(directions[1, 1], directions[0, 1])))
        x = float(box.x(float(shape.mean[0]), *at.x_range))
        y = float(box.y(float(shape.mean[1]), *at.y_range))
        parts.append(
            f'<ellipse class="k{shape.cluster}" rx="{radii[1]:.1f}" ry="{radii[0]:.1f}" '
            f'transform="translate({x:.1f} {y:.1f}) rotate({angle:.1f})"/>'
        )
    return "".join(parts) + "</g>"


def _points(at: Placed, drawn: Points) -> str:
    names = [group_class("k", number) for number in drawn.codes]
    if drawn.others is not None:
        names = [f"{n} {group_class('t', c)}" for n, c in zip(names, drawn.others, strict=True)]
    for mark, rows in drawn.marks.items():
        if css := _MARKS.get(mark):
            names = [f"{n} {css}" if row else n for n, row in zip(names, rows, strict=True)]
    if drawn.classes:
        names = [f"{n} {css}".strip() for n, css in zip(names, drawn.classes, strict=True)]
    titles = drawn.titles if len(drawn.xy) <= MAX_TITLES else ()
    ends = [f"><title>{escape(title)}</title></circle>" for title in titles]
    points = "".join(
        f'<circle class="{name}" cx="{x:.1f}" cy="{y:.1f}"{end}'
        for name, x, y, end in zip(names, at.x, at.y, ends or ["/>"] * len(names), strict=True)
    )
    ident = 'id="points" ' if drawn.interactive else ""
    return f'<g {ident}style="--r:{at.radius}px">{points}</g>'


def _ends(at: Placed, lines: Lines) -> FloatArray:
    """Places of the lines: x and y of both ends.

    A wrong line stops at the rim of its points, which lie under it and must stay visible.
    """
    if lines.places is None:
        first, second = lines.pairs[:, 0], lines.pairs[:, 1]
        start = np.column_stack([at.x[first], at.y[first]])
        stop = np.column_stack([at.x[second], at.y[second]])
    else:
        ends = (lines.places[:, :-1], lines.places[:, 1:])  # from every corner to the next
        start, stop = (at.place(one.reshape(-1, 2)) for one in ends)
    if lines.role == "wrong":
        gap = at.radius + 1.2
        length = np.linalg.norm(stop - start, axis=1)
        share = np.where(length > 3.0 * gap, gap / np.maximum(length, gap), 0.0)[:, None]
        cut = share * (stop - start)
        start, stop = start + cut, stop - cut
    return np.column_stack([start, stop])


def _lines(at: Placed, lines: Lines, codes: IntArray) -> str:
    """Draw lines one by one, or those of a graph as one path for each of its groups."""
    ends = _ends(at, lines)
    if lines.role == "faint":
        return f'<path class="{lines.css}" d="{_path(ends)}"/>'
    if lines.role == "group":
        group = codes[lines.pairs[:, 0]]
        if lines.codes is not None:
            group = np.repeat(lines.codes, len(ends) // max(len(lines), 1))
        return "".join(
            f'<path class="{lines.css} {group_class("k", code)}" d="{_path(ends[group == code])}"/>'
            for code in np.unique(group).tolist()
        )
    numbers = [""] * len(ends)
    if lines.numbers is not None:
        numbers = [f' data-n="{number}"' for number in lines.numbers.tolist()]
    return "".join(
        f'<line class="{lines.css}"{number} x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" '
        f'y2="{y2:.1f}"/>'
        for (x1, y1, x2, y2), number in zip(ends, numbers, strict=True)
    )


def _casing(at: Placed, lines: Lines) -> str:
    """Draw a page-colored border around wrong lines, so that they stand out of a crowd."""
    kind = "cl" if lines.dashed else "ml"
    return f'<path class="casing {kind}" d="{_path(_ends(at, lines))}"/>'


def _path(ends: FloatArray) -> str:
    return "".join(f"M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}" for x1, y1, x2, y2 in ends)


def _names(at: Placed, drawn: Points) -> str:
    """Write the name of every group at its middle, so that color is not the only cue."""
    parts = [f'<g id="marks"{" class=small" if len(drawn.names) > _MANY_NAMES else ""}>']
    for number, name in drawn.names.items():
        members = np.flatnonzero(drawn.codes == number)
        if not len(members):
            continue
        short = shorten_words(name, _LETTERS)
        width = 10.0 + LETTER * len(short)
        x, y = float(np.median(at.x[members])), float(np.median(at.y[members]))
        x = min(max(x, width / 2 + 1), at.box.width - width / 2 - 1)
        whole = f"<title>{escape(name)}</title>" if short != name else ""
        parts.append(
            f'<g transform="translate({x:.1f} {y:.1f})"><g>{whole}<rect class="k{number}" '
            f'x="{-width / 2:.1f}" y="-9" width="{width:.1f}" height="18" rx="9"/>'
            f'<text y="4">{escape(short)}</text></g></g>'
        )
    return "".join(parts) + "</g>"


def _text(at: Placed, text: Text) -> str:
    """Write a text beside its point, or around its place."""
    ((x, y),) = at.place(text.place[None])
    anchor = ' text-anchor="middle"' if text.role == "middle" else ""
    beside = 0.0 if text.role == "middle" else at.radius + 2.0
    return (
        f'<text class="{text.role}"{anchor} x="{x + beside:.1f}" y="{y - beside:.1f}">'
        f"{escape(text.text)}</text>"
    )


def group_class(letter: str, number: int) -> str:
    """Class of the style sheet of a group by its number; ``x`` stands for none."""
    return f"{letter}{number}" if number >= 0 else f"{letter}x"
