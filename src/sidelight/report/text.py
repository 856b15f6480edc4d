"""What a result says, as plain data: a terminal, a page and a notebook show the same.

A result is told in lines and tables. A line is a text, or a tuple of texts of which some are
:class:`Strong`; nothing of it is markup.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, TypeAlias


class Strong(str):
    """Text that is set in bold."""

    __slots__ = ()


@dataclass(frozen=True)
class TextTable:
    """A table of texts.

    Attributes
    ----------
    headers : tuple of str
        Headings of the columns.
    rows : tuple of tuples
        Cells; anything but text is shown by ``str``, and :class:`Strong` texts in bold.
    title : str
        Heading of the table; empty for none.
    justify : tuple of {"left", "right"}
        Sides of the columns, the last one for all that follow.
    strong_first : bool
        Whether the first row is set in bold.
    narrow : bool
        Whether columns stand close to each other, and the first one is folded.
    """

    headers: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]
    title: str = ""
    justify: tuple[str, ...] = ("left", "right")
    strong_first: bool = False
    narrow: bool = False

    def side(self, column: int) -> str:
        """Side of a column."""
        return self.justify[min(column, len(self.justify) - 1)]


Line: TypeAlias = str | tuple[str, ...]
Told: TypeAlias = Line | TextTable


def text_table(
    *headers: str,
    rows: Iterable[Sequence[object]],
    title: str = "",
    justify: Sequence[str] = ("left", "right"),
    **layout: Any,
) -> TextTable:
    """Make a table; by default columns after the first are numbers, to the right."""
    cells = tuple(row if isinstance(row, tuple) else tuple(row) for row in rows)
    return TextTable(headers, cells, title, tuple(justify), **layout)


def first_rows(
    rows: Iterable[Sequence[object]], most: int, rest: str = "more", of: int | None = None
) -> list[Sequence[object]]:
    """Return the first rows, and a last one that says how many there are besides.

    ``of`` is the number of all rows where not all are given.
    """
    shown = list(rows)
    hidden = (len(shown) if of is None else of) - most
    if hidden <= 0:
        return shown
    return [*shown[:most], (f"and {hidden:,} {rest}", *[""] * (len(shown[0]) - 1))]


def plain_line(line: Line) -> str:
    """Return a line as one text."""
    return line if isinstance(line, str) else "".join(line)


def as_html(told: Iterable[Told]) -> str:
    """Return the result as HTML, for a notebook."""
    return f'<div class="sidelight">{"".join(map(_html, told))}</div>'


def _html(one: Told) -> str:
    if isinstance(one, TextTable):
        return _html_table(one)
    if not plain_line(one).strip():
        return ""
    parts = (one,) if isinstance(one, str) else one
    return f"<p>{''.join(map(_part, parts))}</p>"


def _part(value: object) -> str:
    text = escape(str(value))
    return f"<b>{text}</b>" if isinstance(value, Strong) else text


def _html_table(table: TextTable) -> str:
    def cell(tag: str, column: int, value: object) -> str:
        return f'<{tag} style="text-align:{table.side(column)}">{_part(value)}</{tag}>'

    def line(tag: str, values: Sequence[object]) -> str:
        cells = (cell(tag, column, value) for column, value in enumerate(values))
        return f"<tr>{''.join(cells)}</tr>"

    caption = f"<caption>{escape(table.title)}</caption>" if table.title else ""
    body = "".join(line("td", row) for row in table.rows)
    return (
        f"<table>{caption}<thead>{line('th', table.headers)}</thead><tbody>{body}</tbody></table>"
    )
