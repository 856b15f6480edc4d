"""Colors of the points of a map: classes, a number, and the neighbors that a row lost."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from markupsafe import Markup

from sidelight._words import format_number
from sidelight.pictures.inner import (
    STEPS,
    Coloring,
    Given,
    Partition,
    known_classes,
    oklch_to_hex,
    shorten,
)
from sidelight.report.cards import html, joined
from sidelight.report.page import themed
from sidelight.report.plot import Coloring as Switch
from sidelight.report.plot import by_groups

#: Fewest different values that are drawn as a number.
FEWEST_NUMBERS = 13
LOST_STEPS = 6
#: Letters of the name of a number in the legend.
MAX_NAME = 40

Codes = npt.NDArray[np.int64]

#: Lightness, chroma and hue at both ends, for a light and a dark page.
_RAMPS = {
    "light": ((0.32, 0.13, 280.0), (0.84, 0.15, 108.0)),
    "dark": ((0.45, 0.15, 285.0), (0.92, 0.15, 105.0)),
}
_LOST = {
    "light": ((0.82, 0.01, 30.0), (0.50, 0.20, 20.0)),
    "dark": ((0.40, 0.01, 30.0), (0.72, 0.20, 18.0)),
}


def coloring_of(given: Given, color: tuple[str, Any] | None) -> Coloring | None:
    """What the points are colored by: a column, else true classes, else known labels."""
    if color is not None:
        return _by_column(*color)
    if given.truth is not None and len(given.truth.names):
        return Coloring("True classes", given.truth)
    known = given.constraints
    if known.labels is None or known.label_names is None:
        return None
    names = tuple(str(name) for name in known.label_names)
    return Coloring("Known labels", Partition(known.labels, names))


def _by_column(name: str, values: Any) -> Coloring:
    given = np.asarray(values)
    if given.dtype.kind == "f":
        if len(np.unique(given[np.isfinite(given)])) >= FEWEST_NUMBERS:
            return Coloring(name, values=given)
        given = np.array(["" if one != one else format_number(one) for one in given.tolist()])
    return Coloring(name, known_classes(given))


def lost_steps(n_lost: npt.NDArray[np.float64], k: int) -> Codes:
    """Step of the color of each row by the share of its neighbors that it lost; -1 unknown."""
    steps = np.ceil(np.nan_to_num(n_lost) / k * (LOST_STEPS - 1))
    return np.where(np.isnan(n_lost), -1, steps).astype(np.int64)


def switch_of(coloring: Coloring | None, truth: Partition | None, measured: bool) -> list[Switch]:
    """Return what the points of the map can be colored by, with legends."""
    choices = []
    if coloring is None:
        choices.append(Switch("cluster", "Plain", None))
    elif coloring.ends is None:
        choices.append(by_groups("cluster", coloring.name, coloring.groups))
    else:
        low, high = coloring.ends
        key = ramp(f"{shorten(coloring.name, MAX_NAME)} {low}", high)
        choices.append(Switch("cluster", coloring.name, _legend("cluster", key)))
    if truth is not None:
        choices.append(by_groups("label", "True classes", truth))
    if measured:
        key = ramp("none lost", "all lost", "e", LOST_STEPS)
        choices.append(Switch("lost", "Neighbors lost", _legend("lost", key)))
    return choices


def _legend(value: str, key: Markup) -> Markup:
    return html('<div class="legend for-{}">{}</div>', value, key)


def ramp(low: str, high: str, letter: str = "s", n_steps: int = STEPS) -> Markup:
    """Return a sequence of colors between its ends."""
    steps = joined(html('<i class="{}{}"></i>', letter, step) for step in range(n_steps))
    return html('<span class="ramp">{} {} {}</span>', low, steps, high)


def ramps(coloring: Coloring | None, measured: bool) -> str:
    """Return the style sheet of the colors that stand for numbers."""
    is_number = coloring is not None and coloring.ends is not None
    steps = ".k{n},.ramp .s{n},.nodes .s{n}" if is_number else ".ramp .s{n},.nodes .s{n}"
    css = _ramp("s", steps, STEPS, _RAMPS)
    if measured:
        css += _ramp("e", '[data-colour="lost"] .l{n},.ramp .e{n}', LOST_STEPS, _LOST)
        css += '[data-colour="lost"] .lx{--g:var(--faint)}'
    return css


def _ramp(variable: str, selectors: str, n_steps: int, ends: Any) -> str:
    """Return the style sheet of a sequence of colors."""

    def variables(mode: str) -> dict[str, str]:
        low, high = (np.array(end) for end in ends[mode])
        steps = (low + (high - low) * n / (n_steps - 1) for n in range(n_steps))
        return {f"{variable}{n}": oklch_to_hex(*color) for n, color in enumerate(steps)}

    rules = (f"{selectors.format(n=n)}{{--g:var(--{variable}{n})}}" for n in range(n_steps))
    return themed("".join(rules), {mode: variables(mode) for mode in ("light", "dark")})
