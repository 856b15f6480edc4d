"""Axes and inks that all displays share. Matplotlib is imported here, and only to draw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sidelight._typing import Array
from sidelight.exceptions import InvalidRequest
from sidelight.pictures.inner import palette

#: Up to so many curves are named at their ends.
MAX_LABELED = 8

#: Inks on a light and on a dark page; the red and the greys are those of the report.
_LIGHT = ("#1b1f27", "#5b6473", "#8b93a1", "#cc1240", "#ffffff")
_DARK = ("#e9ebef", "#98a1b0", "#767f8d", "#ff5470", "#101217")


@dataclass(frozen=True)
class Inks:
    """Colors that stand out from the page of an axes, which may be light or dark."""

    mode: str
    ink: str
    soft: str
    faint: str
    bad: str
    """Violated statements; no group has it."""
    page: str

    def groups(self, n_groups: int) -> list[str]:
        """Colors of groups, apart for the common forms of color blindness up to eight."""
        return palette(n_groups, self.mode)

    def of_codes(self, codes: Array, n_groups: int) -> list[str]:
        """Color of every row by the number of its group; grey for -1."""
        colors = [*self.groups(max(n_groups, 1)), self.faint]
        return [colors[code] for code in np.where(codes < 0, -1, codes)]


def check_matplotlib(what: str) -> None:
    """Raise a clear sentence where Matplotlib is missing."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError(
            f"{what} draws with Matplotlib, which is not installed: "
            'pip install "sidelight[plots]" brings it.'
        ) from error


def new_axes(size: tuple[float, float]) -> Any:
    """Axes in a new figure of pyplot, which a notebook shows by itself."""
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=size, layout="constrained")[1]


def one_axes(ax: Any) -> Any:
    """One axes; of several it is not clear which are meant."""
    if not hasattr(ax, "add_collection"):
        raise InvalidRequest(
            f"ax is one Axes of Matplotlib, got {type(ax).__name__}; of several axes pass one, "
            "for instance ax=axes[0, 0]."
        )
    return ax


def inks_of(ax: Any) -> Inks:
    """Inks for the background of the axes; behind a transparent one, by the color of its text."""
    from matplotlib.colors import to_rgba

    for color in (ax.get_facecolor(), ax.figure.get_facecolor()):
        red, green, blue, alpha = to_rgba(color)
        if alpha >= 0.5:
            dark = _luminance(red, green, blue) < 0.4
            break
    else:
        dark = _luminance(*to_rgba(ax.xaxis.label.get_color())[:3]) > 0.6
    return Inks("dark", *_DARK) if dark else Inks("light", *_LIGHT)


def _luminance(red: float, green: float, blue: float) -> float:
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def set_titles(ax: Any, axis_titles: tuple[str, str], title: str = "", note: str = "") -> None:
    """Write what the axes mean; the note goes below the title, in smaller letters."""
    ax.set_xlabel(axis_titles[0])
    ax.set_ylabel(axis_titles[1])
    if title or note:
        ax.set_title("\n".join(line for line in (title, note) if line), fontsize="medium")


def casing(inks: Inks, width: float = 2.5) -> list[Any]:
    """Border in the color of the page, so that a text or line stands out of a crowd."""
    from matplotlib.patheffects import withStroke

    return [withStroke(linewidth=width, foreground=inks.page)]


def add_legend(ax: Any, inks: Inks, handles: Sequence[Any] | None = None) -> None:
    """Write a legend on the color of the page, of some artists or of all that have labels."""
    look: dict[str, Any] = {"fontsize": "small", "framealpha": 0.85, "edgecolor": "none"}
    ax.legend(handles=handles, facecolor=inks.page, **look)


def label_lines(ax: Any, lines: Mapping[str, Any], inks: Inks) -> None:
    """Write the name of every curve at its right end; a legend where they would collide."""
    points = {name: line.get_xydata() for name, line in lines.items()}
    ends = {name: tuple(own[np.argmax(own[:, 0])]) for name, own in points.items()}
    low, high = ax.get_ylim()
    heights = np.sort([y for _, y in ends.values()])
    apart = ax.get_yscale() == "linear" and np.all(np.diff(heights) > 0.055 * (high - low))
    if len(lines) > MAX_LABELED or not apart:
        add_legend(ax, inks)
        return
    for name, line in lines.items():
        ax.annotate(
            name,
            ends[name],
            xytext=(7, 0),
            textcoords="offset points",
            va="center",
            fontsize="small",
            color=line.get_color(),
            path_effects=casing(inks),
            annotation_clip=False,
        )
