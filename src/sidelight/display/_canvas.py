"""Axes and inks that all displays share. Matplotlib is imported here, and only to draw."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from sidelight._fit.docstrings import complete, split_at
from sidelight._typing import Array
from sidelight.exceptions import InvalidRequest
from sidelight.pictures._palette import palette

#: Up to so many curves are named at their ends.
MAX_LABELED = 8

_AX = """ax : matplotlib Axes, default=None
    Axes to draw in; a new figure by default."""

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


class Display:
    """What every display has: the axes it drew in, and their figure."""

    ax_: Any
    figure_: Any

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        _complete_docstrings(cls)

    def __repr__(self) -> str:
        drawn = "" if hasattr(self, "ax_") else ", not drawn yet"
        return f"<{type(self).__name__}{drawn}>"

    def plot(self, ax: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw in; a new figure by default.

        Returns
        -------
        Display
            The display itself.
        """
        self._draw(self._begin(ax, self._size))
        return self

    def _draw(self, inks: Inks) -> None:
        """Draw in ``ax_``, with colors that can be read there."""
        raise NotImplementedError

    @property
    def _size(self) -> tuple[float, float]:
        """Width and height of a new figure."""
        return 6.4, 4.8

    def _begin(self, ax: Any, size: tuple[float, float] = (6.4, 4.8)) -> Inks:
        """Take the axes that were given, or new ones, and find out what can be read on them."""
        check_matplotlib(type(self).__name__)
        self.ax_ = new_axes(size) if ax is None else one_axes(ax)
        self.figure_ = self.ax_.figure
        return inks_of(self.ax_)


def _complete_docstrings(cls: type) -> None:
    """Describe what all displays share: axes, titles, and what the methods that draw return."""
    if "title" in cls.__annotations__:
        complete(cls, "Parameters", {"title : str": "Written above the picture."})
    attributes = split_at(inspect.cleandoc(cls.__doc__ or ""), "Attributes")
    if attributes is not None and "ax_" not in attributes.body:
        where = {"ax_, figure_ : matplotlib Axes and Figure": "Where it was drawn."}
        complete(cls, "Attributes", where)
    for name, member in vars(cls).items():
        method = getattr(member, "__func__", member)
        if (name == "plot" or name.startswith("from_")) and method.__doc__:
            _complete_method(method, cls.__name__)


def _complete_method(method: Any, display: str) -> None:
    """Describe ``ax`` in its place among the parameters, and the display that is returned."""
    text = inspect.cleandoc(method.__doc__)
    found = split_at(text, "Parameters")
    assert found is not None, f"{method.__qualname__} describes no parameters"
    if not re.search(r"^ax :", found.body, flags=re.MULTILINE):
        own, stars, options = found.body.partition("\n**")
        body = f"{own}\n{_AX}{stars}{options}"
        if method.__name__ == "plot":  # where it is the first one
            body = f"{_AX}\n{found.body}"
        text = "\n\n".join(part for part in (found.before + body, found.after) if part)
    if split_at(text, "Returns") is None:
        text += f"\n\nReturns\n-------\n{display}\n    The drawn display."
    method.__doc__ = text


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


def label_lines(ax: Any, lines: Mapping[str, Any], inks: Inks) -> None:
    """Write the name of every curve at its right end; a legend where they would collide."""
    if len(lines) > MAX_LABELED:
        ax.legend(fontsize="small", framealpha=0.85, facecolor=inks.page, edgecolor="none")
        return
    points = {name: line.get_xydata() for name, line in lines.items()}
    ends = {name: tuple(own[np.argmax(own[:, 0])]) for name, own in points.items()}
    low, high = ax.get_ylim()
    heights = np.sort([y for _, y in ends.values()])
    if ax.get_yscale() == "linear" and np.all(np.diff(heights) > 0.055 * (high - low)):
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
        return
    ax.legend(fontsize="small", framealpha=0.85, facecolor=inks.page, edgecolor="none")
