"""Points as plain data: rows in a plane, with lines between them, shapes and regions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

import numpy as np
import numpy.typing as npt

from sidelight._typing import FloatArray, IntArray
from sidelight._words import STATEMENTS
from sidelight.pictures._selection import Links
from sidelight.pictures.kinds._picture import Picture
from sidelight.pictures.kinds._scales import frame_of
from sidelight.pictures.kinds._shapes import Shape


class Mark(StrEnum):
    """Rows that stand out."""

    WRONG = "wrong"
    """A violated statement mentions them."""
    GIVEN = "given"
    """Their class or place was given."""
    DOUBTFUL = "doubtful"
    """Their class is in doubt."""
    CENTER = "center"
    """They are the center of a cluster."""
    NEW = "new"
    """They were added last."""
    NODE = "node"
    """They are nodes of a grid that was bent to the others."""


Role = Literal["plain", "wrong", "ink", "faint", "group"]


@dataclass(frozen=True, eq=False)
class Lines:
    """Lines of one kind.

    Attributes
    ----------
    name : str
        What the lines are.
    pairs : ndarray of int, shape (m, 2)
        Numbers of both ends among the points.
    role : {"plain", "wrong", "ink", "faint", "group"}
        How they stand out: as usual, in red above the points, in the color of the text, in light
        grey, or in the color of the group of their first end.
    css : str
        Classes of the style sheet of a page.
    dashed : bool
        Whether they are dashed.
    numbers : ndarray of int, shape (m,), default=None
        Numbers of the lines, by which the script of a page finds them.
    label : str or None
        What a legend says; the name and the number of lines by default, nothing where it is None.
    places : ndarray of shape (m, n_corners, 2), default=None
        Corners of lines that do not join points.
    codes : ndarray of int, shape (m,), default=None
        Number of the color of every such line, -1 for none.
    """

    name: str
    pairs: IntArray
    role: Role = "plain"
    css: str = "s"
    dashed: bool = False
    numbers: IntArray | None = None
    label: str | None = ""
    places: FloatArray | None = None
    codes: IntArray | None = None

    def __len__(self) -> int:
        return len(self.pairs if self.places is None else self.places)

    def ends(self, xy: FloatArray) -> FloatArray:
        """Corners of every line between points at some places, shape (m, n_corners, 2)."""
        return xy[self.pairs] if self.places is None else self.places


@dataclass(frozen=True, eq=False)
class Text:
    """A text in the plane.

    Attributes
    ----------
    text : str
        What is written.
    place : ndarray of shape (2,)
        Where.
    role : {"beside", "wrong", "middle"}
        Beside a point, in red beside a point that is wrong, or around its place.
    """

    text: str
    place: FloatArray
    role: Literal["beside", "wrong", "middle"] = "beside"


@dataclass(frozen=True, eq=False)
class Heights:
    """Heights over the plane, or over the horizontal axis.

    Attributes
    ----------
    x : ndarray of shape (nx,)
        Places along the horizontal axis.
    y : ndarray of shape (ny,), default=None
        Places along the vertical axis; None for heights over a line, which are a curve.
    values : ndarray of shape (ny, nx) or (nx,)
        The heights.
    levels : ndarray of shape (m,)
        Heights of contours, ascending.
    names : sequence of str
        What is written on each contour.
    """

    x: FloatArray
    y: FloatArray | None
    values: FloatArray
    levels: FloatArray
    names: Sequence[str] = ()


@dataclass(frozen=True, eq=False)
class Regions:
    """Colors of the places of a plane.

    Attributes
    ----------
    x, y : ndarray
        Places along both axes, evenly spaced.
    codes : ndarray of int, shape (len(y), len(x))
        Number of a color at every place, -1 for none.
    """

    x: FloatArray
    y: FloatArray
    codes: IntArray


@dataclass(frozen=True, eq=False, kw_only=True)
class Points(Picture):
    """Rows in a plane.

    Attributes
    ----------
    xy : ndarray of shape (n, 2)
        Their places.
    codes : ndarray of int, shape (n,)
        Number of the color of every point, -1 for none.
    n_colors : int
        Number of colors.
    rows : ndarray of int, shape (n,), default=None
        Which rows of the data the points are, where not all of them are drawn.
    values : ndarray of shape (n,), default=None
        Numbers that color the points instead, on a scale; on a page they have one color.
    value_title : str
        What these numbers are.
    others : ndarray of int, shape (n,), default=None
        Numbers of other colors, to which a page can switch.
    classes : sequence of str
        Further classes of the style sheet of a page for every point.
    titles : sequence of str
        What every point says when the pointer rests on it.
    names : dict of int to str
        Names of groups, written at their middle, by the number of their color.
    listed : bool
        Whether these names stand in a legend instead.
    texts : sequence of Text
        Names of points, and other texts.
    marks : dict of Mark or str to ndarray of bool, shape (n,)
        Rows that stand out, by what they are: a mark, or a kind of statement.
    lines : sequence of Lines
        Lines between points.
    shapes : sequence of Shape
        Gaussian components.
    centers : ndarray of shape (m, 2)
        Centers of groups.
    regions : Regions, default=None
        Colors of the plane.
    heights : Heights, default=None
        What rises over the plane, as contours, or over the horizontal axis, as a curve; a page
        leaves it out.
    limits : tuple of two tuples of float, default=None
        Ends of both axes; by default those of what is drawn.
    ticks : sequence of tuple of float and str
        Places and texts along the horizontal axis; a page leaves them out.
    axes : {"plane", "strip", "heights", "components", "layout", "none"}
        What the axes mean: both, the horizontal one, the vertical one, directions without numbers,
        which points are near each other, or nothing.
    equal : bool
        Whether a unit is as long to the right as upwards.
    interactive : bool
        Whether the script of a page acts on the picture.
    """

    xy: FloatArray
    codes: IntArray
    n_colors: int = 1
    rows: IntArray | None = None
    values: FloatArray | None = None
    value_title: str = ""
    others: IntArray | None = None
    classes: Sequence[str] = ()
    titles: Sequence[str] = ()
    names: Mapping[int, str] = field(default_factory=dict)
    listed: bool = False
    texts: Sequence[Text] = ()
    marks: Mapping[str, npt.NDArray[np.bool_]] = field(default_factory=dict)
    lines: Sequence[Lines] = ()
    shapes: Sequence[Shape] = ()
    centers: FloatArray = field(default_factory=lambda: np.zeros((0, 2)))
    regions: Regions | None = None
    heights: Heights | None = None
    limits: tuple[tuple[float, float], tuple[float, float]] | None = None
    ticks: Sequence[tuple[float, str]] = ()
    axes: Literal["plane", "strip", "components", "none", "map", "layout", "heights"] = "none"
    equal: bool = False
    css: str = "scatter"
    size: tuple[int, int] = (800, 452)
    interactive: bool = False


def link_lines(links: Links, wrong: str = "violated") -> list[Lines]:
    """Pairs as lines by kind, of those kinds that there are; cannot-links are dashed."""
    found = []
    for cannot, kind in ((False, "must_link"), (True, "cannot_link")):
        for violated in (False, True):
            numbers = np.flatnonzero((links.cannot == cannot) & (links.violated == violated))
            if len(numbers):
                name = f"{wrong} {STATEMENTS[kind]}" if violated else STATEMENTS[kind]
                role: Role = "wrong" if violated else "plain"
                css = f"{'v' if violated else 's'} {'cl' if cannot else 'ml'}"
                found.append(Lines(name, links.pairs[numbers], role, css, cannot, numbers))
    return found


def regions_on(
    xy: FloatArray, shape: tuple[int, int], color_of: Callable[[FloatArray], IntArray]
) -> Regions:
    """Colors of the plane around some points.

    Parameters
    ----------
    xy : ndarray of shape (n, 2)
        The points.
    shape : tuple of int
        Number of places to the right and upwards.
    color_of : callable
        Gives places, an array of shape (m, 2), the numbers of their colors.
    """
    x, y = (
        low + (high - low) * (np.arange(n) + 0.5) / n
        for (low, high), n in zip((frame_of(xy[:, 0]), frame_of(xy[:, 1])), shape, strict=True)
    )
    return color_plane(x, y, color_of)


def color_plane(
    x: FloatArray, y: FloatArray, color_of: Callable[[FloatArray], IntArray]
) -> Regions:
    """Colors at the places of a grid, which a function gives for an array of shape (m, 2)."""
    across, up = np.meshgrid(x, y)
    codes = color_of(np.column_stack([across.ravel(), up.ravel()]))
    return Regions(x, y, np.asarray(codes, np.int64).reshape(across.shape))


def around(xy: FloatArray, n: int, margin: float = 0.05) -> list[FloatArray]:
    """Places along each axis, from a little before the points to a little behind them."""
    low, high = xy.min(axis=0), xy.max(axis=0)
    beyond = np.where(high > low, margin * (high - low), 1.0)
    return [np.linspace(a, b, n) for a, b in zip(low - beyond, high + beyond, strict=True)]


def small_map(
    xy: FloatArray,
    codes: IntArray,
    css: str,
    title: str,
    *,
    lines: Sequence[Lines] = (),
    size: tuple[int, int] = (280, 210),
    equal: bool = True,
) -> Points:
    """A small map of rows, colored by group.

    Parameters
    ----------
    xy : ndarray of shape (n, 2)
        Places of the rows.
    codes : ndarray of int, shape (n,)
        Number of the color of every row, -1 for none.
    css : str
        Classes of the style sheet of a page.
    title : str
        What the rows are.
    lines : sequence of Lines, default=()
        Lines between the rows.
    size : tuple of int, default=(280, 210)
        Width and height on a page.
    equal : bool, default=True
        Whether a unit is as long to the right as upwards.
    """
    n_lines = sum(len(one.pairs) for one in lines)
    said = f"{len(xy)} rows and {n_lines} pairs." if n_lines else f"{len(xy)} rows."
    return Points(
        title=title,
        text=said,
        xy=xy,
        codes=codes,
        n_colors=int(np.max(codes, initial=-1)) + 1,
        lines=lines,
        css=css,
        size=size,
        equal=equal,
    )
