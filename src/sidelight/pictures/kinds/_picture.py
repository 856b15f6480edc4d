"""What every kind of picture has, whoever draws it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self


@dataclass(frozen=True, eq=False, kw_only=True)
class Picture:
    """A picture as plain data.

    Attributes
    ----------
    title : str
        What is shown.
    text : str
        What can be seen, for a reader who cannot see it.
    axis_titles : tuple of str
        Titles of the horizontal and of the vertical axis.
    heading : str
        What Matplotlib writes above the picture; a page has headings of its own.
    note : str
        What is to be known besides.
    css : str
        Class or classes of the style sheet of a page; no other picture of the page has them.
    size : tuple of int
        Width and height on a page; bars below each other and lanes are as high as they need.
    """

    title: str = ""
    text: str = ""
    axis_titles: tuple[str, str] = ("", "")
    heading: str = ""
    note: str = ""
    css: str = ""
    size: tuple[int, int] = (420, 156)

    def headed(self, heading: str) -> Self:
        """Return the same picture with another heading."""
        return replace(self, heading=heading)
