"""Pictures with their headings and notes, for the templates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from markupsafe import Markup

from sidelight.pictures._bars import named_bars
from sidelight.pictures._picture import Picture
from sidelight.pictures.svg._render import svg_of

Array = npt.NDArray[np.float64]


def figure(title: str, picture: Picture | str, note: str = "") -> dict[str, Any]:
    """A picture with its heading and a note, for the template."""
    svg = picture if isinstance(picture, str) else svg_of(picture)
    return {"title": title, "svg": Markup(svg), "note": note}


def bar_figure(
    title: str,
    names: Sequence[str],
    values: Array,
    texts: Sequence[str],
    *,
    note: str,
    of: int,
    name: str = "saliencies",
    largest: float | None = None,
    kept: Sequence[bool] | None = None,
) -> dict[str, Any]:
    """Bars of the first named values, as long as these relative to the largest."""
    if len(names) < of:
        note += f" {len(names)} of {of:,} are shown."
    picture = named_bars(title, names, values, texts, css=name, largest=largest, kept=kept or ())
    return figure(title, picture, note)
