"""Colors of the points of a map: classes, a number, and the neighbors that a row lost."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from markupsafe import Markup

from sidelight._words import format_number
from sidelight.pictures._cells import STEPS
from sidelight.pictures._palette import oklch_to_hex
from sidelight.pictures._run import Given, Partition, known_classes
from sidelight.pictures.maps._coloring import Coloring
from sidelight.report.sections import MAX_GROUPS, Section, chips, colours

#: Fewest different values that are drawn as a number.
FEWEST_NUMBERS = 13
LOST_STEPS = 6

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


def legends(coloring: Coloring | None, truth: Partition | None, measured: bool) -> Section:
    """Legends of the map, and the style sheet that colors its points."""
    is_number = coloring is not None and coloring.ends is not None
    n_groups = 1 if coloring is None else max(len(coloring.groups.names), 1)
    n_classes = 0 if truth is None else len(truth.names)
    css = colours(max(n_classes if is_number else n_groups, n_classes, 1))
    steps = ".k{n},.ramp .s{n},.nodes .s{n}" if is_number else ".ramp .s{n},.nodes .s{n}"
    css += _ramp("s", steps, STEPS, _RAMPS)
    if measured:
        css += _ramp("e", '[data-colour="lost"] .l{n},.ramp .e{n}', LOST_STEPS, _LOST)
        css += '[data-colour="lost"] .lx{--g:var(--faint)}'
    shown = [] if coloring is None or is_number else _chips(coloring.groups)
    return {
        "colours": Markup(css),
        "color_name": "" if coloring is None else coloring.name,
        "color_ends": coloring.ends if coloring is not None else None,
        "color_steps": STEPS,
        "lost_steps": LOST_STEPS,
        "chips": shown,
        "n_hidden": 0 if coloring is None else max(0, n_groups - MAX_GROUPS),
        "class_chips": [] if truth is None else _chips(truth),
        "n_hidden_classes": max(0, n_classes - MAX_GROUPS),
        "measured": measured,
    }


def _chips(groups: Partition) -> list[Section]:
    return chips(groups, np.arange(len(groups.names)))


def _ramp(variable: str, selectors: str, n_steps: int, ramps: Any) -> str:
    """Style sheet of a sequence of colors, for both kinds of page."""

    def variables(mode: str) -> str:
        low, high = (np.array(end) for end in ramps[mode])
        steps = (low + (high - low) * n / (n_steps - 1) for n in range(n_steps))
        return "".join(f"--{variable}{n}:{oklch_to_hex(*c)};" for n, c in enumerate(steps))

    rules = "".join(f"{selectors.format(n=n)}{{--g:var(--{variable}{n})}}" for n in range(n_steps))
    return (
        f":root{{{variables('light')}}}"
        f"@media screen and (prefers-color-scheme:dark){{:root{{{variables('dark')}}}}}{rules}"
    )
