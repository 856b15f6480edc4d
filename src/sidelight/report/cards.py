"""What a page consists of: cards of tables, pictures, terms and notes, as escaped HTML.

Every function returns markup. Texts that it is given are escaped; markup is taken as it is, so that
cards, tables and cells are put into each other freely.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from markupsafe import Markup, escape

from sidelight._typing import FloatArray, IntArray
from sidelight.pictures import Picture
from sidelight.pictures.inner import SHOWN_ID_LENGTH, Partition, named_bars, shorten, svg_of
from sidelight.report.text import Strong, TextTable, text_table

if TYPE_CHECKING:
    from sidelight.report.tables import Tally

#: Longest name of a group, and longest member of a list, that is not cut.
MAX_NAME, MAX_MEMBER = 24, 32
#: Groups in a legend or across a table.
MAX_GROUPS = 50
#: Names beyond this length are told whole when the pointer rests on them, up to the second one.
MAX_ID, MAX_TITLE = 48, 400

#: What a card holds: markup, a table, or a text, which becomes a note; nothing is left out.
Block: TypeAlias = "Markup | TextTable | str | None"


@dataclass(frozen=True)
class Cell:
    """A cell of a table that looks different from its neighbors.

    Attributes
    ----------
    content : str, Markup or int
        What it says.
    css : str
        Classes of the style sheet.
    share : float or None
        Strength of its shade, from 0 to 1.
    title : str
        What it says when the pointer rests on it.
    span : int
        Number of columns that it takes.
    """

    content: object
    css: str = ""
    share: float | None = None
    title: str = ""
    span: int = 1


class Row(tuple[object, ...]):
    """A row of a table that looks different from its neighbors."""

    css: str
    number: int | None

    def __new__(cls, cells: Iterable[object], css: str = "", number: int | None = None) -> Row:
        """Make a row with classes of the style sheet, and the number of a line of the picture."""
        row = super().__new__(cls, cells)
        row.css, row.number = css, number
        return row


def html(form: str, *values: object, **named: object) -> Markup:
    """Fill values into markup; what is not markup itself is escaped.

    Examples
    --------
    >>> html("<b>{}</b>", "a < b")
    Markup('<b>a &lt; b</b>')
    """
    return Markup(form).format(*values, **named)


def joined(parts: Iterable[object], between: str = "") -> Markup:
    """Put parts behind each other."""
    return Markup(between).join(map(escape, parts))


# --- cards --------------------------------------------------------------------------------------


def card(
    title: object, *blocks: Block, size: str = "full", id: str = "", controls: Markup | None = None
) -> Markup:
    """Return a card with a heading.

    Parameters
    ----------
    title : str
        Its heading; none where it is empty.
    *blocks : Markup, TextTable, str or None
        What it holds. A text becomes a note.
    size : str, default="full"
        Classes of the style sheet: its place on the page.
    id : str, default=""
        By what the script finds it.
    controls : Markup, default=None
        Switches beside the heading.
    """
    head = html("<h2>{}</h2>", title) if title else Markup("")
    if controls is not None:
        head = html(
            '<div class="card-head">{}<span class="controls">{}</span></div>', head, controls
        )
    named = html(' id="{}"', id) if id else ""
    name = html("card {}", size) if size else "card"
    return html('<section class="{}"{}>{}{}</section>', name, named, head, body(blocks))


def table_card(
    title: str,
    told: TextTable,
    *blocks: Block,
    css: str = "scores",
    scroll: str = "scroll tall",
    **rest: Any,
) -> Markup:
    """Return a card with a table that moves within it where it is wide or long, below it notes.

    ``css`` and ``scroll`` are those of :func:`table`, ``rest`` goes to :func:`card`.
    """
    return card(title, table(told, css=css, scroll=scroll, label=title), *blocks, **rest)


def body(blocks: Iterable[Block]) -> Markup:
    """Return blocks one below the other."""
    return joined(_block(block) for block in blocks if block is not None and block != "")


def _block(block: Block) -> Markup:
    if isinstance(block, Markup):
        return block
    return table(block) if isinstance(block, TextTable) else note(block or "")


def figure(title: object, picture: Picture | Markup, *blocks: Block, size: str = "") -> Markup:
    """Return a card with a picture, below it notes and legends."""
    drawn = picture if isinstance(picture, Markup) else Markup(svg_of(picture))
    name = html("card {}", size) if size else "card"
    head = html("<figcaption><h2>{}</h2></figcaption>", title)
    return html('<figure class="{}">{}{}{}</figure>', name, head, drawn, body(blocks))


class Panel(NamedTuple):
    """A picture with its heading and a note, which stands in a card or beside others in one.

    Attributes
    ----------
    title : str
        Its heading.
    picture : Picture or Markup
        The picture.
    note : str or Markup
        What stands below it.
    aside : str
        What stands beside the heading, in small letters.
    css : str
        Classes of the style sheet.
    """

    title: str
    picture: Picture | Markup
    note: Markup | str = ""
    aside: str = ""
    css: str = ""


def figures(*panels: Panel | None, size: str = "") -> Markup:
    """Return a card for each of some pictures."""
    return joined(figure(one.title, one.picture, one.note, size=size) for one in panels if one)


def panels(*shown: Panel, css: str = "maps") -> Markup:
    """Return pictures beside each other, inside of a card."""
    parts = []
    for one in shown:
        drawn = one.picture if isinstance(one.picture, Markup) else Markup(svg_of(one.picture))
        name = html(' class="{}"', one.css) if one.css else ""
        head = strong(one.title) + (small(one.aside) if one.aside else "")
        form = "<figure{}><figcaption>{}</figcaption>{}{}</figure>"
        parts.append(html(form, name, head, drawn, body([one.note])))
    return html('<div class="{}">{}</div>', css, joined(parts))


def named_values(
    title: str,
    names: Sequence[str],
    values: FloatArray,
    texts: Sequence[str],
    *,
    note: str,
    of: int,
    css: str = "saliencies",
    largest: float | None = None,
    kept: Sequence[bool] = (),
) -> Panel:
    """Return bars of the first of ``of`` named values, as long as these relative to the largest."""
    if len(names) < of:
        note += f" {len(names)} of {of:,} are shown."
    picture = named_bars(title, names, values, texts, css=css, largest=largest, kept=kept)
    return Panel(title, picture, note)


def side(*cards: Markup | None, css: str = "side") -> Markup:
    """Return cards one below the other, beside a large one."""
    return html('<div class="{}">{}</div>', css, body(cards))


def note(text: object) -> Markup:
    """Return a paragraph in small letters."""
    return html('<p class="note">{}</p>', text)


def notes(texts: Iterable[object]) -> Markup:
    """Return a paragraph in small letters for each text."""
    return joined(map(note, texts))


def terms(pairs: Iterable[tuple[object, object]], css: str = "pairs") -> Markup:
    """Return terms with their values, in two columns."""
    rows = (html("<div><dt>{}</dt><dd>{}</dd></div>", name, value) for name, value in pairs)
    return html('<dl class="{}">{}</dl>', css, joined(rows))


# --- tables -------------------------------------------------------------------------------------


def table(
    told: TextTable,
    *,
    css: str = "scores",
    scroll: str = "",
    label: str = "",
    row_heads: bool = True,
) -> Markup:
    """Return a table.

    Parameters
    ----------
    told : TextTable
        Headings and rows; cells may be markup or :class:`Cell`, rows :class:`Row`.
    css : str, default="scores"
        Classes of the style sheet.
    scroll : {"", "scroll", "scroll tall"}, default=""
        Whether a wide table, or a wide and long one, moves within its card. Otherwise only one
        that is wider than a small screen does.
    label : str, default=""
        What the table is, for those who do not see it, where it moves within its card; by default
        its own title.
    row_heads : bool, default=True
        Whether the first cell of a row is its heading.
    """
    head = joined(_cell(told, column, name, "col") for column, name in enumerate(told.headers))
    rows = joined(_row(told, row, "row" if row_heads else "") for row in told.rows)
    thead = html("<thead><tr>{}</tr></thead>", head) if any(told.headers) else ""
    laid_out = html('<table class="{}">{}<tbody>{}</tbody></table>', css, thead, rows)
    if not scroll:
        return html('<div class="sideways">{}</div>', laid_out)
    region = '<div class="{}" tabindex="0" role="region" aria-label="{}">{}</div>'
    return html(region, scroll, label or told.title, laid_out)


def _row(told: TextTable, row: Sequence[object], head: str) -> Markup:
    css, number = (row.css, row.number) if isinstance(row, Row) else ("", None)
    attributes = Markup("")
    if number is not None:
        attributes += html(' data-n="{}"', number)
    if css:
        attributes += html(' class="{}"', css)
    cells = joined(
        _cell(told, column, value, "" if column else head) for column, value in enumerate(row)
    )
    return html("<tr{}>{}</tr>", attributes, cells)


def _cell(told: TextTable, column: int, value: object, scope: str) -> Markup:
    cell = value if isinstance(value, Cell) else Cell(value)
    is_number = told.side(column) == "right" and cell.span == 1
    css = " ".join(filter(None, ("n" if is_number else "", cell.css)))
    tag = "th" if scope else "td"
    attributes = Markup("")
    if scope:
        attributes += html(' scope="{}"', scope)
    if cell.span > 1:
        attributes += html(' colspan="{}"', cell.span)
    if css:
        attributes += html(' class="{}"', css)
    if cell.share is not None:
        attributes += html(' style="--v:{}"', f"{cell.share:.3f}")
    if cell.title:
        attributes += html(' title="{}"', cell.title)
    return html("<{0}{1}>{2}</{0}>", Markup(tag), attributes, _content(cell.content))


def _content(value: object) -> Markup:
    return strong(value) if isinstance(value, Strong) else escape(value)


def tally_table(kinds: Iterable[Tally]) -> Markup:
    """Return how many statements of every kind were made, and how many of them are kept."""
    rows = [
        (
            one.plural,
            f"{one.stated:,}",
            Cell(f"{one.violated:,}", "bad" if one.violated else ""),
            meter(one.satisfied_share, f"{one.percent} satisfied", one.percent),
        )
        for one in kinds
    ]
    headers, sides = ("Kind", "Stated", "Violated", "Satisfied"), ("left", "right", "right", "left")
    return table(text_table(*headers, rows=rows, justify=sides), css="tally")


def count_cells(counts: IntArray, total: int, css: Iterable[str] = ()) -> list[Cell]:
    """Return counts of a row of a cross table, shaded by their shares of the total."""
    classes = list(css) or [""] * len(counts)
    return [
        Cell(f"{n:,}" if n else "·", name, share=n / max(total, 1))
        for n, name in zip(counts.tolist(), classes, strict=True)
    ]


# --- what stands in cells and notes -------------------------------------------------------------


def group(number: int, name: str, limit: int = MAX_NAME, letter: str = "k") -> Markup:
    """Return the name of a group beside its color; -1 is the color of rows in no group."""
    code = number if number >= 0 else "x"
    form = '<span class="group"><i class="swatch {}{}"></i>{}</span>'
    return html(form, letter, code, shorten(name, limit))


def groups_across(groups: Partition, shown: Iterable[int]) -> list[Markup]:
    """Return headings of columns for groups."""
    return [group(number, groups.name(number)) for number in map(int, shown)]


def row_id(name: str, limit: int = SHOWN_ID_LENGTH) -> Markup:
    """Return the id of a row; a long one is shown whole when the pointer rests on it."""
    whole = html(' title="{}"', shorten(name, MAX_TITLE)) if len(name) > MAX_ID else ""
    return html('<span class="id"{}>{}</span>', whole, shorten(name, limit))


def strong(text: object) -> Markup:
    """Return a text in bold."""
    return html("<b>{}</b>", text)


def small(text: object) -> Markup:
    """Return a text in small letters."""
    return html("<small>{}</small>", text)


def members(names: Sequence[str], n_more: int = 0, limit: int = MAX_MEMBER) -> str:
    """Return names with commas, and how many more there are."""
    shown = ", ".join(shorten(name, limit) for name in names)
    return f"{shown} and {n_more:,} more" if n_more else shown


def meter(share: float, label: str, text: str = "") -> Markup:
    """Return a bar that is as long as a share, and the text beside it."""
    bar = html(
        '<span class="meter" role="img" aria-label="{}" style="--v:{}"><span></span></span>',
        label,
        f"{share:.4f}",
    )
    return bar + html('<span class="percent">{}</span>', text) if text else bar


class Chip(NamedTuple):
    """A group as the key of a picture shows it: number of its color, name and size."""

    number: int
    name: str
    size: str = ""


def chips(groups: Partition, numbers: IntArray | None = None) -> list[Chip]:
    """Return the first groups by the numbers of their colors, and rows in none."""
    codes = numbers if numbers is not None else np.arange(len(groups.names))
    order = np.argsort(codes, kind="stable")[:MAX_GROUPS]
    found = [Chip(int(codes[n]), groups.names[n], f"{groups.sizes[n]:,}") for n in order]
    if groups.n_outside:
        found.append(Chip(-1, "none", f"{groups.n_outside:,}"))
    return found


def legend(shown: Iterable[Chip], n_hidden: int = 0, limit: int = MAX_NAME) -> Markup:
    """Return the names of groups with their colors and sizes, and how many are left out."""
    entries = [
        html("<span>{}{}</span>", group(c.number, c.name, limit), small(c.size) if c.size else "")
        for c in shown
    ]
    return html('<p class="legend">{}{}</p>', joined(entries), more(n_hidden))


def more(n_hidden: int) -> Markup:
    """Return how many groups a legend leaves out."""
    return html('<span class="more">and {} more</span>', n_hidden) if n_hidden > 0 else Markup("")
