"""Texts about categories of documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sidelight._words import counted, format_number, listed, score_rows
from sidelight.jobs._parts import MAX_CLUSTERS, heading
from sidelight.report.text import TextTable, Told, first_rows, text_table

if TYPE_CHECKING:
    from sidelight.jobs.categorize._run import CategorizeRun

MAX_WORDS, MAX_CLASSES, MAX_MERGED = 5, 3, 8


def words(found: CategorizeRun) -> list[Told]:
    """Return categories, what changed, and the agreement with true topics."""
    facts = found.facts()
    classes = counted(facts["n_classes"], "class")
    categories = counted(facts["n_categories"], "category", "categories")
    told: list[Told] = [
        heading(
            found.estimator,
            found.data,
            f", {facts['n_words']:,} of {counted(facts['n_words_seen'], 'word')}; {classes} to "
            f"{categories} after {counted(facts['n_iter'], 'pass')} in {found.seconds:.2f} s",
            "document",
        ),
        _category_table(facts["categories"]),
        *_changes(facts),
    ]
    if found.scores:
        told.append(score_table(found, f"Agreement with the column {found.data.truth_column!r}"))
    return told


def score_table(found: CategorizeRun, title: str) -> TextTable:
    """Return the agreement with the true topics: of the categories, and of the given classes."""
    sides = (name.capitalize() for name in found.scores)
    return text_table(title, *sides, rows=score_rows(*found.scores.values()))


def _category_table(categories: list[dict[str, Any]]) -> TextTable:
    rows = [
        (
            category["name"],
            f"{category['size']:,}",
            ", ".join(category["words"][:MAX_WORDS]),
            _constituents(category["classes"]),
        )
        for category in categories
    ]
    headers = ("Category", "Documents", "Words", "Documents of the classes")
    shown = first_rows(rows, MAX_CLUSTERS, "smaller ones")
    return text_table(*headers, rows=shown, justify=("left", "right", "left", "left"))


def _constituents(classes: dict[str, int]) -> str:
    return _first([f"{n:,} {name}" for name, n in classes.items()], MAX_CLASSES, ", ")


def _changes(facts: dict[str, Any]) -> list[str]:
    """Return what became of classes and documents, a sentence each."""
    lines = [
        f"{counted(facts['n_moved'], 'document')} moved to another category than that of the "
        f"class, {counted(facts['n_outliers'], 'outlier')}."
    ]
    merged = [listed(group) for group in facts["merged"]]
    if merged:
        lines.append(f"Merged: {_first(merged, MAX_MERGED, '; ')}.")
    if facts["killed"]:
        killed = _first(facts["killed"], MAX_MERGED, "; ")
        lines.append(f"Deleted, too few documents of their own: {killed}.")
    if facts["similar"]:
        one, other, cosine = facts["similar"][0]
        lines.append(
            f"Nearest categories: {one} and {other}, cosine {format_number(round(cosine, 3), 6)}; "
            f"they are merged above {facts['parameters']['merge_threshold']:g} "
            "(--set merge_threshold=...)."
        )
    return lines


def _first(names: list[str], most: int, between: str) -> str:
    more = len(names) - most
    return between.join([*names[:most], *([f"{more} more"] if more > 0 else [])])
