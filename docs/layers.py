"""The layers of the package as a picture and a table, from the contracts in ``pyproject.toml``.

import-linter enforces the same contracts, so what is drawn here is what the code keeps to.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "sidelight"

WIDTH = 860
MARGIN = 12
LINE = 18
PAD = 8  # between a box and its text
CHARACTER = 7.3  # width of a monospaced letter, in pixels
BETWEEN = " · "
INK, EDGE, BAND, SIBLINGS = "#1d2433", "#8a94a6", "#e8eefc", "#fdf1dd"


@dataclass(frozen=True)
class Room:
    """A module or package.

    Attributes
    ----------
    name : str
        Its dotted name below ``sidelight``.
    says : str
        First line of its docstring.
    rooms : tuple of Room
        The packages in it.
    """

    name: str
    says: str
    rooms: tuple[Room, ...] = ()


@dataclass(frozen=True)
class Layer:
    """Rooms at one height.

    Attributes
    ----------
    rooms : tuple of Room
        From left to right.
    siblings : bool
        Whether the rooms may use each other's public names.
    """

    rooms: tuple[Room, ...]
    siblings: bool


def contracts() -> list[dict]:
    """Return the contracts as ``pyproject.toml`` has them."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return settings["tool"]["importlinter"]["contracts"]


def layers() -> list[Layer]:
    """Return the layers, from the top down; rooms that are not there yet are left out."""
    (contract,) = (one for one in contracts() if one["type"] == "layers")
    found = []
    for line in contract["layers"]:
        names = [name.strip("() ") for name in re.split(r"[|:]", line)]
        rooms = tuple(room for name in names if (room := find_room(name)) is not None)
        if rooms:
            found.append(Layer(rooms, siblings=":" in line))
    return found


def find_room(name: str) -> Room | None:
    """Return a room with the rooms in it, or ``None`` if there is none of that name."""
    path = PACKAGE.joinpath(*name.split("."))
    source = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    if not source.exists():
        return None
    says = (ast.get_docstring(ast.parse(source.read_text(encoding="utf-8"))) or "").split("\n")[0]
    inner = sorted(path.glob("*/__init__.py")) if path.is_dir() else []
    rooms = (find_room(f"{name}.{one.parent.name}") for one in inner)
    return Room(name, says, tuple(room for room in rooms if room is not None))


def table() -> str:
    """Return every room with the first line of its docstring, as a reStructuredText table."""
    lines = [".. list-table::", "   :header-rows: 1", "   :widths: 32 68", ""]
    lines += ["   * - room", "     - what lives there"]
    for layer in layers():
        for room in layer.rooms:
            lines += _row(room)
    return "\n".join(lines) + "\n"


def _row(room: Room) -> list[str]:
    lines = [f"   * - ``{room.name}``", f"     - {room.says}"]
    for inner in room.rooms:
        lines += _row(inner)
    return lines


def picture() -> str:
    """Return the layers as bands of an SVG picture, with their rooms as boxes."""
    bands: list[str] = []
    top = float(MARGIN)
    for layer in layers():
        boxes, height = _boxes(layer, top + 8)
        caption = ""
        if layer.siblings:
            height += LINE
            words = "siblings: each may use the public names of the others"
            caption = _text(2 * MARGIN, top + height + 8, f"<tspan>{words}</tspan>")
        bands.append(
            f'<g class="layer"><rect x="{MARGIN}" y="{top:g}" width="{WIDTH - 2 * MARGIN}" '
            f'height="{height + 16:g}" rx="6" fill="{SIBLINGS if layer.siblings else BAND}" '
            f'stroke="{EDGE}"/>{boxes}{caption}</g>'
        )
        top += height + 24
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {top + 4:g}" role="img" '
        'aria-label="Layers of the package, from the top down" '
        'font-family="ui-monospace, Menlo, Consolas, monospace" font-size="12" '
        'style="max-width: 100%; height: auto">'
        f'<rect width="{WIDTH}" height="{top + 4:g}" fill="#ffffff"/>{"".join(bands)}</svg>\n'
    )


def _boxes(layer: Layer, top: float) -> tuple[str, float]:
    """Draw the rooms of a layer beside each other; return them with their height."""
    widths = _widths(layer.rooms)
    contents = [_content(room, width) for room, width in zip(layer.rooms, widths, strict=True)]
    height = LINE * (1 + max(len(lines) for lines in contents)) + 6.0
    boxes, left = "", 2.0 * MARGIN
    for room, width, lines in zip(layer.rooms, widths, contents, strict=True):
        boxes += _box(room, left, top, width, height, lines)
        left += width + MARGIN
    return boxes, height


def _widths(rooms: Sequence[Room]) -> list[float]:
    """Share the width of a band: equal boxes, but none narrower than the longest name in it."""
    left = WIDTH - 4 * MARGIN - MARGIN * (len(rooms) - 1.0)
    least = [
        CHARACTER * max(len(one.name.rpartition(".")[2]) for one in (room, *room.rooms)) + 2 * PAD
        for room in rooms
    ]
    widths: dict[int, float] = {}
    for place in sorted(range(len(rooms)), key=lambda place: -least[place]):
        widths[place] = max(least[place], left / (len(rooms) - len(widths)))
        left -= widths[place]
    return [widths[place] for place in range(len(rooms))]


def _content(room: Room, width: float) -> list[str]:
    """Return what stands below the name of a room: the rooms in it, as many on a line as fit."""
    lines: list[str] = []
    for inner in room.rooms:
        name = inner.name.rpartition(".")[2]
        longer = f"{lines[-1]}{BETWEEN}{name}" if lines else name
        if lines and len(longer) * CHARACTER < width - 2 * PAD:
            lines[-1] = longer
        else:
            lines.append(name)
    return lines


def _box(room: Room, left: float, top: float, width: float, height: float, lines: list[str]) -> str:
    """Draw a room: its name in bold, with its docstring where that fits, and the rooms in it."""
    says = room.says.replace("`", "")
    first = f'<tspan font-weight="bold">{escape(room.name)}</tspan>'
    if (len(room.name) + len(says) + 3) * CHARACTER < width - 2 * PAD:
        first += f'<tspan dx="16">{escape(says)}</tspan>'
    lines = [first, *(f"<tspan>{escape(line)}</tspan>" for line in lines)]
    texts = (
        _text(left + PAD, top + LINE * (number + 1) - 2, line) for number, line in enumerate(lines)
    )
    return (
        f'<g class="room"><title>{escape(says)}</title>'
        f'<rect x="{left:g}" y="{top:g}" width="{width:g}" height="{height:g}" rx="4" '
        f'fill="#ffffff" stroke="{EDGE}"/>{"".join(texts)}</g>'
    )


def _text(left: float, base: float, spans: str) -> str:
    return f'<text x="{left:g}" y="{base:g}" fill="{INK}">{spans}</text>'
