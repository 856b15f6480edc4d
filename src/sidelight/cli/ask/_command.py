"""``sidelight ask``: ask a person which rows belong together, then cluster with the answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from sidelight._words import counted
from sidelight.active import Answers, make_strategy
from sidelight.active._strategies import NAMES
from sidelight.cli import _run
from sidelight.cli._errors import UsageError
from sidelight.cli._screen import Screen, plain_text, preparation_lines
from sidelight.cli.ask._dialogue import HELP, Dialogue
from sidelight.cli.ask._pair_view import PairView
from sidelight.io import Table
from sidelight.runs import Prepared, Request, prepare
from sidelight.runs._request import numbers_text, several

ENDINGS = {
    "quit": "",
    "budget": "That was the last question. ",
    "nothing left to ask": "Nothing is left to ask. ",
}


def run(
    request: Request,
    screen: Screen,
    outputs: Mapping[str, Path | None],
    *,
    strategy: str,
    budget: int | None,
    answers_file: Path | None,
    safe_ids: bool,
    force: bool,
) -> None:
    """Ask until the person has had enough, then do what ``sidelight cluster`` does."""
    if strategy not in NAMES:
        raise UsageError(f"There is no strategy {strategy!r}; there are {', '.join(NAMES)}.")
    if several(request.k):
        raise UsageError(
            f"Questions are chosen for one number of clusters, not for -k {numbers_text(request.k)}"
            "; `sidelight compare` tells which number suits."
        )
    if budget is not None and budget < 0:
        raise UsageError(f"--budget must not be negative, got {budget}.")
    name = request.data.name.removesuffix(".gz")
    answers_file = answers_file or Path(f"{Path(name).stem}.answers.jsonl")
    constraints_file = answers_file.with_suffix(".constraints.csv")
    kept = {"answers": answers_file, "constraints": constraints_file}
    _run.claim(screen, request.inputs, force=force, **kept, **outputs)
    prepared = prepare(replace(request, method=request.method or "pckmeans"))
    screen.note(*prepared.data.notes)
    screen.show(*preparation_lines(prepared.preparer, raw=not prepared.request.prepare))
    facts = _talk(
        prepared,
        strategy,
        budget,
        answers_file,
        constraints_file,
        as_json=screen.as_json,
        safe_ids=safe_ids,
    )
    request = replace(_by_the_same_names(request, prepared.data), constraints=constraints_file)
    again = Screen(quiet=screen.as_json, knows_columns=True)
    result = _run.work(request, again, safe_ids=safe_ids, **outputs)
    screen.result({**result, "command": "ask", "answers": facts})


def _by_the_same_names(request: Request, data: Table) -> Request:
    """Read the rows again by the ids under which the answers were written, or by position."""
    if data.id_column is not None:
        return replace(request, id_column=data.id_column)
    return replace(request, columns=list(data.feature_names))


def _talk(
    prepared: Prepared,
    strategy: str,
    budget: int | None,
    answers_file: Path,
    constraints_file: Path,
    *,
    as_json: bool,
    safe_ids: bool,
) -> dict[str, Any]:
    """Hold the dialogue and write what it brought as constraints."""
    from rich.console import Console

    # Standard output belongs to the JSON object, if that was asked for.
    console = Console(highlight=False, stderr=as_json)
    request, data = prepared.request, prepared.data
    with Answers.open(answers_file, known=prepared.knowledge) as answers:
        chooser = make_strategy(strategy, prepared.estimator)
        k = None if request.k is None else int(request.k)  # type: ignore[arg-type]
        chooser.start(prepared.X, answers, k, request.seed)
        dialogue = Dialogue(answers, chooser, PairView(prepared), console, budget)
        resumed = f" ({dialogue.tally()})" if len(answers) else ""
        console.print(
            f"[bold]{plain_text(request.data)}[/]: {counted(data.n_rows, 'row')}. Every answer is "
            f"kept at once in {plain_text(answers_file)}{resumed}\n{plain_text(HELP)}"
        )
        ended = dialogue.run()
        answers.constraints.write(constraints_file, safe_ids=safe_ids)
        console.print(
            f"\n{ENDINGS[ended]}{dialogue.tally()} Written: {plain_text(constraints_file)}"
        )
        return {
            "ended": ended,
            "asked": dialogue.n_asked,
            "same": answers.n_same,
            "different": answers.n_different,
            "skipped": answers.n_skipped,
            "saved": answers.n_saved,
            "file": str(answers_file),
            "constraints": str(constraints_file),
        }
