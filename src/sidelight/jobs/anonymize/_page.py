"""The page of a table to publish: the promise and the count, what was lost, what is not protected.

The page may be published with the table: it holds no value of a single row, and no figure that is
about fewer rows than the table publishes alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sidelight._typing import IntArray
from sidelight._words import counted, format_number, listed
from sidelight.io.inner import column_texts
from sidelight.pictures.privacy._distributions import (
    BARS,
    before_and_after,
    distribution_of,
    width_text,
)
from sidelight.pictures.privacy._loss import loss_search
from sidelight.pictures.privacy._sizes import class_sizes
from sidelight.privacy import AnonymityCheck
from sidelight.report.figures import bar_figure, figure
from sidelight.report.page import render_page
from sidelight.report.sections import Section, status

if TYPE_CHECKING:
    import pyarrow as pa

#: Losses with a name and plain words.
LOSSES = {
    "ncp": (
        "Normalized certainty penalty",
        "Share of the range of a column that a published value leaves open, on average: 0 if all "
        "are as they were, 1 if nothing is told.",
    ),
    "dispersion": (
        "Dispersion",
        "Squared distances of the standardized rows to the means of their classes, added up.",
    ),
    "discernibility": (
        "Discernibility",
        "Squared sizes of the classes, added up; a row that is left out counts as all rows.",
    ),
}
ANYTHING = "*"


def render_anonymized(
    *,
    estimator: Any,
    original: pa.Table,
    generalized: pa.Table,
    check: AnonymityCheck,
    column_losses: Mapping[str, float],
    roles: Mapping[str, Sequence[str]],
    n_rows: int,
    warnings: Sequence[str],
    title: str | None = None,
    seconds: float | None = None,
) -> str:
    """Return the report of a table to publish as HTML.

    Parameters
    ----------
    estimator : Anonymizer
        Fitted.
    original, generalized : pyarrow.Table
        Quasi-identifiers as they were, and as they are published.
    check : AnonymityCheck
        What an independent count of the published table found.
    column_losses : mapping of str to float
        Share that a published value leaves open, by quasi-identifier.
    roles : mapping of str to sequence of str
        Columns ``quasi``, ``sensitive``, ``keep`` and ``not_published``.
    n_rows : int
        Number of rows that were read.
    warnings : sequence of str
        What the table does not protect, a sentence each.
    title, seconds
        As for :func:`sidelight.report.render_report`.
    """
    n_left_out = n_rows - check.n_rows
    sentence = (
        f"{counted(check.n_rows, 'row')} in {counted(check.n_classes, 'class')} of rows that are "
        f"published alike; {counted(n_left_out, 'row')} left out. Columns without a role are not "
        "published."
    )
    kept = "Checked: " + _kept(check)
    cards = {
        "sentence": sentence,
        "status": status(bool(check), kept if check else "The promise is not kept"),
        "facts_of_its_own": [
            ("Published", f"{check.n_rows:,}"),
            ("Classes", f"{check.n_classes:,}"),
            ("Smallest class", f"{check.k_reached:,}"),
        ],
        "n_colors": 1,
        "promises": _promises(check),
        "losses": _losses(getattr(estimator, "loss_", {})),
        "columns": _columns(original, generalized, column_losses),
        "column_losses": _column_figure(column_losses),
        "sizes": _sizes(check.class_sizes),
        "search": _search(estimator, check.n_classes),
        "spreads": _spreads(original, generalized, check.k),
        "sensitive": _sensitive(check),
        "roles": _roles(roles),
        "warnings": [_headed(text) for text in warnings],
        "k": check.k,
    }
    return render_page(
        "page.html.j2",
        cards,
        style="page.css",
        package=__package__,
        estimator=estimator,
        n_rows=n_rows,
        noun="Rows",
        title=title,
        settings=None,
        command=None,  # it names files and folders of whoever made the table
        seconds=seconds,
    )


def _kept(check: AnonymityCheck) -> str:
    least = [f"k = {check.k_reached}"]
    if check.l > 1:
        least += [
            f"l = {format_number(value, 3)} of {name}" for name, value in check.l_reached.items()
        ]
    return listed(least)


def _promises(check: AnonymityCheck) -> list[Section]:
    rows = [
        {
            "name": "k-anonymity: rows that are published alike",
            "asked": f"{check.k:,}",
            "reached": f"{check.k_reached:,}",
        }
    ]
    rows += [
        {
            "name": f"l-diversity ({check.diversity}) of {name}",
            "asked": f"{check.l:,}" if check.l > 1 else "none",
            "reached": format_number(value, 3),
        }
        for name, value in check.l_reached.items()
    ]
    return rows


def _losses(losses: Mapping[str, float]) -> list[Section]:
    return [
        {
            "name": LOSSES.get(name, (name, ""))[0],
            "value": format_number(float(value)),
            "words": LOSSES.get(name, (name, ""))[1],
        }
        for name, value in losses.items()
    ]


def _columns(
    original: pa.Table, generalized: pa.Table, losses: Mapping[str, float]
) -> list[Section]:
    """How the columns look now, in figures over all rows."""
    rows = []
    for name in original.column_names:
        published = generalized.column(name).to_pylist()
        before = set(column_texts(original.column(name)))
        n = max(len(published), 1)
        as_it_was = sum(text in before for text in published) / n
        anything = sum(text == ANYTHING for text in published) / n
        rows.append(
            {
                "name": name,
                "open": f"{losses[name]:.1%}",
                "exact": f"{as_it_was:.0%}",
                "anything": f"{anything:.0%}",
                "width": width_text(original.column(name), published),
                "n_before": f"{len(before):,}",
                "n_after": f"{len(set(published)):,}",
            }
        )
    return rows


def _column_figure(losses: Mapping[str, float]) -> Section:
    order = sorted(losses, key=lambda name: -losses[name])
    values = np.array([losses[name] for name in order])
    return bar_figure(
        "Loss per quasi-identifier",
        order,
        values,
        [f"{value:.1%}" for value in values.tolist()],
        note="Share of the range of a column that a published value leaves open, on average.",
        of=len(order),
        largest=1.0,
    )


def _sizes(sizes: IntArray) -> Section:
    """How many classes there are of every size."""
    picture = class_sizes(sizes, None, BARS)
    note = "Number of classes by the rows that are published alike."
    return figure(picture.title, picture, note)


def _search(estimator: Any, n_classes: int) -> Section | None:
    search = getattr(estimator, "search_", None) or {}
    if len(search.get("n_clusters", ())) < 2:
        return None
    numbers, losses = (np.asarray(search[name], np.float64) for name in ("n_clusters", "ncp"))
    note = "Fewer and larger classes tell less; more classes need not tell more, as each has to "
    return figure(
        "Loss against the number of classes",
        loss_search(numbers, losses, n_classes),
        f"{note}keep the promise.",
    )


def _spreads(original: pa.Table, generalized: pa.Table, k: int) -> list[Section]:
    figures = []
    for number, name in enumerate(original.column_names):
        published = generalized.column(name).to_pylist()
        found = distribution_of(name, original.column(name), published, k)
        if found is None:
            continue
        note = "Above rows as they were, below as they are published."
        if found.elsewhere:
            note += f" {found.elsewhere:.0f}% are published as a set, a group or any value."
        figures.append(figure(name, before_and_after(found, number), note))
    return figures


def _sensitive(check: AnonymityCheck) -> list[Section]:
    return [
        {
            "name": name,
            "distinct": f"{column.distinct:,}",
            "entropy": f"{column.entropy:.2f}",
            "recursive": f"{column.recursive:,}",
            "t": f"{column.t_closeness:.3f}",
            "homogeneous": f"{column.n_homogeneous:,}",
        }
        for name, column in check.sensitive.items()
    ]


def _roles(roles: Mapping[str, Sequence[str]]) -> list[Section]:
    words = {
        "quasi": ("Quasi-identifiers", "published as ranges, sets or groups"),
        "sensitive": ("Sensitive", "published as they are, and diverse where that was asked for"),
        "keep": ("Kept", "published as they are, and not protected"),
    }
    rows = [
        {"role": title, "how": how, "names": list(roles[role])}
        for role, (title, how) in words.items()
        if roles[role]
    ]
    n = len(roles["not_published"])
    if n:
        rows.append({"role": "Others", "how": f"{counted(n, 'column')} not published", "names": []})
    return rows


def _headed(text: str) -> Section:
    head, colon, rest = text.partition(": ")
    return {"head": head, "text": rest} if colon else {"head": "", "text": text}
