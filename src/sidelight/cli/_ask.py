"""``sidelight ask``: ask a person which rows belong together, then cluster with the answers."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

from sidelight.active import Answers, make_strategy
from sidelight.active._strategies import NAMES
from sidelight.cli import _cluster
from sidelight.cli._cluster import Request
from sidelight.cli._common import Screen, check_output, counted, plain_text, read_knowledge
from sidelight.cli._dialogue import HELP, Dialogue
from sidelight.cli._errors import UsageError
from sidelight.cli._pair_view import PairView
from sidelight.cli._settings import choose_method, make_estimator
from sidelight.io import read_table
from sidelight.io._labels import check_labels_path

ENDINGS = {
    "quit": "",
    "budget": "That was the last question. ",
    "nothing left to ask": "Nothing is left to ask. ",
}


def run(
    request: Request, *, strategy: str, budget: int | None, answers_file: Path | None, as_json: bool
) -> None:
    """Ask until the person has had enough, then do what ``sidelight cluster`` does."""
    _check(request, strategy, budget)
    name = request.data.name.removesuffix(".gz")
    answers_file = answers_file or Path(f"{Path(name).stem}.answers.jsonl")
    constraints_file = answers_file.with_suffix(".constraints.csv")
    check_output(constraints_file, (".csv",))
    facts = _talk(request, strategy, budget, answers_file, constraints_file, as_json)
    request = replace(request, constraints=constraints_file)
    request.command = _cluster_command(request)
    result = _cluster.run(request, Screen(as_json=False, quiet=as_json))
    Screen(as_json=as_json).result({**result, "command": "ask", "answers": facts})


def _cluster_command(request: Request) -> str:
    """The command that clusters again with these answers, without a question."""
    names = {
        "-k": request.k,
        "--method": request.method,
        "--constraints": request.constraints,
        "--id-column": request.id_column,
        "--columns": ",".join(request.columns or ()),
        "--drop": ",".join(request.drop or ()),
        "--seed": request.seed,
    }
    given = [(name, value) for name, value in names.items() if value not in (None, "")]
    options = [word for pair in given for word in pair]
    standardize = ["--standardize"] if request.standardize else []
    words = ["sidelight", "cluster", request.data, *options, *standardize]
    return shlex.join(map(str, words))


def _check(request: Request, strategy: str, budget: int | None) -> None:
    """Complain before the first question, not after the last."""
    if strategy not in NAMES:
        raise UsageError(f"There is no strategy {strategy!r}; there are {', '.join(NAMES)}.")
    if budget is not None and budget < 0:
        raise UsageError(f"--budget must not be negative, got {budget}.")
    if request.output is not None:
        check_labels_path(request.output)
        check_output(request.output, ("",))
    check_output(request.report, (".html", ".htm"))


def _talk(
    request: Request,
    strategy: str,
    budget: int | None,
    answers_file: Path,
    constraints_file: Path,
    as_json: bool,
) -> dict[str, Any]:
    """Hold the dialogue and write what it brought as constraints."""
    from rich.console import Console

    # Standard output belongs to the JSON object, if that was asked for.
    console = Console(highlight=False, stderr=as_json)
    data = read_table(
        request.data, id_column=request.id_column, columns=request.columns, drop=request.drop or ()
    )
    known = read_knowledge(data, constraints=request.constraints)
    method = choose_method(request.method, something_known=True)
    estimator = make_estimator(method, k=request.k, seed=request.seed, settings=())
    X = _cluster.scale(data.X)[1] if request.standardize else data.X
    with Answers.open(answers_file, known=known) as answers:
        chooser = make_strategy(strategy, estimator)
        chooser.start(X, answers, request.k, request.seed)
        dialogue = Dialogue(answers, chooser, PairView(data), console, budget)
        resumed = f" ({dialogue.tally()})" if len(answers) else ""
        console.print(
            f"[bold]{plain_text(request.data)}[/]: {counted(data.n_rows, 'row')}. Every answer is "
            f"kept at once in {plain_text(answers_file)}{resumed}\n{plain_text(HELP)}"
        )
        ended = dialogue.run()
        answers.constraints.write(constraints_file)
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
