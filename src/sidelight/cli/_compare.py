"""``sidelight compare``: candidates side by side, the best one written."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from sidelight._words import counted, two_digits
from sidelight.cli._run import claim, cluster_parts, dense_values
from sidelight.cli._screen import Screen, plain_text, preparation_lines
from sidelight.evaluation.comparison._compare import seconds_of
from sidelight.evaluation.comparison._comparison import HEADINGS
from sidelight.jobs import CompareRun, Prepared, Request
from sidelight.jobs.compare._run import (
    compare_prepared,
    method_names,
    prepare_comparison,
)

SHOWN_CANDIDATES = 24


def run(
    request: Request,
    screen: Screen,
    *,
    methods: list[str] | None,
    budget: str | None,
    force: bool,
    spreadsheet_safe: bool,
    **outputs: Path | None,
) -> dict[str, Any]:
    """Compare, write the best, and return the facts that ``--json`` prints."""
    started = time.monotonic()
    if budget is not None:
        seconds_of(budget)  # a mistake is told before the data is read
    request = replace(request, command="compare")
    names = method_names(request, None if methods is None else ",".join(methods))
    claim(screen, request.inputs, force=force, **outputs)
    prepared = prepare_comparison(request, names)
    found = _compare(prepared, screen, names, budget, started)
    return _tell(found, screen, spreadsheet_safe=spreadsheet_safe, **outputs)


def choose_number(
    request: Request, screen: Screen, *, spreadsheet_safe: bool, **outputs: Path | None
) -> dict[str, Any]:
    """Do what ``sidelight cluster`` does with the best of several numbers of clusters."""
    prepared = prepare_comparison(request, None)
    found = _compare(prepared, screen, (prepared.method.name,))
    return _tell(found, screen, spreadsheet_safe=spreadsheet_safe, **outputs)


def _compare(
    prepared: Prepared,
    screen: Screen,
    names: tuple[str, ...] | None,
    budget: str | None = None,
    started: float | None = None,
) -> CompareRun:
    screen.note(*prepared.notes)
    screen.show(*preparation_lines(prepared.preparer, raw=not prepared.request.prepare))
    with screen.progress():
        return compare_prepared(prepared, names, budget, started=started)


def _tell(
    found: CompareRun, screen: Screen, *, spreadsheet_safe: bool, **outputs: Path | None
) -> dict[str, Any]:
    """Write the chosen candidate and show all of them."""
    facts = {"command": found.request.command, **found.facts()}
    paths = found.write(spreadsheet_safe=spreadsheet_safe, **outputs)
    if screen.prints_text:
        screen.show(*_parts(found, facts))
    facts["outputs"] = screen.written(
        paths, "Nothing was written; -o labels.csv keeps the labels, --report a report."
    )
    if "labels" not in paths:
        facts |= {"ids": found.data.row_ids, **dense_values(found)}
    screen.result(facts)
    return facts


def _parts(found: CompareRun, facts: dict[str, Any]) -> list[Any]:
    again = found.chosen_command()
    alone = [] if again is None else [f"The chosen one alone: {plain_text(again)}"]
    return [
        candidate_table(found, facts["candidates"]),
        *(f"[bold]•[/] {plain_text(sentence)}" for sentence in found.verdict),
        "",
        *cluster_parts(found, facts),
        *alone,
    ]


def candidate_table(found: CompareRun, candidates: list[dict[str, Any]]) -> Any:
    """The candidates with their figures, the chosen one first; of very many, the best."""
    from rich import box
    from rich.table import Table

    comparison = found.comparison
    truth = "adjusted_rand_index" in candidates[0]
    title = f"{counted(len(comparison.scored), 'candidate')} scored in {comparison.seconds:.1f} s"
    if comparison.n_statements:
        title += f" by {counted(comparison.n_statements, 'statement')} that each was not told"
    laid_out = Table(
        title=f"{title}; the chosen one first",
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        padding=(0, 1, 0, 0),  # names are long, and a terminal has 80 columns
    )
    for place, heading in enumerate([*HEADINGS, *(["ARI"] if truth else [])]):
        method = place == 0  # a long name is folded, figures never are
        laid_out.add_column(
            heading, justify="left" if method else "right", overflow="fold", no_wrap=not method
        )
    for place, (cells, facts) in enumerate(zip(comparison.rows(), candidates, strict=True)):
        if place == SHOWN_CANDIDATES:
            laid_out.add_row(f"and {len(candidates) - place} more (--json lists all)")
            break
        name, *figures = map(plain_text, cells)
        figures += [two_digits(facts["adjusted_rand_index"])] if truth else []
        laid_out.add_row(f"[bold]{name}[/]" if place == 0 else name, *figures)
    return laid_out
