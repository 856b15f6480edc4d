"""The frame of a picture: where values lie in it, and how it begins."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

#: Width of a letter or digit of a label.
LETTER = 6.6


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


def svg_start(box: Box, name: str, title: str, description: str) -> str:
    """Open a picture; ``name`` is its class or classes, and no other picture of the page has it."""
    ident = name.replace(" ", "-")
    return (
        f'<svg class="{name}" viewBox="0 0 {box.width} {box.height}" role="img" '
        f'aria-labelledby="{ident}-title {ident}-text"><title id="{ident}-title">{escape(title)}'
        f'</title><desc id="{ident}-text">{escape(description)}</desc>'
    )
