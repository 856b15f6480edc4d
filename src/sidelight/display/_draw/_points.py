"""Points with Matplotlib, with lines between them, outlines, ellipses, regions and names."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sidelight._typing import Array
from sidelight._words import STATEMENTS
from sidelight.display._canvas import Inks, add_legend, casing
from sidelight.display._draw._heights import draw_heights
from sidelight.pictures import Lines, Mark, Points, Regions, Shape, Text
from sidelight.pictures.inner import shorten

DASHES = (0, (3.5, 2.5))
#: Ellipses are drawn at this many standard deviations.
DEVIATIONS = 2.0
_CORNERS = 73
#: From this many lines on they are thin.
_MANY = 200
_LONGEST_NAME = 16
#: More letters along the horizontal axis are turned.
_LETTERS_ACROSS = 60
#: Names of more groups are not written.
_MAX_NAMES = 20
#: Area of points that contours must be seen among.
_SIZE_BELOW_CONTOURS = 12.0
#: Width of lines by their role, and whether they stand above points.
_WIDTHS = {"plain": 1.1, "wrong": 2.2, "ink": 1.0, "faint": 0.7, "group": 1.6}
_HEIGHTS = {"plain": 1.5, "wrong": 3.5, "ink": 2.4, "faint": 1.0, "group": 1.1}


@dataclass
class DrawnPoints:
    """Artists of a picture of points.

    Attributes
    ----------
    points : PathCollection
        The points, without those of a given class.
    lines : dict of str to LineCollection
        Lines by what they are, of those kinds that there are.
    marks : dict of str to PathCollection
        Rows that stand out, by what they are, of those kinds that there are.
    centers : Line2D or None
        Centers of the groups.
    ellipses : list of Polygon
        Gaussian components, at two standard deviations.
    names : list of Text
        Names of the groups.
    texts : list of Text
        Names of points, and other texts.
    regions : QuadMesh or None
        Shades of the plane.
    contours : QuadContourSet or None
        Lines of one height.
    curve : Line2D or None
        Heights over the horizontal axis.
    colorbar : Colorbar or None
        Scale of the numbers that color the points.
    """

    points: Any
    lines: dict[str, Any] = field(default_factory=dict)
    marks: dict[str, Any] = field(default_factory=dict)
    centers: Any = None
    ellipses: list[Any] = field(default_factory=list)
    names: list[Any] = field(default_factory=list)
    texts: list[Any] = field(default_factory=list)
    regions: Any = None
    contours: Any = None
    curve: Any = None
    colorbar: Any = None


def point_size(n_points: int) -> float:
    """Area of a point: large for few, small for many."""
    return float(np.clip(6_000 / max(n_points, 1), 8, 36))


def draw_points(
    ax: Any,
    picture: Points,
    inks: Inks,
    *,
    names: bool = True,
    shapes: bool = True,
    legend: bool = True,
    **style: Any,
) -> DrawnPoints:
    """Draw points, with lines, outlines and texts.

    Parameters
    ----------
    ax, picture, inks : Axes, Points, Inks
        Where to draw what.
    names : bool, default=True
        Whether to write the names of up to 20 groups.
    shapes : bool, default=True
        Whether to draw Gaussian components and learned metrics as ellipses.
    legend : bool, default=True
        Whether to explain colors, lines and marks, where there are any.
    **style : dict
        Passed on to ``Axes.scatter``, such as ``s`` or ``alpha``.
    """
    colors = np.array(inks.of_codes(picture.codes, picture.n_colors), dtype=object)
    look = _look(picture, colors, inks) | style
    apart = np.zeros(len(colors), bool)
    for kind in (Mark.GIVEN, Mark.NODE):
        apart |= picture.marks.get(kind, apart)
    if apart.any():
        look |= {key: np.asarray(look[key])[~apart] for key in ("c", "edgecolors") if key in look}
    drawn = DrawnPoints(ax.scatter(*picture.xy[~apart].T, **look))
    if picture.regions is not None:
        drawn.regions = _draw_regions(ax, picture.regions, picture.n_colors, inks)
    drawn.lines = {
        lines.name: _draw_lines(ax, picture, lines, colors, inks) for lines in picture.lines
    }
    ax.autoscale_view()
    size = float(np.max(look["s"]))
    for mark, rows in picture.marks.items():
        if rows.any() and mark not in (Mark.DOUBTFUL, Mark.NEW):
            drawn.marks[mark] = _draw_mark(ax, picture.xy[rows], mark, colors[rows], size, inks)
    if len(picture.centers):
        drawn.centers = _draw_centers(ax, picture.centers, inks)
    if shapes:
        groups = inks.groups(max(picture.n_colors, 1))
        drawn.ellipses = [
            _draw_ellipse(ax, one, groups[one.cluster], inks) for one in picture.shapes
        ]
    if picture.heights is not None:
        drawn.contours, drawn.curve = draw_heights(ax, picture.heights, inks)
    drawn.texts = [_write(ax, text, inks) for text in picture.texts]
    named = names and 0 < len(picture.names) <= _MAX_NAMES
    if named and not picture.listed:
        drawn.names = _write_names(ax, picture, inks)
    if legend:
        _explain(ax, picture, drawn, named, inks)
    _set_axes(ax, picture)
    return drawn


def _look(picture: Points, colors: Array, inks: Inks) -> dict[str, Any]:
    """Arguments of ``Axes.scatter``: rows in doubt are hollow, new ones outlined."""
    size = point_size(len(colors)) if picture.heights is None else _SIZE_BELOW_CONTOURS
    look: dict[str, Any] = {"s": size, "linewidths": 0.0, "zorder": 2.0, "c": list(colors)}
    if picture.values is not None:
        look |= {"c": picture.values, "cmap": "viridis", "plotnonfinite": True}
    if Mark.NODE in picture.marks:
        look |= {"s": 8.0, "alpha": 0.6}
    if Mark.DOUBTFUL in picture.marks:
        faces = np.where(picture.marks[Mark.DOUBTFUL], inks.page, colors)
        look |= {"c": list(faces), "edgecolors": list(colors), "linewidths": 1.2}
    if Mark.NEW in picture.marks:
        look |= {"edgecolors": inks.ink, "linewidths": np.where(picture.marks[Mark.NEW], 0.6, 0.0)}
    return look


def _set_axes(ax: Any, picture: Points) -> None:
    """Leave out the numbers of axes that mean nothing."""
    if picture.equal:
        ax.set_aspect("equal", adjustable="datalim" if picture.limits is None else "box")
    if picture.axes == "strip":
        ax.set_yticks([])
    elif picture.axes == "layout":
        ax.set(xticks=[], yticks=[])
        ax.margins(0.08)
    elif picture.axes == "heights":
        _name_places(ax, picture)
    if picture.limits is not None:
        ax.set(xlim=picture.limits[0], ylim=picture.limits[1])


def _name_places(ax: Any, picture: Points) -> None:
    """Write names along the horizontal axis, upright where they would collide."""
    texts = [text for _, text in picture.ticks]
    turn = 90 if max(map(len, texts), default=0) * len(texts) > _LETTERS_ACROSS else 0
    ax.set_xticks([place for place, _ in picture.ticks], texts, rotation=turn, fontsize="small")
    ax.xaxis.labelpad = 8  # below the marks of the leaves


def _explain(ax: Any, picture: Points, drawn: DrawnPoints, named: bool, inks: Inks) -> None:
    """Draw the scale of the numbers, and a legend of colors, lines and marks."""
    from matplotlib.lines import Line2D

    dot: dict[str, Any] = {"linestyle": "none", "marker": "o"}
    handles = []
    if picture.values is not None:
        drawn.colorbar = ax.figure.colorbar(drawn.points, ax=ax, label=picture.value_title)
    if named and picture.listed:
        colors = inks.groups(max(picture.n_colors, 1))
        handles += [
            Line2D([], [], color=colors[code], label=name, **dot)
            for code, name in picture.names.items()
        ]
    for artist in (*drawn.lines.values(), *drawn.marks.values()):
        if not artist.get_label().startswith("_"):  # what Matplotlib calls artists without a label
            handles.append(artist)
    n_doubtful = int(picture.marks.get(Mark.DOUBTFUL, np.zeros(0)).sum())
    if n_doubtful:
        hollow: dict[str, Any] = {"markerfacecolor": inks.page, "markeredgecolor": inks.soft}
        handles.append(Line2D([], [], label=f"in doubt ({n_doubtful:,})", **dot, **hollow))
    if handles:
        add_legend(ax, inks, handles)


def _draw_lines(ax: Any, picture: Points, lines: Lines, colors: Array, inks: Inks) -> Any:
    from matplotlib.collections import LineCollection

    inked: dict[str, Any] = {
        "plain": inks.soft,
        "wrong": inks.bad,
        "ink": inks.ink,
        "faint": inks.faint,
        "group": inks.faint,
    }
    if lines.role == "group" and len(lines.pairs):
        inked["group"] = list(colors[lines.pairs[:, 0]])
    elif lines.role == "group" and lines.codes is not None:  # those of several groups in grey
        shades = [*inks.groups(max(picture.n_colors, 1)), inks.soft]
        inked["group"] = [shades[code] for code in lines.codes.tolist()]
    width = _WIDTHS[lines.role] * (1.0 if len(lines) <= _MANY else 0.55)
    dashes = "dotted" if lines.role == "faint" else [DASHES]
    label = f"{lines.name} ({len(lines):,})" if lines.label == "" else lines.label
    drawn = LineCollection(
        list(lines.ends(picture.xy)),
        colors=inked[lines.role],
        linestyles=dashes if lines.dashed else "solid",
        linewidths=width,
        label=label,
        zorder=_HEIGHTS[lines.role],
    )
    if lines.role == "wrong":
        drawn.set_path_effects(casing(inks, width + 2.0))
    return ax.add_collection(drawn)


def _draw_mark(ax: Any, xy: Array, kind: str, colors: Array, size: float, inks: Inks) -> Any:
    """Draw rows that stand out: of a given class in full, others by an outline."""
    label = f"{kind} ({len(xy):,})"
    if kind == Mark.GIVEN:
        outline: dict[str, Any] = {"c": list(colors), "edgecolors": inks.ink, "linewidths": 1.4}
        label = f"class given ({len(xy):,})"
        return ax.scatter(*xy.T, s=1.8 * size, zorder=2.6, label=label, **outline)
    if kind == Mark.NODE:
        return ax.scatter(*xy.T, s=16.0, c=inks.ink, linewidths=0.0, zorder=4)
    outline = {"facecolors": "none", "edgecolors": inks.ink, "linewidths": 0.7}
    if kind == Mark.WRONG:
        outline |= {"edgecolors": inks.bad, "linewidths": 1.3}
        return ax.scatter(*xy.T, s=size + 45, zorder=4, **outline)
    if kind == Mark.CENTER:
        return ax.scatter(*xy.T, s=3 * size, zorder=4, **(outline | {"linewidths": 1.5}))
    marker = "s" if kind == STATEMENTS["groups"] else "o"
    return ax.scatter(*xy.T, s=size + 30, marker=marker, zorder=2.5, label=label, **outline)


def _draw_regions(ax: Any, regions: Regions, n_colors: int, inks: Inks) -> Any:
    from matplotlib.colors import ListedColormap

    shades = [inks.faint, *inks.groups(max(n_colors, 1))]
    return ax.pcolormesh(
        regions.x,
        regions.y,
        regions.codes + 1,
        cmap=ListedColormap(shades),
        vmin=-0.5,
        vmax=len(shades) - 0.5,
        alpha=0.18,
        shading="nearest",
        rasterized=True,
        zorder=0,
    )


def _draw_centers(ax: Any, centers: Array, inks: Inks) -> Any:
    style: dict[str, Any] = {"markersize": 11, "markeredgewidth": 1.6, "zorder": 5}
    (drawn,) = ax.plot(*centers.T, "+", color=inks.ink, path_effects=casing(inks, 3.2), **style)
    return drawn


def _draw_ellipse(ax: Any, shape: Shape, color: str, inks: Inks) -> Any:
    from matplotlib.patches import Polygon

    ellipse = Polygon(outline(shape), fill=False, edgecolor=color, linewidth=1.6, zorder=3)
    ellipse.set_path_effects(casing(inks, 3.4))
    return ax.add_patch(ellipse)


def outline(shape: Shape) -> Array:
    """Points at two standard deviations from the mean, all around it, shape (m, 2)."""
    angle = np.linspace(0.0, 2.0 * np.pi, _CORNERS)
    circle = np.stack([np.cos(angle), np.sin(angle)])
    variances, directions = np.linalg.eigh(shape.covariance)
    radii = DEVIATIONS * np.sqrt(np.maximum(variances, 0.0))
    points: Array = shape.mean + ((directions * radii) @ circle).T
    return points


def _write_names(ax: Any, picture: Points, inks: Inks) -> list[Any]:
    """Write names in frames at the middle of the rows, above the centers where there are some."""
    colors = inks.groups(max(picture.n_colors, 1))
    frame = {"boxstyle": "round,pad=0.25", "facecolor": inks.page, "alpha": 0.9, "linewidth": 1.2}
    look: dict[str, Any] = {"xytext": (0.0, 13.0 if len(picture.centers) else 0.0), "zorder": 6}
    look |= {"ha": "center", "va": "center", "fontsize": "small", "color": inks.ink}
    written = []
    for code, name in picture.names.items():
        rows = picture.codes == code
        if rows.any():
            middle = np.median(picture.xy[rows], axis=0)
            edge = {"bbox": frame | {"edgecolor": colors[code]}, "textcoords": "offset points"}
            written.append(ax.annotate(shorten(name, _LONGEST_NAME), middle, **edge, **look))
    return written


def _write(ax: Any, text: Text, inks: Inks) -> Any:
    """Write a text beside its point, or around its place."""
    look: dict[str, Any] = {"xytext": (5, 4), "fontsize": "x-small", "zorder": 5}
    look |= {"path_effects": casing(inks), "color": inks.bad if text.role == "wrong" else inks.ink}
    if text.role == "middle":
        look |= {"xytext": (0, 0), "ha": "center", "va": "center", "fontsize": "small", "zorder": 6}
        look |= {"fontweight": "bold", "path_effects": casing(inks, 3.5)}
    return ax.annotate(text.text, text.place, textcoords="offset points", **look)
