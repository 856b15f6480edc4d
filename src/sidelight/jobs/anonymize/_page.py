"""The page of a table to publish: the promise and the count, what was lost, what is not protected.

The page may be published with the table: all of its figures can be computed from the table, so that
none tells about a row what the table does not tell.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from markupsafe import Markup

from sidelight._words import counted, format_number, listed
from sidelight.jobs.anonymize._words import LOSSES, MAX_NAME, promise_table, sensitive_table
from sidelight.pictures.inner import (
    BARS,
    class_sizes,
    distribution_of,
    is_single,
    named_bars,
    share_bars,
    shorten,
    svg_of,
    width_text,
)
from sidelight.privacy import AnonymityCheck
from sidelight.report.inner import (
    Page,
    card,
    figure,
    html,
    joined,
    note,
    side,
    strong,
    table_card,
    terms,
    text_table,
)

if TYPE_CHECKING:
    from sidelight.jobs.anonymize._run import AnonymizeRun

ANYTHING = "*"
COUNTED = (
    "Counted in the published table itself, by a count that knows nothing of the method; a table "
    "that breaks its promise is not written. <code>sidelight anonymize TABLE --check</code> "
    "repeats the count on the file."
)
T_CLOSENESS = (
    "t-closeness: largest distance between the distribution of a class and that of the table, "
    "from 0 (a class tells nothing more than the table) to 1."
)
#: What becomes of columns, by their roles.
ROLES = {
    "quasi": ("Quasi-identifiers", "published as ranges, sets or groups"),
    "sensitive": ("Sensitive", "published as they are, and diverse where that was asked for"),
    "keep": ("Kept", "published as they are, and not protected"),
}


def page(found: AnonymizeRun) -> Page:
    """Return what the page of a table to publish shows.

    It names neither the settings nor the command of the run: these tell files and folders of
    whoever made the table.
    """
    check = found.check
    return Page(
        estimator=found.estimator,
        n_rows=found.columns.n_rows,
        title=found.title,
        seconds=found.seconds,
        shows_search=False,  # how often rows moved depends on values that are not published
        package=__package__,
        styles=["page.css"],
        sentence=(
            f"{counted(check.n_rows, 'row')} in {counted(check.n_classes, 'class')} of rows that "
            f"are published alike; {counted(found.n_suppressed, 'row')} left out. Columns without "
            "a role are not published."
        ),
        fine=bool(check),
        status=f"Checked: {_kept(check)}" if check else "The promise is not kept",
        facts=[
            ("Published", f"{check.n_rows:,}"),
            ("Classes", f"{check.n_classes:,}"),
            ("Smallest class", f"{check.k_reached:,}"),
        ],
        cards=[
            _promise(found),
            side(_roles(found.roles), _sizes(check)),
            _losses(found.losses),
            _column_losses(found.column_losses),
            _columns(found),
            _sensitive(check),
            _spreads(found),
        ],
    )


def _kept(check: AnonymityCheck) -> str:
    least = [f"k = {check.k_reached}"]
    if check.l > 1:
        least += [
            f"l = {format_number(value, 3)} of {name}" for name, value in check.l_reached.items()
        ]
    return listed(least)


def _promise(found: AnonymizeRun) -> Markup:
    limits = joined(html("<li>{}</li>", _headed(text)) for text in found.warnings)
    return card(
        "Promise and result",
        promise_table(found.check, "Promise"),
        note(Markup(COUNTED)),
        Markup('<h2 class="second">What the table does not protect from</h2>'),
        html('<ul class="limits">{}</ul>', limits),
        size="plot",
    )


def _headed(text: str) -> Markup | str:
    """Set what a limit is about in bold."""
    head, colon, rest = text.partition(": ")
    return html("{} {}", strong(f"{head}:"), rest) if colon else text


def _roles(roles: Mapping[str, list[str]]) -> Markup:
    rows = [
        (title, html("{}; {}", ", ".join(roles[role]), _quiet(how)))
        for role, (title, how) in ROLES.items()
        if roles[role]
    ]
    if n := len(roles["not_published"]):
        rows.append(("Others", _quiet(f"{counted(n, 'column')} not published")))
    return card("Columns by role", terms(rows, "roles"), size="")


def _quiet(text: str) -> Markup:
    return html('<span class="quiet">{}</span>', text)


def _sizes(check: AnonymityCheck) -> Markup:
    """Return how many classes there are of every size."""
    picture = class_sizes(check.class_sizes, None, BARS)
    return figure(picture.title, picture, "Number of classes by the rows that are published alike.")


def _losses(losses: Mapping[str, float]) -> Markup:
    def heading(name: str) -> Markup:
        title, text = LOSSES.get(name, (name, ""))
        return html("{}<br>{}", title, html('<small class="quiet">{}</small>', text))

    rows = [(heading(name), strong(format_number(float(v)))) for name, v in losses.items()]
    return card("What was lost", text_table("", "", rows=rows), size="wide-half")


def _column_losses(losses: Mapping[str, float]) -> Markup | None:
    if not losses:  # of representatives
        return None
    order = sorted(losses, key=lambda name: -losses[name])
    values = np.array([losses[name] for name in order])
    title = "Loss per quasi-identifier"
    texts = [f"{value:.1%}" for value in values.tolist()]
    text = "Share of the range of a column that a published value leaves open, on average."
    return figure(
        title, named_bars(title, order, values, texts, largest=1.0), text, size="narrow-half"
    )


def _columns(found: AnonymizeRun) -> Markup | None:
    """Return how the published columns look, in figures over all of their rows."""
    if not found.column_losses:
        return None
    rows = []
    for name in found.columns.quasi.column_names:
        published = found.generalized.column(name).to_pylist()
        kind, groups = found.columns.kind_of(name), found.groups_of(name)
        n = max(len(published), 1)
        rows.append(
            (
                shorten(name, MAX_NAME),
                f"{found.column_losses[name]:.1%}",
                f"{sum(is_single(text, kind, groups) for text in published) / n:.0%}",
                f"{published.count(ANYTHING) / n:.0%}",
                width_text(kind, published),
                f"{len(set(published)):,}",
            )
        )
    headers = (
        "Quasi-identifier",
        "Left open",
        "Rows with a single value",
        "Rows with any value (*)",
        "Median width of the ranges",
        "Values published",
    )
    return table_card(
        "How generalized columns look", text_table(*headers, rows=rows), scroll="scroll"
    )


def _sensitive(check: AnonymityCheck) -> Markup | None:
    if not check.sensitive:
        return None
    title = "Sensitive columns among rows that are alike"
    return table_card(title, sensitive_table(check), T_CLOSENESS, scroll="scroll")


def _spreads(found: AnonymizeRun) -> Markup | None:
    """Return the distributions of the published columns."""
    figures = []
    for number, name in enumerate(found.columns.quasi.column_names):
        published = found.generalized.column(name).to_pylist()
        spread = distribution_of(name, found.columns.kind_of(name), published)
        if spread is None:
            continue
        text = ""
        if spread.elsewhere:
            text = f"{spread.elsewhere:.0f}% are published as a set, a group or any value."
        head = html("<figcaption><h3>{}</h3></figcaption>", shorten(name, MAX_NAME))
        drawn = Markup(svg_of(share_bars(spread, number)))
        figures.append(html("<figure>{}{}{}</figure>", head, drawn, note(text) if text else ""))
    if not figures:
        return None
    key = note(
        "A range counts for all bars that it covers, in equal parts. The rows as they were are not "
        "shown: their bars would tell where in its range a value is."
    )
    shown = html('<div class="spreads">{}</div>', joined(figures))
    return card("Distributions of the published values", key, shown)
