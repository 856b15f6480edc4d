"""Cells with Matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sidelight._typing import FloatArray
from sidelight.display._canvas import Inks
from sidelight.pictures import Cells, Layer, Nodes
from sidelight.pictures.inner import OTHER, WRONG, shorten

#: Cells of a share above this are dark enough for a text in the color of the page.
_DARK = 0.65
#: More names of columns than this, or longer ones, are turned.
_LEVEL_NAMES, _LEVEL_LETTERS = 12, 6
_LONGEST_NAME = 24


@dataclass
class DrawnCells:
    """Artists of a picture of cells.

    Attributes
    ----------
    image : AxesImage
        The cells: numbers of their colors, their shades where there is one color, or red, green and
        blue.
    frames : list of Rectangle
        Outlined blocks.
    texts : list of Text
        What is written into cells.
    """

    image: Any
    frames: list[Any] = field(default_factory=list)
    texts: list[Any] = field(default_factory=list)


def draw_cells(ax: Any, picture: Cells, inks: Inks, *, legend: bool = True) -> DrawnCells:
    """Draw a table of cells with its frames, borders, texts and names.

    Parameters
    ----------
    ax, picture, inks : Axes, Cells, Inks
        Where to draw what.
    legend : bool, default=True
        Whether to explain the colors below the picture, where cells have no shades.
    """
    from matplotlib.patches import Rectangle

    drawn = DrawnCells(_image(ax, picture, inks))
    for at in picture.borders[0]:
        ax.axhline(at - 0.5, color=inks.faint, linewidth=0.6)
    for at in picture.borders[1]:
        ax.axvline(at - 0.5, color=inks.faint, linewidth=0.6)
    outline: dict[str, Any] = {"fill": False, "edgecolor": inks.ink, "linewidth": 1.2}
    for frame in picture.frames:
        if frame.outlined:
            corner = (frame.left - 0.5, frame.top - 0.5)
            block = Rectangle(corner, frame.width, frame.height, **outline)
            drawn.frames.append(ax.add_patch(block))
    middle: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": "small"}
    for row, column, text in picture.written:
        dark = picture.shares is not None and picture.shares[row, column] > _DARK
        color = inks.page if dark else inks.ink
        drawn.texts.append(ax.text(column, row, text, color=color, **middle))
    _name_axes(ax, picture)
    if legend and picture.shares is None:
        _explain(ax, picture.layers, inks)
    return drawn


def _image(ax: Any, picture: Cells, inks: Inks) -> Any:
    from matplotlib.colors import LinearSegmentedColormap, ListedColormap

    colors = _colors(picture.layers, inks)
    options: dict[str, Any] = {"interpolation": "nearest"}
    options["aspect"] = "equal" if picture.square else "auto"
    if picture.shares is None:
        shades = ListedColormap([inks.page, *colors])
        return ax.imshow(picture.codes, cmap=shades, vmin=0, vmax=len(colors), **options)
    if len(colors) == 1:
        ramp = LinearSegmentedColormap.from_list("shares", [inks.page, colors[0]])
        return ax.imshow(picture.shares, cmap=ramp, vmin=0, vmax=1, **options)
    return ax.imshow(_blended(picture, picture.shares, colors, inks), **options)


def _blended(picture: Cells, shares: FloatArray, colors: list[str], inks: Inks) -> FloatArray:
    """Every cell between the color of the page and that of its layer, by its shade."""
    from matplotlib.colors import to_rgb

    page = np.array(to_rgb(inks.page))
    inked = np.array([page, *(to_rgb(color) for color in colors)])
    return np.asarray(page + shares[:, :, None] * (inked[picture.codes] - page))


def _colors(layers: Any, inks: Inks) -> list[str]:
    groups = inks.groups(max([layer.color for layer in layers], default=0) + 1)
    special = {OTHER: inks.soft, WRONG: inks.bad}
    return [special.get(layer.color) or groups[layer.color] for layer in layers]


def _name_axes(ax: Any, picture: Cells) -> None:
    ax.set(xlabel=picture.axis_titles[0], ylabel=picture.axis_titles[1])
    rows, columns = ([shorten(name, _LONGEST_NAME) for name in side] for side in picture.names)
    ax.set_yticks(range(len(rows)), rows)
    level = len(columns) <= _LEVEL_NAMES and max(map(len, columns), default=0) <= _LEVEL_LETTERS
    ax.set_xticks(range(len(columns)), columns, rotation=0 if level else 90)
    small = max(len(rows), len(columns)) > 2 * _LEVEL_NAMES
    ax.tick_params(length=0, labelsize="x-small" if small else "small")


def _explain(ax: Any, layers: Sequence[Layer], inks: Inks) -> None:
    """Explain the colors below the picture."""
    from matplotlib.patches import Patch

    patches = [
        Patch(color=color, label=layer.name)
        for layer, color in zip(layers, _colors(layers, inks), strict=True)
    ]
    place: dict[str, Any] = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.05)}
    ax.legend(handles=patches, ncols=len(patches), frameon=False, fontsize="small", **place)


@dataclass
class DrawnNodes:
    """Artists of a picture of the nodes of a grid.

    Attributes
    ----------
    cells : PolyCollection
        The cells.
    colorbar : Colorbar or None
        Scale of the numbers.
    """

    cells: Any
    colorbar: Any = None


def draw_nodes(
    ax: Any, picture: Nodes, inks: Inks, *, cmap: Any = None, legend: bool = True, **style: Any
) -> DrawnNodes:
    """Draw the cells of a grid in colors, or filled as far as their numbers reach.

    Parameters
    ----------
    ax, picture, inks : Axes, Nodes, Inks
        Where to draw what.
    cmap : str or Colormap, default=None
        Colors of the numbers; by default from light to dark, or viridis.
    legend : bool, default=True
        Whether to draw the scale of the numbers.
    **style : dict
        Passed on to the ``PolyCollection`` of the cells.
    """
    values = picture.values
    if picture.look == "size":
        _add_cells(ax, picture, facecolors="none", edgecolors=inks.faint, linewidths=0.5)
        shares = values / max(float(values.max(initial=0.0)), 1.0)
        look = {"facecolors": inks.soft, "edgecolors": "none"} | style
        return DrawnNodes(_add_cells(ax, picture, shares, **look))
    chosen = cmap or ("Greys" if picture.look == "grey" else "viridis")
    look = {"edgecolors": "face", "linewidths": 0.2} | style
    drawn = DrawnNodes(_add_cells(ax, picture, array=values, cmap=chosen, **look))
    if legend:
        drawn.colorbar = ax.figure.colorbar(drawn.cells, ax=ax, label=picture.value_title)
    return drawn


def _add_cells(ax: Any, picture: Nodes, sizes: FloatArray | None = None, **style: Any) -> Any:
    """Add cells, each as large as the root of its share where sizes are given."""
    from matplotlib.collections import PolyCollection

    scale = np.ones(len(picture.places)) if sizes is None else np.sqrt(sizes)
    corners = picture.places[:, None] + scale[:, None, None] * picture.outline
    cells = ax.add_collection(PolyCollection(list(corners), **style))
    ax.set_aspect("equal")
    ax.autoscale_view()
    ax.set(xticks=[], yticks=[])
    return cells
