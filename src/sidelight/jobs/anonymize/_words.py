"""Texts and tables about a table to publish, and about the count of one that was published.

Nothing here shows values of the rows that a published table is made of: screens are copied as
reports are. Problems of a count name values as they were published.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sidelight._words import counted, format_number
from sidelight.jobs._parts import heading
from sidelight.pictures.inner import shorten
from sidelight.privacy import AnonymityCheck
from sidelight.report.inner import Strong, TextTable, Told, text_table

if TYPE_CHECKING:
    from sidelight.jobs.anonymize._check import AnonymityCheckRun
    from sidelight.jobs.anonymize._run import AnonymizeRun

#: Losses: their names, and what they are.
LOSSES = {
    "ncp": (
        "Normalized certainty penalty",
        "Share of the range of a column that a published value leaves open, on average: 0 if all "
        "are as they were, 1 if nothing is told.",
    ),
    "discernibility": (
        "Discernibility",
        "Squared sizes of the classes, added up; a row that is left out counts as all rows.",
    ),
}
#: Longest name of a column that is not cut.
MAX_NAME = 60


def words(found: AnonymizeRun) -> list[Told]:
    """Return promises, losses and limits of a table to publish."""
    left_out = f", {counted(found.n_suppressed, 'row')} left out" if found.n_suppressed else ""
    losses = [(name, value, LOSSES.get(name, ("", ""))[1]) for name, value in found.losses.items()]
    of_columns = sorted(found.column_losses.items(), key=lambda one: -one[1])
    shares = [(name, f"{share:.1%}") for name, share in of_columns]
    where = "counted in the written file" if found.checked == "file" else "counted in memory"
    return [
        heading(
            found.estimator,
            found.data,
            f"{left_out}, {counted(found.check.n_classes, 'class')} of rows that are published "
            f"alike, in {found.seconds:.2f} s",
        ),
        promise_table(found.check, f"Promise, {where}"),
        text_table(
            "Loss",
            "",
            "",
            rows=[(name, format_number(value, 4), text) for name, value, text in losses],
            justify=("left", "right", "left"),
        ),
        *([text_table("Quasi-identifier", "Left open", rows=shares)] if shares else []),
        "What the table does not protect from:",
        *(f"  {line}" for line in found.warnings),
    ]


def check_words(found: AnonymityCheckRun) -> list[Told]:
    """Return what the count of a published table found."""
    result = found.check
    return [
        f"{found.name}: {counted(result.n_rows, 'row')} in "
        f"{counted(result.n_classes, 'class')} of rows that are alike",
        promise_table(result, "Promise, counted in the file"),
        *([sensitive_table(result)] if result.sensitive else []),
        (Strong("Kept." if result else "Not kept."),),
        *result.problems,
    ]


def promise_table(check: AnonymityCheck, title: str) -> TextTable:
    """Return what was asked for, and what the count reached."""
    rows: list[tuple[Any, ...]] = [
        (
            "k-anonymity: rows that are published alike",
            f"{check.k:,}",
            Strong(f"{check.k_reached:,}"),
        )
    ]
    asked = f"{check.l:,}" if check.l > 1 else "none"
    rows += [
        (f"l-diversity ({check.diversity}) of {name}", asked, Strong(format_number(value, 3)))
        for name, value in check.l_reached.items()
    ]
    if check.t < 1:
        rows += [
            (f"t-closeness of {name}", f"{check.t:g}", Strong(f"{column.t_closeness:.3f}"))
            for name, column in check.sensitive.items()
        ]
    return text_table(title, "Asked", "Reached", rows=rows)


def sensitive_table(check: AnonymityCheck) -> TextTable:
    """Return how diverse the sensitive columns are among rows that are alike."""
    rows = [
        (
            shorten(name, MAX_NAME),
            f"{column.distinct:,}",
            f"{column.entropy:.2f}",
            f"{column.recursive:,}",
            Strong(f"{column.t_closeness:.3f}"),
            f"{column.n_homogeneous:,}",
        )
        for name, column in check.sensitive.items()
    ]
    recursive = f"Recursive l, c = {check.c:g}"
    headers = ("Sensitive column", "Distinct l", "Entropy l", recursive, "t-closeness")
    return text_table(*headers, "Classes with one value", rows=rows)
