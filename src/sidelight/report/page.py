"""What pages of their own kind have in common: heading, colors, cluster sizes, agreement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from markupsafe import Markup

from sidelight._typing import Array, IntArray
from sidelight._words import SCORES, score_rows
from sidelight.constraints import Constraints
from sidelight.pictures._bars import named_bars
from sidelight.report import sections
from sidelight.report.cards import Cell, body, card, figure, members, table_card
from sidelight.report.sections import Section
from sidelight.report.tables import settings_of, versions
from sidelight.report.templates import KIT, render, resource
from sidelight.report.text import text_table

#: Names of members that a table lists.
MAX_MEMBERS = 12
#: Clusters that a table lists.
MAX_CLUSTERS = 12
#: Lower ends of the classes of sizes; a class of one number is named by it.
SIZE_CLASSES = (1, 2, 3, 4, 5, 6, 10, 20, 50, 100, 1000, 10_000, 100_000)


@dataclass(frozen=True, kw_only=True)
class Page:
    """A page: its heading, its cards, and how the run is repeated.

    Attributes
    ----------
    estimator : object
        The fitted estimator, whose method, iterations and parameters are shown.
    n_rows : int
        Number of rows.
    noun : str
        What a row is, such as ``"Objects"``.
    sentence : str
        What was asked, and what came out.
    fine : bool or None
        Whether all is well, not, or neither: the sign before the status.
    status : str
        The outcome in a few words.
    facts : sequence of tuple of str
        Names and values below the heading, behind method and number of rows.
    cards : sequence of Markup
        What the page shows, made by :mod:`sidelight.report.cards`.
    n_colors : int
        Number of colors of groups.
    styles : sequence of str
        Style sheets besides that of all pages: names of files of ``package`` or of the kit.
    package : str
        Package of the job that the style sheets belong to.
    script : Markup
        Elements of script that stand at the end.
    title : str or None
        Heading; by default the name of the method.
    settings : mapping or None
        Further settings of the run, shown before the parameters of the estimator.
    command : str or None
        Command line that repeats the run.
    seconds : float or None
        Time of the fit.
    preparation : sequence of (column, use, treatment)
        What became of the columns of the table.
    """

    estimator: Any
    n_rows: int
    noun: str = "Rows"
    sentence: str
    fine: bool | None = None
    status: str
    facts: Sequence[tuple[str, str]] = ()
    cards: Sequence[Markup | None] = ()
    n_colors: int = 1
    styles: Sequence[str] = ()
    package: str = KIT
    script: Markup = field(default_factory=Markup)
    title: str | None = None
    settings: Mapping[str, Any] | None = None
    command: str | None = None
    seconds: float | None = None
    preparation: Sequence[tuple[str, str, str]] = ()

    def html(self) -> str:
        """Return the page as one file that opens offline."""
        fitted: Any = SimpleNamespace(estimator=self.estimator, n_rows=self.n_rows)
        head = sections.heading(fitted, self.title, self.seconds, list(self.facts))
        head["facts"] = [
            (self.noun if name == "Rows" else name, text) for name, text in head["facts"]
        ]
        styles = "".join(resource(name, self.package) for name in self.styles)
        context = {
            **head,
            "sentence": self.sentence,
            "status": sections.status(self.fine, self.status),
            "cards": body(self.cards),
            "colours": Markup(styles + sections.colours(max(self.n_colors, 1))),
            "method_line": sections.method_line(self.estimator),
            "settings": settings_of(self.estimator, self.settings),
            "versions": versions(),
            "preparation": self.preparation,
            "command": self.command,
            "script_elements": self.script,
        }
        return render("page.html.j2", context)


def render_page(
    template: str,
    cards: Section,
    *,
    style: str,
    estimator: Any,
    n_rows: int,
    noun: str,
    title: str | None,
    settings: Mapping[str, Any] | None,
    command: str | None,
    seconds: float | None,
    preparation: Sequence[tuple[str, str, str]] = (),
    package: str = KIT,
    kit_styles: Sequence[str] = (),
) -> str:
    """Put the cards of a page between heading and settings.

    ``cards`` holds ``sentence``, ``status``, ``facts_of_its_own`` and ``n_colors`` besides what
    the template asks for. ``template`` and ``style``, a style sheet, are files of ``package``, that
    of the job; ``kit_styles`` are style sheets of the kit beside it. ``noun`` names the rows, such
    as ``"Objects"``.
    """
    fitted: Any = SimpleNamespace(estimator=estimator, n_rows=n_rows)
    head = sections.heading(fitted, title, seconds, cards["facts_of_its_own"])
    head["facts"] = [(noun if name == "Rows" else name, text) for name, text in head["facts"]]
    styles = "".join([*map(resource, kit_styles), resource(style, package)])
    colored = styles + sections.colours(max(cards["n_colors"], 1))
    context = {
        **cards,
        **head,
        "colours": Markup(colored),
        "method_line": sections.method_line(estimator),
        "settings": settings_of(estimator, settings),
        "versions": versions(),
        "preparation": preparation,
        "command": command,
    }
    return render(template, context, package)


def row_names(ids: Any, rows: Any) -> list[str]:
    """Names of rows: ids, or their positions."""
    if ids is None:
        return [f"row {int(row)}" for row in rows]
    return [str(ids[int(row)]) for row in rows]


def size_figure(labels: Array, noun: str) -> Markup:
    """How many clusters there are of every size, as bars."""
    sizes = np.unique(labels[labels >= 0], return_counts=True)[1]
    lower = np.array(SIZE_CLASSES)
    counts = np.bincount(np.searchsorted(lower, sizes, side="right") - 1, minlength=len(lower))
    filled = np.flatnonzero(counts)
    names = [_size_class(place) for place in filled.tolist()]
    largest = f"The largest has {sizes.max(initial=0):,}." if len(sizes) else ""
    values, texts = counts[filled].astype(np.float64), [f"{n:,}" for n in counts[filled].tolist()]
    title = f"Sizes of the {noun}"
    bars = named_bars(title, names, values, texts, css="saliencies sizes")
    return figure(title, bars, f"Number of {noun} by their size. {largest}")


def _size_class(place: int) -> str:
    low = SIZE_CLASSES[place]
    if place + 1 == len(SIZE_CLASSES):
        return f"{low:,} or more"
    high = SIZE_CLASSES[place + 1] - 1
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


class Cluster(NamedTuple):
    """A cluster with some of its members."""

    label: int
    size: int
    members: list[str]

    @property
    def n_more(self) -> int:
        """Number of the other members."""
        return self.size - len(self.members)


def largest_clusters(labels: Array, ids: Any, most: int) -> list[Cluster]:
    """Return the largest clusters."""
    values, codes, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    order = np.argsort(-sizes, kind="stable")
    order = order[values[order] >= 0][:most]
    by_code = np.argsort(codes.reshape(-1), kind="stable")
    ends = np.cumsum(sizes)
    found = []
    for code in order.tolist():
        rows = by_code[ends[code] - sizes[code] : ends[code]]
        names = row_names(ids, rows[:MAX_MEMBERS])
        found.append(Cluster(int(values[code]), int(sizes[code]), names))
    return found


def largest_card(labels: Array, ids: Any, noun: str, *, size: str) -> Markup:
    """Return the largest clusters with some of their members, as a card."""
    rows = [
        (one.label, f"{one.size:,}", Cell(members(one.members, one.n_more), "members"))
        for one in largest_clusters(labels, ids, MAX_CLUSTERS)
    ]
    sides = ("left", "right", "left")
    told = text_table("Cluster", noun, "Members", rows=rows, justify=sides)
    return table_card("Largest clusters", told, size=size)


def agreement_card(found: Any) -> Markup | None:
    """Return scores against the truth, over all rows and over those that no statement mentions."""
    if not found.scores or not (found.truth_codes >= 0).any():
        return None
    both = [found.scores[which] for which in ("all", "unconstrained") if which in found.scores]
    headers = ("Score", "All", "Not mentioned")[: 1 + len(both)]
    rows = score_rows(*both)
    said = "Not mentioned: over those that no statement mentions." if len(both) > 1 else ""
    return card("Agreement with the truth", text_table(*headers, rows=rows), said, size="")


def agreement(truth: IntArray | None, labels: Array, known: Constraints) -> list[Section]:
    """Scores against the truth, over all rows and over those that no statement mentions."""
    if truth is None or not (truth >= 0).any():
        return []
    from sidelight.evaluation import constrained_scores

    found = constrained_scores(truth, labels, known)
    apart = found.get("unconstrained", {})
    return [
        {
            "name": title,
            "overall": f"{found['all'][name]:.3f}",
            "unmentioned": f"{apart[name]:.3f}" if name in apart else None,
        }
        for name, title in SCORES.items()
    ]
