"""The pictures of the report, as SVG: crisp at any size, coloured by the page's style sheet."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape

import numpy as np
import numpy.typing as npt

from sidelight._words import format_number
from sidelight.pictures._run import Partition, shorten_words
from sidelight.pictures._scales import frame_of, nice_ticks

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
        return self.base - (np.asarray(values) - low) / (high - low) * self.inner_height

    @property
    def base(self) -> float:
        """Height of the axis at the bottom."""
        return self.height - self.bottom

    def axis(self, at: float) -> str:
        """Draw a horizontal axis and end the picture."""
        return f'<path class="axis" d="M{self.left} {at}H{self.width - self.right}"/></svg>'

    @property
    def inner_width(self) -> float:
        """Width of the drawing area."""
        return self.width - self.left - self.right

    @property
    def inner_height(self) -> float:
        """Height of the drawing area."""
        return self.height - self.top - self.bottom


SIZES = Box(width=420, height=142, left=6, right=6, top=20, bottom=22)
OBJECTIVE = Box(width=420, height=142, left=56, right=16, top=12, bottom=24)


_BAR = 19.0
#: Width of a letter or digit of the labels, and the most letters of a name beside a bar.
_LETTER = 6.6
_NAME = 30


def size_bars(
    clusters: Partition, bounds: npt.NDArray[np.float64] | None = None, noun: str = "cluster"
) -> str:
    """Draw the sizes of the clusters as columns, with a mark at each of their bounds (k, 2)."""
    box, sizes = SIZES, clusters.sizes
    n_bars = max(len(sizes), 1)
    largest = max(int(sizes.max(initial=0)), 1)
    if bounds is not None:
        largest = max(largest, int(np.ceil(bounds[bounds < sizes.sum()].max(initial=0))))
    step = box.inner_width / n_bars
    width = min(step * 0.72, 54.0)
    description = ", ".join(
        f"{name}: {size}" for name, size in zip(clusters.names, sizes, strict=True)
    )
    parts = [svg_start(box, "bars", f"Rows in each {noun}", description)]
    base = box.base
    with_values = step >= 7.0 * len(f"{largest:,}")
    every = math.ceil(7.0 * max((len(name[:12]) for name in clusters.names), default=1) / step)
    for number, (name, size) in enumerate(zip(clusters.names, sizes, strict=True)):
        middle = box.left + (number + 0.5) * step
        top = float(box.y(float(size), 0.0, float(largest)))
        top = min(top, base - 1.5)
        parts.append(
            f"<g><title>{noun} {escape(name)}: {size:,} rows</title>"
            f'<path class="k{number}" d="{_column(middle - width / 2, width, top, base)}"/>'
        )
        if with_values:
            parts.append(f'<text class="value" x="{middle:.1f}" y="{top - 5:.1f}">{size:,}</text>')
        if number % every == 0:
            parts.append(f'<text x="{middle:.1f}" y="{base + 15:.1f}">{escape(name[:12])}</text>')
        if bounds is not None:
            parts += _bound_marks(box, middle, width, bounds[number], float(largest))
        parts.append("</g>")
    return "".join(parts) + box.axis(base)


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


def objective_line(
    history: npt.NDArray[np.float64],
    title: str = "Objective",
    *,
    name: str = "curve",
    step: str = "iteration",
    first: int = 0,
) -> str:
    """Draw the objective by iteration; values that are not finite are left out.

    ``name`` are classes of the picture, ``step`` says what a value is for, and ``first`` is the
    number of the first one.
    """
    iterations = np.flatnonzero(np.isfinite(history))
    values = history[iterations]
    low, high = frame_of(values)
    ticks = nice_ticks(low, high, 3)
    longest = max(len(format_number(tick)) for tick in ticks)
    box = replace(OBJECTIVE, left=max(OBJECTIVE.left, _LETTER * longest + 12))
    last = max(int(iterations[-1]), 1)
    x = box.x(iterations.astype(np.float64), 0.0, float(last))
    y = box.y(values, low, high)
    description = (
        f"From {format_number(values[0])} to {format_number(values[-1])} "
        f"in {len(values)} recorded values."
    )
    parts = [svg_start(box, name, f"{title} by {step}", description)]
    for tick in ticks:
        height = float(box.y(tick, low, high))
        parts.append(
            f'<path class="gridline" d="M{box.left} {height:.1f}H{box.width - box.right}"/>'
            f'<text class="left" x="{box.left - 8}" y="{height + 4:.1f}">'
            f"{format_number(tick)}</text>"
        )
    for tick in nice_ticks(float(first), float(first + last), 6):
        if tick == round(tick):
            at = float(box.x(tick - first, 0.0, float(last)))
            parts.append(f'<text x="{at:.1f}" y="{box.height - 6}">{int(tick):,}</text>')
    path = "M" + "L".join(f"{a:.1f} {b:.1f}" for a, b in zip(x, y, strict=True))
    base = box.base
    if len(values) > 1:
        parts.append(f'<path class="area" d="{path}V{base}H{x[0]:.1f}Z"/>')
    parts.append(f'<path class="line" d="{path}"/>')
    if len(values) <= 60:
        parts += [
            f'<circle class="dot" cx="{a:.1f}" cy="{b:.1f}" r="2.6">'
            f"<title>{step} {first + number}: {format_number(value)}</title></circle>"
            for a, b, number, value in zip(x, y, iterations, values, strict=True)
        ]
    return "".join(parts) + box.axis(base)


def named_bars(
    names: Sequence[str],
    lengths: Array,
    texts: Sequence[str],
    name: str,
    title: str,
    kept: Sequence[bool] | None,
) -> str:
    """Draw horizontal bars of lengths from 0 to 1, each with its name and a text at its end."""
    shown = [shorten_words(what, _NAME) for what in names]
    left = max(130.0, _LETTER * max((len(what) for what in shown), default=0) + 12)
    box = Box(width=420, height=_BAR * len(names) + 6, left=left, right=64, top=3, bottom=3)
    description = ", ".join(f"{what}: {text}" for what, text in zip(names, texts, strict=True))
    parts = [svg_start(box, name, title, description)]
    rows = zip(names, shown, lengths, texts, kept or [True] * len(names), strict=True)
    for number, (what, label, share, text, chosen) in enumerate(rows):
        y = box.top + number * _BAR
        length = max(float(share) * box.inner_width, 1.0)
        parts.append(
            f"<g{'' if chosen else ' class=unkept'}><title>{escape(what)}: {escape(text)}</title>"
            f'<text class="left" x="{box.left - 8}" y="{y + 13:.1f}">'
            f"{escape(label)}</text>"
            f'<rect x="{box.left}" y="{y + 3:.1f}" width="{length:.1f}" height="{_BAR - 6:.1f}"/>'
            f'<text class="right" x="{box.left + length + 6:.1f}" y="{y + 13:.1f}">'
            f"{escape(text)}</text></g>"
        )
    return "".join(parts) + "</svg>"


def svg_start(box: Box, name: str, title: str, description: str) -> str:
    """Open a picture; ``name`` is its class or classes, and no other picture of the page has it."""
    ident = name.replace(" ", "-")
    return (
        f'<svg class="{name}" viewBox="0 0 {box.width} {box.height}" role="img" '
        f'aria-labelledby="{ident}-title {ident}-text"><title id="{ident}-title">{escape(title)}'
        f'</title><desc id="{ident}-text">{escape(description)}</desc>'
    )


def _column(left: float, width: float, top: float, base: float) -> str:
    """Outline a column that stands on ``base`` with round upper corners."""
    round_by = min(4.0, width / 2, base - top)
    return (
        f"M{left:.1f} {base:.1f}V{top + round_by:.1f}q0 -{round_by:.1f} {round_by:.1f} "
        f"-{round_by:.1f}h{width - 2 * round_by:.1f}q{round_by:.1f} 0 {round_by:.1f} "
        f"{round_by:.1f}V{base:.1f}Z"
    )
