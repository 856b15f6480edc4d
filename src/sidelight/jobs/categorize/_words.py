"""Texts about categories of documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sidelight._words import counted, format_number, listed, score_rows
from sidelight.jobs._parts import MAX_CLUSTERS, heading
from sidelight.report.inner import TextTable, Told, first_rows, text_table

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
    """Return the agreement of categories, given classes and naive Bayes with the true topics."""
    sides = (name[0].upper() + name[1:] for name in found.scores)
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
    lines = [verdict(facts["held_out"], facts["n_moved"])]
    if facts["n_outliers"]:
        lines.append(f"{counted(facts['n_outliers'], 'outlier')}, in no category.")
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


#: Agreement with the held-out check from which classes look right.
SOUND = 0.9


def verdict(check: dict[str, Any], n_moved: int) -> str:
    """Return how many documents moved, and what the held-out check says about the classes."""
    agreement = f"{check['agreement']:.0%} of the documents"
    if not n_moved:
        where = f"A held-out check (naive Bayes) puts {agreement} where they are"
        sound = ": the classes look right" if check["agreement"] >= SOUND else ""
        others = check["n_not_supported"]
        doubt = (
            f"; {'the other one is' if others == 1 else f'the other {others:,} are'} not clear "
            "enough to be called misfiled"
            if others
            else ""
        )
        return f"{where}{doubt}{sound}. Nothing was moved."
    moved = f"{counted(n_moved, 'document')} moved to another category than that of the class"
    supported = check["n_supported"]
    by = "all" if supported == n_moved else f"{supported:,} of them"
    return (
        f"{moved}, {by} supported by a held-out check (naive Bayes). It puts {agreement} where "
        f"they were, and some {check['wrong_share']:.1%} are misfiled by its estimate."
    )


def _first(names: list[str], most: int, between: str) -> str:
    more = len(names) - most
    return between.join([*names[:most], *([f"{more} more"] if more > 0 else [])])
