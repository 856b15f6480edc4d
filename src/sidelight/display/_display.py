"""What all displays are: a picture, and a way to draw it."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, Self

from sidelight.display._canvas import (
    Inks,
    check_matplotlib,
    inks_of,
    new_axes,
    one_axes,
    set_titles,
)
from sidelight.display._docstrings import complete_class, complete_methods, options_of
from sidelight.display._draw._render import RENDERERS, Renderer, draw
from sidelight.pictures import Picture


class Display:
    """A picture that Matplotlib draws.

    Parameters
    ----------
    picture : Picture, or tuple of Picture
        What is drawn; several pictures lie one above the other.
    """

    ax_: Any
    figure_: Any
    drawn_: Any

    def __init__(self, picture: Any) -> None:
        self.picture = picture

    def __init_subclass__(cls, kind: type[Picture] | tuple[type[Picture], ...], **kwargs: Any):
        """Make a display of one kind of picture, or of several, and complete its docstrings."""
        super().__init_subclass__(**kwargs)
        kinds = kind if isinstance(kind, tuple) else (kind,)
        renderers: list[Renderer] = [RENDERERS[one] for one in kinds]
        complete_class(cls, kinds, [one.drawn for one in renderers])
        options: dict[str, str] = {}
        for one in renderers:
            options |= options_of(one.draw)
        if "plot" not in vars(cls):
            cls.plot = _own(cls.plot)  # type: ignore[method-assign]
        methods = {
            name: getattr(member, "__func__", member)
            for name, member in vars(cls).items()
            if name == "plot" or name.startswith("from_")
        }
        complete_methods(cls, methods, options)

    def __repr__(self) -> str:
        drawn = "" if hasattr(self, "ax_") else ", not drawn yet"
        return f"<{type(self).__name__}{drawn}>"

    def plot(self, ax: Any = None, **options: Any) -> Self:
        """Draw."""
        check_matplotlib(type(self).__name__)
        self.ax_ = new_axes(self._size) if ax is None else one_axes(ax)
        self.figure_ = self.ax_.figure
        inks = inks_of(self.ax_)
        self._draw(inks, {**self._options(inks), **options})
        return self

    @property
    def _size(self) -> tuple[float, float]:
        """Width and height of a new figure."""
        return 6.4, 4.8

    def _options(self, inks: Inks) -> Mapping[str, Any]:
        """Options of the renderer that are not as usual."""
        return {}

    def _draw(self, inks: Inks, options: Mapping[str, Any]) -> None:
        """Draw in ``ax_``, with colors that can be read there."""
        pictures = self.picture if isinstance(self.picture, tuple) else (self.picture,)
        drawn = tuple(draw(self.ax_, picture, inks, **options) for picture in pictures)
        self.drawn_ = drawn if isinstance(self.picture, tuple) else drawn[0]
        first = pictures[0]
        set_titles(self.ax_, first.axis_titles, first.heading, first.note)


def _own(plot: Any) -> Any:
    """Copy the method that draws, for a docstring of its own."""

    @functools.wraps(plot)
    def copied(self: Any, ax: Any = None, **options: Any) -> Any:
        return plot(self, ax, **options)

    return copied
