"""Pictures with their headings and notes, for the templates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from markupsafe import Markup

from sidelight.pictures.svg._charts import named_bars

Array = npt.NDArray[np.float64]


def figure(title: str, svg: str, note: str = "") -> dict[str, Any]:
    """A picture with its heading and a note, for the template."""
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
    if largest is None:
        largest = max(float(values.max(initial=0.0)), 1e-300)
    return figure(title, named_bars(names, values / largest, texts, name, title, kept), note)
