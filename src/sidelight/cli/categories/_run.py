"""``sidelight categorize``: documents to categories; and ranked categories of new documents."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from sidelight._words import SCORES, counted, listed
from sidelight.cli._errors import UsageError
from sidelight.cli._run import claim
from sidelight.cli._screen import (
    SHOWN_CLUSTERS,
    Screen,
    number,
    plain_text,
    table,
)
from sidelight.io._columns import is_number
from sidelight.jobs import CategoriesApplied, CategorizeRequest, CategorizeRun
from sidelight.jobs.categorize._run import categorize

SHOWN_WORDS, SHOWN_CLASSES, SHOWN_MERGED = 5, 3, 8


def read_keep(text: str | None) -> int | float | None:
    """Read a number of words or a share of them.

    Examples
    --------
    >>> read_keep("0.9"), read_keep("5000"), read_keep("1.0")
    (0.9, 5000, 1.0)
    """
    if text is None:
        return None
    if not is_number(text):
        raise UsageError(f"--keep-words {text}: write a number of words or a share, such as 0.9.")
    return int(text) if text.strip().isdecimal() else float(text)


def run(
    request: CategorizeRequest,
    screen: Screen,
    *,
    force: bool,
    spreadsheet_safe: bool,
    **outputs: Path | None,
) -> None:
    """Do the whole job."""
    claim(screen, request.inputs, force=force, **outputs)
    with screen.progress():
        found = categorize(request)
    screen.note(*found.notes)
    facts = {"command": "categorize", **found.facts()}
    paths = found.write(spreadsheet_safe=spreadsheet_safe, **outputs)
    if screen.prints_text:
        screen.show(*_parts(found, facts))
    facts["outputs"] = screen.written(
        paths, "Nothing was written; -o categories.csv keeps the categories, --report a report."
    )
    if "categories" not in paths:
        facts["rows"] = found.rows()
    screen.result(facts)


def _parts(found: CategorizeRun, facts: dict[str, Any]) -> list[Any]:
    classes = counted(facts["n_classes"], "class")
    categories = counted(facts["n_categories"], "category", "categories")
    parts: list[Any] = [
        f"[bold]{type(found.estimator).__name__}[/] on {plain_text(found.data.path)}: "
        f"{counted(found.data.n_rows, 'document')}, {facts['n_words']:,} of "
        f"{counted(facts['n_words_seen'], 'word')}; {classes} to {categories} after "
        f"{counted(facts['n_iter'], 'pass')} in {found.seconds:.2f} s",
        _category_table(facts["categories"]),
        *(plain_text(line) for line in _changes(facts)),
    ]
    if found.scores:
        rows = [
            (title, *(f"{side[name]:.3f}" for side in found.scores.values()))
            for name, title in SCORES.items()
        ]
        title = f"Agreement with the column {found.data.truth_column!r}"
        parts.append(table(title, *(name.capitalize() for name in found.scores), rows=rows))
    return parts


def _category_table(categories: list[dict[str, Any]]) -> Any:
    rows = [
        (
            category["name"],
            f"{category['size']:,}",
            ", ".join(category["words"][:SHOWN_WORDS]),
            _constituents(category["classes"]),
        )
        for category in categories[:SHOWN_CLUSTERS]
    ]
    if len(categories) > SHOWN_CLUSTERS:
        rows.append((f"and {len(categories) - SHOWN_CLUSTERS:,} smaller ones", "", "", ""))
    headers = ("Category", "Documents", "Words", "Documents of the classes")
    return table(*headers, rows=rows, justify=("left", "right", "left", "left"))


def _constituents(classes: dict[str, int]) -> str:
    shown = [f"{n:,} {name}" for name, n in list(classes.items())[:SHOWN_CLASSES]]
    more = len(classes) - SHOWN_CLASSES
    return ", ".join([*shown, *([f"{more} more"] if more > 0 else [])])


def _changes(facts: dict[str, Any]) -> list[str]:
    """What became of classes and documents, a sentence each."""
    lines = [
        f"{counted(facts['n_moved'], 'document')} moved to another category than that of the "
        f"class, {counted(facts['n_outliers'], 'outlier')}."
    ]
    merged = [listed(group) for group in facts["merged"]]
    if merged:
        lines.append(f"Merged: {_some(merged)}.")
    if facts["killed"]:
        lines.append(f"Deleted, too few documents of their own: {_some(facts['killed'])}.")
    if facts["similar"]:
        one, other, cosine = facts["similar"][0]
        lines.append(
            f"Nearest categories: {one} and {other}, cosine {number(round(cosine, 3))}; they are "
            f"merged above {facts['parameters']['merge_threshold']:g} (--set merge_threshold=...)."
        )
    return lines


def _some(names: list[str]) -> str:
    more = len(names) - SHOWN_MERGED
    return "; ".join([*names[:SHOWN_MERGED], *([f"{more} more"] if more > 0 else [])])


def ranked_parts(found: CategoriesApplied) -> list[Any]:
    """What a person is told about new documents."""
    sizes = sorted(found.sizes.items(), key=lambda one: -one[1])
    rows = [(name, f"{size:,}") for name, size in sizes[:SHOWN_CLUSTERS]]
    if len(sizes) > SHOWN_CLUSTERS:
        rows.append((f"and {len(sizes) - SHOWN_CLUSTERS:,} others", ""))
    n_other = int(np.count_nonzero(found.ranking.reranked))
    if not n_other:
        return [table("Category", "Documents", rows=rows)]
    line = f"For {counted(n_other, 'document')} words of its own put another category first."
    return [table("Category", "Documents", rows=rows), line]


def ranked_facts(found: CategoriesApplied) -> dict[str, Any]:
    """The same as plain values."""
    ranking, names = found.ranking, found.estimator.category_names_
    return {
        "sizes": found.sizes,
        "n_reranked": int(np.count_nonzero(ranking.reranked)),
        "categories": [
            [str(names[category]) for category in row if category >= 0]
            for row in ranking.categories.tolist()
        ],
        "reasons": ranking.reasons,
    }
