"""The large map of a page: rows with links, switches, legends, and what the script says of rows."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from markupsafe import Markup

from sidelight._typing import IntArray
from sidelight._words import counted
from sidelight.pictures import Points
from sidelight.pictures.inner import Given, Links, Partition, placed, shorten, svg_of
from sidelight.report.cards import MAX_GROUPS, chips, group, html, joined, more, note, small
from sidelight.report.templates import resource

#: From so many lines on the picture starts with the violated constraints only.
MANY_LINES = 300
#: Letters of a title of an axis, of the id of a row where it is pointed at, of a switch.
MAX_TITLE, MAX_ID, MAX_SWITCH = 60, 80, 20


class Coloring(NamedTuple):
    """One of the ways to color the points.

    Attributes
    ----------
    value : {"cluster", "label", "lost"}
        By what script and style sheet find it.
    name : str
        What its switch says.
    legend : Markup or None
        What its colors mean.
    """

    value: str
    name: str
    legend: Markup | None


def by_groups(
    value: str, name: str, groups: Partition, numbers: IntArray | None = None, label: str = ""
) -> Coloring:
    """Color the points by groups, each of which a click in the legend brings out.

    ``numbers`` are those of their colors; ``label`` names the legend, by default as the switch.
    """
    letter = "k" if value == "cluster" else "t"
    buttons = [
        html(
            '<button type="button" data-group="{}{}" aria-pressed="false">{}{}</button>',
            letter,
            one.number if one.number >= 0 else "x",
            group(one.number, one.name, letter=letter),
            small(one.size),
        )
        for one in chips(groups, numbers)
    ]
    form = '<div class="legend for-{}" role="group" aria-label="{}; choose one to bring it out">'
    head = html(form, value, shorten(label or name, MAX_TITLE))
    key = head + joined(buttons) + more(len(groups.names) - MAX_GROUPS) + Markup("</div>")
    return Coloring(value, name, key if buttons or value == "cluster" else None)


def plot(
    title: str,
    picture: Points,
    links: Links,
    colorings: Sequence[Coloring],
    *texts: Markup,
    axes: tuple[str, str] = ("", ""),
    notes: Iterable[str] = (),
    marks_given: bool = False,
) -> Markup:
    """Return the card of the map, on which the script acts.

    Parameters
    ----------
    title : str
        Its heading.
    picture : Points
        The rows.
    links : Links
        The lines that are drawn.
    colorings : sequence of Coloring
        Ways to color the points, the first to begin with.
    *texts : Markup
        What stands below the notes.
    axes : tuple of str
        What runs to the right and upwards.
    notes : iterable of str
        How to read the picture, in one paragraph.
    marks_given : bool, default=False
        Whether rows whose class was given are drawn larger.
    """
    any_violated = bool(links.violated.any())
    only_violated = any_violated and len(links) > MANY_LINES
    form = (
        '<figure class="card plot" id="plot" data-must="on" data-cannot="on"{} data-violated="{}"'
    )
    head = html(
        form + ' data-colour="cluster"><figcaption class="card-head"><h2>{}</h2><div '
        'class="controls" role="group" aria-label="What the picture shows">{}</div></figcaption>',
        Markup(' data-given="on"') if marks_given else "",
        "on" if only_violated else "off",
        title,
        _switches(links, colorings, only_violated),
    )
    canvas = '<div class="canvas">{}<div id="tip" role="status" hidden></div></div>'
    legends = joined(one.legend for one in colorings if one.legend is not None)
    return joined(
        [
            head,
            html(canvas, Markup(svg_of(picture))),
            _axes(*(shorten(one, MAX_TITLE) for one in axes)),
            legends,
            note(" ".join(notes)),
            *texts,
            Markup("</figure>"),
        ]
    )


def _switches(links: Links, colorings: Sequence[Coloring], only_violated: bool) -> Markup:
    """Return a check box for each kind of lines that there is, and the choice of colors."""
    boxes = [
        (not links.cannot.all(), "show-must", "s", "Must-links", True),
        (links.cannot.any(), "show-cannot", "s cl", "Cannot-links", True),
        (links.violated.any(), "only-violated", "v", "Violated only", only_violated),
    ]
    form = (
        '<label><input type="checkbox" id="{}"{}><svg class="key {}" viewBox="0 0 22 8" '
        'aria-hidden="true"><path d="M1 4H21"/></svg>{}</label>'
    )
    shown = [
        html(form, name, _checked(is_on), css, text)
        for is_there, name, css, text, is_on in boxes
        if is_there
    ]
    if len(colorings) > 1:
        form = '<label><input type="radio" name="colour" value="{}"{}><span>{}</span></label>'
        choices = joined(
            html(form, one.value, _checked(one is colorings[0]), shorten(one.name, MAX_SWITCH))
            for one in colorings
        )
        form = '<span class="segments" role="radiogroup" aria-label="Colour by">{}</span>'
        shown.append(html(form, choices))
    return joined(shown)


def _checked(is_on: bool) -> Markup:
    return Markup(" checked" if is_on else "")


def _axes(right: str, upwards: str) -> Markup:
    """Return what the axes mean, below the picture."""
    if not right:
        return Markup("")
    form = '<b aria-label="upwards">↑</b> {}'
    up = html(form, upwards) if upwards else ""
    form = '<p class="axes"><span>{}</span><span>{} <b aria-label="to the right">→</b></span></p>'
    return html(form, up, right)


def beyond(picture: Points) -> list[str]:
    """Return a note on rows that do not fit into the frame, where there are any."""
    n_beyond = placed(picture).n_beyond
    if not n_beyond:
        return []
    lie = "lies" if n_beyond == 1 else "lie"
    return [f"{counted(n_beyond, 'row')} {lie} beyond the frame, drawn on its edge."]


def plot_script(
    given: Given, rows: IntArray, links: Links, truth: Partition | None, **about: Any
) -> Markup:
    """Return the script of the map, and what it says about rows where they are pointed at.

    Parameters
    ----------
    given : Given
        All rows.
    rows : ndarray of int
        Those that are drawn.
    links : Links
        Lines between them.
    truth : Partition or None
        True classes of all rows.
    **about : object
        ``about``, lines of text for every row, or ``clusters`` and ``k``, names of the clusters and
        the number of every row.
    """
    facts = {
        "ids": [shorten(name, MAX_ID) for name in given.row_names(rows)],
        **about,
        "links": np.column_stack([links.pairs, links.cannot, links.violated]).astype(int).tolist(),
    }
    if truth is not None:
        facts["classes"] = [shorten(name) for name in truth.names]
        facts["t"] = truth.codes[rows].tolist()
    form = '<script type="application/json" id="drawn">{}</script>\n<script>{}</script>'
    return html(form, Markup(for_script(facts)), Markup(resource("report.js")))


def for_script(facts: Mapping[str, Any]) -> str:
    """Write facts for the script of the page; no text in them can end the script element."""
    text = json.dumps(facts, separators=(",", ":"), ensure_ascii=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
