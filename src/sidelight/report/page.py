"""What pages of their own kind have in common: heading, colors, cluster sizes, agreement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
from markupsafe import Markup

from sidelight._typing import Array, IntArray
from sidelight._words import SCORES
from sidelight.constraints import Constraints
from sidelight.report import sections
from sidelight.report.figures import bar_figure
from sidelight.report.sections import Section
from sidelight.report.tables import settings_of, versions
from sidelight.report.templates import KIT, render, resource

#: Names of members that a table lists.
SHOWN_MEMBERS = 12
#: Lower ends of the classes of sizes; a class of one number is named by it.
SIZE_CLASSES = (1, 2, 3, 4, 5, 6, 10, 20, 50, 100, 1000, 10_000, 100_000)


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


def size_figure(labels: Array, noun: str) -> Section:
    """How many clusters there are of every size, as bars."""
    sizes = np.unique(labels[labels >= 0], return_counts=True)[1]
    lower = np.array(SIZE_CLASSES)
    counts = np.bincount(np.searchsorted(lower, sizes, side="right") - 1, minlength=len(lower))
    filled = np.flatnonzero(counts)
    names = [_size_class(place) for place in filled.tolist()]
    largest = f"The largest has {sizes.max(initial=0):,}." if len(sizes) else ""
    return bar_figure(
        f"Sizes of the {noun}",
        names,
        counts[filled].astype(np.float64),
        [f"{n:,}" for n in counts[filled].tolist()],
        note=f"Number of {noun} by their size. {largest}",
        of=len(names),
        name="saliencies sizes",
    )


def _size_class(place: int) -> str:
    low = SIZE_CLASSES[place]
    if place + 1 == len(SIZE_CLASSES):
        return f"{low:,} or more"
    high = SIZE_CLASSES[place + 1] - 1
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def largest_clusters(labels: Array, ids: Any, most: int) -> list[Section]:
    """The largest clusters with some of their members."""
    values, codes, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    order = np.argsort(-sizes, kind="stable")
    order = order[values[order] >= 0][:most]
    by_code = np.argsort(codes.reshape(-1), kind="stable")
    ends = np.cumsum(sizes)
    found = []
    for code in order.tolist():
        members = by_code[ends[code] - sizes[code] : ends[code]]
        names = row_names(ids, members[:SHOWN_MEMBERS])
        found.append(
            {
                "label": int(values[code]),
                "size": int(sizes[code]),
                "members": names,
                "n_more": int(sizes[code]) - len(names),
            }
        )
    return found


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
