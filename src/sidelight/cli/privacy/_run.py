"""``sidelight anonymize`` and ``check-anonymity``: a table to publish, and the count of its rows.

Nothing here shows values of the rows that were read: screens are copied as reports are.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sidelight._words import counted, format_number, set_by
from sidelight.cli._run import claim
from sidelight.cli._screen import Screen, plain_text, table
from sidelight.jobs import AnonymizeRequest, AnonymizeRun
from sidelight.jobs.anonymize._run import anonymize
from sidelight.privacy import AnonymityCheck
from sidelight.privacy import check_anonymity as check

#: Options that set parameters of the methods.
OPTIONS = {
    "k": "-k",
    "l": "-l",
    "diversity": "--diversity",
    "c": "--c",
    "suppress": "--suppress",
    "sensitive": "--sensitive",
    "hierarchies": "--hierarchy",
}
#: Losses, in words.
LOSSES = {
    "ncp": "share of the range of a column that a published value leaves open, on average",
    "dispersion": "squared distances of the standardized rows to the means of their classes",
    "discernibility": "sum of the squared sizes of the classes",
}


def anonymize_table(
    request: AnonymizeRequest,
    screen: Screen,
    *,
    force: bool,
    spreadsheet_safe: bool,
    **outputs: Path | None,
) -> None:
    """Do the whole job."""
    claim(screen, request.inputs, force=force, **outputs)
    with screen.progress(), set_by(OPTIONS):
        found = anonymize(request)
    screen.note(*found.notes)
    facts = {"command": "anonymize", **found.facts()}
    paths = found.write(spreadsheet_safe=spreadsheet_safe, **outputs)
    if screen.prints_text:
        screen.show(*_parts(found, checked="published" in paths))
    facts["checked"] = "file" if "published" in paths else "memory"
    facts["outputs"] = screen.written(
        paths, "Nothing was written; -o published.csv keeps the table, --report a report."
    )
    screen.result(facts)


def _parts(found: AnonymizeRun, *, checked: bool) -> list[Any]:
    """What a person is told."""
    result, n_rows = found.check, found.columns.n_rows
    name = type(found.estimator).__name__
    left_out = f", {counted(found.n_suppressed, 'row')} left out" if found.n_suppressed else ""
    parts: list[Any] = [
        f"[bold]{name}[/] on {plain_text(found.columns.path)}: {counted(n_rows, 'row')}{left_out}, "
        f"{counted(result.n_classes, 'class')} of rows that are published alike, in "
        f"{found.seconds:.2f} s",
        _promises(result, "counted in the written file" if checked else "counted in memory"),
    ]
    loss = getattr(found.estimator, "loss_", {})
    rows = [(key, format_number(value, 4), LOSSES.get(key, "")) for key, value in loss.items()]
    parts.append(table("Loss", "", "", rows=rows, justify=("left", "right", "left")))
    losses = sorted(found.column_losses.items(), key=lambda one: -one[1])
    parts.append(
        table("Quasi-identifier", "Left open", rows=[(n, f"{share:.1%}") for n, share in losses])
    )
    parts.append("What the table does not protect from:")
    return [*parts, *(f"  {plain_text(line)}" for line in found.warnings)]


def _promises(result: AnonymityCheck, how: str) -> Any:
    rows: list[tuple[str, str, str]] = [("k", str(result.k), str(result.k_reached))]
    rows += [
        (f"l of {name}, {result.diversity}", str(result.l), f"{value:.4g}")
        for name, value in result.l_reached.items()
    ]
    return table(f"Promise, {how}", "Asked", "Reached", rows=rows)


def check_table(path: Path, screen: Screen, **asked: Any) -> bool:
    """Count, tell, and say whether the table is as asked."""
    result = check(path, **asked)
    screen.show(
        f"{plain_text(path)}: {counted(result.n_rows, 'row')} in "
        f"{counted(result.n_classes, 'class')} of rows that are alike",
        _promises(result, "counted in the file"),
    )
    if result.sensitive:
        rows = [
            (name, one.distinct, f"{one.entropy:.2f}", one.recursive, f"{one.t_closeness:.3f}")
            for name, one in result.sensitive.items()
        ]
        headers = ("Sensitive", "l distinct", "l entropy", f"l recursive, c = {result.c:g}", "t")
        screen.show(table(*headers, rows=rows))
    holds = bool(result)
    screen.show("[bold]Kept.[/]" if holds else "[bold]Not kept.[/]")
    screen.show(*(plain_text(line) for line in result.problems))
    screen.result(
        {
            "command": "check-anonymity",
            "table": str(path),
            "kept": holds,
            "n_rows": result.n_rows,
            "n_classes": result.n_classes,
            "n_too_small": result.n_too_small,
            "n_not_diverse": result.n_not_diverse,
            "k": {"asked": result.k, "reached": result.k_reached},
            "l": {
                "asked": result.l,
                "diversity": result.diversity,
                "reached": result.l_reached,
            },
            "sensitive": {
                name: {key: value for key, value in vars(one).items() if key != "name"}
                for name, one in result.sensitive.items()
            },
            "problems": list(result.problems),
        }
    )
    return holds
