"""What pages of their own kind have in common: heading, colors, cluster sizes, agreement."""

from __future__ import annotations

import datetime
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from typing import Any, NamedTuple

import numpy as np
from markupsafe import Markup

from sidelight import __version__
from sidelight._typing import Array
from sidelight._words import format_number
from sidelight.pictures.inner import by_step, first_step, named_bars, palette, shorten
from sidelight.report.cards import (
    MAX_GROUPS,
    Cell,
    Panel,
    Row,
    body,
    card,
    figure,
    html,
    members,
    table,
    table_card,
    terms,
)
from sidelight.report.tables import score_table
from sidelight.report.templates import KIT, render, resource
from sidelight.report.text import text_table

#: Names of members that a table lists.
MAX_MEMBERS = 12
#: Clusters that a table lists.
MAX_CLUSTERS = 12
#: Lower ends of the classes of sizes; a class of one number is named by it.
SIZE_CLASSES = (1, 2, 3, 4, 5, 6, 10, 20, 50, 100, 1000, 10_000, 100_000)
#: Letters of the name of a column or setting, and of its value or treatment.
MAX_TERM, MAX_VALUE = 60, 160
#: Signs before the line at the top.
ICONS = {"good": "M3 8.5l3.2 3.2L13 4.8", "bad": "M4 4l8 8M12 4l-8 8", "none": "M3.5 8h9"}


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
    css : str
        Further rules of style, such as colors that depend on the data.
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
    shows_search : bool
        Whether iterations and the objective are shown.
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
    css: str = ""
    package: str = KIT
    script: Markup = field(default_factory=Markup)
    title: str | None = None
    settings: Mapping[str, Any] | None = None
    command: str | None = None
    seconds: float | None = None
    shows_search: bool = True
    preparation: Sequence[tuple[str, str, str]] = ()

    def html(self) -> str:
        """Return the page as one file that opens offline."""
        now = datetime.datetime.now().astimezone()
        kind = "none" if self.fine is None else "good" if self.fine else "bad"
        styles = [resource("report.css"), *(resource(name, self.package) for name in self.styles)]
        styles += [colors_of_groups(max(self.n_colors, 1)), self.css]
        context = {
            "title": self.title or type(self.estimator).__name__,
            "date": f"{now.day} {now:%B %Y, %H:%M %Z}",
            "date_iso": now.isoformat(timespec="minutes"),
            "status": {"kind": kind, "icon": ICONS[kind], "text": self.status},
            "sentence": self.sentence,
            "facts": self._all_facts(),
            "css": Markup("\n".join(styles)),
            "cards": body([*self.cards, *self._closing()]),
            "script": self.script,
        }
        return render("page.html.j2", context)

    def _all_facts(self) -> list[tuple[str, str]]:
        """Return what was run on how many rows, what came out, and how the search ended."""
        estimator, seconds = self.estimator, self.seconds
        facts = [("Method", type(estimator).__name__), (self.noun, f"{self.n_rows:,}"), *self.facts]
        if self.shows_search:
            facts += _search_facts(estimator)
        if seconds is not None:
            shown = f"{seconds:.2f} s" if seconds < 100 else f"{seconds:,.0f} s"
            facts.append(("Fitted in", shown))
        return facts

    def _closing(self) -> list[Markup | None]:
        """Return the last cards: columns, settings, versions, and the command."""
        line = method_line(self.estimator)
        command = html('<pre class="command">{}</pre>', self.command) if self.command else None
        settings = dict(self.settings or {}) | self.estimator.get_params(deep=False)
        values = ((shorten(str(name), MAX_TERM), _value(v)) for name, v in settings.items())
        return [
            _columns_card(self.preparation) if self.preparation else None,
            card(
                "Settings",
                html('<p class="method">{}</p>', line) if line else None,
                terms(values),
                size="wide-half",
            ),
            card("Made with", terms(_versions()), size="narrow-half"),
            card("Command", command) if command else None,
        ]


def _search_facts(estimator: Any) -> list[tuple[str, str]]:
    """Return how the search of a method ended."""
    facts = []
    if (n_iter := getattr(estimator, "n_iter_", None)) is not None:
        converged = getattr(estimator, "converged_", True)
        facts.append(("Iterations", f"{n_iter:,}" + ("" if converged else ", not converged")))
    if (objective := getattr(estimator, "objective_", None)) is not None:
        facts.append(("Objective", format_number(float(objective))))
    return facts


def _columns_card(preparation: Sequence[tuple[str, str, str]]) -> Markup:
    """Return what became of the columns of the table."""
    rows = [
        Row(
            (shorten(column, MAX_TERM), use, shorten(how, MAX_VALUE)),
            css="quiet" if use == "set aside" else "",
        )
        for column, use, how in preparation
    ]
    title = "Columns and what became of them"
    told = text_table("Column", "Used as", "How", rows=rows, justify=("left",))
    shown = table(told, css="columns", scroll="scroll tall", label=title)
    return card(title, shown, "Every column counts as one feature in a distance, times its weight.")


def _value(value: Any) -> str:
    """Return the value of a setting as a short text."""
    if isinstance(value, np.ndarray):
        return f"array of shape {value.shape}"
    return shorten(value if isinstance(value, str) else repr(value), MAX_VALUE)


def _versions() -> list[tuple[str, str]]:
    """Return what the run was made with."""
    packages = ("numpy", "scipy", "scikit-learn", "numba")
    return [
        ("sidelight", __version__),
        ("python", platform.python_version()),
        *((name, metadata.version(name)) for name in packages),
    ]


def method_line(estimator: Any) -> str:
    """Return what the method is, and where it comes from."""
    if not hasattr(estimator, "__sidelight_tags__"):
        return ""
    tags = estimator.__sidelight_tags__()
    return f"{tags.summary[:1].upper()}{tags.summary[1:]}. {tags.source}."


def themed(rules: str, variables: Mapping[str, Mapping[str, str]]) -> str:
    """Return rules of style with the variables that they use, for a light and a dark page."""
    light, dark = (
        "".join(f"--{name}:{color};" for name, color in variables[mode].items())
        for mode in ("light", "dark")
    )
    return (
        f":root{{{light}}}@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}{rules}"
    )


def colors_of_groups(n_groups: int) -> str:
    """Return the style sheet of the groups: a color by number, for both kinds of page."""
    n_colors = min(n_groups, MAX_GROUPS)
    rules = "".join(
        f'.k{n},[data-colour="label"] .t{n}{{--g:var(--c{n % n_colors})}}' for n in range(n_groups)
    )
    variables = {
        mode: {f"c{n}": color for n, color in enumerate(palette(n_colors, mode))}
        for mode in ("light", "dark")
    }
    return themed(f'{rules}[data-colour="label"] .tx{{--g:var(--faint)}}', variables)


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
    apart = "unconstrained" in found.scores
    said = "Not mentioned: over those that no statement mentions." if apart else ""
    return card("Agreement with the truth", score_table(found.scores, "All"), said, size="")


def objective_panel(estimator: Any) -> Panel | None:
    """Draw the minimized objective, or the log-likelihood, by iteration."""
    title = "Objective"
    history = np.asarray(getattr(estimator, "history_", ()), dtype=np.float64).ravel()
    if hasattr(estimator, "score_samples"):  # a density: likelihoods rise
        title, history = "Log-likelihood per row", -history
    finite = history[np.isfinite(history)]
    if not len(finite):
        return None
    ends = f"From {format_number(finite[0])} to {format_number(finite[-1])}."
    picture = by_step({title: history}, title, first=first_step(estimator))
    return Panel(picture.title, picture, ends)
