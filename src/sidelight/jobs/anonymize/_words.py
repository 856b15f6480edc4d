"""Texts about a table to publish, and about the count of one that was published.

Nothing here shows values of the rows that a published table is made of: screens are copied as
reports are. Problems of a count name values as they were published.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sidelight._words import counted, format_number
from sidelight.privacy import AnonymityCheck
from sidelight.report.text import Strong, TextTable, Told, text_table

if TYPE_CHECKING:
    from sidelight.jobs.anonymize._check import AnonymityCheckRun
    from sidelight.jobs.anonymize._run import AnonymizeRun

#: Losses, in words.
LOSSES = {
    "ncp": "share of the range of a column that a published value leaves open, on average",
    "dispersion": "squared distances of the standardized rows to the means of their classes",
    "discernibility": "sum of the squared sizes of the classes",
}


def words(found: AnonymizeRun) -> list[Told]:
    """Return promises, losses and limits of a table to publish."""
    result, n_rows = found.check, found.columns.n_rows
    left_out = f", {counted(found.n_suppressed, 'row')} left out" if found.n_suppressed else ""
    loss = getattr(found.estimator, "loss_", {})
    losses = [(key, format_number(value, 4), LOSSES.get(key, "")) for key, value in loss.items()]
    of_columns = sorted(found.column_losses.items(), key=lambda one: -one[1])
    where = "counted in the written file" if found.checked == "file" else "counted in memory"
    return [
        (
            Strong(type(found.estimator).__name__),
            f" on {found.columns.path}: {counted(n_rows, 'row')}{left_out}, "
            f"{counted(result.n_classes, 'class')} of rows that are published alike, in "
            f"{found.seconds:.2f} s",
        ),
        _promises(result, where),
        text_table("Loss", "", "", rows=losses, justify=("left", "right", "left")),
        text_table(
            "Quasi-identifier",
            "Left open",
            rows=[(name, f"{share:.1%}") for name, share in of_columns],
        ),
        "What the table does not protect from:",
        *(f"  {line}" for line in found.warnings),
    ]


def check_words(found: AnonymityCheckRun) -> list[Told]:
    """Return what the count of a published table found."""
    result = found.check
    told: list[Told] = [
        f"{found.name}: {counted(result.n_rows, 'row')} in "
        f"{counted(result.n_classes, 'class')} of rows that are alike",
        _promises(result, "counted in the file"),
    ]
    if result.sensitive:
        rows = [
            (name, one.distinct, f"{one.entropy:.2f}", one.recursive, f"{one.t_closeness:.3f}")
            for name, one in result.sensitive.items()
        ]
        headers = ("Sensitive", "l distinct", "l entropy", f"l recursive, c = {result.c:g}", "t")
        told.append(text_table(*headers, rows=rows))
    return [*told, (Strong("Kept." if result else "Not kept."),), *result.problems]


def _promises(result: AnonymityCheck, how: str) -> TextTable:
    rows: list[tuple[str, str, str]] = [("k", str(result.k), str(result.k_reached))]
    rows += [
        (f"l of {name}, {result.diversity}", str(result.l), f"{value:.4g}")
        for name, value in result.l_reached.items()
    ]
    return text_table(f"Promise, {how}", "Asked", "Reached", rows=rows)
